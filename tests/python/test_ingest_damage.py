"""Rows of dumps that cannot be, and stores that are damaged: reported, healed, never taken for an absence of data."""

import gzip
import json
import shutil
import urllib.error
import urllib.parse
import urllib.request

import pytest

import marketpoints as mp

DAY = 1_733_011_200  # 2024-12-01
HEADER = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"


def trade(second, price, amount):
    time = (DAY + second) * 1_000_000
    return f"bybit,X,{time},{time},1,buy,{price},{amount}"


def dump(root, symbol, rows, *, kind="trades", day="2024-12-01", header=HEADER):
    path = root / kind / "BYBIT" / symbol / f"{day}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join([header, *rows, ""]).encode()))


def ask(service, path, key="unlimited", **query):
    url = f"{service.url}{path}?{urllib.parse.urlencode(query, doseq=True)}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"X-Service-Key": service.keys[key]})) as got:
            return got.status, json.load(got)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_numbers_whose_sums_would_be_infinite_are_bad_rows(tmp_path):
    rows = [trade(1, "1e308", "1"), trade(2, "100", "1e308"), trade(3, "100", "2")]
    dump(tmp_path / "dumps", "BTCUSDT", rows)
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert [(problem.line, problem.column) for problem in report.problems] == [(2, "price"), (3, "amount")]
    assert report.rows == 1


def test_a_time_in_another_unit_is_reported(tmp_path):
    seconds = trade(5, 1, 1).replace(f"{DAY + 5}000000", f"{DAY + 5}")
    millis = trade(6, 1, 1).replace(f"{DAY + 6}000000", f"{DAY + 6}000")
    dump(tmp_path / "dumps", "BTCUSDT", [seconds, millis, trade(7, 1, 1)])
    messages = [problem.what for problem in mp.ingest(tmp_path / "dumps", tmp_path / "store").problems]
    assert "looks like seconds" in messages[0] and "looks like milliseconds" in messages[1]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (HEADER + ",price", 'the header has the column "price" twice'),
        (HEADER.replace("timestamp", "time", 1), 'no column "timestamp", it is "exchange,symbol,time,local_'),
        (",".join(f'"{name}"' for name in HEADER.split(",")), "(fields of these files are not quoted); needed are"),
    ],
)
def test_a_header_that_is_another_one_is_shown(tmp_path, header, words):
    dump(tmp_path / "dumps", "BTCUSDT", [trade(1, 100, 1)], header=header)
    (problem,) = mp.ingest(tmp_path / "dumps", tmp_path / "store").problems
    assert problem.line == 1 and words in problem.what


def test_an_exchange_that_clients_take_for_a_mistake_is_not_ingested(tmp_path):
    for exchange in ("bybit", "BYBITX", "MYVENUE"):
        path = tmp_path / "dumps" / "trades" / exchange / "BTCUSDT" / "2024-12-01.csv"
        path.parent.mkdir(parents=True)
        path.write_text(f"{HEADER}\n{trade(1, 100, 1)}\n")
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert report.files == 1
    assert [problem.file.rpartition("/")[2] for problem in report.problems] == ["BYBITX", "bybit"]
    assert all("did you mean BYBIT? Rename it" in problem.what for problem in report.problems)
    with mp.LocalService(tmp_path / "store", now="2024-12-02") as service, service.client("unlimited") as client:
        assert client.exchanges() == ["MYVENUE"]


def test_a_day_that_nanoseconds_cannot_hold_is_no_day(tmp_path):
    for day in ("0001-01-01", "2500-01-01", "2024-12-01"):
        dump(tmp_path / "dumps", "BTCUSDT", [trade(1, 100, 1)], day=day)
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (report.files, len(report.problems)) == (1, 2)


def test_a_token_twice_in_a_market_is_a_bad_row(tmp_path):
    folder = tmp_path / "dumps" / "markets"
    folder.mkdir(parents=True)
    header = "condition_id,question,outcomes,asset_ids,available_since"
    (folder / "m.csv").write_text(f"{header}\n0x{'a' * 64},Q?,Yes|No,11|11,1700000000\n")
    (problem, *_) = mp.ingest(tmp_path / "dumps", tmp_path / "store").problems
    assert problem.column == "asset_ids" and "twice" in problem.what


