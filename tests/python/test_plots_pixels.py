"""Pictures, pixel by pixel, at several widths and spans: what is there is seen, and what is not there is not."""

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import START, body, stamp
from support.pictures import DAY, DOWN, NIGHT, UP, Picture, is_colour

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

HOUR, MINUTE = 3600, 60
WIDTHS = [2.5, 5, 10, 18]
MIDNIGHT = START // DAY * DAY


def crossed(*spans):
    """Every width and every span, the extremes of both with each other."""
    pairs = [(width, spans[min(place, len(spans) - 1)]) for place, width in enumerate(WIDTHS)]
    return sorted({*pairs, (WIDTHS[0], spans[-1]), (WIDTHS[-1], spans[0])})


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def axes(width, height=4):
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def hourly(hours, volume=lambda hour: 1.0 + hour % 5):
    """Candles at some hours after midnight."""
    identity = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "HOUR"}
    points = []
    for hour in hours:
        start = 100.0 + hour % 7
        prices = {"open": start, "high": start + 3, "low": start - 3, "close": start + (1 if hour % 2 else -1)}
        points.append({"Point": prices | {"volume": volume(hour), "timestamp": stamp(MIDNIGHT + HOUR * hour)}})
    return mp.decode_points(body({"id": identity, "points": points}))


