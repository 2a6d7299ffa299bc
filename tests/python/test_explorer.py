"""What the explorer's page asks and gets, without a browser: messages in, bytes out."""

import asyncio
import json
import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import marketpoints as mp
from marketpoints.explorer.downsampling import BubbleData
from marketpoints.explorer.latest_task import LatestTask
from marketpoints.identity import Provenance
from support.bodies import BOOK, START, body, candles, heatmap, stamp
from support.children import run

if "CI" not in os.environ:  # there nothing is skipped
    pytest.importorskip("anywidget")

NANO = 1_000_000_000
MARKET = ("BINANCE_FUTURES", "BTCUSDT")
FOLDER = Path(mp.__file__).parent / "explorer"
START_MS = START * 1000


@pytest.fixture(scope="module")
def book(demo):
    with demo.client("unlimited") as client:
        return client.orderbook_heatmap(*MARKET, "1m", start="2026-01-01", end="2026-01-01T03:00", block_size=10)


@pytest.fixture
def made():
    """Makes explorers whose messages are kept, and closes them."""
    opened = []

    def make(explorer):
        heard = []
        explorer._answers._send = lambda content, buffers: heard.append((content, buffers))
        opened.append(explorer)
        return explorer, heard

    yield make
    for explorer in opened:
        explorer.close()


def asking(explorer, **changes):
    t0, t1, p0, p1 = explorer._answers.about["home"]
    return {
        "kind": "view",
        "id": 1,
        "t0": t0,
        "t1": t1,
        "p0": p0,
        "p1": p1,
        "w": 300,
        "h": 200,
        "dpr": 1,
        "side": "both",
        "scale": "quantile",
        "theme": "dark",
    } | changes


def ask(explorer, heard, **changes):
    """The messages that answer a picture, by kind."""
    del heard[:]
    explorer._answers.handle(asking(explorer, **changes))
    explorer._answers.pictures.join()
    explorer._answers.profiles.join()
    explorer._answers.loads.join()
    return {content["kind"]: (content, buffers) for content, buffers in heard} | {"all": heard[:]}


def lists_of(answers):
    return {
        name: np.frombuffer(data, np.float64, count)
        for content, buffers in answers["all"]
        for (name, count), data in zip(content.get("lists", []), buffers, strict=False)
    }


def bytes_by_edges(volumes, lower):
    """The rule, given by the least volume of each byte: the first of those that share the largest edge below."""
    place = np.searchsorted(lower, np.maximum(volumes, 0), side="right") - 1
    found = np.maximum(np.searchsorted(lower, lower[place], side="left"), 2)
    found = np.where(volumes > 0, found, 1)
    return np.where(np.isnan(volumes), 0, found).astype(np.uint8)


@pytest.mark.parametrize("norm", ["quantile", "log", "linear"])
@pytest.mark.parametrize("side", ["both", "bids", "asks"])
def test_pixels_are_the_raster_in_the_colours_of_the_edges(book, made, side, norm):
    explorer, heard = made(book.explore())
    t0, _, p0, p1 = explorer._answers.about["home"]
    # From before the first snapshot, so that there are pixels without any.
    view = {"t0": t0 - 600_000, "t1": t0 + 3_600_000, "p0": p0 - 4_000, "p1": p1}
    content, (pixels, colours, lower) = ask(explorer, heard, side=side, scale=norm, **view)["view"]
    assert {name: content[name] for name in view} == view and (content["w"], content["h"]) == (300, 200)
    window = tuple(np.datetime64(round(view[name] * 1e6), "ns") for name in ("t0", "t1"))
    expected = book.raster(300, 200, window, (view["p0"], view["p1"]), side=side)
    assert len(colours) == 1024 and len(lower) == 1024
    lower = np.frombuffer(lower, np.float32)
    assert (np.diff(lower) >= 0).all()
    found = np.frombuffer(pixels, np.uint8).reshape(200, 300)
    assert np.array_equal(found, bytes_by_edges(expected, lower))
    assert set(np.unique(found)) >= {0, 1} and len(np.unique(found)) > 50
    # The scale is that of all volumes, whatever the view.
    volumes = book.volumes[book.volumes > 0]
    middle = lower[129]
    if norm == "quantile":
        assert np.mean(volumes < middle) == pytest.approx(0.75, abs=0.02)
    elif norm == "linear":
        assert middle == pytest.approx(np.quantile(volumes, 0.998) / 2, rel=0.03)
    else:
        assert middle == pytest.approx(np.sqrt(np.quantile(volumes, 0.02) * np.quantile(volumes, 0.998)), rel=0.03)


