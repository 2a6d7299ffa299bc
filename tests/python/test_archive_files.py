"""The archive's files: what others read without this package, and what is never read as data (faults D3 47, 49)."""

import json
import pickle
import random
import shutil
import subprocess
import sys

import duckdb
import polars
import pyarrow.dataset
import pyarrow.parquet
import pytest

import marketpoints as mp
from support.archives import END, HOUR, MARKET, between, content, part_files

DAY = 24 * HOUR
WINDOW = {"start": END - 45 * DAY, "end": END}


@pytest.fixture
def client(demo):
    with demo.client("unlimited") as made:
        yield made


@pytest.fixture
def archive(client, tmp_path):
    """An archive of two queries in several files."""
    made = mp.Archive(tmp_path)
    made.sync(client, "side_candles", *MARKET, **WINDOW)
    made.sync(client, "orderbook_heatmap", *MARKET, block_size=100.0, max_depth=20, start=END - 2 * DAY, end=END)
    return made


def test_polars_reads_it_without_this_package(archive, client, tmp_path):
    frame = polars.scan_parquet(f"{tmp_path}/type=TRADE_AGG/**/*.parquet", hive_partitioning=True).collect()
    expected = client.side_candles(*MARKET, **WINDOW)
    for series in expected:
        side = frame.filter(side=series.id.side).sort("time")
        assert side["close"].to_numpy().tobytes() == series["close"].tobytes()
        assert side["time"].dt.epoch("ns").to_numpy().tobytes() == series.timestamps.tobytes()
    assert len(frame) == sum(len(series) for series in expected)
    assert frame.schema["time"] == polars.Datetime("ns", "UTC")
    assert frame["type"].unique().to_list() == ["TRADE_AGG"]
    assert frame["exchange"].unique().to_list() == ["BINANCE_FUTURES"]
    assert frame["symbol"].unique().to_list() == ["BTCUSDT"]
    assert frame["normalized_symbol"].unique().to_list() == ["BTC-USDT"]
    # By glob, over all types: what they share.
    everything = polars.scan_parquet(
        f"{tmp_path}/**/*.parquet", missing_columns="insert", extra_columns="ignore", hive_partitioning=True
    )
    assert everything.select("time").collect().height == len(frame) + 48


def test_pyarrow_reads_it_without_this_package(archive, client, tmp_path):
    dataset = pyarrow.dataset.dataset(tmp_path / "type=BLOCK_BOOK_SNAPSHOT_AGG", partitioning="hive")
    table = dataset.to_table()
    book = client.orderbook_heatmap(*MARKET, block_size=100.0, max_depth=20, start=END - 2 * DAY, end=END)
    rows = table.sort_by("time").to_pylist()
    assert len(rows) == len(book.timestamps) == 48
    for index, row in enumerate(rows):
        assert row["price"] == book.snapshot(index)[:, 0].tolist()
        assert row["volume"] == book.snapshot(index)[:, 1].tolist()
        assert row["split"] == book.split[index]
    # From the root too: what is not data lies where readers do not look.
    assert len(pyarrow.dataset.dataset(tmp_path, partitioning="hive").files) == len(part_files(tmp_path))


def test_duckdb_reads_it_without_this_package(archive, client, tmp_path):
    query = f"""
        select side, count(*), sum(volume)
        from read_parquet('{tmp_path}/type=TRADE_AGG/**/*.parquet', hive_partitioning = true)
        where exchange = 'BINANCE_FUTURES' and interval = 'HOUR' and date >= DATE '1970-01-01'
        group by side order by side
    """
    rows = duckdb.sql(query).fetchall()
    expected = client.side_candles(*MARKET, **WINDOW)
    assert [row[0] for row in rows] == ["BUY", "SELL"]
    for side, count, volume in rows:
        series = expected.sel(side=side)
        assert count == len(series.timestamps)
        assert volume == pytest.approx(series["volume"].sum())


def test_files_begin_on_the_day_of_their_name(archive, tmp_path):
    for path in part_files(tmp_path):
        table = pyarrow.parquet.read_table(path, partitioning=None)
        day = path.parent.name.removeprefix("date=")
        times = [time.strftime("%Y-%m-%d") for time in table["time"].to_pylist()]
        length = 7 if "TRADE_AGG" in str(path) else 10
        assert all(time[:length] == day[:length] for time in times)


def damage(path, how):
    whole = path.read_bytes()
    if how == "empty":
        path.write_bytes(b"")
    elif how == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "without its end":
        path.write_bytes(whole[:-1])
    elif how == "one bit":
        path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    elif how == "gone":
        path.unlink()
    elif how == "text":
        path.write_text("time,close\n")
    elif how == "of another program":
        pyarrow.parquet.write_table(pyarrow.table({"time": [1], "close": [2.0]}), path)
    elif how == "of another query":
        other = next(one for one in part_files(path.parents[6]) if one.parents[4] != path.parents[4])
        shutil.copy(other, path)
    elif how == "newer":
        table = pyarrow.parquet.read_table(path, partitioning=None)
        about = dict(table.schema.metadata) if table.schema.metadata else {}
        about |= dict(pyarrow.parquet.read_metadata(path).metadata.items())
        about[b"marketpoints.version"] = b"2"
        pyarrow.parquet.write_table(table.replace_schema_metadata(about), path)


