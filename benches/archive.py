"""Times reads of an archive beside polars, which reads the same files. Run by ``make bench-archive``.

Both read files that the system has in memory. polars gives its own columns; the archive compares every file's checksum,
joins the files to series and gives NumPy arrays. ``one core`` holds the process to one processor.
"""

import os
import sys
import tempfile
from pathlib import Path

import polars
from timing import clock, machine, paired

import marketpoints as mp

NOW = 1_790_000_000
DAY = 86_400
END = NOW // DAY * DAY
MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1m")
OURS, POLARS = "archive.read", "polars.read_parquet"
#: A year of minutes.
CANDLES = {"type": "candles", "start": END - 365 * DAY, "end": END}
#: Days of an order book each minute: some 760,000 levels a day.
BOOK = {"type": "orderbook_heatmap", "end": END, "block_size": 10}


def files(folder: Path, kind: str) -> list[str]:
    return sorted(str(path) for path in folder.glob(f"type={kind}/**/*.parquet"))


def values_of(series: mp.Series) -> int:
    """Bytes of the numbers of a series: eight each."""
    inner = series.levels.size if isinstance(series, mp.Heatmap) else 0
    return 8 * (len(series) * (1 + len(series.columns)) + inner)


def line(what: str, seconds: dict[str, float], size: int) -> None:
    ours, theirs = seconds[OURS], seconds[POLARS]
    print(
        f"  {what}: {ours * 1e3:,.0f} ms, {size / ours / 1e9:.2f} GB/s of values; "
        f"polars {theirs * 1e3:,.0f} ms: {ours / theirs:.2f} times as long"
    )


def main(days: int) -> None:
    print(machine())
    with (
        mp.LocalService(now=NOW) as service,
        service.client("unlimited", timeout=300) as client,
        tempfile.TemporaryDirectory() as path,
    ):
        archive, folder = mp.Archive(path), Path(path)
        start = END - days * DAY
        for query in (dict(CANDLES), {**BOOK, "start": start}):
            archive.sync(client, query.pop("type"), *MARKET, **query)
        cores = sorted(os.sched_getaffinity(0))
        for name, wire, more in (
            ("candles", "TRADE_SIDE_AGNOSTIC_AGG", {}),
            ("orderbook_heatmap", "BLOCK_BOOK_SNAPSHOT_AGG", {"block_size": 10}),
        ):
            paths = files(folder, wire)
            works = {
                OURS: lambda name=name, more=more: archive.read(name, *MARKET, **more),
                POLARS: lambda paths=paths: polars.read_parquet(paths),
            }
            series = works[OURS]()[0]
            print(f"{name}, {len(series):,} rows in {len(paths)} files")
            line("all processors", paired(works, 5), values_of(series))
            os.sched_setaffinity(0, cores[:1])
            line("one processor", paired(works, 5), values_of(series))
            os.sched_setaffinity(0, cores)
            day = clock(lambda name=name, more=more: archive.read(name, *MARKET, start=END - DAY, end=END, **more))
            print(f"  a day of it: {day * 1e3:.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