def test_two_colours_tell_bids_from_asks(book, made):
    explorer, heard = made(book.explore())
    _, (pixels, _, lower) = ask(explorer, heard, side="two")["view"]
    found = np.frombuffer(pixels, np.uint8).reshape(200, 300)
    t0, t1, p0, p1 = explorer._answers.about["home"]
    window = tuple(np.datetime64(round(edge * 1e6), "ns") for edge in (t0, t1))
    bids, asks = (np.nan_to_num(book.raster(300, 200, window, (p0, p1), side=side)) for side in ("bids", "asks"))
    assert np.array_equal(found >= 129, asks > bids)
    assert np.array_equal((found >= 2) & (found < 129), (bids >= asks) & (bids > 0))
    lower = np.frombuffer(lower, np.float32)
    assert np.array_equal(lower[2:129], lower[129:])
    shown = found >= 2
    assert (lower[found[shown]] <= np.maximum(bids, asks)[shown] * 1.001).all()


def test_the_newest_picture_asked_for_is_the_one_made(book, made):
    explorer, heard = made(book.explore())
    answers, going, gate = explorer._answers, threading.Event(), threading.Event()
    plain = answers._send

    def slow(content, buffers):
        plain(content, buffers)
        going.set()
        assert gate.wait(60)

    answers._send = slow
    answers.handle(asking(explorer, id=1))
    assert going.wait(60)
    for number in range(2, 30):
        answers.handle(asking(explorer, id=number))
    gate.set()
    answers.pictures.join()
    answers.profiles.join()
    assert [content["id"] for content, _ in heard if content["kind"] == "view"] == [1, 29]
    assert [content["id"] for content, _ in heard if content["kind"] == "over"] == [29, 29]
    assert [content["last"] for content, _ in heard if content["kind"] == "over"] == [False, True]


def test_a_fault_in_one_picture_does_not_end_the_explorer(book, made, monkeypatch):
    explorer, heard = made(book.explore())
    whole = explorer._answers.pixels
    monkeypatch.setattr(explorer._answers, "pixels", lambda asked: 1 / 0)
    assert "ZeroDivisionError" in ask(explorer, heard)["error"][0]["text"]
    monkeypatch.setattr(explorer._answers, "pixels", whole)
    assert ask(explorer, heard)["view"]


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        {},
        {"kind": "else"},
        {"kind": "spend", "offer": 1},
        {"kind": "view", "id": 1},
        {"w": 0},
        {"w": 100_000},
        {"w": 8_000, "h": 8_000},
        {"t0": float("nan")},
        {"t0": 1e300},
        {"t1": 0},
        {"p1": float("inf")},
        {"p0": 9e9},
        {"dpr": 0},
        {"dpr": "x"},
        {"side": "left"},
        {"scale": ["log"]},
        {"theme": "pink"},
        {"t0": 1e12, "t1": 1e12 + 1e-7},
    ],
)
def test_a_malformed_message_is_reported_to_the_page(book, made, message):
    explorer, heard = made(book.explore())
    changed = isinstance(message, dict) and message and "kind" not in message
    explorer._answers.handle(asking(explorer, **message) if changed else message)
    explorer._answers.pictures.join()
    explorer._answers.profiles.join()
    ((content, buffers),) = heard
    assert content["kind"] == "error" and len(content["text"]) > 10 and buffers == []
    assert ask(explorer, heard)["view"]


