"""Requests to a local service, as records to assert on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl

from ..common.display import safe_repr
from ..printable import printable
from ..results.arrow_tables import ColumnKind
from .tables import Records, TypedRecord

if TYPE_CHECKING:
    import numpy as np

__all__ = ["RequestQuery", "ServiceRequest", "journal", "last"]

#: Requests that the message of a failed test lists.
MOST_LISTED = 20


class RequestQuery(Mapping[str, str]):
    """The parameters of a request by their wire names, decoded; ``str(query)`` is the text as it was sent.

    A parameter may be repeated, as ``exchange`` is: :meth:`all` has each value, ``query[name]`` the first. A
    query equals a mapping of texts, with lists of texts for repeated parameters:
    ``request.query == {"type": "TRADE_AGG", "exchange": ["BYBIT", "BITMEX"], "interval": "HOUR", …}``.
    """

    def __init__(self, text: str = "") -> None:
        """The query of a URL, without the question mark."""
        self._text = text
        self._values: dict[str, tuple[str, ...]] = {}
        for name, value in parse_qsl(text, keep_blank_values=True):
            self._values[name] = (*self._values.get(name, ()), value)

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter, in order; none if it is absent."""
        return self._values.get(name, ())

    def plain(self) -> dict[str, str | list[str]]:
        """A plain dictionary: a text for each parameter, a list of texts for a repeated one."""
        return {name: values[0] if len(values) == 1 else list(values) for name, values in self._values.items()}

    def __getitem__(self, name: str) -> str:
        return self._values[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        """Number of different parameters."""
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RequestQuery):
            return self._values == other._values
        if not isinstance(other, Mapping):
            return NotImplemented
        given = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in other.items()}
        return self._values == given

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __str__(self) -> str:
        return self._text

    @safe_repr
    def __repr__(self) -> str:
        return printable(repr(self.plain()))


@dataclass(frozen=True, eq=False, repr=False)
class ServiceRequest(TypedRecord):
    """A request that a :class:`~marketpoints.LocalService` answered. Keys in it read ``[key]``.

    Attributes:
        time: When it arrived by the service's clock, ``datetime64[ns]`` in UTC.
        method: HTTP method.
        path: Path, such as ``/v1/points``, as it was sent.
        query: The parameters.
        status: HTTP status of the answer; 101 where a stream was opened, 0 where a fault closed the connection.
        weight: Weight that was charged; a refused or failed request costs nothing.
        tier: Tier of the key: ``free``, ``basic``, ``standard``, ``advanced`` or ``unlimited``; empty without
            a known key.
        key: Name of the key (:attr:`LocalService.keys`), never the key; empty without a known one.
        bytes: Length of the answer's body.
        seconds: From the head of the request to the answer, in real time.
    """

    time: "np.datetime64"
    method: str
    path: str
    query: RequestQuery
    status: int
    weight: int
    tier: str
    key: str
    bytes: int
    seconds: float

    SHOWN: ClassVar[tuple[str, ...]] = ("time", "method", "path", "query", "status", "weight", "tier")

    @classmethod
    def _tabled(cls, records: Sequence[Any]) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
        return super()._tabled(records) | {"query": ("json", [record.query.plain() for record in records])}

    def __str__(self) -> str:
        """One line: weight, status, method and target, tier."""
        target = f"{self.path}?{self.query}" if self.query else self.path
        return printable(f"weight {self.weight}  {self.status}  {self.method} {target}  {self.tier or 'no key'}")


def journal(rows: Sequence[tuple[int, str, str, int, int, str, str, int, int]]) -> Records[ServiceRequest]:
    """The engine's journal as records."""
    return Records(map(_record, rows), ServiceRequest)


def last(requests: Sequence[ServiceRequest]) -> tuple[int, list[str]]:
    """The number of requests before the last ones, and a line for each of the last ones."""
    return max(0, len(requests) - MOST_LISTED), [str(one) for one in requests[-MOST_LISTED:]]


def _record(row: tuple[int, str, str, int, int, str, str, int, int]) -> ServiceRequest:
    import numpy as np

    time, method, target, status, weight, tier, key, size, microseconds = row
    path, _, query = target.partition("?")
    return ServiceRequest(
        np.datetime64(time, "ns"),
        method,
        path,
        RequestQuery(query),
        status,
        weight,
        tier,
        key,
        size,
        microseconds / 1_000_000,
    )
