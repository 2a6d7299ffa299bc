"""Frames and Arrow for NautilusTrader by their contents; the framework itself reads them in tests/frameworks."""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import marketpoints as mp
from marketpoints import adapters
from marketpoints.adapters.digits import rounded, units
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap


@dataclass
class Instrument:
    price_precision: int = 1
    size_precision: int = 2


def ends(*rows, step=60):
    return [pd.Timestamp(START + step * (row + 1), unit="s", tz="UTC") for row in rows]


def read(stream):
    return pa.ipc.open_stream(stream).read_all()


def test_numbers_are_rounded_as_they_print():
    rng = np.random.default_rng(1)
    # Many of four digits lie in the middle between two of three.
    values = np.concatenate([rng.integers(0, 10**9, 20_000) / 1e4, rng.lognormal(5, 3, 5_000), -rng.random(1_000)])
    for places in (0, 1, 3, 6):
        exact = [
            Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN) for value in values.tolist()
        ]
        assert units(values, places).tolist() == [int(one.scaleb(places)) for one in exact]
        assert rounded(values, places).tolist() == [float(one) for one in exact]
    for wrong in (np.array([np.nan]), np.array([np.inf]), np.array([1e19])):
        with pytest.raises(mp.InvalidRequest, match="no 0 digits behind the point in 64 bits"):
            units(wrong, 0)


def test_candles_are_rounded_to_the_digits_of_the_instrument():
    answer = mp.decode_points(body(candles([(100.06, 110.04, 90.0, 105.25, 7.456)])))
    assert adapters.nautilus(answer, Instrument()).to_numpy().tolist() == [[100.1, 110.0, 90.0, 105.2, 7.46]]
    assert adapters.nautilus(answer).to_numpy().tolist() == [[100.06, 110.04, 90.0, 105.25, 7.456]]
    for wrong in (object(), Instrument(price_precision=17), Instrument(size_precision=None)):
        with pytest.raises(mp.InvalidRequest, match="has no price_precision and size_precision from 0 to 16"):
            adapters.nautilus(answer, wrong)


def test_snapshots_clear_the_book_and_add_to_it():
    book = mp.decode_points(body(heatmap(BOOK)), now=START + 3 * 60 - 1)  # the third is still forming
    frame = adapters.nautilus_deltas(book, Instrument(size_precision=0))
    assert frame.index.tolist() == [ends(0)[0]] * 5 + [ends(1)[0]] * 2
    assert frame[["action", "side", "price", "size"]].to_numpy().tolist() == [
        ["CLEAR", "NO_ORDER_SIDE", 0.0, 0.0],
        ["ADD", "BUY", 99.0, 1.0],
        ["ADD", "BUY", 98.0, 2.0],
        ["ADD", "SELL", 101.0, 3.0],  # the upper edge of its block
        ["ADD", "SELL", 103.0, 4.0],
        ["CLEAR", "NO_ORDER_SIDE", 0.0, 0.0],
        ["ADD", "SELL", 101.0, 5.0],
    ]
    assert frame["flags"].tolist() == [32, 32, 32, 32, 160, 32, 160]
    assert frame["sequence"].tolist() == [0] * 5 + [1] * 2 and (frame["order_id"] == 0).all()
    assert len(adapters.nautilus_deltas(book.head(0), Instrument())) == 0


def test_a_book_without_a_level_that_the_instrument_can_tell():
    book = mp.decode_points(body(heatmap([([(99.0, 0.004)], [(100.0, 3.0)]), ([(99.0, 0.001)], [(100.0, 0.002)])])))
    frame = adapters.nautilus_deltas(book, Instrument())
    assert frame["action"].tolist() == ["CLEAR", "ADD", "CLEAR"] and frame["flags"].tolist() == [32, 160, 160]
    narrow = mp.decode_points(body(heatmap([([(99.02, 1.0), (99.01, 1.0)], [(99.04, 3.0)])])))
    with pytest.raises(mp.InvalidRequest, match="with 1 digits behind the point two levels have the price 99"):
        adapters.nautilus_deltas(narrow, Instrument())
    assert len(adapters.nautilus_deltas(narrow, Instrument(price_precision=2))) == 4


DECIMAL, TIME = pa.decimal128(38, 16), pa.timestamp("ns", "UTC")


def test_candles_as_arrow_are_exact_decimals():
    answer = mp.decode_points(body(candles([(100.06, 110.04, 90.0, 105.25, 7.456), *CANDLES])), now=START + 3 * 3600)
    table = read(adapters.nautilus_arrow(answer, Instrument()))
    names = ["open", "high", "low", "close", "volume"]
    assert table.schema == pa.schema([*((name, DECIMAL) for name in names), ("ts_event", TIME), ("ts_init", TIME)])
    first = [table[name][0].as_py() for name in names]
    assert first == [Decimal("100.1"), Decimal("110.0"), Decimal("90.0"), Decimal("105.2"), Decimal("7.46")]
    assert table["ts_event"].to_pandas().tolist() == ends(0, 1, 2, step=3600)
    assert table["ts_init"].equals(table["ts_event"])


def test_books_as_arrow_have_the_best_first():
    table = read(adapters.nautilus_arrow(mp.decode_points(body(heatmap(BOOK))), Instrument()))
    level = pa.list_(
        pa.struct([("price", DECIMAL), ("size", DECIMAL), ("count", pa.uint32()), ("order_id", pa.uint64())])
    )
    assert table.schema == pa.schema(
        [
            ("bids", level),
            ("asks", level),
            ("flags", pa.uint8()),
            ("sequence", pa.uint64()),
            ("ts_event", TIME),
            ("ts_init", TIME),
        ]
    )
    books = {
        side: [[(float(one["price"]), float(one["size"])) for one in row] for row in table[side].to_pylist()]
        for side in ("bids", "asks")
    }
    assert books == {
        "bids": [[(99.0, 1.0), (98.0, 2.0)], [], [(97.0, 6.0)]],
        "asks": [[(101.0, 3.0), (103.0, 4.0)], [(101.0, 5.0)], [(100.0, 7.0), (102.0, 8.0)]],
    }
    assert table["sequence"].to_pylist() == [0, 1, 2] and set(table["flags"].to_pylist()) == {160}
    assert table["ts_event"].to_pandas().tolist() == ends(0, 1, 2)
    with pytest.raises(mp.SelectionError, match="these are no candles"):
        adapters.nautilus_arrow(
            mp.decode_points(body({"id": {"type": "OPEN_INTEREST_AGG"}, "points": []})), Instrument()
        )
