"""Layers over prices: liquidations as bubbles, candles over a heatmap."""

from collections.abc import Sequence
from typing import Any

from ..common.data_types import adds_up, amount, role
from ..common.optional import load
from ..common.protocols import Drawable
from .axes import legend, legend_columns, spans
from .bars import column_of
from .candles import OHLC, is_candles
from .colours import LINE, SIDES, is_dark
from .labels import amount_unit, plain, short
from .ranges import block_height

__all__ = ["add_to_legend", "bubbles", "candles_over", "has_prices"]


def has_prices(base: Sequence[Drawable], over: Sequence[Drawable]) -> bool:
    """Whether a panel has prices over time: its candles do, and a book with both sides, where they are not empty."""
    every = [one for one in (*base, *over) if len(one)]
    return any(is_candles(one) or (is_book(one) and len(one["levels"]) > 0) for one in every)


def is_book(shown: Drawable) -> bool:
    """Whether a series is an order book: a heatmap of resting orders, with bids and asks."""
    return role(shown.id.type) == "heatmap" and not adds_up(shown.id.type)


def candles_over(ax: Any, shown: Drawable) -> None:
    """Adds candles to a heatmap, outlined so that they are seen on any colour."""
    from .time_artists import Candles

    if not len(shown):
        return
    starts, ends = spans(shown)
    picture = Candles(starts, ends, [shown[name] for name in OHLC], edgecolors="white")
    picture.set_zorder(2.5)
    ax.add_collection(picture, autolim=False)


def bubbles(
    ax: Any, liquidations: Sequence[Drawable], base: Sequence[Drawable], over: Sequence[Drawable]
) -> tuple[list[Any], str | None]:
    """Adds liquidations as bubbles whose area is the amount: BUY at the high of their moment, SELL at the low.

    Returns what :func:`add_to_legend` shows of them in a legend.
    """
    import numpy as np

    from .time_artists import Bubbles

    filled = [one for one in liquidations if len(one)]
    amounts = [np.nan_to_num(one[column_of(one)].astype("float64")) for one in filled]
    most = max((float(values.max()) for values in amounts), default=0.0)
    if not most > 0:
        return [], None
    sides = [one.id.side or "" for one in filled]
    named = list(dict.fromkeys(sides))
    middles_of = [(starts + ends) / 2 for starts, ends in map(spans, filled)]
    values = [prices_at(moments, base, over, side) for moments, side in zip(middles_of, sides, strict=True)]
    kinds = [np.full(len(each), named.index(side)) for each, side in zip(amounts, sides, strict=True)]
    colours = [SIDES.get(side, LINE) for side in named]
    columns = [np.concatenate(each) for each in (middles_of, values, amounts, kinds)]
    if ax.images:  # over a heatmap: an edge in contrast to the background, also around the smallest
        edge = "white" if is_dark(ax) else "#1b1f24"
        style: dict[str, Any] = {"edge": edge, "smallest": 3.0, "alpha": 0.8, "width": 0.9}
    else:
        style = {"edge": background_of(ax)}
    picture = Bubbles(*columns[:3], kinds=columns[3], colours=colours, **style)
    picture.set_zorder(3)
    ax.add_collection(picture, autolim=False)
    dot = {"linestyle": "none", "marker": "o", "alpha": style.get("alpha", 0.6), "markeredgewidth": 0}
    lines = load("matplotlib.lines")
    happened = amount(filled[0].id.type).removesuffix(" volume")
    marks = [
        lines.Line2D([], [], color=colour, label=f"{plain(side)} {happened}".strip(), **dot)
        for side, colour in zip(named, colours, strict=True)
    ]
    return marks, f"largest: {short(most)} {amount_unit(filled[0]) or ''}".rstrip()


def add_to_legend(ax: Any, marks: Sequence[Any], note: str | None) -> None:
    """Adds layers to the legend of prices, with a note."""
    if not marks:
        return
    if ax.images:  # a heatmap: its legend is light on dark
        nothing = load("matplotlib.lines").Line2D([], [], linestyle="none", label=note)
        handles = [*ax.get_legend_handles_labels()[0], *marks, *([nothing] if note else [])]
        style = {"labelcolor": "white", "framealpha": 0.35, "facecolor": "black", "edgecolor": "none"}
        # In as many columns as lie beside the colour bar and not over it.
        texts = [one.get_label() for one in handles]
        wide = legend_columns(ax, texts, 7) > 1
        across = 2 if wide or legend_columns(ax, texts, 5, rest=45) > 1 else 1
        ax.legend(handles=handles, loc="upper left", ncols=across, fontsize="small" if wide else "xx-small", **style)
    else:
        legend(ax, note, marks)


def background_of(ax: Any) -> str:
    """The background colour."""
    return str(load("matplotlib.colors").to_hex(ax.get_facecolor()))


def prices_at(moments: Any, base: Sequence[Drawable], over: Sequence[Drawable], side: str | None) -> Any:
    """The price at which something happened, from candles or a book: float64, NaN where unknown."""
    import numpy as np

    every = [one for one in (*over, *base) if len(one)]
    found = np.full(len(moments), np.nan)
    for one in every:
        if is_candles(one):
            column = {"BUY": "high", "SELL": "low"}.get(side or "", "close")
            values = one[column]
        elif hasattr(one, "split"):
            values = middles(one)
        else:
            continue
        starts, ends = spans(one)
        place = np.clip(np.searchsorted(starts, moments, side="right") - 1, 0, len(starts) - 1)
        within = (moments >= starts[place]) & (moments < ends[place])
        found = np.where(np.isfinite(found), found, np.where(within, values[place], np.nan))
    return found


def middles(shown: Any) -> Any:
    """Middle between the blocks of best bid and best ask of every snapshot, NaN where it has not both.

    Levels are the lower edges of their blocks.
    """
    import numpy as np

    offsets, split, levels = shown.offsets, shown.split, shown.prices
    first_ask = offsets[:-1] + split
    known = (split > 0) & (first_ask < offsets[1:])
    found = np.full(len(split), np.nan)
    edges = levels[first_ask[known] - 1] + levels[first_ask[known]]
    found[known] = (edges + block_height(shown)) / 2
    return found
