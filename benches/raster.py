"""Ten million levels of an order book to 1,600 × 900 pixels, beside matplotlib and datashader over the dense grid.

Run by ``make bench-raster``, which installs datashader and writes docs/performance.md (``--write``).
"""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import datashader as ds
import matplotlib as mpl
import numpy as np
import xarray as xr
from timing import clock, machine, write

from marketpoints import _engine
from marketpoints.plots.pixels import Pixels

mpl.use("agg")
from matplotlib import pyplot as plt

SNAPSHOTS, LEVELS, SIZE = 10_000, 1_000, (1600, 900)
MINUTE = 60_000_000_000
START = 1_767_225_600_000_000_000  # 2026-01-01
STEP = 0.5
DOCUMENT = Path(__file__).parents[1] / "docs" / "performance.md"


def book() -> Pixels:
    """Snapshots of a thousand levels around a mid price that drifts; heavy tails."""
    rng = np.random.default_rng(11)
    mid = np.round(np.cumsum(rng.normal(0, 3, SNAPSHOTS))).astype(np.int64) + 160_000
    first = mid - LEVELS // 2
    levels = np.empty((SNAPSHOTS, LEVELS, 2))
    levels[:, :, 0] = (first[:, None] + np.arange(LEVELS)) * STEP
    levels[:, :, 1] = rng.lognormal(1, 1.5, (SNAPSHOTS, LEVELS))
    starts = START + np.arange(SNAPSHOTS) * MINUTE
    split = np.full(SNAPSHOTS, LEVELS // 2)
    offsets = np.arange(SNAPSHOTS + 1) * LEVELS
    return Pixels(offsets, levels.reshape(-1, 2), starts, starts + MINUTE, split, "both", STEP)


def timed(works: Mapping[str, Callable[[], object]], runs: int) -> dict[str, tuple[float, float]]:
    """Least seconds of each work, by the clock and of the processors; the works take turns."""
    best = dict.fromkeys(works, (float("inf"), float("inf")))
    for _ in range(runs):
        for name, work in works.items():
            busy = time.process_time()
            taken = clock(work)
            busy = time.process_time() - busy
            best[name] = min(best[name][0], taken), min(best[name][1], busy)
    return best


def peak() -> int:
    """Most bytes that the process has held since the last reset."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def memory_of(work: Callable[[], object]) -> float:
    """MB that a piece of work holds at most beyond what was there."""
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    work()
    return (peak() - before) / 1e6


def main() -> None:
    pixels = book()
    window, prices = pixels.window, pixels.prices
    tenth = (window[0], window[0] + (window[1] - window[0]) // 10)
    low = float(pixels.levels[0, 0])
    near = (low, low + (prices[1] - prices[0]) / 10)

    def raster(window=window, prices=prices, reduce="max"):
        return pixels.raster(window, prices, SIZE, reduce)

    def unpacked(window=window, prices=prices, reduce="max"):
        """A picture of levels as they come, which is what the first one of an answer is."""
        view = {"window": window, "prices": prices, "size": SIZE, "reduce": reduce, "step": STEP, "split": pixels.split}
        return _engine.raster(pixels.offsets, pixels.levels, pixels.starts, pixels.ends, field=1, **view)

    def packed():
        return _engine.PackedLevels(pixels.offsets, pixels.levels, STEP, split=pixels.split, field=1)

    held = memory_of(unpacked)  # first of all: later there is memory to use again
    grid_prices, grid = _engine.to_grid(pixels.offsets, pixels.levels, STEP)
    grid_seconds = clock(lambda: _engine.to_grid(pixels.offsets, pixels.levels, STEP))
    grid = np.ascontiguousarray(grid.T)
    days = np.append(pixels.starts, pixels.ends[-1]) / 86_400e9
    edges = np.append(grid_prices, grid_prices[-1] + STEP)
    array = xr.DataArray(
        grid, name="volume", coords=[("price", grid_prices + STEP / 2), ("time", (days[1:] + days[:-1]) / 2)]
    )
    canvas = ds.Canvas(*SIZE, x_range=(days[0], days[-1]), y_range=(edges[0], edges[-1]))

    def figure():
        made = plt.figure(figsize=(16, 9), dpi=100)
        return made, made.add_axes((0, 0, 1, 1))

    def draw(add):
        made, ax = figure()
        ax.set_axis_off()
        add(ax)
        ax.set_xlim(days[0], days[-1])
        ax.set_ylim(edges[0], edges[-1])
        made.canvas.draw()
        plt.close(made)

    def ours(ax):
        from marketpoints.plots import palette
        from marketpoints.plots.images import Raster

        colours = palette.palette(palette.THEMES["dark"].one)
        scale = palette.scale("quantile", pixels.levels)
        ax.add_image(Raster(ax, [(pixels, colours)], reduce="max", unit=None, norm=scale))

    quick = timed(
        {
            "sum": lambda: pixels.levels.sum(),
            "raster": raster,
            "zoom": lambda: raster(tenth, near),
            "zoom in time": lambda: raster(tenth),
            "first": unpacked,
            "first zoom": lambda: unpacked(tenth, near),
            "first zoom in time": lambda: unpacked(tenth),
            "packing": packed,
            "spread sum": lambda: raster(reduce="sum"),
            "picture": lambda: draw(ours),
        },
        9,
    )
    canvas.raster(array, agg="max")
    canvas.quadmesh(array, x="time", y="price", agg=ds.max("volume"))
    slow = timed(
        {
            "datashader raster": lambda: canvas.raster(array, agg="max"),
            "datashader quadmesh": lambda: canvas.quadmesh(array, x="time", y="price", agg=ds.max("volume")),
            "imshow": lambda: draw(
                lambda ax: ax.imshow(grid, extent=(days[0], days[-1], *edges[[0, -1]]), aspect="auto")
            ),
        },
        3,
    )
    slow |= timed({"pcolormesh": lambda: draw(lambda ax: ax.pcolormesh(days, edges, grid))}, 1)
    whole = quick["raster"]
    rows = [
        ("a plain sum of the levels", quick["sum"]),
        ("`raster`, 1,600 × 900, largest of each pixel", whole),
        ("the same of a tenth of the time and of the prices", quick["zoom"]),
        ("the same of a tenth of the time", quick["zoom in time"]),
        ("the first picture, of levels not packed yet", quick["first"]),
        ("the same of a tenth of the time and of the prices", quick["first zoom"]),
        ("the same of a tenth of the time", quick["first zoom in time"]),
        ("to pack the levels, once, at the second picture", quick["packing"]),
        ("`raster`, volumes spread and added", quick["spread sum"]),
        ("the picture in colours, scale of colours included", quick["picture"]),
        ("datashader `raster` of the dense grid, warm", slow["datashader raster"]),
        ("datashader `quadmesh` of the dense grid, warm", slow["datashader quadmesh"]),
        ("matplotlib `imshow` of the dense grid", slow["imshow"]),
        ("matplotlib `pcolormesh` of the dense grid", slow["pcolormesh"]),
    ]
    report = [
        f"- {machine()}; numpy {np.__version__}, matplotlib {mpl.__version__}, datashader {ds.__version__}",
        f"- {len(pixels.levels):,} levels in {SNAPSHOTS:,} snapshots; a dense grid of {grid.shape[1]:,} × "
        f"{grid.shape[0]:,} ({grid.nbytes / 1e6:,.0f} MB, made in {grid_seconds * 1e3:,.0f} ms, not counted)",
        f"- {held:.0f} MB at most beside the levels, of which {SIZE[0] * SIZE[1] * 4 / 1e6:.0f} MB are the picture",
        "",
        "| | ms | of `raster` | ms of all processors | of `raster` |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {name} | {took * 1e3:,.1f} | {took / whole[0]:,.2f} × | {busy * 1e3:,.1f} | {busy / whole[1]:,.2f} × |"
            for name, (took, busy) in rows
        ),
    ]
    print("\n".join(report))
    if "--write" in sys.argv:
        write(DOCUMENT, "raster measured", report)


if __name__ == "__main__":
    main()
