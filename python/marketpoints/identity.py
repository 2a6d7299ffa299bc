"""The identity of a series, and the query that fetched it (specification, section 2.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .printable import printable

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Provenance", "ProvenanceParts", "Selection", "SeriesId", "Window", "distinguishing", "of_sum"]


@dataclass(frozen=True)
class SeriesId:
    """The identity of a series. Any field may be None: the service names only what applies (section 2.2).

    Attributes:
        type: Data type, such as ``TRADE_AGG``.
        exchange: Exchange identifier.
        raw_symbol: Exchange-native symbol.
        normalized_symbol: Symbol in BASE-QUOTE form.
        category: ``SPOT``, ``PERPETUAL``, ``OPTION`` or another open string.
        interval: Wire name of the interval.
        side: ``BUY`` or ``SELL`` for per-side types.
        tenor: Option tenor.
        coin: Base asset.
        token_name: Token name (token supply).
        extra: Fields that this version does not know: the value's JSON text by wire name.
    """

    type: str | None = None
    exchange: str | None = None
    raw_symbol: str | None = None
    normalized_symbol: str | None = None
    category: str | None = None
    interval: str | None = None
    side: str | None = None
    tenor: str | None = None
    coin: str | None = None
    token_name: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    def known(self) -> dict[str, str]:
        """The fields that have a value, without ``extra``."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "extra"}
        return {name: value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        symbol = self.raw_symbol or self.normalized_symbol or self.coin
        parts = (self.type, self.exchange, symbol, self.interval, self.tenor, self.token_name, self.side)
        return printable(" ".join(part for part in parts if part)) or "unnamed series"


def distinguishing(several: Sequence[Mapping[str, str | None]], names: Sequence[str]) -> list[str]:
    """Those of the fields, in this order, that distinguish some of several where those before do not."""
    found: list[str] = []
    groups = 1
    for name in names:
        count = len({tuple(one.get(part) for part in (*found, name)) for one in several})
        if count > groups:
            found.append(name)
            groups = count
    return found


class Window(NamedTuple):
    """A half-open stretch of time, ``[start, end)``, as datetime64[ns] in UTC."""

    start: "np.datetime64"
    end: "np.datetime64"


class Selection(NamedTuple):
    """Which markets a call asked for (section 4.1).

    Attributes:
        exchanges: Exchange identifiers, each once, in the order given; none is all of them.
        symbol: Exchange-native symbol.
        coin: Base asset, in a symbol's place.
    """

    exchanges: tuple[str, ...]
    symbol: str | None
    coin: str | None

    def __str__(self) -> str:
        market = self.symbol or self.coin or "all"
        return printable(f"{market} on {' + '.join(self.exchanges)}" if self.exchanges else market)


def of_sum(identity: SeriesId, asked: Selection | None, joint: str) -> SeriesId:
    """The identity of a series; a sum over exchanges names no market (supplement 2): it has that of the query.

    Args:
        identity: As the service sent it.
        asked: What the call asked for.
        joint: Text between the names of several exchanges.
    """
    if asked is None or identity.raw_symbol or identity.exchange:
        return identity
    exchanges = joint.join(asked.exchanges) or None
    return replace(identity, exchange=exchanges, raw_symbol=asked.symbol, coin=identity.coin or asked.coin)


class Provenance(NamedTuple):
    """How a series came about.

    Attributes:
        now: The moment that decides which buckets are closed, Unix seconds by the clock of who asked; None where only
            closed buckets are kept (an archive).
        window: First bucket start asked for and the end, half-open, Unix seconds; None for a body decoded alone, or
            for all that is kept.
        session: Wire name of the session asked for (TPO); None follows the interval.
        usd: Whether values were asked in USD; None where that is not known.
        selection: Parts of the :class:`Selection` asked for; None for a body decoded alone.
    """

    now: float | None
    window: tuple[int, int] | None = None
    session: str | None = None
    usd: bool | None = None
    selection: "SelectionParts | None" = None


#: The parts of a :class:`Selection`.
SelectionParts: TypeAlias = "tuple[tuple[str, ...], str | None, str | None]"
#: A :class:`Provenance`, or its fields alone: to make one takes as long as to make a small series.
ProvenanceParts: TypeAlias = (
    "tuple[float | None, tuple[int, int] | None, str | None, bool | None, SelectionParts | None]"
)
