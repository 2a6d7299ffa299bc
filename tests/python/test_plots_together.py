"""Several results on one time axis."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import BOOK, START, body, candles, heatmap, stamp
from support.pictures import DOWN, Picture, is_colour

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

HOUR = 3600
WINDOW = {"start": "2026-01-01", "end": "2026-01-03"}
MARKET = ("BINANCE_FUTURES", "BTCUSDT")
ROWS = [(100.0 + at, 103.0 + at, 98.0 + at, 101.0 + at, 5.0) for at in range(24)]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def liquidations(amounts, side, symbol="BTCUSDT"):
    identity = {"type": "LIQUIDATION_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": symbol, "interval": "HOUR"}
    points = [
        {"Point": {"liquidations": amount, "timestamp": stamp(START + HOUR * at)}} for at, amount in enumerate(amounts)
    ]
    return mp.decode_points(body({"id": identity | {"side": side}, "points": points}))


def profile(levels=((100.0, 6.0, 9.0), (110.0, 1.0, 4.0))):
    identity = {"type": "VOLUME_PROFILE_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT", "interval": "HOUR"}
    flat = [number for level in levels for number in level]
    points = [{"Point": {"profile": flat, "timestamp": stamp(START + HOUR * at)}} for at in range(24)]
    return mp.decode_points(body({"id": identity, "points": points}))


def hours(rows=ROWS, **identity):
    return mp.decode_points(body(candles(rows, **identity)))


def artist(ax, name):
    return next(one for one in ax.collections if type(one).__name__ == name)


def labels(ax):
    return [one.get_ylabel().replace("\n", " ") for one in ax.figure.axes if one.get_ylabel()]


def test_everything_of_one_market(client):
    interval, every = "1h", {}
    for name in ("candles", "liquidations", "volume_profile", "funding_rate", "open_interest"):
        every[name] = getattr(client, name)(*MARKET, interval, **WINDOW)
    ax = mp.plot(*every.values())
    picture = Picture(ax)
    assert labels(ax) == ["price (USDT)", "volume (BTC)", "funding rate (%)", "open interest (BTC)"]
    assert "BTCUSDT on BINANCE_FUTURES · 1h" in picture.texts
    assert {"BUY liquidated", "SELL liquidated"} <= set(picture.texts)
    assert {type(one).__name__ for one in ax.collections} == {"Candles", "Bubbles", "SideProfile"}
    every_axes = picture.figure.axes
    assert all(ax.get_shared_x_axes().joined(ax, other) for other in every_axes)
    boxes = [one.bbox for one in every_axes]
    assert {round(box.x0, 3) for box in boxes} == {round(boxes[0].x0, 3)}


def test_candles_and_liquidations_lie_over_a_book(client):
    window = {"start": "2026-01-01", "end": "2026-01-01T02:00"}
    book = client.orderbook_heatmap(*MARKET, "1m", block_size=10, **window)
    ax = mp.plot(client.candles(*MARKET, "5m", **window), book, client.liquidations(*MARKET, "1m", **window))
    Picture(ax)
    assert len(ax.images) == 1
    assert {"Candles", "Bubbles"} <= {type(one).__name__ for one in ax.collections}
    # Also without candles, at the middle of the book.
    Picture(mp.plot(book, client.liquidations(*MARKET, "1m", **window)))


def test_a_heatmap_under_candles_reaches_the_edges_of_the_axes(client):
    window = {"start": "2026-01-01", "end": "2026-01-01T02:00"}
    minutes = client.candles(*MARKET, "1m", **window)
    book = client.orderbook_heatmap(*MARKET, "1m", block_size=10, **window)
    ax = mp.plot(book, minutes, client.liquidations(*MARKET, "1m", **window))
    edges = mpl.dates.date2num([np.datetime64(window["start"]), np.datetime64(window["end"])])
    np.testing.assert_allclose(ax.get_xlim(), edges, rtol=0, atol=1e-9)
    # Without cells there is room, or the axes' line hides the first candle.
    assert minutes.plot().get_xlim()[0] < edges[0] - 1e-4


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_smallest_bubble_over_a_heatmap_has_an_edge_that_is_seen(client, theme):
    window = {"start": "2026-01-01", "end": "2026-01-01T02:00"}
    book = client.orderbook_heatmap(*MARKET, "1m", block_size=10, **window)
    ax = book.plot(theme=theme, liquidations=client.liquidations(*MARKET, "1m", **window))
    (bubbles,) = [one for one in ax.collections if type(one).__name__ == "Bubbles"]
    assert bubbles.together(ax)[2].min() >= 3
    ground = np.array(mpl.colors.to_rgb(ax.get_facecolor()))
    (circles,) = bubbles.parts(ax)
    edges = circles.get_edgecolors()
    assert len(edges) > 1 and (edges[:, 3] == 1).all() and (np.abs(edges[:, :3] - ground).min(axis=1) > 0.8).all()


@pytest.mark.parametrize("size", [(4, 4), (9, 7), (14, 5)])
def test_panels_are_of_one_width_without_a_layout_engine(client, size):
    window = {"start": "2026-01-01", "end": "2026-01-01T02:00"}
    _, ax = plt.subplots(figsize=size)
    book = client.orderbook_heatmap(*MARKET, "1m", block_size=10, **window)
    mp.plot(book, client.candles(*MARKET, "1m", **window), client.funding_rate(*MARKET, "1h", **window), ax=ax)
    Picture(ax)
    panels = [one for one in ax.figure.axes if one.get_ylabel() and one.get_shared_x_axes().joined(one, ax)]
    assert len(panels) == 3
    assert np.ptp([one.bbox.x0 for one in panels]) < 1 and np.ptp([one.bbox.x1 for one in panels]) < 1


def test_the_area_of_a_bubble_is_the_amount_at_the_price_of_its_moment():
    amounts = [0.0] * 24
    amounts[4], amounts[20] = 400.0, 100.0
    ax = mp.plot(hours(), liquidations(amounts, "SELL"))
    picture = Picture(ax)
    x, y, radius, total, _ = artist(ax, "Bubbles").together(ax)
    assert total.tolist() == [400.0, 100.0] and radius[0] / radius[1] == pytest.approx(2)
    places = ax.transData.inverted().transform(np.column_stack([x, y]))
    assert places[:, 0] * 86_400 - START == pytest.approx([4.5 * HOUR, 20.5 * HOUR], abs=1)
    assert places[:, 1] == pytest.approx([98 + 4, 98 + 20])  # SELL at the low
    assert is_colour(picture.within(ax, low=101, high=103), DOWN, 90).any()
    assert "largest: 400" in picture.texts
    buys = artist(mp.plot(hours(), liquidations(amounts, "BUY")), "Bubbles")
    assert buys._bubbles[1].tolist() == [103.0 + 4, 103.0 + 20]  # BUY at the high


def test_bubbles_near_each_other_are_one_of_their_sum_and_hide_no_prices():
    rows = ROWS[:1] * 2000
    one = mp.plot(hours(rows), liquidations([3.0] * 2000, "SELL"))
    Picture(one)
    x, _, radius, total, _ = artist(one, "Bubbles").together(one)
    assert len(x) < one.bbox.width / 7 and total.sum() == pytest.approx(6000)
    assert np.pi * (radius**2).sum() < 0.08 * one.bbox.width * one.bbox.height
    assert (radius >= 1).all()


def test_liquidations_without_prices_are_bars():
    ax = mp.plot(liquidations([3.0], "BUY"), liquidations([2.0], "SELL"))
    assert labels(ax) == ["liquidated volume"]
    # Of another market than the candles'.
    ax = mp.plot(hours(), liquidations([3.0], "BUY", symbol="ETHUSDT"))
    assert labels(ax) == ["price", "volume", "liquidated volume"]


def test_a_profile_at_the_side_is_of_what_the_axes_show():
    ax = mp.plot(hours(), profile())
    Picture(ax)
    aside = artist(ax, "SideProfile")
    bottoms, height, buys, sells = aside.rows(ax)
    assert (bottoms[0], height) == (100, 10)
    assert buys.tolist() == [24 * 6, 24] and sells.tolist() == [24 * 9, 24 * 4]
    ax.set_xlim(START / 86_400, (START + 5.5 * HOUR) / 86_400)
    assert aside.rows(ax)[2].tolist() == [6 * 6, 6]
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["volume profile: buys, sells"]
    both = mp.plot(hours(), profile(), liquidations([3.0], "BUY")).get_legend()
    assert [one.get_text() for one in both.get_texts()][:2] == ["volume profile: buys, sells", "BUY liquidated"]
    assert mp.plot(hours()).get_legend() is None
    alone = mp.plot(profile())
    assert "BTCUSDT on BINANCE_FUTURES · volume profile · 1h" in Picture(alone).texts


def test_markets_have_a_panel_each():
    ax = mp.plot([hours(), hours(rawSymbol="ETHUSDT")], liquidations([9.0], "SELL", symbol="ETHUSDT"))
    first, _, second, _ = ax.figure.axes
    assert [one.get_title("left")[:7] for one in (first, second)] == ["BTCUSDT", "ETHUSDT"]
    assert not [one for one in first.collections if type(one).__name__ == "Bubbles"]
    assert artist(second, "Bubbles")


@pytest.mark.parametrize("size", [(4, 3), (6.4, 4.8), (12, 4), (10, 9)])
@pytest.mark.parametrize(
    "names", [("candles", "volatility", "skew"), ("volatility", "skew"), ("candles", "other"), ("candles", "rates")]
)
@pytest.mark.parametrize("layout", [None, "tight", "constrained", "tight_layout()"])
def test_titles_of_several_markets_lie_over_no_panel(client, names, size, layout):
    when = {"interval": "1h", "period": "7d"}
    option = {"coin": "BTC", "tenor": "ONE_W", **when}
    asked = {
        "candles": lambda: client.candles("BINANCE_FUTURES", "BTCUSDT", **when),
        "other": lambda: client.candles("BINANCE_FUTURES", "ETHUSDT", **when),
        "rates": lambda: client.funding_rate("BYBIT", "BTCUSDT", **when),
        "volatility": lambda: client.implied_volatility("DERIBIT", "BTC_ATM", **option),
        "skew": lambda: client.skew("DERIBIT", "BTC_25", **option),
    }
    figure, ax = plt.subplots(figsize=size, layout=layout if layout in ("tight", "constrained") else None)
    mp.plot(*(asked[name]() for name in names), ax=ax)
    if layout == "tight_layout()":
        figure.tight_layout()
    every = Picture(ax).figure.axes
    titles = {ax: ax._left_title.get_window_extent() for ax in every if ax.get_title("left")}
    assert len(titles) == len(names)
    assert not [one for one, title in titles.items() for ax in every if ax is not one and title.overlaps(ax.bbox)]
    # The interval of all stands once.
    assert [" · 1h" in one.get_title("left").replace("\n", " ") for one in titles] == [True] + [False] * (
        len(names) - 1
    )
    labels = [ax.yaxis.label.get_window_extent() for ax in every if ax.get_ylabel()]
    overlapping = [pair for pair in itertools.combinations(labels, 2) if pair[0].overlaps(pair[1])]
    assert not overlapping or (layout and size == (4, 3))  # an engine takes of four panels what their labels needed


def test_sides_of_candles_are_one_picture(client):
    ax = mp.plot(client.side_candles(*MARKET, "1h", **WINDOW))
    assert len(ax.figure.axes) == 2 and {"BUY", "SELL"} <= set(Picture(ax).texts)


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows_or_none(count):
    ax = mp.plot(hours(ROWS[:count]), liquidations([1.0] * count, "SELL"), profile().only[:count])
    Picture(ax)
    book = mp.decode_points(body(heatmap(BOOK[:count], exchange="BINANCE_FUTURES", rawSymbol="BTCUSDT")))
    Picture(mp.plot(book, hours(ROWS[:count]), liquidations([1.0] * count, "SELL")))


def test_what_cannot_be_drawn_together_is_refused(client):
    with pytest.raises(mp.InvalidRequest, match=r"nothing to draw; give results, such as mp.plot\(candles"):
        mp.plot()
    with pytest.raises(mp.InvalidRequest, match="nothing to draw"):
        mp.plot(mp.decode_points(b"{}"))
    with pytest.raises(mp.InvalidRequest, match="a dict is no result; give what series methods return"):
        mp.plot(hours(), {})  # type: ignore[arg-type]
    with pytest.raises(mp.InvalidRequest, match="a str is no result"):
        mp.plot("candles")  # type: ignore[arg-type]
    with pytest.raises(mp.SelectionError, match=r"Records.*has no time axis to share; draw it alone"):
        mp.plot(hours(), client.leaderboard(limit=3))
    with pytest.raises(mp.SelectionError, match="panels do not fit into one figure; give fewer results"):
        mp.plot([hours(rawSymbol=f"X{at}USDT") for at in range(40)])
