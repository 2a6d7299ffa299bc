"""Candles in the shapes of backtest frameworks; the frameworks themselves run in tests/frameworks."""

import numpy as np
import pandas as pd
import pytest

import marketpoints as mp
from marketpoints import adapters
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp

HOUR = 3600


def ends(*rows):
    return [pd.Timestamp(START + HOUR * (row + 1), unit="s") for row in rows]


def test_backtesting_takes_closed_candles_by_their_start():
    answer = mp.decode_points(body(candles(CANDLES)), now=START + 3 * HOUR - 1)
    frame = adapters.backtesting(answer)
    assert list(frame.columns) == ["Open", "High", "Low", "Close", "Volume"]
    assert frame.index.tz is None and frame.index.tolist() == ends(-1, 0)
    assert frame.to_numpy().tolist() == [list(row) for row in CANDLES[:2]]
    frame.iloc[0, 0] = -1.0  # the frame's own
    assert answer["open"][0] == CANDLES[0][0]
    assert adapters.backtesting(answer.only).equals(adapters.backtesting(answer))


@pytest.mark.parametrize("given", [None, 5, [], {"open": [1.0]}])
def test_what_is_no_series_is_refused(given, tmp_path):
    message = "a (NoneType|int|list|dict) is no series; give results of the client or an archive"
    for adapter in (adapters.backtesting, adapters.closes):
        with pytest.raises(mp.InvalidRequest, match=f"^candles: {message}"):
            adapter(given)
    with pytest.raises(mp.InvalidRequest, match=f"^result: {message}"):
        adapters.freqtrade(given, tmp_path, "BTC/USDT")
    with pytest.raises(mp.InvalidRequest, match=f"^book: {message}"):
        adapters.hftbacktest(given, tick_size=0.1)


def test_backtesting_takes_no_other_series():
    book = {"id": {"type": "OPEN_INTEREST_AGG", "interval": "HOUR"}, "points": []}
    with pytest.raises(mp.SelectionError, match="OPEN_INTEREST_AGG HOUR: these are no candles"):
        adapters.backtesting(mp.decode_points(body(book)))


def sparse(symbol, hours, interval="HOUR"):
    points = [{"Point": {"timestamp": stamp(START + HOUR * hour), "close": 10.0 + hour}} for hour in hours]
    known = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": symbol, "interval": interval}
    return {"id": known, "points": points}


def test_closes_lie_side_by_side_on_a_whole_grid():
    answer = mp.decode_points(body(sparse("A", [0, 1, 5]), sparse("B", [1, 2])), now=START + 6 * HOUR - 1)
    frame = adapters.closes(answer)
    assert list(frame.columns) == ["A", "B"]
    assert frame.index.tolist() == [one.tz_localize("UTC") for one in ends(0, 1, 2)]
    assert frame.index.freq == pd.Timedelta(hours=1) and frame.index.dtype == pd.DatetimeTZDtype("ns", "UTC")
    np.testing.assert_array_equal(frame["A"], [10.0, 11.0, np.nan])
    np.testing.assert_array_equal(frame["B"], [np.nan, 11.0, 12.0])
    whole = adapters.closes(mp.decode_points(body(sparse("A", [0, 1, 5]), sparse("B", [1, 2]))))
    one = mp.decode_points(body(sparse("A", [0, 1, 2])))
    changed = adapters.closes(one)
    changed.iloc[0, 0] = -1.0  # the frame's own, also where nothing is missing
    assert one["close"][0] == 10.0
    assert len(whole) == 6 and whole["A"].isna().tolist() == [False, False, True, True, True, False]


def test_closes_of_several_exchanges():
    def of(exchange, symbol):
        made = sparse(symbol, [0])
        made["id"]["exchange"] = exchange
        return made

    one_symbol = mp.decode_points(body(of("BYBIT", "A"), of("BINANCE", "A")))
    assert list(mp.adapters.closes(one_symbol).columns) == ["BYBIT", "BINANCE"]
    both = mp.decode_points(body(of("BYBIT", "A"), of("BINANCE", "A"), of("BYBIT", "B")))
    assert list(adapters.closes(both).columns) == ["BYBIT A", "BINANCE A", "BYBIT B"]
    assert list(adapters.closes(both, by=("raw_symbol", "exchange")).columns) == ["A BYBIT", "A BINANCE", "B BYBIT"]
    assert list(adapters.closes(both[0]).columns) == ["A"]


