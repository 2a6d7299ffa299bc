"""Overviews on disk: of each month and each coarser interval the largest volumes, in files that are mapped into memory.

They are made of the archive's data and hold nothing else, so that they may be removed at any time. A folder is named
by the checksums of the data that it was made of: that of other data is not found.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import _engine
from ...common.intervals import BY_LENGTH, BY_NAME, DAY
from ...errors import ArchiveError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["INTERVALS", "ROW", "Month", "MonthOverviews", "building", "months_of", "opened", "write", "writing"]

#: Fewest source buckets in a bucket of an overview: with fewer it saves too little.
LEAST = 4
#: Lengths of overviews by the heatmap's interval, in seconds, the finest first. Longer intervals are read directly.
INTERVALS = {
    seconds: coarser
    for seconds in BY_LENGTH
    if (
        coarser := tuple(BY_NAME[one].seconds for one in ("15m", "1h", "4h") if BY_NAME[one].seconds >= LEAST * seconds)
    )
}
#: Version of the files' format; files of another version are ignored.
VERSION = 2
ABOUT = "about.json"
#: Seconds after which an unchanged folder counts as left by a killed program; a month takes minutes.
LEFT = DAY
#: Bytes of a file that are looked at at a time: files are larger than what should be in memory.
BLOCK = 16 << 20
#: A row of an overview: start of the bucket, where its levels end, bids; lowest, highest and last mid price.
ROW = [("start", "<i8"), ("end", "<i8"), ("bids", "<i8"), ("low", "<f8"), ("high", "<f8"), ("last", "<f8")]


@dataclass(frozen=True)
class Month:
    """A month of data and the folder of its overviews.

    Attributes:
        name: Such as ``2026-01``.
        days: First days of its files, such as ``2026-01-31``.
        bytes: Size of its files.
        folder: Where its overviews lie, or would.
    """

    name: str
    days: tuple[str, ...]
    bytes: int
    folder: Path


@dataclass(frozen=True)
class MonthOverviews:
    """A month's overviews, read from its files.

    Attributes:
        about: What they are of: ``id``, ``step`` (height of a level), ``levels`` (of each day by its name).
        rows: Rows of each overview by its seconds, structured as :data:`ROW`.
        levels: Their levels, float64 (levels, 2), mapped: what is looked at is read.
    """

    about: dict[str, Any]
    rows: "dict[int, npt.NDArray[Any]]"
    levels: "dict[int, npt.NDArray[np.float64]]"


def _ledger_of(archive: Path, key: str) -> dict[str, Any]:
    """The ledger of an archived query; empty if there is none."""
    try:
        ledger = json.loads((archive / "_marketpoints" / "ledger" / f"{key}.json").read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return ledger if isinstance(ledger, dict) else {}


def months_of(archive: Path, key: str) -> list[Month]:
    """The archived data of a query, by month."""
    ledger = _ledger_of(archive, key)
    parts: dict[str, Any] = ledger.get("parts", {})
    coming: dict[str, Any] = ledger.get("pending", {})
    months: dict[str, dict[str, Any]] = {}
    for day in sorted({*parts, *coming}):
        months.setdefault(day[:7], {})[day] = [parts.get(day), coming.get(day)]
    made = []
    for name, days in months.items():
        text = json.dumps([VERSION, key, days], sort_keys=True)
        checksum = hashlib.sha256(text.encode()).hexdigest()[:16]
        size = sum(int(part["bytes"]) for part, _ in days.values() if part)
        made.append(Month(name, tuple(days), size, _folder_of(archive, key) / f"{name}-{checksum}"))
    return made


def _folder_of(archive: Path, key: str) -> Path:
    """The folder of a query's overviews."""
    return archive / "_marketpoints" / "overviews" / key


def write(month: Month, about: dict[str, Any], rows: dict[int, Any], levels: dict[int, Path]) -> int:
    """Puts a month's overviews in place, atomically, and removes the outdated ones.

    Args:
        month: The month.
        about: As of :class:`MonthOverviews`.
        rows: Rows of each overview by its seconds.
        levels: Files with its levels, in the folder that :func:`building` made.

    Returns:
        Their size in bytes.
    """
    folder = next(iter(levels.values())).parent
    for seconds, values in rows.items():
        values.tofile(folder / f"{seconds}.rows")
    counts = {seconds: [len(rows[seconds]), path.stat().st_size // 16] for seconds, path in levels.items()}
    text = json.dumps(about | {"counts": counts, "files": _checksums(folder, counts)})
    (folder / ABOUT).write_text(json.dumps({"checksum": _engine.checksum(text.encode()), "about": text}), "utf-8")
    size = sum(path.stat().st_size for path in folder.iterdir())
    if month.folder.is_dir() and opened(month) is None:
        shutil.rmtree(month.folder)
    elif month.folder.is_file():
        month.folder.unlink()
    try:
        folder.rename(month.folder)
    except OSError:  # another program made the same
        if opened(month) is None:
            raise
        shutil.rmtree(folder)
    for other in month.folder.parent.glob(f"{month.name}-*"):
        if other != month.folder and not other.name.endswith(".new"):
            shutil.rmtree(other, ignore_errors=True)
    return size


def _checksums(folder: Path, lengths: Iterable[Any]) -> dict[str, list[str]]:
    """The checksums of each block of the files with rows and levels."""
    found: dict[str, list[str]] = {}
    for name in [f"{one}.{what}" for one in lengths for what in ("rows", "levels")]:
        with (folder / name).open("rb") as file:
            found[name] = [_engine.checksum(block) for block in iter(partial(file.read, BLOCK), b"")]
    return found


@contextmanager
def writing(month: Month) -> Iterator[None]:
    """Gives a failure to write a month's overviews, such as on a full disk, the type of an archive's errors."""
    try:
        yield
    except OSError as problem:
        message = f"the overviews of {month.name} cannot be written: {problem.strerror or problem}"
        raise ArchiveError(message, path=str(problem.filename or month.folder)) from problem


def building(month: Month) -> Path:
    """A new folder for making a month's overviews; those left by killed programs are removed."""
    for other in month.folder.parent.glob(f"{month.name}-*.new"):
        if time.time() - other.stat().st_mtime > LEFT:
            shutil.rmtree(other, ignore_errors=True)
    made = month.folder.parent / f"{month.name}-{os.urandom(8).hex()}.new"
    made.mkdir(parents=True)
    return made


def opened(month: Month) -> MonthOverviews | None:
    """A month's overviews; None if there are none of these data, or a file is not what was written."""
    import numpy as np

    try:
        file = json.loads((month.folder / ABOUT).read_text("utf-8"))
        about = json.loads(file["about"])
        if _engine.checksum(file["about"].encode()) != file["checksum"]:
            return None
        if _checksums(month.folder, about["counts"]) != about["files"]:
            return None
        rows: dict[int, npt.NDArray[Any]] = {}
        levels: dict[int, npt.NDArray[np.float64]] = {}
        for name, (row_count, level_count) in about["counts"].items():
            seconds = int(name)
            rows[seconds] = np.fromfile(month.folder / f"{name}.rows", dtype=ROW)
            path = month.folder / f"{name}.levels"
            if len(rows[seconds]) != row_count or path.stat().st_size != level_count * 16:
                return None
            if level_count:
                levels[seconds] = np.memmap(path, dtype="<f8", mode="r", shape=(level_count, 2))
            else:  # nothing cannot be mapped
                levels[seconds] = np.empty((0, 2))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return MonthOverviews(about, rows, levels)
