"""The live stream against the local service: what it sends is what the points say, and what it refuses."""

import asyncio
import contextlib
import gzip
import itertools
import sys
import threading

import numpy as np
import pytest

import marketpoints as mp
from marketpoints.stream.events import event_of

START = "2026-04-22T18:00:00"
BEGIN = 1_776_880_800
SECOND = 1_000_000_000
MARKET = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"}
PAIR = ("BINANCE_FUTURES", "BTCUSDT")


@pytest.fixture
def twin():
    with mp.LocalService(now=START) as service:
        yield service


def at(second):
    return np.datetime64(second, "s")


def until(stream, second):
    """The events up to a Unix second, by the order of the stream; one after it must come."""
    return list(itertools.takewhile(lambda event: event.time < at(second), stream))


def test_a_minutes_trades_are_its_candle(twin):
    client = twin.client("unlimited")
    with client.stream([mp.Channel(type="TRADE", **MARKET)]) as stream:
        twin.advance(200)
        trades = until(stream, BEGIN + 120)
    trades = [trade for trade in trades if trade.time >= at(BEGIN + 60)]
    assert all(isinstance(trade, mp.TradeEvent) for trade in trades)
    prices = [trade.price for trade in trades]
    window = {"start": BEGIN + 60, "end": BEGIN + 120}
    candle = client.candles(*PAIR, "1m", **window)[0]
    shown = [candle[name][0] for name in ("open", "high", "low", "close")]
    assert shown == [prices[0], max(prices), min(prices), prices[-1]]
    sides = client.side_candles(*PAIR, "1m", **window)
    for side in ("BUY", "SELL"):
        total = sum(trade.amount for trade in trades if trade.side == side)
        assert sides.sel(side=side)["volume"][0] == pytest.approx(total, rel=1e-12)
    first = trades[0]
    assert (first.type, first.exchange, first.symbol) == ("TRADE", *PAIR)
    assert (first.normalized_symbol, first.category, first.coin) == ("BTC-USDT", "PERPETUAL", "BTC")
    assert first.timestamp == first.time and first.timestamp.dtype == "datetime64[ns]"
    assert len({trade.id for trade in trades}) == len(trades)


def test_liquidations_add_up_to_their_bars(twin):
    client = twin.client("unlimited")
    with client.stream({"type": "LIQUIDATION", **MARKET}) as stream:
        twin.advance(6 * 3600)
        forced = until(stream, BEGIN + 5 * 3600)
    assert len(forced) > 5
    assert all(isinstance(event, mp.LiquidationEvent) for event in forced)
    bars = client.liquidations(*PAIR, "1m", start=BEGIN + 60, end=BEGIN + 5 * 3600)
    for side in ("BUY", "SELL"):
        sums = {}
        for event in forced:
            start = event.time.astype("datetime64[m]")
            if event.side == side and start >= at(BEGIN + 60):
                sums[start] = sums.get(start, 0.0) + event.amount
        series = bars.sel(side=side)
        assert series.timestamps.tolist() == np.array(sorted(sums), "datetime64[ns]").tolist()
        assert series["liquidations"] == pytest.approx([sums[start] for start in sorted(sums)], rel=1e-12)


def test_the_last_book_of_a_minute_is_the_heatmaps(twin):
    client = twin.client("unlimited")
    channel = mp.Channel(
        type="BLOCK_BOOK_SNAPSHOT", **MARKET, block_size=26, max_depth=30, update_frequency="500ms", group_by_type=0
    )
    with client.stream(channel) as stream:
        twin.advance(200)
        # A snapshot stamped t holds what was before t.
        books = list(itertools.takewhile(lambda event: event.time <= at(BEGIN + 120), stream))
    last = [book for book in books if book.time > at(BEGIN + 60)][-1]
    heatmap = client.orderbook_heatmap(*PAIR, "1m", block_size=26, max_depth=30, start=BEGIN + 60, end=BEGIN + 120)
    assert last.bids.shape == (heatmap[0].split[0], 2)
    assert np.array_equal(np.concatenate([last.bids[::-1], last.asks]), heatmap[0].snapshot(0))
    for before, after in itertools.pairwise(books):
        assert before.time < after.time
        assert not (np.array_equal(before.bids, after.bids) and np.array_equal(before.asks, after.asks))


