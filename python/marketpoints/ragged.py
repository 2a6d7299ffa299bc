"""Columns whose rows differ in length: values back to back, and where each row starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Nested", "Ragged", "same", "span"]


@dataclass(frozen=True, eq=False)
class Ragged:
    """A list of numbers a row.

    Attributes:
        offsets: Where each row starts in ``values``: int64 (rows + 1).
        values: All rows' numbers back to back: float64, read-only, no copy.
    """

    offsets: "npt.NDArray[np.int64]"
    values: "npt.NDArray[np.float64]"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> "npt.NDArray[np.float64]":
        """The numbers of one row, a view.

        Raises:
            IndexError: There is no such row.
        """
        return self.values[span(self.offsets, index)]


@dataclass(frozen=True, eq=False)
class Nested:
    """A list of records a row.

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
        """
        part = span(self.offsets, index)
        return {name: _part(values, part) for name, values in self.fields.items()}


def span(offsets: "npt.NDArray[np.int64]", index: int) -> slice:
    """The places of one row; negative indices count from the end.

    Raises:
        IndexError: There is no such row.
    """
    count = len(offsets) - 1
    if not -count <= index < count:
        raise IndexError(f"row {index}: there are {count}")
    index %= count
    return slice(int(offsets[index]), int(offsets[index + 1]))


def _part(values: Any, part: slice) -> Any:
    if isinstance(values, Ragged):
        return Ragged(values.offsets[part.start : part.stop + 1], values.values)
    if isinstance(values, Nested):
        return Nested(values.offsets[part.start : part.stop + 1], values.fields)
    return values[part]


def same(left: Any, right: Any) -> bool:
    """Whether two columns hold the same, in kind and value; NaN and NaT equal themselves."""
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
