"""The weight of a request and the budget of a tier (specification, sections 8.1 to 8.4)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from .. import _engine
from ..errors import InvalidRequest
from .arguments import analytics, between, count, data_type, interval_name, names
from .signatures import hinted_keywords
from .times import Duration, Interval, to_duration

__all__ = ["TIERS", "Tier", "weight"]


@dataclass(frozen=True)
class Tier:
    """One row of the tier table (sections 6 and 8.1).

    Attributes:
        name: ``free``, ``basic``, ``standard`` or ``advanced``.
        weight_per_minute: Sustained budget.
        burst: Capacity of the bucket.
        weight_per_day: Daily cap; None is unlimited.
        history_days: How many days back a window may start.
        streams: Live streams at once.
    """

    name: str
    weight_per_minute: int
    burst: int
    weight_per_day: int | None
    history_days: int
    streams: int


#: The tiers by name, lowest first.
TIERS: Mapping[str, Tier] = MappingProxyType({row[0]: Tier(*row) for row in _engine.tiers()})


@hinted_keywords
def weight(
    type: str,  # noqa: A002 - the wire's own name
    *,
    interval: Interval | None = None,
    interval_seconds: int | None = None,
    period: Duration | None = None,
    points: int | None = None,
    exchanges: int | str | Sequence[str] = 1,
    max_depth: int | None = None,
) -> int:
    """Exact weight of one request, in integers: of ``/v1/points`` (section 8.2), or of the analytics (section 8.5).

    Args:
        type: Data type by its wire name or its method's (``candles``), or an analytics method such as ``leaderboard``:
            that weighs the same whatever it asks, and takes no other argument.
        interval: Bucket size, ``"1m"`` … ``"1w"``, a wire name, or a ``timedelta`` of that length.
        interval_seconds: Bucket size in seconds, for an interval this version does not know.
        period: Window length in seconds, a ``timedelta``, or a text such as ``"90d"``.
        points: Number of buckets, instead of interval and period.
        exchanges: How many exchanges are aggregated: their number or their names; a name given twice counts once.
        max_depth: ``maxDepth`` of a heatmap.

    Raises:
        InvalidRequest: A name is unknown, a number is none that can be, the window is not given in one of the two ways
            or has more points than one request of the type (section 8.3), or anything is given besides the name of an
            analytics method.
    """
    windowed = interval is not None or interval_seconds is not None or period is not None
    if points is not None and windowed and analytics(type) is None:
        spelled = _engine.spelled_argument
        raise InvalidRequest(
            f"{spelled('points')} stands in the place of {spelled('interval')} and {spelled('period')}; "
            "give one or the other"
        )
    return _engine.weight(
        data_type(type),
        interval=interval_name(interval),
        interval_seconds=None
        if interval_seconds is None
        else between(interval_seconds, "interval_seconds", 1, 2**63 - 1),
        period=to_duration(period),
        points=None if points is None else between(points, "points", 0, 2**63 - 1),
        exchanges=_aggregated(exchanges),
        max_depth=count(max_depth, "max_depth"),
    )


def _aggregated(exchanges: int | str | Sequence[str]) -> int:
    """How many exchanges a request aggregates: the client asks each once (section 8.2)."""
    given: object = exchanges  # whatever was typed
    if isinstance(given, str) and given.strip().isdecimal():
        raise InvalidRequest(f"exchanges: {given!r} is a text, the name of one; give the number without quotes")
    if isinstance(given, (str, Iterable)):
        return len(set(names(exchanges, "exchanges")))  # type: ignore[arg-type]
    return between(given, "exchanges", 1, 2**32 - 1)
