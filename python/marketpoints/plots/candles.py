"""Candles with volume below, and those of both sides together."""

from collections.abc import Sequence
from typing import Any

from ..common.optional import load
from ..common.protocols import Drawable
from .axes import DOWN, LINE, UP, amounts, blank, legend, line, make, panels, prices, show_span, spans, stacked, times
from .bars import draw as draw_bars
from .words import amount_unit, identity_of, label, price_label, shared, title

__all__ = ["OHLC", "candles", "is_candles", "of_sides", "same_prices"]

OHLC = ("open", "high", "low", "close")
TYPES = ("TRADE_SIDE_AGNOSTIC_AGG", "TRADE_AGG")
#: What open interest and others with an open and a close lack.
TRADED = (*OHLC, "volume")


def is_candles(shown: Drawable) -> bool:
    """Whether a series holds candles: by its type, or by its columns where the type is not told."""
    return shown.id.type in TYPES or (shown.id.type is None and all(name in shown for name in TRADED))


def candles(shown: Drawable, ax: Any, volume: bool) -> Any:
    """Candles; more of them than there are pixels become the range from low to high and a line of closes."""
    with_volume = volume and len(shown) > 0 and "volume" in shown
    ax, *below = panels(make(ax), (3.4, 1) if with_volume else (1,))
    _prices(ax, [shown], shown)
    unit = amount_unit(shown)
    if below:
        starts, ends = spans(shown)
        colours = _colours(shown["open"], shown["close"])
        draw_bars(below[0], [(starts, ends, shown["volume"], colours, None)])
        amounts(below[0], label("volume", unit), 2)
        stacked([ax, *below])
    return ax


def of_sides(series: Sequence[Drawable], ax: Any, volume: bool) -> Any:
    """Candles of which each side is a series: prices once, the volume of the first side up, of the other down."""
    ax, *below = panels(make(ax), (3.0, 1.4) if volume else (1,))
    common = shared([identity_of(one) for one in series])
    _prices(ax, series, series[0])
    ax.set_title(title(common), loc="left")
    if below:
        bars = []
        for number, one in enumerate(series):
            starts, ends = spans(one)
            up = number % 2 == 0
            heights = one["volume"] if up else -one["volume"]
            bars.append((starts, ends, heights, UP if up else DOWN, one.id.side))
        draw_bars(below[0], bars)
        amounts(below[0], label("volume", amount_unit(series[0])), 4)
        below[0].axhline(0, color="black", linewidth=0.6)
        legend(below[0])
        stacked([ax, *below])
    return ax


def same_prices(series: Sequence[Drawable]) -> bool:
    """Whether several series of candles have the same prices wherever they have a row of the same time."""
    import numpy as np

    first = series[0]
    for other in series[1:]:
        _, here, there = np.intersect1d(first.timestamps, other.timestamps, return_indices=True)
        if not all(np.array_equal(first[name][here], other[name][there], equal_nan=True) for name in OHLC):
            return False
    return True


def _prices(ax: Any, series: Sequence[Drawable], named: Drawable) -> None:
    import numpy as np

    ax.set_title(title(identity_of(named)), loc="left")
    prices(ax, price_label(named))
    series = [one for one in series if len(one)]
    if not series:
        blank(ax, "no candles", named)
        return
    starts, ends = (np.concatenate(edges) for edges in zip(*(spans(one) for one in series), strict=True))
    columns = [np.concatenate([one[name] for one in series]) for name in OHLC]
    _, rows = np.unique(starts, return_index=True)
    starts, ends, *columns = (values[rows] for values in (starts, ends, *columns))
    if len(starts) > ax.bbox.width:
        _range(ax, starts, ends, columns, series)
    else:
        _bodies(ax, starts, ends, columns)
    ax.autoscale_view(scalex=False)
    legend(ax)
    room = (ends[-1] - starts[0]) * 0.01
    show_span(ax, starts[0] - room, ends[-1] + room)
    times(ax)


def _colours(opened: Any, close: Any) -> Any:
    import numpy as np

    to_colours = load("matplotlib.colors").to_rgba_array
    return np.where((close >= opened)[:, None], to_colours(UP), to_colours(DOWN))


def _bodies(ax: Any, starts: Any, ends: Any, columns: Sequence[Any]) -> None:
    import numpy as np

    collections = load("matplotlib.collections")
    opened, high, low, close = columns
    colours = _colours(opened, close)
    middle, half = (starts + ends) / 2, (ends - starts) * 0.36
    wicks = np.stack([np.column_stack([middle, low]), np.column_stack([middle, high])], axis=1)
    bottom, top = np.minimum(opened, close), np.maximum(opened, close)
    corners = [(middle - half, bottom), (middle - half, top), (middle + half, top), (middle + half, bottom)]
    bodies = np.stack([np.column_stack(corner) for corner in corners], axis=1)
    ax.add_collection(collections.LineCollection(wicks, colors=colours, linewidths=0.8))
    ax.add_collection(collections.PolyCollection(bodies, facecolors=colours, edgecolors=colours, linewidths=0.6))


def _range(ax: Any, starts: Any, ends: Any, columns: Sequence[Any], series: Sequence[Drawable]) -> None:
    """Low to high as a band, and the closes: broken where rows are missing."""
    import numpy as np

    _, high, low, close = columns
    width = float(np.median(ends - starts))
    holes = np.flatnonzero(starts[1:] - ends[:-1] > width / 2)
    middles = np.insert((starts + ends) / 2, holes + 1, ends[holes])
    high, low, close = (np.insert(values, holes + 1, np.nan) for values in (high, low, close))
    ax.fill_between(middles, low, high, color=LINE, alpha=0.25, linewidth=0.8, label="low to high")
    line(ax, middles, close, color=LINE, linewidth=0.8, label="close")
