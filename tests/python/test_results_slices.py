"""Stretches of rows, sets put together, and what a notebook shows of them."""

import pickle
import re

import numpy as np
import pytest

import marketpoints as mp
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp
from support.results import SERIES, bits, made

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
HOUR = 3600


def independent(value, start, stop):
    """A column's rows by a loop, apart from the code under test."""
    if isinstance(value, (mp.Ragged, mp.Nested)):
        return [plain(value.row(row)) for row in range(start, stop)]
    return [plain(one) for one in value[start:stop]]


def plain(value):
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (mp.Ragged, mp.Nested)):
        return [plain(value.row(row)) for row in range(len(value))]
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def supply():
    points = [
        {"Point": {"timestamp": stamp(START + HOUR * row), "chain": chain}}
        for row, chain in enumerate(["a", None, "c"])
    ]
    return {"id": {"type": "TOKEN_SUPPLY_AGG", "coin": "BTC", "interval": "HOUR"}, "points": points}


@pytest.mark.parametrize("kind", [*SERIES, "texts"])
def test_every_stretch_of_every_kind(kind):
    whole = mp.decode_points(body(supply())).only if kind == "texts" else made(kind).only
    count = len(whole)
    for start in range(count + 1):
        for stop in range(start, count + 1):
            part = whole[start:stop]
            assert type(part) is type(whole) and len(part) == stop - start and part.id == whole.id
            assert part.timestamps.tolist() == whole.timestamps[start:stop].tolist()
            assert part.asked_at == whole.asked_at and part.columns == whole.columns
            for name in whole.columns:
                if name == "levels" and not isinstance(whole, mp.Tpo):
                    continue
                values = part[name]
                assert independent(values, 0, len(part)) == independent(whole[name], start, stop), name
            if hasattr(whole, "offsets"):
                assert part.offsets[0] == 0 and len(part.prices) == part.offsets[-1]
                snapshots = [plain(whole.snapshot(row)) for row in range(start, stop)]
                assert [plain(part.snapshot(row)) for row in range(len(part))] == snapshots
            again = pickle.loads(pickle.dumps(part))
            assert again == part and bits(again) == bits(part)
            assert not part.timestamps.flags.writeable and len(part.to_pandas()) == len(part.to_polars())
            assert part.to_arrow().num_rows == len(part.to_pandas())


def test_stretches_share_memory(client):
    for answer in (client.candles(*MARKET, "1m", period="1d"), client.candles(*MARKET, "1h", period="1d")):
        part = answer.only[5:9]
        assert np.shares_memory(part["close"], answer["close"]) and not part["close"].flags.writeable
    book = client.orderbook_heatmap(*MARKET, "1h", period="4h", block_size=50).only
    assert np.shares_memory(book[1:3].levels, book.levels) and np.shares_memory(book[1:3].split, book.split)
    sums = [book.snapshot(row)[:, 1].sum() for row in (1, 2)]
    assert book[1:3].to_grid(50)[2].sum(axis=1) == pytest.approx(sums)


def test_head_tail_and_what_python_allows():
    series = made(mp.Series).only
    closes = series["close"].tolist()
    assert series.head(2)["close"].tolist() == closes[:2] and series.tail(2)["close"].tolist() == closes[-2:]
    assert series.head(-1)["close"].tolist() == closes[:-1] and series.tail(-1)["close"].tolist() == closes[1:]
    assert series[-2:]["close"].tolist() == closes[-2:] and series[5:9]["close"].tolist() == []
    assert series[2:1]["close"].tolist() == [] and series[:] is series and series.head(99) is series
    assert len(series.head(0)) == len(series.tail(0)) == 0
    for step in (-1, 2):
        with pytest.raises(mp.InvalidRequest, match=f"a step of {step}"):
            series[::step]
    with pytest.raises(TypeError, match=r"series\[10:20\] or series.head\(\)"):
        series[0]
    with pytest.raises(TypeError):
        series.head(1.5)


def test_the_window_of_a_stretch_is_its_part_of_the_whole(client):
    # A market that trades rarely: hours without a liquidation lie between the rows, before and after them.
    every = client.liquidations(*MARKET, "1m", start="2026-01-01", end="2026-01-01T06:00")
    whole = every.sel(side="BUY").only
    assert len(whole.gaps()) > 50 and len(whole) > 10
    for first, second in [(0, 3), (3, 7), (7, len(whole)), (0, len(whole))]:
        parts = [whole[:first], whole[first:second], whole[second:]]
        # What is missing in the whole is missing in exactly one of the parts.
        assert np.concatenate([part.gaps() for part in parts]).tolist() == whole.gaps().tolist()
        assert parts[0].requested.start == whole.requested.start and parts[2].requested.end == whole.requested.end
        assert parts[0].requested.end == parts[1].requested.start and parts[1].requested.end == parts[2].requested.start
        closed = np.concatenate([part.is_closed for part in parts])
        assert closed.tolist() == whole.is_closed.tolist()
    assert whole[3:3].requested.start == whole[3:3].requested.end and len(whole[3:3].gaps()) == 0
    assert whole[2:9][1:3].requested == whole[3:5].requested and whole[3:4].covered.start == whole.timestamps[3]
    assert pickle.loads(pickle.dumps(whole[3:5])).requested == whole[3:5].requested
    alone = mp.decode_points(body(candles(CANDLES)))
    assert alone.only[1:].requested is None and len(alone.only[1:].gaps()) == 0


