"""Coarser heatmaps made of finer ones: of each price the largest volume in a longer bucket."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import _engine
from ...common.times import DAY_NS, SECOND_NS
from ...plots.axes import moments
from ...plots.overlays import middles
from ...plots.ranges import block_height
from .files import INTERVALS, ROW, Month, building, write, writing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Downsampled", "build", "coarsened"]

#: Rows of prices that are made at once, and the most of such that a day may have levels in.
TILE, MOST_TILES = 2_048, 64


@dataclass(frozen=True)
class Downsampled:
    """Levels by bucket: bids in ascending order, then asks, which may overlap them.

    Attributes:
        starts: Start of each bucket, int64 nanoseconds.
        offsets: Where the levels of each begin, int64 (buckets + 1).
        bids: Bids of each, int64; -1 where sides are not known.
        levels: Price and volume, float64 (levels, 2).
    """

    starts: "npt.NDArray[np.int64]"
    offsets: "npt.NDArray[np.int64]"
    bids: "npt.NDArray[np.int64]"
    levels: "npt.NDArray[np.float64]"


def coarsened(
    fine: Downsampled, length: int, day: tuple[int, int], seconds: int, step: float, *, adds_up: bool = False
) -> Downsampled:
    """The buckets of a day as longer ones: of each price the largest volume, or the sum.

    It is a picture whose pixels are the new buckets and the rows of prices.

    Args:
        fine: The buckets.
        length: Nanoseconds of each.
        day: Start and end in nanoseconds, a whole number of new buckets.
        seconds: Length of the new ones.
        step: Height of a row of prices.
        adds_up: Whether volumes add up over time.
    """
    import numpy as np

    wide = seconds * SECOND_NS
    columns = (day[1] - day[0]) // wide
    there = np.unique((fine.starts - day[0]) // wide)
    tiles = np.unique(np.floor(fine.levels[:, 0] / (step * TILE) + 1e-9).astype(np.int64))
    sides = ("bids", "asks") if len(fine.bids) and (fine.bids >= 0).all() else ("both",)
    prices = (tiles[:, None] * TILE + np.arange(TILE)).reshape(-1) * step
    counts, found = [], []
    for side in sides:
        pixels = np.zeros((len(tiles) * TILE, columns), dtype=np.float32)
        for at, tile in enumerate(tiles.tolist()):
            pixels[at * TILE : (at + 1) * TILE] = _engine.raster(
                fine.offsets,
                fine.levels,
                fine.starts,
                fine.starts + length,
                window=day,
                prices=(tile * TILE * step, (tile + 1) * TILE * step),
                size=(columns, TILE),
                step=step,
                split=fine.bids,
                field=1,
                reduce="stack" if adds_up else "max",
                side=side,
            )
        column, row = np.nonzero(pixels.T > 0)  # NaN is not
        counts.append(np.bincount(column, minlength=columns)[there])
        found.append((column, np.column_stack([prices[row], pixels[row, column]])))
    column = np.concatenate([each[0] for each in found])
    # Bids of a bucket before its asks, each ascending.
    levels = np.concatenate([each[1] for each in found])[np.argsort(column, kind="stable")]
    offsets = np.append(0, np.cumsum(sum(counts))).astype(np.int64)
    bids = counts[0].astype(np.int64) if len(sides) == 2 else np.full(len(there), -1)
    return Downsampled(
        (day[0] + there * wide).astype(np.int64), offsets, bids, np.ascontiguousarray(levels, np.float64)
    )


def step_of(shown: Any, asked: float | None) -> float:
    """The height of a level: that asked for, else the least distance of two; more where prices would be too many."""
    import numpy as np

    step = float(asked or block_height(shown))
    while len(np.unique(np.floor(shown.prices / (step * TILE)))) > MOST_TILES:
        step *= 2
    return step


def build(
    month: Month,
    read: Callable[[str], Any],
    interval: int,
    block: float | None,
    *,
    adds_up: bool,
    done: Callable[[], object],
) -> int:
    """Makes the overviews of a month, a day at a time, and puts them in place.

    Args:
        month: The month.
        read: Gives the heatmap of a day; None where it has no rows.
        interval: Seconds of a bucket.
        block: Height of a level, where it is known.
        adds_up: Whether volumes add up over time.
        done: Called after each day.

    Returns:
        The size of what was written, in bytes.
    """
    import numpy as np

    with writing(month):
        folder = building(month)
    try:
        ladder = INTERVALS[interval]
        paths = {seconds: folder / f"{seconds}.levels" for seconds in ladder}
        rows: dict[int, list[Any]] = {seconds: [np.empty(0, dtype=ROW)] for seconds in ladder}
        written = dict.fromkeys(ladder, 0)
        about: dict[str, Any] = {"id": None, "extra": {}, "step": block or 1.0, "levels": {}, "sides": False}
        with writing(month):
            for path in paths.values():
                path.touch()
        for name in month.days:
            shown = read(name)
            if shown is not None and len(shown):
                if about["id"] is None:
                    about |= {"id": shown._columns.id, "extra": shown.id.extra, "step": step_of(shown, block)}
                about["levels"][name] = len(shown.levels)
                fine = Downsampled(moments(shown)[0], shown.offsets, shown.split, shown.levels)
                day = _day(name)
                middle, length = middles(shown), interval * SECOND_NS
                for seconds in ladder:
                    fine = coarsened(fine, length, day, seconds, about["step"], adds_up=adds_up)
                    length = seconds * SECOND_NS
                    rows[seconds].append(_rows(fine, written[seconds], shown, middle, length))
                    written[seconds] += len(fine.levels)
                    with writing(month), paths[seconds].open("ab") as file:
                        fine.levels.tofile(file)
                about["sides"] |= bool((fine.bids >= 0).any())
            done()
        with writing(month):
            return write(month, about, {seconds: np.concatenate(several) for seconds, several in rows.items()}, paths)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _day(name: str) -> tuple[int, int]:
    import numpy as np

    start = int(np.datetime64(name, "ns").astype("int64"))
    return start, start + DAY_NS


def _rows(made: Downsampled, before: int, shown: Any, middle: Any, length: int) -> Any:
    """The rows of buckets with the mid prices of the snapshots within."""
    import numpy as np

    rows = np.zeros(len(made.starts), dtype=ROW)
    rows["start"], rows["end"], rows["bids"] = made.starts, made.offsets[1:] + before, made.bids
    for name in ("low", "high", "last"):
        rows[name] = np.nan
    known = np.isfinite(middle)
    if known.any():
        values = middle[known]
        place = np.searchsorted(made.starts, moments(shown)[0][known], side="right") - 1
        firsts = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
        at = place[firsts]
        rows["low"][at] = np.minimum.reduceat(values, firsts)
        rows["high"][at] = np.maximum.reduceat(values, firsts)
        rows["last"][at] = values[np.append(firsts[1:], len(place)) - 1]
    return rows
