"""An archive as a dask DataFrame: the rows of ``read``, in partitions that are read when they are needed."""

import json
import os
import pickle
from pathlib import Path

import dask
import dask.dataframe as dd
import pandas as pd
import pytest

import marketpoints as mp
from marketpoints.archive import frames
from marketpoints.archive.frames import PartitionReader, SeriesQuery

END, DAY = 1_789_999_200, 86_400
MARKET = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"}
HOURS = {"type": "candles", **MARKET, "interval": "1h"}
QUERIES = {
    "candles": HOURS,
    "sides": {**HOURS, "type": "side_candles"},
    "liquidations": {**HOURS, "type": "liquidations", "interval": "15m"},
    "sum": {
        "type": "open_interest",
        "exchange": ["BINANCE_FUTURES", "BYBIT"],
        "coin": "BTC",
        "interval": "1h",
        "group_by": "sum",
    },
    "several markets": {"type": "candles", "exchange": ["BYBIT", "BINANCE_FUTURES"], "coin": "BTC", "interval": "1h"},
    "several symbols": {**HOURS, "symbol": ["BTCUSDT", "ETHUSDT"]},
    "several coins": {"type": "token_supply", "coin": ["BTC", "ETH"], "interval": "1d"},
    "profile": {**HOURS, "type": "volume_profile", "interval": "4h"},
    "book": {**HOURS, "type": "orderbook_heatmap", "block_size": 100.0, "max_depth": 40},
    "sessions": {**HOURS, "type": "tpo", "session": "weekly", "block_minutes": 240},
    "skew": {
        "type": "skew",
        "exchange": "DERIBIT",
        "symbol": "BTC_25",
        "coin": "BTC",
        "tenor": "ONE_W",
        "interval": "4h",
    },
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A hundred days of each, of a service that is no more."""
    kept = mp.Archive(tmp_path_factory.mktemp("archive"))
    with mp.LocalService(now=END + 900) as service, service.client("unlimited") as client:
        for query in QUERIES.values():
            kept.sync(client, **query, start=END - 100 * DAY, end=END)
    return kept


@pytest.fixture(autouse=True)
def alone():
    with dask.config.set(scheduler="synchronous"):
        yield


def plain(column):
    """A column as Python's own values, None where there is none."""
    values = column.astype(object).where(column.notna(), None).tolist()
    return [list(value) if hasattr(value, "__len__") and not isinstance(value, str) else value for value in values]


def without(query, *names):
    return {name: value for name, value in query.items() if name not in names}


@pytest.mark.parametrize("name", QUERIES)
def test_its_rows_are_those_of_read(archive, name):
    query = QUERIES[name]
    expected = archive.read(**query).to_pandas().sort_index(kind="stable")
    for partition in ("month", "day" if name in ("sides", "sessions") else "year"):
        frame = archive.to_dask(**query, partition=partition)
        got = frame.compute()
        pd.testing.assert_index_equal(got.index, expected.index)
        assert list(got) == list(expected) == list(frame.columns)
        for column in expected:
            assert plain(got[column]) == plain(expected[column]), column
            assert (
                got[column].dtype == frame.dtypes[column] or got[column].dtype == expected[column].dtype == "category"
            )


@pytest.mark.parametrize("name", QUERIES)
def test_every_partition_is_as_it_was_announced(archive, name):
    frame = archive.to_dask(**QUERIES[name], partition="month")
    parts = dask.compute(*frame.to_delayed())
    assert frame.known_divisions and len(parts) == frame.npartitions == 4  # June to September
    starts = [pd.Timestamp(month, tz="UTC") for month in ("2026-07-01", "2026-08-01", "2026-09-01")]
    assert list(frame.divisions[1:-1]) == starts
    for place, part in enumerate(parts):
        first, beyond = frame.divisions[place : place + 2]
        last = place == len(parts) - 1
        assert len(part) and first <= part.index[0] and part.index.is_monotonic_increasing
        assert part.index[-1] <= beyond if last else part.index[-1] < beyond
        assert list(part) == list(frame.columns) and part.index.dtype == frame.index.dtype
        assert all(part[one].dtype == frame.dtypes[one] for one in part if frame.dtypes[one] != "category")


def test_nothing_is_read_before_it_is_needed(archive, tmp_path):
    query = {**HOURS, "symbol": "ETHUSDT"}
    copy = mp.Archive(tmp_path)
    with mp.LocalService(now=END + 900) as service, service.client("unlimited") as client:
        copy.sync(client, **query, start=END - 100 * DAY, end=END)
    (august,) = tmp_path.rglob("date=2026-08-01/part.parquet")
    august.write_bytes(august.read_bytes()[:-100])
    frame = copy.to_dask(**query, partition="month")
    july = frame.loc["2026-07-03":"2026-07-04"]
    assert july.npartitions == 1 and len(july.compute()) == 48
    assert len(frame.partitions[3].compute()) > 400
    with pytest.raises(mp.DamagedFileError):
        frame.partitions[2].compute()


def test_work_on_it_gives_what_pandas_gives(archive):
    expected = archive.read(**QUERIES["several symbols"]).to_pandas()
    frame = archive.to_dask(**QUERIES["several symbols"], partition="month")
    means = frame.groupby("symbol", observed=True)["close"].mean().compute()
    assert means.to_dict() == pytest.approx(expected.groupby("symbol", observed=True)["close"].mean().to_dict())
    closes = archive.to_dask(**HOURS, partition="month")["close"]
    days = archive.read(**HOURS).to_pandas()["close"].resample("1D").last()
    pd.testing.assert_series_equal(closes.resample("1D").last().compute(), days, check_freq=False)
    assert isinstance(frame, dd.DataFrame)


def test_other_processes_read_it_without_a_key(archive):
    frame = archive.to_dask(**HOURS, partition="month")
    assert not [name for name in os.environ if name.startswith("MARKETPOINTS_API")]
    with dask.config.set(scheduler="processes", num_workers=1):
        assert frame["volume"].sum().compute() == pytest.approx(archive.read(**HOURS)["volume"].sum())


def test_a_partition_is_about_32_mb_of_files(archive):
    assert archive.to_dask(**HOURS).npartitions == 1  # a year of hours is less than a megabyte
    (book,) = {one.key for one in archive.contents() if one.type == "BLOCK_BOOK_SNAPSHOT_AGG"}
    size = sum(path.stat().st_size for path in Path(archive.path).glob(f"type=*/**/key={book}/*/part.parquet"))
    a_year = size / 100 * 366
    assert archive.to_dask(**QUERIES["book"]).npartitions == (1 if a_year <= 32 * 1024**2 else 4)


def test_the_recipe_of_the_documents_runs(archive, recipes):
    names = recipes("An archive as a dask DataFrame", {'"s3://bucket/history"': repr(archive.path)})
    closes = archive.read(**HOURS).to_pandas()["close"]
    pd.testing.assert_series_equal(names["days"], closes.resample("1D").last(), check_freq=False)


def test_windows_and_columns(archive):
    frame = archive.to_dask(**HOURS, start="2026-08-20T12:00", end="2026-09-02", columns=["close"], partition="month")
    got = frame.compute()
    pd.testing.assert_frame_equal(
        got, archive.read(**HOURS, start="2026-08-20T12:00", end="2026-09-02").to_pandas()[["close"]]
    )
    assert frame.npartitions == 2 and frame.divisions[0] == pd.Timestamp("2026-08-20T12:00", tz="UTC")
    assert frame.divisions[-1] == pd.Timestamp("2026-09-01T23:00", tz="UTC")
    for window in ({"period": "3d"}, {"start": "2026-08-20", "period": "3d"}, {"end": "2026-08-20", "period": "3d"}):
        assert len(archive.to_dask(**HOURS, **window)) == len(archive.read(**HOURS, **window).only) == 72


def test_partitions_read_what_is_wanted_alone(archive, monkeypatch):
    """Of levels all, since rows are made of them."""
    asked = []
    read = frames.read
    monkeypatch.setattr(frames, "read", lambda *given: asked.append(given[3]) or read(*given))
    for name, columns, projected in (
        ("several symbols", ["symbol", "close"], ("close",)),
        ("several symbols", ["symbol"], None),
        ("book", ["price"], None),
    ):
        frame = archive.to_dask(**QUERIES[name], columns=columns, partition="month")
        asked.clear()
        got = frame.compute(scheduler="synchronous")
        assert set(asked) == {projected}
        expected = archive.read(**QUERIES[name]).to_pandas().sort_index(kind="stable")
        for column in columns:
            assert plain(got[column]) == plain(expected[column])


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        ({"partition": "week"}, mp.InvalidRequest, "partition"),
        ({"columns": ["closes"]}, mp.InvalidRequest, "columns: there is no 'closes'"),
        ({"block_size": [1.0, 2.0]}, mp.InvalidRequest, "block_size: one for all"),
        ({"symbol": "SOLUSDT"}, mp.NotArchivedError, "nothing is kept of"),
        ({"start": "2026-01-01"}, mp.NotArchivedError, "never asked"),
        ({"end": "2026-12-01"}, mp.NotArchivedError, "never asked"),
        ({"start": "2026-08-02", "end": "2026-08-01"}, mp.InvalidRequest, "start"),
        ({"start": "2026-08-02T00:10", "end": "2026-08-02T00:20"}, mp.InvalidRequest, "holds no bucket"),
        ({"symbl": "BTCUSDT"}, TypeError, "symbol"),
    ],
)
def test_what_cannot_be_read_is_refused_at_once(archive, given, error, problem):
    with pytest.raises(error, match=problem):
        archive.to_dask(**{**HOURS, **given})


