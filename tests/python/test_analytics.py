"""Prediction-market analytics: what is sent, what it weighs, what the records hold (sections 2.5 and 4.3)."""

import asyncio
import json
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow as pa
import pytest

import marketpoints as mp
from support.scripted import scripted

PREFIX = "/v1/prediction/analytics"
# The longest id there is: 78 digits, more than any number type of the machine holds.
ASSET = "1" * 78
WALLET = "0xf1302aafc43aa3a69bcd8058fc7a0259dac246ab"

POSITION = {
    "wallet_address": WALLET,
    "asset_id": ASSET,
    "realized_size": 1.1555027501624001e07,
    "resolved_price": 1,
    "merge_count": 153,
    "category": "Politics ",
    "newer": [1],
}


def test_the_leaderboard_sends_every_filter():
    filters = {
        "offset": 3,
        "roi_percentage": 5,
        "min_total_trade_count": 10,
        "max_total_trade_count": 1e6,
        "win_rate": 55.5,
        "avg_position_size": 100,
        "total_volume": 1000,
        "primary_category": "Sports & more",
        "open_position_count": 1,
        "time_since_last_trade": 60,
        "avg_holding_time": 7,
        "sort_by": "win_rate",
        "sort_direction": "ASC",
        "extra": {"pnlComponents": ["a", "b"]},
    }
    expected = {
        "limit": ["2"],
        "offset": ["3"],
        "roiPercentage": ["5"],
        "minTotalTradeCount": ["10"],
        "maxTotalTradeCount": ["1000000"],
        "winRate": ["55.5"],
        "avgPositionSize": ["100"],
        "totalVolume": ["1000"],
        "primaryCategory": ["Sports & more"],
        "openPositionCount": ["1"],
        "timeSinceLastTrade": ["60"],
        "avgHoldingTime": ["7"],
        "sortBy": ["WIN_RATE"],
        "sortDirection": ["SORT_DIRECTION_ASC"],
        "pnlComponents": ["a", "b"],
    }
    rows = [
        {"wallet_address": "0xa", "latest_open_position_ts": {"s": 1776595344, "ns": 123456789}},
        {"wallet_address": "0xb"},
    ]
    with scripted(lambda _: {"traderProfiles": rows}) as (url, asked), mp.Client("key", url, tier="advanced") as client:
        board = client.leaderboard(limit=2, **filters)
    assert [urlsplit(path).path for path in asked] == [f"{PREFIX}/leaderboard"]
    assert parse_qs(urlsplit(asked[0]).query) == expected
    assert board[0] == mp.TraderProfile(
        wallet_address="0xa", latest_open_position_ts=np.datetime64("2026-04-19T10:42:24.123456789")
    )
    assert np.isnat(board[1].latest_open_position_ts) and np.isnan(board[1].total_roi)
    assert repr(board) == "<2 × TraderProfile>"
    assert board.to_pandas()["wallet_address"].tolist() == ["0xa", "0xb"]
    assert board.to_polars()["latest_open_position_ts"].to_physical().to_list() == [1776595344123456789, None]
    assert board.to_arrow()["wallet_address"].to_pylist() == ["0xa", "0xb"]
    assert pa.table(board)["extra"].to_pylist() == ["{}", "{}"]


def paged(count, moved=0):
    """Answers as a service with so many positions does; from the second page on, rows have moved down."""

    def answer(path):
        query = parse_qs(urlsplit(path).query)
        offset, limit = int(query.get("offset", ["0"])[0]), int(query.get("limit", ["20"])[0])
        first = offset - moved if offset else 0
        rows = [{"wallet_address": "w", "asset_id": str(row)} for row in range(first, min(first + limit, count))]
        return {"userPositions": rows}

    return answer


@pytest.mark.parametrize(
    ("count", "limit", "offset", "pages", "rows"),
    [
        (250, None, 0, [("100", None), ("100", "100")], range(200)),
        (130, None, 0, [("100", None), ("100", "100")], range(130)),
        (30, None, 0, [("100", None)], range(30)),
        (250, 150, 0, [("100", None), ("50", "100")], range(150)),
        (250, 10, 0, [("10", None)], range(10)),
        (250, None, 80, [("20", "80"), ("100", "100")], range(80, 200)),
        (900, 120, 500, [("100", "500"), ("20", "600")], range(500, 620)),
    ],
)
def test_listings_page_by_themselves(count, limit, offset, pages, rows):
    with scripted(paged(count)) as (url, asked), mp.Client("key", url, tier="advanced") as client:
        got = client.positions("w", limit=limit, offset=offset)
        assert client.budget.used == 40 * len(pages)
    queries = [parse_qs(urlsplit(path).query) for path in asked]
    assert [(query["limit"][0], query.get("offset", [None])[0]) for query in queries] == pages
    assert [one.asset_id for one in got] == [str(row) for row in rows]


