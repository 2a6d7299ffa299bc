"""Weights, burst, refill, headers and refusals of the local service, over real sockets (sections 5, 7 and 8)."""

import json
import urllib.error
import urllib.request
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

import marketpoints as mp
from support import independent

# Section 8.3 and 8.4, typed off the specification.
COSTS = {
    "TRADE_SIDE_AGNOSTIC_AGG": (1, 100_000, None),
    "TRADE_AGG": (1, 100_000, None),
    "OPEN_INTEREST_AGG": (1, 100_000, None),
    "FUNDING_RATE_AGG": (1, 100_000, None),
    "TOKEN_SUPPLY_AGG": (1, 100_000, None),
    "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG": (1, 100_000, None),
    "SKEW_OPTION_SUMMARY_AGG": (1, 100_000, None),
    "LIQUIDATION_AGG": (1, 100_000, None),
    "VOLUME_PROFILE_AGG": (2, 20_000, None),
    "TPO_AGG": (5, 20_000, None),
    "VENUE_LIQUIDATION_AGG": (5, 5_000, 1500),
    "BLOCK_BOOK_SNAPSHOT_AGG": (10, 4_000, 3500),
}
SECONDS = {
    "MINUTE": 60,
    "FIVE_MINUTES": 300,
    "FIFTEEN_MINUTES": 900,
    "THIRTY_MINUTES": 1800,
    "HOUR": 3600,
    "FOUR_HOURS": 14400,
    "DAY": 86400,
    "WEEK": 604800,
}


@given(
    st.sampled_from(sorted(COSTS)),
    st.sampled_from(sorted(SECONDS)),
    st.integers(0, 400_000_000),
    st.integers(1, 40),
    st.none() | st.integers(1, 60_000),
)
def test_weights_are_exact(name, interval, period, exchanges, depth):
    cost, most, included = COSTS[name]
    points = Fraction(period, SECONDS[interval])
    if points > most:  # section 8.3: no one request has so many
        with pytest.raises(mp.InvalidRequest, match=f"{most} points at most"):
            mp.weight(name, interval=interval, period=period, exchanges=exchanges, max_depth=depth)
        return
    expected = independent.weight(cost, included, points, exchanges, depth)
    assert mp.weight(name, interval=interval, period=period, exchanges=exchanges, max_depth=depth) == expected


def test_the_example_of_the_design():
    weight = mp.weight("BLOCK_BOOK_SNAPSHOT_AGG", interval="MINUTE", period=60_000, exchanges=3, max_depth=3500)
    assert weight == 16


def test_tiers_are_section_8_1():
    table = {
        name: (tier.weight_per_minute, tier.burst, tier.weight_per_day, tier.history_days, tier.streams)
        for name, tier in mp.TIERS.items()
    }
    assert table == {
        "free": (10, 20, 1000, 7, 0),
        "basic": (50, 100, None, 30, 5),
        "standard": (100, 200, None, 90, 10),
        "advanced": (750, 1500, None, 365, 15),
    }


START = 1_776_816_000  # 2026-04-22 00:00 UTC
NOW = 1_790_000_000  # any moment: the demo market answers for every one


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, json.loads(body) if body else None

    def rate(self, name):
        return int(self.headers[f"X-RateLimit-{name}"])


def get(service, path, key):
    request = urllib.request.Request(service.url + path, headers={"X-Service-Key": key} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read())


def candle_path(service, points=1, exchange="BINANCE_FUTURES", extra=""):
    start = int(service.now()) // 60 * 60 - 60 * points
    return (
        f"/v1/points?type=TRADE_SIDE_AGNOSTIC_AGG&exchange={exchange}&rawSymbol=BTCUSDT&interval=MINUTE"
        f"&from={start}&period={60 * points}{extra}"
    )


@pytest.fixture
def service():
    with mp.LocalService(now=NOW, strict_symbols=False) as running:
        yield running


def test_a_free_key_passes_twenty_at_once(service):
    key = service.keys["free"]
    answers = [get(service, candle_path(service), key) for _ in range(20)]
    assert [answer.status for answer in answers] == [200] * 20
    assert [answer.rate("Remaining") for answer in answers] == list(range(19, -1, -1))
    assert [answer.rate("Used") for answer in answers] == list(range(1, 21))
    assert {answer.rate("Limit") for answer in answers} == {10}

    refused = get(service, candle_path(service), key)
    assert refused.status == 429
    assert refused.body["error"] == "RATE_LIMITED"
    assert refused.body["retry_after"] == int(refused.headers["Retry-After"])
    assert 1 <= int(refused.headers["Retry-After"]) <= 6
    # A refused request spends nothing, and the usage record agrees with the headers to the unit.
    usage = get(service, "/v1/usage", key)
    assert (usage.body.get("remaining", 0), usage.body["used"], usage.body["limit"]) == (0, 20, 10)
    assert usage.body["window_seconds"] == 60
    assert usage.rate("Remaining") == usage.body.get("remaining", 0)
    assert usage.rate("Used") == usage.body["used"]
    assert usage.rate("Reset") == usage.body["reset"]
    assert 119 <= usage.body["reset"] - service.now() <= 121

    service.advance(int(refused.headers["Retry-After"]))
    assert get(service, candle_path(service), key).status == 200
    assert get(service, candle_path(service), key).status == 429


