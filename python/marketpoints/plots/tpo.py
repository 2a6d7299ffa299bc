"""Market profiles: the time blocks that visited each price, side by side from the session's start."""

from typing import Any

from ..common.optional import load
from ..common.protocols import DrawableTpo
from ..errors import SelectionError
from .axes import QUIET, blank, days, legend, make, prices, show_span, spans, times
from .cells import outside, row_height, step_of
from .words import amount_unit, identity_of, label, price_label, title

__all__ = ["tpo"]

SHADE, POINT = "#dfe6f2", "#c2185b"
#: Pixels that sessions need to have a line between them.
SEPARATE = 20


def tpo(shown: DrawableTpo, ax: Any, step: float | None, window: tuple[float, float] | None) -> Any:
    """Each session from its start: a cell for each block that visited a price, coloured by when; value area and POC.

    Where the service tells no blocks, the bars are the volume traded at the price.
    """
    import numpy as np

    ax = make(ax)
    ax.set_title(title(identity_of(shown)), loc="left")
    prices(ax, price_label(shown))
    levels, blocks = shown.prices, shown.block_ids
    if len(shown) == 0 or len(levels) == 0:
        return blank(ax, "no levels", shown)
    starts, ends = _sessions(shown)
    low, high = window or (float(levels.min()), float(levels.max()))
    first = levels[: shown.offsets[1]]
    height = row_height(step, low, high) or step_of(first, levels, low, high)
    if nothing := outside(levels, window, height):
        return blank(ax, nothing)
    base = low
    session = np.repeat(np.arange(len(shown)), np.diff(shown.offsets))
    row = np.floor((levels - base) / height + 1e-6).astype(np.int64)
    if len(blocks.values):
        _blocks(ax, starts, ends, session, row, blocks, base, height)
    else:
        _volumes(ax, shown, starts, ends, session, row, base, height)
    _marks(ax, shown, starts, ends, height)
    show_span(ax, starts[0], ends[-1])
    ax.set_ylim(base, max(base + height, high + height))
    legend(ax)
    times(ax)
    ax.grid(visible=False)
    return ax


def _sessions(shown: DrawableTpo) -> tuple[Any, Any]:
    try:
        return days(shown.timestamps), days(shown.closes_at)
    except SelectionError:  # neither interval nor session is told
        return spans(shown)


def _blocks(ax: Any, starts: Any, ends: Any, session: Any, row: Any, blocks: Any, base: float, height: float) -> None:
    """A cell for each block and price: the n-th block that visited the price lies n cells from the session's start."""
    import numpy as np

    from .artists import Cells

    counts = np.diff(blocks.offsets)
    # Levels that share a row of the picture: a block counts once.
    level = np.repeat(np.arange(len(counts)), counts)
    cells = np.unique(np.column_stack([session[level], row[level], blocks.values.astype(np.int64)]), axis=0)
    first = np.flatnonzero(np.append(True, (cells[1:, :2] != cells[:-1, :2]).any(axis=1)))
    place = np.arange(len(cells)) - np.repeat(first, np.diff(np.append(first, len(cells))))
    most = int(place.max()) + 1
    width = 0.94 * (ends - starts) / most
    left = starts[:, None] + np.arange(most) * width[:, None]
    stretches = np.column_stack([left.ravel(), (left + width[:, None]).ravel()])
    block = cells[:, 2].astype("float64")
    norm = load("matplotlib.colors").Normalize(block.min(), max(block.max(), block.min() + 1))
    stretch = cells[:, 0] * most + place
    picture = Cells(ax, stretches, stretch, cells[:, 1], block, base=base, step=height, cmap="viridis", norm=norm)
    ax.add_image(picture)
    bar = ax.figure.colorbar(picture, ax=ax, pad=0.015, aspect=30)
    bar.set_label(f"time block of the session (longest row: {most})")
    bar.outline.set_visible(False)


def _volumes(
    ax: Any, shown: DrawableTpo, starts: Any, ends: Any, session: Any, row: Any, base: float, height: float
) -> None:
    import numpy as np

    volume = shown.buys + shown.sells
    if not volume.max() > 0:
        volume = np.ones(len(volume))  # that the price was visited is all that is known
    keys, place = np.unique(np.column_stack([session, row]), axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=volume)
    left, bottom = starts[keys[:, 0]], base + height * keys[:, 1]
    right = left + 0.94 * (ends - starts)[keys[:, 0]] * total / total.max()
    corners = [(left, bottom), (left, bottom + height), (right, bottom + height), (right, bottom)]
    bars = np.stack([np.column_stack(corner) for corner in corners], axis=1)
    name = label("volume", amount_unit(shown)) if (shown.buys + shown.sells).max() > 0 else "visited"
    collection = load("matplotlib.collections").PolyCollection(bars, facecolors=QUIET, linewidths=0, label=name)
    ax.add_collection(collection, autolim=False)


def _marks(ax: Any, shown: DrawableTpo, starts: Any, ends: Any, height: float) -> None:
    """Value area behind the cells and the point of control over them, where the service tells them."""
    import numpy as np

    collections = load("matplotlib.collections")
    low, high, point = (
        shown[name] if name in shown else np.full(len(shown), np.nan)
        for name in ("val_price", "vah_price", "poc_price")
    )
    area = np.isfinite(low) & np.isfinite(high)
    if area.any():
        left, right, bottom, top = starts[area], ends[area], low[area], high[area] + height
        corners = [(left, bottom), (left, top), (right, top), (right, bottom)]
        boxes = np.stack([np.column_stack(corner) for corner in corners], axis=1)
        shade = collections.PolyCollection(boxes, facecolors=SHADE, linewidths=0, zorder=-1, label="value area")
        ax.add_collection(shade, autolim=False)
    known = np.isfinite(point)
    if known.any():
        middle = point[known] + height / 2
        ends_of = [np.column_stack([edge[known], middle]) for edge in (starts, ends)]
        control = collections.LineCollection(
            np.stack(ends_of, axis=1), colors=POINT, linewidths=1.4, label="point of control"
        )
        ax.add_collection(control, autolim=False)
    if ax.bbox.width > SEPARATE * len(starts):
        for start in starts[1:]:
            ax.axvline(start, color=QUIET, linewidth=0.6)
