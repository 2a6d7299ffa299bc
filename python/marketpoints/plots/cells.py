"""Volume by time and price as cells of a price grid."""

import math
from typing import Any

from ..common.optional import load
from ..common.protocols import DrawableLevels, DrawableProfile
from .palette import describe, numbers
from .ranges import finest, row_height

__all__ = ["add_cells", "gathered", "mass", "outside", "row_height", "step_of"]

#: Rows that a picture can show.
ROWS = 240


def gathered(
    shown: DrawableLevels | DrawableProfile, volumes: Any, step: float, low: float, high: float
) -> tuple[float, Any, Any, Any]:
    """Levels, which ascend in each bucket, as cells of a price grid: its base, each cell's row, bucket and volume."""
    import numpy as np

    levels = shown.prices
    base = math.floor(low / step + 1e-6) * step
    bucket = np.repeat(np.arange(len(shown)), np.diff(shown.offsets))
    inside = (levels > base - step) & (levels < high + step)
    bucket, levels, volumes = bucket[inside], levels[inside], volumes[inside]
    row = np.floor((levels - base) / step + 1e-6).astype(np.int64)
    if not len(row):
        return base, row, bucket, volumes
    firsts = np.flatnonzero(np.append(True, (row[1:] != row[:-1]) | (bucket[1:] != bucket[:-1])))
    return base, row[firsts], bucket[firsts], np.add.reduceat(volumes, firsts)


def add_cells(
    ax: Any, starts: Any, ends: Any, cell: Any, row: Any, total: Any, base: float, step: float, text: str
) -> None:
    """Adds the picture of positive cells and its colour bar."""
    import numpy as np

    from .artists import Cells

    colours = load("matplotlib.colors")
    positive = total > 0
    cell, row, total = cell[positive], row[positive], total[positive]
    norm, ticks = None, []
    if total.size:
        bottom, top = map(float, np.quantile(total, [0.02, 0.998]))
        most = max(2, min(8, int(ax.bbox.height / ax.figure.dpi / 0.3)))
        if top > bottom * 1.001:
            ticks = numbers(bottom, top, most)
        else:  # one volume everywhere: the colour in the middle
            ticks, bottom, top = [bottom], bottom / 2, bottom * 2
        norm = colours.LogNorm(bottom, top, clip=True)
    # Without its darkest part: the smallest volume is still more than none.
    palette = colours.ListedColormap(load("matplotlib").colormaps["inferno"](np.linspace(0.1, 1, 256)))
    edges = np.column_stack([starts, ends])
    picture = Cells(ax, edges, cell, row, total, base=base, step=step, cmap=palette, norm=norm)
    ax.add_image(picture)
    if norm is None:
        return
    # The few smallest and largest volumes share the colours of the ends.
    bar = ax.figure.colorbar(picture, ax=ax, pad=0.015, aspect=30, extend="both")
    describe(bar, text, ticks)


def outside(levels: Any, window: tuple[float, float] | None, height: float) -> str:
    """The message if no level is in the given range of prices; empty if one is."""
    if window is None or ((levels > window[0] - height) & (levels <= window[1])).any():
        return ""
    low, high = window
    return f"no levels from {low:,.12g} to {high:,.12g};\nthey lie from {levels.min():,.12g} to {levels.max():,.12g}"


def step_of(first: Any, levels: Any, low: float, high: float) -> float:
    """Height of a price block: the levels' distance, or a multiple of it for a reasonable number of rows."""
    step = finest(first, levels)
    return step * max(1, math.ceil((high - low) / step / ROWS))


def mass(levels: Any, volumes: Any) -> tuple[float, float]:
    """The prices where nearly all of the volume is."""
    import numpy as np

    order = np.argsort(levels)
    share = np.cumsum(np.maximum(np.nan_to_num(volumes[order]), 0))
    if not share[-1] > 0:
        return float(levels.min()), float(levels.max())
    inside = np.searchsorted(share, [0.005 * share[-1], 0.995 * share[-1]])
    low, high = levels[order[np.minimum(inside, len(order) - 1)]]
    return float(low), float(high)
