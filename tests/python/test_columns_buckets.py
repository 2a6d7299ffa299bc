"""What a series lacks, what of it is closed, and when its buckets close (supplement, sections 1 and 4)."""

import contextlib
import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import marketpoints as mp
from support import NOW
from support.bodies import BOOK, START, body, heatmap, stamp
from support.scripted import scripted

HOUR, DAY = 3600, 86_400
MARKET = ("BINANCE_FUTURES", "BTCUSDT")


@pytest.fixture
def scripted_points():
    """Makes a client whose points are this body, and the list of what it asks for points."""
    with contextlib.ExitStack() as open_ones:

        def make(answer):
            limit = {"X-RateLimit-Limit": "750"}
            usage = {"limit": 750, "remaining": 1500, "used": 0, "reset": NOW, "windowSeconds": 60}
            reply = lambda path: (200, limit, answer if path.startswith("/v1/points") else usage)  # noqa: E731
            url, asked = open_ones.enter_context(scripted(reply))
            client = open_ones.enter_context(mp.Client("key", url, tier="advanced", clock=lambda: NOW))
            return client, asked

        yield make


def ns(*seconds):
    """Unix seconds as NumPy has them, by Python's own calendar."""
    epoch = dt.datetime(1970, 1, 1)
    return [np.datetime64(epoch + dt.timedelta(seconds=second), "ns") for second in seconds]


def rows(starts, interval="HOUR", **identity):
    """A series with a row at each of these Unix seconds."""
    points = [{"Point": {"timestamp": stamp(start), "open": 1.0, "close": 2.0}} for start in starts]
    known = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": "XRPUSDT"}
    return {"id": known | ({"interval": interval} if interval else {}) | identity, "points": points}


def test_gaps_lie_between_the_rows():
    held = [0, 1, 4, 5, 9]
    answer = mp.decode_points(body(rows([START + HOUR * hour for hour in held])))
    absent = [START + HOUR * hour for hour in range(10) if hour not in held]
    assert answer.gaps().tolist() == np.array(ns(*absent)).tolist()
    assert answer.gaps().dtype == np.dtype("datetime64[ns]")
    spans = [[START + HOUR * first, START + HOUR * end] for first, end in ((2, 4), (6, 9))]
    assert answer.gap_spans().tolist() == [np.array(ns(*span)).tolist() for span in spans]
    assert answer.requested is None
    assert answer.covered == (ns(START)[0], ns(START + 10 * HOUR)[0])
    # Nothing was filled in.
    assert len(answer.timestamps) == len(held)


@pytest.mark.parametrize("starts", [[], [START], [START + HOUR * hour for hour in range(50)]])
def test_without_a_hole_there_is_none(starts):
    answer = mp.decode_points(body(rows(starts)))
    assert answer.gaps().shape == (0,) and answer.gap_spans().shape == (0, 2)
    assert (answer.covered is None) == (not starts)


def test_rows_that_share_a_time_are_one_bucket():
    points = [
        {"Point": {"timestamp": stamp(START + DAY * day), "marketcap": 1.0, "chain": chain}}
        for day in (0, 2)
        for chain in ("bitcoin", "wrapped")
    ]
    known = {"type": "TOKEN_SUPPLY_AGG", "coin": "BTC", "interval": "HOUR"}
    answer = mp.decode_points(body({"id": known, "points": points}))
    assert len(answer.timestamps) == 4
    assert len(answer.gaps()) == 47
    assert answer.gap_spans().tolist() == [np.array(ns(START + HOUR, START + 2 * DAY)).tolist()]


def test_weeks_start_on_monday(client):
    wednesday, end = dt.datetime(2026, 1, 7), dt.datetime(2026, 3, 1)
    answer = client.candles(*MARKET, "1w", start=wednesday, end=end)
    mondays = [dt.datetime(2026, 1, 12) + dt.timedelta(weeks=week) for week in range(7)]
    assert answer.timestamps.astype("datetime64[us]").tolist() == mondays
    assert answer.requested == (np.datetime64("2026-01-12"), np.datetime64("2026-03-02"))
    assert answer.gaps().size == 0
    assert answer.closes_at.astype("datetime64[us]").tolist() == [one + dt.timedelta(weeks=1) for one in mondays]
    sundays = [(one - dt.timedelta(days=1)).replace(tzinfo=dt.timezone.utc).timestamp() for one in mondays]
    # A service whose weeks begin on another day is taken at its word.
    other = mp.decode_points(body(rows([int(sundays[0]), int(sundays[3])], "WEEK")))
    assert other.gaps().tolist() == np.array(ns(*sundays[1:3])).tolist()


