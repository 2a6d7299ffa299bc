"""Typed records, sequences of them, and plain tables: all with frames, a short repr and a card."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar, get_args, get_origin, overload

from ..common.display import EDGE, card, cell, grid, lines, safe_repr
from ..common.dtypes import dtype_kind
from ..common.sequence import ReadOnlySequence
from ..common.times import from_wire, spell
from ..results.arrow_tables import ColumnKind
from ..results.frames import RecordFrames, refuse_as_array
from ..results.ragged import same

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Pictured", "Records", "Table", "TypedRecord", "numbers_of", "record"]

Record = TypeVar("Record")


class Form(NamedTuple):
    """How fields of one annotation are handled.

    Attributes:
        kind: Their kind in a frame.
        read: Converts the engine's value, to None if the field cannot hold it; without ``read`` the value is unchanged.
    """

    kind: ColumnKind
    read: Callable[[Any], Any] | None = None


def numbers_of(values: Any) -> "npt.NDArray[np.float64]":
    """Numbers as a read-only float64 array."""
    import numpy as np

    array: npt.NDArray[np.float64] = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


#: The annotations of records' fields, except nested records.
FORMS: dict[Any, Form] = {
    str: Form("text"),
    str | None: Form("text"),
    int: Form("int"),
    float: Form("float"),
    float | None: Form("float"),
    bool: Form("truth"),
    tuple[str, ...]: Form("texts", tuple),
    tuple[float, ...]: Form("numbers", lambda sent: tuple(math.nan if one is None else one for one in sent)),
    "npt.NDArray[np.float64]": Form("numbers", numbers_of),
    "np.datetime64": Form("time", from_wire),
}


@dataclass(frozen=True, repr=False, eq=False)
class TypedRecord(RecordFrames):
    """A record with frames of one row. Records are equal when their fields are, arrays by value."""

    #: The fields that the short repr and the card show; empty for all of them.
    SHOWN: ClassVar[tuple[str, ...]] = ()

    def _table(self) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
        return self._tabled([self])

    @classmethod
    def _tabled(cls, records: Sequence[Any]) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
        """The columns of several records of this class."""
        return _columns(cls, records)

    @safe_repr
    def __repr__(self) -> str:
        return f"<{type(self).__name__} {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts())

    def _facts(self) -> dict[str, str]:
        shown = {name: getattr(self, name) for name in self.SHOWN or [one.name for one in fields(self)]}
        return {name: _brief(value) for name, value in shown.items() if not _is_absent(value)}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        plain = (getattr(self, one.name) for one in fields(self) if one.type in (str, int))
        return hash((type(self), *plain))

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if getattr(value, "ndim", 0):
                value.flags.writeable = False  # also after copying or unpickling
        self.__dict__.update(state)


class Pictured(TypedRecord):
    """A record that can be drawn alone."""

    def plot(self, *, ax: Any = None, figsize: tuple[float, float] | None = None) -> Any:
        """Draws the record: a wallet's or a market's amounts and distributions.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            figsize: Width and height in inches of a new figure; None is as high as what it shows needs.

        Returns:
            The axes of the first panel.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        from .. import plots

        return plots.rankings([self], kind=type(self).__name__, ax=ax, figsize=figsize)


