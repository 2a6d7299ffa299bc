"""Artists that draw by pixels: however many bars or cells share a pixel, none of them is lost.

They decide at each drawing, so that this holds for every size, resolution and zoom. The one module that imports
matplotlib: import it within a function, after ``load("matplotlib")``.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.image import AxesImage
from matplotlib.text import Text
from matplotlib.transforms import IdentityTransform

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Bars", "Cells", "Message", "WholeAxes"]

#: Bars narrower than this, in pixels, have no room between them.
NARROW = 3.0
#: Height in pixels of the lowest bar, above the line of the axis.
LOWEST = 2.0


def covered(left: Any, right: Any, count: int) -> tuple[Any, Any]:
    """First and last pixel of stretches: those whose centre lies within, or else the one around their middle.

    Stretches without a gap between them cover every pixel. Pixels go from 0 to ``count``; what lies beyond counts as
    -1 or ``count``.
    """
    first, last = np.ceil(left - 0.5), np.ceil(right - 0.5) - 1
    middle = np.floor((left + right) / 2)
    none = last < first
    first, last = np.where(none, middle, first), np.where(none, middle, last)
    return np.clip(first, -1, count).astype(np.int64), np.clip(last, -1, count).astype(np.int64)


def repeated(first: Any, last: Any) -> tuple[Any, Any]:
    """Every pixel of some stretches: the stretch's number, and the pixel."""
    lengths = last - first + 1
    which = np.repeat(np.arange(len(lengths)), lengths)
    return which, first[which] + np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


class Bars(PolyCollection):
    """Bars from a base line of 0, up or down. Where several share a column of pixels, the highest is drawn.

    Args:
        starts: Left edges in days, float64 (bars,).
        ends: Right edges.
        heights: Where each bar ends; 0 and NaN have no bar.
        colours: A colour for every bar, (bars, 4), or one for all.
    """

    def __init__(self, starts: Any, ends: Any, heights: Any, colours: Any) -> None:
        from matplotlib.colors import to_rgba_array

        super().__init__([], linewidths=0, antialiaseds=False, transform=IdentityTransform())
        there = np.isfinite(heights) & (heights != 0)
        self._starts, self._ends, self._heights = starts[there], ends[there], heights[there]
        self._colours = np.broadcast_to(to_rgba_array(colours), (len(heights), 4))[there]
        one: Any = to_rgba_array(colours)[:1]  # for a legend
        self.set_facecolor(one)

    def draw(self, renderer: Any) -> None:
        """Draws what the axes show."""
        axes: Any = self.axes
        box, to_pixels = axes.bbox, axes.transData
        zeros = np.zeros(len(self._starts))
        left, base = to_pixels.transform(np.column_stack([self._starts, zeros])).T
        right, top = to_pixels.transform(np.column_stack([self._ends, self._heights])).T
        if len(left) and np.median(right - left) < NARROW:
            origin = np.floor(box.x0)
            count = max(1, int(np.ceil(box.x1) - origin))
            first, last = covered(left - origin, right - origin, count)
            bar, column = repeated(first, last)
            order = np.lexsort((np.abs(self._heights[bar]), column))  # the highest of each column comes last
            bar, column = bar[order], column[order]
            highest = np.append(column[1:] != column[:-1], True) & (column >= 0) & (column < count)
            bar, column = bar[highest], column[highest]
            left, right = origin + column, origin + column + 1.0
        else:
            bar, room = slice(None), (right - left) * 0.1
            left, right = left + room, right - room
        base, top, up = base[bar], top[bar], self._heights[bar] > 0
        top = np.where(up, np.maximum(top, base + LOWEST), np.minimum(top, base - LOWEST))
        corners = [(left, base), (left, top), (right, top), (right, base)]
        corners_of: Any = np.stack([np.column_stack(corner) for corner in corners], axis=1)
        self.set_verts(corners_of)
        self.set_facecolor(self._colours[bar])
        super().draw(renderer)


class Message(Text):
    """A text in the middle of its axes, in as many lines as their width needs; they do not make room for it."""

    def __init__(self, text: str, **style: Any) -> None:
        super().__init__(0.5, 0.5, text, ha="center", va="center", wrap=True, **style)
        self.set_in_layout(False)

    def _get_wrap_line_width(self) -> float:
        axes: Any = self.axes
        return float(axes.bbox.width) * 0.94


