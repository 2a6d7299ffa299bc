"""The lowest layer of the explorer: a heatmap or candles, in parts that were loaded one by one."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..common.data_types import adds_up, amount
from ..common.protocols import Drawable
from ..plots.axes import moments
from ..plots.candles import is_candles
from ..plots.cells import mass
from ..plots.labels import amount_unit, bare, identity_of, title
from ..plots.overlays import middles
from ..plots.pixels import Pixels
from .downsampling import PriceLine, candles_between

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["BaseLayer", "LoadedPart", "View"]

#: Start and end in Unix nanoseconds, lowest and highest price.
View = tuple[tuple[int, int], tuple[float, float]]
#: Columns in which a profile is added up: enough for every processor to have some.
COLUMNS = 128


@dataclass(frozen=True, eq=False)
class LoadedPart:
    """A loaded part.

    Attributes:
        shown: The result.
        window: What was asked for, Unix nanoseconds.
        pixels: The levels of a heatmap; None of candles.
        trace: Closes or mid prices.
    """

    shown: Drawable
    window: tuple[int, int]
    pixels: Pixels | None
    trace: PriceLine

    @classmethod
    def of(cls, shown: Any, window: tuple[int, int] | None = None, step: float | None = None) -> "LoadedPart":
        """A result; by default, its window is that of its rows and of the query.

        ``step`` is the height of a level, where other parts know it better than one of few levels.
        """
        starts, ends = moments(shown)
        if window is None:
            # A requested time without rows counts as loaded, and is not paid for again.
            asked = shown.requested
            edges = [] if asked is None else [int(edge.astype("int64")) for edge in asked]
            edges += [int(starts[0]), int(ends[-1])] if len(starts) else []
            window = (min(edges), max(edges)) if edges else (0, 1)
        pixels = None if is_candles(shown) else Pixels.of(shown)
        if pixels is not None and step is not None:
            pixels.step = step
        return cls(shown, window, pixels, PriceLine.of(shown))


class BaseLayer:
    """Parts in the order of time, without gaps between their windows."""

    def __init__(self, shown: Any) -> None:
        self.shown = shown
        self.parts: tuple[LoadedPart, ...] = (LoadedPart.of(shown),)
        self.has_levels = not is_candles(shown)
        self.has_sides = self.has_levels and bool(len(shown)) and bool((shown.split >= 0).any())
        # Liquidations at several prices of a pixel add up; of a book the largest levels are shown.
        self.adds_up = self.has_levels and adds_up(shown.id.type)
        self.step = self.parts[0].pixels.step if self.parts[0].pixels else None

    def __len__(self) -> int:
        return sum(len(part.shown) for part in self.parts)

    @property
    def title(self) -> str:
        """The title."""
        return bare(title(identity_of(self.shown), amount_unit(self.shown)))

    @property
    def grain(self) -> float:
        """Nanoseconds of a bucket; 0 without rows."""
        trace = self.parts[0].trace
        return float(trace.ends[0] - trace.starts[0]) if len(trace.starts) else 0.0

    @property
    def beside(self) -> str:
        """The label of :meth:`resting`'s volume; empty for candles."""
        if not self.has_levels:
            return ""
        quantity = amount(self.shown.id.type) or "volume"
        return quantity if self.adds_up else f"mean {quantity}"

    @property
    def window(self) -> tuple[int, int]:
        """The loaded window, Unix nanoseconds."""
        parts = self.parts
        return parts[0].window[0], parts[-1].window[1]

    @property
    def levels(self) -> int:
        """Levels, or candles, in memory."""
        return sum(len(part.pixels.levels) if part.pixels else len(part.shown) for part in self.parts)

    def seen(self, window: tuple[int, int], width: int) -> tuple[LoadedPart, ...]:
        """The parts for a picture of so many pixels across, in the order of time."""
        return self.parts

    def add(self, shown: Any, window: tuple[int, int]) -> None:
        """Adds a part adjacent to the loaded window, before or after it."""
        part = LoadedPart.of(shown, window, self.step)
        self.parts = tuple(sorted((*self.parts, part), key=lambda one: one.window))

    def drop_beyond(self, window: tuple[int, int], most: int) -> None:
        """Drops the parts farthest from a window, while there are more levels than ``most``."""
        while self.levels > most and len(self.parts) > 1:
            before = window[0] - self.parts[0].window[1]
            after = self.parts[-1].window[0] - window[1]
            if max(before, after) < 0:
                return
            self.parts = self.parts[1:] if before >= after else self.parts[:-1]

    def raster(self, view: View, size: tuple[int, int], side: str) -> "npt.NDArray[np.float32]":
        """The pixels of a view: float32 (height, width), as :meth:`~marketpoints.Heatmap.raster` returns them.

        Levels that share a pixel: the largest; of a liquidation heatmap their sum (``"stack"``).
        """
        import numpy as np

        found: npt.NDArray[np.float32] | None = None
        for part in self.seen(view[0], size[0]):
            pixels = part.pixels
            outside = part.window[1] <= view[0][0] or part.window[0] >= view[0][1]
            if pixels is None or not len(pixels.starts) or (outside and found is not None):
                continue
            picture = pixels.raster(*view, size, "stack" if self.adds_up else "max", side)
            # A part's edge may lie within a column of pixels.
            if found is None:
                found = picture
            elif self.adds_up:
                found = np.where(np.isnan(found), picture, found + np.nan_to_num(picture))
            else:
                found = np.fmax(found, picture)
        return np.full(size[::-1], np.nan, dtype=np.float32) if found is None else found

    def resting(self, view: View, size: tuple[int, int]) -> dict[str, Any]:
        """Mean volume of a snapshot by price in a view, for each row of pixels: that of bids and that of asks.

        For a liquidation heatmap it is the sum over the buckets. If the sides are not known, all of it is ``bids``, and
        ``asks`` is None.
        """
        import numpy as np

        width, rows = size
        found: dict[str, Any] = {"bids": np.zeros(rows), "asks": np.zeros(rows) if self.has_sides else None}
        count = 0
        for part in self.seen(view[0], width):
            pixels = part.pixels
            if pixels is None or not len(pixels.starts):
                continue
            first = int(np.searchsorted(pixels.ends, view[0][0], side="right"))
            last = int(np.searchsorted(pixels.starts, view[0][1], side="left"))
            if first >= last:
                continue
            count += last - first
            whole = int(pixels.starts[first]), int(pixels.ends[last - 1])
            for name, side in (("bids", "bids" if self.has_sides else "both"), ("asks", "asks")):
                if found[name] is not None:
                    picture = pixels.raster(whole, view[1], (COLUMNS, rows), "sum", side)
                    found[name] = found[name] + np.nansum(picture, axis=1, dtype=np.float64)
        return {
            name: None if sums is None else sums / (1 if self.adds_up else max(count, 1))
            for name, sums in found.items()
        }

    def line(self, start: int, end: int, width: int) -> dict[str, Any]:
        """Closes or mid prices by columns of pixels."""
        import numpy as np

        # If no part has any, the result of any part is right.
        seen = self.seen((start, end), width) or self.parts[:1]
        several = [part.trace.columns(start, end, width) for part in seen]
        return {name: np.concatenate([each[name] for each in several]) for name in several[0]}

    def candles(self, start: int, end: int, width: int) -> dict[str, Any] | None:
        """Candles, if they are wide enough to be drawn."""
        import numpy as np

        several = [candles_between(part.shown, start, end, width) for part in self.parts]
        found = [each for each in several if each is not None]
        if len(found) < len(several):
            return None
        return {name: np.concatenate([each[name] for each in found]) for name in found[0]}

    def home(self) -> View:
        """The initial view: all loaded rows, and the prices around the market."""
        if not len(self):
            return self.window, (0.0, 1.0)
        window, prices = self._rows(), self._around()
        return window, prices if math.isfinite(prices[1] - prices[0]) and prices[0] < prices[1] else (0.0, 1.0)

    def _rows(self) -> tuple[int, int]:
        """From the first row to the last; types without rows where nothing happened show the requested window."""
        traces = [part.trace for part in self.parts if len(part.trace.starts)]
        return self.window if self.adds_up else (int(traces[0].starts[0]), int(traces[-1].ends[-1]))

    def _around(self) -> tuple[float, float]:
        import numpy as np

        if not self.has_levels:
            trace = self.parts[0].trace
            there = np.isfinite(trace.low) & np.isfinite(trace.high)
            if not there.any():
                return 0.0, 1.0
            low, high = float(trace.low[there].min()), float(trace.high[there].max())
            room = (high - low) * 0.06 or abs(high) * 0.01 or 1.0
            return low - room, high + room
        pixels = self.parts[0].pixels
        assert pixels is not None
        if pixels.prices is None:
            return 0.0, 1.0
        found = middles(self.shown)
        found = found[np.isfinite(found)]
        if len(found):
            low, high = float(found.min()), float(found.max())
            room = max((high - low) * 0.75, float(np.median(found)) * 0.004)
        else:
            low, high = mass(self.shown.prices, self.shown.volumes)
            room = 0.0
        low, high = max(low - room, pixels.prices[0]), min(high + room + pixels.step, pixels.prices[1])
        return (low, high) if low < high else pixels.prices
