"""The attacks of docs/faults.md at volume: ``python tests/hostile/run.py [seconds] [attack …]`` (make hostile).

Everything is on loopback and in folders of its own. Each attack runs in a process of its own for its part of the time
and prints how often it was tried and the largest resident memory seen. A crash, a hang, an error of another kind than
the package documents, or a result that is not what it must be ends the run with status 1.
"""

import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import attacks
import streams

HERE = Path(__file__).resolve()
ARM = platform.machine() in ("aarch64", "arm64")
#: Parts of the time; the kernels share those of the decoder.
PARTS = {
    **{f"decode-{kernel}": 1 for kernel in (("scalar", "neon") if ARM else ("scalar", "sse4", "avx2", "avx512"))},
    "sync-kill": 3,
    "ingest-kill": 3,
    "csv": 2,
    "connections": 2,
    "websockets": 1,
    "gzip-bombs": 1,
    "streams": 2,
    "store-kill": 2,
}


def attack(name, seconds, seed):
    """One attack, in this process: prints what it found as JSON."""
    kind, _, variant = name.partition("-")
    act = {
        "decode": attacks.decode,
        "sync-kill": attacks.sync_kill,
        "ingest-kill": attacks.ingest_kill,
        "csv": attacks.csv,
        "connections": attacks.connections,
        "websockets": attacks.websockets,
        "gzip-bombs": attacks.gzip_bombs,
        "streams": streams.streams,
        "store-kill": streams.store_kill,
    }
    work = act.get(name) or act[kind]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MARKETPOINTS_CACHE_DIR"] = folder
        figures = work(attacks.Clock(seconds), random.Random(f"{seed} {variant}"), Path(folder))
    kibibytes = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"figures": figures, "memory": kibibytes // (1024 if platform.system() != "Darwin" else 1 << 20)}))


def main(arguments):
    if arguments[:1] == ["--attack"]:
        attack(arguments[1], float(arguments[2]), int(arguments[3]))
        return 0
    seconds = float(arguments[0]) if arguments else 180.0
    chosen = arguments[1:] or list(PARTS)
    seed = int(os.environ.get("MARKETPOINTS_SEED", "0")) or time.time_ns() % 1_000_000
    print(f"seed {seed} (MARKETPOINTS_SEED repeats it), about {seconds:.0f} s")
    print(f"{'attack':<16} {'largest MiB':>11}  what was done")
    failed = 0
    for name in chosen:
        part = seconds * PARTS[name] / sum(PARTS[one] for one in chosen)
        environment = dict(os.environ)
        if name.startswith("decode-"):
            environment["MARKETPOINTS_KERNEL"] = name.partition("-")[2]
        command = [sys.executable, str(HERE), "--attack", name, str(part), str(seed)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=part * 3 + 120, check=False
            )
        except subprocess.TimeoutExpired:
            failed += 1
            print(f"{name:<16} {'':>11}  HANGS")
            continue
        if done.returncode:
            failed += 1
            print(f"{name:<16} {'':>11}  FAILED with {done.returncode}\n{done.stderr[-3000:]}")
            continue
        report = json.loads(done.stdout.splitlines()[-1])
        figures = ", ".join(f"{count:,} {what}" for what, count in report["figures"].items())
        print(f"{name:<16} {report['memory']:>11,}  {figures}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
