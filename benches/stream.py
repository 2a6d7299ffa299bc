"""The stream beside websockets and orjson: the same frames into the same NumPy columns. Run by ``make bench-stream``.

A process of its own sends prepared trades over the loopback as fast as they are taken, in the service's frames
(supplement 7); each reader is a process of its own on one processor. What counts is the processor time that a reader
takes for a million events, and how many events a minute it gets through. Frames of one point are what the supplement
shows, frames of up to fifty what the local service sends when much happens.
"""

import argparse
import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from timing import machine, write

EVENTS = 500_000
#: Points of a frame.
FRAMES = (1, 10, 50)
ROUNDS = 3
START = 1_769_058_875
MARKETS = tuple((exchange, f"{coin}USDT", coin) for exchange in ("BINANCE_FUTURES", "BYBIT") for coin in ("BTC", "ETH"))
CHANNELS = [{"type": "TRADE", "exchange": exchange, "symbol": symbol} for exchange, symbol, _ in MARKETS]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "stream.md"


def point(number: int) -> str:
    """A trade as the supplement shows it."""
    exchange, symbol, coin = MARKETS[number * 7 // 3 % len(MARKETS)]
    series = {"type": "TRADE", "symbol": symbol, "exchange": exchange, "normalizedSymbol": f"{coin}-USDT"}
    series |= {"category": "PERPETUAL", "side": "BUY" if number % 3 else "SELL", "coin": coin, "inverse": False}
    nanoseconds = number * 61_000
    stamp = {"seconds": START + nanoseconds // 10**9, "nanoseconds": nanoseconds % 10**9}
    trade = {"id": str(7_126_482_260 + number), "price": (900_030 + number % 977) / 10, "amount": number % 4999 / 1000}
    return json.dumps({"series": series, "trade": {**trade, "timestamp": stamp}}, separators=(",", ":"))


def framed(text: str) -> bytes:
    """A whole text frame of a server (RFC 6455)."""
    payload = text.encode()
    short = len(payload) < 1 << 16
    length = bytes([126]) + len(payload).to_bytes(2, "big") if short else bytes([127]) + len(payload).to_bytes(8, "big")
    return b"\x81" + (length if len(payload) > 125 else bytes([len(payload)])) + payload


def send(points: int) -> None:
    """Serves connections one after the other: grants what is asked, and sends all events. Tells its port first."""
    texts = [point(number) for number in range(EVENTS)]
    frames = (f'{{"points":[{",".join(texts[at : at + points])}]}}' for at in range(0, EVENTS, points))
    whole = b"".join(map(framed, frames))
    del texts
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            peer, _ = listener.accept()
            with peer:
                serve(peer, whole)


def serve(peer: socket.socket, whole: bytes) -> None:
    """One connection."""
    asked = peer.makefile("rb")
    key = b""
    while (line := asked.readline().strip()) != b"":
        name, _, value = line.partition(b": ")
        key = value if name.lower() == b"sec-websocket-key" else key
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
    peer.sendall(head + accept + b"\r\n\r\n")
    for _ in range(2):  # the key, the channels
        length = asked.read(2)[1] & 127
        length = int.from_bytes(asked.read(2), "big") if length == 126 else length
        mask = asked.read(4)
        request = json.loads(bytes(byte ^ mask[at % 4] for at, byte in enumerate(asked.read(length))))
        peer.sendall(framed(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {}})))
    peer.sendall(whole)
    asked.read()  # until it goes


def with_batches(port: int) -> Any:
    """The package's batches: columns, and the seconds from the first event to the last."""
    import numpy as np

    import marketpoints as mp

    client = mp.Client("key", f"http://127.0.0.1:{port}", check_symbols=False)
    batches, count, begun = [], 0, 0.0
    with client.stream(CHANNELS, batches=True) as stream:
        for batch in stream:
            begun = begun or time.perf_counter()
            batches.append(batch)
            count += len(batch)
            if count == EVENTS:
                break
        names = {"time": "times", "price": "prices", "amount": "amounts", "side": "sides", "id": "ids"}
        names["market"] = "market_codes"
        columns = {name: np.concatenate([getattr(batch, own) for batch in batches]) for name, own in names.items()}
    return columns, time.perf_counter() - begun


def with_events(port: int) -> Any:
    """The package's events, one by one, into the same columns."""
    import marketpoints as mp

    client = mp.Client("key", f"http://127.0.0.1:{port}", check_symbols=False)
    rows = Rows()
    begun, codes = 0.0, rows.codes
    with client.stream(CHANNELS) as stream:
        for event in stream:
            begun = begun or time.perf_counter()
            rows.time.append(event.time.astype("int64"))
            rows.price.append(event.price)
            rows.amount.append(event.amount)
            rows.side.append(1 if event.side == "BUY" else -1)
            rows.id.append(event.id)
            rows.market.append(codes.setdefault((event.exchange, event.symbol), len(codes)))
            if len(rows.id) == EVENTS:
                break
    return rows.columns(), time.perf_counter() - begun