def test_a_row_that_moves_to_the_next_page_comes_once():
    with scripted(paged(150, moved=2)) as (url, _), mp.Client("key", url, tier="advanced") as client:
        assert [one.asset_id for one in client.positions("w")] == [str(row) for row in range(150)]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda client: client.positions(), "user_wallet"),
        (lambda client: client.positions("w", ASSET, "0xc"), "both"),
        (lambda client: client.positions("w", int(ASSET)), "asset_id"),
        (lambda client: client.positions(f"0x{'ab' * 32}"), "user_wallet: .* as condition_id="),
        (lambda client: client.market_summary(f"0x{'ab' * 32}"), "asset_id: .* as condition_id="),
        (lambda client: client.positions("w", limit=201), "200 rows"),
        (lambda client: client.positions("w", limit=0), "limit"),
        (lambda client: client.positions("w", offset=-1), "offset"),
        (lambda client: client.market_summary(), "condition_id"),
        (lambda client: client.market_summary(ASSET, "0xc"), "both"),
        (lambda client: client.trader_profile(""), "user_wallet"),
        (lambda client: client.user_categories(None), "user_wallet"),
        (lambda client: client.leaderboard(sort_by="PNL"), "REALIZED_PNL"),
        (lambda client: client.leaderboard(win_rate="high"), "win_rate"),
        (lambda client: client.leaderboard(win_rate=float("nan")), "finite"),
        (lambda client: client.leaderboard(roi_percentage=1.5), "roi_percentage"),
        (lambda client: client.leaderboard(sort_direction="up"), "sort_direction: 'up' is not one of asc, desc"),
    ],
)
def test_what_breaks_the_rules_is_not_sent(call, word):
    with mp.Client("key", "http://127.0.0.1:9", retries=0, tier="advanced") as client:
        with pytest.raises(mp.InvalidRequest, match=word):
            call(client)
        assert client.budget.used == 0


@pytest.mark.parametrize("offset", [1, 50, 99])
def test_every_row_up_to_the_wall_is_had(service, offset):
    with service.client() as client:
        board = client.leaderboard()
        later = client.leaderboard(offset=offset)
        assert list(later) == list(board[offset:]) and len(later) > 100
        assert client.usage().used == 240


def test_a_page_that_fails_leaves_the_paid_rows_in_the_error():
    rows = [{"wallet_address": "w", "asset_id": str(row)} for row in range(100)]

    def answer(path):
        if "offset=" in path:
            return 400, {}, {"error": "INVALID_PARAMS", "message": "no such offset"}
        return {"userPositions": rows, "traderProfiles": [{"wallet_address": str(row)} for row in range(100)]}

    with scripted(answer) as (url, _), mp.Client("key", url, tier="advanced") as client:
        with pytest.raises(mp.PartialError, match="no such offset") as caught:
            client.positions("w")
        assert [one.asset_id for one in caught.value.results] == [str(row) for row in range(100)]
        assert (caught.value.status, caught.value.code) == (400, "INVALID_PARAMS")
        assert isinstance(caught.value.failures[0], mp.InvalidRequest)

    async def board(url):
        async with mp.AsyncClient("key", url, tier="advanced") as client:
            await client.leaderboard()

    with scripted(answer) as (url, _), pytest.raises(mp.PartialError) as caught:
        asyncio.run(board(url))
    assert isinstance(caught.value.results[0], mp.TraderProfile) and len(caught.value.results) == 100


def test_positions_keep_ids_as_texts_and_say_what_is_unknown():
    with scripted(lambda _: {"userPositions": [POSITION, {}]}) as (url, _), mp.Client("key", url) as client:
        first, empty = client.positions(asset_id=ASSET, limit=100)
    assert first.asset_id == ASSET and first.merge_count == 153 and first.realized_size == 11_555_027.501624001
    assert (first.resolved_price, empty.resolved_price) == (1.0, None)
    assert first.category == "Politics " and first.extra == {"newer": [1]}
    assert empty == mp.UserPosition()


