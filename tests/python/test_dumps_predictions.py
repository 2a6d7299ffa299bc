"""Prediction markets and positions: from tables over a store to the listing and the five analytics."""

import json
import urllib.request

import numpy as np
import pytest

import marketpoints as mp
from support import independent
from support.tables import CONDITIONS, COUNTS, NOW, asset, make_positions, write_table


def get(service, path):
    request = urllib.request.Request(f"{service.url}/v1/{path}", headers={"X-Service-Key": service.keys["unlimited"]})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def analytics(service, path):
    return get(service, f"prediction/analytics/{path}")


@pytest.fixture(scope="module")
def venue(tmp_path_factory):
    """(store, rows of the positions)."""
    folder = tmp_path_factory.mktemp("venue")
    positions = make_positions(folder / "dumps" / "positions" / "2025-12.csv.gz")
    report = mp.ingest(folder / "dumps", folder / "store")
    assert (report.problems, report.files, report.rows) == ([], 1, len(positions))
    return folder / "store", positions


def test_a_profile_counts_its_positions(venue):
    store, positions = venue
    wallets = sorted({row["wallet_address"] for row in positions})
    with mp.LocalService(data=store, now=NOW) as service:
        for wallet in wallets[:10]:
            answer = analytics(service, f"trader-profile?userWallet={wallet}")["traderProfile"]
            for name, wanted in independent.profile(positions, wallet).items():
                assert answer.get(name, 0) == pytest.approx(wanted, rel=1e-12, abs=1e-9), name
        with service.client() as client:
            board = client.leaderboard(limit=len(wallets))
            order = sorted(wallets, key=lambda wallet: -independent.profile(positions, wallet)["total_realized_pnl"])
            assert [row.wallet_address for row in board] == order
            idle = client.leaderboard(limit=100, time_since_last_trade=2_000_000)
        quiet = set()
        for wallet in wallets:
            mine = [row for row in positions if row["wallet_address"] == wallet]
            last = max(int(row["latest_open_ts"]) + int(row["prev_hold_duration"] or 0) for row in mine)
            if NOW - last >= 2_000_000:
                quiet.add(wallet)
        assert {row.wallet_address for row in idle} == quiet


def test_positions_come_back_as_they_were_written(venue):
    store, positions = venue
    with mp.LocalService(data=store, now=NOW) as service, service.client() as client:
        for market, condition in enumerate(CONDITIONS):
            answer = client.positions(condition_id=condition, limit=200)
            mine = [row for row in positions if row["condition_id"] == condition]
            assert [row.unrealized_size for row in answer] == sorted(
                (float(row["unrealized_size"]) for row in mine), reverse=True
            )
            by_key = {(row["wallet_address"], row["asset_id"]): row for row in mine}
            assert len(by_key) == len(answer)
            for position in answer:
                row = by_key[position.wallet_address, position.asset_id]
                for name in ("realized_size", "avg_price", "avg_exit_price", "realized_pnl"):
                    assert getattr(position, name) == float(row[name] or 0), name
                opened = int(row["latest_open_ts"] or 0)
                opened_at = position.latest_open_ts
                assert np.isnat(opened_at) if not opened else opened_at == np.datetime64(opened, "s")
                for name in ("prev_hold_duration", *COUNTS):
                    assert getattr(position, name) == int(row[name] or 0), name
                for name in ("market_name", "outcome_name", "category", "sub_category"):
                    assert getattr(position, name) == row[name]
                assert position.resolved_price == (1 if (market, row["outcome_name"]) == (1, "Yes") else None)
            summary = client.market_summary(condition_id=condition)
            is_open = [float(row["unrealized_size"]) > 0 for row in mine]
            assert (summary.total_open_positions, summary.total_closed_positions) == (
                sum(is_open),
                len(mine) - sum(is_open),
            )
            assert summary.event_id == f"event {market // 2}"
            assert summary.total_buy_count == sum(int(row["buy_count"] or 0) for row in mine)


