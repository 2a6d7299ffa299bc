"""Times the decoder beside its peers, in one run, and writes docs/performance.md. Run by ``make bench-decode``.

Every contender goes from the same bytes to float64 arrays. In each round each of them decodes, in turn, and the best of
all rounds counts: everything else on a machine only ever makes a run slower. Calls in a row come after the contender's
own. A first call comes right after orjson with NumPy decoded the same body (orjson's own after this package did): it
meets caches that another one has filled. The clock is the thread's processor time, page faults included, so that other
work on the machine disturbs least.
"""

import argparse
import importlib.metadata
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import orjson
import simdjson
from bodies import BODIES, PRICES, TIMES
from timing import machine, write

import marketpoints as mp

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"


# --- Peers: from bytes to arrays -------------------------------------------------------------------------------------

# peers: begin


def split(values: Any) -> tuple[Any, Any]:
    """A flat array's levels and times."""
    parts, times, index = [], [], 0
    while index < len(values):
        end = index + 2 + 2 * int(values[index])
        times.append(values[index + 1])
        parts.append(values[index + 2 : end])
        index = end
    return np.concatenate(parts), np.array(times) * 1000


def from_objects(name: str, document: Any) -> Any:
    """Arrays from Python objects (json, orjson)."""
    series = document["series"][0]
    if name.startswith("flat"):
        return split(np.array(series["flat_points"]))
    points = [point["Point"] for point in series["points"]]
    if name == "nested":
        sides = [np.array(point["bids"]).reshape(-1, 2)[::-1] for point in points]
        asks = [np.array(point["asks"]).reshape(-1, 2) for point in points]
        pairs = [side for both in zip(sides, asks, strict=True) for side in both]
        return np.concatenate(pairs), np.array([point["timestamp"]["s"] for point in points])
    if name == "tpo":
        rows = [row for point in points for row in point["TpoAggregation"]["levels"]]
        columns = [np.array([row.get(key, 0.0) for row in rows]) for key in ("price", "buy_volume", "sell_volume")]
        return columns, np.array([block for row in rows for block in row["block_ids"]], dtype=float)
    numbers = [np.array([point.get(key, 0.0) for point in points]) for key in PRICES]
    stamps = [[point.get(key, {"s": 0}) for point in points] for key in TIMES]
    return numbers, [np.array([time["s"] * 10**9 + time.get("ns", 0) for time in times]) for times in stamps]


class Time(msgspec.Struct, frozen=True):
    s: int
    ns: int = 0


class Candle(msgspec.Struct, rename="camel"):
    timestamp: Time
    open: float = 0.0
    high: float = 0.0
    low: float = 0.0
    close: float = 0.0
    volume: float = 0.0
    first_timestamp: Time = Time(0)
    last_timestamp: Time = Time(0)


class Book(msgspec.Struct):
    timestamp: Time
    bids: list[float] = []
    asks: list[float] = []


class Level(msgspec.Struct):
    price: float = 0.0
    block_ids: list[int] = []
    buy_volume: float = 0.0
    sell_volume: float = 0.0


class Profile(msgspec.Struct):
    timestamp: Time
    levels: list[Level] = []


class Wrapper(msgspec.Struct):
    profile: Profile = msgspec.field(name="TpoAggregation")


def typed(payload: type) -> Any:
    """msgspec's decoder of a body whose points hold that payload."""
    point = msgspec.defstruct("Point", [("point", payload, msgspec.field(name="Point"))])
    series = msgspec.defstruct("Series", [("points", list[point], []), ("flat_points", list[float], [])])  # type: ignore[valid-type]
    return msgspec.json.Decoder(msgspec.defstruct("Body", [("series", list[series])]))  # type: ignore[valid-type]


TYPED = {"nested": typed(Book), "tpo": typed(Wrapper), "flat": typed(Book), "candles": typed(Candle)}


def with_msgspec(name: str, body: bytes) -> Any:
    """msgspec into typed structs, and from there into arrays."""
    kind = "flat" if name.startswith("flat") else name if name in TYPED else "candles"
    series = TYPED[kind].decode(body).series[0]
    if kind == "flat":
        return split(np.array(series.flat_points))
    points = [point.point for point in series.points]
    if kind == "nested":
        pairs = []
        for point in points:
            pairs += [np.array(point.bids).reshape(-1, 2)[::-1], np.array(point.asks).reshape(-1, 2)]
        return np.concatenate(pairs), np.array([point.timestamp.s for point in points])
    if kind == "tpo":
        rows = [row for point in points for row in point.profile.levels]
        columns = [np.array([row.price for row in rows]), np.array([row.buy_volume for row in rows])]
        columns.append(np.array([row.sell_volume for row in rows]))
        return columns, np.array([block for row in rows for block in row.block_ids], dtype=float)
    numbers = [np.array([getattr(point, key) for point in points]) for key in PRICES]
    stamps = [[getattr(point, key) for point in points] for key in ("timestamp", "first_timestamp", "last_timestamp")]
    return numbers, [np.array([time.s * 10**9 + time.ns for time in times]) for times in stamps]


