"""Several series by choice, and pictures of the prediction markets' records."""

import functools
import itertools
import operator

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp
from support.pictures import Picture

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")
colours = pytest.importorskip("matplotlib.colors")

HOUR = 3600
WINDOW = {"start": "2026-01-01", "end": "2026-01-03"}
NAMES = ["BTCUSDT", "ETHUSDT", "SOLUSDT"]
TENORS = ["ONE_W", "ONE_M", "TWO_M", "THREE_M"]


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")  # those of other files' tests too: some tests here count figures
    yield
    plt.close("all")


def markets(rows=CANDLES, names=NAMES):
    return mp.decode_points(body(*(candles(rows, rawSymbol=name) for name in names)))


def options(tenors=TENORS, kind="IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG", hours=10):
    every = []
    for number, tenor in enumerate(tenors):
        points = [
            {"Point": {"impliedVolatility": 50.0 + number + at, "timestamp": stamp(START + HOUR * at)}}
            for at in range(hours)
        ]
        identity = {"type": kind, "exchange": "DERIBIT", "rawSymbol": "BTC_ATM", "interval": "HOUR", "tenor": tenor}
        every.append({"id": identity, "points": points})
    return mp.decode_points(body(*every))


def test_small_multiples():
    ax = markets().plot(layout="panels")
    picture = Picture(ax)
    assert [one.get_title("left") for one in picture.figure.axes] == NAMES
    assert "BINANCE_FUTURES · candles · 1h" in picture.texts
    assert all(one.get_shared_x_axes().joined(one, ax) for one in picture.figure.axes)
    figure, (above, below) = plt.subplots(2)
    assert len(markets().plot(layout="panels", ax=below).figure.axes) == 1 + 3 and above in figure.axes
    with pytest.raises(mp.InvalidRequest, match="these axes were placed by hand and cannot be divided"):
        markets().plot(layout="panels", ax=plt.figure().add_axes((0.1, 0.1, 0.8, 0.8)))
    with pytest.raises(mp.SelectionError, match="101 pictures do not fit into one figure; pick up to 100"):
        markets(names=[f"X{at}" for at in range(101)]).plot(layout="panels")


def test_one_axis_of_several_markets_has_changes():
    rows = [(100.0, 120.0, 80.0, close, 1.0) for close in (100.0, 110.0, 95.0)]
    ax = markets(rows).plot(layout="axis")
    picture = Picture(ax)
    assert {"change since the start (%)", *NAMES} <= set(picture.texts)
    lines = [line for line in ax.lines if line.get_label() in NAMES]
    assert [line.get_ydata().tolist() for line in lines] == [[0.0, pytest.approx(10), pytest.approx(-5)]] * 3


def test_one_axis_of_one_market_has_prices():
    both = mp.decode_points(body(candles(CANDLES), candles(CANDLES, exchange="BYBIT")))
    ax = both.plot(layout="axis")
    assert {"price", "BINANCE_FUTURES", "BYBIT"} <= set(Picture(ax).texts)
    assert ax.lines[0].get_ydata().tolist() == [row[3] for row in CANDLES]


def test_odds_share_an_axis_in_percent():
    rows = [(0.4, 0.5, 0.3, close, 9.0) for close in (0.4, 0.45, 0.5)]
    known = {"exchange": "PREDICTION_VENUE", "rawSymbol": "0x" + "ab" * 32}
    answer = mp.decode_points(
        body(
            candles(rows, tokenName="Yes", **known),
            candles([(*r[:3], 1 - r[3], 1.0) for r in rows], tokenName="No", **known),
        )
    )
    ax = answer.plot()
    picture = Picture(ax)
    assert {"probability", "Yes", "No", "40%", "100%"} <= set(picture.texts) and "120%" not in picture.texts
    assert ax.lines[1].get_ydata().tolist() == [pytest.approx(0.6), pytest.approx(0.55), 0.5]


def test_a_term_structure_goes_by_the_length_of_its_tenors():
    ax = options([*reversed(TENORS)]).plot(layout="term")
    texts = set(Picture(ax).texts)
    assert {"implied volatility (%)", "tenor", *TENORS, "2026-04-22 18:00 UTC", "2026-04-23 03:00 UTC"} <= texts
    assert len(ax.lines) == 5
    assert ax.lines[0].get_xdata().tolist() == [7, 30, 61, 91]
    assert ax.lines[0].get_ydata().tolist() == [53, 52, 51, 50] and ax.lines[-1].get_ydata().tolist() == [
        62,
        61,
        60,
        59,
    ]
    for wrong in (options(["ONE_M"]), options(["ONE_M"]) + options(["ONE_M"]), markets()):
        with pytest.raises(mp.SelectionError, match="a term structure needs series that differ in their tenor alone"):
            wrong.plot(layout="term")


