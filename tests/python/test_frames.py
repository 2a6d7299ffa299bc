"""Series as frames of pandas, polars and pyarrow."""

import importlib
import io
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import marketpoints as mp
from marketpoints import _engine
from marketpoints.common import optional
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp

TIMES = pd.to_datetime([START, START + 3600, START + 7200], unit="s", utc=True).as_unit("ns")


@pytest.fixture
def series():
    return mp.decode_points(body(candles(CANDLES)))


@pytest.fixture
def both_sides():
    rows = {"BUY": CANDLES, "SELL": CANDLES[:2]}
    return mp.decode_points(body(*(candles(some, type="TRADE_AGG", side=side) for side, some in rows.items())))


@pytest.fixture
def book():
    return mp.decode_points(body(heatmap(BOOK)))


def test_pandas(series):
    frame = series.to_pandas()
    assert frame.index.name == "time"
    assert frame.index.dtype == pd.DatetimeTZDtype("ns", "UTC")
    assert frame.index.equals(TIMES)
    assert list(frame.columns) == list(series.columns)
    assert frame["close"].tolist() == series["close"].tolist()
    assert frame["first_timestamp"].dtype == pd.DatetimeTZDtype("ns", "UTC")
    assert frame.attrs["id"]["raw_symbol"] == "BTCUSDT"
    assert frame.loc["2026-04-22 19:00", "volume"] == 0.0


def test_pandas_shares_memory_unless_asked(series):
    shared = series.to_pandas()
    assert np.shares_memory(shared["close"].to_numpy(), series["close"])
    shared["twice"] = shared["close"] * 2  # new columns are the frame's own
    assert shared["twice"].tolist() == [210.0, 204.0, 203.0]
    own = series.to_pandas(copy=True)
    own.iloc[0, 0] = -1.0
    assert own.iloc[0, 0] == -1.0
    assert series["open"][0] == 100.0
    assert own.attrs == shared.attrs


def test_pandas_frames_reach_a_parquet_file_and_back(series):
    file = io.BytesIO()
    series.to_pandas().to_parquet(file)
    again = pd.read_parquet(file)
    pd.testing.assert_frame_equal(again, series.to_pandas(), check_freq=False)


def test_a_long_frame_tells_the_series_apart(both_sides):
    frame = both_sides.to_pandas()
    assert list(frame.columns[:3]) == ["side", "exchange", "symbol"]
    assert frame["side"].tolist() == ["BUY"] * 3 + ["SELL"] * 2
    assert isinstance(frame["side"].dtype, pd.CategoricalDtype)
    assert set(frame["exchange"]) == {"BINANCE_FUTURES"}
    assert frame.index.name == "time"
    pivot = frame.pivot(columns="side", values="volume")
    assert pivot["BUY"].tolist() == [row[4] for row in CANDLES]


def test_polars(series):
    frame = series.to_polars()
    assert frame.columns == ["time", *series.columns]
    assert frame.schema["time"] == frame.schema["last_timestamp"] == pl.Datetime("ns", "UTC")
    assert frame["time"].to_list() == TIMES.to_pydatetime().tolist()
    assert frame["close"].to_list() == series["close"].tolist()


def test_a_long_polars_frame(both_sides):
    frame = both_sides.to_polars()
    assert frame.columns[:4] == ["time", "side", "exchange", "symbol"]
    assert frame["side"].to_list() == ["BUY"] * 3 + ["SELL"] * 2


def test_arrow(series):
    table = series.to_arrow()
    assert table.column_names == ["time", *series.columns]
    assert table.schema.field("time").type == pa.timestamp("ns", tz="UTC")
    close = table["close"].chunk(0)
    assert close.buffers()[1].address == series["close"].ctypes.data
    assert close.null_count == 0
    assert table.schema.metadata[b"exchange"] == b"BINANCE_FUTURES"


def test_a_long_arrow_table(both_sides):
    table = both_sides.to_arrow()
    assert table.column_names[:4] == ["time", "side", "exchange", "symbol"]
    assert table["side"].to_pylist() == ["BUY"] * 3 + ["SELL"] * 2


