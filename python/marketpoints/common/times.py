"""Reads times and durations that users write into Unix seconds; results' times are ``datetime64[ns]`` in UTC.

The engine parses texts and numbers; this module converts objects of Python and NumPy for it.

Accepted as a time: ``datetime`` (UTC when naive) and pandas' ``Timestamp``, ``date`` (midnight UTC), ISO 8601 text (UTC
without an offset), NumPy's ``datetime64``, and Unix seconds as a number. As a duration: ``timedelta`` and pandas'
``Timedelta``, NumPy's ``timedelta64``, text with units such as ``90d`` or ``1h30m``, and seconds as a number.
"""

import datetime as dt
import math
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from .. import _engine
from ..errors import InvalidRequest
from .dtypes import dtype_kind
from .intervals import DAY, HOUR, MINUTE, WEEK
from .secrets import of_type
from .texts import sendable

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "DAY_NS",
    "LARGEST_NANOSECONDS",
    "MINUTE_NS",
    "SECOND_NS",
    "Duration",
    "Interval",
    "Time",
    "exact",
    "from_seconds",
    "from_wire",
    "is_number",
    "iso",
    "no_time",
    "spell",
    "to_duration",
    "to_seconds",
    "to_unix",
]

#: A time as :func:`to_unix` reads it. NumPy's and pandas' types are accepted without being imported.
Time: TypeAlias = dt.date | str | float | Any
#: A length of time as :func:`to_duration` reads it.
Duration: TypeAlias = dt.timedelta | str | float | Any
#: The name of an interval, or a duration of its length.
Interval: TypeAlias = str | dt.timedelta | Any

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
#: Nanoseconds of a second, a minute and a day; lengths in seconds stand in :mod:`.intervals`.
SECOND_NS = 1_000_000_000
MINUTE_NS, DAY_NS = MINUTE * SECOND_NS, DAY * SECOND_NS
# The largest value of datetime64[ns]; the smallest 64-bit number is NaT.
LARGEST_NANOSECONDS = 2**63 - 1
MICROSECOND = dt.timedelta(microseconds=1)
#: Seconds of NumPy's units, of years and months about.
UNITS = {
    "Y": 3.2e7,
    "M": 2.6e6,
    "W": WEEK,
    "D": DAY,
    "h": HOUR,
    "m": MINUTE,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
}
UNITS |= {"ps": 1e-12, "fs": 1e-15, "as": 1e-18}
#: Seconds before and after 1970 that are surely none of a year of four digits.
FAR = 1e12


def to_unix(value: Time | None, name: str = "time") -> float | None:
    """Unix seconds of a time; None stays None.

    Raises:
        InvalidRequest: The value is no time, or a number too large for seconds; the message names ``name``.
    """
    if value is None:
        return None
    if type(value) is int or type(value) is float:  # before what takes longer to tell
        return _engine.unix_seconds(value, name)
    if isinstance(value, str):
        return _engine.unix_seconds(sendable(value, name), name)
    if isinstance(value, dt.date):
        return _of_calendar(value, name)
    if dtype_kind(value) == "M":
        return _of_numpy(value, name)
    if is_number(value):
        return _engine.unix_seconds(value, name)
    return _engine.unix_seconds(math.nan, name, of_type(value))


def _of_calendar(value: dt.date, name: str) -> float:
    if value != value:  # pandas' NaT calls itself a datetime
        return _engine.unix_seconds(math.nan, name, repr(value))
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    # Python converts the zone: a datetime's tzinfo may be of any class.
    aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.timezone.utc)
    return _engine.calendar_seconds((aware - EPOCH).total_seconds(), name, value)


def _of_numpy(value: Any, name: str) -> float:
    if getattr(value, "ndim", 0) != 0:
        raise InvalidRequest(f"{name}: an array of {len(value)} times where one is wanted")
    import numpy as np

    unit, count = np.datetime_data(value.dtype)
    # A conversion of a far time would wrap around and give another one.
    seconds = float(value.astype("int64")) * count * UNITS.get(unit, 1.0)
    if not np.isnat(value) and abs(seconds) > FAR:
        return _engine.unix_seconds("9999-01-01" if seconds > 0 else math.nan, name, str(value))
    text = str(value.astype("datetime64[us]"))
    return _engine.unix_seconds(math.nan, name, text) if text == "NaT" else _engine.unix_seconds(text, name)


