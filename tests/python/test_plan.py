"""What a call would send and cost, before anything is sent: plans, bounds on weight and on bodies (section 8)."""

import asyncio
import pickle
from fractions import Fraction
from urllib.parse import parse_qsl, urlsplit

import pytest

import marketpoints as mp
from support import independent
from support.scripted import scripted

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
NOW = 1_790_000_000
WALLET = "0x" + "ab" * 20


@pytest.fixture
def nobody():
    """A client of an address where nobody listens: what is sent fails with another error."""
    with mp.Client("key", "http://127.0.0.1:9", tier="advanced", retries=0, clock=lambda: NOW) as client:
        yield client


CALLS = {
    "candles": (MARKET, {}),
    "side_candles": (MARKET, {}),
    "liquidations": (MARKET, {}),
    "funding_rate": (MARKET, {}),
    "open_interest": (MARKET, {}),
    "volume_profile": (MARKET, {}),
    "tpo": (MARKET, {}),
    "orderbook_heatmap": (MARKET, {"block_size": 10}),
    "liquidation_heatmap": ((None, None), {"coin": "BTC"}),
    "skew": (("DERIBIT", "BTC_25"), {"coin": "BTC", "tenor": "ONE_W"}),
    "implied_volatility": (("DERIBIT", "BTC_ATM"), {"coin": "BTC", "tenor": "ONE_W"}),
    "token_supply": ((None, None), {"coin": "BTC"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_above_its_weight_is_not_sent(nobody, name):
    place, options = CALLS[name]
    window = {"period": 3_500 * 60}
    weight = nobody.plan(name, *place, "1m", **window, **options).weight
    assert weight >= 4
    with pytest.raises(
        mp.InvalidRequest, match=rf"weighs {weight} in \d+ requests?, more than max_weight={weight - 1}"
    ):
        getattr(nobody, name)(*place, "1m", max_weight=weight - 1, **window, **options)
    with pytest.raises(mp.InvalidRequest, match="max_weight"):
        nobody.plan(name, *place, "1m", max_weight=weight - 1, **window, **options)
    assert nobody.plan(name, *place, "1m", max_weight=weight, **window, **options).weight == weight
    with pytest.raises(mp.TransportError):  # allowed, so sent
        getattr(nobody, name)(*place, "1m", max_weight=weight, **window, **options)
    assert nobody.budget.used == 0


def test_a_call_above_its_weight_is_not_sent_when_awaited():
    async def main():
        async with mp.AsyncClient("key", "http://127.0.0.1:9", tier="advanced", clock=lambda: NOW) as client:
            with pytest.raises(mp.InvalidRequest, match="max_weight=0"):
                await client.candles(*MARKET, "1m", period=60, max_weight=0)

    asyncio.run(main())


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("later", [60, 30 * 86_400])
def test_what_was_paid_is_handed_over_whatever_the_clock_says_by_then(service, asynchronous, later):
    """A minute closes, or the history wall moves, while the answer is on its way."""
    now = int(service.now()) // 60 * 60
    call = {"start": now - 1_000 * 60, "max_weight": 1}
    settings = {"clock": lambda: now + (later if service.spent else 0), "check_symbols": False, "budget": "process"}
    if asynchronous:

        async def main():
            async with service.async_client("advanced", **settings) as client:
                return await client.candles(*MARKET, "1m", **call)

        answer = asyncio.run(main())
    else:
        with service.client("advanced", **settings) as client:
            answer = client.candles(*MARKET, "1m", **call)
    assert len(answer.only) == 1_000 and answer.weight == service.spent == 1


def test_a_client_that_is_closed_meanwhile_has_its_answer(service):
    async def main():
        client = service.async_client("advanced", check_symbols=False)
        await client.usage()
        answer = asyncio.ensure_future(client.candles(*MARKET, "1m", period="1h"))
        nothing = asyncio.ensure_future(client.liquidations(*MARKET, "1m", start=service.now() - 60, period=60))
        await asyncio.sleep(0)
        await client.close()
        return await asyncio.gather(answer, nothing, return_exceptions=True)

    for answer in asyncio.run(main()):
        assert isinstance(answer, mp.SeriesSet), answer


def test_an_archive_asks_no_more_than_it_may(service, tmp_path):
    end = int(service.now()) // 86_400 * 86_400
    window = {"start": end - 2 * 86_400, "end": end}
    with service.client("advanced", archive=tmp_path) as client:
        with pytest.raises(mp.InvalidRequest, match="weighs 3 in 1 request, more than max_weight=2"):
            client.candles(*MARKET, "1m", max_weight=2, **window)
        assert client.usage().used == 0
        expected = client.candles(*MARKET, "1m", max_weight=3, **window)["close"].tolist()
        # What is there weighs nothing.
        assert client.candles(*MARKET, "1m", max_weight=0, **window)["close"].tolist() == expected
        assert client.usage().used == 3


@pytest.mark.parametrize("wrong", [-1, 1.5, "10", True])
def test_what_is_no_bound_is_refused(nobody, wrong):
    with pytest.raises(mp.InvalidRequest, match="max_weight"):
        nobody.candles(*MARKET, "1m", period=60, max_weight=wrong)


@pytest.mark.parametrize(
    ("depth", "sizes"),
    [
        # 2 × depth levels of about 28 bytes: four thousand snapshots of 100 levels are 22 MB, of 3,500 are 780 MB.
        (100, [4_000, 500]),
        (500, [2_000, 2_000, 500]),
        (3_500, [1_000, 1_000, 1_000, 1_000, 500]),
        (50_000, [1_000, 1_000, 1_000, 1_000, 500]),
    ],
)
def test_a_body_stays_within_its_bound_at_no_weight(nobody, depth, sizes):
    plan = nobody.plan("orderbook_heatmap", *MARKET, "1m", block_size=10, max_depth=depth, period=4_500 * 60)
    assert [one.points for one in plan.requests] == sizes
    for one in plan.requests:
        query = dict(parse_qsl(urlsplit(one.url).query))
        window = int(query["from"]), int(query["from"]) + int(query["period"])
        assert tuple(int(edge.astype("datetime64[s]").astype(int)) for edge in (one.start, one.end)) == window
    # Cuts on multiples of a thousand points cost nothing (section 8.2).
    assert plan.weight == independent.weight(10, 3500, Fraction(4_500), 1, depth)


@pytest.mark.parametrize(
    ("call", "path", "weights", "rows"),
    [
        (("leaderboard",), "leaderboard?limit=100 leaderboard?limit=100&offset=100", [60, 60], 200),
        (
            ("leaderboard", {"offset": 50}),
            "leaderboard?limit=50&offset=50 leaderboard?limit=100&offset=100",
            2 * [60],
            150,
        ),
        (("leaderboard", {"limit": 30, "win_rate": 60}), "leaderboard?limit=30&winRate=60", [60], 30),
        (("trader_profile", {"user_wallet": WALLET}), f"trader-profile?userWallet={WALLET}", [100], 1),
        (("positions", {"user_wallet": WALLET, "limit": 150}), "", [40, 40], 150),
        (("market_summary", {"condition_id": "0x1"}), "market-summary?conditionId=0x1", [60], 1),
        (("user-categories", {"user_wallet": WALLET}), f"user-categories?userWallet={WALLET}", [40], 1),
    ],
)
def test_analytics_have_plans_too(nobody, call, path, weights, rows):
    name, given = call[0], call[1] if len(call) > 1 else {}
    plan = nobody.plan(name, **given)
    assert ([one.weight for one in plan.requests], plan.weight, plan.points) == (weights, sum(weights), rows)
    if path:
        start = "http://127.0.0.1:9/v1/prediction/analytics/"
        assert [one.url.removeprefix(start) for one in plan.requests] == path.split()
    with pytest.raises(mp.InvalidRequest, match="max_weight=39"):
        nobody.plan(name, **given, max_weight=39)
    assert nobody.budget.used == 0


def test_a_plan_of_analytics_is_what_they_send():
    sent = {"traderProfiles": [{"wallet_address": f"0x{row}"} for row in range(100)]}
    with scripted(lambda path: sent) as (url, asked), mp.Client("key", url, tier="advanced") as client:
        plan = client.plan("leaderboard", win_rate=55.5, sort_by="roi")
        client.leaderboard(win_rate=55.5, sort_by="roi")
        assert [url + path for path in asked] == [one.url for one in plan.requests]
        assert client.plan("trader_profile", WALLET).requests[0].url.endswith(f"userWallet={WALLET}")


def test_what_breaks_the_rules_has_no_plan(nobody):
    with pytest.raises(mp.InvalidRequest):
        nobody.plan("positions")
    with pytest.raises(mp.InvalidRequest, match="paging reaches"):
        nobody.plan("leaderboard", limit=1_000)
    with mp.Client("key", "http://127.0.0.1:9", tier="basic") as basic, pytest.raises(mp.TierError, match="advanced"):
        basic.plan("leaderboard")


def test_d3_07_a_call_heavier_than_the_bucket_is_cut_to_fit_it():
    with mp.Client("key", "http://127.0.0.1:9", tier="free", clock=lambda: NOW) as client:
        window = {"period": 4_000 * 60, "block_size": 10, "max_depth": 100}
        plan = client.plan("orderbook_heatmap", *MARKET, "1m", **window)
    # 40 of weight in a bucket of 20; the second half waits 120 s for its 20.
    assert [(one.points, one.weight) for one in plan.requests] == [(2_000, 20), (2_000, 20)]
    assert plan.eta == pytest.approx(120, abs=1)


def test_d3_07_what_can_never_run_is_refused_with_what_would():
    limit = {"X-RateLimit-Limit": "5"}  # a bucket of 10 (section 8.1)
    with scripted(lambda path: (200, limit, {})) as (url, asked), mp.Client("key", url, clock=lambda: NOW) as client:
        client.usage()
        sent = len(asked)
        deep = {"block_size": 10, "max_depth": 7_001, "period": 600}  # weighs 14 (section 8.4)
        with pytest.raises(mp.InvalidRequest, match="max_depth of at most 3500, or use the tier free"):
            client.orderbook_heatmap(*MARKET, "1m", **deep)
        several = {"exchange": ["BINANCE", "BYBIT", "BITGET"], "coin": "BTC", "group_by": "sum", "period": 600}
        with pytest.raises(mp.InvalidRequest, match="ask at most 1 exchanges at once, or use the tier free"):
            client.orderbook_heatmap(interval="1m", block_size=10, **several)
        for ask in (client.leaderboard, lambda: client.plan("leaderboard")):
            with pytest.raises(mp.RateLimitError, match=r"60 never fits.* at most 10.* tier basic"):
                ask()
        assert len(asked) == sent


def test_plans_survive_a_pickle(nobody):
    plan = nobody.plan("candles", *MARKET, "1m", period=600)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert pickle.loads(pickle.dumps(plan.requests[0])) == plan.requests[0]


def test_plans_take_the_methods_names_and_guess_no_weight():
    with mp.LocalService(now=NOW) as service, service.client() as client:
        plan = client.plan("orderbook_heatmap", "BYBIT", "BTCUSDT", "1m", period=8 * 3600, block_size=10)
        assert plan.weight == 10
        for name in ("book", "OPEN_INTREST_AGG", "candels"):
            with pytest.raises(mp.InvalidRequest, match="is no data type"):
                client.plan(name, "BYBIT", "BTCUSDT", "1m", period=3600)


def test_an_interval_in_another_place_is_found(nobody):
    with pytest.raises(mp.InvalidRequest, match=r'"1h" is given as symbol: did you mean interval="1h"\?'):
        nobody.plan("candles", "BINANCE_FUTURES", "1h", "BTCUSDT", period=7_200)


class Text(str):
    """Not the kind of text that the engine reads by itself."""


START = NOW - 86_400
PLAIN = {"start": START, "period": 7_200}


@pytest.mark.parametrize(
    ("places", "named"),
    [
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), PLAIN),
        (("BINANCE_FUTURES", "BTCUSDT", "HOUR"), {"start": START + 0.5, "end": START + 9_000.0, "period": None}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), PLAIN | {"usd": True, "gapfill": False, "include_forming": True}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), PLAIN | {"usd": False, "sort": "desc", "include_forming": False}),
        (("BINANCE_FUTURES", None, "1h"), PLAIN | {"coin": "BTC", "extra": None, "max_weight": None}),
    ],
)
def test_plain_arguments_are_read_as_any_others(nobody, places, named):
    plain = nobody.plan("candles", *places, **named)
    others = {name: Text(value) if isinstance(value, str) else value for name, value in named.items()}
    read = nobody.plan("candles", *(one and Text(one) for one in places), **others)
    assert list(plain.requests) == list(read.requests) and plain.requests[0].url == read.requests[0].url


@pytest.mark.parametrize(
    ("places", "named"),
    [
        (("BINANCE_FUTURES", "BTCUSDT", "2h"), PLAIN),
        (("binance", "BTCUSDT", "1h"), PLAIN),
        (("BINANCE_FUTURES", "BTCUSDT\N{SNOWMAN}", "1h"), PLAIN | {"sort": "down"}),
        (("BINANCE_FUTURES", "BTCUSDT", None), PLAIN),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), {"start": 1e300}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), {"start": float("nan"), "period": 60}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), {"start": True, "period": 60}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), {"start": START, "period": 0.5}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), {"start": START, "period": 10**400}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), PLAIN | {"usd": "yes"}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), PLAIN | {"include_forming": None}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), PLAIN | {"coin": "BTC"}),
        (("BINANCE_FUTURES", "BTCUSDT", "1h"), {}),
    ],
)
def test_plain_arguments_that_are_wrong_are_refused_as_any_others(nobody, places, named):
    said = []
    for kind in (str, Text):
        with pytest.raises(mp.InvalidRequest) as caught:
            nobody.plan("candles", *(one and kind(one) for one in places), **named)
        said.append(str(caught.value))
    assert said[0] == said[1]