DAMAGES = {
    "empty": (mp.DamagedFileError, "damaged"),
    "truncated": (mp.DamagedFileError, "damaged"),
    "without its end": (mp.DamagedFileError, "damaged"),
    "one bit": (mp.DamagedFileError, "damaged"),
    "gone": (mp.DamagedFileError, "missing"),
    "text": (mp.ForeignFileError, "foreign"),
    "of another program": (mp.ForeignFileError, "foreign"),
    "of another query": (mp.ForeignFileError, "foreign"),
    "newer": (mp.NewerFormatError, "newer"),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_d3_47_what_is_not_what_was_written_is_told_apart_and_never_data(archive, demo, client, tmp_path, how):
    error, state = DAMAGES[how]
    victim = next(path for path in part_files(tmp_path) if "TRADE_AGG" in str(path))
    month = victim.parent.name.removeprefix("date=")
    expected = content(archive.read("side_candles", *MARKET))
    damage(victim, how)
    with pytest.raises(error) as caught:
        archive.read("side_candles", *MARKET)
    assert caught.value.path == str(victim.relative_to(tmp_path))
    # The other months, and the other query, are as they were.
    rest = archive.read("side_candles", *MARKET, start=END - 2 * DAY, end=END)
    assert content(rest) == content(client.side_candles(*MARKET, start=END - 2 * DAY, end=END))
    archive.read("orderbook_heatmap", *MARKET, block_size=100.0, max_depth=20)
    found = archive.verify()
    assert not found
    assert [(one.path, one.state) for one in found.problems] == [(str(victim.relative_to(tmp_path)), state)]
    with demo.client("unlimited", archive=archive) as through:
        if how == "newer":
            # Newer data are nobody's to overwrite.
            kept = victim.read_bytes()
            with pytest.raises(error):
                through.side_candles(*MARKET, **WINDOW)
            assert victim.read_bytes() == kept
            return
        answer = through.side_candles(*MARKET, **WINDOW)
    assert content(answer) == expected
    assert archive.verify()
    assert content(archive.read("side_candles", *MARKET)) == expected
    aside = list((tmp_path / "_marketpoints" / "quarantine").glob("*")) if how != "gone" else ["gone"]
    assert len(aside) == 1
    assert month


@pytest.mark.parametrize("how", ["gone", "empty", "truncated", "one bit"])
def test_a_sync_mends_only_what_is_broken(archive, client, tmp_path, how):
    victim = part_files(tmp_path)[-1]
    assert "TRADE_AGG" in str(victim)
    rows = pyarrow.parquet.read_metadata(victim).num_rows
    damage(victim, how)
    with pytest.raises(mp.DamagedFileError, match="a sync fetches it again"):
        archive.read("side_candles", *MARKET)
    assert all("a sync fetches it again" in one.problem for one in archive.verify().problems)
    done = archive.sync(client, "side_candles", *MARKET, **WINDOW)
    assert done.rows == rows
    assert len(done.mended) == 1
    assert archive.verify()
    assert content(archive.read("side_candles", *MARKET)) == content(client.side_candles(*MARKET, **WINDOW))


# faults.md row 47
def test_no_flipped_bit_of_a_files_end_becomes_what_was_written(archive, client, tmp_path):
    path = next(path for path in part_files(tmp_path) if "type=TRADE_AGG" in str(path))
    whole, expected = path.read_bytes(), content(archive.read("side_candles", *MARKET))
    end = 8 + int.from_bytes(whole[-8:-4], "little")  # Parquet's metadata: much of it this package never reads
    for place in random.Random(5).sample(range(len(whole) - end, len(whole)), 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        assert not archive.verify()
        done = archive.sync(client, "side_candles", *MARKET, **WINDOW)
        assert done.requests > 0 and len(done.mended) == 1, place
        assert archive.verify() and content(archive.read("side_candles", *MARKET)) == expected
        assert path.read_bytes() == whole, place


# faults.md row 47
@pytest.mark.parametrize("how", ["gone", "empty", "truncated", "garbage"])
def test_a_lost_ledger_is_made_anew_from_the_files_without_paying(archive, client, tmp_path, how):
    expected = content(archive.read("side_candles", *MARKET))
    for ledger in (tmp_path / "_marketpoints" / "ledger").iterdir():
        if how == "gone":
            ledger.unlink()
        else:
            whole = ledger.read_bytes()
            ledger.write_bytes({"empty": b"", "truncated": whole[:50], "garbage": whole.replace(b"9", b"8", 1)}[how])
    with pytest.raises(mp.ArchiveError):
        archive.read("side_candles", *MARKET)
    done = archive.sync(client, "side_candles", *MARKET, **WINDOW)
    assert (done.requests, done.weight) == (0, 0)
    assert content(archive.read("side_candles", *MARKET)) == expected


def test_a_newer_ledger_and_a_newer_archive_are_left_alone(archive, client, tmp_path):
    for ledger in (tmp_path / "_marketpoints" / "ledger").iterdir():
        about = json.loads(ledger.read_bytes()) | {"version": 5}
        ledger.write_text(json.dumps(about))
    with pytest.raises(mp.NewerFormatError):
        archive.read("side_candles", *MARKET)
    with pytest.raises(mp.NewerFormatError):
        archive.sync(client, "side_candles", *MARKET, **WINDOW)
    about = tmp_path / "_marketpoints" / "archive.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"version": 2, "check": "of that version"}))
    with pytest.raises(mp.NewerFormatError):
        archive.source  # noqa: B018 - the property is what is tested


def test_a_file_that_nobody_committed_is_no_data(archive, client, tmp_path):
    """A copy from elsewhere, in a place that the ledger does not name."""
    known = next(path for path in part_files(tmp_path) if "TRADE_AGG" in str(path))
    stray = known.parent.parent / "date=2020-01-01" / "part.parquet"
    stray.parent.mkdir()
    shutil.copy(known, stray)
    [problem] = archive.verify().problems
    assert (problem.path, problem.state) == (str(stray.relative_to(tmp_path)), "foreign")
    with pytest.raises(mp.NotArchivedError):
        archive.read("side_candles", *MARKET, start="2020-01-01", end="2020-01-02")


# faults.md row 45
def test_a_folder_that_cannot_be_written_costs_nothing(demo, client, tmp_path):
    (tmp_path / "file").write_text("no folder")
    before = demo.spent
    with pytest.raises(mp.ArchiveError):
        mp.Archive(tmp_path / "file" / "archive").sync(client, "candles", *MARKET, start=END - DAY, end=END)
    with demo.client("unlimited", archive=tmp_path / "file") as through, pytest.raises(mp.ArchiveError):
        through.candles(*MARKET, start=END - DAY, end=END)
    assert demo.spent == before


# faults.md row 45
def test_an_answer_that_cannot_be_kept_is_not_lost(demo, client, tmp_path):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, start=END - HOUR, end=END)
    [september] = part_files(tmp_path)
    # A folder where a file should be: what is found only when the answer is there.
    (september.parent.parent / "date=2026-08-01" / "part.parquet").mkdir(parents=True)
    window = {"start": END - 45 * DAY, "end": END}
    with demo.client("unlimited", archive=tmp_path) as through, pytest.raises(mp.ArchiveError) as caught:
        through.candles(*MARKET, **window)
    assert content(caught.value.results) == content(client.candles(*MARKET, **window))
    with pytest.raises(mp.ArchiveError):
        archive.sync(client, "candles", *MARKET, **window)
    assert [(one.start, one.end) for one in archive.contents()] == [between(END - HOUR, END)]
    assert len(archive.read("candles", *MARKET).timestamps) == 1


FULL_DISK = """
import resource, signal, sys
import marketpoints as mp

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
archive = mp.Archive(sys.argv[1])
client = mp.Client(sys.argv[3], sys.argv[2], archive_source="local demo, seed 0", clock=lambda: {end} + 60)
query = ("candles", "BINANCE_FUTURES", "BTCUSDT", "1h")
archive.sync(client, *query, start={end} - 2 * 3600, end={end})
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
try:
    archive.sync(client, *query, start={end} - 1000 * 3600, end={end})
except mp.ArchiveError as error:
    print("refused")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(archive.read(*query).timestamps), bool(archive.verify()))
"""


def test_d3_45_a_full_disk_leaves_what_was_there(demo, client, tmp_path):
    command = [sys.executable, "-c", FULL_DISK.format(end=END), str(tmp_path), demo.url, demo.keys["unlimited"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, done.stdout.split("\n")[:2]) == ("", ["refused", "2 True"])
    archive = mp.Archive(tmp_path)
    window = {"start": END - 1000 * HOUR, "end": END}
    archive.sync(client, "candles", *MARKET, **window)
    assert content(archive.read("candles", *MARKET)) == content(client.candles(*MARKET, **window))


def test_an_archive_and_its_client_can_be_pickled(demo, client, archive, monkeypatch):
    assert pickle.loads(pickle.dumps(archive)).path == archive.path
    monkeypatch.setenv("MARKETPOINTS_API_KEY", demo.keys["unlimited"])
    settings = {"base_url": demo.url, "archive": archive, "archive_source": "local demo, seed 0"}
    with mp.Client(**settings) as made, pickle.loads(pickle.dumps(made)) as copy:
        answer = copy.side_candles(*MARKET, **WINDOW)
    assert content(answer) == content(archive.read("side_candles", *MARKET))