def test_the_arrow_stream_is_read_by_others(series, both_sides):
    assert pa.table(series.only).equals(series.to_arrow())
    assert pl.DataFrame(series.only)["close"].to_list() == series["close"].tolist()
    assert pa.table(both_sides).num_rows == 5


def frames_of(series, both_sides):
    levels = [{"price": 99.0, "block_ids": [0, 2]}, {"price": 100.0, "block_ids": []}]
    points = [{"Point": {"TpoAggregation": {"timestamp": stamp(START), "levels": levels, "single_prints": [99.0]}}}]
    tpo = mp.decode_points(body({"id": {"type": "TPO_AGG", "interval": "DAY"}, "points": points}))
    newer = [{"Point": {"legs": legs, "timestamp": stamp(START + at)}} for at, legs in enumerate([[{"a": 1.5}], []])]
    unknown = mp.decode_points(body({"id": {"type": "A_NEWER_AGG"}, "points": newer}))
    market = mp.Market.from_wire({"exchange": "X", "availableSince": {"s": 5}, "tags": [{"id": "1"}]})
    summary = mp.MarketSummary(condition_id=("0x1",))
    some = [series, series.only, both_sides, tpo, tpo.sessions, unknown, mp.decode_points(b"{}")]
    return [*some, mp.Records([market, mp.Market()]), mp.Records([], mp.Market), market, summary, summary.distributions]


def test_polars_takes_whatever_has_a_frame(series, both_sides):
    for one in frames_of(series, both_sides):
        frame = pl.DataFrame(one)
        assert frame.shape == (one.to_arrow().num_rows, one.to_arrow().num_columns)
        if isinstance(one, mp.Table):
            continue  # a Mapping, whose columns polars takes one by one
        wanted = one.to_polars()
        # Names of series are categories, which Arrow writes otherwise.
        plain = [name for name, kind in wanted.schema.items() if not isinstance(kind, pl.Enum)]
        assert frame.columns == wanted.columns and frame.select(plain).schema == wanted.select(plain).schema
        assert frame.select(plain).equals(wanted.select(plain))


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None  # an import of it fails as if it were not installed
import pickle
import polars
import marketpoints as mp

several = pickle.load(sys.stdin.buffer)
print([polars.DataFrame(one).shape for one in several], [one.to_polars().shape for one in several])
lists = several[4].to_polars()["single_prints"].to_list(), several[5].to_polars()["legs"].to_list()
print(lists)
try:
    several[0].to_arrow()
except mp.MissingDependencyError as error:
    print(error)
