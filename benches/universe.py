"""Times plans and runs of universes against the local service. Run by ``make bench-universe``.

A run spends what the tier advanced allows: a bucket of 1,500, then 750 a minute. Nothing can be faster than (weight -
burst) / rate from the first request on; the lines tell by how much it was slower. The demo market lacks the symbols, so
that the service answers with nothing at no cost of its own.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import clock, machine

import marketpoints as mp

NOW = 1_790_000_000
DAY = 86_400
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


def planned(interval: str) -> None:
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
    print(f"plan of {len(plan.series):,} series × 2 years of {interval}, {plan.requests:,} requests: {seconds:.2f} s")


def ran(processes: int, kills: int = 0) -> None:
    """Processes that keep one universe with one key; so many of them are killed, and others take their place."""
    with tempfile.TemporaryDirectory() as place, mp.LocalService(now=NOW, strict_symbols=False) as service:
        code = CHILD.format(now=NOW, universe=RUN)
        command = [sys.executable, "-c", code, str(Path(place) / "archive"), service.url, service.keys["advanced"]]
        environment = {**os.environ, "MARKETPOINTS_CACHE_DIR": str(Path(place) / "cache")}

        def start() -> subprocess.Popen[str]:
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

        children = [start() for _ in range(processes)]
        for turn in range(kills):
            victim = children.pop(0)
            assert victim.stdout is not None
            for _ in range(5):  # in the middle of its work
                if not victim.stdout.readline():
                    break
            victim.kill()
            victim.communicate()
            children.append(start())
            time.sleep(1 + turn)
        for child in children:
            child.communicate(timeout=300)
            assert child.returncode == 0
        asked = [one for one in service.requests if one.path == "/v1/points"]
        spent, refused = service.spent, sum(one.status == 429 for one in asked)
    paid = [one for one in asked if one.weight]
    first, last = (one.time.astype("int64") / 1e9 for one in (paid[0], paid[-1]))
    tier = mp.TIERS["advanced"]
    least = (spent - tier.burst) / tier.weight_per_minute * 60
    took = last - first
    killed = f", {kills} killed" if kills else ""
    print(
        f"{processes} processes{killed}: weight {spent:,}, least {least:.1f} s, took {took:.1f} s "
        f"({took / least - 1:+.1%}), {refused} × 429, paid twice {spent - SERIES * WEIGHT_EACH}",
        flush=True,
    )


def main() -> None:
    """Prints a line for each."""
    print(f"marketpoints {mp.__version__}, {machine()}")
    for interval in ("1h", "1m"):
        planned(interval)
    for processes in (1, 4, 16):
        ran(processes)
    ran(4, kills=3)


if __name__ == "__main__":
    main()
