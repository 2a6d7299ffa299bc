"""Results as frames: an Arrow table from the engine for everyone who reads Arrow, and pandas over NumPy's arrays.

By vector, never by point; numbers share memory where they can.
"""

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from .. import _engine
from ..common.optional import load
from ..common.protocols import DatedFrameSource, FrameSource, Label
from ..errors import SelectionError
from ..identity import SeriesId
from .ragged import Nested, Ragged

__all__ = [
    "LABELS",
    "Dated",
    "Exported",
    "Kind",
    "arrow_name",
    "records_table",
    "refuse_as_array",
    "series_table",
    "set_to_pandas",
    "set_to_polars",
    "table_to_pandas",
    "to_arrow",
    "to_pandas",
    "to_polars",
]

#: What the values of a column are: text, int, float, truth, time, texts, numbers, json, any, or records of these.
Kind: TypeAlias = "str | Mapping[str, Kind]"
#: Kind and values of each column.
Table: TypeAlias = Mapping[str, tuple[Kind, Sequence[Any]]]
#: A series as a table: the time of each of its rows, and its columns by name.
Flat: TypeAlias = tuple[Any, Mapping[str, Any]]
#: A column as the engine takes it: its name, the kind of its values, and these.
Described: TypeAlias = tuple[str, str, Any]
#: Names of the sides of a book, by code; -1 is neither.
SIDES = ("bid", "ask")
# Columns that tell the series of a long frame apart: name in the frame, field of the identity.
LABELS = {"side": "side", "exchange": "exchange", "symbol": "raw_symbol", "coin": "coin", "tenor": "tenor"}
# Labels that are written as codes: of more, polars gets texts and casts them itself.
MOST_CODED = 256


class Dated:
    """A series whose frame tells of each row when it was known and asked: ``known_at`` and ``asked_at``, UTC.

    Feature stores go by both: a row counts from ``known_at``, and one that was asked later is a later version of it.
    """

    def __init__(self, series: DatedFrameSource) -> None:
        self._series = series
        self.id, self.usd = series.id, series.usd

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """As of the series, with both times before its columns."""
        import numpy as np

        times, columns = self._series.flat(label)
        known = self._series._times("left" if self._series.is_known_at_once else "right")
        asked = np.datetime64("NaT", "ns") if self._series.asked_at is None else self._series.asked_at
        return times, {"known_at": known, "asked_at": np.full(len(times), asked), **columns}


def to_pandas(series: FrameSource, *, copy: bool, label: Label = "left") -> Any:
    """A series as a pandas ``DataFrame``."""
    frame = _pandas_frame(load("pandas"), [series.flat(label)])
    if copy:
        frame = frame.copy(deep=True)
    frame.attrs |= {"id": series.id.known(), **_usd([series])}
    return frame


def _pandas_frame(pandas: Any, parts: Sequence[Flat]) -> Any:
    """The rows of several series that have the same columns; of one over the same memory."""
    index = pandas.DatetimeIndex(_joined([times for times, _ in parts]), name="time", copy=False).tz_localize("UTC")
    data = {name: _pandas_column(pandas, name, [columns[name] for _, columns in parts]) for name in parts[0][1]}
    return pandas.DataFrame(data, index=index, copy=False)


def _joined(parts: Sequence[Any]) -> Any:
    import numpy as np

    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _pandas_column(pandas: Any, name: str, parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], (Ragged, Nested)):
        import numpy as np

        column = np.empty(sum(map(len, parts)), dtype=object)
        for place, row in enumerate(itertools.chain.from_iterable(parts)):
            column[place] = row
        return column
    values = _joined(parts)
    if name == "side" and values.dtype.kind == "i":
        return pandas.Categorical.from_codes(values, categories=list(SIDES))
    if values.dtype.kind == "M":
        return pandas.DatetimeIndex(values).tz_localize("UTC")
    return values


def _form(flat: Flat) -> list[tuple[str, Any]]:
    """The columns of a series, and what kind of values they hold."""
    return [(name, getattr(values, "dtype", type(values))) for name, values in flat[1].items()]


