"""Pictures of levels from the engine, bit for bit against the rule, and what must hold of any of them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import marketpoints as mp
from marketpoints import _engine
from marketpoints.plots.pixels import Pixels
from support import oracle
from support.bodies import BOOK, START, body, heatmap

MINUTE = 60_000_000_000
NANO = START * 1_000_000_000
REDUCES = ["max", "sum", "stack", "last"]


def arrays(snapshots):
    """Offsets, levels, starts, ends."""
    counts = [len(levels) for _, _, levels in snapshots]
    levels = [level for _, _, levels in snapshots for level in levels]
    return (
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array(levels, dtype=np.float64).reshape(-1, 2),
        np.array([start for start, _, _ in snapshots], dtype=np.int64),
        np.array([end for _, end, _ in snapshots], dtype=np.int64),
    )


def engine(snapshots, window, prices, size, step, reduce):
    offsets, levels, starts, ends = arrays(snapshots)
    view = {"window": window, "prices": prices, "size": size, "step": step, "reduce": reduce}
    made = _engine.raster(offsets, levels, starts, ends, **view)
    # Packed levels give the same pixels.
    packed = _engine.PackedLevels(offsets, levels, step)
    assert same(_engine.raster(offsets, levels, starts, ends, **view, packed=packed), made)
    return made


def same(one, other):
    return one.dtype == other.dtype == np.float32 and np.array_equal(one, other, equal_nan=True)


@st.composite
def books(draw):
    """Snapshots on a grid of times, some missing, with levels on a grid of prices."""
    interval = draw(st.sampled_from([1, 7, 60, MINUTE]))
    step = draw(st.sampled_from([0.1, 0.25, 1.0, 3.0, 1e-6, 12.5]))
    first = draw(st.integers(0, 10_000))
    snapshots = []
    for number in sorted(draw(st.sets(st.integers(0, 40), max_size=12))):
        places = sorted(draw(st.sets(st.integers(first, first + 30), max_size=12)))
        volumes = draw(st.lists(st.floats(1e-3, 1e6), min_size=len(places), max_size=len(places)))
        start = NANO + number * interval
        levels = [(place * step, volume) for place, volume in zip(places, volumes, strict=True)]
        snapshots.append((start, start + interval, levels))
    return snapshots, interval, first, step


@st.composite
def views(draw, book):
    _, interval, first, step = book
    start = NANO + draw(st.integers(-5 * interval, 40 * interval))
    window = (start, start + draw(st.integers(1, 50 * interval)))
    low = (first + draw(st.floats(-5, 30))) * step
    high = low + draw(st.one_of(st.integers(1, 40), st.floats(0.01, 40))) * step
    return window, (low, high), (draw(st.integers(1, 40)), draw(st.integers(1, 40)))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(REDUCES))
def test_any_view_is_bit_for_bit_what_the_rule_says(data, reduce):
    book = data.draw(books())
    window, prices, size = data.draw(views(book))
    if not prices[0] < prices[1]:
        return
    view = (window, prices, size, book[3], reduce)
    assert same(engine(book[0], *view), oracle.raster(book[0], *view))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_whole_volume_is_in_a_sum_and_a_closer_look_agrees_with_it(data):
    snapshots, interval, first, step = data.draw(books())
    window = (NANO - interval, NANO + 42 * interval)
    prices = ((first - 1) * step, (first + 32) * step)
    total = sum(volume for _, _, levels in snapshots for _, volume in levels)
    width, height = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 60))
    wide = engine(snapshots, window, prices, (width, height), step, "sum")
    assert np.nansum(wide, dtype=np.float64) == pytest.approx(total, rel=1e-5)
    # Each pixel is the sum of the pixels into which a closer look divides it.
    many = data.draw(st.integers(2, 5))
    close = engine(snapshots, window, prices, (width * many, height * many), step, "sum")
    parts = np.nansum(close.astype(np.float64).reshape(height, many, width, many), axis=(1, 3))
    assert np.allclose(parts, np.nan_to_num(wide), rtol=1e-3, atol=2e-3 * max(total, 1e-3))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(["max", "stack"]))
def test_a_part_of_a_picture_is_the_picture_of_that_part(data, reduce):
    snapshots, interval, first, step = data.draw(books())
    scale = data.draw(st.sampled_from([1, 2, 3]))
    # A pixel is so many intervals and levels; the part begins at a pixel's edge.
    width, height = 48 // scale, 36 // scale
    low = (first - 2) * step
    whole = engine(
        snapshots,
        (NANO, NANO + width * scale * interval),
        (low, low + height * scale * step),
        (width, height),
        step,
        reduce,
    )
    left, bottom = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    floor = low + bottom * scale * step
    part = engine(
        snapshots,
        (NANO + left * scale * interval, NANO + width * scale * interval),
        (floor, low + height * scale * step),
        (width - left, height - bottom),
        step,
        reduce,
    )
    expected = whole[bottom:, left:]
    assert np.array_equal(np.isnan(part), np.isnan(expected))
    if scale == 1:  # prices of which the middle lies on no edge
        assert same(part, np.ascontiguousarray(expected))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_level_is_lost_and_none_is_made_up(data):
    snapshots, interval, first, step = data.draw(books())
    size = (data.draw(st.integers(1, 60)), data.draw(st.integers(1, 60)))
    prices = ((first - 1) * step, (first + 32) * step)
    picture = engine(snapshots, (NANO, NANO + 41 * interval), prices, size, step, "max")
    volumes = {np.float32(volume) for _, _, levels in snapshots for _, volume in levels}
    assert set(picture[picture > 0].tolist()) <= {float(volume) for volume in volumes}
    if volumes:
        assert np.nanmax(picture) == max(volumes)
    if size[0] >= 41 and size[1] >= 33 and volumes:  # as many pixels as there are cells: each has one at least
        assert {np.float32(value) for value in picture[picture > 0]} == volumes


def test_the_same_on_many_threads():
    rng = np.random.default_rng(5)
    rows, count = 3_000, 200
    prices = np.cumsum(rng.integers(1, 3, (rows, count)), axis=1) * 0.5 + 1000
    levels = np.stack([prices, rng.exponential(5, (rows, count))], axis=2).reshape(-1, 2)
    starts = NANO + np.sort(rng.choice(5_000, rows, replace=False)) * MINUTE
    offsets = np.arange(rows + 1) * count
    picture = _engine.raster(
        offsets,
        levels,
        starts,
        starts + MINUTE,
        window=(NANO, NANO + 5_000 * MINUTE),
        prices=(1000.0, 1300.0),
        size=(700, 333),
        step=0.5,
    )
    column = ((2 * (starts - NANO) + MINUTE) * 700) // (2 * 5_000 * MINUTE)
    row = np.floor((levels[:, 0] + 0.25 - 1000.0) * (333 / 300.0)).astype(int)
    expected = np.full((333, 700), np.nan)
    expected[:, column] = 0
    inside = row < 333
    np.maximum.at(expected, (row[inside], np.repeat(column, count)[inside]), levels[inside, 1])
    assert same(picture, expected.astype(np.float32))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), reduce=st.sampled_from(["max", "last"]), side=st.sampled_from(["both", "bids", "asks"]))
def test_packed_levels_give_the_same_pixels_of_each_side(data, reduce, side):
    book = data.draw(books())
    snapshots, _, _, step = book
    window, prices, size = data.draw(views(book))
    offsets, levels, starts, ends = arrays(snapshots)
    split = np.array([data.draw(st.integers(-1, len(one))) for _, _, one in snapshots], dtype=np.int64)
    # Volumes that count as none.
    odd = st.sampled_from([1.0, 0.0, -3.0, np.nan, 1e-60, 1e300])
    levels[:, 1] *= np.array([data.draw(odd) for _ in levels])
    packed = _engine.PackedLevels(offsets, levels, step, split=split)
    view = {"window": window, "prices": prices, "size": size, "step": step, "reduce": reduce, "split": split}
    made = _engine.raster(offsets, levels, starts, ends, **view, side=side)
    assert same(_engine.raster(offsets, levels, starts, ends, **view, side=side, packed=packed), made)


def test_levels_are_packed_where_that_is_worth_its_memory():
    def packed(levels, step=1.0):
        return _engine.PackedLevels(np.array([0, len(levels)]), np.array(levels).reshape(-1, 2), step).nbytes

    near = [[float(price), 1.0] for price in range(100, 200)]
    assert 100 * (4 + 8) <= packed(near) < 100 * (4 + 8) + 200
    assert packed([]) <= 48
    assert packed([[100.0, 1.0], [1_000.0, 1.0]]) == 0  # holes
    assert packed([[100.0, 1.0], [1e300, 1.0]]) == 0
    assert packed([[100.0, 1.0], [np.nan, 1.0]]) == 0
    assert packed([[100.0, 1.0], [100.2, 1.0]]) == 0  # two prices of one place
    assert packed([[101.0, 1.0], [100.0, 1.0]]) == 0  # they descend
    with pytest.raises(mp.InvalidRequest, match="no height"):
        packed(near, 0.0)


def test_other_levels_than_were_packed_are_refused():
    offsets, levels, starts, ends = arrays([(0, 1, [(1.0, 1.0)]), (1, 2, [(1.0, 2.0), (2.0, 1.0)])])
    packed = _engine.PackedLevels(offsets[:2], levels[:1], 1.0)
    with pytest.raises(mp.InvalidRequest, match="other levels were packed"):
        _engine.raster(
            offsets, levels, starts, ends, window=(0, 2), prices=(1.0, 3.0), size=(2, 2), step=1.0, packed=packed
        )


def test_the_second_picture_of_a_large_book_is_made_of_packed_levels():
    count = 100_000
    offsets, split = np.array([0, count]), np.array([count // 2])
    levels = np.stack([np.arange(count) * 0.5, np.arange(count) % 977 + 1.0], axis=1)
    starts = np.array([NANO])
    pixels = Pixels(offsets, levels, starts, starts + MINUTE, split, "both", 0.5)
    view = (NANO, NANO + MINUTE), (10.0, 20_000.0), (7, 300)
    first = pixels.raster(*view, "max")
    assert "_packed" not in vars(pixels)
    assert same(pixels.raster(*view, "max"), first)
    assert vars(pixels)["_packed"].nbytes > 4 * count
    row = np.floor((levels[:, 0] + 0.25 - 10.0) * (300 / 19_990.0)).astype(int)
    inside = (row >= 0) & (row < 300) & (levels[:, 0] < 20_000)
    expected = np.zeros(300)
    np.maximum.at(expected, row[inside], levels[inside, 1])
    assert same(first, np.repeat(expected.astype(np.float32)[:, None], 7, axis=1))


@pytest.fixture
def book():
    """Three minutes; the second has asks alone."""
    return mp.decode_points(body(heatmap(BOOK)))


def test_a_book_as_pixels(book):
    picture = book.raster(3, 6)
    assert picture.dtype == np.float32
    assert picture.T.tolist() == [[0, 2, 1, 3, 0, 4], [0, 0, 0, 5, 0, 0], [6, 0, 7, 0, 8, 0]]
    assert book.raster(3, 2).T.tolist() == [[2, 4], [0, 5], [7, 8]]
    assert book.raster(1, 1, reduce="sum").tolist() == [[36.0]]
    assert book.raster(1, 1, reduce="last").tolist() == [[8.0]]


def test_steps_add_up(book):
    # Buckets of 2 start at even prices: 98 and 99 add up.
    assert book.raster(1, 4, ("2026-04-22 18:00", "2026-04-22 18:01"), (96, 104), step=2).T.tolist() == [[0, 3, 3, 4]]


def test_bids_and_asks_apart(book):
    bids = book.raster(3, 6, side="bids")
    asks = book.raster(3, 6, side="asks")
    assert bids.T.tolist() == [[0, 2, 1, 0, 0, 0], [0] * 6, [6, 0, 0, 0, 0, 0]]
    assert asks.T.tolist() == [[0, 0, 0, 3, 0, 4], [0, 0, 0, 5, 0, 0], [0, 0, 7, 0, 8, 0]]
    flat = mp.decode_points(
        body({"id": {"type": "VENUE_LIQUIDATION_AGG"}, "flat_points": [1.0, START * 1e6, 9.0, 1.0]})
    )
    with pytest.raises(mp.InvalidRequest, match=r"is not known.*side='both'"):
        flat.raster(1, 1, side="bids")


def test_a_missing_snapshot_is_empty():
    three = heatmap([([(99.0, 1.0)], []), ([], []), ([(99.0, 3.0)], [])])
    del three["points"][1]
    picture = mp.decode_points(body(three)).raster(6, 1)
    assert picture[0, [0, 1, 4, 5]].tolist() == [1, 1, 3, 3] and np.isnan(picture[0, 2:4]).all()
    assert np.isnan(mp.decode_points(body(three)).raster(2, 2, ("2026-04-22 18:01", "2026-04-22 18:02"))).all()


@pytest.mark.parametrize("snapshots", [[], [([], [])], [([(5.0, 2.0)], [])]])
def test_empty_and_one_cell(snapshots):
    answer = mp.decode_points(body(heatmap(snapshots))).only
    for reduce in REDUCES:
        picture = answer.raster(4, 3, reduce=reduce)
        assert picture.shape == (3, 4)
        if not snapshots:
            assert np.isnan(picture).all()
        elif not answer.levels.size:
            assert (picture == 0).all()
        else:
            whole = 2.0 if reduce != "sum" else 2.0 / 12
            assert picture == pytest.approx(np.full((3, 4), whole))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"width": 0}, "width: 0 is no number of pixels.*give 1 to 32,768"),
        ({"width": -5}, "width: -5"),
        ({"height": 2.5}, "height: 2.5 is not a whole number of pixels"),
        ({"width": 10**30}, "width: 1"),
        ({"width": 30_000, "height": 30_000}, "30000 × 30000 pixels are too many.*smaller width or height"),
        ({"width": 40_000, "height": 1}, "too many"),
        ({"window": ("2020-01-01", "2020-01-02")}, "no snapshot from 2020-01-01 00:00.*they lie from 2026-04-22 18:00"),
        ({"window": ("2026-04-23", "2026-04-22")}, "give the start first"),
        ({"window": "2026"}, "is not a start and an end|is no time"),
        ({"window": ("2026-04-22", None)}, "None is no time"),
        ({"window": (START, float("nan"))}, "window"),
        ({"prices": (1, 2)}, "no level from 1 to 2; they lie from 97 to 103: give prices between these"),
        ({"prices": (100, 90)}, "the other way round"),
        ({"prices": (float("nan"), 1)}, "prices"),
        ({"prices": 5}, "two numbers"),
        ({"reduce": "mean"}, 'reduce: "mean" is none of'),
        ({"reduce": 7}, "reduce: 7 is none of 'max', 'sum'"),
        ({"side": "left"}, "side: 'left' is none of"),
        ({"step": 0}, "no height"),
        ({"step": "wide"}, "step: 'wide' is not a number"),
    ],
)
def test_what_makes_no_picture_is_said_so(book, arguments, words):
    with pytest.raises(mp.InvalidRequest, match=words):
        book.raster(**({"width": 10, "height": 10} | arguments))


def test_the_engine_trusts_no_index():
    offsets, levels, starts, ends = arrays([(0, 1, [(1.0, 1.0)])])
    view = {"window": (0, 1), "prices": (1.0, 2.0), "size": (1, 1), "step": 1.0}
    with pytest.raises(mp.InvalidRequest, match="offsets must ascend"):
        _engine.raster(np.array([0, 2]), levels, starts, ends, **view)
    with pytest.raises(mp.InvalidRequest, match="a start and an end"):
        _engine.raster(offsets, levels, starts[:0], ends, **view)
    with pytest.raises(mp.InvalidRequest, match="must ascend"):
        _engine.raster(offsets, levels, ends, starts, **view)
    with pytest.raises(mp.InvalidRequest, match="2 or 3"):
        _engine.raster(offsets, np.ones((1, 4)), starts, ends, **view)
    with pytest.raises(mp.InvalidRequest, match="no volume at place 7"):
        _engine.raster(offsets, levels, starts, ends, field=7, **view)
    assert _engine.raster(offsets, levels, starts, ends, split=np.array([99]), **view).tolist() == [[1.0]]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=400), st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_quantiles_are_right_within_a_bin(volumes, shares):
    levels = np.column_stack([np.ones(len(volumes)), volumes])
    found = _engine.volume_quantiles(levels, np.array(shares), 1)
    low, high = min(volumes), max(volumes)
    # Bins are even between two powers of two: the widest part of one is a bin's share of an octave.
    bin_width = 1 + 1.5 * (np.log2(high / low) + 1) / 4096
    ordered = np.sort(volumes)
    for share, value in zip(shares, found, strict=True):
        rank = share * len(volumes)
        near = ordered[max(0, int(np.ceil(rank)) - 1)]
        assert low <= value <= high
        if 0 < share < 1 and abs(rank - round(rank)) > 1e-6:
            assert near / bin_width <= value <= near * bin_width


def test_three_numbers_a_level():
    levels = np.array([[1.0, 2.0, 5.0], [2.0, 3.0, 1.0]])
    parts = (np.array([0, 2]), levels, np.array([0]), np.array([10]))
    view = {"window": (0, 10), "prices": (1.0, 3.0), "size": (1, 2), "step": 1.0}
    assert _engine.raster(*parts, **view).tolist() == [[7.0], [4.0]]
    assert _engine.raster(*parts, field=2, **view).tolist() == [[5.0], [1.0]]
    assert _engine.level_extent(parts[0], levels) == (1.0, 2.0, 1.0)
    assert _engine.volume_quantiles(levels, np.array([0.0, 1.0])).tolist() == [4.0, 7.0]
