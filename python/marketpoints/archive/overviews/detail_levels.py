"""An explorer's data from an archive: for every view the coarsest heatmap whose buckets are no wider than a pixel."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...common.data_types import amount
from ...common.intervals import BY_LENGTH, HOUR, MINUTE
from ...common.times import DAY_NS, SECOND_NS
from ...errors import Error
from ...explorer.base_layer import BaseLayer, LoadedPart, View
from ...explorer.downsampling import PriceLine
from ...plots.labels import amount_unit, bare, identity_of, title
from ...plots.pixels import Pixels
from .files import MonthOverviews

__all__ = ["DayLoader", "DetailLevels", "OverviewLevel", "layers"]

#: Levels of snapshots themselves that a view may have, and those that are kept.
MOST_IN_VIEW, MOST_KEPT = 8_000_000, 16_000_000


@dataclass(frozen=True, eq=False)
class OverviewLevel:
    """Overviews of one length.

    Attributes:
        seconds: Length of a bucket.
        pieces: Levels and trace of each stretch, in the order of time.
    """

    seconds: int
    pieces: tuple[tuple[Pixels, PriceLine], ...]


def layers(found: list[MonthOverviews]) -> list[OverviewLevel]:
    """The overviews of several months by length, the coarsest first, which is joined and in memory."""
    import numpy as np

    made = []
    every = sorted({seconds for one in found for seconds in one.rows}, reverse=True)
    for seconds in every:
        pieces = [_piece(one, seconds) for one in found]
        if seconds == every[0]:
            rows = np.concatenate([one.rows[seconds] for one in found])
            ends = np.concatenate([np.diff(one.rows[seconds]["end"], prepend=0) for one in found])
            rows["end"] = np.cumsum(ends)
            levels = np.concatenate([one.levels[seconds] for one in found])
            pieces = [_joined(rows, levels, seconds, min(one.about["step"] for one in found))]
        made.append(OverviewLevel(seconds, tuple(piece for piece in pieces if len(piece[0].starts))))
    return made


def _piece(one: MonthOverviews, seconds: int) -> tuple[Pixels, PriceLine]:
    return _joined(one.rows[seconds], one.levels[seconds], seconds, one.about["step"])


def _joined(rows: Any, levels: Any, seconds: int, step: float) -> tuple[Pixels, PriceLine]:
    import numpy as np

    starts = np.ascontiguousarray(rows["start"])
    ends = starts + seconds * SECOND_NS
    offsets = np.append(0, rows["end"]).astype(np.int64)
    trace = PriceLine(starts, ends, *(np.ascontiguousarray(rows[name]) for name in ("low", "high", "last")))
    return Pixels(offsets, levels, starts, ends, np.ascontiguousarray(rows["bids"]), "both", step), trace


class DetailLevels(BaseLayer):
    """Overviews of everything, and the snapshots of days that were viewed closely.

    Args:
        shown: The coarsest overview as a heatmap.
        several: Overviews, the coarsest first, of which ``shown`` is the first.
        interval: Seconds of a snapshot's bucket.
        levels: Levels of each day by its start in nanoseconds.
    """

    def __init__(self, shown: Any, several: list[OverviewLevel], interval: int, levels: dict[int, int]) -> None:
        super().__init__(shown)
        self._layers = [
            (one.seconds * SECOND_NS, [self._part(shown, *piece) for piece in one.pieces]) for one in several
        ]
        coarsest = self._layers[0][1][0]
        # A heatmap of rows without levels between them does not know how high one is.
        self.parts = (coarsest,)
        assert coarsest.pixels is not None
        self.step = coarsest.pixels.step
        self._interval, self._counts = interval * SECOND_NS, levels
        self._wire = BY_LENGTH[interval].wire
        self._days: dict[int, LoadedPart] = {}
        self._lock = threading.Lock()
        self._width = 1_000

    @staticmethod
    def _part(shown: Any, pixels: Pixels, trace: PriceLine) -> LoadedPart:
        return LoadedPart(shown, (int(pixels.starts[0]), int(pixels.ends[-1])), pixels, trace)

    @property
    def title(self) -> str:
        """The title, for the snapshots' interval."""
        identity = replace(identity_of(self.shown), interval=self._wire)
        return bare(title(identity, amount_unit(self.shown)))

    @property
    def grain(self) -> float:
        """Nanoseconds of a snapshot's bucket."""
        return float(self._interval)

    @property
    def beside(self) -> str:
        """The label of :meth:`resting`'s volume."""
        return super().beside if self.adds_up else f"mean of the largest {amount(self.shown.id.type)}"

    def raster(self, view: View, size: tuple[int, int], side: str) -> Any:
        """Like :meth:`BaseLayer.raster`."""
        self._width = size[0]
        return super().raster(view, size, side)

    def seen(self, window: tuple[int, int], width: int) -> tuple[LoadedPart, ...]:
        """The coarsest parts whose buckets are no wider than a pixel; else the finest ones loaded."""
        if self.needed(window, width) is None:
            level = self.level(window, width)
            every = self._layers[-1 if level is None else level][1]
        else:
            with self._lock:
                days = [self._days.get(day) for day in self.days(window)]
            every = [day for day in days if day is not None]
            if len(every) < len(days):
                every = self._layers[-1][1]
        return tuple(part for part in every if part.window[0] < window[1] and window[0] < part.window[1])

    def level(self, window: tuple[int, int], width: int) -> int | None:
        """Which overview a picture is made of; None where all are too coarse."""
        pixel = (window[1] - window[0]) / max(width, 1)
        return next((at for at, (length, _) in enumerate(self._layers) if length <= pixel), None)

    def days(self, window: tuple[int, int]) -> list[int]:
        """The days of a window that have levels, by their starts."""
        first, last = max(window[0] // DAY_NS * DAY_NS, min(self._counts)), min(window[1], max(self._counts) + DAY_NS)
        return [day for day in range(first, last, DAY_NS) if day in self._counts]

    def needed(self, window: tuple[int, int], width: int) -> list[int] | None:
        """The days whose snapshots a picture needs, if they are few enough; None if overviews are enough."""
        if self.level(window, width) is not None:
            return None
        days = self.days(window)
        # A day at the edge is read completely, and used in part.
        share = min(1.0, (window[1] - window[0]) / (DAY_NS * max(len(days), 1)))
        return days if sum(self._counts[day] for day in days) * share <= MOST_IN_VIEW else None

    def missing(self, window: tuple[int, int]) -> list[int]:
        """The days that the last picture needs and that are not loaded."""
        with self._lock:
            return [day for day in self.needed(window, self._width) or () if day not in self._days]

    def keep(self, day: int, shown: Any, window: tuple[int, int]) -> None:
        """Adds the snapshots of a day, and drops those farthest from a window while there are too many."""
        part = LoadedPart.of(shown, (day, day + DAY_NS), self.step)
        with self._lock:
            self._days[day] = part
            middle = (window[0] + window[1]) // 2
            while sum(self._counts[one] for one in self._days) > MOST_KEPT:
                farthest = max(self._days, key=lambda one: abs(one + DAY_NS // 2 - middle))
                if farthest == day or window[0] - DAY_NS < farthest < window[1]:
                    return
                del self._days[farthest]

    def description(self, window: tuple[int, int]) -> str:
        """The level of detail of a view, in words."""
        level = self.level(window, self._width)
        if self.needed(window, self._width) is not None:
            return ""
        seconds = self._layers[-1 if level is None else level][0] // SECOND_NS
        length = f"{seconds // HOUR} h" if seconds % HOUR == 0 else f"{seconds // MINUTE} min"
        what = "sum" if self.adds_up else "largest"
        return f"{what} of each {length}; zoom in for each snapshot"


class DayLoader:
    """Reads the days that a close view needs. It costs nothing.

    Args:
        read: Gives the heatmap of a day by its start in nanoseconds; None where it has no rows.
    """

    def __init__(self, read: Callable[[int], Any]) -> None:
        self._read = read
        self._bad: dict[int, str] = {}

    def look(self, base: BaseLayer, view: View) -> dict[str, Any] | None:
        """Reads the days that a view needs; returns the message for the page."""
        assert isinstance(base, DetailLevels)
        missing = [day for day in base.missing(view[0]) if day not in self._bad]
        for day in missing:
            try:
                shown = self._read(day)
            except Error as problem:  # damaged: its overview stays
                self._bad[day] = str(problem)
                continue
            if shown is not None:
                base.keep(day, shown, view[0])
        if any(day not in self._bad for day in missing):
            return {"kind": "loaded", "again": True}
        problems = [self._bad[day] for day in base.days(view[0]) if day in self._bad]
        return {"kind": "offer", "offer": 0, "text": problems[0] if problems else base.description(view[0])}

    def spend(self, base: BaseLayer, offer: Any, note: Callable[[str], None]) -> dict[str, Any]:
        """Nothing is offered here."""
        return {"kind": "note", "text": "what an archive holds costs nothing"}
