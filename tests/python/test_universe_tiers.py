"""What the plan of a universe says of every tier: requests, weight, bytes and time; and what its bytes are worth."""

import json
import math
from pathlib import Path

import pytest

import marketpoints as mp
from marketpoints.cli import main
from support.archives import END, HOUR

DAY = 24 * HOUR
#: Six days of books by the minute, and a month of liquidations by price, which the highest tier alone has.
BOOK = {
    "type": "orderbook_heatmap",
    "exchange": "BINANCE_FUTURES",
    "symbol": "BTCUSDT",
    "interval": "1m",
    "block_size": 20.0,
    "max_depth": 100,
    "start": END - 6 * DAY,
    "end": END,
}
PRINTS = {"type": "liquidation_heatmap", "coin": "BTC", "interval": "1h", "start": END - 30 * DAY, "end": END}
#: Lengths of windows by interval, in days: beside a month of rows the frame of a file weighs little.
WINDOWS = {"1m": 10, "15m": 30, "1h": 60, "4h": 120, "1d": 600}
#: Who is asked, where it is not a market.
OPTIONS = {"exchange": "DERIBIT", "coin": "BTC", "tenor": "ONE_M"}
ASKED = {
    "orderbook_heatmap": {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "block_size": 20.0},
    "liquidation_heatmap": {"coin": "BTC"},
    "skew": {**OPTIONS, "symbol": "BTC_25"},
    "implied_volatility": {**OPTIONS, "symbol": "BTC_ATM"},
    "token_supply": {"coin": "BTC"},
}
TYPES = [
    "candles",
    "side_candles",
    "liquidations",
    "funding_rate",
    "open_interest",
    "volume_profile",
    "tpo",
    *ASKED,
]


@pytest.fixture(scope="module")
def service():
    with mp.LocalService(now=END + 900) as running:
        yield running


@pytest.fixture(scope="module")
def client(service):
    with service.client("unlimited") as made:
        yield made


def cut(points, cost, burst, most):
    """Requests and weight of a window: as many thousands in one as bucket and type allow (sections 8.1 to 8.3)."""
    thousands = min(burst // cost, most // 1_000)
    return math.ceil(points / (1_000 * thousands)), cost * math.ceil(points / 1_000)


def test_every_tier_has_its_own_requests_weight_bytes_and_time(service, client, tmp_path):
    plan = mp.Archive(tmp_path).plan_all(client, [BOOK, PRINTS])
    book, prints = plan.series
    assert (book.points, prints.points) == (6 * 1_440, 30 * 24)
    for name, tier in mp.TIERS.items():
        # Books weigh 10 a thousand, at most 4,000 points in a request; the free tier's bucket holds two thousands.
        requests, weight = cut(book.points, 10, tier.burst, 4_000)
        size = book.bytes
        if name == "advanced":
            requests, weight, size = requests + 1, weight + 5, size + prints.bytes
        assert plan.requests_by_tier[name] == requests, name
        assert plan.weight_by_tier[name] == weight
        assert plan.bytes_by_tier[name] == size > 0
        assert plan.eta_by_tier[name] == pytest.approx(max(0, weight - tier.burst) / tier.weight_per_minute * 60)
    assert plan.requests_by_tier["free"] == 5 and plan.requests_by_tier["basic"] == 3
    assert plan.refused_by_tier == dict.fromkeys(("free", "basic", "standard"), 1)
    assert plan.bytes_by_tier["advanced"] == plan.bytes
    parsed = json.loads(plan.to_json())
    for name in ("requests_by_tier", "weight_by_tier", "bytes_by_tier", "eta_by_tier"):
        assert parsed[name] == getattr(plan, name)


def test_the_command_shows_a_row_of_each_tier(service, tmp_path, monkeypatch, capsys):
    for name in ("MARKETPOINTS_API_KEY", "MARKETPOINTS_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MARKETPOINTS_CLOCK_OFFSET", str(END + 900 - __import__("time").time()))
    monkeypatch.setenv("MARKETPOINTS_TIER", "advanced")
    file = tmp_path / "universe.toml"
    words = "\n".join(f"{name} = {json.dumps(value)}" for name, value in BOOK.items() if name not in ("start", "end"))
    file.write_text(f'archive = "history"\nperiod = "6d"\n{words}\n')
    assert main(["sync", str(file), "--dry-run"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.partition("from a full budget:\n")[2].splitlines()]
    assert lines[0] == ["tier", "takes", "requests", "weight", "about", "refuses"]
    table = {row[0]: row[-6:] for row in lines[1:5]}
    assert list(table) == list(mp.TIERS)
    # 90 of weight: 20 at once and 70 at 10 a minute; 90 of a bucket of 1,500.
    assert lines[1][:5] == ["free", "7.0", "min", "5", "90"]
    assert lines[4][:5] == ["advanced", "0", "s", "3", "90"]
    assert all(row[-4:][1:] == ["MB", "0", "series"] for row in lines[1:5])
    assert main(["sync", str(file), "--dry-run", "--json"]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert parsed["requests_by_tier"] == {"free": 5, "basic": 3, "standard": 3, "advanced": 3}


@pytest.mark.parametrize("interval", WINDOWS)
@pytest.mark.parametrize("kind", TYPES)
def test_the_bytes_estimated_are_those_of_the_files_within_a_factor_of_two(client, tmp_path, kind, interval):
    days = 2 if (kind, interval) == ("orderbook_heatmap", "1m") else WINDOWS[interval]
    asked = ASKED.get(kind, {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"})
    universe = {"type": kind, "interval": interval, "start": END - days * DAY, "end": END, **asked}
    archive = mp.Archive(tmp_path)
    estimated = archive.plan_all(client, universe).bytes
    assert archive.sync_all(client, universe)
    real = sum(path.stat().st_size for path in Path(tmp_path).rglob("part.parquet"))
    assert real / 2 <= estimated <= real * 2, (estimated, real)


def test_an_archive_that_has_the_type_estimates_by_its_own_files(client, tmp_path):
    archive = mp.Archive(tmp_path)
    month = {"type": "candles", "exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "1m"}
    archive.sync_all(client, {**month, "start": END - 60 * DAY, "end": END - 30 * DAY})
    real = sum(path.stat().st_size for path in Path(tmp_path).rglob("part.parquet"))
    plan = archive.plan_all(client, {**month, "start": END - 30 * DAY, "end": END})
    assert plan.points == 30 * 1_440 and plan.bytes == pytest.approx(real, abs=1)
    # A month and a quarter of an hour is more history than the two lowest tiers have (section 5).
    assert dict(plan.bytes_by_tier) == {"free": 0, "basic": 0, "standard": plan.bytes, "advanced": plan.bytes}
