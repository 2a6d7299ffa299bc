"""The local service over HTTP: large bodies against ``orjson.dumps`` of the same document, small ones against FastAPI.

Run by ``make bench-service``. Needs curl and wrk (Debian packages of these names) beside the extra ``bench``.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import orjson
from timing import clock, machine, paired_seconds

import marketpoints as mp

START = 1_735_689_600  # 2025-01-01
MINUTES = 100_000
SNAPSHOTS, LEVELS = 1_000, 2_000

SERVE = """
import json, sys
import marketpoints as mp
service = mp.LocalService(data=sys.argv[1], now=int(sys.argv[2]))
with service:
    print(json.dumps([service.url, service.keys["unlimited"]]), flush=True)
    sys.stdin.read()
"""

TWIN = """
import os
from pathlib import Path
from fastapi import FastAPI, Response
app = FastAPI()
body = Path(os.environ["BODY"]).read_bytes()
@app.get("/v1/points")
async def points() -> Response:
    return Response(body, media_type="application/json")
"""


def write_dumps(root: Path) -> None:
    """Twelve trades a minute, so that volumes have the digits of real sums, and a whole book each minute."""
    rng = np.random.default_rng(5)
    price = 96_000.0
    for first in range(0, MINUTES, 1_440):
        minutes = np.arange(first, min(first + 1_440, MINUTES))
        times = (
            (START + 60 * minutes)[:, None] * 1_000_000 + np.sort(rng.integers(0, 60_000_000, (len(minutes), 12)))
        ).ravel()
        prices = np.round(price + np.cumsum(rng.normal(0, 3, times.size)), 1)
        price = prices[-1]
        amounts = np.round(rng.exponential(0.5, times.size) + 0.001, 3)
        sides = np.where(rng.random(times.size) < 0.5, "buy", "sell")
        rows = zip(times, sides, prices, amounts, strict=True)
        lines = [f"binance-futures,BTCUSDT,{t},{t},1,{side},{p:.1f},{a:.3f}" for t, side, p, a in rows]
        write(root / "trades", int(minutes[0]), "exchange,symbol,timestamp,local_timestamp,id,side,price,amount", lines)
    lines = []
    for minute in range(SNAPSHOTS):
        time = (START + 60 * minute) * 1_000_000
        amounts = rng.exponential(2.0, LEVELS) + 0.001
        for level, amount in enumerate(amounts):
            side = "bid" if level < LEVELS // 2 else "ask"
            lines.append(f"binance-futures,BTCUSDT,{time},{time},true,{side},{95_000 + level},{amount:.8f}")
        # A change between two snapshots, so that the next one starts the book anew.
        lines.append(f"binance-futures,BTCUSDT,{time + 1},{time + 1},false,bid,95000,{amounts[0]:.8f}")
    columns = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount"
    write(root / "incremental_book_L2", 0, columns, lines)


def write(folder: Path, minute: int, columns: str, lines: list[str]) -> None:
    day = np.datetime64(START + 60 * minute, "s").astype("datetime64[D]")
    path = folder / "BINANCE_FUTURES" / "BTCUSDT" / f"{day}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", compresslevel=1) as out:
        out.write("\n".join([columns, *lines, ""]))


@contextmanager
def process(*command: str, **settings: object) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **settings) as child:  # type: ignore[call-overload]
        try:
            yield child
        finally:
            child.terminate()


def curl(url: str, key: str) -> float:
    """Seconds that curl says the transfer took, from its start to the last byte."""
    command = ["curl", "-s", "-o", "/dev/null", "-w", "%{time_total} %{http_code}", "-H", f"X-Service-Key: {key}", url]
    seconds, status = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    if status != "200":
        sys.exit(f"{url}: status {status}")
    return float(seconds)


def peak_memory(pid: int) -> int:
    """Bytes of the largest resident size since the last reset."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def large(name: str, url: str, key: str, pid: int) -> None:
    """One large body: time against orjson, memory against its size."""
    request = urllib.request.Request(url, headers={"X-Service-Key": key})
    with urllib.request.urlopen(request) as answer:
        body = answer.read()
    document = json.loads(body)
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts anew
    before = peak_memory(pid)
    curl(url, key)
    grown = peak_memory(pid) - before
    seconds = paired_seconds(
        {"curl": lambda: curl(url, key), "orjson": lambda: clock(lambda: orjson.dumps(document))}, 15
    )
    print(f"{name}, {len(body) / 1e6:.1f} MB")
    print(f"  curl {seconds['curl'] * 1e3:.1f} ms, orjson.dumps {seconds['orjson'] * 1e3:.1f} ms", end="")
    print(f" (ratio {seconds['curl'] / seconds['orjson']:.2f}); memory grew by {grown / len(body):.2f} × the body")


