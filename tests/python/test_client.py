"""The clients as they are used: in scripts, notebooks, event loops, forks; what they cost; what they never show."""

import builtins
import pickle
import re
import traceback

import pytest

import marketpoints as mp
from support.children import silent_server

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
ANOTHER_DAY = "2024-05-06T12:00:30"


def test_the_exports_are_there():
    assert all(hasattr(mp, name) for name in mp.__all__)
    assert mp.__version__.count(".") == 2


def test_candles(client, demo):
    answer = client.candles(*MARKET, "1h", period=24 * 3600)
    assert len(answer.timestamps) == 24
    end = int(demo.now()) // 3600 * 3600
    assert answer.timestamps[-1].astype("int64") == (end - 3600) * 1_000_000_000
    forming = client.candles(*MARKET, "1h", period=24 * 3600, include_forming=True)
    assert forming.timestamps[-1].astype("int64") == end * 1_000_000_000


def test_sides_add_up(client):
    window = {"start": 1_789_900_000, "end": 1_789_990_000}
    both = client.side_candles(*MARKET, "5m", **window)
    total = client.candles(*MARKET, "5m", **window)
    volume = both.sel(side="BUY")["volume"] + both.sel(side="SELL")["volume"]
    assert volume == pytest.approx(total["volume"], rel=1e-12)


def test_points_takes_the_wire_name(client):
    window = {"start": 1_789_990_000, "end": 1_789_999_000}
    assert client.points("TRADE_SIDE_AGNOSTIC_AGG", *MARKET, "MINUTE", **window)["close"].tolist() == (
        client.candles(*MARKET, "1m", **window)["close"].tolist()
    )
    assert client.candles([MARKET[0]], *MARKET[1:], "1m", extra={"sortDirection": None}, **window)["close"].size


def test_wire_order_does_not_show(client):
    window = {"start": 1_789_990_000, "end": 1_789_999_000}
    up, down = (client.candles(*MARKET, "1m", sort=sort, **window) for sort in ("asc", "desc"))
    assert up.timestamps.tolist() == down.timestamps.tolist() == sorted(up.timestamps.tolist())


def test_a_heatmap(client):
    shown = client.orderbook_heatmap(*MARKET, "1m", block_size=50, period=600)
    assert isinstance(shown.only, mp.Heatmap)
    assert len(shown.timestamps) == 10
    for snapshot in range(10):
        prices = shown.snapshot(snapshot)[:, 0]
        assert (prices[1:] >= prices[:-1]).all()  # best bid and best ask may share a bucket
        assert (prices % 25 == 0).all()


def symbols(markets):
    # An option summary has an entry for each tenor.
    return [(one.exchange, one.raw_symbol, one.tenor) for one in markets]


def test_markets(client):
    every = client.markets()
    assert len(every) > 20
    assert len(set(symbols(every))) == len(every)
    some = client.markets(exchange="BINANCE_FUTURES", coin=["BTC", "ETH"])
    assert {one.raw_symbol for one in some} == {"BTCUSDT", "ETHUSDT"}
    assert {one.category for one in some} == {"PERPETUAL"}
    assert some[0].last_price > 0
    assert some[0].volume_24h > 0
    assert len(client.markets(limit=3)) == 3
    assert set(symbols(client.markets(limit=3))) <= set(symbols(every))
    assert symbols(every[:3]) == symbols(every)[:3]
    assert list(every.to_pandas()["raw_symbol"]) == [one.raw_symbol for one in every]
    assert repr(some) == "<2 × Market>" and some.why_empty is None


@pytest.mark.parametrize(
    ("filters", "why"),
    [
        ({"coin": "btc"}, "none with coin=btc; the service compares names with their case: is it BTC\\?"),
        ({"exchange": ["NOWHERE", "ELSEWHERE"]}, "none with exchange=NOWHERE or ELSEWHERE"),
        ({"category": "SPOT", "symbol_filter": "zzz"}, "none with category=SPOT, symbol_filter=zzz"),
        ({"coin": ["BTC", "btc"], "exchange": "NOWHERE"}, "none with exchange=NOWHERE, coin=BTC or btc"),
        ({"coin": [f"NO{number}" for number in range(9)]}, "none with coin=NO0 or NO1 or NO2 or NO3 or NO4 or 4 more"),
        ({"symbol_filter": "\x1b[2J"}, r"none with symbol_filter=\\x1b\[2J"),
        ({"extra": {"coin": "NOTHING"}}, "none with extra=coin"),
    ],
)
def test_no_market_says_which_filters_none_passes(client, filters, why):
    nothing = client.markets(**filters)
    assert len(nothing) == 0 and re.fullmatch(f"the service lists {why}", nothing.why_empty)
    assert nothing.why_empty in repr(nothing) and nothing.why_empty in nothing._repr_html_()
    assert "raw_symbol" in nothing.to_pandas().columns


