"""Axes: made, divided into panels that share their time, and formatted. Times are UTC, in matplotlib's days."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from ..common.intervals import BY_NAME
from ..common.optional import load
from ..common.protocols import Drawable
from ..common.times import DAY_NS, MINUTE_NS, SECOND_NS, iso
from .colours import DOWN, LINE, QUIET, UP, legend_background
from .labels import short_amounts

__all__ = [
    "DOWN",
    "LINE",
    "QUIET",
    "UP",
    "aligned",
    "amounts",
    "blank",
    "broken",
    "close",
    "closed_if_refused",
    "days",
    "held",
    "is_constrained",
    "kept_width",
    "legend",
    "legend_columns",
    "line",
    "make",
    "moments",
    "panels",
    "prices",
    "room_between",
    "scale_by",
    "show_asked",
    "show_rows",
    "show_span",
    "spans",
    "stacked",
    "undated",
]

#: Most isolated values that a line shows as large markers.
FEW = 60
#: Between panels of one picture, as a part of a panel's height.
CLOSE = 0.04
#: Height of a figure's only axes, as a part of the figure's.
WHOLE = 0.77
#: Inches between pictures: a title, and the times and the date of the picture above.
ROOM = 0.75
#: Inches above a panel for a line of its title; narrower axes have two of them.
TITLE_LINE, NARROW = 0.3, 3.2
#: Part of their width that axes beside others keep.
KEPT = 0.8


def make(
    ax: Any, height: float = 5.0, size: tuple[float, float] | None = None, layout: str | None = "constrained"
) -> Any:
    """The given axes, or new ones in a new figure of a height that suits the picture, or of the size asked for."""
    pyplot = load("matplotlib.pyplot")
    if ax is not None:
        return ax
    return pyplot.subplots(figsize=size or (10, height), layout=layout)[1]


def close(figure: Any) -> None:
    """Closes a figure."""
    load("matplotlib.pyplot").close(figure)


@contextmanager
def closed_if_refused() -> Iterator[None]:
    """Closes the figures that were made within, if what was to be drawn on them is refused."""
    pyplot = load("matplotlib.pyplot")
    before = set(pyplot.get_fignums())
    try:
        yield
    except BaseException:
        for number in set(pyplot.get_fignums()) - before:
            pyplot.close(number)
        raise


def room_between(ax: Any, pictures: int) -> float | None:
    """Room for a grid between pictures with titles and times of their own, one below the other in the place of axes.

    None where a layout engine makes it: that of ``layout="constrained"``; a tight one leaves grids within grids alone.
    """
    if is_constrained(ax.figure):
        return None
    height: float = ax.bbox.height / ax.figure.dpi
    return ROOM / max((height - (pictures - 1) * ROOM) / pictures, height / (2 * pictures))


def kept_width(ax: Any) -> float:
    """The part of their width that axes keep at least when a layout engine makes room for the labels of others."""
    place = ax.get_subplotspec()
    beside_others = place is not None and place.get_topmost_subplotspec().get_gridspec().ncols > 1
    return KEPT if beside_others and ax.figure.get_layout_engine() is not None else 1.0


def is_constrained(figure: Any) -> bool:
    """Whether the layout of ``layout="constrained"`` makes room for what stands beside axes."""
    engine = figure.get_layout_engine()
    return engine is not None and not engine.adjust_compatible


def panels(
    ax: Any, ratios: Sequence[float], *, titled: bool = False, headed: Sequence[bool] | None = None
) -> list[Any]:
    """Divides axes into panels one below the other that share their time axis; the first is ``ax`` itself.

    With ``titled`` each is a picture of its own, with a title and times; ``headed`` says which have a title alone.
    """
    if len(ratios) == 1:
        return [ax]
    place = ax.get_subplotspec() or _own_grid(ax)
    heads = [_title_room(ax) if one else 0.0 for one in headed or [False] * len(ratios)]
    if place is None:
        divider = load("mpl_toolkits.axes_grid1").make_axes_locatable(ax)
        sizes = [f"{100 * ratio / ratios[0]:.6g}%" for ratio in ratios[1:]]
        gaps = [0.08 + head for head in heads[1:]]
        below = zip(sizes, gaps, strict=True)
        return [ax, *(divider.append_axes("bottom", size, pad=gap, sharex=ax) for size, gap in below)]
    # A layout engine knows the panels of a grid, and nothing of appended ones.
    room = room_between(ax, len(ratios)) if titled else None
    if room is None:
        room = CLOSE
        if is_constrained(ax.figure):  # to this engine it is a part of the figure's height, where many may stand
            room *= min(1.0, place.get_position(ax.figure).height / WHOLE)
    rows, heights = _rows(ax, ratios, heads)
    grid = place.subgridspec(len(heights), 1, height_ratios=heights, hspace=room)
    ax.set_subplotspec(grid[0])
    return [ax, *(ax.figure.add_subplot(grid[row], sharex=ax) for row in rows[1:])]


def _own_grid(ax: Any) -> Any:
    """The place of axes of no grid in a grid of their own; None where something else places them."""
    if ax.figure.get_layout_engine() is not None or ax.get_axes_locator() is not None:
        return None
    box = ax.get_position(original=True)
    return ax.figure.add_gridspec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]


def _title_room(ax: Any) -> float:
    """Inches for the title of a panel below another; none where a layout engine makes room."""
    if is_constrained(ax.figure):
        return 0.0
    return TITLE_LINE * (1 if ax.bbox.width / ax.figure.dpi > NARROW else 2)


def _rows(ax: Any, ratios: Sequence[float], heads: Sequence[float]) -> tuple[list[int], list[float]]:
    """The rows of panels in a grid, and the heights of all of its rows: titles have rows of their own."""
    height = ax.bbox.height / ax.figure.dpi
    left = max(height - sum(heads[1:]), height / 2)
    rows, heights = [0], [ratios[0]]
    for ratio, head in zip(ratios[1:], heads[1:], strict=True):
        if head:
            heights.append(head * sum(ratios) / left)
        rows.append(len(heights))
        heights.append(ratio)
    return rows, heights


def blank(ax: Any, text: str, shown: Drawable | None = None) -> Any:
    """Empty axes with a message, for a series also with its window."""
    if shown is not None and shown.requested is not None:
        start, end = (iso(edge) for edge in shown.requested)
        text = f"{text}\n{start} to {end} UTC"
    from .artists import Message

    ax.add_artist(Message(text, transform=ax.transAxes, color=QUIET))
    ax.set_yticks([])
    if ax.get_autoscalex_on():  # nothing else is drawn on this time axis
        ax.set_xticks([])
    return ax


def days(moments: Any) -> Any:
    """datetime64[ns] as matplotlib's days."""
    return moments.astype("datetime64[ns]").view("int64") / DAY_NS


