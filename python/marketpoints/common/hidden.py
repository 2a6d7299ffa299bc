"""What no output may show: keys, passwords and credentials, wherever local variables or attributes are listed."""

from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Hidden", "hidden_text"]

Value = TypeVar("Value", covariant=True)


class Hidden(Generic[Value]):
    """A value that stands in no ``repr``, no attribute and no pickle.

    Tracebacks with locals, error reporters and debuggers list the variables of every frame on the way to an error. A
    function that is given a secret wraps it first and deletes its own name of it.
    """

    __slots__ = ("reveal",)

    def __init__(self, value: Value) -> None:
        # In a closure: what lists attributes finds a function.
        self.reveal: Callable[[], Value] = lambda: value

    def __repr__(self) -> str:
        return "<hidden>"

    def __reduce__(self) -> str:
        raise TypeError("a pickle never carries a secret")


def hidden_text(value: Hidden[object], name: str) -> Hidden[str | None]:
    """The same value, which is a text or None.

    Raises:
        InvalidRequest: It is something else; the message tells its type alone.
    """
    kind = type(value.reveal())
    if issubclass(kind, (str, type(None))):
        return value  # type: ignore[return-value] # as was just found
    raise InvalidRequest(f"{name}: a value of type {kind.__name__} is not a text")