def test_every_known_channel_has_its_own_event(twin):
    kinds = {
        "TRADE": mp.TradeEvent,
        "TRADE_AGG": mp.TradeAggEvent,
        "BLOCK_BOOK_SNAPSHOT": mp.BookSnapshotEvent,
        "FUNDING_RATE": mp.FundingRateEvent,
        "OPEN_INTEREST": mp.OpenInterestEvent,
        "VOLUME_PROFILE_AGG": mp.VolumeProfileEvent,
    }
    more = {"BLOCK_BOOK_SNAPSHOT": {"block_size": 10}, "TRADE_AGG": {"batchInterval": "5s"}}
    client = twin.client("standard")
    with client.stream([{"type": kind, **MARKET, **more.get(kind, {})} for kind in kinds]) as stream:
        twin.advance(130)
        first = {}
        while len(first) < len(kinds):
            event = next(stream)
            first.setdefault(event.type, event)
    assert {kind: type(event) for kind, event in first.items()} == kinds
    batch = first["TRADE_AGG"]
    assert batch.time.astype(np.int64) % (5 * SECOND) == 0
    assert batch.time <= batch.first_time <= batch.last_time < batch.time + np.timedelta64(5, "s")
    assert {time.dtype.str for time in (batch.time, batch.first_time, batch.last_time)} == {"<M8[ns]"}
    assert batch.low <= batch.open <= batch.high and batch.volume > 0
    profile = first["VOLUME_PROFILE_AGG"]
    assert profile.profile.shape[1] == 3 and (profile.profile[:, 0] % profile.block_size == 0).all()
    assert abs(first["FUNDING_RATE"].funding_rate) < 0.01
    assert first["OPEN_INTEREST"].open_interest > 0
    assert first["BLOCK_BOOK_SNAPSHOT"].bids[0, 0] < first["BLOCK_BOOK_SNAPSHOT"].asks[-1, 0]


def test_awaited_streams_receive_the_same(twin):
    async def main():
        async with twin.async_client("basic") as client, client.stream(mp.Channel(type="TRADE", **MARKET)) as stream:
            twin.advance(100)
            received = []
            async for event in stream:
                if event.time >= at(BEGIN + 60):
                    break
                received.append(event)
            assert await stream.poll(5.0)
        return received

    received = asyncio.run(main())
    client = twin.client("unlimited")
    candle = client.candles(*PAIR, "1m", start=BEGIN, end=BEGIN + 60)[0]
    assert received[-1].price == candle["close"][0]


def test_a_wait_that_is_cancelled_loses_nothing(twin):
    async def main():
        client = twin.async_client("basic")
        async with client, client.stream(mp.Channel(type="OPEN_INTEREST", **MARKET)) as stream:
            times = []
            for _ in range(20):
                # Cancelled at every moment of the way: before, while and after events come.
                twin.advance(15)
                for wait in (0.0, 0.001, 0.02):
                    with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                        times.append((await asyncio.wait_for(anext(stream), wait)).time)
            while times[-1] < at(BEGIN + 300):
                times.append((await anext(stream)).time)
            return times

    times = asyncio.run(main())
    assert times == [at(BEGIN + second) for second in range(15, 301, 15)]


def test_polling_waits_for_the_first_and_no_longer(twin):
    client = twin.client("basic")
    with client.stream({"type": "FUNDING_RATE", **MARKET}) as stream:
        assert stream.poll() == []
        twin.advance(300)
        found = []
        while len(found) < 20:
            found += stream.poll(timeout=30, most=3)
            assert len(found) <= 20
        assert [event.time for event in found] == [at(BEGIN + second) for second in range(15, 301, 15)]


# faults.md row 38
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("taken", ["polled", "iterated"])
def test_a_signal_costs_no_event(twin, monkeypatch, error, taken):
    """The handler of a signal raises in the midst: that of Ctrl-C, or of an alarm of the program's own."""
    client = twin.client("basic")
    calls = itertools.count(1)

    def interrupted(message):
        if next(calls) % 3 == 2:
            raise error
        return event_of(message)

    found, errors = [], 0
    with client.stream({"type": "FUNDING_RATE", **MARKET}) as stream:
        twin.advance(300)
        monkeypatch.setattr("marketpoints.stream.streams.event_of", interrupted)
        while len(found) < 20:
            try:
                found += stream.poll(timeout=30, most=2) if taken == "polled" else [next(stream)]
            except error:
                errors += 1
    assert [event.time for event in found] == [at(BEGIN + second) for second in range(15, 301, 15)]
    assert errors >= 7


