"""Ingests at once, killed, over links and pipes."""

import fcntl
import os
import random
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import marketpoints as mp
from support.children import run
from support.scripted import scripted

DAY = 1_733_011_200  # 2024-12-01
NIGHT = 86_400
HEADER = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
INGEST = (sys.executable, "-m", "marketpoints", "ingest")


def dump(folder, day, trades, *, symbol="BTCUSDT"):
    """A day's file of trades: seconds since the first of the days, prices."""
    path = folder / "trades" / "BYBIT" / symbol / f"2024-12-{day:02d}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"x,y,{DAY + second}000000,0,1,buy,{price},1" for second, price in trades]
    path.write_text("\n".join([HEADER, *rows, ""]))
    return path


def candles(store):
    with mp.LocalService(data=store, now=DAY + 30 * NIGHT) as service, service.client("unlimited") as client:
        got = client.candles("BYBIT", "BTCUSDT", "1m", start=DAY, end=DAY + 3 * NIGHT)
        return [[float(value) for value in got[name].astype(float)] for name in ("first_timestamp", "close", "volume")]


@contextmanager
def locked(path, how=fcntl.LOCK_SH):
    """A lock of a store, as an answer under way (shared) or another ingest holds it."""
    with path.open("r+") as file:
        fcntl.flock(file, how)
        yield
        fcntl.flock(file, fcntl.LOCK_UN)


