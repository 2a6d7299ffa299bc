"""Time axes: short labels in UTC, as many as there is room for, and the date in the corner."""

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from ..common.optional import load
from .colours import QUIET

__all__ = ["times"]

#: Inches that a label has at least.
LABEL_ROOM = 0.45


def times(ax: Any) -> None:
    """Formats the time axis."""
    dates = load("matplotlib.dates")
    # More labels would run into each other; with fewer than 5, or than 7 where 3 are wanted, the locator finds none.
    most = max(5, min(9, int(ax.bbox.width // 75)))
    locator = dates.AutoDateLocator(minticks=3 if most >= 7 else 2, maxticks=most, tz="UTC")
    ax.xaxis.set_major_locator(locator)
    beside = [f"{text} UTC".lstrip() for text in ("", "%Y", "%b %Y", "%d %b %Y", "%d %b %Y", "%d %b %Y %H:%M")]

    class Dates(dates.ConciseDateFormatter):  # type: ignore[misc, name-defined]
        """Short dates, with the month at the first day too: the corner only shows that of the last."""

        corner: str | None = None

        def get_offset(self) -> str:
            """The text in the corner."""
            whole: str = super().get_offset()
            return self.corner or whole or "UTC"

        def format_ticks(self, values: Any) -> list[str]:
            labels: list[str] = super().format_ticks(values)
            days = [dates.num2date(value, tz="UTC") for value in values]
            self.corner = _corner(days)
            if days and all((day.hour, day.minute) == (0, 0) for day in days) and any(day.day != 1 for day in days):
                first, last = days[0], days[-1]
                if first.day != 1 and (first.year, first.month) != (last.year, last.month):
                    labels[0] = f"{first:%d %b}"
            return _spaced(labels, ax)

    ax.xaxis.set_major_formatter(Dates(locator, tz="UTC", offset_formats=beside))
    ax.grid(visible=True, color=QUIET, alpha=0.15, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _corner(days: Sequence[dt.datetime]) -> str | None:
    """The date in the corner, where not that of the last label alone says it."""
    if len(days) < 3:
        return None
    first, last = days[0], days[-1]
    # Of a day or its evening, the day of these hours, not that which begins at their end.
    if last - first <= dt.timedelta(days=1) and last.day != days[-2].day:
        return f"{first:%d %b %Y} UTC"
    if first.year == last.year or all((day.month, day.day) == (1, 1) for day in days):
        return None
    if any((day.hour, day.minute) != (0, 0) for day in days):  # a label says where the year begins
        return None
    if all(day.day == 1 for day in days):
        return f"{first.year} to {last.year} UTC"
    return f"{first:%b %Y} to {last:%b %Y} UTC"


def _spaced(labels: list[str], ax: Any) -> list[str]:
    """The labels of a narrow axis, those left out that would run into others; a date stays."""
    inches = ax.bbox.width / ax.figure.dpi
    every = max(1, math.ceil(len(labels) / max(1, inches / LABEL_ROOM)))
    kept = next((place for place, label in enumerate(labels) if ":" not in label), 0) % every
    return [label if place % every == kept else "" for place, label in enumerate(labels)]
