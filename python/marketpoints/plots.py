"""Pictures with matplotlib: candles with volume, lines, order-book heatmaps. Times are UTC."""

import math
from typing import Any

from . import _engine
from .errors import SelectionError
from .identity import SeriesId
from .optional import load
from .protocols import Drawable, DrawableLevels

__all__ = ["heatmap", "series"]

UP, DOWN, LINE, QUIET = "#1a9c86", "#e0524d", "#2f6fde", "#8a8f98"
CANDLE = ("open", "high", "low", "close")
HEATMAPS = {"BLOCK_BOOK_SNAPSHOT_AGG": "order book", "VENUE_LIQUIDATION_AGG": "liquidation heatmap"}
#: More candles than this blur into each other: then the close and its range say more.
MOST_CANDLES = 1500
#: Rows that a heatmap's picture can show.
ROWS = 240
# Of the nanoseconds in a day: matplotlib counts days.
DAY = 86_400_000_000_000


def series(shown: Drawable, *, ax: Any, volume: bool) -> Any:
    """Draws candles with volume, or a line for every column of numbers. Returns the axes of the prices."""
    ax = _axes(ax)
    if all(name in shown for name in CANDLE):
        if len(shown) > MOST_CANDLES:
            _range(shown, ax)
        else:
            _candles(shown, ax)
        _price_axis(ax)
        ax.set_title(_title(shown.id, "candles"), loc="left")
        _time_axis(ax)
        if volume and "volume" in shown:
            _volume(shown, ax)
        return ax
    drawn = [name for name in shown.columns if getattr(shown[name], "dtype", None) == "float64"]
    if not drawn:
        raise SelectionError(f"{shown.id}: there is no column of numbers to draw")
    times = _days(shown)
    for name in drawn:
        ax.plot(times, shown[name], linewidth=1.2, label=name)
    if len(drawn) > 1:
        ax.legend(frameon=False)
    else:
        ax.set_ylabel(drawn[0])
    ax.set_title(_title(shown.id), loc="left")
    _time_axis(ax)
    return ax


def heatmap(shown: DrawableLevels, *, ax: Any, step: float | None, prices: tuple[float, float] | None) -> Any:
    """Draws volume by time and price on a logarithmic colour scale. Returns the axes."""
    import numpy as np

    ax = _axes(ax)
    colours, ticks = load("matplotlib.colors"), load("matplotlib.ticker")
    ax.set_title(_title(shown.id, HEATMAPS.get(shown.id.type or "", "price levels")), loc="left")
    _price_axis(ax)
    if len(shown) == 0 or len(shown.levels) == 0:
        ax.text(0.5, 0.5, "no levels", transform=ax.transAxes, ha="center", va="center", color=QUIET)
        return ax
    low, high = prices or _around_market(shown)
    _, edges, volumes = shown.to_grid(step or _step(shown, low, high))
    width = edges[1] - edges[0] if len(edges) > 1 else (step or 1.0)
    seen = (edges + width > low) & (edges <= high)
    if not seen.any():
        seen[:] = True
    edges, volumes = edges[seen], volumes[:, seen]
    positive = volumes[volumes > 0]
    norm = None
    if positive.size:
        bottom, top = np.quantile(positive, [0.02, 0.998])
        norm = colours.LogNorm(bottom, max(top, bottom * 1.001), clip=True)
    palette = load("matplotlib").colormaps["inferno"].with_extremes(bad="#000004")
    times = _days(shown)
    mesh = ax.pcolormesh(
        np.append(times, times[-1] + _bucket(times)),
        np.append(edges, edges[-1] + width),
        np.where(volumes > 0, volumes, np.nan).T,
        norm=norm,
        cmap=palette,
        rasterized=True,
    )
    ax.set_facecolor("#000004")
    _draw_middle(shown, ax, times)
    ax.set_xlim(times[0], times[-1] + _bucket(times))
    ax.set_ylim(edges[0], edges[-1] + width)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.015, aspect=30)
    bar.set_label("volume per bucket")
    bar.ax.yaxis.set_major_formatter(ticks.FuncFormatter(lambda value, _: f"{value:,.6g}"))
    bar.ax.yaxis.set_minor_formatter(ticks.NullFormatter())
    bar.outline.set_visible(False)
    _time_axis(ax)
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    _, made = load("matplotlib.pyplot").subplots(figsize=(10, 5), layout="constrained")
    return made


def _days(shown: Drawable) -> Any:
    return shown.timestamps.view("int64") / DAY


def _bucket(times: Any) -> float:
    """Width of a bucket: the commonest distance is the smallest, because gaps only widen it."""
    import numpy as np

    gaps = np.diff(times)
    gaps = gaps[gaps > 0]
    return float(gaps.min()) if gaps.size else 1 / 1440


def _title(identity: SeriesId, what: str = "") -> str:
    symbol = identity.raw_symbol or identity.normalized_symbol or identity.coin or identity.type or ""
    market = f"{symbol} on {identity.exchange}" if identity.exchange else symbol
    short = {wire: name for wire, name, _ in _engine.intervals()}
    interval = short.get(identity.interval or "", identity.interval)
    return " · ".join(part for part in (market, what or identity.type, identity.side, interval) if part)


def _price_axis(ax: Any) -> None:
    formatter = load("matplotlib.ticker").FuncFormatter(lambda value, _: f"{value:,.12g}")
    ax.yaxis.set_major_formatter(formatter)
    ax.set_ylabel("price")


