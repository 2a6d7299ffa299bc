"""Pictures can be read: labels apart from each other and within the figure, numbers on colour bars, lone values."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import START, body, candles, heatmap
from support.pictures import DOWN, UP, Picture, is_colour
from support.points import HOUR, MARKET, POINTS, WINDOW, decoded, points

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

LEVELS = ["BLOCK_BOOK_SNAPSHOT_AGG", "VENUE_LIQUIDATION_AGG", "VOLUME_PROFILE_AGG", "TPO_AGG"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def supply(client):
    """Token supply of two coins."""
    return client.token_supply(coin=["BTC", "ETH"], interval="1d", start="2026-01-01", end="2026-01-10")


def test_token_supply_of_two_coins_has_room_for_every_panel(supply):
    picture, one = Picture(supply.plot()), Picture(supply[0].plot())
    assert len(picture.figure.axes) == 2 * len(one.figure.axes) == 12
    assert picture.figure.get_figheight() == pytest.approx(2 * one.figure.get_figheight())
    labels = [ax.yaxis.label.get_window_extent() for ax in picture.figure.axes]
    assert not [pair for pair in itertools.combinations(labels, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize("width", [8, 10, 12])
def test_a_legend_of_long_names_ends_within_its_axes(width):
    names = ["OKEX_SWAP ETH-USDT-SWAP", "BINANCE_FUTURES DOGEUSDT", "OKEX_SWAP BTC-USDT-SWAP", "KRAKEN XBT/USD"]
    rows = [(1.0, 2.0, 1.0, 1.0 + row % 3, 5.0) for row in range(9)]
    markets = [name.split(" ") for name in [*names, "BINANCE BTCUSDT"]]
    every = [candles(rows, exchange=exchange, rawSymbol=symbol) for exchange, symbol in markets]
    ax = plt.subplots(figsize=(width, 4), dpi=100)[1]
    mp.decode_points(body(*every)).plot(ax=ax, layout="axis")
    ax.figure.canvas.draw()
    assert len(ax.get_legend().get_texts()) == len(markets)
    assert ax.get_legend().get_window_extent().x1 <= ax.get_window_extent().x1


def test_legends_of_token_supply_in_a_grid_lie_over_no_line(client):
    figure, grid = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    supply = client.token_supply(coin="BTC", interval="1h", start="2026-01-01", end="2026-01-08")
    supply.plot(ax=grid[0, 0])
    figure.canvas.draw()
    seen = 0
    for ax in figure.axes:
        if (legend := ax.get_legend()) is None:
            continue
        box = legend.get_window_extent()
        seen += len(legend.get_texts())
        for one in ax.get_lines():
            across, up = ax.transData.transform(one.get_xydata()).T
            assert up[across <= box.x1].max() < box.y0, [text.get_text() for text in legend.get_texts()]
    assert seen == 8


@pytest.mark.parametrize("size", [(3, 2), (4, 3), (6.4, 4.8), (8, 4), (8, 8)])
def test_low_axes_show_as_many_panels_of_token_supply_as_are_read_and_say_so(supply, size):
    _, ax = plt.subplots(figsize=size)
    picture = Picture(supply[0].plot(ax=ax))
    shown = len(picture.figure.axes)
    assert all(panel.get_position().height * size[1] > 0.4 for panel in picture.figure.axes)
    # Of the six panels that fit they are all there, and nothing is said.
    said = f"{shown} of 6 panels" in " ".join(ax.get_title("left").split())
    assert said == (shown < 6) and (shown == 6) == (size[1] > 4)
    labels = [panel.yaxis.label.get_window_extent() for panel in picture.figure.axes]
    assert not [pair for pair in itertools.combinations(labels, 2) if pair[0].overlaps(pair[1])]


def test_small_multiples_say_what_they_have_no_room_for(supply):
    picture = Picture(supply.plot(layout="panels"))
    titles = [one.get_title("left") for one in picture.figure.axes if one.get_title("left")]
    shown = len(picture.figure.axes) // 2
    assert 1 < shown < 6 and titles == [f"BTC: {shown} of 6 panels", f"ETH: {shown} of 6 panels"]


def test_so_does_a_picture_of_several_results_on_given_axes(client, supply):
    _, ax = plt.subplots(figsize=(8, 6))
    candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1d", start="2026-01-01", end="2026-01-10")
    picture = Picture(mp.plot(candles, supply[0], ax=ax))
    titles = [one.get_title("left") for one in picture.figure.axes if one.get_title("left")]
    assert titles == ["BTCUSDT on BINANCE_FUTURES · 1d", f"{len(picture.figure.axes) - 2} of 6 panels"]


@pytest.mark.parametrize("size", [(3, 2), (4, 3), (6.4, 4.8), (8, 4), (3, 8)])
def test_names_of_a_leaderboard_do_not_run_into_each_other(client, size):
    _, ax = plt.subplots(figsize=size)
    Picture(client.leaderboard(limit=40).plot(ax=ax))
    names = [name.get_window_extent() for name in ax.get_yticklabels()]
    assert len(names) > 4
    assert not [pair for pair in itertools.pairwise(names) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize("size", [(4, 3), (6.4, 4.8), (10, 5)])
@pytest.mark.parametrize("engine", [None, "constrained"])
@pytest.mark.parametrize("gains", [(900.0, 2.0, -1.0, -800.0), (5.0,), (-5.0,), (0.0, 0.0), (-1.0, -2.0)], ids=str)
def test_notes_beside_bars_lie_within_the_axes_and_over_no_name(size, engine, gains):
    rows = [mp.CategoryRow("Science", f"Subcategory {at}", 1_000 + at, 1.0, 1.0, gain) for at, gain in enumerate(gains)]
    ax = mp.Records(rows, mp.CategoryRow).plot(ax=plt.subplots(figsize=size, layout=engine)[1])
    Picture(ax)
    notes = [text.get_window_extent() for text in ax.texts]
    names = [name.get_window_extent() for name in ax.get_yticklabels()]
    assert len(notes) == len(names) == len(gains)
    assert not [pair for pair in itertools.product(notes, names) if pair[0].overlaps(pair[1])]
    assert all(ax.bbox.x0 <= note.x0 and note.x1 <= ax.figure.bbox.x1 for note in notes)


def test_notes_beside_bars_lie_within_axes_that_stand_at_the_right():
    rows = [
        mp.CategoryRow("Science", f"Sub {at}", 1_000 + at, 1.0, 1.0, gain) for at, gain in enumerate((9e5, 2.0, -5e5))
    ]
    by_hand = [plt.figure(figsize=(8, 5)).add_axes((0.72, 0.1, 0.28, 0.85))]
    grids = [plt.subplots(1, 2, figsize=(8, 5), layout=layout)[1][1] for layout in (None, "tight", "constrained")]
    for ax in by_hand + grids:
        Picture(mp.Records(rows, mp.CategoryRow).plot(ax=ax))
        assert all(note.get_window_extent().x1 <= ax.bbox.x1 + 1 for note in ax.texts)


def test_pictures_are_drawn_in_inset_axes_and_in_subfigures(client):
    outer = plt.subplots()[1]
    board = client.leaderboard(limit=3).plot(ax=outer.inset_axes((0.5, 0.5, 0.4, 0.4)))
    interest = client.open_interest("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01", end="2026-01-06")
    assert interest.plot(ax=outer.inset_axes((0.1, 0.1, 0.3, 0.3))).lines and board.patches
    Picture(outer)
    part = plt.figure(figsize=(8, 5)).subfigures(1, 2)[0]
    both = client.candles("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1h", start="2026-01-01", end="2026-01-06")
    assert both.plot(ax=part.subplots()).get_title("left").startswith("BTCUSDT")
    part.figure.canvas.draw()


@pytest.mark.parametrize("size", [(8, 5), (12, 6)])
def test_titles_of_a_grid_end_before_their_neighbours_and_the_figure(client, supply, size):
    market = ("BINANCE_FUTURES", "BTCUSDT", "1h")
    window = {"start": "2026-01-01", "end": "2026-01-06"}
    figure, grid = plt.subplots(2, 3, figsize=size, layout="constrained")
    results = [
        client.candles(*market, **window),
        client.orderbook_heatmap(*market, block_size=50, **window),
        client.liquidations(*market, **window),
        client.funding_rate(*market, **window),
        client.open_interest(*market, **window),
        supply[0],
    ]
    for result, ax in zip(results, grid.flat, strict=True):
        result.plot(ax=ax)
    Picture(grid[0, 0])
    titles = [ax._left_title.get_window_extent() for ax in grid.flat]
    assert all(title.x1 <= figure.bbox.x1 for title in titles)
    assert not [pair for pair in itertools.combinations(titles, 2) if pair[0].overlaps(pair[1])]


def test_a_title_is_broken_behind_its_dots_into_lines_of_about_one_length(client):
    candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01", end="2026-01-06")
    ax = candles.plot(ax=plt.subplots(figsize=(4, 3))[1])
    assert ax.get_title("left").split("\n") == ["BTCUSDT on BINANCE_FUTURES ·", "candles · 1h"]


@pytest.mark.parametrize("options", [{}, {"layout": "panels"}, {"volume": False}], ids=str)
@pytest.mark.parametrize("symbols", [2, 3])
@pytest.mark.parametrize("size", [(4, 3), (5, 5), (6.4, 4.8), (10, 8)])
@pytest.mark.parametrize("engine", [None, "constrained"])
def test_titles_and_times_of_several_pictures_on_given_axes_lie_over_none_of_them(
    client, symbols, size, options, engine
):
    names = ["BTCUSDT", "ETHUSDT", "SOLUSDT"][:symbols]
    every = client.candles("BINANCE_FUTURES", names, "1h", start="2026-01-01", end="2026-01-06")
    figure = Picture(every.plot(ax=plt.subplots(figsize=size, layout=engine)[1], **options)).figure
    titled = [ax for ax in figure.axes if ax.get_title("left")]
    assert [next(name for name in names if name in ax.get_title("left")) for ax in titled] == names
    titles = {ax: ax._left_title.get_window_extent() for ax in titled}
    for ax, extent in titles.items():
        assert not [one for one in figure.axes if one is not ax and extent.overlaps(one.get_window_extent())]
    times = {
        ax: ax.xaxis.get_tightbbox() for ax in figure.axes if any(one.get_visible() for one in ax.get_xticklabels())
    }
    for ax, extent in times.items():
        covered = [one for one in titled if one is not ax and extent.overlaps(titles[one])]
        assert not covered and not [one for one in titled if one is not ax and extent.overlaps(one.get_window_extent())]


@pytest.mark.parametrize("size", [(3, 2), (4, 3), (6.4, 4.8), (10, 6)])
@pytest.mark.parametrize("with_candles", [False, True])
def test_the_legend_of_liquidations_lies_on_the_heatmap_and_not_on_its_colour_bar(client, size, with_candles):
    market, window = ("BINANCE_FUTURES", "BTCUSDT", "1m"), {"start": "2026-01-01T10:00", "end": "2026-01-01T12:00"}
    results = [client.orderbook_heatmap(*market, block_size=10, **window), client.liquidations(*market, **window)]
    if with_candles:
        results.append(client.candles(*market, **window))
    ax = mp.plot(*results, ax=plt.subplots(figsize=size)[1])
    Picture(ax)
    legend, inside = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert inside.x0 <= legend.x0 < legend.x1 <= inside.x1 and legend.y1 <= inside.y1 + 1


def test_a_figure_is_not_higher_than_programs_show(supply):
    # Six panels take 1.2 + 6 x 1.9 inches, 24 pictures of 3.2 inches are the most.
    with pytest.raises(mp.SelectionError, match="20 pictures do not fit into one figure; pick up to 6 with sel"):
        mp.SeriesSet([*supply] * 10).plot()


def book(*volumes):
    """A snapshot a minute of the same prices; one volume is that of all its levels."""
    return mp.decode_points(body(heatmap([([(99.0, volume)], [(100.0, volume)]) for volume in volumes])))


@pytest.mark.parametrize("width", [2.5, 5, 10])
@pytest.mark.parametrize("span", [1.01, 1.5, 3, 9, 40, 1e3, 1e9])
def test_a_colour_bar_has_numbers(span, width):
    low = 3.4
    ax = book(*np.geomspace(low, low * span, 40)).plot(ax=plt.subplots(figsize=(width, 3))[1])
    Picture(ax)
    bar = ax.figure.axes[1]
    bottom, top = bar.get_ylim()
    sizes = {"k": 1e3, "M": 1e6, "B": 1e9}
    texts = [one.get_text() for one in bar.get_yticklabels()]
    ticks = [float(text.rstrip("kMB")) * sizes.get(text[-1], 1) for text in texts]
    assert low * 0.99 <= bottom < top <= low * span * 1.01
    assert 2 <= len(ticks) <= 8 and ticks == sorted(set(ticks))
    assert bottom * 0.999 <= ticks[0] and ticks[-1] <= top * 1.001
    boxes = [one.get_window_extent() for one in bar.get_yticklabels()]
    assert not [pair for pair in itertools.pairwise(boxes) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize("size", [(5, 3), (6.4, 4.8), (10, 5)])
@pytest.mark.parametrize("engine", [None, "constrained"])
def test_the_colour_bars_of_both_sides_stand_together(client, size, engine):
    figure, ax = plt.subplots(figsize=size, layout=engine)
    client.orderbook_heatmap(*MARKET, block_size=100, **WINDOW).plot(ax=ax, sides="two")
    Picture(ax)
    picture, bids, asks = sorted((one.get_position() for one in figure.axes), key=lambda box: box.x0)
    assert 0 < bids.x0 - picture.x1 < 0.06 and 0 < asks.x0 - bids.x1 < 0.06
    assert picture.width > 0.55


def test_a_colour_bar_of_one_volume_has_its_number():
    ax = book(5.0, 5.0).plot()
    assert "5" in Picture(ax).texts
    assert ax.figure.axes[1].get_ylim() == pytest.approx((2.5, 10.0))  # its colour is the one in the middle


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("step", [0, -1, float("nan"), float("inf"), "x", 1e-9])
def test_a_step_that_is_no_height_is_refused(kind, step):
    answer = decoded(points(kind, [START]))
    with pytest.raises(mp.InvalidRequest, match=r"^step: "):
        answer.plot(step=step, prices=(90, 110))
    if kind == "BLOCK_BOOK_SNAPSHOT_AGG" and step != 1e-9:
        with pytest.raises(mp.InvalidRequest, match=r"^step"):
            answer.to_grid(step)


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("prices", [(110, 90), (90, 90), (90, float("nan")), 90, "ab", (1, 2, 3), (None, 100)])
def test_prices_that_are_no_range_are_refused(kind, prices):
    with pytest.raises(mp.InvalidRequest, match=r"^prices: "):
        decoded(points(kind, [START])).plot(prices=prices)


def test_prices_the_other_way_round_are_refused():
    with pytest.raises(mp.InvalidRequest, match=r"87000 is not below 86500; prices=\(86500, 87000\)"):
        decoded(points(LEVELS[0], [START])).plot(prices=(87000, 86500))


@pytest.mark.parametrize("kind", LEVELS)
def test_prices_without_levels_say_where_levels_are(kind):
    lowest, highest = {"VOLUME_PROFILE_AGG": (100, 101), "TPO_AGG": (100, 101)}.get(kind, (99, 100))
    picture = Picture(decoded(points(kind, [START])).plot(prices=(1, 2)))
    assert f"no levels from 1 to 2;\nthey lie from {lowest} to {highest}" in picture.texts
    assert (picture.within(picture.figure.axes[0])[2:-2, 2:-2] > 100).all()  # no black


@pytest.mark.parametrize("width", [4, 6.4, 10])
def test_the_legend_of_a_volume_profile_lies_above_the_bars(width):
    answer = decoded(points("VOLUME_PROFILE_AGG", [START]))
    ax = answer.plot(ax=plt.subplots(figsize=(width, width * 0.7))[1])
    picture = Picture(ax)
    box = ax.get_legend().get_window_extent()
    frame = picture.pixels[int(len(picture.pixels) - box.y1) : int(len(picture.pixels) - box.y0) - 1]
    shown = picture.within(ax)
    bars = is_colour(shown, UP) | is_colour(shown, DOWN)
    assert bars.any() and ax.get_legend().get_frame().get_alpha() == 0.8
    # Bars begin below the legend: its own two patches are the only such colours beside it.
    right = frame[:, int(box.x1) + 1 :]
    assert not (is_colour(right, UP) | is_colour(right, DOWN)).any()


@pytest.mark.parametrize("kind", [one for one in POINTS if "SKEW" in one or "RATE" in one or "SUPPLY" in one])
def test_a_lone_value_is_seen(kind):
    ax = decoded(points(kind, [START])).plot()
    picture = Picture(ax)
    for panel in picture.figure.axes:
        shown = picture.within(panel)
        assert sum(is_colour(shown, f"C{number}", 40).sum() for number in range(4)) >= 20


def test_a_lone_mid_price_is_seen_and_in_the_legend():
    ax = book(5.0).plot()
    picture = Picture(ax)
    middle = picture.within(ax, START + 20, START + 40, 99.9, 100.1)
    assert (middle.min(axis=2) > 200).sum() >= 9
    assert ax.get_legend().legend_handles[0].get_marker() == "o"


def test_closes_of_every_second_hour_are_seen():
    rows = 3000
    ax = decoded(points("TRADE_SIDE_AGNOSTIC_AGG", range(START, START + 2 * HOUR * rows, 2 * HOUR))).plot(volume=False)
    picture = Picture(ax)
    row = picture.within(ax, START, START + 2 * HOUR * rows, 1.48, 1.52)
    assert (row.min(axis=2) < 150).any(axis=0).mean() > 0.98


def test_legends_name_a_market_once():
    known = {"normalizedSymbol": "BTC-USDT", "coin": "BTC", "category": "PERPETUAL"}
    other = {"normalizedSymbol": "ETH-USDT", "coin": "ETH", "category": "SPOT"}
    answer = decoded(
        points("SKEW_OPTION_SUMMARY_AGG", [START], **known),
        points("SKEW_OPTION_SUMMARY_AGG", [START], exchange="DERIBIT", rawSymbol="ETHUSDT", **other),
    )
    assert {"BYBIT BTCUSDT · skew", "DERIBIT ETHUSDT · skew"} <= set(Picture(answer.plot()).texts)
    # What alone tells two apart is shown.
    same = decoded(
        points("SKEW_OPTION_SUMMARY_AGG", [START], category="OPTION"),
        points("SKEW_OPTION_SUMMARY_AGG", [START], category="COMBO"),
    )
    assert {"OPTION · skew", "COMBO · skew"} <= set(Picture(same.plot()).texts)


def test_empty_pictures_say_why(client):
    answer = client.candles(*MARKET, start="2005-01-01", period="1h")
    why = answer.why_empty
    assert why is not None and "2005-01-01 00:00" in why
    texts = [" ".join(text.split()) for text in Picture(answer.plot()).texts]
    assert f"no candles: {why}" in texts
    # A series alone knows the window.
    assert "no candles\n2005-01-01 00:00 to 2005-01-01 01:00 UTC" in Picture(answer.only.plot()).texts


def calls(client):
    start = {"start": "2026-01-01", "period": "3h"}
    yield client.candles(*MARKET, **WINDOW)
    yield client.side_candles(*MARKET, **WINDOW)
    yield client.liquidations(*MARKET, **WINDOW)
    yield client.funding_rate(*MARKET, **WINDOW)
    yield client.open_interest(*MARKET, **WINDOW)
    yield client.volume_profile(*MARKET, **start)
    yield client.orderbook_heatmap(*MARKET, block_size=10, **start)
    yield client.liquidation_heatmap(coin="BTC", interval="1h", **WINDOW)
    yield client.tpo(*MARKET, session="daily", **WINDOW)
    yield client.implied_volatility("DERIBIT", "BTC_ATM", "1h", coin="BTC", tenor="ONE_M", **WINDOW)
    yield client.skew("DERIBIT", "BTC_25", "1h", coin="BTC", tenor="ONE_M", **WINDOW)


@pytest.mark.parametrize("size", [(2.5, 2.0), (4.0, 2.6), (6.4, 4.8)])
def test_all_texts_lie_in_a_small_figure(client, size):
    for answer in calls(client):
        figure, ax = plt.subplots(figsize=size)
        answer.plot(ax=ax)
        picture = Picture(ax)
        for one in figure.axes:
            box = one.get_tightbbox()
            name = (answer.ids[0].type, box.extents.tolist())
            assert box.x0 >= 0 and box.y0 >= 0, name
            assert box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height, name
        assert ax.get_position().width > 0.3 and len(picture.texts) > 3
        figure.tight_layout()  # what users of small figures call next
        Picture(ax)


def test_the_paid_funding_rate_lies_over_the_predicted_one(client):
    ax = client.funding_rate("BINANCE_FUTURES", "BTCUSDT", "1h", **WINDOW).plot()
    above = {one.get_label(): one.get_zorder() for one in ax.lines}
    assert above["rate_close"] > above["predicted_close"]


def test_a_second_picture_on_the_same_axes_is_refused(client):
    candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", **WINDOW)
    ax = candles.plot()
    for more in (candles, candles.only, client.open_interest("BINANCE_FUTURES", "BTCUSDT", "1h", **WINDOW)):
        with pytest.raises(mp.InvalidRequest, match=r"a picture is on these axes already; .*mp\.plot\(one, other\)"):
            more.plot(ax=ax)
    with pytest.raises(mp.InvalidRequest, match="a picture is on these axes already"):
        mp.plot(candles, ax=ax)
    ax.clear()
    candles.plot(ax=ax, volume=False)


def test_several_panels_fit_into_axes_that_are_placed(client):
    figure = plt.figure(figsize=(9, 6))
    free = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    pair = ["BTCUSDT", "ETHUSDT"]
    client.orderbook_heatmap("BINANCE_FUTURES", pair, "5m", start="2026-01-01", period="6h", block_size=[10, 1]).plot(
        ax=free
    )
    Picture(free)
    boxes = [one.get_position() for one in figure.axes]
    assert len(boxes) == 4 and all(0.09 < box.x0 < box.x1 < 0.91 and 0.09 < box.y0 < box.y1 < 0.91 for box in boxes)
    assert not [two for two in itertools.combinations(boxes, 2) if two[0].overlaps(two[1])]


def test_panels_of_several_results_share_their_edges():
    one = decoded(points("FUNDING_RATE_AGG", [START, START + 3600], interval="HOUR", rawSymbol="A", exchange="X")).only
    ax = (mp.SeriesSet([one]) + book(1.0, 2.0).only).plot(ax=plt.subplots(figsize=(9, 7))[1])
    Picture(ax)
    edges = {
        (round(at.x0, 4), round(at.x1, 4)) for at in (one.get_position() for one in ax.figure.axes) if at.width > 0.2
    }
    assert len(edges) == 1 and len(ax.figure.axes) == 3


def test_axes_that_are_placed_stay_where_they_are():
    figure = plt.figure(figsize=(3, 2))
    free = figure.add_axes((0.05, 0.1, 0.9, 0.8))
    decoded(points("SKEW_OPTION_SUMMARY_AGG", [START])).plot(ax=free)
    assert free.get_position().bounds == pytest.approx((0.05, 0.1, 0.9, 0.8))
    neighbours = plt.subplots(1, 2, figsize=(3, 2))[1]
    before = neighbours[1].get_position().bounds
    decoded(points("SKEW_OPTION_SUMMARY_AGG", [START])).plot(ax=neighbours[0])
    assert neighbours[1].get_position().bounds == before


@pytest.mark.parametrize(
    ("start", "end", "first"),
    [
        ("2026-05-18", "2026-06-01", "19 May"),  # the corner tells the month of the last day
        ("2025-12-20", "2026-01-05", "21 Dec"),
        ("2026-05-03", "2026-05-17", "03"),
        ("2026-06-01", "2026-06-01T12:00", "Jun-01"),
    ],
)
def test_the_first_day_tells_its_month_where_the_corner_does_not(client, start, end, first):
    axes = client.candles(*MARKET, start=start, end=end).plot()
    below = axes.figure.axes[-1]
    below.figure.canvas.draw()
    low, high = below.get_xlim()
    labels = [one.get_text() for one in below.get_xticklabels() if low <= one.get_position()[0] <= high]
    assert first in labels[:2], labels


@pytest.mark.parametrize(
    ("start", "end", "corner"),
    [
        ("2026-02-28T16:00", "2026-03-01", "28 Feb 2026 UTC"),  # the next day begins at the end
        ("2026-02-28", "2026-03-01", "28 Feb 2026 UTC"),
        ("2026-02-28T16:00", "2026-02-28T23:00", "28 Feb 2026 UTC"),
        ("2026-02-28T16:00", "2026-03-01T08:00", "01 Mar 2026 UTC"),  # as at the label of that midnight
        ("2026-02-26", "2026-03-01", "Mar 2026 UTC"),
        ("2025-12-31T10:00", "2026-01-01T06:00", "01 Jan 2026 UTC"),
        ("2025-12-20", "2026-01-05", "Dec 2025 to Jan 2026 UTC"),
        ("2025-08-15", "2026-05-01", "2025 to 2026 UTC"),
        ("2025-12-15", "2026-05-20", "UTC"),  # every label is of one year, and the first is its number
    ],
)
def test_the_corner_has_the_day_of_the_hours_beside_it(client, start, end, corner):
    below = client.candles(*MARKET, start=start, end=end).plot().figure.axes[-1]
    below.figure.canvas.draw()
    assert below.xaxis.get_offset_text().get_text() == corner


@pytest.mark.parametrize("width", [1.2, 1.6, 2.5, 4.0, 8.0])
@pytest.mark.parametrize(
    ("interval", "period"), [("1m", "10m"), ("1m", "6h"), ("1h", "1d"), ("1h", "2d"), ("1h", "9d"), ("1d", "90d")]
)
def test_times_of_narrow_axes_do_not_run_into_each_other(client, width, interval, period):
    figure = plt.figure(figsize=(width + 1, 3))
    ax = figure.add_axes((0.5 / (width + 1), 0.2, width / (width + 1), 0.6))
    client.candles(*MARKET[:2], interval, period=period).plot(ax=ax)
    below = figure.axes[-1]
    figure.canvas.draw()
    low, high = below.get_xlim()
    shown = [one for one in below.get_xticklabels() if one.get_text() and low <= one.get_position()[0] <= high]
    assert len(shown) >= (1 if width < 2 else 2)
    boxes = [one.get_window_extent() for one in shown]
    for (left, right), pair in zip(itertools.pairwise(boxes), itertools.pairwise(shown), strict=True):
        assert left.x1 < right.x0, [one.get_text() for one in pair]


def test_the_blocks_of_a_short_profile_are_counted_in_whole_numbers():
    ax = decoded(points("TPO_AGG", [START])).plot()
    ax.figure.canvas.draw()
    (bar,) = (one for one in ax.figure.axes if "time block" in one.get_ylabel())
    shown = [float(number) for number in bar.get_yticks()]
    assert len(shown) > 1 and shown == [round(number) for number in shown]


@pytest.mark.parametrize("size", [(10, 5), (6.4, 4.8), (4, 3)])
@pytest.mark.parametrize("layout", [None, "constrained"])
def test_the_reason_of_an_empty_picture_lies_in_its_axes(client, size, layout):
    figure, ax = plt.subplots(figsize=size, layout=layout)
    client.candles(*MARKET, start="2100-01-01", end="2100-01-02").plot(ax=ax)
    figure.canvas.draw()
    (reason,) = (one for one in ax.get_children() if "no candles" in getattr(one, "get_text", str)())
    lies, room = reason.get_window_extent(), ax.get_window_extent()
    assert room.x0 <= lies.x0 and lies.x1 <= room.x1 and room.y0 <= lies.y0 and lies.y1 <= room.y1
    assert room.width > figure.bbox.width / 2  # the axes gave nothing up for it