def set_to_pandas(every: Sequence[FrameSource], label: Label = "left") -> Any:
    """Several series as one long pandas ``DataFrame``; none as an empty one."""
    pandas = load("pandas")
    if not every:
        times = pandas.DatetimeIndex([], dtype="datetime64[ns, UTC]", name="time")
        return pandas.DataFrame(index=times)
    import numpy as np

    flats = [series.flat(label) for series in every]
    # A frame for each series would cost more than its values: those that have the same columns are one.
    alike = [_pandas_frame(pandas, list(parts)) for _, parts in itertools.groupby(flats, _form)]
    frame = alike[0] if len(alike) == 1 else pandas.concat(alike)
    rows = [len(times) for times, _ in flats]
    ids = [series.id for series in every]
    # Once for the whole frame: categories in each part would take time and memory by the square of their number.
    for place, (name, choices) in enumerate(_choices(ids, flats).items()):
        codes = {value: code for code, value in enumerate(choices)}
        own = np.array([codes.get(getattr(one, LABELS[name]), -1) for one in ids])
        frame.insert(place, name, pandas.Categorical.from_codes(np.repeat(own, rows), categories=choices))
    frame.attrs = _usd(every)
    return frame


def _usd(every: Sequence[FrameSource]) -> dict[str, bool]:
    """Whether values are in USD, where that is known and the same of all series."""
    flags = {series.usd for series in every}
    return {"usd": one} if len(flags) == 1 and (one := flags.pop()) is not None else {}


def _metadata(every: Sequence[FrameSource]) -> dict[str, str]:
    """As :func:`_usd`, as the texts that Arrow keeps."""
    return {name: str(value).lower() for name, value in _usd(every).items()}


def series_table(every: Sequence[FrameSource], label: Label = "left") -> _engine.ArrowTable:
    """A series as an Arrow table; several as one long table, none as an empty one.

    Args:
        every: The series.
        label: Which end of its bucket a row is stamped with.
    """
    if len(every) > 1:
        flats = [series.flat(label) for series in every]
        return _long_table(every, flats, _choices([series.id for series in every], flats), coded=False)
    if not every:
        import numpy as np

        return _engine.ArrowTable([("time", "array", np.array([], dtype="datetime64[ns]"))])
    (series,) = every
    return _engine.ArrowTable(_described(*series.flat(label)), series.id.known() | _metadata(every))


def _long_table(
    every: Sequence[FrameSource], flats: Sequence[Flat], choices: Mapping[str, Sequence[str]], *, coded: bool
) -> _engine.ArrowTable:
    """Several series below each other; what tells them apart are codes with names, or texts."""
    # Each part has the names of its codes: with many, texts take less than their number's square.
    names_of = {name: names if coded and len(names) <= MOST_CODED else None for name, names in choices.items()}
    parts = []
    for series, flat in zip(every, flats, strict=True):
        identity = series.id
        time, *columns = _described(*flat)
        rows = len(time[2])
        known = [(name, "label", (getattr(identity, LABELS[name]), names, rows)) for name, names in names_of.items()]
        parts.append(_engine.ArrowTable([time, *known, *columns]))
    return _engine.ArrowTable.stack(parts, _metadata(every))


def _described(times: Any, columns: Mapping[str, Any]) -> list[Described]:
    """The columns of a series as the engine takes them: name, kind and values."""
    described: list[Described] = [("time", "array", times)]
    for name, values in columns.items():
        codes = name == "side" and getattr(getattr(values, "dtype", None), "kind", "") == "i"
        described.append((arrow_name(name), "codes", (values, SIDES)) if codes else (arrow_name(name), "array", values))
    return described


def arrow_name(name: str) -> str:
    """A column's name in Arrow: there a NUL would be its end."""
    return name.replace("\0", r"\x00")


