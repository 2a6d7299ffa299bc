"""What a later version of the service may send reaches its user whole: over sockets, through plans and archives."""

import gzip
import json
import subprocess
import sys
import warnings
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import marketpoints as mp
from support.bodies import body, stamp
from support.scripted import scripted

DAY = 86_400
START = 1_776_816_000  # 2026-04-22 00:00:00 UTC
QUERY = ("BINANCE", "BTCUSDT", "1h")


def candle(second, **more):
    return {"Point": {"open": 1, "high": 4, "low": 0.5, "close": 2, "timestamp": stamp(second)} | more}


def hours(path, point, **identity):
    """A series with a candle for each hour that the path asks for; ``point(hour)`` gives its further fields."""
    query = parse_qs(urlsplit(path).query)
    begin, period = int(query["from"][0]), int(query["period"][0])
    points = [candle(second, **point(second)) for second in range(begin, begin + period, 3_600)]
    return {"id": {"type": "TRADE_SIDE_AGNOSTIC_AGG", "rawSymbol": "BTCUSDT"} | identity, "points": points}


def client(url, **settings):
    settings = {"retries": 0, "clock": lambda: START + 100 * DAY, "budget": "process"} | settings
    return mp.Client(api_key="secret-key", base_url=url, **settings)


def changing(second):
    """A field that is an empty list on the first day, a list of objects on the second, and a text after that."""
    day = (second - START) // DAY
    return {"notes": [[], [{"a": second}], "none"][min(day, 2)]}


def test_d3_23_series_that_differ_in_an_unknown_identity_field_stay_apart(tmp_path):
    def answer(path):
        if not path.startswith("/v1/points"):
            return 404, {}, {}
        return {"series": [hours(path, lambda _, pool=pool: {"volume": pool}, pool=pool) for pool in (1, 2)]}

    window = {"start": START, "end": START + DAY}
    with scripted(answer) as (url, _), client(url, archive=tmp_path / "archive") as one:
        for series_set in (one.candles(*QUERY, **window), one.candles(*QUERY, **window)):
            assert [series.id.extra for series in series_set] == [{"pool": "1"}, {"pool": "2"}]
            assert [set(series["volume"]) for series in series_set] == [{1.0}, {2.0}]
        kept = mp.Archive(tmp_path / "archive").read("candles", *QUERY, **window)
        assert [len(series) for series in kept] == [24, 24]


def test_d3_23_a_field_whose_kind_changes_between_days_is_paid_once_and_kept(tmp_path):
    def answer(path):
        return {"series": [hours(path, changing)]} if path.startswith("/v1/points") else (404, {}, {})

    archive = mp.Archive(tmp_path / "archive")
    with scripted(answer) as (url, asked), client(url) as one:
        for day in range(3):
            archive.sync(one, "candles", *QUERY, start=START + day * DAY, end=START + (day + 1) * DAY)
        paid = len([path for path in asked if path.startswith("/v1/points")])
        report = archive.sync(one, "candles", *QUERY, start=START, end=START + 3 * DAY)
        assert (paid, report.requests) == (3, 0)
        whole = one.candles(*QUERY, start=START, end=START + 3 * DAY)
    kept = archive.read("candles", *QUERY, start=START, end=START + 3 * DAY)
    for series in (kept, whole):
        assert len(series.timestamps) == 72
        notes = list(series["notes"])
        assert notes[:24] == ["[]"] * 24
        assert json.loads(notes[24]) == [{"a": START + DAY}]
        assert notes[48:] == ["none"] * 24
        assert list(series["close"]) == [2.0] * 72


def test_answers_that_contradict_each_other_are_handed_over_with_the_error():
    asked = []

    def answer(path):
        if not path.startswith("/v1/points"):
            return 404, {}, {}
        asked.append(path)
        series = hours(path, lambda _: {})
        if f"from={START}&" not in path:
            series["points"].append(candle(START, close=9))
        return {"series": [series]}

    with scripted(answer) as (url, _), client(url) as one, pytest.raises(mp.PartialError) as caught:
        # Of a plan's two requests the second sends the first candle again, with another close.
        one.candles("BINANCE", "BTCUSDT", "1m", start=START, end=START + 101_000 * 60)
    error = caught.value
    assert "column close differs" in str(error)
    assert isinstance(error.failures[0], mp.DecodeError)
    assert sum(len(series) for series in error.results) > 1_000


