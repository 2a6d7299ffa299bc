"""Book snapshots, option chains and token supply: from dumps over a store to arrays, against plain computations."""

import itertools
import json
import re
import signal
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

import marketpoints as mp
from support import independent
from support.dumps import DAY, START, SUPPLY_FIELDS, make_chain, make_snapshots, make_supply, write_dump


def get(service, path, key="unlimited"):
    request = urllib.request.Request(f"{service.url}/v1/{path}", headers={"X-Service-Key": service.keys[key]})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# Book snapshots.


@pytest.mark.parametrize("depth", [25, 5])
def test_snapshots_make_the_heatmap(tmp_path, depth):
    path = make_snapshots(tmp_path / "dumps", depth, seed=depth)
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (report.problems, report.files) == ([], 1)
    books = independent.snapshots(path, depth)
    assert 5 < len(books) < 15
    assert any(not side for book in books.values() for side in book.values())
    query = "points?type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=XRPUSDT"
    with mp.LocalService(data=tmp_path / "store", now=START + 86_400) as service:
        for block, most in (("0.01", 3500), ("0.07", 4)):
            select = f"{query}&interval=MINUTE&from={START}&period=1800&blockSize={block}&maxDepth={most}"
            points = [point["Point"] for point in get(service, select)["series"][0]["points"]]
            assert [point["timestamp"]["s"] for point in points] == list(books)
            for point, book in zip(points, books.values(), strict=True):
                sides = independent.bucketed({side: levels or {} for side, levels in book.items()}, block, most)
                bids, asks = point.get("bids", []), point.get("asks", [])
                assert bids[0::2] == [price for price, _ in sides["bid"][::-1]]
                assert asks[0::2] == [price for price, _ in sides["ask"]]
                np.testing.assert_allclose(bids[1::2], [volume for _, volume in sides["bid"][::-1]], rtol=1e-12)
                np.testing.assert_allclose(asks[1::2], [volume for _, volume in sides["ask"]], rtol=1e-12)
        with service.client("unlimited") as client:
            hour = client.orderbook_heatmap("BYBIT", "XRPUSDT", "1h", start=START, period=3600, block_size=0.01)
        last = independent.bucketed(books[max(books)], "0.01", 3500)
        assert hour[0].snapshot(0)[:, 0].tolist() == [price for price, _ in last["bid"] + last["ask"]]
    # The forming minute holds the last snapshot up to now, to the row.
    times = sorted(int(row["timestamp"]) for row in independent.rows(path))
    now = next(time for time, later in itertools.pairwise(times) if later - time > 5_000_000 and time > times[9])
    with mp.LocalService(data=tmp_path / "store", now=now / 1e6) as service:
        select = f"{query}&interval=MINUTE&from={START}&period=1800&blockSize=0.01"
        point = get(service, select)["series"][0]["points"][-1]["Point"]
    known = independent.snapshots(path, depth, until_us=now)
    sides = independent.bucketed(known[max(known)], "0.01", 3500)
    assert point["timestamp"]["s"] == max(known)
    assert point.get("asks", [])[0::2] == [price for price, _ in sides["ask"]]
    assert point.get("bids", [])[0::2] == [price for price, _ in sides["bid"][::-1]]


# Option chains.


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """(store, rows of the dump)."""
    folder = tmp_path_factory.mktemp("chain")
    quotes = make_chain(folder / "dumps", seed=6)
    report = mp.ingest(folder / "dumps", folder / "store")
    assert (report.problems, report.files, report.rows) == ([], 1, len(quotes))
    return folder / "store", quotes


KINDS = {"IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG": ("ATM", 0), "SKEW_OPTION_SUMMARY_AGG": ("25", 1)}


