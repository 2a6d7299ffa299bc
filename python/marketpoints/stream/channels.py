"""Channels of the live stream, as users write them (supplement, section 7)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from .. import _engine
from ..common.arguments import text
from ..common.signatures import hinted_keywords
from ..common.texts import sendable
from ..errors import InvalidRequest

__all__ = ["Channel", "ChannelParts", "Channels", "parts_of"]

#: A channel as the engine takes it: type, exchange, symbol, category, parameters, what is not checked.
ChannelParts: TypeAlias = tuple[str, str, str, str | None, list[tuple[str, str]], list[tuple[str, str]]]
# Parameters by their attribute's name and as the wire spells them.
WIRE = {
    "batch_interval": "batchInterval",
    "block_size": "blockSize",
    "max_depth": "maxDepth",
    "update_frequency": "updateFrequency",
    "group_by_type": "groupByType",
    "quote": "quote",
}


@dataclass(frozen=True, kw_only=True)
class Channel:
    """An event type of a market.

    Attributes:
        type: ``TRADE``, ``TRADE_AGG``, ``BLOCK_BOOK_SNAPSHOT``, ``LIQUIDATION``, ``FUNDING_RATE``, ``OPEN_INTEREST``,
            ``VOLUME_PROFILE_AGG``, or another type that the service has.
        exchange: Exchange identifier.
        symbol: Exchange-native symbol.
        category: Category of the market; None is any.
        batch_interval: ``TRADE_AGG``: ``200ms``, ``1s`` or ``5s``.
        block_size: ``BLOCK_BOOK_SNAPSHOT``: width of a price block, in quote; it needs one.
        max_depth: ``BLOCK_BOOK_SNAPSHOT``: most blocks of a side.
        update_frequency: Of books and profiles: ``500ms`` or ``1s``.
        group_by_type: Of books and profiles: ``0`` or ``1``.
        quote: ``VOLUME_PROFILE_AGG``: ``USD`` for volumes in USD.
        extra: Further parameters by wire name, sent without being checked.
    """

    type: str
    exchange: str
    symbol: str
    category: str | None = None
    batch_interval: str | None = None
    block_size: float | str | None = None
    max_depth: int | str | None = None
    update_frequency: str | None = None
    group_by_type: int | str | None = None
    quote: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def parts(self) -> ChannelParts:
        """The channel as the engine takes it.

        Raises:
            InvalidRequest: Type, exchange or symbol is no text, or ``extra`` is no mapping.
        """
        named = {WIRE[name]: getattr(self, name) for name in WIRE}
        return _parts(self.type, self.exchange, self.symbol, self.category, named, self.extra)


Channel.__init__ = hinted_keywords(Channel.__init__)  # type: ignore[method-assign]


#: The channels of a stream: a channel, its fields as a mapping (by attribute or by wire name), or several of these.
Channels: TypeAlias = Channel | Mapping[str, Any] | Iterable[Channel | Mapping[str, Any]]


def parts_of(channels: Channels) -> list[ChannelParts]:
    """The channels as the engine takes them.

    Raises:
        InvalidRequest: Something is neither a channel nor a mapping, or lacks type, exchange or symbol.
    """
    if isinstance(channels, (Channel, Mapping)):
        return [_one(channels)]
    several: object = channels
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise InvalidRequest(
            f"channels: {channels!r} is not a list of channels, such as [mp.Channel(type=…, exchange=…, symbol=…)]"
        )
    return [_one(channel) for channel in several]


def _one(channel: object) -> ChannelParts:
    if isinstance(channel, Channel):
        return channel.parts()
    if not isinstance(channel, Mapping):
        raise InvalidRequest(f"channels: {channel!r} is neither a Channel nor a mapping of its fields")
    left = dict(channel)
    for name in ("type", "exchange", "symbol"):
        if name not in left:
            near = _engine.closest(name, [str(key) for key in left])
            hint = f"; is {near} a misspelling of it?" if near else ""
            raise InvalidRequest(f"channels: {name} is missing in {dict(channel)!r}{hint}")
    kind, exchange, symbol = left.pop("type"), left.pop("exchange"), left.pop("symbol")
    category, extra = left.pop("category", None), left.pop("extra", {})
    # By wire name or by attribute's; what is neither passes, and the engine suggests what was meant.
    named = {WIRE.get(str(name), str(name)): value for name, value in left.items()}
    return _parts(kind, exchange, symbol, category, named, extra)


def _parts(
    kind: object,
    exchange: object,
    symbol: object,
    category: object,
    named: Mapping[str, Any],
    extra: object,
) -> ChannelParts:
    if not isinstance(extra, Mapping):
        raise InvalidRequest(f"extra: {extra!r} is not a mapping of parameter names to values")
    return (
        text(kind, "type") or "",
        text(exchange, "exchange") or "",
        text(symbol, "symbol") or "",
        text(category, "category"),
        [(name, sendable(_spelled(value), name)) for name, value in named.items() if value is not None],
        [(str(name), sendable(_spelled(value), "extra")) for name, value in extra.items() if value is not None],
    )


def _spelled(value: object) -> str:
    """Numbers as the wire spells them: texts, whole ones without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


# A parameter that the dataclass has and the table above has not would never be sent.
assert {one.name for one in fields(Channel)} == {"type", "exchange", "symbol", "category", "extra", *WIRE}