def set_to_polars(every: Sequence[FrameSource], label: Label = "left") -> Any:
    """Several series as one long polars ``DataFrame``, or the only one's."""
    if len(every) < 2:
        return to_polars(series_table(every, label))
    flats = [series.flat(label) for series in every]
    choices = _choices([series.id for series in every], flats)
    return to_polars(_long_table(every, flats, choices, coded=True), choices)


def to_polars(table: _engine.ArrowTable, choices: Mapping[str, Sequence[str]] | None = None) -> Any:
    """A table as a polars ``DataFrame``; codes with names are an ``Enum``, and so are texts of known choices."""
    polars = load("polars")
    names_of = {**(choices or {}), **table.categories}
    enums = [polars.col(name).cast(polars.Enum(names)) for name, names in names_of.items()]
    return polars.DataFrame(table).with_columns(enums)


def to_arrow(table: _engine.ArrowTable) -> Any:
    """A table as a pyarrow ``Table``."""
    return load("pyarrow").table(table)


class Exported(ABC):
    """What leaves through the Arrow PyCapsule interface: whoever reads Arrow takes it, with pyarrow and without."""

    __slots__ = ()

    @abstractmethod
    def _arrow(self) -> _engine.ArrowTable:
        """Its columns as an Arrow table."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow C stream of ``to_arrow()``, from the engine: no other package is needed.

        A ``requested_schema`` is checked, and the data keep their own: to cast them is the reader's.

        Raises:
            SelectionError: The requested schema has other columns, or of kinds that these cannot be told as.
        """
        return self._arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        """The Arrow C schema of :meth:`__arrow_c_stream__`."""
        return self._arrow().__arrow_c_schema__()


def table_to_pandas(table: Table) -> Any:
    """Columns as a pandas ``DataFrame``; lists and records stay Python's own."""
    pandas = load("pandas")
    return pandas.DataFrame({name: _pandas_values(pandas, _settled(*one), one[1]) for name, one in table.items()})


def _settled(kind: Kind, values: Sequence[Any]) -> Kind:
    """A count that came with a fraction makes its column one of doubles: nothing is cut off."""
    fractions = kind == "int" and not hasattr(values, "dtype") and any(isinstance(value, float) for value in values)
    return "float" if fractions else kind


def _pandas_values(pandas: Any, kind: Kind, values: Sequence[Any]) -> Any:
    import numpy as np

    plain = {"int": np.int64, "float": np.float64, "truth": np.bool_}
    if isinstance(kind, str) and kind in plain:
        return np.array(values, dtype=plain[kind])
    if kind == "time":
        return pandas.DatetimeIndex(np.array(values, dtype="datetime64[ns]")).tz_localize("UTC")
    column = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        column[row] = value
    return column


def records_table(table: Table) -> _engine.ArrowTable:
    """Columns as an Arrow table. Fields of no fixed form, under ``extra``, become JSON text."""
    return _engine.ArrowTable([_record_values(name, *one) for name, one in table.items()])


def _record_values(name: str, kind: Kind, values: Sequence[Any]) -> Described:
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
    return name, "array" if hasattr(values, "dtype") else str(_settled(kind, values)), values


def refuse_as_array(whole: object) -> NoReturn:
    """What ``numpy.asarray`` and ``pandas.DataFrame`` get of a table that is no one array: a plain error.

    Raises:
        SelectionError: Always.
    """
    raise SelectionError(
        f"a {type(whole).__name__} holds several columns and is no array: take one by its name, such as ['close'], "
        "or all of them by to_pandas(), to_polars() or to_arrow()"
    )


def _choices(ids: Sequence[SeriesId], flats: Sequence[Flat]) -> dict[str, list[str]]:
    """What tells series apart: by the column's name all its labels in the order they come."""
    choices: dict[str, list[str]] = {}
    columns = {name for _, own in flats for name in own}
    by_symbol = all(one.raw_symbol is not None for one in ids)
    for name, part in LABELS.items():
        found = dict.fromkeys(getattr(one, part) for one in ids)
        found.pop(None, None)
        # A coin tells nothing more where all have a symbol.
        if found and name not in columns and not (name == "coin" and by_symbol):
            choices[name] = list(found)
    return choices
