"""The archive: what was paid for is not paid for again, and what is read is what was answered."""

import asyncio
import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from email.utils import parsedate_to_datetime

import numpy as np
import pytest

import marketpoints as mp
from marketpoints.common.arguments import METHODS
from support import NOW
from support.archives import DAY, END, HOUR, MARKET, QUERIES, between, content, part_files, spent
from support.scripted import scripted


@pytest.mark.parametrize("name", QUERIES)
def test_every_shape_reads_back_bit_for_bit(demo, tmp_path, name):
    query = {"type": name, **QUERIES[name], "start": END - 5 * DAY, "end": END}
    archive = mp.Archive(tmp_path / "new" / "archive")
    with demo.client("unlimited") as client:
        answer = client.points(METHODS.get(query["type"], query["type"]), **without(query, "type"))
        assert len(answer.ids) > 0 and all(len(one) for one in answer)
        synced = archive.sync(client, **query)
        assert synced.rows == sum(len(closed(one, name)) for one in answer)
        bounds = {"start": query["start"], "end": synced.windows[-1].end}
        assert content(archive.read(**{**query, **bounds})) == content(client.points(**{**wire(query), **bounds}))
        # A part of it is what the service answers for that part.
        part = {"start": END - 3 * DAY, "end": END - 2 * DAY}
        part = {name: value - value % DAY for name, value in part.items()}
        assert content(archive.read(**{**query, **part})) == content(client.points(**{**wire(query), **part}))
    assert archive.verify()


def without(query, *names):
    return {name: value for name, value in query.items() if name not in names}


def wire(query):
    return {**query, "type": METHODS.get(query["type"], query["type"])}


def closed(series, name):
    """The rows that can be kept: the demo's session of today has not ended."""
    times = series.timestamps.astype("datetime64[s]").astype(np.int64)
    return times[times < NOW - NOW % DAY] if name == "tpo" else times


def test_a_second_sync_and_a_second_read_through_weigh_nothing(service, tmp_path):
    with service.client("unlimited") as client, service.client("unlimited", archive=tmp_path) as through:
        window = {"start": END - 40 * DAY, "end": END}
        fresh, first = spent(service, client, lambda: mp.Archive(tmp_path).sync(client, "candles", *MARKET, **window))
        assert fresh == first.weight == mp.weight("TRADE_SIDE_AGNOSTIC_AGG", interval="1h", period=40 * DAY)
        again, second = spent(service, client, lambda: mp.Archive(tmp_path).sync(client, "candles", *MARKET, **window))
        assert (again, second.requests, second.weight, second.rows) == (0, 0, 0, 0)
        cost, answer = spent(service, client, lambda: through.candles(*MARKET, **window))
        assert cost == 0
        assert content(answer) == content(client.candles(*MARKET, **window))
        assert through.plan("candles", *MARKET, **window).requests == ()


# faults.md row 48
def test_only_gaps_are_asked(service, tmp_path):
    archive = mp.Archive(tmp_path)
    with service.client("unlimited") as client:
        archive.sync(client, "candles", *MARKET, start=END - 10 * HOUR, end=END - 8 * HOUR)
        archive.sync(client, "candles", *MARKET, start=END - 4 * HOUR, end=END - 2 * HOUR)
        # Three gaps of two hours: one request of ten hours weighs 1, three would weigh 3.
        with service.client("unlimited", archive=archive) as through:
            plan = through.plan("candles", *MARKET, start=END - 12 * HOUR, end=END)
            assert (plan.weight, len(plan.requests)) == (1, 1)
        done = archive.sync(client, "candles", *MARKET, start=END - 12 * HOUR, end=END)
        assert done.weight == 1
        assert done.windows == (
            between(END - 12 * HOUR, END - 10 * HOUR),
            between(END - 8 * HOUR, END - 4 * HOUR),
            between(END - 2 * HOUR, END),
        )
        assert done.rows == 8
        [kept] = archive.contents()
        assert (kept.start, kept.end, kept.buckets) == (*between(END - 12 * HOUR, END), 12)
        assert {edge.dtype.str for edge in (kept.start, kept.end, *done.windows[0])} == {"<M8[ns]"}


