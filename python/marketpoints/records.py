"""Typed records of the discovery endpoints and of budgets (specification, section 2.4)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Generic, TypeVar, overload

from . import _engine, frames
from .display import card, lines
from .errors import InvalidRequest
from .times import iso

__all__ = ["Budget", "Market", "Plan", "PlannedRequest", "Records", "Usage"]

Record = TypeVar("Record")
WORD = re.compile(r"(?<=[a-z])(?=[A-Z0-9])")


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


@dataclass(frozen=True)
class Market:
    """One market of ``/v1/markets`` (section 2.4). A field that the answer left out is empty or 0.

    Attributes:
        exchange: Exchange identifier.
        raw_symbol: Exchange-native symbol: what data queries take.
        normalized_symbol: Cross-exchange symbol such as ``BTC-USDT``.
        coin: Base asset.
        category: ``SPOT``, ``PERPETUAL`` or another open string.
        tenor: Option summary tenor when present.
        coin_name: Full coin name.
        quote_coin_name: Quote asset.
        full_name: Full market name.
        last_price: Last traded price.
        volume_24h: 24-hour volume.
        volume_change_24h: 24-hour volume change in percent.
        price_change_24h: 24-hour price change in percent.
        oi_change_24h: 24-hour open interest change.
        marketcap: Market capitalization.
        icon_url: Address of the asset's icon.
        available_since: Unix seconds since when the market is available; None where the answer does not say.
        extra: Fields that this version does not know, as sent, by wire name.
    """

    exchange: str = ""
    raw_symbol: str = ""
    normalized_symbol: str = ""
    coin: str = ""
    category: str = ""
    tenor: str = ""
    coin_name: str = ""
    quote_coin_name: str = ""
    full_name: str = ""
    last_price: float = 0.0
    volume_24h: float = 0.0
    volume_change_24h: float = 0.0
    price_change_24h: float = 0.0
    oi_change_24h: float = 0.0
    marketcap: float = 0.0
    icon_url: str = ""
    available_since: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_wire(cls, entry: Mapping[str, Any]) -> "Market":
        """A market from its entry by wire names."""
        known: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        names = {one.name for one in fields(cls)} - {"extra"}
        for wire_name, value in entry.items():
            name = WORD.sub("_", wire_name).lower()
            if name in names:
                known[name] = value
            else:
                extra[wire_name] = value
        since = known.get("available_since")
        if isinstance(since, Mapping):
            known["available_since"] = since.get("s", 0) + since.get("ns", 0) / 1e9
        return cls(**known, extra=extra)


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
        return [{one.name: getattr(record, one.name) for one in fields(record)} for record in self._records]  # type: ignore[arg-type]


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