def test_what_was_never_asked_in_between_is_refused_at_once(tmp_path):
    kept = mp.Archive(tmp_path)
    with mp.LocalService(now=END + 900) as service, service.client("unlimited") as client:
        kept.sync(client, **HOURS, start=END - 40 * DAY, end=END - 30 * DAY)
        kept.sync(client, **HOURS, start=END - 10 * DAY, end=END)
    for window in ({}, {"start": END - 35 * DAY, "end": END - 5 * DAY}):
        with pytest.raises(mp.NotArchivedError, match="was never asked") as read:
            kept.read(**HOURS, **window)
        with pytest.raises(mp.NotArchivedError, match="was never asked") as caught:
            kept.to_dask(**HOURS, **window)
        assert caught.value.missing == read.value.missing
    assert len(kept.to_dask(**HOURS, start=END - 10 * DAY)) == 240


def test_what_was_known_at_a_moment(archive):
    now, before = archive.to_dask(**HOURS, as_of=END + 1_800), END - 1_800
    assert now["close"].sum().compute() == archive.read(**HOURS)["close"].sum()
    for read in (archive.read, archive.to_dask):
        with pytest.raises(mp.NotArchivedError):
            read(**HOURS, as_of=before)


def test_credentials_are_in_no_graph(archive):
    options = {"access_key_id": "somebody", "secret_access_key": "secret-word"}
    with pytest.raises(mp.InvalidRequest, match="never carries credentials"):
        mp.Archive("s3://bucket/prefix", storage_options=options).to_dask(**HOURS)


