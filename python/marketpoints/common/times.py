"""Times and durations as users write them, to Unix seconds; and times as results hold them, ``datetime64[ns]`` in UTC.

Accepted as a time: ``datetime`` (UTC when naive) and pandas' ``Timestamp``, ``date`` (midnight UTC), ISO 8601 text (UTC
without an offset), NumPy's ``datetime64``, and Unix seconds as a number. As a duration: ``timedelta`` and pandas'
``Timedelta``, NumPy's ``timedelta64``, text with units such as ``90d`` or ``1h30m``, and seconds as a number.
"""

import datetime as dt
import math
import numbers
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from .. import _engine
from ..errors import InvalidRequest
from .hidden import redacted

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "DAY",
    "LARGEST_NANOSECONDS",
    "SECOND",
    "Duration",
    "Interval",
    "Time",
    "exact",
    "from_seconds",
    "from_wire",
    "iso",
    "no_time",
    "spell",
    "to_duration",
    "to_seconds",
    "to_unix",
]

#: Whatever :func:`to_unix` reads. NumPy's and pandas' types are accepted without being imported.
Time: TypeAlias = dt.date | str | float | Any
#: Whatever :func:`to_duration` reads.
Duration: TypeAlias = dt.timedelta | str | float | Any
#: The name of an interval, or a duration of its length.
Interval: TypeAlias = str | dt.timedelta | Any

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
# Unix seconds reach this in the year 5138; a larger number is milliseconds, microseconds or nanoseconds.
LARGEST_SECONDS = 1e11
ISO_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r" ?(Z|z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
# A number of seconds in 1970 that was meant for a date: 20260131.
DATE_NUMBER = re.compile(r"((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", re.ASCII)
# Seconds of the units that a text may have. A capital M is a month elsewhere, and refused here.
UNITS = {
    1: ("s", "sec", "second", "seconds"),
    60: ("m", "min", "minute", "minutes"),
    3_600: ("h", "H", "hour", "hours"),
    86_400: ("d", "D", "day", "days"),
    604_800: ("w", "W", "week", "weeks"),
}
SECONDS_OF = {name: seconds for seconds, names in UNITS.items() for name in names}
PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", re.ASCII)
#: Nanoseconds of a second.
SECOND = 1_000_000_000
#: Nanoseconds of a day.
DAY = 86_400 * SECOND
# What datetime64[ns] holds; the smallest 64-bit number is NaT.
LARGEST_NANOSECONDS = 2**63 - 1
WANTED = "give an ISO 8601 text such as 2026-01-31T12:00:00Z, Unix seconds or, in Python, a datetime"
WANTED_LENGTH = "give seconds, a number with a unit such as 90d or, in Python, a timedelta"


def to_unix(value: Time | None, name: str = "time") -> float | None:
    """Unix seconds of a time; None stays None.

    Raises:
        InvalidRequest: The value is no time, or a number too large for seconds; the message names ``name``.
    """
    seconds = None if value is None else _unix(value, name)
    if seconds is not None and abs(seconds) > LARGEST_SECONDS:
        raise InvalidRequest(
            f"{name}: {value!r} is later than the year 5138, the last that is told; leave "
            f"{_engine.spelled_argument(name)} out"
        )
    return seconds


def _unix(value: Time, name: str) -> float:
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
    """Whole seconds of a duration; None stays None.

    Raises:
        InvalidRequest: The value is no duration, or not a whole number of seconds.
    """
    if value is None:
        return None
    seconds = _exact_seconds(value)
    if seconds is None and isinstance(value, str):
        raise InvalidRequest(f"{name}: {_no_length(value.strip())}")
    if seconds is None or seconds.denominator != 1:
        raise InvalidRequest(f"{name}: {value!r} is not a whole number of seconds; {WANTED_LENGTH}")
    if abs(seconds) > LARGEST_SECONDS:
        raise InvalidRequest(f"{name}: {value!r} is longer than time is told here")
    return int(seconds)


def to_seconds(value: Duration, name: str) -> float:
    """Seconds of a duration, parts of a second included.

    Raises:
        InvalidRequest: The value is no duration.
    """
    seconds = _exact_seconds(value)
    if seconds is None and isinstance(value, str):
        raise InvalidRequest(f"{name}: {_no_length(value.strip())}")
    if seconds is None:
        raise InvalidRequest(f"{name}: {value!r} is no duration; {WANTED_LENGTH}")
    if abs(seconds) > LARGEST_SECONDS:
        raise InvalidRequest(f"{name}: {value!r} is longer than time is told here")
    return float(seconds)


def _exact_seconds(value: Any) -> Fraction | None:
    """Seconds of a duration; None where it is none."""
    if isinstance(value, str):
        return _seconds_of_text(value.strip())
    if isinstance(value, dt.timedelta):
        # Of pandas' Timedelta, which knows nanoseconds too.
        nanoseconds = getattr(value, "nanoseconds", 0)
        microseconds = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        return Fraction(microseconds * 1_000 + nanoseconds, SECOND)
    if getattr(getattr(value, "dtype", None), "kind", "") == "m":
        return _seconds_of_numpy(value)
    # No whole number is too large for a fraction, as it may be for isfinite.
    whole = isinstance(value, int) and not isinstance(value, bool)
    return Fraction(value) if whole or (_is_number(value) and math.isfinite(value)) else None


