"""Times reads of an archive beside polars, which reads the same files. Run by ``make bench-archive``.

Both read files that the system has in memory. polars gives its own columns; the archive compares every file's
checksum, makes series of the files and gives NumPy arrays. Each measurement is a process of its own: threads that run
already stay where they are when the process is held to one processor, and memory that an earlier read left counts as
nobody's. Processor time, of all threads together, tells more than the clock where others use the machine.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timing import clock, machine, paired, paired_seconds

import marketpoints as mp

NOW = 1_790_000_000
DAY = 86_400
END = NOW // DAY * DAY
MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1m")
#: Reads of each, in turn: a neighbour of this machine slows some of them by a third.
RUNS = 21
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


def effort(work: Callable[[], object]) -> float:
    """Seconds of processor time that one call takes, of the program and of the system for it."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime

    start = spent()
    work()
    return spent() - start


def peak(folder: str, name: str) -> None:
    """Tells how much memory the first read of this process takes at its peak beside its values."""
    archive = mp.Archive(folder)
    more = READ[name][1]
    archive.read(name, *MARKET, **more, start=END - 3_600, end=END)  # what is loaded once is no memory of a read
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
    before = memory("VmRSS")
    series = archive.read(name, *MARKET, **more)[0]
    taken = memory("VmHWM") - before
    print(f"  {name}: {taken / 1e6:,.0f} MB at the peak for {size_of(series) / 1e6:,.0f} MB of values")


def memory(name: str) -> int:
    """Bytes of memory of this process, by the system's name for them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1024


def measure(folder: str) -> None:
    """Times this process, on the processors that it was given."""
    import polars

    archive = mp.Archive(folder)
    for name, (wire, more) in READ.items():
        paths = sorted(map(str, Path(folder).glob(f"type={wire}/**/*.parquet")))

        def ours(name: str = name, more: dict = more, **some: Any) -> mp.SeriesSet:
            return archive.read(name, *MARKET, **more, **some)

        def theirs(paths: list = paths) -> object:
            return polars.read_parquet(paths)

        series = ours()[0]
        rivals = {OURS: ours, POLARS: theirs}
        seconds = paired(rivals, RUNS)
        efforts = paired_seconds({rival: lambda work=work: effort(work) for rival, work in rivals.items()})
        took, other = seconds[OURS], seconds[POLARS]
        # Of calls in turns with polars, the system also hands out anew what each gave back, which a virtual machine may
        # have lent to another meanwhile.
        alone = min(effort(ours) for _ in range(5))
        day = clock(lambda ours=ours: ours(start=END - DAY, end=END))
        size, files = size_of(series), sum(Path(path).stat().st_size for path in paths)
        print(
            f"  {name}, {len(series):,} rows, {size / 1e6:,.0f} MB of values in {len(paths)} files of "
            f"{files / 1e6:,.0f} MB: {took * 1e3:,.0f} ms, {size / took / 1e9:.2f} GB/s; "
            f"polars {other * 1e3:,.0f} ms: {took / other:.2f} times as long\n"
            f"    processor time {efforts[OURS] * 1e3:,.0f} ms, {size / efforts[OURS] / 1e9:.2f} GB/s; "
            f"polars {efforts[POLARS] * 1e3:,.0f} ms: {efforts[OURS] / efforts[POLARS]:.2f} times as much; "
            f"in a row {alone * 1e3:,.0f} ms, {size / alone / 1e9:.2f} GB/s; a day of it {day * 1e3:.1f} ms"
        )
        if name == "candles":
            one = {
                OURS: lambda ours=ours: ours(columns="close"),
                POLARS: lambda paths=paths: polars.read_parquet(paths, columns=["time", "close"]),
            }
            seconds = paired(one, RUNS)
            took, other = seconds[OURS], seconds[POLARS]
            print(f"    of one column {took * 1e3:,.1f} ms; polars {other * 1e3:,.1f} ms: {took / other:.2f} of it")


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
        if sys.platform == "linux":
            print("memory", flush=True)
            for name in READ:
                subprocess.run([sys.executable, __file__, "peak", folder, name], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    elif sys.argv[1:2] == ["peak"]:
        peak(*sys.argv[2:4])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
