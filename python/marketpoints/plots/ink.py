"""Colours that people with any kind of colour vision can distinguish, on light and dark backgrounds."""

from typing import Any

from ..common.optional import load

__all__ = ["DOWN", "LINE", "POINT", "QUIET", "UP", "ground", "ink", "is_dark"]

#: Teal and orange: of the same lightness difference to paper and night, apart also for those who see no red or green.
UP, DOWN, LINE, QUIET = "#0e8f9e", "#e4572e", "#2f6fde", "#8a8f98"
#: What stands out: points of control.
POINT = "#c2185b"


def ink(ax: Any) -> Any:
    """The colour of texts on these axes: that of its labels, light in a dark style."""
    return ax.xaxis.label.get_color()


def ground() -> str:
    """The colour behind a legend: the axes' own, as the style has it."""
    return str(load("matplotlib").rcParams["axes.facecolor"])


def is_dark(ax: Any) -> bool:
    """Whether the ground of axes is dark: what stands out on it is light."""
    red, green, blue = load("matplotlib.colors").to_rgb(ax.get_facecolor())
    return bool(0.3 * red + 0.59 * green + 0.11 * blue < 0.5)
