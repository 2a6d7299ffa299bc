"""Heatmaps: order books with their mid price, liquidations by price, and the layers over them."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from ..common.data_types import adds_up, amount
from ..common.optional import load
from ..common.protocols import Drawable, DrawableLevels
from ..errors import InvalidRequest, SelectionError
from . import palette
from .axes import blank, line, make, prices, show_asked, show_span, spans
from .bars import is_bars
from .candles import draw_prices, is_candles
from .cells import mass, outside
from .labels import amount_unit, identity_of, label, price_label, title, volume_per
from .overlays import add_to_legend, bubbles, candles_over, middles
from .pixels import Pixels
from .ranges import price_range, row_height
from .time_axis import times
from .together import Result, flattened, same_market

__all__ = ["SideColours", "heatmap"]

SideColours: TypeAlias = Literal["one", "two"]


def heatmap(
    shown: DrawableLevels,
    ax: Any,
    *,
    step: float | None,
    window: Any,
    norm: Any,
    theme: Any,
    sides: Any,
    candles: Result | None,
    liquidations: Result | None,
) -> Any:
    """Volume by time and price in colours; a bucket without a snapshot stays empty."""
    colours = palette.theme(theme)
    if sides not in ("one", "two"):
        raise InvalidRequest(f"sides: {sides!r} is neither 'one', one scale of colours, nor 'two', one for each side")
    over = _layers("candles", candles, shown, is_candles)
    happened = _layers("liquidations", liquidations, shown, is_bars)
    ax = make(ax)
    unit = amount_unit(shown)
    ax.set_title(title(identity_of(shown), unit), loc="left")
    prices(ax, price_label(shown))
    if len(shown) == 0 or len(shown.levels) == 0:
        return _without_levels(ax, shown, over, happened)
    asked = price_range(window)
    mid = middles(shown)
    low, high = asked or _around_market(shown, mid)
    row_height(step, low, high)
    planes = _planes(shown, step, colours, sides)
    if nothing := outside(shown.prices, asked, planes[0][0].step):
        return blank(ax, nothing)
    ax.set_facecolor(colours.paper)
    # A liquidated volume grows with the length of the bucket; a resting one does not.
    quantity, is_sum = amount(shown.id.type) or "volume", adds_up(shown.id.type)
    text = label(volume_per(quantity, shown.id) if is_sum else quantity, unit)
    _image(ax, planes, "stack" if is_sum else "max", unit, norm, text)
    starts, ends = spans(shown)
    _line(ax, starts, ends, mid, colours)
    show_span(ax, starts[0], ends[-1])
    if is_sum:
        show_asked(ax, shown)
    bottom, top = _whole_rows(planes[0][0], low, high)
    ax.set_ylim(bottom, top)
    times(ax)
    ax.grid(visible=False)
    for one in over:
        candles_over(ax, one)
    add_to_legend(ax, *bubbles(ax, happened, [shown], over))
    _legend(ax, colours)
    return ax


def _without_levels(ax: Any, shown: Drawable, over: Sequence[Drawable], happened: Sequence[Drawable]) -> Any:
    """What is to be drawn over a heatmap that has nothing to draw."""
    filled = [one for one in over if len(one)]
    if not filled:
        return blank(ax, "no levels", shown)
    words = ax.get_title("left")
    draw_prices(ax, filled[:1], filled[0])
    add_to_legend(ax, *bubbles(ax, happened, filled[:1], ()))
    ax.set_title(f"{words}: no levels", loc="left")
    return ax


def _layers(name: str, given: Result | None, shown: Drawable, fits: Callable[[Drawable], bool]) -> list[Drawable]:
    """The series to draw over a heatmap.

    Raises:
        SelectionError: One is of another kind, of another market, or all of it lies before or after the heatmap.
    """
    found = [] if given is None else flattened([given])
    for one in found:
        if not fits(one):
            raise SelectionError(f"{name}: {one.id} has no {name}; mp.plot(…) draws it below the prices")
        if not same_market(shown, one):
            raise SelectionError(f"{name}: {one.id} is of another market than {shown.id}; plot each by itself")
        if len(one) and len(shown):
            (starts, ends), (first, last) = spans(one), spans(shown)
            if ends[-1] <= first[0] or starts[0] >= last[-1]:
                when = "before" if ends[-1] <= first[0] else "after"
                raise SelectionError(f"{name}: all of {one.id} is {when} the heatmap's time; ask for the same window")
    return found


def _planes(shown: DrawableLevels, step: float | None, colours: palette.Theme, sides: str) -> list[tuple[Pixels, Any]]:
    """The levels to paint and their colours: one plane, or one for each side."""
    if sides == "one":
        return [(Pixels.of(shown, step), palette.palette(colours.one))]
    two = (("bids", colours.bids), ("asks", colours.asks))
    return [(Pixels.of(shown, step, side), palette.palette(many)) for side, many in two]


def _image(ax: Any, planes: Sequence[tuple[Pixels, Any]], reduce: str, unit: str | None, norm: Any, text: str) -> None:
    """Adds the picture and its colour bar, one for each side."""
    import numpy as np

    from .images import Raster

    levels = [plane.levels for plane, _ in planes]
    same = all(one is levels[0] for one in levels)
    scale = palette.scale(norm, levels[0] if same else np.concatenate(levels))
    picture = Raster(ax, planes, reduce=reduce, unit=unit, norm=scale)
    ax.add_image(picture)
    if scale is None:
        return
    if len(planes) == 1:
        palette.colour_bar(picture, ax, text)
        return
    palette.colour_bar(picture, ax, f"{text}, bids | asks")
    bids = load("matplotlib.cm").ScalarMappable(scale, planes[0][1])
    palette.colour_bar(bids, ax, "", room=0.035).set_ticks([])


def _whole_rows(pixels: Pixels, low: float, high: float) -> tuple[float, float]:
    """The prices shown, so that no row is cut."""
    height, origin = pixels.step, float(pixels.levels[0, 0]) if len(pixels.levels) else 0.0
    origin -= round(origin / height) * height
    if abs(origin) < height * 1e-6:
        origin = 0.0
    first = math.floor((low - origin) / height + 1e-6)
    last = math.floor((high - origin) / height + 1e-6) + 1
    return origin + first * height, origin + max(last, first + 1) * height


def _line(ax: Any, starts: Any, ends: Any, values: Any, colours: palette.Theme) -> None:
    """The mid price, broken where snapshots are missing."""
    import numpy as np

    if not np.isfinite(values).any():
        return
    holes = np.flatnonzero(starts[1:] - ends[:-1] > float(np.median(ends - starts)) / 2)
    places = np.insert((starts + ends) / 2, holes + 1, ends[holes])
    line(
        ax,
        places,
        np.insert(values, holes + 1, np.nan),
        color=colours.ink,
        linewidth=0.9,
        alpha=0.85,
        label="mid price",
    )


def _legend(ax: Any, colours: palette.Theme) -> None:
    """A legend in the colours of the theme, with the entries of the existing one."""
    there = ax.get_legend()
    handles, texts = ax.get_legend_handles_labels()
    if there is None and not handles:
        return
    if there is None:
        small = ax.bbox.width < 3 * ax.figure.dpi
        there = ax.legend(handles, texts, loc="upper left", fontsize="x-small" if small else "medium")
    for text in there.get_texts():
        text.set_color(colours.ink)
    frame = there.get_frame()
    frame.set_facecolor(colours.paper)
    frame.set_edgecolor("none")
    frame.set_alpha(0.4)


def _around_market(shown: DrawableLevels, mid: Any) -> tuple[float, float]:
    """The prices worth showing: what the market crossed and as much again, or where nearly all the volume is."""
    import numpy as np

    levels, found = shown.prices, mid[np.isfinite(mid)]
    if not found.size:
        return mass(levels, shown.volumes)
    low, high = found.min(), found.max()
    room = max((high - low) * 0.75, np.median(found) * 0.004)
    return max(float(low - room), float(levels.min())), min(float(high + room), float(levels.max()))
