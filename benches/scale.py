"""How cost grows with work: series, years, processes. Measures slopes, and estimates from them what cannot be run here.

Run by ``make bench-scale``, which writes docs/scale.md. Measured is what ran on this machine; of the estimates weight,
requests, points and times are those that the package's own planner gives for the whole, and the rest is a measured
slope times these. The service runs in a process of its own, whose time does not count.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from timing import machine, write

import marketpoints as mp

PAGE = Path(__file__).resolve().parent.parent / "docs" / "scale.md"
NOW = 1_790_000_000
DAY = 86_400
YEAR = 365 * DAY
TYPES = ["candles", "side_candles", "open_interest", "liquidations", "funding_rate"]
MARKETS, WORKERS, YEARS = 10_000, 100, 1
HERE = [sys.executable, __file__]
SERVE = f"""
import json, sys
import marketpoints as mp
with mp.LocalService(now={NOW}, strict_symbols=False) as service:
    print(json.dumps([service.url, service.keys]), flush=True)
    sys.stdin.read()
"""


@contextmanager
def service() -> Iterator[tuple[str, dict[str, str]]]:
    """A local service in a process of its own: its address and keys."""
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdin is not None
        url, keys = json.loads(running.stdout.readline())
        yield url, keys
        running.stdin.close()


def client(url: str, key: str) -> mp.Client:
    """A client at the service's time."""
    return mp.Client(key, url, budget="process", clock=lambda: NOW, check_symbols=False, archive_source="scale")


def in_child(work: str, *arguments: object) -> dict[str, Any]:
    """The result of a work of this file in a process of its own."""
    command = [*HERE, "--work", work, *map(str, arguments)]
    # NumPy's threads for matrices, which nothing here uses, wait by spinning: that is no processor time of ours.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    result: dict[str, Any] = json.loads(output)
    return result


def held() -> float:
    """The most memory that this process held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def universe(markets: int, years: float, interval: str) -> mp.Universe:
    """The five types of so many markets."""
    symbols = [f"NONE{number}USDT" for number in range(markets)]
    window = {"start": (NOW // DAY + 1) * DAY - round(years * YEAR), "end": NOW // DAY * DAY}
    return mp.Universe(type=TYPES, exchange="BINANCE_FUTURES", symbol=symbols, interval=interval, **window)


def planning(markets: str, years: str, interval: str) -> dict[str, Any]:
    """A plan: the time and memory that it takes, and what it says of each tier."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mp.LocalService(now=NOW, strict_symbols=False) as twin,
        twin.client("unlimited", check_symbols=False) as asks,
    ):
        asks.usage()
        before = held()
        wanted, archive = universe(int(markets), float(years), interval), mp.Archive(folder)
        begun = time.perf_counter()
        plan = archive.plan_all(asks, wanted)
        seconds = time.perf_counter() - begun
    return {
        "seconds": seconds,
        "memory": held() - before,
        "series": len(plan.series),
        "weight": plan.weight,
        "requests": plan.requests,
        "points": plan.points,
        "bytes": plan.bytes,
        "refused": len(plan.refused),
        "eta": dict(plan.eta_by_tier),
        "refused_by_tier": dict(plan.refused_by_tier),
        "weight_by_tier": dict(plan.weight_by_tier),
    }


def syncing(url: str, key: str, kind: str, interval: str, days: str) -> dict[str, Any]:
    """One market kept: processor time, memory, rows, requests, and bytes on the disk."""
    start = NOW // DAY * DAY - int(days) * DAY
    with tempfile.TemporaryDirectory() as folder, client(url, key) as asks:
        archive = mp.Archive(folder)
        market = ("BINANCE_FUTURES", "BTCUSDT")
        for day in (3, 2, 1):  # connections, tables and modules are there
            archive.sync(asks, kind, *market, interval, start=start - day * DAY, end=start - (day - 1) * DAY)
        small, held_before = size(folder), held()
        before = time.process_time()
        report = archive.sync(asks, kind, *market, interval, start=start, end=start + int(days) * DAY)
        took = time.process_time() - before
        return {
            "cpu": took,
            "memory": held() - held_before,
            "rows": report.rows,
            "requests": report.requests,
            "bytes": size(folder) - small,
        }


def size(folder: str) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


WORKS = {"planning": planning, "syncing": syncing}


