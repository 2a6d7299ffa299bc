"""What a request costs and what a tier may spend (specification, sections 8.1 to 8.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from .. import _engine
from .arguments import data_type, interval_name
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
        exchanges: How many exchanges are aggregated: their number or their names.
        max_depth: ``maxDepth`` of a heatmap.

    Raises:
        InvalidRequest: A name is unknown, the window is not given in one of the two ways, or anything is given besides
            the name of an analytics method.
    """
    if isinstance(exchanges, str):
        exchanges = 1
    elif not isinstance(exchanges, int):
        exchanges = len(exchanges)
    return _engine.weight(
        data_type(type),
        interval=interval_name(interval),
        interval_seconds=interval_seconds,
        period=to_duration(period),
        points=points,
        exchanges=exchanges,
        max_depth=max_depth,
    )
