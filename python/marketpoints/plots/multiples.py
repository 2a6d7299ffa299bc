"""Several series by choice: small multiples, or one axis; options against tenor or delta are drawn elsewhere."""

import math
from collections.abc import Sequence
from typing import Any, Literal

from ..common.optional import load
from ..common.protocols import Drawable
from ..errors import InvalidRequest, SelectionError
from . import bars, candles
from .axes import (
    amounts,
    blank,
    broken,
    held,
    is_constrained,
    legend,
    line,
    make,
    prices,
    room_between,
    show_rows,
    spans,
)
from .labels import PREDICTIONS, amount_unit, identity_of, label, names, plain, price_label, shared, title
from .lines import AMOUNT, COIN, FRACTION, USD, Panel, known_panels, left_out, panels_of, unit_of
from .options import smile, term_structure
from .time_axis import times

__all__ = ["LAYOUTS", "Layout", "by_choice", "is_lines", "odds"]

Layout = Literal["axis", "panels", "term", "smile"]
LAYOUTS: tuple[Layout, ...] = ("axis", "panels", "term", "smile")
#: Small multiples in a row, their width and height in inches, and how many one figure has at most.
ACROSS, WIDE, HIGH, MOST = 4, 3.4, 2.3, 100
#: Lines on one axis.
LINES = 60


def by_choice(every: Sequence[Drawable], ax: Any, layout: object, options: dict[str, Any]) -> Any:
    """Draws several series as asked.

    Raises:
        InvalidRequest: There is no such layout, or the axes cannot be divided.
        SelectionError: There are too many, or they have no values for it.
    """
    if layout == "panels":
        return _panels(every, ax, options)
    if layout == "axis":
        return _one_axis(every, ax)
    if layout == "term":
        return term_structure(every, ax)
    if layout == "smile":
        return smile(every, ax)
    raise InvalidRequest(f"layout: {layout!r} is none; those are {', '.join(LAYOUTS)}")


def odds(every: Sequence[Drawable]) -> bool:
    """Whether all are prices of outcomes: probabilities, which share an axis."""
    return all(one.id.exchange in PREDICTIONS and candles.is_candles(one) for one in every)


def is_lines(one: Drawable) -> bool:
    """Whether a series is drawn as lines."""
    return "levels" not in one and not candles.is_candles(one) and not bars.is_bars(one)


