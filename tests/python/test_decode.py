"""The decoder against a slow one in plain Python, on bodies with every quirk of the supplement (sections 2 and 3)."""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import marketpoints as mp
from support.children import run

NUMBERS = ["open", "high", "low", "close", "volume"]
OPTIONAL = ["rateOpen", "rateHigh", "rateLow", "rateClose", "predictedOpen", "predictedClose"]
SNAKE = {"rateOpen": "rate_open", "rateHigh": "rate_high", "rateLow": "rate_low", "rateClose": "rate_close"}
SNAKE |= {"predictedOpen": "predicted_open", "predictedClose": "predicted_close"}


def spell(value: float, rng: random.Random) -> str:
    """A number as the service may write it: 17 digits, exponents, whole doubles without a point."""
    forms = [repr(value), f"{value:.17g}", f"{value:.16e}", f"{value:.17e}".replace("e", "E")]
    if value == int(value) and abs(value) < 1e15 and str(value) != "-0.0":
        forms.append(str(int(value)))
    return rng.choice([form for form in forms if float(form) == value])


def write(value, rng: random.Random) -> str:
    """JSON text with keys in any order and white space anywhere."""
    space = rng.choice(["", "", " ", "\n\t"])
    if isinstance(value, dict):
        items = list(value.items())
        rng.shuffle(items)
        return "{" + ",".join(f"{space}{json.dumps(k)}{space}:{space}{write(v, rng)}" for k, v in items) + space + "}"
    if isinstance(value, list):
        return "[" + ",".join(space + write(v, rng) for v in value) + space + "]"
    if isinstance(value, float):
        return spell(value, rng)
    return json.dumps(value, ensure_ascii=rng.random() < 0.5)


doubles = st.floats(allow_nan=False, allow_infinity=False)
times = st.integers(0, 4_000_000_000)


def point(fields, values):
    return st.fixed_dictionaries({}, optional=dict.fromkeys(fields, values))


unknown = st.dictionaries(
    st.sampled_from(["new", "Ünï", 'quo"te']),
    st.none() | st.booleans() | doubles | st.text(max_size=5) | st.lists(doubles, max_size=3),
    max_size=2,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([("TRADE_AGG", NUMBERS), ("FUNDING_RATE_AGG", OPTIONAL)]),
    st.lists(times, unique=True, max_size=8),
    st.data(),
    st.integers(0, 2**32),
)
def test_tables_equal_the_slow_decoder(kind, stamps, data, seed):
    name, fields = kind
    rng = random.Random(seed)
    rows = [data.draw(point(fields, doubles)) for _ in stamps]
    points = []
    for stamp, row in zip(stamps, rows, strict=True):
        nanoseconds = rng.choice([0, 1, 999_999_999])
        wire = dict(row) | {"timestamp": {"s": stamp} | ({"ns": nanoseconds} if nanoseconds else {})}
        row["time"] = stamp * 10**9 + nanoseconds
        points.append({"Point": wire, "beside": {"deep": [1, {"x": None}]}})
    body = write({"series": [{"id": {"type": name, "side": "BUY", "rank": 7}, "points": points, "more": []}]}, rng)
    (series,) = mp.decode_points(body.encode())
    rows.sort(key=lambda row: row["time"])
    assert series.timestamps.astype(int).tolist() == [row["time"] for row in rows]
    missing = 0.0 if name == "TRADE_AGG" else math.nan
    for field in fields:
        expected = np.array([row.get(field, missing) for row in rows], dtype=float)
        found = series[SNAKE.get(field, field)]
        assert found.tobytes() == expected.tobytes() or np.array_equal(found, expected, equal_nan=True)
        assert [math.copysign(1, x) for x in found if x == 0] == [math.copysign(1, x) for x in expected if x == 0]


# faults.md row 23
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(times, unknown), unique_by=lambda pair: pair[0], max_size=5), st.integers(0, 2**32))
def test_unknown_fields_never_break_a_known_type(rows, seed):
    rng = random.Random(seed)
    points = []
    for stamp, extra in rows:
        prices = dict.fromkeys(("open", "high", "low", "close"), 1.5)
        points.append({"Point": prices | {"timestamp": {"s": stamp}} | extra})
    body = write({"series": [{"id": {"type": "TRADE_AGG"}, "points": points}]}, rng)
    (series,) = mp.decode_points(body.encode())
    assert series["open"].tolist() == [1.5] * len(rows)


