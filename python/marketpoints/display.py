"""Short texts and notebook cards. Everything shown passes through an escape."""

from collections.abc import Mapping
from html import escape

__all__ = ["card", "lines", "listing"]

# Quiet colours that read on light and dark notebooks.
CARD = "border:1px solid #8884;border-radius:6px;padding:.5em .8em;display:inline-block;line-height:1.4"
NAME = "opacity:.65;padding-right:1em;vertical-align:top;text-align:left"
SHOWN = 8


def lines(facts: Mapping[str, str]) -> str:
    """Facts on one line."""
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def card(title: str, facts: Mapping[str, str]) -> str:
    """Facts as an HTML card."""
    rows = "".join(
        f'<tr><td style="{NAME}">{escape(name)}</td><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div style="{CARD}"><b>{escape(title)}</b><table style="border:0">{rows}</table></div>'


def listing(items: list[str]) -> str:
    """A list for an error message, cut where it gets long."""
    shown = "; ".join(items[:SHOWN])
    return shown if len(items) <= SHOWN else f"{shown}; and {len(items) - SHOWN} more"
