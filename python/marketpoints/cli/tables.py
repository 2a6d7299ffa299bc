"""Answers as files and as text."""

import io
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TextIO

from .. import _engine
from ..common.display import rounded
from ..common.files import destination
from ..common.times import exact, iso
from ..errors import Error, InvalidRequest
from ..identity import SeriesId
from ..printable import printable
from ..records.plan import PlannedRequest
from ..results.arrow_tables import SIDES
from ..results.ragged import Nested, Ragged
from ..results.series import Series
from ..results.sets import SeriesSet

__all__ = ["FORMATS", "lay_out", "print_table", "show", "show_plan", "target", "write", "write_paid"]

#: Formats of a table besides the text on the screen; Parquet goes to files alone, not to a screen or a pipe.
FORMATS = ("parquet", "csv", "json")
#: Most rows of a table on a terminal: more would scroll the command out of sight.
MOST_ROWS = 40
# Identity columns of a market besides its symbol.
MARKET = ("normalized_symbol", "category", "coin")
# Identity columns, each with the field of `SeriesId` that it holds; they are named as in long frames.
IDENTITY = {
    {"raw_symbol": "symbol"}.get(one.name, one.name): one.name for one in fields(SeriesId) if one.name != "extra"
}


def target(path: str, form: str | None = None) -> Path:
    """The file to write, checked before anything is fetched.

    Raises:
        InvalidRequest: The suffix is not that of the format (of any, where ``form`` is None), the folder does not
            exist, or the name belongs to a pipe, a device, a socket or a folder.
    """
    file = Path(path)
    suffixes = [f".{name}" for name in FORMATS if form in (None, name)]
    if file.suffix not in suffixes:
        raise InvalidRequest(f"{path}: the name must end in {' or '.join(suffixes)}")
    try:
        destination(file)
    except InvalidRequest as problem:
        pipe = "; --output - is standard output, as in --output - > PIPE" if file.exists() else ""
        raise InvalidRequest(f"{problem}{pipe}") from None
    return file


def write(answer: SeriesSet, file: Path) -> int:
    """Writes an answer as one table, atomically, with the identity of each row's series in columns.

    Returns:
        Number of rows.

    Raises:
        InvalidRequest: The file cannot be written, or a column holds nested records, which no flat table has.
    """
    columns = _joined(answer)
    _engine.write_table(str(destination(file)), columns)
    return len(columns[0][1])


def write_paid(answer: SeriesSet, file: Path) -> int:
    """Writes a paid answer as :func:`write`; where that fails, to where temporary files go, or into the current folder.

    Raises:
        Error: It was written there: the message names the file.
        InvalidRequest: It can be written nowhere.
    """
    try:
        return write(answer, file)
    except InvalidRequest as problem:
        spare = _written_elsewhere(answer, file.name)
        if spare is None:
            raise
        raise Error(f"{problem}; what was paid was written to {spare}") from None


def _written_elsewhere(answer: SeriesSet, name: str) -> Path | None:
    for parent in (None, Path.cwd()):  # first where temporary files go
        try:
            folder = Path(tempfile.mkdtemp(prefix="marketpoints-", dir=parent))
        except OSError:
            continue
        try:
            write(answer, folder / name)
        except InvalidRequest:
            shutil.rmtree(folder, ignore_errors=True)
            continue
        return folder / name
    return None


def print_table(answer: SeriesSet, form: str, out: TextIO) -> None:
    """Prints an answer as :func:`write` writes it, as ``csv`` or ``json``.

    Raises:
        InvalidRequest: A column holds nested records, which no flat table has.
    """
    columns = _joined(answer)
    if out.isatty():
        # A terminal would obey control characters in a name; pipes and files get unchanged values.
        columns = [(printable(name), _printable(values)) for name, values in columns]
    text = _engine.table_text(columns, form)
    if isinstance(out, io.TextIOWrapper):
        # Data are UTF-8 in any file; the encoding of a terminal may lack some of it.
        out.flush()
        out.buffer.write(text)
    else:
        out.write(text.decode())


def _printable(values: Any) -> Any:
    return [value and printable(value) for value in values] if isinstance(values, list) else values


def _joined(answer: SeriesSet) -> list[tuple[str, Any]]:
    """The series of an answer one below the other: name and values of each column."""
    import numpy as np

    tables = [_columns(series, labelled=True) for series in answer]
    names = list(dict.fromkeys(name for table in tables for name in table)) or ["time"]
    columns: list[tuple[str, Any]] = []
    for name in names:
        parts = [table[name] if name in table else _blank(name, table, tables) for table in tables]
        if any(isinstance(part, list) for part in parts):
            columns.append((name, [value for part in parts for value in part]))
        elif parts:
            columns.append((name, np.concatenate(parts)))
        else:
            columns.append((name, np.array([], dtype="datetime64[ns]")))
    return columns