def test_the_bucket_is_full_again_when_reset_says(service):
    key = service.keys["free"]
    first = get(service, candle_path(service, points=7_000), key)
    assert (first.status, first.rate("Remaining"), first.rate("Used")) == (200, 13, 7)
    service.advance(first.rate("Reset") - service.now() + 0.5)
    usage = get(service, "/v1/usage", key).body
    assert usage["remaining"] == 20
    assert abs(usage["reset"] - service.now()) <= 2


@pytest.mark.parametrize("points", [1, 999, 1000, 1001, 9999])
def test_charges_are_the_formula(service, points):
    key = service.keys["advanced"]
    answer = get(service, candle_path(service, points), key)
    assert answer.status == 200
    assert answer.rate("Used") == independent.weight(1, None, Fraction(points), 1, None)


def test_the_client_knows_the_charge_before_it_sends(service):
    with service.client("advanced") as client:
        arguments = ("BLOCK_BOOK_SNAPSHOT_AGG", "BINANCE_FUTURES", "BTCUSDT", "1m")
        settings = {"period": 3_600 * 20, "block_size": 100.0, "max_depth": 3600}
        plan = client.plan(*arguments, **settings)
        client.points(*arguments, **settings)
        assert client.usage().used == plan.weight == independent.weight(10, 3500, Fraction(1200), 1, 3600)
        assert 1500 - plan.weight <= client.budget.remaining <= 1500  # it refills at once, 12.5 a second
        assert client.budget.used == plan.weight


def test_walls_are_403_and_cost_nothing(service):
    free, advanced = service.keys["free"], service.keys["advanced"]
    too_old = f"&from={NOW - 8 * 86_400}"
    path = "/v1/points?type=TRADE_AGG&exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT&interval=MINUTE&period=60"
    for key, query in [
        (free, path + too_old),
        (free, "/v1/points?type=VENUE_LIQUIDATION_AGG&coin=BTC&interval=HOUR&period=3600"),
        (free, "/v1/points?type=TRADE_AGG&exchange=BYBIT&exchange=BINANCE_FUTURES&coin=BTC&interval=HOUR&period=3600"),
        (advanced, path.replace("period=60", f"period={60 * 100_001}") + f"&from={NOW - 80 * 86_400}"),
        (free, path.replace("period=60", f"period={60 * 20_001 // 60 * 60}").replace("MINUTE", "MINUTE")),
    ]:
        answer = get(service, query, key)
        assert answer.status == 403, query
        assert len(answer.body["message"]) > 20
    assert get(service, "/v1/usage", free).body.get("used", 0) == 0


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("type=NO_SUCH_TYPE&interval=HOUR&period=3600", "type"),
        ("type=TRADE_AG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period=3600", "TRADE_AGG"),
        ("type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOURS&period=3600", "HOUR"),
        ("type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period=soon", "period"),
        ("type=TRADE_AGG&exchange=BYBIT&interval=HOUR&period=3600", "rawSymbol"),
        ("type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period=3600", "blockSize"),
        ("type=TRADE_AGG&exchange=BYBIT&rawSymbl=BTCUSDT&interval=HOUR&period=3600", "rawSymbol"),
        ("", "type"),
    ],
)
def test_bad_requests_say_what_is_wrong_and_cost_nothing(service, query, word):
    answer = get(service, f"/v1/points?{query}", service.keys["basic"])
    code = "INVALID_TIMEFRAME" if "HOURS" in query else "INVALID_PARAMS"  # supplement 6
    assert (answer.status, answer.body["error"]) == (400, code)
    assert word in answer.body["message"]
    assert answer.rate("Used") == 0


def test_keys(service):
    for key in (None, "", "nonsense", service.keys["free"] + "x"):
        answer = get(service, "/v1/usage", key)
        assert (answer.status, answer.body["error"]) == (401, "INVALID_API_KEY")
        assert not key or key not in json.dumps(answer.body)
    assert sorted(service.keys) == ["advanced", "basic", "free", "standard", "unlimited"]


def test_the_unlimited_key_never_runs_out(service):
    key = service.keys["unlimited"]
    used = 0
    while used <= 1500:  # the whole burst of the highest tier
        path = candle_path(service, 4_000).replace("TRADE_SIDE_AGNOSTIC_AGG", "BLOCK_BOOK_SNAPSHOT_AGG")
        # The weight counts what is asked, not what is there: nobody lists this symbol.
        answer = get(service, path.replace("BTCUSDT", "NOBODY") + "&blockSize=1&maxDepth=10500", key)
        assert answer.status == 200
        used = answer.rate("Used")