def test_max_weight_bounds_what_is_left_to_pay(service, tmp_path):
    archive = mp.Archive(tmp_path)
    book = {"block_size": 100.0, "max_depth": 5, "start": END - 10 * HOUR, "end": END}  # weighs 10 (section 8.3)
    with service.client("unlimited") as client, service.client("unlimited", archive=archive) as through:

        def refused():
            with pytest.raises(mp.InvalidRequest, match="max_weight=9"):
                archive.sync(client, "orderbook_heatmap", *MARKET, **book, max_weight=9)
            with pytest.raises(mp.InvalidRequest, match="max_weight=9"):
                through.orderbook_heatmap(*MARKET, **book, max_weight=9)

        assert spent(service, client, refused) == (0, None)
        assert archive.sync(client, "orderbook_heatmap", *MARKET, **book, max_weight=10).weight == 10
        assert len(through.orderbook_heatmap(*MARKET, **book, max_weight=1).timestamps) == 10
        with pytest.raises(mp.InvalidRequest, match="max_weight=9"):
            archive.verify(client, "orderbook_heatmap", *MARKET, **book, max_weight=9)


# faults.md row 48
def test_asked_and_empty_is_not_never_asked(service, tmp_path):
    archive = mp.Archive(tmp_path)
    query = ("candles", "BINANCE_FUTURES", "NOSUCHUSDT", "1h")
    with service.client("unlimited", check_symbols=False) as client:
        with pytest.raises(mp.NotArchivedError) as caught:
            archive.read(*query, start=END - HOUR, end=END)
        assert "was never asked; sync it" in str(caught.value)
        assert caught.value.missing == [between(END - HOUR, END)]
        with pytest.raises(mp.NotArchivedError, match="nothing of this query was ever asked"):
            archive.read(*query)
        assert archive.sync(client, *query, start=END - 5 * HOUR, end=END).rows == 0
        answer = archive.read(*query, start=END - 5 * HOUR, end=END)
        assert content(answer) == content(client.candles(*query[1:], start=END - 5 * HOUR, end=END))
        assert len(answer["close"]) == 0
        cost, done = spent(service, client, lambda: archive.sync(client, *query, start=END - 5 * HOUR, end=END))
        assert (cost, done.requests) == (0, 0)
    with pytest.raises(mp.NotArchivedError) as caught:
        archive.read(*query, start=END - 7 * HOUR, end=END + HOUR)
    assert caught.value.missing == [between(END - 7 * HOUR, END - 5 * HOUR), between(END, END + HOUR)]
    assert not part_files(tmp_path)


def test_what_is_archived_of_a_missing_window_comes_with_the_error(demo, tmp_path):
    archive = mp.Archive(tmp_path)
    with demo.client("unlimited") as client:
        archive.sync(client, "candles", *MARKET, start=END - 5 * HOUR, end=END)
        with pytest.raises(LookupError) as caught:
            archive.read("candles", *MARKET, start=END - 6 * HOUR, end=END)
        expected = client.candles(*MARKET, start=END - 5 * HOUR, end=END)
        assert content(caught.value.results) == content(expected)
        # An open window is the archive's own.
        assert content(archive.read("candles", *MARKET)) == content(expected)
        assert len(archive.read("candles", *MARKET, period=2 * HOUR)) == 1
        assert len(archive.read("candles", *MARKET, period=2 * HOUR).timestamps) == 2
        assert len(archive.read("candles", *MARKET, start=END - HOUR).timestamps) == 1
        assert len(archive.read("candles", *MARKET, end=END - HOUR).timestamps) == 4


