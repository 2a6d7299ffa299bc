"""Symbols and coins that a service does not have are refused before they are paid for; empty answers say why."""

import asyncio
import datetime as dt
import logging
import threading
import time
import warnings

import pytest

import marketpoints as mp
from support import NOW
from support.scripted import scripted

HOUR, DAY = 3600, 86_400
WINDOW = {"start": NOW - NOW % HOUR - 10 * HOUR, "period": 10 * HOUR}
MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1h")
SETTINGS = {"tier": "advanced", "clock": lambda: NOW}
LISTED = {"rawSymbols": ["BTCUSDC", "BTCUSDT", "ETHUSDT"]}


def points(path):
    """Candles of each hour asked, for any symbol; nothing else."""
    if not path.startswith("/v1/points"):
        return 404, {}, {"error": "NOT_FOUND", "message": "no such path"}
    return {}


# faults.md row 33
@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("BTCUSD", "BTCUSDT"), ("btcusdt", "BTCUSDT"), ("BTC/USDT", "BTCUSDT"), ("BTC-USDT", "BTCUSDT")],
)
def test_a_symbol_that_does_not_exist_is_refused_unpaid_with_the_one_that_was_meant(service, wrong, meant):
    with service.client() as client:
        with pytest.raises(mp.InvalidRequest, match=f"^BINANCE_FUTURES has no {wrong}; did you mean {meant}\\?"):
            client.candles("BINANCE_FUTURES", wrong, "1h", **WINDOW)
        with pytest.raises(mp.InvalidRequest, match=f"did you mean {meant}"):
            client.plan("candles", "BINANCE_FUTURES", wrong, "1h", **WINDOW)
        assert client.usage().used == 0
        assert client.candles("BINANCE_FUTURES", meant, "1h", **WINDOW).why_empty is None

    async def awaited():
        async with service.async_client() as client:
            await client.candles("BINANCE_FUTURES", wrong, "1h", **WINDOW)

    with pytest.raises(mp.InvalidRequest, match=f"did you mean {meant}"):
        asyncio.run(awaited())


def test_so_is_a_coin_and_one_that_is_near_nothing(service):
    with service.client() as client:
        with pytest.raises(mp.InvalidRequest, match=r"^BINANCE_FUTURES with BYBIT has no btc; did you mean BTC\?"):
            client.candles(["BYBIT", "BINANCE_FUTURES"], None, "1h", coin="btc", **WINDOW)
        with pytest.raises(mp.InvalidRequest, match=r"^the service has no NOSUCHCOIN \(of VENUE_LIQUIDATION_AGG"):
            client.liquidation_heatmap(interval="1h", coin="NOSUCHCOIN", **WINDOW)
        with pytest.raises(mp.InvalidRequest, match=r"^BINANCE_FUTURES has no ZZZZZZ \(.*check_symbols=False"):
            client.candles("BINANCE_FUTURES", "ZZZZZZ", "1h", **WINDOW)
        assert client.usage().used == 0


def test_swapped_arguments_are_refused_without_a_look(nobody):
    with pytest.raises(mp.InvalidRequest, match='did you mean exchange "BINANCE_FUTURES" and symbol "BTCUSDT"'):
        nobody.candles("BTCUSDT", "BINANCE_FUTURES", "1h", **WINDOW)


@pytest.fixture
def nobody():
    """A client whose service does not answer at all."""
    with mp.Client("key", "http://127.0.0.1:9", tier="advanced", clock=lambda: NOW, retries=0) as client:
        yield client


def test_a_listing_is_asked_once_for_each_exchange_and_type_and_kept():
    def answer(path):
        return LISTED if path.startswith("/v1/symbols") else points(path)

    with scripted(answer, listings=True) as (url, asked):
        with mp.Client("key", url, **SETTINGS) as client:
            for symbol in ("BTCUSDT", "ETHUSDT", "BTCUSDT"):
                client.candles("BINANCE_FUTURES", symbol, "1h", **WINDOW)
            with pytest.raises(mp.InvalidRequest, match="did you mean BTCUSDT"):
                client.candles("BINANCE_FUTURES", "BTCUSD", "1h", **WINDOW)
            client.candles("BYBIT", "BTCUSDT", "1h", **WINDOW)
            assert client.budget.used == 4
        listings = [path for path in asked if path.startswith("/v1/symbols")]
        assert listings == [
            "/v1/symbols?type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BINANCE_FUTURES",
            "/v1/symbols?type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BYBIT",
        ]
        assert len(asked) == 6
        asked.clear()
        with mp.Client("key", url, tier="advanced", clock=lambda: NOW, check_symbols=False) as client:
            client.candles("BINANCE_FUTURES", "BTCUSD", "1h", **WINDOW)
            client.plan("candles", "BINANCE_FUTURES", "BTCUSD", "1h", **WINDOW)
        assert len(asked) == 1