def test_candles_where_they_have_room_and_a_line_where_not(made):
    rows = [(100.0 + at, 103.0 + at, 98.0 + at, 101.0 + at, 5.0) for at in range(100)]
    series = mp.decode_points(body(candles(rows))).only
    explorer, heard = made(series.explore())
    answers = ask(explorer, heard, w=400)
    assert "view" not in answers
    found = lists_of(answers)
    assert found["candles.t"].tolist() == [START_MS + 3_600_000 * at for at in range(100)]
    assert found["candles.high"].tolist() == [103.0 + at for at in range(100)] and "close.t" not in found
    found = lists_of(ask(explorer, heard, w=50))
    assert "candles.t" not in found and len(found["close.t"]) == 50
    assert found["close.high"].tolist() == [104.0 + 2 * at for at in range(50)]
    assert found["close.low"].tolist() == [98.0 + 2 * at for at in range(50)]
    assert found["close.last"].tolist() == [102.0 + 2 * at for at in range(50)]


def test_a_missing_bucket_breaks_the_line(made):
    series = mp.decode_points(body(candles([(1.0, 1.0, 1.0, 1.0, 1.0)] * 40)))
    points = json.loads(body(candles([(1.0, 1.0, 1.0, 1.0, 1.0)] * 40)))
    del points["series"][0]["points"][10:20]
    series = mp.decode_points(json.dumps(points).encode()).only
    explorer, heard = made(series.explore())
    last = lists_of(ask(explorer, heard, w=80))["close.last"]
    assert np.isnan(last).sum() == 1 and len(last) == 31 and np.isnan(last[10])


def test_the_mid_price_lies_over_a_book(made):
    shown = mp.decode_points(body(heatmap(BOOK))).only
    explorer, heard = made(shown.explore())
    found = lists_of(ask(explorer, heard))
    # Blocks of 1 from 99 and 100 on: their common edge.
    assert found["mid.last"].tolist()[0] == 100.0 and found["mid.last"].tolist()[-1] == 98.5
    # The snapshot between has no bids: no middle.
    assert np.isnan(found["mid.last"]).sum() == 1 and len(found["mid.last"]) == 3


def test_a_million_bubbles_are_few_and_none_is_lost():
    random = np.random.default_rng(7)
    count = 1_000_000
    moments = np.sort(random.integers(0, 86_400 * NANO, count))
    prices, amounts = random.uniform(100, 200, count), random.exponential(1.0, count)
    every = BubbleData(moments, prices, amounts, random.random(count) < 0.5, amounts * prices)
    found = every.squares(((0, 86_400 * NANO), (100.0, 200.0)), (1600, 800))
    assert 1_000 < len(found["t"]) <= 4_000
    assert found["amount"].sum() == pytest.approx(amounts.sum()) and found["worth"].sum() == pytest.approx(
        every.worth.sum()
    )
    assert found["amount"][found["sold"] == 1].sum() == pytest.approx(amounts[every.sold].sum())
    # Where the view moves by less than a square, the squares stay where they are.
    moved = every.squares(((NANO, 86_401 * NANO), (100.0, 200.0)), (1600, 800))
    inside = (found["t"] > 1e6) & (found["t"] < 8e7)
    near = (moved["t"] > 1e6) & (moved["t"] < 8e7)
    assert np.allclose(np.sort(found["amount"][inside]), np.sort(moved["amount"][near]))


def liquidations(amounts, side, **identity):
    known = {"type": "LIQUIDATION_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT", "interval": "HOUR"}
    points = [
        {"Point": {"liquidations": amount, "timestamp": stamp(START + 3600 * at)}} for at, amount in enumerate(amounts)
    ]
    return mp.decode_points(body({"id": known | {"side": side} | identity, "points": points}))


