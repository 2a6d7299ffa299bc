"""Traded volume by price: in each bucket, as a footprint, or over the full window."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from ..common.data_types import amount
from ..common.optional import load
from ..common.protocols import DrawableProfile
from ..errors import InvalidRequest
from . import bars
from .axes import amounts, blank, legend, make, panels, prices, show_span, spans, stacked
from .cells import add_cells, gathered, mass, outside, row_height, step_of
from .colours import DOWN, POINT, QUIET, UP
from .labels import amount_unit, identity_of, label, price_label, short_amounts, title, volume_per
from .ranges import finest
from .time_axis import times

__all__ = ["KINDS", "ProfileKind", "aside", "profile"]

ProfileKind = Literal["bars", "cells", "footprint", "total"]
KINDS: tuple[ProfileKind, ...] = ("bars", "cells", "footprint", "total")
#: Pixels that a bucket needs for its profile to have a shape, and for a footprint.
SHAPED, FOOT = 40, 4
#: Pixels that buckets of a footprint need to have a line between them.
APART = 24
#: Below a palette's lowest colour: nothing was there.
NIGHT = "#000004"
#: Height in pixels, at 100 to the inch, of a footprint's rows where their height is not given.
ROW, ROW_OF_BARS = 13, 5
#: Height in pixels, at 100 to the inch, below which a legend would leave a footprint no room.
LEGEND = 220
#: Share of all volume in the value area.
VALUE_AREA = 0.7


@dataclass(frozen=True)
class Grid:
    """Cells of a price grid.

    Attributes:
        starts: Start of each bucket in days.
        ends: Its end.
        base: Lower edge of row 0.
        height: Height of a row.
        row: Row of each cell, ascending within a bucket.
        bucket: Its bucket, ascending.
        buys: Volume bought in it.
        sells: Volume sold in it.
    """

    starts: Any
    ends: Any
    base: float
    height: float
    row: Any
    bucket: Any
    buys: Any
    sells: Any

    @property
    def total(self) -> Any:
        """Volume of each cell."""
        return self.buys + self.sells

    @property
    def bottom(self) -> Any:
        """Lower edge of each cell."""
        return self.base + self.height * self.row


def profile(
    shown: DrawableProfile,
    ax: Any,
    step: float | None,
    window: tuple[float, float] | None,
    kind: ProfileKind | None,
    imbalance: float,
) -> Any:
    """Bars in each bucket or cells where buckets are narrow, a footprint, or the sum of all buckets."""
    import numpy as np

    checked(kind, imbalance)
    ax = make(ax, 6.5 if kind == "footprint" else 5.0)
    unit = amount_unit(shown)
    ax.set_title(title(identity_of(shown), unit), loc="left")
    prices(ax, price_label(shown))
    volumes = shown.buys + shown.sells
    if len(shown) == 0 or len(volumes) == 0:
        return blank(ax, "no levels", shown)
    everything = float(shown.prices.min()), float(shown.prices.max())
    low, high = window or (everything if kind in ("footprint", "total") else mass(shown.prices, volumes))
    starts, ends = spans(shown)
    natural = step_of(shown.snapshot(0)[:, 0], shown.prices, low, high)
    whole = float((ends[-1] - starts[0]) / np.median(ends - starts))
    wide = ax.bbox.width * 100 / ax.figure.dpi / whole
    if kind is None:
        kind = "bars" if wide >= SHAPED else "cells"
    elif kind in ("bars", "footprint") and wide < FOOT:  # bars could not be distinguished
        kind = "cells"
    height = row_height(step, low, high) or (_rows_of(ax, natural, low, high, wide) if kind == "footprint" else natural)
    if nothing := outside(shown.prices, window, height):
        return blank(ax, nothing)
    base, row, bucket, buys = gathered(shown, np.nan_to_num(shown.buys), height, low, high)
    sells = gathered(shown, np.nan_to_num(shown.sells), height, low, high)[3]
    inside = (row >= 0) & (row <= math.floor((high - base) / height + 1e-6))  # none behind the legend
    row, bucket, buys, sells = (values[inside] for values in (row, bucket, buys, sells))
    grid = Grid(starts, ends, base, height, row, bucket, buys, sells)
    if kind == "total":
        return _whole(ax, grid, unit)
    if kind == "cells" or not grid.total.size or not grid.total.max() > 0:
        _cells(ax, grid, volume_per(amount(shown.id.type) or "volume", shown.id), unit)
    elif kind == "footprint":
        if height > natural * 1.5:  # what is framed and bold is of these rows, and not of the levels
            prices(ax, f"{price_label(shown)}, rows of {height:,.6g}")
        return _footprint(ax, grid, low, high, unit, imbalance)
    else:
        _bars(ax, grid)
    show_span(ax, starts[0], ends[-1])
    _limits(ax, grid, low, high)
    if ax.get_legend_handles_labels()[0]:
        legend(ax, f"longest bar: {grid.total.max():,.6g} {unit or ''}".rstrip())
    times(ax)
    ax.grid(visible=False)
    return ax


def checked(kind: object, imbalance: object) -> None:
    """Checks the kind of picture.

    Raises:
        InvalidRequest: There is no such kind, or the ratio is not more than 1.
    """
    if kind is not None and kind not in KINDS:
        raise InvalidRequest(f"kind: {kind!r} is no picture of a volume profile; those are {', '.join(KINDS)}")
    if not isinstance(imbalance, (int, float)) or not imbalance > 1:
        raise InvalidRequest(f"imbalance: {imbalance!r} is no ratio; give a number of more than 1, such as 3")


def _limits(ax: Any, grid: Grid, low: float, high: float) -> None:
    base, height = grid.base, grid.height
    bottom = base + height * math.floor((low - base) / height + 1e-6)
    ax.set_ylim(bottom, max(bottom + height, base + height * math.floor((high - base) / height + 1 + 1e-6)))


def _rows_of(ax: Any, finest: float, low: float, high: float, wide: float) -> float:
    """Rows of a footprint: levels are merged until numbers are readable, if there is room for numbers."""
    least_height = ROW if wide >= SHAPED else ROW_OF_BARS
    most = max(4, int(ax.bbox.height * 100 / ax.figure.dpi * 0.75 / least_height))
    least = max(1, math.ceil(((high - low) / finest + 1) / most))
    power = 10 ** math.floor(math.log10(least))
    return finest * min(float(number * power) for number in (1, 2, 5, 10) if number * power >= least)


def _cells(ax: Any, grid: Grid, what: str, unit: str | None) -> None:
    ax.set_facecolor(NIGHT)
    name = label(what, unit)
    add_cells(ax, grid.starts, grid.ends, grid.bucket, grid.row, grid.total, grid.base, grid.height, name)


def _bars(ax: Any, grid: Grid) -> None:
    total = grid.total
    room = 0.92 * (grid.ends - grid.starts)[grid.bucket] / total.max()
    left, bottom = grid.starts[grid.bucket], grid.bottom
    _rows(ax, left, left + grid.buys * room, bottom, grid.height, UP, "buys")
    _rows(ax, left + grid.buys * room, left + total * room, bottom, grid.height, DOWN, "sells")
    if ax.bbox.width * 100 / ax.figure.dpi > APART * len(grid.starts):
        for start in grid.starts:
            ax.axvline(start, color=QUIET, linewidth=0.6)


def _rows(
    ax: Any, left: Any, right: Any, bottom: Any, height: float, colour: str, name: str, gap: float = 0.08
) -> None:
    """Horizontal bars."""
    from .time_artists import boxes

    some = right > left
    left, right, bottom = left[some], right[some], bottom[some]
    corners = boxes(left, right, bottom + height * gap, bottom + height * (1 - gap))
    collection = load("matplotlib.collections").PolyCollection(corners, facecolors=colour, linewidths=0, label=name)
    ax.add_collection(collection, autolim=False)


def prevailing(grid: Grid, ratio: float) -> Any:
    """Diagonal imbalances: int64 (cells,).

    1 where so many times as much was bought as was sold one row below, -1 where so many times as much was sold as was
    bought one row above, 2 where both hold, else 0. The other row must be one that was traded at.
    """
    import numpy as np

    joined = (grid.bucket[1:] == grid.bucket[:-1]) & (grid.row[1:] == grid.row[:-1] + 1)
    bought, sold = np.zeros((2, len(grid.row)), dtype=bool)
    bought[1:] = joined & (grid.buys[1:] > 0) & (grid.buys[1:] >= ratio * grid.sells[:-1])
    sold[:-1] = joined & (grid.sells[:-1] > 0) & (grid.sells[:-1] >= ratio * grid.buys[1:])
    return np.where(bought & sold, 2, bought.astype(np.int64) - sold)


def _footprint(ax: Any, grid: Grid, low: float, high: float, unit: str | None, ratio: float) -> Any:
    import numpy as np

    from .ladders import Footprint, FootprintNumbers

    ax, below = panels(ax, (5.0, 1.0))
    total, count = grid.total, len(grid.starts)
    largest = np.zeros(count)
    np.maximum.at(largest, grid.bucket, total)
    most = (total == largest[grid.bucket]) & (total > 0)
    picture = Footprint(
        grid.starts[grid.bucket],
        grid.ends[grid.bucket],
        grid.bottom,
        height=grid.height,
        sold=grid.sells,
        bought=grid.buys,
        imbalances=prevailing(grid, ratio),
        most=most,
    )
    ax.add_collection(picture, autolim=False)
    _limits(ax, grid, low, high)
    bought, sold = (np.bincount(grid.bucket, weights=values, minlength=count) for values in (grid.buys, grid.sells))
    delta = bought - sold
    colours = np.array([DOWN, UP], dtype=object)[(delta >= 0).astype(int)]
    bars.draw(below, [(grid.starts, grid.ends, delta, colours.tolist(), None)])
    low_delta, high_delta = below.get_ylim()
    below.set_ylim(low_delta, high_delta + 0.45 * (high_delta - low_delta))  # the numbers stand above the bars
    below.add_collection(FootprintNumbers(grid.starts, grid.ends, delta, 0.86), autolim=False)
    below.axhline(0, color=QUIET, linewidth=0.6)
    amounts(below, label("delta", unit), signed=True)
    ticker = load("matplotlib.ticker")
    below.yaxis.set_major_locator(ticker.MaxNLocator(2, prune="upper"))
    patch = load("matplotlib.patches").Patch
    marks = [
        patch(color=DOWN, label="sold (at the bid, left)"),
        patch(color=UP, label="bought (at the ask, right)"),
        patch(fill=False, edgecolor=QUIET, label="most of its bucket"),
    ]
    if ax.bbox.width * 100 / ax.figure.dpi > APART * count:
        for start in grid.starts:
            ax.axvline(start, color=QUIET, linewidth=0.4, alpha=0.5)
    show_span(ax, grid.starts[0], grid.ends[-1])
    if ax.bbox.height > LEGEND * ax.figure.dpi / 100:
        legend(ax, f"bold: {ratio:g} × the other side, diagonally; delta: bought − sold", marks)
    times(ax)
    stacked([ax, below])
    ax.grid(visible=False)
    return ax


def _whole(ax: Any, grid: Grid, unit: str | None) -> Any:
    """The sum of all buckets by price, with the row of most volume and the value area."""
    import numpy as np

    rows, place = np.unique(grid.row, return_inverse=True)
    buys, sells = (np.bincount(place, weights=values) for values in (grid.buys, grid.sells))
    bottom, total = grid.base + grid.height * rows, buys + sells
    none = np.zeros(len(rows))
    if total.max(initial=0.0) > 0:
        first, last = value_area(total)
        ax.axhspan(
            bottom[first], bottom[last] + grid.height, color=QUIET, alpha=0.2, linewidth=0, label="value area 70 %"
        )
        middle = bottom[int(total.argmax())] + grid.height / 2
        ax.axhline(middle, color=POINT, linewidth=1.2, label="most volume")
    _rows(ax, none, buys, bottom, grid.height, UP, "buys", 0)
    _rows(ax, buys, total, bottom, grid.height, DOWN, "sells", 0)
    ax.set_xlim(0, 1.05 * max(float(total.max(initial=0.0)), 1e-300))
    _limits(ax, grid, float(bottom.min()), float(bottom.max()))
    legend(ax)
    ax.xaxis.set_major_formatter(short_amounts())
    ax.set_xlabel(label("volume", unit))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def value_area(total: Any) -> tuple[int, int]:
    """First and last row of the value area: grown from the row of most volume by the larger neighbour to 70 %."""
    first = last = int(total.argmax())
    wanted, held = VALUE_AREA * total.sum(), total[first]
    while held < wanted:
        below = total[first - 1] if first else -1.0
        above = total[last + 1] if last + 1 < len(total) else -1.0
        if below < 0 and above < 0:
            break
        if above >= below:
            last, held = last + 1, held + above
        else:
            first, held = first - 1, held + below
    return first, last


def aside(ax: Any, shown: DrawableProfile) -> list[Any]:
    """Adds the profile of the visible part at the axes' right edge. Returns its mark for a legend."""
    from .ladders import SideProfile

    if not len(shown) or not len(shown.prices):
        return []
    step = finest(shown.snapshot(0)[:, 0], shown.prices)
    starts, ends = spans(shown)
    levels = {"prices": shown.prices, "buys": shown.buys, "sells": shown.sells}
    picture = SideProfile(starts, ends, shown.offsets, **levels, step=step)
    picture.set_zorder(2 if ax.images else 0.5)  # behind candles, before a heatmap
    ax.add_collection(picture, autolim=False)
    style = {"facecolor": UP, "edgecolor": DOWN, "linewidth": 1.5, "alpha": 0.6}
    return [load("matplotlib.patches").Patch(label="volume profile: buys, sells", **style)]