def requests_per_second(url: str, key: str) -> float:
    """What wrk counts over 64 connections."""
    command = ["wrk", "-t2", "-c64", "-d5s", "-H", f"X-Service-Key: {key}", url]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        sys.exit(said)
    return next(float(line.split()[1]) for line in said.splitlines() if line.startswith("Requests/sec"))


def twin(folder: Path, options: tuple[str, ...], workers: int, key: str) -> float:
    """Requests per second of FastAPI under uvicorn, which always sends the same bytes."""
    command = [sys.executable, "-m", "uvicorn", "twin:app", "--port", "0", "--workers", str(workers), "--no-access-log"]
    command += options
    environment = {**os.environ, "BODY": str(folder / "body.json")}
    with process(*command, cwd=folder, env=environment, stderr=subprocess.STDOUT) as served:
        assert served.stdout is not None
        address, started = "", 0
        for line in served.stdout:
            if "running on" in line:
                address = line.split("running on ")[1].split()[0]
            started += "startup complete" in line
            if address and started == workers:
                break
        return max(requests_per_second(f"{address}/v1/points", key) for _ in range(2))


def small(folder: Path, url: str, key: str) -> None:
    """24 candles under load, against a twin in one process, uvicorn's default, and in two, one a core.

    ``pip install uvicorn`` brings h11 and takes asyncio's loop; uvloop and httptools come with ``uvicorn[standard]``.
    """
    request = urllib.request.Request(url, headers={"X-Service-Key": key})
    with urllib.request.urlopen(request) as answer:
        (folder / "body.json").write_bytes(answer.read())
    (folder / "twin.py").write_text(TWIN)
    ours = max(requests_per_second(url, key) for _ in range(3))
    plain, fast = ("--loop", "asyncio", "--http", "h11"), ("--loop", "uvloop", "--http", "httptools")
    theirs = {
        (options, workers): twin(folder, options, workers, key) for options in (plain, fast) for workers in (1, 2)
    }
    ours = max(ours, *(requests_per_second(url, key) for _ in range(2)))
    print(f"24 candles under wrk, 64 connections: {ours:,.0f} requests/s; FastAPI {version('fastapi')} under uvicorn")
    print(f"{version('uvicorn')} with a constant body:")
    for (options, workers), rate in theirs.items():
        setting = f"{options[1]} and {options[3]}, {workers} process{'es' * (workers > 1)}"
        print(f"  {setting}: {rate:,.0f} (ratio {ours / rate:.1f})")


def main() -> None:
    """Makes a store, serves it, and times what comes."""
    print(f"{machine()}; marketpoints {mp.__version__}, orjson {orjson.__version__}; best of runs that take turns")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_dumps(folder / "dumps")
        mp.ingest(folder / "dumps", folder / "store")
        now = START + 60 * MINUTES
        with process(sys.executable, "-c", SERVE, str(folder / "store"), str(now)) as service:
            assert service.stdout is not None
            url, key = json.loads(service.stdout.readline())
            market = f"{url}/v1/points?exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT&interval=MINUTE&from={START}"
            candles = f"{market}&type=TRADE_SIDE_AGNOSTIC_AGG"
            book = f"{market}&type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=1&flatten=true&period={60 * SNAPSHOTS}"
            large(f"{MINUTES:,} one-minute candles", f"{candles}&period={60 * MINUTES}", key, service.pid)
            large(f"flat heatmap of {SNAPSHOTS:,} × {LEVELS:,} levels", book, key, service.pid)
            small(folder, f"{candles}&period={24 * 60}", key)


if __name__ == "__main__":
    main()
