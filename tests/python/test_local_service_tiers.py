"""Tiers, walls, weights and errors of the local service, each tier against each rule.

Every expected value comes from the tables of the specification (service.md, sections 4.1, 5, 7 and 8), typed in here,
and from exact fractions.
"""

import math
import re
import time
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

import marketpoints as mp
from support.wire import get

DAY, MINUTE = 86_400, 60
# 02:00 UTC of a Saturday, so that a day's worth of requests fits before midnight.
NOW = 1_790_000_000 // DAY * DAY + 7_200
POINTS, ANALYTICS = "/v1/points", "/v1/prediction/analytics"


class Tier(NamedTuple):
    """A column of section 8.1."""

    per_minute: int
    burst: int
    per_day: int | None
    history: int


class Type(NamedTuple):
    """A row of sections 8.3 and 8.4, with a sound selection by section 4.1."""

    cost: int
    most: int
    selection: dict
    depth: int | None = None
    advanced: bool = False


TIERS = {
    "free": Tier(10, 20, 1000, 7),
    "basic": Tier(50, 100, None, 30),
    "standard": Tier(100, 200, None, 90),
    "advanced": Tier(750, 1500, None, 365),
}
SYMBOL = {"exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT"}
OPTION = {"exchange": "DERIBIT", "coin": "BTC", "tenor": "ONE_W"}
TYPES = {
    "TRADE_SIDE_AGNOSTIC_AGG": Type(1, 100_000, SYMBOL),
    "TRADE_AGG": Type(1, 100_000, SYMBOL),
    "LIQUIDATION_AGG": Type(1, 100_000, SYMBOL),
    "FUNDING_RATE_AGG": Type(1, 100_000, SYMBOL),
    "OPEN_INTEREST_AGG": Type(1, 100_000, SYMBOL),
    "VOLUME_PROFILE_AGG": Type(2, 20_000, SYMBOL),
    "TPO_AGG": Type(5, 20_000, SYMBOL),
    "BLOCK_BOOK_SNAPSHOT_AGG": Type(10, 4_000, SYMBOL | {"blockSize": 10}, depth=3500),
    "VENUE_LIQUIDATION_AGG": Type(5, 5_000, {"coin": "BTC"}, depth=1500, advanced=True),
    "SKEW_OPTION_SUMMARY_AGG": Type(1, 100_000, OPTION | {"rawSymbol": "BTC_25"}, advanced=True),
    "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG": Type(1, 100_000, OPTION | {"rawSymbol": "BTC_ATM"}, advanced=True),
    "TOKEN_SUPPLY_AGG": Type(1, 100_000, {"coin": "BTC", "tokenName": "Bitcoin"}, advanced=True),
}
ENDPOINTS = {
    "leaderboard": (60, {}),
    "trader-profile": (100, {"userWallet": "0x0"}),
    "positions": (40, {"userWallet": "0x0"}),
    "market-summary": (60, {"conditionId": "0x0"}),
    "user-categories": (40, {"userWallet": "0x0"}),
}
# What has no data answers {} at once and weighs the same: for requests of the largest windows.
NOTHING = {"exchange": "BINANCE_FUTURES", "rawSymbol": "NOTHING"}


