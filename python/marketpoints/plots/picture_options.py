"""The options of each kind of picture; an option of another kind is refused with a message that says so."""

from collections.abc import Iterable, Mapping
from typing import Any

from .. import _engine
from ..common.protocols import Drawable
from ..common.suggest import did_you_mean
from ..common.times import is_number
from ..errors import InvalidRequest
from .profiles import KINDS

__all__ = ["check_axes", "check_choices", "check_size", "choices_of"]

#: Inches of a figure in which something can be seen, and that most programs still show.
LEAST, LARGEST = 0.5, 300

BOOK, PROFILE, SESSIONS, ROWS = "a heatmap", "a volume profile", "a market profile", "rows of values"
CHOICES: dict[str, tuple[str, ...]] = {
    BOOK: ("step", "prices", "norm", "sides", "theme", "candles", "liquidations"),
    PROFILE: ("step", "prices", "kind", "imbalance"),
    SESSIONS: ("step", "prices"),
    ROWS: ("volume",),
}


def choices_of(shown: Drawable) -> tuple[str, ...]:
    """The names of the choices that a picture of a result takes."""
    return CHOICES[_picture(shown)]


def check_choices(every: Iterable[Drawable], options: Mapping[str, Any]) -> None:
    """Checks that each option applies to the picture of one of several results.

    Raises:
        InvalidRequest: One is not; it says of which results it is, and what these take.
    """
    if not options:
        return
    pictures = list(dict.fromkeys(map(_picture, every)))
    known = ["ax", "figsize", *dict.fromkeys(name for picture in pictures for name in CHOICES[picture])]
    for name in options:
        if name in known:
            continue
        of = [picture for picture, names in CHOICES.items() if name in names]
        kinds = f" ({', '.join(map(repr, KINDS))})" if name == "kind" else ""
        if name == "layout":
            reason = "several series are drawn in a layout, and this is one"
        elif of:
            reason = f"{name}= is of {' and of '.join(of)}{kinds}"
        else:
            reason = f"there is no such choice{did_you_mean(_engine.closest(name, known)) or ''}"
        choices = ", ".join(f"{one}=" for one in known)
        raise InvalidRequest(f"{name}: {reason}; a picture of {' and of '.join(pictures) or ROWS} takes {choices}")


def check_axes(ax: Any) -> None:
    """Checks that axes are matplotlib's.

    Raises:
        InvalidRequest: They are not.
    """
    if ax is not None and not (hasattr(ax, "get_subplotspec") and hasattr(ax, "figure")):
        raise InvalidRequest(f"ax: a {type(ax).__name__} is no axes; give one of matplotlib's, as of plt.subplots()[1]")


def check_size(figsize: object, ax: Any) -> tuple[float, float]:
    """Checks the size of a figure.

    Raises:
        InvalidRequest: It is not two numbers of inches within reason, or there are axes, whose figure has a size.
    """
    if ax is not None:
        raise InvalidRequest("figsize: the figure of ax has its size already; give one of them")
    sides = figsize.tolist() if hasattr(figsize, "tolist") else figsize  # an array
    if isinstance(sides, (tuple, list)) and len(sides) == 2:
        width, height = sides
        if all(is_number(side) and LEAST <= side <= LARGEST for side in (width, height)):
            return float(width), float(height)
    raise InvalidRequest(f"figsize: {figsize!r} is not a width and a height in inches, such as (8, 5)")


def _picture(shown: Drawable) -> str:
    if hasattr(shown, "block_ids"):
        return SESSIONS
    return BOOK if hasattr(shown, "split") else PROFILE if hasattr(shown, "buys") else ROWS
