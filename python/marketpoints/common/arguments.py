"""Converts users' arguments for the engine, in one place for every client and the command line."""

import operator
import os
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from .. import _engine
from ..errors import InvalidRequest
from .data_types import TABLE
from .dtypes import dtype_kind
from .intervals import BY_LENGTH
from .secrets import Hidden, of_type, redacted, redacted_path
from .suggest import did_you_mean
from .texts import sendable
from .times import Interval, is_number, to_duration

__all__ = [
    "ANALYTICS",
    "METHODS",
    "Extra",
    "Names",
    "Sizes",
    "analytics",
    "data_type",
    "interval_name",
    "names",
    "pairs",
    "rows",
    "series_type",
]

Entry = TypeVar("Entry")
#: One name or several.
Names: TypeAlias = str | Iterable[str] | None
#: A price step, or one for each symbol or coin.
Sizes: TypeAlias = float | Iterable[float] | None
#: Parameters passed through as they are, by wire name; a list repeats the parameter.
Extra: TypeAlias = Mapping[str, Any] | None

#: The series methods and the data type that each asks for.
METHODS: dict[str, str] = {row["method"]: name for name, row in TABLE.items()}

#: The analytics methods, and the row of each in the engine's table.
ANALYTICS: dict[str, dict[str, Any]] = {row["method"]: row for row in _engine.analytics_endpoints()}


def data_type(type: str) -> str:  # noqa: A002 - the wire's own name
    """The wire name of a data type, given by that name or by its series method's.

    Other names that do not look like a typo of a known one pass unchanged: the engine checks wire names.

    Raises:
        InvalidRequest: It is no text, or a misspelt method's name; the message has the right one.
    """
    name = text(type, "type") or ""
    if name in METHODS:
        return METHODS[name]
    # Wire names are upper case; the engine finds typos of them.
    if name and not name.isupper() and analytics(name) is None:
        near = _engine.closest(name.replace("-", "_"), [*METHODS, *ANALYTICS])
        if near is not None:
            raise InvalidRequest(f"type {name!r} is no data type{did_you_mean(near)}")
    return name


def series_type(type: str) -> str:  # noqa: A002 - the wire's own name
    """Like :func:`data_type`, for types that have points.

    Raises:
        InvalidRequest: As there; also for the analytics, with how to ask them.
    """
    name = text(type, "type")
    if name in TABLE:
        return name
    if method := analytics(type):
        raise InvalidRequest(
            f"{type} has no points: ask it in Python by client.{method}(…), "
            f'what it costs by client.plan("{method}", …) or `marketpoints weight {method}`'
        )
    return data_type(type)


def analytics(type: str) -> str | None:  # noqa: A002 - the wire's own name
    """The analytics method of that name, or of that name of an endpoint; None where there is none.

    Raises:
        InvalidRequest: The name is no text.
    """
    name = (text(type, "type") or "").replace("-", "_")
    return name if name in ANALYTICS else None


def names(value: Names, name: str) -> list[str]:
    """One name or several as a list; None is an empty one.

    Raises:
        InvalidRequest: The value holds something else than texts, or nothing: a list that is empty by mistake
            would ask for everything.
    """
    if value is None:
        return []
    several: Any = [value] if isinstance(value, str) else value
    try:
        if isinstance(several, (bytes, bytearray, memoryview)):
            raise TypeError("their parts are numbers")
        listed = [_name(one, name) for one in several]
    except TypeError:
        raise InvalidRequest(f"{name}: {redacted(value)} is neither a name nor a list of names") from None
    return _filled(listed, name)


def _name(value: object, name: str) -> str:
    checked = text(value, name)
    if checked is None:
        raise InvalidRequest(f"{name}: None is among the names; leave it out")
    return checked


