"""Joins in time: `mp.align` against an oracle in plain Python, and against polars where both apply."""

import bisect
import json
import random

import numpy as np
import polars
import pytest

import marketpoints as mp

HOUR = 3_600
STEPS = {"MINUTE": 60, "FIVE_MINUTES": 300, "HOUR": 3_600, "DAY": 86_400}
START = 1_767_225_600  # 2026-01-01


def series(starts, values, *, interval="HOUR", name="close", **identity):
    """A series of one column through the decoder: bucket starts in Unix seconds."""
    points = [{"Point": {name: value, "timestamp": {"s": start}}} for start, value in zip(starts, values, strict=True)]
    # A type that no table knows has just the columns that come.
    known = {"type": "SOME_VALUE_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": interval}
    return mp.decode_points(json.dumps({"series": [{"id": known | identity, "points": points}]}).encode())[0]


def latest(known, values, moment, max_age):
    """What an engineer would write first: the last value known by then, unless it is too old."""
    place = bisect.bisect_right(known, moment) - 1
    return values[place] if place >= 0 and moment - known[place] <= max_age else float("nan")


def test_a_bucket_counts_from_its_end():
    minutes = series([START + 60 * at for at in range(180)], range(1, 181), interval="MINUTE")
    hours = series([START, START + HOUR, START + 2 * HOUR], [10, 20, 30], name="volume")
    frame = mp.align(minutes, hours)
    # The first hour is known at 01:00: that is the row of the minute that ends then, the sixtieth.
    assert frame["volume"].isna().sum() == 59
    assert frame["volume"].iloc[[59, 118, 119, 179]].tolist() == [10, 10, 20, 30]
    assert str(frame.index[59]) == "2026-01-01 01:00:00+00:00" and frame.index.name == "known_at"
    assert str(frame["time"].iloc[59]) == "2026-01-01 00:59:00+00:00"


def test_a_series_that_went_silent_turns_nan_after_one_bucket_of_its_own():
    minutes = series([START + 60 * at for at in range(240)], range(240), interval="MINUTE")
    hours = series([START, START + 3 * HOUR], [10, 40], name="volume")
    volume = mp.align(minutes, hours)["volume"]
    # Known at 01:00, as old as one bucket at 02:00 and too old from then on, known again at 04:00.
    assert volume.iloc[59:120].tolist() == [10] * 61
    assert volume.iloc[120:239].isna().all() and volume.iloc[239] == 40
    longer = mp.align(minutes, hours, max_age="90m")["volume"]
    assert longer.iloc[149] == 10 and np.isnan(longer.iloc[150])
    assert mp.align(minutes, hours, max_age=["90m"])["volume"].equals(longer)