@pytest.mark.parametrize("kind", ["TRADE_SIDE_AGNOSTIC_AGG", "VOLUME_PROFILE_AGG"])
def test_a_new_field_takes_no_name_that_a_table_needs(kind):
    names = [
        "time",
        "timestamps",
        "known_at",
        "asked_at",
        "side",
        "exchange",
        "symbol",
        "coin",
        "tenor",
        "type",
        "interval",
    ]
    names += ["unit", "levels", "prices", "buys", "sells", "offsets", "volumes"]
    known = {"open": 1, "high": 2, "low": 1, "close": 1} if kind.startswith("TRADE") else {"profile": [99.0, 1.0, 2.0]}

    def series(symbol):
        point = known | dict.fromkeys(names, 7.5) | {"timestamp": {"s": 1776880800}}
        return {
            "id": {"type": kind, "exchange": "X", "interval": "HOUR", "rawSymbol": symbol},
            "points": [{"Point": point}],
        }

    answer = mp.decode_points(json.dumps({"series": [series("S"), series("T")]}).encode())
    for one in answer:
        assert len(set(one.columns)) == len(one.columns) and one["time_"].tolist() == [7.5]
    if kind == "VOLUME_PROFILE_AGG":
        assert answer[0]["levels"].tolist() == [[99.0, 1.0, 2.0]] and answer[0]["levels_"].tolist() == [7.5]
        assert answer[0]["prices"].tolist() == [99.0] and answer[0]["prices_"].tolist() == [7.5]
        return
    when = np.datetime64("2026-04-22T18:00")
    frame = answer.to_pandas()
    assert frame["symbol"].tolist() == ["S", "T"] and frame["exchange_"].tolist() == [7.5, 7.5]
    assert answer[0].to_polars()["time"].to_list()[0].replace(tzinfo=None) == when.astype("datetime64[us]").item()
    dated = answer.to_pandas(known_at=True)
    assert [str(one)[:16] for one in dated["known_at"]] == ["2026-04-22 19:00"] * 2
    assert [str(one)[:16] for one in mp.align(answer[0], answer[1])["time"]] == ["2026-04-22 18:00"]


levels = st.lists(st.tuples(st.floats(0.001, 1e9), st.floats(0, 1e12)), max_size=6, unique_by=lambda level: level[0])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(10**8, 4 * 10**9), levels, levels), unique_by=lambda s: s[0], max_size=5),
    st.integers(),
)
def test_nested_and_flat_heatmaps_are_one(snapshots, seed):
    rng = random.Random(seed)
    points, flat, expected = [], [], []
    for stamp, bids, asks in snapshots:
        bids, asks = sorted(bids, reverse=True), sorted(asks)
        fields = {"timestamp": {"s": stamp}}
        if bids:
            fields["bids"] = [x for level in bids for x in level]
        if asks:
            fields["asks"] = [x for level in asks for x in level]
        points.append({"Point": fields})
        ascending = sorted(bids[::-1] + asks, key=lambda level: level[0])
        flat += [float(len(ascending)), stamp * 1e6] + [x for level in ascending for x in level]
        expected.append((stamp, ascending))
    identity = {"type": "BLOCK_BOOK_SNAPSHOT_AGG"}
    (nested,) = mp.decode_points(write({"series": [{"id": identity, "points": points}]}, rng).encode())
    (short,) = mp.decode_points(write({"series": [{"id": identity, "flat_points": flat}]}, rng).encode())
    expected.sort()
    for heatmap in (nested, short):
        assert heatmap.timestamps.astype("datetime64[s]").astype(int).tolist() == [stamp for stamp, _ in expected]
        for index, (_, pairs) in enumerate(expected):
            assert heatmap.snapshot(index)[:, 0].tolist() == [price for price, _ in pairs]
        assert heatmap.levels.shape == (sum(len(pairs) for _, pairs in expected), 2)