def test_threads_that_take_from_one_stream_share_its_events(twin):
    client = twin.client("basic")
    found, switch = [], sys.getswitchinterval()
    with client.stream({"type": "FUNDING_RATE", **MARKET}) as stream:
        twin.advance(3_600)

        def take():
            while len(found) < 240:
                found.extend(stream.poll(timeout=0.1, most=3))

        threads = [threading.Thread(target=take) for _ in range(3)]
        sys.setswitchinterval(1e-5)
        try:
            for one in threads:
                one.start()
            for one in threads:
                one.join(60)
        finally:
            sys.setswitchinterval(switch)
    assert sorted(event.time for event in found) == [at(BEGIN + second) for second in range(15, 3_601, 15)]


def test_walls_are_reported_by_their_names(twin):
    trades = [mp.Channel(type="TRADE", exchange="BYBIT", symbol=symbol) for symbol in ("BTCUSDT", "ETHUSDT")]
    with pytest.raises(mp.TierError, match="needs the plan basic") as caught:
        twin.client("free").stream(trades).open()
    assert (caught.value.status, caught.value.code) == (403, "FORBIDDEN")
    several = [mp.Channel(type=kind, **MARKET) for kind in ("TRADE", "TRADE_AGG", "LIQUIDATION", "FUNDING_RATE")]
    with pytest.raises(mp.TierError, match="basic has 5 streams"):
        next(twin.client("basic").stream(several + trades))
    stranger = mp.Client(api_key="some-secret", base_url=twin.url)
    with pytest.raises(mp.AuthenticationError) as caught:
        stranger.stream(trades).open()
    assert "some-secret" not in repr(caught.value) + str(vars(caught.value))
    with pytest.raises(mp.InvalidRequest, match="OPTION_GREEKS"):
        twin.client("basic").stream({"type": "OPTION_GREEKS", "exchange": "DERIBIT", "symbol": "BTC"}).open()


@pytest.mark.parametrize(
    ("channels", "meant"),
    [
        ({"type": "TRADES", **MARKET}, "did you mean TRADE?"),
        ({"type": "TRADE", "exchange": "BINANCE_FUTURE", "symbol": "BTCUSDT"}, "did you mean BINANCE_FUTURES?"),
        ({"type": "TRADE", "exchange": "BYBIT"}, "symbol is missing"),
        ({"type": "TRADE", "exchange": "BYBIT", "simbol": "BTCUSDT"}, "; is simbol a misspelling of it?"),
        ({"type": "TRADE", **MARKET, "rawSymbol": "X"}, "did you mean symbol?"),
        ({"type": "BLOCK_BOOK_SNAPSHOT", **MARKET}, "block_size: missing"),
        ({"type": "BLOCK_BOOK_SNAPSHOT", **MARKET, "blocksize": 1}, "did you mean block_size?"),
        (mp.Channel(type="BLOCK_BOOK_SNAPSHOT", **MARKET, block_size=-1), "above 0"),
        (mp.Channel(type="TRADE_AGG", **MARKET, batch_interval="2s"), "200ms, 1s, 5s"),
        (mp.Channel(type="TRADE", exchange="BYBIT", symbol=5), "not a text"),
        ("TRADE", "not a list of channels"),
        (["TRADE"], "neither a Channel"),
        ([], "at least one channel"),
    ],
)
def test_slips_are_found_before_anything_is_sent(channels, meant):
    client = mp.Client(api_key="key", base_url="http://127.0.0.1:1")
    with pytest.raises(mp.InvalidRequest, match=meant.replace("?", r"\?")):
        client.stream(channels)


def test_settings_that_cannot_be_are_refused():
    client = mp.Client(api_key="key", base_url="http://127.0.0.1:1")
    channel = mp.Channel(type="TRADE", **MARKET)
    for settings in (
        {"queue": 0},
        {"overflow": "forget"},
        {"overflow": 1},
        {"backoff": (0.0, 60.0)},
        {"backoff": (5.0, 2.0)},
        {"backoff": 3},
        {"backoff": (1, 2, 3)},
        {"backoff": (1, "2")},
        {"reconnects": -1},
        {"ping_after": 0},
        {"ping_after": "20"},
        {"ping_after": None},
        {"ping_after": 10**400},
    ):
        with pytest.raises(mp.InvalidRequest, match=next(iter(settings))):
            client.stream(channel, **settings)
    with pytest.raises(mp.TransportError):
        client.stream(channel).open()


