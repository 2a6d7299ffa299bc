"""Volume and market profiles: levels of all rows back to back, and where each row starts."""

import numpy as np
import pandas as pd
import pytest

import marketpoints as mp
from bodies import START, body, stamp

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


def test_an_empty_market_profile():
    empty = mp.decode_points(body({"id": {"type": "TPO_AGG"}}))
    assert len(empty.prices) == len(empty.buys) == len(empty.block_ids) == 0
    assert len(empty.to_pandas()) == 0