def with_simdjson(name: str, body: bytes) -> Any:
    """pysimdjson: whole arrays of numbers through its buffers, written in C++; the rest through its proxies."""
    series = simdjson.Parser().parse(body)["series"][0]
    if name.startswith("flat"):
        return split(np.frombuffer(series["flat_points"].as_buffer(of_type="d")))
    points = [point["Point"] for point in series["points"]]
    if name == "nested":
        pairs = []
        for point in points:
            for key, step in (("bids", -1), ("asks", 1)):
                pairs.append(np.frombuffer(point[key].as_buffer(of_type="d")).reshape(-1, 2)[::step])
        return np.concatenate(pairs), np.array([point["timestamp"]["s"] for point in points])
    if name == "tpo":
        rows = [row for point in points for row in point["TpoAggregation"]["levels"]]
        columns = [np.array([row[key] for row in rows]) for key in ("price", "buy_volume", "sell_volume")]
        blocks = [np.frombuffer(row["block_ids"].as_buffer(of_type="d")) for row in rows]
        return columns, np.concatenate(blocks)
    return from_objects(name, {"series": [series.as_dict()]})


def with_marketpoints(name: str, body: bytes) -> Any:
    """This package, every column looked at."""
    series = mp.decode_points(body)[0]
    return [series.timestamps, *[series[column] for column in series.columns]]


PEERS: dict[str, Callable[[str, bytes], Any]] = {
    "marketpoints": with_marketpoints,
    "decode only": lambda name, body: mp.decode_points(body),
    "json + NumPy": lambda name, body: from_objects(name, json.loads(body)),
    "orjson + NumPy": lambda name, body: from_objects(name, orjson.loads(body)),
    "msgspec typed": with_msgspec,
    "pysimdjson": with_simdjson,
}

# peers: end

#: After whose work the first calls come, and after whose its own.
BEFORE, BEFORE_THAT = "orjson + NumPy", "marketpoints"
#: Calls in a row in a turn; of small bodies, lots of calls.
IN_A_ROW = 3
#: First calls in a turn, at most: small bodies take as many as go into one of 4 MB.
FIRST = 50
#: What is measured beside the kernel `avx2`.
BESIDE_AVX2 = ("orjson + NumPy", "pysimdjson")
SOME = ("marketpoints", *BESIDE_AVX2)


@dataclass
class Best:
    """Seconds of a peer's best call among calls in a row, and of its best call after another's work."""

    in_a_row: float = math.inf
    first: float = math.inf

    def over(self, other: "Best") -> str:
        """How many times as long as another's, both ways."""
        return f"{self.in_a_row / other.in_a_row:.1f} / {self.first / other.first:.1f} ×"


# --- Measuring -------------------------------------------------------------------------------------------------------