def with_websockets(port: int) -> Any:
    """What one writes by hand: websockets, orjson, lists, arrays."""
    import asyncio

    import orjson
    import websockets

    rows = Rows()

    async def read() -> float:
        begun, codes, parse = 0.0, rows.codes, orjson.loads
        times, prices, amounts, sides = rows.time.append, rows.price.append, rows.amount.append, rows.side.append
        ids, markets = rows.id.append, rows.market.append
        address = f"ws://127.0.0.1:{port}/nonbook/ws?encoding=json"
        async with websockets.connect(address, compression=None, proxy=None, ping_interval=None) as peer:
            await peer.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "public/authenticate", "params": {}}))
            await peer.recv()
            await peer.send(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "public/subscribe", "params": {}}))
            await peer.recv()
            while len(rows.id) < EVENTS:
                message = await peer.recv(decode=False)
                begun = begun or time.perf_counter()
                for one in parse(message)["points"]:
                    series, trade = one["series"], one["trade"]
                    stamp = trade["timestamp"]
                    times(stamp["seconds"] * 1_000_000_000 + stamp["nanoseconds"])
                    prices(trade["price"])
                    amounts(trade["amount"])
                    sides(1 if series["side"] == "BUY" else -1)
                    ids(trade["id"])
                    markets(codes.setdefault((series["exchange"], series["symbol"]), len(codes)))
        return begun

    begun = asyncio.run(read())
    return rows.columns(), time.perf_counter() - begun


class Rows:
    """Lists that grow by a row, and become arrays at the end."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, str], int] = {}
        self.time: list[int] = []
        self.price: list[float] = []
        self.amount: list[float] = []
        self.side: list[int] = []
        self.id: list[str] = []
        self.market: list[int] = []

    def columns(self) -> dict[str, Any]:
        """As arrays."""
        import numpy as np

        return {
            "time": np.array(self.time, "datetime64[ns]"),
            "price": np.array(self.price, float),
            "amount": np.array(self.amount, float),
            "side": np.array(self.side, np.int8),
            "id": np.array(self.id),
            "market": np.array(self.market, np.int32),
        }


READERS = {"batches": with_batches, "events": with_events, "websockets + orjson": with_websockets}


def read(name: str, port: int) -> None:
    """Reads all events, and prints what it took and what came."""
    import numpy as np

    if name.startswith("websockets"):
        import orjson  # noqa: F401 - loaded before the clock runs
        import websockets.asyncio.client  # noqa: F401
    else:
        import marketpoints as mp

        mp.Client("key", "http://127.0.0.1:9").close()
    before = time.process_time()
    columns, wall = READERS[name](port)
    result: dict[str, Any] = {"cpu": time.process_time() - before, "wall": wall}
    arrays = (columns[name] for name in ("time", "price", "amount", "side", "market"))
    result["sum"] = hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)).hexdigest()
    ids = columns["id"].astype("U12")
    result["ids"] = hashlib.sha256(ids.tobytes()).hexdigest()
    print(json.dumps(result))


def measured(points: int) -> dict[str, dict[str, float]]:
    """The best of each reader's rounds, which take turns."""
    here = [sys.executable, __file__]
    processors = sorted(os.sched_getaffinity(0))
    best: dict[str, dict[str, float]] = {}
    with subprocess.Popen([*here, "--send", str(points)], stdout=subprocess.PIPE, text=True) as sender:
        try:
            os.sched_setaffinity(sender.pid, {processors[-1]})
            assert sender.stdout is not None
            port = sender.stdout.readline().strip()
            sums = set()
            for _ in range(ROUNDS):
                for name in READERS:
                    command = [*here, "--read", name, "--port", port]
                    done = subprocess.run(
                        command,
                        stdout=subprocess.PIPE,
                        check=True,
                        preexec_fn=lambda: os.sched_setaffinity(0, {processors[0]}),
                    )
                    result = json.loads(done.stdout)
                    sums.add((result.pop("sum"), result.pop("ids")))
                    known = best.setdefault(name, result)
                    best[name] = {key: min(known[key], result[key]) for key in known}
            assert len(sums) == 1, "the readers disagree"
        finally:
            sender.kill()
    return best


def main() -> None:
    """Prints the table, and writes it with ``--write``."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--send", type=int)
    asked.add_argument("--read")
    asked.add_argument("--port", type=int)
    asked.add_argument("--write", action="store_true")
    given = asked.parse_args()
    if given.send:
        send(given.send)
    elif given.read:
        read(given.read, given.port)
    else:
        report(given.write)


def report(writes: bool) -> None:
    """Measures all, and prints it."""
    lines = [
        f"{machine()}; load {os.getloadavg()[0]:.1f} at the start.",
        f"{EVENTS:,} trades of four markets, the best of {ROUNDS} rounds, each reader on one processor.",
        "",
        "| points a frame | | µs of processor time an event | of it | million events a minute |",
        "|---:|---|---:|---:|---:|",
    ]
    for points in FRAMES:
        best = measured(points)
        rival = best["websockets + orjson"]["cpu"]
        for name, one in best.items():
            each, a_minute = one["cpu"] / EVENTS * 1e6, EVENTS / one["wall"] * 60 / 1e6
            lines.append(f"| {points} | {name} | {each:.2f} | {rival / one['cpu']:.1f} × | {a_minute:,.1f} |")
            print(lines[-1], flush=True)
    print("\n".join(lines))
    if writes:
        write(PAGE, "stream measured", lines)


if __name__ == "__main__":
    main()
