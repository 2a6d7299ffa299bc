"""The clients as they are used: in scripts, notebooks, event loops, forks; what they cost; what they never show."""

import asyncio
import builtins
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import traceback
from contextlib import contextmanager

import pytest

import marketpoints as mp

MARKET = ("BINANCE_FUTURES", "BTCUSDT")


def run(code, environment=None, **options):
    """Runs Python code in a child process and returns its standard output."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@contextmanager
def silent_server():
    """A server that takes connections and never answers; yields its address and an event set at the first request."""
    asked, connections = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connections.append(connection)
                if connection.recv(1):
                    asked.set()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for connection in connections:
                connection.close()


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


def test_the_exports_are_there():
    assert all(hasattr(mp, name) for name in mp.__all__)
    assert mp.__version__.count(".") == 2


def test_candles(client, demo):
    answer = client.candles(*MARKET, "1h", period=24 * 3600)
    assert len(answer.timestamps) == 24
    end = int(demo.now()) // 3600 * 3600
    assert answer.timestamps[-1].astype("int64") == (end - 3600) * 1_000_000_000
    forming = client.candles(*MARKET, "1h", period=24 * 3600, include_forming=True)
    assert forming.timestamps[-1].astype("int64") == end * 1_000_000_000


def test_sides_add_up(client):
    window = {"start": 1_789_900_000, "end": 1_789_990_000}
    both = client.side_candles(*MARKET, "5m", **window)
    total = client.candles(*MARKET, "5m", **window)
    volume = both.sel(side="BUY")["volume"] + both.sel(side="SELL")["volume"]
    assert volume == pytest.approx(total["volume"], rel=1e-12)


def test_points_takes_the_wire_name(client):
    window = {"start": 1_789_990_000, "end": 1_789_999_000}
    assert client.points("TRADE_SIDE_AGNOSTIC_AGG", *MARKET, "MINUTE", **window)["close"].tolist() == (
        client.candles(*MARKET, "1m", **window)["close"].tolist()
    )
    assert client.candles([MARKET[0]], *MARKET[1:], "1m", extra={"sortDirection": None}, **window)["close"].size


def test_wire_order_does_not_show(client):
    window = {"start": 1_789_990_000, "end": 1_789_999_000}
    up, down = (client.candles(*MARKET, "1m", sort=sort, **window) for sort in ("asc", "desc"))
    assert up.timestamps.tolist() == down.timestamps.tolist() == sorted(up.timestamps.tolist())


def test_a_heatmap(client):
    shown = client.orderbook_heatmap(*MARKET, "1m", block_size=25, period=600)
    assert isinstance(shown.only, mp.Heatmap)
    assert len(shown.timestamps) == 10
    for snapshot in range(10):
        prices = shown.snapshot(snapshot)[:, 0]
        assert (prices[1:] >= prices[:-1]).all()  # best bid and best ask may share a bucket
        assert (prices % 25 == 0).all()


def test_markets(client):
    every = client.markets()
    assert len(every) > 20
    assert len({(one.exchange, one.raw_symbol) for one in every}) == len(every)
    some = client.markets(exchange="BINANCE_FUTURES", coin=["BTC", "ETH"])
    assert {one.raw_symbol for one in some} == {"BTCUSDT", "ETHUSDT"}
    assert {one.category for one in some} == {"PERPETUAL"}
    assert some[0].last_price > 0
    assert some[0].volume_24h > 0
    assert len(client.markets(limit=3)) == 3
    assert list(every[:3]) == list(client.markets(limit=3))
    assert list(every.to_pandas()["raw_symbol"]) == [one.raw_symbol for one in every]
    assert repr(some) == "<2 × Market>"


def test_the_plan_is_what_is_spent(service):
    with service.client("standard") as client:
        query = ("TRADE_AGG", *MARKET, "1m")
        end = int(service.now()) // 60 * 60
        window = {"start": end - 20 * 86_400, "end": end}
        before = client.usage()
        plan = client.plan(*query, **window)
        assert client.usage() == before
        assert plan.weight == sum(one.weight for one in plan.requests)
        assert plan.points == 20 * 1440
        assert plan.weight == mp.weight(query[0], interval="1m", period=20 * 86_400)
        client.points(*query, **window)
        assert client.usage().used - before.used == plan.weight
        assert client.budget.used == plan.weight
        assert plan.eta == 0
        assert str(plan.weight) in repr(plan)
        assert len(plan.to_pandas()) == len(plan.requests)


def test_progress_is_told(client, capsys):
    told = []
    window = {"start": "2025-01-01", "end": "2025-06-01"}
    client.candles(*MARKET, "1m", progress=lambda done, total: told.append((done, total)), **window)
    assert told[-1][0] == told[-1][1] > 1
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    client.candles(*MARKET, "1m", progress=True, **window)
    assert "request" in capsys.readouterr().err
    with pytest.raises(mp.InvalidRequest, match="progress"):
        client.candles(*MARKET, "1m", progress="yes", **window)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"interval": "1x"}, "1x"),
        ({"interval": None}, "interval"),
        ({"start": 1_789_990_000_000}, "milliseconds"),
        ({"start": "2026-09-01", "end": "2026-08-01"}, "end"),
        ({"exchange": 5}, "exchange"),
        ({"exchange": [MARKET[0], 5]}, "exchange"),
        ({"symbol": 5}, "symbol"),
        ({"gapfill": "false"}, "gapfill"),
        ({"group_by": "mean"}, "mean"),
        ({"sort": "up"}, "up"),
        ({"extra": "a=b"}, "extra"),
        ({"symbol": "BTCUSDT", "coin": "BTC"}, "coin"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_sent(arguments, word):
    # Nobody listens at the discard port: a request would fail with another error.
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client:
        given = {"exchange": MARKET[0], "symbol": MARKET[1], "interval": "1m", "period": 600} | arguments
        with pytest.raises(mp.InvalidRequest) as caught:
            client.candles(**given)
        assert word in str(caught.value)


@pytest.mark.parametrize(("depth", "size"), [(0, 1.0), (True, 1.0), (1.5, 1.0), (10, "1"), (10, -1.0), (10, None)])
def test_wrong_heatmap_arguments(depth, size):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest):
        client.orderbook_heatmap(*MARKET, "1m", period=600, max_depth=depth, block_size=size)


def test_settings_come_from_the_environment(monkeypatch, demo):
    for name in ("MARKETPOINTS_API_KEY", "MARKETPOINTS_BASE_URL", "MARKETPOINTS_TIER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(mp.InvalidRequest, match="MARKETPOINTS_API_KEY"):
        mp.Client(base_url=demo.url)
    with pytest.raises(mp.InvalidRequest, match="MARKETPOINTS_BASE_URL"):
        mp.Client(demo.keys["free"])
    monkeypatch.setenv("MARKETPOINTS_API_KEY", demo.keys["basic"])
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", demo.url)
    monkeypatch.setenv("MARKETPOINTS_TIER", "basic")
    with mp.Client() as client:
        assert client.tier == "basic"
        assert client.usage().limit == 50
    with mp.Client(demo.keys["standard"], tier="standard") as client:
        assert client.usage().limit == 100


@pytest.mark.parametrize("settings", [{"tier": "gold"}, {"timeout": 0}, {"timeout": float("nan")}, {"max_wait": -2}])
def test_wrong_settings_are_refused(settings, demo):
    with pytest.raises(mp.InvalidRequest):
        mp.Client("key", demo.url, **settings)


@pytest.mark.parametrize("key", ["with space", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key, demo):
    with pytest.raises(mp.InvalidRequest) as caught:
        mp.Client(key, demo.url)
    assert key not in str(caught.value)


def everything_shown(thing):
    html = getattr(thing, "_repr_html_", str)()
    return f"{thing!r} {thing} {html} {getattr(thing, '__dict__', '')}"


def test_the_key_is_shown_nowhere(service):
    key = service.keys["free"]
    client = service.client("free", retries=0)
    shown = everything_shown(client) + everything_shown(service.async_client("free"))
    shown += everything_shown(client.plan("TRADE_AGG", *MARKET, "1m", period=600))
    shown += "".join(one.url for one in client.plan("TRADE_AGG", *MARKET, "1m", period=600).requests)
    shown += everything_shown(service)
    failures = [
        lambda: client.points("NO_SUCH_TYPE", *MARKET, "1m", period=600),
        lambda: client.candles(*MARKET, "1m", start="2020-01-01", end="2020-01-02"),
        lambda: mp.Client(key + "x", service.url).usage(),
        lambda: mp.Client(key, "http://127.0.0.1:9", retries=0).usage(),
    ]
    for failing in failures:
        with pytest.raises(mp.Error) as caught:
            failing()
        error = caught.value
        shown += "".join(traceback.format_exception(error)) + everything_shown(error) + f"{vars(error)}"
    assert key not in shown


def test_refusals_have_their_classes(service):
    with pytest.raises(mp.AuthenticationError) as caught:
        mp.Client("nonsense", service.url).usage()
    assert (caught.value.status, caught.value.code) == (401, "INVALID_API_KEY")
    assert caught.value.request.startswith(service.url)
    with service.client("free") as client, pytest.raises(mp.TierError) as caught:
        client.candles(*MARKET, "1h", start="2020-01-01", end="2020-01-02")
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.TransportError):
        client.usage()


def test_a_wait_for_budget_has_a_limit(service):
    with service.client("free", max_wait=0) as client:
        for _ in range(20):
            client.candles(*MARKET, "1m", period=60)
        with pytest.raises(mp.RateLimitError) as caught:
            client.candles(*MARKET, "1m", period=60)
        assert 0 < caught.value.retry_after <= 6


def test_a_silent_server_times_out():
    with silent_server() as (url, _), mp.Client("key", url, timeout=0.2, retries=0) as client:
        with pytest.raises(mp.TimeoutError) as caught:
            client.usage()
        assert isinstance(caught.value, builtins.TimeoutError)


def test_a_closed_client_says_so(demo):
    client = demo.client("unlimited")
    client.close()
    client.close()
    for call in (client.usage, lambda: client.budget, lambda: client.candles(*MARKET, "1m", period=60)):
        with pytest.raises(mp.Error, match="closed"):
            call()
    assert "closed" in repr(client)


def test_a_pickle_never_carries_the_key(monkeypatch, demo):
    key = demo.keys["basic"]
    monkeypatch.delenv("MARKETPOINTS_API_KEY", raising=False)
    client = mp.Client(key, demo.url, tier="basic", timeout=7)
    with pytest.raises(TypeError, match="never carries the key"):
        pickle.dumps(client)
    monkeypatch.setenv("MARKETPOINTS_API_KEY", key)
    data = pickle.dumps(client)
    assert key.encode() not in data
    with pickle.loads(data) as again:
        assert (again.base_url, again.tier) == (demo.url, "basic")
        assert again.usage().limit == 50
    monkeypatch.delenv("MARKETPOINTS_API_KEY")
    with pytest.raises(mp.InvalidRequest, match="MARKETPOINTS_API_KEY"):
        pickle.loads(data)
    with pytest.raises(TypeError, match="clock"):
        pickle.dumps(demo.client())


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
    assert list(markets) == list(client.markets(limit=2))


def test_one_client_serves_one_loop_after_another(demo):
    awaited = demo.async_client("unlimited")
    counts = [len(asyncio.run(awaited.candles(*MARKET, "1h", period=36_000)).timestamps) for _ in range(3)]
    assert counts == [10, 10, 10]


def test_both_clients_have_the_same_methods():
    def public(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(mp.Client) == public(mp.AsyncClient)


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


@pytest.mark.parametrize(
    "call",
    ["client.usage()", "asyncio.run(wait(client))"],
    ids=["blocking", "awaited"],
)
def test_ctrl_c_interrupts(call):
    code = f"""
        import asyncio
        import marketpoints as mp

        async def wait(client):
            await mp.AsyncClient("key", client.base_url, timeout=60, retries=0).usage()

        client = mp.Client("key", input(), timeout=60, retries=0)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted")
    """
    with silent_server() as (url, asked):
        command = [sys.executable, "-c", textwrap.dedent(code)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as child:
            child.stdin.write(f"{url}\n")
            child.stdin.flush()
            assert asked.wait(60)
            child.send_signal(signal.SIGINT)
            out, problems = child.communicate(timeout=30)
    assert (out, problems, child.returncode) == ("interrupted\n", "", 0)


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
    environment.pop("PYTHONWARNINGS")  # Python 3.12 warns of every fork beside a thread
    assert run(code, environment) == "both\n"


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


def test_the_interpreter_ends_with_calls_in_flight():
    code = """
        import threading
        import marketpoints as mp

        client = mp.Client("key", input(), timeout=60, retries=0)
        threading.Thread(target=client.usage, daemon=True).start()
        input()
        print("end")
    """
    with silent_server() as (url, asked):
        command = [sys.executable, "-c", textwrap.dedent(code)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as child:
            child.stdin.write(f"{url}\n")
            child.stdin.flush()
            assert asked.wait(60)
            out, problems = child.communicate("go on\n", timeout=30)
    assert (out, problems, child.returncode) == ("end\n", "", 0)


def test_a_service_says_what_it_is(service):
    assert repr(service).startswith(f"<LocalService {service.url}, demo market, 2026-09-21 14:13")
    with pytest.raises(mp.InvalidRequest, match="tier: 'gold' is not one of advanced, basic"):
        service.client("gold")
    before = service.now()
    service.advance(100)
    assert service.now() >= before + 100
    with pytest.raises(mp.InvalidRequest):
        service.advance(-1)
    service.stop()
    service.stop()


def test_a_taken_port_is_named(service):
    port = int(service.url.rpartition(":")[2])
    with pytest.raises(mp.Error, match=str(port)):
        mp.LocalService(port=port)


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    with pytest.raises(mp.InvalidRequest):
        mp.LocalService(data=tmp_path / "nothing")
    with pytest.raises(mp.InvalidRequest):
        mp.ingest(tmp_path / "nothing", tmp_path / "store")


def test_weights_take_names_and_durations():
    assert mp.weight("TRADE_AGG", points=1000, exchanges=["BINANCE", "BYBIT"]) == 2
    assert mp.weight("TRADE_AGG", points=1000, exchanges="BINANCE") == 1
    assert mp.weight("BLOCK_BOOK_SNAPSHOT_AGG", points=1000, max_depth=7001) == 14
    with pytest.raises(mp.InvalidRequest, match="did you mean"):
        mp.weight("TRADE_AG", points=1)
