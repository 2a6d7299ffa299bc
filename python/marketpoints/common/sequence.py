"""A read-only sequence type that data frame packages do not take for one."""

from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["ReadOnlySequence"]

Item = TypeVar("Item")


class ReadOnlySequence(Generic[Item]):
    """Read-only items by position, with the methods of a tuple.

    Not a ``collections.abc.Sequence``: of one, pandas and polars make a row per item and ignore the columns it offers.
    """

    _items: tuple[Item, ...]

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __reversed__(self) -> Iterator[Item]:
        return reversed(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def index(self, item: Item, start: int = 0, stop: int | None = None) -> int:
        """Position of the first item that equals ``item``.

        Raises:
            ValueError: There is none.
        """
        return self._items.index(item, start, len(self) if stop is None else stop)

    def count(self, item: Item) -> int:
        """How many items equal ``item``."""
        return self._items.count(item)
