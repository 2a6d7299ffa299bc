"""A week of hourly candles of the demo market, and the recipes of the pages on frameworks and clusters."""

import os
import re
from pathlib import Path

import pytest

import marketpoints as mp

WEEK = {"start": "2026-01-01", "end": "2026-01-08"}


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    os.environ["MARKETPOINTS_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    with mp.LocalService(now=1_790_000_000) as service, service.client("unlimited") as made:
        yield made


@pytest.fixture
def candles(client):
    return client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", **WEEK)


@pytest.fixture(scope="session")
def crossed(client):
    """Two weeks of hourly candles, in which a crossing of means trades several times."""
    return client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01", end="2026-01-15").only


@pytest.fixture(scope="session")
def book(client):
    """An hour of an order book in blocks of ten, a snapshot a minute."""
    hour = {"start": "2026-01-01", "end": "2026-01-01T01:00"}
    return client.orderbook_heatmap("BINANCE_FUTURES", "BTCUSDT", "1m", block_size=10, max_depth=15, **hour).only


@pytest.fixture
def several(client):
    symbols = ("BTCUSDT", "ETHUSDT")
    return mp.SeriesSet([client.candles("BINANCE_FUTURES", name, "1h", **WEEK).only for name in symbols])


@pytest.fixture
def recipes():
    """Runs the blocks of Python under a heading, with texts ``instead`` of others, and names; returns all names."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    pages = "\n".join((docs / name).read_text("utf-8") for name in ("frameworks.md", "cluster.md"))

    def run(heading, instead=(), **names):
        (part,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^##? |\Z)", pages, flags=re.MULTILINE | re.DOTALL)
        blocks = re.findall(r"```python\n(.*?)```", part, flags=re.DOTALL)
        assert blocks
        for block in blocks:
            for written, real in dict(instead).items():
                assert written in part
                block = block.replace(written, real)
            exec(compile(block, heading, "exec"), names)
        return names

    return run
