"""Sequences of typed records, and the records of budgets and plans (specification, section 2.4)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Generic, TypeVar, overload

from . import _engine, frames
from .display import card, lines
from .errors import InvalidRequest
from .times import iso

__all__ = ["Budget", "Plan", "PlannedRequest", "Records", "Usage"]

Record = TypeVar("Record")


@dataclass(frozen=True)
class Usage:
    """The answer of ``/v1/usage`` (section 2.4).

    Attributes:
        limit: Weight budget of a window.
        remaining: Whole weight left, burst included.
        used: Weight spent in the last window.
        reset: Unix second at which the bucket is full again.
        window_seconds: Length of the window.
    """

    limit: int
    remaining: int
    used: int
    reset: int
    window_seconds: int


@dataclass(frozen=True)
class Budget:
    """The budget as the client's own bucket sees it, brought up to date by every answer's headers (section 8.5).

    Attributes:
        limit: Weight per minute.
        remaining: Whole weight left, burst included.
        used: Weight spent in the last minute.
        reset: Unix second at which the bucket is full again.
    """

    limit: int
    remaining: int
    used: int
    reset: int


class Records(Sequence[Record], Generic[Record]):
    """A read-only sequence of typed records, with frames."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = tuple(records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> "Records[Record]": ...
    def __getitem__(self, index: int | slice) -> "Record | Records[Record]":
        """One record, or the records of a slice."""
        return Records(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and self._records == other._records

    def __hash__(self) -> int:
        return hash(self._records)

    def __repr__(self) -> str:
        kind = type(self._records[0]).__name__ if self._records else "record"
        return f"<{len(self)} × {kind}>"

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame``: one row a record, columns by attribute name.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return frames.records_to_pandas(self._rows())

    def to_polars(self) -> Any:
        """As :meth:`to_pandas`, for polars; what this version does not know is JSON text in ``extra``.

        Raises:
            MissingDependencyError: polars or pyarrow is not installed.
        """
        return frames.records_to_polars(self._rows())

    def to_arrow(self) -> Any:
        """As :meth:`to_polars`, for pyarrow.

        Raises:
            MissingDependencyError: pyarrow is not installed.
        """
        return frames.records_to_arrow(self._rows())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow C stream of :meth:`to_arrow`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _rows(self) -> list[dict[str, Any]]:
        return [{one.name: _plain(getattr(record, one.name)) for one in fields(record)} for record in self._records]  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """A field as frames hold it: records within a record are lists of dictionaries."""
    return value._rows() if isinstance(value, Records) else value


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
        return frames.records_to_pandas([asdict(request) for request in self.requests])


def told_plan(plan: _engine.Plan) -> Plan:
    """The engine's plan as plain records."""
    requests = tuple(PlannedRequest(one.url, one.weight, one.points) for one in plan.requests)
    return Plan(requests, plan.weight, plan.points, plan.eta)


def numbers(record: Mapping[str, int], kind: type[Record]) -> Record:
    """A :class:`Usage` or :class:`Budget` from the engine's dictionary; what it leaves out is 0.

    Raises:
        InvalidRequest: The dictionary holds something else than numbers.
    """
    try:
        return kind(**{one.name: int(record.get(one.name, 0)) for one in fields(kind)})  # type: ignore[arg-type]
    except (TypeError, ValueError) as problem:
        raise InvalidRequest(f"{kind.__name__}: {problem}") from None


def when(seconds: float) -> str:
    """A reset time as people read it."""
    return f"{iso(seconds)} UTC"
