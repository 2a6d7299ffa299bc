"""A live stream recorded, ingested and replayed: what the replay answers is what the live service answered."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import marketpoints as mp
from support.children import run

START = "2026-04-22T18:00:00"
BEGIN = 1_776_880_800
HOUR = 3_600
MARKET = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"}
PAIR = ("BINANCE_FUTURES", "BTCUSDT")
RAW = ("TRADE", "LIQUIDATION", "FUNDING_RATE", "OPEN_INTEREST")


def channels(*kinds):
    return [mp.Channel(type=kind, **MARKET) for kind in kinds]


def drained(stream, second):
    """Takes the events up to a Unix second; one after it must come."""
    return sum(1 for _ in itertools.takewhile(lambda event: event.time < np.datetime64(int(second), "s"), stream))


@pytest.fixture
def live():
    with mp.LocalService(now=START, speed=0) as service:
        yield service


def replay(folder, tmp_path, now):
    report = mp.ingest(folder, tmp_path / "store")
    assert report.problems == []
    return mp.LocalService(tmp_path / "store", now=now, speed=0)


def same(left, right):
    assert len(left) == len(right) and len(left) > 0
    for one, other in zip(left, right, strict=True):
        assert one.id == other.id
        assert np.array_equal(one.timestamps, other.timestamps)
        assert list(one.columns) == list(other.columns)
        for name in one.columns:
            assert np.array_equal(one[name], other[name], equal_nan=True), name
    return True


def test_candles_of_a_replay_are_those_of_the_live_service(live, tmp_path):
    folder = tmp_path / "recorded"
    with live.client("unlimited") as client:
        with client.stream(channels(*RAW), record=folder) as stream:
            # Over midnight, in steps.
            for _ in range(7):
                live.advance(HOUR)
                drained(stream, live.now() - 60)
            assert stream.unrecorded == 0
            rows = stream.recorded
        assert sorted(path.name for path in (folder / "trades" / "BINANCE_FUTURES" / "BTCUSDT").iterdir()) == [
            "2026-04-22.csv",
            "2026-04-23.csv",
        ]
        assert rows == sum(len(path.read_text().splitlines()) - 1 for path in folder.rglob("*.csv"))
        # A channel sends what happens after its subscription: the first hour may lack its first event.
        window = {"start": BEGIN + HOUR, "end": BEGIN + 6 * HOUR + 50 * 60}
        with replay(folder, tmp_path, live.now()) as twin, twin.client("unlimited") as other:
            for ask in (
                lambda one: one.candles(*PAIR, "1m", **window),
                lambda one: one.candles(*PAIR, "1h", **window),
                lambda one: one.candles(*PAIR, "5m", usd=True, **window),
                lambda one: one.side_candles(*PAIR, "1m", **window),
                lambda one: one.liquidations(*PAIR, "1m", **window),
                lambda one: one.funding_rate(*PAIR, "5m", **window),
                lambda one: one.open_interest(*PAIR, "1h", **window),
                lambda one: one.volume_profile(*PAIR, "1h", **window),
                lambda one: one.tpo(*PAIR, interval="30m", session="daily", **window),
            ):
                assert same(ask(client), ask(other))
            # A row holds one reading: the price that values open interest is not in the stream.
            assert len(other.open_interest(*PAIR, "1h", usd=True, **window).only) == 0


def test_the_stream_of_a_replay_sends_what_the_live_one_sent(live, tmp_path):
    folder = tmp_path / "recorded"

    def streamed(service, record=None):
        # Before its first trade a replay lists no market yet.
        client = service.client("unlimited", check_symbols=False)
        with client, client.stream(channels("TRADE"), record=record) as stream:
            service.advance(600)
            return [
                (event.time.astype("datetime64[us]"), event.side, event.price, event.amount)
                for event in itertools.takewhile(lambda event: event.time < np.datetime64(BEGIN + 590, "s"), stream)
            ]

    first = streamed(live, folder)
    with replay(folder, tmp_path, BEGIN) as twin:
        assert streamed(twin) == first
    assert len(first) > 100


def test_the_book_of_a_replay_is_the_live_one(live, tmp_path):
    folder = tmp_path / "recorded"
    book = mp.Channel(type="BLOCK_BOOK_SNAPSHOT", **MARKET, block_size=26, max_depth=30, update_frequency="1s")
    with live.client("unlimited", any_block_size=True) as client:
        with (
            client.stream([book], record=folder, overflow="drop", queue=10) as stream,
            client.stream([book], record=tmp_path / "beside") as beside,
        ):
            live.advance(600)
            # Nothing is taken, and nothing waits for that: what is dropped was recorded.
            drained(beside, BEGIN + 590)
            # The oldest are dropped: what is left ends as late, and was recorded too.
            drained(stream, BEGIN + 590)
            assert stream.dropped > 0
        with (
            replay(folder, tmp_path, live.now()) as twin,
            twin.client("unlimited", any_block_size=True) as other,
        ):
            asked = {"start": BEGIN, "end": BEGIN + 540, "block_size": 26, "max_depth": 30}
            assert same(client.orderbook_heatmap(*PAIR, "1m", **asked), other.orderbook_heatmap(*PAIR, "1m", **asked))


def test_every_market_of_a_stream_has_files_of_its_own(live, tmp_path):
    several = [
        mp.Channel(type="TRADE", exchange=exchange, symbol=symbol)
        for exchange, symbol in [PAIR, ("BYBIT", "ETHUSDT"), ("OKEX_SWAP", "BTC-USDT-SWAP")]
    ]
    with live.client("unlimited") as client, client.stream(several, record=tmp_path) as stream:
        live.advance(300)
        drained(stream, BEGIN + 290)
    assert {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.csv")} == {
        "trades/BINANCE_FUTURES/BTCUSDT",
        "trades/BYBIT/ETHUSDT",
        "trades/OKEX_SWAP/BTC-USDT-SWAP",
    }
    lines = [json.loads(line) for line in (tmp_path / "recording.jsonl").read_text().splitlines()]
    assert lines[0] == {"format": "marketpoints recording", "version": 1}
    assert [one["symbol"] for one in lines[1]["channels"]] == ["BTCUSDT", "ETHUSDT", "BTC-USDT-SWAP"]
    assert lines[1]["opened"].startswith("2026-04-22T18:00:0")
    last = max(row.split(",")[2] for path in tmp_path.rglob("*.csv") for row in path.read_text().splitlines()[1:])
    ended = np.datetime64(lines[-1]["ended"].rstrip("Z")).astype("datetime64[us]").astype(int)
    assert ended == int(last) and lines[-1]["channels"] == lines[1]["channels"]
    assert live.keys["unlimited"] not in (tmp_path / "recording.jsonl").read_text()


RECORD = """
import sys, marketpoints as mp
url, key, folder = sys.argv[1:]
client = mp.Client(key, url, tier="advanced", check_symbols=False)
channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
with client.stream([channel], record=folder) as stream:
    print("open", flush=True)
    for event in stream:
        print(event.id, flush=True)
