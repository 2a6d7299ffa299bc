"""Two writers of one archive in an object store, and one of them is killed at any moment (faults D3 45, 46)."""

import os
import random
import subprocess
import sys
import textwrap
import time

import pytest

import marketpoints as mp
from support.archives import END, content
from support.object_store import running

MARKET, FIRST = ("candles", "BINANCE_FUTURES", "BTCUSDT", "1m"), END - 2 * 86_400
WINDOW = {"start": FIRST, "end": END}
STEP = 6 * 3_600

RIVAL = """
import sys
import marketpoints as mp

place, url, key, start, end = sys.argv[1:]
client = mp.Client(key, url, archive_source="twin", clock=lambda: {now})
print("ready", flush=True)
for hour in range(int(start), int(end), {step}):
    mp.Archive(place, lease=0.6).sync(client, *{market!r}, start=hour, end=hour + {step})
    print(hour, flush=True)
"""


@pytest.fixture(scope="module")
def store():
    with running() as server:
        yield server


@pytest.fixture
def bucket(store, monkeypatch, request):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    return store.bucket(f"crash-{request.node.callspec.params['seed']}")


# faults.md row 46
@pytest.mark.parametrize("seed", range(4))
def test_one_of_two_writers_is_killed_and_nothing_that_was_kept_is_lost(service, bucket, seed):
    rng = random.Random(seed)
    code = textwrap.dedent(RIVAL).format(now=service.now(), market=MARKET, step=STEP)

    def rival(start):
        command = [sys.executable, "-c", code, bucket.url, service.url, service.keys["unlimited"], str(start), str(END)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    # In the same files: both ask some of the same, or one what the other does not.
    killed, other = rival(FIRST), rival(FIRST + rng.choice([0, 43_200, 86_400]))
    assert killed.stdout.readline() == "ready\n"
    time.sleep(rng.random() * 1.5)  # not waiting for anything: a random moment of the writing
    killed.kill()
    kept = killed.communicate()[0].split()
    out, errors = other.communicate(timeout=100)
    assert (errors, other.returncode) == ("", 0)
    archive = mp.Archive(bucket.url, lease=0.6)
    for hour in {int(hour) for hour in [*kept, *out.split()[1:]]}:
        assert len(archive.read(*MARKET, start=hour, end=hour + STEP).timestamps) == 360
    assert archive.verify()
    with service.client("unlimited", archive_source="twin") as client:
        there = sum(one.buckets for one in archive.contents())
        done = archive.sync(client, *MARKET, **WINDOW)
        assert done.mended == () and done.rows == 2_880 - there
        assert content(archive.read(*MARKET)) == content(client.candles(*MARKET[1:], **WINDOW))
    assert archive.verify()
