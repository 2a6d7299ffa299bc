"""Chooses the next piece: no series waits while another one spends more than its share."""

import heapq
import threading
from collections.abc import Sequence

from ..records.pieces import Piece, PlannedSeries, Slice
from .planning import PARALLEL

__all__ = ["Schedule"]


class Schedule:
    """Distributes pieces fairly: the next is of the series that was given the least weight, oldest buckets first.

    Two series that both wait were thus given weights that differ by one piece at most, whatever they are of: one that
    is new and asks for years does not hold up the last day of a thousand others, and books do not hold up candles. A
    series has one piece at a time, since an archive lets one writer at a time write it. Where fewer series are left
    than requests may be under way, a piece has several requests; of the last series it has all.
    """

    def __init__(self, parts: Sequence[PlannedSeries]) -> None:
        self._parts = parts
        self._left: dict[int, Sequence[Slice]] = {}
        self._lock = threading.Lock()
        # Given weight, first bucket that is left, and place: ties go by the order of the universe.
        self._waiting = [
            (0, part.slices[0].start, place) for place, part in enumerate(parts) if part.slices and not part.refusal
        ]
        self._active = len(self._waiting)
        self._ended = ""
        heapq.heapify(self._waiting)
        self._given: dict[int, int] = {}

    @property
    def ended(self) -> str:
        """Why no more pieces are given out; empty while they are."""
        return self._ended

    def take(self) -> Piece | None:
        """The next piece; None if there is none now: unfinished pieces may be returned by other workers."""
        with self._lock:
            if self._ended or not self._waiting:
                return None
            given, _, place = heapq.heappop(self._waiting)
            left = self._left.get(place)
            if left is None:
                left = self._parts[place].slices
            count = len(left) if self._active == 1 else -(-PARALLEL // self._active)
            piece = Piece.of(place, self._parts[place], left[:count])
            self._left[place] = left[count:]
            self._given[place] = given + piece.weight
            return piece

    def done(self, piece: Piece) -> None:
        """Marks a piece as done, so that the next one of its series may start."""
        with self._lock:
            left = self._left[piece.series]
            if left:
                heapq.heappush(self._waiting, (self._given[piece.series], left[0].start, piece.series))
            else:
                self._active -= 1

    def drop(self, piece: Piece) -> None:
        """Skips the rest of the piece's series."""
        with self._lock:
            self._active -= 1
            self._left[piece.series] = ()

    def end(self, reason: str) -> None:
        """Gives out no more pieces."""
        with self._lock:
            self._ended = self._ended or reason
