"""The records of budgets and plans (specification, section 2.4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .. import _engine
from ..common.display import card, grid, lines, safe_repr
from ..common.sparks import meter
from ..common.times import from_seconds, iso, no_time
from ..errors import InvalidRequest
from .tables import Records, TypedRecord

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Budget", "Plan", "PlannedRequest", "Usage"]

Record = TypeVar("Record")
#: Fields in a budget's repr: without the burst, more left than the limit would look wrong.
SHOWN = ("limit", "burst", "remaining", "used", "reset")


@dataclass(frozen=True, eq=False, repr=False)
class Usage(TypedRecord):
    """The answer of ``/v1/usage`` (section 2.4).

    Attributes:
        limit: Weight budget of a window.
        remaining: Whole weight left, burst included.
        used: Weight spent in the last window.
        reset: When the bucket is full again by the service's clock, ``datetime64[ns]`` in UTC; NaT where it does not
            say.
        window_seconds: Length of the window.
    """

    limit: int
    remaining: int
    used: int
    reset: "np.datetime64"
    window_seconds: int

    SHOWN: ClassVar[tuple[str, ...]] = SHOWN

    @property
    def burst(self) -> int:
        """Most weight that can be left: twice the limit (section 8.1)."""
        return 2 * self.limit

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {"limit": f"{self.limit:,} in {self.window_seconds} s"}

    def _repr_html_(self) -> str:
        return card("Usage", self._facts(), left(self))


@dataclass(frozen=True, eq=False, repr=False)
class Budget(TypedRecord):
    """The budget of the client's own bucket, corrected by every answer's headers (section 8.5).

    Attributes:
        limit: Weight per minute.
        remaining: Whole weight left, burst included.
        used: Weight spent in the last minute.
        reset: When the bucket is full again, ``datetime64[ns]`` in UTC, by the client's clock (``clock=``): that of the
            service, for a client that :meth:`LocalService.client` made, so that it agrees with :class:`Usage`.
        burst: Most weight that can be left: the size of the bucket.
    """

    limit: int
    remaining: int
    used: int
    reset: "np.datetime64"
    burst: int = 0

    SHOWN: ClassVar[tuple[str, ...]] = SHOWN

    def _wait(self, weight: int) -> float:
        """Seconds until the budget allows a weight; 0 if it does now, or if no limit is known."""
        return max(0, weight - self.remaining) / self.limit * 60 if self.limit else 0.0

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {"limit": f"{self.limit:,} a minute"}

    def _repr_html_(self) -> str:
        return card("Budget", self._facts(), left(self))


def left(budget: Budget | Usage) -> str:
    """The part of the burst that is left, as a bar in HTML."""
    return meter(budget.remaining / budget.burst, "weight left") if budget.burst else ""


def rate(budget: Budget | Usage, seconds: int = 60) -> str:
    """Rate and burst in words."""
    window = "a minute" if seconds == 60 else f"in {seconds} s"
    return f"{budget.limit:,} {window}, burst {budget.burst:,}"


@dataclass(frozen=True, eq=False, repr=False)
class PlannedRequest(TypedRecord):
    """One request of a plan.

    Attributes:
        url: The full URL, without the key.
        weight: What it costs (section 8.2).
        points: Number of buckets in its window.
        start: First bucket start, ``datetime64[ns]`` in UTC; NaT for a request without points.
        end: End of the window, exclusive, ``datetime64[ns]`` in UTC; NaT for a request without points.
    """

    url: str
    weight: int
    points: int
    start: "np.datetime64"
    end: "np.datetime64"


@dataclass(frozen=True, repr=False)
class Plan:
    """The requests of a call and their weight.

    Attributes:
        requests: The requests in the order of their windows.
        weight: Summed weight.
        points: Summed buckets.
        eta: Seconds that the call waits with the current budget; 0 if it need not wait.
        eta_by_tier: Seconds that it would wait on each tier, from a full bucket, by the tier's
            name; None if the tier does not allow the call (sections 5 and 8.1).
        refused_by_tier: Why a tier does not allow it, by the tier's name; only those that do not.
    """

    requests: tuple[PlannedRequest, ...]
    weight: int
    points: int
    eta: float
    eta_by_tier: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    refused_by_tier: Mapping[str, str] = field(default_factory=dict, hash=False)

    @safe_repr
    def __repr__(self) -> str:
        return f"<Plan {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        waits = [
            [tier, "refused" if eta is None else f"{eta:,.0f} s", self.refused_by_tier.get(tier, "")]
            for tier, eta in self.eta_by_tier.items()
        ]
        table = grid(["tier", "takes", "why"], waits, [], 0, left=1) if waits else ""
        return card("Plan", {name: fact for name, fact in self._facts().items() if name != "by tier"}, table)

    def _facts(self) -> dict[str, str]:
        wait = f"{self.eta:.1f} s" if self.eta else "nothing"
        return {
            "requests": str(len(self.requests)),
            "points": f"{self.points:,}",
            "weight": f"{self.weight:,}",
            "waits for": wait,
            "by tier": "; ".join(self.tiers()),
        }

    def tiers(self) -> list[str]:
        """Each tier's wait, in words."""
        waits = self.eta_by_tier.items()
        return [f"{tier} {'refuses' if eta is None else f'{eta:,.0f} s'}" for tier, eta in waits]

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame``: one row a request.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return Records(self.requests, PlannedRequest).to_pandas()


def plan_of(plan: _engine.Plan) -> Plan:
    """The engine's plan as plain records."""
    requests = tuple(_planned(one) for one in plan.requests)
    waits = {tier: eta for tier, eta, *_ in plan.tiers}
    refusals = {tier: reason for tier, _, reason, _ in plan.tiers if reason is not None}
    return Plan(requests, plan.weight, plan.points, plan.eta, waits, refusals)


def _planned(request: _engine.PlannedRequest) -> PlannedRequest:
    start, end = (no_time() if edge is None else from_seconds(edge) for edge in (request.start, request.end))
    return PlannedRequest(request.url, request.weight, request.points, start, end)


def numbers(record: Mapping[str, int], kind: type[Record]) -> Record:
    """A :class:`Usage` or :class:`Budget` from the engine's dictionary; a missing number is 0, a missing time NaT.

    Raises:
        InvalidRequest: The dictionary holds something other than numbers.
    """
    try:
        counts: dict[str, Any] = {one.name: int(record.get(one.name, 0)) for one in fields(kind)}  # type: ignore[arg-type]
        return kind(**counts | {"reset": from_seconds(counts["reset"]) if counts["reset"] else no_time()})
    except (TypeError, ValueError) as problem:
        raise InvalidRequest(f"{kind.__name__}: {problem}") from None


def when(seconds: float) -> str:
    """A reset time as text."""
    return f"{iso(seconds)} UTC"