def step(shown: Drawable) -> int | None:
    """Length of a bucket in nanoseconds; None where the interval is not known."""
    known = BY_NAME.get(shown.id.interval or "")
    return None if known is None else known.seconds * SECOND_NS


def spans(shown: Drawable) -> tuple[Any, Any]:
    """Start and end of each row's bucket, in days, as :func:`moments`."""
    starts, ends = moments(shown)
    return starts / DAY_NS, ends / DAY_NS


def moments(shown: Drawable) -> tuple[Any, Any]:
    """Start and end of each row's bucket: int64 nanoseconds.

    A bucket ends before the next one starts; a gap stays a gap.
    """
    import numpy as np

    starts = shown.timestamps.view("int64")
    width = step(shown)
    gaps = np.diff(starts)
    gaps = gaps[gaps > 0]
    if width is None:  # of an unknown interval: what most rows are apart
        width = int(np.median(gaps)) if gaps.size else MINUTE_NS
    ends = np.minimum(starts, np.iinfo("int64").max - width) + width  # the last bucket of all times ends with them
    if gaps.size and gaps.min() < width:
        later = np.append(starts[1:], np.iinfo("int64").max)
        ends = np.where(later > starts, np.minimum(ends, later), ends)
    return starts, ends


def broken(shown: Drawable, rows: Any) -> tuple[Any, Any]:
    """Times of a line through the given rows, and which row stands at each: -1, for no value, in every gap.

    A row stands in the middle of its bucket, as a candle does.
    """
    import numpy as np

    starts, ends = (edges[rows] for edges in spans(shown))
    middles, places = (starts + ends) / 2, np.arange(len(starts))
    width = step(shown)
    if width is None or not len(starts):
        return middles, places
    holes = np.flatnonzero(np.diff(starts) > 1.5 * width / DAY_NS)
    return np.insert(middles, holes + 1, ends[holes]), np.insert(places, holes + 1, -1)


