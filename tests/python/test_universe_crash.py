"""Runs of a universe that are killed, and several at once: each weight is paid once, each byte is the same."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from _thread import interrupt_main
from contextlib import ExitStack

import numpy as np
import pytest

import marketpoints as mp
from support.archives import END, HOUR, hashes

#: One series of three requests, a hundred thousand minutes being the most that one brings, and nine of one request.
UNIVERSE = {
    "exchange": "BINANCE_FUTURES",
    "interval": "1m",
    "end": END,
    "series": [
        {"type": "open_interest", "symbol": "BTCUSDT", "start": END - 3_700 * HOUR},
        {
            "type": ["candles", "liquidations", "funding_rate"],
            "symbol": ["BTCUSDT", "ETHUSDT", "SOLUSDT"],
            "start": END - 100 * HOUR,
        },
    ],
}
REQUESTS, WEIGHT = 3 + 9, 222 + 9 * 6
#: A request that is given up on a busy machine would be paid twice: that is not what is tested.
PATIENT = {"timeout": 300, "check_symbols": False, "archive_source": "twin"}

CHILD = """
import os, signal, sys
import marketpoints as mp

folder, url, key, kill_after = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
client = mp.Client(key, url, clock=lambda: {now}, **{patient!r})

def progress(done, total):
    print(done, flush=True)
    if 0 < kill_after <= done:
        os.kill(os.getpid(), signal.SIGKILL)

