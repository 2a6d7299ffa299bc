"""Market profiles: the time blocks that visited each price, side by side from the session's start."""

from typing import Any

from ..common.optional import load
from ..common.protocols import DrawableTpo
from ..errors import SelectionError
from .axes import blank, days, legend, make, prices, show_span, spans
from .cells import outside, row_height, step_of
from .colours import DOWN, LINE, POINT, QUIET
from .labels import amount_unit, identity_of, label, price_label, title
from .time_axis import times

__all__ = ["tpo"]

#: Single prints: apart from the colours of sides and blocks.
SINGLE = "#e69f00"
#: Pixels that sessions need to have a line between them.
SEPARATE = 20
#: Share of a session's width that its longest row takes.
LONGEST = 0.92
#: Where what stands in a row ends, in days, by session and row.
Rights = dict[tuple[int, int], float]


def tpo(shown: DrawableTpo, ax: Any, step: float | None, window: tuple[float, float] | None) -> Any:
    """Each session from its start: a cell for each block that visited a price, coloured by when, with its letter.

    Letters stand where a row is high enough; with value area, point of control, initial balance, single prints, poor
    highs and lows where the service sends them. Where it sends no blocks, the bars are the volume traded at the price.
    """
    import numpy as np

    ax = make(ax, 6.0)
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
        rights = _blocks(ax, starts, ends, session, row, blocks, base, height)
    else:
        rights = _volumes(ax, shown, starts, ends, session, row, base, height)
    _marks(ax, shown, starts, ends, base, height)
    _lists(ax, shown, starts, ends, base, height, rights)
    show_span(ax, starts[0], ends[-1])
    ax.set_ylim(base, max(base + height, high + height))
    legend(ax)
    times(ax)
    ax.grid(visible=False)
    return ax


def _sessions(shown: DrawableTpo) -> tuple[Any, Any]:
    try:
        return days(shown.timestamps), days(shown.closes_at)
    except SelectionError:  # neither interval nor session is known
        return spans(shown)


def _blocks(ax: Any, starts: Any, ends: Any, session: Any, row: Any, blocks: Any, base: float, height: float) -> Rights:
    """A cell for each block and price: the n-th block that visited the price lies n cells from the session's start.

    Returns where each row ends.
    """
    import numpy as np

    from .artists import Cells
    from .ladders import TpoLetters

    counts = np.diff(blocks.offsets)
    # Levels that share a row of the picture: a block counts once.
    level = np.repeat(np.arange(len(counts)), counts)
    known = np.isfinite(blocks.values)
    level, ids = level[known], blocks.values[known].astype(np.int64)
    cells = np.unique(np.column_stack([session[level], row[level], ids]), axis=0)
    if not len(cells):
        return {}
    first = np.flatnonzero(np.append(True, (cells[1:, :2] != cells[:-1, :2]).any(axis=1)))
    place = np.arange(len(cells)) - np.repeat(first, np.diff(np.append(first, len(cells))))
    most = int(place.max()) + 1
    width = LONGEST * (ends - starts) / most
    left = starts[:, None] + 0.02 * (ends - starts)[:, None] + np.arange(most) * width[:, None]
    stretches = np.column_stack([left.ravel(), (left + width[:, None]).ravel()])
    block = cells[:, 2].astype("float64")
    norm = load("matplotlib.colors").Normalize(block.min(), max(block.max(), block.min() + 1))
    stretch = cells[:, 0] * most + place
    palette = load("matplotlib").colormaps["viridis"]
    picture = Cells(ax, stretches, stretch, cells[:, 1], block, base=base, step=height, cmap=palette, norm=norm)
    ax.add_image(picture)
    colours = palette(norm(block))
    light = colours[:, :3] @ [0.3, 0.59, 0.11] > 0.5
    texts = np.where(light[:, None], [[0.0, 0.0, 0.0, 1.0]], [[1.0, 1.0, 1.0, 1.0]])
    edges = stretches[stretch]
    letters = TpoLetters(
        edges[:, 0], edges[:, 1], base + height * cells[:, 1], height=height, blocks=cells[:, 2], colours=texts
    )
    letters.set_zorder(2)
    ax.add_collection(letters, autolim=False)
    whole = load("matplotlib.ticker").MaxNLocator(integer=True)
    bar = ax.figure.colorbar(picture, ax=ax, pad=0.015, aspect=30, ticks=whole)
    bar.set_label(f"time block of the session (longest row: {most})")
    bar.outline.set_visible(False)
    last = np.append(first[1:], len(cells)) - 1
    return dict(zip(map(tuple, cells[last, :2].tolist()), edges[last, 1].tolist(), strict=True))