def show(answer: SeriesSet, out: TextIO) -> None:
    """Prints every series as a table under its name."""
    shown = [series for series in answer if len(series)]
    if not shown:
        print("no data", file=out)
    for series in shown:
        # A sum or mean over exchanges names no market (section 2.2).
        of = f" of {series.asked_for}" if series.asked_for and not (series.id.raw_symbol or series.id.exchange) else ""
        print(printable(f"# {series.id}{of}{', values in USD' if series.usd else ''}"), file=out)
        table = {name: values for name, values in _columns(series, labelled=False).items() if not _empty(values)}
        count, places = len(table["time"]), _printed_rows(len(table["time"]), out)
        cells = [_cells(values, places) for values in table.values()]
        texts = {index for index, values in enumerate(table.values()) if isinstance(values, list)}
        header = ["time (UTC)" if name == "time" else name for name in table]
        lay_out(header, list(zip(*cells, strict=True)), out, left=texts, between=_between(count, places))
        if len(places) < count:
            print(f"{count:,} rows; --output FILE writes all of them, --format csv prints them", file=out)


def _printed_rows(count: int, out: TextIO) -> Sequence[int]:
    """Positions of the rows that are printed: on a terminal the first and the last ones of many."""
    if count <= MOST_ROWS or not out.isatty():
        return range(count)
    return (*range(MOST_ROWS // 2), *range(count - MOST_ROWS // 2, count))


def _between(count: int, places: Sequence[int]) -> str | None:
    """The line in place of omitted rows."""
    return f"… {count - len(places):,} more" if len(places) < count else None


def show_plan(requests: Sequence[PlannedRequest], out: TextIO) -> None:
    """Prints the requests of a plan with their windows; on a terminal the first and the last ones of many."""
    places = _printed_rows(len(requests), out)
    rows = [
        [f"{one.weight:,}", f"{one.points:,}", f"{iso(one.start)} to {iso(one.end)}", one.url]
        for one in (requests[place] for place in places)
    ]
    header = ["weight", "points", "window (UTC)", "request"]
    lay_out(header, rows, out, left={2, 3}, between=_between(len(requests), places))
    if requests:
        print(f"window: {iso(requests[0].start)} to {iso(requests[-1].end)} UTC", file=out)


def lay_out(
    header: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO, *, left: set[int], between: str | None = None
) -> None:
    """Prints rows in columns; those in ``left`` are aligned to the left, all others to the right.

    ``between`` is a line printed halfway, where rows were left out.
    """
    header, rows = [printable(cell) for cell in header], [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for place, row in enumerate((header, *rows)):
        if between is not None and place == 1 + len(rows) // 2:
            print(between, file=out)
        cells = (
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip(), file=out)


def _columns(series: Series, *, labelled: bool) -> dict[str, Any]:
    """The columns that go into a table: arrays, or lists of str and None. A list of numbers becomes a text."""
    import numpy as np

    times, columns = series.flat()
    table: dict[str, Any] = {"time": times}
    for name, values in columns.items():
        if isinstance(values, Nested):
            raise InvalidRequest(f"column {name}: records have no place in a flat table; use to_arrow() in Python")
        if isinstance(values, Ragged):
            table[name] = [" ".join(f"{value:.17g}" for value in values.row(row)) for row in range(len(values))]
            continue
        if values.dtype == np.int8:
            table[name] = np.array([*SIDES, None], dtype=object)[values].tolist()
        elif values.dtype == bool:
            table[name] = values.astype(np.int64)
        elif values.dtype == object:
            table[name] = values.tolist()
        else:
            table[name] = np.ascontiguousarray(values)
    if labelled:
        known: dict[str, str | None] = dict(series.id.known())
        # Only an answer with rows has the full identity: an empty one gets these columns too.
        if not len(times) and "raw_symbol" in known:
            known = dict.fromkeys(MARKET) | known
        table |= {
            name: [known[field]] * len(times)
            for name, field in IDENTITY.items()
            if field in known and name not in table
        }
        if series.usd:
            table.setdefault("quote", ["USD"] * len(times))
    return table


def _empty(values: Any) -> bool:
    """Whether all texts of a column are empty, as the sides of levels that have none."""
    return isinstance(values, list) and not any(values)


def _blank(name: str, table: dict[str, Any], tables: list[dict[str, Any]]) -> Any:
    """Missing values (None, NaT, NaN, of whole numbers 0) for a column that only other series of the answer have."""
    import numpy as np

    rows = len(table["time"])
    model = next(other[name] for other in tables if name in other)
    if isinstance(model, list):
        return [None] * rows
    if model.dtype.kind == "M":
        return np.full(rows, np.datetime64("NaT", "ns"))
    return np.full(rows, np.nan) if model.dtype.kind == "f" else np.zeros(rows, dtype=model.dtype)


def _cells(values: Any, places: Sequence[int]) -> list[str]:
    """Some values of a column; numbers have their points below each other, unless one of them has an exponent."""
    cells = [_cell(values[place]) for place in places]
    if isinstance(values, list) or values.dtype.kind != "f" or any("e" in cell for cell in cells):
        return cells
    decimals = max((len(cell.partition(".")[2]) for cell in cells), default=0)
    if decimals:
        for place, cell in enumerate(cells):
            whole, _, digits = cell.partition(".")
            if whole[-1:].isdigit():  # else there is no number
                cells[place] = f"{whole}.{digits:0<{decimals}}"
    return cells


def _cell(value: Any) -> str:
    """A value as people read it: times to the second, or as precise as they are."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if value.dtype.kind == "M":
        return exact(value)
    # Files have every digit.
    return f"{rounded(value):.15g}" if value.dtype.kind == "f" else repr(value.item())