@pytest.mark.parametrize("seed", range(20))
def test_random_series_are_joined_as_the_oracle_joins_them(seed):
    chance = random.Random(seed)
    every = []
    for number in range(4):
        interval = chance.choice(list(STEPS))
        step = STEPS[interval]
        starts = sorted(chance.sample(range(START // step, START // step + 200), chance.randrange(0, 120)))
        every.append((step, [start * step for start in starts], [chance.random() + number for _ in starts], interval))
    ages = [chance.choice([None, "10m", "2h", "3d"]) for _ in every[1:]]
    joined = [
        series(starts, values, interval=name, rawSymbol=f"S{at}") for at, (_, starts, values, name) in enumerate(every)
    ]
    frame = mp.align(joined[0], *joined[1:], max_age=ages)
    step, starts, values, _ = every[0]
    moments = [start + step for start in starts]
    assert frame["close"].tolist() == values if values else frame.empty
    seconds = {"10m": 600, "2h": 7_200, "3d": 259_200}
    for at, (step, starts, values, _) in enumerate(every[1:], 1):
        age = step if ages[at - 1] is None else seconds[ages[at - 1]]
        known = [start + step for start in starts]
        expected = [latest(known, values, moment, age) for moment in moments]
        if f"close_S{at}" in frame:
            np.testing.assert_array_equal(frame[f"close_S{at}"], expected)
        else:
            assert not starts  # an empty series has no columns of its own


def test_polars_joins_alike():
    chance = np.random.default_rng(5)
    left = np.sort(chance.choice(400_000, 300_000, replace=False)) * 60 + START
    right = np.sort(chance.choice(80_000, 50_000, replace=False)) * 300 + START
    one = series(left.tolist(), chance.random(len(left)).tolist(), interval="MINUTE")
    other = series(right.tolist(), chance.random(len(right)).tolist(), interval="FIVE_MINUTES", name="volume")
    ours = mp.align(one, other, max_age="7m", as_frame="polars")
    rows = polars.DataFrame({"known_at": one.closes_at, "close": one["close"]}).set_sorted("known_at")
    there = polars.DataFrame({"known_at": other.closes_at, "volume": other["volume"]}).set_sorted("known_at")
    theirs = rows.join_asof(there, on="known_at", tolerance="7m")
    assert ours["close"].equals(theirs["close"])
    assert ours["volume"].fill_nan(None).equals(theirs["volume"])


def test_columns_of_several_series_are_told_apart_by_what_differs():
    starts = [START, START + HOUR]
    btc = series(starts, [1, 2])
    eth = series(starts, [3, 4], rawSymbol="ETHUSDT")
    assert list(mp.align(btc, eth).columns) == ["time", "close", "close_ETHUSDT"]
    elsewhere = series(starts, [5, 6], exchange="BINANCE_FUTURES")
    assert list(mp.align(btc, elsewhere).columns) == ["time", "close", "close_BINANCE_FUTURES"]
    minutes = series(starts, [7, 8], interval="FIVE_MINUTES")
    assert list(mp.align(btc, minutes).columns) == ["time", "close", "close_5m"]
    both = mp.align(btc, eth, series(starts, [9, 9], rawSymbol="ETHUSDT", exchange="BINANCE_FUTURES"))
    assert list(both.columns) == ["time", "close", "close_ETHUSDT_BYBIT", "close_ETHUSDT_BINANCE_FUTURES"]
    # A coin adds nothing to its symbol.
    coins = [series(starts, [1, 2], rawSymbol=f"{coin}USDT", coin=coin) for coin in ("BTC", "ETH")]
    interest = [series(starts, [1, 2], rawSymbol=f"{coin}USDT", coin=coin, type="OTHER_AGG") for coin in ("BTC", "ETH")]
    named = ["close", "close_ETHUSDT_SOME_VALUE_AGG", "close_BTCUSDT_OTHER_AGG", "close_ETHUSDT_OTHER_AGG"]
    assert list(mp.align(*coins, *interest).columns) == ["time", *named]
    # What one of them lacks distinguishes nothing: a coin's supply has no symbol.
    supply = series(starts, [1, 2], rawSymbol=None, exchange=None, type="OTHER_AGG")
    assert list(mp.align(btc, supply).columns) == ["time", "close", "close_OTHER_AGG"]
    assert list(mp.align(btc, btc, btc).columns) == ["time", "close", "close_2", "close_3"]


def test_profiles_count_from_the_end_of_their_session_and_supply_from_its_buckets_end():
    days = [START + 86_400 * day for day in range(3)]
    points = [
        {
            "Point": {
                "TpoAggregation": {"poc_price": 100 + day, "timestamp": {"s": at}, "period_end": {"s": at + 86_400}}
            }
        }
        for day, at in enumerate(days)
    ]
    identity = {"type": "TPO_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "HOUR"}
    profiles = mp.decode_points(json.dumps({"series": [{"id": identity, "points": points}]}).encode())[0]
    moments = np.array(days, dtype="datetime64[s]")
    joined = mp.align(moments, profiles, max_age="2d")
    assert np.isnan(joined["poc_price"].iloc[0]) and joined["poc_price"].iloc[1:].tolist() == [100, 101]
    supply = series(days, [7, 8, 9], type="TOKEN_SUPPLY_AGG", interval="DAY", name="circulatingSupply")
    supplied = mp.align(moments, supply)["circulating_supply"]
    assert np.isnan(supplied.iloc[0]) and supplied.iloc[1:].tolist() == [7, 8]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_every_frame_has_the_same_rows(kind):
    minutes = series([START + 60 * at for at in range(120)], range(120), interval="MINUTE")
    hours = series([START], [10], name="volume")
    frame = mp.align(minutes, hours, as_frame=kind)
    table = {
        "pandas": lambda: frame.reset_index(),
        "polars": lambda: frame.to_pandas(),
        "arrow": lambda: frame.to_pandas(),
    }
    rows = table[kind]()
    assert list(rows.columns) == ["known_at", "time", "close", "volume"]
    assert rows["volume"].isna().sum() == 59 and rows["volume"].iloc[-1] == 10
    assert str(rows["known_at"].iloc[0]) == "2026-01-01 00:01:00+00:00"


def test_results_of_the_service_are_joined():
    with mp.LocalService(now="2026-06-01") as service, service.client() as client:
        market = ("BINANCE_FUTURES", "BTCUSDT")
        candles = client.candles(*market, "5m", period="2d")
        others = (
            client.funding_rate(*market, "1h", period="3d"),
            client.open_interest(*market, "15m", period="2d"),
            client.tpo(*market, "1h", session="daily", period="4d"),
            client.token_supply(coin="BTC", token_name="Bitcoin", interval="1d", period="5d"),
        )
        frame = mp.align(candles, *others)
        sides = mp.align(candles, client.side_candles(*market, "1h", period="2d"))
    assert len(frame) == len(candles["close"]) and frame["close"].tolist() == candles["close"].tolist()
    for column in ("rate_close", "close_open_interest", "poc_price", "circulating_supply"):
        assert frame[column].iloc[-1] > 0, column
    assert {"volume", "volume_BUY", "volume_SELL"} <= set(sides.columns)


def test_moments_of_pandas_have_a_zone():
    pandas = pytest.importorskip("pandas")
    left = series([0, HOUR, 2 * HOUR], [1.0, 2.0, 3.0])
    index = pandas.DatetimeIndex(left.timestamps[1:] + np.timedelta64(1, "h"), tz="UTC")
    plain = mp.align(index.tz_localize(None), left)["close"].tolist()
    assert plain == [2.0, 3.0]
    # Of another zone too: the same moments.
    tokyo = index.tz_convert("Asia/Tokyo")
    for moments in (index, tokyo, pandas.Series(index), list(tokyo), [index[0].to_pydatetime(), tokyo[1]]):
        assert mp.align(moments, left)["close"].tolist() == plain


def test_a_table_is_told_to_give_its_times():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(mp.InvalidRequest, match=r"left: a table is no moments.*left\.index"):
        mp.align(pandas.DataFrame({"dt": [1.0]}), series([0], [1.0]))


def test_moments_of_every_unit_are_taken_and_stay_the_users_own():
    hours = series([START, START + HOUR], [1.0, 2.0])
    at = np.array([START + HOUR + 1, START + 2 * HOUR], dtype="datetime64[s]")
    for left in (at, at.astype("datetime64[ns]"), at.astype("datetime64[us]"), at.astype(">M8[s]"), at[0]):
        expected = [1.0, 2.0] if left.shape else [1.0]
        assert mp.align(left, hours)["close"].tolist() == expected
    left = at.astype("datetime64[ns]")
    frames = [mp.align(left, hours, as_frame=kind) for kind in ("pandas", "polars")]
    left[:] = left[::-1] - np.timedelta64(9, "D")  # what becomes of them later is not the frames'
    assert (frames[0].index.tz_localize(None).to_numpy() == at).all()
    assert frames[1]["known_at"].dt.replace_time_zone(None).to_numpy().tolist() == at.astype("datetime64[ns]").tolist()
    far = np.array(["2020-01-01", "2300-01-01"], dtype="datetime64[D]")
    for wrong, message in (
        (far, "1677 to 2262"),
        (far - np.timedelta64(500 * 365, "D"), "1677 to 2262"),
        (far[[0, 1, 0]], "ascends"),
        (np.array(["NaT", "2026-01-01"], dtype="datetime64[s]"), "without NaT"),
        (np.array(["2026-01-01", "NaT"], dtype="datetime64[ns]"), "without NaT"),
        (np.zeros((2, 2), dtype="datetime64[ns]"), "one array"),
    ):
        with pytest.raises(mp.InvalidRequest, match=message):
            mp.align(wrong, hours)


@pytest.mark.parametrize("spell", ["{}Z", "{}+00:00", "{}+0000"])
def test_texts_with_a_zone_are_moments(spell):
    one = series([START, START + 3_600], [1, 2])
    texts = [spell.format(time) for time in np.datetime_as_string(one.timestamps)]
    for given in (texts, np.array(texts)):
        assert mp.align(given, one).equals(mp.align(one.timestamps, one))
    late = [spell.format("2026-01-01T00:00:00.000000001"), spell.format("2026-01-01T00:00:00.000000002")]
    assert mp.align(late, one).index.asi8.tolist() == [1_767_225_600 * 10**9 + 1, 1_767_225_600 * 10**9 + 2]
    eastern = np.datetime_as_string(one.timestamps + np.timedelta64(9, "h"))
    assert mp.align([f"{time}+09:00" for time in eastern], one).equals(mp.align(one.timestamps, one))


def test_what_cannot_be_joined_is_refused():
    one = series([START], [1])
    both = mp.SeriesSet([one, series([START], [2], rawSymbol="ETHUSDT")])
    with pytest.raises(mp.SelectionError, match=r"left: there are 2 series; pick one with sel\(raw_symbol="):
        mp.align(both, one)
    with pytest.raises(mp.InvalidRequest, match="others: a int is no series"):
        mp.align(one, 5)
    with pytest.raises(mp.InvalidRequest, match="left: a str is neither"):
        mp.align("tomorrow", one)
    objects = np.array([1_767_225_600_000, 1_767_229_200_000], dtype=object)
    mixed = [np.datetime64("2026-01-01"), 1_767_229_200]
    # Seconds or milliseconds: who knows.
    for numbers in ([1_767_225_600, 1_767_229_200], np.array([1.7e12]), 5, True, objects, mixed, [10**400]):
        with pytest.raises(mp.InvalidRequest, match=r"left: numbers .*pandas\.to_datetime\(left, unit='ms'\)"):
            mp.align(numbers, one)
    pandas = pytest.importorskip("pandas")
    said = pandas.to_datetime([START * 1000], unit="ms")  # what the message says
    assert mp.align(said, one).index.tz_localize(None).tolist() == said.tolist()
    with pytest.raises(mp.InvalidRequest, match="left: a ndarray is neither"):
        mp.align(np.array([np.datetime64("2026-01-01"), float("nan")], dtype=object), one)
    with pytest.raises(mp.InvalidRequest, match="ascends"):
        mp.align(np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[ns]"), one)
    with pytest.raises(mp.InvalidRequest, match="max_age: 2 periods for 1 series"):
        mp.align(one, one, max_age=["1h", "1h"])
    with pytest.raises(mp.InvalidRequest, match="negative"):
        mp.align(one, one, max_age=-5)
    with pytest.raises(mp.InvalidRequest, match="as_frame"):
        mp.align(one, one, as_frame="excel")
    with pytest.raises(mp.SelectionError, match="not known"):
        mp.align(one, series([START], [1], interval="FORTNIGHT"))
    chains = series([START, START], [1, 2], type="TOKEN_SUPPLY_AGG", interval="DAY", name="circulatingSupply")
    with pytest.raises(mp.SelectionError, match="several rows are known at one time"):
        mp.align(one, chains)


def test_units_and_sums_over_exchanges_are_told_apart(client):
    market, window = ("BINANCE_FUTURES", "BTCUSDT", "1h"), {"start": START, "end": START + 5 * HOUR}
    coins, usd = client.open_interest(*market, **window), client.open_interest(*market, usd=True, **window)
    names = ["open", "high", "low", "close"]
    assert list(mp.align(coins, usd).columns) == ["time", *names, *(f"{name}_usd" for name in names)]
    assert list(mp.align(usd, coins).columns) == ["time", *names, *(f"{name}_native" for name in names)]
    wide = (coins + usd).to_pandas(pivot=True)
    assert list(wide.columns) == [f"{name}_{unit}" for unit in ("native", "usd") for name in names]
    candles = client.candles(*market, **window)
    summed = client.candles(["BINANCE_FUTURES", "BYBIT"], coin="BTC", interval="1h", group_by="sum", **window)
    assert "close_BINANCE_FUTURES_BYBIT" in mp.align(candles, summed).columns


def test_nothing_joins_nothing():
    one, none = series([START], [1]), series([], [])
    assert len(mp.align(none, one)) == 0
    assert mp.align(one, none)["close"].tolist() == [1]
    assert mp.align(one).columns.tolist() == ["time", "close"]


def test_series_stand_side_by_side():
    hours = [START + at * HOUR for at in range(4)]
    btc, eth = series(hours[:3], [1, 2, 3]), series(hours[1:], [5, 6, 7], rawSymbol="ETHUSDT")
    both = mp.SeriesSet([btc, eth])
    frame = both.to_pandas(pivot=True)
    assert list(frame.columns) == ["close_BTCUSDT", "close_ETHUSDT"] and frame.index.name == "time"
    nan = float("nan")
    np.testing.assert_array_equal(frame["close_BTCUSDT"], [1, 2, 3, nan])
    np.testing.assert_array_equal(frame["close_ETHUSDT"], [nan, 5, 6, 7])
    assert frame.index.tz is not None and [int(at.timestamp()) for at in frame.index] == hours
    right = both.to_polars(label="right", pivot=True)
    assert right["time"].dt.epoch("s").to_list() == [at + HOUR for at in hours]
    assert both.to_arrow(pivot=True).column_names == ["time", "close_BTCUSDT", "close_ETHUSDT"]
    assert len(mp.SeriesSet([]).to_pandas(pivot=True)) == 0
    assert list(mp.SeriesSet([btc]).to_pandas(pivot=True).columns) == ["close"]


def test_each_column_is_read_once(monkeypatch):
    hours = [START + at * HOUR for at in range(4)]
    every = [series(hours, [1, 2, 3, 4], rawSymbol=name) for name in ("A", "B", "C")]
    taken = []
    column = mp.Series.__getitem__
    monkeypatch.setattr(mp.Series, "__getitem__", lambda one, name: taken.append((id(one), name)) or column(one, name))
    expected = sorted((id(one), "close") for one in every)
    mp.align(*every)
    assert sorted(taken) == expected
    taken.clear()
    mp.SeriesSet(every).to_pandas(pivot=True)
    assert sorted(taken) == expected


def test_price_levels_do_not_stand_side_by_side():
    with mp.LocalService(now="2026-06-01") as service, service.client() as client:
        sides = client.side_candles("BINANCE_FUTURES", "BTCUSDT", "1h", period="5h").to_pandas(pivot=True)
        book = client.orderbook_heatmap(
            "BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1h", period="2h", block_size=[10, 1]
        )
    assert len(sides) == 5 and {"volume_BUY", "volume_SELL", "close_BUY"} <= set(sides.columns)
    with pytest.raises(mp.SelectionError, match="several values a time"):
        book.to_pandas(pivot=True)
    with pytest.raises(mp.SelectionError, match="no one value a row"):
        mp.align(book[0], book[1])


def test_frames_tell_when_a_row_was_known_and_asked():
    with mp.LocalService(now="2026-06-01T10:30") as service, service.client() as client:
        hours = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", period="3h")
        profile = client.volume_profile("BINANCE_FUTURES", "BTCUSDT", "1h", period="2h")
        both = client.candles("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1h", period="3h")
        supply = client.token_supply(coin="BTC", token_name="Bitcoin", interval="1d", period="3d")
    frame = hours.to_pandas(known_at=True)
    assert list(frame.columns[:3]) == ["known_at", "asked_at", "open"]
    assert (frame["known_at"] - frame.index == np.timedelta64(1, "h")).all()
    assert str(frame["asked_at"].iloc[0]).startswith("2026-06-01 10:30")
    levels = profile.to_polars(known_at=True)
    assert levels.columns[:3] == ["time", "known_at", "asked_at"] and len(levels) > 2
    assert ((levels["known_at"] - levels["time"]).dt.total_hours() == 1).all()
    assert {"known_at", "symbol"} <= set(both.to_pandas(known_at=True).columns)
    assert {"known_at", "symbol"} <= set(both.to_arrow(known_at=True).column_names)
    known = supply.to_pandas(known_at=True)["known_at"]
    assert (known - known.index == np.timedelta64(1, "D")).all()
    read = mp.SeriesSet([series([START], [1])]).to_pandas(known_at=True)
    assert str(read["known_at"].iloc[0]).startswith("2026-01-01 01:00")


def test_the_series_of_a_set_are_all_told_apart_whatever_their_order():
    """The service sends sides in no fixed order: a plain name would be one side's today and the other's tomorrow."""
    hours = series([START, START + HOUR], [1, 2])
    bought = series([START], [5], type="LIQUIDATION_AGG", name="liquidations", side="BUY")
    sold = series([START], [7], type="LIQUIDATION_AGG", name="liquidations", side="SELL")
    for order in ([bought, sold], [sold, bought]):
        frame = mp.align(hours, mp.SeriesSet(order), max_age=0)
        assert set(frame.columns) == {"close", "liquidations_BUY", "liquidations_SELL", "time"}
        # The second hour has no row: with max_age=0 the amounts of the first are not repeated.
        assert frame["liquidations_BUY"].fillna(0).tolist() == [5, 0]
        assert frame["liquidations_SELL"].fillna(0).tolist() == [7, 0]
    # Of series that were given one by one the first keeps the plain name.
    assert {"liquidations", "liquidations_SELL"} < set(mp.align(hours, bought, sold).columns)