def _seconds_of_text(text: str) -> Fraction | None:
    parts = PART.findall(text)
    if not parts or PART.sub("", text) or any(unit not in SECONDS_OF for _, unit in parts):
        return None
    return sum((Fraction(count) * SECONDS_OF[unit] for count, unit in parts), Fraction(0))


def _no_length(text: str) -> str:
    """What is wrong with a text that is no duration, and what would be right."""
    units = "s, min or m, h, d and w"
    if text.startswith("-") and _seconds_of_text(text[1:]) is not None:
        return f"{text!r} is negative; a length is 0 or more"
    unknown = [unit for _, unit in PART.findall(text) if unit not in SECONDS_OF]
    if not unknown or PART.sub("", text):
        return f"{text!r} is no length of time; write a number with a unit, such as 90d or 1h30m (units are {units})"
    if unknown[0][:1].lower() in ("y", "a", "q") or unknown[0] == "M" or unknown[0].lower().startswith("mo"):
        return f"{text!r}: months and years differ in length; give days, or start and end (units are {units})"
    return f"{text!r}: there is no unit {unknown[0]!r}; units are {units}"


def _seconds_of_numpy(value: Any) -> Fraction | None:
    import numpy as np

    unit, count = np.datetime_data(value.dtype)
    lengths = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 10**-3, "us": 10**-6, "ns": 10**-9}
    if getattr(value, "ndim", 0) or unit not in lengths or np.isnat(value):
        return None  # several, months and years that differ in length, or none
    length = Fraction(lengths[unit]).limit_denominator(SECOND)
    return int(value.astype("int64")) * count * length


def iso(moment: "float | np.datetime64") -> str:
    """A time as people read it: ``2026-01-31 12:00`` in UTC, with seconds where there are some.

    Given are Unix seconds, or a ``datetime64``.
    """
    if isinstance(moment, (int, float)):
        text = (EPOCH + dt.timedelta(seconds=moment)).strftime("%Y-%m-%d %H:%M:%S")
    else:
        text = str(moment.astype("datetime64[s]")).replace("T", " ")
    return text.removesuffix(":00")


def no_time() -> "np.datetime64":
    """The time of what has none: NaT."""
    import numpy as np

    return np.datetime64("NaT", "ns")


def from_seconds(seconds: float) -> "np.datetime64":
    """A Unix time as ``datetime64[ns]``: whole seconds exactly, others to the microsecond, all that a double tells."""
    import numpy as np

    nanoseconds = seconds * SECOND if isinstance(seconds, int) else round(seconds * 1_000_000) * 1_000
    return np.datetime64(int(nanoseconds), "ns")


def from_wire(value: Any) -> "np.datetime64 | None":
    """A time of an answer (section 2.1) as ``datetime64[ns]``: ``{"s", "ns"}``, or whole Unix seconds.

    Absent and null are NaT. None is what ``datetime64[ns]`` cannot hold: no time, or one outside of 1677 to 2262.
    """
    import numpy as np

    if value is None:
        return no_time()
    parts = (value.get("s", 0), value.get("ns", 0)) if isinstance(value, Mapping) else (value, 0)
    if not all(_is_number(part) and part == part // 1 for part in parts):
        return None
    nanoseconds = int(parts[0]) * SECOND + int(parts[1])
    return np.datetime64(nanoseconds, "ns") if abs(nanoseconds) <= LARGEST_NANOSECONDS else None


def exact(time: "np.datetime64") -> str:
    """A time to its last digit, in UTC: ``2026-01-31 12:00:00.5``; nothing where there is none."""
    text = "" if time != time else str(time).replace("T", " ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def spell(time: "np.datetime64") -> str:
    """A time as people read it, to its last digit: ``2026-01-31 12:00:00.5 UTC``."""
    return "none" if time != time else f"{exact(time)} UTC"


def _from_text(text: str, name: str) -> float:
    match = ISO_TIME.fullmatch(text.strip())
    if match is None:
        raise InvalidRequest(f"{name}: {redacted(text)} is not a time; {WANTED}")
    *fields, fraction, offset = match.groups()
    try:
        year, month, day, hour, minute, second = (int(field or 0) for field in fields)
        moment = dt.datetime(year, month, day, hour, minute, second, tzinfo=_zone(offset))
    except ValueError as problem:
        raise InvalidRequest(f"{name}: {redacted(text)} is not a time: {problem}") from None
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
        kind = type(value).__name__
        shown = redacted(value)
        shown = shown if kind in shown else f"{shown} of type {kind}"
        raise InvalidRequest(f"{name}: {shown} is not a time; {WANTED}")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds):
        raise InvalidRequest(f"{name}: {value!r} is not a time; {WANTED}")
    if abs(seconds) > LARGEST_SECONDS:
        units = {1e14: "milliseconds", 1e17: "microseconds"}
        unit = next((unit for limit, unit in units.items() if abs(seconds) < limit), "nanoseconds")
        raise InvalidRequest(f"{name}: {value!r} looks like {unit}; times are Unix seconds")
    date = DATE_NUMBER.fullmatch(f"{seconds:.0f}") if seconds == seconds // 1 else None
    if date is not None:
        raise InvalidRequest(
            f"{name}: {value!r} looks like a date, and would be {iso(seconds)}; write {'-'.join(date.groups())!r}"
        )
    return seconds


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a real number, NumPy's included; a bool is none here, nor a timedelta64, which NumPy counts in."""
    if getattr(getattr(value, "dtype", None), "kind", "") == "m":
        return False
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _seconds(moment: dt.datetime) -> float:
    return (moment - EPOCH).total_seconds()