def _time_axis(ax: Any) -> None:
    dates = load("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=4, maxticks=9, tz="UTC")
    ax.xaxis.set_major_locator(locator)
    beside = [f"{text} UTC".lstrip() for text in ("", "%Y", "%b %Y", "%d %b %Y", "%d %b %Y", "%d %b %Y %H:%M")]
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz="UTC", offset_formats=beside))
    ax.grid(visible=True, color=QUIET, alpha=0.15, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _candles(shown: Drawable, ax: Any) -> None:
    import numpy as np

    collections = load("matplotlib.collections")
    times = _days(shown)
    width = _bucket(times)
    opened, high, low, close = (shown[name] for name in CANDLE)
    colours = np.where(close >= opened, UP, DOWN)
    middle, half = times + width / 2, width * 0.36
    wicks = np.stack([np.column_stack([middle, low]), np.column_stack([middle, high])], axis=1)
    bottom, top = np.minimum(opened, close), np.maximum(opened, close)
    corners = [(middle - half, bottom), (middle - half, top), (middle + half, top), (middle + half, bottom)]
    bodies = np.stack([np.column_stack(corner) for corner in corners], axis=1)
    ax.add_collection(collections.LineCollection(wicks, colors=colours, linewidths=0.8))
    ax.add_collection(collections.PolyCollection(bodies, facecolors=colours, edgecolors=colours, linewidths=0.6))
    ax.autoscale_view()
    if len(times):
        ax.set_xlim(times[0] - width, times[-1] + 2 * width)


def _range(shown: Drawable, ax: Any) -> None:
    times = _days(shown)
    ax.fill_between(times, shown["low"], shown["high"], color=LINE, alpha=0.25, linewidth=0, label="low to high")
    ax.plot(times, shown["close"], color=LINE, linewidth=0.8, label="close")
    ax.legend(frameon=False, loc="upper left")
    ax.set_xlim(times[0], times[-1])


def _volume(shown: Drawable, ax: Any) -> None:
    """A panel below the prices that shares their time axis."""
    import numpy as np

    ticks = load("matplotlib.ticker")
    below = _below(ax)
    times = _days(shown)
    width = _bucket(times)
    colours = np.where(shown["close"] >= shown["open"], UP, DOWN)
    below.bar(times + width / 2, shown["volume"], width * 0.8, color=colours, alpha=0.75, linewidth=0)
    below.set_ylabel("volume")
    below.yaxis.set_major_locator(ticks.MaxNLocator(2))
    below.yaxis.set_major_formatter(ticks.EngFormatter(sep=""))
    below.set_ylim(bottom=0)
    _time_axis(below)
    ax.tick_params(axis="x", labelbottom=False)
    ax.xaxis.get_offset_text().set_visible(False)


def _below(ax: Any) -> Any:
    """A quarter of the axes' place, at its bottom."""
    place = ax.get_subplotspec()
    if place is None:
        divider = load("mpl_toolkits.axes_grid1").make_axes_locatable(ax)
        return divider.append_axes("bottom", "24%", pad=0.08, sharex=ax)
    # A layout engine knows the panels of a grid, and nothing of appended ones.
    upper, lower = place.subgridspec(2, 1, height_ratios=[3.4, 1], hspace=0.04)
    ax.set_subplotspec(upper)
    return ax.figure.add_subplot(lower, sharex=ax)


def _middles(shown: DrawableLevels) -> Any:
    """Middle between best bid and best ask of every snapshot, NaN where the wire does not tell."""
    import numpy as np

    offsets, split, prices = shown.offsets, shown.split, shown.prices
    first_ask = offsets[:-1] + split
    known = (split > 0) & (first_ask < offsets[1:])
    middles = np.full(len(split), math.nan)
    middles[known] = (prices[first_ask[known] - 1] + prices[first_ask[known]]) / 2
    return middles


def _around_market(shown: DrawableLevels) -> tuple[float, float]:
    """The prices worth showing: what the market crossed and as much again, or where nearly all the volume is."""
    import numpy as np

    prices = shown.prices
    middles = _middles(shown)
    middles = middles[np.isfinite(middles)]
    if middles.size:
        low, high = middles.min(), middles.max()
        room = max((high - low) * 0.75, np.median(middles) * 0.004)
        return max(float(low - room), float(prices.min())), min(float(high + room), float(prices.max()))
    order = np.argsort(prices)
    share = np.cumsum(np.maximum(shown.volumes[order], 0))
    if not share[-1] > 0:
        return float(prices.min()), float(prices.max())
    inside = np.searchsorted(share, [0.005 * share[-1], 0.995 * share[-1]])
    low, high = prices[order[np.minimum(inside, len(order) - 1)]]
    return float(low), float(high)


def _step(shown: DrawableLevels, low: float, high: float) -> float | None:
    """Height of a price bucket: the levels' own distance, or so many of them that the picture has rows enough."""
    import numpy as np

    gaps = np.diff(shown.snapshot(0)[:, 0]) if len(shown.snapshot(0)) > 1 else np.diff(np.unique(shown.prices))
    gaps = gaps[gaps > 0]
    if not gaps.size or not high > low:
        return None
    finest = float(gaps.min())
    return finest * max(1, math.ceil((high - low) / finest / ROWS))


def _draw_middle(shown: DrawableLevels, ax: Any, times: Any) -> None:
    import numpy as np

    middles = _middles(shown)
    if np.isfinite(middles).any():
        ax.plot(times + _bucket(times) / 2, middles, color="white", linewidth=0.9, alpha=0.85, label="mid price")
        ax.legend(loc="upper left", labelcolor="white", framealpha=0.25, facecolor="black", edgecolor="none")
