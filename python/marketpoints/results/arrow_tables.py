"""Results as the engine's Arrow tables; numbers share memory with NumPy's arrays."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .. import _engine
from ..common.dtypes import dtype_kind
from ..common.protocols import DatedFrameSource, FrameSource, Label

__all__ = [
    "LABELS",
    "SIDES",
    "ColumnKind",
    "ColumnTable",
    "Dated",
    "Flat",
    "arrow_name",
    "choices_of",
    "columns_table",
    "label_of",
    "long_table",
    "records_table",
    "series_table",
    "settled",
    "unit_of",
    "usd_of",
]

#: Type of a column's values: text, int, float, truth, time, texts, numbers, json, any, or records of these.
ColumnKind: TypeAlias = "str | Mapping[str, ColumnKind]"
#: Kind and values of each column.
ColumnTable: TypeAlias = Mapping[str, tuple[ColumnKind, Sequence[Any]]]
#: A series as a table: the time of each of its rows, and its columns by name.
Flat: TypeAlias = tuple[Any, Mapping[str, Any]]
#: A column as the engine takes it: name, kind and values.
Described: TypeAlias = tuple[str, str, Any]
#: Names of the sides of a book, by code; -1 is neither.
SIDES = ("bid", "ask")
# Columns that identify the series of a long frame: name in the frame, field of the identity. ``unit`` may follow.
LABELS = {"side": "side", "exchange": "exchange", "symbol": "raw_symbol", "coin": "coin", "tenor": "tenor"}
# Those that are there only where series differ in them: their columns may have the same names.
DIFFERENT = ("type", "interval")
# Most labels that are written as codes; with more, polars gets texts and casts them itself.
MOST_CODED = 256


class Dated:
    """A series whose frame has, for each row, when it was known and requested: ``known_at`` and ``asked_at``, UTC.

    Feature stores need both: a row is valid from ``known_at``, and one with a later ``asked_at`` is a later version.
    """

    def __init__(self, series: DatedFrameSource) -> None:
        self._series = series
        self.id, self.usd = series.id, series.usd

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """The series' table, with both times before its columns."""
        import numpy as np

        times, columns = self._series.flat(label)
        known = self._series._times("right")
        asked = np.datetime64("NaT", "ns") if self._series.asked_at is None else self._series.asked_at
        return times, {"known_at": known, "asked_at": np.full(len(times), asked), **columns}


def series_table(every: Sequence[FrameSource], label: Label = "left") -> _engine.ArrowTable:
    """A series as an Arrow table; several as one long table, none as an empty one.

    Args:
        every: The series.
        label: The end of the bucket that is a row's time.
    """
    if len(every) > 1:
        flats = [series.flat(label) for series in every]
        return long_table(every, flats, choices_of(every, flats), coded=False)
    if not every:
        import numpy as np

        return _engine.ArrowTable([("time", "array", np.array([], dtype="datetime64[ns]"))])
    (series,) = every
    return _engine.ArrowTable(_described(*series.flat(label)), series.id.known() | _metadata(every))


def long_table(
    every: Sequence[FrameSource], flats: Sequence[Flat], choices: Mapping[str, Sequence[str]], *, coded: bool
) -> _engine.ArrowTable:
    """Several series below each other; the columns that identify them are codes with names, or texts."""
    # Each part repeats the names of its codes, so many names would take memory by the square of their number.
    names_of = {name: names if coded and len(names) <= MOST_CODED else None for name, names in choices.items()}
    parts = []
    for series, flat in zip(every, flats, strict=True):
        time, *columns = _described(*flat)
        rows = len(time[2])
        known = [(name, "label", (label_of(series, name), names, rows)) for name, names in names_of.items()]
        parts.append(_engine.ArrowTable([time, *known, *columns]))
    return _engine.ArrowTable.stack(parts, _metadata(every))


