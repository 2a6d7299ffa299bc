"""Pictures: what is drawn, on which axes, with which labels."""

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn(ax):
    """Draws the figure for real and returns its visible texts."""
    ax.figure.canvas.draw()
    every = ax.figure.findobj(mpl.text.Text)
    return [text.get_text() for text in every if text.get_visible() and text.get_text()]


def test_candles_with_volume():
    ax = mp.decode_points(body(candles(CANDLES))).plot()
    texts = drawn(ax)
    assert "BTCUSDT on BINANCE_FUTURES · candles · 1h" in texts
    assert {"price", "volume"} <= set(texts)
    assert any("UTC" in text for text in texts)
    (every,) = ax.collections
    _, bodies = every.parts(ax)  # after the wicks
    assert len(bodies.get_paths()) == 3
    back = ax.transData.inverted()
    spans = [back.transform(path.vertices)[:, 1] for path in bodies.get_paths()]
    ranges = [(span.min(), span.max()) for span in spans]
    assert ranges == [pytest.approx(one) for one in [(100.0, 105.0), (102.0, 105.0), (101.5, 102.0)]]
    assert len(ax.figure.axes) == 2
    assert ax.get_shared_x_axes().joined(*ax.figure.axes)
    low, high = ax.get_ylim()
    assert low < 90
    assert high > 110


def test_on_axes_that_are_there():
    figure, (above, below) = plt.subplots(2)
    series = mp.decode_points(body(candles(CANDLES)))
    assert series.plot(ax=above, volume=False) is above
    assert len(figure.axes) == 2
    assert series.plot(ax=below) is below
    assert len(figure.axes) == 3
    free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    assert series.plot(ax=free) is free
    assert len(free.figure.axes) == 2
    drawn(free)


def test_many_candles_become_a_line():
    rows = [(100.0 + i % 7, 110.0, 90.0, 100.0 + i % 5, 1.0) for i in range(2000)]
    ax = mp.decode_points(body(candles(rows))).plot()
    drawn(ax)
    (every,) = ax.collections
    _band, line = every.parts(ax)
    y = ax.transData.inverted().transform(np.column_stack([line.get_xdata(), line.get_ydata()]))[:, 1]
    assert {round(value, 6) for value in y} == {row[3] for row in rows}
    # Zoomed in they have bodies again: what is drawn goes by the pixels at hand.
    ax.set_xlim(START / 86_400, (START + 20 * 3600) / 86_400)
    _, bodies = every.parts(ax)
    assert len(bodies.get_paths()) == 20


@pytest.mark.parametrize("rows", [[], CANDLES[:1]])
def test_few_or_no_candles(rows):
    drawn(mp.decode_points(body(candles(rows))).only.plot())


def test_a_heatmap_shows_its_levels():
    ax = mp.decode_points(body(heatmap(BOOK))).plot(step=1, prices=(97, 102))
    texts = drawn(ax)
    assert "XRPUSDT on BYBIT · order book · 1m" in texts
    (picture,) = ax.images
    assert isinstance(picture.norm, mpl.colors.BoundaryNorm)
    assert (picture.norm.vmin, picture.norm.vmax) == (1, 8)
    assert ax.get_ylim() == (97, 103)
    # Three minutes, six prices of 1: a pixel for each of them.
    assert np.nan_to_num(picture.raster(3, 6)).T.tolist() == [
        [0, 2, 1, 3, 0, 4],
        [0, 0, 0, 5, 0, 0],
        [6, 0, 7, 0, 8, 0],
    ]
    # Two pixels for six prices: the largest of three.
    assert np.nan_to_num(picture.raster(3, 2)).T.tolist() == [[2, 4], [0, 5], [7, 8]]
    (mid,) = ax.lines
    assert mid.get_ydata()[[0, 2]].tolist() == [100.0, 98.5]  # levels are the lower edges of blocks of 1
    assert np.isnan(mid.get_ydata()[1])


@pytest.mark.parametrize("snapshots", [[], [([], [])], [([], [(100.0, 5.0)])], BOOK[:1]])
def test_sparse_heatmaps(snapshots):
    drawn(mp.decode_points(body(heatmap(snapshots))).only.plot())


def test_a_heatmap_without_sides_shows_where_the_volume_is():
    flat = []
    for index in range(3):
        flat += [3.0, (START + 60 * index) * 1e6, 1.0, 0.001, 100.0, 50.0, 101.0, 60.0]
    answer = mp.decode_points(body({"id": {"type": "VENUE_LIQUIDATION_AGG", "coin": "BTC"}, "flat_points": flat}))
    ax = answer.plot()
    assert "BTC · liquidation heatmap" in drawn(ax)
    low, high = ax.get_ylim()
    assert low > 50
    assert high >= 101


def test_the_demo_market_in_a_picture(client):
    ax = client.orderbook_heatmap("BINANCE_FUTURES", "BTCUSDT", "1m", block_size=10, period=3600).plot()
    texts = drawn(ax)
    assert "resting volume (BTC)" in texts
    low, high = ax.get_ylim()
    mid = ax.lines[0].get_ydata()
    assert low < mid.min() < mid.max() < high
    assert (high - low) / mid.mean() < 0.2