def numbers(value: Sizes, name: str) -> list[float]:
    """One number or several as a list; None is an empty one.

    Raises:
        InvalidRequest: The value holds something else than numbers, or nothing.
    """
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        one = number(value, name)
        return [] if one is None else [one]
    several = [number(one, name) for one in value]
    return _filled([one for one in several if one is not None], name)


def _filled(listed: list[Entry], name: str) -> list[Entry]:
    if listed:
        return listed
    raise InvalidRequest(f"{name}: the list is empty; name at least one, or leave it out")


def pairs(extra: Extra) -> list[tuple[str, str]]:
    """Pass-through parameters as the wire spells them; None leaves a parameter out.

    Raises:
        InvalidRequest: ``extra`` is no mapping of names to values.
    """
    if extra is None:
        return []
    if not isinstance(extra, Mapping):
        raise InvalidRequest(f"extra: {redacted(extra)} is not a mapping of parameter names to values")
    spelled = []
    for name, value in extra.items():
        several = value if isinstance(value, (list, tuple)) else [value]
        spelled += [(text(name, "extra") or "", sendable(_spell(one), "extra")) for one in several if one is not None]
    return spelled


def text(value: object, name: str) -> str | None:
    """A text or None.

    Raises:
        InvalidRequest: The value is something else, or no text that could be sent.
    """
    if value is None:
        return value
    if not isinstance(value, str):
        raise InvalidRequest(f"{name}: {of_type(value)} is not a text")
    return sendable(value, name)


def interval_name(value: Interval | None, name: str = "interval") -> str | None:
    """The name of an interval; a duration, such as ``timedelta(hours=1)``, gives that of its length.

    Raises:
        InvalidRequest: It is neither a text nor a duration, or no interval has that length.
    """
    if value is None or isinstance(value, str):
        return text(value, name)
    # A plain number could be seconds or minutes.
    seconds = None if is_number(value) or isinstance(value, bool) else to_duration(value, name)
    if seconds in BY_LENGTH:
        return BY_LENGTH[seconds].short
    known = ", ".join(row.short for row in BY_LENGTH.values())
    raise InvalidRequest(
        f"{name}: {value!r} of type {type(value).__name__} is no interval; those are {known}, "
        "wire names, and durations of these lengths"
    )


def folder(value: Any) -> str:
    """Where an archive lies: a folder by its path or ``file://`` address, or the address of an object store.

    Raises:
        InvalidRequest: The value names neither.
    """
    path = new_path(value, "archive", "folder")
    if path.startswith("file://"):
        address = urllib.parse.urlsplit(path)
        if address.netloc not in ("", "localhost"):
            raise InvalidRequest(
                "archive: a file:// address with a host is a folder of another machine; write file:///folder"
            )
        from urllib.request import url2pathname  # brings an HTTP client and TLS with it, for this alone

        return url2pathname(address.path)
    return path


def new_path(value: Any, name: str, kind: str) -> str:
    """The path of a file or folder (``kind``) that need not exist yet.

    Raises:
        InvalidRequest: The value is no path.
    """
    path = _path(value)
    if not path:
        raise InvalidRequest(f"{name}: {redacted(value)} is not a {kind}")
    return sendable(path, name)


def path_text(value: Any, name: str) -> str:
    """The path of an existing file or folder.

    Raises:
        InvalidRequest: The value is no path; or it looks like none and nothing is there: it is not shown, since it may
            be a key. What looks like one is for the engine to open.
    """
    path = _path(value)
    if path is None:
        raise InvalidRequest(f"{name}: {redacted(value)} is not a path")
    shown = redacted_path(path)
    if shown != path and not os.path.lexists(path):
        raise InvalidRequest(f"{name}: {shown} is no path of anything that is there")
    return path


def _path(value: Any) -> str | None:
    """The text of a path; None for anything else, and for one in bytes."""
    try:
        path = os.fspath(value)
    except TypeError:
        return None
    return path if isinstance(path, str) else None


