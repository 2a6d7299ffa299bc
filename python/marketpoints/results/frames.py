"""Series as frames of pandas, polars and pyarrow: by vector, never by point; numbers share memory where they can."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from ..common.optional import load, load_if_there
from ..common.protocols import Exported, Framed, Label
from ..errors import MissingDependencyError, SelectionError
from .ragged import Nested, Ragged

__all__ = [
    "Kind",
    "arrow_stream",
    "refuse_array",
    "set_to_arrow",
    "set_to_pandas",
    "set_to_polars",
    "table_to_arrow",
    "table_to_pandas",
    "table_to_polars",
    "to_arrow",
    "to_pandas",
    "to_polars",
]

#: What the values of a column are: text, int, float, truth, time, texts, numbers, json, any, or records of these.
Kind: TypeAlias = "str | Mapping[str, Kind]"
#: Kind and values of each column.
Table: TypeAlias = Mapping[str, tuple[Kind, Sequence[Any]]]
#: Names of the sides of a book, by code; -1 is neither.
SIDES = ("bid", "ask")
# Columns that tell the series of a long frame apart: name in the frame, field of the identity.
LABELS = {"side": "side", "exchange": "exchange", "symbol": "raw_symbol", "coin": "coin", "tenor": "tenor"}


def to_pandas(series: Framed, *, copy: bool, label: Label = "left") -> Any:
    """A series as a pandas ``DataFrame``."""
    pandas = load("pandas")
    times, columns = series.flat(label)
    index = pandas.DatetimeIndex(times, name="time", copy=False).tz_localize("UTC")
    data = {name: _pandas_column(pandas, name, values) for name, values in columns.items()}
    frame = pandas.DataFrame(data, index=index, copy=False)
    if copy:
        frame = frame.copy(deep=True)
    frame.attrs |= {"id": series.id.known(), **_usd([series])}
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


def set_to_pandas(every: Sequence[Framed], label: Label = "left") -> Any:
    """Several series as one long pandas ``DataFrame``; none as an empty one."""
    pandas = load("pandas")
    if not every:
        times = pandas.DatetimeIndex([], dtype="datetime64[ns, UTC]", name="time")
        return pandas.DataFrame(index=times)
    parts = []
    for series, labels in _labelled(every):
        part = to_pandas(series, copy=False, label=label)
        part.attrs = {}
        for place, (name, (value, choices)) in enumerate(labels.items()):
            # One set of categories for all parts: joining them keeps the columns categorical.
            part.insert(place, name, pandas.Categorical([value] * len(part), categories=choices))
        parts.append(part)
    frame = pandas.concat(parts)
    frame.attrs = _usd(every)
    return frame


def _usd(every: Sequence[Framed]) -> dict[str, bool]:
    """Whether values are in USD, where that is known and the same of all series."""
    told = {series.usd for series in every}
    return {"usd": one} if len(told) == 1 and (one := told.pop()) is not None else {}


def _metadata(every: Sequence[Framed]) -> dict[str, str]:
    """As :func:`_usd`, as the texts that Arrow keeps."""
    return {name: str(value).lower() for name, value in _usd(every).items()}


def to_polars(series: Framed, label: Label = "left") -> Any:
    """A series as a polars ``DataFrame``."""
    polars = load("polars")
    times, columns = series.flat(label)
    data = {"time": times, **columns}
    return polars.DataFrame([_polars_column(polars, name, values) for name, values in data.items()])


def _polars_column(polars: Any, name: str, values: Any) -> Any:
    if isinstance(values, (Ragged, Nested)):
        if isinstance(values, Ragged):
            return _polars_lists(polars, name, values.offsets, polars.Series(values.values))
        inner = [_polars_column(polars, one, part) for one, part in values.fields.items()]
        return _polars_lists(polars, name, values.offsets, polars.DataFrame(inner).to_struct())
    if name == "side" and values.dtype.kind == "i":
        sides = polars.Series(name, [*SIDES, None], dtype=polars.Enum(SIDES))
        return sides.gather(values % (len(SIDES) + 1))
    if values.dtype.kind == "M":
        return polars.Series(name, values).cast(polars.Datetime("ns")).dt.replace_time_zone("UTC")
    if values.dtype.kind == "O":
        return polars.Series(name, values.tolist(), dtype=polars.String)
    return polars.Series(name, values)


def set_to_polars(every: Sequence[Framed], label: Label = "left") -> Any:
    """Several series as one long polars ``DataFrame``; none as an empty one."""
    polars = load("polars")
    if not every:
        return polars.DataFrame(schema={"time": polars.Datetime("ns", "UTC")})
    parts = []
    for series, labels in _labelled(every):
        part = to_polars(series, label)
        known = [polars.lit(value, polars.Enum(choices)).alias(name) for name, (value, choices) in labels.items()]
        parts.append(part.select("time", *known, polars.exclude("time")))
    return polars.concat(parts, how="diagonal")


def to_arrow(series: Framed, label: Label = "left") -> Any:
    """A series as a pyarrow ``Table``."""
    pyarrow = load("pyarrow")
    times, columns = series.flat(label)
    data = {"time": times, **columns}
    arrays = {name: _arrow_column(pyarrow, name, values) for name, values in data.items()}
    return pyarrow.table(arrays, metadata=series.id.known() | _metadata([series]))


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


def set_to_arrow(every: Sequence[Framed], label: Label = "left") -> Any:
    """Several series as one long pyarrow ``Table``; none as an empty one."""
    pyarrow = load("pyarrow")
    if not every:
        return pyarrow.schema([("time", pyarrow.timestamp("ns", tz="UTC"))]).empty_table()
    parts = []
    for series, labels in _labelled(every):
        part = to_arrow(series, label).replace_schema_metadata(None)
        for place, (name, (value, _)) in enumerate(labels.items()):
            column = pyarrow.repeat(pyarrow.scalar(value, pyarrow.string()), len(part))
            part = part.add_column(1 + place, name, column)
        parts.append(part)
    return pyarrow.concat_tables(parts, promote_options="default").replace_schema_metadata(_metadata(every) or None)


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


def _flattened(kind: Mapping[str, Kind], values: Sequence[Any]) -> tuple[Any, Table]:
    """Records within records as a table of their own, and where those of each row start: int64 (rows + 1)."""
    import numpy as np

    offsets = np.cumsum([0, *map(len, values)])
    return offsets, {name: (inner, [row[name] for rows in values for row in rows]) for name, inner in kind.items()}


def table_to_arrow(table: Table) -> Any:
    """Columns as a pyarrow ``Table``. Fields of no fixed form, under ``extra``, become JSON text."""
    pyarrow = load("pyarrow")
    return pyarrow.table({name: _arrow_values(pyarrow, *one) for name, one in table.items()})


def _arrow_values(pyarrow: Any, kind: Kind, values: Sequence[Any]) -> Any:
    if not isinstance(kind, str):
        offsets, inner = _flattened(kind, values)
        arrays = [_arrow_values(pyarrow, *one) for one in inner.values()]
        records = pyarrow.StructArray.from_arrays(arrays, names=list(inner))
        return pyarrow.ListArray.from_arrays(offsets.astype("int32"), records)
    number, text = pyarrow.float64(), pyarrow.string()
    types = {"int": pyarrow.int64(), "float": number, "truth": pyarrow.bool_()}
    types |= {"numbers": pyarrow.list_(number), "texts": pyarrow.list_(text)}
    types |= {"time": pyarrow.timestamp("ns", tz="UTC")}
    return pyarrow.array(_plain_values(kind, values), type=types.get(str(_settled(kind, values)), text))


def _plain_values(kind: Kind, values: Sequence[Any]) -> Any:
    """Values as pyarrow and polars take them."""
    import numpy as np

    if kind == "time":
        return np.array(values, dtype="datetime64[ns]")
    if kind == "json":
        return [json.dumps(value) for value in values]
    if kind == "any":
        return [None if value is None else str(value) for value in values]
    return values


def table_to_polars(table: Table) -> Any:
    """As :func:`table_to_arrow`, for polars."""
    polars = load("polars")
    return polars.DataFrame([_polars_values(polars, name, *one) for name, one in table.items()])


def _polars_values(polars: Any, name: str, kind: Kind, values: Sequence[Any]) -> Any:
    if not isinstance(kind, str):
        offsets, inner = _flattened(kind, values)
        columns = [_polars_values(polars, *one) for one in ((field, *inner[field]) for field in inner)]
        return _polars_lists(polars, name, offsets, polars.DataFrame(columns).to_struct())
    if kind == "time":
        return _polars_column(polars, name, _plain_values(kind, values))
    if kind == "numbers":  # polars itself would take arrays of one length for a matrix
        import numpy as np

        flat = np.concatenate([np.array([], dtype=np.float64), *values])
        return _polars_lists(polars, name, np.cumsum([0, *map(len, values)]), polars.Series(flat))
    types = {"int": polars.Int64, "float": polars.Float64, "truth": polars.Boolean}
    types |= {"texts": polars.List(polars.String)}
    held = list(_plain_values(kind, values))
    return polars.Series(name, held, dtype=types.get(str(_settled(kind, values)), polars.String))


def _polars_lists(polars: Any, name: str, offsets: Any, values: Any) -> Any:
    """Values back to back as a column of lists, without pyarrow and without a loop over rows."""
    import numpy as np

    rows = np.arange(len(offsets) - 1)
    values = values[int(offsets[0]) : int(offsets[-1])].alias(name)
    pairs = polars.DataFrame([polars.Series("row", np.repeat(rows, np.diff(offsets))), values])
    lists = pairs.group_by("row", maintain_order=True).agg(name)
    every = polars.DataFrame([polars.Series("row", rows)]).join(lists, on="row", how="left", maintain_order="left")
    return every[name].fill_null(polars.Series([[]], dtype=polars.List(values.dtype)))


def refuse_array(whole: object) -> NoReturn:
    """What ``numpy.asarray`` and ``pandas.DataFrame`` get of a table that is no one array: a plain error.

    Raises:
        SelectionError: Always.
    """
    raise SelectionError(
        f"a {type(whole).__name__} holds several columns and is no array: take one by its name, such as ['close'], "
        "or all of them by to_pandas(), to_polars() or to_arrow()"
    )


def arrow_stream(whole: Exported, requested_schema: Any = None) -> Any:
    """The Arrow C stream of a result, made by pyarrow or else by polars.

    Raises:
        MissingDependencyError: Neither is installed.
    """
    table = whole.to_arrow() if load_if_there("pyarrow") else whole.to_polars() if load_if_there("polars") else None
    if table is None:
        raise MissingDependencyError(
            "an Arrow stream needs pyarrow or polars, and neither is installed: pip install 'marketpoints[arrow]'; "
            "series['name'] is a NumPy array, and to_pandas() needs neither"
        )
    return table.__arrow_c_stream__(requested_schema)


def _labelled(every: Sequence[Framed]) -> list[tuple[Framed, dict[str, tuple[str | None, list[str]]]]]:
    """Each series with its labels: by name the label, and all labels of that name in the order they come."""
    choices: dict[str, list[str]] = {}
    by_symbol = all(series.id.raw_symbol is not None for series in every)
    for name, identity in LABELS.items():
        found = dict.fromkeys(getattr(series.id, identity) for series in every)
        found.pop(None, None)
        # A coin tells nothing more where all have a symbol.
        wanted = found and not (name == "coin" and by_symbol)
        if wanted and not any(name in series.flat()[1] for series in every):
            choices[name] = list(found)
    return [(series, {name: (getattr(series.id, LABELS[name]), choices[name]) for name in choices}) for series in every]
