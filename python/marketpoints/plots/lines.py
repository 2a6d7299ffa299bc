"""Values over time as lines, on a panel for each unit: rates, open interest, options, supply, unknown types."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..common.data_types import TABLE, title as title_of
from ..common.optional import load
from ..common.protocols import Drawable
from ..errors import SelectionError
from .axes import (
    amounts,
    blank,
    broken,
    held,
    legend,
    line,
    make,
    panels,
    prices,
    scale_by,
    show_rows,
    spans,
    stacked,
)
from .labels import amount_unit, identity_of, label, names, plain, shared, title
from .time_axis import times

__all__ = [
    "AMOUNT",
    "COIN",
    "FRACTION",
    "USD",
    "Panel",
    "height",
    "known_panels",
    "left_out",
    "lines",
    "panels_of",
    "share_units",
    "unit_of",
]

#: Units of panels, by the engine's names.
AMOUNT, COIN, USD, FRACTION, RANK = "amount", "coin", "USD", "fraction", "rank"
STYLES = ("-", "--", ":", "-.")
#: Inches of height that a panel of given axes needs.
LEAST = 0.55
#: Most types of data that a title names.
KINDS = 3


class Panel(NamedTuple):
    """One panel: columns of one unit.

    Attributes:
        quantity: The quantity, for the axis.
        columns: The columns drawn as lines. Of several in one entry, the first that has a value.
        band: The columns of the lowest and the highest value in a bucket, drawn as a band.
        unit: Unit of the values by the engine's name: ``amount`` is that of the market's amounts; empty if unknown.
        steps: Whether the first columns hold until the next value is published, and are drawn as steps.
    """

    quantity: str
    columns: Sequence[Sequence[str]]
    band: tuple[str, str] | None = None
    unit: str = ""
    steps: bool = False


#: Panels of the data types (section 2.3, supplement 4).
PANELS: dict[str, tuple[Panel, ...]] = {
    name: tuple(Panel(*panel) for panel in row["panels"]) for name, row in TABLE.items()
}


@dataclass(frozen=True)
class LineRows:
    """Rows of a series that make one line."""

    shown: Drawable
    rows: Any
    name: str


def known_panels(shown: Drawable) -> tuple[Panel, ...]:
    """The panels of a series by its type, whether or not its columns hold numbers."""
    return PANELS.get(shown.id.type or "", ())


def panels_of(shown: Drawable) -> tuple[Panel, ...]:
    """The panels of a series, of those columns that hold numbers: by its type, then one for each further column."""
    import numpy as np

    known = known_panels(shown)
    named = {name for panel in known for group in panel.columns for name in group} | {
        name for panel in known for name in panel.band or ()
    }
    if known:  # the other columns of a bucket are the same quantity at another moment
        named |= {name for name in shown.columns if name.endswith(("open", "high", "low", "close"))}
    there = [panel for panel in known if any(_filled(shown, name) for group in panel.columns for name in group)]
    further = [
        Panel(name, ((name,),))
        for name in shown.columns
        if name not in named and isinstance(shown[name], np.ndarray) and shown[name].dtype.kind in "fiu"
    ]
    return (*there, *(panel for panel in further if not known or _filled(shown, panel.quantity)))


def share_units(every: Sequence[Drawable]) -> bool:
    """Whether the same quantities of several series have the same units: amounts in coins may be of several coins."""
    of_market = (AMOUNT, COIN, "")
    return len({amount_unit(one) for one in every if any(panel.unit in of_market for panel in panels_of(one))}) <= 1


def height(panels: int) -> float:
    """Height in inches that several panels need to be read."""
    return 1.2 + 1.9 * panels


def _fitting(every: Sequence[Panel], ax: Any) -> Sequence[Panel]:
    """The panels that the axes have room for; new axes have room for all."""
    return every if ax is None else every[: max(1, int(ax.bbox.height / ax.figure.dpi / LEAST))]


def left_out(series: Sequence[Drawable], ax: Any) -> str:
    """What a title says of panels for which the axes have no room; empty where they have."""
    every = _panels_of_all(series)
    return _note(len(_fitting(every, ax)), len(every))


def _note(shown: int, count: int) -> str:
    return "" if shown == count else f": {shown} of {count} panels"


def _panels_of_all(series: Sequence[Drawable]) -> Sequence[Panel]:
    every: list[Panel] = []
    for one in series:
        every += [panel for panel in panels_of(one) if panel not in every]
    return every


def lines(series: Sequence[Drawable], ax: Any) -> Any:
    """Lines of one series or several: a panel for each unit, a line for each column, and each series.

    Raises:
        SelectionError: There is no column of numbers.
    """
    drawn = _panels_of_all(series)
    common = shared([identity_of(one) for one in series])
    filled = [one for one in series if len(one)]
    if not drawn:
        if filled and not any(map(known_panels, series)):
            raise SelectionError(f"{common}: there is no column of numbers to draw")
        ax = make(ax)
        ax.set_title(title(common), loc="left")
        return blank(ax, "no values") if filled else blank(ax, "no rows", series[0])
    some = _fitting(drawn, ax)
    ax = make(ax, 5.0 if len(some) == 1 else height(len(some)))
    every = panels(ax, [1.0] * len(some))
    labels = names([identity_of(one) for one in series]) if len(series) > 1 else [""]
    parts = [part for one, name in zip(series, labels, strict=True) for part in _parts(one, name)]
    for panel, below in zip(some, every, strict=True):
        _panel(panel, parts, below)
    for one in filled:
        show_rows(ax, *spans(one))
    kinds = dict.fromkeys(plain(title_of(one.id.type)) for one in series)
    several = " and ".join(kinds) if 1 < len(kinds) <= KINDS else None
    text = title(common, unit_of(some[0], series[0]) if len(drawn) == 1 else None, several)
    ax.set_title(text + _note(len(some), len(drawn)), loc="left")
    stacked(every)
    return ax


def _parts(shown: Drawable, name: str) -> Iterator[LineRows]:
    """One part, or one for each chain where several rows share a time."""
    import numpy as np

    stamps = shown.timestamps
    if not (stamps[1:] == stamps[:-1]).any() or "chain" not in shown:
        yield LineRows(shown, np.arange(len(shown)), name)
        return
    chains = np.array([chain or "no chain" for chain in shown["chain"]], dtype=object)
    for chain in dict.fromkeys(chains):
        yield LineRows(shown, np.flatnonzero(chains == chain), f"{name} {chain}".strip())


def _panel(panel: Panel, parts: Sequence[LineRows], ax: Any) -> None:
    count = 0
    for number, part in enumerate(parts):
        times_of, rows = broken(part.shown, part.rows)
        if panel.band and len(parts) == 1 and all(_filled(part.shown, name) for name in panel.band):
            _band(ax, part, *panel.band)
        for place, group in enumerate(panel.columns):
            name = next((name for name in group if _filled(part.shown, name)), None)
            if name is None:
                continue
            # Several series: a colour for each of them, and a kind of line for each column.
            colour, style = (_colour(number), STYLES[place % 4]) if len(parts) > 1 else (_colour(place), "-")
            if panel.steps and place == 0:
                along, at = held(part.shown, part.rows)
            else:
                along, at = times_of, rows
            values = _values(part, name, at)
            above = 2 - place / 100  # what was paid lies over what was predicted
            line(ax, along, values, color=colour, linestyle=style, linewidth=1.2, label=_name(part, name), zorder=above)
            count += 1
    unit = unit_of(panel, parts[0].shown)
    if panel.unit == FRACTION:
        formatter = load("matplotlib.ticker").FuncFormatter(lambda value, _: f"{value * 100:.6g}%")
        ax.yaxis.set_major_formatter(formatter)
        ax.set_ylabel(label(panel.quantity, unit))
    elif panel.unit in (AMOUNT, USD, COIN):
        amounts(ax, label(panel.quantity, unit))
    else:
        prices(ax, label(panel.quantity, unit))
    ax.autoscale_view(scalex=False)
    if count > 1 or panel.band or [list(group) for group in panel.columns] != [[panel.quantity]]:
        legend(ax)
    if panel.unit == RANK:  # the best on top
        ax.yaxis.set_major_locator(load("matplotlib.ticker").MaxNLocator(integer=True, min_n_ticks=1))
        ax.invert_yaxis()
    times(ax)


def _band(ax: Any, part: LineRows, lowest: str, highest: str) -> None:
    from .time_artists import Band

    starts, ends = (edges[part.rows] for edges in spans(part.shown))
    low, high = (part.shown[name][part.rows].astype("float64") for name in (lowest, highest))
    ax.add_collection(Band(starts, ends, low, high, facecolors="C0", alpha=0.25, label="low to high"), autolim=False)
    scale_by(ax, starts, ends, low, high)


def unit_of(panel: Panel, shown: Drawable) -> str | None:
    """The unit of a panel of a series, as its label spells it; None if it is not known."""
    if panel.unit == AMOUNT:
        return amount_unit(shown)
    return "%" if panel.unit == FRACTION else None if panel.unit == RANK else panel.unit or None


def _name(part: LineRows, column: str) -> str:
    return " · ".join(plain(text) for text in (part.name, column) if text)


def _colour(number: int) -> Any:
    return f"C{number}" if number < 10 else load("matplotlib").colormaps["turbo"]((number * 0.618) % 1)


def _filled(shown: Drawable, name: str) -> bool:
    """Whether a column holds a number at all."""
    import numpy as np

    if name not in shown:
        return False
    values = shown[name]
    return isinstance(values, np.ndarray) and values.dtype.kind in "fiu" and bool(np.isfinite(values).any())


def _values(part: LineRows, name: str, places: Any) -> Any:
    """A column along a broken line."""
    import numpy as np

    values = np.append(part.shown[name][part.rows].astype("float64"), np.nan)
    return values[places]