class Records(ReadOnlySequence[Record], RecordFrames, Generic[Record]):
    """A read-only sequence of typed records, with frames."""

    def __init__(
        self, records: Iterable[Record], kind: type[Record] | None = None, *, why_empty: str | None = None
    ) -> None:
        """Records of a kind, which names the columns of an empty frame, and why there may be none, in words."""
        self._items = tuple(records)
        self._kind = kind or (type(self._items[0]) if self._items else None)
        self._why_empty = why_empty

    @property
    def why_empty(self) -> str | None:
        """Why there may be no records, in words, where that is known; None where there are some."""
        return None if self._items else self._why_empty

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> "Records[Record]": ...
    def __getitem__(self, index: int | slice) -> "Record | Records[Record]":
        """One record, or the records of a slice."""
        return Records(self._items[index], self._kind) if isinstance(index, slice) else self._items[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    @safe_repr
    def __repr__(self) -> str:
        return f"<{len(self)} × {self._name()}{'' if self.why_empty is None else f': {self.why_empty}'}>"

    def _repr_html_(self) -> str:
        names = _shown(self._kind)
        rows = [[cell(_brief(getattr(one, name))) for name in names] for one in _edges(self._items)]
        facts = {} if self.why_empty is None else {"why": self.why_empty}
        return card(f"{len(self):,} × {self._name()}", facts, _ends(names, rows, len(self)))

    def plot(self, *, ax: Any = None, figsize: tuple[float, float] | None = None) -> Any:
        """Draws a leaderboard, positions, categories or outcomes; of many records the 25 with the largest amounts.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            figsize: Width and height in inches of a new figure; None is as high as what it shows needs.

        Returns:
            The axes.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            SelectionError: There is no plot of such records.
        """
        from .. import plots

        kind = "" if self._kind is None else self._kind.__name__
        return plots.rankings(self._items, kind=kind, ax=ax, figsize=figsize)

    def _name(self) -> str:
        return "record" if self._kind is None else self._kind.__name__

    def _table(self) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
        if self._kind is None:
            return {}
        tabled = getattr(self._kind, "_tabled", None)
        return _columns(self._kind, self._items) if tabled is None else tabled(self._items)

    def _rows(self) -> list[dict[str, Any]]:
        """The records as plain dictionaries."""
        return [{one.name: _plain(getattr(record, one.name)) for one in fields(record)} for record in self._items]  # type: ignore[arg-type]


class Table(RecordFrames, Mapping[str, "npt.NDArray[Any]"]):
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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Refuses a conversion to one array by NumPy or pandas.

        Raises:
            SelectionError: Always; the message says what to do instead.
        """
        refuse_as_array(self)

    @safe_repr
    def __repr__(self) -> str:
        return f"<Table {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        edges = {name: _edges(values) for name, values in self._columns.items()}
        rows = [[cell(value) for value in row] for row in zip(*edges.values(), strict=True)]
        return card("Table", self._facts(), _ends(list(edges), rows, self._rows()))

    def _rows(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def _facts(self) -> dict[str, str]:
        return {"rows": f"{self._rows():,}", "columns": " ".join(self._columns)}

    def _table(self) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
        kinds: dict[str, ColumnKind] = {"f": "float", "i": "int", "O": "text"}
        columns: Mapping[str, Any] = self._columns
        return {name: (kinds[values.dtype.kind], values) for name, values in columns.items()}


def _shown(kind: Any) -> list[str]:
    """The fields of a record in a displayed table."""
    return [] if kind is None else list(getattr(kind, "SHOWN", ()) or (one.name for one in fields(kind)))


def _edges(rows: Any) -> list[Any]:
    """The first and the last of many rows."""
    return list(rows) if len(rows) <= 2 * EDGE else [*rows[:EDGE], *rows[-EDGE:]]


def _ends(names: Sequence[str], rows: Sequence[Sequence[str]], count: int) -> str:
    whole = count <= 2 * EDGE
    return grid(names, rows if whole else rows[:EDGE], [] if whole else rows[EDGE:], count - len(rows))


def record(kind: Callable[..., Record], sent: Mapping[str, Any], named: Callable[[str], str] = str) -> Record:
    """A record of a kind from its fields by wire name.

    Args:
        kind: The record's class, with a field ``extra`` for unknown fields and for values that it cannot hold.
        sent: The fields from the engine.
        named: Converts a wire name to an attribute's.
    """
    fields_of: Any = kind
    readers = _readers(fields_of, named)
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for wire_name, value in sent.items():
        name = named(wire_name)
        read = readers.get(name)
        held = value if read is None else read(value)
        if name in readers and (held is not None or value is None):
            known[name] = held
        else:
            extra[wire_name] = value
    return kind(**known, extra=extra)


@cache
def _readers(kind: Any, named: Callable[[str], str]) -> dict[str, Callable[[Any], Any] | None]:
    """The reader of each field of a record class, by attribute name: its own ``read``, else by its annotation."""
    return {one.name: _reader(one, named) for one in fields(kind) if one.name != "extra"}


def _reader(one: Field[Any], named: Callable[[str], str]) -> Callable[[Any], Any] | None:
    if get_origin(one.type) is Records:
        (inner,) = get_args(one.type)
        return lambda rows: Records([record(inner, row, named) for row in rows], inner)
    form = FORMS.get(one.type)
    own: Callable[[Any], Any] | None = one.metadata.get("read", form and form.read)
    return own


def _columns(kind: Any, records: Sequence[Any]) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
    return {
        one.name: (_kind(one.type), [_plain(getattr(record, one.name)) for record in records]) for one in fields(kind)
    }


def _kind(annotation: Any) -> ColumnKind:
    if get_origin(annotation) is Records:
        (inner,) = get_args(annotation)
        return {one.name: _kind(one.type) for one in fields(inner)}
    form = FORMS.get(annotation)
    return form.kind if form else "json" if get_origin(annotation) is Mapping else "any"


def _plain(value: Any) -> Any:
    """A field for frames: records within a record become lists of dictionaries."""
    return value._rows() if isinstance(value, Records) else value


def _equal(left: Any, right: Any) -> bool:
    if hasattr(left, "ndim") and left.ndim:
        return same(left, right)
    return bool(left == right) or (left != left and right != right)  # NaT and NaN equal themselves


def _is_absent(value: Any) -> bool:
    if value is None or (isinstance(value, (str, tuple)) and not value):
        return True
    return not getattr(value, "ndim", 0) and bool(value != value)  # NaN and NaT


def _brief(value: Any) -> str:
    if isinstance(value, TypedRecord):
        return lines(value._facts())
    if dtype_kind(value) == "M":
        return spell(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
