"""Pictures of a million rows: they take seconds, in points as well, and the highest and lowest are in them."""

import time

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from support.bodies import START
from support.children import run
from support.pictures import DAY, Picture

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

ROWS, MINUTE = 1_000_000, 60
#: A row that stands out, of which a picture that skips rows would most likely know nothing.
SPIKE = 123_457
#: Of each type one row, and the one that stands out.
KINDS = {
    "TRADE_SIDE_AGNOSTIC_AGG": (
        '"open":5,"high":6,"low":4,"close":5.5,"volume":2',
        '"open":5,"high":60,"low":-50,"close":5,"volume":90',
    ),
    "FUNDING_RATE_AGG": ('"rateClose":1e-4', '"rateClose":9e-3'),
    "LIQUIDATION_AGG": ('"liquidations":3', '"liquidations":900'),
    "OPEN_INTEREST_AGG": (
        '"open":5,"high":6,"low":4,"close":5',
        '"open":5,"high":60,"low":-50,"close":5',
    ),
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def million(kind):
    row, spike = KINDS[kind]
    points = [f'{{"Point":{{{row},"timestamp":{{"s":{START + MINUTE * at}}}}}}}' for at in range(ROWS)]
    points[SPIKE] = points[SPIKE].replace(row, spike)
    identity = f'{{"type":"{kind}","exchange":"BYBIT","rawSymbol":"BTCUSDT","interval":"MINUTE"}}'
    return mp.decode_points(f'{{"series":[{{"id":{identity},"points":[{",".join(points)}]}}]}}'.encode())


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_rows_take_seconds_and_lose_nothing(kind, tmp_path):
    answer = million(kind)
    begun = time.process_time()  # here and below: other work on the machine does not count
    ax = answer.plot()
    picture = Picture(ax)
    ax.figure.savefig(tmp_path / "picture.pdf")
    assert time.process_time() - begun < 20
    assert (tmp_path / "picture.pdf").stat().st_size < 2_000_000
    moment = (START + MINUTE * SPIKE) / DAY
    low, high = ax.get_ylim()
    picture = Picture(ax)  # a PDF was drawn at another resolution
    column = int(ax.transData.transform((moment, low))[0] - np.ceil(ax.bbox.x0))
    # Well above the others, within a pixel of its minute.
    rows = picture.within(ax, low=low + 0.6 * (high - low), high=low + 0.75 * (high - low))
    inked = (rows.min(axis=2) < 215).mean(axis=0) > 0.8
    assert inked[column - 1 : column + 3].any()
    assert not inked[2 : column - 3].any() and not inked[column + 4 :].any()


def ladders(kind, rows, level, count):
    """Rows of so many levels, all the same."""
    levels = ",".join(level(at) for at in range(count))
    step, interval = (60, "MINUTE") if kind != "TPO_AGG" else (DAY, "DAY")
    inner = {"VOLUME_PROFILE_AGG": '"profile":[%s]', "TPO_AGG": '"TpoAggregation":{"levels":[%s],'}[kind] % levels
    join, end = (",", "}}") if kind != "TPO_AGG" else ("", "}}}")
    points = ",".join(f'{{"Point":{{{inner}{join}"timestamp":{{"s":{START + step * at}}}{end}' for at in range(rows))
    identity = f'{{"type":"{kind}","exchange":"BYBIT","rawSymbol":"BTCUSDT","interval":"{interval}"}}'
    return mp.decode_points(f'{{"series":[{{"id":{identity},"points":[{points}]}}]}}'.encode())


@pytest.mark.parametrize("kind", [None, "bars", "cells", "footprint", "total"])
def test_a_million_levels_of_volume_take_seconds(kind):
    answer = ladders("VOLUME_PROFILE_AGG", 20_000, lambda at: f"{100 + at},{1 + at % 7},{2 + at % 5}", 50)
    begun = time.process_time()
    Picture(answer.plot(kind=kind))
    assert time.process_time() - begun < 20


def test_a_million_blocks_of_sessions_take_seconds():
    ids = ",".join(map(str, range(10)))
    answer = ladders("TPO_AGG", 2_000, lambda at: f'{{"price":{100 + at},"block_ids":[{ids}]}}', 50)
    begun = time.process_time()
    Picture(answer.plot())
    assert time.process_time() - begun < 20


def test_millions_together_take_seconds():
    candles, liquidations = million("TRADE_SIDE_AGNOSTIC_AGG"), million("LIQUIDATION_AGG")
    begun = time.process_time()
    Picture(mp.plot(candles, liquidations))
    Picture(mp.SeriesSet([candles.only] * 4).plot(layout="panels"))
    Picture(mp.SeriesSet([candles.only] * 4).plot(layout="axis"))
    assert all(len(one._repr_html_()) < 50_000 for one in (candles, liquidations))
    assert time.process_time() - begun < 40


NOTHING = """
import sys
sys.modules["matplotlib"] = None
import marketpoints as mp
with mp.LocalService(now=1_790_000_000) as service, service.client("unlimited") as client:
    candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", period="1d")
    profile = client.volume_profile("BINANCE_FUTURES", "BTCUSDT", "1h", period="3h")
    board = client.leaderboard(limit=2)
calls = [
    lambda: mp.plot(candles, profile),
    lambda: profile.plot(kind="footprint"),
    lambda: (candles + candles).plot(layout="panels"),
    lambda: (candles + candles).plot(layout="axis"),
    board.plot,
    board[0].plot,
]
for call in calls:
    try:
        call()
    except mp.MissingDependencyError as error:
        print(str(error).endswith("pip install 'marketpoints[plot]'"))
print(len(candles._repr_html_()) > 100)
"""


def test_without_matplotlib_what_installs_it_is_named():
    assert run(NOTHING).split() == ["True"] * 7


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_which_none_is_known(kind):
    row, _ = KINDS[kind]
    names = [one.partition(":")[0] for one in row.split(",")]
    points = ",".join(
        f'{{"Point":{{"odd":null,{",".join(f"{name}:null" for name in names)},"timestamp":{{"s":{START + 60 * at}}}}}}}'
        for at in range(5)
    )
    identity = f'{{"type":"{kind}","exchange":"BYBIT","rawSymbol":"BTCUSDT","interval":"MINUTE"}}'
    try:
        answer = mp.decode_points(f'{{"series":[{{"id":{identity},"points":[{points}]}}]}}'.encode())
    except mp.DecodeError:  # a type whose numbers are never absent
        return
    Picture(answer.plot())
    Picture(mp.plot(answer))
    assert answer._repr_html_()
