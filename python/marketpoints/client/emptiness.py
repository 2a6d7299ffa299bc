"""Why an answer may hold no rows, in words."""

from ..common.times import iso
from ..identity import Asked

__all__ = ["last_day", "why_nothing"]


def why_nothing(asked: Asked, listed: bool | None, data_end: float | None) -> str:
    """What explains an answer without rows.

    Args:
        asked: What was asked for, and when.
        listed: Whether the service lists the symbol or coin; None where nobody knows.
        data_end: End of the service's data, Unix seconds, where they end.
    """
    if asked.window is None:
        return "the answer holds no data"
    start, end = asked.window
    if start >= end:
        now = "" if asked.now is None else f" at {iso(asked.now)} UTC"
        return (
            f"the window holds no bucket that was closed{now}, so nothing was asked; "
            "include_forming=True takes those that form"
        )
    window = f"{iso(start)} to {iso(end)} UTC"
    if data_end is not None and start >= data_end:
        return (
            f"the data of the service end on {last_day(data_end)}, before {window}; "
            f"LocalService(…, now={iso(data_end)!r}) sets its clock there"
        )
    may = ["nothing happened there", "the market opened later or is closed (client.markets: available_since)"]
    if listed is not True:
        may.append("the service does not know the symbol or coin (client.symbols, client.coins)")
    return f"the service has no rows from {window}: {', or '.join(may)}"


def last_day(end: float) -> str:
    """The last day before an end."""
    return iso(end - 1)[:10]
