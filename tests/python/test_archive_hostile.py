"""An archive whose folder is not as it was left: a damaged archive.json, links, leftovers, a full disk."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import marketpoints as mp
from marketpoints._engine import write_table
from support.archives import END, HOUR, MARKET, content, part_files

WINDOW = {"start": END - 48 * HOUR, "end": END}
BEGUN = {"start": END - 24 * HOUR, "end": END}


@pytest.fixture
def client(demo):
    with demo.client("unlimited") as made:
        yield made


def own(folder, *names):
    return folder.joinpath("_marketpoints", *names)


DAMAGES = {
    "empty": lambda _: b"",
    "truncated": lambda whole: whole[:-7],
    "no JSON": lambda _: b"\x00\xff not JSON",
    "a list": lambda _: b"[]",
    "an empty object": lambda _: b"{}",
    "no source": lambda whole: json.dumps({**json.loads(whole), "source": None}).encode(),
    "a source of a wrong kind": lambda whole: json.dumps({**json.loads(whole), "source": 7}).encode(),
    "a format of a wrong kind": lambda whole: json.dumps({**json.loads(whole), "format": ["x"]}).encode(),
    "no version": lambda whole: json.dumps({k: v for k, v in json.loads(whole).items() if k != "version"}).encode(),
    "a version that never was": lambda whole: json.dumps({**json.loads(whole), "version": -3}).encode(),
    "a version of a wrong kind": lambda whole: json.dumps({**json.loads(whole), "version": "one"}).encode(),
    "a source with a flipped bit": lambda whole: whole.replace(b"demo", b"demn"),
    "gone": None,
}


@pytest.mark.parametrize("ledgers", [True, False])
@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_archive_json_heals_and_loses_nothing(client, tmp_path, how, ledgers):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **BEGUN)
    expected, source = content(archive.read("candles", *MARKET)), archive.source
    about, files = own(tmp_path, "archive.json"), {path: path.read_bytes() for path in part_files(tmp_path)}
    whole = about.read_bytes()
    if DAMAGES[how] is None:
        about.unlink()
    else:
        assert DAMAGES[how](whole) != whole
        about.write_bytes(DAMAGES[how](whole))
    if not ledgers:
        for ledger in own(tmp_path, "ledger").iterdir():
            ledger.unlink()
    else:
        # Who only reads needs nothing mended.
        assert (content(archive.read("candles", *MARKET)), archive.source) == (expected, source)
        problems = archive.verify().problems
        assert [(one.path, one.state) for one in problems] == (
            [("_marketpoints/archive.json", "damaged")] if DAMAGES[how] else []
        )
    done = archive.sync(client, "candles", *MARKET, **BEGUN)
    assert (done.requests, done.weight) == (0, 0)
    assert any("archive.json" in line for line in done.mended)
    assert (content(archive.read("candles", *MARKET)), archive.source) == (expected, source)
    assert {path: path.read_bytes() for path in part_files(tmp_path)} == files
    assert json.loads(about.read_bytes()) == json.loads(whole)
    assert archive.sync(client, "candles", *MARKET, **BEGUN).mended == ()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": 2}, mp.NewerFormatError),
        ({"version": 1e30}, mp.NewerFormatError),
        ({"format": "x"}, mp.ForeignFileError),
    ],
)
def test_what_is_not_ours_to_write_anew_stays(client, tmp_path, change, error):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **BEGUN)
    about = own(tmp_path, "archive.json")
    about.write_text(json.dumps(json.loads(about.read_text()) | {"check": "another's"} | change))
    before = about.read_bytes()
    for call in (lambda: archive.read("candles", *MARKET), lambda: archive.sync(client, "candles", *MARKET, **WINDOW)):
        with pytest.raises(error, match=r"update this one|another folder"):
            call()
    assert about.read_bytes() == before


def test_a_damaged_archive_json_lets_no_other_service_in(demo, client, tmp_path):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **BEGUN)
    own(tmp_path, "archive.json").write_bytes(b"")
    with demo.client("unlimited", archive_source="another") as other:
        before = demo.spent
        with pytest.raises(mp.ArchiveError, match="not of another"):
            archive.sync(other, "candles", *MARKET, **WINDOW)
        assert demo.spent == before
    assert len(archive.read("candles", *MARKET).timestamps) == 24


# faults.md row 47
@pytest.mark.parametrize(
    "place", ["data", "query", "part", "own", "unfinished", "quarantine", "lock", "ledger", "file"]
)
def test_nothing_is_written_or_removed_behind_a_link(demo, client, tmp_path, place):
    root, outside = tmp_path / "archive", tmp_path / "outside"
    archive = mp.Archive(root)
    archive.sync(client, "candles", *MARKET, **BEGUN)
    [part] = part_files(root)
    victim = {
        "data": root / "type=TRADE_SIDE_AGNOSTIC_AGG",
        "query": part.parent.parent,
        "part": part.parent,
        "file": part,
        "own": own(root),
        "unfinished": own(root, "unfinished"),
        "quarantine": own(root, "quarantine"),
        "lock": own(root, "lock"),
        "ledger": own(root, "ledger"),
    }[place]
    if place == "quarantine":
        victim.mkdir()
        part.write_bytes(b"damaged, so that it is to be set aside")
    victim.rename(outside)
    victim.symlink_to(outside)
    (outside.parent if outside.is_file() else outside).joinpath(f"k{'0' * 32}-aB3xY9").write_text("not to be removed")

    def everything():
        return {path: path.read_bytes() for path in [outside, *outside.rglob("*")] if path.is_file()}

    before, spent = everything(), demo.spent
    with pytest.raises(mp.ForeignFileError, match="link") as caught:
        archive.sync(client, "candles", *MARKET, **WINDOW)
    assert (root / caught.value.path).is_symlink()
    assert everything() == before
    assert demo.spent == spent
    if place in ("data", "query", "part", "file"):
        assert not archive.verify()
    # The way back: what the link points to, in its place.
    victim.unlink()
    outside.rename(victim)
    archive.sync(client, "candles", *MARKET, **WINDOW)
    assert content(archive.read("candles", *MARKET)) == content(client.candles(*MARKET, **WINDOW))


def test_an_archive_may_lie_behind_a_link(client, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "archive").symlink_to(tmp_path / "disk")
    archive = mp.Archive(tmp_path / "archive")
    archive.sync(client, "candles", *MARKET, **BEGUN)
    assert len(archive.read("candles", *MARKET).timestamps) == 24 and archive.verify()


def test_only_unfinished_files_of_dead_writers_go(client, tmp_path):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **BEGUN)
    [lock] = [path.name for path in own(tmp_path, "lock").iterdir()]
    another = f"k{'0' * 32}"
    unfinished = own(tmp_path, "unfinished")
    ours = [f"{lock}-aB3xY9", f"{another}-aB3xY9"]
    foreign = ["notes.txt", f"{lock}-notes", f"{lock}-aB3xY9.bak", "new-aB3xY9", f"{lock[:-1]}-aB3xY9", "k-aB3xY9"]
    for name in ours + foreign:
        (unfinished / name).write_text("half a file")
    archive.sync(client, "candles", *MARKET, **WINDOW)
    assert sorted(path.name for path in unfinished.iterdir()) == sorted(foreign)


def test_what_a_writer_of_another_query_has_unfinished_stays_while_it_runs(client, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **BEGUN)
    another = f"k{'0' * 32}"
    file = own(tmp_path, "unfinished", f"{another}-aB3xY9")
    file.write_text("half a file")
    with own(tmp_path, "lock", another).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        archive.sync(client, "candles", *MARKET, start=END - 30 * HOUR, end=END)
        assert file.exists()
    archive.sync(client, "candles", *MARKET, **WINDOW)
    assert not file.exists()


def test_what_a_killed_writer_of_a_table_left_goes_with_the_next(client, tmp_path):
    candles = client.candles(*MARKET, **BEGUN)
    columns = [(name, candles[name]) for name in ("open", "close")]
    names = {
        "out.csv": [".unfinished-out.csv-aB3xY9"],
        "out.parquet": [".unfinished-out.parquet-aB3xY9", ".unfinished-aB3xY8"],
    }
    foreign = [".unfinished-out.csv-notes!", ".unfinished-business", ".unfinished-other.csv-aB3xY9", "out.csv.bak"]
    old = time.time() - 7_200
    for name in [*foreign, *itertools.chain(*names.values())]:
        (tmp_path / name).write_bytes(b"PAR1" if "csv" not in name else b"time,")
        os.utime(tmp_path / name, (old, old))
    new = tmp_path / ".unfinished-out.csv-aB3xY7"
    new.write_text("time,")
    for name in names:
        write_table(tmp_path / name, columns)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*foreign, *names, new.name}


FULL_DISK = """
import json, resource, signal, sys
import marketpoints as mp
from support.archives import END, HOUR

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, key, url, first, limit, window, through = sys.argv[1:8]
archive = mp.Archive(folder)
settings = {{"archive_source": "local demo, seed 0", "clock": lambda: END + 60}}
client = mp.Client(key, url, **settings)
query = ("candles", "BINANCE_FUTURES", "BTCUSDT", "4h")
before = 0
for month in range(int(first)):
    begin = END - (1_000 + 730 * month) * HOUR
    before += archive.sync(client, *query, start=begin, end=begin + 4 * HOUR).weight
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
failure = None
try:
    if through == "through":
        mp.Client(key, url, archive=archive, **settings).candles(*query[1:], start=END - int(window) * HOUR, end=END)
    else:
        archive.sync(client, *query, start=END - int(window) * HOUR, end=END)
