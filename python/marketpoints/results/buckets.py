"""The grid of buckets behind a series: when each closes, and which are missing (supplement, sections 1 and 4)."""

from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.times import DAY, SECOND
from ..errors import SelectionError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["closing", "missing", "spans", "step_between", "step_of"]

#: Sessions of a market profile (section 4.1): days, weeks, and months, which differ in length.
SESSIONS = {"TPO_SESSION_DAILY": (1, "D"), "TPO_SESSION_WEEKLY": (7, "D"), "TPO_SESSION_MONTHLY": (1, "M")}
# The shortest and the longest month.
MONTH = (28 * DAY, 31 * DAY)
WEEK = 7 * DAY
# The first Monday after the epoch.
MONDAY = 4 * DAY


def step_of(interval: str | None, session: str | None = None) -> "np.timedelta64":
    """Length of a bucket: ``timedelta64[ns]``, or one of ``timedelta64[M]`` for months.

    Raises:
        SelectionError: Neither an interval nor a session of a known length is named.
    """
    import numpy as np

    if session in SESSIONS:
        count, unit = SESSIONS[session]
        return np.timedelta64(count, "M") if unit == "M" else np.timedelta64(count * DAY, "ns")
    for wire, _, seconds in _engine.intervals():
        if wire == interval:
            return np.timedelta64(seconds * SECOND, "ns")
    if interval is None:
        raise SelectionError("the series names no interval, so its buckets have no known length")
    raise SelectionError(f"interval {interval!r} is not known, so its buckets have no known length")


def step_between(starts: Any, ends: Any) -> "np.timedelta64 | None":
    """Length of buckets that have their own end; None where none does.

    Whole calendar months differ in length and count as months.
    """
    import numpy as np

    known = ~(np.isnat(starts) | np.isnat(ends))
    lengths = np.unique((ends[known] - starts[known]).astype("int64"))
    if not lengths.size or lengths[0] <= 0:
        return None
    edges = np.concatenate([starts[known], ends[known]])
    whole_months = bool((edges == edges.astype("datetime64[M]")).all())
    if whole_months and MONTH[0] <= lengths[0] and lengths[-1] <= MONTH[1]:
        return np.timedelta64(1, "M")
    return np.timedelta64(int(lengths[0]), "ns")


def closing(starts: "npt.NDArray[np.datetime64]", step: "np.timedelta64") -> "npt.NDArray[np.datetime64]":
    """When each bucket is over: datetime64[ns] (rows,)."""
    import numpy as np

    if _is_month(step):
        months = starts.astype("datetime64[M]")
        ends: npt.NDArray[np.datetime64] = (months + step).astype("datetime64[ns]") + (starts - months)
    else:
        ends = starts + step
    # Beyond the last moment that there is, the year 2262, times would begin anew in 1677, and be known at once.
    late = ends < starts
    if late.any():
        ends[late] = np.datetime64(2**63 - 1, "ns")
    return ends


def missing(
    starts: "npt.NDArray[np.datetime64]", step: "np.timedelta64", window: tuple[Any, Any] | None
) -> "npt.NDArray[np.datetime64]":
    """Starts of the buckets of a window in which no row starts: datetime64[ns], ascending.

    Args:
        starts: Start of each row, datetime64[ns], ascending; several rows may share one.
        step: Length of a bucket.
        window: First bucket start and the end, half-open, datetime64[ns]; None is from the first row to the last.
    """
    import numpy as np

    if window is None and not len(starts):
        return starts[:0]
    if _is_month(step):
        grid, places = _months(starts, window)
    else:
        width = int(step.astype("int64"))
        numbers = starts.astype("int64")
        anchor = _anchor(numbers, width)
        places = (numbers - anchor) // width
        if window is None:
            first, end = int(places[0]), int(places[-1]) + 1
        else:  # the first bucket that starts in the window, and the first that starts at its end or later
            first, end = (-((anchor - int(edge.astype("int64"))) // width) for edge in window)
        grid = (anchor + np.arange(first, end) * width).astype("datetime64[ns]")
        places = places - first
    there = np.zeros(len(grid), dtype=bool)
    there[places[(places >= 0) & (places < len(grid))]] = True
    absent: npt.NDArray[np.datetime64] = grid[~there]
    return absent


def spans(absent: "npt.NDArray[np.datetime64]", step: "np.timedelta64") -> "npt.NDArray[np.datetime64]":
    """Buckets that follow each other as one: start and end of each stretch, datetime64[ns] (spans, 2)."""
    import numpy as np

    if not len(absent):
        return np.empty((0, 2), dtype="datetime64[ns]")
    ends = closing(absent, step)
    breaks = np.flatnonzero(absent[1:] != ends[:-1])
    firsts, lasts = np.r_[0, breaks + 1], np.r_[breaks, len(absent) - 1]
    return np.stack([absent[firsts], ends[lasts]], axis=1)


def _is_month(step: "np.timedelta64") -> bool:
    return step.dtype.str.endswith("[M]")


def _anchor(starts: Any, width: int) -> int:
    """Start of one bucket. Which day a week starts on is not published: the rows tell, or else it is Monday."""
    if width % WEEK:
        return 0
    return int(starts[0]) if len(starts) else MONDAY


def _months(starts: Any, window: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """The first days of the calendar months of a window, and the place of each row among them."""
    import numpy as np

    rows = starts.astype("datetime64[M]")
    first, end = (rows[0], rows[-1] + 1) if window is None else (_ceil_month(edge) for edge in window)
    return np.arange(first, end).astype("datetime64[ns]"), (rows - first).astype("int64")


def _ceil_month(time: "np.datetime64") -> "np.datetime64":
    """The first month that starts at or after a time."""
    import numpy as np

    month: np.datetime64 = time.astype("datetime64[M]")
    return month if month == time else month + np.timedelta64(1, "M")