def test_without_strict_symbols_an_unknown_symbol_is_empty_and_not_an_error(service):
    answer = get(service, candle_path(service, exchange="UPBIT"), service.keys["free"])
    assert (answer.status, answer.body) == (200, {})
    with service.client("free", check_symbols=False) as client:
        nothing = client.candles("UPBIT", "BTCUSDT", "1m", period=600)
    assert len(nothing["close"]) == 0


UNKNOWN = [  # supplement 6; what the demo has is in its lists
    ({"exchange": "SOME_VENUE", "symbol": "BTCUSDT"}, "INVALID_EXCHANGE", "SOME_VENUE"),
    ({"exchange": "UPBIT", "symbol": "KRW-BTC"}, "INVALID_EXCHANGE", "no data of UPBIT"),
    ({"exchange": "BYBIT", "symbol": "BTCUSD"}, "INVALID_SYMBOL", "did you mean BTCUSDT"),
    ({"exchange": ["BYBIT", "OKEX_SWAP"], "coin": "PEPE", "group_by": "sum"}, "INVALID_SYMBOL", "PEPE"),
    ({"exchange": "PREDICTION_VENUE", "symbol": "will-it-rain"}, "INVALID_SYMBOL", "conditionId"),
]


@pytest.mark.parametrize(("market", "code", "word"), UNKNOWN)
def test_names_that_the_demo_never_had_are_refused(market, code, word):
    with mp.LocalService(now=NOW) as strict, strict.client(check_symbols=False) as client:
        with pytest.raises(mp.InvalidRequest, match=word) as caught:
            client.candles(interval="1h", period=7200, **market)
        assert (caught.value.status, caught.value.code) == (400, code)
        assert client.usage().used == 0
        assert len(client.candles("BYBIT", "BTCUSDT", "1h", period=7200)["close"]) > 0


def test_a_store_answers_with_nothing_unless_it_is_told_to_be_strict(tmp_path):
    folder = tmp_path / "dumps" / "trades" / "BYBIT" / "BTCUSDT"
    folder.mkdir(parents=True)
    rows = f"timestamp,side,price,amount\n{START * 1_000_000},buy,100,1\n"
    (folder / "2026-04-22.csv").write_text(rows)
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    window = {"interval": "1m", "start": START, "period": 60}
    with mp.LocalService(tmp_path / "store", START + 86_400) as lenient, lenient.client(check_symbols=False) as client:
        assert len(client.candles("BYBIT", "ETHUSDT", **window)["close"]) == 0
        assert len(client.candles("UPBIT", "KRW-BTC", **window)["close"]) == 0
        assert len(client.candles("BYBIT", "BTCUSDT", **window)["close"]) == 1
        with pytest.raises(mp.InvalidRequest, match="SOME_VENUE"):
            client.candles("SOME_VENUE", "BTCUSDT", **window)
    strict = mp.LocalService(tmp_path / "store", START + 86_400, strict_symbols=True)
    with strict, strict.client(check_symbols=False) as client:
        for market, code in ((("BYBIT", "ETHUSDT"), "INVALID_SYMBOL"), (("UPBIT", "KRW-BTC"), "INVALID_EXCHANGE")):
            with pytest.raises(mp.InvalidRequest) as caught:
                client.candles(*market, **window)
            assert caught.value.code == code
        assert len(client.candles("BYBIT", "BTCUSDT", **window)["close"]) == 1
    with pytest.raises(mp.InvalidRequest, match="strict_symbols"):
        mp.LocalService(strict_symbols="yes")


def test_a_block_size_is_a_multiple_of_the_recommended_one():
    market = ("BYBIT", "BTCUSDT", "1h")
    with mp.LocalService(now=NOW) as service, service.client(any_block_size=True) as client:
        (size,) = client.block_sizes(exchange="BYBIT", raw_symbol="BTCUSDT", type="BLOCK_BOOK_SNAPSHOT_AGG")
        assert len(client.orderbook_heatmap(*market, block_size=3 * size, max_depth=5, period=7200).timestamps) > 0
        for ask in (client.orderbook_heatmap, client.tpo):
            with pytest.raises(mp.InvalidRequest, match=r"answered 400 .*nearest that fits") as caught:
                ask(*market, block_size=2.75 * size, period=7200)
            assert str(caught.value).split("nearest that fits is ")[1].startswith(f"{3 * size:g}")
    with mp.LocalService(now=NOW, any_block_size=True) as service, service.client() as client:
        assert len(client.orderbook_heatmap(*market, block_size=2.75 * size, max_depth=5, period=7200).timestamps) > 0