def test_the_forming_bucket_is_answered_and_never_kept(service, tmp_path):
    archive = mp.Archive(tmp_path)
    forming = NOW - NOW % HOUR
    assert forming > END - HOUR
    window = {"start": forming - 3 * HOUR, "end": forming + HOUR, "include_forming": True}
    with service.client("unlimited", archive=archive) as through, service.client("unlimited") as client:
        answer = through.candles(*MARKET, **window)
        assert answer.timestamps.astype("datetime64[s]").astype(int).tolist() == [
            forming + HOUR * k for k in range(-3, 1)
        ]
        with pytest.raises(mp.NotArchivedError) as caught:
            archive.read("candles", *MARKET, start=forming - 3 * HOUR, end=forming + HOUR)
        assert caught.value.missing == [between(forming, forming + HOUR)]
        # Each time, only the forming bucket is asked.
        assert through.plan("candles", *MARKET, **window).points == 1
        cost, again = spent(service, client, lambda: through.candles(*MARKET, **window))
        assert cost == 1
        assert len(again.timestamps) == 4
        service.advance(HOUR)
        closed = through.candles(*MARKET, **window)
        assert content(closed) == content(client.candles(*MARKET, **window))
        assert content(archive.read("candles", *MARKET)) == content(closed)


def test_a_session_is_kept_when_it_has_ended(service, tmp_path):
    archive = mp.Archive(tmp_path)
    query = ("tpo", "BINANCE_FUTURES", "BTCUSDT", "1h")
    today = NOW - NOW % DAY
    window = {"start": today - 2 * DAY, "end": today + DAY, "session": "daily"}
    with service.client("unlimited", archive=archive) as through, service.client("unlimited") as client:
        first = through.tpo(*query[1:], **window, include_forming=True)
        assert [int(t) for t in first.timestamps.astype("datetime64[s]").astype(int)] == [
            today - 2 * DAY,
            today - DAY,
            today,
        ]
        assert archive.contents()[0].end == np.datetime64(today, "s")
        service.advance(DAY)
        second = through.tpo(*query[1:], **window, include_forming=True)
        assert content(second) == content(client.tpo(*query[1:], **window)) != content(first)


def candle(second, close=1.0):
    return {"Point": {"open": 1.0, "close": close, "timestamp": {"s": second}}}


def candles(path, close=lambda second: 1.0):
    """A scripted answer with a candle for each hour of the window."""
    asked = dict(urllib.parse.parse_qsl(path.partition("?")[2]))
    start, period = int(asked["from"]), int(asked["period"])
    points = [candle(second, close(second)) for second in range(start, start + period, HOUR)]
    identity = {name: asked[name] for name in ("type", "exchange", "rawSymbol", "interval")}
    return {"series": [{"id": identity, "points": points}]}


def test_a_bucket_is_closed_when_the_services_clock_says_so(tmp_path):
    this_hour = int(time.time()) // HOUR * HOUR
    with scripted(candles) as (url, _):
        # The machine's clock is two hours ahead; the answer's date is right.
        client = mp.Client("key", url, tier="advanced", clock=lambda: time.time() + 2 * HOUR, archive=tmp_path)
        answer = client.candles("BYBIT", "BTCUSDT", "1h", start=this_hour - 3 * HOUR, end=this_hour + 2 * HOUR)
        assert len(answer.timestamps) == 5
        [kept] = mp.Archive(tmp_path).contents()
        assert kept.start == between(this_hour - 3 * HOUR, 0).start
        assert kept.end in between(this_hour, this_hour + HOUR)  # the hour may turn while the test runs
        assert kept.end <= np.datetime64(int(time.time()), "s")


# faults.md row 49
def test_revised_history_is_reported_and_taken_over_only_when_asked(tmp_path):
    closes = {}
    with scripted(lambda path: candles(path, lambda second: closes.get(second, 1.0))) as (url, asked):
        client = mp.Client("key", url, tier="advanced", clock=lambda: NOW)
        archive = mp.Archive(tmp_path)
        query = ("candles", "BYBIT", "BTCUSDT", "1h")
        window = {"start": END - 5 * HOUR, "end": END}
        archive.sync(client, *query, **window)
        before = content(archive.read(*query))
        assert not archive.verify(client, *query, **window).revisions
        closes[END - 2 * HOUR] = 7.5
        # Nobody asks again by itself.
        assert (
            content(
                mp.Client("key", url, tier="advanced", clock=lambda: NOW, archive=tmp_path).candles(
                    *query[1:], **window
                )
            )
            == before
        )
        found = archive.verify(client, *query, **window)
        [revision] = found.revisions
        assert (revision.time, revision.column) == (between(END - 2 * HOUR, 0).start, "close")
        assert (revision.before, revision.after) == (1.0, 7.5)
        assert revision.id.raw_symbol == "BTCUSDT"
        assert content(archive.read(*query)) == before
        refreshed = archive.refresh(client, *query, **window)
        assert list(refreshed.revisions) == [revision]
        assert archive.read(*query)["close"].tolist() == [1.0, 1.0, 1.0, 7.5, 1.0]
        assert not archive.verify(client, *query, **window).revisions
        assert archive.verify()
        assert len(asked) == 5


