"""The client beside httpx and aiohttp: one large body into a frame, many small ones, and the memory that it takes.

Run by ``make bench-client``. Needs the extra ``bench``. Every contender asks the same server, in turn, in one run.
"""

import asyncio
import json
import multiprocessing
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import msgspec
import numpy as np
import orjson
import pandas as pd
from bodies import candles
from decode import Candle, typed
from timing import clock, machine, paired_seconds

import marketpoints as mp

ROWS = 100_000
REQUESTS, EACH = 200, 1_000
SMALL = 200  # calls of which the median counts
START = 1_699_999_980  # a minute; the candles of the body start twenty seconds later
NOW = START + 60 * (ROWS + 10)  # what the clients take for the present, so that the window is within the history
PATH = "/v1/points?type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT&interval=MINUTE"
NUMBERS = ("open", "high", "low", "close", "volume")
STAMPS = ("timestamp", "firstTimestamp", "lastTimestamp")
DECODER = typed(Candle)

SERVE = """
import json, sys
import marketpoints as mp
with mp.LocalService() as service:
    print(json.dumps([service.url, service.keys["unlimited"]]), flush=True)
    sys.stdin.read()
"""


def now() -> float:
    """The present of the bodies."""
    return NOW


def serve_constant(body: bytes) -> int:
    """A server that answers every request with the same bytes, from a process of its own; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    def talk(peer: socket.socket) -> None:
        with peer:
            asked = b""
            while chunk := peer.recv(65536):
                asked += chunk
                while b"\r\n\r\n" in asked:
                    asked = asked.partition(b"\r\n\r\n")[2]
                    peer.sendall(head)
                    peer.sendall(body)

    def accept() -> None:
        while True:
            threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    multiprocessing.get_context("fork").Process(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


def frame(document: dict[str, Any]) -> pd.DataFrame:
    """What a researcher does with parsed JSON."""
    points = [point["Point"] for point in document["series"][0]["points"]]
    table = pd.DataFrame({name: [point.get(name, 0.0) for point in points] for name in NUMBERS})
    for name in STAMPS:
        stamps = [point[name] for point in points]
        nanoseconds = np.array([stamp["s"] * 1_000_000_000 + stamp.get("ns", 0) for stamp in stamps])
        table[name] = pd.to_datetime(nanoseconds, utc=True)
    return table.set_index("timestamp")


def arrays(body: bytes) -> dict[str, Any]:
    """Typed structs into arrays."""
    points = [point.point for point in DECODER.decode(body).series[0].points]
    columns: dict[str, Any] = {name: np.array([getattr(point, name) for point in points]) for name in NUMBERS}
    for name in ("timestamp", "first_timestamp", "last_timestamp"):
        stamps = [getattr(point, name) for point in points]
        columns[name] = np.array([stamp.s * 1_000_000_000 + stamp.ns for stamp in stamps]).view("datetime64[ns]")
    return columns


def one_large(folder: Path) -> None:
    """100,000 candles into a frame, and the memory on top of what the process has."""
    body = candles(ROWS).encode()
    url = f"http://127.0.0.1:{serve_constant(body)}"
    window = {"start": START, "period": 60 * ROWS}
    target = f"{url}{PATH}&from={START}&period={60 * ROWS}"
    client = mp.Client("k", base_url=url, tier="advanced", clock=now)
    plan = client.plan("candles", "BINANCE_FUTURES", "BTCUSDT", "1m", **window)
    assert len(plan.requests) == 1, plan
    loop = asyncio.new_event_loop()
    http = httpx.Client(timeout=60)

    async def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession()

    aio = loop.run_until_complete(session())

    def ours() -> Any:
        return client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", **window).to_pandas()

    def with_httpx() -> Any:
        return frame(orjson.loads(http.get(target).content))

    async def with_aiohttp() -> Any:
        async with aio.get(target) as answer:
            return arrays(await answer.read())

    def curl() -> float:
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{time_total}", target]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    pd.testing.assert_frame_equal(
        ours()[list(NUMBERS)], with_httpx()[list(NUMBERS)], check_names=False, check_index_type=False
    )

    def fresh() -> float:
        # A key of its own each time: otherwise the budget of the plan, which is real, would be measured.
        nonlocal client
        client.close()
        fresh.count += 1  # type: ignore[attr-defined]
        client = mp.Client(f"k{fresh.count}", base_url=url, tier="advanced", clock=now)  # type: ignore[attr-defined]
        return clock(ours)

    fresh.count = 0  # type: ignore[attr-defined]
    seconds = paired_seconds(
        {
            "marketpoints → pandas": fresh,
            "httpx + orjson + pandas": lambda: clock(with_httpx),
            "aiohttp + msgspec + NumPy": lambda: clock(lambda: loop.run_until_complete(with_aiohttp())),
            "curl, the body alone": curl,
        },
        runs=9,
    )
    print_block(f"{ROWS:,} candles, {len(body) / 1e6:.1f} MB, from a server of constant bytes", seconds)
    loop.run_until_complete(aio.close())
    script = folder / "memory.py"
    script.write_text(MEMORY)
    said = subprocess.run(
        [sys.executable, script, url, str(START), str(ROWS)], check=True, capture_output=True, text=True
    )
    grown, output = json.loads(said.stdout)
    print(f"  memory grew by {grown / 1e6:.1f} MB: {grown / (len(body) + output):.2f} × (body + output)")
    client.close()


MEMORY = """
import json, sys
from pathlib import Path
import marketpoints as mp
url, start, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

