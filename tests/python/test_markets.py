"""The market listing: typed records, order, distinct; and prediction markets from the listing to their candles."""

import asyncio

import numpy as np
import pytest

import marketpoints as mp
from support.scripted import scripted

NOW = "2026-04-22T18:00:30"
ENTRY = {
    "exchange": "PREDICTION_VENUE",
    "rawSymbol": "0xab",
    "title": "Will it rain?",
    "lastPrice": 0.25,
    "volume24h": 10,
    "volume24hUsd": 2.5,
    "pctFromATH": -3.5,
    "prices": [0.5, 0],
    "liquidity": 12.5,
    "availableSince": {"s": 5, "ns": 500_000_000},
    "tags": [{"id": "7", "label": "Weather", "slug": "weather", "newer": 1}],
    "predictionMarkets": [
        {
            "slug": "will-it-rain",
            "question": "Will it rain?",
            "groupItemTitle": "Rain",
            "outcomes": ["Yes", "No"],
            "lastPrice": 0.25,
            "oneDayPriceChange": -0.125,
            "prices": [0.5, 0.25],
            "totalVolume": 1e7,
            "buyVolume24H": 6,
            "sellVolume24H": 4,
            "volumeChange24H": 50,
            "openInterest": 1234.5,
            "oneDayOIChange": -7.5,
            "uniqueTraders": 42,
            "orderPriceMinTickSize": 0.001,
            "conditionId": "0xab",
            "closed": True,
            "availableSince": {"s": 5},
            "availableTo": {"s": 9},
            "sportsMarketType": "total",
            "line": 2.5,
            "newer": [1],
        }
    ],
    "newer": {"a": 1},
}


def test_an_entry_becomes_typed_records_with_every_field():
    with scripted(lambda _: {"symbols": [ENTRY], "nextOffset": 1}) as (url, _), mp.Client("key", url) as client:
        markets = client.markets()
    (market,) = markets
    assert isinstance(market, mp.Market)
    assert (market.title, market.liquidity, market.pct_from_ath, market.volume_24h_usd) == (
        "Will it rain?",
        12.5,
        -3.5,
        2.5,
    )
    assert (market.prices, market.available_since, market.extra) == (
        (0.5, 0.0),
        np.datetime64(5_500, "ms"),
        {"newer": {"a": 1}},
    )
    assert list(market.tags) == [mp.Tag("7", "Weather", "weather", {"newer": 1})]
    assert list(market.prediction_markets) == [
        mp.PredictionMarket(
            slug="will-it-rain",
            question="Will it rain?",
            group_item_title="Rain",
            outcomes=("Yes", "No"),
            last_price=0.25,
            one_day_price_change=-0.125,
            prices=(0.5, 0.25),
            total_volume=1e7,
            buy_volume_24h=6.0,
            sell_volume_24h=4.0,
            volume_change_24h=50.0,
            open_interest=1234.5,
            one_day_oi_change=-7.5,
            unique_traders=42.0,
            order_price_min_tick_size=0.001,
            condition_id="0xab",
            closed=True,
            available_since=np.datetime64(5, "s"),
            available_to=np.datetime64(9, "s"),
            sports_market_type="total",
            line=2.5,
            extra={"newer": [1]},
        )
    ]
    # What an answer leaves out is empty.
    assert mp.Market.from_wire({}).prediction_markets == mp.Records(()) and not mp.Market().tags
    hash(market)


def test_records_within_records_reach_every_frame():
    market = mp.Market.from_wire(ENTRY)
    for records in (mp.Records([market]), mp.Records([market, mp.Market.from_wire({"exchange": "BYBIT"})])):
        frame = records.to_pandas()
        assert frame.loc[0, "prediction_markets"][0]["question"] == "Will it rain?"
        table = records.to_arrow()
        assert table.column("prediction_markets").to_pylist()[0][0]["one_day_oi_change"] == -7.5
        assert table.column("tags").to_pylist()[0][0]["slug"] == "weather"
        assert records.to_polars()["prediction_markets"].to_list()[0][0]["outcomes"] == ["Yes", "No"]
    inner = market.prediction_markets
    assert inner.to_pandas()["buy_volume_24h"].tolist() == inner.to_polars()["buy_volume_24h"].to_list() == [6.0]
    assert inner.to_arrow().column("prices").to_pylist() == [[0.5, 0.25]]


def test_order_and_distinct_are_sent_as_the_wire_has_them():
    async def awaited(url):
        async with mp.AsyncClient("key", url) as client:
            return await client.markets(sort_by="pct_from_ath", sort_direction="asc", distinct=True, limit=5)

    with scripted(lambda _: {}) as (url, asked):
        with mp.Client("key", url) as client:
            assert (
                len(client.markets(sort_by="PCT_FROM_ATH", sort_direction="SORT_DIRECTION_ASC", distinct=True, limit=5))
                == 0
            )
        assert len(asyncio.run(awaited(url))) == 0
    order = "sortCriteria.field=PCT_FROM_ATH&sortCriteria.direction=SORT_DIRECTION_ASC&distinct=true"
    assert asked == [f"/v1/markets?{order}&pageSize=5&pageOffset=0"] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sort_by": "VOLUME"}, 'sort_by: "VOLUME" is not one of VOLUME_24H, PRICE_CHANGE_24H'),
        ({"sort_direction": "down"}, 'sort_direction: "down" is not one of asc, desc'),
        ({"distinct": "yes"}, "distinct"),
        ({"sort_by": 1}, "sort_by"),
    ],
)
def test_a_wrong_order_is_refused_before_anything_is_sent(arguments, message):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest, match=message):
        client.markets(**arguments)