def test_one_folder_holds_one_services_data(demo, tmp_path):
    archive = mp.Archive(tmp_path)
    with demo.client("unlimited") as client:
        archive.sync(client, "candles", *MARKET, start=END - HOUR, end=END)
    assert archive.source == "local demo, seed 0"
    with scripted(candles) as (url, asked):
        other = mp.Client("key", url, tier="advanced", clock=lambda: NOW)
        with pytest.raises(mp.ArchiveError) as caught:
            archive.sync(other, "candles", *MARKET, start=END - HOUR, end=END)
        through = mp.Client("key", url, tier="advanced", clock=lambda: NOW, archive=archive)
        with pytest.raises(mp.ArchiveError):
            through.candles(*MARKET, start=END - HOUR, end=END)
        assert asked == []
    assert "local demo, seed 0" in str(caught.value) and url in str(caught.value)


def test_what_arrived_before_a_failure_is_kept(tmp_path):
    broken = [True]
    late = END - 1_000 * HOUR

    def answer(path):
        if broken[0] and f"from={late}" in path:
            return b"no body at all"
        return candles(path)

    with scripted(answer) as (url, asked):
        client = mp.Client("key", url, tier="free", clock=lambda: NOW, retries=0)
        archive = mp.Archive(tmp_path)
        # Two requests: a thousand hours each would go in one, so they are asked apart.
        query = ("candles", "BYBIT", "BTCUSDT", "1h")
        client = mp.Client("key", url, tier="advanced", clock=lambda: NOW, retries=0)
        archive.sync(client, *query, start=late + 500 * HOUR, end=late + 501 * HOUR)
        before = len(asked)
        with pytest.raises(mp.DecodeError):
            archive.sync(client, *query, start=late, end=late + 2 * HOUR)
        done = archive.sync(client, *query, start=late - 2_000 * HOUR, end=late - 1_999 * HOUR)
        assert done.rows == 1
        broken[0] = False
        assert archive.sync(client, *query, start=late, end=late + 2 * HOUR).rows == 2
        assert len(asked) == before + 3


# faults.md row 46
def test_two_calls_at_once_pay_once(service, tmp_path):
    async def both():
        async with service.async_client("unlimited", archive=tmp_path) as client:
            calls = [client.candles(*MARKET, start=END - 3 * DAY, end=END) for _ in range(4)]
            return await asyncio.gather(*calls)

    with service.client("unlimited") as client:
        cost, answers = spent(service, client, lambda: asyncio.run(both()))
        assert cost == 1
        assert all(content(one) == content(answers[0]) for one in answers)


def test_the_async_client_syncs_too(demo, tmp_path):
    async def work():
        async with demo.async_client("unlimited") as client:
            archive = mp.Archive(tmp_path)
            window = {"start": END - DAY, "end": END}
            reported = []
            done = await archive.sync(
                client, "candles", *MARKET, **window, progress=lambda *how_far: reported.append(how_far)
            )
            assert (done.rows, reported) == (24, [(1, 1)])
            assert (await archive.sync(client, "candles", *MARKET, **window)).requests == 0
            assert (await archive.refresh(client, "candles", *MARKET, **window)).revisions.to_pandas().empty
            assert not (await archive.verify(client, "candles", *MARKET, **window)).revisions

    asyncio.run(work())


def test_history_walls_hold_for_what_is_asked_and_not_for_what_is_there(service, tmp_path):
    old = {"start": END - 30 * DAY, "end": END}
    with service.client("unlimited") as client, service.client("free", archive=tmp_path) as free:
        with pytest.raises(mp.TierError):
            free.candles(*MARKET, **old)
        mp.Archive(tmp_path).sync(client, "candles", *MARKET, **old)
        assert content(free.candles(*MARKET, **old)) == content(client.candles(*MARKET, **old))


