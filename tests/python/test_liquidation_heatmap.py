"""The liquidation heatmap from dumps, and from the demo, to arrays and pictures: against a plain computation."""

import json
import random
import urllib.error
import urllib.request
from fractions import Fraction

import numpy as np
import pytest

import marketpoints as mp
from support import independent

START = 1_733_011_200  # 2024-12-01 00:00 UTC
HEADER = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
VENUES = {"BINANCE_FUTURES": "XRPUSDT", "BYBIT": "XRPUSDT", "OKEX_FUTURES": "XRP-USDT-241227"}
INTERVALS = ["MINUTE", "FIVE_MINUTES", "HOUR", "DAY"]


def make(folder, exchange, symbol, seed, start_price):
    """Two days of forced orders that come in bursts, as they do; the price falls by half and comes back."""
    rng = random.Random(seed)
    price, number = start_price, 0
    for day in range(2):
        lines, time = [], START + 86_400 * day
        while time < START + 86_400 * (day + 1):
            for _ in range(rng.choice([1, 1, 2, 9])):
                price = min(max(price * rng.choice([0.97, 0.999, 1.001, 1.02]), start_price / 2), start_price * 2)
                side, amount = rng.choice(["buy", "sell", "sell"]), rng.choice(["0.000001", "250", "17.25", "3"])
                at = f"{time}{number % 1_000_000:06}"
                lines.append(f"x,y,{at},{at},{number},{side},{price:.4f},{amount}")
                number += 1
            time += rng.choice([1, 40, 600, 7_000])
        path = folder / "liquidations" / exchange / symbol / f"2024-12-0{day + 1}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([HEADER, *sorted(lines, key=lambda line: int(line.split(",")[2]))]) + "\n")


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps")
    for seed, (exchange, symbol) in enumerate(VENUES.items()):
        make(folder, exchange, symbol, seed, start_price=1.9)
    # Trades tell the step on which a market's prices lie: here a coarse one.
    trades = folder / "trades" / "BYBIT" / "XRPUSDT" / "2024-12-01.csv"
    trades.parent.mkdir(parents=True)
    trades.write_text(f"{HEADER}\nx,y,{START}000000,{START}000000,1,buy,1.95,3\nx,y,{START}000001,1,2,sell,2.0,3\n")
    return folder


@pytest.fixture(scope="module")
def store(dumps, tmp_path_factory):
    path = tmp_path_factory.mktemp("store")
    assert mp.ingest(dumps, path).problems == []
    return path


@pytest.fixture(scope="module")
def twin(store):
    with mp.LocalService(data=store, now=START + 3 * 86_400) as service:
        yield service


def expected(dumps, exchanges, seconds, **settings):
    folders = [dumps / "liquidations" / exchange / VENUES[exchange] for exchange in exchanges]
    ticks = [independent.tick(["1.95", "2.0"])] if "BYBIT" in exchanges else []
    return independent.liquidation_heatmap(folders, seconds, ticks=ticks, **settings)


def ask(service, query, key="unlimited"):
    """Status and decoded body of /v1/points."""
    request = urllib.request.Request(f"{service.url}/v1/points?{query}", headers={"X-Service-Key": service.keys[key]})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code, problem.read(), problem.headers


def pairs(flat):
    return list(zip(flat[::2], flat[1::2], strict=True))