class Answers(SeriesQuery):
    """A query whose windows hold what is written here."""

    def read(self, archive, window):
        points = [{"Point": {"timestamp": {"s": window[0], "ns": 0}, **self.arguments[window]}}]
        identity = {"type": "TOKEN_SUPPLY_AGG", "coin": "BTC", "interval": "DAY"}
        return mp.decode_points(json.dumps({"series": [{"id": identity, "points": points}]}).encode())


def test_a_column_that_nobody_knew_of_is_an_error_and_a_missing_one_is_empty(tmp_path):
    windows = {(0, 1): {"usdPrice": 1.0, "newText": "a"}, (DAY, DAY + 1): {"usdPrice": 2.0, "newNumber": 5.5}}
    asks = Answers("token_supply", None, None, "1d", windows)
    first, second = (((asks, window),) for window in windows)
    place = (str(tmp_path), [], 10.0)
    columns = {"usd_price": "float64", "new_text": "string[pyarrow]"}
    meta = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})
    chosen = pickle.loads(pickle.dumps(PartitionReader(place, (), meta, chosen=True)))
    assert chosen(first).to_dict("list") == {"usd_price": [1.0], "new_text": ["a"]}
    frame = chosen(second)
    assert frame["usd_price"].tolist() == [2.0] and frame["new_text"].isna().all() and list(frame) == list(columns)
    assert frame.dtypes.astype(str).to_dict() == chosen(first).dtypes.astype(str).to_dict()
    with pytest.raises(mp.SelectionError, match="in neither the first nor the last window: name others"):
        PartitionReader(place, (), meta, chosen=False)(second)


def test_series_that_are_kept_of_other_months(tmp_path):
    kept = mp.Archive(tmp_path)
    query = {**HOURS, "symbol": ["BTCUSDT", "ETHUSDT"]}
    with mp.LocalService(now=END + 900) as service, service.client("unlimited") as client:
        kept.sync(client, **HOURS, start=END - 140 * DAY, end=END - 130 * DAY)
        kept.sync(client, **{**HOURS, "symbol": "ETHUSDT"}, start=END - 10 * DAY, end=END)
    expected = kept.read(**query).to_pandas().sort_index(kind="stable")
    frame = kept.to_dask(**query, partition="month")
    got = frame.compute()
    assert len(got) == 2 * 240 and got["close"].tolist() == expected["close"].tolist()
    assert [len(frame.get_partition(place)) for place in range(frame.npartitions)].count(0) >= 2


@pytest.mark.parametrize("part", [0.0, 0.5])
def test_windows_between_seconds_hold_the_buckets_that_begin_in_them(archive, part):
    window = {"start": END - 2 * DAY + part, "end": END - DAY + part}
    expected = archive.read(**HOURS, **window).to_pandas()
    assert archive.to_dask(**HOURS, **window).compute().index.tolist() == expected.index.tolist()


def test_one_column_is_one_name(archive):
    frame = archive.to_dask(**HOURS, columns="close")
    assert list(frame.columns) == ["close"]
    with pytest.raises(mp.InvalidRequest, match="there is no 'clos'"):
        archive.to_dask(**HOURS, columns="clos")
