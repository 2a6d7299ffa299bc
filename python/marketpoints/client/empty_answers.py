"""Explains why an answer may have no rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _engine
from ..common.clock import CLOCK
from ..common.times import iso
from ..identity import Provenance
from ..printable import printable

__all__ = ["last_day", "why_no_market", "why_nothing"]

#: The filters of a list of markets: the user's name by the engine's.
FILTERS = {
    "exchanges": "exchange",
    "coins": "coin",
    "categories": "category",
    "types": "type",
    "symbol_filter": "symbol_filter",
}
#: Most values of a filter that are shown.
SHOWN = 5
#: Largest difference in seconds between clocks that show the same time.
FAR = 300


def why_nothing(
    asked: Provenance,
    listed: bool | None,
    data_end: float | None,
    no_bucket: str | None = None,
    service_time: float | None = None,
) -> str:
    """The explanation of an answer without rows.

    Args:
        asked: What was asked for, and when.
        listed: Whether the service lists the symbol or coin; None if not known.
        data_end: End of the service's data, Unix seconds, where they end.
        no_bucket: Why the window holds no bucket, in words, where it holds none.
        service_time: What the service's clock says, Unix seconds; None where it did not answer yet.
    """
    if asked.window is None:
        return "the answer holds no data"
    start, end = asked.window
    clocks = _clocks(asked.now, service_time)
    if start >= end:
        return (no_bucket or "the window holds no bucket") + clocks
    window = f"{iso(start)} to {iso(end)} UTC"
    if data_end is not None and start >= data_end:
        return (
            f"the data of the service end on {last_day(data_end)}, before {window} (of one market maybe earlier); "
            f"ask for a window before that, or set its clock there: `marketpoints serve --now {iso(data_end)}`, "
            f"LocalService(now={iso(data_end)!r})"
        )
    may = ["nothing happened there", "the market opened later or is closed (its listing says available_since)"]
    if listed is not True:
        may.append("the service does not know the symbol or coin (it lists those that it has)")
    return f"the service has no rows from {window}: {', or '.join(may)}{clocks}"


def _clocks(now: float | None, service_time: float | None) -> str:
    """A note on two clocks that differ too much: one of them is set to another time."""
    if now is None or service_time is None or abs(service_time - now) < FAR:
        return ""
    return (
        f"; the service's clock says {iso(service_time // 1)} UTC and this client's {iso(now // 1)} UTC: for a service "
        f"of another time set {_engine.spelled_setting('clock', CLOCK)}, as `marketpoints serve` prints it"
    )


def why_no_market(filters: Mapping[str, Any]) -> str:
    """The explanation of a list without markets.

    Args:
        filters: What a market had to pass, by the engine's names: a text or several.
    """
    passed = {name: filters[given] for given, name in FILTERS.items() if filters.get(given)}
    if extra := filters.get("extra"):
        passed["extra"] = [name for name, _ in extra]
    if not passed:
        return "the service lists none"
    shown = ", ".join(f"{name}={_several(values)}" for name, values in passed.items())
    coins = passed.get("coin", ())
    other = [coin.upper() for coin in coins if coin.upper() not in coins]
    hint = f"; the service compares names with their case: is it {printable(other[0])}?" if other else ""
    return f"the service lists none with {shown}{hint}"


def _several(values: str | Sequence[str]) -> str:
    """What a filter was given, the first of many."""
    if isinstance(values, str):
        return printable(values)
    more = [f"{len(values) - SHOWN:,} more"] if len(values) > SHOWN else []
    return " or ".join([*map(printable, values[:SHOWN]), *more])


def last_day(end: float) -> str:
    """The last day before an end."""
    return iso(end - 1)[:10]