def test_what_one_service_answers_is_a_table_for_another(tmp_path):
    """A data frame of the client, written as CSV, makes a store that gives the same answers."""
    with mp.LocalService(now=NOW) as service, service.client("unlimited") as client:
        wallets = [row.wallet_address for row in client.leaderboard(limit=5)]
        frames = [client.positions(user_wallet=wallet, limit=200).to_pandas() for wallet in wallets]
        expected = {wallet: client.trader_profile(wallet) for wallet in wallets}
        categories = {wallet: client.user_categories(wallet) for wallet in wallets}
    folder = tmp_path / "dumps" / "positions"
    folder.mkdir(parents=True)
    for index, frame in enumerate(frames):
        frame.drop(columns=["extra"], errors="ignore").to_csv(folder / f"{index}.csv", index=False)
    assert mp.ingest(tmp_path / "dumps", tmp_path / "store").problems == []
    with mp.LocalService(data=tmp_path / "store", now=NOW) as service, service.client("unlimited") as client:
        for wallet in wallets:
            assert client.trader_profile(wallet) == expected[wallet]
            assert client.user_categories(wallet) == categories[wallet]


MARKET = {
    "condition_id": CONDITIONS[0],
    "event_id": "e1",
    "question": "Will it rain, or snow?",
    "outcomes": "Yes|No",
    "asset_ids": f"{asset(0, 0)}|{asset(0, 1)}",
    "category": "Weather",
    "sub_category": "",
    "available_since": NOW - 500_000,
    "available_to": NOW + 500_000,
    "order_price_min_tick_size": 0.01,
}
DETAILS = {
    "slug": "rain-or-snow",
    "group_item_title": "Rain",
    "total_volume": 12345.5,
    "buy_volume_24h": 300,
    "sell_volume_24h": 200,
    "volume_change_24h": -12.5,
    "open_interest": 777,
    "one_day_oi_change": -3,
    "unique_traders": 42,
    "liquidity": 5000.5,
    "one_day_price_change": 0.125,
    "prices": "0.25|0.5",
    "sports_market_type": "moneyline",
    "line": 2.5,
}
WIRE = {
    "slug": "slug",
    "group_item_title": "groupItemTitle",
    "total_volume": "totalVolume",
    "buy_volume_24h": "buyVolume24H",
    "sell_volume_24h": "sellVolume24H",
    "volume_change_24h": "volumeChange24H",
    "open_interest": "openInterest",
    "one_day_oi_change": "oneDayOIChange",
    "unique_traders": "uniqueTraders",
    "one_day_price_change": "oneDayPriceChange",
    "sports_market_type": "sportsMarketType",
    "line": "line",
}


def listed(store, now):
    with mp.LocalService(data=store, now=now) as service:
        entries = get(service, "markets?exchange=PREDICTION_VENUE&pageSize=100").get("symbols", [])
    return {entry["rawSymbol"]: entry for entry in entries}


def test_markets_are_listed_with_what_their_rows_tell_by_then(tmp_path):
    blank = dict.fromkeys([*DETAILS, "timestamp", "last_price", "closed", "resolved_prices"], "")
    rows = [
        blank | MARKET | {"timestamp": (NOW - 400_000) * 10**6, "last_price": 0.25},
        blank | MARKET | DETAILS | {"timestamp": (NOW - 100_000) * 10**6, "last_price": 0.5},
        blank
        | MARKET
        | {
            "timestamp": NOW * 10**6,
            "last_price": 1,
            "closed": "true",
            "resolved_prices": "1|0",
            "question": "Did it?",
        },
        blank
        | MARKET
        | {"condition_id": CONDITIONS[1], "question": "Bare?", "asset_ids": "77", "outcomes": "Yes", "available_to": ""}
        | {"category": "", "order_price_min_tick_size": ""},
    ]
    write_table(tmp_path / "dumps" / "markets" / "a.csv", rows)
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (report.problems, report.rows) == ([], 4)

    assert listed(tmp_path / "store", NOW - 500_001) == {}
    # A row with a timestamp holds from then on, one without from the opening on.
    assert set(listed(tmp_path / "store", NOW - 400_001)) == {CONDITIONS[1]}
    first = listed(tmp_path / "store", NOW - 390_000)[CONDITIONS[0]]
    assert (first["lastPrice"], first["predictionMarkets"][0]["lastPrice"]) == (0.25, 0.25)
    assert "volume24h" not in first

    entry = listed(tmp_path / "store", NOW - 50_000)[CONDITIONS[0]]
    (market,) = entry["predictionMarkets"]
    for column, field in WIRE.items():
        assert market[field] == DETAILS[column], column
    assert market["prices"] == [0.25, 0.5]
    assert market["outcomes"] == ["Yes", "No"]
    assert (market["lastPrice"], market["conditionId"]) == (0.5, CONDITIONS[0])
    assert market["orderPriceMinTickSize"] == 0.01
    assert market["availableSince"] == {"s": NOW - 500_000}
    assert market["availableTo"] == {"s": NOW + 500_000}
    assert "closed" not in market
    assert (entry["volume24h"], entry["volumeChange24h"], entry["liquidity"]) == (500, -12.5, 5000.5)
    assert entry["tags"] == [{"id": "weather", "label": "Weather", "slug": "weather"}]

    entries = listed(tmp_path / "store", NOW)
    (market,) = entries[CONDITIONS[0]]["predictionMarkets"]
    assert (market["closed"], market["lastPrice"], market["question"]) == (True, 1, "Did it?")
    # What the row does not hold is computed from the rows and positions: the price a day ago was 0.5.
    assert market["oneDayPriceChange"] == 0.5
    assert market["prices"][-1] == 1
    assert "totalVolume" not in market
    bare = entries[CONDITIONS[1]]
    assert "tags" not in bare
    assert not {"lastPrice", "availableTo", "prices", "orderPriceMinTickSize"} & set(bare["predictionMarkets"][0])


