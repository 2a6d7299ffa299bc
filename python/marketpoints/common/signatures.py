"""Checks of keyword arguments: what several methods share, declared once as a ``TypedDict``, and misspelt ones."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from .. import _engine
from .suggest import did_you_mean

__all__ = ["checked_keywords", "hinted_keywords", "unknown"]

#: What a client takes and none of its calls does.
OF_CLIENTS = {
    "any_block_size", "api_key", "archive", "archive_source", "base_url", "budget", "ca_certs",
    "check_symbols", "clock", "dialect", "max_body", "max_memory", "max_wait", "proxy", "read_timeout",
    "retries", "tier", "timeout", "total_timeout",
}  # fmt: skip

#: What some call takes.
_of_calls: set[str] = set()

Method = TypeVar("Method", bound=Callable[..., Any])


def unknown(call: str, name: str, known: Iterable[str]) -> TypeError:
    """The error for an unknown keyword argument of a call, with the nearest known one as a hint."""
    names = list(known)
    containing = [one for one in names if name in one.split("_")]
    if name in OF_CLIENTS:
        hint = "; give it to Client(…) or AsyncClient(…)"
    elif near := did_you_mean(_engine.closest(name, names) or (containing[0] if len(containing) == 1 else None)):
        hint = near
    elif name in _of_calls:
        hint = "; other calls take it, not this one"
    else:
        hint = "; parameters that only the service knows go into extra={…}" if "extra" in names else ""
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}{hint}")


def _too_many(call: str, by_position: Sequence[str], every: Iterable[str]) -> TypeError:
    """The error for more arguments by position than a call takes."""
    rest = [name for name in every if name not in by_position]
    taken = ", ".join(name for name in by_position if name != "self")
    return TypeError(f"{call}() takes {taken or 'nothing'} by position, and by name {', '.join(rest)}")


def checked_keywords(arguments: type) -> Callable[[Method], Method]:
    """Decorator: a method takes only its own keywords and a ``TypedDict``'s; ``help`` lists them."""
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    _of_calls.update(arguments.__annotations__)
    named = [
        inspect.Parameter(name, keyword_only, default=False if kind is bool else None, annotation=kind)
        for name, kind in arguments.__annotations__.items()
    ]

    def decorate(method: Method) -> Method:
        signature = inspect.signature(method)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        positional = [one for one in own if one.kind is not keyword_only]
        checked = _checking(method, [one.name for one in [*own, *named]])
        checked.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*positional, *named, *own[len(positional) :]]
        )
        return checked

    return decorate


def hinted_keywords(method: Method) -> Method:
    """Decorator: an unknown keyword's error names the call as users type it, and what was meant.

    Python does the latter by itself since 3.13.
    """
    parameters = inspect.signature(method).parameters.values()
    known = [one.name for one in parameters if one.kind is not inspect.Parameter.VAR_POSITIONAL]
    if method.__name__ != "__init__":
        _of_calls.update(set(known) - {"self"})
    return _checking(method, known)


def _checking(method: Method, every: Sequence[str]) -> Method:
    made = method.__name__ == "__init__"  # maybe that of a base class, which nobody types
    if not made:
        method.__qualname__ = method.__name__  # Python's own TypeErrors would name the class too
    known = set(every)
    kinds = {one.name: one.kind for one in inspect.signature(method).parameters.values()}
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    by_position = [name for name, kind in kinds.items() if kind not in by_name]
    takes_more = inspect.Parameter.VAR_POSITIONAL in kinds.values() or len(by_position) == len(every)

    def typed(given: Sequence[Any]) -> str:
        """The call as users type it."""
        return type(given[0]).__name__ if made else method.__name__

    @functools.wraps(method)
    def checked(*given: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                raise unknown(typed(given), name, known - {"self"})
        if len(given) > len(by_position) and not takes_more:
            raise _too_many(typed(given), by_position, every)
        return method(*given, **keywords)

    return cast("Method", checked)
