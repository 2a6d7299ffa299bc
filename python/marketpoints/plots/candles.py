"""Candles with volume below, of one series or of both sides together."""

from collections.abc import Sequence
from typing import Any

from ..common.data_types import role
from ..common.optional import load
from ..common.protocols import Drawable
from .axes import amounts, blank, legend, make, panels, prices, scale_by, show_rows, spans, stacked
from .bars import draw as draw_bars
from .colours import DOWN, UP, text_colour
from .labels import amount_unit, identity_of, label, price_label, shared, title
from .time_axis import times

__all__ = [
    "OHLC",
    "TRADED",
    "add_candles",
    "candles",
    "draw_prices",
    "draw_volume",
    "is_candles",
    "of_sides",
    "same_prices",
]

OHLC = ("open", "high", "low", "close")
#: The columns of candles; open interest has prices without a volume.
TRADED = (*OHLC, "volume")


def is_candles(shown: Drawable) -> bool:
    """Whether a series holds complete candles: by its type and columns, or by its columns if the type is not known."""
    if not all(name in shown for name in OHLC):
        return False  # an archive was asked for some columns
    return role(shown.id.type) == "candles" or (shown.id.type is None and "volume" in shown)


def candles(shown: Drawable, ax: Any, volume: bool) -> Any:
    """Candles; where they have no room for a body the range from low to high and a line of closes."""
    with_volume = volume and len(shown) > 0 and "volume" in shown
    ax, *below = panels(make(ax), (3.4, 1) if with_volume else (1,))
    draw_prices(ax, [shown], shown)
    if below:
        draw_volume(below[0], [shown])
        stacked([ax, *below])
    return ax


def of_sides(series: Sequence[Drawable], ax: Any, volume: bool) -> Any:
    """Candles of which each side is a series: prices once, the volume of the first side up, of the other down."""
    with_volume = volume and any(len(one) for one in series)
    ax, *below = panels(make(ax), (3.0, 1.4) if with_volume else (1,))
    draw_prices(ax, series, series[0])
    ax.set_title(title(shared([identity_of(one) for one in series])), loc="left")
    if below:
        draw_volume(below[0], series)
        stacked([ax, *below])
    return ax


def draw_volume(ax: Any, series: Sequence[Drawable]) -> None:
    """Volume of candles in the candles' colours; of both sides the first up and the other down."""
    bars: list[Any] = []
    for number, one in enumerate(series):
        if not len(one):
            continue
        starts, ends = spans(one)
        if len(series) == 1:
            bars.append((starts, ends, one["volume"], _colours(one["open"], one["close"]), None))
        else:
            up = number % 2 == 0
            bars.append((starts, ends, one["volume"] if up else -one["volume"], UP if up else DOWN, one.id.side))
    draw_bars(ax, bars)
    amounts(ax, label("volume", amount_unit(series[0])), 2 if len(series) == 1 else 4)
    if len(series) > 1:
        ax.axhline(0, color=text_colour(ax), linewidth=0.6)
        legend(ax)


def same_prices(series: Sequence[Drawable]) -> bool:
    """Whether several series of candles have the same prices wherever they have a row of the same time."""
    import numpy as np

    first = series[0]
    for other in series[1:]:
        _, here, there = np.intersect1d(first.timestamps, other.timestamps, return_indices=True)
        if not all(np.array_equal(first[name][here], other[name][there], equal_nan=True) for name in OHLC):
            return False
    return True


def draw_prices(ax: Any, series: Sequence[Drawable], named: Drawable) -> None:
    """The prices of candles, once for both sides."""
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
    add_candles(ax, starts, ends, columns)
    ax.autoscale_view(scalex=False)
    show_rows(ax, starts, ends)
    times(ax)


def _colours(opened: Any, close: Any) -> Any:
    import numpy as np

    to_colours = load("matplotlib.colors").to_rgba_array
    return np.where((close >= opened)[:, None], to_colours(UP), to_colours(DOWN))


def add_candles(ax: Any, starts: Any, ends: Any, columns: Sequence[Any], **style: Any) -> None:
    """Adds candles to axes, and their prices to what the axes are scaled by."""
    from .time_artists import Candles

    ax.add_collection(Candles(starts, ends, columns, **style), autolim=False)
    _, high, low, _ = columns
    scale_by(ax, starts, ends, low, high)