def weight(kind, points, exchanges=1, depth=None):
    """Section 8.2."""
    row = TYPES[kind]
    base = math.ceil(Fraction(points, 1000)) * row.cost
    several = 1 + Fraction(1, 5) * exchanges if exchanges > 1 else 1
    deep = 1 if depth is None or depth <= row.depth else 1 + Fraction(1, 5) * ((depth - 1) // row.depth)
    return max(1, math.ceil(base * several * deep))


def holds(tier, kind):
    return not TYPES[kind].advanced or tier == "advanced"


def minutes(service, tier, kind, points, *, key=None, **more):
    """A request for so many one-minute points, the last of them now."""
    return get(service, POINTS, service.keys[key or tier], type=kind, interval="MINUTE", period=points * MINUTE, **more)


@pytest.fixture(scope="module")
def twin():
    """A service whose budgets nobody checks."""
    with mp.LocalService(now=NOW, strict_symbols=False) as service:
        yield service


def refilled(service):
    """Every bucket full again: two minutes hold the burst."""
    service.advance(120)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("tier", TIERS)
def test_each_tier_has_its_types_at_their_weight(twin, tier, kind):
    refilled(twin)
    row = TYPES[kind]
    answer = minutes(twin, tier, kind, 3, **row.selection)
    if holds(tier, kind):
        assert (answer.status, answer.used) == (200, weight(kind, 3)), answer
        assert int(answer.headers["X-RateLimit-Limit"]) == TIERS[tier].per_minute
        assert answer.headers["Content-Type"] == "application/json"
    else:
        assert (answer.status, answer.code, answer.used) == (403, "FORBIDDEN", 0)
        assert f"{kind} needs the plan advanced; this key's plan is {tier}" in answer.message


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("endpoint", "cost", "selection"), [(name, *row) for name, row in ENDPOINTS.items()])
def test_each_tier_has_its_analytics_at_their_weight(twin, tier, endpoint, cost, selection):
    refilled(twin)
    answer = get(twin, f"{ANALYTICS}/{endpoint}", twin.keys[tier], **selection)
    if tier == "advanced":
        assert (answer.status, answer.used) == (200, cost)
    else:
        assert (answer.status, answer.code, answer.used) == (403, "FORBIDDEN", 0)
        assert "needs the plan advanced" in answer.message
        assert tier in answer.message


@pytest.mark.parametrize("number", [2, 3, 5])
@pytest.mark.parametrize("kind", ["TRADE_SIDE_AGNOSTIC_AGG", "OPEN_INTEREST_AGG", "BLOCK_BOOK_SNAPSHOT_AGG"])
@pytest.mark.parametrize("tier", TIERS)
def test_several_exchanges_are_for_advanced_and_weigh_more(twin, tier, kind, number):
    refilled(twin)
    several = ["BINANCE_FUTURES", "BYBIT", "OKEX_SWAP", "COINBASE", "BINANCE"][:number]
    query = {"exchange": several, "coin": "NOTHING", "transform__groupBy__type": "GROUP_BY_TYPE_SUM"}
    block = {"blockSize": 10} if kind == "BLOCK_BOOK_SNAPSHOT_AGG" else {}
    answer = minutes(twin, tier, kind, 1_000, **query, **block)
    if tier == "advanced":
        assert (answer.status, answer.used) == (200, weight(kind, 1_000, number))
    else:
        assert (answer.status, answer.code, answer.used) == (403, "FORBIDDEN", 0)
        assert f"several exchanges ({number} were given) needs the plan advanced" in answer.message


def test_the_weights_that_the_specification_spells_out():
    assert [weight("TRADE_AGG", 1000, number) for number in (2, 3, 5)] == [2, 2, 2]
    book, heat = "BLOCK_BOOK_SNAPSHOT_AGG", "VENUE_LIQUIDATION_AGG"
    assert [weight(book, 1000, number) for number in (2, 3, 5)] == [14, 16, 20]
    assert [weight(book, 1000, depth=depth) for depth in (3500, 3501, 7000, 7001, 10_500)] == [10, 12, 12, 14, 14]
    assert [weight(heat, 1000, depth=depth) for depth in (1500, 1501, 3000, 3001)] == [5, 6, 6, 7]


@pytest.mark.parametrize("depth", [None, 1, 3500, 3501, 7000, 7001, 10_501])
@pytest.mark.parametrize("points", [1, 1000, 1001])
def test_depth_weighs(twin, points, depth):
    refilled(twin)
    kind = "BLOCK_BOOK_SNAPSHOT_AGG"
    answer = minutes(twin, "advanced", kind, points, **NOTHING, blockSize=10, maxDepth=depth)
    assert (answer.status, answer.used) == (200, weight(kind, points, depth=depth))


