"""Joins in time on what was known: no row sees what came later."""

import datetime as dt
import re
from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.signatures import hinted_keywords
from ..common.times import SECOND_NS, Duration, to_duration
from ..errors import InvalidRequest, SelectionError
from . import wide_frames
from .frames import LIBRARIES, Frame
from .series import Series
from .sets import SeriesSet, as_set

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["align"]

NOT_MOMENTS = "left: moments must be one array of datetime64 that ascends, without NaT"
NUMBERS = (
    "left: numbers may be seconds, milliseconds or nanoseconds; give moments (datetime64), of milliseconds "
    "pandas.to_datetime(left, unit='ms')"
)
# A text with a zone, which NumPy warns of: what stands before it, and hours and minutes ahead of UTC.
ZONED = re.compile(r"(.*:\d\d(?:\.\d+)?)(?:[Zz]|([+-])(\d\d):?(\d\d))")
# Nanoseconds that no age reaches.
EVER = 2**63 - 1


@hinted_keywords
def align(
    left: "Series | SeriesSet | npt.ArrayLike",
    *others: Series | SeriesSet,
    max_age: Duration | Sequence[Duration | None] | None = None,
    as_frame: Frame = "pandas",
) -> Any:
    """Joins series of any types and intervals on what was known at each row of the first.

    A row counts from the moment its values are known (:attr:`Series.known_at`): a bucket from its end, a market profile
    from its ``period_end``. A funding rate is in the bucket in which it was paid, a predicted one in that in which it
    was published: both are known when that bucket ends. A row of ``left`` gets, from every other series, the latest row
    known by then, and NaN (NaT, None) where that is older than ``max_age``.

    Args:
        left: Gives the rows: a series, or moments (datetime64, ascending) without columns of their own.
        others: Series, or sets of which each series is joined. Columns with several values a row (levels, lists) are
            left out.
        max_age: How old a value may be, counted from when it was known: a period as in :meth:`Client.points`, or one
            for each of ``others``. None is one bucket of the series itself: without new rows it turns NaN, not stale.
        as_frame: ``"pandas"``, ``"polars"`` or ``"arrow"``.

    Returns:
        A frame with a row for each of ``left``. ``known_at`` (the index in pandas) is when that row was known, ``time``
        the start of its bucket; both UTC. Columns of several series with the same name get a suffix of what
        differs between them: ``close_ETHUSDT``, ``open_1h``, ``open_open_interest``. The first keeps the plain name;
        of several series of one set none does: ``liquidations_BUY``, ``liquidations_SELL``.

    Raises:
        InvalidRequest: An argument is invalid.
        SelectionError: ``left`` is a set of several series; a series has price levels alone, several rows a time
            (token supply by chain), or buckets of unknown length.
        MissingDependencyError: The frames' package is not installed.
    """
    if as_frame not in tuple(LIBRARIES):
        raise InvalidRequest(f"as_frame: {as_frame!r} is none of {', '.join(map(repr, LIBRARIES))}")
    joined = [_each(other) for other in others]
    series = [one for each in joined for one in each]
    ages = _max_ages(max_age, others)
    moments, starts, own = _rows(left)
    every = series if own is None else [own, *series]
    plain = [wide_frames.values(one) for one in every]
    for one, held in zip(every, plain, strict=True):
        if one.columns and not held:
            raise SelectionError(f"{one.id}: price levels have no one value a row; join what you make of them")
    given = len(every) - len(series)
    # The service sends a set's series in no fixed order: none of them gets the plain name.
    alone = [len(each) == 1 for each in joined for _ in each]
    apart = {given + place for place, one in enumerate(alone) if not one}
    named = wide_frames.names(every, plain, apart=apart)
    columns = {} if own is None else dict(zip(named[0], plain[0].values(), strict=True))
    for one, age, names, held in zip(series, ages, named[given:], plain[given:], strict=True):
        columns |= zip(names, _joined(moments, _ascending(one), age, list(held.values())), strict=True)
    times = {} if starts is None else {"time": starts}
    return LIBRARIES[as_frame].columns("known_at", moments, times | columns)


def _joined(moments: Any, known: Any, age: int, columns: Sequence[Any]) -> list[Any]:
    """The columns' values at each moment, from the latest row known by then."""
    import numpy as np

    join = (moments.view("int64"), known.view("int64"), age)
    # Numbers are gathered while rows are found; only other columns need the rows' places.
    places = None if all(map(wide_frames.is_number, columns)) else _engine.latest_known(*join)
    return [
        _engine.latest_values(*join, np.ascontiguousarray(values, dtype=np.float64))
        if wide_frames.is_number(values)
        else wide_frames.taken(values, places)
        for values in columns
    ]


def _in_utc(value: Any) -> Any:
    """A datetime without its zone, which NumPy has none for and warns of; anything else as it is."""
    zoned = isinstance(value, dt.datetime) and value.tzinfo is not None
    return value.astimezone(dt.timezone.utc).replace(tzinfo=None) if zoned else value


