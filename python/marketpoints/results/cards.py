"""Cards of series in notebooks: identity, window, rows and gaps, a line of values, the first and last rows."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..common.display import EDGE, SHOWN, card, cell, grid
from ..common.dtypes import dtype_kind
from ..common.sparks import spark
from ..common.times import iso
from ..errors import Error
from .arrow_tables import SIDES
from .ragged import cut

__all__ = ["series_card", "set_card", "trend"]

#: The column that a card draws: the first of these that the series has.
FIRST = ("close", "liquidations", "rate_close", "skew", "implied_volatility", "marketcap")
#: A card must be fast: with more rows gaps are not counted, with more levels there is no line.
MANY = 5_000_000


def series_card(series: Any, paid: Mapping[str, str] | None = None) -> str:
    """A series' card in HTML, with what its call cost where that is known."""
    facts = series._facts() | _window(series) | (paid or {})
    return card(f"{type(series).__name__} {series.id}", facts, trend(series) + _ends(series))


def set_card(every: Sequence[Any], hints: Sequence[str], paid: Mapping[str, str]) -> str:
    """The card of several series: a row each, with a line of its values."""
    header = ["series", "rows", "from (UTC)", "to (UTC)", "gaps", ""]
    rows = []
    for one in every[:SHOWN]:
        ends = [iso(edge) for edge in one.timestamps[[0, -1]]] if len(one) else ["", ""]
        rows.append([str(one.id), f"{len(one):,}", *ends, _window(one).get("gaps", "")])
    notes = "".join(f"<div>{escape(hint.strip())}</div>" for hint in hints)
    trends = [trend(one) for one in every[:SHOWN]]
    return card(f"SeriesSet of {len(every):,}", paid, grid(header, rows, [], 0, beside=trends, left=1) + notes)


def _window(series: Any) -> dict[str, str]:
    """The requested window, and how much of it is missing, where that is known."""
    facts: dict[str, str] = {}
    if series.requested is not None:
        start, end = (iso(edge) for edge in series.requested)
        facts["asked"] = f"{start} to {end} UTC"
    if len(series) > MANY:
        return facts
    try:
        gaps = len(series.gaps())
    except Error:  # the length of a bucket is not known
        return facts
    return facts | {"gaps": f"{gaps:,} bucket{'' if gaps == 1 else 's'}" if gaps else "none"}


def trend(series: Any) -> str:
    """A line of a series' values as inline SVG; empty where there are none to show."""
    import numpy as np

    from ..plots.overlays import middles

    if len(series) < 2:
        return ""
    name, values = "", None
    if hasattr(series, "split"):
        name, values = "middle of the book", middles(series)
        if not np.isfinite(values).sum() > 1:
            name, values = "volume", _sums(series, ("volumes",))
    elif hasattr(series, "buys"):
        name, values = "volume", _sums(series, ("buys", "sells"))
    else:
        named = [name for name in (*FIRST, *series.columns) if name in series]
        numbers = (one for one in named if dtype_kind(series[one]) in ("f", "i", "u"))
        name = next(numbers, "")
        values = series[name] if name else None
    if values is None:
        return ""
    return spark(values, series.timestamps.view("int64"), name.replace("_", " "))


def _sums(series: Any, names: Sequence[str]) -> Any:
    """Sum over the levels of each row."""
    import numpy as np

    offsets = series.offsets
    if offsets[-1] > MANY:
        return None
    values = np.nan_to_num(sum(getattr(series, name) for name in names))
    upto = np.append(0.0, np.cumsum(values))
    return upto[offsets[1:]] - upto[offsets[:-1]]


def _ends(series: Any) -> str:
    """The first and the last rows of a series' table in HTML; price levels have a row each."""
    few = len(series) <= 2 * EDGE
    head, tail = (series, series) if few else (series.head(EDGE), series.tail(EDGE))
    (first_times, first), (last_times, last) = head.flat(), tail.flat()
    whole = few and len(first_times) <= 2 * EDGE
    front, back = (len(first_times), 0) if whole else (min(EDGE, len(first_times)), min(EDGE, len(last_times)))
    above = _cells(first_times[:front], {name: cut(values, 0, front) for name, values in first.items()})
    start = len(last_times) - back
    below = _cells(last_times[start:], {name: cut(values, start, start + back) for name, values in last.items()})
    return grid(["time (UTC)", *first], above, below, 0 if whole else series._lines() - front - back)


def _cells(times: Any, columns: Mapping[str, Any]) -> list[list[str]]:
    """Rows as texts."""
    values = [times, *(_sides(name, column) for name, column in columns.items())]
    return [[cell(one[row]) for one in values] for row in range(len(times))]


def _sides(name: str, column: Any) -> Any:
    coded = name == "side" and dtype_kind(column) == "i"
    return [(*SIDES, None)[code] for code in column] if coded else column
