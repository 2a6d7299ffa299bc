"""The messages of the live stream, as typed events (supplement, section 7)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..common.display import safe_repr
from ..common.times import no_time
from ..errors import DecodeError
from ..printable import printable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "BookSnapshotEvent",
    "FundingRateEvent",
    "LiquidationEvent",
    "OpenInterestEvent",
    "StreamEvent",
    "StreamGap",
    "TradeAggEvent",
    "TradeBatch",
    "TradeEvent",
    "VolumeProfileEvent",
    "event_of",
]

#: Most markets that a batch names.
MARKETS = 3

NAN = float("nan")


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamEvent:
    """An event of any channel; events of known channels are instances of the classes below.

    Attributes:
        type: Channel type; empty where the frame does not say.
        exchange: Exchange identifier.
        symbol: Exchange-native symbol.
        side: ``BUY`` or ``SELL``, of the taker or of the forced order; None for what has no side.
        time: The event's time, ``datetime64[ns]`` in UTC; NaT where the frame does not say.
        normalized_symbol: Symbol in BASE-QUOTE form.
        category: ``SPOT``, ``PERPETUAL`` or another open string.
        coin: Base asset.
        name: Key under which the values came, such as ``trade``; empty for a frame that is no data frame.
        series: What the event is of, by wire name, as sent.
        values: What it holds, by wire name: times as ``datetime64[ns]``, lists of numbers as float64 arrays.
        extra: What else the point held.
    """

    type: str = ""
    exchange: str = ""
    symbol: str = ""
    side: str | None = None
    time: "np.datetime64" = field(default_factory=no_time)
    normalized_symbol: str = ""
    category: str = ""
    coin: str = ""
    name: str = ""
    series: Mapping[str, Any] = field(default_factory=dict, repr=False)
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def timestamp(self) -> "np.datetime64":
        """Equal to ``time``; named as in series."""
        return self.time


@dataclass(frozen=True, kw_only=True, eq=False)
class TradeEvent(StreamEvent):
    """A trade.

    Attributes:
        id: Identifier given by the exchange.
        price: Price in quote.
        amount: Amount, in the venue's native unit.
    """

    id: str
    price: float
    amount: float


@dataclass(frozen=True, kw_only=True, eq=False)
class LiquidationEvent(StreamEvent):
    """A forced order; ``side`` is the order's, as sent.

    Attributes:
        id: Identifier given by the exchange.
        price: Price in quote.
        amount: Amount, in the venue's native unit.
    """

    id: str
    price: float
    amount: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TradeAggEvent(StreamEvent):
    """The candle of one side's trades in a short interval; ``side`` is the aggressor, ``time`` the interval's start.

    Attributes:
        open: First price.
        high: Highest price.
        low: Lowest price.
        close: Last price.
        volume: Sum of amounts.
        first_time: Time of the first trade, ``datetime64[ns]``; NaT where the frame does not say.
        last_time: Time of the last trade, ``datetime64[ns]``; NaT where the frame does not say.
    """

    open: float
    high: float
    low: float
    close: float
    volume: float
    first_time: "np.datetime64"
    last_time: "np.datetime64"


@dataclass(frozen=True, kw_only=True, eq=False)
class FundingRateEvent(StreamEvent):
    """A reading of the funding rate, a fraction (0.0001 is 0.01 %) per the venue's own interval.

    Attributes:
        funding_rate: The rate; NaN where it is not sent.
        predicted_funding_rate: The rate predicted for the next settlement; NaN where it is not sent.
    """

    funding_rate: float
    predicted_funding_rate: float


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenInterestEvent(StreamEvent):
    """A reading of the open interest.

    Attributes:
        open_interest: Open interest in the venue's native unit; NaN where it is not sent.
    """

    open_interest: float


@dataclass(frozen=True, kw_only=True, eq=False)
class BookSnapshotEvent(StreamEvent):
    """A state of the order book in price blocks.

    Attributes:
        bids: float64 (N, 2): price and volume of each block, from the best down.
        asks: float64 (N, 2): price and volume of each block, from the best up.
    """

    bids: "npt.NDArray[np.float64]" = field(repr=False)
    asks: "npt.NDArray[np.float64]" = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class VolumeProfileEvent(StreamEvent):
    """Volume by price of the current interval; ``time`` is the interval's start.

    Attributes:
        profile: float64 (N, 3): price, bought and sold volume of each block, ascending.
        block_size: Width of a block, in quote; NaN where it is not sent.
    """

    profile: "npt.NDArray[np.float64]" = field(repr=False)
    block_size: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TradeBatch(StreamEvent):
    """Trades, or liquidations, that came one after the other, as columns (``client.stream(…, batches=True)``).

    A row is what a :class:`TradeEvent` or a :class:`LiquidationEvent` is; ``len`` counts them. ``name`` is ``trade`` or
    ``liquidation``, ``type`` and ``time`` are those of the first row. One that says more than these columns hold comes
    as an event between the batches. Arrays are read-only, of shape (rows,).

    Attributes:
        times: datetime64[ns] in UTC; NaT where the frame does not say.
        prices: float64, in quote.
        amounts: float64, in the venue's native unit.
        sides: int8: 1 for ``BUY``, -1 for ``SELL``, of the taker or of the forced order; 0 where it is not sent.
        ids: Identifiers given by the exchange, as NumPy's texts; empty where none is sent.
        market_codes: int32, the place of each row's exchange and symbol in ``markets``.
        markets: Exchange and symbol of each market that the stream sent so far; places never change.
        series_codes: int32, the place of what each row is of in ``all_series``.
        all_series: What rows are of, by wire name, as sent: all that came so far; places never change.
    """

    times: "npt.NDArray[np.datetime64]" = field(repr=False)
    prices: "npt.NDArray[np.float64]" = field(repr=False)
    amounts: "npt.NDArray[np.float64]" = field(repr=False)
    sides: "npt.NDArray[np.int8]" = field(repr=False)
    ids: "npt.NDArray[np.str_]" = field(repr=False)
    market_codes: "npt.NDArray[np.int32]" = field(repr=False)
    markets: tuple[tuple[str, str], ...] = field(repr=False)
    series_codes: "npt.NDArray[np.int32]" = field(repr=False)
    all_series: tuple[Mapping[str, Any], ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.times)

    @safe_repr
    def __repr__(self) -> str:
        rows = f"{len(self):,} {self.name} row{'' if len(self) == 1 else 's'}"
        some = sorted({" ".join(self.markets[code]) for code in set(self.market_codes.tolist())})
        markets = ", ".join(some[:MARKETS]) + (f" and {len(some) - MARKETS} more" if len(some) > MARKETS else "")
        return printable(f"<TradeBatch of {rows}: {markets}, from {self.times[0]}>")


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamGap(StreamEvent):
    """A connection broke and was made again: events from ``start`` to ``end`` may be missing. ``time`` is ``start``.

    It comes after the last event of the old connection and before the first of the new one. What the service replays of
    the gap comes after it, without what was sent before. Times are the service's own, ``datetime64[ns]``.

    Attributes:
        start: Time of the last event before the break, or of the connection's opening where there was none.
        end: When the channels were open again, rounded up by at most a second.
        seconds: How long no connection stood.
        attempts: How many attempts it took to connect again.
        reason: Why the connection broke.
        channels: The channels of that connection, by wire names; :meth:`Client.stream` takes them as they are.
    """

    start: "np.datetime64"
    end: "np.datetime64"
    seconds: float
    attempts: int
    reason: str
    channels: tuple[Mapping[str, str], ...] = field(repr=False)


def event_of(message: Mapping[str, Any]) -> StreamEvent:
    """The typed event of a message of the engine. Unknown types become a plain :class:`StreamEvent`.

    Raises:
        DecodeError: A known value is not what it should be.
    """
    if "gap" in message:
        gap = message["gap"]
        return StreamGap(**{**gap, "channels": tuple(gap["channels"])}, time=gap["start"])
    if "batch" in message:
        return _batch(message["batch"])
    series, values, name = message["series"], message["values"], message["name"]
    kind, build = KINDS.get(name, (StreamEvent, _nothing))
    event: StreamEvent = kind(
        type=_text(series, "type"),
        exchange=_text(series, "exchange"),
        symbol=_text(series, "symbol"),
        side=_text(series, "side") or None,
        time=no_time() if message["time"] is None else message["time"],
        normalized_symbol=_text(series, "normalizedSymbol"),
        category=_text(series, "category"),
        coin=_text(series, "coin"),
        name=name,
        series=series,
        values=values,
        extra=message["extra"],
        **build(values, series),
    )
    return event


def _batch(rows: Mapping[str, Any]) -> TradeBatch:
    return TradeBatch(
        type=_text(rows["series"][rows["series_codes"][0]], "type"),
        name=rows["name"],
        time=rows["time"][0],
        times=rows["time"],
        prices=rows["price"],
        amounts=rows["amount"],
        sides=rows["side"],
        ids=rows["id"],
        market_codes=rows["market_codes"],
        markets=rows["markets"],
        series_codes=rows["series_codes"],
        all_series=rows["series"],
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _number(fields: Mapping[str, Any], name: str, absent: float) -> float:
    """A number, which may be spelt as a text (``blockSize``). A null means the same as an absent field."""
    value = fields.get(name)
    try:
        return absent if value is None else float(value)
    except (TypeError, ValueError):
        raise DecodeError(f"{name}: {value!r} is not a number", path=name) from None


def _time(fields: Mapping[str, Any], name: str) -> "np.datetime64":
    import numpy as np

    value = fields.get(name)
    return value if isinstance(value, np.datetime64) else no_time()


def _levels(fields: Mapping[str, Any], name: str, width: int) -> "npt.NDArray[np.float64]":
    """A flat list as rows. An absent one is empty."""
    import numpy as np

    flat = fields.get(name)
    if flat is None:
        return np.empty((0, width))
    if not isinstance(flat, np.ndarray) or len(flat) % width:
        raise DecodeError(f"{name}: not a list of numbers in groups of {width}", path=name)
    levels: npt.NDArray[np.float64] = flat.reshape(-1, width)
    return levels


def _nothing(_values: Mapping[str, Any], _series: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _trade(values: Mapping[str, Any], _series: Mapping[str, Any]) -> dict[str, Any]:
    name = values.get("id")
    numbers = {field: _number(values, field, 0.0) for field in ("price", "amount")}
    return {"id": "" if name is None else str(name), **numbers}


def _trade_agg(values: Mapping[str, Any], _series: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {name: _number(values, name, 0.0) for name in ("open", "high", "low", "close", "volume")}
    return {
        **numbers,
        "first_time": _time(values, "firstTimestamp"),
        "last_time": _time(values, "lastTimestamp"),
    }


def _funding_rate(values: Mapping[str, Any], _series: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "funding_rate": _number(values, "fundingRate", NAN),
        "predicted_funding_rate": _number(values, "predictedFundingRate", NAN),
    }


def _open_interest(values: Mapping[str, Any], _series: Mapping[str, Any]) -> dict[str, Any]:
    return {"open_interest": _number(values, "openInterest", NAN)}


def _book(values: Mapping[str, Any], _series: Mapping[str, Any]) -> dict[str, Any]:
    return {side: _levels(values, side, 2) for side in ("bids", "asks")}


def _profile(values: Mapping[str, Any], series: Mapping[str, Any]) -> dict[str, Any]:
    return {"profile": _levels(values, "profile", 3), "block_size": _number(series, "blockSize", NAN)}


# Class and reader of each payload key.
KINDS: dict[str, tuple[Any, Any]] = {
    "trade": (TradeEvent, _trade),
    "tradeAggregation": (TradeAggEvent, _trade_agg),
    "liquidation": (LiquidationEvent, _trade),
    "fundingRate": (FundingRateEvent, _funding_rate),
    "openInterest": (OpenInterestEvent, _open_interest),
    "blockBookSnapshot": (BookSnapshotEvent, _book),
    "volumeProfileAggregation": (VolumeProfileEvent, _profile),
}