def to_duration(value: Duration | None, name: str = "period") -> int | None:
    """Whole seconds of a duration; None stays None.

    Raises:
        InvalidRequest: The value is no duration, or not a whole number of seconds.
    """
    return None if value is None else _engine.whole_seconds(*_length(value, name), name, value)


def to_seconds(value: Duration, name: str) -> float:
    """Seconds of a duration, parts of a second included.

    Raises:
        InvalidRequest: The value is no duration.
    """
    return _engine.length_seconds(*_length(value, name), name, value)


def _length(value: Any, name: str) -> tuple[Any, bool]:
    """A duration for the engine, and whether it is in nanoseconds: a text or a number; NaN is no duration."""
    if type(value) is int or type(value) is float:  # before what takes longer to tell
        return value, False
    if isinstance(value, dt.timedelta):
        # pandas' Timedelta is a timedelta with nanoseconds.
        return value // MICROSECOND * 1_000 + getattr(value, "nanoseconds", 0), True
    if dtype_kind(value) == "m":
        return _length_of_numpy(value)
    if isinstance(value, str):
        return sendable(value, name), False
    return (value if is_number(value) else math.nan), False


def _length_of_numpy(value: Any) -> tuple[Any, bool]:
    import numpy as np

    unit, count = np.datetime_data(value.dtype)
    # Refused: arrays, NaT, months and years, which differ in length, and units below nanoseconds.
    if getattr(value, "ndim", 0) or unit not in ("W", "D", "h", "m", "s", "ms", "us", "ns") or np.isnat(value):
        return math.nan, False
    # In Python's integers: weeks in nanoseconds may not fit in 64 bits.
    length = int(np.array(1, dtype=f"timedelta64[{unit}]").astype("timedelta64[ns]").astype("int64"))
    return int(value.astype("int64")) * count * length, True


def iso(moment: "float | np.datetime64") -> str:
    """Unix seconds or a ``datetime64`` as text: ``2026-01-31 12:00`` in UTC, with seconds if there are any."""
    if isinstance(moment, (int, float)):
        return _engine.iso(moment)
    return str(moment.astype("datetime64[s]")).replace("T", " ").removesuffix(":00")


def no_time() -> "np.datetime64":
    """NaT, for a record without a time."""
    import numpy as np

    return np.datetime64("NaT", "ns")


#: A Unix time as ``datetime64[ns]``.
from_seconds = _engine.from_seconds


def from_wire(value: Any) -> "np.datetime64 | None":
    """A time of an answer (section 2.1) as ``datetime64[ns]``: ``{"s", "ns"}``, or whole Unix seconds.

    Absent and null are NaT. None stands for what ``datetime64[ns]`` cannot hold: no time, or one outside 1677 to 2262.
    """
    import numpy as np

    if value is None:
        return no_time()
    parts = (value.get("s", 0), value.get("ns", 0)) if isinstance(value, Mapping) else (value, 0)
    if not all(is_number(part) and part == part // 1 for part in parts):
        return None
    nanoseconds = int(parts[0]) * SECOND_NS + int(parts[1])
    return np.datetime64(nanoseconds, "ns") if abs(nanoseconds) <= LARGEST_NANOSECONDS else None


def exact(time: "np.datetime64") -> str:
    """A time to its last digit, in UTC: ``2026-01-31 12:00:00.5``; an empty text for NaT."""
    text = "" if time != time else str(time).replace("T", " ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def spell(time: "np.datetime64") -> str:
    """A time as text, to its last digit: ``2026-01-31 12:00:00.5 UTC``."""
    return "none" if time != time else f"{exact(time)} UTC"


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a real number, NumPy's included, but no bool and no timedelta64, which NumPy registers as one."""
    if type(value) is int or type(value) is float:
        return True
    if dtype_kind(value) == "m":
        return False
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
