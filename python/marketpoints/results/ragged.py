"""Columns whose rows differ in length: values back to back, and the offset of each row."""

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from ..errors import InvalidRequest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Nested", "Ragged", "cut", "same", "span"]


@dataclass(frozen=True, eq=False)
class Ragged:
    """A list of numbers for each row: ``ragged[3]`` is the fourth row's, ``ragged[2:5]`` are three rows; iterable.

    Attributes:
        offsets: Where each row starts in ``values``: int64 (rows + 1).
        values: All rows' numbers back to back: float64, read-only, no copy; in frames, int32 for ``block_ids``.
    """

    offsets: "npt.NDArray[np.int64]"
    values: "npt.NDArray[np.float64]"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> "npt.NDArray[np.float64]":
        """The numbers of one row, a view.

        Raises:
            IndexError: There is no such row.
            TypeError: It is not an integer.
        """
        return self.values[span(self.offsets, index)]

    @overload
    def __getitem__(self, index: int) -> "npt.NDArray[np.float64]": ...
    @overload
    def __getitem__(self, index: slice) -> "Ragged": ...
    def __getitem__(self, index: int | slice) -> Any:
        """The numbers of one row, or several rows; views.

        Raises:
            IndexError: There is no such row.
            TypeError: It is not an integer.
            InvalidRequest: Several rows have a step.
        """
        return cut(self, *_stretch(index, len(self))) if isinstance(index, slice) else self.row(index)

    def __iter__(self) -> "Iterator[npt.NDArray[np.float64]]":
        return map(self.row, range(len(self)))


@dataclass(frozen=True, eq=False)
class Nested:
    """A list of records for each row: ``nested[3]`` is the fourth row's, ``nested["price"]`` a field of all records.

    Attributes:
        offsets: Where each row starts in the fields: int64 (rows + 1).
        fields: All rows' records back to back, by field.
    """

    offsets: "npt.NDArray[np.int64]"
    fields: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> dict[str, Any]:
        """The records of one row: each field's values.

        Raises:
            IndexError: There is no such row.
            TypeError: It is not an integer.
        """
        part = span(self.offsets, index)
        return {name: cut(values, part.start, part.stop) for name, values in self.fields.items()}

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> "Nested": ...
    @overload
    def __getitem__(self, index: str) -> Any: ...
    def __getitem__(self, index: int | slice | str) -> Any:
        """The records of one row, several rows, or a field of :attr:`fields`.

        Raises:
            IndexError: There is no such row.
            KeyError: There is no such field; the message names those that are.
            TypeError: It is neither an integer nor text.
            InvalidRequest: Several rows have a step.
        """
        if isinstance(index, str):
            if index not in self.fields:
                raise KeyError(f"no field {index!r}; there are: {', '.join(self.fields) or 'none'}")
            return self.fields[index]
        return cut(self, *_stretch(index, len(self))) if isinstance(index, slice) else self.row(index)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row's records."""
        return map(self.row, range(len(self)))


def span(offsets: "npt.NDArray[np.int64]", index: int, called: str = "row") -> slice:
    """The places of one row; negative indices count from the end. Errors say what it is called.

    Raises:
        IndexError: There is no such row.
        TypeError: It is not an integer.
    """
    index, count = operator.index(index), len(offsets) - 1
    if not -count <= index < count:
        raise IndexError(f"{called} {index}: there are {count}")
    index %= count
    return slice(int(offsets[index]), int(offsets[index + 1]))


def _stretch(rows: slice, count: int) -> tuple[int, int]:
    if rows.step not in (None, 1):
        raise InvalidRequest(f"rows: a step of {rows.step!r} is not possible where rows differ in length")
    start, stop, _ = rows.indices(count)
    return start, max(start, stop)


def cut(values: Any, start: int, stop: int) -> Any:
    """The rows of a column from ``start`` up to ``stop``; numbers are views, offsets begin at 0 again."""
    if not isinstance(values, (Ragged, Nested)):
        return values[start:stop]
    first, last = int(values.offsets[start]), int(values.offsets[stop])
    offsets = values.offsets[start : stop + 1] - first
    offsets.flags.writeable = False
    if isinstance(values, Ragged):
        return Ragged(offsets, values.values[first:last])
    return Nested(offsets, {name: cut(part, first, last) for name, part in values.fields.items()})


def same(left: Any, right: Any) -> bool:
    """Whether two columns are equal in type and value; NaN and NaT equal themselves."""
    import numpy as np

    if isinstance(left, Ragged) and isinstance(right, Ragged):
        return same(left.offsets, right.offsets) and same(left.values, right.values)
    if isinstance(left, Nested) and isinstance(right, Nested):
        return (
            same(left.offsets, right.offsets)
            and list(left.fields) == list(right.fields)
            and all(same(values, right.fields[name]) for name, values in left.fields.items())
        )
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)) or left.dtype != right.dtype:
        return False
    return np.array_equal(left, right, equal_nan=left.dtype.kind in "fM")