def test_a_damaged_file_takes_down_neither_the_listing_nor_other_markets(tmp_path):
    for symbol in ("BTCUSDT", "ETHUSDT"):
        dump(tmp_path / "dumps", symbol, [trade(second, 100, 1) for second in range(0, 3600, 10)])
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    damaged = next((tmp_path / "store" / "candles_1m").rglob("symbol=BTCUSDT/**/*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with mp.LocalService(data=tmp_path / "store", now=DAY + 7200) as service:
        status, listing = ask(service, "/v1/markets")
        assert status == 200
        assert sorted(row["rawSymbol"] for row in listing["symbols"]) == ["BTCUSDT", "ETHUSDT"]
        for path in ("/v1/symbols", "/v1/coins", "/v1/block-sizes"):
            assert ask(service, path, type="TRADE_SIDE_AGNOSTIC_AGG")[0] == 200
        candles = {
            "type": "TRADE_SIDE_AGNOSTIC_AGG",
            "exchange": "BYBIT",
            "interval": "HOUR",
            "from": DAY,
            "period": 3600,
        }
        assert ask(service, "/v1/points", rawSymbol="ETHUSDT", **candles)[0] == 200
        assert ask(service, "/v1/points", rawSymbol="BTCUSDT", **candles)[0] == 500
        # Who looks into the listing first does not say that there is no such market.
        with (
            service.client(retries=0) as client,
            pytest.raises(mp.ServerError, match=r"symbol=BTCUSDT.*ingest the dump again"),
        ):
            client.candles("BYBIT", "BTCUSDT", "1h", start=DAY, end=DAY + 3600)


# faults.md row 47
@pytest.mark.parametrize("what", ["file", "day", "market", "kind"])
def test_a_day_that_is_missing_is_no_day_without_trades(tmp_path, what):
    for symbol in ("BTCUSDT", "ETHUSDT"):
        dump(tmp_path / "dumps", symbol, [trade(second, 100, 1) for second in range(0, 3600, 10)])
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    day = tmp_path / "store" / "candles_1m" / "exchange=BYBIT" / "symbol=BTCUSDT" / "date=2024-12-01"
    if what == "file":
        (day / "part.parquet").unlink()
    else:
        shutil.rmtree({"day": day, "market": day.parent, "kind": day.parent.parent.parent}[what])
    with (
        mp.LocalService(data=tmp_path / "store", now=DAY + 7200) as service,
        service.client("unlimited", retries=0) as client,
    ):
        assert {row.raw_symbol for row in client.markets()} == {"BTCUSDT", "ETHUSDT"}
        with pytest.raises(mp.ServerError, match=r"date=2024-12-01.*is missing.*ingest the dump again.*\.files"):
            client.candles("BYBIT", "BTCUSDT", "1h", start=DAY, end=DAY + 3600)
        if what != "kind":
            assert len(client.candles("BYBIT", "ETHUSDT", "1h", start=DAY, end=DAY + 3600)["close"]) == 1
        # The running service answers when it is there again.
        report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
        assert report.files == (2 if what == "kind" else 1)
        assert len(client.candles("BYBIT", "BTCUSDT", "1h", start=DAY, end=DAY + 3600)["close"]) == 1


# faults.md row 47
def test_a_table_that_is_missing_is_reported(tmp_path):
    folder = tmp_path / "dumps" / "token_supply"
    folder.mkdir(parents=True)
    (folder / "all.csv").write_text(f"coin,token_name,timestamp,marketcap\nLINK,Chainlink,{DAY}000000,7\n")
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "token_supply")
    with pytest.raises(mp.Error, match=r"all\.csv.*is missing.*ingest the dump again"):
        mp.LocalService(data=tmp_path / "store")
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    mp.LocalService(data=tmp_path / "store", now=DAY).stop()


def test_a_store_of_an_earlier_version_learns_what_it_has_with_the_next_ingest(tmp_path):
    dump(tmp_path / "dumps", "BTCUSDT", [trade(1, 100, 1)])
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    files = tmp_path / "store" / ".files"
    known = sorted(files.read_text().splitlines())
    assert known == sorted(
        str(path.relative_to(tmp_path / "store")) for path in (tmp_path / "store").rglob("*.parquet")
    )
    files.unlink()
    assert mp.ingest(tmp_path / "dumps", tmp_path / "store").unchanged == 1
    assert sorted(files.read_text().splitlines()) == known


@pytest.mark.parametrize("damage", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", None])
@pytest.mark.parametrize("dataset", ["trades", "candles_1m"])
def test_a_second_ingest_heals_a_damaged_store(tmp_path, dataset, damage):
    header = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
    rows = [f"okex,A-USDT,17092512{second:02}000000,17092512{second:02}000009,1,buy,2.5,4" for second in range(60)]
    day = tmp_path / "dumps" / "trades" / "OKEX" / "A-USDT" / "2024-03-01.csv"
    day.parent.mkdir(parents=True)
    day.write_text("\n".join([header, *rows]) + "\n")
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    (file,) = (tmp_path / "store" / dataset).rglob("*.parquet")
    whole = file.read_bytes()
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(whole))
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (report.files, report.unchanged) == (1, 0)
    assert file.read_bytes() == whole
    assert mp.ingest(tmp_path / "dumps", tmp_path / "store").unchanged == 1