"""


def test_a_killed_recording_goes_on_and_records_nothing_twice(tmp_path):
    folder, taken = tmp_path / "recorded", []
    # The market of an hour in a minute.
    with mp.LocalService(now=START, speed=60) as service:
        command = [sys.executable, "-c", RECORD, service.url, service.keys["advanced"], str(folder)]
        for lines in (40, 25, 60):
            child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            try:
                assert child.stdout.readline() == "open\n"
                taken += [child.stdout.readline().strip() for _ in range(lines)]
            finally:
                os.kill(child.pid, signal.SIGKILL)
                child.wait(20)
                child.stdout.close()
        now = service.now()
    (file,) = (folder / "trades" / "BINANCE_FUTURES" / "BTCUSDT").iterdir()
    rows = [line.split(",") for line in file.read_text().splitlines()]
    assert all(len(row) == len(rows[0]) for row in rows)
    ids = [row[-1] for row in rows[1:]]
    assert len(set(ids)) == len(ids) and set(taken) <= set(ids)
    with replay(folder, tmp_path, now) as twin, twin.client("unlimited") as client:
        assert len(client.candles(*PAIR, "1m", period="1h")) == 1
    opened = [json.loads(line) for line in (folder / "recording.jsonl").read_text().splitlines()[1:]]
    assert len(opened) == 3 and all("opened" in one for one in opened)


def test_what_cannot_be_recorded_is_refused(live, tmp_path):
    folder = tmp_path / "recorded"
    with live.client("unlimited") as client:
        for kind in ("TRADE_AGG", "VOLUME_PROFILE_AGG"):
            with pytest.raises(
                mp.InvalidRequest, match=f"record: {kind} is no raw data that can be ingested; record TRADE"
            ):
                client.stream(channels(kind), record=folder)
        assert not folder.exists()
        with pytest.raises(mp.InvalidRequest, match="record"):
            client.stream(channels("TRADE"), record=7)
        # A file of somebody's in the way, and a folder that cannot be made.
        day = folder / "trades" / "BINANCE_FUTURES" / "BTCUSDT" / "2026-04-22.csv"
        day.parent.mkdir(parents=True)
        day.write_text("a,b\n1,2\n")
        stream = client.stream(channels("TRADE"), record=folder)
        with pytest.raises(mp.ArchiveError, match=r"2026-04-22\.csv: no recording: its first line is not"):
            stream.open()
        stream.close()
        assert list(stream) == [] and not (folder / "recording.jsonl").exists()
        assert day.read_text() == "a,b\n1,2\n"
        (tmp_path / "file").write_text("")
        with (
            pytest.raises(mp.ArchiveError, match="cannot be recorded"),
            client.stream(channels("TRADE"), record=tmp_path / "file" / "below"),
        ):
            pass


def test_two_recordings_do_not_mix_in_a_file(live, tmp_path):
    with live.client("unlimited") as client, client.stream(channels("TRADE"), record=tmp_path) as first:
        live.advance(60)
        assert next(first)
        noted = (tmp_path / "recording.jsonl").read_text()
        with pytest.raises(mp.ArchiveError, match="another recording writes it; give each a folder of its own"):
            client.stream(channels("TRADE"), record=tmp_path).open()
        assert (tmp_path / "recording.jsonl").read_text() == noted
        # Of other channels one folder may hold several.
        with client.stream(channels("LIQUIDATION"), record=tmp_path) as third:
            live.advance(HOUR)
            assert next(third)
        assert next(first)


def test_a_closed_recording_is_continued_by_the_next(live, tmp_path):
    """Also while the first stream is still a variable."""

    async def continued():
        async with live.async_client("unlimited") as client:
            kept = []
            for _ in range(2):
                async with client.stream(channels("TRADE"), record=tmp_path) as stream:
                    live.advance(60)
                    await anext(stream)
                kept.append(stream)
            return [stream.recorded for stream in kept]

    kept = []
    with live.client("unlimited") as client:
        for _ in range(3):
            with client.stream(channels("TRADE"), record=tmp_path) as stream:
                live.advance(60)
                next(stream)
            kept.append(stream)
    assert all(stream.recorded for stream in kept) and all(asyncio.run(continued()))
    rows = [line.split(",") for file in tmp_path.rglob("*.csv") for line in file.read_text().splitlines()[1:]]
    assert len(rows) == len({tuple(row) for row in rows})


def test_streams_close_when_the_interpreter_ends(tmp_path):
    """Also after the engine's own end: by the generator that holds one, and by a handler that runs later."""
    code = f"""
        import asyncio, atexit

        def last():
            asyncio.run(awaited.close())
            asyncio.run(never_opened.close())
            print("closed")

        atexit.register(last)  # before the engine's, so that it runs after it
        import marketpoints as mp

        live = mp.LocalService(now={START!r}, speed=0)
        channel = mp.Channel(type="TRADE", exchange="BYBIT", symbol="BTCUSDT")
        client = live.client("unlimited")
        awaited = live.async_client("unlimited").stream([channel], record={str(tmp_path / "other")!r})
        never_opened = live.async_client("unlimited").stream([channel])

        def events():
            with client.stream([channel], record={str(tmp_path)!r}) as stream:
                live.advance(120)
                yield from stream

        held = events()
        print(next(held).price > 0)
    """
    assert run(code) == "True\nclosed\n"


