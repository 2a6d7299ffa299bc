"""The errors of the package. All of them are an :class:`Error`."""

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .printable import printable

if TYPE_CHECKING:
    from .identity import Window

__all__ = [
    "ArchiveError",
    "AuthenticationError",
    "DamagedFileError",
    "DecodeError",
    "Error",
    "ForeignFileError",
    "InvalidRequest",
    "MissingDependencyError",
    "NewerFormatError",
    "NotArchivedError",
    "PartialError",
    "RateLimitError",
    "SelectionError",
    "ServerError",
    "TierError",
    "TimeoutError",
    "TransportError",
    "UnsupportedStoreError",
]


class Error(Exception):
    """Base of every error of this package.

    Args:
        message: What is wrong, where, and how to mend it.
        status: HTTP status of the answer.
        code: The service's error code, such as ``INVALID_PARAMS`` (supplement, section 6).
        request: URL of the request, without the key.
        retry_after: Seconds after which the same request can pass (:class:`RateLimitError`).
        offset: Byte at which a body stops making sense (:class:`DecodeError`).
        path: Place inside the body, such as ``series[0].points[3].Point.open`` (:class:`DecodeError`), or a file of an
            archive, from its root, or its address (:class:`ArchiveError`).
        results: What was fetched before the failure (:class:`PartialError`), or what of it is archived
            (:class:`NotArchivedError`), or what was fetched and could not be kept (:class:`ArchiveError`).
        failures: The error of each request that failed (:class:`PartialError`).
        missing: Windows that were never asked, as a list of :class:`~marketpoints.Window` (:class:`NotArchivedError`).

    Each argument is kept as an attribute of its name; None where it does not apply.
    """

    def __init__(
        self,
        message: str = "",
        *,
        status: int | None = None,
        code: str | None = None,
        request: str | None = None,
        retry_after: float | None = None,
        offset: int | None = None,
        path: str | None = None,
        results: Any = None,
        failures: Sequence[Exception] | None = None,
        missing: "Sequence[Window] | None" = None,
    ) -> None:
        # Names from the network and from files stand in it.
        super().__init__(printable(message))
        self.status = status
        self.code = code
        self.request = request
        self.retry_after = retry_after
        self.offset = offset
        self.path = path
        self.results = results
        self.failures = failures
        self.missing = missing

    @property
    def message(self) -> str:
        """The text alone."""
        return str(self)


class InvalidRequest(Error, ValueError):  # noqa: N818 - the name users type
    """An argument or a combination of arguments is not valid; found before anything was sent, or answered 400."""


class AuthenticationError(Error):
    """The service does not know the key (401)."""


class TierError(Error):
    """The key's tier does not include what was asked (403; sections 5 and 8.1)."""


class RateLimitError(Error):
    """The weight budget is spent (429; section 8). ``retry_after`` says how many seconds to wait."""


class ServerError(Error):
    """The service failed (5xx) as often as the client tried."""


class TransportError(Error, ConnectionError):
    """No complete answer arrived: refused, reset, cut short, TLS or proxy trouble."""


class TimeoutError(TransportError, builtins.TimeoutError):  # noqa: A001 - the name users catch, as socket and asyncio have theirs
    """An attempt, or the wait for budget, took longer than allowed. Also a builtin ``TimeoutError``."""


class DecodeError(Error, ValueError):
    """A body that is not what the specification says. ``offset`` and ``path`` say where."""


class PartialError(Error):
    """Some requests of a call succeeded and some failed: ``results`` and ``failures`` hold them."""


class ArchiveError(Error):
    """An archive cannot be read or written. ``path`` is the file, where it is about one."""


class NotArchivedError(ArchiveError, LookupError):
    """Data were never downloaded into the archive: ``missing`` says which, ``results`` holds the rest."""


class DamagedFileError(ArchiveError):
    """A file of an archive is truncated, changed or gone; it is not read as data. A sync fetches it again."""


class ForeignFileError(ArchiveError):
    """A file in an archive's place is of another program, another query or another archive."""


class NewerFormatError(ArchiveError):
    """A file of an archive was written by a newer version of this package."""


class SelectionError(Error, LookupError):
    """A set was used like a single series, but holds none or several."""


class MissingDependencyError(Error, ImportError):
    """An optional package is not installed; the message names the command that installs it."""


class UnsupportedStoreError(ArchiveError):
    """An object store ignores the conditions of writes, so that several writers of an archive would lose data there."""