def _panels(every: Sequence[Drawable], ax: Any, options: dict[str, Any]) -> Any:
    if len(every) > MOST:
        raise SelectionError(f"{len(every)} pictures do not fit into one figure; pick up to {MOST} with sel(…)")
    across = min(ACROSS, math.ceil(math.sqrt(len(every))))
    down = math.ceil(len(every) / across)
    ax = make(ax, size=(max(6.0, WIDE * across), max(3.0, HIGH * down)))
    figure, place = ax.figure, ax.get_subplotspec()
    is_whole = figure.axes == [ax] and is_constrained(figure) and not figure.get_suptitle()
    between = room_between(ax, down)
    if place is None:
        raise InvalidRequest("ax: these axes were placed by hand and cannot be divided; give those of plt.subplots()")
    ax.remove()
    grid = place.subgridspec(down, across, hspace=between)
    labels, first = names([identity_of(one) for one in every]) if len(every) > 1 else [""], None
    for number, (one, name) in enumerate(zip(every, labels, strict=True)):
        panel = figure.add_subplot(grid[number // across, number % across], sharex=first)
        small = {"volume": False} if candles.is_candles(one) else {}
        name = name and name + (left_out([one], panel) if is_lines(one) else "")
        panel = one.plot(ax=panel, **{**small, **options})
        first = first or panel
        panel.set_title(name or panel.get_title("left"), loc="left", fontsize="medium")
        if number % across and panel.get_ylabel() == first.get_ylabel():
            panel.set_ylabel("")
        for text in panel.get_xticklabels():
            text.set_fontsize("small")
    common = title(shared([identity_of(one) for one in every]))
    if is_whole and common:
        figure.suptitle(common, x=0.01, ha="left")
    return first


def _column(one: Drawable) -> tuple[str, Panel | None]:
    """The main column of a series."""
    if candles.is_candles(one):
        return "close", None
    if "levels" in one:
        raise SelectionError(f"{one.id}: volume by price is no line; draw it in a panel of its own, layout='panels'")
    panels = panels_of(one) or known_panels(one)
    if not panels:
        raise SelectionError(f"{one.id}: there is no column of numbers to draw")
    name = next((name for group in panels[0].columns for name in group if name in one), panels[0].columns[0][0])
    return name, panels[0]


def _one_axis(every: Sequence[Drawable], ax: Any) -> Any:
    """A line for each series: prices of one market or unit as they are, of several as the change since the start."""
    import numpy as np

    if len(every) > LINES:
        raise SelectionError(f"{len(every)} lines on one axis cannot be distinguished; pick up to {LINES} with sel(…)")
    picked = [_column(one) for one in every]
    identities = [identity_of(one) for one in every]
    common = shared(identities)
    ax = make(ax)
    priced = {name for name, _ in picked} == {"close"} and all(panel is None for _, panel in picked)
    quotes = {price_label(one) for one in every}
    same = (
        not priced or odds(every) or (len(quotes) == 1 and len({one.raw_symbol or one.coin for one in identities}) == 1)
    )
    kinds = {(panel.quantity, panel.unit) if panel else name for name, panel in picked}
    units = {amount_unit(one) for one, (_, panel) in zip(every, picked, strict=True) if panel and panel.unit == AMOUNT}
    if len(kinds) > 1 or len(units) > 1:
        same = False
    if not any(len(one) for one in every):
        ax.set_title(title(common), loc="left")
        return blank(ax, "no rows", every[0])
    colours = load("matplotlib").colormaps["turbo"]
    for number, (one, (name, panel), text) in enumerate(zip(every, picked, names(identities), strict=True)):
        if not len(one) or name not in one:
            continue
        is_held = panel is not None and panel.steps
        places, rows = (held if is_held else broken)(one, np.arange(len(one)))
        column = one[name].astype("float64")
        if not same:
            known = column[np.isfinite(column) & (column != 0)]
            column = (column / known[0] - 1) * 100 if len(known) else column * np.nan
        values = np.append(column, np.nan)[rows]
        colour = f"C{number}" if len(every) <= 10 else colours((number + 0.5) / len(every))
        line(ax, places, values, color=colour, linewidth=1.2, label=text)
        show_rows(ax, *spans(one))
    ax.autoscale_view(scalex=False)
    _unit_of(ax, every, picked[0], same)
    ax.set_title(" · ".join([title(common), *_one_of_many(picked)]).removeprefix(" · "), loc="left")
    legend(ax)
    times(ax)
    return ax


def _one_of_many(picked: Sequence[tuple[str, Panel | None]]) -> list[str]:
    """The one column that is drawn of a quantity with several, such as the values of a token's supply."""
    several = {plain(name) for name, panel in picked if panel is not None and len(panel.columns) > 1}
    return sorted(several) if len(several) == 1 else []


def _unit_of(ax: Any, every: Sequence[Drawable], picked: tuple[str, Panel | None], same: bool) -> None:
    name, panel = picked
    percent = load("matplotlib.ticker").PercentFormatter
    if not same:
        ax.set_ylabel("change since the start (%)")
        ax.axhline(0, color=ax.xaxis.label.get_color(), linewidth=0.6)
    elif odds(every):
        ax.set_ylabel("probability")
        ax.yaxis.set_major_formatter(percent(1.0))
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])  # none beside the legend
        ax.set_ylim(0, 1)
    elif name == "close" and panel is None:
        prices(ax, price_label(every[0]))
    elif panel is None:
        prices(ax, label(name, None))
    elif panel.unit == FRACTION:
        ax.yaxis.set_major_formatter(percent(1.0))
        ax.set_ylabel(label(panel.quantity, None))
    elif panel.unit in (AMOUNT, USD, COIN):
        amounts(ax, label(panel.quantity, unit_of(panel, every[0])))
    else:
        prices(ax, label(panel.quantity, unit_of(panel, every[0])))