def start(dumps, store):
    return subprocess.Popen(
        [*INGEST, str(dumps), str(store)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def waits(child, process=None):
    """The line that says what a command waits for."""
    line = child.stderr.readline()
    assert "waits for another ingest" in line and "Ctrl-C" in line, line
    assert process is None or f"(process {process})" in line
    return line


def holds(store, child):
    """Waits until a child has the store's turn."""
    while (store / ".ingest").read_text() != str(child.pid):
        assert child.poll() is None


@pytest.fixture
def overlapping(tmp_path):
    """A store of another day, dumps of two days that overlap, each in a folder of its own, and both in one."""
    shared = [(NIGHT - second, 100 + second) for second in range(60, 0, -1)]
    first, second = [(5, 1), *shared], [*shared, (NIGHT + 7, 3)]
    dump(tmp_path / "before", 20, [(19 * NIGHT, 1)])
    mp.ingest(tmp_path / "before", tmp_path / "store")
    for folder in ("one", "both"):
        dump(tmp_path / folder, 1, first)
    for folder in ("two", "both"):
        dump(tmp_path / folder, 2, second)
    mp.ingest(tmp_path / "both", tmp_path / "whole")
    return tmp_path


# faults.md row 46
def test_two_ingests_at_once_count_every_trade_once(overlapping):
    store = overlapping / "store"
    with locked(store / ".changes"):  # an answer under way: nothing is put in its place until it is done
        one = start(overlapping / "one", store)
        holds(store, one)
        two = start(overlapping / "two", store)
        waits(two, one.pid)
    outputs = [child.communicate(timeout=60) for child in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0], outputs
    assert candles(store) == candles(overlapping / "whole")


# faults.md row 46
def test_a_killed_ingest_lets_the_next_one_go_on(overlapping):
    store = overlapping / "store"
    with locked(store / ".changes"):
        one = start(overlapping / "one", store)
        holds(store, one)
        two = start(overlapping / "two", store)
        waits(two, one.pid)
        one.kill()
        one.communicate(timeout=60)
    two.communicate(timeout=60)
    assert two.returncode == 0
    mp.ingest(overlapping / "one", store)
    assert candles(store) == candles(overlapping / "whole")


# faults.md row 45
def test_a_re_ingest_that_is_killed_at_any_moment_is_brought_to_its_end(tmp_path):
    """Three days that overlap, each time with other trades, while ingests of them die."""
    rng = random.Random(20241201)
    dumps, store, kills = tmp_path / "dumps", tmp_path / "store", 0
    for turn in range(4):
        edges = [NIGHT - 3, NIGHT + 3, 2 * NIGHT - 3, 2 * NIGHT + 3]
        chosen = {second: rng.randint(1, 99) for second in rng.sample(edges, rng.randint(1, 4))}
        for day in (1, 2, 3):
            own = [((day - 1) * NIGHT + 60 * minute, 100 + turn) for minute in range(1_000)]
            reach = range((day - 2) * NIGHT, (day + 1) * NIGHT)
            dump(dumps, day, own + [(second, price) for second, price in chosen.items() if second in reach])
        for _ in range(3):
            child = start(dumps, store)
            # Killed when so many of its files are there, or a moment later.
            seen = rng.randint(0, 5)
            placed = {path: path.stat().st_ino for path in store.rglob("part.parquet")}
            while child.poll() is None:
                now = {path: path.stat().st_ino for path in store.rglob("part.parquet")}
                if sum(placed.get(path) != inode for path, inode in now.items()) > seen:
                    break
            child.kill()
            child.communicate(timeout=60)
            kills += child.returncode == -signal.SIGKILL
        report = mp.ingest(dumps, store, allow_fewer_rows=True)
        assert not report.problems
        mp.ingest(dumps, tmp_path / f"whole-{turn}")
        assert candles(store) == candles(tmp_path / f"whole-{turn}")
    assert kills


def test_ctrl_c_ends_the_wait(overlapping, caplog):
    store = overlapping / "store"
    with locked(store / ".ingest", fcntl.LOCK_EX):
        child = start(overlapping / "one", store)
        waits(child)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        assert child.returncode not in (0, 1)
    assert not any("2024-12-01" in str(path) for path in store.rglob("*"))
    mp.ingest(overlapping / "one", store)  # nobody has to be asked
    assert not caplog.records


# faults.md row 47
@pytest.mark.parametrize(
    "place",
    [
        "candles_1m",
        "candles_1m/exchange=BYBIT",
        "candles_1m/exchange=BYBIT/symbol=BTCUSDT",
        "trades/exchange=BYBIT/symbol=BTCUSDT/date=2024-12-01",
        "candles_1m/exchange=BYBIT/symbol=BTCUSDT/date=2024-12-01/part.parquet",
        ".changes",
        ".gate",
        ".ingest",
    ],
)
def test_a_store_follows_no_link(tmp_path, place):
    store, outside = tmp_path / "store", tmp_path / "outside"
    dump(tmp_path / "dumps", 1, [(1, 100)])
    mp.ingest(tmp_path / "dumps", store)
    (store / place).rename(outside)
    (store / place).symlink_to(outside)

    def everything():
        return {path: path.read_bytes() for path in [outside, *outside.rglob("*")] if path.is_file()}

    before = everything()
    dump(tmp_path / "dumps", 1, [(1, 200), (2, 300)])
    dump(tmp_path / "dumps", 2, [(NIGHT + 1, 400)])
    with pytest.raises(mp.InvalidRequest, match=r"a link, and .* in its place") as caught:
        mp.ingest(tmp_path / "dumps", store)
    assert place in str(caught.value)
    assert everything() == before
    if place.startswith("candles"):
        with pytest.raises(mp.InvalidRequest, match="a link"):
            mp.LocalService(data=store, now=DAY + NIGHT)
    # The way back: what the link points to, in its place.
    (store / place).unlink()
    outside.rename(store / place)
    mp.ingest(tmp_path / "dumps", store)
    assert candles(store)[1] == [300.0, 400.0]


def test_a_store_may_lie_behind_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "disk")
    dump(tmp_path / "dumps", 1, [(1, 100)])
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert candles(tmp_path / "store")[1] == [100.0]


# faults.md row 47
@pytest.mark.parametrize(
    "place", [".gate", ".changes", ".ingest", "candles_1m/exchange=BYBIT/symbol=BTCUSDT/date=2024-12-01/part.parquet"]
)
def test_a_pipe_in_a_store_holds_up_nobody(tmp_path, place):
    store = tmp_path / "store"
    dump(tmp_path / "dumps", 1, [(1, 100)])
    mp.ingest(tmp_path / "dumps", store)
    (store / place).unlink()
    os.mkfifo(store / place)
    with pytest.raises(mp.InvalidRequest, match="file"):
        mp.ingest(tmp_path / "dumps", store)
    if place != ".ingest":
        (store / place).unlink()
        mp.ingest(tmp_path / "dumps", store)
        (store / place).unlink(missing_ok=True)
        os.mkfifo(store / place)
    if place.startswith("."):
        assert candles(store)[1] == [100.0]


# faults.md row 47
def test_what_is_no_file_among_the_dumps_is_reported_and_the_rest_is_taken(tmp_path):
    dumps = tmp_path / "dumps"
    dump(dumps, 1, [(1, 100)])
    market, options = dumps / "trades" / "BYBIT" / "BTCUSDT", "options_chain/DERIBIT/OPTIONS"
    for folder in (
        "token_supply",
        "markets",
        "positions/deep",
        "liquidations/BYBIT/X",
        options,
    ):
        (dumps / folder).mkdir(parents=True)
    wrong = [market / "2024-12-02.csv", dumps / "token_supply" / "BTC.csv", dumps / "positions" / "deep" / "a.csv.gz"]
    wrong += [dumps / "liquidations" / "BYBIT" / "X" / "2024-12-01.csv.gz"]
    for path in wrong:
        os.mkfifo(path)
    (market / "2024-12-03.csv").mkdir()
    (market / "2024-12-04.csv").symlink_to(tmp_path / "nothing")
    (dumps / "markets" / "round.csv").symlink_to(dumps / "markets" / "round.csv")
    (dumps / options / "2024-12-01.csv.gz").symlink_to("/dev/zero")
    (dumps / "derivative_ticker").write_text("a file in a folder's place")
    wrong += [market / "2024-12-03.csv", market / "2024-12-04.csv", dumps / "markets" / "round.csv"]
    wrong += [dumps / options / "2024-12-01.csv.gz", dumps / "derivative_ticker"]
    report = mp.ingest(dumps, tmp_path / "store")
    assert {problem.file for problem in report.problems} == {str(path) for path in wrong}
    assert (report.files, candles(tmp_path / "store")[1]) == (1, [100.0])


@contextmanager
def anybody(folder):
    """Who is not root, to whom nothing is closed; the folder and the way to it are open to everybody."""
    if os.geteuid() != 0:
        yield
        return
    for one in (folder, *folder.parents):
        if one != Path("/tmp"):
            one.chmod(one.stat().st_mode | 0o755)
        if one.parent == Path("/tmp"):
            break
    folder.chmod(0o777)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cannot_be_read_stops_nobody(tmp_path):
    dumps = tmp_path / "dumps"
    dump(dumps, 1, [(1, 100)])
    closed = dumps / "trades" / "AAA"
    closed.mkdir(mode=0)
    with anybody(tmp_path):
        report = mp.ingest(dumps, tmp_path / "store")
    closed.chmod(0o700)
    assert [problem.file for problem in report.problems] == [str(closed)]
    assert (report.files, "cannot be read" in report.problems[0].what) == (1, True)


def test_where_the_data_end_is_reported_as_it_is_now(tmp_path):
    dump(tmp_path / "dumps", 1, [(1, 100)])
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    window = {"start": DAY + 9 * NIGHT, "end": DAY + 10 * NIGHT}
    with mp.LocalService(data=tmp_path / "store", now=DAY + 30 * NIGHT) as service:
        assert service._service.data_end == DAY + NIGHT
        with service.client("unlimited") as client:
            assert "end on 2024-12-01" in client.candles("BYBIT", "BTCUSDT", "1h", **window).why_empty
            dump(tmp_path / "dumps", 5, [(4 * NIGHT, 100)])
            mp.ingest(tmp_path / "dumps", tmp_path / "store")
            assert service._service.data_end == DAY + 5 * NIGHT
            assert "end on 2024-12-05" in client.candles("BYBIT", "BTCUSDT", "1h", **window).why_empty


@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_a_budget_is_never_written_into_a_foreign_file(tmp_path, kind):
    (tmp_path / "notes").write_text("notes of mine")
    budget, spent = str(tmp_path / "budget"), "client.candles('BYBIT', 'X', '1h', start=0, end=3_600)"
    with scripted(lambda _: {"series": []}) as (url, _):

        def call():
            """As another process would: this one has its accounts at hand."""
            return run(f"""
                import marketpoints as mp
                try:
                    with mp.Client("key", {url!r}, budget={budget!r}, check_symbols=False) as client:
                        {spent}
                except mp.InvalidRequest as problem:
                    print(problem)
            """)

        assert not call()
        [account] = (tmp_path / "budget").iterdir()
        account.unlink()
        if kind == "link":
            account.symlink_to(tmp_path / "notes")
        else:
            os.link(tmp_path / "notes", account)
        output = call()
    assert (tmp_path / "notes").read_text() == "notes of mine"
    # A hard link is met when it is opened: the process goes on with its own view.
    assert ("is a link" in output and "in its place" in output) if kind == "link" else not output
