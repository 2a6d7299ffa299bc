"""What others make of an archive's files: the recipes of docs/cluster.md give the rows that `read` gives."""

from pathlib import Path

import deltalake
import duckdb  # noqa: F401 - of this environment
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import UnsupportedPyArrowTypeException

import marketpoints as mp

HOUR = 3_600
#: A full hour, a little before the service's clock.
END = 1_789_999_200
WINDOW = {"start": "2026-01-01", "end": "2026-06-01"}
SYMBOLS = ["BTCUSDT", "ETHUSDT"]
TABLE = "history/type=TRADE_SIDE_AGNOSTIC_AGG"
BOOKS = "history/type=BLOCK_BOOK_SNAPSHOT_AGG"


@pytest.fixture
def service():
    with mp.LocalService(now=END + 900) as running:
        yield running


@pytest.fixture
def archive(service, tmp_path, monkeypatch):
    """Five months of hours of two markets, and a day of a book, in the folder `history`."""
    monkeypatch.chdir(tmp_path)
    kept = mp.Archive("history")
    with service.client("unlimited") as client:
        kept.sync(client, "candles", "BINANCE_FUTURES", SYMBOLS, "1h", **WINDOW)
        book = {"block_size": 100.0, "max_depth": 40, "start": "2026-05-01", "end": "2026-05-02"}
        kept.sync(client, "orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1h", **book)
    return kept


def candles(archive, symbol="BTCUSDT"):
    return archive.read("candles", "BINANCE_FUTURES", symbol, "1h").only


def last_of_days(series, since="2026-01-01"):
    """The last close of each day, by NumPy."""
    rows = series.timestamps >= np.datetime64(since)
    days = series.timestamps[rows].astype("datetime64[D]")
    last = np.append(days[1:] != days[:-1], True)
    return days[last], series["close"][rows][last]


def nanoseconds(column):
    return column.combine_chunks().cast(pa.timestamp("ns", "UTC")).to_numpy(zero_copy_only=False)


def test_duckdb(archive, recipes):
    days = recipes("DuckDB")["days"]
    for symbol in SYMBOLS:
        expected = last_of_days(candles(archive, symbol))
        got = days.filter(f"symbol = '{symbol}'").project("epoch_ns(day) as day, close").fetchnumpy()
        np.testing.assert_array_equal(got["day"].astype("datetime64[ns]"), expected[0])
        np.testing.assert_array_equal(got["close"], expected[1])


def test_polars_reads_what_it_needs(archive, recipes):
    names = recipes("polars")
    expected = last_of_days(candles(archive), "2026-03-01")
    np.testing.assert_array_equal(
        names["days"]["time"].to_physical().to_numpy(), expected[0].astype("datetime64[ns]").astype(int)
    )
    assert names["days"]["close"].to_list() == expected[1].tolist()
    # The folders of other markets are not opened: one that nobody can read does not matter.
    (other,) = Path(TABLE).glob("exchange=*/symbol=ETHUSDT/**/date=2026-04-01/part.parquet")
    other.write_bytes(b"")
    assert names["closes"].collect().height == len(candles(archive)) - (31 + 28) * 24


def test_delta_over_the_files_as_they_are(archive, recipes, service):
    before = {path: path.read_bytes() for path in Path(TABLE).rglob("part.parquet")}
    table = recipes("Delta")["candles"].sort_by("time")
    series = candles(archive)
    np.testing.assert_array_equal(nanoseconds(table["time"]), series.timestamps)
    np.testing.assert_array_equal(nanoseconds(table["last_timestamp"]), series["last_timestamp"])
    for name in ("open", "high", "low", "close", "volume"):
        assert table[name].to_pylist() == series[name].tolist()
    assert {path: path.read_bytes() for path in Path(TABLE).rglob("part.parquet")} == before
    # The archive goes on beside it.
    problems = archive.verify().problems
    assert [one.state for one in problems] == ["foreign"] and problems[0].path.endswith(
        "_delta_log/00000000000000000000.json"
    )
    with service.client("unlimited") as client:
        new = archive.sync(client, "candles", "BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-05-01", end="2026-06-15")
    assert new.rows == 14 * 24
    assert recipes("Delta")["candles"].num_rows == len(candles(archive)) == len(series) + new.rows


def test_delta_of_lists(archive, recipes):
    folders = deltalake.Schema(
        [deltalake.Field(name, "string") for name in ("exchange", "symbol", "interval", "key", "date")]
    )
    deltalake.convert_to_deltalake(BOOKS, partition_by=folders, partition_strategy="hive")
    table = deltalake.DeltaTable(BOOKS).to_pyarrow_table().sort_by("time")
    book = archive.read("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1h", block_size=100.0, max_depth=40).only
    assert [len(row) for row in table["price"].to_pylist()] == np.diff(book.offsets).tolist()
    assert [price for row in table["price"].to_pylist() for price in row] == book.prices.tolist()
    assert pl.from_arrow(table)["volume"].explode().to_list() == book.volumes.tolist()