def smiling(deltas=(25,), tenor="ONE_W", skews=(3.0, -2.0)):
    """Volatility at the money, and the skew of each delta: so much less for each further from the money."""
    identity = {"exchange": "DERIBIT", "coin": "BTC", "interval": "HOUR", "tenor": tenor}
    every = []
    for symbol, name, kind, values in [
        ("BTC_ATM", "impliedVolatility", "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG", (50.0, 60.0)),
        *((f"BTC_{one}", "skew", "SKEW_OPTION_SUMMARY_AGG", [each + 25 - one for each in skews]) for one in deltas),
    ]:
        points = [{"Point": {name: values[at], "timestamp": stamp(START + HOUR * at)}} for at in range(2)]
        every.append({"id": identity | {"type": kind, "rawSymbol": symbol}, "points": points})
    return mp.decode_points(body(*every))


def test_a_smile_has_its_wings_half_a_skew_from_the_money():
    ax = smiling().plot(layout="smile")
    texts = set(Picture(ax).texts)
    assert {"implied volatility (%)", "25Δ put", "ATM", "25Δ call"} <= texts
    assert any("ONE_W" in text and text.endswith("smile") for text in texts)
    assert [line.get_ydata().tolist() for line in ax.lines] == [[51.5, 50, 48.5], [59, 60, 61]]
    ax = smiling((10, 25)).plot(layout="smile")
    assert ax.lines[0].get_xdata().tolist() == [10, 25, 50, 75, 90]
    assert ax.lines[0].get_ydata().tolist() == [59, 51.5, 50, 48.5, 41]
    assert {"10Δ put", "25Δ put", "ATM", "25Δ call", "10Δ call"} <= set(Picture(ax).texts)
    # A skew of which the volatility is not there.
    half = smiling()
    ax = (half[:1].head(1) + half[1:]).plot(layout="smile")
    assert ax.lines[0].get_ydata().tolist() == [51.5, 50, 48.5] and np.isnan(ax.lines[1].get_ydata()).all()
    Picture(smiling().head(0).plot(layout="smile"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: options(["ONE_W"]),
        lambda: smiling() + smiling()[1:],
        lambda: smiling()[1:],
        lambda: smiling(tenor="ONE_M")[:1] + smiling()[1:],
        lambda: smiling() + markets(),
        lambda: smiling((75,)),
    ],
)
def test_what_is_no_smile_is_refused(wrong):
    with pytest.raises(mp.SelectionError, match="a smile needs the implied volatility at the money and the skew"):
        wrong().plot(layout="smile")


HEATMAP = heatmap(BOOK)


@pytest.mark.parametrize(
    ("made", "options", "words"),
    [
        (
            candles(CANDLES),
            {"kind": "pie"},
            r"kind: kind= is of a volume profile \('bars', 'cells', 'footprint', 'total'\)",
        ),
        (
            candles(CANDLES),
            {"norm": "log"},
            r"norm: norm= is of a heatmap; a picture of rows of values takes ax=, figsize=, volume=",
        ),
        (
            HEATMAP,
            {"kind": "pie"},
            r"a picture of a heatmap takes ax=, figsize=, step=, prices=, norm=, sides=, theme=",
        ),
        (HEATMAP, {"thme": "dark"}, r"thme: there is no such choice, did you mean 'theme'|thme: .*theme"),
        (HEATMAP, {"volume": True}, r"volume= is of rows of values"),
        (HEATMAP, {"ax": 7}, r"ax: a int is no axes; give one of matplotlib's"),
        (candles(CANDLES), {"ax": "x"}, r"ax: a str is no axes"),
        (HEATMAP, {"figsize": 4}, r"figsize: 4 is not a width and a height in inches, such as \(8, 5\)"),
        (HEATMAP, {"figsize": "43"}, "figsize: '43' is not a width"),
        (HEATMAP, {"figsize": (4,)}, "figsize: .* is not a width"),
        (HEATMAP, {"figsize": (4, 0)}, "figsize: .* is not a width"),
        (HEATMAP, {"figsize": (float("nan"), 3)}, "figsize: .* is not a width"),
        (candles(CANDLES), {"figsize": (1e9, 3)}, "figsize: .* is not a width"),
        (candles(CANDLES), {"figsize": (10**400, 5)}, "figsize: .* is not a width"),
        (candles(CANDLES), {"figsize": np.array(5)}, "figsize: .* is not a width"),
        (candles(CANDLES), {"figsize": (np.timedelta64(5, "s"), 5)}, "figsize: .* is not a width"),
        (candles(CANDLES), {"figsize": (True, True)}, "figsize: .* is not a width"),
        (candles(CANDLES), {"figsize": {8, 5}}, "figsize: .* is not a width"),
        (candles(CANDLES), {"figsze": (4, 3)}, r"figsze: there is no such choice; did you mean figsize\?"),
    ],
)
def test_a_choice_that_a_picture_does_not_take_is_refused(made, options, words):
    answer = mp.decode_points(body(made))
    for one in (answer, answer.only):
        with pytest.raises(mp.InvalidRequest, match=words):
            one.plot(**options)


