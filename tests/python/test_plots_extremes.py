"""Numbers and times at the ends of doubles and nanoseconds: a picture, or an error that says what and where."""

import json
from dataclasses import replace
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pytest

import marketpoints as mp
from marketpoints.explorer.messages import ViewRequest
from marketpoints.plots import rankings
from support.bodies import START, body, candles, heatmap, stamp

mpl.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

HUGE = 1.7e308
LATER = 9_223_000_000
#: Seconds of three rows: 250 years apart, and from one end of nanoseconds to the other.
TIMES = {"near": [START, START + 3600, START + 7200], "centuries": [0, START, 7_889_400_000]}
TIMES["ends"] = [-9_223_372_036, START, 9_223_372_000]
NUMBERS = {"plain": [1, 2, 3], "large": [1e29, 2e29, 9e29], "neighbours": [1e17, 1e17 + 16, 1e17 + 32]}
NUMBERS["small"] = [1e-300, 2e-300, 3e-300]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def decoded(identity, points):
    rows = [{"Point": point} for point in points]
    return mp.decode_points(body({"id": identity["id"], "points": rows}), now=LATER)[0]


def of(kind, seconds, numbers):
    """A result of three rows, or of rows with three levels each."""
    market = {"exchange": "BYBIT", "rawSymbol": "XRPUSDT"}
    stamps = [{"timestamp": stamp(second)} for second in seconds]
    low, middle, high = numbers
    if kind == "candles":
        rows = [
            {"open": one, "high": one, "low": one, "close": one, "volume": one} | at
            for one, at in zip(numbers, stamps, strict=True)
        ]
        return decoded(candles([], **market), rows)
    if kind == "book":
        sides = {"bids": [low, abs(low)], "asks": [middle, abs(middle), high, abs(high)]}
        return decoded(heatmap([], **market), [sides | at for at in stamps])
    names = {
        "liquidations": ("LIQUIDATION_AGG", ["liquidations"]),
        "rates": ("FUNDING_RATE_AGG", ["rateOpen", "rateHigh", "rateLow", "rateClose"]),
        "unknown": ("SOMETHING_NEW", ["x"]),
    }
    if kind in names:
        name, fields = names[kind]
        rows = [dict.fromkeys(fields, abs(one)) | at for one, at in zip(numbers, stamps, strict=True)]
        side = {"side": "SELL"} if kind == "liquidations" else {}
        return decoded({"id": {"type": name, "interval": "HOUR"} | market | side}, rows)
    levels = [number for price in numbers for number in (price, 1, 2)]
    identity = {"id": {"type": "VOLUME_PROFILE_AGG", "interval": "HOUR"} | market}
    return decoded(identity, [{"profile": levels} | at for at in stamps])


KINDS = ["candles", "book", "liquidations", "rates", "unknown", "profile"]