done = mp.Archive(folder).sync_all(client, {universe!r}, progress=progress)
print("weight", done.weight, bool(done), flush=True)
"""


@pytest.fixture
def service():
    with mp.LocalService(now=END + 900) as running:
        yield running


@pytest.fixture
def start(service):
    def run(folder, kill_after=0, key="unlimited"):
        code = textwrap.dedent(CHILD).format(now=service.now(), universe=UNIVERSE, patient=PATIENT)
        command = [sys.executable, "-c", code, str(folder), service.url, service.keys[key], str(kill_after)]
        own = {"MARKETPOINTS_CACHE_DIR"}
        environment = {k: v for k, v in os.environ.items() if k in own or not k.startswith("MARKETPOINTS_")}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return run


def finish(child):
    out, err = child.communicate(timeout=200)
    assert err == ""
    return out.split("\n")


def spent_since(service, started):
    """Weight of the requests that came since then: those of a killed run may be charged after its end."""
    moment = np.datetime64(round(started * 1e9), "ns")
    return sum(one.weight for one in service.requests if one.time >= moment)


def test_killed_again_and_again_it_pays_once_and_ends_in_the_same_bytes(service, start, tmp_path):
    with service.client("unlimited", **PATIENT) as client:
        whole = mp.Archive(tmp_path / "whole").sync_all(client, UNIVERSE)
        assert whole and whole.weight == WEIGHT and whole.requests == REQUESTS
        service.assert_spent(WEIGHT)
        archive = mp.Archive(tmp_path / "killed")
        for kill_after in (1, 4, 3):
            before, started = archive.plan_all(client, UNIVERSE).weight, service.now()
            child = start(tmp_path / "killed", kill_after)
            child.communicate(timeout=200)
            assert child.returncode == -signal.SIGKILL
            kept = before - archive.plan_all(client, UNIVERSE).weight
            # Each progress is reported when its answer is kept. What was in flight may be lost: eight requests at most.
            assert kept > 0 and kept <= spent_since(service, started) <= kept + 3 * 100 + 5 * 6
            assert archive.verify()
        left, started = archive.plan_all(client, UNIVERSE).weight, service.now()
        lines = finish(start(tmp_path / "killed"))
        assert f"weight {left} True" in lines
        assert spent_since(service, started) == left
    assert hashes(tmp_path / "killed") == hashes(tmp_path / "whole")
    assert not list((tmp_path / "killed" / "_marketpoints" / "unfinished").glob("*"))


@pytest.mark.parametrize("seed", [18, 1818])
def test_killed_at_any_moment_it_ends_in_the_same_bytes(service, start, tmp_path, seed):
    """Four moments by chance of each seed."""
    chance = random.Random(seed)
    with service.client("unlimited", **PATIENT) as client:
        began = time.monotonic()
        finish(start(tmp_path / "whole"))
        whole, taken = hashes(tmp_path / "whole"), time.monotonic() - began
        # The start of Python, in which nothing happens, does not count.
        began = time.monotonic()
        finish(start(tmp_path / "whole"))
        loaded = time.monotonic() - began
        kills, place = 0, 0
        while kills < 4:
            folder = tmp_path / str(place)
            left = mp.Archive(folder).plan_all(client, UNIVERSE).weight
            if not left:  # every answer had come by then: another one from the start
                assert hashes(folder) == whole
                place += 1
                continue
            started, child = service.now(), start(folder)
            part = (taken - loaded) * left / WEIGHT
            time.sleep(loaded / 2 + chance.random() * part)  # not waiting for anything: a moment by chance
            child.kill()
            child.communicate(timeout=60)
            if child.returncode != 0:
                assert child.returncode == -signal.SIGKILL
                kills += 1
            kept = left - mp.Archive(folder).plan_all(client, UNIVERSE).weight
            assert kept <= spent_since(service, started) <= kept + 3 * 100 + 5 * 6
            assert not folder.exists() or mp.Archive(folder).verify()
        left = mp.Archive(folder).plan_all(client, UNIVERSE).weight
        report = mp.Archive(folder).sync_all(client, UNIVERSE)
        assert report and report.weight == left
    assert hashes(folder) == whole
    assert mp.Archive(folder).verify()


def test_several_processes_share_the_work_and_pay_once(service, start, tmp_path):
    children = [start(tmp_path) for _ in range(3)]
    lines = [line.split() for child in children for line in finish(child) if line.startswith("weight")]
    assert sum(int(line[1]) for line in lines) == WEIGHT
    assert [line[2] for line in lines] == ["True"] * 3
    service.assert_spent(WEIGHT)
    assert not [one for one in service.requests if one.status == 429]
    assert mp.Archive(tmp_path).verify()


def test_ctrl_c_ends_it_and_the_next_start_goes_on(service, start, tmp_path):
    with service.client("unlimited", **PATIENT) as client:
        child = start(tmp_path)
        assert child.stdout.readline()
        service.faults.set(latency=30, path="/v1/points")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
        assert child.returncode != 0 and "KeyboardInterrupt" in err
        service.faults.clear()
        left = mp.Archive(tmp_path).plan_all(client, UNIVERSE).weight
        assert left < WEIGHT
        report = mp.Archive(tmp_path).sync_all(client, UNIVERSE)
        assert report and report.weight == left


def test_an_interrupt_that_wakes_nobody_ends_it_too(service, tmp_path):
    """One that comes just before a wait begins is marked, and the wait goes on: as here, where it is only marked."""

    def progress(done, total):
        service.faults.set(latency=3_600, path="/v1/points")
        interrupt_main()

    with service.client("unlimited", **PATIENT) as client:
        with pytest.raises(KeyboardInterrupt):
            mp.Archive(tmp_path).sync_all(client, UNIVERSE, progress=progress)
        service.faults.clear()
        assert mp.Archive(tmp_path).plan_all(client, UNIVERSE).weight < WEIGHT


# faults.md row 38
def test_ctrl_c_ends_the_waiting_for_another_program_that_writes(service, tmp_path):
    archive = mp.Archive(tmp_path)
    with service.client("unlimited", **PATIENT) as client, ExitStack() as others:
        archive.sync_all(client, UNIVERSE | {"series": [one | {"start": END - HOUR} for one in UNIVERSE["series"]]})
        locks = sorted((tmp_path / "_marketpoints" / "lock").iterdir())
        assert len(locks) == 10
        for lock in locks[1:]:
            fcntl.flock(others.enter_context(lock.open()), fcntl.LOCK_EX)
        # The one that is free is answered.
        with pytest.raises(KeyboardInterrupt):
            archive.sync_all(client, UNIVERSE, progress=lambda done, total: interrupt_main())
