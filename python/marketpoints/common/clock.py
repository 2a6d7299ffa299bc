"""What time it is for a client, where the machine's clock does not tell: a local service may live in another year."""

import os
import time
from collections.abc import Callable

from ..errors import InvalidRequest

__all__ = ["CLOCK", "clock_of_environment"]

CLOCK = "MARKETPOINTS_CLOCK_OFFSET"


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
