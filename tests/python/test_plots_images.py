"""Pictures against pictures that were looked at: ``images/``. To make them anew: ``python test_plots_images.py``."""

import itertools
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import START, body, candles, stamp

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

FOLDER = Path(__file__).parent / "images"
HOUR, DAY = 3600, 86_400
MIDNIGHT = START // DAY * DAY
#: Root of the mean square of what colours, 0 to 255, differ by: fonts of other versions of matplotlib stay below it,
#: a panel or a mark that is missing does not.
TOLERANCE = 9.0


def wave(count, base=100.0, size=6.0):
    at = np.arange(count)
    return base + size * np.sin(at / 7) + size / 3 * np.sin(at / 2.3) + at * size / 90


def series(kind, points, step="HOUR", **identity):
    known = {"type": kind, "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT", "interval": step}
    return mp.decode_points(body({"id": known | identity, "points": [{"Point": one} for one in points]}))


def hours(count, symbol="BTCUSDT", base=100.0, **identity):
    prices = wave(count + 1, base)
    rows = [
        (float(a), float(max(a, b) + 1), float(min(a, b) - 1.5), float(b), 5.0 + 4 * np.sin(at / 5))
        for at, (a, b) in enumerate(itertools.pairwise(prices))
    ]
    return mp.decode_points(body(candles(rows, rawSymbol=symbol, **identity)))


def liquidations(count, side):
    amounts = [float(max(0.0, np.sin(at * (1.7 if side == "BUY" else 1.1)) ** 9 * 5e4)) for at in range(count)]
    points = [
        {"liquidations": value, "timestamp": stamp(START + HOUR * at)} for at, value in enumerate(amounts) if value
    ]
    return series("LIQUIDATION_AGG", points, side=side)


def profile(count):
    points = []
    for at, middle in enumerate(wave(count)):
        prices = np.floor(middle) + np.arange(-5, 6)
        buys, sells = 900 * np.exp(-(((prices - middle) / 3) ** 2)), 700 * np.exp(-(((prices - middle - 1) / 2.5) ** 2))
        sells[2] *= 6
        flat = np.column_stack([prices, np.round(buys, 1), np.round(sells, 1)]).ravel().tolist()
        points.append({"profile": flat, "timestamp": stamp(START + HOUR * at)})
    return series("VOLUME_PROFILE_AGG", points)


