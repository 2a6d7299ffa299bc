"""The road from raw dumps to arrays equals an independent computation: over raw HTTP and through the client.

Runs on the real dumps where they are at hand and on made ones everywhere.
"""

import json
import urllib.request

import numpy as np
import pytest

import marketpoints as mp
from support import independent
from support.dumps import make_book, make_trades, write_dump

INTERVALS = ["MINUTE", "FIVE_MINUTES", "HOUR", "FOUR_HOURS", "DAY"]


@pytest.fixture(scope="module", params=["made", "real"])
def dumps(request, tmp_path_factory, shared):
    """(dumps folder, (exchange, symbol) of the trades, (exchange, symbol) of the book, block sizes)."""
    if request.param == "real":
        if shared is None:
            pytest.skip("the real dumps are not at hand")
        return shared / "data", ("BINANCE", "XRPETH"), ("BYBIT", "XRPUSDT"), ["0.0001", "0.001", "0.05"]
    folder = tmp_path_factory.mktemp("dumps")
    make_trades(folder, "OKEX", "ABC-USDT", seed=3)
    make_book(folder, "OKEX_SWAP", "ABC-USDT-SWAP", seed=4)
    return folder, ("OKEX", "ABC-USDT"), ("OKEX_SWAP", "ABC-USDT-SWAP"), ["0.01", "0.07", "0.5"]


@pytest.fixture(scope="module")
def store(dumps, tmp_path_factory):
    path = tmp_path_factory.mktemp("store")
    report = mp.ingest(dumps[0], path)
    assert report.problems == []
    return path


def trade_folder(dumps):
    exchange, symbol = dumps[1]
    return dumps[0] / "trades" / exchange / symbol


def book_file(dumps):
    exchange, symbol = dumps[2]
    (path,) = (dumps[0] / "incremental_book_L2" / exchange / symbol).iterdir()
    return path


