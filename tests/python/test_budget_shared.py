"""One key in several processes: the budget is one, by a file or by Redis (section 8.1)."""

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import marketpoints as mp
from support import redis_server
from support.children import run
from support.scripted import scripted

# 100,000 minutes weigh 100, whatever is there (section 8.2).
CANDLES = {"exchange": "UPBIT", "symbol": "X", "interval": "1m", "start": 1_770_000_000, "period": 6_000_000}
NOW = 1_780_000_000

SPEND = """
    import json, logging, sys, time
    import marketpoints as mp

    class Keep(logging.Handler):
        def emit(self, record):
            if record.levelno != logging.INFO:  # why an answer is empty
                statuses.append(record.status)

    statuses = []
    logging.getLogger("marketpoints").addHandler(Keep())
    logging.getLogger("marketpoints").setLevel("DEBUG")
    now = float(sys.argv[1])
    with mp.Client(tier="advanced", clock=lambda: now, check_symbols=False, any_block_size=True) as client:
        print("ready", flush=True)
        input()
        begun = time.monotonic()
        for depth in [10_500] * 13 + [3_500]:
            client.orderbook_heatmap("UPBIT", "X", "1m", block_size=1, max_depth=depth, start=now - 240_000, end=now)
        print(json.dumps([statuses, begun, time.monotonic()]))
"""


@contextmanager
def child(code, *arguments, **variables):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | variables, **pipes) as process:
        try:
            assert process.stdout.readline() == "ready\n", process.communicate(timeout=60)
            yield process
        finally:
            process.kill()


# faults.md row 6
def test_a_plan_over_budget_in_two_processes_draws_no_429(service):
    """Each spends 13 × 56 + 40 of 1,500; together 36 more than the bucket holds, which refill in 2.88 s."""
    known = {"MARKETPOINTS_API_KEY": service.keys["advanced"], "MARKETPOINTS_BASE_URL": service.url}
    now = int(service.now()) // 60 * 60
    one, other = (child(SPEND, now, **known) for _ in range(2))
    with one as first, other as second:
        for process in (first, second):
            process.stdin.write("go\n")
            process.stdin.flush()
        outcomes = [json.loads(process.communicate(timeout=100)[0]) for process in (first, second)]
    statuses = [status for asked, _, _ in outcomes for status in asked]
    assert statuses == [200] * 112  # four of a thousand snapshots each time
    begun, ended = min(begun for _, begun, _ in outcomes), max(ended for _, _, ended in outcomes)
    # Section 8.1: 750 a minute. The rest is the work of 112 requests.
    assert (2 * (13 * 56 + 40) - 1500) / 12.5 <= ended - begun < 2.88 + 30
    with service.client("advanced") as client:
        assert client.usage().used == 2 * (13 * 56 + 40)


def headless(path):
    """An answer that says nothing of the budget, so that only what processes share can say it."""
    return {}


@pytest.fixture
def keyed(monkeypatch):
    """A key of the test's own, in the environment of its children too."""
    monkeypatch.setenv("MARKETPOINTS_API_KEY", "a-key-of-two-processes")
    return "a-key-of-two-processes"


LOOK = f"""
    import sys
    import marketpoints as mp
    now = {NOW}
    with mp.Client(base_url=sys.argv[1], tier="advanced", clock=lambda: now, **eval(sys.argv[2])) as client:
        client.candles("UPBIT", "X", "1m", period=60)
        print(client.budget.remaining)
"""


