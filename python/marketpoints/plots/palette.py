"""Colours of heatmaps and bubbles: palettes on dark and light backgrounds, and scales for values with few huge ones.

Palettes ascend in lightness on dark paper and descend on light paper, so that they read the same in every kind of
colour vision and in grey. Bids and asks are blue and orange, which all kinds can distinguish.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _engine
from ..common.optional import load
from ..errors import InvalidRequest
from .labels import short_amounts

__all__ = ["COLOURS", "NORMS", "THEMES", "Theme", "colour_bar", "describe", "scale", "theme"]

#: Scales by name.
NORMS = ("quantile", "log", "symlog", "linear")
#: Colours of a palette; a picture has at most so many.
COLOURS = 256
#: Shares of the volumes between which colours change on scales that have no steps of their own.
LEAST, MOST = 0.02, 0.998
#: The smallest volume that a scale distinguishes from none.
SMALLEST = 1e-30


@dataclass(frozen=True)
class Theme:
    """Colours of a picture of volumes.

    Attributes:
        paper: Where nothing is.
        ink: Lines and letters on it.
        one: Colours from the smallest volume to the largest.
        bids: The same for bids where both sides are known.
        asks: The same for asks.
        bought: Bubbles of what was bought.
        sold: Bubbles of what was sold.
    """

    paper: str
    ink: str
    one: tuple[str, ...]
    bids: tuple[str, ...]
    asks: tuple[str, ...]
    bought: str
    sold: str


#: Themes by name. The first colour differs from the paper: the smallest volume is more than none.
THEMES = {
    "dark": Theme(
        paper="#000004",
        ink="#ffffff",
        # matplotlib's inferno without its darkest tenth.
        one=(
            "#160b39",
            "#420a68",
            "#6a176e",
            "#932667",
            "#bc3754",
            "#dd513a",
            "#f37819",
            "#fca50a",
            "#f6d746",
            "#fcffa4",
        ),
        bids=("#06213a", "#0b3f66", "#126094", "#2583bd", "#4fa8dc", "#8ccbf0", "#d3eefc"),
        asks=("#331303", "#5c2408", "#8a390c", "#ba5413", "#e37a2b", "#f6a868", "#fde0c2"),
        bought="#4dd2a8",
        sold="#ff6b9d",
    ),
    "light": Theme(
        paper="#ffffff",
        ink="#1b1f24",
        one=(
            "#e6e7c8",
            "#c3dcb1",
            "#93cda6",
            "#61b9a1",
            "#3ba29c",
            "#2c8794",
            "#2a6b89",
            "#2b4f7b",
            "#2a3363",
            "#1c1a3e",
        ),
        bids=("#d9eaf6", "#b0d3ec", "#7fb8df", "#4f9bcd", "#2a7bb4", "#175c92", "#0b3d68"),
        asks=("#fae6d3", "#f6cba4", "#eda974", "#dd8546", "#c06322", "#964710", "#682f06"),
        bought="#0b7d5c",
        sold="#b3174f",
    ),
}


def theme(name: Any) -> Theme:
    """A theme by its name.

    Raises:
        InvalidRequest: There is none of this name.
    """
    if not isinstance(name, str) or name not in THEMES:
        raise InvalidRequest(f"theme: {name!r} is none of {' and '.join(map(repr, THEMES))}")
    return THEMES[name]


def palette(colours: Sequence[str]) -> Any:
    """A colour map through some colours."""
    return load("matplotlib.colors").LinearSegmentedColormap.from_list("marketpoints", colours, COLOURS)


def scale(norm: Any, levels: Any, field: int | None = 1) -> Any:
    """A scale of colours for volumes, made of all of them: the same for every part and size of the picture.

    Args:
        norm: ``"quantile"``: as many volumes of a colour as of another, but ever fewer towards the largest, so that
            walls differ. ``"log"``, ``"symlog"`` and ``"linear"``: by their size; the few smallest and largest share
            the colours of the ends. Numbers, ascending: where one colour ends and the next begins. Or a scale of
            matplotlib's.
        levels: Price and volumes, float64 (levels, fields).
        field: Which column is the volume; None adds all but the price.

    Returns:
        A ``Normalize`` of matplotlib; None where there is no volume.

    Raises:
        InvalidRequest: The scale is none of these.
    """
    import numpy as np

    colours = load("matplotlib.colors")
    if isinstance(norm, colours.Normalize):
        return norm
    if not isinstance(norm, str):
        return colours.BoundaryNorm(_edges(norm), COLOURS, clip=True)
    if norm not in NORMS:
        raise InvalidRequest(f"norm: {norm!r} is none of {', '.join(map(repr, NORMS))}; or give the edges of colours")
    # Towards the largest ever fewer: the upper half of the colours is for the largest quarter.
    ranks = 1 - (1 - np.linspace(0, 1, COLOURS + 1)) ** 2
    shares = ranks if norm == "quantile" else np.array([LEAST, 0.5, MOST])
    found = _engine.volume_quantiles(levels, shares, field)
    if not len(found):
        return None
    if norm == "quantile":
        edges = np.unique(found)
        return colours.BoundaryNorm(edges if len(edges) > 1 else [edges[0] / 2, edges[0] * 2], COLOURS, clip=True)
    # Clipped: matplotlib's logarithms do not cover the smallest doubles.
    low, middle, high = (max(float(one), SMALLEST) for one in found)
    if high <= low * 1.001:  # one volume everywhere: the colour in the middle
        low, high = low / 2, low * 2
    if norm == "log":
        return colours.LogNorm(low, high, clip=True)
    if norm == "symlog":
        return colours.SymLogNorm(middle, vmin=0, vmax=high, clip=True)
    return colours.Normalize(0, high, clip=True)


def _edges(norm: Any) -> Any:
    import numpy as np

    try:
        edges = np.asarray(norm, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidRequest(f"norm: {norm!r} is neither a scale's name nor the edges of colours") from None
    if edges.ndim != 1 or not 2 <= len(edges) <= COLOURS + 1:
        raise InvalidRequest(f"norm: {edges.size} edges make no colours; give 2 to {COLOURS + 1} numbers")
    if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise InvalidRequest("norm: the edges of colours must ascend")
    return edges


def colour_bar(picture: Any, ax: Any, text: str, pad: float = 0.015, room: float = 0.15) -> Any:
    """A colour bar beside the axes, with round volumes at it; it takes ``room``, a part of the axes' width."""
    bar = ax.figure.colorbar(picture, ax=ax, pad=pad, fraction=room, aspect=30, extend="both")
    # In narrow axes the bar is thin, and therefore low.
    inches = min(ax.bbox.height, 0.8 * ax.bbox.width) / ax.figure.dpi
    most = max(2, min(8, int(inches / 0.36)))
    describe(bar, text, tick_values(picture.norm, most))
    return bar


