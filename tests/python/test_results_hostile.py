"""Answers that are hostile only afterwards: when they become frames, joins, Arrow streams and pictures."""

import ctypes
import json

import numpy as np
import pyarrow as pa
import pytest

import marketpoints as mp
from marketpoints.identity import Provenance
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap
from support.children import run

# What ends a script, obeys a terminal, and is broken mathematics to matplotlib.
NAME = "</script>\x1b[2J$\\frac{a}{$\0"

MANY = """
import json, resource, sys, marketpoints as mp
resource.setrlimit(resource.RLIMIT_CPU, (45, 45))
def one(number):
    point = {{"timestamp": {{"s": 1776880800}}, "open": 1, "high": 2, "low": 1, "close": 1.5, "volume": 3}}
    known = {{"type": "TRADE_SIDE_AGNOSTIC_AGG", "rawSymbol": f"S{{number}}", "exchange": "X", "interval": "HOUR"}}
    return {{"id": known, "points": [{{"Point": point}}]}}
answer = mp.decode_points(json.dumps({{"series": [one(number) for number in range({count})]}}).encode())
frame = {call}
assert frame.shape == {shape}, frame.shape
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak // 1024)
"""


# faults.md row 17
@pytest.mark.parametrize(
    ("call", "count", "shape"),
    [
        ("answer.to_pandas()", 3000, (3000, 9)),  # 1,150 MiB
        ("answer.to_polars()", 10_000, (10_000, 10)),  # beyond the bound
        ("answer.to_pandas(pivot=True)", 10_000, (1, 70_000)),  # minutes
    ],
)
def test_frames_of_many_series_take_no_square_of_their_number(call, count, shape):
    peak = int(run(MANY.format(call=call, count=count, shape=shape), timeout=300))
    assert peak < 500, f"{peak} MiB"


@pytest.mark.parametrize("count", [2, 300])
def test_labels_of_a_long_frame_stay_what_they_were(count):
    answer = mp.decode_points(body(*(candles(CANDLES[:1], rawSymbol=f"S{number}") for number in range(count))))
    expected = [f"S{number}" for number in range(count)]
    frame = answer.to_pandas()
    assert list(frame.columns[:2]) == ["exchange", "symbol"]
    assert frame["symbol"].dtype.name == "category"
    assert list(frame["symbol"]) == expected == list(frame["symbol"].cat.categories)
    table = answer.to_polars()
    assert table.columns[:3] == ["time", "exchange", "symbol"]
    assert table["symbol"].to_list() == expected
    assert table["symbol"].dtype.categories.to_list() == expected
    assert answer.to_arrow()["symbol"].to_pylist() == expected


# faults.md row 35
def test_names_with_a_nul_make_frames_all_the_same():
    points = candles(CANDLES)
    for point in points["points"]:
        point["Point"]["a\0b"] = 1
    answer = mp.decode_points(body(points, points | {"id": points["id"] | {"rawSymbol": "E\0"}}))
    for made in (answer[0].to_polars(), answer.to_polars(), answer.to_polars(pivot=True)):
        assert any("a\\x00b" in name for name in made.columns)


@pytest.mark.parametrize("session", [None, "TPO_SESSION_MONTHLY"])
def test_a_bucket_that_ends_beyond_all_times_is_not_known_in_1677(session):
    last = 2**63 // 10**9
    point = {"timestamp": {"s": last}, "open": 1, "high": 1, "low": 1, "close": 2}
    series = mp.decode_points(body(candles([]) | {"points": [{"Point": point}]}))[0]
    if session:
        series = type(series)(series._columns, Provenance(None, session=session))
    assert series.closes_at[0] == np.datetime64(2**63 - 1, "ns")
    at = np.array(["2026-01-01"], "datetime64[ns]")
    assert np.isnan(mp.align(at, series, max_age="90000d")["close"].iloc[0])


