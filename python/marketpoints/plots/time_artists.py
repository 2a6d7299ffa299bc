"""Artists over time that are reduced to the available pixels: lines, bands, candles, bubbles, a profile at the side.

They decide at each drawing, so that a million rows take no longer than the picture has columns, and none of the highest
and lowest is lost at any size, resolution or zoom. Imports matplotlib: import it within a function, after
``load("matplotlib")``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.transforms import IdentityTransform

from .artists import covered, repeated
from .colours import DOWN, LINE, UP

__all__ = ["Band", "Bubbles", "Candles", "Composed", "Trace", "boxes", "per_column", "pixels_of"]

#: Columns an inch that lines are thinned to at least: a PDF, of 72 to the inch, can be looked at closely.
FINE = 288
#: Pixels, at 100 to the inch, that a candle needs for a body.
BODY = 3.0
#: Edge in pixels of the squares within which bubbles are put together, and radii of a bubble.
TOGETHER, SMALLEST, LARGEST = 8.0, 1.0, 20.0
#: Share of the axes that bubbles cover at most.
INKED = 0.07


def scale_of(ax: Any) -> float:
    """Scale of pixels against a figure of 100 dpi."""
    return float(ax.figure.dpi) / 100


def pixels_of(ax: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Places in pixels."""
    placed = ax.transData.transform(np.column_stack([x, y]))
    return placed[:, 0], placed[:, 1]


def boxes(left: Any, right: Any, bottom: Any, top: Any) -> Any:
    """Corners of rectangles: float64 (count, 4, 2)."""
    corners = [(left, bottom), (left, top), (right, top), (right, bottom)]
    return np.stack([np.column_stack(np.broadcast_arrays(*corner)) for corner in corners], axis=1)


def per_column(x: Any, y: Any, width: float) -> Any:
    """Which points of a line are needed: of each run in one column the first, lowest, highest and last.

    Args:
        x: Places in pixels, float64 (points,).
        y: Values, NaN where the line breaks.
        width: Width of a column in pixels.

    Returns:
        Their numbers, ascending: int64; every break stays one.
    """
    broken = ~np.isfinite(y)
    column = np.floor(np.where(broken, 0.0, x) / width)
    new = np.append(True, (column[1:] != column[:-1]) | (broken[1:] != broken[:-1])) if len(y) else np.zeros(0, bool)
    first = np.flatnonzero(new)
    if not len(first):
        return first
    last = np.append(first[1:], len(y)) - 1
    run = np.repeat(np.arange(len(first)), last - first + 1)
    picked = [first, last[~broken[first]]]
    for reduce, filled in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        values = np.where(broken, filled, y)
        most = reduce.reduceat(values, first)
        hits = np.flatnonzero((values == most[run]) & ~broken)
        picked.append(hits[np.append(True, run[hits][1:] != run[hits][:-1])] if len(hits) else hits)
    return np.unique(np.concatenate(picked))


class Trace(Line2D):
    """A line, drawn by the lowest and highest of each column of pixels. Its data stay complete."""

    def draw(self, renderer: Any) -> None:
        """Draws what the axes show."""
        ax: Any = self.axes
        if not self.get_visible():
            return
        x, y = (np.asarray(values, dtype=np.float64) for values in self.get_data(orig=False))
        finite = np.isfinite(np.concatenate([[np.nan], y, [np.nan]]))
        alone = finite[1:-1] & ~finite[:-2] & ~finite[2:]
        if len(x) > 4 * ax.bbox.width:
            places, _ = pixels_of(ax, x, np.full(len(x), ax.get_ylim()[0]))
            near = (places > ax.bbox.x0 - 50) & (places < ax.bbox.x1 + 50)
            edge = near.copy()  # and the neighbours outside: the line enters and leaves the axes
            edge[1:] |= near[:-1]
            edge[:-1] |= near[1:]
            rows = np.flatnonzero(edge)
            kept = rows[per_column(places[rows], y[rows], min(1.0, ax.figure.dpi / FINE))]
            x, y, alone = x[kept], y[kept], alone[kept]
        thin = Line2D([], [])
        thin.update_from(self)
        thin.set_data(x, y)
        thin.set_markevery(np.flatnonzero(alone).tolist() if self.get_marker() not in ("None", "", None) else None)
        drawn_in(ax, self, thin, renderer)
        self.stale = False


class Composed(PolyCollection, ABC):
    """An artist composed of others, made anew for each drawing, in pixels."""

    def __init__(self, **style: Any) -> None:
        super().__init__([], linewidths=0, **style)
        self.set_in_layout(False)

    @abstractmethod
    def parts(self, ax: Any) -> Iterator[Any]:
        """The artists for the visible range of the axes."""

    def draw(self, renderer: Any) -> None:
        """Draws what the axes show."""
        if self.get_visible():
            for part in self.parts(self.axes):
                drawn_in(self.axes, self, part, renderer)
        self.stale = False


