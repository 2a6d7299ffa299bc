"""Volume and market profiles: levels of all rows back to back, and where each row starts."""

import numpy as np
import pandas as pd
import pytest

import marketpoints as mp
from support.bodies import START, body, stamp

# Price, buys, sells of each level; the second bucket traded nothing.
PROFILE = [[(99.0, 1.0, 2.0), (100.0, 0.0, 4.0)], [], [(101.0, 5.5, 0.0)]]


@pytest.fixture
def profile():
    points = []
    for index, levels in enumerate(PROFILE):
        point = {"timestamp": stamp(START + 60 * index)}
        if levels:
            point["profile"] = [number for level in levels for number in level]
        points.append({"Point": point})
    identity = {"type": "VOLUME_PROFILE_AGG", "exchange": "BYBIT", "rawSymbol": "XRPUSDT"}
    return mp.decode_points(body({"id": identity, "points": points}))


@pytest.fixture
def tpo():
    first = {
        "timestamp": stamp(START),
        "period_start": stamp(START),
        "poc_price": 100.0,
        "levels": [
            {"price": 99.0, "block_ids": [0], "buy_volume": 1.5},
            {"price": 100.0, "block_ids": [0, 1, 3], "buy_volume": 2.0, "sell_volume": 0.5},
        ],
    }
    second = {"timestamp": stamp(START + 86_400), "levels": [{"price": 98.0, "block_ids": [2], "sell_volume": 7.0}]}
    points = [{"Point": {"TpoAggregation": session}} for session in (first, second)]
    return mp.decode_points(body({"id": {"type": "TPO_AGG", "coin": "BTC", "interval": "DAY"}, "points": points}))


def test_a_profile_is_values_and_offsets(profile):
    assert isinstance(profile.only, mp.Profile)
    every = [level for levels in PROFILE for level in levels]
    assert profile.levels.tolist() == [list(level) for level in every]
    assert profile.levels.shape == (3, 3) and profile.levels.dtype == np.float64
    for place, name in enumerate(("prices", "buys", "sells")):
        assert getattr(profile, name).tolist() == profile[name].tolist() == [level[place] for level in every]
        assert np.shares_memory(getattr(profile, name), profile.levels)
    assert profile.offsets.tolist() == [0, 2, 2, 3] and profile.offsets.dtype == np.int64
    assert not profile.levels.flags.writeable and not profile.offsets.flags.writeable
    assert [profile.snapshot(row).tolist() for row in (0, 1, -1)] == [
        [list(level) for level in PROFILE[row]] for row in (0, 1, 2)
    ]
    with pytest.raises(IndexError, match="there are 3"):
        profile.snapshot(3)
    for wrong in (1.5, "1", None, float("nan")):
        with pytest.raises(TypeError, match="integer"):
            profile.snapshot(wrong)
    assert profile.columns == ("levels",)
    assert "levels" in profile.only and "volume" not in profile.only
    assert "levels 3" in repr(profile.only)


def test_a_profile_has_a_row_a_level(profile):
    times = [pd.Timestamp(START + after, unit="s", tz="UTC") for after in (0, 0, 120)]
    rows = [level for levels in PROFILE for level in levels]
    frame = profile.to_pandas()
    assert frame.index.tolist() == times
    assert list(frame.columns) == ["price", "buy_volume", "sell_volume"]
    assert list(frame.itertuples(index=False, name=None)) == rows
    assert list(profile.to_polars().drop("time").iter_rows()) == rows
    table = profile.to_arrow()
    assert list(zip(*(column.to_pylist() for column in table.columns[1:]), strict=True)) == rows


def test_an_empty_profile():
    empty = mp.decode_points(body({"id": {"type": "VOLUME_PROFILE_AGG"}}))
    assert empty.levels.shape == (0, 3) and empty.offsets.tolist() == [0]
    assert len(empty.to_pandas()) == 0


def test_a_list_that_is_no_triplets_is_refused():
    point = {"Point": {"profile": [1.0, 2.0, 3.0, 4.0], "timestamp": stamp(START)}}
    with pytest.raises(mp.DecodeError, match="no triplets"):
        mp.decode_points(body({"id": {"type": "VOLUME_PROFILE_AGG"}, "points": [point]}))


def test_a_market_profile_is_values_and_offsets(tpo):
    assert isinstance(tpo.only, mp.Tpo)
    assert tpo.offsets.tolist() == [0, 2, 3]
    assert tpo.prices.tolist() == [99.0, 100.0, 98.0]
    assert tpo.buys.tolist() == [1.5, 2.0, 0.0]
    assert tpo.sells.tolist() == [0.0, 0.5, 7.0]
    assert [tpo.block_ids.row(level).tolist() for level in range(3)] == [[0], [0, 1, 3], [2]]
    assert tpo["poc_price"][0] == 100.0 and np.isnan(tpo["poc_price"][1])
    assert tpo["period_start"][0] == np.datetime64(START, "s") and np.isnat(tpo["period_start"][1])
    assert not tpo.prices.flags.writeable
    second = tpo.snapshot(1)
    assert second["price"].tolist() == [98.0]
    assert second["block_ids"].row(0).tolist() == [2]
    with pytest.raises(IndexError):
        tpo.snapshot(2)
    assert "levels 3" in repr(tpo.only)


def test_a_market_profile_has_a_row_a_level(tpo):
    frame = tpo.to_pandas()
    assert frame.index.tolist() == [pd.Timestamp(START + after, unit="s", tz="UTC") for after in (0, 0, 86_400)]
    assert frame["price"].tolist() == [99.0, 100.0, 98.0]
    assert [blocks.tolist() for blocks in frame["block_ids"]] == [[0], [0, 1, 3], [2]]
    assert tpo.to_polars()["sell_volume"].to_list() == [0.0, 0.5, 7.0]
    assert tpo.to_arrow()["block_ids"].to_pylist() == [[0], [0, 1, 3], [2]]