@pytest.mark.parametrize("tier", TIERS)
def test_the_history_wall(twin, tier):
    refilled(twin)
    depth = TIERS[tier].history * DAY
    # The clock runs on: a minute inside is inside for the whole test, a second outside stays outside.
    now = int(twin.now())
    inside = get(
        twin, POINTS, twin.keys[tier], type="TRADE_AGG", interval="DAY", from_=now - depth + 60, period=DAY, **NOTHING
    )
    outside = get(
        twin, POINTS, twin.keys[tier], type="TRADE_AGG", interval="DAY", from_=now - depth - 1, period=DAY, **NOTHING
    )
    assert (inside.status, inside.used) == (200, 1)
    assert (outside.status, outside.code, outside.used) == (403, "FORBIDDEN", 1)
    words = f"the history depth of {TIERS[tier].history} days of the plan {tier}; start at "
    assert words in outside.message
    shown, earliest = re.search(r"start at (\S+ \S+) UTC \(from=(\d+)\) or later", outside.message).groups()
    assert now - depth <= int(earliest) <= now - depth + 60
    assert np.datetime64(shown) == np.datetime64(int(earliest), "s")
    # Without `from` the window is the last `period` seconds.
    answer = get(twin, POINTS, twin.keys[tier], type="TRADE_AGG", interval="DAY", period=depth + 1, **NOTHING)
    assert (answer.status, answer.code) == (403, "FORBIDDEN")


# Where no other wall stands before this one.
MOST = [
    (tier, kind)
    for tier, limits in TIERS.items()
    for kind, row in TYPES.items()
    if holds(tier, kind) and (row.most + 1) * MINUTE <= limits.history * DAY
]


@pytest.mark.parametrize(("tier", "kind"), MOST)
def test_the_most_points_of_a_request(twin, tier, kind):
    row, limits = TYPES[kind], TIERS[tier]
    refilled(twin)
    answer = minutes(twin, tier, kind, row.most + 1, **row.selection)
    assert (answer.status, answer.code, answer.used) == (403, "FORBIDDEN", 0)
    assert f"{row.most + 1} points" in answer.message
    assert f"more than the {row.most} that one request of {kind} may have" in answer.message
    assert "shorter window or a longer interval" in answer.message
    if "rawSymbol" not in row.selection or row.advanced:
        return
    answer = minutes(twin, tier, kind, row.most, **row.selection | NOTHING)
    full = weight(kind, row.most)
    if full <= limits.burst:
        assert (answer.status, answer.used) == (200, full)
    else:
        assert (answer.status, answer.code, answer.used) == (403, "FORBIDDEN", 0)
        assert f"weighs {full}, more than the {limits.burst}" in answer.message
        assert "shorter window" in answer.message


