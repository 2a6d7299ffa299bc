"""Discovery lists: what is sent, what is read (section 4.2, supplement 5); and slips of exchange names."""

import asyncio

import pytest

import marketpoints as mp
from support.scripted import scripted

# Method, path, key of the answer, what it lists.
LISTS = [
    ("coins", "/v1/coins", "coins", ["BTC", "ETH"]),
    ("symbols", "/v1/symbols", "rawSymbols", ["BTCUSDT"]),
    ("symbols", "/v1/symbols", "symbols", ["BTCUSDT"]),
    ("normalized_symbols", "/v1/normalized-symbols", "normalizedSymbols", ["BTC-USDT"]),
    ("block_sizes", "/v1/block-sizes", "blockSizes", [3, 0.5]),
    ("tenors", "/v1/tenors", "tenors", ["ONE_W", "ONE_M"]),
    ("exchanges", "/v1/exchanges", "exchanges", ["BYBIT", "A_NEW_ONE"]),
    ("categories", "/v1/categories", "categories", ["SPOT"]),
    ("types", "/v1/types", "types", ["TRADE_AGG"]),
]


@pytest.mark.parametrize(("name", "path", "key", "listed"), LISTS)
def test_a_list_is_asked_for_and_read(name, path, key, listed):
    filters = {
        "type": "TRADE_AGG",
        "exchange": ["BYBIT", "CME"],
        "category": "SPOT",
        "coin": ("BTC",),
        "raw_symbol": "A&B",
        "normalized_symbol": "BTC-USDT",
        "extra": {"newer": True},
    }

    async def awaited(url):
        async with mp.AsyncClient("key", url) as client:
            return await getattr(client, name)(**filters)

    with scripted(lambda _: {key: listed}, listings=True) as (url, asked):
        with mp.Client("key", url) as client:
            answer = getattr(client, name)(**filters)
        assert asyncio.run(awaited(url)) == answer == listed
    assert [type(one) for one in answer] == [float if name == "block_sizes" else str] * len(listed)
    query = "type=TRADE_AGG&exchange=BYBIT&exchange=CME&category=SPOT&coin=BTC&rawSymbol=A%26B"
    assert asked == [f"{path}?{query}&normalizedSymbol=BTC-USDT&newer=true"] * 2


@pytest.mark.parametrize("name", sorted({row[0] for row in LISTS}))
def test_an_absent_list_is_an_empty_one(name):
    with scripted(lambda _: {}, listings=True) as (url, _), mp.Client("key", url) as client:
        assert getattr(client, name)(type="TRADE_AGG") == []


# faults.md row 11
@pytest.mark.parametrize("name", ["symbols", "normalized_symbols"])
def test_what_would_be_a_server_error_is_not_sent(name):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest, match="type="):
        getattr(client, name)(exchange="BYBIT")


def test_a_list_of_something_else_is_refused():
    answering = scripted(lambda _: {"coins": {"BTC": 1}}, listings=True)
    with answering as (url, _), mp.Client("key", url) as client, pytest.raises(mp.DecodeError, match="coins"):
        client.coins()


CALLS = [
    lambda client, name: client.candles(name, "BTCUSDT", "1h", period=3600),
    lambda client, name: client.open_interest(["BYBIT", name], interval="1h", coin="BTC", period=3600),
    lambda client, name: client.plan("TRADE_AGG", name, "BTCUSDT", "1h", period=3600),
    lambda client, name: client.points("A_NEWER_AGG", name, "BTCUSDT", "1h", period=3600),
    lambda client, name: client.markets(exchange=name),
    lambda client, name: client.coins(exchange=name),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("slip", "meant"), [("BINANCE_FUTURE", "BINANCE_FUTURES"), ("bybit", "BYBIT"), ("OKX", "OKEX")]
)
def test_a_slip_of_an_exchange_name_is_refused_before_anything_is_sent(call, slip, meant):
    message = f"{slip}.*did you mean {meant}\\?"
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest, match=message):
        call(client, slip)


def test_really_unknown_exchanges_pass():
    answering, settings = scripted(lambda _: {}, listings=True), {"tier": "advanced", "check_symbols": False}
    with answering as (url, asked), mp.Client("key", url, **settings) as client:
        for name in ("KRAKEN", "BINANCE_US"):
            assert len(client.candles(name, "BTCUSD", "1h", period=3600).timestamps) == 0
            assert client.coins(exchange=name) == []
    assert [name for name in ("KRAKEN", "BINANCE_US") for path in asked if f"exchange={name}" in path] == [
        "KRAKEN",
        "KRAKEN",
        "BINANCE_US",
        "BINANCE_US",
    ]