@pytest.fixture
def sessions():
    """Every value that section 2.3 names, two sessions that share prices, a third without levels."""
    first = {
        "timestamp": stamp(START),
        "period_end": stamp(START + 86_400),
        "poc_price": 100.0,
        "vah_price": 101.0,
        "val_price": 99.0,
        "ibr_high": 101.0,
        "ibr_low": 100.0,
        "single_prints": [99.0, 101.0],
        "poor_highs": [101.0],
        "levels": [{"price": price, "buy_volume": 1.0} for price in (99.0, 100.0, 101.0)],
    }
    second = {
        "timestamp": stamp(START + 86_400),
        "period_end": stamp(START + 2 * 86_400),
        "poc_price": 99.0,
        "single_prints": [100.0],
        "levels": [{"price": price, "sell_volume": 2.0} for price in (99.0, 100.0)],
    }
    third = {"timestamp": stamp(START + 2 * 86_400), "poc_price": 98.0, "single_prints": []}
    points = [{"Point": {"TpoAggregation": session}} for session in (first, second, third)]
    return mp.decode_points(body({"id": {"type": "TPO_AGG", "coin": "BTC", "interval": "DAY"}, "points": points}))


def test_values_of_sessions_are_a_table(sessions):
    table = sessions.sessions
    assert isinstance(table, mp.Sessions) and len(table) == 3 and "levels" not in table and "levels" in sessions.only
    frame = table.to_pandas()
    assert frame.index.tolist() == [pd.Timestamp(START + day * 86_400, unit="s", tz="UTC") for day in range(3)]
    assert frame["poc_price"].tolist() == [100.0, 99.0, 98.0]
    assert frame["vah_price"].tolist()[0] == 101.0 and frame["ibr_low"].isna().tolist() == [False, True, True]
    prints = [[99.0, 101.0], [100.0], []]
    assert [prices.tolist() for prices in frame["single_prints"]] == prints
    assert table.to_polars()["single_prints"].to_list() == table.to_arrow()["single_prints"].to_pylist() == prints
    ends = [pd.Timestamp(START + day * 86_400, unit="s", tz="UTC") for day in (1, 2, 3)]
    assert table.to_pandas(label="right").index.tolist() == ends
    assert table[1:].to_pandas()["poc_price"].tolist() == [99.0, 98.0]


def test_values_of_sessions_stand_at_their_levels(sessions):
    frame = sessions.to_pandas()
    assert frame["price"].tolist() == [99.0, 100.0, 101.0, 99.0, 100.0]
    assert frame["poc_price"].tolist() == [100.0] * 3 + [99.0] * 2
    assert frame["single_print"].tolist() == [True, False, True, False, True]
    assert frame["poor_high"].tolist() == [False, False, True, False, False]
    assert (frame["price"] == frame["poc_price"]).tolist() == [False, True, False, True, False]
    assert sessions.to_polars()["single_print"].to_list() == sessions.to_arrow()["single_print"].to_pylist()
    assert sessions.to_polars()["single_print"].to_list() == frame["single_print"].tolist()


def test_lists_a_row_are_indexed(sessions):
    prints = sessions["single_prints"]
    assert [prints[row].tolist() for row in (0, 1, 2, -3)] == [[99.0, 101.0], [100.0], [], [99.0, 101.0]]
    assert [one.tolist() for one in prints] == [[99.0, 101.0], [100.0], []]
    part = prints[1:]
    assert len(part) == 2 and part.offsets.tolist() == [0, 1, 1] and part.values.tolist() == [100.0]
    assert np.shares_memory(part.values, prints.values) and len(prints[5:]) == 0
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="there are 3"):
            prints[wrong]
    with pytest.raises(mp.InvalidRequest, match="a step of 2"):
        prints[::2]
    with pytest.raises(TypeError):
        prints["price"]
    levels = sessions["levels"]
    assert levels["price"].tolist() == sessions.prices.tolist()
    assert levels[1]["price"].tolist() == [99.0, 100.0] and levels[1:][0]["price"].tolist() == [99.0, 100.0]
    assert [one["price"].tolist() for one in levels] == [[99.0, 100.0, 101.0], [99.0, 100.0], []]
    with pytest.raises(KeyError, match="no field 'prize'"):
        levels["prize"]


def test_the_services_profiles_are_in_frames_and_files(client):
    window = {"start": "2026-01-01", "end": "2026-01-03", "session": "daily"}
    answer = client.tpo("BINANCE_FUTURES", "BTCUSDT", "1h", **window)
    frame, table = answer.to_pandas(), answer.sessions.to_pandas()
    for name in ("poc_price", "vah_price", "val_price", "ibr_high", "ibr_low"):
        assert table[name].tolist() == answer[name].tolist() and np.isfinite(table[name]).all()
        assert frame.groupby(level=0)[name].first().tolist() == table[name].tolist()
    expected = [
        price in session
        for session, prices in zip(answer["single_prints"], split(answer), strict=True)
        for price in prices
    ]
    assert frame["single_print"].tolist() == expected and any(expected)


def split(tpo):
    return [tpo.snapshot(row)["price"] for row in range(len(tpo.timestamps))]


def test_an_empty_market_profile():
    empty = mp.decode_points(body({"id": {"type": "TPO_AGG"}}))
    assert len(empty.prices) == len(empty.buys) == len(empty.block_ids) == 0
    assert len(empty.to_pandas()) == len(empty.to_polars()) == len(empty.sessions.to_polars()) == 0
