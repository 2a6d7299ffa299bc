"""Times plans and runs of universes against the local service, into docs/universe.md. Run by ``make bench-universe``.

A run spends what the tier advanced allows: a bucket of 1,500, then 750 a minute. Nothing can be faster than (weight -
burst) / rate from the first request on; the lines tell by how much it was slower. The demo market lacks the symbols, so
that the service answers with nothing at no cost of its own. Processes share the budget by a file, and by a Redis where
there is a ``redis-server``; so do the workers of a Dask cluster of processes.
"""

import argparse
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from timing import clock, machine, write

import marketpoints as mp

NOW = 1_790_000_000
DAY = 86_400
PAGE = Path(__file__).resolve().parent.parent / "docs" / "universe.md"
#: 2,000 in all: 500 beyond the bucket, which take 40 s.
SERIES, WEIGHT_EACH = 200, 10
RUN = {
    "type": "candles",
    "exchange": "BINANCE_FUTURES",
    "symbol": [f"NONE{number}USDT" for number in range(SERIES)],
    "interval": "1m",
    "start": NOW // DAY * DAY - WEIGHT_EACH * 60_000,
    "end": NOW // DAY * DAY,
}
CHILD = """
import sys
import marketpoints as mp
folder, url, key = sys.argv[1:]
with mp.Client(key, url, tier="advanced", archive_source="twin", clock=lambda: {now}, check_symbols=False) as client:
    report = mp.Archive(folder).sync_all(client, {universe!r}, progress=lambda done, total: print(done, flush=True))
assert report, report
"""

#: A cluster on this machine; a worker is killed whenever one of the given numbers of requests is done.
ON_DASK = """
import os, signal, sys
import distributed
import marketpoints as mp

folder, workers, *ends = sys.argv[1:]
ends = {int(end) for end in ends}

def progress(done, total):
    if any(end <= done for end in ends):
        ends.remove(min(ends))
        victims = [one.process.pid for one in cluster.workers.values() if one.process and one.process.pid]
        os.kill(victims[len(ends) % len(victims)], signal.SIGKILL)
        print("killed", flush=True)

if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=int(workers), threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster):
        settings = {"tier": "advanced", "archive_source": "twin", "check_symbols": False}
        report = mp.dask.sync(RUN, folder, progress=progress, **settings)
        assert report, report
"""


def planned(interval: str) -> str:
    """The plan of a thousand series of two years: five types of two hundred markets."""
    universe = mp.Universe(
        type=["candles", "side_candles", "open_interest", "liquidations", "funding_rate"],
        exchange="BINANCE_FUTURES",
        symbol=RUN["symbol"],
        interval=interval,
        start=NOW - 730 * DAY,
    )
    with (
        mp.LocalService(now=NOW, strict_symbols=False) as service,
        service.client("unlimited", check_symbols=False) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        archive = mp.Archive(folder)
        client.usage()
        plan = archive.plan_all(client, universe)
        seconds = min(clock(lambda: archive.plan_all(client, universe)) for _ in range(3))
    return f"{len(plan.series):,} series × 2 years of {interval}, {plan.requests:,} requests, in {seconds:.2f} s"


@contextmanager
def redis() -> Iterator[str]:
    """The address of a Redis of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as server,
    ):
        try:
            assert server.stdout is not None
            while line := server.stdout.readline():
                if b"Ready to accept connections" in line:
                    break
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()


@contextmanager
def service(place: str, budget: str | None) -> Iterator[tuple[mp.LocalService, dict[str, str]]]:
    """The service, and the environment of those who share one budget."""
    with mp.LocalService(now=NOW, strict_symbols=False) as running:
        environment = {**os.environ, "MARKETPOINTS_CACHE_DIR": str(Path(place) / "cache")}
        yield running, environment | {"MARKETPOINTS_BUDGET": budget or "machine"}


def ran(processes: int, kills: int = 0, budget: str | None = None) -> str:
    """Processes that keep one universe with one key; so many of them are killed, and others take their place."""
    chance = random.Random(processes)
    with tempfile.TemporaryDirectory() as place, service(place, budget) as (asked, environment):
        code = CHILD.format(now=NOW, universe=RUN)
        command = [sys.executable, "-c", code, str(Path(place) / "archive"), asked.url, asked.keys["advanced"]]

        def start() -> subprocess.Popen[str]:
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

        children = [start() for _ in range(processes)]
        killed = 0
        for _ in range(kills):
            victim = children.pop(0)
            assert victim.stdout is not None
            # In the middle of its work: after so many series more.
            lines = [victim.stdout.readline() for _ in range(chance.randint(1, 12))]
            killed += lines[-1] != ""
            victim.kill()
            victim.communicate()
            children.append(start())
        for child in children:
            child.communicate(timeout=300)
            assert child.returncode == 0
        return row(asked, str(processes), killed, budget)


def ran_on_dask(workers: int, kills: int, budget: str | None) -> str:
    """The same on the workers of a Dask cluster; so many of them are killed, and the cluster starts others."""
    chance = random.Random(workers)
    ends = [str(chance.randint(1, SERIES - workers)) for _ in range(kills)]
    with tempfile.TemporaryDirectory() as place, service(place, budget) as (asked, environment):
        environment |= {
            "MARKETPOINTS_API_KEY": asked.keys["advanced"],
            "MARKETPOINTS_BASE_URL": asked.url,
            "MARKETPOINTS_CLOCK_OFFSET": str(NOW - time.time()),
        }
        code = f"RUN = {RUN!r}\n{ON_DASK}"
        command = [sys.executable, "-c", code, str(Path(place) / "archive"), str(workers), *ends]
        output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
        return row(asked, f"{workers} of Dask", output.stdout.count("killed"), budget)


def row(service: mp.LocalService, processes: str, killed: int, budget: str | None) -> str:
    """A line of the table: what the service was asked, and when."""
    asked = [one for one in service.requests if one.path == "/v1/points"]
    spent, refused = service.spent, sum(one.status == 429 for one in asked)
    paid = [one for one in asked if one.weight]
    first, last = (one.time.astype("int64") / 1e9 for one in (paid[0], paid[-1]))
    tier = mp.TIERS["advanced"]
    least = (spent - tier.burst) / tier.weight_per_minute * 60
    took = last - first
    line = (
        f"| {processes} | {killed} | {'Redis' if budget else 'a file'} | {spent:,} | {spent - SERIES * WEIGHT_EACH} | "
        f"{least:.2f} s | {took:.2f} s | {took / least - 1:+.1%} | {refused} |"
    )
    print(line, flush=True)
    return line


def main() -> None:
    """Prints a line for each, and with ``--write`` writes them into the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    lines = [
        f"{machine()}; load {os.getloadavg()[0]:.1f} at the start.",
        f"Plans: {'; '.join(planned(interval) for interval in ('1h', '1m'))}.",
        "",
        "| processes | killed | budget by | weight | of it twice | least possible | took | more | 429 |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    runs = [(1, 0), (4, 0), (16, 0), (4, 6), (16, 12)]
    lines += [ran(processes, kills) for processes, kills in runs]
    if shutil.which("redis-server"):
        with redis() as budget:
            lines += [ran(processes, kills, budget) for processes, kills in ((4, 0), (16, 0), (16, 12))]
            lines += [ran_on_dask(workers, kills, budget) for workers, kills in ((1, 0), (4, 0), (16, 0), (4, 3))]
    if parser.parse_args().write:
        write(PAGE, "universe measured", lines)


if __name__ == "__main__":
    main()