# faults.md row 33
@pytest.mark.parametrize(
    "reply",
    [
        (404, {}, {"error": "NOT_FOUND", "message": "no"}),
        (500, {}, b"oops"),
        (429, {"Retry-After": "300"}, {"error": "RATE_LIMITED", "message": "slow down"}),
        (200, {}, b"<html>"),
        (200, {}, {"rawSymbols": 5}),
        (200, {}, {"error": "INTERNAL_ERROR", "message": "in a 200"}),
    ],
)
def test_a_listing_that_cannot_be_had_refuses_nothing_and_is_not_asked_again(reply):
    def answer(path):
        return reply if path.startswith("/v1/symbols") else points(path)

    with scripted(answer, listings=True) as (url, asked):
        with mp.Client("key", url, tier="advanced", clock=lambda: NOW, max_wait=1) as client:
            for symbol in ("BTCUSD", "BTCUSDT"):
                assert len(client.candles("BINANCE_FUTURES", symbol, "1h", **WINDOW).only) == 0
            assert client.budget.used == 2
        assert [path.partition("?")[0] for path in asked] == ["/v1/symbols", "/v1/points", "/v1/points"]


def test_a_listing_that_does_not_come_holds_up_one_call_for_a_moment():
    over = threading.Event()

    def answer(path):
        if path.startswith("/v1/symbols"):
            over.wait(60)
        return points(path)

    with scripted(answer, listings=True) as (url, asked):
        with mp.Client("key", url, **SETTINGS) as client:
            began = time.monotonic()
            for symbol in ("BTCUSD", "BTCUSDT", "ETHUSDT"):
                client.candles("BINANCE_FUTURES", symbol, "1h", **WINDOW)
            assert time.monotonic() - began < 6
        over.set()
        assert sum(path.startswith("/v1/symbols") for path in asked) == 1


def test_a_listing_that_is_not_sure_warns_and_the_call_goes_on():
    def answer(path):
        return {} if path.startswith("/v1/symbols?type=SKEW") else LISTED if "symbols" in path else points(path)

    with (
        scripted(answer, listings=True) as (url, _),
        mp.Client("key", url, **SETTINGS) as client,
    ):
        with pytest.warns(mp.UnknownSymbolWarning, match="nothing of SKEW_OPTION_SUMMARY_AGG for DERIBIT") as caught:
            client.skew("DERIBIT", "BTC_25", "1h", coin="BTC", tenor="ONE_W", **WINDOW)
        assert caught[0].filename == __file__
        with pytest.warns(mp.UnknownSymbolWarning, match="conditionId") as caught:
            client.points("TRADE_AGG", "PREDICTION_VENUE", "will-it-rain", "1h", **WINDOW)
        assert caught[0].filename == __file__
        assert client.budget.used == 2
        # Where warnings are errors, nothing is paid.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(mp.UnknownSymbolWarning):
                client.points("TRADE_AGG", "PREDICTION_VENUE", "will-it-rain", "1h", **WINDOW)
        assert client.budget.used == 2


def test_what_sends_nothing_looks_nothing_up(tmp_path):
    def answer(path):
        return LISTED if path.startswith("/v1/symbols") else points(path)

    with scripted(answer, listings=True) as (url, asked):
        settings = {"tier": "advanced", "clock": lambda: NOW}
        with mp.Client("key", url, **settings, archive=tmp_path) as client:
            client.candles(*MARKET, **WINDOW)
        assert len(asked) == 2
        with mp.Client("key", url, **settings, archive=tmp_path) as client:
            client.candles(*MARKET, **WINDOW)
            assert mp.Archive(tmp_path).sync(client, "candles", *MARKET, **WINDOW).requests == 0
            client.candles(*MARKET, start=NOW, period=60)
            client.plan("candles", "BINANCE_FUTURES", "BTCUSD", "1h", **WINDOW)
        assert len(asked) == 2
        meant = pytest.raises(mp.InvalidRequest, match="did you mean BTCUSDT")
        with mp.Client("key", url, **settings) as client, meant:
            mp.Archive(tmp_path).sync(client, "candles", "BINANCE_FUTURES", "BTCUSD", "1h", **WINDOW)
        assert sum(path.startswith("/v1/points") for path in asked) == 1


