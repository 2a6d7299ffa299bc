"""Tests of research code for lookahead: does it use what was not known yet?"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .client.clients import Client
from .common.optional import load
from .common.times import SECOND_NS, Time, iso, to_unix
from .errors import InvalidRequest
from .local.service import LocalService

__all__ = ["Difference", "LookaheadError", "assert_no_lookahead"]

# Differences that a message spells out.
SHOWN = 5


@dataclass(frozen=True)
class Difference:
    """A value of a moment that differs between the full history and what was known then."""

    at: str
    """The moment, ISO 8601 in UTC."""
    column: str
    """The column; ``row`` where the latest row is another one."""
    then: Any
    """The value known at that moment."""
    later: Any
    """Its value in the full history."""

    def __str__(self) -> str:
        return f"at {self.at} {self.column} was {self.then}, the full history has {self.later}"


class LookaheadError(AssertionError):
    """A function saw what was not known yet; :attr:`differences` has every place."""

    def __init__(self, differences: list[Difference], moments: int) -> None:
        """The values that differ."""
        self.differences = differences
        shown = [f"  {one}" for one in differences[:SHOWN]]
        if len(differences) > SHOWN:
            shown.append(f"  and {len(differences) - SHOWN} more (.differences)")
        hint = (
            "\nrows stamped with the start of their bucket are known at its end: mp.align, or to_pandas(label='right')"
            if any(one.column == "row" for one in differences)
            else ""
        )
        several = len({one.at for one in differences})
        super().__init__(f"look-ahead at {several} of {moments} moments:\n" + "\n".join(shown) + hint)


def assert_no_lookahead(
    function: Callable[[Client], Any],
    service: LocalService | Client,
    times: Iterable[Time],
    *,
    tolerance: float = 1e-9,
) -> None:
    """Runs a function as of moments, and on the full history: its values for a moment must be the same.

    A row counts from its stamp: at 18:30 research code acts on the latest row at or before 18:30. With the full
    history at hand that row must be the one that stood there at 18:30, with the same values. A join by the start of
    buckets, a centred window, a forming bucket and a mean over the full sample all fail.

    Args:
        function: Takes a client and returns what it makes of the data: a pandas frame or series indexed by time, or
            what has ``to_pandas`` (a result, a polars or Arrow frame, indexed by its first column of times).
        service: A local service, which is asked as of each moment; its own moment is the full history. Or a client of
            any service, whose clock is set to each moment: what the service revised since then stays unseen.
        times: The moments. Those before the function's first row say nothing.
        tolerance: Relative difference of numbers that counts as equal: sums of windows that start elsewhere round
            otherwise.

    Raises:
        LookaheadError: The function saw what was not known yet.
        InvalidRequest: An argument is not valid, or no moment has a row.
        MissingDependencyError: pandas is not installed.
    """
    if isinstance(times, str) or not isinstance(times, Iterable):
        raise InvalidRequest(f"times: {times!r} is one time; give several, such as [{times!r}]")
    moments = sorted(_moment(time) for time in times)
    if not moments:
        raise InvalidRequest("times: give at least one moment")
    called: object = function  # whatever was passed
    asked: object = service
    if not callable(called) or not isinstance(asked, (LocalService, Client)):
        kinds = f"{type(called).__name__} and {type(asked).__name__}"
        raise InvalidRequest(f"a function of a client and a LocalService or a Client are needed, not {kinds}")
    latest = service.now() if isinstance(service, LocalService) else service._live.now()
    if moments[-1] > latest:
        raise InvalidRequest(f"times: {iso(moments[-1])} lies after the end of the history, {iso(latest)}")
    whole = _run(function, service, latest)
    differences, compared = [], 0
    for moment in moments:
        then, later = (_known(frame, moment) for frame in (_run(function, service, moment), whole))
        if then is not None and later is None and len(whole):
            raise InvalidRequest(
                f"times: the first row of the full history, of {whole.index[0]}, lies after {iso(moment)}: ask in the "
                "function for a longer period, or from a fixed start on"
            )
        compared += then is not None or later is not None
        differences += _compare(iso(moment), then, later, tolerance)
    if not compared:
        raise InvalidRequest("times: the function has no row at or before any of them; choose later ones")
    if differences:
        raise LookaheadError(differences, len(moments))


def _moment(time: Time) -> float:
    moment = to_unix(time, "times")
    if moment is None:
        raise InvalidRequest("times: None is no moment")
    return moment


def _run(function: Callable[[Client], Any], service: LocalService | Client, moment: float) -> Any:
    """The function's result on what was known at a moment, as a pandas frame indexed by time."""
    if isinstance(service, Client):
        with service._as_of(moment) as client:
            return _framed(function(client))
    # A service whose clock runs on would close buckets while the function asks; the client's stands still.
    with service.as_of(moment) as twin, twin.client("unlimited", clock=lambda: moment) as client:
        return _framed(function(client))


def _framed(made: Any) -> Any:
    pandas = load("pandas")
    own = isinstance(made, (pandas.DataFrame, pandas.Series))
    frame = made.to_pandas() if not own and hasattr(made, "to_pandas") else made
    if isinstance(frame, pandas.Series):
        frame = frame.to_frame(frame.name if frame.name is not None else "value")
    if not isinstance(frame, pandas.DataFrame):
        raise InvalidRequest(f"function: it returned {type(made).__name__}; return a frame or series indexed by time")
    if not isinstance(frame.index, pandas.DatetimeIndex):
        times = frame.select_dtypes(["datetime", "datetimetz"]).columns
        if not len(times):
            raise InvalidRequest("function: what it returned has no times; index its rows by the time they are used at")
        frame = frame.set_index(times[0])
    index = frame.index if frame.index.tz is not None else frame.index.tz_localize("UTC")
    return frame.set_axis(index.as_unit("ns"), axis=0).sort_index(kind="stable")


def _known(frame: Any, moment: float) -> Any:
    """The latest row at or before a moment; None where there is none."""
    pandas = load("pandas")
    place = frame.index.searchsorted(pandas.Timestamp(round(moment * SECOND_NS), tz="UTC"), side="right")
    return None if place == 0 else frame.iloc[place - 1]


def _compare(at: str, then: Any, later: Any, tolerance: float) -> list[Difference]:
    stamps = [None if row is None else str(row.name) for row in (then, later)]
    if then is None or later is None or stamps[0] != stamps[1]:
        return [] if stamps[0] == stamps[1] else [Difference(at, "row", *stamps)]
    names = [*then.index, *(name for name in later.index if name not in then.index)]
    pairs = ((str(name), then.get(name), later.get(name)) for name in names)
    return [Difference(at, name, one, other) for name, one, other in pairs if not _equal(one, other, tolerance)]


def _equal(one: Any, other: Any, tolerance: float) -> bool:
    pandas = load("pandas")
    absent = [
        value is None or (pandas.api.types.is_scalar(value) and bool(pandas.isna(value))) for value in (one, other)
    ]
    if any(absent):
        return all(absent)
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return bool(one == other or abs(one - other) <= tolerance * max(abs(one), abs(other)))
    equal = one == other
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)