def test_markets_and_positions_are_one_venue(tmp_path):
    """Positions fill in what a market's rows do not hold; the market's rows name its outcomes and what they paid."""
    positions = make_positions(tmp_path / "dumps" / "positions" / "all.csv")
    rows = [MARKET | {"timestamp": "", "last_price": 0.5, "resolved_prices": "0|1", "closed": "True"}]
    write_table(tmp_path / "dumps" / "markets" / "all.csv", rows)
    assert mp.ingest(tmp_path / "dumps", tmp_path / "store").problems == []
    entries = listed(tmp_path / "store", NOW + 10_000_000)
    assert set(entries) == {CONDITIONS[0]}  # of the others nobody gave the opening and the price
    (market,) = entries[CONDITIONS[0]]["predictionMarkets"]
    mine = [row for row in positions if row["condition_id"] == CONDITIONS[0]]
    assert market["uniqueTraders"] == len({row["wallet_address"] for row in mine})
    sizes = [float(row["unrealized_size"]) + float(row["realized_size"]) for row in mine]
    assert market["totalVolume"] == pytest.approx(sum(sizes))
    with mp.LocalService(data=tmp_path / "store", now=NOW) as service, service.client() as client:
        answer = client.positions(condition_id=CONDITIONS[0], limit=200)
        assert {row.market_name for row in answer} == {MARKET["question"]}
        assert {(row.outcome_name, row.resolved_price) for row in answer} == {("Yes", None), ("No", 1)}
        summary = client.market_summary(asset_id=asset(0, 1))
        assert [row.outcome_name for row in summary.outcome_pricing] == ["No"]


def test_a_changed_table_replaces_and_the_last_of_two_files_counts(tmp_path):
    path = tmp_path / "dumps" / "positions"
    row = {
        "wallet_address": "0xw",
        "asset_id": "11",
        "condition_id": CONDITIONS[0],
        "realized_size": 0,
        "avg_price": 0.5,
    }

    def held():
        mp.ingest(tmp_path / "dumps", tmp_path / "store")
        with mp.LocalService(data=tmp_path / "store", now=NOW) as service:
            rows = analytics(service, "positions?userWallet=0xw")["userPositions"]
        return [position["unrealized_size"] for position in rows]

    write_table(path / "2025-01.csv", [row | {"unrealized_size": 5}])
    assert held() == [5]
    write_table(path / "2025-02.csv", [row | {"unrealized_size": 6}])
    assert held() == [6]
    write_table(path / "2025-01.csv", [row | {"unrealized_size": 7}])
    assert held() == [6]
    write_table(path / "2025-02.csv", [row | {"unrealized_size": 8}])
    assert held() == [8]
