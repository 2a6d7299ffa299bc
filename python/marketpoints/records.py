"""The records of budgets and plans (specification, section 2.4)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from . import _engine
from .display import card, lines
from .errors import InvalidRequest
from .tables import Records, TypedRecord
from .times import from_seconds, iso, no_time

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Budget", "Plan", "PlannedRequest", "Usage"]

Record = TypeVar("Record")


@dataclass(frozen=True, eq=False, repr=False)
class Usage(TypedRecord):
    """The answer of ``/v1/usage`` (section 2.4).

    Attributes:
        limit: Weight budget of a window.
        remaining: Whole weight left, burst included.
        used: Weight spent in the last window.
        reset: When the bucket is full again, ``datetime64[ns]`` in UTC; NaT where the answer does not say.
        window_seconds: Length of the window.
    """

    limit: int
    remaining: int
    used: int
    reset: "np.datetime64"
    window_seconds: int


@dataclass(frozen=True, eq=False, repr=False)
class Budget(TypedRecord):
    """The budget as the client's own bucket sees it, brought up to date by every answer's headers (section 8.5).

    Attributes:
        limit: Weight per minute.
        remaining: Whole weight left, burst included.
        used: Weight spent in the last minute.
        reset: When the bucket is full again, ``datetime64[ns]`` in UTC; NaT where the answer does not say.
    """

    limit: int
    remaining: int
    used: int
    reset: "np.datetime64"


@dataclass(frozen=True)
class PlannedRequest:
    """One request of a plan.

    Attributes:
        url: The whole URL; the key is not in it.
        weight: What it costs (section 8.2).
        points: How many buckets its window holds.
    """

    url: str
    weight: int
    points: int


@dataclass(frozen=True, repr=False)
class Plan:
    """What a call would send, and what that costs.

    Attributes:
        requests: The requests in the order of their windows.
        weight: Summed weight.
        points: Summed buckets.
        eta: Seconds that the budget at hand makes the call wait; 0 when it fits.
    """

    requests: tuple[PlannedRequest, ...]
    weight: int
    points: int
    eta: float

    def __repr__(self) -> str:
        return f"<Plan {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        return card("Plan", self._facts())

    def _facts(self) -> dict[str, str]:
        wait = f"{self.eta:.1f} s" if self.eta else "nothing"
        return {
            "requests": str(len(self.requests)),
            "points": f"{self.points:,}",
            "weight": f"{self.weight:,}",
            "waits for": wait,
        }

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame``: one row a request.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return Records(self.requests, PlannedRequest).to_pandas()


def told_plan(plan: _engine.Plan) -> Plan:
    """The engine's plan as plain records."""
    requests = tuple(PlannedRequest(one.url, one.weight, one.points) for one in plan.requests)
    return Plan(requests, plan.weight, plan.points, plan.eta)


def numbers(record: Mapping[str, int], kind: type[Record]) -> Record:
    """A :class:`Usage` or :class:`Budget` from the engine's dictionary; what it leaves out is 0, a time NaT.

    Raises:
        InvalidRequest: The dictionary holds something else than numbers.
    """
    try:
        told: dict[str, Any] = {one.name: int(record.get(one.name, 0)) for one in fields(kind)}  # type: ignore[arg-type]
        return kind(**told | {"reset": from_seconds(told["reset"]) if told["reset"] else no_time()})
    except (TypeError, ValueError) as problem:
        raise InvalidRequest(f"{kind.__name__}: {problem}") from None


def when(seconds: float) -> str:
    """A reset time as people read it."""
    return f"{iso(seconds)} UTC"
