"""Typed records of the market listing (specification, section 2.4; supplement, section 5)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.times import no_time
from .tables import Records, TypedRecord, record

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Market", "PredictionMarket", "Tag"]

#: An attribute's name by its field's on the wire; cached, since many markets have the same fields.
attribute = lru_cache(maxsize=1024)(_engine.attribute_name)


@dataclass(frozen=True, eq=False, repr=False)
class Tag(TypedRecord):
    """A tag of a prediction market.

    Attributes:
        id: Identifier.
        label: Display name.
        slug: Name in URLs.
        extra: Fields that this version does not know, as sent, by wire name.
    """

    SHOWN = ("label", "slug")

    id: str = ""
    label: str = ""
    slug: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False, repr=False)
class PredictionMarket(TypedRecord):
    """One question of a prediction market (section 2.4). A field that the answer left out is empty or 0.

    Prices are probabilities, 0 to 1; volumes and open interest are outcome tokens.

    Attributes:
        slug: Name of the market in URLs; data queries take ``condition_id``.
        question: The question.
        group_item_title: Title within a grouped market.
        outcomes: Possible outcomes.
        last_price: Last price of the first outcome.
        one_day_price_change: 24-hour price change, a difference of prices.
        prices: Recent price history, the newest last.
        total_volume: Total volume.
        buy_volume_24h: 24-hour volume that takers bought.
        sell_volume_24h: 24-hour volume that takers sold.
        volume_change_24h: 24-hour volume change in percent.
        open_interest: Current open interest.
        one_day_oi_change: 24-hour open interest change, a difference.
        unique_traders: Number of different traders.
        order_price_min_tick_size: Price step of an order.
        condition_id: Market condition, ``0x`` and 64 hexadecimal digits: the symbol of data queries.
        closed: Whether the market has resolved.
        available_since: The opening, ``datetime64[ns]`` in UTC; NaT where the answer does not say.
        available_to: The expiry, ``datetime64[ns]`` in UTC; NaT where the answer does not say.
        sports_market_type: Kind of a sports market, if it is one.
        line: Line of a sports market, if it has one.
        extra: Fields that this version does not know, as sent, by wire name.
    """

    SHOWN = ("question", "outcomes", "last_price", "total_volume", "closed", "condition_id")

    slug: str = ""
    question: str = ""
    group_item_title: str = ""
    outcomes: tuple[str, ...] = ()
    last_price: float = 0.0
    one_day_price_change: float = 0.0
    prices: tuple[float, ...] = ()
    total_volume: float = 0.0
    buy_volume_24h: float = 0.0
    sell_volume_24h: float = 0.0
    volume_change_24h: float = 0.0
    open_interest: float = 0.0
    one_day_oi_change: float = 0.0
    unique_traders: float = 0.0
    order_price_min_tick_size: float = 0.0
    condition_id: str = ""
    closed: bool = False
    available_since: "np.datetime64" = field(default_factory=no_time)
    available_to: "np.datetime64" = field(default_factory=no_time)
    sports_market_type: str = ""
    line: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False, repr=False)
class Market(TypedRecord):
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
        oi_change_24h: 24-hour open interest change; NaN where the answer does not say.
        marketcap: Market capitalization; NaN where the answer does not say.
        icon_url: Address of the asset's icon.
        available_since: Since when the market is available, ``datetime64[ns]`` in UTC; NaT where the answer does not
            say.
        prices: Recent price history, the newest last.
        pct_from_ath: Distance of the last price to the highest one in percent, 0 or below.
        volume_24h_usd: 24-hour volume in USD; NaN where the answer does not say.
        title: Title of a prediction market.
        liquidity: Worth of the resting orders of a prediction market, USD; NaN where the answer does not say.
        tags: Tags of a prediction market.
        prediction_markets: The questions of a prediction market; empty on other exchanges.
        extra: Fields that this version does not know, as sent, by wire name.
    """

    SHOWN = ("exchange", "raw_symbol", "category", "title", "last_price", "volume_24h")

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
    oi_change_24h: float = math.nan
    marketcap: float = math.nan
    icon_url: str = ""
    available_since: "np.datetime64" = field(default_factory=no_time)
    prices: tuple[float, ...] = ()
    pct_from_ath: float = 0.0
    volume_24h_usd: float = math.nan
    title: str = ""
    liquidity: float = math.nan
    tags: Records[Tag] = field(default_factory=lambda: Records(()))
    prediction_markets: Records[PredictionMarket] = field(default_factory=lambda: Records(()))
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_wire(cls, entry: Mapping[str, Any]) -> "Market":
        """A market from its entry by wire names."""
        return record(cls, entry, attribute)