TRADES = """exchange,symbol,timestamp,local_timestamp,id,side,price,amount
bybit,BTCUSDT,1700000001000000,1700000001000010,a,buy,100.5,2
bybit,BTCUSDT,1700000001000000,1700000001000011,b,sell,100.0,1
bybit,BTCUSDT,1700000030500000,1700000030500010,c,buy,101.5,0.5
bybit,BTCUSDT,1700000070000000,1700000070000010,d,sell,99.0,4
"""
FORCED = """exchange,symbol,timestamp,local_timestamp,id,side,price,amount
bybit,BTCUSDT,1700000030500000,1700000030500010,x,sell,101.0,0.25
"""
BOOK = """exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount
bybit,BTCUSDT,1700000000000000,1700000000000010,true,bid,99.4,1
bybit,BTCUSDT,1700000000000000,1700000000000010,true,bid,98.9,2
bybit,BTCUSDT,1700000000000000,1700000000000010,true,ask,100.2,3
bybit,BTCUSDT,1700000002300000,1700000002300010,false,bid,99.1,5
bybit,BTCUSDT,1700000050000000,1700000050000010,false,ask,100.2,0
bybit,BTCUSDT,1700000050000000,1700000050000010,false,ask,101.0,7
"""
TICKER = """exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,predicted_funding_rate,\
open_interest,last_price,index_price,mark_price
bybit,BTCUSDT,1700000003000000,1700000003000010,,0.0001,,500,100,100,100
bybit,BTCUSDT,1700000004000000,1700000004000010,,,0.0002,,100,100,100
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    dumps = tmp_path_factory.mktemp("dumps")
    kinds = {"trades": TRADES, "liquidations": FORCED, "incremental_book_L2": BOOK, "derivative_ticker": TICKER}
    for kind, text in kinds.items():
        folder = dumps / kind / "BYBIT" / "BTCUSDT"
        folder.mkdir(parents=True)
        (folder / "2023-11-14.csv.gz").write_bytes(gzip.compress(text.encode()))
    made = tmp_path_factory.mktemp("store")
    assert not mp.ingest(dumps, made).problems
    return made


def test_a_store_is_streamed_as_its_dumps_say(store):
    market = {"exchange": "BYBIT", "symbol": "BTCUSDT"}
    kinds = ["TRADE", "LIQUIDATION", "FUNDING_RATE", "OPEN_INTEREST"]
    channels = [mp.Channel(type=kind, **market) for kind in kinds]
    channels.append(mp.Channel(type="BLOCK_BOOK_SNAPSHOT", **market, block_size=1))
    with mp.LocalService(data=store, now=1_700_000_000) as service:
        client = service.client("standard")
        unlisted = pytest.warns(mp.UnknownSymbolWarning, match="lists nothing of TRADE_AGG for BYBIT")  # yet
        with unlisted, client.stream(channels) as stream:
            service.advance(80)
            received = {}
            while len(received.get("TRADE", [])) < 4 or len(received.get("BLOCK_BOOK_SNAPSHOT", [])) < 3:
                event = next(stream)
                received.setdefault(event.type, []).append(event)
    seconds = {
        kind: [(event.time - at(1_700_000_000)) / np.timedelta64(1, "s") for event in events]
        for kind, events in received.items()
    }
    assert seconds["TRADE"] == [1, 1, 30.5, 70]
    trades = [(event.side, event.price, event.amount) for event in received["TRADE"]]
    assert trades == [("BUY", 100.5, 2), ("SELL", 100, 1), ("BUY", 101.5, 0.5), ("SELL", 99, 4)]
    assert len({event.id for event in received["TRADE"]}) == 4
    forced = received["LIQUIDATION"][0]
    assert (seconds["LIQUIDATION"], forced.side, forced.price, forced.amount) == ([30.5], "SELL", 101, 0.25)
    rates = [(event.funding_rate, event.predicted_funding_rate) for event in received["FUNDING_RATE"]]
    assert seconds["FUNDING_RATE"] == [3, 4]
    assert np.array_equal(rates, [(0.0001, np.nan), (np.nan, 0.0002)], equal_nan=True)
    assert (seconds["OPEN_INTEREST"], received["OPEN_INTEREST"][0].open_interest) == ([3], 500)
    # States change at 2.3 s and at 50 s; each is sent at the next whole second, and nothing between.
    books = received["BLOCK_BOOK_SNAPSHOT"]
    assert seconds["BLOCK_BOOK_SNAPSHOT"][1:] == [3, 51]
    assert [(book.bids.tolist(), book.asks.tolist()) for book in books] == [
        ([[99, 1], [98, 2]], [[100, 3]]),
        ([[99, 6], [98, 2]], [[100, 3]]),
        ([[99, 6], [98, 2]], [[101, 7]]),
    ]
