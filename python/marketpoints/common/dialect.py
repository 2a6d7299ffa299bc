"""Published names behind the specification's neutral ones, so that a client speaks to a live deployment."""

import os
from collections.abc import Mapping
from typing import Any

from .. import _engine
from ..errors import InvalidRequest
from .arguments import path_text, text
from .display import safe_repr
from .secrets import hide_locals, redacted

__all__ = ["DIALECT", "Dialect", "address", "dialect_of_environment", "given_dialect"]

DIALECT = "MARKETPOINTS_DIALECT"
PARTS = ("key_header", "base_url", "analytics_prefix", "types", "exchanges", "fields")


class Dialect:
    """The names that a deployment publishes where the specification has neutral ones.

    A client that has one sends the published names and answers with the neutral ones: arguments, columns, identities,
    listings and plans' weights are the same as without. Names without an entry are the same on both sides. Two dialects
    of the same names are equal.
    """

    __slots__ = ("_checked",)

    @hide_locals
    def __init__(
        self,
        *,
        key_header: str | None = None,
        base_url: str | None = None,
        analytics_prefix: str | None = None,
        types: Mapping[str, str] | None = None,
        exchanges: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Published names; each mapping is ``{neutral: published}``.

        Args:
            key_header: Header that carries the key, instead of ``X-Service-Key`` (section 5).
            base_url: Address of the deployment, for clients that are given none.
            analytics_prefix: Base path of the analytics, instead of ``/v1/prediction/analytics`` (section 4.3).
            types: Data types and channel types of the stream.
            exchanges: Exchange values.
            fields: Fields of answers at any depth: of points, identities, records and events; not URL parameters.

        Raises:
            InvalidRequest: An empty name, a header that HTTP does not allow, a misspelt neutral name, one published
                name for two neutral ones, or one that is itself another neutral name.
        """
        self._checked = _engine.Dialect(
            key_header=text(key_header, "key_header"),
            base_url=text(base_url, "base_url"),
            analytics_prefix=text(analytics_prefix, "analytics_prefix"),
            types=_mapping(types, "types"),
            exchanges=_mapping(exchanges, "exchanges"),
            fields=_mapping(fields, "fields"),
        )

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Dialect":
        """Reads a dialect from a TOML file: its keys are the arguments' names, mappings are tables.

        Raises:
            InvalidRequest: The file cannot be read or is no TOML, has an unknown key or an invalid value; the message
                names the file, the key or line, and what would be right.
        """
        made = cls.__new__(cls)
        made._checked = _engine.Dialect.from_toml(os.fspath(path))
        return made

    @property
    def key_header(self) -> str | None:
        """Header that carries the key; None for the neutral one."""
        return self._checked.key_header

    @property
    def base_url(self) -> str | None:
        """Address of the deployment; None where the dialect names none."""
        return self._checked.base_url

    @property
    def analytics_prefix(self) -> str | None:
        """Base path of the analytics; None for the neutral one."""
        return self._checked.analytics_prefix

    @property
    def types(self) -> dict[str, str]:
        """Published types by their neutral names."""
        return self._checked.types

    @property
    def exchanges(self) -> dict[str, str]:
        """Published exchange values by their neutral names."""
        return self._checked.exchanges

    @property
    def fields(self) -> dict[str, str]:
        """Published fields by their neutral names."""
        return self._checked.fields

    def _parts(self) -> dict[str, Any]:
        """The arguments that make an equal dialect: its differences from the neutral names."""
        return {name: part for name in PARTS if (part := getattr(self, name))}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dialect) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(repr(self))

    @safe_repr
    def __repr__(self) -> str:
        return f"Dialect({', '.join(f'{name}={part!r}' for name, part in self._parts().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self._parts(),)


def given_dialect(given: Any) -> Dialect | None:
    """The dialect that a client was given: itself, or the path of its file; None where it was given none.

    Raises:
        InvalidRequest: It is something else, or the file is no dialect.
    """
    if given is None or isinstance(given, Dialect):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Dialect.from_toml(path_text(given, "dialect"))
    raise InvalidRequest(f"dialect: {redacted(given)} is neither a Dialect nor the path of a TOML file")


def dialect_of_environment() -> Dialect | None:
    """The dialect in the file that ``MARKETPOINTS_DIALECT`` names; None where it names none.

    Raises:
        InvalidRequest: The file is no dialect.
    """
    path = os.environ.get(DIALECT)
    return Dialect.from_toml(path) if path else None


def address(dialect: Dialect | None) -> str | None:
    """The address that a dialect names, if there is one."""
    return None if dialect is None else dialect.base_url


def _mapping(given: Any, name: str) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"{name}: {redacted(given)} is not a mapping of neutral names to published ones")
    return {
        text(neutral, name) or "": text(published, f"{name}.{neutral}") or "" for neutral, published in given.items()
    }


def _made(parts: dict[str, Any]) -> Dialect:
    return Dialect(**parts)