@pytest.mark.parametrize("root", ["BTC", "SOL_USDC"])
def test_option_summaries_equal_a_plain_computation(chain, root):
    store, quotes = chain
    coin = root.split("_")[0]
    minutes = [START + 60 * minute for minute in (*range(0, 200, 9), 65, 66, 67, 68, 69, 70, 1439)]
    seen = 0
    with mp.LocalService(data=store, now=START + 2 * 86_400) as service:
        for tenor in independent.TENOR_DAYS:
            expected = {at: independent.option_summary(quotes, root, at, tenor) for at in minutes}
            for name, (suffix, place) in KINDS.items():
                select = f"points?type={name}&exchange=DERIBIT&coin={coin}&rawSymbol={root}_{suffix}&tenor={tenor}"
                answer = get(service, f"{select}&interval=MINUTE&from={START}&period=86400")
                series = answer.get("series", [{"points": []}])[0]
                field = "skew" if place else "impliedVolatility"
                values = {point["Point"]["timestamp"]["s"]: point["Point"][field] for point in series["points"]}
                for at in minutes:
                    wanted = expected[at][place]
                    assert (at in values) == (wanted is not None), (root, tenor, name, at - START)
                    if wanted is not None:
                        assert values[at] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
                        seen += 1
                if values:
                    hours = get(service, f"{select}&interval=HOUR&from={START}&period=86400")["series"][0]
                    last = {}
                    for at, value in values.items():
                        last[at // 3600 * 3600] = value
                    assert {p["Point"]["timestamp"]["s"]: p["Point"][field] for p in hours["points"]} == last
                    identity = {key: hours["id"][key] for key in ("category", "normalizedSymbol", "coin", "tenor")}
                    assert identity == {"category": "OPTION", "normalizedSymbol": coin, "coin": coin, "tenor": tenor}
    assert seen > 60


def test_tenors_that_expiries_do_not_reach_around_are_not_listed(chain):
    store, quotes = chain
    with mp.LocalService(data=store, now=START + 86_400) as service, service.client("unlimited") as client:
        available = {
            (market.raw_symbol, market.tenor): market.available_since
            for market in client.markets(exchange="DERIBIT", limit=100)
        }
        tenors = list(independent.TENOR_DAYS)
        expected = {(f"BTC_{kind}", tenor) for kind in ("ATM", "25") for tenor in tenors}
        # Expiries of 5, 33 and 70 days do not reach around 90.
        expected |= {(f"SOL_USDC_{kind}", tenor) for kind in ("ATM", "25") for tenor in tenors[:3]}
        assert set(available) == expected
        for (symbol, tenor), since in available.items():
            root, kind = symbol.rsplit("_", 1)
            place = kind == "25"
            first = int(since.astype("datetime64[s]").astype(int))
            assert independent.option_summary(quotes, root, first, tenor)[place] is not None
            assert first == START or independent.option_summary(quotes, root, first - 60, tenor)[place] is None
        assert get(service, "tenors?type=SKEW_OPTION_SUMMARY_AGG&coin=BTC") == {"tenors": tenors}
        assert get(service, "tenors?coin=SOL") == {"tenors": tenors[:3]}
        symbols = get(service, "symbols?type=IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG")
        assert symbols == {"rawSymbols": ["BTC_ATM", "SOL_USDC_ATM"]}
        assert get(service, "categories?exchange=DERIBIT") == {"categories": ["OPTION"]}


def test_a_reading_sees_nothing_of_the_future(chain):
    store, quotes = chain
    now = START + 3_600 + 1_830
    with mp.LocalService(data=store, now=now) as service, service.client() as client:
        forming = client.implied_volatility(
            "DERIBIT", "BTC_ATM", "1h", tenor="ONE_M", coin="BTC", start=START, period=7200, include_forming=True
        )
        skew = client.skew("DERIBIT", "BTC_25", "1d", tenor="ONE_M", coin="BTC", period=86_400, include_forming=True)
    known = [row for row in quotes if int(row["timestamp"]) <= now * 10**6]
    expected = independent.option_summary(known, "BTC", now // 60 * 60, "ONE_M")
    assert forming.timestamps.astype("datetime64[s]").astype(int).tolist() == [START, START + 3600]
    assert forming["implied_volatility"][-1] == pytest.approx(expected[0], rel=1e-9)
    assert skew["skew"][-1] == pytest.approx(expected[1], rel=1e-9)


# Token supply.


def test_token_supply_is_carried_forward(tmp_path):
    table = make_supply(tmp_path / "dumps" / "token_supply" / "2024" / "march.csv.gz")
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (report.problems, report.files, report.rows) == ([], 1, 18)
    now = START + 6 * 86_400 + 7_000
    with mp.LocalService(data=tmp_path / "store", now=now) as service:
        for coin in ("BTC", "LINK"):
            for interval, seconds in (("HOUR", 3_600), ("DAY", 86_400)):
                starts = range(START - 86_400, now + 1, seconds)
                expected = independent.supply(table, coin, starts, seconds, now)
                select = f"points?type=TOKEN_SUPPLY_AGG&coin={coin}&interval={interval}"
                window = f"from={START - 86_400}&period={12 * 86_400}"
                (series,) = get(service, f"{select}&{window}", "unlimited")["series"]
                points = [point["Point"] for point in series["points"]]
                rows = [(start, row) for start, of in expected.items() for row in of]
                assert [point["timestamp"]["s"] for point in points] == [start for start, _ in rows]
                for point, (_, row) in zip(points, rows, strict=True):
                    for column, field in SUPPLY_FIELDS.items():
                        wanted = row[column]
                        if column == "first_marketcap" and not wanted:
                            wanted = "1e12"  # what the first snapshot of the file says
                        if column in ("chain", "contract_address"):
                            assert point.get(field, "") == wanted
                        else:
                            assert point.get(field) == (float(wanted) if wanted else None), column
                assert series["id"]["coin"] == coin
        with service.client() as client:
            named = client.token_supply(
                interval="1d", coin="BTC", token_name="bitcoin, THE coin", start=START, period=3 * 86_400
            )
            assert named["marketcap_dominance_percent"].tolist() == [50, 50.125, 50.25]
            wrong = client.token_supply(interval="1d", coin="BTC", token_name="Other", start=START, period=86_400)
            assert wrong["marketcap"].size == 0
        assert get(service, "coins?type=TOKEN_SUPPLY_AGG") == {"coins": ["BTC", "LINK"]}


def test_a_store_of_tables_alone_is_a_store_and_a_second_ingest_changes_nothing(tmp_path):
    make_supply(tmp_path / "dumps" / "token_supply" / "all.csv")
    make_chain(tmp_path / "dumps", seed=1)
    make_snapshots(tmp_path / "dumps", 5, seed=2)
    first = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    before = contents(tmp_path / "store")
    second = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (first.files, second.files, second.unchanged, second.rows) == (3, 0, 3, 0)
    assert contents(tmp_path / "store") == before


def test_the_examples_of_the_manual_are_rows_that_are_taken(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "dumps.md").read_text()
    taken = 0
    for titles, block in re.findall(r"^## (\S[^\n]*)\n```\n(.*?)```", page, re.MULTILINE | re.DOTALL):
        header, row = block.splitlines()
        if "…" in row:
            continue  # shortened
        stamp = int(row.split(",")[header.split(",").index("timestamp")])
        day = datetime.fromtimestamp(stamp / 1e6, timezone.utc).date()
        for kind in titles.split(", "):
            symbol = "OPTIONS" if kind == "options_chain" else "X"
            path = "a.csv" if kind == "token_supply" else f"EXCHANGE/{symbol}/{day}.csv"
            write_dump(tmp_path / "dumps" / kind / path, header, [row])
            taken += 1
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (report.problems, report.files, taken) == ([], taken, 6)


def test_ctrl_c_ends_an_ingest_within_a_file(tmp_path):
    row = f"okex,A-USDT,{START}000000,{START}000009,1,buy,2.5,4"
    header = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
    write_dump(tmp_path / "dumps" / "trades" / "OKEX" / "A-USDT" / f"{DAY}.csv", header, [row] * 2_000_000)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)  # reading alone takes longer
    try:
        with pytest.raises(KeyboardInterrupt):
            mp.ingest(tmp_path / "dumps", tmp_path / "store")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert {path.name for path in contents(tmp_path / "store")} <= {".ingest"}
    assert mp.ingest(tmp_path / "dumps", tmp_path / "store").rows == 2_000_000


def test_a_problem_names_file_line_and_column(tmp_path):
    path = tmp_path / "dumps" / "token_supply" / "a.csv"
    write_dump(path, "coin,token_name,timestamp,marketcap", ["BTC,Bitcoin,1709251200,1e12"])
    (problem, nothing) = mp.ingest(tmp_path / "dumps", tmp_path / "store").problems
    assert (problem.file, problem.line, problem.column) == (str(path), 2, "timestamp")
    assert "microseconds" in problem.what
    assert str(problem).startswith(f"{path}:2: timestamp 1709251200 is not in microseconds")
    assert "no good row" in nothing.what