def profile(levels=((100.0, 6.0, 9.0), (110.0, 1.0, 4.0))):
    known = {"type": "VOLUME_PROFILE_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT", "interval": "HOUR"}
    flat = [number for level in levels for number in level]
    points = [{"Point": {"profile": flat, "timestamp": stamp(START + 3600 * at)}} for at in range(24)]
    return mp.decode_points(body({"id": known, "points": points}))


ROWS = [(105.0, 118.0, 101.0, 110.0, 5.0)] * 24


def test_liquidations_and_the_profile_of_what_is_in_view(made):
    hours = mp.decode_points(body(candles(ROWS)))
    over = [liquidations([1.0, 4.0], "BUY") + liquidations([2.0], "SELL"), profile()]
    explorer, heard = made(hours.explore(over=over))
    view = {"t0": START_MS, "t1": START_MS + 3_600_000 * 10, "p0": 100.0, "p1": 120.0, "w": 1000, "h": 20}
    found = lists_of(ask(explorer, heard, **view))
    at = np.argsort(found["bubbles.amount"])
    assert found["bubbles.amount"][at].tolist() == [1.0, 2.0, 4.0]
    assert found["bubbles.price"][at] == pytest.approx([118.0, 101.0, 118.0])
    assert found["bubbles.sold"][at].tolist() == [0.0, 1.0, 0.0]
    assert found["bubbles.worth"][at] == pytest.approx([118.0, 202.0, 472.0])
    assert explorer._answers.about["largest"] == pytest.approx(472.0)
    # Ten of 24 buckets; a level of 10 in 10 rows of pixels.
    assert found["profile.bids"] == pytest.approx([6.0] * 10 + [1.0] * 10)
    assert found["profile.asks"] == pytest.approx([9.0] * 10 + [4.0] * 10)


def test_the_resting_volume_is_the_mean_of_the_snapshots_in_view(made):
    shown = mp.decode_points(body(heatmap([([(99.0, 1.0)], [(100.0, 3.0)]), ([(99.0, 5.0)], [(100.0, 4.0)])]))).only
    explorer, heard = made(shown.explore())
    found = lists_of(ask(explorer, heard, p0=99.0, p1=101.0, h=2))
    assert found["profile.bids"] == pytest.approx([3.0, 0.0]) and found["profile.asks"] == pytest.approx([0.0, 3.5])


def test_what_is_liquidated_adds_up(made):
    identity = {"type": "VENUE_LIQUIDATION_AGG", "exchange": None, "rawSymbol": None, "coin": "BTC"}
    series = heatmap([([(99.0, 1.0), (98.0, 2.0)], []), ([(99.0, 5.0)], [])], **identity)
    for point in series["points"]:
        point["Point"]["levels"] = point["Point"].pop("bids")
    shown = mp.decode_points(body(series)).only
    explorer, heard = made(shown.explore())
    answers = ask(explorer, heard, p0=98.0, p1=100.0, w=1, h=1)
    known = explorer._answers.scale("quantile")
    assert answers["view"][1][0][0] == known.bytes_of(np.array([8.0], np.float32))[0]
    found = lists_of(ask(explorer, heard, p0=98.0, p1=100.0, h=2))
    assert found["profile.bids"] == pytest.approx([2.0, 6.0]) and "profile.asks" not in found
    assert explorer._answers.about["profile"] == "liquidated volume"