def test_a_summary_holds_its_distributions_as_arrays():
    bins = [0.0] * 60 + [3.0] + [0.0] * 40
    row = {"token_id": ASSET, "outcome_name": "Yes", "open_pos_avg_price_distribution": bins}
    summary = {"event_id": "7", "condition_id": ["0xc"], "win_rate": 0.07, "total_buy_count": 4}
    summary |= {"realized_pnl_distribution": [float(rank) for rank in range(100)], "outcome_pricing": [row]}
    with scripted(lambda _: {"marketSummary": summary}) as (url, asked), mp.Client("key", url) as client:
        got = client.market_summary(condition_id="0xc")
    assert asked[-1] == f"{PREFIX}/market-summary?conditionId=0xc"
    assert (got.condition_id, got.win_rate, got.total_buy_count, got.total_sell_count) == (
        ("0xc",),
        7.0,
        4,
        0,
    )  # percent, as of traders
    assert got.realized_pnl_distribution.dtype == np.float64
    assert got.realized_pnl_distribution.tolist() == list(range(100))
    assert not got.realized_pnl_distribution.flags.writeable
    assert "outcomes Yes" in repr(got) and "outcomes" in got._repr_html_()
    assert got.outcome_pricing.to_arrow()["open_pos_avg_price_distribution"].to_pylist() == [bins]
    (outcome,) = got.outcome_pricing
    assert outcome.token_id == ASSET and outcome.open_pos_avg_price_distribution.tolist() == bins
    assert outcome.closed_pos_avg_exit_price_distribution.shape == (0,)


def test_categories_are_a_table():
    rows = [{"market_category": "Politics ", "market_sub_category": "US", "count": 3}, {"market_category": "Sports"}]
    sent = {"userCategories": {"wallet_address": "w", "category_breakdown": rows}}
    with scripted(lambda _: sent) as (url, _), mp.Client("key", url) as client:
        got = client.user_categories("w")
    assert got.category_breakdown.to_pandas()["count"].tolist() == [3, 0]
    assert got.category_breakdown[0].market_category == "Politics "
    assert "Politics/US 3" in repr(got) and "Politics/US" in got._repr_html_()


def test_what_the_service_does_not_know_is_none():
    with scripted(lambda _: {}) as (url, _), mp.Client("key", url) as client:
        assert client.trader_profile("w") is client.market_summary(ASSET) is client.user_categories("w") is None
        assert len(client.positions("w")) == len(client.leaderboard()) == 0


def test_the_local_service_and_both_clients_agree(demo):
    async def awaited():
        async with demo.async_client("unlimited") as client:
            return (
                await client.trader_profile(wallet),
                await client.positions(wallet),
                await client.leaderboard(limit=5),
            )

    with demo.client("unlimited") as client:
        board = client.leaderboard(limit=5)
        wallet = board[0].wallet_address
        profile, positions, categories = (
            client.trader_profile(wallet),
            client.positions(wallet),
            client.user_categories(wallet),
        )
        summary = client.market_summary(condition_id=positions[0].condition_id)
    assert [one.total_realized_pnl for one in board] == sorted((one.total_realized_pnl for one in board), reverse=True)
    assert profile == board[0] and profile.total_position_count == len(positions) > 0
    assert sum(row.count for row in categories.category_breakdown) == len(positions)
    assert len(summary.realized_pnl_distribution) == 100
    assert {len(row.open_pos_avg_price_distribution) for row in summary.outcome_pricing} == {101}
    theirs = asyncio.run(awaited())
    assert theirs[0] == profile and list(theirs[1]) == list(positions) and list(theirs[2]) == list(board)


def test_weights_are_what_the_service_charges(service):
    with service.client("advanced") as client:
        wallet = client.leaderboard(limit=1)[0].wallet_address
        assert (client.usage().used, client.budget.used) == (60, 60)
        client.trader_profile(wallet)
        client.positions(wallet, limit=1)
        client.user_categories(wallet)
        assert (client.usage().used, client.budget.used) == (240, 240)
    with service.client("standard") as client, pytest.raises(mp.TierError):
        client.positions(wallet)


def recorded(shared, name):
    if shared is None:
        pytest.skip("the recorded answers are not at hand")
    return (shared / "recorded" / name).read_bytes()


def test_the_recorded_positions(shared):
    body = recorded(shared, "pm_positions_wallet.json")
    with scripted(lambda _: body) as (url, _), mp.Client("key", url) as client:
        got = client.positions(WALLET, limit=10)
    expected = json.loads(body)["userPositions"]
    assert len(got) == len(expected) == 10
    for one, row in zip(got, expected, strict=True):
        assert {name: getattr(one, name) for name in row} == row
        assert one.resolved_price == row.get("resolved_price") and one.buy_count == 0 and one.extra == {}
        assert len(one.asset_id) > 70


def test_the_recorded_profile(shared):
    body = recorded(shared, "pm_trader_profile.json")
    with scripted(lambda _: body) as (url, _), mp.Client("key", url) as client:
        got = client.trader_profile(WALLET)
    row = json.loads(body)["traderProfile"]
    assert {name: getattr(got, name) for name in row} == row
    assert (got.open_position_count, got.extra) == (0, {}) and np.isnan(got.total_roi)
    assert np.isnat(got.latest_open_position_ts)
