"""Every kind of result in polars, DuckDB and pandas where pyarrow is not installed: each column equals NumPy's."""

import importlib.util

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import marketpoints as mp
from marketpoints.results.ragged import Nested, Ragged

DAY = {"start": "2026-01-01", "end": "2026-01-02"}
FUTURES = "BINANCE_FUTURES"
SIDES = np.array(["bid", "ask", None], dtype=object)


def asked(client, kind):
    """One answer of each kind, of a day or more."""
    match kind:
        case "candles":
            return client.candles(FUTURES, "BTCUSDT", "1m", start="2026-01-01", end="2026-02-01").only
        case "funding":  # with values that are not known
            return client.funding_rate(FUTURES, "BTCUSDT", "1h", **DAY).only
        case "supply":  # with texts
            return client.token_supply(interval="1d", coin="ETH", start="2026-01-01", end="2026-01-09")[0]
        case "heatmap":
            return client.orderbook_heatmap(FUTURES, "BTCUSDT", "5m", block_size=10, max_depth=20, **DAY).only
        case "profile":
            return client.volume_profile(FUTURES, "BTCUSDT", "1h", **DAY).only
        case "tpo":
            return client.tpo(
                FUTURES, "BTCUSDT", "1h", session="daily", block_minutes=30, start="2026-01-01", end="2026-01-04"
            ).only
        case "sessions":  # with lists
            return asked(client, "tpo").sessions
    raise AssertionError(kind)


KINDS = ["candles", "funding", "supply", "heatmap", "profile", "tpo", "sessions"]


def expected(series):
    """The columns of a table of a series by NumPy; ragged ones as lists, records as dictionaries."""
    times, columns = series.flat()
    return {"time": times} | {
        name: SIDES[values] if name == "side" else listed(values) for name, values in columns.items()
    }


def listed(values):
    if isinstance(values, Ragged):
        return [row.tolist() for row in values]
    if isinstance(values, Nested):
        rows = [{name: listed(part) for name, part in row.items()} for row in values]
        return [[dict(zip(row, of_one, strict=True)) for of_one in zip(*row.values(), strict=True)] for row in rows]
    return values.tolist() if values.dtype.kind == "O" else values


def same(got, wanted):
    """A column of polars, and the values that it should have."""
    if not isinstance(wanted, np.ndarray):
        assert got.to_list() == [plain(row) for row in wanted]
    elif wanted.dtype.kind == "M":
        assert got.dtype == pl.Datetime("ns", "UTC")
        nanoseconds = got.to_physical().to_list()
        assert nanoseconds == [None if np.isnat(one) else int(one.astype("int64")) for one in wanted]
    elif wanted.dtype.kind == "O":
        assert got.cast(pl.String).to_list() == wanted.tolist()
    else:
        assert got.null_count() == 0
        assert got.to_numpy().dtype == wanted.dtype
        np.testing.assert_array_equal(got.to_numpy(), wanted)