def held(shown: Drawable, rows: Any) -> tuple[Any, Any]:
    """Like :func:`broken`, for values that hold from the start of their bucket to its end: steps."""
    import numpy as np

    starts, ends = (edges[rows] for edges in spans(shown))
    edges, places = np.column_stack([starts, ends]).reshape(-1), np.repeat(np.arange(len(starts)), 2)
    holes = np.flatnonzero(starts[1:] > ends[:-1])
    return np.insert(edges, 2 * holes + 2, ends[holes]), np.insert(places, 2 * holes + 2, -1)


def show_span(ax: Any, low: float, high: float) -> None:
    """Shows a stretch of time, beside what the axes show already."""
    if not math.isfinite(low + high):
        return
    if not ax.get_autoscalex_on():
        shown = ax.get_xlim()
        low, high = min(low, *shown), max(high, *shown)
    ax.set_xlim(low, high)


def show_rows(ax: Any, starts: Any, ends: Any) -> None:
    """Shows the time of some rows with room at both ends, where the axes' line would hide the first.

    Over a heatmap there is none: beside its cells the background would look like snapshots that are not there.
    """
    cells = any(shared.images for shared in ax.get_shared_x_axes().get_siblings(ax))
    room = 0.0 if cells else (ends[-1] - starts[0]) * 0.01
    show_span(ax, starts[0] - room, ends[-1] + room)


def show_asked(ax: Any, shown: Drawable) -> None:
    """Extends the time axis to the requested window, for types without rows where nothing happened."""
    if shown.requested is not None:
        show_span(ax, *(float(days(edge)) for edge in shown.requested))


def line(ax: Any, places: Any, values: Any, **style: Any) -> None:
    """A line, broken at NaN. A single value between two breaks gets a marker."""
    import numpy as np

    finite = np.isfinite(np.concatenate([[np.nan], values, [np.nan]]))
    alone = np.flatnonzero(finite[1:-1] & ~finite[:-2] & ~finite[2:])
    if len(alone):
        style |= {"marker": "o", "markersize": 5 if len(alone) <= FEW else 2, "markevery": alone.tolist()}
    from .time_artists import Trace

    ax.add_line(Trace(places, values, **style))