def _described(times: Any, columns: Mapping[str, Any]) -> list[Described]:
    """The columns of a series as the engine takes them: name, kind and values."""
    described: list[Described] = [("time", "array", times)]
    for name, values in columns.items():
        codes = name == "side" and dtype_kind(values) == "i"
        described.append((arrow_name(name), "codes", (values, SIDES)) if codes else (arrow_name(name), "array", values))
    return described


def arrow_name(name: str) -> str:
    """A column's name in Arrow, where a NUL would end it."""
    return name.replace("\0", r"\x00")


def columns_table(name: str, times: Any, columns: Mapping[str, Any]) -> _engine.ArrowTable:
    """Columns of one row a time, the times first; texts are object arrays."""
    described = [
        (arrow_name(one), "text", list(column)) if column.dtype.kind == "O" else (arrow_name(one), "array", column)
        for one, column in ({name: times} | dict(columns)).items()
    ]
    return _engine.ArrowTable(described)


def records_table(table: ColumnTable) -> _engine.ArrowTable:
    """Columns as an Arrow table. Fields without a fixed type, under ``extra``, become JSON text."""
    return _engine.ArrowTable([_record_values(name, *one) for name, one in table.items()])


def _record_values(name: str, kind: ColumnKind, values: Sequence[Any]) -> Described:
    """A column of records as the engine takes it: name, kind and values."""
    if not isinstance(kind, str):
        inner = {field: (one, [row[field] for rows in values for row in rows]) for field, one in kind.items()}
        fields = [_record_values(field, *one) for field, one in inner.items()]
        return name, "records", (list(map(len, values)), fields)
    if kind == "time":
        import numpy as np

        return name, "array", np.array(values, dtype="datetime64[ns]")
    if kind == "json":
        return name, "text", [json.dumps(value) for value in values]
    if kind == "any":
        return name, "text", [None if value is None else str(value) for value in values]
    return name, "array" if hasattr(values, "dtype") else str(settled(kind, values)), values


def settled(kind: ColumnKind, values: Sequence[Any]) -> ColumnKind:
    """The kind ``float`` for a column of integers that has a fraction, so that nothing is truncated."""
    fractions = kind == "int" and not hasattr(values, "dtype") and any(isinstance(value, float) for value in values)
    return "float" if fractions else kind


def usd_of(every: Sequence[FrameSource]) -> dict[str, bool]:
    """Whether values are in USD, if that is known and the same for all series."""
    flags = {series.usd for series in every}
    return {"usd": one} if len(flags) == 1 and (one := flags.pop()) is not None else {}


def _metadata(every: Sequence[FrameSource]) -> dict[str, str]:
    """:func:`usd_of` as texts, for Arrow's metadata."""
    return {name: str(value).lower() for name, value in usd_of(every).items()}


def unit_of(series: FrameSource) -> str | None:
    """What amounts are in: ``usd``, or ``native``, the unit of the market; None where that is not known."""
    return {None: None, True: "usd", False: "native"}[series.usd]


def label_of(series: FrameSource, name: str) -> str | None:
    """A series' value in a column that identifies it."""
    return unit_of(series) if name == "unit" else getattr(series.id, LABELS.get(name, name))


def choices_of(every: Sequence[FrameSource], flats: Sequence[Flat]) -> dict[str, list[str]]:
    """The labels that identify series, in order of appearance, by column name."""
    choices: dict[str, list[str]] = {}
    columns = {name for _, own in flats for name in own}
    by_symbol = all(one.id.raw_symbol is not None for one in every)
    for name in (*LABELS, *DIFFERENT, "unit"):
        found = dict.fromkeys(label for one in every if (label := label_of(one, name)) is not None)
        # A coin is redundant if all have a symbol, and type, interval and unit if they are the same for all.
        is_redundant = (name == "coin" and by_symbol) or (name not in LABELS and len(found) < 2)
        if found and name not in columns and not is_redundant:
            choices[name] = list(found)
    return choices
