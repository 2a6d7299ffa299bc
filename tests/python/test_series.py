"""How results are read: columns, sets, heatmaps, records."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest

import marketpoints as mp
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp

LIQUIDATIONS = [3.5, 0, 1.25]


def liquidations(side):
    points = [{"Point": {"timestamp": stamp(START + 60 * i)}} for i in range(3)]
    for point, value in zip(points, LIQUIDATIONS, strict=True):
        if value:
            point["Point"]["liquidations"] = value
    return {
        "id": {"type": "LIQUIDATION_AGG", "exchange": "BYBIT", "rawSymbol": "XRPUSDT", "side": side},
        "points": points,
    }


def test_an_identity_has_the_engines_fields():
    assert {one.name for one in fields(mp.SeriesId)} == {*mp._engine.identity_fields(), "extra"}


def test_a_set_of_one_answers_for_it():
    answer = mp.decode_points(body(candles(CANDLES)))
    assert len(answer) == 1
    assert answer.columns == ("open", "high", "low", "close", "volume", "first_timestamp", "last_timestamp")
    for place, name in enumerate(answer.columns[:5]):
        assert answer[name].tolist() == [row[place] for row in CANDLES]
        assert answer[name].dtype == np.float64
    assert answer.id == answer[0].id == answer.only.id
    assert answer.id.known() == {
        "type": "TRADE_SIDE_AGNOSTIC_AGG",
        "exchange": "BINANCE_FUTURES",
        "raw_symbol": "BTCUSDT",
        "interval": "HOUR",
    }
    assert str(answer.id) == "TRADE_SIDE_AGNOSTIC_AGG BINANCE_FUTURES BTCUSDT HOUR"


def test_times_are_nanoseconds_in_utc():
    answer = mp.decode_points(body(candles(CANDLES)))
    assert answer.timestamps.dtype == answer["first_timestamp"].dtype == "datetime64[ns]"
    assert answer.timestamps.tolist() == [(START + 3600 * row) * 1_000_000_000 for row in range(3)]
    assert (answer["first_timestamp"] - answer.timestamps).tolist() == [126_000_000] * 3


def hours(count):
    return [(*(float(row + place) for place in range(4)), row / 8) for row in range(count)]


# The memory of short columns has one owner, that of long ones an owner each: who keeps one keeps no other.
@pytest.mark.parametrize("count", [1, 2, 512, 513, 2000])
def test_columns_of_any_length_are_read_only_and_outlive_the_series(count):
    rows = hours(count)
    answer = mp.decode_points(body(candles(rows)))
    columns = {name: answer[name] for name in answer.columns}
    times = answer.timestamps
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        pickled = pickle.loads(pickle.dumps(answer, protocol))
        assert pickled == answer and pickled.timestamps.dtype == pickled["last_timestamp"].dtype == "datetime64[ns]"
    del answer
    for array in (times, *columns.values()):
        assert array.shape == (count,) and array.flags.c_contiguous and array.flags.aligned
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[-1]
        for owner in (array, array.base):  # NumPy lets the owner of memory take it back
            if isinstance(owner, np.ndarray):
                with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                    owner.flags.writeable = True
    assert len({id(array.base) for array in (times, *columns.values())}) == (1 if count <= 512 else 8)
    for place, name in enumerate(("open", "high", "low", "close", "volume")):
        assert columns[name].dtype == np.float64
        assert columns[name].tolist() == [row[place] for row in rows]
    assert times.dtype == columns["first_timestamp"].dtype == columns["last_timestamp"].dtype == "datetime64[ns]"
    assert times.tolist() == [(START + 3600 * row) * 1_000_000_000 for row in range(count)]
    assert not any(np.shares_memory(columns["close"], columns[name]) for name in columns if name != "close")


def test_what_is_kept_from_one_body_shows_in_no_other():
    odd = candles(CANDLES)
    for number, point in enumerate(odd["points"]):
        point["Point"]["newField"] = number
    short = candles(CANDLES[:1])
    del short["points"][0]["Point"]["close"]
    bodies = [body(one) for one in (candles(CANDLES), liquidations("BUY"), heatmap(BOOK), odd, short, candles([]))]
    cut = body(candles(CANDLES))[:-40]
    alone = []
    for one in bodies:
        with ThreadPoolExecutor(1) as fresh:  # a thread keeps its own
            alone.append(fresh.submit(mp.decode_points, one, now=0).result())
    for step in (1, 5):  # every one after the one before it, and after the one behind it
        for turn in range(12):
            place = turn * step % len(bodies)
            assert mp.decode_points(bodies[place], now=0) == alone[place]
            if turn % 4 == 3:
                with pytest.raises(mp.DecodeError):
                    mp.decode_points(cut)
    assert alone[3]["new_field"].tolist() == [0, 1, 2]
    assert "new_field" not in alone[0]
    assert alone[4]["close"].tolist() == [0]


def test_a_series_without_rows_has_empty_columns():
    (series,) = mp.decode_points(body(candles([])))
    assert series.timestamps.shape == series["close"].shape == series["first_timestamp"].shape == (0,)
    assert series["first_timestamp"].dtype == "datetime64[ns]" and not series["close"].flags.writeable
    assert series["close"].sum() == 0 and np.concatenate([series["close"], [1.0]]).tolist() == [1]
    assert pickle.loads(pickle.dumps(series)) == series


def test_series_of_one_identity_text_have_one_identity_whatever_the_names():
    named = body(candles(CANDLES[:1]))
    for _ in range(2):
        assert mp.decode_points(named).id.exchange == "BINANCE_FUTURES"
    dialect = mp.Dialect(exchanges={"BYBIT": "BINANCE_FUTURES", "BINANCE_FUTURES": "BF"})
    assert mp.decode_points(named, dialect=dialect).id.exchange == "BYBIT"
    assert mp.decode_points(named).id.exchange == "BINANCE_FUTURES"


def test_a_column_is_found_by_any_object_that_spells_its_name():
    class Name(str):
        pass

    (series,) = mp.decode_points(body(candles(CANDLES)))
    for name in series.columns:
        spelled = "".join(list(name))
        assert spelled is not name and series[spelled] is series[name] is series[Name(name)]
    for unknown in ("timestamp", "Close", "close\0", "", "\ud800"):
        with pytest.raises(KeyError, match="no column"):
            series[unknown]
    for no_name in (0, None, b"close", ["close"]):
        with pytest.raises(TypeError, match="columns go by name"):
            series[no_name]


def test_arrays_are_read_only_views_that_outlive_the_series():
    answer = mp.decode_points(body(candles(CANDLES)))
    close, again, times = answer["close"], answer["close"], answer.timestamps
    assert np.shares_memory(close, again)
    for array in (close, times):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True
    del answer
    assert close.tolist() == [row[3] for row in CANDLES]


def test_a_wrong_column_is_named_with_a_hint():
    series = mp.decode_points(body(candles(CANDLES)))[0]
    with pytest.raises(KeyError, match="no column 'clos'; did you mean 'close'"):
        series["clos"]
    with pytest.raises(TypeError, match="columns go by name"):
        series[0]
    assert "close" in series
    assert "clos" not in series
    assert list(series) == list(series.columns)


# faults.md row 25
def test_a_set_of_several_asks_which():
    answer = mp.decode_points(body(liquidations("SELL"), liquidations("BUY")))
    with pytest.raises(mp.SelectionError, match=r"2 series.*XRPUSDT SELL; LIQUIDATION_AGG BYBIT XRPUSDT BUY"):
        answer["liquidations"]
    with pytest.raises(mp.SelectionError):
        _ = answer.timestamps
    assert answer.sel(side="BUY")["liquidations"].tolist() == LIQUIDATIONS
    assert answer.sel(side="BUY", exchange="BYBIT").id.side == "BUY"
    assert [one.id.side for one in answer] == ["SELL", "BUY"]
    assert [one.id.side for one in answer[::-1]] == ["BUY", "SELL"]
    assert answer[1] is answer[-1] is answer[np.int64(1)] is list(answer)[1]
    with pytest.raises(IndexError):
        _ = answer[2]
    assert len(answer.sel(exchange="BYBIT")) == 2


def test_a_selection_without_a_match_says_what_there_is():
    answer = mp.decode_points(body(liquidations("SELL")))
    with pytest.raises(mp.SelectionError, match=r"no series has side='BUY'; the answer holds: .*SELL"):
        answer.sel(side="BUY")
    with pytest.raises(mp.SelectionError, match=r"no series has exchange='BYBT'; did you mean exchange='BYBIT'\?"):
        answer.sel(exchange="BYBT")
    with pytest.raises(mp.SelectionError, match=r"did you mean side='SELL'\?"):
        answer.sel(side="sell", exchange="BYBIT")
    with pytest.raises(mp.InvalidRequest, match="sel: 'colour' is not a field"):
        answer.sel(colour="red")


@pytest.mark.parametrize("empty", [b"{}", b'{"series":[]}', b' { "series" : [ ] } '])
def test_no_data_is_an_empty_set(empty):
    answer = mp.decode_points(empty)
    assert len(answer) == 0
    assert not answer
    with pytest.raises(mp.SelectionError, match="holds no data"):
        answer["close"]


def test_any_buffer_is_a_body():
    data = body(candles(CANDLES))
    for kind in (bytes, bytearray, memoryview):
        assert mp.decode_points(kind(data))["close"][0] == 105.0
    with pytest.raises(mp.InvalidRequest, match="a str is no body"):
        mp.decode_points(data.decode())


# faults.md row 21
def test_optional_values_are_nan_and_unknown_identity_is_kept():
    series = {
        "id": {"type": "FUNDING_RATE_AGG", "colour": {"of": "money"}},
        "points": [{"Point": {"rateClose": 0, "timestamp": stamp(START)}}],
    }
    answer = mp.decode_points(body(series))
    assert answer["rate_close"].tolist() == [0.0]
    assert np.isnan(answer["rate_open"]).all()
    assert json.loads(answer.id.extra["colour"]) == {"of": "money"}
    assert hash(answer.id) == hash(answer[0].id)


def test_lists_are_values_and_offsets():
    points = [
        {"Point": {"profile": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "timestamp": stamp(START)}},
        {"Point": {"timestamp": stamp(START + 60)}},
        {"Point": {"profile": [7.0, 8.0, 9.0], "timestamp": stamp(START + 120)}},
    ]
    profile = mp.decode_points(body({"id": {"type": "VOLUME_PROFILE_AGG"}, "points": points}))["profile"]
    assert len(profile) == 3
    assert profile.offsets.tolist() == [0, 6, 6, 9]
    assert [profile.row(row).tolist() for row in (0, 1, -1)] == [[1, 2, 3, 4, 5, 6], [], [7, 8, 9]]
    with pytest.raises(IndexError, match="row 3: there are 3"):
        profile.row(3)
    with pytest.raises(TypeError, match="integer"):
        profile.row(1.5)


def test_nested_records_keep_their_rows():
    levels = [{"price": 10.0, "block_ids": [0, 2]}, {"price": 11.0}]
    points = [{"Point": {"TpoAggregation": {"timestamp": stamp(START), "levels": levels, "poc_price": 10.5}}}]
    answer = mp.decode_points(body({"id": {"type": "TPO_AGG"}, "points": points}))
    assert answer["poc_price"].tolist() == [10.5]
    row = answer["levels"].row(0)
    assert row["price"].tolist() == [10.0, 11.0]
    assert row["block_ids"].row(0).tolist() == [0.0, 2.0]


def test_a_heatmap_ascends_and_knows_its_sides():
    answer = mp.decode_points(body(heatmap(BOOK)))
    (shown,) = answer
    assert isinstance(shown, mp.Heatmap)
    expected = [[98, 2], [99, 1], [100, 3], [102, 4], [100, 5], [97, 6], [99, 7], [101, 8]]
    assert answer.levels.tolist() == expected
    assert answer.levels.dtype == np.float64
    assert answer.prices.tolist() == [level[0] for level in expected]
    assert answer.volumes.tolist() == [level[1] for level in expected]
    assert answer.offsets.tolist() == [0, 4, 5, 8]
    assert answer.offsets.dtype == np.int64
    assert answer.split.tolist() == [2, 0, 1]
    for view in (shown.prices, shown.volumes, shown.snapshot(1)):
        assert np.shares_memory(view, shown.levels)
    for array in (shown.levels, shown.prices, shown.volumes, shown.offsets, shown.split):
        assert not array.flags.writeable
    assert shown["levels"].shape == (8, 2)
    assert shown.snapshot(-1).tolist() == expected[5:]
    for index in (3, -4):
        with pytest.raises(IndexError, match="there are 3"):
            shown.snapshot(index)


def test_flat_bodies_give_the_same_levels_without_sides():
    nested = mp.decode_points(body(heatmap(BOOK)))
    flat = []
    for snapshot in range(3):
        levels = nested.only.snapshot(snapshot)
        flat += [float(len(levels)), (START + 60 * snapshot) * 1e6, *levels.ravel().tolist()]
    answer = mp.decode_points(body({"id": {"type": "BLOCK_BOOK_SNAPSHOT_AGG"}, "flat_points": flat}))
    assert answer.levels.tolist() == nested.levels.tolist()
    assert answer.offsets.tolist() == nested.offsets.tolist()
    assert answer.timestamps.tolist() == nested.timestamps.tolist()
    assert answer.split.tolist() == [-1, -1, -1]


def test_a_grid_holds_every_level_in_its_bucket():
    answer = mp.decode_points(body(heatmap(BOOK)))
    times, prices, volumes = answer.to_grid()
    assert times.tolist() == answer.timestamps.tolist()
    assert prices.tolist() == [97, 98, 99, 100, 101, 102]
    assert volumes.tolist() == [[0, 2, 1, 3, 0, 4], [0, 0, 0, 5, 0, 0], [6, 0, 7, 0, 8, 0]]
    _, prices, volumes = answer.to_grid(step=3)
    assert prices.tolist() == [96, 99, 102]
    assert volumes.tolist() == [[2, 4, 4], [0, 5, 0], [6, 15, 0]]
    for step in (0, -1, float("nan")):
        with pytest.raises(mp.InvalidRequest, match="step"):
            answer.to_grid(step=step)
    with pytest.raises(mp.InvalidRequest, match="larger step"):
        answer.to_grid(step=1e-12)


def test_what_is_shown_is_short_and_escaped():
    answer = mp.decode_points(body(candles(CANDLES, rawSymbol="<script>&")))
    assert "2026-04-22 18:00:00" in repr(answer)
    assert "rows 3" in repr(answer[0])
    html = answer._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;&amp;" in html
    assert len(repr(mp.decode_points(body(heatmap(BOOK))))) < 400
    assert repr(mp.decode_points(b"{}")) == "<SeriesSet: no series>"
    assert "none" in mp.decode_points(b"{}")._repr_html_()


def test_unknown_attributes_stay_unknown():
    answer = mp.decode_points(body(candles(CANDLES)))
    with pytest.raises(AttributeError, match="no attribute 'closing'"):
        _ = answer.closing
    assert not hasattr(answer, "__length_hint__")
    assert {"timestamps", "plot", "sel"} <= set(dir(answer))
    several = answer + answer
    assert not {"timestamps", "to_grid"} & set(dir(several)), "these are of one series"
    with pytest.raises(mp.SelectionError, match="there are 2 series"):
        _ = several.timestamps


def test_recorded_candles(shared):
    path = shared and shared / "recorded" / "candles_btc_1h.json"
    data = path.read_bytes() if path else body(candles(CANDLES, coin="BTC"))
    points = json.loads(data)["series"][0]["points"]
    answer = mp.decode_points(data)
    for name in ("open", "high", "low", "close", "volume"):
        assert answer[name].tolist() == [point["Point"].get(name, 0.0) for point in points]
    assert answer.timestamps.tolist() == [point["Point"]["timestamp"]["s"] * 1_000_000_000 for point in points]
    assert answer.id.coin == "BTC"


# faults.md row 26
def test_recorded_liquidations_come_sorted(shared):
    path = shared and shared / "recorded" / "liq_btc_24h.json"
    made = liquidations("BUY")
    made["points"] = made["points"][::-1]
    data = path.read_bytes() if path else body(made)
    answer = mp.decode_points(data)
    for series in json.loads(data)["series"]:
        expected = sorted((p["Point"]["timestamp"]["s"], p["Point"].get("liquidations", 0.0)) for p in series["points"])
        (found,) = answer.sel(side=series["id"]["side"])
        assert (found.timestamps.astype("int64") // 1_000_000_000).tolist() == [time for time, _ in expected]
        assert found["liquidations"].tolist() == [value for _, value in expected]
