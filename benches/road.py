"""Times the road from bytes to frames against the local service. Run by ``make bench``.

Prints the best of several runs, because everything else on a machine only ever makes a run slower.
"""

import time
import urllib.request
from collections.abc import Callable

import marketpoints as mp

RUNS = 5
CANDLES = "type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT&interval=MINUTE"
BOOK = (
    "type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT&interval=MINUTE&blockSize=10&flatten=true"
)


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest run."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def body(service: mp.LocalService, query: str, minutes: int) -> bytes:
    """The service's answer for the last ``minutes``."""
    url = f"{service.url}/v1/points?{query}&from={int(service.now()) // 60 * 60 - 60 * minutes}&period={60 * minutes}"
    request = urllib.request.Request(url, headers={"X-Service-Key": service.keys["unlimited"]})
    with urllib.request.urlopen(request, timeout=120) as answer:
        data: bytes = answer.read()
    return data


def main() -> None:
    """Times each step and prints a line for it."""
    print(f"marketpoints {mp.__version__}, best of {RUNS}")
    with mp.LocalService(now="2026-02-01") as service, service.client("unlimited") as client:
        for name, query, minutes in (("candles", CANDLES, 50_000), ("order book, flat", BOOK, 500)):
            data = body(service, query, minutes)
            seconds = best(lambda data=data: mp.decode_points(data))
            rate = len(data) / seconds / 1e6
            print(f"decode {minutes:,} × {name}, {len(data) / 1e6:.1f} MB: {seconds * 1e3:.1f} ms, {rate:,.0f} MB/s")

        def fetch() -> mp.SeriesSet:
            return client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=50_000 * 60)

        print(f"fetch 50,000 × candles through HTTP: {best(fetch) * 1e3:.1f} ms")
        candles = fetch()
        for method in ("to_pandas", "to_polars", "to_arrow"):
            print(f"{method} of 50,000 × candles: {best(getattr(candles, method)) * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
