"""Output files named by users: links are followed, only files are overwritten, and writes are atomic."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from ..errors import InvalidRequest
from ..printable import printable

if TYPE_CHECKING:
    import os

__all__ = ["destination", "other_than_file", "unfinished", "write_atomically"]

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def destination(path: "str | os.PathLike[str]") -> Path:
    """Where a file of that name is written: a link stays, and what it leads to is replaced.

    Raises:
        InvalidRequest: There is no such folder, or what stands there is no file.
    """
    named = Path(path)
    try:
        place = named.resolve()
        there = place.stat() if place.exists() else None
    except (OSError, RuntimeError) as problem:  # a circle of links, a folder that cannot be read
        raise InvalidRequest(f"{printable(str(path))}: no file can be written there: {_why(problem)}") from None
    if there is not None and (kind := other_than_file(there)):
        raise InvalidRequest(f"{printable(str(path))}: {kind}, not a file; name a file")
    if not place.parent.is_dir():
        # For a link, name the folder of its target.
        folder = place.parent if named.parent.is_dir() else named.parent
        raise InvalidRequest(f"{printable(str(path))}: there is no folder {printable(str(folder))}")
    return place


def other_than_file(there: "os.stat_result") -> str | None:
    """What stands somewhere, in words; None for a file."""
    if stat.S_ISREG(there.st_mode):
        return None
    return next((name for is_kind, name in KINDS if is_kind(there.st_mode)), "something else")


@contextmanager
def unfinished(place: Path) -> Iterator[Path]:
    """An empty file beside ``place``, to be written, which replaces it when all went well and else is removed.

    Raises:
        OSError: There is no such folder, it cannot be written, or what stands there is a folder.
    """
    made: Path | None = None
    try:
        with NamedTemporaryFile(dir=place.parent, prefix=".unfinished-", delete=False) as file:
            made = Path(file.name)
        yield made
        # A temporary file is private; the finished one is as readable as its folder, as the engine's are.
        made.chmod(place.parent.stat().st_mode & 0o666)
        made.replace(place)
    finally:
        if made is not None:
            made.unlink(missing_ok=True)


def write_atomically(path: "str | os.PathLike[str]", content: bytes) -> None:
    """Writes a file atomically.

    Raises:
        InvalidRequest: As :func:`destination`, or it cannot be written.
    """
    place = destination(path)
    try:
        with unfinished(place) as made:
            made.write_bytes(content)
    except OSError as problem:
        raise InvalidRequest(f"{printable(str(path))}: cannot be written: {_why(problem)}") from None


def _why(problem: BaseException) -> str:
    return getattr(problem, "strerror", None) or str(problem)