def legend_columns(ax: Any, texts: Sequence[str], letter: int, rest: int = 60) -> int:
    """How many columns of a legend fit side by side, 0 where not one does.

    In pixels, at 100 to the inch: a letter's width, and that of the rest of an entry. Each column is as wide as its
    longest text.
    """
    room = ax.bbox.width * 100 / ax.figure.dpi
    for across in range(len(texts), 0, -1):
        each, longer = divmod(len(texts), across)
        ends = list(accumulate(each + (column < longer) for column in range(across)))
        columns = [texts[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        if sum(rest + letter * max(map(_letters, column)) for column in columns) <= room:
            return across
    return 0


def _letters(text: str) -> float:
    """The length of a text in small letters."""
    return len(text) + sum(0.25 if one.isupper() else 0.1 for one in text if one.isupper() or one.isdigit())


def legend(ax: Any, note: str | None = None, marks: Sequence[Any] | None = None) -> None:
    """Adds a legend in rows at the top, with room above the drawn values; a note is its last entry.

    Marks are what it shows in place of what the axes hold.
    """
    handles, texts = ax.get_legend_handles_labels()
    if marks is not None:
        handles, texts = list(marks), [mark.get_label() for mark in marks]
    if note is not None:
        handles, texts = [*handles, load("matplotlib.lines").Line2D([], [], linestyle="none")], [*texts, note]
    if not handles:
        return
    height = max(1.0, ax.bbox.height * 100 / ax.figure.dpi)
    for size, letter, row, rest in (("small", 7, 18, 60), ("xx-small", 5, 13, 45)):
        letters = size
        fitting = legend_columns(ax, texts, letter, rest)
        across = max(fitting, 1)
        # Share of the new height: the old content lies below the legend.
        share = (14 + row * -(-len(texts) // across)) / height
        if share <= 0.5 and fitting:
            break
    cramped = share > 0.5
    if cramped and len(texts) == 1:  # the axis' label says it
        return
    scale = ax.yaxis.get_transform()  # of a logarithmic axis, the room is one of decades
    low, high = scale.transform(ax.get_ylim())
    share = min(share, 0.65 if share < 1 else 0.5)  # one that fits nowhere needs no more
    ax.set_ylim(top=scale.inverted().transform(low + (high - low) / (1 - share)))
    ax.legend(
        handles,
        texts,
        loc="upper left",
        fontsize=letters,
        ncols=across,
        facecolor=legend_background(),
        edgecolor="none",
        framealpha=0.0 if cramped else 0.8,
        borderaxespad=0.2,
    )


def scale_by(ax: Any, starts: Any, ends: Any, low: Any, high: Any) -> None:
    """Adds prices that are no lines of matplotlib's to what the axes are scaled by.

    When a time axis first meets dates with a zone, matplotlib measures its axes anew, by lines alone: so it does that
    here, and not when a caller draws a line of a frame over the picture.
    """
    import numpy as np

    ax.xaxis_date(tz="UTC")
    if np.isfinite(low).any() and np.isfinite(high).any():
        ax.update_datalim([(starts[0], np.nanmin(low)), (ends[-1], np.nanmax(high))])


def stacked(every: Sequence[Any]) -> None:
    """Leaves the labels of the time to the lowest of several panels."""
    for one in every[:-1]:
        one.tick_params(axis="x", labelbottom=False)
    undated(every[:-1])


def aligned(panels: Sequence[Any]) -> None:
    """Panels of one width, where no layout engine sees to it: a colour bar takes room from one of them."""
    figure = panels[0].figure
    if figure.get_layout_engine() is not None:
        return
    places = [panel.get_position() for panel in panels]
    left, right = max(place.x0 for place in places), min(place.x1 for place in places)
    for panel, place in zip(panels, places, strict=True):
        panel.set_position((left, place.y0, right - left, place.height))


def undated(every: Sequence[Any]) -> None:
    """Hides the date in the corner of time axes."""
    for one in every:
        one.xaxis.get_offset_text().set_visible(False)


def prices(ax: Any, label: str) -> None:
    """Formats an axis of prices: every digit, no offset."""
    ax.yaxis.set_major_formatter(load("matplotlib.ticker").FuncFormatter(lambda value, _: f"{value:,.12g}"))
    ax.set_ylabel(label)


def amounts(ax: Any, label: str, ticks: int | None = None, *, signed: bool = False) -> None:
    """Formats an axis of amounts; those below the base line are positive too, unless ``signed``."""
    ticker = load("matplotlib.ticker")
    ax.yaxis.set_major_formatter(short_amounts(signed=signed))
    if ticks:
        ax.yaxis.set_major_locator(ticker.MaxNLocator(ticks))
    ax.set_ylabel(label)