def test_a_window_that_was_asked_for_and_is_empty_is_not_offered_again(demo, made):
    with demo.client("unlimited") as client:
        part = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02")
        cut = part.only[5:15]
        explorer, heard = made(part.explore(client=client))
        assert explorer._answers.loaded == explorer._answers.about["home"][:2]
        explorer, heard = made(cut.explore(client=client))
        hour = 3_600_000
        t0, t1, *_ = explorer._answers.about["home"]
        assert explorer._answers.loaded == [t0, t1] and t1 - t0 == 10 * hour
        assert ask(explorer, heard, t1=t1 + hour)["offer"][0]["weight"] == 1
        # The same rows, of a longer window that was asked for.
        window = int(t0 / 1000) - 7200, int(t1 / 1000) + 7200
        explorer, heard = made(mp.Series(cut._columns, Provenance(None, window)).explore(client=client))
        assert explorer._answers.about["home"][:2] == [t0, t1]
        assert explorer._answers.loaded == [t0 - 2 * hour, t1 + 2 * hour]
        assert ask(explorer, heard, t0=t0 - hour, t1=t1 + hour)["offer"][0]["offer"] == 0


def test_past_the_loaded_window_the_weight_is_shown_and_then_spent(demo, made):
    with demo.client("advanced") as client:
        call = (*MARKET, "1m")
        part = client.orderbook_heatmap(*call, start="2026-01-01T01:00", end="2026-01-01T02:00", block_size=10)
        whole = client.orderbook_heatmap(*call, start="2026-01-01T00:30", end="2026-01-01T02:45", block_size=10)
        explorer, heard = made(part.explore(client=client))
        t0, t1, *_ = explorer._answers.about["home"]
        assert "offer" not in ask(explorer, heard) or ask(explorer, heard)["offer"][0]["offer"] == 0
        spent = demo.spent
        wide = {"t0": t0 - 30 * 60_000, "t1": t1 + 45 * 60_000}
        offer = ask(explorer, heard, **wide)["offer"][0]
        weight = sum(
            client.plan("orderbook_heatmap", *call, start=start, end=end, block_size=10).weight
            for start, end in (
                ("2026-01-01T00:30", "2026-01-01T01:00"),
                ("2026-01-01T02:00", "2026-01-01T02:45"),
            )
        )
        assert (
            offer["weight"] == weight > 0
            and f"weight {weight:,}" in offer["text"]
            and "2026-01-01 00:30" in offer["text"]
        )
        assert demo.spent == spent, "looking costs nothing"
        del heard[:]
        explorer._answers.handle({"kind": "spend", "offer": offer["offer"]})
        explorer._answers.loads.join()
        assert demo.spent == spent + weight
        loaded = heard[-1][0]
        assert loaded["kind"] == "loaded" and loaded["loaded"] == [wide["t0"], wide["t1"]]
        _, (pixels, _, _) = ask(explorer, heard, **wide)["view"]
        _, _, p0, p1 = explorer._answers.about["home"]
        known = explorer._answers.scale("quantile")
        expected = known.bytes_of(whole.raster(300, 200, prices=(p0, p1)))
        assert np.array_equal(np.frombuffer(pixels, np.uint8).reshape(200, 300), expected)
        # An offer is taken once.
        explorer._answers.handle({"kind": "spend", "offer": offer["offer"]})
        explorer._answers.loads.join()
        assert "out of date" in heard[-1][0]["text"] and demo.spent == spent + weight


@pytest.mark.parametrize("wanted", ["exchanges", "symbols"])
def test_of_a_series_of_several_only_its_own_is_bought(demo, made, wanted):
    call = {
        "exchanges": (["BINANCE_FUTURES", "BYBIT"], "BTCUSDT", "1m"),
        "symbols": ("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1m"),
    }[wanted]
    with demo.client("unlimited") as client:
        several = client.orderbook_heatmap(*call, start="2026-01-01T01:00", end="2026-01-01T02:00", block_size=10)
        for one in several:
            explorer, heard = made(one.explore(client=client, block_size=10))
            t1 = explorer._answers.about["home"][1]
            offer = ask(explorer, heard, t1=t1 + 30 * 60_000)["offer"][0]
            alone = (one.id.exchange, one.id.raw_symbol, "1m")
            window = {"start": "2026-01-01T02:00", "end": "2026-01-01T02:30", "block_size": 10}
            assert offer["weight"] == client.plan("orderbook_heatmap", *alone, **window).weight
            spent = demo.spent
            explorer._answers.handle({"kind": "spend", "offer": offer["offer"]})
            explorer._answers.loads.join()
            assert heard[-1][0]["kind"] == "loaded" and demo.spent == spent + offer["weight"]
            bought = explorer._answers.base.parts[-1].shown
            assert bought.id == one.id and len(bought) == 30


