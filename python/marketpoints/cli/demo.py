"""The ``demo`` command: plan, download, file and picture from a local service, in seconds and without an account."""

import argparse
from io import BytesIO
from typing import Any

from ..client.clients import Client
from ..common import limits
from ..common.arguments import METHODS
from ..common.files import destination, write_atomically
from ..common.intervals import DAY, HOUR
from ..common.optional import load
from ..common.times import iso
from ..local.service import LocalService
from ..results.sets import SeriesSet
from . import commands, tables

__all__ = ["demo"]

EXCHANGE, SYMBOL = "BINANCE_FUTURES", "BTCUSDT"
CANDLE_DAYS, BOOK_HOURS, BLOCK_SIZE = 30, 8, 10.0


def demo(given: argparse.Namespace) -> int:
    """Fetches candles and a heatmap from the demo market; writes a Parquet file and a picture."""
    folder = commands.folder(given.output)
    table, picture = folder / "candles.parquet", folder / "demo.png"
    # A missing package fails now, not after the downloads.
    load("matplotlib")
    for file in (table, picture):
        destination(file)
    with LocalService() as service, service.client() as client:
        now = service.now() // HOUR * HOUR
        tier = limits.TIERS["advanced"]
        print(
            f"local service at {service.url}, demo market, tier {tier.name}: {tier.weight_per_minute} weight a minute, "
            f"burst {tier.burst:,}"
        )
        candles = step(
            client, "candles", f"{CANDLE_DAYS} days of hourly candles", "1h", start=now - CANDLE_DAYS * DAY, end=now
        )
        book = step(
            client,
            "orderbook_heatmap",
            f"{BOOK_HOURS} hours of the order book, minute by minute",
            "1m",
            start=now - BOOK_HOURS * HOUR,
            end=now,
            block_size=BLOCK_SIZE,
        )
    rows = tables.write(candles, table)
    print(f"wrote {table} ({rows:,} rows)")
    drawn = BytesIO()
    draw(candles, book).savefig(drawn, format="png", dpi=150)
    write_atomically(picture, drawn.getvalue())
    print(f"wrote {picture}")
    return 0


def step(client: Client, method: str, what: str, interval: str, **window: Any) -> SeriesSet:
    """Fetches one series and prints what was planned and what it cost."""
    query = (METHODS[method], EXCHANGE, SYMBOL, interval)
    planned = client.plan(*query, **window)
    before = client.usage()
    answer = client.points(*query, **window)
    after = client.usage()
    size = f"{len(answer.only):,} rows"
    if "levels" in answer.only:
        size = f"{len(answer.only):,} snapshots, {len(answer['levels']):,} levels"
    print(f"{what}, {EXCHANGE} {SYMBOL}: {size}")
    print(f"  from {iso(window['start'])} to {iso(window['end'])} UTC")
    print(f"  planned: weight {planned.weight} in {len(planned.requests)} request(s)")
    print(
        f"  budget:  {before.used:,} → {after.used:,} spent in the last minute, "
        f"{before.remaining:,} → {after.remaining:,} left (it refills as time passes)"
    )
    return answer


def draw(candles: SeriesSet, book: SeriesSet) -> Any:
    """Candles with volume on top, the book below."""
    figure = load("matplotlib.figure").Figure(figsize=(12, 9), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[1.15, 1])
    candles.plot(ax=above)
    book.plot(ax=below)
    return figure
