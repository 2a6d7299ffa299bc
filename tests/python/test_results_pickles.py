"""Results that travel: pickles within and between processes, copies, equality."""

import copy
import gc
import json
import multiprocessing
import pickle
import weakref

import numpy as np
import pytest

import marketpoints as mp
from marketpoints import _engine
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp
from support.results import SERIES, bits, made, supply

MARKET = ("BINANCE_FUTURES", "BTCUSDT")


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_series_come_back_bit_equal(kind, protocol):
    answer = made(kind)
    assert type(answer.only) is kind
    again = pickle.loads(pickle.dumps(answer, protocol))
    assert bits(again) == bits(answer)
    assert again == answer and again.only == answer.only and hash(again) == hash(answer)
    assert again.only.asked_at == answer.only.asked_at
    assert again.is_closed.tolist() == answer.is_closed.tolist()
    assert not again.timestamps.flags.writeable


def test_texts_absent_values_and_unknown_identity_come_back():
    answer = mp.decode_points(body(supply(), candles([]), candles(CANDLES, side="BUY")))
    again = pickle.loads(pickle.dumps(answer))
    assert again[0]["chain"].tolist() == answer[0]["chain"].tolist()
    assert "π" in again[0]["chain"].tolist()
    assert np.isnan(again[0]["max_supply"]).all()
    assert again.ids == answer.ids and json.loads(again[0].id.extra["rank"]) == {"a": 1}
    assert again == answer
    assert len(again[1]) == 0


def test_the_window_asked_for_travels(client):
    answer = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-05")
    again = pickle.loads(pickle.dumps(answer))
    assert again.requested == answer.requested == (np.datetime64("2026-01-01"), np.datetime64("2026-01-05"))
    assert bits(again) == bits(answer)
    part = pickle.loads(pickle.dumps(answer.only[24:48]))
    assert part.requested == (np.datetime64("2026-01-02"), np.datetime64("2026-01-03"))


def test_the_weight_and_why_there_are_no_rows_travel(client):
    paid = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-05")
    nothing = client.candles(*MARKET, "1h", start="2010-01-01", end="2010-01-02")
    assert paid.weight > 0 and nothing.weight > 0 and "2010-01-01" in nothing.why_empty
    for answer in (paid, nothing):
        for again in (pickle.loads(pickle.dumps(answer)), copy.copy(answer), copy.deepcopy(answer)):
            assert (again.weight, again.why_empty) == (answer.weight, answer.why_empty)


class Slotted(mp.SeriesSet):
    __slots__ = ("note",)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, *(lambda one, n=n: pickle.loads(pickle.dumps(one, n)) for n in range(6))]
)
def test_attributes_that_programs_set_travel(again):
    answer = Slotted(made(mp.Tpo))
    answer.note, answer.label, answer.only.owner = "mine", "same", {"desk": 1}
    back = again(answer)
    assert type(back) is Slotted and (back.note, back.label, back.only.owner) == ("mine", "same", {"desk": 1})


def test_results_that_refer_to_each_other_are_collected():
    for kind in SERIES:
        answer = made(kind)
        answer.only.answer = answer
        part = answer.only[:1]
        part.whole, gone = [answer, part], weakref.ref(part)
        del answer, part
        gc.collect()
        assert gone() is None


def test_a_set_of_sets_says_that_it_nests_too_deep():
    nested = made(mp.Series)
    for _ in range(20_000):
        nested = mp.SeriesSet([nested])
    with pytest.raises(RecursionError):
        nested["close"]
    while isinstance(nested, mp.SeriesSet):  # taken apart from the outside: Python's own tuples recurse
        nested = nested[0]


def test_arrays_go_out_of_band(client):
    answer = client.candles(*MARKET, "1m", period=20 * 3600)
    buffers = []
    packed = pickle.dumps(answer, protocol=5, buffer_callback=buffers.append)
    assert len(packed) < 4_000 and len(buffers) == 1 + len(answer.columns)
    assert any(np.shares_memory(np.frombuffer(one.raw(), np.float64), answer["close"]) for one in buffers)
    again = pickle.loads(packed, buffers=buffers)
    assert np.shares_memory(again["close"], answer["close"])
    assert again == answer


