"""Reading some columns of an archive alone."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest

import marketpoints as mp
from support import NOW
from support.archives import DAY, END, HOUR, MARKET, QUERIES, content, values
from support.scripted import scripted

WINDOW = {"start": END - 5 * DAY, "end": END}


@pytest.fixture(scope="module")
def archive(demo, tmp_path_factory):
    archive = mp.Archive(tmp_path_factory.mktemp("archive"))
    with demo.client("unlimited") as client:
        for name, query in QUERIES.items():
            archive.sync(client, **{"type": name, **query, **WINDOW})
    return archive


@pytest.mark.parametrize("name", QUERIES)
def test_columns_are_those_of_a_whole_read(archive, name):
    query = {"type": name, **QUERIES[name]}
    whole = archive.read(**query)
    assert len(whole) > 0 and all(len(one) for one in whole)
    every = list(dict.fromkeys(column for one in whole for column in one.columns))
    for wanted in ([every[0]], [every[-1]], every[1:3] or every, every[::-1]):
        if "levels" in every and "levels" not in wanted and name != "tpo":
            continue  # its levels always come
        for window in ({}, {"start": END - 3 * DAY, "end": END - 2 * DAY}):
            got, expected = archive.read(**query, **window, columns=wanted), archive.read(**query, **window)
            assert [one.id for one in got] == [one.id for one in expected]
            for one, other in zip(got, expected, strict=True):
                assert one.timestamps.tobytes() == other.timestamps.tobytes()
                columns = [column for column in other.columns if column in wanted]
                if not isinstance(other, mp.Heatmap):
                    assert list(one.columns) == columns
                for column in columns:
                    assert values(one[column]) == values(other[column]), column
            frame = got.to_pandas()
            assert len(frame) >= len(got[0].timestamps)
            assert content(pickle.loads(pickle.dumps(got))) == content(got)
            assert got._repr_html_()


@pytest.mark.parametrize("name", QUERIES)
def test_each_column_is_drawn_by_itself(archive, name):
    query = {"type": name, **QUERIES[name]}
    for column in dict.fromkeys(column for one in archive.read(**query) for column in one.columns):
        if column in ("levels", "split") and name == "orderbook_heatmap":
            continue
        got = archive.read(**query, columns=column)
        assert got._repr_html_()
        for one in got:
            try:
                assert one.plot().figure.axes
            except mp.SelectionError as error:
                assert "no column of numbers" in str(error)
            plt.close("all")
        if "levels" not in column:
            with pytest.raises(mp.SelectionError):
                got[0].explore()


def test_one_column_is_named_by_itself(archive):
    assert archive.read("candles", *MARKET, columns="close").only.columns == ("close",)


def test_a_market_profile_without_levels_is_its_sessions(archive):
    query = {"type": "tpo", **QUERIES["tpo"]}
    whole, some = archive.read(**query).only, archive.read(**query, columns=["poc_price", "period_end"]).only
    assert type(some) is type(whole.sessions)
    assert some["poc_price"].tobytes() == whole["poc_price"].tobytes()
    assert (some.closes_at == whole.closes_at).all()
    assert len(some.to_pandas()) == len(whole)
    assert isinstance(archive.read(**query, columns=["levels"]).only, mp.Tpo)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (["close", "clse"], r"columns: there is no 'clse'; those are open, high, low, close"),
        (["time"], r"columns: there is no 'time'; those are"),
        ([], r"columns: nothing is named|columns:"),
        ([3], r"columns: 3"),
        (7, r"columns: 7"),
    ],
)
def test_what_is_no_column_is_refused(archive, columns, problem):
    with pytest.raises(mp.InvalidRequest, match=problem):
        archive.read("candles", *MARKET, columns=columns)


def test_a_heatmap_has_no_column_but_its_levels(archive):
    query = {"type": "orderbook_heatmap", **QUERIES["orderbook_heatmap"]}
    assert content(archive.read(**query, columns="levels")) == content(archive.read(**query))
    with pytest.raises(mp.InvalidRequest, match=r"there is no 'volume'; those are levels"):
        archive.read(**query, columns="volume")


def test_where_nothing_is_kept_the_columns_are_still_those(archive, demo, tmp_path):
    lacking = {"start": END - 7 * DAY, "end": END - 4 * DAY}
    with pytest.raises(mp.NotArchivedError) as caught:
        archive.read("candles", *MARKET, **lacking, columns="close")
    assert caught.value.results.only.columns == ("close",) and len(caught.value.results.only) == 24
    empty = mp.Archive(tmp_path)
    with scripted(lambda _: {"series": []}) as (url, _), mp.Client("key", url, tier="advanced") as client:
        empty.sync(client, "candles", *MARKET, start=END - DAY, end=END)
    got = empty.read("candles", *MARKET, columns="close").only
    assert len(got) == 0 and got.columns == ("close",)


def test_a_field_that_no_table_knows_is_read_by_its_name(tmp_path):
    """Also where some rows lack it, and its kind is settled by all of them together."""
    start, prices = END - 4 * HOUR, {"open": 1.0, "high": 9.0, "low": 0.5}

    def answer(path):
        asked = dict(pair.split("=") for pair in path.partition("?")[2].split("&"))
        first, period = int(asked["from"]), int(asked["period"])
        identity = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT"}
        rows = [
            {
                "Point": prices
                | {"close": 1.0 + place, "timestamp": {"s": hour}}
                | ({"newField": place} if place % 2 else {})
            }
            for place, hour in enumerate(range(start, END, HOUR))
            if first <= hour < first + period
        ]
        return {"series": [{"id": identity | {"interval": "HOUR"}, "points": rows}]}

    archive = mp.Archive(tmp_path)
    with scripted(answer) as (url, _), mp.Client("key", url, tier="advanced", clock=lambda: float(NOW)) as client:
        archive.sync(client, "candles", *MARKET, start=start, end=start + 2 * HOUR)
        archive.sync(client, "candles", *MARKET, start=start + 2 * HOUR, end=END)
    whole = archive.read("candles", *MARKET).only
    (name,) = (one for one in whole.columns if one.lower().replace("_", "") == "newfield")
    got = archive.read("candles", *MARKET, columns=[name]).only
    assert got.columns == (name,)
    np.testing.assert_array_equal(got[name], whole[name])


def test_what_was_known_then_has_columns_too(tmp_path):
    close = [1.0]

    def answer(path):
        identity = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT"}
        point = {"open": 5.0, "close": close[0], "timestamp": {"s": END - HOUR}}
        return {"series": [{"id": identity | {"interval": "HOUR"}, "points": [{"Point": point}]}]}

    archive, now, window = mp.Archive(tmp_path), [float(NOW)], {"start": END - HOUR, "end": END}
    with scripted(answer) as (url, _), mp.Client("key", url, tier="advanced", clock=lambda: now[0]) as client:
        archive.sync(client, "candles", *MARKET, **window)
        now[0], close[0] = NOW + 100.0, 2.0
        archive.refresh(client, "candles", *MARKET, **window)
    then = archive.read("candles", *MARKET, columns="close", as_of=NOW + 50).only
    assert then.columns == ("close",) and then["close"].tolist() == [1.0]
    assert archive.read("candles", *MARKET, columns="close").only["close"].tolist() == [2.0]


def test_several_symbols_have_the_same_columns(archive, demo):
    with demo.client("unlimited") as client:
        archive.sync(client, "candles", *MARKET[:1], "ETHUSDT", "1h", **WINDOW)
    got = archive.read("candles", MARKET[0], ["BTCUSDT", "ETHUSDT"], "1h", columns=["close"])
    assert [one.columns for one in got] == [("close",), ("close",)]
