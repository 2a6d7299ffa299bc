"""A service that runs over a store while dumps are ingested into it."""

import threading
from pathlib import Path

import pytest

import marketpoints as mp

DAY = 1_733_011_200  # 2024-12-01
HEADER = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
NOW = DAY + 3 * 86_400


def dump(folder, day, price, *, symbol="BTCUSDT", exchange="BYBIT"):
    """A day of trades, one a minute, all at one price."""
    start = DAY + day * 86_400
    path = folder / "dumps" / "trades" / exchange / symbol / f"2024-12-{day + 1:02d}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"x,y,{start + minute * 60}000000,0,{minute},buy,{price},1" for minute in range(1_440)]
    path.write_text("\n".join([HEADER, *rows, ""]))


def ingest(folder):
    report = mp.ingest(folder / "dumps", folder / "store")
    assert report.problems == []
    return report


def closes(client, symbol="BTCUSDT", *, days=2, interval="1h"):
    return client.candles("BYBIT", symbol, interval, start=DAY, end=DAY + days * 86_400)["close"]


@pytest.fixture
def served(tmp_path):
    for day in range(2):
        dump(tmp_path, day, 100)
    ingest(tmp_path)
    with mp.LocalService(data=tmp_path / "store", now=NOW) as service, service.client("unlimited") as client:
        yield tmp_path, service, client


def test_a_service_answers_from_a_re_ingest_at_once(served):
    folder, service, client = served
    assert set(closes(client)) == {100.0}  # and keeps both days decoded
    dump(folder, 0, 200)
    ingest(folder)
    assert list(closes(client)) == [200.0] * 24 + [100.0] * 24
    # A day, a market and an exchange that were not there.
    dump(folder, 2, 300)
    dump(folder, 0, 7, symbol="AAVEUSDT")
    dump(folder, 0, 8, exchange="BINANCE")
    ingest(folder)
    assert closes(client, days=3)[-1] == 300.0
    # A client that has just looked up what there is asks the list again after a minute (docs/client.md).
    with service.client("unlimited") as other:
        assert set(closes(other, "AAVEUSDT", days=1)) == {7.0}
    assert {row.raw_symbol for row in client.markets()} == {"AAVEUSDT", "BTCUSDT"}
    assert set(client.exchanges()) == {"BINANCE", "BYBIT"}


def test_tables_are_seen_too(tmp_path):
    def supply(cap):
        path = tmp_path / "dumps" / "token_supply" / "all.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"coin,token_name,timestamp,marketcap\nLINK,Chainlink,{DAY}000000,{cap}\n")
        ingest(tmp_path)

    supply(1_000)
    with mp.LocalService(data=tmp_path / "store", now=NOW) as service, service.client("unlimited") as client:
        for cap in (1_000, 2_000):
            supply(cap)
            series = client.token_supply(coin="LINK", interval="1d", start=DAY, end=DAY + 86_400)
            assert list(series["marketcap"]) == [cap]


def test_no_answer_is_half_old_and_half_new(served):
    """A day is at one price, so an answer over a day that shows two prices met a change within."""
    folder, service, client = served
    done, seen, mixed = threading.Event(), set(), []

    def ask():
        with service.client("unlimited") as own:
            while not done.is_set():
                prices = own.candles("BYBIT", "BTCUSDT", "1h", start=DAY, end=DAY + 86_400)["close"]
                profile = own.volume_profile("BYBIT", "BTCUSDT", "1d", start=DAY, end=DAY + 86_400)
                levels = {float(price) for price in next(iter(profile)).prices}
                seen.add(float(prices[0]))
                if len(set(prices)) != 1 or len(levels) != 1:
                    mixed.append((set(prices), levels))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for price in range(200, 212):
            dump(folder, 0, price)
            ingest(folder)
            assert set(closes(client, days=1)) == {float(price)}
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert mixed == [] and len(seen) > 1


def test_while_a_change_is_under_way_the_service_serves_everything_else(served):
    """Answers wait for a file that is put in its place; connections, usage and timeouts do not."""
    fcntl = pytest.importorskip("fcntl")
    folder, service, client = served
    client.usage()  # the listing is known
    found, errors = [], []

    def ask():
        try:
            found.append(set(closes(client)))
        except mp.Error as error:
            errors.append(error)

    with Path(folder, "store", ".gate").open("r+b") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        askers = [threading.Thread(target=ask) for _ in range(6)]
        for asker in askers:
            asker.start()
        asked = {"timeout": 5, "retries": 0, "check_symbols": False}
        with service.client("unlimited", **asked) as other:
            for _ in range(20):
                other.usage()
            # A stream that subscribes waits as well, and holds up nobody.
            stream = other.stream([mp.Channel(type="TRADE", exchange="BYBIT", symbol="BTCUSDT")])
            opening = threading.Thread(target=stream.open)
            opening.start()
            for _ in range(20):
                other.usage()
            assert not found and all(asker.is_alive() for asker in askers)
            fcntl.flock(gate, fcntl.LOCK_UN)
            for thread in [*askers, opening]:
                thread.join(30)
            stream.close()
    assert found == [{100.0}] * 6 and not errors
