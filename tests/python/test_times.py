"""Times and durations as users write them."""

import datetime as dt
import math
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import marketpoints as mp
from marketpoints.common.arguments import pairs
from marketpoints.common.queries import build_query
from marketpoints.common.times import iso, to_duration, to_unix

NOON = 1_767_268_800  # 2026-01-01 12:00:00 UTC, by `date -u -d`


# faults.md row 32
@pytest.mark.parametrize(
    "value",
    [
        NOON,
        float(NOON),
        np.int64(NOON),
        np.float64(NOON),
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00Z",
        "2026-01-01 12:00",
        "2026-01-01 12:00:00",
        "2026-01-01T12:00:00.000000000z",
        "2026-01-01T14:00:00+02:00",
        "2026-01-01T14:00:00+0200",
        "2026-01-01T07:30-04:30",
        "2026-01-01T02:00-10",
        " 2026-01-01T12:00:00 Z ",
        dt.datetime(2026, 1, 1, 12),
        dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc),
        dt.datetime(2026, 1, 1, 7, tzinfo=ZoneInfo("America/New_York")),
        pd.Timestamp("2026-01-01 12:00"),
        pd.Timestamp("2026-01-01 21:00", tz="Asia/Tokyo"),
        np.datetime64("2026-01-01T12:00"),
        np.datetime64("2026-01-01T12:00:00.000000000", "ns"),
        np.array(["2026-01-01T12:00"], dtype="datetime64[s]")[0],
    ],
)
def test_every_way_to_write_one_moment(value):
    assert to_unix(value) == NOON


def test_a_day_is_its_midnight_and_none_is_none():
    assert (
        to_unix(dt.date(2026, 1, 1)) == to_unix("2026-01-01") == to_unix(np.datetime64("2026-01-01")) == NOON - 43_200
    )
    assert to_unix(None) is None


def test_fractions_of_a_second():
    assert to_unix("2026-01-01T12:00:00.25") == NOON + 0.25
    assert to_unix("2026-01-01T12:00:00,250000000Z") == NOON + 0.25
    assert to_unix(dt.datetime(2026, 1, 1, 12, 0, 0, 250_000)) == NOON + 0.25
    assert to_unix(np.datetime64("2026-01-01T12:00:00.250")) == NOON + 0.25


# faults.md row 32
def test_the_hour_that_comes_twice():
    berlin = ZoneInfo("Europe/Berlin")
    first = dt.datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    assert to_unix(first) == 1_792_888_200  # 00:30 UTC, summer time
    assert to_unix(first.replace(fold=1)) == 1_792_891_800  # 01:30 UTC, winter time


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (1_767_268_800_000, "looks like milliseconds"),
        (1_767_268_800_000_000, "looks like microseconds"),
        (1_767_268_800_000_000_000, "looks like nanoseconds"),
        (np.int64(1_767_268_800_000), "looks like milliseconds"),
        (True, "bool"),
        (np.bool_(True), "not a time"),
        (math.nan, "not a time"),
        (math.inf, "not a time"),
        ("yesterday", "'yesterday' is not a time"),
        ("2026-13-01", "month"),
        ("2026-02-30T00:00", "day"),
        ("2026-01-01T25:00", "hour"),
        ("2026-01-01T00:00+25:00", "not a time"),
        ("2026-01-01T00:00+01:60", "minutes of the offset"),
        ("1767268800", "not a time"),
        ("٢٠٢٦-01-01", "not a time"),
        ("", "not a time"),
        (pd.NaT, "not a time"),
        (np.datetime64("NaT", "s"), "NaT is not a time"),
        (np.array(["2026-01-01"], dtype="datetime64[D]"), "array"),
        ([NOON], "list"),
        (dt.timedelta(1), "timedelta"),
    ],
)
def test_what_is_no_time_is_refused_by_name(value, word):
    with pytest.raises(mp.InvalidRequest, match="start: ") as caught:
        to_unix(value, "start")
    assert word in str(caught.value)


@given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_texts_agree_with_datetimes(moment, offset):
    zone = dt.timezone(dt.timedelta(minutes=offset))
    aware = moment.replace(tzinfo=zone)
    assert to_unix(aware.isoformat()) == pytest.approx(to_unix(aware), abs=1e-6)
    assert to_unix(aware) == aware.timestamp()