def test_an_offer_that_was_taken_is_not_lost_to_a_later_view(demo, made, monkeypatch):
    with demo.client("unlimited") as client:
        part = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02")
        explorer, heard = made(part.explore(client=client))
        answers = explorer._answers
        t0 = answers.about["home"][0]
        offer = ask(explorer, heard, t0=t0 - 3_600_000)["offer"][0]
        begun, goes_on = threading.Event(), threading.Event()

        def slow(*_):
            begun.set()
            assert goes_on.wait(10)

        monkeypatch.setattr(answers.beyond, "look", slow)
        answers.loads.ask(((0, 1), (0.0, 1.0)))  # the loader is at work …
        assert begun.wait(10)
        answers.handle({"kind": "spend", "offer": offer["offer"]})
        answers.loads.ask(((0, 1), (0.0, 1.0)))  # … and the view moves on
        goes_on.set()
        answers.loads.join()
        assert answers.loaded[0] == t0 - 3_600_000


def test_what_was_loaded_before_a_refusal_is_shown(demo, made, monkeypatch):
    with demo.client("unlimited") as client:
        part = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02")
        explorer, heard = made(part.explore(client=client))
        t0, t1, *_ = explorer._answers.about["home"]
        offer = ask(explorer, heard, t0=t0 - 3_600_000, t1=t1 + 3_600_000)["offer"][0]
        points, calls = client.points, []

        def second_fails(*arguments, **named):
            calls.append(named)
            if len(calls) == 2:
                raise mp.ServerError("out of order")
            return points(*arguments, **named)

        monkeypatch.setattr(client, "points", second_fails)
        del heard[:]
        explorer._answers.handle({"kind": "spend", "offer": offer["offer"]})
        explorer._answers.loads.join()
        assert [content["kind"] for content, _ in heard] == ["note", "note", "note", "loaded"]
        assert heard[2][0]["text"] == "out of order" and heard[3][0]["loaded"] == [t0 - 3_600_000, t1]


def test_a_refusal_of_the_service_is_reported_to_the_page(demo, made):
    with demo.client("unlimited") as client:
        part = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02")
        explorer, heard = made(part.explore(client=client))
        t0 = explorer._answers.about["home"][0]
        offer = ask(explorer, heard, t0=t0 - 3_600_000)["offer"][0]
        client.close()
        explorer._answers.handle({"kind": "spend", "offer": offer["offer"]})
        explorer._answers.loads.join()
        assert heard[-1][0]["kind"] == "note" and "closed" in heard[-1][0]["text"]


def test_an_archive_is_read_for_nothing_and_says_where_it_ends(demo, made, tmp_path):
    archive = mp.Archive(tmp_path / "kept")
    with demo.client("unlimited") as client:
        archive.sync(client, "candles", *MARKET, "1h", start="2026-01-01", end="2026-01-03")
        part = client.candles(*MARKET, "1h", start="2026-01-01T12:00", end="2026-01-02")
    explorer, heard = made(part.explore(archive=archive))
    t0, t1, *_ = explorer._answers.about["home"]
    hour = 3_600_000
    answers = ask(explorer, heard, t0=t0 - 12 * hour, t1=t1 + 6 * hour)
    assert answers["loaded"][0]["loaded"] == [t0 - 12 * hour, t1 + 6 * hour]
    found = lists_of(ask(explorer, heard, t0=t0 - 12 * hour, t1=t1 + 6 * hour))
    assert len(found["candles.t"]) == 30
    assert np.array_equal(
        found["candles.close"],
        archive.read("candles", *MARKET, "1h", start="2026-01-01", end="2026-01-02T06:00")["close"],
    )
    assert "no more" in ask(explorer, heard, t0=t0 - 100 * hour)["offer"][0]["text"]


