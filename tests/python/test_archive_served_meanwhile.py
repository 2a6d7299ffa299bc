"""An archive served while it is written, refreshed and deleted: right rows, or an error that says what it is."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import marketpoints as mp

NOW = 1_776_880_830
DAY = 86_400
FIRST = NOW // DAY * DAY - 20 * DAY
PAIR = ("BINANCE_FUTURES", "BTCUSDT")

WRITER = """
import sys
import marketpoints as mp

folder, url, key, first, last = sys.argv[1:]
client = mp.Client(key, url, clock=lambda: {now}, check_symbols=False, archive_source="twin")
print("ready", flush=True)
for day in range(int(first), int(last), 86_400):
    mp.Archive(folder).sync(client, "candles", {pair[0]!r}, {pair[1]!r}, "1m", start=day, end=day + 86_400)
"""


class Reader(threading.Thread):
    """Asks a served archive for a day at a time, again and again, and notes what is not as it should be."""

    def __init__(self, client, expected):
        super().__init__(daemon=True)
        self.client, self.expected = client, expected
        self.over = threading.Event()
        self.right, self.refused, self.wrong = 0, [], []

    def run(self):
        day = 0
        while not self.over.is_set():
            day = (day + 1) % 10
            window = {"start": FIRST + day * DAY, "end": FIRST + (day + 1) * DAY}
            try:
                series = self.client.candles(*PAIR, "1m", **window).only
            except (mp.NotArchivedError, mp.ServerError) as error:
                self.refused.append(error)
                continue
            except Exception as error:
                self.wrong.append(error)
                continue
            rows = slice(day * 1_440, (day + 1) * 1_440)
            if np.array_equal(series.timestamps, self.expected.timestamps[rows]) and np.array_equal(
                series["close"], self.expected["close"][rows]
            ):
                self.right += 1
            else:
                self.wrong.append(series)

    def done(self):
        self.over.set()
        self.join(60)
        assert not self.is_alive()
        assert self.wrong == []


@pytest.fixture
def served(tmp_path):
    """A live service, an archive of one day of it, that archive's service, and a reader of it."""
    folder = tmp_path / "archive"
    with mp.LocalService(now=NOW, speed=0) as live, live.client("unlimited", archive_source="twin") as client:
        expected = client.candles(*PAIR, "1m", start=FIRST, end=FIRST + 10 * DAY).only
        mp.Archive(folder).sync(client, "candles", *PAIR, "1m", start=FIRST, end=FIRST + DAY)
        with mp.LocalService(folder, now=NOW, speed=0) as offline:
            other = offline.client("unlimited", check_symbols=False, retries=0)
            reader = Reader(other, expected)
            reader.start()
            yield live, client, folder, reader
            if reader.is_alive():
                reader.done()


def writer(live, folder, first, last):
    code = WRITER.format(now=NOW, pair=PAIR)
    command = [sys.executable, "-c", code, str(folder), live.url, live.keys["unlimited"], str(first), str(last)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    return child


# faults.md row 46
def test_while_it_is_written_and_its_writers_are_killed(served):
    live, client, folder, reader = served
    for pause in (0.0, 0.02, 0.05, 0.1, 0.2):
        child = writer(live, folder, FIRST, FIRST + 10 * DAY)
        time.sleep(pause)  # not waiting for anything: a moment of the writing
        child.kill()
        child.wait(60)
        child.stdout.close()
    child = writer(live, folder, FIRST, FIRST + 10 * DAY)
    assert child.wait(100) == 0
    child.stdout.close()
    mp.Archive(folder).refresh(client, "candles", *PAIR, "1m", start=FIRST, end=FIRST + 10 * DAY)
    before = reader.right
    while reader.right < before + 20:
        assert reader.is_alive() and reader.wrong == []
    reader.done()
    assert all(isinstance(error, mp.NotArchivedError) for error in reader.refused), reader.refused


# faults.md row 46
def test_while_a_writer_sleeps_in_the_middle(served):
    live, _, folder, reader = served
    child = writer(live, folder, FIRST, FIRST + 10 * DAY)
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)
    before = reader.right
    while reader.right < before + 20:
        assert reader.is_alive() and reader.wrong == []
    child.send_signal(signal.SIGCONT)
    assert child.wait(100) == 0
    child.stdout.close()


# faults.md row 47
@pytest.mark.parametrize("whole", [True, False])
def test_while_it_is_deleted_and_synced_anew(served, whole):
    _live, client, folder, reader = served
    mp.Archive(folder).sync(client, "candles", *PAIR, "1m", start=FIRST, end=FIRST + 10 * DAY)
    for _ in range(10):
        if whole:
            shutil.rmtree(folder)
        else:
            for file in folder.rglob("part.parquet"):
                file.unlink()
        mp.Archive(folder).sync(client, "candles", *PAIR, "1m", start=FIRST, end=FIRST + 10 * DAY)
    before = reader.right
    while reader.right < before + 20:
        assert reader.is_alive() and reader.wrong == []
    reader.done()
    for error in reader.refused:
        # Gone, or there and not whole: reported by name, and never as a time without trades.
        assert isinstance(error, mp.NotArchivedError) or "part.parquet" in str(error) or "_marketpoints" in str(error)
