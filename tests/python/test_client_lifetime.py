"""What programs do to a client: interrupts, threads, loops, forks, ten thousand calls, the interpreter's end."""

import asyncio
import gc
import logging
import multiprocessing
import operator
import os
import signal
import sys
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor

import pytest

import marketpoints as mp
from marketpoints.common import logs
from support.children import run, silent_server, started
from support.scripted import scripted

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
WINDOW = {"start": "2026-01-01", "end": "2026-01-05"}


def interrupted(code, url, ready, **variables):
    """Runs a child, interrupts it when ``ready()`` says so, and gives its output."""
    with started(code, url, env=os.environ | variables) as child:
        ready(child)
        child.send_signal(signal.SIGINT)
        out, problems = child.communicate(timeout=30)
    assert (problems, child.returncode) == ("", 0)
    return out


@pytest.mark.parametrize("call", ["wait(client)", "asyncio.run(wait_async())"], ids=["blocking", "awaited"])
def test_d3_38_ctrl_c_ends_a_wait_for_budget_and_the_client_lives_on(call):
    code = f"""
        import asyncio, sys
        import marketpoints as mp

        MARKET, now = ("UPBIT", "X", "1m"), 1_780_000_000
        url = input()
        client = mp.Client("key", url, tier="free", clock=lambda: now)
        for _ in range(20):
            client.candles(*MARKET, period=60)

        def wait(client):
            print("waiting", flush=True)
            for _ in range(100):
                client.candles(*MARKET, period=60)

        async def wait_async():
            async with mp.AsyncClient("key", url, tier="free", clock=lambda: now) as again:
                print("waiting", flush=True)
                for _ in range(100):
                    await again.candles(*MARKET, period=60)

        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted")
        try:  # at once again: the line is free
            mp.Client("key", url, tier="free", clock=lambda: now, max_wait=0).candles(*MARKET, period=60)
        except mp.RateLimitError as error:
            print(0 < error.retry_after <= 6)
    """

    def ready(child):
        assert child.stdout.readline() == "waiting\n"

    with scripted(lambda path: {}) as (url, _):
        assert interrupted(code, url, ready) == "interrupted\nTrue\n"


def test_d3_38_a_second_ctrl_c_is_no_worse_than_the_first():
    code = """
        import marketpoints as mp

        client = mp.Client("key", input(), retries=0)
        for _ in range(2):
            try:
                client.usage()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
    """
    with silent_server() as (url, asked):

        def ready(child):
            assert asked.wait(60)
            asked.clear()
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert asked.wait(60)  # in the second call

        assert interrupted(code, url, ready) == "interrupted\n"


def test_d3_38_ctrl_c_while_the_logger_is_asked_is_not_lost(monkeypatch):
    def threshold():
        signal.raise_signal(signal.SIGINT)
        return logging.CRITICAL

    monkeypatch.setattr(logs, "threshold", threshold)
    with scripted(lambda path: {"tier": "FREE"}) as (url, served), mp.Client("key", url) as client:
        with pytest.raises(KeyboardInterrupt):
            client.usage()
        assert not served


def test_d3_39_a_loop_that_closes_and_an_awaitable_that_nobody_keeps():
    async def leave(url, asked):
        client = mp.AsyncClient("key", url, retries=0)
        task = asyncio.ensure_future(client.usage())
        assert await asyncio.to_thread(asked.wait, 30)
        return task  # the loop ends with the call in flight

    async def drop(client):
        awaitable = asyncio.ensure_future(client.usage())
        kept = weakref.ref(awaitable)
        await asyncio.sleep(0)
        awaitable.cancel()
        del awaitable
        await asyncio.sleep(0.01)
        gc.collect()
        return kept()

    with silent_server() as (url, asked):
        asyncio.run(leave(url, asked))
    with scripted(lambda path: {"limit": 10}) as (url, _):
        client = mp.AsyncClient("key", url)
        assert asyncio.run(drop(client)) is None
        assert asyncio.run(client.usage()).limit == 10


def test_d3_39_a_call_outside_a_loop_says_so(demo):
    client = demo.async_client("unlimited")
    with pytest.raises(RuntimeError, match="event loop"):
        client.usage().send(None)


