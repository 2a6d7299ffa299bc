"""Typed records, alone and in sequence, and plain tables: all with frames, a short repr and a card."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_origin, overload

from . import frames
from .display import SHOWN, card, lines
from .frames import Kind
from .ragged import same

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Records", "Table", "TypedRecord"]

Record = TypeVar("Record")

#: How the annotations of a record's fields stand in a frame.
KINDS: dict[Any, Kind] = {
    str: "text",
    str | None: "text",
    int: "int",
    float: "float",
    float | None: "float",
    bool: "truth",
    tuple[str, ...]: "texts",
    tuple[float, ...]: "numbers",
    "npt.NDArray[np.float64]": "numbers",
}


class Tabular:
    """Frames of whatever tells its columns."""

    def _table(self) -> dict[str, tuple[Kind, Sequence[Any]]]:
        """Kind and values of each column."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame``: one row a record, columns by attribute name.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return frames.table_to_pandas(self._table())

    def to_polars(self) -> Any:
        """As :meth:`to_pandas`, for polars; what this version does not know is JSON text in ``extra``.

        Raises:
            MissingDependencyError: polars or pyarrow is not installed.
        """
        return frames.table_to_polars(self._table())

    def to_arrow(self) -> Any:
        """As :meth:`to_polars`, for pyarrow.

        Raises:
            MissingDependencyError: pyarrow is not installed.
        """
        return frames.table_to_arrow(self._table())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow C stream of :meth:`to_arrow`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, repr=False, eq=False)
class TypedRecord(Tabular):
    """A record with frames of one row. Records are equal when their fields are, arrays by value."""

    #: The fields that the short repr and the card tell; none is all of them.
    SHOWN: ClassVar[tuple[str, ...]] = ()

    def _table(self) -> dict[str, tuple[Kind, Sequence[Any]]]:
        return _columns(type(self), [self])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts())

    def _facts(self) -> dict[str, str]:
        shown = {name: getattr(self, name) for name in self.SHOWN or [one.name for one in fields(self)]}
        return {name: _brief(value) for name, value in shown.items() if value is not None and value not in ("", ())}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        plain = (getattr(self, one.name) for one in fields(self) if one.type in (str, int))
        return hash((type(self), *plain))

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if hasattr(value, "flags"):
                value.flags.writeable = False  # a copied or unpickled array is as read-only as the first one
        self.__dict__.update(state)


class Records(Tabular, Sequence[Record], Generic[Record]):
    """A read-only sequence of typed records, with frames."""

    def __init__(self, records: Sequence[Record], kind: type[Record] | None = None) -> None:
        """Records of a kind; the kind gives the frame of none its columns."""
        self._records = tuple(records)
        self._kind = kind or (type(self._records[0]) if self._records else None)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> "Records[Record]": ...
    def __getitem__(self, index: int | slice) -> "Record | Records[Record]":
        """One record, or the records of a slice."""
        return Records(self._records[index], self._kind) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and self._records == other._records

    def __hash__(self) -> int:
        return hash(self._records)

    def __repr__(self) -> str:
        return f"<{len(self)} × {self._name()}>"

    def _repr_html_(self) -> str:
        facts = {str(place): _brief(record) for place, record in enumerate(self._records[:SHOWN])}
        more = len(self) - len(facts)
        return card(f"{len(self):,} × {self._name()}", facts | ({"…": f"and {more:,} more"} if more else {}))

    def _name(self) -> str:
        return "record" if self._kind is None else self._kind.__name__

    def _table(self) -> dict[str, tuple[Kind, Sequence[Any]]]:
        return {} if self._kind is None else _columns(self._kind, self._records)

    def _rows(self) -> list[dict[str, Any]]:
        """The records as plain dictionaries."""
        return [{one.name: _plain(getattr(record, one.name)) for one in fields(record)} for record in self._records]  # type: ignore[arg-type]


class Table(Tabular, Mapping[str, "npt.NDArray[Any]"]):
    """Columns of one length by name: float64, int64, or object arrays of texts."""

    def __init__(self, columns: "Mapping[str, npt.NDArray[Any]]") -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> "npt.NDArray[Any]":
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and list(self) == list(other)
            and all(same(values, other[name]) for name, values in self.items())
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<Table {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        return card("Table", self._facts())

    def _facts(self) -> dict[str, str]:
        rows = len(next(iter(self._columns.values()), ()))
        return {"rows": f"{rows:,}", "columns": " ".join(self._columns)}

    def _table(self) -> dict[str, tuple[Kind, Sequence[Any]]]:
        kinds: dict[str, Kind] = {"f": "float", "i": "int", "O": "text"}
        columns: Mapping[str, Any] = self._columns
        return {name: (kinds[values.dtype.kind], values) for name, values in columns.items()}


def _columns(kind: Any, records: Sequence[Any]) -> dict[str, tuple[Kind, Sequence[Any]]]:
    return {
        one.name: (_kind(one.type), [_plain(getattr(record, one.name)) for record in records]) for one in fields(kind)
    }


def _kind(annotation: Any) -> Kind:
    if get_origin(annotation) is Records:
        (inner,) = get_args(annotation)
        return {one.name: _kind(one.type) for one in fields(inner)}
    return KINDS.get(annotation, "json" if get_origin(annotation) is Mapping else "any")


def _plain(value: Any) -> Any:
    """A field as frames hold it: records within a record are lists of dictionaries."""
    return value._rows() if isinstance(value, Records) else value


def _equal(left: Any, right: Any) -> bool:
    return same(left, right) if hasattr(left, "dtype") else bool(left == right)


def _brief(value: Any) -> str:
    if isinstance(value, TypedRecord):
        return lines(value._facts())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
