"""Universes that weigh more than the budget: one bar that says so, and processes of one key, one of which is killed."""

import os
import queue
import re
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import marketpoints as mp
from support import redis_server
from support.archives import END, part_files

MINUTE = 60
#: 156 series of weight 10: 60 more than the bucket of the tier advanced, which refill in 4.8 s (section 8.1).
SERIES, WEIGHT = 156, 10
#: Of symbols that the demo market lacks: the service answers with nothing at no cost of its own.
MANY = {
    "type": "candles",
    "exchange": "BINANCE_FUTURES",
    "symbol": [f"NONE{number}USDT" for number in range(SERIES)],
    "interval": "1m",
    "start": END - WEIGHT * 1_000 * MINUTE,
    "end": END,
}
CHILD = """
import sys
import marketpoints as mp
folder, url, key = sys.argv[1:]
settings = {{"tier": "advanced", "archive_source": "twin", "check_symbols": False, "timeout": 300}}
with mp.Client(key, url, clock=lambda: {now}, **settings) as client:
    report = mp.Archive(folder).sync_all(client, {universe!r}, progress=lambda done, total: print(done, flush=True))
print("weight", report.weight, bool(report), flush=True)
"""


@pytest.fixture
def service():
    with mp.LocalService(now=END + 900, strict_symbols=False) as running:
        yield running


@pytest.fixture
def start(service):
    children = []

    def run(folder, budget):
        code = textwrap.dedent(CHILD).format(now=service.now(), universe=MANY)
        command = [sys.executable, "-c", code, str(folder), service.url, service.keys["advanced"]]
        own = {name: value for name, value in os.environ.items() if not name.startswith("MARKETPOINTS_")}
        own |= {"MARKETPOINTS_CACHE_DIR": os.environ["MARKETPOINTS_CACHE_DIR"], "MARKETPOINTS_BUDGET": budget}
        children.append(subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return children[-1]

    yield run
    for child in children:
        child.kill()
        child.wait(20)
        child.stdout.close()
        child.stderr.close()


@pytest.mark.parametrize("shared", ["a file", "Redis"])
def test_four_processes_of_which_one_is_killed_draw_no_429_and_waste_no_time(service, start, tmp_path, shared):
    if shared == "Redis":
        with redis_server.running(tmp_path) as address:
            four_processes(service, start, tmp_path / "archive", address)
    else:
        four_processes(service, start, tmp_path / "archive", "machine")


def four_processes(service, start, folder, budget):
    children, fifth = [start(folder, budget) for _ in range(4)], queue.Queue()
    said = {child: [] for child in children}

    def read(child):
        for line in child.stdout:
            said[child].append(line)
            if len(said[child]) == 5:
                fifth.put(child)

    readers = [threading.Thread(target=read, args=[child]) for child in children]
    for reader in readers:
        reader.start()
    # Whoever is first amid its work; how they share it is not told.
    victim = fifth.get(timeout=60)
    victim.send_signal(signal.SIGKILL)
    for child, reader in zip(children, readers, strict=True):
        child.wait(100)
        reader.join(100)
        if child is victim:
            assert child.returncode == -signal.SIGKILL
        else:
            assert (child.returncode, child.stderr.read()) == (0, "") and said[child][-1].endswith("True\n")
    asked = [one for one in service.requests if one.path == "/v1/points"]
    assert {one.status for one in asked} == {200}
    # What the killed one had in flight may be paid twice: eight calls.
    assert SERIES * WEIGHT <= service.spent <= (SERIES + 8) * WEIGHT
    assert len(mp.Archive(folder).contents()) == SERIES == len({one.query["rawSymbol"] for one in asked})
    first, last = (one.time.astype("int64") / 1e9 for one in (asked[0], asked[-1]))
    tier = mp.TIERS["advanced"]
    least = (service.spent - tier.burst) / tier.weight_per_minute * 60
    # The rest is the work of 156 requests on a machine that may be busy.
    assert least - 0.1 <= last - first <= least + 30


def frames(text):
    """What a bar showed, in turn: one line, drawn over itself."""
    return [line.strip() for line in text.split("\r") if line.strip()]


@pytest.mark.parametrize("line", [False, True])
def test_a_universe_over_budget_shows_one_bar_with_the_wait(service, tmp_path, capsys, monkeypatch, line):
    if line:  # without tqdm
        monkeypatch.setitem(sys.modules, "tqdm", None)
    # 102 of weight: the bucket of the tier basic holds 100, and 50 a minute.
    universe = {**MANY, "symbol": ["BTCUSDT", "ETHUSDT", "SOLUSDT"], "start": END - 34_000 * MINUTE}
    with service.client("basic", check_symbols=False) as client:
        report = mp.Archive(tmp_path).sync_all(client, universe, progress=True)
    assert report and report.weight == 102 and report.seconds >= 2.4 - 0.1
    shown = frames(capsys.readouterr().err)
    bars = [one for one in shown if "weight" in one]
    assert bars and all(re.search(r"weight [\d,]+/102, \d/3 requests", one) for one in bars), bars
    # The third of three waits, whatever came of the others by then.
    waiting = [one for one in bars if re.search(r"waiting \d s for budget, \d+ s left", one)]
    assert waiting and not any("weight 102/102" in one for one in waiting), bars
    assert "candles" in waiting[0] or "TRADE_SIDE_AGNOSTIC_AGG" in waiting[0]
    weights = [int(re.search(r"weight (\d+)/", one)[1]) for one in bars]
    assert weights == sorted(weights) and weights[-1] == 102
    assert part_files(tmp_path)
    assert not [one for one in service.requests if one.status == 429]