def ask(client, rows):
    return client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", start=start, period=60 * rows)

import numpy, pandas
with mp.LocalService() as service, service.client("advanced") as warm:
    warm.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600).to_pandas()
Path("/proc/self/clear_refs").write_text("5")
before = peak()
with mp.Client("memory", base_url=url, tier="advanced", clock=lambda: start + 60 * (rows + 10)) as client:
    series = ask(client, rows)
frame = series.to_pandas()
output = sum(series[name].nbytes for name in series.columns) + series.timestamps.nbytes
print(json.dumps([peak() - before, output]))
"""


def many_small() -> None:
    """200 requests of 1,000 candles, as many at a time as each likes, against the local service without limits.

    The rival stops at parsed JSON; ours are columns.
    """
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        url, key = json.loads(service.stdout.readline())
        starts = [START - 60 * EACH * (index + 1) for index in range(REQUESTS)]

        async def ours() -> Any:
            async with mp.AsyncClient(key, base_url=url) as client:
                calls = [
                    client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", start=start, period=60 * EACH)
                    for start in starts
                ]
                return await asyncio.gather(*calls)

        async def theirs() -> Any:
            async with httpx.AsyncClient(headers={"X-Service-Key": key}, timeout=60) as client:

                async def one(start: int) -> Any:
                    answer = await client.get(f"{url}{PATH}&from={start}&period={60 * EACH}")
                    return orjson.loads(answer.content)

                return await asyncio.gather(*[one(start) for start in starts])

        mine, other = asyncio.run(ours()), asyncio.run(theirs())
        for series, document in zip(mine, other, strict=True):
            assert series["close"].tolist() == frame(document)["close"].tolist()
        seconds = paired_seconds(
            {
                "marketpoints": lambda: clock(lambda: asyncio.run(ours())),
                "asyncio + httpx + orjson": lambda: clock(lambda: asyncio.run(theirs())),
            },
            runs=5,
        )
        print_block(f"{REQUESTS} requests of {EACH:,} candles from the local service", seconds)
        service.terminate()


def one_small() -> None:
    """A call for 24 candles beside the round trip of ``curl`` over a connection that it keeps, to the local service."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        url, key = json.loads(service.stdout.readline())
        start, period = START - 86_400, 24 * 60
        address = f"{url}{PATH}&from={start}&period={period}"
        with mp.Client(key, base_url=url) as client:

            def ask() -> mp.SeriesSet:
                return client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", start=start, period=period)

            def ours() -> float:
                return statistics.median(clock(ask) for _ in range(SMALL))

            def curl() -> float:
                """The median of the transfers after the first, which opens the connection."""
                said = subprocess.run(
                    ["curl", "--silent", "--header", f"X-Service-Key: {key}", "--write-out", "%{time_total}\n"]
                    + [word for _ in range(SMALL) for word in ("--output", "/dev/null", address)],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                return statistics.median([float(line) for line in said.stdout.split()][1:])

            assert len(ask()[0]) == 24
            print_block(
                "24 candles from the local service", paired_seconds({"curl": curl, "client.candles": ours}, runs=9)
            )
        service.terminate()


def print_block(title: str, seconds: dict[str, float]) -> None:
    """A block of the report; ratios are to the first line."""
    first = next(iter(seconds.values()))
    print(title)
    for name, taken in seconds.items():
        print(f"  {name:<26} {taken * 1e3:8.2f} ms  {taken / first:6.2f} ×")


def main() -> None:
    """Runs all."""
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in (httpx, aiohttp, orjson, msgspec, pd))
    print(f"{machine()}; marketpoints {mp.__version__}, {versions}; best of runs that take turns")
    with tempfile.TemporaryDirectory() as folder:
        one_large(Path(folder))
    many_small()
    one_small()


if __name__ == "__main__":
    main()