sys.modules["polars"] = None
print(several[0].__arrow_c_stream__())
"""


def test_polars_needs_no_pyarrow(series, both_sides):
    every = frames_of(series, both_sides)
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], input=pickle.dumps(every), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    shapes, lists, error, stream = done.stdout.decode().splitlines()
    expected = [(one.to_arrow().num_rows, one.to_arrow().num_columns) for one in every]
    assert shapes == f"{expected} {expected}"
    assert lists == str(([[99.0]], [[{"a": 1.5}], []]))
    assert "pip install 'marketpoints[arrow]'" in error
    assert 'capsule object "arrow_array_stream"' in stream


def test_a_schema_is_known_beforehand_and_one_asked_for_is_checked(series, both_sides, book):
    for one in frames_of(series, both_sides):
        assert pa.schema(one) == one.to_arrow().schema
    own = series.to_arrow().schema
    smaller = own.set(own.get_field_index("close"), pa.field("close", pa.float32()))
    assert pa.table(series.only, schema=smaller)["close"].to_pylist() == series["close"].tolist()
    stream = series.only.__arrow_c_stream__(smaller.__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(stream).schema == own  # to cast is the reader's
    text = own.set(own.get_field_index("close"), pa.field("close", pa.string()))
    with pytest.raises(mp.SelectionError, match="column close is Float64 and cannot be cast to Utf8"):
        series.only.__arrow_c_stream__(text.__arrow_c_schema__())
    with pytest.raises(mp.SelectionError, match="the columns are time, open"):
        series.__arrow_c_stream__(own.remove(1).__arrow_c_schema__())
    sides = book.to_arrow().schema.set(3, pa.field("side", pa.large_string()))
    assert pa.table(book, schema=sides)["side"].to_pylist()[0] == "bid"
    for wrong in (object(), pa.int64()):
        with pytest.raises((TypeError, ValueError)):
            series.__arrow_c_stream__(wrong)


def test_columns_of_different_kinds_make_no_long_table():
    def one(value, symbol):
        points = [{"Point": {"newer": value, "timestamp": stamp(START)}}]
        return {"id": {"type": "A_NEWER_AGG", "rawSymbol": symbol}, "points": points}

    answer = mp.decode_points(body(one(1.5, "A"), one("text", "B")))
    for take in (answer.to_arrow, answer.to_polars, answer.__arrow_c_stream__):
        with pytest.raises(mp.SelectionError, match="column newer is Float64 in one and Utf8 in another"):
            take()


def test_a_stream_lends_memory_and_gives_it_back():
    rows = [(1.0 + at, 2.0 + at, 0.5, 1.5, 3.0) for at in range(1000)]
    answer = mp.decode_points(body(candles(rows)))
    array, wanted = answer["close"], answer["close"].tolist()
    before = sys.getrefcount(array)
    frame, table = pl.DataFrame(answer), pa.table(answer)
    assert sys.getrefcount(array) == before + 2
    assert table["close"].chunk(0).buffers()[1].address == array.ctypes.data
    assert np.shares_memory(frame["close"].to_numpy(), array)
    del answer
    assert frame["close"].to_list() == table["close"].to_pylist() == wanted
    del frame, table
    mp.decode_points(b"{}")  # what was given back is counted when the engine is called again
    assert sys.getrefcount(array) < before
    part = mp.decode_points(body(candles(rows)))[0][7:20]
    assert pa.table(part)["open"].to_pylist() == part["open"].tolist()


def test_arrays_that_do_not_lie_as_arrow_wants_are_copied():
    whole = np.arange(12.0).reshape(-1, 2)
    odd = np.frombuffer(b"x" + np.arange(3.0).tobytes(), dtype=np.uint8)[1:].view(np.float64)
    big = np.arange(3.0).astype(">f8")
    for values in (whole[:3, 0], whole[2::-1, 1], odd):
        table = pa.table(_engine.ArrowTable([("a", "array", values)]))
        assert table["a"].to_pylist() == values.tolist()
    for wrong in (big, whole, np.array([1j]), [1.0]):
        with pytest.raises(TypeError):
            _engine.ArrowTable([("a", "array", wrong)])
    with pytest.raises(ValueError, match="row count"):
        _engine.ArrowTable([("a", "int", [1]), ("b", "int", [])])


def test_what_is_no_array_says_so(series, both_sides):
    for one in (series, series.only, both_sides, mp.MarketSummary().distributions):
        for take in (pd.DataFrame, np.asarray, np.array):
            with pytest.raises(mp.SelectionError, match=r"holds several columns and is no array.*to_pandas\(\)"):
                take(one)
    # Records are rows as they stand.
    listed = mp.Records([mp.Market(exchange="X"), mp.Market(exchange="Y")])
    assert pd.DataFrame(listed)["exchange"].tolist() == ["X", "Y"]


def test_absent_times_and_optional_values():
    point = {"Point": {"open": 1, "high": 1, "low": 1, "close": 1, "timestamp": stamp(START)}}
    filled = mp.decode_points(body({"id": {"type": "TRADE_AGG"}, "points": [point]}))
    assert np.isnat(filled["first_timestamp"]).all()
    assert filled.to_pandas()["first_timestamp"].isna().all()
    assert filled.to_polars()["first_timestamp"].null_count() == 1
    assert filled.to_arrow()["first_timestamp"].null_count == 1
    point = {"Point": {"rateClose": 0.0001, "timestamp": stamp(START)}}
    funding = mp.decode_points(body({"id": {"type": "FUNDING_RATE_AGG"}, "points": [point]}))
    assert np.isnan(funding.to_pandas()["rate_open"]).all()
    assert np.isnan(funding.to_polars()["rate_open"][0])
    assert funding.to_arrow()["rate_open"].null_count == 0


def test_texts_and_lists():
    row = {"Point": {"marketcap": 1.0, "chain": "ETH", "timestamp": stamp(START)}}
    bare = {"Point": {"marketcap": 2.0, "timestamp": stamp(START + 60)}}
    supply = mp.decode_points(body({"id": {"type": "TOKEN_SUPPLY_AGG"}, "points": [row, bare]}))
    assert supply["chain"].tolist() == ["ETH", None]
    assert supply.to_polars()["chain"].to_list() == ["ETH", None]
    assert supply.to_arrow()["chain"].to_pylist() == ["ETH", None]
    assert supply.to_pandas()["chain"].iloc[0] == "ETH"
    point = {"Point": {"profile": [1.0, 2.0, 3.0], "timestamp": stamp(START)}}
    profile = mp.decode_points(body({"id": {"type": "A_NEWER_AGG"}, "points": [point]}))
    assert profile.to_pandas()["profile"].iloc[0].tolist() == [1.0, 2.0, 3.0]
    assert profile.to_arrow()["profile"].to_pylist() == [[1.0, 2.0, 3.0]]
    assert profile.to_polars()["profile"].to_list() == [[1.0, 2.0, 3.0]]


LEVELS = [
    (0, 98.0, 2.0, "bid"),
    (0, 99.0, 1.0, "bid"),
    (0, 100.0, 3.0, "ask"),
    (0, 102.0, 4.0, "ask"),
    (60, 100.0, 5.0, "ask"),
    (120, 97.0, 6.0, "bid"),
    (120, 99.0, 7.0, "ask"),
    (120, 101.0, 8.0, "ask"),
]


def test_a_heatmap_has_a_row_a_level(book):
    times = [pd.Timestamp(START + after, unit="s", tz="UTC") for after, *_ in LEVELS]
    rows = [tuple(rest) for _, *rest in LEVELS]
    frame = book.to_pandas()
    assert frame.index.tolist() == times
    assert list(frame.itertuples(index=False, name=None)) == rows
    assert list(book.to_polars().select("price", "volume", "side").iter_rows()) == rows
    table = book.to_arrow()
    assert list(zip(*(table[name].to_pylist() for name in ("price", "volume", "side")), strict=True)) == rows


def test_levels_without_a_side_have_none():
    flat = [2.0, START * 1e6, 1.0, 5.0, 2.0, 6.0]
    answer = mp.decode_points(body({"id": {"type": "VENUE_LIQUIDATION_AGG", "coin": "BTC"}, "flat_points": flat}))
    assert answer.to_pandas()["side"].isna().all()
    assert answer.to_polars()["side"].to_list() == [None, None]
    assert answer.to_arrow()["side"].to_pylist() == [None, None]


def test_two_heatmaps_keep_the_sides_of_the_book():
    answer = mp.decode_points(body(heatmap(BOOK), heatmap(BOOK[:1], exchange="OKEX_SWAP")))
    frame = answer.to_pandas()
    assert list(frame.columns) == ["exchange", "symbol", "price", "volume", "side"]
    assert frame["side"].tolist() == [side for *_, side in LEVELS + LEVELS[:4]]
    assert frame["exchange"].tolist() == ["BYBIT"] * 8 + ["OKEX_SWAP"] * 4


def unlike_series():
    """Series of a type that no table knows, by turns with a text, a list and numbers alone."""
    kinds = [{"note": "a"}, {"note": "b"}, {"prices": [1.0, 2.5]}, {}, {"note": "c"}]
    every = []
    for number, more in enumerate(kinds):
        points = [{"Point": {"count": row + number, "timestamp": stamp(START + 60 * row), **more}} for row in range(3)]
        every.append({"id": {"type": "A_NEWER_AGG", "rawSymbol": f"S{number}"}, "points": points})
    return mp.decode_points(body(*every))


def test_a_long_frame_has_the_rows_of_each_series_in_their_order():
    answer = unlike_series()
    frame = answer.to_pandas()
    assert set(frame.columns) == {"symbol", "count", "note", "prices"}
    assert frame["symbol"].tolist() == [f"S{number}" for number in range(5) for _ in range(3)]
    assert frame["count"].tolist() == [float(row + number) for number in range(5) for row in range(3)]
    assert frame["note"].isna().tolist() == [number in (2, 3) for number in range(5) for _ in range(3)]
    assert frame["note"].dropna().tolist() == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert [rows.tolist() for rows in frame["prices"].dropna()] == [[1.0, 2.5]] * 3
    assert frame.index.tolist() == [pd.Timestamp(START + 60 * row, unit="s", tz="UTC") for row in range(3)] * 5
    frame["count"] += 1  # its values are its own, and may be changed
    assert answer[0]["count"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", ["to_pandas", "to_polars", "to_arrow"])
def test_a_long_frame_says_which_rows_are_in_usd(client, method):
    market, window = ("BINANCE_FUTURES", "BTCUSDT", "1h"), {"start": "2025-01-01", "end": "2025-01-01T03:00"}
    coins, usd = client.open_interest(*market, **window), client.open_interest(*market, usd=True, **window)
    frame = getattr(coins + usd, method)()
    units = frame["unit"].to_pylist() if method == "to_arrow" else list(frame["unit"])
    assert units == ["native"] * 3 + ["usd"] * 3
    alike = getattr(usd + client.open_interest("BYBIT", *market[1:], usd=True, **window), method)()
    assert "unit" not in (alike.column_names if method == "to_arrow" else alike.columns)


@pytest.mark.parametrize("known_at", [False, True])
@pytest.mark.parametrize("method", ["to_pandas", "to_polars", "to_arrow"])
def test_a_long_frame_asks_each_series_for_its_rows_once(monkeypatch, method, known_at):
    flattened = []
    flat = mp.Heatmap.flat
    monkeypatch.setattr(mp.Heatmap, "flat", lambda one, label="left": flattened.append(one) or flat(one, label))
    answer = mp.decode_points(body(*(heatmap(BOOK, rawSymbol=f"S{number}") for number in range(4))))
    assert len(getattr(answer, method)(known_at=known_at)) == 4 * len(LEVELS)
    assert flattened == list(answer)


def test_no_series_is_an_empty_frame():
    empty = mp.decode_points(b"{}")
    assert empty.to_pandas().empty
    assert empty.to_pandas().index.dtype == pd.DatetimeTZDtype("ns", "UTC")
    assert empty.to_polars().schema == {"time": pl.Datetime("ns", "UTC")}
    assert empty.to_arrow().num_rows == 0


def test_a_series_without_points_is_a_frame_without_rows():
    shown = json.dumps({"series": [{"id": {"type": "TRADE_AGG"}, "points": []}]}).encode()
    frame = mp.decode_points(shown).to_pandas()
    assert len(frame) == 0


@pytest.mark.parametrize(
    ("method", "package", "extra"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "arrow"),
        ("plot", "matplotlib", "plot"),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(series, monkeypatch, method, package, extra):
    def import_module(name):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importlib.import_module(name)

    monkeypatch.setattr(optional, "importlib", type("Without", (), {"import_module": staticmethod(import_module)}))
    with pytest.raises(mp.MissingDependencyError, match=rf"{package}.*pip install 'marketpoints\[{extra}\]'"):
        getattr(series, method)()


@pytest.mark.parametrize("method", ["to_pandas", "to_polars", "to_arrow"])
def test_a_long_frame_says_of_what_type_and_interval_rows_are_where_they_differ(client, method):
    market, window = ("BINANCE_FUTURES", "BTCUSDT"), {"start": "2025-01-01", "end": "2025-01-01T02:00"}
    candles, halves = client.candles(*market, "1h", **window), client.candles(*market, "30m", **window)
    interest = client.open_interest(*market, "1h", **window)

    def told(answer, name):
        frame = getattr(answer, method)()
        names = frame.column_names if method == "to_arrow" else list(frame.columns)
        return (frame[name].to_pylist() if method == "to_arrow" else list(frame[name])) if name in names else None

    assert told(candles + halves, "interval") == ["HOUR"] * 2 + ["THIRTY_MINUTES"] * 4
    assert told(candles + halves, "type") is None
    types = ["TRADE_SIDE_AGNOSTIC_AGG"] * 2 + ["OPEN_INTEREST_AGG"] * 2
    assert told(candles + interest, "type") == types
    assert told(candles + interest, "interval") is None
    assert told(candles, "type") is None