def test_closes_that_cannot_be_told_apart_are_refused():
    other = sparse("A", [1])
    other["id"]["exchange"] = "BINANCE"
    twice = mp.decode_points(body(sparse("A", [0]), other))
    assert list(adapters.closes(twice, by="exchange").columns) == ["BYBIT", "BINANCE"]
    with pytest.raises(mp.SelectionError, match=r"do not differ in raw_symbol: .*BYBIT A.*BINANCE A"):
        adapters.closes(twice, by="raw_symbol")
    with pytest.raises(mp.SelectionError, match="do not differ in exchange and symbol"):
        adapters.closes(twice[:1] + twice[:1])
    with pytest.raises(mp.SelectionError, match="DAY, HOUR"):
        adapters.closes(mp.decode_points(body(sparse("A", [0]), sparse("B", [0], "DAY"))))
    with pytest.raises(mp.SelectionError, match="no column 'clos'"):
        adapters.closes(mp.decode_points(body(sparse("A", [0]))), column="clos")
    with pytest.raises(mp.SelectionError):
        adapters.closes(mp.SeriesSet([]))
    points = [{"Point": {"timestamp": stamp(START), "marketcap": 1.0, "chain": chain}} for chain in "ab"]
    supply = {"id": {"type": "TOKEN_SUPPLY_AGG", "coin": "BTC", "interval": "DAY"}, "points": points}
    with pytest.raises(mp.SelectionError, match="several rows share a time"):
        adapters.closes(mp.decode_points(body(supply)), column="marketcap", by="coin")


def test_nautilus_takes_closed_candles_by_their_end():
    answer = mp.decode_points(body(candles(CANDLES)), now=START + 3 * HOUR - 1)
    frame = adapters.nautilus(answer)
    assert list(frame.columns) == ["open", "high", "low", "close", "volume"]  # the wrangler goes by position
    assert frame.index.tolist() == [pd.Timestamp(START + HOUR * row, unit="s", tz="UTC") for row in (1, 2)]
    assert frame.to_numpy().tolist() == [list(row) for row in CANDLES[:2]]
    assert (frame.dtypes == "float64").all()
    frame.iloc[0, 0] = -1.0  # the frame's own
    assert answer["open"][0] == CANDLES[0][0]
    with pytest.raises(mp.SelectionError, match="these are no candles"):
        adapters.nautilus(mp.decode_points(body({"id": {"type": "OPEN_INTEREST_AGG"}, "points": []})))


BUY, SELL, SEEN = 1 << 29, 1 << 28, (1 << 31) + (1 << 30)