def test_the_plan_is_what_is_spent(service):
    with service.client("standard") as client:
        query = ("TRADE_AGG", *MARKET, "1m")
        end = int(service.now()) // 60 * 60
        window = {"start": end - 20 * 86_400, "end": end}
        before = client.usage()
        plan = client.plan(*query, **window)
        assert client.usage() == before
        assert plan.weight == sum(one.weight for one in plan.requests)
        assert plan.points == 20 * 1440
        assert plan.weight == mp.weight(query[0], interval="1m", period=20 * 86_400)
        client.points(*query, **window)
        assert client.usage().used - before.used == plan.weight
        assert client.budget.used == plan.weight
        assert plan.eta == 0
        assert str(plan.weight) in repr(plan)
        assert len(plan.to_pandas()) == len(plan.requests)


def test_progress_is_reported(client, capsys):
    reported = []
    window = {"start": "2025-01-01", "end": "2025-06-01"}
    client.candles(*MARKET, "1m", progress=lambda done, total: reported.append((done, total)), **window)
    assert reported[-1][0] == reported[-1][1] > 1
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    client.candles(*MARKET, "1m", progress=True, **window)
    assert f"{reported[-1][1]}/{reported[-1][1]} requests, {151 * 1_440:,} rows" in capsys.readouterr().err
    # One request: what is waited for is shown, and then that it is there.
    client.candles(*MARKET, "1h", progress=True, period=3600)
    shown = capsys.readouterr().err
    assert "waiting for the first answer" in shown and "| weight 1/1, 1/1 requests, 1 rows" in shown
    # Nothing to ask: nothing stays.
    client.candles(*MARKET, "1h", progress=True, start="2025-01-01", end="2025-01-01")
    assert capsys.readouterr().err.split("\r")[-1].strip() == ""
    with pytest.raises(mp.InvalidRequest, match="progress"):
        client.candles(*MARKET, "1m", progress="yes", **window)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"interval": "1x"}, "1x"),
        ({"interval": None}, "interval"),
        ({"start": 1_789_990_000_000}, "milliseconds"),
        ({"start": "2026-09-01", "end": "2026-08-01"}, "end"),
        ({"exchange": 5}, "exchange"),
        ({"exchange": [MARKET[0], 5]}, "exchange"),
        ({"symbol": 5}, "symbol"),
        ({"gapfill": "false"}, "gapfill"),
        ({"group_by": "mean"}, "mean"),
        ({"sort": "up"}, "up"),
        ({"extra": "a=b"}, "extra"),
        ({"symbol": "BTCUSDT", "coin": "BTC"}, "coin"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_sent(arguments, word):
    # Nobody listens at the discard port: a request would fail with another error.
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client:
        given = {"exchange": MARKET[0], "symbol": MARKET[1], "interval": "1m", "period": 600} | arguments
        with pytest.raises(mp.InvalidRequest) as caught:
            client.candles(**given)
        assert word in str(caught.value)


@pytest.mark.parametrize(("depth", "size"), [(0, 1.0), (True, 1.0), (1.5, 1.0), (10, "1"), (10, -1.0), (10, None)])
def test_wrong_heatmap_arguments(depth, size):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest):
        client.orderbook_heatmap(*MARKET, "1m", period=600, max_depth=depth, block_size=size)


