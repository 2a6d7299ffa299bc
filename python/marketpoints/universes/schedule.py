"""Whose turn it is: no series waits while another one spends more than its share."""

import heapq
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from .planning import PARALLEL, Entry, Slice

__all__ = ["Schedule", "Turn"]


@dataclass(frozen=True)
class Turn:
    """Some requests of a series that are sent together."""

    place: int
    slices: tuple[Slice, ...]

    @property
    def window(self) -> tuple[int, int]:
        """From the first bucket to the end of the last, Unix seconds."""
        return self.slices[0].start, self.slices[-1].end

    @property
    def weight(self) -> int:
        """What its requests weigh by the plan."""
        return sum(one.weight for one in self.slices)


class Schedule:
    """Hands out turns: the next is of the series that was given the least weight so far, the oldest buckets first.

    Two series that both wait were thus given weights that differ by one turn at most, whatever they are of: one that
    is new and asks for years does not hold up the last day of a thousand others, and books do not hold up candles. A
    series has one turn at a time, since an archive lets one writer at a time write it. Where fewer series are left than
    requests may be under way, a turn has several requests; of the last series it has all.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._left: dict[int, list[Slice]] = {}
        self._lock = threading.Lock()
        # Given weight, first bucket that is left, and place: ties go by the order of the universe.
        self._waiting = [
            (0, 0 if entry.window is None else entry.window[0], place)
            for place, entry in enumerate(entries)
            if entry.requests or entry.unknown
        ]
        self._active = len(self._waiting)
        self._ended = ""
        heapq.heapify(self._waiting)
        self._given: dict[int, int] = {}

    @property
    def ended(self) -> str:
        """Why nothing more is handed out; empty while there is no reason."""
        return self._ended

    def take(self) -> Turn | None:
        """The next turn. None where there is none for this worker: those that are at work bring back what is left."""
        with self._lock:
            if self._ended or not self._waiting:
                return None
            given, _, place = heapq.heappop(self._waiting)
            left = self._left.get(place)
            if left is None:
                left = self._entries[place].slices()
            count = len(left) if self._active == 1 else -(-PARALLEL // self._active)
            turn = Turn(place, tuple(left[:count]))
            self._left[place] = left[count:]
            self._given[place] = given + turn.weight
            return turn

    def done(self, turn: Turn) -> bool:
        """The turn is over; what is left of its series waits for the next. Whether that was all of the series."""
        with self._lock:
            left = self._left[turn.place]
            if left:
                heapq.heappush(self._waiting, (self._given[turn.place], left[0].start, turn.place))
                return False
            self._active -= 1
            return True

    def drop(self, turn: Turn) -> None:
        """Nothing more is asked of the turn's series."""
        with self._lock:
            self._active -= 1
            self._left[turn.place] = []

    def lacks(self, place: int) -> bool:
        """Whether something of a series was never handed out, or not all of it was done."""
        return any(waiting == place for _, _, waiting in self._waiting)

    def end(self, reason: str) -> None:
        """Nothing more is handed out."""
        with self._lock:
            self._ended = self._ended or reason