def test_d3_40_thirty_two_threads_share_a_client_and_its_budget(service):
    answers = []
    with service.client("advanced") as client, service.client("advanced") as other:
        expected = client.candles(*MARKET, "1h", period=36_000)["close"].tolist()

        def fetch(index):
            for _ in range(5):
                answers.append((client, other)[index % 2].candles(*MARKET, "1h", period=36_000)["close"].tolist())

        threads = [threading.Thread(target=fetch, args=(index,)) for index in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert answers == [expected] * 160
        assert client.usage().used == client.budget.used == other.budget.used == 161


def test_d3_41_a_client_goes_to_another_process_without_its_key(demo, monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_API_KEY", demo.keys["basic"])
    client = mp.Client(base_url=demo.url, tier="basic")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(operator.methodcaller("usage"), client).result(60).limit == 50


@pytest.mark.parametrize("end", ["", "import os; sys.stdout.flush(); os._exit(0)"], ids=["returns", "exits"])
def test_d3_42_the_interpreter_ends_while_many_calls_are_in_flight(end, environment):
    code = f"""
        import sys, threading
        import marketpoints as mp

        client, begun = mp.Client(), threading.Semaphore(0)

        def fetch():
            while True:
                client.candles("BYBIT", "BTCUSDT", "1m", start="2026-01-01", end="2026-01-03")
                begun.release()

        for _ in range(8):
            threading.Thread(target=fetch, daemon=True).start()
        for _ in range(8):
            begun.acquire()
        print("end")
        {end}
    """
    for _ in range(3):
        assert run(code, environment) == "end\n"


def test_d3_42_a_subinterpreter_works_or_is_refused_and_never_crashes():
    code = """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters

        import marketpoints as mp

        mp.weight("TRADE_AGG", points=1)  # Python 3.11 warns of a decimal module that a subinterpreter loads first
        one = interpreters.create()
        try:
            weigh = "import marketpoints as mp; assert mp.weight('TRADE_AGG', points=1) == 1"
            said = interpreters.run_string(one, weigh)
        except interpreters.RunFailedError as error:  # how Python 3.11 tells what was raised
            said = error
        assert said is None or "ImportError" in str(said), said
        interpreters.destroy(one)
        print(mp.weight("TRADE_AGG", points=1))
    """
    try:
        import _xxsubinterpreters  # noqa: F401
    except ImportError:
        pytest.importorskip("_interpreters")
    assert run(code, os.environ | {"PYTHONWARNINGS": "ignore"}) == "1\n"


def test_d3_43_a_callback_that_raises_spoils_nothing(client, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: raised.append(problem.exc_value))

    def fail(done, total):
        raise KeyError("mine")

    answer = client.candles(*MARKET, "1h", progress=fail, **WINDOW)
    assert len(answer["close"]) == 96
    assert [repr(problem) for problem in raised] == ["KeyError('mine')"]
    assert len(client.candles(*MARKET, "1h", **WINDOW)["close"]) == 96


def test_d3_44_ten_thousand_calls_leave_the_memory_flat(environment):
    code = """
        import os
        import marketpoints as mp

        def memory():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        sums = 0
        with mp.Client() as client:
            for call in range(10_000):
                if call == 2_000:
                    before = memory()
                answer = client.candles("BYBIT", "BTCUSDT", "1m", start="2026-01-01", end="2026-01-01T00:24")
                sums += len(answer["close"])
        assert sums == 240_000
        grown = memory() - before
        print("flat" if grown < 4 << 20 else f"grew by {grown}")
    """
    if not os.path.exists("/proc/self/statm"):  # noqa: PTH110 - a file of the system
        pytest.skip("this system does not tell a process's memory")
    assert run(code, environment, timeout=280) == "flat\n"


def test_d3_44_views_outlive_the_client(demo):
    with demo.client("unlimited") as client:
        answer = client.candles(*MARKET, "1h", **WINDOW)
        close, expected = answer["close"], answer["close"].tolist()
    del answer, client
    gc.collect()
    assert close.tolist() == expected
