"""An archive's explorer over days of minute snapshots of a thousand levels: overviews made, the first picture, views.

Run by ``make bench-overviews``. The archive is made first, in a folder that is removed again: 9 MB a day.
"""

import multiprocessing
import resource
import sys
import tempfile
import time

import numpy as np
from timing import machine

import marketpoints as mp

KEPT = ("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1m")
LEVELS = {"block_size": 4, "max_depth": 500}
DAY = 86_400_000
SIZE = (1600, 900)


def fill(folder: str, days: int) -> None:
    """So many days of the demo market, a thousand levels a snapshot; in a process of its own, for the memory's sake."""
    archive = mp.Archive(folder)
    with mp.LocalService(now=1_790_000_000) as service, service.client("unlimited") as client:
        for day in np.arange(days) + np.datetime64("2025-02-01"):
            archive.sync(client, *KEPT, start=day, end=day + 1, **LEVELS)


def peak() -> float:
    """Most memory that the process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(days: int) -> None:
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        filling = multiprocessing.get_context("spawn").Process(target=fill, args=(folder, days))
        filling.start()
        filling.join()
        archive = mp.Archive(folder)
        began, busy = time.perf_counter(), time.process_time()
        made = archive.build_overviews(*KEPT, **LEVELS)
        took, busy = time.perf_counter() - began, time.process_time() - busy
        print(
            f"overviews of {days} days: {took:.1f} s ({busy:.1f} s), {made.bytes / 1e6:,.0f} MB, peak {peak():.0f} MB"
        )
        began = time.perf_counter()
        explorer = archive.explore(*KEPT, **LEVELS)
        answers, drawn = explorer._answers, []
        answers._send = lambda content, _: content["kind"] == "view" and drawn.append(time.perf_counter())
        start, end, low, high = answers.about["home"]

        def look(first: float, last: float) -> float:
            """Milliseconds until a view's pixels are there."""
            asked = {
                "kind": "view",
                "id": 1,
                "t0": first,
                "t1": last,
                "p0": low,
                "p1": high,
                "w": SIZE[0],
                "h": SIZE[1],
            }
            asked_at = time.perf_counter()
            answers.handle(asked | {"dpr": 1, "side": "both", "scale": "quantile", "theme": "dark"})
            answers.pictures.join()
            answers.loads.join()
            return (drawn[-1] - asked_at) * 1e3

        look(start, end)
        print(f"first picture: {(drawn[0] - began) * 1e3:.0f} ms, peak {peak():.0f} MB")
        for width in (end - start, (end - start) / 4, 10 * DAY, 3 * DAY, DAY / 4):
            middle = (start + end) / 2
            views = [look(middle + (at - 0.5) * width, middle + (at + 0.5) * width) for at in (0, 0, 0.05, 0.1)]
            text = ", ".join(f"{each:.0f}" for each in views)
            print(f"views of {width / DAY:.2f} days: {text} ms, peak {peak():.0f} MB")
        explorer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
