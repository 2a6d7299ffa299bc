"""Fits titles, labels and numbers into the figure, also for small axes in a figure without a layout engine."""

import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import InvalidRequest
from .axes import close, closed_if_refused, kept_width, make
from .picture_options import check_axes, check_size

__all__ = ["fitted"]

#: The titles of the pictures that were drawn, by their first axes: those that have it still hold the picture.
_titles: "WeakKeyDictionary[Any, str]" = WeakKeyDictionary()

#: Distance in pixels, at 100 to the inch, of the outermost text from the figure's edge.
MARGIN = 3
#: Inches of axes that are too low for numbers at them.
LOW = 0.2
#: Axes give up to so much of their width or height to texts.
MOST = 0.6


def fitted(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function draws on the given or new axes, and all of its texts are visible.

    It gets ``figsize``, the size in inches of a new figure.
    """

    def on(args: Any, ax: Any, options: Any) -> Any:
        if ax is not None and _titles.get(ax, "") and ax.get_title("left") == _titles[ax]:
            raise InvalidRequest(
                "ax: a picture is on these axes already; draw results together, mp.plot(one, other), or clear them "
                "first, ax.clear()"
            )
        before = set() if ax is None else set(ax.figure.axes) - {ax}
        alone = ax is not None and _is_whole(ax)
        made = draw(*args, ax=ax, **options)
        own = [one for one in made.figure.axes if one not in before] or [made]  # inset axes are none of the figure's
        _fit(own)
        # Shorter axes may have fewer numbers, more lines in their title, and less room for a label.
        for _ in range(5 if alone else 0):
            if not _inside(own):
                break
            _fit(own)
        _titles[made] = made.get_title("left")
        return made

    @wraps(draw)
    def drawn(*args: Any, ax: Any, figsize: object = None, **options: Any) -> Any:
        check_axes(ax)
        if ax is not None and figsize is None:
            return on(args, ax, options)
        with closed_if_refused():
            if figsize is None:
                return on(args, None, options)
            size = check_size(figsize, ax)
            made = on(args, make(None, size=size), options)
            if _is_laid_out(made.figure):
                return made
            close(made.figure)  # too small for the layout engine
            return on(args, make(None, size=size, layout=None), options)

    return drawn


def _is_laid_out(figure: Any) -> bool:
    """Whether the layout engine had room for all axes of a figure, whose texts then fit.

    Nothing else comes into it: its panels have their height, which shorter labels change once.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            figure.get_layout_engine().execute(figure)
            _fit(figure.axes, is_final=True)
    return not any("not applied" in str(one.message) for one in caught)


def _is_whole(ax: Any) -> bool:
    """Whether nothing else places the axes: no layout engine, no nested grid, and no position chosen by the user."""
    place = ax.get_subplotspec()
    whole = place is not None and place.get_topmost_subplotspec() == place
    return whole and ax.figure.get_layout_engine() is None


def _fit(every: Sequence[Any], *, is_final: bool = False) -> None:
    """Makes titles and labels of axes fit. Their height is final only where no layout engine changes it any more."""
    for one in every:
        _headline(one)
        is_free = is_final or one.figure.get_layout_engine() is None
        if is_final:
            _narrowed(one.xaxis.label)
        low = one.bbox.height < LOW * one.figure.dpi
        _shortened(one.yaxis.label, one.bbox.height, is_free and (low or bool(one.get_title("left"))))
        if is_free and low:
            one.tick_params(axis="y", labelleft=False)


def _headline(ax: Any) -> None:
    """A title as wide as its axes: in smaller letters, or in several lines."""
    text = ax.get_title("left")
    if not text:
        return
    room = ax.bbox.width * kept_width(ax)
    title = _title(ax)
    text = text.replace("\n", " ")
    title.set_text(text)
    for size in ("large", "medium", "small"):
        title.set_fontsize(size)
        width = title.get_window_extent().width
        if width <= room:
            return
    title.set_text(_balanced(text, max(12, int(len(text) * room / width))))


def _title(ax: Any) -> Any:
    text = ax.get_title("left")
    return next(one for one in ax.get_children() if getattr(one, "get_text", str)() == text)


def _balanced(text: str, most: int) -> str:
    """A text in as few lines as there must be, of about the same length, none of which begins with a dot."""
    text = text.replace(" · ", "\N{NO-BREAK SPACE}· ")
    lines = textwrap.wrap(text, most, break_long_words=False)
    for width in range(most - 1, 0, -1):
        narrower = textwrap.wrap(text, width, break_long_words=False)
        if len(narrower) > len(lines) or max(map(len, narrower)) > most:
            break
        lines = narrower
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def _shortened(label: Any, room: float, is_needless: bool) -> None:
    """An axis' label as long as the axis: in smaller letters, with its unit on a second line.

    Where that is too long, none if a title names the quantity, or if it would lie over the labels of others.
    """
    for size in ("small", "x-small", "xx-small"):
        if not label.get_text() or label.get_window_extent().height <= room:
            return
        if size == "x-small":
            label.set_text(label.get_text().replace(" (", "\n("))
        label.set_fontsize(size)
    if is_needless and label.get_window_extent().height > room:
        label.set_text("")


def _narrowed(label: Any) -> None:
    """The label of an axis below it in letters so small that the figure holds it."""
    width = label.figure.bbox.width
    for size in ("small", "x-small", "xx-small"):
        box = label.get_window_extent()
        if box.x0 >= 0 and box.x1 <= width:
            return
        label.set_fontsize(size)


def _inside(every: Sequence[Any]) -> bool:
    """Makes all axes smaller so that their texts fit into the figure. Returns whether it did."""
    figure = every[0].figure
    margin = MARGIN * figure.dpi / 100
    texts = [box for one in every if (box := one.get_tightbbox()) is not None]
    places = [one.get_position() for one in every]
    left, bottom = min(one.x0 for one in places), min(one.y0 for one in places)
    right, top = max(one.x1 for one in places), max(one.y1 for one in places)
    width, height = figure.bbox.width, figure.bbox.height
    more = [
        max(0.0, margin - min(box.x0 for box in texts)) / width,
        max(0.0, margin - min(box.y0 for box in texts)) / height,
        max(0.0, max(box.x1 for box in texts) + margin - width) / width,
        max(0.0, max(box.y1 for box in texts) + margin - height) / height,
    ]
    across = 1 - (more[0] + more[2]) / (right - left)
    along = 1 - (more[1] + more[3]) / (top - bottom)
    if max(more) == 0 or min(across, along) < 1 - MOST:
        return False
    for one, place in zip(every, places, strict=True):
        start = left + more[0] + (place.x0 - left) * across
        floor = bottom + more[1] + (place.y0 - bottom) * along
        one.set_position((start, floor, place.width * across, place.height * along))
        one.set_in_layout(True)  # for a layout that is asked for later
    return True
