"""Results as pandas frames over NumPy's arrays: vectorized, and sharing memory where possible."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ..common.optional import load
from ..common.protocols import FrameSource, Label
from .arrow_tables import SIDES, ColumnKind, ColumnTable, Flat, choices_of, label_of, settled, usd_of
from .ragged import Nested, Ragged

__all__ = ["of_columns", "of_records", "of_series"]


def of_series(every: Sequence[FrameSource], label: Label = "left", *, copy: bool = False) -> Any:
    """A series as a ``DataFrame``; several as one long frame, none as an empty one."""
    if len(every) != 1:
        return _long(every, label)
    (series,) = every
    frame = _frame(load("pandas"), [series.flat(label)])
    if copy:
        frame = frame.copy(deep=True)
    frame.attrs |= {"id": series.id.known(), **usd_of(every)}
    return frame


def _frame(pandas: Any, parts: Sequence[Flat]) -> Any:
    """The rows of several series with the same columns; a single series is not copied."""
    index = pandas.DatetimeIndex(_joined([times for times, _ in parts]), name="time", copy=False).tz_localize("UTC")
    data = {name: _column(pandas, name, [columns[name] for _, columns in parts]) for name in parts[0][1]}
    return pandas.DataFrame(data, index=index, copy=False)


def _joined(parts: Sequence[Any]) -> Any:
    import numpy as np

    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _column(pandas: Any, name: str, parts: Sequence[Any]) -> Any:
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
    """Names and types of a series' columns."""
    return [(name, getattr(values, "dtype", type(values))) for name, values in flat[1].items()]


def _long(every: Sequence[FrameSource], label: Label) -> Any:
    """Several series below each other."""
    pandas = load("pandas")
    if not every:
        times = pandas.DatetimeIndex([], dtype="datetime64[ns, UTC]", name="time")
        return pandas.DataFrame(index=times)
    import numpy as np

    flats = [series.flat(label) for series in every]
    # A frame for each series would cost more than its values, so series with the same columns share one.
    alike = [_frame(pandas, list(parts)) for _, parts in itertools.groupby(flats, _form)]
    frame = alike[0] if len(alike) == 1 else pandas.concat(alike)
    rows = [len(times) for times, _ in flats]
    # Once for the whole frame: categories in each part would take time and memory quadratic in their number.
    for place, (name, choices) in enumerate(choices_of(every, flats).items()):
        codes: dict[str | None, int] = {value: code for code, value in enumerate(choices)}
        own = np.array([codes.get(label_of(one, name), -1) for one in every])
        frame.insert(place, name, pandas.Categorical.from_codes(np.repeat(own, rows), categories=choices))
    frame.attrs = usd_of(every)
    return frame


def of_columns(name: str, times: Any, columns: Mapping[str, Any]) -> Any:
    """Columns of one row a time, indexed by time."""
    pandas = load("pandas")
    index = pandas.DatetimeIndex(times, name=name).tz_localize("UTC")
    data = {
        one: pandas.DatetimeIndex(column).tz_localize("UTC") if column.dtype.kind == "M" else column
        for one, column in columns.items()
    }
    return pandas.DataFrame(data, index=index)


def of_records(table: ColumnTable) -> Any:
    """Columns as a pandas ``DataFrame``; lists and records stay Python objects."""
    pandas = load("pandas")
    return pandas.DataFrame({name: _values(pandas, settled(*one), one[1]) for name, one in table.items()})


def _values(pandas: Any, kind: ColumnKind, values: Sequence[Any]) -> Any:
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