@pytest.fixture(scope="module")
def twin(store, dumps):
    """The local service as of one day after the last of the data."""
    last = max(independent.trades(trade_folder(dumps))[-1][0] // 1_000_000, max(independent.books(book_file(dumps))))
    with mp.LocalService(data=store, now=last + 86_400) as service:
        yield service


def get(service, query, key="unlimited"):
    request = urllib.request.Request(f"{service.url}/v1/points?{query}", headers={"X-Service-Key": service.keys[key]})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def window(found):
    return min(found), max(found) + 7 * 86_400 - min(found)


def seconds(stamp):
    return stamp["s"], stamp.get("ns", 0)


def close_to(value, expected):
    return abs(value - expected) <= 1e-12 * max(1.0, abs(expected))


@pytest.mark.parametrize("interval", INTERVALS)
def test_candles_over_raw_http(dumps, twin, interval):
    exchange, symbol = dumps[1]
    expected = independent.candles(independent.trades(trade_folder(dumps)), independent.SECONDS[interval])
    start, period = window(expected)
    select = f"exchange={exchange}&rawSymbol={symbol}&interval={interval}&from={start}&period={period}"
    (series,) = json.loads(get(twin, f"type=TRADE_SIDE_AGNOSTIC_AGG&{select}"))["series"]
    points = {point["Point"]["timestamp"]["s"]: point["Point"] for point in series["points"]}
    assert list(points) == list(expected)
    for bucket, candle in expected.items():
        point = points[bucket]
        assert [point[name] for name in ("open", "high", "low", "close")] == [
            candle[name] for name in ("open", "high", "low", "close")
        ]
        assert close_to(point["volume"], candle["volume"])
        assert seconds(point["firstTimestamp"]) == (candle["first_us"] // 10**6, candle["first_us"] % 10**6 * 1000)
        assert seconds(point["lastTimestamp"]) == (candle["last_us"] // 10**6, candle["last_us"] % 10**6 * 1000)


@pytest.mark.parametrize("interval", INTERVALS)
def test_both_sides_over_raw_http(dumps, twin, interval):
    exchange, symbol = dumps[1]
    expected = independent.candles(independent.trades(trade_folder(dumps)), independent.SECONDS[interval])
    start, period = window(expected)
    select = f"exchange={exchange}&rawSymbol={symbol}&interval={interval}&from={start}&period={period}"
    answer = json.loads(get(twin, f"type=TRADE_AGG&{select}"))["series"]
    assert sorted(series["id"]["side"] for series in answer) == ["BUY", "SELL"]
    for series in answer:
        side = series["id"]["side"]
        points = {point["Point"]["timestamp"]["s"]: point["Point"] for point in series["points"]}
        assert list(points) == list(expected)
        for bucket, candle in expected.items():
            point = points[bucket]
            assert ("volume" in point) == (candle[side] != 0)  # an omitted volume is a zero
            assert close_to(point.get("volume", 0.0), candle[side])
            assert [point["open"], point["close"]] == [candle["open"], candle["close"]]
            assert [point["high"], point["low"]] == [candle["high"], candle["low"]]


@pytest.mark.parametrize("interval", INTERVALS)
def test_candles_through_the_client(dumps, twin, interval):
    exchange, symbol = dumps[1]
    expected = independent.candles(independent.trades(trade_folder(dumps)), independent.SECONDS[interval])
    start, period = window(expected)
    with twin.client(tier="unlimited") as client:
        candles = client.candles(exchange, symbol, interval, start=start, period=period)
        sides = client.side_candles(exchange, symbol, interval, start=start, period=period)
    assert candles.timestamps.astype("datetime64[s]").astype(int).tolist() == list(expected)
    for name in ("open", "high", "low", "close"):
        assert candles[name].tolist() == [candle[name] for candle in expected.values()]
    np.testing.assert_allclose(candles["volume"], [c["volume"] for c in expected.values()], rtol=1e-12, atol=0)
    first = candles["first_timestamp"].astype("datetime64[us]").astype(int)
    last = candles["last_timestamp"].astype("datetime64[us]").astype(int)
    assert first.tolist() == [candle["first_us"] for candle in expected.values()]
    assert last.tolist() == [candle["last_us"] for candle in expected.values()]
    for side in ("BUY", "SELL"):
        volumes = sides.sel(side=side)["volume"]
        np.testing.assert_allclose(volumes, [c[side] for c in expected.values()], rtol=1e-12, atol=1e-300)


def test_a_split_plan_brings_what_one_request_brings(dumps, twin):
    exchange, symbol = dumps[1]
    expected = independent.candles(independent.trades(trade_folder(dumps)), 60)
    start, period = window(expected)
    # More minutes than one request may hold before and after the data.
    window_of = {"start": start - 80 * 86_400, "period": 80 * 86_400 + period}
    with twin.client(tier="unlimited") as client:
        plan = client.plan("TRADE_SIDE_AGNOSTIC_AGG", exchange, symbol, "1m", **window_of)
        assert plan.weight == sum(request.weight for request in plan.requests)
        assert len(plan.requests) > 1
        whole = client.candles(exchange, symbol, "1m", **window_of)
    assert whole["close"].tolist() == [candle["close"] for candle in expected.values()]


def test_the_forming_bucket_sees_nothing_of_the_future(dumps, store):
    exchange, symbol = dumps[1]
    everything = independent.trades(trade_folder(dumps))
    quiet = [i for i in range(1, len(everything)) if everything[i][0] - everything[i - 1][0] > 30_000_000]
    for index in (quiet[len(quiet) // 3], quiet[len(quiet) // 2]):
        now_us = everything[index - 1][0] + 1  # the service's clock runs on: no trade follows for half a minute
        known = [trade for trade in everything if trade[0] <= now_us]
        expected = independent.candles(known, 3600)
        start = min(expected)
        with mp.LocalService(data=store, now=now_us / 1e6) as service:
            select = f"exchange={exchange}&rawSymbol={symbol}&interval=HOUR&from={start}&period={30 * 86_400}"
            (series,) = json.loads(get(service, f"type=TRADE_SIDE_AGNOSTIC_AGG&{select}"))["series"]
            newest = series["points"][-1]["Point"]
            bucket = newest["timestamp"]["s"]
            assert bucket == max(expected)
            assert newest["close"] == expected[bucket]["close"]
            assert newest["high"] == expected[bucket]["high"]
            assert close_to(newest["volume"], expected[bucket]["volume"])
            with service.client(tier="unlimited") as client:
                closed = client.candles(exchange, symbol, "1h", start=start, period=30 * 86_400)
                forming = client.candles(exchange, symbol, "1h", start=start, period=30 * 86_400, include_forming=True)
            assert forming["close"].tolist() == [candle["close"] for candle in expected.values()]
            assert closed.timestamps.tolist() == forming.timestamps.tolist()[:-1]


def test_gapfill_repeats_the_last_close(dumps, twin):
    exchange, symbol = dumps[1]
    expected = independent.candles(independent.trades(trade_folder(dumps)), 60)
    start, end = min(expected), max(expected) + 60
    with twin.client(tier="unlimited") as client:
        filled = client.candles(exchange, symbol, "1m", start=start, end=end, gapfill=True)
        middle = list(expected)[len(expected) // 2] + 60
        late = client.candles(exchange, symbol, "1m", start=middle, end=end, gapfill=True)
    times = filled.timestamps.astype("datetime64[s]").astype(int)
    assert times.tolist() == list(range(start, end, 60))
    close = None
    for row, bucket in enumerate(times.tolist()):
        candle = expected.get(bucket)
        close = close if candle is None else candle["close"]
        assert filled["close"][row] == close
        if candle is None:
            assert filled["open"][row] == filled["high"][row] == filled["low"][row] == close
            assert filled["volume"][row] == 0
            assert np.isnat(filled["first_timestamp"][row])
    # A window that starts in a gap is filled from the close before it: a split query equals an unsplit one.
    assert late["close"].tolist() == filled["close"][times >= middle].tolist()


def test_newest_first_is_the_same_the_other_way_round(dumps, twin):
    exchange, symbol = dumps[1]
    start = independent.trades(trade_folder(dumps))[0][0] // 1_000_000
    select = f"type=TRADE_SIDE_AGNOSTIC_AGG&exchange={exchange}&rawSymbol={symbol}&interval=HOUR&from={start}"
    up = json.loads(get(twin, f"{select}&period=400000"))["series"][0]["points"]
    down = json.loads(get(twin, f"{select}&period=400000&sortDirection=SORT_DIRECTION_DESC"))["series"][0]["points"]
    assert up == down[::-1]
    assert len(up) > 20


def test_usd_volume_is_price_times_amount(dumps, twin):
    exchange, symbol = dumps[1]
    expected = independent.candles(independent.trades(trade_folder(dumps)), 3600)
    start, period = window(expected)
    with twin.client(tier="unlimited") as client:
        if not symbol.endswith("USDT"):  # the store has no rate of this quote in USD
            with pytest.raises(mp.InvalidRequest, match="no rate of ETH in USD"):
                client.candles(exchange, symbol, "1h", start=start, period=period, usd=True)
            return
        usd = client.candles(exchange, symbol, "1h", start=start, period=period, usd=True)
    np.testing.assert_allclose(usd["volume"], [c["quote_volume"] for c in expected.values()], rtol=1e-12)


def test_a_market_with_a_book_alone_has_a_block_size(dumps, twin):
    exchange, symbol = dumps[2]
    books = independent.books(book_file(dumps))
    prices = [price for book in books.values() for side in book.values() for price in side]
    tick = 10.0 ** -max(-price.normalize().as_tuple().exponent for price in prices)
    last = books[max(books)]
    reach = float(max(last["bid"]) + min(last["ask"])) / 2 * 0.1 / 3500  # a tenth of the price in 3500 blocks
    sizes = [digit * tick * 10**power for power in range(9) for digit in (1, 2, 5)]
    expected = min(sizes, key=lambda size: max(size / reach, reach / size))
    with twin.client(tier="unlimited") as client:
        (size,) = client.block_sizes(type="BLOCK_BOOK_SNAPSHOT_AGG", exchange=exchange, raw_symbol=symbol)
        assert size == pytest.approx(expected, rel=1e-12)
        window = {"start": min(books), "period": max(books) + 60 - min(books), "block_size": size}
        assert len(client.orderbook_heatmap(exchange, symbol, "1m", **window).only) == len(books)


@pytest.mark.parametrize("depth", [3500, 40, 1])
def test_heatmaps_level_for_level(dumps, twin, depth):
    exchange, symbol = dumps[2]
    books = independent.books(book_file(dumps))
    start, period = min(books), max(books) + 60 - min(books)
    for block in dumps[3]:
        select = (
            f"type=BLOCK_BOOK_SNAPSHOT_AGG&exchange={exchange}&rawSymbol={symbol}&interval=MINUTE"
            f"&from={start}&period={period}&blockSize={block}&maxDepth={depth}"
        )
        nested = json.loads(get(twin, select))["series"][0]["points"]
        flat = json.loads(get(twin, f"{select}&flatten=true"))["series"][0]["flat_points"]
        assert [point["Point"]["timestamp"]["s"] for point in nested] == list(books)
        place = 0
        for point, book in zip(nested, books.values(), strict=True):
            sides = independent.bucketed(book, block, depth)
            bids = point["Point"].get("bids", [])
            asks = point["Point"].get("asks", [])
            assert bids[0::2] == [price for price, _ in sides["bid"][::-1]]  # closest first: prices descend
            assert asks[0::2] == [price for price, _ in sides["ask"]]
            np.testing.assert_allclose(bids[1::2], [volume for _, volume in sides["bid"][::-1]], rtol=1e-12)
            np.testing.assert_allclose(asks[1::2], [volume for _, volume in sides["ask"]], rtol=1e-12)
            levels = flat[place]
            assert levels == (len(bids) + len(asks)) // 2
            assert flat[place + 1] == point["Point"]["timestamp"]["s"] * 1_000_000
            pairs = flat[place + 2 : place + 2 + 2 * int(levels)]
            ascending = [bids[i : i + 2] for i in range(len(bids) - 2, -1, -2)]
            ascending += [asks[i : i + 2] for i in range(0, len(asks), 2)]
            ascending.sort(key=lambda pair: pair[0])
            assert sorted(pairs[0::2]) == [price for price, _ in ascending]
            place += 2 + 2 * int(levels)
        assert place == len(flat)


def test_heatmaps_through_the_client(dumps, twin):
    exchange, symbol = dumps[2]
    block = dumps[3][0]
    books = independent.books(book_file(dumps))
    start, end = min(books), max(books) + 60
    with twin.client(tier="unlimited") as client:
        heatmap = client.orderbook_heatmap(exchange, symbol, "1m", start=start, end=end, block_size=float(block))
        flat_body = get(
            twin,
            f"type=BLOCK_BOOK_SNAPSHOT_AGG&exchange={exchange}&rawSymbol={symbol}&interval=MINUTE"
            f"&from={start}&period={end - start}&blockSize={block}&flatten=true",
        )
    flat = mp.decode_points(flat_body)[0]
    (nested,) = heatmap
    assert np.array_equal(nested.levels, flat.levels)
    assert np.array_equal(nested.offsets, flat.offsets)
    assert flat.split.tolist() == [-1] * len(books)
    for index, book in enumerate(books.values()):
        sides = independent.bucketed(book, block, 3500)
        expected = sides["bid"] + sides["ask"]
        assert nested.snapshot(index)[:, 0].tolist() == [price for price, _ in expected]
        assert nested.split[index] == len(sides["bid"])
        np.testing.assert_allclose(nested.snapshot(index)[:, 1], [volume for _, volume in expected], rtol=1e-12)


def test_an_hour_holds_the_last_book_of_the_hour(dumps, twin):
    exchange, symbol = dumps[2]
    block = dumps[3][0]
    books = independent.books(book_file(dumps))
    start = min(books) // 3600 * 3600
    with twin.client(tier="unlimited") as client:
        hour = client.orderbook_heatmap(exchange, symbol, "1h", start=start, period=3600, block_size=float(block))
    last = independent.bucketed(books[max(books)], block, 3500)
    assert hour[0].timestamps.astype("datetime64[s]").astype(int).tolist() == [start]
    assert hour[0].snapshot(0)[:, 0].tolist() == [price for price, _ in last["bid"] + last["ask"]]


def test_a_second_ingest_changes_nothing(dumps, store):
    def state():
        return {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}

    before = state()
    report = mp.ingest(dumps[0], store)
    assert (report.files, report.unchanged) == (0, 0) or report.unchanged > 0
    assert state() == before


def test_bad_rows_are_reported_with_their_line_and_do_not_stop_the_rest(tmp_path):
    header = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
    good = "okex,A-USDT,1709251200000000,1709251200000009,1,buy,2.5,4"
    lines = [good, good.replace("2.5", "nonsense"), good.replace("buy", "up"), good.replace("2.5", "-1"), "short,row"]
    write_dump(tmp_path / "dumps/trades/OKEX/A-USDT/2024-03-01.csv", header, [*lines, good.replace("2.5", "3")])
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert sorted(problem[1] for problem in report.problems) == [3, 4, 5, 6]
    assert all("2024-03-01.csv" in problem[0] for problem in report.problems)
    with mp.LocalService(data=tmp_path / "store", now=1_709_300_000) as service, service.client() as client:
        candle = client.candles("OKEX", "A-USDT", "1d", start="2024-03-01", period=86_400, include_forming=True)
    assert (candle["open"][0], candle["close"][0], candle["volume"][0]) == (2.5, 3.0, 8.0)


# faults.md row 47
def test_a_truncated_dump_is_not_taken_for_a_whole_one(tmp_path):
    make_trades(tmp_path / "dumps", "OKEX", "ABC-USDT", seed=1)
    path = tmp_path / "dumps/trades/OKEX/ABC-USDT/2024-03-02.csv.gz"
    path.write_bytes(path.read_bytes()[:-2000])
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert any("2024-03-02" in problem[0] for problem in report.problems)
    with mp.LocalService(data=tmp_path / "store", now=1_709_500_000) as service, service.client("unlimited") as client:
        days = client.candles("OKEX", "ABC-USDT", "1d", start="2024-03-01", end="2024-03-04")
    assert days.timestamps.astype("datetime64[D]").astype(str).tolist() == ["2024-03-01"]
