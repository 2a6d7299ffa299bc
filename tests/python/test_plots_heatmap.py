"""Heatmaps as pictures: a cell has one colour and place at every size, resolution, zoom and format; the cursor."""

import io
import re

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import BOOK, START, body, candles, heatmap, stamp
from support.pictures import Picture, is_colour

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

MINUTE, DAY = 60, 86_400


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def flat(snapshots, kind="BLOCK_BOOK_SNAPSHOT_AGG"):
    """A heatmap of {minute: [(price, volume), …]}."""
    numbers = []
    for minute, levels in snapshots.items():
        numbers += [float(len(levels)), (START + MINUTE * minute) * 1e6, *np.ravel(levels).tolist()]
    identity = {"type": kind, "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "MINUTE"}
    return mp.decode_points(body({"id": identity, "flat_points": numbers}))


def ladder(count=40, rows=30, wall=None):
    """Volumes of every size at 100 to 129, one of them huge."""
    rng = np.random.default_rng(3)
    made = {
        minute: np.column_stack([100.0 + np.arange(rows), np.round(rng.lognormal(2, 1.2, rows), 3)])
        for minute in range(count)
    }
    if wall:
        made[wall[0]][wall[1], 1] = 1e6
    return made


def axes(width=6.0, height=4.0, dpi=100):
    return plt.subplots(figsize=(width, height), dpi=dpi)[1]


def centres(ax, minute, price):
    """The pixel at the middle of a cell."""
    figure = ax.figure
    x, y = ax.transData.transform(((START + MINUTE * (minute + 0.5)) / DAY, price + 0.5))
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    return pixels[len(pixels) - 1 - int(y), int(x)]


def test_a_cell_has_one_colour_at_every_size_resolution_and_zoom():
    answer = flat(ladder(), "VENUE_LIQUIDATION_AGG")
    cells = [(minute, 104 + row) for minute in (11, 14, 18) for row in (0, 3, 7)]
    seen = []
    for width, height, dpi in ((6, 4, 100), (10, 7, 60), (9, 5, 220)):
        ax = answer.plot(ax=axes(width, height, dpi), prices=(100, 129))
        for zoom in (None, (10, 20, 103, 113), (10.5, 19.25, 103.4, 112.2)):
            if zoom:
                ax.set_xlim((START + MINUTE * zoom[0]) / DAY, (START + MINUTE * zoom[1]) / DAY)
                ax.set_ylim(zoom[2], zoom[3])
            ax.figure.canvas.draw()
            seen.append([centres(ax, *cell).tolist() for cell in cells])
    assert all(one == seen[0] for one in seen)
    assert len({tuple(colour) for colour in seen[0]}) == len(cells)


def test_cells_are_exact_rectangles():
    answer = flat(
        {minute: [(100.0 + row, 1.0 + 40 * ((minute + row) % 2)) for row in range(8)] for minute in range(12)}
    )
    ax = answer.plot(ax=axes(7.3, 4.1), prices=(100, 107))
    picture = Picture(ax)
    colours = set()
    for minute in range(12):
        for row in range(8):
            start, low = START + MINUTE * minute, 100 + row
            cell = picture.within(ax, start, start + MINUTE, low, low + 1)[1:-1, 1:-1].reshape(-1, 3)
            own = np.unique(cell, axis=0)
            if (minute, row) != (0, 7):  # the legend of a mid price may lie there
                assert len(own) == 1, (minute, row)
                colours.add(((minute + row) % 2, *own[0].tolist()))
    assert len(colours) == 2


def test_a_wall_survives_where_a_thousand_cells_share_a_pixel():
    answer = flat(ladder(3_000, 60, wall=(1_234, 40)))
    ax = answer.plot(ax=axes(3, 2), prices=(100, 160))
    drawn = ax.images[0].raster(40, 20)
    assert drawn.shape == (20, 40) and np.nanmax(drawn) == 1e6 and (drawn == 1e6).sum() == 1
    assert np.argwhere(drawn == 1e6).tolist() == [[40 * 20 // 61, 1_234 * 40 // 3_000]]


def image_sizes(ax, **options):
    """Sizes of the pictures in a PDF."""
    file = io.BytesIO()
    ax.figure.savefig(file, format="pdf", **options)
    text = file.getvalue()
    found = [
        (int(one.group(1)), int(one.group(2)))
        for one in re.finditer(rb"/Width (\d+)[^>]*?/Height (\d+)|/Height (\d+)[^>]*?/Width (\d+)", text)
        if one.group(1)
    ]
    found += [(int(two), int(one)) for one, two in re.findall(rb"/Height (\d+)[^>]*?/Width (\d+)", text)]
    return max(found)


def test_a_pdf_has_the_pixels_of_its_resolution():
    ax = flat(ladder()).plot(ax=axes())
    box = ax.get_position()
    for dpi in (72, 150, 300):
        width, height = image_sizes(ax, dpi=dpi)
        assert width == pytest.approx(6 * box.width * dpi, abs=2) and height == pytest.approx(
            4 * box.height * dpi, abs=2
        )


def test_an_svg_holds_the_picture():
    ax = flat(ladder()).plot(ax=axes())
    file = io.StringIO()
    ax.figure.savefig(file, format="svg", dpi=100)
    assert file.getvalue().count("<image ") >= 1


def event(ax, second, price):
    x, y = ax.transData.transform((second / DAY, price))
    return mpl.backend_bases.MouseEvent("motion_notify_event", ax.figure.canvas, x, y)


def test_the_cursor_shows_the_volume():
    snapshots = {0: [(100.0, 2.5), (101.0, 7.0)], 2: [(100.0, 3.0), (101.0, 1250.5)]}
    ax = flat(snapshots, "VENUE_LIQUIDATION_AGG").plot(ax=axes(), prices=(100, 102))
    ax.figure.canvas.draw()
    picture = ax.images[0]
    shown = {}
    for name, minute, price in (("a", 0.5, 100.5), ("b", 2.5, 101.5), ("none", 0.5, 102.5), ("gap", 1.5, 100.5)):
        there = event(ax, START + MINUTE * minute, price)
        shown[name] = picture.format_cursor_data(picture.get_cursor_data(there))
        assert picture.contains(there)[0]
    assert shown == {"a": "[2.5]", "b": "[1,250.5]", "none": "[0]", "gap": "[no snapshot]"}
    assert picture.get_cursor_data(mpl.backend_bases.MouseEvent("motion_notify_event", ax.figure.canvas, 1, 1)) is None


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_bids_and_asks_have_a_hue_each(theme):
    answer = mp.decode_points(body(heatmap(BOOK)))
    ax = answer.plot(ax=axes(), sides="two", theme=theme, prices=(97, 102))
    picture = Picture(ax)

    def hue(minute, price):
        cell = picture.within(ax, START + MINUTE * minute, START + MINUTE * (minute + 1), price, price + 1)
        return np.median(cell.reshape(-1, 3), axis=0)

    for minute, price in ((0, 98), (2, 97)):
        red, _, blue = hue(minute, price)
        assert blue > red
    for minute, price in ((0, 100), (2, 101)):
        red, _, blue = hue(minute, price)
        assert red > blue
    assert any("bids" in text for text in picture.texts)
    with pytest.raises(mp.InvalidRequest, match=r"is not known"):
        flat(ladder()).plot(ax=axes(), sides="two")


def test_scales_of_colours():
    answer = flat(ladder(wall=(3, 4)), "VENUE_LIQUIDATION_AGG")
    volumes = answer.volumes
    quantile = answer.plot(ax=axes()).images[0].norm
    edges = np.array(quantile.boundaries)
    # Of the larger half of the colours there are as many as of the largest quarter of the volumes.
    assert (volumes > edges[len(edges) // 2]).mean() == pytest.approx(0.25, abs=0.02)
    assert (edges[0], edges[-1]) == (volumes.min(), 1e6)
    largest = np.quantile(volumes, 0.998, method="inverted_cdf")
    for norm, kind in (
        ("log", mpl.colors.LogNorm),
        ("symlog", mpl.colors.SymLogNorm),
        ("linear", mpl.colors.Normalize),
    ):
        ax = answer.plot(ax=axes(), norm=norm)
        ax.figure.canvas.draw()
        made = ax.images[0].norm
        assert isinstance(made, kind) and made.vmax == pytest.approx(largest, rel=0.02)
    ax = answer.plot(ax=axes(), norm=[1, 10, 100])
    assert list(ax.images[0].norm.boundaries) == [1, 10, 100]
    assert {"1", "10", "100"} <= set(Picture(ax).texts)
    own = mpl.colors.PowerNorm(0.3, 1, 100)
    assert answer.plot(ax=axes(), norm=own).images[0].norm is own


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm": "rank"}, "norm: 'rank' is none of 'quantile', 'log', 'symlog', 'linear'; or give the edges"),
        ({"norm": [3, 2]}, "must ascend"),
        ({"norm": [1]}, "1 edges make no colours"),
        ({"norm": range(1000)}, "1000 edges"),
        ({"norm": object()}, "neither a scale's name"),
        ({"theme": "blue"}, "theme: 'blue' is none of 'dark' and 'light'"),
        ({"sides": "three"}, "sides: 'three' is neither"),
        ({"candles": 5}, "is no result"),
        ({"prices": (5, 5)}, "prices"),
    ],
)
def test_what_makes_no_picture_is_said_so(options, words):
    with pytest.raises(mp.InvalidRequest, match=re.escape(words)):
        flat(ladder()).plot(ax=axes(), **options)


def book_and_what_lies_over_it():
    """An hour of a book, its candles, and a liquidation within."""
    book = mp.decode_points(body(heatmap([([(99.0, 1.0)], [(101.0, 3.0)])] * 60)))
    hour = mp.decode_points(body(candles([(100.0, 101.0, 99.0, 100.5, 1.0)], exchange="BYBIT", rawSymbol="XRPUSDT")))
    points = [{"Point": {"liquidations": 5.0, "timestamp": stamp(START + MINUTE * 20)}}]
    identity = {"type": "LIQUIDATION_AGG", "exchange": "BYBIT", "rawSymbol": "XRPUSDT", "interval": "MINUTE"}
    bought = mp.decode_points(body({"id": identity | {"side": "BUY"}, "points": points}))
    return book, hour, bought


def test_candles_and_liquidations_lie_over_a_book():
    book, hour, bought = book_and_what_lies_over_it()
    for theme in ("dark", "light"):
        plain = book.plot(ax=axes(), prices=(98, 102), theme=theme)
        full = book.plot(ax=axes(), prices=(98, 102), theme=theme, candles=hour, liquidations=[bought])
        assert len(full.collections) == len(plain.collections) + 2
        assert any("BUY liquidated" in text for text in Picture(full).texts)
        assert full.get_ylim() == plain.get_ylim()


def test_what_lies_over_an_empty_book_is_drawn():
    book, hour, bought = book_and_what_lies_over_it()
    for nothing in (book.only[0:0], mp.decode_points(body(heatmap([([], [])] * 60))).only):
        alone = book.only.plot(ax=axes(), candles=hour, liquidations=bought)
        shown = nothing.plot(ax=axes(), candles=hour, liquidations=bought)
        picture = Picture(shown)
        assert len(shown.collections) == len(alone.collections) and any("largest: 5" in text for text in picture.texts)
        assert shown.get_title("left").endswith("no levels") and not any(text == "no levels" for text in picture.texts)
        together = Picture(mp.plot(nothing, hour, bought, volume=False))
        assert len(together.figure.axes) == 2 and any("no levels" in text for text in together.texts)
        assert any(len(one.collections) > 1 for one in together.figure.axes)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("norm", ["quantile", "log", "symlog", "linear"])
@pytest.mark.parametrize(
    "snapshots", [{}, {0: []}, {0: [(5.0, 0.0)]}, {0: [(5.0, 3.0)]}, {0: [], 5: [(1.0, 2.0), (9.0, 2.0)]}]
)
def test_empty_and_small_heatmaps(snapshots, norm, theme):
    Picture(flat(snapshots).plot(ax=axes(), norm=norm, theme=theme))


def test_the_mid_price_lies_between_the_blocks_of_best_bid_and_ask():
    # Levels are the lower edges of blocks of 10: the market is somewhere in 100 to 110, then in 100 to 120.
    snapshots = [([(100.0, 1.0), (90.0, 1.0)], [(100.0, 2.0)]), ([(100.0, 1.0)], [(110.0, 1.0)])]
    ax = mp.decode_points(body(heatmap(snapshots))).plot(ax=axes())
    (line,) = [one for one in ax.get_lines() if one.get_label() == "mid price"]
    assert line.get_ydata().tolist() == [105.0, 110.0]


def test_a_block_is_as_high_as_levels_are_apart_also_in_different_snapshots():
    ax = flat({0: [(88_790.0, 1.0)], 1: [(88_810.0, 2.0)], 2: [(88_800.0, 2.0)]}).plot(ax=axes())
    assert ax.get_ylim() == pytest.approx((88_790.0, 88_820.0))


def test_a_million_levels():
    rng = np.random.default_rng(1)
    levels = np.column_stack([np.tile(100.0 + np.arange(500), 2_000), rng.lognormal(0, 2, 1_000_000)])
    answer = flat(dict(enumerate(levels.reshape(2_000, 500, 2))))
    ax = answer.plot(ax=axes(8, 5), prices=(100, 600))
    picture = Picture(ax)
    assert not is_colour(picture.within(ax)[5:-5, 5:-5], "#000004", 2).any()
    box = ax.bbox
    drawn = ax.images[0].get_array()
    assert drawn.shape == (np.ceil(box.y1) - np.floor(box.y0), np.ceil(box.x1) - np.floor(box.x0))


def test_axes_turned_round_and_on_a_logarithmic_scale():
    answer = flat({minute: [(100.0, 1.0), (101.0, 50.0), (102.0, 900.0)] for minute in range(4)})
    ax = answer.plot(ax=axes(), prices=(100, 102))
    ax.figure.canvas.draw()
    colours = [tuple(centres(ax, 1, price)) for price in (100, 101, 102)]
    assert len(set(colours)) == 3
    ax.invert_yaxis()
    ax.invert_xaxis()
    ax.figure.canvas.draw()
    assert [tuple(centres(ax, 1, price)) for price in (100, 101, 102)] == colours
    ax.set_yscale("log")
    ax.figure.canvas.draw()
    assert [tuple(centres(ax, 1, price)) for price in (100, 101, 102)] == colours


def test_what_lies_over_a_book_is_of_its_kind_its_market_and_its_time():
    book = mp.decode_points(body(heatmap([([(99.0, 1.0)], [(101.0, 3.0)])] * 60)))

    def hour(symbol="XRPUSDT", **more):
        identity = {"exchange": "BYBIT", "rawSymbol": symbol}
        return mp.decode_points(body(candles([(100.0, 101.0, 99.0, 100.5, 1.0)], **identity, **more)))

    identity = {"type": "LIQUIDATION_AGG", "exchange": "BYBIT", "interval": "MINUTE", "side": "BUY"}

    def liquidated(symbol="XRPUSDT", at=START):
        points = [{"Point": {"liquidations": 5.0, "timestamp": stamp(at)}}]
        return mp.decode_points(body({"id": identity | {"rawSymbol": symbol}, "points": points}))

    for options, words in [
        ({"liquidations": hour()}, "liquidations: .* has no liquidations"),
        ({"candles": liquidated()}, "candles: .* has no candles"),
        ({"candles": hour("ETHUSDT")}, "candles: .*ETHUSDT.* is of another market than .*XRPUSDT"),
        ({"liquidations": [liquidated(), liquidated("ETHUSDT")]}, "ETHUSDT.* is of another market"),
        ({"liquidations": liquidated(at=START - 86_400)}, "liquidations: all of .* is before the heatmap's time"),
        ({"liquidations": liquidated(at=START + 86_400)}, "is after the heatmap's time"),
    ]:
        ax = axes()
        with pytest.raises(mp.SelectionError, match=words):
            book.plot(ax=ax, **options)
        assert not ax.has_data() and not ax.get_title(loc="left")  # nothing is half drawn
    assert book.plot(ax=axes(), liquidations=liquidated()[:0]).images


def test_a_line_over_candles_cuts_nothing_off():
    """A frame's index has a zone: with the first such line matplotlib measures its axes anew."""
    rows = [(100.0, 120.0, 80.0, 100.0, 1.0)] * 30
    shown = mp.decode_points(body(candles(rows, exchange="BYBIT", rawSymbol="XRPUSDT"))).only
    ax = shown.plot()
    before = ax.get_ylim()
    ax.plot(shown.to_pandas().index, shown["close"])
    assert ax.get_ylim() == before and before[0] < 80 < 120 < before[1]
