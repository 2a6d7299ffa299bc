"""Facts of the engine's table of data types, by wire name; a name that is not in the table has none of them."""

from typing import Any, Literal, TypeAlias

from .. import _engine

__all__ = ["TABLE", "Role", "adds_up", "amount", "role", "title"]

#: How a type is drawn: candles, bars by side, lines, volume by time and price, volume by price, sessions.
Role: TypeAlias = Literal["candles", "bars", "lines", "heatmap", "profile", "sessions"]

#: The rows of the table by wire name.
TABLE: dict[str, dict[str, Any]] = {row["name"]: row for row in _engine.data_types()}


def title(type: str | None) -> str:  # noqa: A002 - the wire's own name
    """The name of a type in titles; the wire name of a type that is not in the table."""
    return str(_fact(type, "title", type or "series"))


def role(type: str | None) -> Role | None:  # noqa: A002
    """How a type is drawn; None if it is not in the table."""
    known: Role | None = _fact(type, "role", None)
    return known


def amount(type: str | None) -> str:  # noqa: A002
    """The amounts of a type, such as ``traded volume``; empty where it has none."""
    return str(_fact(type, "amount", ""))


def adds_up(type: str | None) -> bool:  # noqa: A002
    """Whether the amounts of several buckets add up: they count events, and not a state at a moment."""
    return bool(_fact(type, "adds_up", False))


def _fact(type: str | None, name: str, otherwise: Any) -> Any:  # noqa: A002
    row = TABLE.get(type or "")
    return otherwise if row is None else row[name]