def test_what_cannot_be_explored_is_refused(book, client, demo, monkeypatch):
    hours = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02")
    other = client.candles("BINANCE_FUTURES", "ETHUSDT", "1h", start="2026-01-01", end="2026-01-02")
    funding = client.funding_rate(*MARKET, "1h", start="2026-01-01", end="2026-01-02")
    for call, error, words in [
        (lambda: (hours + other).explore(), mp.SelectionError, "pick one"),
        (lambda: book.explore(over=other), mp.SelectionError, "another market"),
        (lambda: book.explore(over=funding), mp.SelectionError, "no place"),
        (lambda: funding.explore(), mp.SelectionError, "no place"),
        (lambda: book.explore(over=[hours, hours]), mp.SelectionError, "2 candles"),
        (lambda: book.explore(over="candles"), mp.InvalidRequest, "no result"),
        (lambda: book.explore(window=("2020-01-01", "2020-01-02")), mp.InvalidRequest, "no snapshot"),
        (lambda: hours.explore(window=("2020-01-01", "2020-01-02")), mp.InvalidRequest, "no snapshot"),
        (lambda: book.explore(prices=(1, 2)), mp.InvalidRequest, "they lie from"),
        (lambda: book.explore(prices=(2, 1)), mp.InvalidRequest, "not below"),
        (lambda: book.explore(client="me"), mp.InvalidRequest, "no client"),
        (lambda: book.explore(archive="there"), mp.InvalidRequest, "no archive"),
        (lambda: book.explore(block_size=10), mp.InvalidRequest, "client="),
        (lambda: book.explore(client=client, start="2026-01-01"), mp.InvalidRequest, "leave them out"),
    ]:
        with pytest.raises(error, match=words):
            call()

    async def awaited():
        async with demo.async_client("unlimited") as asynchronous:
            with pytest.raises(mp.InvalidRequest, match="AsyncClient"):
                book.explore(client=asynchronous)

    asyncio.run(awaited())
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(mp.MissingDependencyError, match=r"pip install 'marketpoints\[notebook\]'"):
        book.explore()


@pytest.mark.parametrize(
    "given",
    [
        heatmap([]),
        heatmap([([], [])]),
        heatmap([([(99.0, 1.0)], [])]),
        heatmap([([(99.0, 1.0)], [(100.0, 1.0)])]),
        candles([]),
        candles([(1.0, 1.0, 1.0, 1.0, 1.0)]),
    ],
    ids=["no snapshot", "one without levels", "one level", "one snapshot", "no candle", "one candle"],
)
def test_little_or_nothing_is_an_honest_picture(made, given, tmp_path):
    every = mp.decode_points(body(given))
    if not len(every):
        with pytest.raises(mp.SelectionError, match="no series"):
            every.explore()
        return
    explorer, heard = made(every.only.explore())
    answers = ask(explorer, heard)
    assert "error" not in answers and "over" in answers
    if "view" in answers:
        assert len(answers["view"][1][0]) == 300 * 200
    assert explorer.to_html(tmp_path / "one.html").stat().st_size > 10_000
    assert explorer.png().startswith(b"\x89PNG")


def test_an_output_holds_the_view_and_a_picture(book, made):
    explorer, _ = made(book.explore())
    bundle, _ = explorer._repr_mimebundle_(include=None, exclude=None)
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.widget.model_id
    assert bundle["image/png"].startswith("iVBORw0KGgo") and "Explorer" in bundle["text/plain"]
    state = {name: value for name, value in explorer.widget.get_state().items() if name != "_esm"}
    # A notebook is saved with it.
    assert len(json.dumps(state)) < 6_000