def iceberg(table, symbol):
    """The rows of a market that an Iceberg table gives to somebody who opens it anew."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{Path.cwd()}/lake/catalog.db")
    found = catalog.load_table(table).scan(row_filter=f"symbol == '{symbol}' and interval == 'HOUR'")
    return found.to_arrow().sort_by("time")


def assert_the_same_candles(table, series):
    for name in ("time", "first_timestamp", "last_timestamp"):
        expected = series.timestamps if name == "time" else series[name]
        np.testing.assert_array_equal(
            nanoseconds(table[name]), expected.astype("datetime64[us]").astype("datetime64[ns]")
        )
    for name in ("open", "high", "low", "close", "volume"):
        assert table[name].to_pylist() == series[name].tolist()
    assert set(table["raw_symbol"].to_pylist()) == {series.id.raw_symbol}


def registered(names):
    return {task.file.file_path for task in names["candles"].scan().plan_files()}


def test_iceberg_adds_copies_of_the_files(archive, recipes, service):
    before = {path: path.read_bytes() for path in Path(TABLE).rglob("part.parquet")}
    first = recipes("Iceberg")
    assert len(first["new"]) == len(before) == 10 and not first["gone"]  # five months of two markets
    for symbol in SYMBOLS:
        assert_the_same_candles(iceberg("market.candles", symbol), candles(archive, symbol))
    assert {path: path.read_bytes() for path in Path(TABLE).rglob("part.parquet")} == before
    assert archive.verify()
    # Again with nothing new: not a file is written.
    written = {path: path.stat().st_mtime_ns for path in Path("lake").rglob("*.parquet")}
    assert len(written) == 10
    second = recipes("Iceberg")
    assert not second["new"] and not second["gone"] and registered(second) == registered(first)
    assert {path: path.stat().st_mtime_ns for path in Path("lake").rglob("*.parquet")} == written


def test_iceberg_takes_what_a_sync_added(archive, recipes, service):
    market = ("candles", "BINANCE_FUTURES")
    with service.client("unlimited") as client:
        archive.sync(client, *market, "BTCUSDT", "1h", start="2026-06-01", end="2026-06-15")
        snapshot = recipes("Iceberg")["candles"].current_snapshot().snapshot_id
        shorter = candles(archive)
        # The rest of June goes into the file of its first half; ETHUSDT gets a file of its own.
        archive.sync(client, *market, "BTCUSDT", "1h", start="2026-06-15", end="2026-07-01")
        archive.sync(client, *market, "ETHUSDT", "1h", start="2026-06-01", end="2026-06-02")
    names = recipes("Iceberg")
    assert (len(names["new"]), len(names["gone"])) == (2, 1)
    assert len(registered(names)) == len(list(Path(TABLE).rglob("part.parquet"))) == 12
    for symbol in SYMBOLS:
        assert_the_same_candles(iceberg("market.candles", symbol), candles(archive, symbol))
    earlier = names["candles"].scan(row_filter="symbol == 'BTCUSDT'", snapshot_id=snapshot).to_arrow().sort_by("time")
    assert_the_same_candles(earlier, shorter)
    assert len(candles(archive)) == len(shorter) + 16 * 24


def test_iceberg_takes_a_column_that_comes_later(archive, recipes):
    """Files of a type may differ in columns that this version does not know."""
    recipes("Iceberg")
    series = candles(archive)
    (last,) = Path(TABLE).glob("exchange=*/symbol=BTCUSDT/**/date=2026-05-01/part.parquet")
    rows = pyarrow.parquet.read_table(last, partitioning=None)
    pyarrow.parquet.write_table(rows.append_column("unheard_of", pa.array(range(len(rows)), pa.float64())), last)
    names = recipes("Iceberg")
    assert (len(names["new"]), len(names["gone"])) == (1, 1)
    table = iceberg("market.candles", "BTCUSDT")
    assert_the_same_candles(table, series)
    unheard = table["unheard_of"].to_pylist()
    assert unheard == [None] * (len(table) - len(rows)) + list(range(len(rows)))


def test_iceberg_of_lists(archive, recipes):
    recipes("Iceberg", {TABLE: BOOKS, "market.candles": "market.books"})
    table = iceberg("market.books", "BTCUSDT")
    book = archive.read("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1h", block_size=100.0, max_depth=40).only
    np.testing.assert_array_equal(nanoseconds(table["time"]), book.timestamps)
    assert [len(row) for row in table["price"].to_pylist()] == np.diff(book.offsets).tolist()
    assert [price for row in table["price"].to_pylist() for price in row] == book.prices.tolist()
    assert [volume for row in table["volume"].to_pylist() for volume in row] == book.volumes.tolist()


def test_iceberg_s_add_files_still_refuses_nanoseconds(archive, monkeypatch):
    """Should it take them one day, the page needs no copies."""
    monkeypatch.setenv("PYICEBERG_DOWNCAST_NS_TIMESTAMP_TO_US_ON_WRITE", "true")
    catalog = SqlCatalog("lake", uri="sqlite:///:memory:", warehouse=f"file://{Path.cwd()}")
    catalog.create_namespace("market")
    files = [str(path.resolve()) for path in Path(TABLE).rglob("part.parquet")]
    table = catalog.create_table("market.candles", schema=pyarrow.parquet.read_schema(files[0]).remove_metadata())
    with pytest.raises(UnsupportedPyArrowTypeException, match=r"unsupported type: timestamp\[ns, tz=UTC\]"):
        table.add_files(files)
    third = {"schema": table.schema(), "properties": {"format-version": "3"}}
    with pytest.raises(NotImplementedError, match="V3"):
        catalog.create_table("market.nanoseconds", **third)