def test_an_archive_without_anything_says_so_by_its_name(client, tmp_path):
    misspelt, query = mp.Archive(tmp_path / "misspelt"), ("candles", *MARKET)
    for window in ({}, {"start": END - DAY, "end": END}):
        with pytest.raises(mp.NotArchivedError) as caught:
            misspelt.read(*query, **window)
        assert f"(the archive {tmp_path / 'misspelt'} is empty)" in str(caught.value)
    archive = mp.Archive(tmp_path / "archive")
    archive.sync(client, *query, start=END - DAY, end=END)
    with pytest.raises(mp.NotArchivedError) as caught:
        archive.read("funding_rate", *MARKET)
    assert "is empty" not in str(caught.value)


def test_an_archive_answers_without_a_service(demo, tmp_path):
    with demo.client("unlimited") as client:
        mp.Archive(tmp_path).sync(client, "candles", *MARKET, start=END - DAY, end=END)
    nowhere = mp.Client("key", "http://127.0.0.1:9", archive=tmp_path, archive_source="local demo, seed 0", retries=0)
    assert len(nowhere.candles(*MARKET, start=END - DAY, end=END).timestamps) == 24


def test_verifying_what_is_not_there_is_no_success(client, tmp_path):
    with pytest.raises(mp.NotArchivedError, match="no archive here"):
        mp.Archive(tmp_path / "misspelt").verify()
    archive = mp.Archive(tmp_path)
    with pytest.raises(mp.NotArchivedError, match="no archive here"):
        archive.verify()
    archive.sync(client, "candles", *MARKET, start=END - DAY, end=END)
    assert archive.verify()


@pytest.mark.parametrize(("name", "edge"), [("start", "1600-01-01"), ("end", "2600-01-01")])
def test_windows_that_nanoseconds_do_not_hold_are_refused(client, tmp_path, name, edge):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, start=END - DAY, end=END)
    for call in (archive.missing, archive.read, archive.first):
        with pytest.raises(mp.InvalidRequest, match=f"{name}: .*1677 to 2262"):
            call("candles", *MARKET, **{name: edge})


def test_what_is_no_folder_is_refused_and_a_file_address_is_one(demo, tmp_path):
    for wrong in ("ftp://host/archive", "", 7, None, "file://elsewhere/archive"):
        with pytest.raises(mp.InvalidRequest):
            mp.Archive(wrong)
    assert mp.Archive(tmp_path.as_uri()).path == str(tmp_path)
    with demo.client("unlimited") as client:
        with pytest.raises(mp.InvalidRequest):
            mp.Archive(tmp_path).sync("no client", "candles", *MARKET, start=END - DAY, end=END)
        with pytest.raises(mp.InvalidRequest):
            mp.Archive(tmp_path).verify(client)
        with pytest.raises(mp.InvalidRequest, match="session"):
            mp.Archive(tmp_path).sync(client, "tpo", *MARKET, start=END - DAY, end=END, session="LUNAR")
    assert list(tmp_path.iterdir()) == []


# faults.md row 50
def test_hostile_names_stay_in_the_folder(tmp_path):
    inside = tmp_path / "archive"
    symbols = ["../../../up", "BTC/USDT", "btcusdt", "BTCUSDT", "CON", "a" * 5_000, "x?*:|<>\\", "é end. "]
    with scripted(candles) as (url, _):
        client = mp.Client("key", url, tier="advanced", clock=lambda: NOW)
        archive = mp.Archive(inside)
        for symbol in symbols:
            archive.sync(client, "candles", "BYBIT", symbol, "1h", start=END - HOUR, end=END)
            assert len(archive.read("candles", "BYBIT", symbol, "1h").timestamps) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]
    assert sorted(one.symbol for one in archive.contents()) == sorted(symbols)
    assert len({path.parent.parent.name.lower() for path in part_files(inside)}) == len(symbols)
    assert all(len(piece) < 255 for path in part_files(inside) for piece in path.parts)


