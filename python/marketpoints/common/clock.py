"""What time it is for a client, where the machine's clock does not tell: a local service may live in another year."""

import os
import time
from collections.abc import Callable

from ..errors import InvalidRequest

__all__ = ["CLOCK", "OffsetClock", "clock_of_environment"]

CLOCK = "MARKETPOINTS_CLOCK_OFFSET"


class OffsetClock:
    """A clock that is some seconds off the machine's: in another process it is the machine's with these seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def __call__(self) -> float:
        """Unix seconds."""
        return self._now()

    def __reduce__(self) -> tuple[Callable[[float], "OffsetClock"], tuple[float]]:
        return _machine_clock, (self._now() - time.time(),)


def _machine_clock(offset: float) -> OffsetClock:
    return OffsetClock(lambda: time.time() + offset)


def clock_of_environment() -> Callable[[], float] | None:
    """The machine's clock plus the seconds in ``MARKETPOINTS_CLOCK_OFFSET``; None where that is not set.

    Raises:
        InvalidRequest: It is no number of seconds.
    """
    text = os.environ.get(CLOCK)
    if not text:
        return None
    try:
        offset = float(text)
    except ValueError:
        raise InvalidRequest(f"{CLOCK}: {text!r} is not a number of seconds") from None
    return lambda: time.time() + offset