def plans(lines: list[str]) -> None:
    """How planning grows with series and years."""
    lines += [
        "**Planning** (`archive.plan_all` into an empty archive), minutes:",
        "",
        "| series | years | requests | seconds | ms a series | MB |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for markets, years in ((50, 2), (200, 0.25), (200, 1), (200, 2), (800, 2)):
        result = in_child("planning", markets, years, "1m")
        lines.append(
            f"| {result['series']:,} | {years} | {result['requests']:,} | {result['seconds']:.2f} | "
            f"{result['seconds'] / result['series'] * 1e3:.2f} | {result['memory']:.0f} |"
        )
        print(lines[-1], flush=True)
    lines.append("")


def keeping(lines: list[str]) -> dict[str, dict[str, float]]:
    """What a request, a row and a row's file cost by type and interval; the slope for each."""
    lines += [
        "**Keeping** (`archive.sync` of one market of the demo, the service in another process):",
        "",
        "| type | interval | days | requests | rows | processor ms a request | µs a row | bytes a row | MB |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    slopes: dict[str, dict[str, float]] = {}
    with service() as (url, keys):
        for interval, several in (("1m", (30, 120)), ("1h", (365,))):
            for kind in TYPES:
                for days in several:
                    result = in_child("syncing", url, keys["unlimited"], kind, interval, days)
                    rows, requests = max(result["rows"], 1), max(result["requests"], 1)
                    buckets = days * (1_440 if interval == "1m" else 24)
                    slopes[f"{kind} {interval}"] = {
                        "cpu": result["cpu"] / buckets,
                        "bytes": result["bytes"] / buckets,
                        "memory": result["memory"],
                    }
                    each, a_row = result["cpu"] / requests * 1e3, result["cpu"] / rows * 1e6
                    lines.append(
                        f"| {kind} | {interval} | {days} | {requests} | {rows:,} | {each:.1f} | {a_row:.2f} | "
                        f"{result['bytes'] / rows:.1f} | {result['memory']:.0f} |"
                    )
                    print(lines[-1], flush=True)
    lines.append("")
    return slopes


def spelt(seconds: float) -> str:
    """A length of time in the largest unit of which there are two."""
    for unit, name in ((DAY, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.1f} s"


def estimates(lines: list[str], slopes: dict[str, dict[str, float]]) -> None:
    """What the planner says of the whole, and slopes times that."""
    lines += [
        "| | " + " | ".join(f"{MARKETS:,} markets, {interval}" for interval in ("1m", "1h")) + " | from |",
        "|---|---:|---:|---|",
    ]
    whole = {interval: in_child("planning", MARKETS, YEARS, interval) for interval in ("1m", "1h")}
    buckets = {interval: MARKETS * YEARS * YEAR / step for interval, step in (("1m", 60), ("1h", 3_600))}

    def row(name: str, cell: Any, source: str) -> None:
        lines.append(f"| {name} | " + " | ".join(cell(interval) for interval in whole) + f" | {source} |")
        print(lines[-1], flush=True)

    row("series", lambda one: f"{whole[one]['series']:,}", "")
    row("planning", lambda one: f"{whole[one]['seconds']:.1f} s", "measured here, in one process")
    row("memory of the plan", lambda one: f"{whole[one]['memory']:,.0f} MB", "measured here")
    row("weight", lambda one: f"{whole[one]['weight']:,}", "the planner")
    row("requests", lambda one: f"{whole[one]['requests']:,}", "the planner")
    row("buckets asked", lambda one: f"{whole[one]['points']:,}", "the planner")
    for tier, limits in mp.TIERS.items():

        def takes(one: str, tier: str = tier) -> str:
            plan = whole[one]
            refused = plan["refused_by_tier"].get(tier, 0)
            if refused == plan["series"]:
                return "refused"
            without = f", without {refused:,} series" if refused else ""
            return spelt(plan["eta"][tier]) + without

        row(f"time, {tier} ({limits.weight_per_minute:,} a minute)", takes, "the planner: (weight − burst) / rate")

    def total(one: str, what: str) -> float:
        return sum(slopes[f"{kind} {one}"][what] for kind in TYPES) * buckets[one]

    row("files", lambda one: f"{total(one, 'bytes') / 1e9:,.1f} GB", "bytes a bucket × buckets")
    row("processor time of all workers", lambda one: spelt(total(one, "cpu")), "time a bucket × buckets")
    row(
        f"of each of {WORKERS} workers",
        lambda one: f"{total(one, 'cpu') / WORKERS / whole[one]['eta']['advanced']:.2%} of a processor",
        "the same by the time on advanced",
    )
    row(
        "memory of a worker beyond the package",
        lambda one: f"{max(slopes[f'{kind} {one}']['memory'] for kind in TYPES):,.0f} MB",
        "the largest above",
    )
    row(
        f"requests a minute, {WORKERS} workers together",
        lambda one: f"{whole[one]['requests'] / whole[one]['eta']['advanced'] * 60:,.0f}",
        "requests by time on advanced",
    )


def main() -> None:
    """Measures and estimates; with ``--write`` into the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", nargs="+")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.work:
        name, *arguments = given.work
        print(json.dumps(WORKS[name](*arguments)))
        return
    measured = [f"{machine()}; load {os.getloadavg()[0]:.1f} at the start.", ""]
    plans(measured)
    slopes = keeping(measured)
    estimated: list[str] = []
    estimates(estimated, slopes)
    if given.write:
        write(PAGE, "scale measured", measured)
        write(PAGE, "scale estimated", estimated)


if __name__ == "__main__":
    main()