except mp.ArchiveError as error:
    failure = error
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
results = [] if failure is None or not failure.results else failure.results
times = [] if not len(results) else results.timestamps.astype("int64").tolist()
kept = sum(one.buckets for one in archive.contents())
try:
    good = bool(archive.verify())
except mp.NotArchivedError:
    good = None  # nothing was begun
print(json.dumps([type(failure).__name__, failure and failure.path, times, kept, before, good]))
"""


def on_a_full_disk(demo, folder, first, limit, window, how="sync"):
    code = FULL_DISK.replace("{{", "{").replace("}}", "}")
    command = [sys.executable, "-c", code, folder, demo.keys["unlimited"], demo.url, first, limit, window, how]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    spent = demo.spent
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert done.stderr == ""
    *outcome, before, good = json.loads(done.stdout)
    return *outcome, demo.spent - spent - before, good


FOUR = 4 * HOUR
NANO = 10**9


def buckets(start, end):
    """Starts of the four-hour buckets of a window of Unix seconds, in nanoseconds."""
    first = -(-start // FOUR) * FOUR
    return [time * NANO for time in range(first, end // FOUR * FOUR, FOUR)]


@pytest.mark.parametrize("how", ["sync", "through"])
def test_what_was_paid_for_is_in_the_error_when_a_partition_does_not_fit(demo, tmp_path, how):
    error, path, results, kept, weight, good = on_a_full_disk(demo, tmp_path, 1, 2_048, 600, how)
    assert (error, good) == ("ArchiveError", True) and path.endswith("part.parquet")
    assert weight > 0
    assert set(results) >= set(buckets(END - 600 * HOUR, END))
    assert kept == len(
        mp.Archive(tmp_path)
        .read("candles", "BINANCE_FUTURES", "BTCUSDT", "4h", start=END - 1_000 * HOUR, period=4 * HOUR)
        .timestamps
    )


@pytest.mark.parametrize("how", ["sync", "through"])
def test_what_was_paid_for_is_in_the_error_when_the_ledger_does_not_fit(demo, tmp_path, how):
    """A ledger of a hundred files is longer than any of them."""
    error, path, results, kept, weight, good = on_a_full_disk(demo, tmp_path, 100, 14_000, 300, how)
    [ledger] = own(tmp_path, "ledger").iterdir()
    assert ledger.stat().st_size > 14_000 > max(part.stat().st_size for part in part_files(tmp_path))
    assert (error, good) == ("ArchiveError", True) and path.startswith("_marketpoints/ledger/")
    assert weight > 0
    assert set(results) >= set(buckets(END - 300 * HOUR, END))
    assert kept >= 100


def test_nothing_is_paid_when_the_archive_cannot_be_begun(demo, tmp_path):
    error, path, results, kept, weight, good = on_a_full_disk(demo, tmp_path, 0, 16, 100)
    assert (error, path, good) == ("ArchiveError", "_marketpoints/archive.json", None)
    assert (results, kept, weight) == ([], 0, 0)
    # And it can be begun later: nothing half-written stands in the way.
    with demo.client("unlimited") as client:
        assert mp.Archive(tmp_path).sync(client, "candles", *MARKET, **BEGUN).rows == 24


@pytest.mark.parametrize("goes", [shutil.rmtree, lambda folder: folder.rename(folder.with_name("moved"))])
def test_a_folder_that_goes_during_a_sync_is_an_error_that_has_what_was_paid_for(tmp_path, goes):
    folder = tmp_path / "archive"
    archive = mp.Archive(folder)
    answered = []

    def progress(done, total):
        if not answered:
            goes(folder)
        answered.append((done, total))

    books = ("orderbook_heatmap", *MARKET[:2], "1m")
    levels = {"block_size": 100, "max_depth": 1}
    with mp.LocalService() as service, service.client("unlimited") as client:
        service.faults.set(latency=1.0, path="/v1/points", count=2)  # of three requests: one is answered long before
        with pytest.raises(mp.ArchiveError, match="removed or moved while this wrote to it") as caught:
            archive.sync(client, *books, start=END - 200 * HOUR, end=END, progress=progress, **levels)
        assert answered[0] == (1, 3)
        assert caught.value.results and not folder.exists()
        service.faults.clear()
        # It can be asked again.
        assert archive.sync(client, *books, start=END - HOUR, end=END, **levels).rows > 0


def test_a_folder_that_goes_with_the_last_answer_of_a_sync_is_no_success(client, tmp_path):
    folder = tmp_path / "archive"
    with pytest.raises(mp.ArchiveError, match="removed or moved while this wrote to it"):
        mp.Archive(folder).sync(client, "candles", *MARKET, **WINDOW, progress=lambda *_: shutil.rmtree(folder))
    assert not folder.exists()


def test_reading_through_a_folder_that_goes_says_so_and_hands_out_what_was_paid_for(demo, tmp_path):
    folder, gone = tmp_path / "archive", tmp_path / "gone"
    with demo.client("unlimited", archive=folder) as reading:
        reading.candles(*MARKET, **BEGUN)
        with pytest.raises(mp.ArchiveError, match="removed or moved while this wrote to it") as caught:
            reading.candles(*MARKET, **WINDOW, progress=lambda *_: gone.exists() or folder.rename(gone))
    assert not isinstance(caught.value, mp.NotArchivedError) and caught.value.results