def test_sets_are_put_together():
    one, other = (mp.decode_points(body(candles(CANDLES, exchange=name))) for name in ("BYBIT", "BINANCE"))
    both = one + other
    assert isinstance(both, mp.SeriesSet) and [each.id.exchange for each in both] == ["BYBIT", "BINANCE"]
    assert both[0] is one[0] and len(both.to_pandas()) == 6 and (one + other.only) == both
    assert both.sel(exchange="BINANCE")["close"].tolist() == other["close"].tolist()
    nothing = mp.decode_points(b"{}")
    assert nothing + one == one + nothing == one
    assert [len(each) for each in both.head(2)] == [2, 2] and [len(each) for each in both.tail(1)] == [1, 1]
    assert one.head(2)["close"].tolist() == one["close"][:2].tolist()
    assert both.index(other[0]) == 1 and both.count(one[0]) == 1 and other[0] in both
    assert [each.id.exchange for each in reversed(both)] == ["BINANCE", "BYBIT"]
    for wrong in ([one[0]], 0, None):
        with pytest.raises(TypeError):
            one + wrong


def test_a_side_is_never_silent():
    sides = [candles(CANDLES, type="TRADE_AGG", side=side) for side in ("BUY", "SELL")]
    answer = mp.decode_points(body(*sides))
    assert "side SELL only" in repr(answer[1]) and "SELL only" in answer[1]._repr_html_()
    assert "pick one with sel(side=…), not by its position" in repr(answer)
    assert "not by its position" in answer._repr_html_()
    assert "not by its position" not in repr(answer.sel(side="BUY")) + repr(mp.decode_points(body(candles(CANDLES))))
    with pytest.raises(mp.SelectionError, match=r"pick one with sel\(side='BUY'\): "):
        answer["close"]
    venues = mp.decode_points(body(sides[0], candles(CANDLES, exchange="BYBIT", type="TRADE_AGG", side="SELL")))
    with pytest.raises(mp.SelectionError, match=r"sel\(exchange='BINANCE_FUTURES', side='BUY'\)"):
        _ = venues.timestamps


def cells(html):
    """The texts of a card's table, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", html.split("<table", 2)[2])
    return [re.findall(r">([^<]*)</t[hd]>", row) for row in rows]


def test_a_card_shows_the_first_and_the_last_rows(client):
    answer = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-03")
    header, *rows = cells(answer._repr_html_())
    assert header[:3] == ["time (UTC)", "open", "high"] and len(rows) == 5 + 1 + 5 and rows[5] == ["… 38 more"]
    assert rows[0][0] == "2026-01-01 00:00:00" and rows[-1][0] == "2026-01-02 23:00:00"
    places = [*range(5), *range(43, 48)]
    shown = [float(row[4]) for row in rows[:5] + rows[6:]]
    assert shown == [answer["close"][place] for place in places]
    few = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-01T10:00")
    assert [float(row[4]) for row in cells(few._repr_html_())[1:]] == few["close"].tolist()


@pytest.mark.parametrize("kind", SERIES)
def test_cards_of_any_length(kind):
    for part in (made(kind).only, made(kind).only[:1], made(kind).only[:0]):
        assert len(cells(part._repr_html_())) <= 12
        assert cells(part._repr_html_())[0][0] == "time (UTC)"


def test_cards_of_levels_show_levels():
    answer = mp.decode_points(body(heatmap(BOOK)))
    rows = cells(answer._repr_html_())[1:]
    assert [row[1:] for row in rows] == [
        [f"{float(price)}", f"{float(volume)}", side]
        for price, volume, side in answer.to_pandas().itertuples(index=False, name=None)
    ]


def test_cards_escape_and_cut():
    bad = '<img src=x onerror="alert(1)">'
    point = {"Point": {"timestamp": stamp(START), bad: 1.0, "chain": bad * 3, **{f"c{n}": n for n in range(30)}}}
    answer = mp.decode_points(body({"id": {"type": bad, "exchange": bad}, "points": [point]}))
    html = answer._repr_html_()
    assert "<img" not in html and "&lt;img" in html and max(map(len, cells(html))) == 13
    several = mp.SeriesSet(list(answer) * 12)
    assert "and 4 more" in repr(several) and "and 4 more" in several._repr_html_()
    assert repr(several).count("rows 1") == 8 and "<img" not in several._repr_html_()


def test_rows_are_never_asked_of_a_set_in_vain():
    one = mp.decode_points(body(candles(CANDLES)))
    for rows, text in ((slice(1, 3), "1:3"), (slice(-2, None), "-2:"), (slice(None, 2), ":2"), (slice(5, 9), "5:9")):
        with pytest.raises(mp.SelectionError, match=re.escape(f"answer.only[{text}]")):
            one[rows]
    with pytest.raises(IndexError, match=r"no series at 1: there is 1; .*answer\.only"):
        one[1]
    # What names the one series, or none, is a slice of the set.
    assert [len(one[rows]) for rows in (slice(None), slice(0, 1), slice(-1, None), slice(0, 0))] == [1, 1, 1, 0]
    two = one + one
    assert [len(two[rows]) for rows in (slice(0, 2), slice(1, 5), slice(-3, None))] == [2, 1, 2]
    with pytest.raises(IndexError, match="no series at 2: there are 2; "):
        two[2]
    with pytest.raises(mp.SelectionError, match=r"a set of 2 series has none from 10 on; .*answer\[0\]\[10:\]"):
        two[10:20]
    assert len(mp.SeriesSet([])[10:20]) == 0