def test_the_key_is_in_no_file(service, tmp_path):
    with service.client("advanced", archive=tmp_path) as client:
        client.candles(*MARKET, start=END - DAY, end=END)
    secret = service.keys["advanced"].encode()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 2
    assert not any(secret in path.read_bytes() for path in files)


def test_the_local_service_dates_its_answers_by_its_own_clock(service):
    service.advance(400 * DAY)
    request = urllib.request.Request(f"{service.url}/v1/usage", headers={"X-Service-Key": service.keys["free"]})
    before = service.now()
    with urllib.request.urlopen(request, timeout=10) as answer:
        date = parsedate_to_datetime(answer.headers["Date"]).timestamp()
    assert int(before) <= date <= service.now()


#: Reads a window of a book with no more room for addresses than it has and half a gigabyte.
BOUNDED = """
import resource, sys
import marketpoints as mp

start, end = map(int, sys.argv[2:])
archive, query = mp.Archive(sys.argv[1]), ("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1m")
rows = lambda start, end: archive.read(*query, start=start, end=end, block_size=2, max_depth=200)
rows(start - 60, start)
room = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (room + 2**29, room + 2**29))
print(len(rows(start, end).only))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded by way of /proc")
@pytest.mark.parametrize("minutes", [1, 5, 61])
def test_a_short_window_of_books_takes_memory_of_its_own_file_alone(demo, tmp_path, minutes):
    """Room was made for as many days as the first day's rows were few, which ended the process."""
    archive, midnight = mp.Archive(tmp_path), END // DAY * DAY
    book = {"block_size": 2, "max_depth": 200}
    with demo.client("unlimited") as client:
        archive.sync(client, "orderbook_heatmap", *MARKET[:2], "1m", start=midnight - 12 * HOUR, end=midnight, **book)
    start = midnight - 3 * HOUR
    asked = [sys.executable, "-c", BOUNDED, str(tmp_path), str(start), str(start + 60 * minutes)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, f"{minutes}\n"), done.stderr


def test_a_comparison_with_the_service_forgets_no_damaged_file(service, tmp_path):
    archive, query = mp.Archive(tmp_path), ("candles", *MARKET)
    window = {"start": END - 5 * DAY, "end": END}
    with service.client("unlimited") as client:
        archive.sync(client, *query, **window)
        (file,) = part_files(tmp_path)
        damaged = bytearray(file.read_bytes())
        damaged[100] ^= 1
        file.write_bytes(damaged)
        before = service.spent
        with pytest.raises(mp.DamagedFileError):
            archive.verify(client, *query)
        assert service.spent == before and file.read_bytes() == damaged
        assert archive.contents() and not archive.verify()
        with pytest.raises(mp.DamagedFileError):
            archive.read(*query)
        # A sync mends it.
        assert archive.sync(client, *query, **window).mended and archive.verify(client, *query)


#: Forks while an archive is synced, lets the child live, and syncs the same again.
FORKED = """
import os, sys, time
import marketpoints as mp

client = mp.Client(sys.argv[5], sys.argv[2], clock=lambda: float(sys.argv[3]))
end, children = int(sys.argv[4]), []

def forks(done, total):
    if not children:
        child = os.fork()
        if child == 0:
            time.sleep(60)  # not waiting for anything: the child outlives the calls, whose lock must not be its own
            os._exit(0)
        children.append(child)

archive = mp.Archive(sys.argv[1])
archive.sync(client, "candles", "BINANCE_FUTURES", "BTCUSDT", "1h", start=end - 86_400, end=end, progress=forks)
began = time.monotonic()
archive.sync(client, "candles", "BINANCE_FUTURES", "BTCUSDT", "1h", start=end - 2 * 86_400, end=end)
print(len(children), time.monotonic() - began < 30)
os.kill(children[0], 9)
os.waitpid(children[0], 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_that_was_forked_meanwhile_holds_no_lock(service, tmp_path):
    asked = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path), service.url, str(NOW), str(END)]
    asked.append(service.keys["unlimited"])
    done = subprocess.run(asked, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "1 True\n"), done.stderr