@pytest.mark.parametrize("size", [(3.5, 2.8), (4, 3), (8, 5), (5, 14)])
def test_a_new_figure_has_the_size_that_was_asked_for(client, size):
    candle, other = client.candles("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1h", period="3d")
    market = ("BINANCE_FUTURES", "BTCUSDT", "1h")
    rates, traded = client.funding_rate(*market, period="3d"), client.volume_profile(*market, period="1d")
    sessions = client.tpo("BINANCE_FUTURES", "BTCUSDT", "1d", period="3d")
    board, supply = client.leaderboard(limit=9), client.token_supply(coin="BTC", interval="1d", period="30d")
    book = client.orderbook_heatmap(*market, block_size=10, period="1d")
    every = [candle, rates, traded, sessions, board, board[0], supply, book]
    shown = [functools.partial(one.plot, **({"kind": "total"} if one is traded else {})) for one in every]
    both = mp.SeriesSet([candle, other])
    shown += [
        functools.partial(mp.plot, *some) for some in ([candle, other], [candle, rates], [book, candle], [supply])
    ]
    shown += [both.plot, *(functools.partial(both.plot, layout=layout) for layout in ("axis", "panels"))]
    for draw in shown:
        figure = draw(figsize=size).figure
        assert tuple(figure.get_size_inches()) == size
        figure.canvas.draw()
        labels = [ax.yaxis.label.get_window_extent() for ax in figure.axes if ax.get_ylabel()]
        assert not [pair for pair in itertools.combinations(labels, 2) if pair[0].overlaps(pair[1])], draw
        plt.close(figure)
    assert Picture(both.plot(layout="panels", figsize=size)).texts[-1] == "BINANCE_FUTURES · candles · 1h"


def test_a_picture_that_is_refused_leaves_no_figure():
    several = markets()
    for options in ({"layout": "term"}, {"layout": "pie"}):
        with pytest.raises((mp.SelectionError, mp.InvalidRequest)):
            several.plot(figsize=(4, 3), **options)
    with pytest.raises(mp.InvalidRequest, match="figsize: the figure of ax has its size already; give one of them"):
        several.plot(figsize=(4, 3), ax=plt.subplots()[1])
    plt.close("all")
    book = mp.decode_points(body(HEATMAP))
    for options in ({"prices": (5, 1)}, {"norm": "x"}, {"layout": "panels", "norm": "x"}):
        for size in (None, (8, 5)):
            with pytest.raises(mp.InvalidRequest):
                book.plot(figsize=size, **options)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (12, 1.2), (2.5, 2)])
def test_a_figure_without_room_for_a_layout_is_drawn_as_on_given_axes(size):
    several = markets()
    given = several.plot(ax=plt.subplots(figsize=size)[1]).figure
    drawn = several.plot(figsize=size).figure
    assert tuple(drawn.get_size_inches()) == size and len(plt.get_fignums()) == 2
    for one, other in zip(given.axes, drawn.axes, strict=True):
        assert one.get_position().bounds == pytest.approx(other.get_position().bounds)
        assert one.get_title("left") == other.get_title("left")