class WholeAxes(AxesImage):
    """An image that is made anew at each drawing, of the visible part.

    Args:
        ax: The axes to draw on.
        style: As of ``AxesImage``, such as ``cmap`` and ``norm``.
    """

    def __init__(self, ax: Any, **style: Any) -> None:
        super().__init__(ax, interpolation="nearest", origin="lower", **style)
        self.set_data(np.full((1, 1), np.nan))

    def get_extent(self) -> tuple[float, float, float, float]:
        """The axes' limits: the visible part is drawn."""
        return *self.axes.get_xlim(), *self.axes.get_ylim()

    def get_window_extent(self, renderer: Any = None) -> Any:
        """Position of the axes in pixels."""
        axes: Any = self.axes
        return axes.bbox.frozen()


class Cells(WholeAxes):
    """Values by time and price. Of the cells that share a pixel the largest counts; what has no cell stays empty.

    Args:
        ax: The axes to draw on.
        spans: Start and end of each stretch of time in days, float64 (stretches, 2).
        stretch: Which stretch each cell lies in, int64 (cells,).
        row: Which row each cell lies in; row 0 starts at ``base``.
        values: Value of each cell, float64 (cells,).
        base: Lower edge of row 0.
        step: Height of a row.
        style: As of ``AxesImage``, such as ``cmap`` and ``norm``.
    """

    def __init__(
        self, ax: Any, spans: Any, stretch: Any, row: Any, values: Any, *, base: float, step: float, **style: Any
    ) -> None:
        super().__init__(ax, **style)
        self._spans, self._stretch, self._row, self._values = spans, stretch, row, values
        self._base, self._step = base, step

    def make_image(
        self, renderer: Any, magnification: float = 1.0, unsampled: bool = False
    ) -> tuple[Any, float, float, Any]:
        """The picture, pixel by pixel."""
        box = self.axes.bbox
        width, height = (max(1, int(np.ceil(size * magnification))) for size in (box.width, box.height))
        self.set_data(np.ma.masked_invalid(self.raster(width, height)))
        return super().make_image(renderer, magnification, unsampled=False)

    def raster(self, width: int, height: int) -> "npt.NDArray[np.float64]":
        """The values of the visible pixels: float64 (height, width), NaN where there is no cell."""
        low, high = self.axes.get_xlim()
        left, right = ((self._spans - low) * (width / (high - low))).T
        first, last = covered(left, right, width)
        bottom, top = ((edge - self._base) / self._step for edge in self.axes.get_ylim())
        lowest, count = 0, 0
        if len(self._row):
            lowest = max(int(np.floor(bottom)), int(self._row.min()))
            count = max(0, min(int(np.ceil(top)), int(self._row.max()) + 1) - lowest)
        seen = (last >= 0) & (first < width)
        cells = np.flatnonzero(seen[self._stretch] & (self._row >= lowest) & (self._row < lowest + count))
        first, last = np.maximum(first, 0), np.minimum(last, width - 1)
        canvas = np.full((count, width), -np.inf)
        which, column = repeated(first[self._stretch[cells]], last[self._stretch[cells]])
        cells = cells[which]
        np.maximum.at(canvas, (self._row[cells] - lowest, column), self._values[cells])
        pixels: npt.NDArray[np.float64] = heightened(canvas, np.linspace(bottom - lowest, top - lowest, height + 1))
        pixels[np.isneginf(pixels)] = np.nan
        return pixels


def heightened(canvas: Any, edges: Any) -> Any:
    """Rows of cells as rows of pixels, whose edges are given in rows.

    A pixel shows the row around its centre; where rows are lower than a pixel, the largest of those that start in it.
    """
    count, height = len(canvas), len(edges) - 1
    pixels = np.full((height, canvas.shape[1]), -np.inf)
    if not count:
        return pixels
    if edges[1] - edges[0] <= 1:
        rows = np.floor((edges[1:] + edges[:-1]) / 2).astype(np.int64)
        inside = (rows >= 0) & (rows < count)
        pixels[inside] = canvas[rows[inside]]
        return pixels
    starts = np.clip(np.floor(edges + 0.5).astype(np.int64), 0, count)
    filled = starts[1:] > starts[:-1]
    if filled.any():
        pixels[filled] = np.maximum.reduceat(canvas[: starts[-1]], starts[:-1][filled], axis=0)
    return pixels
