"""The clients where they run: threads, event loops, forks, interrupts, the interpreter's end."""

import asyncio
import gc
import logging
import os
import signal
import textwrap
import threading
import time
from contextlib import contextmanager

import pytest

import marketpoints as mp
from support.broken import Connections
from support.children import run, silent_server, started, without_certificates

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
#: A call whose answer is small runs on its caller's thread, any other on the engine's.
SMALL_CALL = 'client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600)'


def test_importing_loads_nothing_heavy():
    heavy = ["numpy", "pandas", "polars", "pyarrow", "matplotlib", "tqdm", "asyncio", "marketpoints.plots"]
    code = f"""
        import sys, threading
        import marketpoints as mp
        assert mp.weight("TRADE_AGG", interval="1m", period=3600) == 1
        assert mp.TIERS["advanced"].burst == 1500
        print([name for name in {heavy} if name in sys.modules], threading.active_count())
    """
    assert run(code) == "[] 1\n"


def test_importing_loads_the_engine_and_no_more():
    code = """
        import sys
        import marketpoints as mp
        loaded = sorted(name for name in sys.modules if name.startswith("marketpoints"))
        print(loaded, dir(mp) == mp.__all__, "Client" in dir(mp))
        mp.Client, mp.adapters.closes
        assert (dir(mp.adapters), dir(mp.dask)) == (mp.adapters.__all__, mp.dask.__all__)
        print("marketpoints.client.clients" in sys.modules, "urllib.request" in sys.modules, "ssl" in sys.modules)
    """
    assert run(code) == "['marketpoints', 'marketpoints._engine'] True True\nTrue False False\n"


# faults.md row 19
def test_without_certificates_of_the_system_a_service_without_encryption_is_asked(service, tmp_path):
    code = f"""
        import marketpoints as mp
        with mp.Client({service.keys["unlimited"]!r}, {service.url!r}, clock=lambda: {service.now()}) as client:
            print(len(client.candles(*{MARKET}, "1h", period=86_400).only))
        try:
            mp.Client("k", "https://127.0.0.1:9")
        except mp.TransportError as error:
            print(error)
    """
    rows, message = run(code, without_certificates(tmp_path)).splitlines()
    assert rows == "24"
    assert "No CA certificates" in message and "ca-certificates" in message and "ca_certs=" in message