@pytest.mark.parametrize(("width", "days"), crossed(3, 30, 113, 400))
def test_every_day_of_volume_has_its_bars(width, days):
    missing = range(days // 2 * 24, (days // 2 + max(1, days // 10)) * 24)
    ax = hourly([hour for hour in range(days * 24) if hour not in missing]).plot(ax=axes(width))
    below = ax.figure.axes[1]
    picture = Picture(ax)
    for day in range(days):
        left, right = (picture.column(below, MIDNIGHT + DAY * one) for one in (day, day + 1))
        rows = picture.within(below)
        box = slice(int(left - below.bbox.x0), max(int(left - below.bbox.x0) + 1, int(np.ceil(right - below.bbox.x0))))
        bars = is_colour(rows[:, box], UP) | is_colour(rows[:, box], DOWN)
        if day * 24 not in missing:
            assert bars.any(), day
    # Every column between the first and the gap, and none within the gap: neither blanks nor bars that are not there.
    before = picture.within(below, MIDNIGHT, MIDNIGHT + HOUR * missing.start)
    if days >= 30:
        assert (is_colour(before, UP) | is_colour(before, DOWN)).any(axis=0).all()
    gap = picture.within(below, MIDNIGHT + HOUR * missing.start + HOUR, MIDNIGHT + HOUR * missing.stop - HOUR)
    assert not (is_colour(gap, UP) | is_colour(gap, DOWN)).any()


@pytest.mark.parametrize("width", WIDTHS)
def test_of_many_bars_on_a_pixel_the_highest_is_seen(width):
    ax = hourly(range(400 * 24), lambda hour: 100.0 if hour == 5000 else 1.0).plot(ax=axes(width))
    below = ax.figure.axes[1]
    picture = Picture(ax)
    high = picture.within(below, low=50)
    bars = is_colour(high, UP) | is_colour(high, DOWN)
    columns = np.flatnonzero(bars.any(axis=0)) + np.ceil(below.bbox.x0)
    place = picture.column(below, MIDNIGHT + 5000 * HOUR)
    assert 1 <= len(columns) <= 3 and abs(columns - place).max() <= 2
    assert bars.sum(axis=0).max() == pytest.approx(len(high) * (100 - 50) / (below.get_ylim()[1] - 50), abs=2)


@pytest.mark.parametrize("days", [60, 400])
def test_prices_of_hours_that_are_missing_are_not_drawn(days):
    gap = range(days // 3 * 24, days // 2 * 24)
    ax = hourly([hour for hour in range(days * 24) if hour not in gap]).plot(ax=axes(8), volume=False)
    picture = Picture(ax)
    inside = picture.within(ax, MIDNIGHT + HOUR * (gap.start + 24), MIDNIGHT + HOUR * (gap.stop - 24), 90, 106)
    assert (inside > 200).all() and inside.shape[1] > 50  # paper and the faint grid
    assert (picture.within(ax, MIDNIGHT, MIDNIGHT + HOUR * gap.start).min(axis=2) < 200).any(axis=0).mean() > 0.9


def book(minutes, wall=None):
    """Flat snapshots: bids at 90 to 99, asks at 100 to 109, at some minutes; at `wall` one level is huge."""
    prices, volumes = np.arange(90.0, 110.0), np.full(20, 5.0)
    flat = []
    for minute in minutes:
        now = volumes.copy()
        now[3] = 5000.0 if minute == wall else 5.0 + minute % 3
        levels = np.column_stack([prices, now]).ravel()
        flat += [20.0, (START + MINUTE * minute) * 1e6, *levels.tolist()]
    identity = {"type": "BLOCK_BOOK_SNAPSHOT_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "MINUTE"}
    return mp.decode_points(body({"id": identity, "flat_points": flat}))


@pytest.mark.parametrize(("width", "minutes"), crossed(20, 200, 2000, 8000))
def test_a_missing_snapshot_is_not_painted_as_the_one_before(width, minutes):
    gap = range(minutes // 2, minutes // 2 + minutes // 10)
    ax = book([minute for minute in range(minutes) if minute not in gap]).plot(ax=axes(width))
    picture = Picture(ax)
    shown = picture.within(ax)
    night = is_colour(shown, NIGHT, 2)
    edges = [picture.column(ax, START + MINUTE * minute) - np.ceil(ax.bbox.x0) for minute in (gap.start, gap.stop)]
    left, right = (round(edge) for edge in edges)
    assert night[2:-2, left + 1 : right - 1].all()
    assert not night[2:-2, 2 : left - 1].any() and not night[2:-2, right + 1 : -2].any()
    assert left + 1 < right - 1 or width < 5


@pytest.mark.parametrize(("width", "minutes"), crossed(20, 2000, 20000))
def test_a_wall_of_one_snapshot_is_seen(width, minutes):
    wall = minutes // 3
    ax = book(range(minutes), wall).plot(ax=axes(width, 1.5), prices=(90, 110), step=1)
    picture = Picture(ax)
    around = picture.within(ax, START + MINUTE * (wall - 2) - minutes, START + MINUTE * (wall + 3) + minutes, 93, 94)
    assert (around.min(axis=2) > 120).any()  # the palette's brightest is a light yellow


def test_liquidations_that_happened_stay_apart_from_those_that_did_not(client):
    answer = client.liquidation_heatmap(coin="BTC", interval="1h", start="2026-01-01", end="2026-01-11")
    ax = answer.plot(ax=axes(24))
    picture = Picture(ax)
    first = second_of("2026-01-01")
    for hour in range(240):
        moment = first + HOUR * hour
        there = (answer.timestamps == np.datetime64(moment, "s")).any()
        column = picture.within(ax, moment, moment + HOUR)[2:-2, 1:-1]
        levels = (
            answer.snapshot(int(np.flatnonzero(answer.timestamps == np.datetime64(moment, "s"))[0])) if there else []
        )
        low, high = ax.get_ylim()
        inside = [price for price, volume in levels if low < price < high and volume > 0]
        assert is_colour(column, NIGHT, 2).all() == (not inside), hour


def second_of(text):
    return int(np.datetime64(text, "s").astype(int))


def liquidations(hours, side, amount=lambda hour: 1.0):
    identity = {
        "type": "LIQUIDATION_AGG",
        "exchange": "BYBIT",
        "rawSymbol": "BTCUSDT",
        "interval": "HOUR",
        "side": side,
    }
    points = [{"Point": {"liquidations": amount(hour), "timestamp": stamp(MIDNIGHT + HOUR * hour)}} for hour in hours]
    return {"id": identity, "points": points}


@pytest.mark.parametrize(("width", "hours"), crossed(12, 24 * 30, 24 * 365))
def test_both_sides_of_liquidations_have_a_colour_of_their_own(width, hours):
    bought, sold = range(0, hours, 2), range(hours // 2, hours)
    answer = mp.decode_points(body(liquidations(sold, "SELL"), liquidations(bought, "BUY")))
    ax = answer.plot(ax=axes(width))
    picture = Picture(ax)
    assert {"BUY", "SELL"} <= set(picture.texts)
    above, under = picture.within(ax, low=0.1, high=0.9), picture.within(ax, low=-0.9, high=-0.1)
    assert is_colour(above, UP).any() and not is_colour(above, DOWN).any()
    assert is_colour(under, DOWN).any() and not is_colour(under, UP).any()
    # Nothing was sold in the first half.
    half = picture.within(ax, MIDNIGHT, MIDNIGHT + HOUR * (hours // 2 - 1), -0.9, -0.1)
    assert not is_colour(half, DOWN).any()
    if hours > 24:  # more bars than pixels: no column of the second half is left out
        rest = picture.within(ax, MIDNIGHT + HOUR * (hours // 2 + 2), MIDNIGHT + HOUR * (hours - 2), -0.9, -0.1)
        assert is_colour(rest, DOWN).any(axis=0).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_small_liquidation_beside_a_cascade_is_seen(width):
    hours = range(0, 24 * 100, 240)
    answer = mp.decode_points(body(liquidations(hours, "BUY", lambda hour: 1e6 if hour == 0 else 1.0)))
    ax = answer.plot(ax=axes(width))
    picture = Picture(ax)
    for hour in hours:
        moment = MIDNIGHT + HOUR * hour
        column = int(picture.column(ax, moment) - np.ceil(ax.bbox.x0))
        assert is_colour(picture.within(ax)[:, max(0, column - 1) : column + 3], UP).any(), hour


def profile(hours, interval="HOUR"):
    identity = {"type": "VOLUME_PROFILE_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": interval}
    points = []
    for hour in hours:
        levels = [number for price in range(100, 110) for number in (float(price), 3.0, 1.0 + price - 100)]
        points.append({"Point": {"profile": levels, "timestamp": stamp(MIDNIGHT + HOUR * hour)}})
    return mp.decode_points(body({"id": identity, "points": points}))


@pytest.mark.parametrize(("width", "hours"), crossed(1, 6, 48, 24 * 60))
def test_volume_profiles(width, hours):
    gap = range(hours // 2, hours // 2 + hours // 3)
    there = [hour for hour in range(hours) if hour not in gap]
    ax = profile(there).plot(ax=axes(width), prices=(100, 109))
    picture = Picture(ax)
    shaped = "buys" in picture.texts
    assert shaped == (ax.bbox.width / hours > 40) or 0.7 < ax.bbox.width / hours / 40 < 1.4
    if shaped:
        assert any(text.startswith("longest bar: 13") for text in picture.texts)  # 3 bought and 10 sold at 109
        for hour in range(hours):
            cells = picture.within(ax, MIDNIGHT + HOUR * hour, MIDNIGHT + HOUR * (hour + 1), 100, 110)
            for colour in (UP, DOWN):
                assert is_colour(cells, colour).any() == (hour in there)
        row = picture.within(ax, MIDNIGHT, MIDNIGHT + HOUR, 104.2, 104.8)
        assert is_colour(row, DOWN).sum() / is_colour(row, UP).sum() == pytest.approx(
            5 / 3, rel=0.1 if width > 5 else 0.3
        )
    else:
        night = is_colour(picture.within(ax), NIGHT, 2)
        left, right = (
            round(picture.column(ax, MIDNIGHT + HOUR * hour) - np.ceil(ax.bbox.x0)) for hour in (gap.start, gap.stop)
        )
        assert night[2:-2, left + 1 : right - 1].all()
        # 109 at most: the row above is the legend's, or nothing's.
        assert not night[len(night) // 4 : -2, 2 : left - 1].any()


def tpo(days, **fields):
    identity = {"type": "TPO_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "DAY"}
    points = []
    for day in range(days):
        levels = [
            {"price": 100.0 + price, "block_ids": list(range(price + 1)), "buy_volume": 1.0, "sell_volume": price}
            for price in range(10)
        ]
        value = {"timestamp": stamp(MIDNIGHT + DAY * day), "levels": levels, **fields}
        points.append({"Point": {"TpoAggregation": value}})
    return mp.decode_points(body({"id": identity, "points": points}))


@pytest.mark.parametrize(("width", "days"), crossed(1, 5, 60))
def test_market_profiles(width, days):
    ax = tpo(days, poc_price=106.0, val_price=104.0, vah_price=107.0).plot(ax=axes(width))
    picture = Picture(ax)
    assert {"value area", "point of control"} <= set(picture.texts)
    low, high = ax.get_ylim()
    assert low == pytest.approx(100) and 110 <= high < 118  # the legend above
    point = picture.within(ax, low=105.8, high=107.2)  # around the row
    assert is_colour(point, "#c2185b", 60).any(axis=0).mean() > 0.9
    if days > 1 and width < 5:
        return
    # A row of n blocks is n cells long, of at most ten on 94 % of the day.
    for price in (0, 3, 9):
        row = picture.within(ax, MIDNIGHT, MIDNIGHT + DAY, 100.2 + price, 100.8 + price)
        length = (row.max(axis=2) - row.min(axis=2) > 60).mean(axis=1).max()
        assert length == pytest.approx(0.094 * (price + 1), abs=0.06 + 3 / row.shape[1])


@pytest.mark.parametrize("resolution", [60, 300])
def test_the_resolution_of_the_file_counts(tmp_path, resolution):
    ax = hourly(range(200 * 24)).plot()
    ax.figure.savefig(tmp_path / "picture.png", dpi=resolution)
    pixels = np.round(plt.imread(tmp_path / "picture.png")[..., :3] * 255).astype(int)
    below = ax.figure.axes[1].get_position()
    columns = slice(int(pixels.shape[1] * (below.x0 + 0.02)), int(pixels.shape[1] * (below.x1 - 0.02)))
    bars = is_colour(pixels[:, columns], UP) | is_colour(pixels[:, columns], DOWN)
    assert bars.any(axis=0).all()


@pytest.mark.parametrize("suffix", ["pdf", "svg"])
def test_files_of_lines_are_written(tmp_path, suffix):
    for number, answer in enumerate((hourly(range(900)), book(range(900)), tpo(3))):
        path = tmp_path / f"{number}.{suffix}"
        answer.plot().figure.savefig(path)
        assert 5_000 < path.stat().st_size < 2_000_000
