"""Labels of plots: titles, units, names of several series."""

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from .. import _engine
from ..common import data_types
from ..common.intervals import BY_NAME, DAY, HOUR, MINUTE, WEEK
from ..common.optional import load
from ..common.protocols import Drawable
from ..identity import SeriesId, of_sum
from ..printable import printable

__all__ = [
    "amount_unit",
    "bare",
    "identity_of",
    "in_unit",
    "interval_of",
    "known_of",
    "label",
    "market_of",
    "names",
    "plain",
    "price_label",
    "shared",
    "short",
    "short_amounts",
    "title",
    "volume_per",
]

PREDICTIONS = _engine.vocabulary()["prediction_exchange"]
#: The names of a market; the first by which several differ is used.
MARKET = ("raw_symbol", "normalized_symbol", "coin", "token_name")


def plain(name: str) -> str:
    """A foreign name, escaped for matplotlib, which would parse text between two dollar signs as mathematics."""
    return re.sub(r"(?<!\\)\$", r"\\$", printable(name))


def bare(text: str) -> str:
    """A text with :func:`plain` names, for outputs without mathematics."""
    return text.replace(r"\$", "$")


def known_of(shown: Drawable) -> SeriesId:
    """The identity of a series; a sum over exchanges names no market (supplement 2), so it is taken from the query."""
    return of_sum(shown.id, shown.asked_for, " + ")


def identity_of(shown: Drawable) -> SeriesId:
    """Like :func:`known_of`, in :func:`plain` names."""
    identity = known_of(shown)
    names: dict[str, Any] = {name: plain(value) for name, value in identity.known().items() if hasattr(identity, name)}
    return replace(identity, **names)


def market_of(identity: SeriesId) -> str:
    """A short name of a market for titles; empty where it is not known."""
    symbol = brief(identity.raw_symbol or identity.normalized_symbol or identity.coin or "")
    return f"{symbol} on {identity.exchange}" if symbol and identity.exchange else symbol or identity.exchange or ""


def brief(name: str) -> str:
    """A name short enough for a title or a legend: a prediction market's condition has 66 characters."""
    return plain(f"{name[:10]}…{name[-6:]}") if len(name) > 24 else name


def interval_of(identity: SeriesId) -> str | None:
    """An interval as users type it."""
    known = BY_NAME.get(identity.interval or "")
    return identity.interval if known is None else known.short


def volume_per(what: str, identity: SeriesId) -> str:
    """The label of a volume with its time: ``traded volume per hour``; without it where the interval is not known."""
    known = BY_NAME.get(identity.interval or "")
    for name, length in (("week", WEEK), ("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if known is not None and known.seconds % length == 0:
            count = known.seconds // length
            return f"{what} per {name}" if count == 1 else f"{what} per {count} {name}s"
    return what


def title(identity: SeriesId, unit: str | None = None, name: str | None = None) -> str:
    """The title of a picture: market, quantity with its unit, side, tenor and interval.

    ``name`` is the quantity, in the place of the data type's title.
    """
    what = in_unit(data_types.title(identity.type) if name is None else name, unit)
    parts = (market_of(identity), identity.token_name, what, identity.side, identity.tenor, interval_of(identity))
    return " · ".join(part for part in parts if part)


def in_unit(what: str, unit: str | None) -> str:
    """A quantity with its unit, where that is known."""
    return f"{what} in {unit}" if unit else what


def label(what: str, unit: str | None) -> str:
    """An axis' label: a quantity with its unit in brackets, where that is known."""
    return plain(f"{what} ({unit})" if unit else what)


def amount_unit(shown: Drawable) -> str | None:
    """The unit of volumes, liquidations and open interest (section 2.3, supplement 4); None where it is not known."""
    identity = identity_of(shown)
    if shown.usd is None:
        return None
    if shown.usd:
        return "USD"
    if identity.exchange in PREDICTIONS:
        return "shares"
    if identity.exchange and identity.raw_symbol:
        worth = _engine.contract_usd(identity.exchange, identity.raw_symbol)
        if worth is not None:  # an inverse market counts contracts, not coins
            return "USD" if worth == 1 else f"contracts of {worth:g} USD"
    return identity.coin or "coin"


def price_label(shown: Drawable) -> str:
    """Label of an axis of prices: in USD where asked so, else in the market's quote where its name shows it."""
    if shown.id.exchange in PREDICTIONS:
        return label("price", "probability")
    _, _, quote = (shown.id.normalized_symbol or "").partition("-")
    return label("price", "USD" if shown.usd else plain(quote.partition("-")[0]))


def shared(ids: Sequence[SeriesId]) -> SeriesId:
    """The common identity of several."""
    first = ids[0]
    different = [
        one.name for one in fields(SeriesId) if any(getattr(i, one.name) != getattr(first, one.name) for i in ids)
    ]
    blank: dict[str, Any] = {name: {} if name == "extra" else None for name in different}
    return replace(first, **blank)


def names(ids: Sequence[SeriesId]) -> list[str]:
    """Names by which several series differ, for a legend."""
    common = shared(ids).known()
    different = [{name: value for name, value in one.known().items() if name not in common} for one in ids]
    different = [one | ({"type": data_types.title(one["type"])} if "type" in one else {}) for one in different]
    labels = [" ".join(map(brief, _least(values).values())) for values in different]
    if len(set(labels)) < len(labels):
        labels = [" ".join(values.values()) for values in different]
    return [name or f"series {place + 1}" for place, name in enumerate(labels)]


def _least(values: dict[str, str]) -> dict[str, str]:
    """An identity's fields, with only the first of the market's names."""
    first = next((name for name in MARKET if name in values), None)
    return {name: value for name, value in values.items() if name == first or name not in (*MARKET, "category")}


def short(value: float) -> str:
    """A number in up to four or five characters: 0.012, 1.2, 12, 123, 1.2k, 12k, 1.2M."""
    size = abs(value)
    for unit, text in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if size >= 0.9995 * unit:
            return f"{value / unit:.1f}{text}" if size < 9.95 * unit else f"{value / unit:.0f}{text}"
    return f"{value:.0f}" if size >= 9.95 or size == 0 else f"{value:.1f}" if size >= 0.95 else f"{value:.2g}"


def short_amounts(*, signed: bool = False) -> Any:
    """A formatter of amounts: 1.5k, 20M, 3B, and 0.025, for which traders write no 25m."""
    ticker = load("matplotlib.ticker")
    short = ticker.EngFormatter(sep="")

    def spelled(value: float, _: object) -> str:
        shown = value + 0.0 if signed else abs(value)  # no -0
        return f"{shown:.6g}" if abs(shown) < 1 else short(shown).replace("G", "B")

    return ticker.FuncFormatter(spelled)
