"""What an archive knew at a moment: corrections, rows that go and rows that come, against a list of what it learned."""

import os
import random
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import marketpoints as mp
from support import NOW
from support.archives import END, HOUR, between, content
from support.object_store import running
from support.scripted import scripted

QUERY = ("candles", "BYBIT", "BTCUSDT", "1h")
IDENTITY = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "HOUR"}


class Revising:
    """A service whose history its test revises, and a clock that stands still until the test moves it."""

    def __init__(self):
        self.closes = {}
        self.now = float(NOW)

    def answer(self, path):
        asked = dict(pair.split("=") for pair in path.partition("?")[2].split("&"))
        start, period = int(asked["from"]), int(asked["period"])
        hours = range(start, start + period, HOUR)
        points = [
            {"Point": {"open": 1.0, "close": self.closes[hour], "timestamp": {"s": hour}}}
            for hour in hours
            if hour in self.closes
        ]
        return {"series": [{"id": IDENTITY | {"rawSymbol": asked["rawSymbol"]}, "points": points}] if points else []}


@pytest.fixture(scope="module")
def served():
    service = Revising()
    with scripted(service.answer) as (url, _):
        yield service, mp.Client("key", url, tier="advanced", clock=lambda: service.now, archive_source="it")


@pytest.fixture
def revising(served):
    service, client = served
    service.closes, service.now = {}, float(NOW)
    return service, client


def closes(series_set):
    """Closes by hour."""
    rows = {}
    for one in series_set:
        hours = one.timestamps.astype("datetime64[s]").astype(int).tolist()
        rows.update(zip(hours, one["close"].tolist(), strict=True))
    return rows


def at(offset):
    """A time after the first answer, as the archive writes times."""
    return np.datetime64((NOW + offset) * 1_000_000_000, "ns")


def test_what_was_known_then_is_answered(revising, tmp_path):
    service, client = revising
    archive, window = mp.Archive(tmp_path), {"start": END - 4 * HOUR, "end": END}
    hours = [END - 4 * HOUR + HOUR * place for place in range(4)]
    service.closes = dict.fromkeys(hours[:3], 1.0)
    archive.sync(client, *QUERY, **window)
    first = content(archive.read(*QUERY, **window))
    assert not archive.vintages()
    service.now = NOW + 100.0
    service.closes[hours[1]] = 7.5  # corrected late
    archive.refresh(client, *QUERY, **window)
    service.now = NOW + 200.0
    service.closes[hours[1]] = 8.5  # and once more
    del service.closes[hours[0]]  # gone
    service.closes[hours[3]] = 4.0  # there now
    archive.refresh(client, *QUERY, **window)
    service.now = NOW + 300.0
    assert not archive.refresh(client, *QUERY, **window).revisions

    assert content(archive.read(*QUERY, **window, as_of=NOW)) == first
    assert content(archive.read(*QUERY, **window, as_of=NOW + 99.9)) == first
    assert closes(archive.read(*QUERY, as_of=NOW + 100)) == {hours[0]: 1.0, hours[1]: 7.5, hours[2]: 1.0}
    assert closes(archive.read(*QUERY, as_of="2036-01-01")) == {hours[1]: 8.5, hours[2]: 1.0, hours[3]: 4.0}
    assert content(archive.read(*QUERY, as_of=NOW + 200)) == content(archive.read(*QUERY))
    # Of a part of the window, also of one that had no row then.
    assert closes(archive.read(*QUERY, start=hours[3], end=END, as_of=NOW + 150)) == {}
    with pytest.raises(mp.NotArchivedError, match="was not known yet at 2026") as caught:
        archive.read(*QUERY, **window, as_of=NOW - 1)
    assert caught.value.missing == [between(hours[0], END)]
    with pytest.raises(mp.NotArchivedError, match="nothing of it was known yet"):
        archive.read(*QUERY, as_of=NOW - 1)

    vintages = archive.vintages(*QUERY)
    assert list(vintages) == list(archive.vintages())
    assert [(one.start, one.rows, one.known_from, one.replaced_at) for one in vintages] == [
        (between(hours[1], 0).start, 1, at(0), at(100)),
        (between(hours[0], 0).start, 1, at(0), at(200)),
        (between(hours[1], 0).start, 1, at(100), at(200)),
        (between(hours[3], 0).start, 0, at(0), at(200)),
    ]
    assert [one.start for one in archive.vintages(*QUERY, start=hours[2])] == [between(hours[3], 0).start]
    assert {(one.symbol, one.interval, one.buckets) for one in vintages} == {("BTCUSDT", "HOUR", 1)}
    assert vintages.to_pandas()["replaced_at"].dt.tz is not None
    # A vintage is read by the moment from which it was known.
    for one in vintages:
        read = closes(archive.read(*QUERY, start=one.start, end=one.end, as_of=one.known_from))
        assert len(read) == one.rows
    assert archive.verify()
    # The data are what they were: readers of the files see what is kept now alone.
    assert not [path for path in tmp_path.rglob("*.vintage") if "_marketpoints" not in path.parts]