# faults.md row 27
def test_gaps_at_the_ends_of_what_was_asked(scripted_points):
    """The service holds less than was asked: requested and covered differ, gaps say where (D3, 27)."""
    held = [START + HOUR * hour for hour in (2, 3, 5)]
    client, asked = scripted_points(body(rows(held)))
    answer = client.candles("BYBIT", "XRPUSDT", "1h", start=START, end=START + 8 * HOUR)
    assert answer.requested == tuple(ns(START, START + 8 * HOUR))
    assert answer.covered == tuple(ns(START + 2 * HOUR, START + 6 * HOUR))
    assert answer.gaps().tolist() == np.array(ns(*(START + HOUR * hour for hour in (0, 1, 4, 6, 7)))).tolist()
    assert [span.tolist() for span in answer.gap_spans()] == [
        np.array(ns(START + HOUR * first, START + HOUR * end)).tolist() for first, end in ((0, 2), (4, 5), (6, 8))
    ]
    assert len(asked) == 1


def test_d3_27_points_outside_the_window_are_cut(scripted_points):
    client, _ = scripted_points(body(rows([START + HOUR * hour for hour in range(-2, 6)])))
    answer = client.candles("BYBIT", "XRPUSDT", "1h", start=START, end=START + 4 * HOUR)
    assert answer.timestamps.tolist() == np.array(ns(*(START + HOUR * hour for hour in range(4)))).tolist()
    assert answer.covered == answer.requested == tuple(ns(START, START + 4 * HOUR))
    assert answer.gaps().size == 0


def test_an_empty_answer_is_one_gap(scripted_points):
    client, _ = scripted_points(b'{"series":[]}')
    answer = client.candles("BYBIT", "XRPUSDT", "1h", start=START, end=START + 3 * HOUR)
    assert len(answer.only) == 0 and answer.covered is None
    assert answer.gaps().tolist() == np.array(ns(START, START + HOUR, START + 2 * HOUR)).tolist()
    assert len(answer.gap_spans()) == 1


def test_the_future_is_no_gap(client):
    answer = client.candles(*MARKET, "1h", start=NOW - 6 * HOUR, end=NOW + 1000 * HOUR)
    forming = NOW - NOW % HOUR
    assert answer.requested.end <= answer.asked_at < answer.requested.end + np.timedelta64(2, "h")
    assert answer.requested.start == ns(forming - 5 * HOUR)[0]
    assert answer.gaps().size == 0


def test_a_closed_bucket_is_over_by_the_clock_of_who_asked(service):
    with service.client("unlimited") as client:
        answer = client.candles(*MARKET, "1h", period=3 * HOUR, include_forming=True)
        assert answer.is_closed.tolist() == [True, True, True, False]
        assert answer.is_closed.dtype == np.bool_
        assert abs(answer.asked_at - ns(NOW)[0]) < np.timedelta64(60, "s")
        service.advance(HOUR)
        later = client.candles(*MARKET, "1h", start=answer.timestamps[0], include_forming=True)
        assert later.is_closed.tolist() == [True, True, True, True, False]
        # What was said of the first answer holds of its values.
        assert answer.is_closed.tolist() == [True, True, True, False]


def test_a_decoded_body_is_closed_by_a_given_moment():
    starts = [START, START + HOUR]
    judged = {START + 2 * HOUR: [True, True], START + 2 * HOUR - 1: [True, False], START: [False, False]}
    for now, closed in judged.items():
        answer = mp.decode_points(body(rows(starts)), now=now)
        assert answer.is_closed.tolist() == closed
        assert answer.asked_at == ns(now)[0]
    assert mp.decode_points(body(rows(starts))).is_closed.all()  # by the wall clock
    with pytest.raises(mp.InvalidRequest, match="now"):
        mp.decode_points(body(rows(starts)), now="soon")


@pytest.mark.parametrize(("interval", "said"), [(None, "names no interval"), ("FORTNIGHT", "'FORTNIGHT' is not known")])
def test_a_length_that_is_not_known_is_refused(interval, said):
    answer = mp.decode_points(body(rows([START], interval)))
    for ask in (lambda: answer.gaps(), lambda: answer.is_closed, lambda: answer.closes_at, answer.only.gap_spans):
        with pytest.raises(mp.SelectionError, match=said):
            ask()