def left_for_another_process(url, **settings):
    command = [sys.executable, "-c", textwrap.dedent(LOOK), url, repr(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return int(done.stdout)


def spend(url, **settings):
    with mp.Client(base_url=url, tier="advanced", clock=lambda: NOW, **settings) as client:
        for _ in range(10):
            client.candles(**CANDLES)
        return client.budget.remaining


def test_another_process_sees_what_is_spent_unless_it_is_told_not_to(keyed, tmp_path):
    with scripted(headless) as (url, _):
        left = spend(url)
        assert 500 <= left < 900
        # It refills by 12.5 a second.
        assert left - 1 <= left_for_another_process(url) < left + 400
        assert left_for_another_process(url, budget="process") == 1499
        assert left_for_another_process(url, budget=str(tmp_path / "shared")) == 1499
        left = spend(url, budget=str(tmp_path / "shared"))
        assert left < 900
        assert left_for_another_process(url, budget=str(tmp_path / "shared")) < left + 400
        # Another key has a budget of its own.
        os.environ["MARKETPOINTS_API_KEY"] = "another-key"
        assert left_for_another_process(url) == 1499


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are not listed here")
def test_the_file_is_closed_with_the_last_client_of_a_key(tmp_path, monkeypatch):
    """A test's own service has an address of its own, and a thousand of them would have a thousand open files."""
    monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(tmp_path))

    def opened():
        files = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
        return sum(tmp_path.resolve() in file.parents for file in files)

    with scripted(headless) as (url, _):
        for key in ("one-key", "another"):
            with mp.Client(key, base_url=url, tier="advanced", clock=lambda: NOW) as client:
                with mp.Client(key, base_url=url, tier="advanced", clock=lambda: NOW) as second:
                    second.candles(**CANDLES)
                assert opened() == 1
                client.candles(**CANDLES)
                left = client.budget.remaining
            assert opened() == 0
            with mp.Client(key, base_url=url, tier="advanced", clock=lambda: NOW) as client:
                assert left <= client.budget.remaining < left + 400


def test_neither_the_key_nor_the_address_stands_in_the_file(keyed, tmp_path, monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(tmp_path))
    with scripted(headless) as (url, _):
        spend(url)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert len(files) == 1
        shown = str(files[0]) + files[0].read_text()
        assert keyed not in shown
        assert url.rpartition(":")[2] not in files[0].name
        assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
        assert stat.S_IMODE(files[0].parent.stat().st_mode) & 0o077 == 0


# faults.md row 45
def test_a_folder_that_cannot_be_written_stops_nobody(keyed, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(tmp_path / "file"))
    with scripted(headless) as (url, asked):
        assert spend(url) < 900
        assert len(asked) == 10
    notices = [record.message for record in caplog.records if "not shared for now" in record.message]
    assert len(notices) == 1


WAIT = f"""
    import sys
    import marketpoints as mp
    now = {NOW}
    with mp.Client(base_url=sys.argv[1], tier="advanced", clock=lambda: now) as client:
        print("ready", flush=True)
        try:
            client.candles("UPBIT", "X", "1m", start=1_770_000_000, period=6_000_000)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


def line_of(folder):
    """The line as the budget's file has it; None where that is being written at this moment."""
    (text,) = [path.read_text() for path in Path(folder).rglob("*.json")]
    try:
        return json.loads(text.split("\n")[0])["account"]["line"]
    except ValueError:
        return None


# faults.md row 46
@pytest.mark.parametrize(("end", "said"), [(signal.SIGKILL, ""), (signal.SIGINT, "interrupted\n")])
def test_who_leaves_the_line_holds_up_nobody(keyed, tmp_path, monkeypatch, end, said):
    """A process that waits for 100 of weight, 8 s, is killed or interrupted: the next in line needs 0.08 s."""
    monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(tmp_path))
    with scripted(headless) as (url, _), mp.Client(base_url=url, tier="advanced", clock=lambda: NOW) as client:
        for _ in range(15):
            client.candles(**CANDLES)
        with child(WAIT, url) as waiting:
            deadline = time.monotonic() + 60
            while not line_of(tmp_path):
                assert time.monotonic() < deadline
            waiting.send_signal(end)
            assert waiting.communicate(timeout=60)[0] == said
            begun = time.monotonic()
            client.candles("UPBIT", "X", "1m", period=60)
        assert time.monotonic() - begun < 6.5  # and not the rest of 8 s, or for ever
        assert line_of(tmp_path) == []


FORKS = f"""
    import os, signal, sys
    import marketpoints as mp
    now = {NOW}
    client = mp.Client(base_url=sys.argv[1], tier="advanced", clock=lambda: now)
    for _ in range(15):
        client.candles(**{CANDLES})
    children = []
    for _ in range(2):
        children.append(os.fork())
        if children[-1] == 0:
            client.candles(**{CANDLES})
            os._exit(0)
    print("ready", flush=True)
    input()
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_children_have_places_of_their_own_in_the_line(keyed, tmp_path, monkeypatch):
    """Both wait for 100 of weight, 8 s and 16 s. With one place for both, who asks less would overtake the other."""
    monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(tmp_path))
    with scripted(headless) as (url, _), child(FORKS, url) as parent:
        deadline = time.monotonic() + 30
        while len(line := line_of(tmp_path) or []) < 2:
            assert time.monotonic() < deadline, line
        parent.communicate("end", timeout=60)
    assert len({place["id"] for place in line}) == 2


@pytest.fixture
def redis(tmp_path):
    with redis_server.running(tmp_path) as address:
        yield address


def test_machines_share_a_budget_by_redis(keyed, redis, tmp_path, monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(tmp_path / "one"))
    with scripted(headless) as (url, _):
        left = spend(url, budget=redis)
        monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(tmp_path / "another machine"))
        assert left - 1 <= left_for_another_process(url, budget=redis) < left + 400
        monkeypatch.setenv("MARKETPOINTS_BUDGET", redis)
        assert left_for_another_process(url) < left + 400
        assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("wrong", ["everybody", "redis://user:secret-word@", "postgres://user:secret-word@host", "a/b"])
def test_what_is_no_budget_is_refused_without_its_password(wrong):
    with pytest.raises(mp.InvalidRequest, match="budget") as caught:
        mp.Client("key", "http://127.0.0.1:9", budget=wrong)
    assert "secret-word" not in str(caught.value)


def test_passwords_of_addresses_are_shown_nowhere_and_not_pickled(monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_API_KEY", "key")
    secret = "redis://user:secret-word@127.0.0.1:9/0"
    for settings in ({"budget": secret}, {"proxy": "http://user:secret-word@127.0.0.1:9"}):
        client = mp.Client(base_url="http://127.0.0.1:9", retries=0, **settings)
        with pytest.raises(mp.TransportError) as caught:
            client.usage()
        assert "secret-word" not in f"{client!r} {vars(client)} {caught.value} {vars(caught.value)}"
        with pytest.raises(TypeError, match="never carries a password"):
            client.__reduce__()


def test_the_environment_says_who_shares_the_budget(monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_BUDGET", "nonsense")
    with pytest.raises(mp.InvalidRequest, match="budget"):
        mp.Client("key", "http://127.0.0.1:9")


def test_importing_and_making_a_client_without_a_tier_writes_nothing(tmp_path):
    code = """
        import marketpoints as mp
        mp.Client("key", "http://127.0.0.1:9")
    """
    run(code, os.environ | {"MARKETPOINTS_CACHE_DIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
