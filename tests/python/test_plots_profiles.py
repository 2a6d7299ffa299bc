"""Footprints, sums of volume profiles and market profiles: what is drawn for the room there is."""

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import START, body, stamp
from support.pictures import DOWN, UP, Picture, is_colour

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

HOUR = 3600


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def profile(*buckets):
    """A volume profile; of each bucket the levels: price, bought, sold."""
    identity = {"type": "VOLUME_PROFILE_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "HOUR"}
    points = [
        {"Point": {"profile": [n for level in levels for n in level], "timestamp": stamp(START + HOUR * at)}}
        for at, levels in enumerate(buckets)
    ]
    return mp.decode_points(body({"id": identity, "points": points}))


def artist(ax, name):
    return next(one for one in ax.collections if type(one).__name__ == name)


def texts(ax, name):
    return [one.get_text() for one in artist(ax, name).parts(ax) if isinstance(one, mpl.text.Text)]


LEVELS = [(100.0, 6.0, 9.0), (101.0, 12.0, 4.0), (102.0, 1250.0, 10.0), (103.0, 5.0, 2.0)]


def test_a_footprint_has_sold_and_bought_of_each_cell_and_the_difference_below():
    ax = profile(LEVELS, LEVELS[:2]).plot(kind="footprint", step=1)
    above, below = ax.figure.axes
    picture = Picture(ax)
    labels = texts(above, "Footprint")
    assert labels[:3] == ["9.0", "6.0", "×"]
    assert labels[6:9] == ["10", "1.2k", "×"] and len(labels) == 3 * 6
    assert texts(below, "FootprintNumbers") == ["+1.2k", "+5.0"]
    assert "delta" in {one.get_ylabel() for one in picture.figure.axes}


def test_the_diagonal_tells_who_prevails():
    # Bought at a price against sold one row below, sold against bought one row above; three times as much.
    from marketpoints.plots.profiles import Grid, prevailing

    def sides(*levels, ratio=3.0):
        rows, buys, sells = (np.array(one) for one in zip(*levels, strict=True))
        bucket = np.zeros(len(rows), dtype=np.int64)
        return prevailing(Grid(None, None, 0.0, 1.0, rows, bucket, buys, sells), ratio).tolist()

    assert sides((0, 0.0, 10.0), (1, 30.0, 0.0)) == [0, 1]
    assert sides((0, 0.0, 10.0), (1, 29.0, 0.0)) == [0, 0]
    assert sides((0, 0.0, 30.0), (1, 10.0, 1.0)) == [-1, 0]
    assert sides((0, 0.0, 30.0), (1, 10.0, 1.0), ratio=4.0) == [0, 0]
    assert sides((0, 0.0, 1.0), (1, 3.0, 90.0), (2, 4.0, 1.0)) == [0, 2, 0]
    assert sides((0, 0.0, 1.0), (2, 30.0, 0.0)) == [0, 0]  # no row below it
    assert sides((0, 0.0, 0.0), (1, 0.0, 0.0)) == [0, 0]


@pytest.mark.parametrize(
    ("buckets", "size", "numbers"),
    [(4, (10, 6), True), (40, (10, 6), False), (12, (4, 6), False), (4, (10, 2.2), False)],
)
def test_numbers_stand_where_they_fit_and_bars_elsewhere(buckets, size, numbers):
    many = [(100.0 + price, 300.0, 200.0) for price in range(12)]
    ax = plt.subplots(figsize=size, layout="constrained")[1]
    profile(*[many] * buckets).plot(ax=ax, kind="footprint", step=1)
    picture = Picture(ax)
    assert artist(ax, "Footprint").has_numbers(ax) is numbers
    assert bool(texts(ax, "Footprint")) is numbers
    shown = picture.within(ax, low=100, high=112)
    if not numbers:  # two hues: what was sold and what was bought
        assert is_colour(shown, UP, 120).any() and is_colour(shown, DOWN, 120).any()


def test_a_footprint_of_rows_higher_than_the_levels_says_so():
    many = [(100.0 + price, 300.0, 200.0) for price in range(400)]
    merged = profile(*[many] * 4).plot(kind="footprint", figsize=(8, 4)).get_ylabel()
    assert merged.startswith("price, rows of ")
    assert profile(*[many] * 4).plot(kind="footprint", step=1).get_ylabel() == "price"
    assert profile(many[:12]).plot(kind="footprint").get_ylabel() == "price"


def test_zooming_in_makes_room_for_numbers_and_resolution_does_not():
    many = [(100.0 + price, 300.0, 200.0) for price in range(12)]
    ax = profile(*[many] * 40).plot(kind="footprint", step=1)
    Picture(ax)
    footprint = artist(ax, "Footprint")
    assert not footprint.has_numbers(ax)
    ax.figure.set_dpi(300)
    Picture(ax)
    assert not footprint.has_numbers(ax)  # letters would be as small as before
    ax.set_xlim(START / 86_400, (START + 5 * HOUR) / 86_400)
    assert footprint.has_numbers(ax)


def test_footprints_of_buckets_without_room_are_cells():
    many = [(100.0 + price, 300.0, 200.0) for price in range(12)]
    ax = profile(*[many] * 600).plot(kind="footprint")
    assert len(ax.images) == 1 and "traded volume per hour" in Picture(ax).texts


def test_the_sum_has_its_value_area():
    from marketpoints.plots.profiles import value_area

    # From 10 the larger neighbour: 6, 5, 4 are 25 of 35, 71 %.
    assert value_area(np.array([2.0, 4.0, 10.0, 6.0, 5.0, 3.0, 3.0, 2.0])) == (1, 4)
    assert value_area(np.array([1.0])) == (0, 0)
    ax = profile(LEVELS, LEVELS).plot(kind="total")
    assert {"volume", "price", "value area 70 %", "most volume"} <= set(Picture(ax).texts)
    bars = [one for one in ax.collections if one.get_label() == "sells"]
    longest = max(path.vertices[:, 0].max() for path in bars[0].get_paths())
    assert longest == 2 * 1260.0


@pytest.mark.parametrize("kind", ["bars", "cells", "footprint", "total"])
@pytest.mark.parametrize("buckets", [[[]], [[(100.0, 0.0, 0.0)]], [[(100.0, 1.0, 2.0)]], [LEVELS, []]])
def test_every_kind_of_little(kind, buckets):
    Picture(profile(*buckets).plot(kind=kind))


def test_what_is_no_kind_is_refused():
    with pytest.raises(mp.InvalidRequest, match="'foot' is no picture of a volume profile; those are bars, cells, foo"):
        profile(LEVELS).plot(kind="foot")
    with pytest.raises(mp.InvalidRequest, match="imbalance: 1 is no ratio"):
        profile(LEVELS).plot(kind="footprint", imbalance=1)


def tpo(sessions=2, rows=10, **fields):
    identity = {"type": "TPO_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "DAY"}
    points = []
    for day in range(sessions):
        levels = [{"price": 100.0 + row, "block_ids": list(range(row + 1))} for row in range(rows)]
        value = {"timestamp": stamp(START // 86_400 * 86_400 + 86_400 * day), "levels": levels, **fields}
        points.append({"Point": {"TpoAggregation": value}})
    return mp.decode_points(body({"id": identity, "points": points}))


MARKS = {
    "poc_price": 105.0,
    "val_price": 103.0,
    "vah_price": 107.0,
    "ibr_low": 101.5,
    "ibr_high": 104.5,
    "single_prints": [100.0, 109.0],
    "poor_highs": [109.0],
    "poor_lows": [100.0],
}


def test_a_market_profile_has_letters_and_marks():
    ax = tpo(**MARKS).plot()
    picture = Picture(ax)
    marks = {"value area", "point of control", "initial balance", "single prints", "poor high or low"}
    assert marks <= set(picture.texts)
    letters = artist(ax, "TpoLetters")
    assert letters.fit(ax)
    parts = list(letters.parts(ax))
    assert len(parts) == 10 and sum(len(part.get_offsets()) for part in parts) == 2 * 55


def test_single_prints_stand_beside_the_block_of_their_row():
    ax = tpo(single_prints=[100.0]).plot()
    (marks,) = [one for one in ax.collections if one.get_label() == "single prints"]
    edges = [path.vertices for path in marks.get_paths()]
    first = ax.get_xlim()[0]
    # The longest row has ten blocks in 92 % of the session, the row of the print one.
    for session, one in enumerate(edges):
        places = one[:, 0] - first - session
        assert (places.min(), places.max()) == (pytest.approx(0.02 + 0.092 + 0.01), pytest.approx(0.172))
        assert (one[:, 1].min(), one[:, 1].max()) == (pytest.approx(100), pytest.approx(101))
    assert len(edges) == 2


@pytest.mark.parametrize(("sessions", "rows", "size"), [(60, 10, (10, 6)), (2, 200, (10, 6)), (2, 10, (1.5, 6))])
def test_letters_that_could_not_be_read_are_left_out(sessions, rows, size):
    ax = plt.subplots(figsize=size)[1]
    tpo(sessions, rows, **MARKS).plot(ax=ax)
    Picture(ax)
    assert not artist(ax, "TpoLetters").fit(ax) and len(ax.images) == 1


def test_blocks_beyond_the_alphabet_begin_it_again():
    ax = tpo(1, 60).plot()
    ax.set_ylim(155, 160)  # the highest rows have 60 blocks
    Picture(ax)
    assert len(list(artist(ax, "TpoLetters").parts(ax))) == 48


def test_marks_of_another_kind_are_not_drawn():
    # Their types are not stated (section 2.3).
    ax = tpo(single_prints="none", poor_highs=3.0, ibr_low="x", poc_price=None).plot()
    assert not {"single prints", "initial balance", "poor high or low", "point of control"} & set(Picture(ax).texts)
