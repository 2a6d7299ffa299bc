"""Texts that can be sent."""

from ..errors import InvalidRequest
from .secrets import redacted

__all__ = ["sendable"]


def sendable(value: str, name: str) -> str:
    """A text that UTF-8 can spell.

    Raises:
        InvalidRequest: There is half of a surrogate pair in it.
    """
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidRequest(
                f"{name}: {redacted(value)} is no Unicode: half of a surrogate pair is in it"
            ) from None
    return value