def as_tuples(events):
    """Events as tuples: seconds since the first snapshot's end, kind, side, price, volume."""
    sides = {BUY: "buy", SELL: "sell"}
    assert (events["ev"] & SEEN == SEEN).all() and (events["exch_ts"] == events["local_ts"]).all()
    return [
        (
            (int(one["exch_ts"]) // 10**9 - START - 60) / 60,
            {2: "trade", 3: "clear", 4: "level"}[int(one["ev"]) & 0xFF],
            sides[int(one["ev"]) & (BUY | SELL)],
            None if np.isnan(one["px"]) else float(one["px"]),
            float(one["qty"]),
        )
        for one in events
    ]


def test_snapshots_become_events_best_first_with_asks_at_the_upper_edge():
    book = mp.decode_points(body(heatmap(BOOK)), now=START + 3 * 60 - 1)
    cleared = [("clear", "buy", None, 0.0), ("clear", "sell", None, 0.0)]
    levels = [
        [("buy", 99.0, 1.0), ("buy", 98.0, 2.0), ("sell", 101.0, 3.0), ("sell", 103.0, 4.0)],
        [("sell", 101.0, 5.0)],  # nobody bids
    ]
    expected = [
        (row, *one) for row, rows in enumerate(levels) for one in [*cleared, *(("level", *level) for level in rows)]
    ]
    events = adapters.hftbacktest(book, tick_size=0.5)  # the third is still forming
    assert as_tuples(events) == expected
    assert events.dtype.itemsize == 64 and events.dtype.isalignedstruct
    as_given = adapters.hftbacktest(book, tick_size=0.5, block_size=0)
    assert [one[3] for one in as_tuples(as_given) if one[1:3] == ("level", "sell")] == [100.0, 102.0, 100.0]
    late = adapters.hftbacktest(book, tick_size=0.5, latency_ns=7)
    assert set(late["local_ts"] - late["exch_ts"]) == {7}
    assert len(adapters.hftbacktest(book.head(0), tick_size=0.5)) == 0


def test_trades_come_before_the_book_of_their_time():
    book = mp.decode_points(body(heatmap(BOOK[:1])))
    levels = [98.0, 2.0, 0.0, 99.0, 0.5, 1.5]  # price, bought, sold
    identity = {"type": "VOLUME_PROFILE_AGG", "interval": "MINUTE", "coin": "XRP"}
    profile = mp.decode_points(
        body({"id": identity, "points": [{"Point": {"profile": levels, "timestamp": stamp(START)}}]})
    )
    events = as_tuples(adapters.hftbacktest(book, tick_size=1, trades=profile))
    # What was bought at the lower edge of its block, what was sold at the upper one.
    assert [one[1:] for one in events[:3]] == [
        ("trade", "buy", 98.0, 2.0),
        ("trade", "buy", 99.0, 0.5),
        ("trade", "sell", 100.0, 1.5),
    ]
    assert [one[1] for one in events[3:]] == ["clear", "clear", "level", "level", "level", "level"]
    times = pd.to_datetime([START + 61, START + 30], unit="s", utc=True)
    own = pd.DataFrame({"time": times, "price": [99.0, 98.0], "amount": [1.0, 2.0], "side": ["buy", "sell"]})
    for given in (own, {name: own[name].to_numpy() for name in own}):
        events = as_tuples(adapters.hftbacktest(book, tick_size=1, trades=given))
        assert events[0] == (-0.5, "trade", "sell", 98.0, 2.0)
        assert events[-1] == (pytest.approx(1 / 60), "trade", "buy", 99.0, 1.0) and len(events) == 8


def test_what_makes_no_events_is_refused():
    book = mp.decode_points(body(heatmap(BOOK)))
    with pytest.raises(mp.InvalidRequest, match="tick_size: the price 99 is no multiple of 2"):
        adapters.hftbacktest(book, tick_size=2)
    for tick in (0, -1, None, float("nan")):
        with pytest.raises(mp.InvalidRequest, match="is no price step"):
            adapters.hftbacktest(book, tick_size=tick)
    with pytest.raises(mp.InvalidRequest, match="latency_ns: -1 is negative"):
        adapters.hftbacktest(book, tick_size=1, latency_ns=-1)
    with pytest.raises(mp.InvalidRequest, match="block_size: -1 is no height"):
        adapters.hftbacktest(book, tick_size=1, block_size=-1)
    lone = mp.decode_points(body(heatmap([([(99.0, 1.0)], [(99.0, 2.0)])])))
    with pytest.raises(mp.InvalidRequest, match="block_size: no bucket has two levels"):
        adapters.hftbacktest(lone, tick_size=1)
    assert len(adapters.hftbacktest(lone, tick_size=1, block_size=1)) == 4
    with pytest.raises(mp.SelectionError, match="this is no order book"):
        adapters.hftbacktest(mp.decode_points(body(candles(CANDLES))), tick_size=1)
    levels = {"Point": {"timestamp": stamp(START), "levels": [90.0, 1.0, 91.0, 2.0]}}
    liquidations = {"id": {"type": "VENUE_LIQUIDATION_AGG", "coin": "BTC", "interval": "HOUR"}, "points": [levels]}
    with pytest.raises(mp.SelectionError, match="bids and asks are not distinguished"):
        adapters.hftbacktest(mp.decode_points(body(liquidations)), tick_size=1)
    with pytest.raises(mp.SelectionError, match="has not the columns time, price, amount, side"):
        adapters.hftbacktest(book, tick_size=1, trades=pd.DataFrame({"time": []}))
    trade = {"time": np.array(["2026-01-01"], dtype="datetime64[s]"), "price": [99.0], "amount": [1.0], "side": ["bid"]}
    with pytest.raises(mp.InvalidRequest, match="and not 'bid'"):
        adapters.hftbacktest(book, tick_size=1, trades=trade)
    with pytest.raises(mp.InvalidRequest, match="time must be datetime64"):
        adapters.hftbacktest(book, tick_size=1, trades=trade | {"time": [5.0], "side": ["buy"]})
    with pytest.raises(mp.InvalidRequest, match="a price or an amount is no number"):
        adapters.hftbacktest(book, tick_size=1, trades=trade | {"amount": [float("nan")], "side": ["buy"]})