def test_durations():
    assert to_duration(None) is None
    assert to_duration(dt.timedelta(hours=1)) == to_duration(pd.Timedelta("1h")) == to_duration(3600.0) == 3600
    assert to_duration(np.int64(60)) == 60
    for value in (0.5, True, "60", math.nan, dt.timedelta(milliseconds=1), [60]):
        with pytest.raises(mp.InvalidRequest, match="period: "):
            to_duration(value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90d", 90 * 86_400),
        ("1h30m", 5_400),
        ("1.5h", 5_400),
        ("90 min", 5_400),
        ("2w", 1_209_600),
        ("1D", 86_400),
        (" 30s ", 30),
        ("0.1m", 6),
        (np.timedelta64(90, "D"), 90 * 86_400),
        (np.timedelta64(3_600_000_000_000, "ns"), 3_600),
        (np.timedelta64(2, "W"), 1_209_600),
        (np.timedelta64(4, "15m"), 3_600),
        (pd.Timedelta("2 days 3h"), 183_600),
        (dt.timedelta(days=-1), -86_400),
    ],
)
def test_durations_with_a_unit(value, seconds):
    assert to_duration(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        *("90", "d", "1M", "1 month", "1y", "h1", "1d-2h", "1,5h", "-1d", "", "0.3s", "٣d", "1e9d"),
        *(np.timedelta64("NaT", "s"), np.timedelta64(1, "M"), np.timedelta64(1, "Y"), np.timedelta64(5)),
        *(np.timedelta64(1_500, "ms"), np.array([1], "timedelta64[D]"), np.datetime64("2026-01-01")),
        *(pd.Timedelta("1h1ns"), pd.NaT),
    ],
)
def test_what_is_no_duration_is_refused(value):
    messages = r"no length of time|differ in length|there is no unit|is negative|is not a whole number of seconds"
    with pytest.raises(mp.InvalidRequest, match=rf"period: .*({messages})"):
        to_duration(value)


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e300, "99999999999999w", 2**64])
def test_numbers_beyond_all_bounds_are_refused(value):
    with pytest.raises(mp.InvalidRequest, match=r"period: .* is longer than"):
        to_duration(value)
    if not isinstance(value, str):
        with pytest.raises(mp.InvalidRequest, match="start: "):
            to_unix(value, "start")


def test_a_duration_is_no_time_and_no_number():
    """NumPy counts a timedelta64 among the whole numbers."""
    with pytest.raises(mp.InvalidRequest, match="start: "):
        to_unix(np.timedelta64(5, "s"), "start")
    with pytest.raises(mp.InvalidRequest, match="timeout: "):
        mp.Client("key", "http://127.0.0.1:9", timeout=np.timedelta64(5, "m"))


def test_intervals_by_their_length(client):
    market = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "start": "2026-01-01"}
    hour = client.plan("candles", interval="1h", period=86_400, **market).requests[0].url
    for length in (dt.timedelta(hours=1), np.timedelta64(60, "m"), pd.Timedelta("1h")):
        assert client.plan("candles", interval=length, period="1d", **market).requests[0].url == hour
    assert client.candles(**market, interval=dt.timedelta(days=7), period="14d").id.interval == "WEEK"
    assert mp.weight("candles", interval=dt.timedelta(minutes=1), period="30d") == 44  # 43,200 points
    for length in (dt.timedelta(minutes=2), 3_600, 60.0, np.timedelta64(1, "M"), dt.timedelta(milliseconds=1), [60]):
        with pytest.raises(mp.InvalidRequest, match="interval: "):
            client.plan("candles", interval=length, period="1d", **market)


def test_times_as_people_read_them():
    assert iso(NOON) == "2026-01-01 12:00"
    assert iso(NOON + 5) == "2026-01-01 12:00:05"
    assert iso(np.datetime64("2026-01-01T12:00", "ns")) == "2026-01-01 12:00"
    assert iso(np.datetime64("2026-01-01T12:00:05.25")) == "2026-01-01 12:00:05"


@pytest.mark.parametrize("seconds", [NOON * 1e3, NOON * 1e9, -NOON * 1e3, math.inf, math.nan])
def test_a_clock_that_does_not_tell_seconds_is_refused_before_anything_is_sent(seconds):
    with mp.Client("a-key", "http://127.0.0.1:9", tier="advanced", clock=lambda: seconds) as client:
        for ask in (client.candles, lambda *of, **window: client.plan("candles", *of, **window)):
            with pytest.raises(mp.InvalidRequest, match=r"the clock returned .* Unix seconds"):
                ask("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01")


@pytest.mark.parametrize(
    ("ticks", "unit"), [(2**62, "s"), (2**60, "s"), (2**63 - 1, "m"), (2**60, "ms"), (2**50, "D"), (300_000, "Y")]
)
def test_a_far_time_of_numpy_is_refused_and_not_another_one(ticks, unit):
    with pytest.raises(mp.InvalidRequest, match=r"start: .* is later than the year 5138"):
        to_unix(np.datetime64(ticks, unit), "start")
    with pytest.raises(mp.InvalidRequest, match=r"start: .* is not a time"):
        to_unix(np.datetime64(-ticks, unit), "start")


@pytest.mark.parametrize("value", [60, 60.0, True, np.int64(60), np.float32(60), Fraction(60)], ids=repr)
def test_a_number_is_no_interval(value):
    """It may be seconds or minutes."""
    with pytest.raises(mp.InvalidRequest, match=r"interval: .*is no interval; those are 1m, 5m"):
        build_query("points", "candles", "BYBIT", "BTCUSDT", value, {"period": "1d"})


@pytest.mark.parametrize("size", [10**400, [10**400]], ids=["one", "listed"])
def test_a_number_beyond_doubles_is_refused(size):
    with pytest.raises(mp.InvalidRequest, match=r"block_size: .*is not a number"):
        build_query("points", "orderbook_heatmap", "BYBIT", "BTCUSDT", "1h", {"period": "1d", "block_size": size})


def test_numbers_of_numpy_are_numbers_and_its_truths_are_truths():
    book = {"period": "1d", "block_size": np.array(10.0)}
    assert build_query("points", "orderbook_heatmap", "BYBIT", "BTCUSDT", "1h", book)
    assert pairs({"a": np.True_, "b": False}) == [("a", "true"), ("b", "false")]