def archive_engine(value: Any) -> _engine.Archive:
    """The engine's archive of an :class:`~marketpoints.Archive`, of a folder, or of an object store's address.

    Raises:
        InvalidRequest: The value is none of them.
    """
    engine = getattr(value, "_engine", None)
    return engine if isinstance(engine, _engine.Archive) else _engine.Archive(folder(value))


def store_options(given: Hidden[Any]) -> Hidden[list[tuple[str, str]]]:
    """Options of an object store as names and texts; they may hold credentials.

    Raises:
        InvalidRequest: The value is no mapping of names to texts, numbers and truth values. No value is shown.
    """
    if given.reveal() is None:
        return Hidden([])
    if not isinstance(given.reveal(), Mapping):
        raise InvalidRequest(f"storage_options: a {type(given.reveal()).__name__} is no mapping of names to values")
    # No loop's variable is left for a traceback with locals.
    wrong = [
        f"{type(name).__name__} to {type(option).__name__}"
        for name, option in given.reveal().items()
        if not isinstance(name, str) or not isinstance(option, (str, bool, int, float))
    ]
    if wrong:
        raise InvalidRequest(f"storage_options: {wrong[0]}; names are texts, values texts, numbers or truth values")
    return Hidden([(name, _spell(option)) for name, option in given.reveal().items()])


def flag(value: object, name: str) -> bool:
    """A truth value.

    Raises:
        InvalidRequest: The value is no bool: a text such as ``"false"`` would count as true.
    """
    if isinstance(value, bool):
        return value
    raise InvalidRequest(f"{name}: {redacted(value)} is neither True nor False")


def seconds(value: Any, name: str) -> float:
    """A number of seconds.

    Raises:
        InvalidRequest: The value is no number.
    """
    checked = number(value, name)
    if checked is None:
        raise InvalidRequest(f"{name}: None is not a number of seconds")
    return checked


def count(value: Any, name: str) -> int | None:
    """A whole number above 0, or None.

    Raises:
        InvalidRequest: The value is something else.
    """
    return None if value is None else between(value, name, 1, 2**32 - 1)


def rows(limit: Any) -> int | None:
    """Most rows of a listing, or None for all of them.

    Raises:
        InvalidRequest: The value is no whole number above 0.
    """
    if limit is None:
        return None
    try:
        return between(limit, "limit", 1, 2**32 - 1)
    except InvalidRequest:
        message = f"limit: {limit!r} is not a number of rows; give 1 or more, or leave it out for as many as can be had"
        raise InvalidRequest(message) from None


def weight_bound(value: Any) -> int | None:
    """A ``max_weight``: a whole number, 0 included, or None.

    Raises:
        InvalidRequest: The value is something else.
    """
    return None if value is None else between(value, "max_weight", 0, 2**63 - 1)


def between(value: Any, name: str, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most``.

    Raises:
        InvalidRequest: The value is something else.
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if least <= number <= most:
        return number
    # A technical bound is not helpful in a message, unless it was passed.
    bounds = f"from {least} to {most}" if most < 2**31 or number > most else f"of {least} or more"
    raise InvalidRequest(f"{name}: {redacted(value)} is not a whole number {bounds}")


def whole(value: Any, name: str) -> int | None:
    """A whole number, or None.

    Raises:
        InvalidRequest: The value is something else.
    """
    return None if value is None else between(value, name, -(2**63), 2**63 - 1)


def number(value: Any, name: str) -> float | None:
    """A number or None.

    Raises:
        InvalidRequest: The value is something else.
    """
    if value is None:
        return None
    try:
        # NumPy converts times and durations to numbers in their own unit.
        if not isinstance(value, (bool, str)) and dtype_kind(value) not in ("m", "M"):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidRequest(f"{name}: {redacted(value)} is not a number")


def _spell(value: object) -> str:
    # NumPy's True is no bool.
    return str(value).lower() if isinstance(value, bool) or dtype_kind(value) == "b" else str(value)