def tpo(count, rows=24):
    points = []
    for day in range(count):
        base = 100.0 + 5 * np.sin(day)
        levels = []
        for row in range(rows):
            length = 1 + int(14 * np.exp(-(((row - rows / 2) / (rows / 5)) ** 2)))
            first = (row * 3 + day) % 20
            levels.append({"price": float(np.floor(base) + row), "block_ids": list(range(first, first + length))})
        low = float(np.floor(base))
        marks = {
            "poc_price": low + rows // 2,
            "val_price": low + rows // 3,
            "vah_price": low + 2 * rows // 3,
            "ibr_low": low + 4.0,
            "ibr_high": low + 9.0,
            "single_prints": [low, low + 1],
            "poor_highs": [low + rows - 1],
        }
        value = {"timestamp": stamp(MIDNIGHT + DAY * day), "levels": levels} | marks
        points.append({"Point": {"TpoAggregation": value}})
    identity = {"type": "TPO_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "DAY"}
    return mp.decode_points(body({"id": identity, "points": points}))


def funding(count):
    rates = [{"rateClose": float(1e-4 * np.sin(at / 6)), "timestamp": stamp(START + HOUR * at)} for at in range(count)]
    return series("FUNDING_RATE_AGG", rates)


def volatility():
    every = []
    for number, tenor in enumerate(("ONE_W", "ONE_M", "TWO_M", "THREE_M")):
        values = wave(60, 60 - 2 * number, 12 / (1 + number))
        points = [{"impliedVolatility": float(v), "timestamp": stamp(START + HOUR * at)} for at, v in enumerate(values)]
        kind = "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG"
        every.append(series(kind, points, exchange="DERIBIT", rawSymbol="BTC_ATM", tenor=tenor).only)
    return mp.SeriesSet(every)


def traders():
    return mp.Records(
        mp.TraderProfile(
            wallet_address=f"0x{at:040x}", total_realized_pnl=9e5 * np.cos(at / 3), win_rate_by_positions=50
        )
        for at in range(12)
    )


def positions():
    names = [
        "Will it rain in March?",
        "Will rates be cut?",
        "Which party wins?",
        "Will the cup final have more than 3?",
    ]
    return mp.Records(
        mp.UserPosition(
            market_name=name,
            outcome_name="Yes",
            realized_pnl=4e4 - 2e4 * at,
            realized_size=5.0 * (at != 2),
            avg_price=0.3 + 0.1 * at,
            avg_exit_price=0.9 - 0.25 * at,
        )
        for at, name in enumerate(names)
    )


def summary():
    counts = np.round(30 * np.exp(-(((np.arange(101) - 60) / 12) ** 2)))
    outcome = mp.OutcomePricing(
        outcome_name="Yes",
        open_pos_avg_price_distribution=counts,
        closed_pos_avg_exit_price_distribution=counts[::-1].copy(),
    )
    return mp.MarketSummary(
        event_id="rain",
        realized_pnl_distribution=np.sinh(np.linspace(-7, 8, 100)),
        outcome_pricing=mp.Records([outcome]),
        win_rate=51.5,
    )


def together(count):
    both = liquidations(count, "BUY"), liquidations(count, "SELL")
    return mp.plot(hours(count), *both, profile(count), funding(count))


PICTURES = {
    "candles": lambda: hours(60).plot(),
    "candles_without_room": lambda: hours(3000).plot(),
    "together": lambda: together(90),
    "together_without_room": lambda: together(2000),
    "together_dark": lambda: together(60),
    "footprint": lambda: profile(9).plot(kind="footprint", step=1),
    "footprint_bars": lambda: profile(40).plot(kind="footprint"),
    "footprint_narrow": lambda: profile(140).plot(kind="footprint"),
    "profile_total": lambda: profile(40).plot(kind="total"),
    "market_profile": lambda: tpo(3).plot(),
    "market_profile_cells": lambda: tpo(25, 40).plot(),
    "panels": lambda: mp.SeriesSet([hours(90, name, 50.0 + at).only for at, name in enumerate("ABC")]).plot(
        layout="panels"
    ),
    "axis": lambda: mp.SeriesSet([hours(90, name, 50.0 + 40 * at).only for at, name in enumerate("ABC")]).plot(
        layout="axis"
    ),
    "term": lambda: volatility().plot(layout="term"),
    "leaderboard": lambda: traders().plot(),
    "positions": lambda: positions().plot(),
    "summary": lambda: summary().plot(),
}


def drawn(name):
    """A picture's pixels, 0 to 255, float64 (height, width, 3)."""
    style = ["default", "dark_background"] if name.endswith("dark") else ["default"]
    with plt.style.context([*style, {"figure.dpi": 60}]):
        pixels = pixels_of(PICTURES[name]().figure)
        plt.close("all")
    return pixels


def pixels_of(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(np.float64)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_was_looked_at(name, tmp_path):
    made = drawn(name)
    kept = np.round(plt.imread(FOLDER / f"{name}.png")[..., :3] * 255)
    assert made.shape == kept.shape
    difference = float(np.sqrt(((made - kept) ** 2).mean()))
    if difference >= TOLERANCE:
        plt.imsave(tmp_path / f"{name}.png", made.astype(np.uint8))
    assert difference < TOLERANCE, f"{tmp_path / name}.png"


def test_the_tolerance_tells_a_missing_mark():
    # A footprint without its lower panel.
    with plt.style.context(["default", {"figure.dpi": 60}]):
        figure = PICTURES["footprint"]().figure
        figure.axes[1].set_visible(False)
        made = pixels_of(figure)
        plt.close("all")
    kept = np.round(plt.imread(FOLDER / "footprint.png")[..., :3] * 255)
    assert np.sqrt(((made - kept) ** 2).mean()) > TOLERANCE


def test_the_kept_pictures_are_small_and_all_in_use():
    kept = list(FOLDER.glob("*.png"))
    assert {path.stem for path in kept} == set(PICTURES)
    assert sum(path.stat().st_size for path in kept) < 1_000_000


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in PICTURES:
        plt.imsave(FOLDER / f"{each}.png", drawn(each).astype(np.uint8), pil_kwargs={"optimize": True})
