"""Writers that end in the middle, and several at once (faults D3 45, 46, 48)."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import marketpoints as mp
from support.archives import END, content, spent

#: Three requests of a thousand books each, in three files.
BOOKS = ("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1m")
BOOK = {"block_size": 200.0}  # at full depth, so that a body of more than a thousand books would be too large
WINDOW = {"start": END - 3_000 * 60, "end": END}

CHILD = """
import os, signal, sys
import marketpoints as mp

folder, url, key, kill_after = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
client = mp.Client(key, url, archive_source="twin", clock=lambda: {now})

def progress(done, total):
    print(done, flush=True)
    if done == kill_after:
        os.kill(os.getpid(), signal.SIGKILL)

done = mp.Archive(folder).sync(client, *{books!r}, **{window!r}, **{book!r}, progress=progress)
print("weight", done.weight, flush=True)
"""


@pytest.fixture
def twin(service):
    def start(folder, kill_after=0):
        code = textwrap.dedent(CHILD).format(now=service.now(), books=BOOKS, window=WINDOW, book=BOOK)
        command = [sys.executable, "-c", code, str(folder), service.url, service.keys["unlimited"], str(kill_after)]
        own = {"MARKETPOINTS_CACHE_DIR"}  # the tests' own, where budgets of this machine lie
        environment = {k: v for k, v in os.environ.items() if k in own or not k.startswith("MARKETPOINTS_")}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def finish(child):
    out, err = child.communicate(timeout=100)
    assert err == ""
    return out.split("\n")


def clients(service, **settings):
    return service.client("unlimited", archive_source="twin", **settings)


def covered(archive):
    return sum(one.buckets for one in archive.contents())


def ask(client):
    return client.orderbook_heatmap(*BOOKS[1:], **WINDOW, **BOOK)


@pytest.mark.parametrize("kill_after", [1, 2])
def test_d3_48_a_killed_sync_resumes_without_paying_twice(service, twin, tmp_path, kill_after):
    with clients(service) as client:
        assert len(client.plan(*BOOKS, **WINDOW, **BOOK).requests) == 3
        child = twin(tmp_path, kill_after)
        cost_of_child, _ = spent(service, client, child.communicate)
        assert child.returncode == -signal.SIGKILL
        archive = mp.Archive(tmp_path)
        kept = covered(archive)
        assert kept >= kill_after * 1_000
        assert archive.verify()
        cost, done = spent(service, client, lambda: archive.sync(client, *BOOKS, **WINDOW, **BOOK))
        # Each thousand books weighs 10: only what was not kept is paid for.
        assert cost == done.weight == (3_000 - kept) // 100
        assert cost_of_child <= 30
        assert content(archive.read(*BOOKS, **BOOK)) == content(ask(client))
        assert archive.verify()
        assert not list((tmp_path / "_marketpoints" / "unfinished").glob("*"))


def test_d3_45_killed_at_any_moment_it_is_old_or_new(service, twin, tmp_path):
    moments = random.Random(45)
    paid = kills = 0
    with clients(service) as client:
        expected = content(ask(client))
        archive = mp.Archive(tmp_path)
        before = 0
        for _ in range(40):
            service.advance(61)
            child = twin(tmp_path)
            first = child.stdout.readline()
            if first and not first.startswith("weight"):
                time.sleep(moments.random() * 0.05)  # not waiting for anything: a random moment of the writing
                child.kill()
                kills += 1
            child.communicate(timeout=60)
            used = client.usage().used
            now = covered(archive)
            assert now >= before, "what was kept is lost"
            # Requests in flight when it died may be paid and not kept: never what was kept before.
            assert used <= (3_000 - before) // 100
            paid, before = paid + used, now
            # Whoever reads sees whole files or an error, never a part.
            try:
                whole = archive.read(*BOOKS, **BOOK)
            except mp.NotArchivedError as error:
                whole = error.results
            there = whole.timestamps.tolist() if len(whole) else []
            assert len(there) == len(set(there)) <= 3_000
            if now == 3_000:
                break
        assert kills > 0
        assert before == 3_000
        assert content(archive.read(*BOOKS, **BOOK)) == expected
        assert archive.verify()


def test_d3_46_two_processes_that_sync_the_same_pay_once(service, twin, tmp_path):
    def both():
        children = [twin(tmp_path), twin(tmp_path)]
        return [finish(child) for child in children]

    with clients(service) as client:
        cost, outputs = spent(service, client, both)
        assert cost == 30
        weights = sorted(int(line.split()[1]) for lines in outputs for line in lines if line.startswith("weight"))
        assert weights == [0, 30]
        assert content(mp.Archive(tmp_path).read(*BOOKS, **BOOK)) == content(ask(client))


def test_d3_46_a_reader_sees_whole_files_while_a_writer_writes(service, twin, tmp_path):
    with clients(service) as client:
        expected = {int(start): book for start, book in rows(ask(client))}
        archive = mp.Archive(tmp_path)
        child = twin(tmp_path)
        looks = 0
        while child.poll() is None:
            try:
                seen = archive.read(*BOOKS, **BOOK, **WINDOW)
            except mp.NotArchivedError as error:
                seen = error.results
            for one, book in rows(seen):
                assert expected[int(one)] == book
            looks += 1
        assert looks > 0
        assert finish(child)[-2] == "weight 30"
        assert len(list(rows(archive.read(*BOOKS, **BOOK)))) == 3_000


def rows(books):
    for series in books:
        for index, start in enumerate(series.timestamps.astype("int64")):
            yield start, series.snapshot(index).tobytes()


# faults.md row 46
def test_a_dead_holder_does_not_block(service, twin, tmp_path):
    child = twin(tmp_path, 1)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    with clients(service) as client:
        # The lock file is still there; the lock ended with its holder.
        assert list((tmp_path / "_marketpoints" / "lock").iterdir())
        assert mp.Archive(tmp_path).sync(client, *BOOKS, **WINDOW, **BOOK).requests > 0


RIVAL = """
import sys
import marketpoints as mp