def _volumes(
    ax: Any, shown: DrawableTpo, starts: Any, ends: Any, session: Any, row: Any, base: float, height: float
) -> Rights:
    import numpy as np

    from .time_artists import boxes

    volume = np.nan_to_num(shown.buys + shown.sells)
    if not volume.max() > 0:
        volume = np.ones(len(volume))  # that the price was visited is all that is known
    keys, place = np.unique(np.column_stack([session, row]), axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=volume)
    left, bottom = starts[keys[:, 0]], base + height * keys[:, 1]
    right = left + 0.94 * (ends - starts)[keys[:, 0]] * total / total.max()
    name = label("volume", amount_unit(shown)) if (shown.buys + shown.sells).max() > 0 else "visited"
    bars = boxes(left, right, bottom, bottom + height)
    collection = load("matplotlib.collections").PolyCollection(bars, facecolors=QUIET, linewidths=0, label=name)
    ax.add_collection(collection, autolim=False)
    return dict(zip(map(tuple, keys.tolist()), right.tolist(), strict=True))


def _column(shown: DrawableTpo, name: str) -> Any:
    import numpy as np

    nothing = np.full(len(shown), np.nan)
    if name not in shown:
        return nothing
    values = shown[name]
    numbers = isinstance(values, np.ndarray) and values.dtype.kind in "fi"  # kinds are not stated (section 2.3)
    return values if numbers else nothing


def _marks(ax: Any, shown: DrawableTpo, starts: Any, ends: Any, base: float, height: float) -> None:
    """Value area and initial balance behind the cells and the point of control over them, where they are known."""
    import numpy as np

    from .time_artists import boxes

    collections = load("matplotlib.collections")
    low, high, point = (_column(shown, name) for name in ("val_price", "vah_price", "poc_price"))
    area = np.isfinite(low) & np.isfinite(high)
    if area.any():
        shapes = boxes(starts[area], ends[area], low[area], high[area] + height)
        shade = collections.PolyCollection(
            shapes, facecolors=QUIET, alpha=0.25, linewidths=0, zorder=-1, label="value area"
        )
        ax.add_collection(shade, autolim=False)
    known = np.isfinite(point)
    if known.any():
        bottom = base + height * np.floor((point[known] - base) / height + 1e-6)
        # Around its row: a line through it would strike its letters out.
        control = collections.PolyCollection(
            boxes(starts[known], ends[known], bottom, bottom + height),
            facecolors="none",
            edgecolors=POINT,
            linewidths=1.2,
            zorder=3,
            label="point of control",
        )
        ax.add_collection(control, autolim=False)
    low, high = (_column(shown, name) for name in ("ibr_low", "ibr_high"))
    balance = np.isfinite(low) & np.isfinite(high)
    if balance.any():
        at = starts[balance]
        lines = np.stack([np.column_stack([at, low[balance]]), np.column_stack([at, high[balance]])], axis=1)
        bars = collections.LineCollection(lines, colors=LINE, linewidths=3, zorder=3, label="initial balance")
        bars.set_capstyle("butt")
        ax.add_collection(bars, autolim=False)
    if ax.bbox.width > SEPARATE * len(starts):
        for start in starts[1:]:
            ax.axvline(start, color=QUIET, linewidth=0.6)


def _lists(ax: Any, shown: DrawableTpo, starts: Any, ends: Any, base: float, height: float, rights: Rights) -> None:
    """Single prints beside the cells of their rows, poor highs and lows along them, where they are known."""
    import numpy as np

    from .time_artists import boxes

    collections, width = load("matplotlib.collections"), ends - starts
    session, values = _listed(shown, "single_prints")
    if len(values):
        row = np.floor((values - base) / height + 1e-6).astype(np.int64)
        known = zip(session.tolist(), row.tolist(), starts[session].tolist(), strict=True)
        left = np.array([rights.get((one, at), start) for one, at, start in known]) + 0.01 * width[session]
        bottom = base + height * row
        marks = boxes(left, left + 0.05 * width[session], bottom, bottom + height)
        shapes = collections.PolyCollection(
            marks, facecolors=SINGLE, edgecolors=SINGLE, linewidths=0.8, zorder=3, label="single prints"
        )
        ax.add_collection(shapes, autolim=False)
    parts = [_listed(shown, name) for name in ("poor_highs", "poor_lows")]
    if sum(len(values) for _, values in parts):
        session, values = (np.concatenate(one) for one in zip(*parts, strict=True))
        edge = np.concatenate([parts[0][1] + height, parts[1][1]])  # at the outer edge of the row
        lines = _level_lines(starts[session], ends[session] - 0.4 * width[session], edge)
        poor = collections.LineCollection(
            lines, colors=DOWN, linewidths=2, linestyles=(0, (2, 1)), zorder=3, label="poor high or low"
        )
        ax.add_collection(poor, autolim=False)


def _level_lines(left: Any, right: Any, at: Any) -> Any:
    import numpy as np

    return np.stack([np.column_stack([edge, at]) for edge in (left, right)], axis=1)


def _listed(shown: DrawableTpo, name: str) -> tuple[Any, Any]:
    """Session and price of each entry of a list of prices; none where it is no such list."""
    import numpy as np

    nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
    if name not in shown:
        return nothing
    lists = shown[name]
    values = getattr(lists, "values", None)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fi":
        return nothing
    session = np.repeat(np.arange(len(shown)), np.diff(lists.offsets))
    known = np.isfinite(values)
    return session[known], values[known]
