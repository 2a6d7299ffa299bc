"""Volume by time and price as cells: heatmaps."""

import math
from typing import Any

from ..common.optional import load
from ..common.protocols import DrawableLevels, DrawableProfile
from .axes import blank, line, make, prices, show_asked, show_span, spans, times
from .ranges import price_range, row_height
from .words import amount_unit, identity_of, label, price_label, title

__all__ = ["NIGHT", "add_cells", "heatmap", "mass", "outside", "price_range", "row_height", "step_of"]

#: Rows that a picture can show.
ROWS = 240
#: Below a palette's lowest colour: nothing was there.
NIGHT = "#000004"


def heatmap(shown: DrawableLevels, ax: Any, step: float | None, window: tuple[float, float] | None) -> Any:
    """Volume by time and price on a logarithmic colour scale; a bucket without a snapshot stays empty."""
    ax = make(ax)
    unit = amount_unit(shown)
    ax.set_title(title(identity_of(shown), unit), loc="left")
    prices(ax, price_label(shown))
    if len(shown) == 0 or len(shown.levels) == 0:
        return blank(ax, "no levels", shown)
    low, high = window or _around_market(shown)
    height = row_height(step, low, high) or step_of(shown.snapshot(0)[:, 0], shown.prices, low, high)
    if nothing := outside(shown.prices, window, height):
        return blank(ax, nothing)
    starts, ends = spans(shown)
    base, row, cell, total = gathered(shown, shown.volumes, height, low, high)
    _night(ax)
    add_cells(ax, starts, ends, cell, row, total, base, height, label("volume per bucket", unit))
    middles = _middles(shown)
    if any(map(math.isfinite, middles)):
        _line(ax, starts, ends, middles)
    show_span(ax, starts[0], ends[-1])
    if shown.id.type == "VENUE_LIQUIDATION_AGG":
        show_asked(ax, shown)
    bottom = base + height * math.floor((low - base) / height + 1e-6)
    ax.set_ylim(bottom, max(bottom + height, base + height * math.floor((high - base) / height + 1 + 1e-6)))
    times(ax)
    ax.grid(visible=False)
    return ax


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

    colours, ticker = load("matplotlib.colors"), load("matplotlib.ticker")
    positive = total > 0
    cell, row, total = cell[positive], row[positive], total[positive]
    norm, told = None, []
    if total.size:
        bottom, top = map(float, np.quantile(total, [0.02, 0.998]))
        most = max(2, min(8, int(ax.bbox.height / ax.figure.dpi / 0.3)))
        if top > bottom * 1.001:
            told = numbers(bottom, top, most)
        else:  # one volume everywhere: the colour in the middle
            told, bottom, top = [bottom], bottom / 2, bottom * 2
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
    bar.set_label(text)
    bar.set_ticks(told)
    bar.ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.6g}"))
    bar.ax.yaxis.set_minor_locator(ticker.NullLocator())
    bar.outline.set_visible(False)


def numbers(low: float, high: float, most: int) -> list[float]:
    """Round numbers for a logarithmic scale: powers of ten, or 1, 2 and 5 of each, or, of a short scale, in even steps.

    Args:
        low: Lower end of the scale, more than 0.
        high: Its upper end, more than ``low``.
        most: How many numbers there is room for, at least 2.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    round_ones = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    found = [number for number in round_ones if low <= number <= high]
    if len(found) < 3:
        even = load("matplotlib.ticker").MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return [float(number) for number in even if low <= number <= high]
    tens = [number for number in found if number in round_ones[::3]]
    if len(found) > most and len(tens) > 1:
        found = tens
    return found[:: -(-len(found) // most)]


def outside(levels: Any, window: tuple[float, float] | None, height: float) -> str:
    """What to say where no level reaches into the range of prices given; nothing where one does."""
    if window is None or ((levels > window[0] - height) & (levels <= window[1])).any():
        return ""
    low, high = window
    return f"no levels from {low:,.12g} to {high:,.12g};\nthey lie from {levels.min():,.12g} to {levels.max():,.12g}"


def step_of(first: Any, levels: Any, low: float, high: float) -> float:
    """Height of a price bucket: the levels' own distance, or so many of them that the picture has rows enough."""
    import numpy as np

    gaps = np.diff(first) if len(first) > 1 else np.diff(np.unique(levels))
    gaps = gaps[gaps > 0]
    if not gaps.size:  # a single price
        return max(abs(low) * 1e-4, 1e-12)
    finest = float(gaps.min())
    return finest * max(1, math.ceil((high - low) / finest / ROWS))


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


def _night(ax: Any) -> None:
    ax.set_facecolor(NIGHT)


def _line(ax: Any, starts: Any, ends: Any, middles: Any) -> None:
    """The mid price, broken where snapshots are missing."""
    import numpy as np

    holes = np.flatnonzero(starts[1:] - ends[:-1] > float(np.median(ends - starts)) / 2)
    places = np.insert((starts + ends) / 2, holes + 1, ends[holes])
    values = np.insert(middles, holes + 1, np.nan)
    line(ax, places, values, color="white", linewidth=0.9, alpha=0.85, label="mid price")
    ax.legend(loc="upper left", labelcolor="white", framealpha=0.25, facecolor="black", edgecolor="none")


def _middles(shown: DrawableLevels) -> Any:
    """Middle between best bid and best ask of every snapshot, NaN where the wire does not tell."""
    import numpy as np

    offsets, split, levels = shown.offsets, shown.split, shown.prices
    first_ask = offsets[:-1] + split
    known = (split > 0) & (first_ask < offsets[1:])
    middles = np.full(len(split), math.nan)
    middles[known] = (levels[first_ask[known] - 1] + levels[first_ask[known]]) / 2
    return middles


def _around_market(shown: DrawableLevels) -> tuple[float, float]:
    """The prices worth showing: what the market crossed and as much again, or where nearly all the volume is."""
    import numpy as np

    levels = shown.prices
    middles = _middles(shown)
    middles = middles[np.isfinite(middles)]
    if not middles.size:
        return mass(levels, shown.volumes)
    low, high = middles.min(), middles.max()
    room = max((high - low) * 0.75, np.median(middles) * 0.004)
    return max(float(low - room), float(levels.min())), min(float(high + room), float(levels.max()))