def same(found, wanted):
    """The same buckets and levels, volumes up to the rounding of a sum."""
    assert list(found) == list(wanted)
    for start, levels in wanted.items():
        assert [price for price, _ in found[start]] == [price for price, _ in levels]
        np.testing.assert_allclose([v for _, v in found[start]], [v for _, v in levels], rtol=1e-12, atol=0)


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("usd", [False, True])
@pytest.mark.parametrize("exchanges", [list(VENUES), ["BINANCE_FUTURES"], ["OKEX_FUTURES", "BYBIT"]])
def test_levels_over_raw_http(dumps, twin, interval, usd, exchanges):
    wanted = expected(dumps, exchanges, independent.SECONDS[interval], usd=usd)
    query = f"type=VENUE_LIQUIDATION_AGG&coin=XRP&interval={interval}&from={START}&period={2 * 86_400}"
    query += "&transform.normalize.quote=USD" if usd else ""
    if exchanges != list(VENUES):  # without any, all are meant
        query += "".join(f"&exchange={name}" for name in exchanges)
    status, body, _ = ask(twin, query)
    (series,) = json.loads(body)["series"]
    assert status == 200
    identity = {"type": "VENUE_LIQUIDATION_AGG", "interval": interval, "coin": "XRP"}
    if "OKEX_FUTURES" not in exchanges:  # a dated future shares neither with the perpetuals
        identity |= {"category": "PERPETUAL", "normalizedSymbol": "XRP-USDT"}
    if len(exchanges) == 1:
        identity |= {"exchange": exchanges[0], "rawSymbol": VENUES[exchanges[0]]}
    assert series["id"] == identity
    points = [point["Point"] for point in series["points"]]
    assert all(set(point) == {"levels", "timestamp"} for point in points)
    same({point["timestamp"]["s"]: pairs(point["levels"]) for point in points}, wanted)

    flat = json.loads(ask(twin, f"{query}&flatten=true")[1])["series"][0]["flat_points"]
    unpacked = {}
    while flat:
        count = int(flat[0])
        unpacked[int(flat[1]) // 1_000_000] = pairs(flat[2 : 2 + 2 * count])
        flat = flat[2 + 2 * count :]
    assert unpacked == {point["timestamp"]["s"]: pairs(point["levels"]) for point in points}
    assert ask(twin, f"{query}&transform.groupBy.type=GROUP_BY_TYPE_SUM")[1] == body


def test_a_depth_keeps_what_is_near_the_last_liquidation(dumps, twin):
    for depth in (1, 2, 7, 30):
        wanted = expected(dumps, VENUES, 86_400, depth=depth)
        with twin.client("unlimited") as client:
            found = client.liquidation_heatmap(
                coin="XRP", interval="1d", start=START, period=2 * 86_400, max_depth=depth
            )
        assert found.offsets.tolist() == [0, depth, 2 * depth]
        assert found.levels.tolist() == pytest.approx(np.concatenate(list(wanted.values())), rel=1e-12)


@pytest.mark.parametrize("interval", ["1m", "1h"])
def test_the_client_brings_arrays_and_a_picture(dumps, twin, interval):
    plt = pytest.importorskip("matplotlib.pyplot")
    wanted = expected(dumps, VENUES, {"1m": 60, "1h": 3600}[interval])
    with twin.client("unlimited") as client:
        window = {"coin": "XRP", "interval": interval, "start": START, "period": 2 * 86_400}
        plan = client.plan("VENUE_LIQUIDATION_AGG", **window)
        found = client.liquidation_heatmap(**window)
    assert plan.weight == independent.weight(5, 1500, Fraction(plan.points), 1, None)
    assert isinstance(found.only, mp.Heatmap)
    assert found.id.coin == "XRP" and found.id.type == "VENUE_LIQUIDATION_AGG"
    assert found.timestamps.astype("datetime64[s]").astype(int).tolist() == list(wanted)
    assert found.prices.tolist() == [price for levels in wanted.values() for price, _ in levels]
    assert (found.split == -1).all()
    assert [len(found.snapshot(row)) for row in range(len(wanted))] == [len(levels) for levels in wanted.values()]

    times, prices, volumes = found.to_grid(step=0.01)
    assert volumes.shape == (len(times), len(prices)) and np.allclose(np.diff(prices), 0.01)
    np.testing.assert_allclose(volumes.sum(axis=1), [sum(v for _, v in levels) for levels in wanted.values()])
    ax = found.plot()
    ax.figure.canvas.draw()
    assert ax.get_title(loc="left") or ax.get_title() or ax.texts
    (picture,) = ax.images
    shown = np.ma.filled(picture.get_array(), 0)
    assert shown.sum() > 0
    plt.close("all")


def test_nested_and_flat_decode_alike(twin):
    query = f"type=VENUE_LIQUIDATION_AGG&coin=XRP&interval=HOUR&from={START}&period={2 * 86_400}"
    nested, flat = (mp.decode_points(ask(twin, query + tail)[1]) for tail in ("", "&flatten=true"))
    assert nested.levels.tolist() == flat.levels.tolist()
    assert nested.timestamps.tolist() == flat.timestamps.tolist()
    assert nested.offsets.tolist() == flat.offsets.tolist()


def test_the_bucket_that_holds_now_knows_nothing_later(dumps, store):
    now = START + 86_400 + 40_000
    with mp.LocalService(data=store, now=now) as service, service.client("unlimited") as client:
        asked = client.liquidation_heatmap(coin="XRP", interval="1d", start=START, end=now, include_forming=True)
        answered = {
            int(time): [tuple(pair) for pair in asked.snapshot(row)]
            for row, time in enumerate(asked.timestamps.astype("datetime64[s]").astype(int))
        }
    early, late, whole = (
        expected(dumps, VENUES, 86_400, until_us=at * 1_000_000) for at in (now, now + 60, now + 86_400)
    )
    closed = {start: levels for start, levels in whole.items() if start + 86_400 <= now}
    same({start: levels for start, levels in answered.items() if start in closed}, closed)
    # The clock runs on while the test does, by less than a minute.
    forming = START + 86_400
    volume = sum(volume for _, volume in answered.get(forming, []))
    assert sum(v for _, v in early.get(forming, [])) <= volume <= sum(v for _, v in late.get(forming, []))
    assert volume < sum(v for _, v in whole[forming])


def test_only_the_advanced_plan_may_ask(twin, store):
    query = f"type=VENUE_LIQUIDATION_AGG&coin=XRP&interval=HOUR&from={START}&period=3600"
    for tier in ("free", "basic", "standard"):
        status, body, headers = ask(twin, query, tier)
        assert (status, headers["X-RateLimit-Used"]) == (403, "0")
        assert "VENUE_LIQUIDATION_AGG needs the plan advanced" in json.loads(body)["message"]
    for depth, weight in ((1500, 5), (1501, 6), (3001, 7)):
        with mp.LocalService(data=store, now=START + 3 * 86_400) as fresh:
            status, _, headers = ask(fresh, f"{query}&maxDepth={depth}", "advanced")
        assert (status, int(headers["X-RateLimit-Used"])) == (200, weight)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("coin=XRP&rawSymbol=XRPUSDT", "rawSymbol"),
        ("exchange=BYBIT&rawSymbol=XRPUSDT", "rawSymbol"),
        ("exchange=BYBIT", "coin"),
        ("", "coin"),
        ("coin=XRP&gapfill=true", "gapfill"),
        ("coin=XRP&maxDepth=0", "maxDepth"),
    ],
)
def test_a_wrong_selection_says_what_is_wrong(twin, query, word):
    status, body, _ = ask(twin, f"type=VENUE_LIQUIDATION_AGG&interval=HOUR&period=3600&{query}", "advanced")
    answer = json.loads(body)
    assert (status, answer["error"]) == (400, "INVALID_PARAMS")
    assert word in answer["message"]


