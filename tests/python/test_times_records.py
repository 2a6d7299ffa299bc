"""Times of records, events, budgets and archives: one kind, datetime64[ns] in UTC, with every nanosecond."""

import json
import pickle
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

import marketpoints as mp
from marketpoints.records.tables import record
from support import NOW
from support.scripted import scripted

# The nanosecond that a double of seconds cannot tell.
SENT = {"s": 1776595344, "ns": 123456789}
NANOSECONDS = 1776595344123456789
TIME = np.datetime64(NANOSECONDS, "ns")
UTC = pd.DatetimeTZDtype("ns", "UTC")


def listed(**more):
    return mp.Market.from_wire({"exchange": "X", "availableSince": SENT, "predictionMarkets": [{"slug": "a"} | more]})


def exact(time, expected=TIME):
    return isinstance(time, np.datetime64) and time.dtype == "datetime64[ns]" and time == expected


def test_nanoseconds_of_records_survive_the_wire():
    row = {"wallet_address": "0xa", "latest_open_position_ts": SENT}
    entry = {"exchange": "X", "availableSince": SENT, "predictionMarkets": [{"slug": "a", "availableTo": SENT}]}
    answers = {"/leaderboard": {"traderProfiles": [row]}, "/markets": {"symbols": [entry]}}
    answers["/positions"] = {"userPositions": [{"asset_id": "1", "latest_open_ts": SENT["s"]}, {}]}

    def answer(path):
        return next(body for name, body in answers.items() if name in path)

    with scripted(answer) as (url, _), mp.Client("key", url, tier="advanced") as client:
        trader = client.leaderboard(limit=1)[0]
        (market,) = client.markets()
        dated, undated = client.positions("0xa", limit=2)
    assert exact(trader.latest_open_position_ts) and exact(market.available_since)
    assert exact(market.prediction_markets[0].available_to)
    assert np.isnat(market.prediction_markets[0].available_since)
    assert exact(dated.latest_open_ts, np.datetime64(SENT["s"], "s")) and np.isnat(undated.latest_open_ts)
    assert "2026-04-19 10:42:24.123456789 UTC" in repr(mp.Usage(1, 1, 1, TIME, 60))


def test_times_are_times_in_every_frame():
    one = listed(availableTo=SENT)
    both = mp.Records([one, mp.Market()])
    assert both.to_pandas()["available_since"].dtype == UTC
    assert both.to_pandas()["available_since"].isna().tolist() == [False, True]
    assert both.to_pandas()["available_since"][0].value == NANOSECONDS
    assert both.to_polars().schema["available_since"] == pl.Datetime("ns", "UTC")
    assert both.to_polars()["available_since"].to_physical().to_list() == [NANOSECONDS, None]
    assert both.to_arrow()["available_since"].cast("int64").to_pylist() == [NANOSECONDS, None]
    # Within records within records, too.
    inner = both.to_arrow()["prediction_markets"].combine_chunks().flatten()
    assert str(inner.field("available_to").type) == "timestamp[ns, tz=UTC]"
    assert inner.field("available_to").cast("int64").to_pylist() == [NANOSECONDS]
    deep = both.to_polars()["prediction_markets"].explode(empty_as_null=False).struct.field("available_to")
    assert deep.dtype == pl.Datetime("ns", "UTC") and deep.to_physical().to_list() == [NANOSECONDS]


@pytest.mark.parametrize("odd", [{"s": 253_402_300_799}, {"s": 10**30}, "soon", {"s": "5"}, {"s": 1.5}, [5], True])
def test_what_is_no_such_time_is_kept_as_sent(odd):
    """A market that expires in the year 9999 does not cost the listing, nor does it come as another year."""
    question = listed(availableTo=odd).prediction_markets[0]
    assert np.isnat(question.available_to) and question.extra == {"availableTo": odd}
    trader = record(mp.TraderProfile, {"latest_open_position_ts": odd})
    assert np.isnat(trader.latest_open_position_ts) and trader.extra == {"latest_open_position_ts": odd}
    assert json.loads(trader.to_polars()["extra"][0]) == trader.extra


def test_a_whole_number_may_carry_an_exponent():
    trader = record(mp.TraderProfile, {"latest_open_position_ts": {"s": 1.776595344e9, "ns": 1.23456789e8}})
    assert exact(trader.latest_open_position_ts)
    assert np.isnat(record(mp.TraderProfile, {"latest_open_position_ts": None}).latest_open_position_ts)


def test_records_without_a_time_are_equal_and_differ_from_those_with():
    assert listed() == listed() and hash(listed()) == hash(listed())
    assert listed() != listed(availableTo=SENT) and mp.Market() != listed()
    again = pickle.loads(pickle.dumps(listed(availableTo=SENT)))
    assert again == listed(availableTo=SENT) and exact(again.prediction_markets[0].available_to)


def test_budget_and_usage_tell_when_the_bucket_is_full(demo):
    with demo.client("advanced") as client:
        client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", period="10h")
        resets = [client.usage().reset, client.budget.reset]
    # Both by the service's clock, which is the client's too: `now=` is another day than the machine's.
    assert {reset.dtype.name for reset in resets} == {"datetime64[ns]"}
    assert abs(resets[0] - np.datetime64(int(demo.now()), "s")) < np.timedelta64(5, "m")
    assert abs(resets[0] - resets[1]) < np.timedelta64(30, "s")
    # Without a clock of its own a client goes by the machine's.
    with demo.client("advanced", clock=None) as client:
        client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start=NOW - 36_000, end=NOW - 3_600)
        assert abs(client.budget.reset - np.datetime64(int(time.time()), "s")) < np.timedelta64(5, "m")
    with scripted(lambda _: {"limit": 10}) as (url, _), mp.Client("key", url) as client:
        assert np.isnat(client.usage().reset) and client.usage() == client.usage()


def test_times_of_records_are_taken_as_arguments(client):
    (market,) = client.markets(exchange="BINANCE_FUTURES", coin="BTC", category="PERPETUAL", limit=1)
    asked = client.plan("candles", "BINANCE_FUTURES", "BTCUSDT", "1d", start=market.available_since, period="2d")
    assert asked.points == 2
    with pytest.raises(mp.InvalidRequest, match="start: NaT is not a time"):
        client.candles("BINANCE_FUTURES", "BTCUSDT", "1d", start=mp.Market().available_since)


def test_messages_tell_times_as_people_write_them(client):
    with pytest.raises(mp.InvalidRequest) as caught:
        client.plan("candles", "BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-02", end="2026-01-01")
    assert "ends (2026-01-01 00:00:00 UTC) before it starts (2026-01-02 00:00:00 UTC)" in str(caught.value)