folder, url, key, start, end = sys.argv[1:]
client = mp.Client(key, url, archive_source="twin", clock=lambda: {now})
for hour in range(int(start), int(end), 6 * 3_600):
    mp.Archive(folder).sync(client, "candles", "BINANCE_FUTURES", "BTCUSDT", "1m", start=hour, end=hour + 6 * 3_600)
    print(hour, flush=True)
"""


@pytest.mark.parametrize("round_", range(3))
def test_d3_46_one_of_two_writers_is_killed_and_the_other_goes_on(service, tmp_path, round_):
    market, first = ("candles", "BINANCE_FUTURES", "BTCUSDT", "1m"), END - 3 * 86_400
    window = {"start": first, "end": END}
    code = textwrap.dedent(RIVAL).format(now=service.now())
    own = {"MARKETPOINTS_CACHE_DIR"}
    environment = {k: v for k, v in os.environ.items() if k in own or not k.startswith("MARKETPOINTS_")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    archive = mp.Archive(tmp_path)
    killed, other = (
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), service.url, service.keys["unlimited"], str(start), str(END)],
            env=environment,
            **pipes,
        )
        for start in (first, first + 86_400)
    )
    assert killed.stdout.readline()
    time.sleep(random.Random(round_).random() * 0.1)  # not waiting for anything: a random moment of the writing
    killed.kill()
    while other.poll() is None:  # a reader sees all that was kept, or nothing
        assert len(archive.read(*market, start=first, end=first + 3_600)[0]) == 60
    finish(other)
    killed.communicate()
    assert other.returncode == 0
    with clients(service) as client:
        assert archive.sync(client, *market, **window).mended == ()
        assert content(archive.read(*market)) == content(client.candles(*market[1:], **window))
    assert archive.verify()
    assert not list((tmp_path / "_marketpoints" / "unfinished").glob("*"))
