"""Colours that people with any kind of colour vision can distinguish, on light and dark backgrounds."""

from typing import Any

from ..common.optional import load

__all__ = ["DOWN", "LINE", "POINT", "QUIET", "SIDES", "UP", "is_dark", "legend_background", "text_colour"]

#: Teal and orange: equal contrast to light and dark backgrounds, also distinct for the red-green colour-blind.
UP, DOWN, LINE, QUIET = "#0e8f9e", "#e4572e", "#2f6fde", "#8a8f98"
#: The colours of the sides.
SIDES = {"BUY": UP, "SELL": DOWN}
#: Emphasis: points of control.
POINT = "#c2185b"


def text_colour(ax: Any) -> Any:
    """The colour of texts on these axes, which is light in a dark style."""
    return ax.xaxis.label.get_color()


def legend_background() -> str:
    """The background colour of a legend: the axes' in the current style."""
    return str(load("matplotlib").rcParams["axes.facecolor"])


def is_dark(ax: Any) -> bool:
    """Whether the background of axes is dark, so that emphasis must be light."""
    red, green, blue = load("matplotlib.colors").to_rgb(ax.get_facecolor())
    return bool(0.3 * red + 0.59 * green + 0.11 * blue < 0.5)