def test_settings_come_from_the_environment(monkeypatch, demo):
    for name in ("MARKETPOINTS_API_KEY", "MARKETPOINTS_BASE_URL", "MARKETPOINTS_TIER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(mp.InvalidRequest, match="MARKETPOINTS_API_KEY"):
        mp.Client(base_url=demo.url)
    with pytest.raises(mp.InvalidRequest, match="MARKETPOINTS_BASE_URL"):
        mp.Client(demo.keys["free"])
    monkeypatch.setenv("MARKETPOINTS_API_KEY", demo.keys["basic"])
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", demo.url)
    monkeypatch.setenv("MARKETPOINTS_TIER", "basic")
    with mp.Client() as client:
        assert client.tier == "basic"
        assert client.usage().limit == 50
    with mp.Client(demo.keys["standard"], tier="standard") as client:
        assert client.usage().limit == 100


@pytest.mark.parametrize("settings", [{"tier": "gold"}, {"timeout": 0}, {"timeout": float("nan")}, {"max_wait": -2}])
def test_wrong_settings_are_refused(settings, demo):
    with pytest.raises(mp.InvalidRequest):
        mp.Client("key", demo.url, **settings)


@pytest.mark.parametrize("key", ["with space", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key, demo):
    with pytest.raises(mp.InvalidRequest) as caught:
        mp.Client(key, demo.url)
    assert key not in str(caught.value)


def everything_shown(thing):
    html = getattr(thing, "_repr_html_", str)()
    return f"{thing!r} {thing} {html} {getattr(thing, '__dict__', '')}"


# faults.md row 36
def test_the_key_is_shown_nowhere(service):
    key = service.keys["free"]
    client = service.client("free", retries=0)
    shown = everything_shown(client) + everything_shown(service.async_client("free"))
    shown += everything_shown(client.plan("TRADE_AGG", *MARKET, "1m", period=600))
    shown += "".join(one.url for one in client.plan("TRADE_AGG", *MARKET, "1m", period=600).requests)
    shown += everything_shown(service)
    failures = [
        lambda: client.points("NO_SUCH_TYPE", *MARKET, "1m", period=600),
        lambda: client.candles(*MARKET, "1m", start="2020-01-01", end="2020-01-02"),
        lambda: mp.Client(key + "x", service.url).usage(),
        lambda: mp.Client(key, "http://127.0.0.1:9", retries=0).usage(),
    ]
    for failing in failures:
        with pytest.raises(mp.Error) as caught:
            failing()
        error = caught.value
        shown += "".join(traceback.format_exception(error)) + everything_shown(error) + f"{vars(error)}"
    assert key not in shown


def test_refusals_have_their_classes(service):
    with pytest.raises(mp.AuthenticationError) as caught:
        mp.Client("nonsense", service.url).usage()
    assert (caught.value.status, caught.value.code) == (401, "INVALID_API_KEY")
    assert caught.value.request.startswith(service.url)
    with service.client("free") as client, pytest.raises(mp.TierError) as caught:
        client.candles(*MARKET, "1h", start="2020-01-01", end="2020-01-02")
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.TransportError):
        client.usage()


def test_a_wait_for_budget_has_a_limit(service):
    with service.client("free", max_wait=0) as client:
        for _ in range(20):
            client.candles(*MARKET, "1m", period=60)
        with pytest.raises(mp.RateLimitError) as caught:
            client.candles(*MARKET, "1m", period=60)
        assert 0 < caught.value.retry_after <= 6


def test_a_silent_server_times_out():
    with silent_server() as (url, _), mp.Client("key", url, timeout=0.2, retries=0) as client:
        with pytest.raises(mp.TimeoutError) as caught:
            client.usage()
        assert isinstance(caught.value, builtins.TimeoutError)


def test_a_closed_client_says_so(demo):
    client = demo.client("unlimited")
    client.close()
    client.close()
    for call in (client.usage, lambda: client.budget, lambda: client.candles(*MARKET, "1m", period=60)):
        with pytest.raises(mp.Error, match="closed"):
            call()
    assert "closed" in repr(client)


# faults.md row 41
def test_a_pickle_never_carries_the_key(monkeypatch, demo):
    key = demo.keys["basic"]
    monkeypatch.delenv("MARKETPOINTS_API_KEY", raising=False)
    client = mp.Client(key, demo.url, tier="basic", timeout=7)
    with pytest.raises(TypeError, match="never carries the key"):
        pickle.dumps(client)
    monkeypatch.setenv("MARKETPOINTS_API_KEY", key)
    data = pickle.dumps(client)
    assert key.encode() not in data
    with pickle.loads(data) as again:
        assert (again.base_url, again.tier) == (demo.url, "basic")
        assert again.usage().limit == 50
    monkeypatch.delenv("MARKETPOINTS_API_KEY")
    with pytest.raises(mp.InvalidRequest, match="MARKETPOINTS_API_KEY"):
        pickle.loads(data)
    with pytest.raises(TypeError, match="clock"):
        pickle.dumps(demo.client(clock=demo.now))


def test_a_service_says_what_it_is(service):
    assert repr(service).startswith(f"<LocalService {service.url}, demo market, 2026-09-21 14:13")
    with pytest.raises(mp.InvalidRequest, match="tier: 'gold' is not one of advanced, basic"):
        service.client("gold")
    before = service.now()
    service.advance(100)
    assert service.now() >= before + 100
    with pytest.raises(mp.InvalidRequest):
        service.advance(-1)
    service.stop()
    service.stop()


def test_a_taken_port_is_named(service):
    port = int(service.url.rpartition(":")[2])
    with pytest.raises(mp.Error, match=str(port)):
        mp.LocalService(port=port)


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    with pytest.raises(mp.InvalidRequest):
        mp.LocalService(data=tmp_path / "nothing")
    with pytest.raises(mp.InvalidRequest):
        mp.ingest(tmp_path / "nothing", tmp_path / "store")


def test_weights_take_names_and_durations():
    assert mp.weight("TRADE_AGG", points=1000, exchanges=["BINANCE", "BYBIT"]) == 2
    assert mp.weight("TRADE_AGG", points=1000, exchanges="BINANCE") == 1
    assert mp.weight("BLOCK_BOOK_SNAPSHOT_AGG", points=1000, max_depth=7001) == 14
    with pytest.raises(mp.InvalidRequest, match="did you mean"):
        mp.weight("TRADE_AG", points=1)


def test_the_client_of_a_service_keeps_to_no_tier_of_the_environment(demo, monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_TIER", "free")
    with demo.client("unlimited") as client:
        assert client.tier is None
        # The free tier has no analytics.
        assert len(client.leaderboard(limit=1)) == 1
    with demo.client("advanced") as client:
        assert client.tier == "advanced"


def test_a_forming_bucket_comes_on_top():
    with mp.LocalService(now=ANOTHER_DAY) as service, service.client() as client:
        closed = client.candles("BYBIT", "BTCUSDT", "1h", period=4 * 3600)
        forming = client.candles("BYBIT", "BTCUSDT", "1h", period=4 * 3600, include_forming=True)
    assert len(closed.timestamps) == 4
    assert forming.timestamps.tolist()[:-1] == closed.timestamps.tolist()


def test_walls_are_reported_at_once_and_cost_nothing():
    with mp.LocalService(now=ANOTHER_DAY) as service, service.client("free") as client:
        for call in (client.candles, lambda *a, **k: client.plan("candles", *a, **k)):
            with pytest.raises(mp.TierError, match="history goes back 7 days, to 2024-04-29 12:00:30 UTC"):
                call("BYBIT", "BTCUSDT", "1h", start="2020-01-01")
        assert client.usage().used == 0


def test_a_refused_request_is_not_counted_as_used():
    with mp.LocalService(now=ANOTHER_DAY) as service, service.client() as client:
        client.candles("BYBIT", "BTCUSDT", "1h", period=3600)
        with pytest.raises(mp.InvalidRequest):
            client.points("TRADE_AGG", "BYBIT", "BTCUSDT", "1h", period=3600, extra={"nonsense": 1})
        assert client.budget.used == client.usage().used == 1


def test_a_url_that_no_request_can_have_is_refused_before_it_costs(service):
    with service.client("advanced", budget="process") as client:
        assert len(client.candles(*MARKET, "1h", period=3600)) == 1
        before = client.usage().used
        with pytest.raises(mp.InvalidRequest, match="the longest has 65,534 bytes"):
            client.candles(*MARKET, "1h", period=3600, extra={"z": "x" * 70_000})
        assert client.usage().used == before == client.budget.used


def test_unlimited_is_no_tier_but_a_key_without_one(monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_TIER", "unlimited")
    with mp.LocalService(now=ANOTHER_DAY) as service:
        key = service.keys["unlimited"]
        with mp.Client(key, service.url, clock=service.now) as client:
            assert len(client.candles("BYBIT", "BTCUSDT", "1h", period=3600).timestamps) == 1
        service.stop()
        assert "stopped" in repr(service)


def test_a_progress_callback_may_use_the_client():
    used = []
    with mp.LocalService(now=ANOTHER_DAY) as service, service.client() as client:
        client.candles(
            "BYBIT", "BTCUSDT", "1h", period=3600, progress=lambda done, total: used.append(client.usage().used)
        )
    assert used == [1]
