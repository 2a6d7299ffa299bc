"""Amounts as bars: liquidations by side, volumes."""

from collections.abc import Sequence
from typing import Any

from ..common.data_types import TABLE, amount, role, title as title_of
from ..common.protocols import Drawable
from .axes import amounts, blank, legend, make, show_asked, show_rows, spans
from .colours import LINE, SIDES, text_colour
from .labels import amount_unit, identity_of, label, plain, shared, title
from .time_axis import times

__all__ = ["column_of", "draw", "is_bars", "of_sides"]


def is_bars(shown: Drawable) -> bool:
    """Whether a series is an amount of each bucket, such as liquidations."""
    return role(shown.id.type) == "bars"


def column_of(shown: Drawable) -> str:
    """The column of the amount."""
    return str(TABLE[shown.id.type or ""]["columns"][0])


def of_sides(series: Sequence[Drawable], ax: Any) -> Any:
    """An amount of both sides on one axis, BUY up and SELL down (the service's undocumented words)."""
    ax = make(ax)
    unit = amount_unit(series[0])
    ax.set_title(title(shared([identity_of(one) for one in series]), unit), loc="left")
    amounts(ax, label(amount(series[0].id.type), unit))
    if not any(len(one) for one in series):
        return blank(ax, f"no {title_of(series[0].id.type)}", series[0])
    bars = []
    for one in series:
        if len(one):
            down = one.id.side == "SELL" and len(series) > 1
            amounts_of = one[column_of(one)]
            heights = -amounts_of if down else amounts_of
            bars.append((*spans(one), heights, SIDES.get(one.id.side or "", LINE), one.id.side))
    draw(ax, bars)
    for one in series:
        show_asked(ax, one)
    if len(series) > 1:
        ax.axhline(0, color=text_colour(ax), linewidth=0.6)
    if any(one.id.side for one in series):
        legend(ax)
    return ax


def draw(ax: Any, several: Sequence[tuple[Any, Any, Any, Any, str | None]]) -> None:
    """Bars from several series: starts, ends, heights, colours, and the name in the legend."""
    import numpy as np

    from .artists import Bars

    low = high = 0.0
    for starts, ends, heights, colours, name in several:
        bars = Bars(starts, ends, heights, colours)
        if name:
            bars.set_label(plain(name))
        ax.add_collection(bars, autolim=False)
        finite = heights[np.isfinite(heights)]
        low, high = min(low, finite.min(initial=0.0)), max(high, finite.max(initial=0.0))
        if len(starts):
            show_rows(ax, starts, ends)
    ax.set_ylim(low * 1.08, high * 1.08 if high > low else 1.0)
    times(ax)
