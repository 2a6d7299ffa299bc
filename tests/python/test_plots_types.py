"""Pictures of every data type: what they say, on which axes, of one series and of several, of none and of very many."""

import itertools
import re

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from marketpoints.common import data_types
from marketpoints.plots.lines import PANELS, Panel
from support.bodies import CANDLES, START, body, candles, stamp
from support.pictures import Picture
from support.points import HOUR, MARKET, POINTS, WINDOW, decoded, points

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

NAN = float("nan")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_or_none_are_drawn(kind, rows):
    answer = decoded(points(kind, [START + HOUR * row for row in range(rows)]))
    picture = Picture(answer.plot())
    assert any("BTCUSDT on BYBIT · " in text for text in picture.texts)
    if not rows:
        assert {"no rows", "no candles", "no liquidations", "no levels"} & set(picture.texts)


@pytest.mark.parametrize("kind", POINTS)
def test_an_interval_that_is_not_known(kind):
    Picture(decoded(points(kind, [START, START + 7, START + 90], interval="THREE_SECONDS")).plot())


@pytest.mark.parametrize("kind", POINTS)
def test_very_many_rows_are_drawn(kind):
    rows = 20_000 if "TPO" in kind or "PROFILE" in kind else 100_000  # section 8.3
    answer = decoded(points(kind, range(START, START + 60 * rows, 60), interval="MINUTE"))
    picture = Picture(answer.plot())
    ax = answer_axes(picture)
    shown = picture.within(ax)
    dark = (shown.min(axis=2) < 235).any(axis=0)
    assert dark[len(dark) // 50 : -len(dark) // 50].all()


def answer_axes(picture):
    return picture.figure.axes[0]


def of_new_type(monkeypatch, column, **facts):
    """A series of a type that a row of the table alone describes."""
    panel = Panel("taker volume", ((column,),), None, "amount")
    row = {"method": "takers", "columns": [column, "timestamp"], "title": "taker volume by side"}
    row |= {"amount": "taker volume", "adds_up": True}
    monkeypatch.setitem(data_types.TABLE, "TAKER_AGG", row | facts)
    monkeypatch.setitem(PANELS, "TAKER_AGG", (panel,))
    identity = {"type": "TAKER_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "HOUR", "side": "BUY"}
    rows = [{"Point": {column: 2.0 + at, "timestamp": stamp(START + HOUR * at)}} for at in range(3)]
    return mp.decode_points(body({"id": identity, "points": rows}))


@pytest.mark.parametrize(("role", "artist"), [("bars", "Bars"), ("lines", "Trace")])
def test_a_row_of_the_table_is_all_that_the_picture_of_a_new_type_needs(monkeypatch, role, artist):
    answer = of_new_type(monkeypatch, "taken", role=role)
    ax = answer.plot()
    assert "taker volume by side" in ax.get_title("left") and ax.get_ylabel() == "taker volume"
    assert artist in {type(one).__name__ for one in ax.get_children()}
    assert mp.plot(decoded(points("TRADE_SIDE_AGNOSTIC_AGG", [START, START + HOUR])), answer) is not None


@pytest.mark.parametrize("width", [2.5, 5, 10])
def test_times_have_labels_at_every_span(width):
    _, ax = plt.subplots(figsize=(width, 3))
    decoded(points("SKEW_OPTION_SUMMARY_AGG", [START, START + HOUR])).plot(ax=ax)
    for seconds in np.geomspace(120, 20 * 365 * 86_400, 150):
        ax.set_xlim(START / 86_400, (START + seconds) / 86_400)
        # A locator that finds no fitting distance warns, which is an error here.
        assert 1 <= len(ax.xaxis.get_majorticklocs()) <= 11, seconds


def test_sets_without_series_say_why():
    assert "no series: the answer holds no data" in Picture(mp.decode_points(b"{}").plot()).texts
    answer = decoded(points("LIQUIDATION_AGG", [START], side="BUY"))
    with pytest.raises(mp.SelectionError, match="no series has side='SELL'"):
        answer.sel(side="SELL")


def test_open_interest_is_no_candles_on_an_axis_of_prices(client):
    texts = Picture(client.open_interest(*MARKET, **WINDOW).plot()).texts
    assert {"BTCUSDT on BINANCE_FUTURES · open interest in BTC · 1h", "open interest (BTC)"} <= set(texts)
    assert not [text for text in texts if "candle" in text or "price" in text]
    texts = Picture(client.open_interest(*MARKET, **WINDOW, usd=True).plot()).texts
    assert {"BTCUSDT on BINANCE_FUTURES · open interest in USD · 1h", "open interest (USD)"} <= set(texts)


def test_units_are_shown_where_they_are_known(client):
    texts = Picture(client.candles(*MARKET, **WINDOW).plot()).texts
    assert {"price (USDT)", "volume (BTC)"} <= set(texts)
    texts = Picture(client.candles(*MARKET, **WINDOW, usd=True).plot()).texts
    assert {"price (USD)", "volume (USD)"} <= set(texts)
    assert client.candles(*MARKET, **WINDOW, usd=True).usd is True and client.candles(*MARKET, **WINDOW).usd is False
    alone = decoded(points("TRADE_SIDE_AGNOSTIC_AGG", [START]))
    assert alone.usd is None and {"price", "volume"} <= set(Picture(alone.plot()).texts)


def test_inverse_markets_count_contracts(client):
    # BitMEX' XBTUSD counts US dollars, Binance's delivery contracts of Bitcoin are worth 100 of them.
    from marketpoints.plots.labels import amount_unit

    class Shown:
        usd = False
        asked_for = None

        def __init__(self, **identity):
            self.id = mp.SeriesId(**identity)

    assert amount_unit(Shown(exchange="BITMEX", raw_symbol="XBTUSD", coin="BTC")) == "USD"
    assert amount_unit(Shown(exchange="BINANCE_DELIVERY", raw_symbol="BTCUSD_PERP")) == "contracts of 100 USD"
    assert amount_unit(Shown(exchange="BYBIT", raw_symbol="BTCUSDT")) == "coin"


def test_funding_is_in_percent(client):
    picture = Picture(client.funding_rate(*MARKET, start="2026-01-01", end="2026-01-20").plot())
    assert {"BTCUSDT on BINANCE_FUTURES · funding rate in % · 1h", "funding rate (%)"} <= set(picture.texts)
    ax = picture.figure.axes[0]
    shown = [
        float(text[:-1].replace("\N{MINUS SIGN}", "-")) for text in picture.texts if re.fullmatch(r"-?[\d.e-]+%", text)
    ]
    assert len(shown) > 3 and max(shown) == pytest.approx(100 * ax.get_yticks().max(), rel=0.5)
    close = client.funding_rate(*MARKET, start="2026-01-01", end="2026-01-20")["rate_close"]
    line = next(line for line in ax.lines if line.get_label() == "rate_close")
    # It holds from the start of its hour to its end: no slope between two settlements.
    assert line.get_ydata().tolist() == np.repeat(close, 2).tolist()
    places = line.get_xdata().reshape(-1, 2) * 24
    assert np.allclose(places[:, 1] - places[:, 0], 1) and np.allclose(places[1:, 0], places[:-1, 1])


def test_funding_of_hours_that_are_missing_is_not_drawn():
    rows = points("FUNDING_RATE_AGG", [START, START + HOUR, START + 4 * HOUR], {"rateClose": 1e-4})
    for layout in (None, "axis"):
        ax = decoded(rows).plot(layout=layout)
        values = ax.lines[0].get_ydata()
        assert np.isnan(values).tolist() == [False] * 4 + [True] + [False] * 2


def test_what_an_exchange_leaves_out_is_left_out():
    only_open = decoded(points("FUNDING_RATE_AGG", [START, START + HOUR], {"rateOpen": 1e-4}))
    assert "rate_open" in Picture(only_open.plot()).texts
    nothing = decoded(points("OPEN_INTEREST_AGG", [START, START + HOUR], {}))
    assert "no values" in Picture(nothing.plot()).texts


def test_a_line_breaks_where_rows_are_missing_and_a_lone_row_is_a_dot():
    answer = decoded(points("SKEW_OPTION_SUMMARY_AGG", [START + HOUR * row for row in (0, 1, 2, 10, 20, 21)]))
    (line,) = answer.plot().lines
    assert np.isnan(line.get_ydata()).nonzero()[0].tolist() == [3, 5]
    middle = (START + HOUR * 10.5) / 86_400  # of the hour that the row is of
    assert line.get_xdata()[line.get_markevery()].tolist() == [pytest.approx(middle)]


def test_options_have_their_units(client):
    skew = client.skew("DERIBIT", "BTC_25", "1h", coin="BTC", tenor="ONE_M", **WINDOW)
    assert "skew (percentage points)" in Picture(skew.plot()).texts
    implied = client.implied_volatility("DERIBIT", "BTC_ATM", "1h", coin="BTC", tenor="ONE_M", **WINDOW)
    texts = Picture(implied.plot()).texts
    assert {"implied volatility (%)", "BTC_ATM on DERIBIT · implied volatility in % · ONE_M · 1h"} <= set(texts)


def test_token_supply_has_a_panel_for_each_unit(client):
    picture = Picture(client.token_supply(coin="BTC", interval="1d", start="2026-01-01", end="2026-02-01").plot())
    labels = [ax.get_ylabel() for ax in picture.figure.axes]
    assert labels == ["value (USD)", "dominance (%)", "supply (coin)", "volume (USD)", "price (USD)", "rank"]
    assert {"marketcap", "first_marketcap", "circulating_supply", "max_supply"} <= set(picture.texts)
    box = [ax.get_position() for ax in picture.figure.axes]
    assert all(upper.y0 >= lower.y1 - 1e-9 for upper, lower in itertools.pairwise(box))


def test_token_supply_of_several_chains_is_a_line_for_each():
    def row(day, chain, value):
        return {"Point": {"timestamp": stamp(START + 86_400 * day), "marketcap": value, "chain": chain}}

    rows = [row(day, chain, value + day) for day in range(3) for chain, value in (("a", 1e6), ("b", 9e6))]
    answer = mp.decode_points(body({"id": {"type": "TOKEN_SUPPLY_AGG", "interval": "DAY"}, "points": rows}))
    lines = {line.get_label(): line.get_ydata().tolist() for line in answer.plot().lines if len(line.get_ydata())}
    assert lines == {
        "a · marketcap": [1e6, 1e6 + 1, 1e6 + 2],
        "b · marketcap": [9e6, 9e6 + 1, 9e6 + 2],
        "a · first_marketcap": [0, 0, 0],  # an omitted zero
        "b · first_marketcap": [0, 0, 0],
    }


def test_unknown_types_have_a_panel_for_each_column():
    rows = [
        {"Point": {"depth": 1.0 + i, "open": 5.0, "name": "x", "timestamp": stamp(START + HOUR * i)}} for i in range(4)
    ]
    ax = mp.decode_points(body({"id": {"type": "SOMETHING_NEW", "interval": "HOUR"}, "points": rows})).plot()
    assert [one.get_ylabel() for one in ax.figure.axes] == ["depth", "open"]
    assert "SOMETHING_NEW · 1h" in Picture(ax).texts
    text = [{"Point": {"name": "x", "timestamp": stamp(START)}}]
    with pytest.raises(mp.SelectionError, match="no column of numbers"):
        mp.decode_points(body({"id": {"type": "SOMETHING_NEW"}, "points": text})).plot()


def test_candles_of_both_sides_share_their_prices(client):
    answer = client.side_candles(*MARKET, **WINDOW)
    ax = answer.plot()
    picture = Picture(ax)
    assert "BTCUSDT on BINANCE_FUTURES · candles by side · 1h" in picture.texts
    assert {"BUY", "SELL", "volume (BTC)"} <= set(picture.texts)
    above, below = picture.figure.axes
    _, bodies = above.collections[0].parts(above)
    assert len(bodies.get_paths()) == 48
    low, high = below.get_ylim()
    most = {side: answer.sel(side=side)["volume"].max() for side in ("BUY", "SELL")}
    assert low == pytest.approx(-1.08 * most["SELL"]) and high >= 1.08 * most["BUY"]


def test_sides_whose_prices_differ_have_a_panel_each():
    other = [(one[0], one[1] + 1, *one[2:]) for one in CANDLES]
    kind = {"type": "TRADE_AGG"}
    answer = mp.decode_points(body(candles(CANDLES, side="BUY", **kind), candles(other, side="SELL", **kind)))
    picture = Picture(answer.plot())
    assert [ax.get_title("left")[-8:] for ax in picture.figure.axes if ax.get_title("left")] == ["BUY · 1h", "ELL · 1h"]


def test_values_of_one_unit_share_an_axis_with_a_legend(client):
    answer = client.funding_rate(["BINANCE_FUTURES", "BYBIT"], None, "1h", coin="BTC", **WINDOW)
    picture = Picture(answer.plot())
    assert len(picture.figure.axes) == 1
    assert {"BINANCE_FUTURES · rate_close", "BYBIT · rate_close"} <= set(picture.texts)
    assert not [text for text in picture.texts if " on " in text]


def test_other_series_have_panels_below_each_other(client):
    symbols = ("BTCUSDT", "ETHUSDT")
    several = mp.SeriesSet([client.candles("BINANCE_FUTURES", name, "1h", **WINDOW).only for name in symbols])
    picture = Picture(several.plot())
    assert {f"{name} on BINANCE_FUTURES · candles · 1h" for name in symbols} <= set(picture.texts)
    # On a short axis the unit stands below.
    assert {"volume\n(BTC)", "volume\n(ETH)"} <= set(picture.texts) and len(picture.figure.axes) == 4
    sides = client.liquidations(["BINANCE_FUTURES", "BYBIT"], None, "1h", coin="BTC", **WINDOW)
    assert len(sides) == 4 and len(sides.plot().figure.axes) == 2
    books = mp.SeriesSet([decoded(points("BLOCK_BOOK_SNAPSHOT_AGG", [START], exchange=name)).only for name in "ab"])
    assert len(books.plot().figure.axes) == 4  # a colour bar each
    with pytest.raises(mp.SelectionError, match="30 pictures do not fit into one figure"):
        mp.SeriesSet([several[0]] * 30).plot()


def test_several_on_axes_that_are_there():
    figure, (above, below) = plt.subplots(2)
    answer = decoded(points("LIQUIDATION_AGG", [START], side="BUY"), points("LIQUIDATION_AGG", [START], side="SELL"))
    assert answer.plot(ax=below) is below and not above.collections
    supply = decoded(points("TOKEN_SUPPLY_AGG", [START]))
    free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    assert supply.plot(ax=free) is free and len(free.figure.axes) == 4
    assert len(figure.axes) == 2
    Picture(above), Picture(free)


def test_the_whole_window_is_shown_where_nothing_is_liquidated():
    # decoded alone a series knows no window; what a client asked for is known
    with mp.LocalService(now=1_790_000_000) as service, service.client("unlimited") as client:
        answer = client.liquidations(*MARKET, start="2026-08-20", end="2026-08-22T12:00")
        low, high = answer.plot().get_xlim()
    assert low <= second("2026-08-20") / 86_400 and high >= second("2026-08-22T12:00") / 86_400


def second(text):
    return np.datetime64(text, "s").astype(int)


def test_market_profiles_without_blocks_show_volume():
    levels = [{"price": 100.0, "buy_volume": 2.0, "sell_volume": 1.0}, {"price": 101.0, "buy_volume": 6.0}]
    answer = decoded(points("TPO_AGG", [START], {"TpoAggregation": {"levels": levels}}, interval="DAY"))
    ax = answer.plot()
    assert "volume" in Picture(ax).texts
    (bars,) = [one for one in ax.collections if type(one) is mpl.collections.PolyCollection]
    lengths = [np.ptp(path.vertices[:, 0]) for path in bars.get_paths()]
    assert lengths == pytest.approx([0.94 * 0.5, 0.94])  # of a day


@pytest.mark.parametrize(
    ("volume", "spelled"),
    [
        (0.02, ["0", "0.015", "0.03"]),
        (0.5, ["0", "0.3", "0.6"]),
        (30.0, ["0", "20", "40"]),
        (4e4, ["0", "25k", "50k"]),
        (2e9, ["0", "1.5B", "3B"]),
    ],
)
def test_volumes_are_spelled_as_traders_spell_them(volume, spelled):
    answer = mp.decode_points(body(candles([(1.0, 1.0, 1.0, 1.0, volume)] * 5)))
    below = answer.plot().figure.axes[1]
    below.figure.canvas.draw()
    assert [text.get_text() for text in below.get_yticklabels()] == spelled