def test_an_empty_answer_says_why_it_may_be_empty(service, caplog):
    caplog.set_level(logging.INFO, "marketpoints")
    with service.client() as client:
        nothing = client.candles(*MARKET, start=NOW, period=60)
        assert "no bucket starts from 2026-09-21 14:13:20 UTC" in nothing.why_empty
        assert nothing.why_empty in repr(nothing) and "no bucket" in nothing._repr_html_()
        future = client.candles(*MARKET, start=NOW + DAY, end=NOW + 2 * DAY)
        assert "in the future" in repr(future)
        assert client.candles(*MARKET, **WINDOW).why_empty is None
    assert [record.levelname for record in caplog.records if "nothing was asked" in record.message] == ["INFO"] * 2
    with scripted(points) as (url, _), mp.Client("key", url, **SETTINGS) as client:
        unknown = client.candles(*MARKET, **WINDOW)
        assert "does not know the symbol" in repr(unknown) and "nothing happened there" in unknown.why_empty

    def answer(path):
        return LISTED if path.startswith("/v1/symbols") else points(path)

    with (
        scripted(answer, listings=True) as (url, _),
        mp.Client("key", url, **SETTINGS) as client,
    ):
        assert "does not know" not in client.candles(*MARKET, **WINDOW).why_empty


def test_own_data_without_now_say_when_they_end(tmp_path):
    noon = int(dt.datetime(2019, 12, 30, 12, tzinfo=dt.timezone.utc).timestamp()) * 1_000_000
    folder = tmp_path / "dumps" / "trades" / "BINANCE_FUTURES" / "BTCUSDT"
    folder.mkdir(parents=True)
    rows = f"BINANCE_FUTURES,BTCUSDT,{noon},{noon},1,buy,7300.5,0.25\n"
    (folder / "2019-12-30.csv").write_text(f"exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n{rows}")
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    with pytest.warns(mp.OutdatedDataWarning, match=r"end on 2019-12-30, .*give now='2019-12-31 00:00'") as caught:
        service = mp.LocalService(data=tmp_path / "store")
    assert caught[0].filename == __file__
    with service, service.client("unlimited") as client:
        last = client.candles(*MARKET, period="1d")
        assert "the data of the service end on 2019-12-30" in repr(last) and "now='2019-12-31 00:00'" in last.why_empty
    with mp.LocalService(data=tmp_path / "store", now="2019-12-31") as service, service.client() as client:
        assert client.candles(*MARKET, period="1d")["close"].tolist() == [7300.5]


BOOK = {"max_depth": 10, **WINDOW}


def test_a_block_size_that_does_not_fit_is_refused_unpaid_with_the_nearest_that_does(service):
    with service.client() as client:
        (step,) = client.block_sizes(type="BLOCK_BOOK_SNAPSHOT_AGG", exchange=MARKET[0], raw_symbol=MARKET[1])
        wrong = pytest.raises(
            mp.InvalidRequest,
            match=rf"^block_size={2.75 * step:g} is no multiple of {step:g}, .* fits is {3 * step:g}; ",
        )
        with wrong as raised:
            client.orderbook_heatmap(*MARKET, block_size=2.75 * step, **BOOK)
        assert raised.value.status is None, "not the service's refusal"
        with pytest.raises(mp.InvalidRequest, match=r"^block_size="):
            client.tpo(*MARKET, block_size=2.75 * step, **WINDOW)
        with pytest.raises(mp.InvalidRequest, match=r"^block_size="):
            client.orderbook_heatmap("BINANCE_FUTURES", None, "1h", coin="BTC", block_size=2.75 * step, **BOOK)
        assert client.usage().used == 0
        # HD is five times the recommended size (section 4.1).
        assert len(client.orderbook_heatmap(*MARKET, block_size=5 * step, **BOOK)) == 1

    async def awaited():
        async with service.async_client() as client:
            await client.orderbook_heatmap(*MARKET, block_size=2.75 * step, **BOOK)

    with pytest.raises(mp.InvalidRequest, match=r"^block_size="):
        asyncio.run(awaited())
    # The switch: then the service judges.
    with service.client(any_block_size=True) as client:
        with pytest.raises(mp.InvalidRequest, match="the nearest that fits") as raised:
            client.orderbook_heatmap(*MARKET, block_size=2.75 * step, **BOOK)
        assert raised.value.status == 400