def measure(name: str, body: bytes, rounds: int, peers: Sequence[str] = ()) -> dict[str, Best]:
    """Seconds of each peer's best runs, first calls apart: those come after another's work, as a user's do."""
    best = {peer: Best() for peer in peers or PEERS}
    times = max(1, 2_000_000 // len(body))
    firsts = min(FIRST, max(1, 4_000_000 // len(body)))
    for _ in range(rounds):
        for peer, found in best.items():
            work, before = PEERS[peer], PEERS[BEFORE_THAT if peer == BEFORE else BEFORE]
            for _ in range(firsts):
                before(name, body)
                start = time.thread_time_ns()
                work(name, body)
                found.first = min(found.first, (time.thread_time_ns() - start) / 1e9)
            # Only from the third call on are the body and the arrays where the caches keep them.
            for _ in range(IN_A_ROW):
                start = time.thread_time_ns()
                for _ in range(times):
                    work(name, body)
                found.in_a_row = min(found.in_a_row, (time.thread_time_ns() - start) / times / 1e9)
    return best


def with_kernel(kernel: str, paths: list[Path], rounds: int) -> dict[str, dict[str, Best]]:
    """The same of one kernel, beside two peers, in a process of its own: which kernel decodes is chosen once."""
    command = [sys.executable, __file__, "--rounds", str(rounds), "--bodies", *map(str, paths)]
    run = subprocess.run(
        command, env={**os.environ, "MARKETPOINTS_KERNEL": kernel}, check=True, stdout=subprocess.PIPE, text=True
    )
    found = json.loads(run.stdout)
    return {name: {peer: Best(*times) for peer, times in peers.items()} for name, peers in found.items()}


def rust(paths: list[Path], rounds: int) -> list[dict[str, float]]:
    """Seconds of every kernel and of sonic-rs, without Python around them."""
    manifest = ROOT / "benches" / "peers" / "Cargo.toml"
    command = ["cargo", "run", "--quiet", "--release", "--manifest-path", str(manifest), "--", str(rounds)]
    run = subprocess.run([*command, *map(str, paths)], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def spelled(seconds: float) -> str:
    """A time in three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def table(rows: dict[str, list[str]], columns: list[str]) -> list[str]:
    """A Markdown table."""
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    return lines + [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]


def report(
    sizes: dict[str, int],
    python: dict[str, dict[str, Best]],
    narrow: dict[str, dict[str, Best]],
    native: dict[str, dict[str, float]],
) -> str:
    """The measured part of the page."""
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "orjson", "msgspec", "pysimdjson")}
    facts = [machine(), ", ".join(f"{k} {v}" for k, v in versions.items())]
    peers = [peer for peer in PEERS if peer not in ("marketpoints", "decode only")]
    times, avx2, kernels = {}, {}, {}
    for name, size in sizes.items():
        ours, best = python[name]["marketpoints"], native[name]
        fastest = min(seconds for kernel, seconds in best.items() if kernel != "sonic-rs")
        ratios = [python[name][peer].over(ours) for peer in peers]
        cells = [f"{size / 1e6:.3g} MB", spelled(python[name]["decode only"].in_a_row), spelled(ours.in_a_row)]
        cells.append(spelled(ours.first))
        own = narrow[name]["marketpoints"]
        avx2[name] = [spelled(own.in_a_row), *(narrow[name][peer].over(own) for peer in BESIDE_AVX2)]
        times[name] = [*cells, *ratios, f"{best['sonic-rs'] / fastest:.1f} ×"]
        rates = (f"{spelled(seconds)}, {size / seconds / 1e9:.2g} GB/s" for seconds in best.values())
        kernels[name] = list(rates)
    first = next(iter(native.values()))
    return "\n".join(
        [
            *(f"- {fact}" for fact in facts),
            f"- Measured on {time.strftime('%Y-%m-%d')}: thread time, the best of interleaved rounds",
            "",
            "Python, bytes → arrays. After `decoded` the arrays are made, after `looked at` each was asked for by",
            "name: what a peer takes is a multiple of that, of calls in a row / of the first call right after orjson",
            "with NumPy decoded the same body (its own: after marketpoints did). The last column compares in Rust,",
            "without Python, in a row:",
            "",
            *table(times, ["body", "decoded", "looked at", "first call", *peers, "sonic-rs typed"]),
            "",
            "The same where the processor has no AVX-512, by the kernel `avx2`:",
            "",
            *table(avx2, ["looked at", *BESIDE_AVX2]),
            "",
            "Rust, bytes → columns, by kernel:",
            "",
            *table(kernels, list(first)),
        ]
    )


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="rounds over all contenders")
    parser.add_argument("--only", nargs="*", choices=BODIES, help="bodies; without it all of them")
    parser.add_argument("--bodies", nargs="*", type=Path, help="files to measure by this process's kernel; prints JSON")
    parser.add_argument("--dry", action="store_true", help="print instead of writing docs/performance.md")
    arguments = parser.parse_args()
    if arguments.bodies:
        each = {path.name: measure(path.name, path.read_bytes(), arguments.rounds, SOME) for path in arguments.bodies}
        print(json.dumps({name: {peer: astuple(one) for peer, one in best.items()} for name, best in each.items()}))
        return
    names = arguments.only or list(BODIES)
    with tempfile.TemporaryDirectory() as folder:
        bodies = {name: BODIES[name]().encode() for name in names}
        paths = []
        for name, body in bodies.items():
            paths.append(Path(folder) / name)
            paths[-1].write_bytes(body)
        native = dict(zip(names, rust(paths, arguments.rounds), strict=True))
        python = {name: measure(name, body, arguments.rounds) for name, body in bodies.items()}
        narrow = with_kernel("avx2", paths, arguments.rounds)
    text = report({name: len(body) for name, body in bodies.items()}, python, narrow, native)
    if arguments.dry:
        print(text)
        return
    write(PAGE, "measured", [text])
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
