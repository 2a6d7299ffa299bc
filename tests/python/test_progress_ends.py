"""A ``progress`` function that raises what ends a program ends the call; what was paid comes along."""

import asyncio
import re
import subprocess
import sys
import threading

import pytest

import marketpoints as mp
from support import NOW
from support.scripted import scripted

EXCHANGE = "BINANCE_FUTURES"
HOUR = 3_600


class Enough(BaseException):
    """Not an ``Exception``: it ends programs."""


def after(answers, error, reported):
    def report(done, total):
        reported.append((done, total))
        if done >= answers:
            raise error

    return report


def minutes(path):
    start, period = (int(re.search(rf"[?&]{name}=(\d+)", path)[1]) for name in ("from", "period"))
    points = [{"Point": {"timestamp": {"s": start + second}, "close": 1.0}} for second in range(0, period, 60)]
    return {"series": [{"id": {"type": "TRADE_SIDE_AGNOSTIC_AGG"}, "points": points}]}


def call(client, *query, **arguments):
    """Candles of a client of either kind."""
    if isinstance(client, mp.Client):
        return client.candles(*query, **arguments)

    async def inner():
        return await client.candles(*query, **arguments)

    async def work():
        # `asyncio.run` would take some of these errors for a meaning of its own.
        try:
            return await inner()
        except BaseException as error:
            return error

    outcome = asyncio.run(work())
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


ENDS = [KeyboardInterrupt(), SystemExit(7), Enough("now"), GeneratorExit(), asyncio.CancelledError()]


# faults.md row 43
@pytest.mark.parametrize("error", ENDS, ids=repr)
@pytest.mark.parametrize("kind", [mp.Client, mp.AsyncClient])
def test_what_ends_a_program_ends_the_call_with_what_arrived(kind, error):
    first, ended = threading.Lock(), threading.Event()

    def answer(path):
        if not first.acquire(blocking=False):
            assert ended.wait(60)  # only the first answer comes
        return minutes(path)

    symbols = [f"S{number}" for number in range(20)]
    reported = []
    with scripted(answer) as (url, asked):
        client = kind("key", url, tier="advanced", budget="process", clock=lambda: NOW)
        window = {"start": NOW // HOUR * HOUR - HOUR, "end": NOW // HOUR * HOUR}
        try:
            with pytest.raises(type(error)) as caught:
                call(client, EXCHANGE, symbols, "1m", progress=after(1, error, reported), **window)
        finally:
            ended.set()
    assert caught.value is error
    assert reported == [(1, 20)]  # it is not called again
    assert len(asked) <= 8 + 1
    cause = caught.value.__cause__
    assert isinstance(cause, mp.PartialError)
    assert [len(series) for series in cause.results] == [60]
    assert cause.results["close"].tolist() == [1.0] * 60
    assert len(cause.failures) == 19


# faults.md row 43
@pytest.mark.parametrize("count", [1, 3])
def test_after_the_last_answer_everything_comes_along(demo, count):
    reported = []
    symbols = ["BTCUSDT", "ETHUSDT", "SOLUSDT"][:count]
    window = {"start": "2026-01-01", "end": "2026-01-02"}
    with demo.client("unlimited") as client:
        with pytest.raises(KeyboardInterrupt) as caught:
            client.candles(EXCHANGE, symbols, "1h", progress=after(count, KeyboardInterrupt(), reported), **window)
        results = caught.value.__cause__.results
        assert [len(series) for series in results] == [24] * count
        # The client lives on.
        assert len(client.candles(EXCHANGE, "BTCUSDT", "1h", **window)) == 1


def test_a_sync_that_is_ended_keeps_what_arrived(demo, tmp_path):
    archive = mp.Archive(tmp_path)
    symbols = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT"]
    window = {"start": "2026-01-01", "end": "2026-01-02"}
    calls = []
    with demo.client("unlimited") as client:
        with pytest.raises(SystemExit):
            archive.sync(client, "candles", EXCHANGE, symbols, "1h", progress=after(1, SystemExit(3), calls), **window)
        kept = {entry.symbol for entry in archive.contents()}
        assert kept
        rest = archive.sync(client, "candles", EXCHANGE, symbols, "1h", **window)
        assert rest.requests == len(symbols) - len(kept)


def test_an_exit_of_an_awaited_call_ends_the_program_with_its_status(environment):
    code = """if True:
        import asyncio, sys
        import marketpoints as mp

        async def work():
            async with mp.AsyncClient() as client:
                await client.candles("BYBIT", "BTCUSDT", "1h", start="2026-01-01", end="2026-01-02",
                                     progress=lambda *_: sys.exit(7))

        asyncio.run(work())
    """
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")