def test_frames_stamped_with_the_close():
    starts = [START, START + HOUR]
    answer = mp.decode_points(body(rows(starts)))
    ends = [pd.Timestamp(start + HOUR, unit="s", tz="UTC") for start in starts]
    assert answer.to_pandas(label="right").index.tolist() == ends
    assert answer.to_polars(label="right")["time"].to_list() == [end.to_pydatetime() for end in ends]
    assert answer.to_arrow(label="right")["time"].to_pylist() == ends
    assert answer.to_pandas(label="left").index.equals(answer.to_pandas().index)
    sides = mp.decode_points(body(*(rows(starts, side=side) for side in ("BUY", "SELL"))))
    assert sides.to_pandas(label="right").index.tolist() == ends * 2
    assert sides.to_polars(label="right")["time"].to_list() == [end.to_pydatetime() for end in ends] * 2
    assert sides.to_arrow(label="right")["time"].to_pylist() == ends * 2
    book = mp.decode_points(body(heatmap(BOOK)))
    levels = [len(bids) + len(asks) for bids, asks in BOOK]
    expected = [START + 60 * (row + 1) for row, count in enumerate(levels) for _ in range(count)]
    assert book.to_pandas(label="right").index.tolist() == [pd.Timestamp(one, unit="s", tz="UTC") for one in expected]
    with pytest.raises(mp.InvalidRequest, match="label: 'middle'"):
        answer.to_pandas(label="middle")


