"""Layers reduced to what a picture of some width can show."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..common.protocols import Drawable
from ..common.times import DAY_NS
from ..plots.axes import moments
from ..plots.bars import column_of
from ..plots.candles import OHLC, is_candles
from ..plots.overlays import middles, prices_at

__all__ = ["BubbleData", "PriceLine", "candles_between", "nearby"]

#: Fewest pixels per bucket at which candles are drawn.
CANDLE = 4.0
#: Sizes in pixels of the squares whose bubbles are merged: the smallest that leaves at most so many bubbles.
SQUARES, MOST_BUBBLES = (8.0, 16.0, 32.0), 4_000


@dataclass(frozen=True, eq=False)
class PriceLine:
    """A line through the buckets of rows: closes, or mid prices.

    Attributes:
        starts: Start of each bucket, int64 nanoseconds.
        ends: End of each bucket.
        low: Lowest value of each bucket, float64; NaN where there is none.
        high: Highest value.
        last: Last value.
    """

    starts: Any
    ends: Any
    low: Any
    high: Any
    last: Any

    @classmethod
    def of(cls, shown: Drawable) -> "PriceLine":
        """The closes of candles with their range, or the mid prices of a book."""
        import numpy as np

        starts, ends = moments(shown)
        if is_candles(shown):
            return cls(starts, ends, *(np.asarray(shown[name], np.float64) for name in ("low", "high", "close")))
        values = middles(shown)
        return cls(starts, ends, values, values, values)

    def columns(self, start: int, end: int, width: int) -> dict[str, Any]:
        """The line in so many columns of pixels: for each its time in milliseconds, lowest, highest and last value.

        A column without a row after one that has some is kept once, with NaN: the line breaks there.
        """
        import numpy as np

        first = max(0, int(np.searchsorted(self.ends, start, side="right")) - 1)
        last = min(len(self.starts), int(np.searchsorted(self.starts, end, side="left")) + 1)
        starts, ends = self.starts[first:last], self.ends[first:last]
        span = max(end - start, 1)
        middle = starts + (ends - starts) // 2
        low, high, value = (each[first:last] for each in (self.low, self.high, self.last))
        there = np.isfinite(value)
        starts, ends, middle, low, high, value = (each[there] for each in (starts, ends, middle, low, high, value))
        if not len(middle):
            return dict.fromkeys(("t", "low", "high", "last"), np.array([]))
        column = np.floor((middle - start) * (width / span)).astype(np.int64)
        firsts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
        lasts = np.append(firsts[1:], len(middle)) - 1
        # A missing row before a column's first one breaks the line, if it is wide enough to be seen.
        holes = np.append(False, starts[1:] - ends[:-1] >= np.maximum((ends - starts)[1:] / 2, span / width))[firsts]
        kept = {
            "t": middle[lasts] / 1e6,
            "low": np.minimum.reduceat(low, firsts),
            "high": np.maximum.reduceat(high, firsts),
            "last": value[lasts],
        }
        at = np.flatnonzero(holes)
        return {name: np.insert(values, at, np.nan) for name, values in kept.items()}


def candles_between(shown: Drawable, start: int, end: int, width: int) -> dict[str, Any] | None:
    """The candles of a stretch of time; None where they are too narrow to be drawn.

    Returns:
        ``t`` and ``end`` in milliseconds and the four prices, float64; each only of rows with a close.
    """
    import numpy as np

    starts, ends = moments(shown)
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(starts, end, side="left"))
    if first < last and float(np.median(ends[first:last] - starts[first:last])) * width / max(end - start, 1) < CANDLE:
        return None
    found = {name: np.asarray(shown[name][first:last], np.float64) for name in OHLC}
    there = np.isfinite(found["close"])
    edges = {"t": starts[first:last] / 1e6, "end": ends[first:last] / 1e6}
    return {name: values[there] for name, values in (edges | found).items()}


@dataclass(frozen=True, eq=False)
class BubbleData:
    """Liquidations at their prices.

    Attributes:
        moments: Middle of each one's bucket, int64 nanoseconds, ascending.
        prices: Its price, from candles or a book; never NaN.
        amounts: What was liquidated, float64.
        sold: Whether it is a SELL.
        worth: Amount × price, or the amount where that is in USD: the area.
    """

    moments: Any
    prices: Any
    amounts: Any
    sold: Any
    worth: Any

    @classmethod
    def of(cls, liquidations: list[Drawable], base: list[Drawable]) -> "BubbleData":
        """From the sides of a market, at the high of their moment for BUY, at the low for SELL."""
        import numpy as np

        parts: list[list[Any]] = [[], [], [], [], []]
        for one in liquidations:
            starts, ends = moments(one)
            middle = starts + (ends - starts) // 2
            prices = prices_at(middle / DAY_NS, base, [], one.id.side)
            amounts = np.nan_to_num(np.asarray(one[column_of(one)], np.float64))
            there = np.isfinite(prices) & (amounts > 0)
            worth = amounts if one.usd else amounts * prices
            sold = np.full(len(middle), one.id.side == "SELL")
            for part, values in zip(parts, (middle, prices, amounts, sold, worth), strict=True):
                part.append(values[there])
        joined = [np.concatenate(part) if part else np.array([]) for part in parts]
        order = np.argsort(joined[0], kind="stable")
        return cls(*(values[order] for values in joined))

    @cached_property
    def most(self) -> float:
        """The largest value: the same at every zoom."""
        return float(self.worth.max()) if len(self.worth) else 0.0

    def squares(self, view: tuple[tuple[int, int], tuple[float, float]], size: tuple[int, int]) -> dict[str, Any]:
        """The bubbles of a view; those of one side within 8 × 8 pixels are merged at their centre of mass.

        Where that leaves more than 4,000 the squares have 16 pixels a side, or 32.

        The squares begin at the epoch and at a price of 0, so that they stay when the view moves.
        """
        for square in SQUARES:
            found = self._within(view, square / size[0], square / size[1])
            if len(found["t"]) <= MOST_BUBBLES:
                break
        return found

    def _within(self, view: tuple[tuple[int, int], tuple[float, float]], wide: float, tall: float) -> dict[str, Any]:
        """The bubbles by squares of a part of the view's width and height."""
        import numpy as np

        (start, end), (low, high) = view
        across, up = wide * (end - start), tall * (high - low)
        first, last = np.searchsorted(self.moments, [start - 2 * across, end + 2 * across])
        part = [each[first:last] for each in (self.moments, self.prices, self.amounts, self.sold, self.worth)]
        near = (part[1] > low - 2 * up) & (part[1] < high + 2 * up)
        when, price, amount, sold, worth = (each[near] for each in part)
        if not len(when):
            return dict.fromkeys(("t", "price", "amount", "worth", "sold"), np.array([]))
        column, row = np.floor(when / across).astype(np.int64), np.floor(price / up).astype(np.int64)
        column, row = column - column.min(), row - row.min()
        # The view has some ten thousand squares at most: sums for all take one pass, without sorting.
        place = (column * (int(row.max()) + 1) + row) * 2 + sold
        worths = np.bincount(place, worth)
        filled = np.flatnonzero(worths)
        sums = worths[filled]
        return {
            "t": (start + np.bincount(place, (when - start) * worth)[filled] / sums) / 1e6,
            "price": np.bincount(place, price * worth)[filled] / sums,
            "amount": np.bincount(place, amount)[filled],
            "worth": sums,
            "sold": (filled % 2).astype(np.float64),
        }


def nearby(profile: Any, start: int, end: int, prices: tuple[float, float], rows: int) -> dict[str, Any]:
    """Traded volume by price of the buckets that reach into a stretch of time: buys and sells of each row of pixels.

    A level's volume is spread evenly over its height, as :meth:`~marketpoints.Heatmap.raster` does.
    """
    import numpy as np

    from .. import _engine

    starts, ends = moments(profile)
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(starts, end, side="left"))
    gap = _engine.level_extent(profile.offsets, profile.levels)[2]
    step = gap if np.isfinite(gap) else (prices[1] - prices[0]) / rows
    found = {}
    for name, field in (("bids", 1), ("asks", 2)):
        if first >= last:
            found[name] = np.zeros(rows)
            continue
        picture = _engine.raster(
            profile.offsets,
            profile.levels,
            starts,
            ends,
            # Complete buckets, so that none is cut by the view's edge.
            window=(int(starts[first]), int(ends[last - 1])),
            prices=prices,
            size=(1, rows),
            step=step,
            field=field,
            reduce="sum",
        )
        found[name] = np.nan_to_num(picture[:, 0]).astype(np.float64)
    return found
