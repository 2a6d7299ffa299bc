"""Short texts and notebook cards. Everything shown passes through an escape."""

import functools
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

from ..printable import printable
from .dtypes import dtype_kind
from .times import exact

__all__ = ["EDGE", "SHOWN", "card", "cell", "grid", "lines", "listing", "safe_repr"]

Shown = TypeVar("Shown")

# Quiet colours that read on light and dark notebooks.
CARD = "border:1px solid #8884;border-radius:6px;padding:.5em .8em;display:inline-block;line-height:1.4"
NAME = "opacity:.65;padding-right:1em;vertical-align:top;text-align:left"
CELL = "text-align:right;padding:0 .6em;white-space:nowrap"
SHOWN = 8
#: Rows that a card shows from each end of a table.
EDGE = 5
# Columns and characters of a cell that a card shows.
WIDE, LONG = 12, 40


def safe_repr(show: Callable[[Shown], str]) -> Callable[[Shown], str]:
    """A ``__repr__`` that does not raise for an object whose constructor failed: tracebacks with locals show such."""

    @functools.wraps(show)
    def shown(self: Shown) -> str:
        try:
            return show(self)
        except AttributeError:
            return f"<{type(self).__name__}, not made>"

    return shown


def lines(facts: Mapping[str, str]) -> str:
    """Facts on one line."""
    return ", ".join(printable(f"{name} {value}") for name, value in facts.items())


def card(title: str, facts: Mapping[str, str], below: str = "") -> str:
    """Facts as an HTML card, with HTML below them."""
    rows = "".join(
        f'<tr><td style="{NAME}">{_shown(name)}</td><td style="text-align:left">{_shown(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div style="{CARD}"><b>{_shown(title)}</b><table style="border:0">{rows}</table>{below}</div>'


def _shown(text: str) -> str:
    return escape(printable(text))


def cell(value: Any) -> str:
    """A value in a few characters."""
    if value is None:
        return ""
    if isinstance(value, Mapping) or bool(getattr(value, "ndim", False)):
        return f"{len(value):,} value{'' if len(value) == 1 else 's'}"
    kind = dtype_kind(value)
    if kind == "M":
        return exact(value)
    if kind == "f":
        value = rounded(value)
    text = repr(value.item()) if kind and kind in "iub" else str(value)
    return printable(text if len(text) <= LONG else f"{text[: LONG - 1]}…")


def rounded(value: Any) -> float:
    """A number for the eye: sums end in digits of rounding, such as 0.30000000000000004."""
    return float(f"{value:.12g}") if abs(value) < 1e12 else float(value)


def grid(
    header: Sequence[str],
    first: Sequence[Sequence[str]],
    last: Sequence[Sequence[str]],
    left_out: int,
    *,
    beside: Sequence[str] | None = None,
    left: int = 0,
) -> str:
    """The first and the last rows of a table in HTML, with how many are left out in between.

    ``beside`` is HTML for each of the first rows, in a cell of its own at the end; so many columns stand to the
    ``left``.
    """
    names = [*header[:WIDE], *(["…"] if len(header) > WIDE else [])]

    def line(cells: Sequence[str], tag: str, more: str = "") -> str:
        styles = [CELL.replace("right", "left", 1) if at < left else CELL for at in range(len(cells))]
        shown = zip(styles, cells[: len(names)], strict=False)
        made = "".join(f'<{tag} style="{style}">{_shown(text)}</{tag}>' for style, text in shown)
        return f"<tr>{made}{more}</tr>"

    between = f'<tr><td colspan="{len(names)}" style="text-align:center">… {left_out:,} more</td></tr>'
    ends = [""] * len(first) if beside is None else [f'<td style="{CELL}">{html}</td>' for html in beside]
    rows = [*(line(cells, "td", end) for cells, end in zip(first, ends, strict=True))]
    rows += [*([between] if left_out else []), *(line(cells, "td") for cells in last)]
    return f'<table style="border:0">{line(names, "th")}{"".join(rows)}</table>'


def listing(items: list[str]) -> str:
    """A list for an error message, cut where it gets long."""
    shown = "; ".join(items[:SHOWN])
    return shown if len(items) <= SHOWN else f"{shown}; and {len(items) - SHOWN} more"
