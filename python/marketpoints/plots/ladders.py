"""Artists of volume by price, as large as their pixels allow: footprints, letters of market profiles, a profile aside.

Imports matplotlib: import it within a function, after ``load("matplotlib")``.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D, IdentityTransform

from .colours import DOWN, POINT, QUIET, UP, text_colour
from .labels import short
from .time_artists import Composed, boxes, pixels_of, scale_of

__all__ = ["Footprint", "FootprintNumbers", "SideProfile", "TpoLetters"]

#: Pixels, at 100 to the inch, that a cell needs for its two numbers, and a letter for itself.
CELL, LETTER = (34.0, 11.0), (5.0, 9.0)
#: Width of a digit in letter heights, the smallest and the largest letters in points.
DIGIT, SMALL, LARGE = 0.64, 4.8, 9.0
#: Width of a bold digit in usual ones.
BOLD = 1.1
#: Pixels, at 100 to the inch, below which a bucket of a footprint has no room for bars.
NARROW = 14.0
#: Pixels that a bar needs, and share of the axes that a profile at their side takes.
THIN, SHARE = 2.0, 0.2
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXabcdefghijklmnopqrstuvwx"


def letters_of(ax: Any, width: float, height: float, characters: float) -> float | None:
    """Font size at which a text fits into so many pixels; None if too small to read."""
    inch = float(ax.figure.dpi)
    size = min(LARGE, 0.75 * height / inch * 72, 0.94 * width / (characters * DIGIT) / inch * 72)
    return size if size >= SMALL else None


def text(x: float, y: float, what: str, size: float, **style: Any) -> Any:
    """A text in pixels, cut at the axes."""
    return Text(x, y, what, fontsize=size, va="center_baseline", transform=IdentityTransform(), clip_on=True, **style)


class Footprint(Composed):
    """Sold × bought volume of each price in each bucket: numbers where they fit, bars of two colours where they do not.

    Args:
        starts: Start of each cell's bucket in days, float64 (cells,).
        ends: Its end.
        bottom: Lower edge of each cell in prices.
        height: Height of a cell.
        sold: Volume sold, at the bid.
        bought: Volume bought, at the ask.
        imbalances: int64 (cells,): 1 where buyers prevail, -1 where sellers do, else 0.
        most: bool (cells,): whether most of its bucket was traded there.
    """

    def __init__(
        self,
        starts: Any,
        ends: Any,
        bottom: Any,
        *,
        height: float,
        sold: Any,
        bought: Any,
        imbalances: Any,
        most: Any,
    ) -> None:
        super().__init__(facecolors=QUIET)
        self._cells = starts, ends, bottom, bottom + height, sold, bought, imbalances, most
        self._largest = max(float((sold + bought).max(initial=0.0)), 1e-300)
        self._longest = max(float(sold.max(initial=0.0)), float(bought.max(initial=0.0)), 1e-300)

    def has_numbers(self, ax: Any) -> bool:
        """Whether numbers fit into the cells that the axes show."""
        return self._size(ax, self._seen(ax)) is not None

    def _seen(self, ax: Any) -> Any:
        starts, ends, low, high, *rest = self._cells
        (first, last), (bottom, top) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
        seen = (ends > first) & (starts < last) & (high > bottom) & (low < top)
        left, floor = pixels_of(ax, starts[seen], low[seen])
        right, roof = pixels_of(ax, ends[seen], high[seen])
        return (left, right, floor, roof, *(values[seen] for values in rest))

    def _size(self, ax: Any, cells: Any) -> float | None:
        left, right, floor, roof, sold, bought, imbalances, _ = cells
        if not len(left):
            return None
        width, height, scale = float(np.median(right - left)), float(np.median(roof - floor)), scale_of(ax)
        if width < CELL[0] * scale or height < CELL[1] * scale:
            return None
        sides = ((sold, -1), (bought, 1))
        digits = [
            len(short(value)) * (BOLD if bold else 1.0)
            for values, toward in sides
            for value, bold in zip(values, np.isin(imbalances, (toward, 2)), strict=True)
        ]
        return letters_of(ax, width, height, 2 * max(digits) + 1)

    def parts(self, ax: Any) -> Iterator[Any]:
        """Numbers on a background coloured by the larger side, or bars to the left and to the right."""
        cells = self._seen(ax)
        left, right, floor, roof, sold, bought, imbalance, most = cells
        plain, size = IdentityTransform(), self._size(ax, cells)
        room = (right - left) * 0.03
        left, right, middle = left + room, right - room, (left + right) / 2
        if size is None:
            whole = boxes(left, right, floor, roof)
            yield PolyCollection(whole[most], facecolors=QUIET, alpha=0.25, linewidths=0, transform=plain)
            gap = np.minimum(0.5, (roof - floor) * 0.06)
            narrow = float(np.median(right - left)) < NARROW * scale_of(ax) if len(left) else False
            if narrow:  # no room for lengths: the cell is divided as its volume is
                divided = left + (right - left) * sold / np.maximum(sold + bought, 1e-300)
                ways = ((left, divided, DOWN, -1), (divided, np.where(sold + bought > 0, right, divided), UP, 1))
            else:
                half = (right - left) / 2 / self._longest
                ways = ((middle, middle - half * sold, DOWN, -1), (middle, middle + half * bought, UP, 1))
            for start, end, colour, toward in ways:
                bars = boxes(start, end, floor + gap, roof - gap)
                one_sided = (imbalance == toward) | (imbalance == 2)
                alpha = np.where(one_sided, 1.0, 0.6)
                yield PolyCollection(bars, facecolors=colour, alpha=alpha, linewidths=0, transform=plain)
            if narrow:
                return
            yield LineCollection(_edges(middle, middle, floor, roof), colors=QUIET, linewidths=0.5, transform=plain)
            return
        lean = (bought - sold) / self._largest
        ground = boxes(left, right, floor + 0.5, roof - 0.5)
        colours = np.where(lean >= 0, UP, DOWN)
        strength = 0.06 + 0.44 * np.abs(lean) / max(1e-300, np.abs(lean).max())
        yield PolyCollection(ground, facecolors=colours, alpha=strength, linewidths=0, transform=plain)
        yield PolyCollection(
            ground[most], facecolors="none", edgecolors=text_colour(ax), linewidths=0.9, transform=plain
        )
        for at, (x, y) in enumerate(zip(middle, (floor + roof) / 2, strict=True)):
            gap = 0.45 * size * ax.figure.dpi / 72
            for value, colour, toward in ((sold[at], DOWN, -1), (bought[at], UP, 1)):
                one_sided = imbalance[at] in (toward, 2)
                style: dict[str, Any] = {"color": colour, "weight": "bold"} if one_sided else {"color": text_colour(ax)}
                side = "right" if toward < 0 else "left"
                yield text(x + toward * gap, y, short(value), size, ha=side, **style)
            yield text(x, y, "×", 0.8 * size, ha="center", color=text_colour(ax), alpha=0.6)


def _edges(left: Any, right: Any, floor: Any, roof: Any) -> Any:
    return np.stack([np.column_stack([left, floor]), np.column_stack([right, roof])], axis=1)


class FootprintNumbers(Composed):
    """A number for each bucket at a place on the axes, where they fit.

    Args:
        starts: Start of each bucket in days.
        ends: Its end.
        values: The numbers; their sign has a colour.
        place: Height in the axes, 0 to 1.
    """

    def __init__(self, starts: Any, ends: Any, values: Any, place: float) -> None:
        super().__init__(facecolors="none")
        self._rows, self._place = (starts, ends, values), place

    def parts(self, ax: Any) -> Iterator[Any]:
        """The numbers of the visible range."""
        starts, ends, values = self._rows
        low, high = sorted(ax.get_xlim())
        seen = (ends > low) & (starts < high) & np.isfinite(values)
        left, _ = pixels_of(ax, starts[seen], np.zeros(int(seen.sum())))
        right, _ = pixels_of(ax, ends[seen], np.zeros(int(seen.sum())))
        if not len(left) or np.median(right - left) < CELL[0] * scale_of(ax) * 0.8:
            return
        labels = [f"{'+' if value > 0 else ''}{short(value)}" for value in values[seen]]
        size = letters_of(ax, float(np.median(right - left)), CELL[1] * scale_of(ax) * 1.2, max(map(len, labels)))
        if size is None:
            return
        height = ax.bbox.y0 + self._place * ax.bbox.height
        for x, what in zip((left + right) / 2, labels, strict=True):
            yield text(x, height, what, size, ha="center", color=text_colour(ax))


@lru_cache(maxsize=64)
def glyph(letter: str) -> Any:
    """A letter's outline around its middle, of height 1."""
    outline = TextPath((0, 0), letter, size=1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = outline.get_extents()
    return outline.transformed(Affine2D().translate(-(box.x0 + box.x1) / 2, -0.365))


class TpoLetters(Composed):
    """Letters of time blocks on their cells, A to X and a to x and again, where a row is high enough to read them.

    Args:
        left: Left edge of each cell in days, float64 (cells,).
        right: Its right edge.
        bottom: Its lower edge in prices.
        height: Height of a cell.
        blocks: Number of its block, int64 (cells,).
        colours: Colour of each letter, (cells, 4): what stands out from its cell.
    """

    def __init__(self, left: Any, right: Any, bottom: Any, *, height: float, blocks: Any, colours: Any) -> None:
        super().__init__(facecolors="none")
        self._cells = left, right, bottom, bottom + height, blocks % len(LETTERS), colours

    def fit(self, ax: Any) -> bool:
        """Whether letters can be read."""
        left, right, bottom, top = (values[:1] for values in self._cells[:4])
        if not len(left):
            return False
        x, y = pixels_of(ax, np.append(left, right), np.append(bottom, top))
        return bool(x[1] - x[0] >= LETTER[0] * scale_of(ax) and y[1] - y[0] >= LETTER[1] * scale_of(ax))

    def parts(self, ax: Any) -> Iterator[Any]:
        """One collection a letter, of its outline wherever it stands."""
        if not self.fit(ax):
            return
        left, right, bottom, top, blocks, colours = self._cells
        x, y = pixels_of(ax, (left + right) / 2, (bottom + top) / 2)
        over, up = pixels_of(ax, np.append(left[:1], right[:1]), np.append(bottom[:1], top[:1]))
        size = min((up[1] - up[0]) * 0.85, (over[1] - over[0]) * 1.15, 13 * scale_of(ax))
        box = ax.bbox
        seen = (x > box.x0 - size) & (x < box.x1 + size) & (y > box.y0 - size) & (y < box.y1 + size)
        for block in np.unique(blocks[seen]):
            cells = seen & (blocks == block)
            yield PathCollection(
                [glyph(LETTERS[block]).transformed(Affine2D().scale(size))],
                offsets=np.column_stack([x[cells], y[cells]]),
                offset_transform=IdentityTransform(),
                transform=IdentityTransform(),
                facecolors=colours[cells],
                linewidths=0,
            )


class SideProfile(Composed):
    """A volume profile at the right edge: of all buckets that the axes show, in rows of two pixels at least.

    Args:
        starts: Start of each bucket in days.
        ends: Its end.
        offsets: Where each bucket's levels start, int64 (buckets + 1,).
        prices: Price of each level.
        buys: Volume bought.
        sells: Volume sold.
        step: Distance of levels.
    """

    def __init__(
        self, starts: Any, ends: Any, offsets: Any, *, prices: Any, buys: Any, sells: Any, step: float
    ) -> None:
        super().__init__(facecolors=QUIET)
        self._buckets = starts, ends, offsets
        self._levels, self._step = (prices, buys, sells), step

    def rows(self, ax: Any) -> tuple[Any, float, Any, Any]:
        """Lower edges, height, bought and sold volume of the visible rows."""
        starts, ends, offsets = self._buckets
        low, high = sorted(ax.get_xlim())
        bucket = np.repeat((ends > low) & (starts < high), np.diff(offsets))
        prices, buys, sells = (values[bucket] for values in self._levels)
        bottom, top = sorted(ax.get_ylim())
        inside = (prices >= bottom - self._step) & (prices < top)
        prices, buys, sells = prices[inside], buys[inside], sells[inside]
        pixel = (top - bottom) / max(1.0, ax.bbox.height) * THIN * scale_of(ax)
        height = self._step * max(1, int(np.ceil(pixel / self._step)))
        row = np.floor(prices / height + 1e-6).astype(np.int64)
        every, place = np.unique(row, return_inverse=True)
        bought, sold = (np.bincount(place, weights=np.nan_to_num(values)) for values in (buys, sells))
        return every * height, height, bought, sold

    def parts(self, ax: Any) -> Iterator[Any]:
        """Bars from the right edge, the row of most volume in its own colour."""
        bottoms, height, buys, sells = self.rows(ax)
        total = buys + sells
        if not len(total) or not total.max() > 0:
            return
        edge, width = ax.bbox.x1, ax.bbox.width * SHARE / total.max()
        x = np.full(len(bottoms), ax.get_xlim()[1])
        _, floor = pixels_of(ax, x, bottoms)
        _, roof = pixels_of(ax, x, bottoms + height)
        gap = np.minimum(0.5 * scale_of(ax), (roof - floor) * 0.08)
        floor, roof, plain = floor + gap, roof - gap, IdentityTransform()
        bought = boxes(edge - buys * width, np.full(len(buys), edge), floor, roof)
        sold = boxes(edge - total * width, edge - buys * width, floor, roof)
        style: dict[str, Any] = {"linewidths": 0, "alpha": 0.45, "transform": plain}
        yield PolyCollection(bought, facecolors=UP, **style)
        yield PolyCollection(sold, facecolors=DOWN, **style)
        most = int(total.argmax())
        outline = boxes(*(np.array([value]) for value in (edge - total[most] * width, edge, floor[most], roof[most])))
        yield PolyCollection(outline, facecolors="none", edgecolors=POINT, linewidths=1.0, transform=plain)