def test_an_async_stream_is_recorded_as_well(live, tmp_path):
    code = f"""
        import asyncio, sys, marketpoints as mp

        async def main():
            with mp.LocalService(now={START!r}, speed=0) as service:
                async with service.async_client("unlimited") as client:
                    channel = mp.Channel(type="TRADE", exchange="BYBIT", symbol="BTCUSDT")
                    async with client.stream([channel], record={str(tmp_path)!r}) as stream:
                        service.advance(120)
                        event = await anext(stream)
                        print(event.price, stream.recorded > 0)

        asyncio.run(main())
    """
    price, recorded = run(code).split()
    (file,) = tmp_path.rglob("*.csv")
    assert recorded == "True"
    assert float(file.read_text().splitlines()[1].split(",")[4]) == float(price)


def test_the_clock_runs_at_its_speed():
    with mp.LocalService(now=START, speed=0) as service:
        assert service.now() == service.now() == BEGIN
        service.advance(5)
        assert service.now() == BEGIN + 5
        with service.as_of(BEGIN) as twin:
            assert twin.now() == BEGIN
    with mp.LocalService(now=START, speed=10_000) as service, service.client("unlimited") as client:
        begun = time.monotonic()
        with client.stream(channels("TRADE")) as stream:
            drained(stream, BEGIN + 1_800)
        # Half an hour of the stream takes 0.18 s and what computing it takes.
        assert time.monotonic() - begun < 60
        assert service.now() > BEGIN + 1_800
    for wrong in (-1, float("nan"), float("inf"), 2e6, "fast"):
        with pytest.raises(mp.InvalidRequest, match="speed"):
            mp.LocalService(speed=wrong)