def _text_in_utc(text: str) -> "np.datetime64":
    """A time that NumPy reads, with or without a zone, to its last digit."""
    import numpy as np

    zoned = ZONED.fullmatch(text)
    if zoned is None:
        return np.datetime64(text, "ns")
    local, sign, hours, minutes = zoned.groups()
    ahead = int(f"{sign}{int(hours) * 60 + int(minutes)}") if sign else 0
    return np.datetime64(local, "ns") - np.timedelta64(ahead, "m")


def _rows(left: Any) -> "tuple[npt.NDArray[np.datetime64], npt.NDArray[np.datetime64] | None, Series | None]":
    """When the rows are known, when their buckets start, and the series of the rows."""
    import numpy as np

    if isinstance(left, (Series, SeriesSet)):
        own = left if isinstance(left, Series) else _only(left)
        return np.ascontiguousarray(_ascending(own)), own.timestamps, own
    if isinstance(left, (list, tuple)) and any(isinstance(one, (Series, SeriesSet)) for one in left):
        raise InvalidRequest("left: a list of series; give them one by one, first that of the rows: mp.align(a, b)")
    if hasattr(left, "columns"):
        raise InvalidRequest("left: a table is no moments; give those of its rows, such as left.index")
    # A pandas index or series may have a zone: NumPy has none, and warns.
    zoned = getattr(left, "dt", left)
    if getattr(zoned, "tz", None) is not None:
        left = zoned.tz_convert(None)
    try:
        given = np.atleast_1d(np.asarray(left))
        if given.dtype.kind == "U" and any(ZONED.fullmatch(one) for one in given.flat):
            given = np.array([_text_in_utc(one) for one in given.flat]).reshape(given.shape)
        if given.dtype == object:
            given = np.array([_in_utc(one) for one in given.ravel()], dtype=object).reshape(given.shape)
        numbers = _holds_numbers(given)  # NumPy takes all of them for nanoseconds
        moments = given if numbers or given.dtype == "datetime64[ns]" else given.astype("datetime64[ns]")
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"left: a {type(left).__name__} is neither a series nor moments (datetime64)") from None
    if numbers:
        raise InvalidRequest(NUMBERS)
    if given.dtype.kind != "M" or not given.dtype.isnative:
        given = moments
    if given.ndim != 1:
        raise InvalidRequest(NOT_MOMENTS)
    copy = _copy(given)
    if given is moments:
        return copy, None, None  # later changes of the caller's array do not reach the frame
    # Ascending values lie between the first and the last.
    ends = [0, -1] if len(given) else []
    if (moments[ends].astype("datetime64[s]") != given[ends].astype("datetime64[s]")).any():
        raise InvalidRequest("left: moments beyond the years 1677 to 2262 do not fit in nanoseconds")
    return moments, None, None


def _holds_numbers(given: "npt.NDArray[Any]") -> bool:
    """Whether an array holds numbers, be it as objects among others. NaN is none: it stands for a missing moment."""
    if given.dtype.kind == "O":
        return any(isinstance(one, Number) and one == one for one in given.flat)
    return given.dtype.kind in "biuf" and given.size > 0


def _copy(given: "npt.NDArray[np.datetime64]") -> "npt.NDArray[np.datetime64]":
    """A copy of moments, in their own unit.

    Raises:
        InvalidRequest: They do not ascend, or one is NaT.
    """
    import numpy as np

    # As integers, whatever their unit: NaT is the smallest.
    copy = _engine.copy_of_ascending(np.ascontiguousarray(given).view("int64"))
    if copy is None:
        raise InvalidRequest(NOT_MOMENTS)
    return copy.view(given.dtype)


def _only(left: SeriesSet) -> Series:
    """The series whose rows count."""
    try:
        return left.only
    except SelectionError as error:
        raise SelectionError(f"left: {error}") from None


def _each(given: object) -> list[Series]:
    return list(as_set(given, "others"))


def _max_ages(max_age: Any, others: Sequence[Any]) -> list[int]:
    """Nanoseconds for each series."""
    if isinstance(max_age, (list, tuple)):
        if len(max_age) != len(others):
            raise InvalidRequest(
                f"max_age: {len(max_age)} periods for {len(others)} series; give one for each, or one for all"
            )
        periods = list(max_age)
    else:
        periods = [max_age] * len(others)
    ages = []
    for other, period in zip(others, periods, strict=True):
        seconds = to_duration(period, "max_age")
        if seconds is not None and seconds < 0:
            raise InvalidRequest(f"max_age: {period!r} is negative; give how old a value may be")
        for one in _each(other):
            ages.append(one.bucket_nanoseconds if seconds is None else min(seconds * SECOND_NS, EVER))
    return ages


def _ascending(one: Series) -> "npt.NDArray[np.datetime64]":
    """When each row is known, strictly ascending."""
    import numpy as np

    known = np.ascontiguousarray(one.known_at)
    numbers = known.view("int64")
    if (numbers[1:] <= numbers[:-1]).any():
        raise SelectionError(
            f"{one.id}: several rows are known at one time, and none of them is the one; token supply has a row for "
            "each chain: join a frame of the chain that you mean"
        )
    return known