def drawn_in(ax: Any, whole: Any, part: Any, renderer: Any) -> None:
    """Draws a part within the bounds of its composite artist."""
    part.set_figure(ax.figure)
    part.axes = ax
    if part.get_clip_on():
        part.set_clip_path(ax.patch)
    if not part.is_transform_set():
        part.set_transform(whole.get_transform())
    part.draw(renderer)


class Band(Composed):
    """The stretch from a lowest to a highest value over time; of rows that share a column all of it.

    Args:
        starts: Where each row starts in days, ascending, float64 (rows,).
        ends: Where it ends.
        low: Lowest values; NaN has no band.
        high: Highest values.
        style: Colour and the like.
    """

    def __init__(self, starts: Any, ends: Any, low: Any, high: Any, **style: Any) -> None:
        super().__init__(**style)
        self._rows = starts, ends, low, high

    def parts(self, ax: Any) -> Iterator[Any]:
        """One shape for each stretch without a gap."""
        starts, ends, low, high = within(ax, *self._rows)
        left, bottom = pixels_of(ax, starts, low)
        right, top = pixels_of(ax, ends, high)
        yield shapes(ax, left, right, bottom, top, facecolors=self.get_facecolor())


def within(ax: Any, starts: Any, ends: Any, *columns: Any) -> tuple[Any, ...]:
    """The rows that lie at least in part in what the axes show."""
    low, high = sorted(ax.get_xlim())
    seen = (ends > low) & (starts < high)
    return tuple(values[seen] for values in (starts, ends, *columns))


def shapes(ax: Any, left: Any, right: Any, bottom: Any, top: Any, **style: Any) -> Any:
    """Stretches of each row, or of each column where rows are narrower, as one shape wherever they touch."""
    finite = np.isfinite(bottom) & np.isfinite(top)
    left, right, bottom, top = (values[finite] for values in (left, right, bottom, top))
    width = 1.0 if ax.figure.dpi >= 100 else ax.figure.dpi / FINE
    if len(left) and np.median(right - left) < width:
        first, last = covered(left / width, right / width, int(1e9))
        which, column = repeated(first, last)
        order = np.argsort(column, kind="stable")
        which, column = which[order], column[order]
        runs = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
        bottom, top = np.minimum.reduceat(bottom[which], runs), np.maximum.reduceat(top[which], runs)
        left, right = column[runs] * width, (column[runs] + 1) * width
    if not len(left):
        return PolyCollection([], transform=IdentityTransform(), **style)
    parts = np.flatnonzero(left[1:] - right[:-1] > width) + 1
    every = []
    for rows in np.split(np.arange(len(left)), parts):
        along = np.column_stack([left[rows], right[rows]]).ravel()
        upper, lower = np.repeat(top[rows], 2), np.repeat(bottom[rows], 2)
        thin = upper - lower < 1  # a stretch without height is seen as well
        upper, lower = np.where(thin, upper + 0.5, upper), np.where(thin, lower - 0.5, lower)
        every.append(np.column_stack([np.append(along, along[::-1]), np.append(upper, lower[::-1])]))
    return PolyCollection(every, linewidths=0, transform=IdentityTransform(), **style)


class Candles(Composed):
    """Candles with body and wick; where they are narrower than three pixels the range from low to high, and the closes.

    Args:
        starts: Where each bucket starts in days, ascending, float64 (rows,).
        ends: Where it ends.
        prices: Open, high, low and close.
        style: Of the wicks and outlines: ``edgecolors`` for candles over a coloured ground.
    """

    def __init__(self, starts: Any, ends: Any, prices: Sequence[Any], **style: Any) -> None:
        super().__init__(facecolors=LINE, **style)
        self._rows = (starts, ends, *prices)
        self._over = bool(style)

    def parts(self, ax: Any) -> Iterator[Any]:
        """Wicks and bodies, or a band and a line."""
        starts, ends, opened, high, low, close = within(ax, *self._rows)
        left, at_open = pixels_of(ax, starts, opened)
        right, at_close = pixels_of(ax, ends, close)
        _, top = pixels_of(ax, ends, high)
        middle, bottom = pixels_of(ax, (starts + ends) / 2, low)
        if len(left) and np.median(right - left) < BODY * scale_of(ax):
            yield shapes(ax, left, right, bottom, top, facecolors="white" if self._over else LINE, alpha=0.4)
            yield self._closes(ax, left, right, middle, at_close)
            return
        colours = np.array([DOWN, UP], dtype=object)[(close >= opened).astype(int)]
        wicks: Any = np.stack([np.column_stack([middle, bottom]), np.column_stack([middle, top])], axis=1)
        half = (right - left) * 0.36
        floor, roof = np.minimum(at_open, at_close), np.maximum(at_open, at_close)
        edges = self.get_edgecolor() if self._over else colours
        plain = IdentityTransform()
        yield LineCollection(wicks, colors=edges, linewidths=0.8, transform=plain)
        bodies = boxes(middle - half, middle + half, floor, roof)
        yield PolyCollection(bodies, facecolors=colours, edgecolors=edges, linewidths=0.6, transform=plain)

    def _closes(self, ax: Any, left: Any, right: Any, middle: Any, close: Any) -> Any:
        """A line of the closes, broken at gaps that can be seen; a close between two gaps is a dot."""
        holes = np.flatnonzero(left[1:] - right[:-1] > max(1.0, np.median(right - left) / 2)) + 1
        x, y = np.insert(middle, holes, right[holes - 1]), np.insert(close, holes, np.nan)
        finite = np.isfinite(np.concatenate([[np.nan], y, [np.nan]]))
        alone = finite[1:-1] & ~finite[:-2] & ~finite[2:]
        kept = per_column(x, y, min(1.0, ax.figure.dpi / FINE))
        style: Any = {"color": "white" if self._over else LINE, "linewidth": 0.9, "marker": ".", "markersize": 2}
        dots = np.flatnonzero(alone[kept]).tolist()
        return Line2D(x[kept], y[kept], markevery=dots, transform=IdentityTransform(), **style)


