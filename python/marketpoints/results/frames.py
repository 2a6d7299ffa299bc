"""Frames of results: the libraries that there are, and the methods that every result has for them.

A library is a row of :data:`LIBRARIES` and its methods below; what it is called and which extra brings it stands in
``common/optional.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from .. import _engine
from ..common.optional import load
from ..common.protocols import ColumnSource, FrameSource, Label
from ..errors import SelectionError
from . import pandas_frames, wide_frames
from .arrow_tables import (
    ColumnKind,
    ColumnTable,
    Dated,
    choices_of,
    columns_table,
    long_table,
    records_table,
    series_table,
)

__all__ = ["LIBRARIES", "Exported", "Frame", "Library", "RecordFrames", "SeriesFrames", "refuse_as_array"]

#: Names of the libraries.
Frame: TypeAlias = Literal["pandas", "polars", "arrow"]


@dataclass(frozen=True)
class Library:
    """How frames of one library are made.

    Attributes:
        series: From series and the end of a bucket that is a row's time: the only one's frame, or one long frame.
        records: From a table of records.
        columns: From the name of the times, the times, and columns of one row a time.
    """

    series: Callable[..., Any]
    records: Callable[[ColumnTable], Any]
    columns: Callable[[str, Any, Mapping[str, Any]], Any]


def _by_arrow(make: Callable[..., Any], *, coded: bool = False) -> Library:
    """A library that reads Arrow: ``make`` gets a table and, where ``coded``, the choices of its texts."""

    def of_series(every: Sequence[FrameSource], label: Label = "left") -> Any:
        if not coded or len(every) < 2:
            return make(series_table(every, label))
        flats = [series.flat(label) for series in every]
        choices = choices_of(every, flats)
        return make(long_table(every, flats, choices, coded=True), choices)

    return Library(
        of_series,
        lambda table: make(records_table(table)),
        lambda name, times, columns: make(columns_table(name, times, columns)),
    )


def _polars(table: _engine.ArrowTable, choices: Mapping[str, Sequence[str]] | None = None) -> Any:
    """A table as a polars ``DataFrame``; codes with names are an ``Enum``, and so are texts of known choices."""
    polars = load("polars")
    names_of = {**(choices or {}), **table.categories}
    enums = [polars.col(name).cast(polars.Enum(names)) for name, names in names_of.items()]
    return polars.DataFrame(table).with_columns(enums)


def _pyarrow(table: _engine.ArrowTable) -> Any:
    """A table as a pyarrow ``Table``."""
    return load("pyarrow").table(table)


#: The libraries by name. pandas stands over NumPy's arrays and needs no Arrow.
LIBRARIES: Mapping[Frame, Library] = {
    "pandas": Library(pandas_frames.of_series, pandas_frames.of_records, pandas_frames.of_columns),
    "polars": _by_arrow(_polars, coded=True),
    "arrow": _by_arrow(_pyarrow),
}


class Exported(ABC):
    """Export by the Arrow PyCapsule interface, which needs no pyarrow."""

    __slots__ = ()

    @abstractmethod
    def _arrow(self) -> _engine.ArrowTable:
        """Its columns as an Arrow table."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow C stream of ``to_arrow()``, from the engine: no other package is needed.

        A ``requested_schema`` is checked, but the data keep their own schema: casting is up to the reader.

        Raises:
            SelectionError: The requested schema has other columns, or types to which these cannot be cast.
        """
        return self._arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        """The Arrow C schema of :meth:`__arrow_c_stream__`."""
        return self._arrow().__arrow_c_schema__()


class SeriesFrames(Exported):
    """Frames of a series, and of several."""

    __slots__ = ()

    @abstractmethod
    def _every(self) -> Sequence[ColumnSource]:
        """The series."""

    def to_pandas(
        self, *, label: Label = "left", copy: bool = False, pivot: bool = False, known_at: bool = False
    ) -> Any:
        """A pandas ``DataFrame``, indexed by ``time`` (tz-aware UTC, ns).

        Several series are one long frame with ``side``, ``exchange`` and ``symbol``, none are an empty one.

        Args:
            label: ``"left"`` labels a row with the start of its bucket, as the service does; ``"right"`` with its end,
                :attr:`Series.closes_at`, when its values are known.
            copy: False shares the engine's memory where pandas can; the values are then read-only. True copies them,
                so that they may be changed in place.
            pivot: True gives one row for each time, and a column for each value of each series, with what
                distinguishes the series in its name: ``volume_BUY``, ``close_ETHUSDT``; NaN where a series has no row.
            known_at: Whether the columns begin with ``known_at``, when each row was known (:attr:`Series.known_at`),
                and :attr:`Series.asked_at`, as feature stores need them; not with ``pivot``.

        Raises:
            MissingDependencyError: pandas is not installed.
            InvalidRequest: There is no such label.
            SelectionError: ``label`` is ``"right"`` and the length of a bucket is not known; or ``pivot`` of series
                that have several values a time.
        """
        return self._frame("pandas", label, pivot, known_at, copy=copy)

    def to_polars(self, *, label: Label = "left", pivot: bool = False, known_at: bool = False) -> Any:
        """A polars ``DataFrame`` with the column ``time`` (ns, UTC) first; else as :meth:`to_pandas`.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        return self._frame("polars", label, pivot, known_at)

    def to_arrow(self, *, label: Label = "left", pivot: bool = False, known_at: bool = False) -> Any:
        """A pyarrow ``Table`` with the column ``time`` (ns, UTC) first; numbers share the engine's memory.

        Else as :meth:`to_pandas`.

        Raises:
            MissingDependencyError: pyarrow is not installed.
        """
        return self._frame("arrow", label, pivot, known_at)

    def _frame(self, name: Frame, label: Label, pivot: bool, known_at: bool, **options: Any) -> Any:
        library, every = LIBRARIES[name], self._every()
        if pivot:
            return library.columns("time", *wide_frames.side_by_side(every, label))
        return library.series([Dated(one) for one in every] if known_at else every, label, **options)

    def _arrow(self) -> _engine.ArrowTable:
        return series_table(self._every())


class RecordFrames(Exported):
    """Frames of records."""

    @abstractmethod
    def _table(self) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
        """Kind and values of each column."""

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame``: one row for each record, columns by attribute name.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return LIBRARIES["pandas"].records(self._table())

    def to_polars(self) -> Any:
        """Like :meth:`to_pandas`, for polars; fields that this version does not know are JSON text in ``extra``.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        return LIBRARIES["polars"].records(self._table())

    def to_arrow(self) -> Any:
        """Like :meth:`to_polars`, for pyarrow.

        Raises:
            MissingDependencyError: pyarrow is not installed.
        """
        return LIBRARIES["arrow"].records(self._table())

    def _arrow(self) -> _engine.ArrowTable:
        return records_table(self._table())


def refuse_as_array(whole: object) -> NoReturn:
    """Fails plainly when ``numpy.asarray`` or ``pandas.DataFrame`` is called on a table of several columns.

    Raises:
        SelectionError: Always.
    """
    raise SelectionError(
        f"a {type(whole).__name__} holds several columns and is no array: take one by its name, such as ['close'], "
        "or all of them by to_pandas(), to_polars() or to_arrow()"
    )