def seen_elsewhere(answer):
    """In another process: what it holds there, and the answer back again."""
    return bits(answer), answer


def test_series_cross_to_a_spawned_process(client):
    everything = [
        client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02"),
        client.orderbook_heatmap(*MARKET, "1m", start="2026-01-01", period=300, block_size=10),
        client.volume_profile(*MARKET, "1h", start="2026-01-01", period=7200),
        client.tpo(*MARKET, "1h", session="daily", start="2026-01-01", end="2026-01-03"),
        client.token_supply(interval="1d", coin="BTC", start="2026-01-01", end="2026-01-03"),
    ]
    board = client.leaderboard(limit=2)
    tables = [client.markets(limit=3), board, client.positions(board[0].wallet_address)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(seen_elsewhere, everything)
        again = pool.map(copy.copy, tables)
    for answer, (held, back) in zip(everything, there, strict=True):
        assert held == bits(answer)
        assert back == answer
    assert again == tables


def test_copies():
    answer = made(mp.Tpo)
    assert copy.copy(answer.only) == answer.only
    deep = copy.deepcopy(answer)
    assert deep == answer and bits(deep) == bits(answer)
    assert not np.shares_memory(deep.timestamps, answer.timestamps)
    assert not deep.timestamps.flags.writeable and not deep.prices.flags.writeable


def test_series_are_equal_by_what_they_hold():
    for kind in SERIES:
        assert made(kind) == made(kind) and made(kind).only == made(kind).only
    one = made(mp.Series).only
    assert one == mp.decode_points(body(candles(CANDLES))).only  # whenever they were asked for
    changed = [CANDLES[0], CANDLES[1], (*CANDLES[2][:4], 1.5)]
    for other in (candles(changed), candles(CANDLES[:2]), candles(CANDLES, exchange="BYBIT")):
        assert one != mp.decode_points(body(other)).only
    assert one != made(mp.Heatmap).only and one != "series" and made(mp.Series) != one
    assert len({made(mp.Series).only, made(mp.Series).only, made(mp.Heatmap).only}) == 2
    levels = heatmap([([(99.0, 1.0), (98.0, 2.0)], [(100.0, 3.0), (102.0, 4.5)]), *BOOK[1:]])
    assert made(mp.Heatmap) != mp.decode_points(body(levels))


def test_unknown_equals_unknown_and_not_zero():
    def supplied(**more):
        point = {"Point": {"timestamp": stamp(START)} | more}
        return mp.decode_points(body({"id": {"type": "TOKEN_SUPPLY_AGG"}, "points": [point]}))

    assert np.isnan(supplied()["max_supply"][0])
    assert supplied() == supplied()
    assert supplied() != supplied(maxSupply=0.0)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": "cube"},
        {"timestamps": np.zeros(2, dtype=np.float64)},
        {"timestamps": np.zeros((2, 2), dtype=np.int64)},
        {"fields": [("a", "float", np.zeros(3))]},
        {"fields": [("a", "float", np.zeros(2, dtype=np.float32))]},
        {"fields": [("a", "text", ["one"])]},
        {"fields": [("a", "text", [1, 2])]},
        {"fields": [("a", "colour", np.zeros(2))]},
        {"fields": [("a", "list", (np.array([0, 1, 5]), np.zeros(3)))]},
        {"fields": [("a", "list", (np.array([0, 3, 2]), np.zeros(2)))]},
        {"fields": [("a", "list", (np.array([1, 2, 3]), np.zeros(3)))]},
        {"fields": [("a", "list", (np.array([0, 3]), np.zeros(3)))]},
    ],
)
def test_a_pickle_that_does_not_fit_together_is_refused(change):
    sound = {
        "id": {"exchange": "BYBIT"},
        "extra_id": {},
        "shape": "table",
        "timestamps": np.zeros(2, dtype=np.int64),
        "fields": [("a", "float", np.zeros(2))],
    }
    assert len(_engine.Columns(**sound)) == 2
    with pytest.raises((ValueError, TypeError)):
        _engine.Columns(**(sound | change))