@pytest.fixture(scope="module")
def client():
    with mp.LocalService(now=NOW) as service, service.client("unlimited") as client:
        yield client


def test_the_service_orders_as_the_records_say(client):
    # Each answer is of one moment, so it is held against its own figures.
    kinds = {"category": ["SPOT", "PERPETUAL"]}
    for sort_by, attribute in [
        ("VOLUME_24H", "volume_24h_usd"),
        ("PRICE_CHANGE_24H", "price_change_24h"),
        ("PCT_FROM_ATH", "pct_from_ath"),
        ("MARKET_SYMBOL_MARKETCAP", "marketcap"),
        ("AVAILABLE_SINCE", "available_since"),
    ]:
        for direction in ("asc", "desc"):
            rows = client.markets(**kinds, sort_by=sort_by, sort_direction=direction)
            expected = sorted(rows, key=lambda row: (row.exchange, row.raw_symbol))
            expected.sort(key=lambda row: getattr(row, attribute), reverse=direction == "desc")
            assert [row.full_name for row in rows] == [row.full_name for row in expected], sort_by
            assert len({row.full_name for row in rows}) == 80
    perpetual = client.markets(category="PERPETUAL", sort_by="MARKET_SYMBOL_OI_CHANGE_24H", sort_direction="desc")
    assert [row.oi_change_24h for row in perpetual] == sorted((row.oi_change_24h for row in perpetual), reverse=True)
    distinct = client.markets(**kinds, distinct=True)
    assert len({row.normalized_symbol for row in distinct}) == len(distinct) == 20


def test_average_true_range_is_that_of_the_hourly_candles(client):
    rows = client.markets(coin="BTC", category="PERPETUAL", sort_by="MARKET_SYMBOL_ATR_PERCENT", sort_direction="desc")
    figures = {}
    for row in rows:
        hours = client.candles(row.exchange, row.raw_symbol, "1h", end="2026-04-22T18:00:00", period=15 * 3600)
        high, low, close = hours["high"][1:], hours["low"][1:], hours["close"][:-1]
        ranges = np.maximum(high - low, np.maximum(abs(high - close), abs(low - close)))
        assert len(ranges) == 14
        figures[row.exchange] = ranges.mean() / row.last_price
    assert [row.exchange for row in rows] == sorted(figures, key=figures.__getitem__, reverse=True)


def test_a_prediction_market_leads_to_its_candles_book_and_profile(client):
    find = {"exchange": "PREDICTION_VENUE", "symbol_filter": "NEW HIGH IN 2026"}
    (listed,) = client.markets(**find)
    (market,) = listed.prediction_markets
    symbol = ("PREDICTION_VENUE", market.condition_id)
    assert not market.closed and market.condition_id == listed.raw_symbol and len(market.prices) == 24
    # The clock runs on: the last close is held against a listing before and one after it that agree.
    before = after = close = None
    while before is None or before != after:
        before = client.markets(**find)[0].last_price
        close = client.candles(*symbol, "1h", period=7200, include_forming=True)["close"][-1]
        after = client.markets(**find)[0].last_price
    assert close == before
    book = client.orderbook_heatmap(*symbol, "1m", block_size=0.001, start="2026-04-22T17:00:00", period=600)
    assert len(book.timestamps) == 10 and book.prices.min() > 0 and book.prices.max() < 1
    hours = {"start": "2026-04-22T12:00:00", "period": 3600}
    profile, hour = client.volume_profile(*symbol, "1h", **hours), client.candles(*symbol, "1h", **hours)
    assert (profile.buys + profile.sells).sum() == pytest.approx(hour["volume"][0])
    assert 0 < hour["low"][0] <= profile.prices.min() and profile.prices.max() <= hour["high"][0] < 1
    slug = pytest.warns(mp.UnknownSymbolWarning, match="by their conditionId, not by a slug")
    with slug, pytest.raises(mp.InvalidRequest, match="go by conditionId") as caught:
        client.candles("PREDICTION_VENUE", market.slug, "1h", **hours)
    assert caught.value.code == "INVALID_SYMBOL"


def test_a_market_that_is_over_keeps_its_last_price_and_its_volume(client):
    (listed,) = client.markets(exchange="PREDICTION_VENUE", symbol_filter="above $150k in 2025")
    (market,) = listed.prediction_markets
    days = client.candles("PREDICTION_VENUE", market.condition_id, "1d", start=market.available_since, end=NOW)
    assert market.closed and days.timestamps[-1] < market.available_to
    assert days["close"][-1] == market.last_price == listed.last_price
    assert days["volume"].sum() == pytest.approx(market.total_volume)
    assert (market.buy_volume_24h, market.sell_volume_24h, listed.volume_24h) == (0, 0, 0)
    winners = {
        row.outcome_name for row in client.positions(condition_id=market.condition_id) if row.resolved_price == 1
    }
    assert winners == {market.outcomes[0 if market.last_price > 0.5 else 1]} and not 0.005 < market.last_price < 0.995


def test_a_volume_profile_goes_by_normalized_symbol(client):
    hours = {"start": "2026-04-22T12:00:00", "period": 3600}
    named = client.volume_profile("BYBIT", interval="1h", extra={"normalizedSymbol": "BTC-USDT"}, **hours)
    known = client.volume_profile("BYBIT", "BTCUSDT", "1h", **hours)
    assert (named.prices == known.prices).all() and len(known.prices) > 0
    with pytest.raises(mp.InvalidRequest, match="one of symbol, coin and normalizedSymbol"):
        client.volume_profile("BYBIT", "BTCUSDT", "1h", extra={"normalizedSymbol": "BTC-USDT"}, **hours)