CANDLES = (
    b'{"series":[{"id":{"type":"TRADE_SIDE_AGNOSTIC_AGG","rawSymbol":"BTCUSDT","exchange":"BINANCE_FUTURES"},'
    b'"points":[{"Point":{"open":78869.8,"high":79129.8,"low":78783.7,"close":78989.5,"volume":3353.919000000029,'
    b'"timestamp":{"s":1776880800},"lastTimestamp":{"s":1776884399,"ns":878000000}}},'
    b'{"Point":{"open":1.9340026e+07,"close":-8.81e-06,"timestamp":{"s":1776884400}}}]}]}'
)


# faults.md row 20
def test_every_truncation_is_an_error_with_its_offset():
    for end in range(len(CANDLES)):
        with pytest.raises(mp.DecodeError) as caught:
            mp.decode_points(CANDLES[:end])
        assert 0 <= caught.value.offset <= end


def decoded(body):
    """The answer and None, or None and the error's offset."""
    try:
        return mp.decode_points(body), None
    except mp.DecodeError as error:
        return None, error.offset


# faults.md row 43
@pytest.mark.filterwarnings("ignore::marketpoints.RenamedFieldWarning")  # a corrupted name is another one
def test_every_corrupted_byte_is_an_error_or_an_answer_and_never_a_short_one():
    for index in range(len(CANDLES)):
        for byte in (0, ord('"'), ord("}"), ord("9"), ord("-"), 0xFF):
            body = CANDLES[:index] + bytes([byte]) + CANDLES[index + 1 :]
            answer, offset = decoded(body)
            if answer is None:
                assert 0 <= offset <= len(body)
                continue
            # A whole document: then Python's own reader takes it too, and no point of it is missing.
            document = json.loads(body)
            points = [len(series.get("points", [])) for series in document.get("series", [])]
            # Without the key `series` it is an answer without series, if no data stand elsewhere.
            assert [len(series) for series in answer] == points


# faults.md rows 28 and 31
@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b'{"series":[{"points":[{"Point":{"open":NaN,"timestamp":{"s":1}}}]}]}', "series[0].points[0].Point.open"),
        (b'{"series":[{"id":{"type":"TRADE_AGG"},"points":[{"Point":{"open":1e400}}]}]}', "out of the range"),
        (b'{"series":[{"id":{"type":"TRADE_AGG"},"points":[{"Point":{"open":1}}]}]}', "timestamp"),
        (b'{"series":[{"id":{"type":"TRADE_AGG"},"points":[{"open":1}]}]}', "Point"),
        (b'{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"},"flat_points":[1e18,1.7e15]}]}', "flat_points[0]"),
        (b"\xef\xbb\xbf{}", "expected an object"),
        (b"[" * 1_000_000, "expected an object"),
        (b"", "ends too early"),
        (b'{"series":[]} trailing', "after the end"),
    ],
)
def test_malformed_bodies_name_the_place(body, word):
    with pytest.raises(mp.DecodeError, match=word.replace("[", r"\[").replace("]", r"\]")):
        mp.decode_points(body)


def test_arrays_stand_over_the_engine_and_cannot_be_written():
    (series,) = mp.decode_points(CANDLES)
    close = series["close"]
    assert close is series["close"] or np.shares_memory(close, series["close"])
    with pytest.raises(ValueError, match="read-only"):
        close[0] = 1.0
    del series
    assert close.tolist() == [78989.5, -8.81e-06]  # the memory outlives the series


FIRST = """
import _thread, sys, threading
import marketpoints as mp
point = '{"Point":{"timestamp":{"s":1},"x":1.25}},'
body = ('{"series":[{"id":{"type":"A"},"points":[' + point * 400_000 + point[:-1] + "]}]}").encode()
assert "numpy" not in sys.modules
begins = threading.Event()
def interrupt():
    begins.wait()
    _thread.interrupt_main()  # as Ctrl-C does
threading.Thread(target=interrupt).start()
sys.setswitchinterval(100)  # the other thread runs when the decoder lets it, not before
try:
    begins.set()
    mp.decode_points(body)
except KeyboardInterrupt:
    sys.setswitchinterval(0.005)
    print(len(mp.decode_points(body)))
"""


# faults.md row 38
def test_ctrl_c_in_the_first_answer_of_a_process_is_no_panic():
    # NumPy is imported at the first array; where that was interrupted, rust-numpy panicked.
    assert run(FIRST) == "1\n"
