"""Answers that break off or do not add up (faults D3 14, 25, 26, 28, 29): what is raised, and never a part as data."""

import json

import pytest

import marketpoints as mp
from support.broken import resetting

NOW = 1_776_880_830
MINUTE = NOW // 60 * 60 - 60
CANDLE = {"open": 1, "high": 1, "low": 1, "close": 2.5, "timestamp": {"s": MINUTE}}
BODY = json.dumps({"series": [{"id": {"type": "TRADE_SIDE_AGNOSTIC_AGG"}, "points": [{"Point": CANDLE}]}]}).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)
WHOLE = HEAD + BODY


def asks(url, retries):
    settings = {"retries": retries, "check_symbols": False, "tier": "advanced", "budget": "process"}
    with mp.Client("key", url, clock=lambda: NOW, **settings) as client:
        return client.candles("BYBIT", "BTCUSDT", "1m", start=MINUTE, period=60).only


# Before the head, within it, between head and body, within the body, before its last byte.
@pytest.mark.parametrize("place", [0, 10, len(HEAD), len(HEAD) + 40, len(WHOLE) - 1])
def test_d3_14_a_reset_anywhere_is_tried_again_and_never_a_part_of_the_answer(place):
    with resetting(WHOLE, [place]) as (url, asked):
        assert asks(url, 2)["close"].tolist() == [2.5]
        assert len(asked) == 2
    with resetting(WHOLE, [place] * 3) as (url, asked):
        with pytest.raises(mp.TransportError, match=r"\(after 3 attempts\)"):
            asks(url, 2)
        assert len(asked) == 3


def candles(*sides):
    def point(minute):
        return {"Point": {"open": 1, "high": 1, "low": 1, "close": minute, "timestamp": {"s": 60 * minute}}}

    series = [{"id": {"type": "TRADE_AGG", "side": side}, "points": list(map(point, rows))} for side, rows in sides]
    return mp.decode_points(json.dumps({"series": series}).encode())


def test_d3_25_sides_are_found_by_identity_whatever_comes():
    # In another order, and of unequal lengths.
    answer = candles(("SELL", [1, 2, 3]), ("BUY", [2]))
    assert answer.sel(side="BUY")["close"].tolist() == [2]
    assert answer.sel(side="SELL")["close"].tolist() == [1, 2, 3]
    # A side that did not come is reported; it is not made of zeros.
    alone = candles(("BUY", [1, 2]))
    assert alone.sel(side="BUY")["close"].tolist() == [1, 2]
    with pytest.raises(mp.SelectionError, match="no series has side='SELL'"):
        alone.sel(side="SELL")
    # One side in two parts is one series.
    [whole] = candles(("BUY", [3]), ("BUY", [1, 2]))
    assert whole["close"].tolist() == [1, 2, 3]


def test_d3_26_rows_ascend_equal_ones_count_once_and_different_ones_are_refused():
    [descending] = candles(("BUY", [3, 2, 1]))
    [doubled] = candles(("BUY", [2, 1, 2, 3, 1]))
    [unsorted] = candles(("BUY", [2, 3, 1]))
    for one in (descending, doubled, unsorted):
        assert one["close"].tolist() == [1, 2, 3]
    points = ",".join(
        f'{{"Point":{{"open":1,"high":1,"low":1,"close":{close},"timestamp":{{"s":60}}}}}}' for close in (1, 2)
    )
    body = f'{{"series":[{{"id":{{"type":"TRADE_AGG"}},"points":[{points}]}}]}}'
    with pytest.raises(mp.DecodeError, match="two different points"):
        mp.decode_points(body.encode())


MICRO = "1776880800000000"


def book(inside):
    return f'{{"series":[{{"id":{{"type":"BLOCK_BOOK_SNAPSHOT_AGG"}},{inside}}}]}}'.encode()


@pytest.mark.parametrize(
    ("numbers", "place"),
    [
        (("3", MICRO, "1", "10"), 0),  # fewer values than announced
        (("1", MICRO, "1", "10", "7"), 4),  # more
        (("1", MICRO, "1", "10", "1", MICRO, "1"), 4),  # half a pair
        (("1",), 0),  # no time
        (("-1", MICRO), 0),
        (("1.5", MICRO, "1", "10"), 0),
        (("NaN", MICRO), 0),
        (("1e18", MICRO), 0),
        (("9223372036854775808", MICRO, "1", "10"), 0),
        (('"1"', MICRO, "1", "10"), 0),
        (("1", MICRO, "null", "10"), 2),
        (("1", "1776880800", "1", "10"), 1),  # seconds
        (("1", "1776880800000", "1", "10"), 1),  # milliseconds
        (("1", MICRO + "000", "1", "10"), 1),  # nanoseconds
        (("1", "-1", "1", "10"), 1),
    ],
)
def test_d3_28_a_flat_heatmap_that_does_not_add_up_is_refused_with_its_place(numbers, place):
    with pytest.raises(mp.DecodeError, match=rf"flat_points\[{place}\]"):
        mp.decode_points(book(f'"flat_points":[{",".join(numbers)}]'))


def test_d3_28_without_levels_or_without_snapshots_a_flat_heatmap_is_empty():
    assert len(mp.decode_points(book('"flat_points":[]')).timestamps) == 0
    answer = mp.decode_points(book(f'"flat_points":[0,{MICRO}]'))
    assert (len(answer.timestamps), answer["levels"].size) == (1, 0)


@pytest.mark.parametrize(
    ("levels", "word"),
    [
        ('"bids":[1]', "1 values are no pairs"),
        ('"bids":[1,2,3]', "3 values are no pairs"),
        ('"asks":[1,2],"bids":[3]', "1 values are no pairs"),
        ('"bids":[1,"2"]', r"Point.bids\[1\]"),
        ('"bids":[1,null]', r"Point.bids\[1\]"),
        ('"bids":7', "expected an array"),
        ('"bids":[[1,2]]', r"Point.bids\[0\]"),
    ],
)
def test_d3_29_levels_that_are_no_pairs_are_refused(levels, word):
    with pytest.raises(mp.DecodeError, match=word):
        mp.decode_points(book(f'"points":[{{"Point":{{"timestamp":{{"s":60}},{levels}}}}}]'))


# faults.md row 56
def test_an_answer_of_another_series_is_not_archived(tmp_path):
    identity = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": "ETHUSDT", "interval": "MINUTE"}
    body = json.dumps({"series": [{"id": identity, "points": [{"Point": CANDLE}]}]}).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    archive, query = mp.Archive(tmp_path), ("candles", "BYBIT", "BTCUSDT", "1m")
    settings = {"retries": 0, "check_symbols": False, "tier": "advanced", "budget": "process"}
    with (
        resetting(answer, []) as (url, _),
        mp.Client("key", url, clock=lambda: NOW, **settings) as client,
        pytest.raises(mp.DecodeError, match='its rawSymbol is "ETHUSDT", not "BTCUSDT"'),
    ):
        archive.sync(client, *query, start=MINUTE, end=MINUTE + 60)
    with pytest.raises(mp.NotArchivedError):
        archive.read(*query, start=MINUTE, end=MINUTE + 60)
