"""Pictures with matplotlib: every data type, one series or several. Times are UTC."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from textwrap import fill
from typing import TYPE_CHECKING, Any

from ..common.protocols import Drawable, DrawableLevels, DrawableProfile, DrawableTpo
from ..errors import SelectionError
from . import (
    axes,
    bars,
    bounds,
    candles,
    heatmap as heatmaps,
    labels,
    lines,
    multiples,
    profiles,
    together as shared_time,
)
from .picture_options import check_choices, choices_of
from .ranges import price_range
from .rankings import rankings as draw_rankings
from .text_layout import fitted
from .together import Result
from .tpo import tpo as draw_tpo

if TYPE_CHECKING:
    from ..identity import SeriesId

__all__ = ["check_choices", "explain", "heatmap", "profile", "rankings", "series", "several", "together", "tpo"]

#: Characters in a line of a text within a picture.
WIDTH = 72
#: Height in inches of a picture among several, and of the highest figure: beyond, few programs show it.
HEIGHT, HIGHEST = 3.2, 76.8


@fitted
def series(shown: Drawable, *, ax: Any, volume: bool) -> Any:
    """Draws candles with volume, liquidations as bars, other columns as lines. Returns the first panel's axes."""
    bounds.check_all([shown])
    if candles.is_candles(shown):
        return candles.candles(shown, ax, volume)
    if bars.is_bars(shown):
        return bars.of_sides([shown], ax)
    return lines.lines([shown], ax)


@fitted
def heatmap(shown: DrawableLevels, *, ax: Any, prices: tuple[float, float] | None, **options: Any) -> Any:
    """Draws volume by time and price in colours, with layers over it. Returns the axes."""
    over = [one for name in ("candles", "liquidations") if (one := options.get(name)) is not None]
    bounds.check_all([shown, *shared_time.flattened(over)])
    return heatmaps.heatmap(shown, ax, window=prices, **options)


@fitted
def profile(
    shown: DrawableProfile,
    *,
    ax: Any,
    step: float | None,
    prices: tuple[float, float] | None,
    kind: profiles.ProfileKind | None,
    imbalance: float,
) -> Any:
    """Draws traded volume by price in each bucket, as a footprint, or over the full window. Returns the axes."""
    bounds.check_all([shown])
    return profiles.profile(shown, ax, step, price_range(prices), kind, imbalance)


@fitted
def tpo(shown: DrawableTpo, *, ax: Any, step: float | None, prices: tuple[float, float] | None) -> Any:
    """Draws the time blocks that visited each price of each session. Returns the axes."""
    bounds.check_all([shown])
    return draw_tpo(shown, ax, step, price_range(prices))


@fitted
def rankings(records: Sequence[Any], *, kind: str, ax: Any) -> Any:
    """Draws records of the prediction markets: a leaderboard, positions, categories, a summary. Returns the axes."""
    return draw_rankings(kind, records, ax)


@fitted
def several(every: Sequence[Drawable], *, ax: Any, layout: str | None, why_empty: str, options: dict[str, Any]) -> Any:
    """Draws several series: both sides on one axis, lines of one unit on one axis, the rest below each other.

    Returns the first panel's axes.
    """
    if not every:
        return axes.blank(axes.make(ax), fill(f"no series: {why_empty}", WIDTH))
    bounds.check_all(every)
    check_choices(every, options)
    if layout is not None:
        return multiples.by_choice(every, ax, layout, options)
    if multiples.odds(every) and len(every) > 1:
        return multiples.by_choice(every, ax, "axis", options)
    groups: dict[SeriesId, list[Drawable]] = {}
    for one in every:
        groups.setdefault(replace(one.id, side=None), []).append(one)
    if len(groups) == 1 and _is_one_picture(every):
        return _draw(every, ax, options)
    if all(multiples.is_lines(one) for one in every) and lines.share_units(every):
        return lines.lines(every, ax)
    pictures = [
        part for group in groups.values() for part in ([group] if _is_one_picture(group) else [[g] for g in group])
    ]
    heights = [_height(part) for part in pictures]
    if sum(heights) > HIGHEST:
        most = sum(1 for total in accumulate(heights) if total <= HIGHEST)
        raise SelectionError(f"{len(pictures)} pictures do not fit into one figure; pick up to {most} with sel(…)")
    panels = axes.panels(axes.make(ax, max(5.0, sum(heights))), heights, titled=True)
    figure, timed = panels[0].figure, []
    for part, panel in zip(pictures, panels, strict=True):
        before = set(figure.axes) - {panel}
        _draw(part, panel, options)
        drawn = [one for one in figure.axes if one not in before]
        timed += [one for one in drawn if one.get_shared_x_axes().joined(one, panels[0])]
        if panel is not panels[-1]:  # the date of all, which would stand where the title of the next one is
            axes.undated(drawn)
    axes.aligned(timed)
    return panels[0]


def together(results: Sequence[Result], *, ax: Any, figsize: object = None, volume: bool) -> Any:
    """Draws several results on one time axis, as :func:`marketpoints.plot` says. Returns the first panel's axes."""
    return _together(shared_time.flattened(results), ax=ax, figsize=figsize, volume=volume)


@fitted
def _together(results: Sequence[Drawable], *, ax: Any, volume: bool) -> Any:
    bounds.check_all(results)
    return shared_time.together(results, ax, volume)


def explain(ax: Any, why_empty: str) -> Any:
    """Draws an empty picture with the reason and the window. Returns the axes."""
    if ax.texts:
        what = ax.texts[-1].get_text().partition("\n")[0]
        ax.texts[-1].set_text(f"{what}:\n{fill(labels.plain(why_empty), WIDTH)}")
    return ax


def _height(group: Sequence[Drawable]) -> float:
    """Height in inches at which a picture is readable."""
    panels = len(lines.panels_of(group[0])) if multiples.is_lines(group[0]) else 1
    return max(HEIGHT, lines.height(panels)) if panels > 1 else HEIGHT


def _draw(group: Sequence[Drawable], ax: Any, options: dict[str, Any]) -> Any:
    options = {name: value for name, value in options.items() if name in choices_of(group[0])}
    if len(group) == 1:
        return group[0].plot(ax=ax, **options)
    if candles.is_candles(group[0]):
        return candles.of_sides(group, ax, **{"volume": True, **options})
    return bars.of_sides(group, ax)


def _is_one_picture(group: Sequence[Drawable]) -> bool:
    """Whether series that differ by their side alone go on one axis."""
    if len(group) == 1:
        return True
    sides = [one.id.side for one in group]
    if None in sides or len(set(sides)) < len(sides) or len(sides) > 2:
        return False
    if all(map(bars.is_bars, group)):
        return True
    return all(candles.is_candles(one) for one in group) and candles.same_prices(group)