def test_the_client_refuses_a_symbol_before_it_sends(twin):
    with twin.client("advanced") as client:
        with pytest.raises(mp.InvalidRequest, match="coin= and no symbol"):
            client.liquidation_heatmap("BYBIT", "XRPUSDT", "1h", period=3600)
        assert (
            client.points("VENUE_LIQUIDATION_AGG", coin="XRP", interval="1h", period=86_400, group_by="sum") is not None
        )


def test_the_lists_know_the_type(twin):
    with twin.client("unlimited") as client:
        assert "VENUE_LIQUIDATION_AGG" in client.types()
        assert client.coins(type="VENUE_LIQUIDATION_AGG") == ["XRP"]
        assert {market.exchange for market in client.markets(type="VENUE_LIQUIDATION_AGG")} == set(VENUES)


def test_the_demo_has_liquidations_where_price_ran(client):
    plt = pytest.importorskip("matplotlib.pyplot")
    assert "BTC" in client.coins(type="VENUE_LIQUIDATION_AGG")
    day = {"coin": "BTC", "interval": "1h", "period": 86_400, "usd": True}
    heatmap = client.liquidation_heatmap(**day)
    venues = [market.exchange for market in client.markets(type="VENUE_LIQUIDATION_AGG", coin="BTC")]
    sides = client.liquidations(venues, group_by="sum", **day)
    assert 12 <= len(heatmap.timestamps) <= 24
    totals = {}
    for side in sides:
        for time, volume in zip(side.timestamps.tolist(), side["liquidations"], strict=True):
            totals[time] = totals.get(time, 0.0) + volume
    sums = np.add.reduceat(heatmap.volumes, heatmap.offsets[:-1])
    assert dict(zip(heatmap.timestamps.tolist(), sums, strict=True)) == pytest.approx(totals)
    low, high = heatmap.prices.min(), heatmap.prices.max()
    candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", period=86_400)
    assert candles["low"].min() * 0.99 < low < high < candles["high"].max() * 1.01
    one = client.liquidation_heatmap(venues[0], **day)
    assert one.volumes.sum() < heatmap.volumes.sum()
    times, prices, grid = heatmap.to_grid()
    assert grid.shape == (len(times), len(prices)) and (grid > 0).sum() == len(heatmap.prices)
    heatmap.plot().figure.canvas.draw()
    plt.close("all")