def test_start_stamps_leak_the_future():
    """A signal of 18:30 joined "as of" with start stamps sees the close of 19:00; with close stamps, of 18:00."""
    closes = [100.0, 200.0]  # known at 18:00 and at 19:00
    points = [
        {"Point": {"timestamp": stamp(START + HOUR * (row - 1)), "close": close}} for row, close in enumerate(closes)
    ]
    known = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "interval": "HOUR"}
    answer = mp.decode_points(body({"id": known, "points": points}))
    moment = pd.Timestamp(START + HOUR // 2, unit="s", tz="UTC").as_unit("ns")
    signals = pd.DataFrame(index=pd.DatetimeIndex([moment], name="time"))
    naive = pd.merge_asof(signals, answer.to_pandas()[["close"]], on="time")["close"].tolist()
    sound = pd.merge_asof(signals, answer.to_pandas(label="right")[["close"]], on="time")["close"].tolist()
    assert (naive, sound) == ([200.0], [100.0])
    moments = pl.DataFrame({"time": pl.Series([moment.value]).cast(pl.Datetime("ns", "UTC"))})
    joined = moments.join_asof(answer.to_polars(label="right").sort("time"), on="time")
    assert joined["close"].to_list() == [100.0]


def sessions(starts, ends, interval="HOUR"):
    points = [
        {"Point": {"TpoAggregation": {"timestamp": stamp(start)} | ({"period_end": stamp(end)} if end else {})}}
        for start, end in zip(starts, ends, strict=True)
    ]
    return body({"id": {"type": "TPO_AGG", "coin": "BTC", "interval": interval}, "points": points})


def unix(*day):
    return int(dt.datetime(*day, tzinfo=dt.timezone.utc).timestamp())


def test_market_profiles_go_by_session():
    months = [unix(2026, month, 1) for month in range(1, 8)]
    monthly = mp.decode_points(sessions([months[0], months[1], months[4]], [months[1], months[2], months[5]]))
    assert monthly.gaps().tolist() == np.array(ns(months[2], months[3])).tolist()
    assert monthly.gap_spans().tolist() == [np.array(ns(months[2], months[4])).tolist()]
    assert monthly.closes_at.tolist() == np.array(ns(months[1], months[2], months[5])).tolist()
    daily = mp.decode_points(sessions([START, START + 3 * DAY], [START + DAY, None]))
    assert daily.closes_at.tolist() == np.array(ns(START + DAY, START + 4 * DAY)).tolist()
    silent = mp.decode_points(sessions([START, START + 2 * DAY], [None, None], "DAY"))
    assert len(silent.gaps()) == 1


@pytest.mark.parametrize(
    ("session", "starts", "end"),
    [
        ("daily", [unix(2026, 1, day) for day in (14, 15)], unix(2026, 1, 16)),
        ("weekly", [unix(2026, 1, 19), unix(2026, 1, 26)], unix(2026, 2, 2)),
        ("monthly", [unix(2026, 2, 1), unix(2026, 3, 1)], unix(2026, 4, 1)),
    ],
)
def test_sessions_asked_for_are_looked_for(scripted_points, session, starts, end):
    client, _ = scripted_points(b'{"series":[]}')
    answer = client.tpo(*MARKET, "1h", session=session, block_minutes=30, start=unix(2026, 1, 13, 5), end=end)
    assert answer.gaps().tolist() == np.array(ns(*starts)).tolist()
    assert answer.gap_spans().tolist() == [np.array(ns(starts[0], end)).tolist()]


def test_sessions_of_the_service_have_no_gaps(client):
    answer = client.tpo(*MARKET, "1h", session="daily", block_minutes=30, start="2026-01-12", end="2026-01-15")
    assert len(answer.only) == 3 and answer.gaps().size == 0
    assert (answer.closes_at == answer["period_end"]).all()


@pytest.mark.parametrize("session", ["daily", "weekly", "monthly"])
def test_a_session_that_forms_is_left_out(client, session):
    """NOW is a Monday, 2026-09-21 14:13:20 UTC."""
    start = {"daily": unix(2026, 9, 18), "weekly": unix(2026, 9, 7), "monthly": unix(2026, 7, 1)}[session]
    forming = {"daily": unix(2026, 9, 21), "weekly": unix(2026, 9, 21), "monthly": unix(2026, 9, 1)}[session]
    closed = client.tpo(*MARKET, "1h", session=session, block_minutes=30, start=start)
    assert closed.is_closed.all() and closed.gaps().size == 0
    assert closed.closes_at[-1] == closed.requested.end == ns(forming)[0]
    assert closed.to_pandas(label="right").index.max() <= pd.Timestamp(NOW, unit="s", tz="UTC")
    whole = client.tpo(*MARKET, "1h", session=session, block_minutes=30, start=start, include_forming=True)
    assert len(whole.only) == len(closed.only) + 1 and whole.timestamps[-1] == ns(forming)[0]
    assert whole.is_closed.tolist() == [True] * len(closed.only) + [False]


def test_the_last_days_are_sessions_that_are_over(client):
    last = client.tpo(*MARKET, "1h", session="daily", block_minutes=30, period="3d")
    assert last.timestamps.tolist() == np.array(ns(*(unix(2026, 9, day) for day in (18, 19, 20)))).tolist()
    assert last.requested == (ns(unix(2026, 9, 18))[0], ns(unix(2026, 9, 21))[0])


@pytest.mark.parametrize(("tier", "days"), [("free", 7), ("basic", 30), ("standard", 90), ("advanced", 365)])
def test_all_of_a_tiers_history_is_asked_from_its_first_whole_bucket(service, tier, days):
    with service.client(tier) as client:
        got = client.candles(*MARKET, "1h", period=f"{days}d")
        wall = int(got.asked_at.astype("datetime64[s]").astype(int)) - days * DAY
        first = next(second for second in range(wall, wall + HOUR + 1) if second % HOUR == 0)
        assert got.timestamps[0] == got.requested.start == ns(first)[0]
        assert client.plan("candles", *MARKET, "1h", period=f"{days}d").requests[0].url.count(f"from={first}&") == 1
        with pytest.raises(mp.TierError, match=f"history goes back {days} days"):
            client.candles(*MARKET, "1h", period=f"{days + 1}d")


def test_the_rest_of_the_market_is_altcoins(client):
    supply = client.token_supply(interval="1d", coin="BTC", start="2026-01-01", end="2026-01-05")
    rest = mp.altcoin_dominance(supply)
    share = supply["marketcap_dominance_percent"].tolist()
    assert rest.tolist() == [100 - one for one in share] and all(0 < one < 100 for one in rest)
    assert mp.altcoin_dominance(supply.only).tolist() == rest.tolist()
    point = {"Point": {"timestamp": stamp(START), "marketcap": 1.0}}
    unknown = {"id": {"type": "TOKEN_SUPPLY_AGG", "coin": "BTC"}, "points": [point]}
    assert np.isnan(mp.altcoin_dominance(mp.decode_points(body(unknown)))).all()


def test_altcoin_dominance_is_of_bitcoin_alone():
    point = {"Point": {"timestamp": stamp(START), "marketcap": 1.0, "marketcapDominancePercent": 12.0}}
    ether = mp.decode_points(body({"id": {"type": "TOKEN_SUPPLY_AGG", "coin": "ETH"}, "points": [point]}))
    with pytest.raises(mp.SelectionError, match=r"TOKEN_SUPPLY_AGG ETH: altcoin dominance needs .* of the coin BTC"):
        mp.altcoin_dominance(ether)
    with pytest.raises(mp.SelectionError, match="altcoin dominance needs TOKEN_SUPPLY_AGG"):
        mp.altcoin_dominance(mp.decode_points(body(rows([START]))))
    with pytest.raises(mp.SelectionError, match="2 series"):
        mp.altcoin_dominance(mp.decode_points(body(rows([START], side="BUY"), rows([START], side="SELL"))))


def test_what_an_archive_read_is_closed_and_has_the_window_asked(service, tmp_path):
    archive = mp.Archive(tmp_path / "archive")
    window = {"start": START, "end": START + 5 * HOUR}
    with service.client("unlimited") as client:
        archive.sync(client, "candles", *MARKET, "1h", **window)
        answer = client.candles(*MARKET, "1h", **window)
    read = archive.read("candles", *MARKET, "1h", **window)
    assert read == answer
    assert read.requested == answer.requested == tuple(ns(START, START + 5 * HOUR))
    assert read.is_closed.tolist() == [True] * 5 and read.gaps().size == 0
    assert read.only.asked_at is None
    # Without ends it is all that is kept.
    whole = archive.read("candles", *MARKET, "1h")
    assert whole == answer and whole.only.requested is None and whole.gaps().size == 0
