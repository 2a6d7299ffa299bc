"""Pictures of a million rows: they take seconds, in points as well, and the highest and lowest are in them."""

import time

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from bodies import START
from pictures import DAY, Picture

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
    begun = time.perf_counter()
    ax = answer.plot()
    picture = Picture(ax)
    ax.figure.savefig(tmp_path / "picture.pdf")
    assert time.perf_counter() - begun < 20
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
