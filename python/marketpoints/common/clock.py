"""A client's clock where it differs from the machine's: a local service may run in another year."""

import math
import os
import time
from collections.abc import Callable

from ..errors import InvalidRequest

__all__ = ["CLOCK", "SPEED", "OffsetClock", "clock_of_environment", "offset"]

#: Seconds and times beyond those of any clock.
FAR = 1e15
CLOCK, SPEED = "MARKETPOINTS_CLOCK_OFFSET", "MARKETPOINTS_CLOCK_SPEED"


class OffsetClock:
    """A clock that runs so many times as fast as the machine's, some seconds off it; pickled, it is the same one."""

    def __init__(self, now: Callable[[], float], speed: float = 1.0) -> None:
        self._now, self._speed = now, speed

    def __call__(self) -> float:
        """Unix seconds."""
        return self._now()

    def __reduce__(self) -> tuple[Callable[[float, float], "OffsetClock"], tuple[float, float]]:
        return _machine_clock, (offset(self._now(), self._speed), self._speed)


def offset(now: float, speed: float) -> float:
    """The offset in seconds, at that speed, of a clock that now says ``now``."""
    return now - speed * time.time()


def _machine_clock(seconds: float, speed: float = 1.0) -> OffsetClock:
    return OffsetClock(lambda: speed * time.time() + seconds, speed)


def clock_of_environment() -> Callable[[], float] | None:
    """The machine's clock times ``MARKETPOINTS_CLOCK_SPEED`` plus the seconds in ``MARKETPOINTS_CLOCK_OFFSET``.

    None where neither is set; the speed is 1 where it is not.

    Raises:
        InvalidRequest: One of them is no such number, or there is a speed and no offset.
    """
    if not os.environ.get(CLOCK):
        if os.environ.get(SPEED):
            raise InvalidRequest(
                f"{SPEED} is set, and {CLOCK} is not; set both as `marketpoints serve` prints them, or none"
            )
        return None
    seconds, speed = _number(CLOCK), _number(SPEED) if os.environ.get(SPEED) else 1.0
    if not abs(seconds) <= FAR:
        raise InvalidRequest(f"{CLOCK}: {os.environ[CLOCK]!r} is not a number of seconds")
    if not 0 < speed <= FAR:
        raise InvalidRequest(f"{SPEED}: {os.environ[SPEED]!r} is not a number of times, more than 0")
    return _machine_clock(seconds, speed)


def _number(name: str) -> float:
    """The number in an environment variable; NaN where it is none."""
    try:
        return float(os.environ[name])
    except ValueError:
        return math.nan
