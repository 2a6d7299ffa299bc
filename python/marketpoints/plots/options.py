"""Options at some moments: volatility or skew against the tenor, and the smile against the delta."""

import math
import re
from collections.abc import Sequence
from typing import Any

from ..common.optional import load
from ..common.protocols import Drawable
from ..common.times import iso
from ..errors import SelectionError
from .axes import blank, legend, make, prices
from .colours import is_dark
from .labels import identity_of, label, shared, title
from .lines import panels_of

__all__ = ["smile", "term_structure"]

#: Lines of a picture, each of a moment.
MOMENTS = 5
#: Tenors (supplement 2) in days.
TENORS = {"ONE_W": 7, "ONE_M": 30, "TWO_M": 61, "THREE_M": 91}
VOLATILITY, SKEW = "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG", "SKEW_OPTION_SUMMARY_AGG"


def term_structure(every: Sequence[Drawable], ax: Any) -> Any:
    """Values against the tenor at some moments: a line a moment, the latest the strongest.

    Raises:
        SelectionError: They do not differ in their tenor alone.
    """
    known = [(TENORS[one.id.tenor], one) for one in every if one.id.tenor in TENORS]
    known.sort(key=lambda each: each[0])
    if len(known) < len(every) or len({days for days, _ in known}) < 2 or len(known) > len({d for d, _ in known}):
        raise SelectionError(
            "a term structure needs series that differ in their tenor alone, two at least: skew or implied volatility "
            "of ONE_W, ONE_M, TWO_M, THREE_M; join answers with +"
        )
    panel = next(iter(panels_of(known[0][1])), None)
    identity = shared([identity_of(one) for _, one in known])
    ax = make(ax)
    ax.set_title(f"{title(identity)} · term structure", loc="left")
    prices(ax, label(panel.quantity, panel.unit) if panel else "")
    if panel is None:
        return blank(ax, "no rows", known[0][1])
    values = [(one, one[panel.columns[0][0]]) for _, one in known]
    if not _moments(ax, [days for days, _ in known], values, lambda row: row):
        return blank(ax, "no rows", known[0][1])
    ax.set_xticks([days for days, _ in known], [one.id.tenor or "" for _, one in known])
    ax.set_xlabel("tenor")
    return ax


def smile(every: Sequence[Drawable], ax: Any) -> Any:
    """Volatility against the delta at some moments, of the volatility at the money and the skew of one tenor.

    The service publishes no butterfly, so the wings lie half a skew above and below the volatility at the money; skew
    is read as that of puts less that of calls.

    Raises:
        SelectionError: They are not volatility at the money and skew of one tenor.
    """
    at_the_money = [one for one in every if one.id.type == VOLATILITY]
    skews = {_delta(one): one for one in every if one.id.type == SKEW and _delta(one) is not None}
    markets = {(one.id.exchange, one.id.coin, one.id.tenor) for one in every}
    if len(at_the_money) != 1 or not skews or len(skews) + 1 != len(every) or len(markets) > 1:
        raise SelectionError(
            "a smile needs the implied volatility at the money and the skew of one coin, exchange and tenor, such as "
            "those of BTC_ATM and BTC_25; join the answers with +"
        )
    deltas = sorted(delta for delta in skews if delta is not None)
    values = [(one, one["implied_volatility"]) for one in at_the_money]
    values += [(skews[delta], skews[delta]["skew"]) for delta in deltas]
    identity = shared([identity_of(one) for one in every])
    ax = make(ax)
    ax.set_title(f"{title(identity, name='')} · smile", loc="left")
    prices(ax, label("implied volatility", "%"))

    def wings(row: list[float]) -> list[float]:
        middle, halves = row[0], [skew / 2 for skew in row[1:]]
        return [*(middle + half for half in halves), middle, *(middle - half for half in reversed(halves))]

    # Calls by the delta of the put at the same strike, so that prices ascend to the right.
    places = [*deltas, 50.0, *(100.0 - delta for delta in reversed(deltas))]
    if not _moments(ax, places, values, wings):
        return blank(ax, "no rows", at_the_money[0])
    names = [*(f"{delta:g}Δ put" for delta in deltas), "ATM", *(f"{delta:g}Δ call" for delta in reversed(deltas))]
    ax.set_xticks(places, names)
    ax.set_xlabel("wings: at the money ± half of the skew, put less call", fontsize="small")
    return ax


def _delta(one: Drawable) -> float | None:
    """The delta of a summary symbol such as BTC_25; None where it names none."""
    found = re.search(r"_(\d+(?:\.\d+)?)$", one.id.raw_symbol or "")
    delta = float(found[1]) if found else math.nan
    return delta if 0 < delta < 50 else None


def _moments(ax: Any, places: Sequence[float], values: Sequence[tuple[Drawable, Any]], made: Any) -> bool:
    """Adds a line for each of some moments, made of the values of each series; whether there are any."""
    import numpy as np

    moments = np.unique(np.concatenate([one.timestamps for one, _ in values]))
    if not len(moments):
        return False
    chosen = moments[np.unique(np.round(np.linspace(0, len(moments) - 1, MOMENTS)).astype(int))]
    colours, latest_light = load("matplotlib").colormaps["viridis"], is_dark(ax)
    for number, moment in enumerate(chosen):
        row = []
        for one, column in values:
            at = np.flatnonzero(one.timestamps == moment)
            row.append(float(column[at[0]]) if len(at) else math.nan)
        strength = number / max(1, len(chosen) - 1)
        colour = colours(0.15 + 0.85 * strength if latest_light else 0.9 * (1 - strength))
        style = {"color": colour, "linewidth": 1 + strength, "marker": "o", "markersize": 4}
        ax.plot(places, made(row), label=f"{iso(moment)} UTC", **style)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    legend(ax)
    return True