def test_many_threads_share_a_client(client):
    answers, expected = [], client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-05")["close"].tolist()

    def fetch():
        answers.append(client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-05")["close"].tolist())

    threads = [threading.Thread(target=fetch) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [expected] * 16


def test_the_blocking_client_works_inside_a_running_loop(client):
    async def cell():
        return client.candles(*MARKET, "1h", period=36_000)

    assert len(asyncio.run(cell()).timestamps) == 10


def test_the_awaited_client_answers_the_same(demo, client):
    window = {"start": "2026-01-01", "end": "2026-01-02"}

    async def main():
        async with demo.async_client("unlimited") as awaited:
            candles, sides, book, markets, usage = await asyncio.gather(
                awaited.candles(*MARKET, "1h", **window),
                awaited.side_candles(*MARKET, "1h", **window),
                awaited.orderbook_heatmap(*MARKET, "1h", block_size=50, **window),
                awaited.markets(limit=2),
                awaited.usage(),
            )
            assert awaited.budget.limit == usage.limit
            assert awaited.plan("TRADE_AGG", *MARKET, "1h", **window).points == 24
        with pytest.raises(mp.Error, match="closed"):
            await awaited.usage()
        return candles, sides, book, markets

    candles, sides, book, markets = asyncio.run(main())
    assert candles["close"].tolist() == client.candles(*MARKET, "1h", **window)["close"].tolist()
    assert len(sides) == 2
    assert book.levels.tolist() == client.orderbook_heatmap(*MARKET, "1h", block_size=50, **window).levels.tolist()
    assert len(markets) == 2


# faults.md row 39
def test_one_client_serves_one_loop_after_another(demo):
    awaited = demo.async_client("unlimited")
    counts = [len(asyncio.run(awaited.candles(*MARKET, "1h", period=36_000)).timestamps) for _ in range(3)]
    assert counts == [10, 10, 10]


def test_both_clients_have_the_same_methods():
    def public(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(mp.Client) == public(mp.AsyncClient)


# faults.md row 39
def test_an_awaited_call_can_be_cancelled():
    async def main(url, asked):
        async with mp.AsyncClient("key", url, timeout=60, retries=0) as client:
            task = asyncio.ensure_future(client.usage())
            assert await asyncio.to_thread(asked.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.usage(), 0.05)

    with silent_server() as (url, asked):
        asyncio.run(main(url, asked))


def test_errors_reach_the_awaiting_side(demo):
    async def main():
        async with mp.AsyncClient("nonsense", demo.url) as client:
            with pytest.raises(mp.AuthenticationError):
                await client.usage()

    asyncio.run(main())


#: Calls with an argument that no client takes, by the argument's name.
REFUSED_CALLS = {
    "end": lambda client, _: client.candles(*MARKET, "1m", start=2, end=1),
    "session": lambda client, _: client.points("TPO", *MARKET, "30m", session="lunch", period=86_400),
    "limit": lambda client, _: client.leaderboard(limit=-1),
    "user_wallet": lambda client, _: client.trader_profile(7),
    "offset": lambda client, _: client.positions("0x1", offset=-1),
    "asset_id": lambda client, _: client.market_summary(),
    "max_weight": lambda client, _: client.user_categories("0x1", max_weight="much"),
    "distinct": lambda client, _: client.markets(distinct="yes"),
    "category": lambda client, _: client.coins(category="SPOTS"),
    "start": lambda client, archive: archive.sync(client, "candles", *MARKET, "1m"),
    "period": lambda client, archive: archive.refresh(client, "candles", *MARKET, "1m", period="soon"),
    "type": lambda client, archive: archive.verify(client),
    "universe": lambda client, archive: archive.sync_all(client, 7),
    "nowhere.toml": lambda client, archive: archive.plan_all(client, "nowhere.toml"),
}


def test_refused_arguments_reach_the_awaiting_side_too(tmp_path):
    """One bad symbol of many leaves ``asyncio.gather`` with the answers of the others, and no call never awaited."""

    async def main():
        archive = mp.Archive(tmp_path / "kept")
        async with mp.AsyncClient("key", "http://127.0.0.1:9", tier="advanced", retries=0) as client:
            calls = [call(client, archive) for call in REFUSED_CALLS.values()]
            return await asyncio.gather(*calls, return_exceptions=True)

    for name, error in zip(REFUSED_CALLS, asyncio.run(main()), strict=True):
        assert isinstance(error, mp.InvalidRequest), name
        assert name in str(error)


def test_arguments_are_read_when_a_method_is_called_not_when_it_is_awaited(demo, tmp_path):
    async def main():
        symbols, extra, calls = [], {}, []
        block = {"type": "candles", "exchange": "BYBIT", "interval": "1h", "start": "2026-01-01", "end": "2026-01-02"}
        archive = mp.Archive(tmp_path / "kept")
        async with demo.async_client("unlimited") as client:
            for symbol in ("BTCUSDT", "ETHUSDT"):
                symbols[:] = [symbol]
                block["symbol"] = symbol
                extra["normalizedSymbol"] = symbol.replace("USDT", "-USDT")
                window = {"start": "2026-01-01", "end": "2026-01-02"}
                calls += [
                    client.candles("BYBIT", symbols, "1h", **window),
                    client.points("volume_profile", "BYBIT", interval="1h", extra=extra, **window),
                    archive.plan_all(client, block),
                ]
            return await asyncio.gather(*calls)

    answers = asyncio.run(main())
    assert [one.only.id.raw_symbol for one in answers[0::3]] == ["BTCUSDT", "ETHUSDT"]
    assert [one.only.id.normalized_symbol for one in answers[1::3]] == ["BTC-USDT", "ETH-USDT"]
    assert [one.series[0].symbol for one in answers[2::3]] == ["BTCUSDT", "ETHUSDT"]


# faults.md row 38
@pytest.mark.parametrize(
    "call",
    ["client.usage()", SMALL_CALL, "asyncio.run(wait(client))"],
    ids=["blocking", "small", "awaited"],
)
def test_ctrl_c_interrupts(call):
    code = f"""
        import asyncio
        import marketpoints as mp

        async def wait(client):
            await mp.AsyncClient("key", client.base_url, timeout=60, retries=0).usage()

        client = mp.Client("key", input(), timeout=60, retries=0, tier="basic", check_symbols=False)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted")
    """
    with silent_server() as (url, asked), started(code, url) as child:
        assert asked.wait(60)
        child.send_signal(signal.SIGINT)
        out, problems = child.communicate(timeout=30)
    assert (out, problems, child.returncode) == ("interrupted\n", "", 0)


# faults.md row 41
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_gets_an_engine_of_its_own(environment):
    code = """
        import os
        import marketpoints as mp

        def fetch(client):
            return client.candles("BYBIT", "BTCUSDT", "1h", start="2026-01-01", end="2026-01-02")["close"].sum()

        client = mp.Client()
        expected = fetch(client)
        child = os.fork()
        if child == 0:
            os._exit(0 if fetch(client) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert fetch(client) == expected
        print("both")
    """
    environment["PYTHONWARNINGS"] = "ignore"  # Python 3.12 warns of every fork beside a thread
    assert run(code, environment) == "both\n"


# faults.md row 41
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_ends_cleanly():
    code = """
        import os, sys
        import marketpoints as mp

        with mp.LocalService() as service, service.client("unlimited") as client:
            client.usage()
            child = os.fork()
            if child:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
                client.usage()
                print("parent")
        sys.stdout.flush()
    """
    assert run(code, os.environ | {"PYTHONWARNINGS": "ignore"}) == "parent\n"


@pytest.mark.parametrize("call", ["client.usage()", SMALL_CALL], ids=["large", "small"])
def test_the_interpreter_ends_with_calls_in_flight(call):
    code = f"""
        import threading
        import marketpoints as mp

        client = mp.Client("key", input(), timeout=60, retries=0, tier="basic", check_symbols=False)
        threading.Thread(target=lambda: {call}, daemon=True).start()
        input()
        print("end")
    """
    with silent_server() as (url, asked), started(code, url) as child:
        assert asked.wait(60)
        out, problems = child.communicate("go on\n", timeout=30)
    assert (out, problems, child.returncode) == ("end\n", "", 0)


def ask(client):
    return client.candles(*MARKET, "1m", period=3600)


def test_small_calls_share_a_connection_and_closing_the_client_ends_it():
    with Connections() as server, server.client() as client:
        for _ in range(5):
            ask(client)
        assert (server.asked, server.opened) == (5, 1)
        client.close()
        assert server.ended.wait(30)


def test_a_connection_that_ended_between_two_small_calls_is_made_anew():
    with Connections(closes=True) as server, server.client() as client:
        for count in range(1, 21):
            ask(client)
            assert server.asked == count, "no call fails, and none is sent twice"
            assert server.closed.acquire(timeout=30)


def test_an_interrupted_small_call_ends_its_connection():
    with Connections(silent=True) as server, server.client(timeout=60) as client:
        interrupt = threading.Thread(target=lambda: server.came.wait(60) and os.kill(os.getpid(), signal.SIGINT))
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            ask(client)
        interrupt.join(60)
        assert server.ended.wait(30)


def test_small_calls_of_many_threads_do_not_wait_for_each_other():
    outcomes = []
    with Connections(silent=True) as slow, Connections() as quick, slow.client(timeout=60) as hanging:

        def hang():
            with pytest.raises(mp.TransportError):
                ask(hanging)
            outcomes.append("failed")

        held = threading.Thread(target=hang)
        held.start()
        assert slow.came.wait(60)
        with quick.client() as client:
            threads = [threading.Thread(target=ask, args=(client,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert quick.asked == 8
        assert outcomes == []
        slow.close()
        held.join(60)
        assert outcomes == ["failed"]


def test_a_small_call_that_waits_leaves_the_processor_to_others():
    with Connections(silent=True) as server, server.client(timeout=1) as client:
        before = time.process_time()
        with pytest.raises(mp.TransportError, match="timeout"):
            ask(client)
        assert time.process_time() - before < 0.5, "it only looks for its answer at first, then it sleeps"


def test_a_client_is_used_by_small_and_large_calls_in_turn():
    with Connections() as server, server.client() as client:
        for _ in range(3):
            ask(client)
            client.candles(*MARKET, "1m", period=86_400, progress=lambda done, total: None)
        assert (server.asked, server.opened) == (6, 2), "a connection for each kind"


def test_a_handler_of_the_log_may_ask_in_the_midst_of_a_small_call(caplog):
    class Ask(logging.Handler):
        def emit(self, record):
            if not answers:
                answers.append(None)
                answers.append(ask(client))

    answers, handler, logger = [], Ask(), logging.getLogger("marketpoints")
    caplog.set_level(logging.DEBUG, "marketpoints")
    logger.addHandler(handler)
    try:
        with Connections() as server, server.client() as client:
            ask(client)
    finally:
        logger.removeHandler(handler)
    assert len(answers) == 2
    assert server.asked == 2


def test_a_client_that_nobody_closed_ends_its_connection():
    with Connections() as server:
        client = server.client()
        ask(client)
        del client
        gc.collect()
        assert server.ended.wait(30)


@contextmanager
def interrupting(server, handler):
    """Has SIGUSR1 handled so, which comes when the server was asked."""
    before = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Thread(target=lambda: server.came.wait(60) and os.kill(os.getpid(), signal.SIGUSR1))
    sender.start()
    try:
        yield
    finally:
        sender.join(60)
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there is no such signal here")
def test_a_handler_of_a_signal_may_ask_in_the_midst_of_a_small_call():
    go, answers = threading.Event(), []

    def handler(*_):
        go.set()
        # The call in the midst has to learn the limits for both, while this one waits for them.
        answers.append(ask(client))

    with (
        Connections(answers_after=go) as server,
        # A key of its own: the process knows the limits of "key" at this address if an earlier test had the same port.
        mp.Client("key-of-this-test", server.url, retries=0, check_symbols=False) as client,
        interrupting(server, handler),
    ):
        answers.append(ask(client))
    assert len(answers) == 2
    assert server.asked == 3, "the limits and two answers"


FORKING = """
    import logging, os, signal
    import marketpoints as mp
    from marketpoints.common import logs

    children = []

    def fork(*_):
        if not children:
            children.append(os.fork())
        return logging.CRITICAL

    client = mp.Client("key", input(), tier="advanced", retries=0, check_symbols=False)
    {when}
    try:
        client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600, progress={progress})
    except RuntimeError as error:
        os._exit(7 if children == [0] and "forked" in str(error) else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
"""


@pytest.fixture(params=["None", "lambda *_: None"], ids=["on its caller's thread", "on the engine's threads"])
def forking(request):
    """Starts a child process whose call forks once: that of the child of the child ends without the answer."""
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")

    def start(when, server):
        code = textwrap.dedent(FORKING).format(when=when, progress=request.param)
        return started(code, server.url, env=os.environ | {"PYTHONWARNINGS": "ignore"})

    return start


def test_a_fork_in_the_midst_of_a_call_leaves_it_to_the_parent(forking):
    go = threading.Event()
    with Connections(answers_after=go) as server:
        with forking("signal.signal(signal.SIGUSR1, fork)", server) as child:
            assert server.came.wait(60)
            child.send_signal(signal.SIGUSR1)
            # The exit code of the child's child is read after that of the call.
            threading.Timer(1, go.set).start()
            assert child.stdout.read() == "7\n"
        assert (server.asked, server.opened) == (1, 1)


def test_a_fork_while_the_logger_is_asked_leaves_the_call_to_the_parent(forking):
    with Connections() as server:
        with forking("logs.threshold = fork", server) as child:
            assert child.stdout.read() == "7\n"
        assert (server.asked, server.opened) == (1, 1)
