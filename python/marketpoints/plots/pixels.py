"""Levels by time and price, made into pixels by the engine. Needs no matplotlib."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.protocols import DrawableLevels
from ..common.times import SECOND_NS, Time, from_seconds, iso, to_unix
from ..errors import InvalidRequest
from .axes import moments
from .ranges import block_height, price_range

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Pixels", "View", "asked_view"]

#: The first and the last moment that nanoseconds hold.
FIRST, LAST = -(2**63) + 1, 2**63 - 1
#: Start and end in Unix nanoseconds, lowest and highest price, width and height in pixels.
View = tuple[tuple[int, int], tuple[float, float], tuple[int, int]]
#: Levels from which on it pays to pack them for further pictures.
MANY = 100_000


@dataclass
class Pixels:
    """Levels for pictures by the engine.

    Attributes:
        offsets: Where each row's levels start, int64 (rows + 1).
        levels: Price and volume, float64 (levels, 2).
        starts: Start of each row's bucket, int64 nanoseconds (rows,).
        ends: End of each row's bucket.
        split: Bids of each row, int64 (rows,); -1 where unknown.
        side: ``both``, ``bids`` or ``asks``.
        step: Height of a level.
    """

    offsets: Any
    levels: Any
    starts: Any
    ends: Any
    split: Any
    side: str
    step: float
    _pictures: int = field(default=0, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, shown: DrawableLevels, step: float | None = None, side: str = "both") -> "Pixels":
        """Makes the levels of a heatmap, added up in buckets of ``step`` if it is given.

        Raises:
            InvalidRequest: The step or the side is not valid, or no snapshot has known sides.
        """
        offsets, levels, split = shown.offsets, shown.levels, shown.split
        if side not in ("both", "bids", "asks"):
            raise InvalidRequest(f"side: {side!r} is none of 'both', 'bids' and 'asks'")
        if side != "both" and len(shown) and not (split >= 0).any():
            raise InvalidRequest(f"side: {side!r} is not known in this answer; use side='both'")
        if step is None:
            step = block_height(shown)
        else:
            step = _height(step)
            offsets, levels, split = _engine.regroup(offsets, levels, step, split=split, side=side)
        return cls(offsets, levels, *moments(shown), split, side, step)

    @cached_property
    def prices(self) -> tuple[float, float] | None:
        """The lowest price and the upper edge of the highest level; None without levels."""
        low, high, _ = _engine.level_extent(self.offsets, self.levels)
        return None if low > high else (low, high + self.step)

    @property
    def window(self) -> tuple[int, int] | None:
        """Start of the first row and end of the last, in nanoseconds; None without rows."""
        return (int(self.starts[0]), int(self.ends[-1])) if len(self.starts) else None

    def raster(
        self,
        window: tuple[int, int],
        prices: tuple[float, float],
        size: tuple[int, int],
        reduce: str,
        side: str | None = None,
    ) -> "npt.NDArray[np.float32]":
        """The pixels of a view: float32 (height, width), as :meth:`~marketpoints.Heatmap.raster` returns them.

        ``side`` is one of them where both are there; None is all that there is.
        """
        known = max(window[0], FIRST), min(window[1], LAST)
        if known != window:
            return self._within(known, window, prices, size, reduce, side)
        return _engine.raster(
            self.offsets,
            self.levels,
            self.starts,
            self.ends,
            window=window,
            prices=prices,
            size=size,
            step=self.step,
            split=self.split,
            field=1,
            reduce=reduce,
            side=side or self.side,
            packed=self._packed_for(reduce),
        )

    def _packed_for(self, reduce: str) -> _engine.PackedLevels | None:
        """Packed levels, from the second picture on: most are drawn once, for which packing does not pay."""
        if reduce not in ("max", "last") or len(self.levels) < MANY:
            return None
        self._pictures += 1
        return self._packed if self._pictures > 1 else None

    @cached_property
    def _packed(self) -> _engine.PackedLevels:
        return _engine.PackedLevels(self.offsets, self.levels, self.step, split=self.split, field=1)

    def _within(
        self,
        known: tuple[int, int],
        window: tuple[int, int],
        prices: tuple[float, float],
        size: tuple[int, int],
        reduce: str,
        side: str | None,
    ) -> "npt.NDArray[np.float32]":
        """Like :meth:`raster`, for a view that reaches beyond the range of times: NaN there."""
        import numpy as np

        made = np.full(size[::-1], np.nan, dtype=np.float32)
        length = window[1] - window[0]
        left, right = (round((edge - window[0]) * size[0] / length) for edge in known)
        if left < right:
            made[:, left:right] = self.raster(known, prices, (right - left, size[1]), reduce, side)
        return made


def asked_view(
    pixels: Pixels, width: Any, height: Any, window: tuple[Time, Time] | None, prices: tuple[float, float] | None
) -> View:
    """A view as a user asks for it; of a heatmap without levels any view is empty.

    Raises:
        InvalidRequest: It is none, or it shows nothing of the heatmap.
    """
    size = _count("width", width), _count("height", height)
    there, levels = pixels.window, pixels.prices
    asked = there or (0, 1)
    if window is not None:
        asked = _window(window)
        if there and (asked[1] <= there[0] or asked[0] >= there[1]):
            wanted, held = (" to ".join(_spelled(window)) for window in (asked, there))
            raise InvalidRequest(
                f"window: no snapshot from {wanted}; they lie from {held} UTC: give times between these"
            )
    shown = price_range(prices) or levels or (0.0, 1.0)
    if levels and (shown[1] <= levels[0] or shown[0] >= levels[1]):
        low, high = levels
        raise InvalidRequest(
            f"prices: no level from {shown[0]:,.12g} to {shown[1]:,.12g}; they lie from {low:,.12g} to {high:,.12g}: "
            "give prices between these"
        )
    return asked, shown, size


def _count(name: str, value: Any) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise InvalidRequest(f"{name}: {value!r} is not a whole number of pixels") from None
    if not 0 < count < 2**31:
        raise InvalidRequest(f"{name}: {count} is no number of pixels that a picture has; give 1 to 32,768")
    return count


def _window(window: Any) -> tuple[int, int]:
    try:
        start, end = window
    except (TypeError, ValueError):
        raise InvalidRequest(f"window: {window!r} is not a start and an end") from None
    edges = []
    for edge in (start, end):
        seconds = to_unix(edge, "window")
        if seconds is None:
            raise InvalidRequest("window: None is no time; give a start and an end, or no window")
        edges.append(int(from_seconds(seconds).astype("int64")))
    if edges[0] >= edges[1]:
        first, last = _spelled(edges)
        raise InvalidRequest(f"window: {first} is not before {last}; give the start first")
    return edges[0], edges[1]


def _spelled(window: Iterable[int]) -> list[str]:
    """A window in nanoseconds as people read it."""
    return [iso(edge // SECOND_NS) for edge in window]


def _height(step: Any) -> float:
    try:
        return float(step)
    except (TypeError, ValueError):
        raise InvalidRequest(f"step: {step!r} is not a number; give the height of a row in prices") from None
