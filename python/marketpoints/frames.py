"""Series as frames of pandas, polars and pyarrow: by vector, never by point; numbers share memory where they can."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .optional import load
from .ragged import Nested, Ragged

if TYPE_CHECKING:
    from .series import Series

__all__ = [
    "records_to_arrow",
    "records_to_pandas",
    "records_to_polars",
    "set_to_arrow",
    "set_to_pandas",
    "set_to_polars",
    "to_arrow",
    "to_pandas",
    "to_polars",
]

#: Names of the sides of a book, by code; -1 is neither.
SIDES = ("bid", "ask")
# Columns that tell the series of a long frame apart: name in the frame, field of the identity.
LABELS = {"side": "side", "exchange": "exchange", "symbol": "raw_symbol", "tenor": "tenor"}


def to_pandas(series: "Series", *, copy: bool) -> Any:
    """A series as a pandas ``DataFrame``."""
    pandas = load("pandas")
    times, columns = series.flat()
    index = pandas.DatetimeIndex(times, name="time", copy=False).tz_localize("UTC")
    data = {name: _pandas_column(pandas, name, values) for name, values in columns.items()}
    frame = pandas.DataFrame(data, index=index, copy=False)
    if copy:
        frame = frame.copy(deep=True)
    frame.attrs["id"] = series.id.known()
    return frame


def _pandas_column(pandas: Any, name: str, values: Any) -> Any:
    if isinstance(values, (Ragged, Nested)):
        import numpy as np

        column = np.empty(len(values), dtype=object)
        for row in range(len(values)):
            column[row] = values.row(row)
        return column
    if name == "side" and values.dtype.kind == "i":
        return pandas.Categorical.from_codes(values, categories=list(SIDES))
    if values.dtype.kind == "M":
        return pandas.DatetimeIndex(values).tz_localize("UTC")
    return values


def set_to_pandas(every: Sequence["Series"]) -> Any:
    """Several series as one long pandas ``DataFrame``; none as an empty one."""
    pandas = load("pandas")
    if not every:
        times = pandas.DatetimeIndex([], dtype="datetime64[ns, UTC]", name="time")
        return pandas.DataFrame(index=times)
    parts = []
    for series, labels in _labelled(every):
        part = to_pandas(series, copy=False)
        part.attrs = {}
        for place, (name, (label, choices)) in enumerate(labels.items()):
            # One set of categories for all parts: joining them keeps the columns categorical.
            part.insert(place, name, pandas.Categorical([label] * len(part), categories=choices))
        parts.append(part)
    return pandas.concat(parts)


def to_polars(series: "Series") -> Any:
    """A series as a polars ``DataFrame``."""
    polars = load("polars")
    times, columns = series.flat()
    data = {"time": times, **columns}
    return polars.DataFrame([_polars_column(polars, name, values) for name, values in data.items()])


def _polars_column(polars: Any, name: str, values: Any) -> Any:
    if isinstance(values, (Ragged, Nested)):
        return polars.Series(name, _arrow_column(load("pyarrow"), name, values))
    if name == "side" and values.dtype.kind == "i":
        sides = polars.Series(name, [*SIDES, None], dtype=polars.Enum(SIDES))
        return sides.gather(values % (len(SIDES) + 1))
    if values.dtype.kind == "M":
        return polars.Series(name, values).cast(polars.Datetime("ns")).dt.replace_time_zone("UTC")
    if values.dtype.kind == "O":
        return polars.Series(name, values.tolist(), dtype=polars.String)
    return polars.Series(name, values)


def set_to_polars(every: Sequence["Series"]) -> Any:
    """Several series as one long polars ``DataFrame``; none as an empty one."""
    polars = load("polars")
    if not every:
        return polars.DataFrame(schema={"time": polars.Datetime("ns", "UTC")})
    parts = []
    for series, labels in _labelled(every):
        part = to_polars(series)
        known = [polars.lit(label, polars.Enum(choices)).alias(name) for name, (label, choices) in labels.items()]
        parts.append(part.select("time", *known, polars.exclude("time")))
    return polars.concat(parts, how="diagonal")


def to_arrow(series: "Series") -> Any:
    """A series as a pyarrow ``Table``."""
    pyarrow = load("pyarrow")
    times, columns = series.flat()
    data = {"time": times, **columns}
    arrays = {name: _arrow_column(pyarrow, name, values) for name, values in data.items()}
    return pyarrow.table(arrays, metadata=series.id.known())


def _arrow_column(pyarrow: Any, name: str, values: Any) -> Any:
    if isinstance(values, Ragged):
        return pyarrow.LargeListArray.from_arrays(values.offsets, values.values)
    if isinstance(values, Nested):
        inner = {one: _arrow_column(pyarrow, one, part) for one, part in values.fields.items()}
        records = pyarrow.StructArray.from_arrays(list(inner.values()), names=list(inner))
        return pyarrow.LargeListArray.from_arrays(values.offsets, records)
    if name == "side" and values.dtype.kind == "i":
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(values, mask=values < 0), list(SIDES))
    if values.dtype.kind == "M":
        return pyarrow.array(values, type=pyarrow.timestamp("ns", tz="UTC"))
    if values.dtype.kind == "O":
        return pyarrow.array(values, type=pyarrow.string())
    return pyarrow.array(values)


def set_to_arrow(every: Sequence["Series"]) -> Any:
    """Several series as one long pyarrow ``Table``; none as an empty one."""
    pyarrow = load("pyarrow")
    if not every:
        return pyarrow.schema([("time", pyarrow.timestamp("ns", tz="UTC"))]).empty_table()
    parts = []
    for series, labels in _labelled(every):
        part = to_arrow(series).replace_schema_metadata(None)
        for place, (name, (label, _)) in enumerate(labels.items()):
            column = pyarrow.repeat(pyarrow.scalar(label, pyarrow.string()), len(part))
            part = part.add_column(1 + place, name, column)
        parts.append(part)
    return pyarrow.concat_tables(parts, promote_options="default")


def records_to_pandas(records: Sequence[Mapping[str, Any]]) -> Any:
    """Records as a pandas ``DataFrame``: one row each."""
    return load("pandas").DataFrame(list(records))


def records_to_arrow(records: Sequence[Mapping[str, Any]]) -> Any:
    """Records as a pyarrow ``Table``: one row each. Fields of no fixed form, under ``extra``, become JSON text."""
    rows = [{**record, "extra": json.dumps(record["extra"])} if "extra" in record else record for record in records]
    return load("pyarrow").Table.from_pylist(rows)


def records_to_polars(records: Sequence[Mapping[str, Any]]) -> Any:
    """As :func:`records_to_arrow`, for polars."""
    return load("polars").from_arrow(records_to_arrow(records))


def _labelled(every: Sequence["Series"]) -> list[tuple["Series", dict[str, tuple[str | None, list[str]]]]]:
    """Each series with its labels: by name the label, and all labels of that name in the order they come."""
    choices: dict[str, list[str]] = {}
    for name, identity in LABELS.items():
        found = dict.fromkeys(getattr(series.id, identity) for series in every)
        found.pop(None, None)
        if found and not any(name in series.flat()[1] for series in every):
            choices[name] = list(found)
    return [(series, {name: (getattr(series.id, LABELS[name]), choices[name]) for name in choices}) for series in every]
