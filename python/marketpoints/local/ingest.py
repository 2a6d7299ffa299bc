"""Reads raw dumps into a store for the local service."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .. import _engine
from ..common.arguments import flag, new_path
from ..common.display import card, lines, safe_repr
from ..common.logs import emit
from ..common.signatures import hinted_keywords
from ..printable import printable

__all__ = ["IngestReport", "Problem", "ingest"]

SHOWN = 10


class Problem(NamedTuple):
    """A bad row.

    Attributes:
        file: The dump file.
        line: Line in it, 1 is the header; 0 is the file.
        what: What is wrong, and what mends it.
        column: Name of the column; empty for the row, or the file.
    """

    file: str
    line: int
    what: str
    column: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return printable(f"{place}: {self.column} {self.what}" if self.column else f"{place}: {self.what}")


@dataclass(frozen=True, repr=False)
class IngestReport:
    """The result of an ingest.

    Attributes:
        files: Dump files read.
        unchanged: Dump files skipped because the store holds them already.
        rows: Good rows read.
        problems: Bad rows, and files that were not taken; they did not stop the rest.
    """

    files: int
    unchanged: int
    rows: int
    problems: list[Problem]

    def _facts(self) -> dict[str, str]:
        return {
            "files": f"{self.files:,}",
            "unchanged": f"{self.unchanged:,}",
            "rows": f"{self.rows:,}",
            "problems": f"{len(self.problems):,}",
        }

    @safe_repr
    def __repr__(self) -> str:
        shown = [f"  {problem}" for problem in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            shown.append(f"  and {len(self.problems) - SHOWN:,} more")
        return "\n".join([f"<IngestReport {lines(self._facts())}>", *shown])

    def _repr_html_(self) -> str:
        problems = {f"problem {index}": str(problem) for index, problem in enumerate(self.problems[:SHOWN], 1)}
        return card("IngestReport", self._facts() | problems)


@hinted_keywords
def ingest(
    dumps: str | os.PathLike[str], store: str | os.PathLike[str], *, allow_fewer_rows: bool = False
) -> IngestReport:
    """Turns raw dumps into a store for ``LocalService(data=store)``; Ctrl-C stops it, also within a file.

    A file that the store holds already is skipped, a changed one replaces what the old one held, a bad row is reported
    and skipped. A changed file with fewer good rows than the store holds of it is a problem in the report, and the
    store keeps what it has. The store's files are complete at any time. One ingest at a time changes a store: another
    one waits until it has ended, logs that (WARNING, the logger ``marketpoints``), and Ctrl-C ends the wait.

    Args:
        dumps: Folder of dumps, CSV or gzip. ``KIND/EXCHANGE/SYMBOL/DAY.csv.gz`` with KIND ``trades``,
            ``incremental_book_L2``, ``book_snapshot_25``, ``book_snapshot_5``, ``liquidations``,
            ``derivative_ticker`` or ``options_chain``; ``KIND/NAME.csv`` with KIND ``token_supply``, ``markets`` or
            ``positions``. The page ``docs/dumps.md`` has every column.
        store: Folder of the store; made where it is not there.
        allow_fewer_rows: Whether a changed file may take the place of one with more good rows.

    Raises:
        InvalidRequest: There is no such folder, the store cannot be written, or a link lies in it.
    """
    return ingest_with_notice(dumps, store, allow_fewer_rows, lambda words: emit(logging.WARNING, words, {}))


def ingest_with_notice(
    dumps: str | os.PathLike[str],
    store: str | os.PathLike[str],
    allow_fewer_rows: bool,
    on_wait: Callable[[str], object],
) -> IngestReport:
    """Like :func:`ingest`; ``on_wait`` is called with a sentence when it has to wait for another ingest."""
    folders = new_path(dumps, "dumps", "folder"), new_path(store, "store", "folder")
    report = _engine.ingest(*folders, flag(allow_fewer_rows, "allow_fewer_rows"), on_wait)
    problems = [Problem(*problem) for problem in report.problems]
    return IngestReport(report.files, report.unchanged, report.rows, problems)
