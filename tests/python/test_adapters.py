"""Candles in the shapes of backtest frameworks; the frameworks themselves run in tests/frameworks."""

import numpy as np
import pandas as pd
import pytest

import marketpoints as mp
from bodies import CANDLES, START, body, candles, stamp
from marketpoints import adapters

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
    with pytest.raises(mp.SelectionError, match=r"not told apart by raw_symbol: .*BYBIT A.*BINANCE A"):
        adapters.closes(twice, by="raw_symbol")
    with pytest.raises(mp.SelectionError, match="not told apart by exchange and symbol"):
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