def describe(bar: Any, text: str, ticks: Sequence[float]) -> None:
    """Labels a colour bar: what it shows, and these volumes."""
    bar.set_label(text)
    bar.set_ticks(ticks)
    bar.ax.yaxis.set_major_formatter(short_amounts())
    bar.ax.yaxis.set_minor_locator(load("matplotlib.ticker").NullLocator())
    bar.outline.set_visible(False)


def tick_values(norm: Any, most: int) -> list[float]:
    """Numbers for a colour bar: of a scale with steps some of them, rounded, that are about evenly apart."""
    import numpy as np

    edges = getattr(norm, "boundaries", None)
    low, high = float(norm.vmin), float(norm.vmax)
    if edges is not None:
        return _of_steps(np.asarray(edges, dtype=np.float64), most)
    if low > 0 and isinstance(norm, load("matplotlib.colors").LogNorm):
        return [low * math.sqrt(high / low)] if high <= low * 4.0001 and most < 3 else numbers(low, high, most)
    if isinstance(norm, load("matplotlib.colors").SymLogNorm):
        return [0.0, *numbers(float(norm.linthresh), high, most - 1)] if high > norm.linthresh else [0.0, high]
    ticks = load("matplotlib.ticker").MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(number) for number in ticks if low <= number <= high]


def _of_steps(edges: Any, most: int) -> list[float]:
    """Numbers for a colour bar on which every colour has the same height."""
    import numpy as np

    if len(edges) == 2 and edges[1] == 4 * edges[0]:  # made of one volume
        return [float(2 * edges[0])]
    if len(edges) <= most:
        return [float(edge) for edge in edges]
    places = np.linspace(0, 1, len(edges))
    wanted = np.interp((np.arange(most) + 0.5) / most, places, edges)
    for digits in range(8):
        rounded = np.unique([float(f"{value:.{digits}e}") for value in wanted])
        rounded = rounded[(rounded >= edges[0]) & (rounded <= edges[-1])]
        # Rounding moves them: those that come too near to one before them are left out.
        kept: list[float] = []
        for value in rounded:
            place = np.interp([*kept[-1:], value], edges, places)
            if len(place) == 1 or place[1] - place[0] > 0.9 / most:
                kept.append(float(value))
        if len(kept) >= max(2, 0.6 * most):
            break
    return kept


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
        even = load("matplotlib.ticker").MaxNLocator(max(1, most - 1), steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return [float(number) for number in even if low <= number <= high]
    tens = [number for number in found if number in round_ones[::3]]
    if len(found) > most and len(tens) > 1:
        found = tens
    return found[:: -(-len(found) // most)]
