"""Keeps keys, passwords and credentials out of output, wherever local variables or attributes are listed."""

import functools
import os
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import InvalidRequest
from ..printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Hidden", "hidden_text", "hide_locals", "of_type", "redacted", "redacted_path"]

Value = TypeVar("Value", covariant=True)
Made = TypeVar("Made", bound="Callable[..., Any]")

#: Texts that are shown in full: words such as a tier's name, and texts too short for a key.
WORD, LONGEST_WORD, LONGEST = re.compile(r"[A-Za-z]?[a-z]+([_-][a-z]+)*|[A-Z]+"), 16, 7
#: And times: numbers with signs between them.
TIME = re.compile(r"\d{1,14}|(?=.*[-:./])[0-9TZ :.,+/-]{1,40}")
#: Longest ``repr`` that is shown of numbers, times and lengths of time.
LONGEST_REPR = 60
#: The ending of a file name.
ENDING = re.compile(r"[^/\\]\.[A-Za-z]{2,7}$")


class Hidden(Generic[Value]):
    """A value that is in no ``repr``, no attribute and no pickle.

    Tracebacks with locals, error reporters and debuggers list the variables of every frame on the way to an error. A
    function that is given a secret wraps it first and deletes its own name of it.
    """

    __slots__ = ("reveal",)

    def __init__(self, value: Value) -> None:
        # In a closure: listing the attributes shows a function.
        self.reveal: Callable[[], Value] = lambda: value

    def __repr__(self) -> str:
        return "<hidden>"

    def __reduce__(self) -> str:
        raise TypeError("a pickle never carries a secret")


def hidden_text(value: Hidden[object], name: str) -> Hidden[str | None]:
    """The value, checked to be a text or None.

    Raises:
        InvalidRequest: It is something else; the message names its type alone.
    """
    kind = type(value.reveal())
    if issubclass(kind, (str, type(None))):
        return value  # type: ignore[return-value] # as was just found
    raise InvalidRequest(f"{name}: a value of type {kind.__name__} is not a text")


def hide_locals(work: Made) -> Made:
    """A call that may be given a secret in any of its arguments, also in a wrong one.

    When it fails, no frame of it on the way to the error has a local variable left. The lines of the traceback stay.
    """

    @functools.wraps(work)
    def hidden_call(*args: Any, **settings: Any) -> Any:
        given, before = Hidden((args, settings)), Hidden(sys.exc_info()[1])
        del args, settings
        try:
            return work(*given.reveal()[0], **given.reveal()[1])
        except UnicodeEncodeError as error:
            clear_frames(error, before)
        except BaseException as error:
            clear_frames(error, before)
            raise
        # That error contains the full text.
        raise InvalidRequest("an argument is a text that is no Unicode: it has half of a surrogate pair in it")

    return hidden_call  # type: ignore[return-value] # of the same arguments


def clear_frames(error: BaseException, before: Hidden[BaseException | None]) -> None:
    """Clears the locals in the frames of an error and of its causes; errors handled earlier are left alone."""
    seen: set[int] = {id(before.reveal())}
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__]


def redacted(value: object) -> str:
    """The text of an argument that is safe in a message: it may be the key, passed in the wrong place.

    Short words, numbers and times are shown as they are, other texts by their length, everything else by its type.
    """
    if isinstance(value, str):
        word = (len(value) <= LONGEST_WORD and WORD.fullmatch(value)) or TIME.fullmatch(value)
        return repr(value) if word or len(value) <= LONGEST else f"a text of {len(value)} characters"
    kind = type(value)
    plain = (
        value is None or isinstance(value, (bool, int, float)) or kind.__module__ in ("datetime", "numpy", "decimal")
    )
    shown = repr(value) if plain and not getattr(value, "ndim", 0) else ""
    return shown if 0 < len(shown) <= LONGEST_REPR else f"a value of type {kind.__name__}"


def of_type(value: object) -> str:
    """A value and its type; only the type where it may be a secret."""
    shown, kind = redacted(value), type(value).__name__
    return shown if kind in shown else f"{shown} of type {kind}"


def redacted_path(path: str) -> str:
    """Like :func:`redacted`, for a path: shown if it looks like one."""
    folder = os.path.dirname(path)  # noqa: PTH120 - of a text that may be none
    looks_so = os.path.isabs(path) or (folder and os.path.isdir(folder)) or ENDING.search(path)  # noqa: PTH112, PTH117
    return printable(path) if looks_so else redacted(path)