@pytest.mark.parametrize("moment", ["9999-04-11", "1500-01-01"])
def test_moments_that_nanoseconds_do_not_hold_are_refused(moment):
    series = mp.decode_points(body(candles(CANDLES)))[0]
    with pytest.raises(mp.InvalidRequest, match="1677 to 2262"):
        mp.align(np.array([moment], "datetime64[D]"), series)


class Holder:
    """Whoever reads Arrow takes the capsule of it."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __arrow_c_schema__(self):
        return self.capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


def test_a_requested_schema_that_was_taken_is_refused():
    series = mp.decode_points(body(candles(CANDLES)))[0]
    taken = series.__arrow_c_schema__()
    pa.schema(Holder(taken))
    with pytest.raises(ValueError, match="already taken"):
        series.__arrow_c_stream__(taken)
    memory = ctypes.create_string_buffer(128)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"arrow_schema"
    with pytest.raises(ValueError, match="already taken"):
        series.__arrow_c_stream__(new(ctypes.addressof(memory), name, None))


def test_a_stream_is_read_once_and_outlives_its_series():
    series = mp.decode_points(body(candles(CANDLES * 400)))[0]
    capsule = series.__arrow_c_stream__()
    expected = series["close"].copy()
    del series
    assert np.array_equal(pa.table(Holder(capsule))["close"].to_numpy(), expected)
    with pytest.raises((ValueError, pa.ArrowInvalid)):
        pa.table(Holder(capsule))


HOSTILE = {"rawSymbol": NAME, "exchange": NAME, "normalizedSymbol": f"{NAME}-{NAME}", "coin": NAME}


def _answers():
    rows = candles(CANDLES, **HOSTILE)
    for point in rows["points"]:
        point["Point"][NAME] = 2.5
    book = heatmap(BOOK, **HOSTILE)
    bars = [{"Point": {"timestamp": {"s": START + 3600 * row}, "liquidations": row + 1}} for row in range(3)]
    sides = ({"id": rows["id"] | {"type": "LIQUIDATION_AGG", "side": side}, "points": bars} for side in ("BUY", NAME))
    unknown = [rows | {"id": rows["id"] | {"type": f"NEW{NAME}", "rawSymbol": symbol}} for symbol in ("$A$", "$B$")]
    bodies = {"candles": [rows], "book": [book], "liquidations": list(sides), "unknown": unknown}
    return {
        name: mp.decode_points(json.dumps({"series": every}).encode(), now=START + 10**6)
        for name, every in bodies.items()
    }


# faults.md row 35
@pytest.mark.parametrize(
    "draw",
    [
        lambda of: of["candles"].plot(),
        lambda of: of["book"].plot(),
        lambda of: of["liquidations"].plot(),
        lambda of: of["unknown"].plot(),
        lambda of: of["unknown"].plot(layout="panels"),
        lambda of: of["unknown"].plot(layout="axis"),
        lambda of: mp.plot(of["candles"], of["liquidations"]),
        lambda of: mp.plot(of["book"], of["candles"]),
    ],
)
@pytest.mark.filterwarnings("error")  # a control character has no glyph
def test_a_name_in_a_picture_is_neither_mathematics_nor_a_control_character(draw):
    from support.pictures import Picture

    picture = Picture(draw(_answers()))
    texts = [text for text in picture.texts if "$" in text]
    assert texts
    assert all(text.replace("\n", "").isprintable() for text in texts)
    assert not any("$" in text.replace(r"\$", "") for text in texts)


# faults.md row 35
def test_an_explorer_names_what_it_shows_without_backslashes(tmp_path):
    of = _answers()
    shown = mp.decode_points(body(candles(CANDLES, rawSymbol="$A$")))
    assert "$A$" in repr(shown.explore())
    assert "\\$" not in repr(shown.explore())
    page = tmp_path / "page.html"
    of["candles"].explore(over=[of["liquidations"]]).to_html(page)
    text = page.read_text()
    assert text.count("</script>") == 2  # its own
    assert "\x1b" not in text
    assert "image/png" in of["book"].explore(over=[of["candles"]])._repr_mimebundle_()[0]