@pytest.mark.parametrize("tier", TIERS)
def test_burst_then_429_then_exactly_as_long_as_it_says(service, tier):
    limits = TIERS[tier]
    # Books: 10 a thousand points. The burst is a multiple of that.
    heavy = {"type": "BLOCK_BOOK_SNAPSHOT_AGG", "interval": "MINUTE", "blockSize": 10, **NOTHING}
    each = 4 if limits.burst % 40 == 0 and limits.burst > 40 else 1
    spent, begun = 0, time.monotonic()
    while spent < limits.burst:
        step = min(each, (limits.burst - spent) // 10)
        answer = get(service, POINTS, service.keys[tier], period=step * 1000 * MINUTE, **heavy)
        spent += weight(heavy["type"], step * 1000)
        assert answer.status == 200
    # What refilled meanwhile is not enough for another 1,000 points, unless this machine stood still.
    refill = Fraction(limits.per_minute, 60)
    owed = Fraction(10)
    answer = get(service, POINTS, service.keys[tier], period=1000 * MINUTE, **heavy)
    lasted = Fraction(time.monotonic() - begun)
    if lasted * refill >= owed:
        pytest.skip(f"spending the burst took {float(lasted):.1f} s, in which all of it refilled")
    assert (answer.status, answer.code) == (429, "RATE_LIMITED")
    wait = int(answer.headers["Retry-After"])
    assert max(1, math.ceil(owed / refill - lasted)) <= wait <= math.ceil(owed / refill)
    assert answer.json["retry_after"] == wait
    assert f"weighs 10 and {answer.headers['X-RateLimit-Remaining']} are left" in answer.message
    assert f"try again in {wait} s" in answer.message
    service.advance(wait)
    assert get(service, POINTS, service.keys[tier], period=1000 * MINUTE, **heavy).status == 200


@pytest.mark.parametrize("tier", TIERS)
def test_the_daily_cap(tier):
    limits = TIERS[tier]
    query = {
        "type": "BLOCK_BOOK_SNAPSHOT_AGG",
        "interval": "MINUTE",
        "blockSize": 10,
        "period": 1000 * MINUTE,
        **NOTHING,
    }
    with mp.LocalService(now=NOW, strict_symbols=False) as service:
        for _ in range(1000 // 10):
            assert get(service, POINTS, service.keys[tier], **query).status == 200
            service.advance(60)
        answer = get(service, POINTS, service.keys[tier], **query)
        if limits.per_day is None:
            assert answer.status == 200
            return
        midnight = (NOW // DAY + 1) * DAY
        left = midnight - service.now()
        assert (answer.status, answer.code) == (429, "RATE_LIMITED")
        wait = int(answer.headers["Retry-After"])
        assert left <= wait <= left + 60
        assert f"daily cap of {limits.per_day} weight of the plan {tier}" in answer.message
        assert f"00:00 UTC: try again in {wait} s" in answer.message
        service.advance(wait)
        assert get(service, POINTS, service.keys[tier], **query).status == 200


@pytest.mark.parametrize(
    ("key", "query", "status", "code", "words"),
    [
        (None, {}, 401, "INVALID_API_KEY", "x-service-key"),
        ("nonsense", {}, 401, "INVALID_API_KEY", "x-service-key"),
        ("basic", {"type": None}, 400, "INVALID_PARAMS", "parameter type"),
        ("basic", {"type": "TRADE_AGGG"}, 400, "INVALID_PARAMS", "did you mean TRADE_AGG?"),
        ("basic", {"interval": None}, 400, "INVALID_TIMEFRAME", "one of MINUTE, "),
        ("basic", {"interval": "1h"}, 400, "INVALID_TIMEFRAME", "did you mean HOUR?"),
        ("basic", {"period": -1}, 400, "INVALID_PARAMS", "period"),
        ("basic", {"period": "long"}, 400, "INVALID_PARAMS", 'parameter period: "long" is not'),
        ("basic", {"peroid": 60}, 400, "INVALID_PARAMS", "period"),
        ("basic", {"rawSymbol": None}, 400, "INVALID_PARAMS", "rawSymbol"),
    ],
)
def test_other_refusals_name_what_is_wrong_and_cost_nothing(twin, key, query, status, code, words):
    refilled(twin)
    given = {"type": "TRADE_AGG", "interval": "MINUTE", "period": 60, **SYMBOL} | query
    answer = get(twin, POINTS, twin.keys.get(key, key), **given)
    assert (answer.status, answer.code) == (status, code)
    assert words in answer.message
    assert "nonsense" not in answer.message
    assert get(twin, "/v1/usage", twin.keys["basic"]).json.get("used", 0) == 0


def test_a_key_in_the_wrong_place_is_no_key(twin):
    key = twin.keys["advanced"]
    assert get(twin, "/v1/usage", **{"X-Service-Key": key}).status == 401
    assert get(twin, "/v1/usage", key.upper()).status == 401
    assert get(twin, "/v1/usage", key[:-1]).status == 401
    assert get(twin, "/v1/usage", key).status == 200