def png(ax):
    file = BytesIO()
    ax.figure.savefig(file, format="png", dpi=50)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("seconds", TIMES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_fits_is_a_picture(kind, seconds, numbers):
    shown = of(kind, TIMES[seconds], NUMBERS[numbers])
    assert png(shown.plot()).startswith(b"\x89PNG")
    if kind == "book":
        for norm in ("log", "symlog", "linear"):
            png(shown.plot(norm=norm))


def test_a_message_names_the_market_as_it_is_called():
    shown = mp.decode_points(body(candles([(1.0, 2.0, 0.5, HUGE, 3.0)], rawSymbol="$A$B"))).only
    with pytest.raises(mp.SelectionError, match=r"BINANCE_FUTURES \$A\$B HOUR: close is 1\.7e\+308"):
        shown.plot()


@pytest.mark.parametrize("numbers", [[1, 2, HUGE], [HUGE] * 3, [1e-308, 1, -HUGE]])
@pytest.mark.parametrize("kind", KINDS)
def test_what_no_picture_holds_is_refused_with_its_place(kind, numbers):
    if kind == "profile":
        numbers = sorted(set(numbers))
    shown = of(kind, TIMES["near"], numbers if len(numbers) == 3 else [1, 2, HUGE])
    with pytest.raises(
        mp.SelectionError, match=r"1\.7e\+308 at 2026-04-22 .* UTC.*up to 1e\+30.*series\[:10\]"
    ) as error:
        shown.plot()
    assert "XRPUSDT" in str(error.value)
    if kind in ("candles", "book"):
        with pytest.raises(mp.SelectionError, match=r"1\.7e\+308 at 2026"):
            shown.explore()
        plain = of("book", TIMES["near"], NUMBERS["plain"])
        for over in [shown] if kind == "candles" else []:
            with pytest.raises(mp.SelectionError, match=r"close is|open is"):
                plain.plot(candles=over)
            with pytest.raises(mp.SelectionError, match=r"open is"):
                mp.plot(plain, over)
            with pytest.raises(mp.SelectionError, match=r"open is"):
                plain.explore(over=[over])


def test_the_row_that_is_named_is_the_one():
    rows = [([(1, 1)], [(2, HUGE if row == 1 else 3)]) for row in range(3)]
    shown = mp.decode_points(body(heatmap(rows)), now=LATER)[0]
    with pytest.raises(mp.SelectionError, match=r"volume is 1\.7e\+308 at 2026-04-22 18:01:00 UTC"):
        shown.plot()
    assert png(shown[:1].plot()) and png(shown[2:].plot())


def test_a_number_that_no_picture_of_candles_shows_is_in_nobodys_way():
    rows = [{"open": 1, "high": 2, "low": 1, "close": 2, "volume": 3, "new": HUGE, "timestamp": stamp(START)}]
    assert png(decoded(candles([]), rows).plot())


@pytest.mark.parametrize("kind", ["candles", "book"])
@pytest.mark.parametrize("seconds", TIMES)
def test_an_explorer_shows_every_time_that_nanoseconds_hold(kind, seconds, tmp_path):
    explorer = of(kind, TIMES[seconds], NUMBERS["plain"]).explore()
    sent = []
    explorer._answers._send = lambda content, _buffers: sent.append(content)
    start, end, low, high = explorer._answers.about["home"]
    size = {"w": 100, "h": 50, "dpr": 1, "side": "both", "scale": "log", "theme": "dark"}
    view = {"kind": "view", "id": 1, "t0": start, "t1": end, "p0": low, "p1": high}
    explorer._answers._answer(ViewRequest.of(json.loads(json.dumps(view | size)), has_sides=True))
    assert sent and not [one for one in sent if one["kind"] == "error"]
    explorer.to_html(tmp_path / "page.html")
    explorer.close()


def test_axes_that_show_more_than_all_times_have_a_picture_of_what_there_is():
    ax = of("book", TIMES["ends"], NUMBERS["plain"]).plot()
    picture = next(one for one in ax.images if type(one).__name__ == "Raster")
    assert np.isfinite(picture.raster(400, 20)).any()
    low, high = ax.get_xlim()
    ax.set_xlim(low - 2 * (high - low), high + 2 * (high - low))
    png(ax)
    outer = picture.raster(2_000, 20)
    # A fifth of the picture is as it was, the rest is beyond all times.
    there = np.flatnonzero(np.isfinite(outer).any(axis=0))
    assert len(there) and there.min() >= 800 - 2 and there.max() <= 1_200 + 2


def test_records_of_no_size_are_refused_with_whose_they_are(demo):
    with demo.client("unlimited") as client:
        wallets = list(client.leaderboard(limit=2))
    wallets[1] = replace(wallets[1], total_realized_pnl=HUGE)
    with pytest.raises(mp.SelectionError, match=r"realized profit and loss \(USD\) is 1\.7e\+308 of "):
        rankings(wallets, kind="TraderProfile", ax=None)
