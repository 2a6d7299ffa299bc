"""The artist of a heatmap: at each drawing the engine makes the visible pixels at the device's resolution.

So zooming in brings out detail, walls survive zooming out, and every size, resolution and file format has exact cells.
Imports matplotlib: import it within a function, after ``load("matplotlib")``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import BoundaryNorm
from matplotlib.transforms import IdentityTransform

from ..common.times import DAY_NS
from .artists import WholeAxes
from .pixels import Pixels

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Raster"]

#: Pixels of a side that the engine is asked for; a larger picture shows each of them several times.
LONGEST = 8192
#: Rows that stand for one where prices are not evenly spaced, as on a logarithmic axis.
FINE = 4


class Raster(WholeAxes):
    """Volumes by time and price, painted in one colour scale; several planes, such as bids and asks, in one each.

    Args:
        ax: The axes to draw on.
        planes: What is painted, and the colour map of each. Where several have a volume the largest is seen.
        reduce: What a pixel shows of several levels, as in ``Heatmap.raster``.
        unit: Unit of the volumes, for what is shown under the cursor.
        style: As of ``AxesImage``, such as ``norm``.
    """

    def __init__(
        self, ax: Any, planes: Sequence[tuple[Pixels, Any]], *, reduce: str, unit: str | None, **style: Any
    ) -> None:
        super().__init__(ax, cmap=planes[-1][1], **style)
        self._planes, self._reduce, self._unit = planes, reduce, unit

    def make_image(
        self, renderer: Any, magnification: float = 1.0, unsampled: bool = False
    ) -> tuple[Any, float, float, Any]:
        """The picture in colours, a pixel for each of the device's: uint8 (height, width, 4).

        It starts and ends at whole pixels; the axes clip the excess.
        """
        box: Any = self.axes.bbox
        left, bottom = (int(np.floor(edge * magnification)) for edge in (box.x0, box.y0))
        right, top = (int(np.ceil(edge * magnification)) for edge in (box.x1, box.y1))
        width, height = right - left, top - bottom
        if width < 1 or height < 1 or self.norm.vmin is None:
            return None, 0, 0, None
        edges = [left / magnification, right / magnification, bottom / magnification, top / magnification]
        planes = [self._seen(plane, edges, (width, height)) for plane, _ in self._planes]
        self._A = np.ma.masked_invalid(np.fmax.reduce(planes))  # what get_array() returns: the pixels drawn last
        pixels = self._coloured(planes)
        return pixels, left / magnification, bottom / magnification, IdentityTransform()

    def raster(self, width: int, height: int) -> "npt.NDArray[np.float32]":
        """The volumes of so many visible pixels: float32 (height, width), NaN where nothing is known."""
        box: Any = self.axes.bbox
        planes = [self._seen(plane, [box.x0, box.x1, box.y0, box.y1], (width, height)) for plane, _ in self._planes]
        found: npt.NDArray[np.float32] = np.fmax.reduce(planes)
        return found

    def _seen(self, plane: Pixels, edges: Sequence[float], size: tuple[int, int]) -> Any:
        """The volumes between two columns and two rows of the canvas, their lower row first."""
        left, right, bottom, top = edges
        ax: Any = self.axes
        to_data: Any = ax.transData.inverted()
        (start, low), (end, high) = to_data.transform([(left, bottom), (right, top)])
        # A copy of each pixel where there are more than anybody sees.
        copies = [-(-count // LONGEST) for count in size]
        width, height = (-(-count // many) for count, many in zip(size, copies, strict=True))
        window = sorted(round(edge * DAY_NS) for edge in (start, end))
        window[1] = max(window[1], window[0] + 1)
        prices = min(low, high), max(low, high)
        if not (np.isfinite(prices).all() and prices[0] < prices[1]):
            return np.full((size[1], size[0]), np.nan, dtype=np.float32)
        uneven = ax.get_yscale() != "linear"
        rows = min(height * FINE, LONGEST) if uneven else height
        made = plane.raster((window[0], window[1]), prices, (width, rows), self._reduce)
        if uneven:
            middles = bottom + (np.arange(height) + 0.5) * (top - bottom) / height
            row_prices = to_data.transform(np.column_stack([np.full(height, left), middles]))[:, 1]
            made = made[np.clip((row_prices - prices[0]) / (prices[1] - prices[0]) * rows, 0, rows - 1).astype(int)]
        elif high < low:
            made = made[::-1]
        if end < start:
            made = made[:, ::-1]
        if copies != [1, 1]:
            made = made.repeat(copies[1], axis=0).repeat(copies[0], axis=1)[: size[1], : size[0]]
        return made

    def _coloured(self, planes: Sequence[Any]) -> Any:
        """Volumes in colours: uint8 (height, width, 4); transparent where there is none."""
        painted = [self._painted(values, cmap) for values, (_, cmap) in zip(planes, self._planes, strict=True)]
        colours, largest = painted[0], planes[0]
        for values, more in zip(planes[1:], painted[1:], strict=True):
            over = values > np.nan_to_num(largest)
            colours, largest = np.where(over[..., None], more, colours), np.fmax(values, largest)
        return colours

    def _painted(self, values: Any, cmap: Any) -> Any:
        norm: Any = self.norm
        table = np.append(cmap(np.arange(cmap.N), bytes=True), np.zeros((1, 4), np.uint8), axis=0)
        if type(norm) is BoundaryNorm:  # the usual one, in a fraction of the time that it takes by itself
            edges = np.asarray(norm.boundaries)
            # The middle of two neighbouring doubles is one of them: clip, since the last edge has no colour.
            of_step = np.clip(np.asarray(norm((edges[1:] + edges[:-1]) / 2), dtype=np.int64), 0, cmap.N - 1)
            numbers = of_step[np.searchsorted(edges[1:-1].astype(np.float32), values, side="right")]
        else:
            numbers = np.clip(np.ma.getdata(norm(np.nan_to_num(values))) * cmap.N, 0, cmap.N - 1)
            numbers = np.nan_to_num(numbers).astype(np.int64)
        return table[np.where(values > 0, numbers, cmap.N)]

    def get_cursor_data(self, event: Any) -> float | None:
        """The volume of the pixel at the cursor; NaN where nothing is known, None outside of the axes."""
        if event.inaxes is not self.axes:
            return None
        x, y = np.floor(event.x), np.floor(event.y)
        found = [self._seen(plane, [x, x + 1, y, y + 1], (1, 1)) for plane, _ in self._planes]
        return float(np.fmax.reduce(found)[0, 0])

    def format_cursor_data(self, data: Any) -> str:
        """The cursor's text beside time and price: the volume with its unit."""
        if not np.isfinite(data):
            return "[no snapshot]"
        return f"[{data:,.6g}{' ' + self._unit if self._unit else ''}]"