def test_a_service_that_takes_any_block_size_gives_clients_that_ask_any():
    with mp.LocalService(now=NOW, any_block_size=True) as service, service.client() as client:
        assert len(client.orderbook_heatmap(*MARKET, block_size=7.77, **BOOK).only) > 0


def test_block_sizes_are_asked_once_for_a_market_and_refuse_nothing_where_they_are_not_known():
    sizes = {"BTCUSDT": {"blockSizes": [2]}, "ETHUSDT": {"blockSizes": [0]}, "BTCUSDC": (500, {}, b"oops")}

    def answer(path):
        if path.startswith("/v1/block-sizes"):
            return sizes[path.rpartition("rawSymbol=")[2]]
        return LISTED if path.startswith("/v1/symbols") else points(path)

    with scripted(answer, listings=True) as (url, asked), mp.Client("key", url, **SETTINGS) as client:
        for symbol in ("BTCUSDT", "BTCUSDT", "ETHUSDT", "BTCUSDC", "BTCUSDC"):
            client.orderbook_heatmap("BYBIT", symbol, "1h", block_size=4, **BOOK)
        with pytest.raises(
            mp.InvalidRequest, match=r"^block_size=3 is no multiple of 2, .* the nearest that fits is 4"
        ):
            client.orderbook_heatmap("BYBIT", "BTCUSDT", "1h", block_size=3, **BOOK)
        with pytest.raises(mp.InvalidRequest, match=r"^block_size=3"):
            client.plan("orderbook_heatmap", "BYBIT", "BTCUSDT", "1h", block_size=3, **BOOK)
        # In USD the size is another one than what is recommended in the market's quote.
        client.orderbook_heatmap("BYBIT", "BTCUSDT", "1h", block_size=3, usd=True, **BOOK)
        listings = [path for path in asked if path.startswith("/v1/block-sizes")]
        query = "/v1/block-sizes?type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol="
        assert listings == [f"{query}{symbol}" for symbol in ("BTCUSDT", "ETHUSDT", "BTCUSDC")]
        assert sum(path.startswith("/v1/points") for path in asked) == 6


def channel(symbol, kind="TRADE", exchange="BINANCE_FUTURES", **fields):
    return mp.Channel(type=kind, exchange=exchange, symbol=symbol, **fields)


def test_a_channel_of_an_unknown_symbol_is_refused_before_it_is_opened(service):
    unknown = pytest.raises(mp.InvalidRequest, match=r"^BINANCE_FUTURES has no BTCUSD; did you mean BTCUSDT\?")
    with service.client() as client:
        with unknown as raised:
            client.stream([channel("BTCUSDT"), channel("BTCUSD")]).open()
        assert raised.value.status is None, "not the service's refusal"
        with unknown:
            client.stream(channel("BTCUSD", "FUNDING_RATE")).poll()

    async def awaited():
        async with service.async_client() as client, client.stream(channel("BTCUSD")):
            pass

    with unknown:
        asyncio.run(awaited())
    # This service answers unknown symbols with nothing.
    with service.client(check_symbols=False) as client, client.stream(channel("BTCUSD")) as stream:
        assert stream.state == "open"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (channel("BTCUSDT", category="SPOT"), "BINANCE_FUTURES BTCUSDT is of the category PERPETUAL, not SPOT"),
        (channel("BTC-USD", "FUNDING_RATE", "COINBASE"), "COINBASE BTC-USD, but not for FUNDING_RATE_AGG"),
    ],
)
def test_a_channel_that_may_stay_silent_warns(service, wrong, words):
    with service.client() as client:
        with pytest.warns(mp.UnknownSymbolWarning, match=f"{words}.* may stay silent") as caught, client.stream(wrong):
            pass
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with client.stream([channel("BTCUSDT", category="PERPETUAL"), channel("BTCUSDT", "FUNDING_RATE")]):
                pass
            with pytest.raises(mp.UnknownSymbolWarning):
                client.stream(wrong).open()


def test_a_stream_opens_where_no_list_can_be_had(service):
    service.faults.set(path="/v1/symbols", status=500)
    with service.client() as client, warnings.catch_warnings():
        warnings.simplefilter("error")
        with client.stream(channel("NOSUCH")) as stream:
            assert stream.state == "open"