def test_labels_below_a_picture_lie_in_the_figure(client):
    figure = client.leaderboard(limit=9).plot(figsize=(3, 6)).figure
    figure.canvas.draw()
    for ax in figure.axes:
        box = ax.xaxis.label.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_a_choice_that_several_pictures_do_not_take_is_refused():
    for answer in (markets(), options(), markets() + options()):
        with pytest.raises(mp.InvalidRequest, match="kind= is of a volume profile"):
            answer.plot(kind="pie")
    with pytest.raises(mp.InvalidRequest, match="several series are drawn in a layout, and this is one"):
        markets()[0].plot(layout="panels")
    # A choice of one of several the others need not know.
    mixed = markets(names=["BTCUSDT"]) + mp.decode_points(body(HEATMAP))
    Picture(mixed.plot(theme="light", volume=False))


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("layout", ["term", "smile"])
def test_every_moment_is_seen_on_its_ground(layout, style):
    with plt.style.context(style):
        ax = (options() if layout == "term" else smiling()).plot(layout=layout)
        ground = np.array(colours.to_rgb(ax.get_facecolor()))
        for line in ax.lines:
            assert np.abs(np.array(colours.to_rgb(line.get_color())) - ground).max() > 0.4


def test_what_the_demo_market_has(client):
    several = [client.implied_volatility("DERIBIT", "BTC_ATM", "1h", coin="BTC", tenor=one, **WINDOW) for one in TENORS]
    answer = functools.reduce(operator.add, several)
    for layout in (None, "axis", "panels", "term"):
        Picture(answer.plot(layout=layout))
    skew = client.skew("DERIBIT", "BTC_25", "1h", coin="BTC", tenor="ONE_W", **WINDOW)
    assert len((several[0] + skew).plot(layout="smile").lines) == 5
    mixed = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", **WINDOW) + client.open_interest(
        "BINANCE_FUTURES", "BTCUSDT", "1h", **WINDOW
    )
    assert "change since the start (%)" in Picture(mixed.plot(layout="axis")).texts


def test_one_axis_of_token_supply_says_which_of_its_values_is_drawn(client):
    supply = client.token_supply(coin=["BTC", "ETH"], interval="1d", start="2026-01-01", end="2026-01-10")
    ax = supply.plot(layout="axis")
    assert ax.get_title("left") == "token supply · 1d · marketcap"
    assert supply[0]["marketcap"][0] == ax.lines[0].get_ydata()[0]


@pytest.mark.parametrize("layout", ["axis", "panels", "term"])
@pytest.mark.parametrize("rows", [0, 1])
def test_choices_of_little(layout, rows):
    if layout == "term":
        Picture(options(hours=rows).plot(layout=layout))
    else:
        Picture(markets(CANDLES[:rows]).plot(layout=layout))


def test_what_is_no_choice_is_refused():
    with pytest.raises(mp.InvalidRequest, match="layout: 'grid' is none; those are axis, panels, term, smile"):
        markets().plot(layout="grid")
    book = mp.decode_points(body({"id": {"type": "BLOCK_BOOK_SNAPSHOT_AGG"}, "points": []}, candles(CANDLES)))
    with pytest.raises(mp.SelectionError, match="volume by price is no line; draw it in a panel of its own"):
        book.plot(layout="axis")
    with pytest.raises(mp.SelectionError, match="61 lines on one axis cannot be distinguished; pick up to 60"):
        markets(names=[f"X{at}" for at in range(61)]).plot(layout="axis")


@pytest.mark.parametrize("size", [None, (3.5, 3), (14, 8)])
def test_records_of_the_demo_market(client, size):
    def ax():
        return None if size is None else plt.subplots(figsize=size)[1]

    board = client.leaderboard(limit=40)
    shown = Picture(board.plot(ax=ax()))
    assert any(text.startswith("leaderboard: the ") and "40 wallets" in text.replace("\n", " ") for text in shown.texts)
    wallet = board[0].wallet_address
    positions = client.positions(user_wallet=wallet)
    picture = Picture(positions.plot(ax=ax()))
    assert any("realized profit and loss (USD)" in text.replace("\n", " ") for text in picture.texts)
    assert len(picture.figure.axes) == (1 if size == (3.5, 3) else 2)
    Picture(positions[0].plot(ax=ax()))
    Picture(client.user_categories(wallet).plot(ax=ax()))
    summary = client.market_summary(condition_id=positions[0].condition_id)
    Picture(summary.plot(ax=ax()))
    Picture(summary.outcome_pricing.plot(ax=ax()))
    Picture(board[0].plot(ax=ax()))


@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
@pytest.mark.parametrize("size", [(4, 3), (6.4, 4.8)])
def test_a_summary_on_given_axes_covers_none_of_its_own_labels(client, size, layout):
    wallet = client.leaderboard(limit=3)[0].wallet_address
    summary = client.market_summary(condition_id=client.positions(user_wallet=wallet)[0].condition_id)
    figure, ax = plt.subplots(figsize=size, layout=layout)
    summary.plot(ax=ax)
    figure.canvas.draw()
    above, below = figure.axes
    label = above.xaxis.label.get_window_extent()
    assert above.get_xlabel() and label.y0 > below.get_window_extent().y1