def test_d3_21_a_renamed_price_is_reported_and_refused_when_strict():
    renamed = body(
        {
            "id": {"type": "TRADE_AGG", "side": "BUY"},
            "points": [
                {"Point": {"openPrice": 5, "high": 6, "low": 4, "close": 5, "timestamp": stamp(60)}},
            ],
        }
    )
    with pytest.warns(mp.RenamedFieldWarning, match="open is 0 in every row"):
        series = mp.decode_points(renamed)
    assert series["open_price"][0] == 5
    with pytest.raises(mp.DecodeError, match="open is 0 in every row"):
        mp.decode_points(renamed, strict=True)
    fine = body({"id": {"type": "TRADE_AGG"}, "points": [candle(60, rank=1)]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mp.decode_points(fine, strict=True)["rank"][0] == 1
        # A volume may be 0, and an empty answer says nothing.
        assert len(mp.decode_points(body({"id": {"type": "TRADE_AGG"}, "points": []}), strict=True)) == 1


# faults.md row 16
def test_a_body_of_several_gzip_members_is_read_whole():
    whole = body({"id": {"type": "TRADE_SIDE_AGNOSTIC_AGG"}, "points": [candle(START), candle(START + 3_600)]})
    for cut in (1, len(whole) // 2, len(whole) - 1):
        members = gzip.compress(whole[:cut]) + gzip.compress(whole[cut:])

        def answer(path, members=members):
            return (200, {"Content-Encoding": "gzip"}, members) if path.startswith("/v1/points") else (404, {}, {})

        with scripted(answer) as (url, _), client(url) as one:
            assert len(one.candles(*QUERY, start=START, end=START + 7_200).timestamps) == 2


def test_nulls_in_records_are_absent_values():
    market = {"exchange": "X", "rawSymbol": "A", "coin": None, "lastPrice": None, "prices": [0.5, None]}
    position = {"wallet_address": "w", "avg_price": None, "latest_open_ts": None, "buy_count": None}
    answers = {
        "/v1/markets": {"symbols": [market], "nextOffset": None},
        "/v1/coins": {"coins": ["BTC", None]},
        "/v1/prediction/analytics/positions": {"userPositions": [position, None]},
        "/v1/usage": {"limit": 750, "remaining": None},
    }
    with scripted(lambda path: answers[urlsplit(path).path]) as (url, _), client(url, tier="advanced") as one:
        (found,) = one.markets()
        assert (found.exchange, found.coin, found.last_price) == ("X", "", 0.0)
        assert found.prices[0] == 0.5
        assert np.isnan(found.prices[1])
        assert one.coins() == ["BTC"]
        (held,) = one.positions(user_wallet="w", limit=5)
        assert (held.avg_price, held.buy_count) == (0.0, 0)
        assert one.usage().remaining == 0


BOMB = """
import gzip, resource, sys, threading
sys.path.insert(0, {here!r})
import marketpoints as mp
from support.scripted import scripted

head = b'{{"series":[{{"id":{{"type":"TRADE_SIDE_AGNOSTIC_AGG"}},"points":['
row = b'{{"Point":{{"open":1,"timestamp":{{"s":1776816000}},"f%d":1}}}},'
# Half a gigabyte of rows in some hundred kilobytes.
packed = gzip.compress(head, 1) + gzip.compress(b"".join(row % n for n in range(200)) * 50_000, 1)

def answer(path):
    return (200, {{"Content-Encoding": "gzip"}}, packed) if path.startswith("/v1/points") else (404, {{}}, {{}})

with scripted(answer) as (url, _):
    client = mp.Client(api_key="secret-key", base_url=url, retries=0, budget="process", clock=lambda: 1_776_902_400)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        client.candles("BINANCE", "BTCUSDT", "1h", start=1_776_816_000, end=1_776_902_400)
    except mp.ServerError as error:
        print("refused:", error)
    print("grew by", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, "MiB")
"""


def test_d3_17_a_small_gzip_does_not_take_gigabytes():
    here = str(__import__("pathlib").Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", BOMB.format(here=here)], capture_output=True, text=True, timeout=100, check=False
    )
    assert "refused: the answer takes more than" in done.stdout, done.stdout + done.stderr
    assert "max_memory" in done.stdout
    grown = int(done.stdout.split("grew by ")[1].split()[0])
    # The plan can need 64 MiB and little more; rewritten columns are there twice for a moment.
    assert grown < 300, done.stdout
