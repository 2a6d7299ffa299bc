"""Keyword arguments that several methods share are written once, in typed dictionaries."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from .. import _engine
from .suggest import did_you_mean

__all__ = ["checked_keywords", "unknown"]

Method = TypeVar("Method", bound=Callable[..., Any])


def unknown(call: str, name: str, known: Iterable[str]) -> TypeError:
    """The error for a keyword argument that a call does not have, with the one that was meant."""
    near = _engine.closest(name, list(known))
    hint = did_you_mean(near) or "; parameters that only the service knows go into extra={…}"
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}{hint}")


def checked_keywords(arguments: type) -> Callable[[Method], Method]:
    """Makes a method whose keyword arguments a typed dictionary holds refuse others; ``help`` shows their names."""
    by_name = inspect.Parameter.KEYWORD_ONLY
    named = [
        inspect.Parameter(name, by_name, default=False if kind is bool else None, annotation=kind)
        for name, kind in arguments.__annotations__.items()
    ]

    def shown(method: Method) -> Method:
        method.__qualname__ = method.__name__  # for a TypeError of Python's own, which names the method behind
        signature = inspect.signature(method)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        places = [one for one in own if one.kind is not by_name]
        known = {one.name for one in [*own, *named]}

        @functools.wraps(method)
        def checked(*given: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in known:
                    raise unknown(method.__name__, name, known)
            return method(*given, **keywords)

        checked.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*places, *named, *own[len(places) :]]
        )
        return cast("Method", checked)

    return shown
