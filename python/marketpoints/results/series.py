"""Results: one series with its identity and its columns (specification, section 2.2)."""

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from .. import _engine
from ..common.display import lines, safe_repr
from ..common.protocols import Label
from ..common.suggest import did_you_mean
from ..common.times import exact, spell
from ..errors import InvalidRequest
from ..identity import Window
from . import frames
from .bucket_methods import BucketMethods
from .cards import series_card
from .ragged import Nested, Ragged, same

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from ..common.times import Time
    from ..explorer import Explorer

__all__ = ["Series", "read"]

Values: TypeAlias = "npt.NDArray[Any] | Ragged | Nested"


class Series(BucketMethods, frames.SeriesFrames):
    """One series: an identity, a timestamp for each row, and columns over the engine's memory.

    ``series["close"]`` is a column by name: numbers and times are read-only NumPy arrays without a copy, which stay
    valid when the series is gone, texts an object array, lists :class:`Ragged`, records :class:`Nested`.
    ``series[10:20]`` is a range of rows, a series of the same kind over the same memory. Rows ascend in time, without
    duplicates. An omitted number is 0, an unknown optional one NaN, an absent time NaT.

    Two series are equal when identity, columns and values are, with NaN equal to NaN. A series can be pickled; with
    protocol 5 its arrays go out of band.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Series) or type(self) is not type(other):
            return NotImplemented
        if self._columns is other._columns:
            return True
        return (
            self.id == other.id
            and (names := self._columns.layout.names) == other._columns.layout.names
            and same(self.timestamps, other.timestamps)
            and all(same(read(self._columns, name), read(other._columns, name)) for name in names)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.id, len(self), *self._columns.layout.names))

    def _item(self, name: object) -> Any:
        """What is no column that is one array of numbers or times: :meth:`__getitem__` of the engine looks those up."""
        if isinstance(name, slice):
            return self._cut(name)
        if not isinstance(name, str):
            raise TypeError(
                f"columns go by name, such as series['close'], not by {name!r}; one row's value is series['close'][0], "
                "and series[10:20] or series.head() are rows"
            )
        return self._column(name)

    def _column(self, name: str) -> Any:
        """A column that is not one array of numbers or times."""
        return read(self._columns, name)

    def head(self, rows: int = 5) -> "Self":
        """The first rows; with a negative number all but that many of the last."""
        return self[: operator.index(rows)]

    def tail(self, rows: int = 5) -> "Self":
        """The last rows; with a negative number all but that many of the first."""
        rows = operator.index(rows)
        return self[-rows:] if rows < 0 else self[max(len(self) - rows, 0) :]

    def _cut(self, rows: slice) -> "Self":
        if rows.step not in (None, 1):
            raise InvalidRequest(
                f"rows: a step of {rows.step!r} is not possible, a series has every row and they ascend; "
                "series['close'][::2] takes every second value of a column"
            )
        start, stop, _ = rows.indices(len(self))
        stop = max(start, stop)
        if (start, stop) == (0, len(self)):
            return self
        # Windows of adjacent parts touch, so that each gap is in one of them.
        part = None if self.requested is None else Window(self._edge(start), self._edge(stop))
        return type(self)(self._columns.cut(start, stop), self._asked, part)

    def _edge(self, row: int) -> Any:
        """The time that splits the window before a row."""
        if self.requested is not None and row in (0, len(self)):
            return self.requested.end if row else self.requested.start
        return self.timestamps[row]

    def __contains__(self, name: object) -> bool:
        return name in self._columns.layout.names

    def __iter__(self) -> Iterator[str]:
        """Column names, as a mapping's keys."""
        return iter(self.columns)

    @safe_repr
    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        return series_card(self)

    def _facts(self) -> dict[str, str]:
        facts = {"rows": f"{len(self):,}"}
        identity = self.id
        asked = self.asked_for
        if asked is not None and not (identity.raw_symbol or identity.exchange):
            facts["of"] = str(asked)
        if identity.side is not None:
            facts["side"] = f"{identity.side} only"
        if len(self):
            first, last = self.timestamps[[0, -1]]
            facts |= {"from": exact(first), "to": spell(last)}
        return facts | {"columns": " ".join(self.columns)}

    def _lines(self) -> int:
        """Number of rows of :meth:`flat`."""
        return len(self)

    def _times(self, label: Label) -> Any:
        """The time of each row of :meth:`flat`."""
        return self._stamps(label)

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """The series as a table: the time of each of its rows, datetime64[ns] in UTC, and its columns by name.

        Each price level is a row, with its snapshot's time. ``label`` as in :meth:`to_pandas`.
        """
        return self._times(label), {name: self[name] for name in self.columns}

    def _every(self) -> "tuple[Self]":
        return (self,)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Refuses a conversion to one array by NumPy or pandas.

        Raises:
            SelectionError: Always; the message says what to do instead.
        """
        frames.refuse_as_array(self)

    def plot(
        self, *, ax: Any = None, figsize: tuple[float, float] | None = None, volume: bool = True, **others: Any
    ) -> Any:
        """Draws what the series holds: candles with volume, liquidations as bars, other columns as lines by unit.

        With more rows than pixels none is lost: of the bars that share a column of pixels the highest is shown. A gap
        in the rows is a gap in the picture.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            figsize: Width and height in inches of a new figure; None is as high as what it shows needs.
            volume: Whether candles have their volume below.
            others: None: an option of other results' plots is refused, with the results that it is for.

        Returns:
            The axes of the first panel.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            InvalidRequest: There is such an option, or the axes are none.
            SelectionError: There is no column of numbers.
        """
        from .. import plots

        plots.check_choices([self], others)
        return plots.series(self, ax=ax, figsize=figsize, volume=volume)

    def explore(
        self,
        over: Any = (),
        *,
        window: "tuple[Time, Time] | None" = None,
        prices: tuple[float, float] | None = None,
        client: Any = None,
        archive: Any = None,
        **arguments: Any,
    ) -> "Explorer":
        """Candles or a heatmap to zoom and drag in a notebook, with anything over them (``docs/results.md``).

        Wheel: zoom. Drag: move. Shift and drag: zoom into a box. Double click: back. Keys: arrows, ``+``, ``-``, ``0``
        the beginning, ``b`` sides, ``s`` scale of colours, ``d`` dark or light, ``p`` the profile, ``f`` full screen.

        Args:
            over: Results of the same market, drawn over it: candles over a heatmap, liquidations as bubbles whose
                area is their worth, a volume profile, at the right edge and of the buckets in view. Sets of
                series and lists of them too.
            window: Start and end of the time shown first; None is all of it.
            prices: Lowest and highest price shown first; None chooses the part around the market.
            client: A :class:`~marketpoints.Client`. Where the view leaves the loaded window, a button shows the weight
                of the rest, by ``client.plan``; pressing it spends that and no more.
            archive: A :class:`~marketpoints.Archive`, which is read outside the loaded window; that costs nothing.
            arguments: Arguments for loading more that the result does not have, such as ``max_depth``.

        Returns:
            The explorer: a notebook shows it, with a static picture beside it for programs that run no code;
            ``to_html(path)`` writes it as one file.

        Raises:
            MissingDependencyError: anywidget is not installed.
            SelectionError: It has no prices, or a result of ``over`` is of another market, cannot be drawn over it, or
                is there twice.
            InvalidRequest: The window or the prices are invalid or outside of it, or the client is none.
        """
        from .. import explorer

        return explorer.explore(
            self, over, window=window, prices=prices, client=client, archive=archive, arguments=arguments
        )


def read(columns: _engine.Columns, name: str) -> Values:
    """One column of the engine, in the form for its kind.

    Raises:
        KeyError: There is no such column.
    """
    names = columns.layout.names
    if name not in names:
        if name in ("timestamps", "timestamp", "time"):
            hint = "; the times of the rows are .timestamps;"
        else:
            near = _engine.closest(name, names)
            hint = did_you_mean(near and repr(near)) or ";"
        raise KeyError(f"no column {name!r}{hint} there are: {', '.join(names) or 'none'}")
    kind = columns.kind(name)
    if kind in ("float", "int", "time"):
        return columns[name]
    if kind == "text":
        import numpy as np

        return np.array(columns.text(name), dtype=object)
    if kind == "list":
        return Ragged(*columns.list(name))
    offsets, inner = columns.rows(name)
    return Nested(offsets, {one: read(inner, one) for one in inner.layout.names})