@pytest.mark.parametrize("size", [(4, 3), (6.4, 4.8), (12, 4)])
def test_numbers_and_legend_of_a_summary_lie_over_nothing(client, size):
    wallet = client.leaderboard(limit=3)[0].wallet_address
    summary = client.market_summary(condition_id=client.positions(user_wallet=wallet)[0].condition_id)
    above, below = Picture(summary.plot(ax=plt.subplots(figsize=size)[1])).figure.axes
    for ax in (above, below):
        low, high = ax.get_ylim()
        shown = [text for tick, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True) if low <= tick <= high]
        numbers = [text.get_window_extent() for text in shown]
        assert len(numbers) >= 2 and not [pair for pair in itertools.pairwise(numbers) if pair[0].overlaps(pair[1])]
    assert {float(tick) % 1 for tick in below.get_yticks()} == {0.0}  # accounts
    highest = max(patch.get_data().values.max() for patch in below.patches)
    assert below.get_legend().get_window_extent().y0 >= below.transData.transform((0, highest))[1] - 1


def test_lines_of_one_unit_share_an_axis_whatever_their_coins(client):
    rates = client.funding_rate("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1h", period="2d")
    assert len(rates.plot().figure.axes) == 1
    amounts = client.open_interest("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1h", period="2d")
    assert len(amounts.plot().figure.axes) == 2


def test_lines_of_several_types_are_named_as_people_name_them(client):
    market, when = ("DERIBIT", "BTC_ATM", "1h"), {"coin": "BTC", "tenor": "ONE_W", "period": "2d"}
    both = client.implied_volatility(*market, **when) + client.skew("DERIBIT", "BTC_25", "1h", **when)
    ax = both.plot()
    assert ax.get_title("left") == "BTC on DERIBIT · implied volatility and skew · ONE_W · 1h"
    assert not any("_AGG" in text for text in Picture(ax).texts)


def test_panels_of_one_picture_stand_close_in_a_figure_of_many(client):
    many = client.candles("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT"], "1h", period="2d")
    for answer in (many, many.sel(raw_symbol="ETHUSDT")):
        figure = answer.plot().figure
        figure.canvas.draw()
        prices, volume = (one.get_window_extent() for one in figure.axes[:: len(answer)][:2])
        assert 0 < prices.y0 - volume.y1 < 0.3 * figure.dpi


def test_what_stands_below_two_panels_does_not_run_together(client):
    wallet = client.leaderboard(limit=3)[0].wallet_address
    _, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    figure = client.positions(user_wallet=wallet).plot(ax=ax).figure
    figure.canvas.draw()
    left, right = (one.xaxis.label.get_window_extent() for one in figure.axes)
    assert left.x1 < right.x0 and right.x1 <= figure.bbox.x1


def test_records_of_little():
    for kind in (mp.TraderProfile, mp.UserPosition, mp.CategoryRow, mp.UserCategories, mp.OutcomePricing):
        Picture(mp.Records([], kind).plot())
        Picture(kind().plot())
    Picture(mp.MarketSummary().plot())
    Picture(mp.MarketSummary(realized_pnl_distribution=np.full(100, np.nan)).plot())
    Picture(mp.Records([mp.TraderProfile(total_realized_pnl=float("nan"))]).plot())


def test_names_of_others_are_shown_as_they_are():
    name = "$a$ <b>\n\x1b[31m red " + "long " * 20
    picture = Picture(mp.Records([mp.UserPosition(market_name=name, outcome_name="$Yes$", realized_pnl=2.0)]).plot())
    (label,) = [text for text in picture.texts if "Yes" in text]
    assert label.startswith(r"\$a\$ <b> \x1b[31m red long") and label.endswith(r" · \$Yes\$") and len(label) < 60


def test_records_without_a_picture_are_refused(client):
    with pytest.raises(mp.SelectionError, match=r"there is no picture of Market records, but of TraderProfile"):
        client.markets(exchange="BINANCE_FUTURES").plot()
    with pytest.raises(mp.SelectionError, match=r"2 market summaries are drawn one by one: summaries\[0\]\.plot"):
        mp.Records([mp.MarketSummary()] * 2).plot()
    with pytest.raises(mp.SelectionError, match="no picture of these records"):
        mp.Records([]).plot()
