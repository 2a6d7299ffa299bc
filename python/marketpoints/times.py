"""Times and durations as users write them, to Unix seconds.

Accepted as a time: ``datetime`` (UTC when naive) and pandas' ``Timestamp``, ``date`` (midnight UTC), ISO 8601 text (UTC
without an offset), NumPy's ``datetime64``, and Unix seconds as a number.
"""

import datetime as dt
import math
import numbers
import re
from typing import Any, TypeAlias, TypeGuard

from .errors import InvalidRequest

__all__ = ["Duration", "Time", "iso", "to_duration", "to_unix"]

#: Whatever :func:`to_unix` reads. NumPy's and pandas' types are accepted without being imported.
Time: TypeAlias = dt.date | str | float | Any
#: Whatever :func:`to_duration` reads.
Duration: TypeAlias = dt.timedelta | float | Any

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
# Unix seconds reach this in the year 5138; a larger number is milliseconds, microseconds or nanoseconds.
LARGEST_SECONDS = 1e11
ISO_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r" ?(Z|z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
WANTED = "give a datetime, an ISO 8601 text such as 2026-01-31T12:00:00Z, or Unix seconds"


def to_unix(value: Time | None, name: str = "time") -> float | None:
    """Unix seconds of a time; None stays None.

    Raises:
        InvalidRequest: The value is no time, or a number too large for seconds; the message names ``name``.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _from_text(value, name)
    if isinstance(value, dt.datetime):
        if value != value:  # pandas' NaT calls itself a datetime
            raise InvalidRequest(f"{name}: {value!r} is not a time; {WANTED}")
        aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.timezone.utc)
        return _seconds(aware)
    if isinstance(value, dt.date):
        return _seconds(dt.datetime(value.year, value.month, value.day, tzinfo=dt.timezone.utc))
    if getattr(getattr(value, "dtype", None), "kind", "") == "M":
        return _from_numpy(value, name)
    return _from_number(value, name)


def to_duration(value: Duration | None, name: str = "period") -> int | None:
    """Whole seconds of a duration (a number of seconds or a ``timedelta``); None stays None.

    Raises:
        InvalidRequest: The value is no duration, or not a whole number of seconds.
    """
    if value is None:
        return None
    seconds: object = value.total_seconds() if isinstance(value, dt.timedelta) else value
    if not _is_number(seconds) or not math.isfinite(seconds) or int(seconds) != seconds:
        raise InvalidRequest(f"{name}: {value!r} is not a whole number of seconds or a timedelta")
    return int(seconds)


def iso(seconds: float) -> str:
    """A Unix time as people read it: ``2026-01-31 12:00`` in UTC, with seconds where there are some."""
    moment = EPOCH + dt.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if moment.second else "%Y-%m-%d %H:%M")


def _from_text(text: str, name: str) -> float:
    match = ISO_TIME.fullmatch(text.strip())
    if match is None:
        raise InvalidRequest(f"{name}: {text!r} is not a time; {WANTED}")
    *fields, fraction, offset = match.groups()
    try:
        year, month, day, hour, minute, second = (int(field or 0) for field in fields)
        moment = dt.datetime(year, month, day, hour, minute, second, tzinfo=_zone(offset))
    except ValueError as problem:
        raise InvalidRequest(f"{name}: {text!r} is not a time: {problem}") from None
    return _seconds(moment) + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def _zone(offset: str | None) -> dt.timezone:
    if offset is None or offset in "Zz":
        return dt.timezone.utc
    digits = offset[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if minutes > 59:
        raise ValueError("the minutes of the offset must be in 0..59")
    ahead = dt.timedelta(hours=hours, minutes=minutes)
    return dt.timezone(-ahead if offset[0] == "-" else ahead)


def _from_numpy(value: Any, name: str) -> float:
    if getattr(value, "ndim", 0) != 0:
        raise InvalidRequest(f"{name}: an array of {len(value)} times where one is wanted")
    text = str(value.astype("datetime64[us]"))
    if text == "NaT":
        raise InvalidRequest(f"{name}: NaT is not a time; {WANTED}")
    return _from_text(text, name)


def _from_number(value: Any, name: str) -> float:
    if not _is_number(value):
        raise InvalidRequest(f"{name}: {value!r} of type {type(value).__name__} is not a time; {WANTED}")
    seconds = float(value)
    if not math.isfinite(seconds):
        raise InvalidRequest(f"{name}: {value!r} is not a time; {WANTED}")
    if abs(seconds) > LARGEST_SECONDS:
        units = {1e14: "milliseconds", 1e17: "microseconds"}
        unit = next((unit for limit, unit in units.items() if abs(seconds) < limit), "nanoseconds")
        raise InvalidRequest(f"{name}: {value!r} looks like {unit}; times are Unix seconds")
    return seconds


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a real number, NumPy's included; a bool is none here."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _seconds(moment: dt.datetime) -> float:
    return (moment - EPOCH).total_seconds()