class Bubbles(Composed):
    """Bubbles with area proportional to amount; those of one kind closer than a few pixels are merged.

    Args:
        places: Where each lies in days, float64 (count,).
        values: At which price.
        amounts: How much.
        kinds: Of which kind each is, int64: the place of its colour.
        colours: The colour of each kind.
        edge: Colour of their edges.
        smallest: Radius of the smallest, in hundredths of an inch; None lets them be dots without an edge.
        alpha: Opacity of what they are filled with.
        width: Width of their edges.
    """

    def __init__(
        self,
        places: Any,
        values: Any,
        amounts: Any,
        *,
        kinds: Any,
        colours: Sequence[str],
        edge: str,
        smallest: float | None = None,
        alpha: float = 0.6,
        width: float = 0.5,
    ) -> None:
        super().__init__(facecolors="none")
        there = np.isfinite(values) & np.isfinite(places) & (amounts > 0)
        self._bubbles = tuple(each[there] for each in (places, values, amounts, kinds))
        self._colours, self._edge = colours, edge
        self._smallest, self._alpha, self._width = smallest, alpha, width

    def together(self, ax: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Places and radii in pixels, amounts and kinds of the bubbles that are drawn, the largest first."""
        places, values, amounts, kinds = self._bubbles
        scale, box = scale_of(ax), ax.bbox
        x, y = pixels_of(ax, places, values)
        seen = (x >= box.x0) & (x <= box.x1) & (y >= box.y0 - LARGEST * scale) & (y <= box.y1 + LARGEST * scale)
        x, y, amounts, kinds = x[seen], y[seen], amounts[seen], kinds[seen]
        square = TOGETHER * scale
        keys = (np.floor(x / square).astype(np.int64) * 100_003 + np.floor(y / square).astype(np.int64)) * 8 + kinds
        _, first, cell = np.unique(keys, return_index=True, return_inverse=True)
        total = np.bincount(cell, weights=amounts)
        x, y = (np.bincount(cell, weights=each * amounts) / total for each in (x, y))
        order = np.argsort(-total, kind="stable")
        x, y, total, kinds = x[order], y[order], total[order], kinds[first][order]
        radius = LARGEST * scale * np.sqrt(total / total.max(initial=1e-300))
        # Many of them are smaller, all by the same factor, lest they hide the prices.
        inked = np.pi * float((radius**2).sum())
        radius *= min(1.0, np.sqrt(INKED * box.width * box.height / max(inked, 1e-300)))
        return x, y, np.maximum(radius, (self._smallest or SMALLEST) * scale), total, kinds

    def parts(self, ax: Any) -> Iterator[Any]:
        """Circles, the largest at the back."""
        x, y, radius, _, kinds = self.together(ax)
        turn = np.linspace(0, 2 * np.pi, 33)[:-1]
        ring = np.column_stack([np.cos(turn), np.sin(turn)])
        corners: Any = np.column_stack([x, y])[:, None, :] + ring[None] * radius[:, None, None]
        faces = np.array([to_rgba(colour, self._alpha) for colour in self._colours])[kinds]
        drawn = np.ones(len(radius), bool) if self._smallest else radius > 3 * scale_of(ax)
        rims: Any = np.where(drawn[:, None], [to_rgba(self._edge, 1.0 if self._smallest else self._alpha)], [[0.0] * 4])
        style: Any = {"facecolors": faces, "edgecolors": rims, "linewidths": self._width}
        yield PolyCollection(corners, transform=IdentityTransform(), **style)