def test_what_came_late_is_not_known_before_it_came(revising, tmp_path):
    service, client = revising
    archive = mp.Archive(tmp_path)
    service.closes = {END - HOUR * place: float(place) for place in range(1, 9)}
    archive.sync(client, *QUERY, start=END - 2 * HOUR, end=END)
    service.now = NOW + 60.0
    archive.sync(client, *QUERY, start=END - 8 * HOUR, end=END)
    assert len(closes(archive.read(*QUERY, as_of=NOW + 60))) == 8
    # An open window is that of what was known.
    assert sorted(closes(archive.read(*QUERY, as_of=NOW + 59))) == [END - 2 * HOUR, END - HOUR]
    with pytest.raises(mp.NotArchivedError) as caught:
        archive.read(*QUERY, start=END - 8 * HOUR, end=END, as_of=NOW)
    assert caught.value.missing == [between(END - 8 * HOUR, END - 2 * HOUR)]
    assert len(closes(caught.value.results)) == 2
    # Of several symbols, each that lacks something is named.
    archive.sync(client, "candles", "BYBIT", "ETHUSDT", "1h", start=END - 2 * HOUR, end=END)
    both = ("candles", "BYBIT", ["BTCUSDT", "ETHUSDT"], "1h")
    assert len(archive.read(*both, start=END - HOUR, end=END, as_of=NOW + 60)) == 2
    with pytest.raises(mp.NotArchivedError) as caught:
        archive.read(*both, start=END - HOUR, end=END, as_of=NOW)
    assert len(caught.value.failures) == 1
    assert len(caught.value.results) == 1