def test_the_view_is_small_and_asks_nothing_of_a_network():
    view = (FOLDER / "view.js").read_text("utf-8")
    assert len(view.encode()) < 40_000
    for text in (view, (FOLDER / "still.js").read_text("utf-8")):
        assert not re.search(r"https?:|\bimport\b|fetch\(|XMLHttp|WebSocket|eval\(|innerHTML|document\.write", text)


def test_names_are_escaped_in_a_file(made, tmp_path):
    evil = "</script><script>alert(1)</script>&\"'"
    shown = mp.decode_points(body(heatmap(BOOK, rawSymbol=evil))).only
    explorer, _ = made(shown.explore())
    text = explorer.to_html(tmp_path / "evil.html").read_text("utf-8")
    assert "alert(1)</script>" not in text and text.count("</script>") == 2
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    with pytest.raises(mp.InvalidRequest, match="no folder"):
        explorer.to_html(tmp_path / "nowhere" / "evil.html")


@pytest.mark.parametrize("path", [None, 7, b"x", ("a", "b")])
def test_a_path_that_is_none_is_refused(book, made, path):
    explorer, _ = made(book.explore())
    with pytest.raises(mp.InvalidRequest, match="is no path; give that of a file"):
        explorer.to_html(path)


def test_a_closed_explorer_leaves_no_thread_and_no_channel(book):
    from ipywidgets.widgets import widget

    before = set(widget._instances)
    explorer = book.explore()
    explorer._answers._send = lambda content, buffers: None
    assert len(set(widget._instances) - before) > 0
    for number in range(20):
        explorer._answers.handle(asking(explorer, id=number))
    explorer.close()
    explorer._answers.pictures.join()
    explorer._answers.profiles.join()
    assert explorer.widget.comm is None and set(widget._instances) == before
    assert not [one for one in threading.enumerate() if one.name == "marketpoints explorer"]
    explorer._answers.handle(asking(explorer, id=99))
    assert not [one for one in threading.enumerate() if one.name == "marketpoints explorer"]


def test_an_interpreter_ends_with_pictures_under_way(environment):
    code = """
        import marketpoints as mp
        from support.bodies import BOOK, body, heatmap
        explorer = mp.decode_points(body(heatmap(BOOK * 2_000))).explore()
        t0, t1, p0, p1 = explorer._answers.about["home"]
        for number in range(50):
            explorer._answers.handle(dict(kind="view", id=number, t0=t0, t1=t1, p0=p0, p1=p1, w=1600, h=900, dpr=1,
                side="both", scale="quantile", theme="dark"))
        print("asked")
    """
    tests = str(Path(__file__).parent)
    assert run(code, environment | {"PYTHONPATH": os.pathsep.join([tests, *sys.path])}) == "asked\n"


def test_an_interpreter_does_not_wait_for_a_download(environment):
    code = """
        import threading
        import marketpoints as mp
        from support.bodies import BOOK, body, heatmap
        reads = threading.Event()
        class Silent:
            def read(self, *call, **named):
                reads.set()
                threading.Event().wait()
        # Each for itself they would take longer than a test may.
        every = [mp.decode_points(body(heatmap(BOOK))).explore(archive=Silent()) for _ in range(40)]
        for explorer in every:
            (start, end), levels = explorer._answers.base.window, (1.0, 2.0)
            explorer._answers.loads.ask(((start - 10**12, end), levels))
        assert reads.wait(30)
        print("asked")
    """
    tests = str(Path(__file__).parent)
    assert run(code, environment | {"PYTHONPATH": os.pathsep.join([tests, *sys.path])}, timeout=30) == "asked\n"


def test_a_job_without_a_thread_is_done_with_the_next(monkeypatch):
    done = []
    task = LatestTask(done.append, 1.0)

    def start(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError):
            task.ask(1)
    task.ask(2)
    task.join(30)
    assert done == [2]
