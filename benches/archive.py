"""Times reads of an archive beside polars, which reads the same files. Run by ``make bench-archive``.

Both read files that the system has in memory. polars gives its own columns; the archive compares every file's
checksum, joins the files to series and gives NumPy arrays. Each measurement is a process of its own, since threads that
run already stay where they are when the process is held to one processor.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import clock, machine, paired

import marketpoints as mp

NOW = 1_790_000_000
DAY = 86_400
END = NOW // DAY * DAY
MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1m")
OURS, POLARS = "archive.read", "polars.read_parquet"
#: Wire type and further arguments of each type that is read.
READ = {
    "candles": ("TRADE_SIDE_AGNOSTIC_AGG", {}),
    "orderbook_heatmap": ("BLOCK_BOOK_SNAPSHOT_AGG", {"block_size": 10}),
}


def size_of(series: mp.Series) -> int:
    """Bytes of the numbers of a series: eight each."""
    inner = series.levels.size if isinstance(series, mp.Heatmap) else 0
    return 8 * (len(series) * (1 + len(series.columns)) + inner)


def measure(folder: str) -> None:
    """Times this process, on the processors that it was given."""
    import polars

    archive = mp.Archive(folder)
    for name, (wire, more) in READ.items():
        paths = sorted(map(str, Path(folder).glob(f"type={wire}/**/*.parquet")))

        def ours(name: str = name, more: dict = more, **window: int) -> mp.SeriesSet:
            return archive.read(name, *MARKET, **more, **window)

        def theirs(paths: list = paths) -> object:
            return polars.read_parquet(paths)

        series = ours()[0]
        seconds = paired({OURS: ours, POLARS: theirs})
        took, other = seconds[OURS], seconds[POLARS]
        day = clock(lambda ours=ours: ours(start=END - DAY, end=END))
        print(
            f"  {name}, {len(series):,} rows in {len(paths)} files: {took * 1e3:,.0f} ms, "
            f"{size_of(series) / took / 1e9:.2f} GB/s of values; polars {other * 1e3:,.0f} ms: "
            f"{took / other:.2f} times as long; a day of it {day * 1e3:.1f} ms"
        )


def main(days: int) -> None:
    """Archives a year of minute candles and some days of an order book, some 760,000 levels a day, and measures."""
    print(machine())
    with (
        mp.LocalService(now=NOW) as service,
        service.client("unlimited", timeout=300) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        archive = mp.Archive(folder)
        for (name, (_, more)), length in zip(READ.items(), (365, days), strict=True):
            archive.sync(client, name, *MARKET, start=END - length * DAY, end=END, **more)
        every = os.sched_getaffinity(0)
        for processors in (every, {min(every)}):
            print(f"on {len(processors)} processors" if len(processors) > 1 else "on one processor", flush=True)
            os.sched_setaffinity(0, processors)  # what is started now inherits it
            subprocess.run([sys.executable, __file__, "measure", folder], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
