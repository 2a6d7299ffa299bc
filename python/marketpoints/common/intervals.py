"""The engine's table of intervals: names and lengths."""

from typing import NamedTuple

from .. import _engine

__all__ = ["BY_LENGTH", "BY_NAME", "DAY", "HOUR", "MINUTE", "WEEK", "KnownInterval"]


class KnownInterval(NamedTuple):
    """A row of the table.

    Attributes:
        wire: Name on the wire, such as ``HOUR``.
        short: Name as users type it, such as ``1h``.
        seconds: Length of a bucket.
    """

    wire: str
    short: str
    seconds: int


_ROWS = tuple(KnownInterval(*row) for row in _engine.intervals())
#: The intervals by both names.
BY_NAME: dict[str, KnownInterval] = {name: row for row in _ROWS for name in (row.wire, row.short)}
#: The intervals by their length in seconds, the shortest first.
BY_LENGTH: dict[int, KnownInterval] = {row.seconds: row for row in _ROWS}
#: Lengths in seconds.
MINUTE, HOUR, DAY, WEEK = (BY_NAME[name].seconds for name in ("1m", "1h", "1d", "1w"))
