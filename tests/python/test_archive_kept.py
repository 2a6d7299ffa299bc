"""What an archive lacks, and where what it keeps begins and ends."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import marketpoints as mp
from support import NOW
from support.archives import END, HOUR, MARKET, between, part_files
from support.scripted import scripted

DAY = 24 * HOUR
QUERY = ("candles", "BYBIT", "BTCUSDT", "1h")


@pytest.fixture(scope="module")
def sparse():
    """A client of a service that has a candle for each third hour of the last day, of one symbol alone."""

    def answer(path):
        asked = dict(pair.split("=") for pair in path.partition("?")[2].split("&"))
        start, end = int(asked["from"]), int(asked["from"]) + int(asked["period"])
        hours = [hour for hour in range(start, end, HOUR) if hour >= END - DAY and hour // HOUR % 3 == 0]
        points = [{"Point": {"open": 1.0, "close": 1.0, "timestamp": {"s": hour}}} for hour in hours]
        identity = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": asked["rawSymbol"]}
        has_rows = points and asked["rawSymbol"] == "BTCUSDT"
        return {"series": [{"id": identity | {"interval": "HOUR"}, "points": points}] if has_rows else []}

    with scripted(answer) as (url, _):
        yield mp.Client("key", url, tier="advanced", clock=lambda: NOW)


def starts(records):
    return [(one.start, one.end) for one in records]


def test_what_was_never_asked_is_reported(sparse, tmp_path):
    archive = mp.Archive(tmp_path)
    with pytest.raises(mp.NotArchivedError, match="nothing of this query was ever asked"):
        archive.missing(*QUERY)
    [all_of_it] = archive.missing(*QUERY, start=END - 8 * HOUR, end=END)
    assert (all_of_it.start, all_of_it.end) == between(END - 8 * HOUR, END)
    assert (all_of_it.type, all_of_it.exchange, all_of_it.symbol) == ("TRADE_SIDE_AGNOSTIC_AGG", "BYBIT", "BTCUSDT")
    assert (all_of_it.interval, all_of_it.buckets) == ("HOUR", 8)
    archive.sync(sparse, *QUERY, start=END - 7 * HOUR, end=END - 5 * HOUR)
    archive.sync(sparse, *QUERY, start=END - 3 * HOUR, end=END - HOUR)
    # Asked and empty is not missing; an open window is that of what is kept.
    assert starts(archive.missing(*QUERY)) == [between(END - 5 * HOUR, END - 3 * HOUR)]
    assert starts(archive.missing(*QUERY, start=END - 8 * HOUR)) == [
        between(END - 8 * HOUR, END - 7 * HOUR),
        between(END - 5 * HOUR, END - 3 * HOUR),
    ]
    assert starts(archive.missing(*QUERY, start=END - 2 * HOUR, end=END + HOUR)) == [between(END - HOUR, END + HOUR)]
    assert not archive.missing(*QUERY, start=END - 7 * HOUR, end=END - 5 * HOUR)
    # Of several symbols, each by itself.
    both = archive.missing("candles", "BYBIT", ["BTCUSDT", "ETHUSDT"], "1h", start=END - 3 * HOUR, end=END)
    assert [(one.symbol, one.buckets) for one in both] == [("BTCUSDT", 1), ("ETHUSDT", 3)]
    assert list(both.to_pandas()["buckets"]) == [1, 3]
    # What it names is what a sync asks for, and a read lacks.
    with pytest.raises(mp.NotArchivedError) as caught:
        archive.read(*QUERY, start=END - 8 * HOUR, end=END)
    assert caught.value.missing == starts(archive.missing(*QUERY, start=END - 8 * HOUR, end=END))
    archive.sync(sparse, *QUERY, start=END - 8 * HOUR, end=END)
    assert not archive.missing(*QUERY, start=END - 8 * HOUR, end=END)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)), min_size=1, max_size=5), st.integers(0, 30))
def test_missing_hours_are_those_that_no_sync_asked(sparse, tmp_path_factory, syncs, first):
    archive, start = mp.Archive(tmp_path_factory.mktemp("archive")), END - 40 * HOUR
    asked = set()
    for begin, count in syncs:
        archive.sync(sparse, *QUERY, start=start + begin * HOUR, end=start + (begin + count) * HOUR)
        asked |= set(range(begin, begin + count))
    missing = archive.missing(*QUERY, start=start + first * HOUR, end=END)
    hours = [
        (hour - start) // HOUR
        for one in missing
        for hour in range(*(int(edge.astype("datetime64[s]").astype(int)) for edge in (one.start, one.end)), HOUR)
    ]
    assert hours == [hour for hour in range(first, 40) if hour not in asked]


def test_the_first_and_the_last_row_are_reported(sparse, tmp_path):
    archive = mp.Archive(tmp_path)
    assert archive.first(*QUERY) is None
    assert archive.last(*QUERY) is None
    archive.sync(sparse, *QUERY, start=END - 3 * DAY, end=END)
    rows = archive.read(*QUERY).timestamps
    assert rows[0] > np.datetime64(END - 3 * DAY, "s")  # asked from earlier on
    assert (archive.first(*QUERY), archive.last(*QUERY)) == (rows[0], rows[-1])
    assert archive.first(*QUERY).dtype == np.dtype("datetime64[ns]")
    # Within a window, also one that holds nothing.
    inside = {"start": END - 10 * HOUR, "end": END - 4 * HOUR}
    part = archive.read(*QUERY, **inside).timestamps
    assert (archive.first(*QUERY, **inside), archive.last(*QUERY, **inside)) == (part[0], part[-1])
    assert archive.first(*QUERY, end=END - 2 * DAY) is None
    assert archive.last(*QUERY, period=4 * HOUR) == rows[-1]
    # Of several symbols, of all together.
    archive.sync(sparse, "candles", "BYBIT", "ETHUSDT", "1h", start=END - DAY, end=END)
    both = ("candles", "BYBIT", ["ETHUSDT", "BTCUSDT"], "1h")
    assert (archive.first(*both), archive.last(*both)) == (rows[0], rows[-1])
    assert archive.first("candles", "BYBIT", "ETHUSDT", "1h") is None


def test_only_the_files_at_the_ends_are_read(demo, client, tmp_path):
    archive = mp.Archive(tmp_path)
    window = {"start": END - 100 * DAY, "end": END}
    archive.sync(client, "candles", *MARKET, **window)
    rows = archive.read("candles", *MARKET).timestamps
    files = part_files(tmp_path)
    assert len(files) > 3
    for file in files[1:-1]:
        file.write_bytes(b"damaged")
    assert (archive.first("candles", *MARKET), archive.last("candles", *MARKET)) == (rows[0], rows[-1])
    files[0].write_bytes(b"damaged")
    with pytest.raises(mp.ForeignFileError):
        archive.first("candles", *MARKET)
    assert archive.last("candles", *MARKET) == rows[-1]