HOURS = 12
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["sync", "refresh", "refresh"]),
        st.integers(0, HOURS - 1),
        st.integers(1, HOURS),
        st.lists(st.tuples(st.integers(0, HOURS - 1), st.sampled_from([None, 1.0, 2.0])), max_size=6),
        st.sampled_from([0, 1, 3_600]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_any_history_of_revisions_is_what_a_list_of_them_says(served, steps):
    service, client = served
    service.closes, service.now = {}, float(NOW)
    # Across the border of two files: the first of a month.
    start = int(np.datetime64("2026-08-01", "s").astype(int)) - HOURS // 2 * HOUR
    learned = []  # (learned at, hours asked, closes)

    def known(hour, moment):
        answers = [rows.get(hour) for when, asked, rows in learned if when <= moment and hour in asked]
        return ("unknown", None) if not answers else ("known", answers[-1])

    with tempfile.TemporaryDirectory() as folder:
        archive = mp.Archive(folder)
        for call, first, count, revised, pause in steps:
            service.now += pause
            for hour, close in revised:
                service.closes[start + hour * HOUR] = close
            service.closes = {hour: close for hour, close in service.closes.items() if close is not None}
            asked = range(start + first * HOUR, start + min(first + count, HOURS) * HOUR, HOUR)
            window = {"start": asked[0], "end": asked[-1] + HOUR}
            if call == "sync":
                archive.sync(client, *QUERY, **window)
                asked = [hour for hour in asked if known(hour, service.now)[0] == "unknown"]
            else:
                archive.refresh(client, *QUERY, **window)
            learned.append((service.now, set(asked), dict(service.closes)))
        for moment in {NOW - 1.0, *(when + late for when, _, _ in learned for late in (-0.5, 0.0, 0.5))}:
            for first, last in ((0, HOURS), (0, HOURS // 2), (3, 9), (HOURS - 1, HOURS)):
                hours = [start + hour * HOUR for hour in range(first, last)]
                states = {hour: known(hour, moment) for hour in hours}
                rows = {hour: close for hour, (_, close) in states.items() if close is not None}
                window = {"start": hours[0], "end": hours[-1] + HOUR}
                try:
                    read, missing = archive.read(*QUERY, **window, as_of=moment), []
                except mp.NotArchivedError as error:
                    read, missing = error.results, error.missing
                assert closes(read) == rows
                spans = [[int(edge.astype("datetime64[s]").astype(int)) for edge in one] for one in missing]
                lacking = {hour for span in spans for hour in range(*span, HOUR)}
                assert lacking == {hour for hour, (state, _) in states.items() if state == "unknown"}
        assert archive.verify()


def test_what_is_compacted_is_dropped_and_said(revising, tmp_path):
    service, client = revising
    archive, window = mp.Archive(tmp_path), {"start": END - 4 * HOUR, "end": END}
    for symbol in ("BTCUSDT", "ETHUSDT"):
        for step in range(4):
            service.now = NOW + 100.0 * step
            service.closes = dict.fromkeys(range(END - 4 * HOUR, END, HOUR), float(step))
            archive.refresh(client, "candles", "BYBIT", symbol, "1h", **window)
    with pytest.raises(mp.InvalidRequest, match="start: vintages go by when"):
        archive.compact(*QUERY, before=NOW, start=END - HOUR)
    with pytest.raises(mp.InvalidRequest, match="before"):
        archive.compact(before=None)
    with pytest.raises(mp.InvalidRequest, match=r"exchange: say of which type: archive.compact\('candles', …\)"):
        archive.compact(exchange="BYBIT", before=NOW)
    assert archive.compact(before=NOW + 99) == mp.Compacted(0, 0, 0)
    done = archive.compact(*QUERY, before=NOW + 200)
    assert (done.files, done.rows) == (2, 8)
    assert done.bytes > 0
    assert archive.compact(*QUERY, before=NOW + 200).files == 0
    for step in (2, 3):
        assert set(closes(archive.read(*QUERY, as_of=NOW + 100 * step)).values()) == {float(step)}
    with pytest.raises(mp.NotArchivedError, match=r"up to 2026-\S+ \S+ UTC were dropped by compact\(\)") as caught:
        archive.read(*QUERY, **window, as_of=NOW + 199)
    assert caught.value.missing == [between(END - 4 * HOUR, END)]
    # Another query is another matter.
    assert set(closes(archive.read("candles", "BYBIT", "ETHUSDT", "1h", as_of=NOW)).values()) == {0.0}
    assert (len(archive.vintages(*QUERY)), len(archive.vintages())) == (1, 4)
    assert archive.compact(before=NOW + 300).files == 4
    assert not archive.vintages()
    assert archive.verify()
    assert len(list(tmp_path.rglob("*.vintage"))) == 2  # one of each query says until when


def test_an_object_store_keeps_them_too(revising, monkeypatch):
    service, client = revising
    with running() as server:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        archive = mp.Archive(server.bucket("vintages").url)
        for step in range(4):
            service.now = NOW + 100.0 * step
            service.closes = dict.fromkeys(range(END - 4 * HOUR + step * HOUR, END, HOUR), float(step))
            archive.refresh(client, *QUERY, start=END - 4 * HOUR, end=END)
        for step in range(4):
            rows = dict.fromkeys(range(END - 4 * HOUR + step * HOUR, END, HOUR), float(step))
            assert closes(archive.read(*QUERY, as_of=NOW + 100 * step)) == rows
        assert archive.verify()
        assert archive.compact(before=NOW + 200).files == 2
        assert closes(archive.read(*QUERY, as_of=NOW + 250)) == dict.fromkeys(range(END - 2 * HOUR, END, HOUR), 2.0)
        with pytest.raises(mp.NotArchivedError, match="compact"):
            archive.read(*QUERY, as_of=NOW)
        assert archive.verify()


def test_a_damaged_vintage_is_reported_and_nothing_else_is_touched(revising, tmp_path):
    service, client = revising
    archive, window = mp.Archive(tmp_path), {"start": END - 4 * HOUR, "end": END}
    for step in range(2):
        service.now = NOW + 100.0 * step
        service.closes = dict.fromkeys(range(END - 4 * HOUR, END, HOUR), float(step))
        archive.refresh(client, *QUERY, **window)
    [file] = tmp_path.rglob("*.vintage")
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(mp.DamagedFileError, match="cannot be asked again"):
        archive.read(*QUERY, as_of=NOW)
    [problem] = archive.verify().problems
    assert (problem.path, problem.state) == (str(file.relative_to(tmp_path)), "damaged")
    assert set(closes(archive.read(*QUERY)).values()) == {1.0}
    assert archive.sync(client, *QUERY, **window).requests == 0
    assert archive.compact(before=NOW + 100).files == 1
    assert archive.verify()


def test_a_clock_that_fails_while_a_call_is_under_way_loses_nothing(revising, tmp_path, monkeypatch):
    service, client = revising
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)

    def clock():
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("no time")
        return float(NOW)

    service.closes = {END - HOUR: 1.0}
    failing = mp.Client("key", client.base_url, tier="advanced", clock=clock, archive_source="it")
    archive = mp.Archive(tmp_path)
    archive.sync(failing, *QUERY, start=END - HOUR, end=END)
    assert len(closes(archive.read(*QUERY, as_of=NOW + 600))) == 1
    with pytest.raises(mp.NotArchivedError):
        archive.read(*QUERY, as_of=NOW - 1)
    assert raised


CHILD = """
import sys
import marketpoints as mp

folder, url, now = sys.argv[1], sys.argv[2], float(sys.argv[3])
client = mp.Client("key", url, tier="advanced", archive_source="it", clock=lambda: now)
print("begun", flush=True)
mp.Archive(folder).refresh(client, *{query!r}, start={start}, end={end})
print("done", flush=True)
"""


def test_killed_at_any_moment_no_vintage_is_lost(revising, tmp_path):
    service, client = revising
    moments = random.Random(17)
    archive, window = mp.Archive(tmp_path), {"start": END - 3_000 * HOUR, "end": END}
    hours = range(window["start"], END, HOUR)
    code = textwrap.dedent(CHILD).format(query=QUERY, **window)
    own = {"MARKETPOINTS_CACHE_DIR"}
    environment = {k: v for k, v in os.environ.items() if k in own or not k.startswith("MARKETPOINTS_")}
    service.closes = dict.fromkeys(hours, 0.0)
    archive.sync(client, *QUERY, **window)
    was = {0: closes(archive.read(*QUERY))}  # what was known after each round
    kills = 0
    for round_ in range(1, 16):
        service.closes = dict.fromkeys(hours, float(round_))
        command = [sys.executable, "-c", code, str(tmp_path), client.base_url, str(NOW + round_)]
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "begun\n"
        time.sleep(moments.random() * 0.25)  # not waiting for anything: a random moment of the writing
        child.kill()
        rest, _ = child.communicate(timeout=60)
        kills += "done" not in rest
        was[round_] = closes(archive.read(*QUERY))
        # Each file is as it was or as it was to be.
        assert len(was[round_]) == 3_000
        pairs = zip(was[round_].values(), was[round_ - 1].values(), strict=True)
        assert all(now in (before, round_) for now, before in pairs)
        assert archive.verify()
        for before, rows in was.items():
            assert closes(archive.read(*QUERY, as_of=NOW + before + 0.5)) == rows, (round_, before)
    assert kills > 3
    service.now = NOW + 100.0
    archive.refresh(client, *QUERY, **window)
    for before, rows in was.items():
        assert closes(archive.read(*QUERY, as_of=NOW + before + 0.5)) == rows
    assert archive.verify()
    assert not list((tmp_path / "_marketpoints" / "unfinished").glob("*"))


def test_a_reader_sees_one_moment_while_another_writes(revising, tmp_path):
    service, client = revising
    archive, window = mp.Archive(tmp_path), {"start": END - 3_000 * HOUR, "end": END}
    hours = range(window["start"], END, HOUR)
    service.closes = dict.fromkeys(hours, 0.0)
    archive.sync(client, *QUERY, **window)
    first = content(archive.read(*QUERY))

    def write():
        for step in range(1, 16):
            service.now, service.closes = NOW + float(step), dict.fromkeys(hours, float(step))
            mp.Archive(tmp_path).refresh(client, *QUERY, **window)

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while writer.is_alive():
        assert content(archive.read(*QUERY, as_of=NOW + 0.5)) == first
        assert list(archive.verify().problems) == []
        looks += 1
    writer.join()
    assert looks > 3
    for step in range(1, 16):
        assert set(closes(archive.read(*QUERY, as_of=NOW + step)).values()) == {float(step)}


def test_a_service_over_the_archive_answers_no_correction_before_it_came(revising, tmp_path):
    service, client = revising
    archive, window = mp.Archive(tmp_path), {"start": END - 4 * HOUR, "end": END}
    hours = [END - 4 * HOUR + HOUR * place for place in range(4)]
    service.closes = dict.fromkeys(hours[:3], 1.0)
    archive.sync(client, *QUERY, **window)
    for offset, changes in ((100, {hours[1]: 7.5}), (200, {hours[0]: None, hours[1]: 8.5, hours[3]: 4.0})):
        service.now = NOW + offset
        kept = {hour: close for hour, close in (service.closes | changes).items() if close is not None}
        service.closes = kept
        archive.refresh(client, *QUERY, **window)
    first = dict.fromkeys(hours[:3], 1.0)
    corrected = first | {hours[1]: 7.5}
    latest = {hours[1]: 8.5, hours[2]: 1.0, hours[3]: 4.0}
    # What was asked only after the service's now is answered as it came first.
    by_offset = {-500: first, 0: first, 99: first, 100: corrected, 199: corrected, 200: latest, 10**6: latest}
    for offset, expected in by_offset.items():
        with mp.LocalService(archive, now=NOW + offset, speed=0) as offline, offline.client("unlimited") as asks:
            assert closes(asks.candles(*QUERY[1:], **window)) == expected, offset
            # A part of it, and one without a row then.
            last = asks.candles(*QUERY[1:], start=hours[3], end=END)
            assert closes(last) == ({hours[3]: 4.0} if offset >= 200 else {})
            with pytest.raises(mp.NotArchivedError, match="does not hold"):
                asks.candles(*QUERY[1:], start=hours[0] - HOUR, end=END)
    with mp.LocalService(archive, now=NOW + 99, speed=0) as offline, offline.client("unlimited") as asks:
        offline.advance(1)
        assert closes(asks.candles(*QUERY[1:], **window)) == corrected
    # What compact() dropped nobody can tell: the oldest that is left is answered.
    archive.compact(before=NOW + 150)
    with mp.LocalService(archive, now=NOW + 50, speed=0) as offline, offline.client("unlimited") as asks:
        assert closes(asks.candles(*QUERY[1:], **window)) == corrected