def plain(value):
    """NumPy's values within lists as Python's own."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def test_pyarrow_is_not_here():
    assert importlib.util.find_spec("pyarrow") is None


@pytest.mark.parametrize("rows", [0, 1, None], ids=["empty", "one row", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_series_in_polars_and_duckdb(client, kind, rows):
    series = asked(client, kind)[:rows]
    wanted = expected(series)
    assert len(wanted["time"]) or not rows
    for frame in (pl.DataFrame(series), series.to_polars()):
        assert frame.columns == list(wanted)
        for name, values in wanted.items():
            same(frame[name], values)
    read = duckdb.sql("SELECT * FROM series")
    assert read.columns == list(wanted)
    got = read.fetchnumpy()
    for name, values in wanted.items():
        if isinstance(values, np.ndarray) and values.dtype.kind in "fi":
            np.testing.assert_array_equal(got[name], values)
    times = duckdb.sql("SELECT epoch_ns(time) AS at FROM series").fetchnumpy()["at"]
    np.testing.assert_array_equal(times, wanted["time"].astype("int64"))


def test_a_large_heatmap_is_summed_by_duckdb(client):
    book = client.orderbook_heatmap(FUTURES, "BTCUSDT", "1m", block_size=2, max_depth=200, **DAY).only
    assert len(book.levels) > 100_000
    sums = duckdb.sql("SELECT side, count(*), sum(volume) FROM book GROUP BY side ORDER BY side DESC").fetchall()
    side = book.flat()[1]["side"]
    counts = [(SIDES[code], int((side == code).sum())) for code in (0, 1)]
    assert [(name, count) for name, count, _ in sums] == counts
    assert [total for *_, total in sums] == pytest.approx([book.volumes[side == code].sum() for code in (0, 1)])


def test_several_series_are_one_long_frame(client):
    several = client.candles([FUTURES, "BYBIT"], "BTCUSDT", "1h", **DAY) + client.funding_rate(
        FUTURES, "BTCUSDT", "1h", **DAY
    )
    assert len(several) == 3
    for frame in (pl.DataFrame(several), several.to_polars()):
        assert frame.columns[:3] == ["time", "exchange", "symbol"]
        assert frame["exchange"].cast(pl.String).to_list() == [one.id.exchange for one in several for _ in range(24)]
        same(frame["time"], np.concatenate([one.timestamps for one in several]))
        assert frame["close"].to_list() == [*several[0]["close"], *several[1]["close"], *[None] * 24]
        np.testing.assert_array_equal(frame["rate_close"][48:].to_numpy(), several[2]["rate_close"])
    assert several.to_polars().schema["symbol"] == pl.Enum(["BTCUSDT"])
    counts = "SELECT exchange, count(close) FROM several GROUP BY exchange ORDER BY exchange"
    assert duckdb.sql(counts).fetchall() == [(FUTURES, 24), ("BYBIT", 24)]
    none = mp.decode_points(b"{}")
    assert pl.DataFrame(none).schema == none.to_polars().schema == {"time": pl.Datetime("ns", "UTC")}


def test_records_in_polars_and_duckdb(client):
    markets = client.markets(limit=200)
    board = client.leaderboard(limit=5)
    positions = client.positions(board[0].wallet_address)
    summary = client.market_summary(condition_id=positions[0].condition_id)
    for records in (markets, board, positions):
        for part in (records, records[:1], records[:0]):
            frame = pl.DataFrame(part)
            assert frame.equals(part.to_polars()) and len(frame) == len(part)
            assert frame.columns == list(frame_of(part))
            for name, values in frame_of(part).items():
                if values.dtype.kind in "if":
                    np.testing.assert_array_equal(frame[name].to_numpy(), values)
                elif values.dtype.kind == "M":
                    same(frame[name], values)
            assert duckdb.sql("SELECT count(*) FROM part").fetchall() == [(len(part),)]
    assert len(pl.DataFrame(summary)) == 1
    table = summary.distributions
    assert table.to_polars().columns == list(table)
    for name, values in table.items():
        same(table.to_polars()[name], values)


def frame_of(records):
    """The columns by way of pandas, which takes records one by one."""
    frame = records.to_pandas()
    times = [name for name in frame if isinstance(frame[name].dtype, pd.DatetimeTZDtype)]
    return {
        name: frame[name].dt.tz_localize(None).to_numpy() if name in times else frame[name].to_numpy() for name in frame
    }


def test_pandas_needs_nothing_else(client):
    series = asked(client, "candles")
    frame = series.to_pandas()
    assert np.shares_memory(frame["close"].to_numpy(), series["close"])
    assert frame.index.tz_localize(None).to_numpy().tolist() == series.timestamps.tolist()


@pytest.mark.skipif(not hasattr(pd.DataFrame, "from_arrow"), reason="pandas 3 brought it")
def test_the_reader_of_pandas_itself_wants_pyarrow(client):
    # When this fails, `pandas.DataFrame.from_arrow(result)` needs no pyarrow either: the manual may say so.
    with pytest.raises(ImportError, match="pyarrow"):
        pd.DataFrame.from_arrow(asked(client, "candles"))


@pytest.mark.parametrize("rows", [0, 1, None], ids=["empty", "one row", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_series_in_pandas(client, kind, rows):
    series = asked(client, kind)[:rows]
    wanted = expected(series)
    for label in ("left", "right"):
        frame = series.to_pandas(label=label)
        stamps = series.flat(label)[0]
        assert frame.index.tz_localize(None).to_numpy().tolist() == stamps.tolist()
        assert list(frame) == list(wanted)[1:]
        for name, values in list(wanted.items())[1:]:
            if not isinstance(values, np.ndarray):
                assert [plain(listed_by_pandas(row)) for row in frame[name]] == [plain(row) for row in values]
            elif values.dtype.kind == "M":
                assert frame[name].dt.tz_localize(None).to_numpy().tolist() == values.tolist()
            elif values.dtype.kind == "O":  # the sides
                assert frame[name].tolist() == values.tolist()
            else:
                np.testing.assert_array_equal(frame[name].to_numpy(), values)


def listed_by_pandas(row):
    """What a column holds of a row: a text or none, or lists and dictionaries."""
    if row is None or isinstance(row, (str, float)):
        return row if isinstance(row, str) else None
    if isinstance(row, dict):
        every = [listed_by_pandas(part) for part in row.values()]
        return [dict(zip(row, of_one, strict=True)) for of_one in zip(*every, strict=True)]
    return row.tolist() if isinstance(row, np.ndarray) else [listed_by_pandas(part) for part in row]


def test_several_series_and_records_in_pandas(client):
    several = client.candles([FUTURES, "BYBIT"], "BTCUSDT", "1h", **DAY)
    long = several.to_pandas(known_at=True)
    assert long["exchange"].tolist() == [one.id.exchange for one in several for _ in range(24)]
    assert (long["known_at"] == long.index + pd.Timedelta("1h")).all()
    wide = several.to_pandas(pivot=True)
    assert wide[f"close_{FUTURES}"].tolist() == several.sel(exchange=FUTURES)["close"].tolist()
    markets = client.markets(limit=50)
    assert markets.to_pandas()["raw_symbol"].tolist() == [one.raw_symbol for one in markets]


def test_a_frame_outlives_its_result(client):
    series = asked(client, "candles")
    wanted = series["close"].copy()
    frame = pl.DataFrame(series)
    del series
    assert frame["close"].to_list() == wanted.tolist()
