"""Results: one series, a heatmap, and the set of series that a call answers with (specification, section 2.2)."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from . import _engine, frames
from .display import card, lines, listing
from .errors import InvalidRequest, SelectionError
from .ragged import Nested, Ragged

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Heatmap", "Series", "SeriesId", "SeriesSet", "decode_points"]

Values: TypeAlias = "npt.NDArray[Any] | Ragged | Nested"


@dataclass(frozen=True)
class SeriesId:
    """What a series is of. Any field may be None: the service names only what applies (section 2.2).

    Attributes:
        type: Data type, such as ``TRADE_AGG``.
        exchange: Exchange identifier.
        raw_symbol: Exchange-native symbol.
        normalized_symbol: Symbol in BASE-QUOTE form.
        category: ``SPOT``, ``PERPETUAL``, ``OPTION`` or another open string.
        interval: Wire name of the interval.
        side: ``BUY`` or ``SELL`` for per-side types.
        tenor: Option tenor.
        coin: Base asset.
        token_name: Token name (token supply).
        extra: Fields that this version does not know: the value's JSON text by wire name.
    """

    type: str | None = None
    exchange: str | None = None
    raw_symbol: str | None = None
    normalized_symbol: str | None = None
    category: str | None = None
    interval: str | None = None
    side: str | None = None
    tenor: str | None = None
    coin: str | None = None
    token_name: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    def known(self) -> dict[str, str]:
        """The fields that have a value, without ``extra``."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "extra"}
        return {name: value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        symbol = self.raw_symbol or self.normalized_symbol or self.coin
        parts = (self.type, self.exchange, symbol, self.interval, self.tenor, self.token_name, self.side)
        return " ".join(part for part in parts if part) or "unnamed series"


class Series:
    """One series: an identity, a timestamp a row, and columns over the engine's memory.

    ``series["close"]`` is a read-only NumPy array without a copy; it stays valid when the series is gone. Rows ascend
    in time, without duplicates. An omitted number is 0, an unknown optional one NaN, an absent time NaT.
    """

    def __init__(self, columns: _engine.Columns) -> None:
        self._columns = columns

    @property
    def id(self) -> SeriesId:
        """What the series is of."""
        return SeriesId(**self._columns.id, extra=self._columns.extra_id)

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in the wire's order, in snake_case, without the timestamp."""
        return tuple(self._columns.names)

    @property
    def timestamps(self) -> "npt.NDArray[np.datetime64]":
        """Start of each row's bucket: datetime64[ns] in UTC, shape (rows,), read-only, no copy."""
        return self._columns.timestamps.view("datetime64[ns]")

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, name: str) -> Any:
        """A column by name.

        Numbers are float64 or int64 arrays and times datetime64[ns], shape (rows,), read-only and without a copy.
        Texts are an object array of str and None. Lists are :class:`Ragged`, records :class:`Nested`.

        Raises:
            KeyError: There is no such column; the message names those that are.
        """
        if not isinstance(name, str):
            raise TypeError(f"columns go by name, such as series['close'], not by {name!r}; rows by series['close'][0]")
        return read(self._columns, name)

    def __contains__(self, name: object) -> bool:
        return name in self._columns.names

    def __iter__(self) -> Iterator[str]:
        """Column names, as a mapping's keys."""
        return iter(self.columns)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        return card(f"{type(self).__name__} {self.id}", self._facts())

    def _facts(self) -> dict[str, str]:
        facts = {"rows": f"{len(self):,}"}
        if len(self):
            first, last = (str(moment)[:19].replace("T", " ") for moment in self.timestamps[[0, -1]])
            facts |= {"from": first, "to": f"{last} UTC"}
        return facts | {"columns": " ".join(self.columns)}

    def to_pandas(self, *, copy: bool = False) -> Any:
        """A pandas ``DataFrame``, indexed by ``time`` (tz-aware UTC, ns).

        Args:
            copy: False shares the engine's memory where pandas can, and its values are read-only then; True makes
                values of the frame's own that may be changed in place.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return frames.to_pandas(self, copy=copy)

    def to_polars(self) -> Any:
        """A polars ``DataFrame`` with the column ``time`` (ns, UTC) first.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        return frames.to_polars(self)

    def to_arrow(self) -> Any:
        """A pyarrow ``Table`` with the column ``time`` (ns, UTC) first; numbers share the engine's memory.

        Raises:
            MissingDependencyError: pyarrow is not installed.
        """
        return frames.to_arrow(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow C stream of :meth:`to_arrow`, for every library that reads one."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def plot(self, *, ax: Any = None, volume: bool = True) -> Any:
        """Draws candles with volume below, or lines where the series holds none.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            volume: Whether candles have their volume below.

        Returns:
            The axes of the prices.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        from . import plots

        return plots.series(self, ax=ax, volume=volume)


class Heatmap(Series):
    """Price levels per snapshot (section 2.3): all levels of all snapshots back to back, and where each one starts.

    Levels ascend by price within a snapshot, from nested and flat answers alike.
    """

    @property
    def levels(self) -> "npt.NDArray[np.float64]":
        """Price and volume of every level: float64 (levels, 2), read-only, no copy."""
        return self._columns.list("levels")[1].reshape(-1, 2)

    @property
    def prices(self) -> "npt.NDArray[np.float64]":
        """The first column of :attr:`levels`, a view."""
        return self.levels[:, 0]

    @property
    def volumes(self) -> "npt.NDArray[np.float64]":
        """The second column of :attr:`levels`, a view."""
        return self.levels[:, 1]

    @property
    def offsets(self) -> "npt.NDArray[np.int64]":
        """Where each snapshot starts in :attr:`levels`: int64 (snapshots + 1), the last one the number of levels."""
        offsets = self._columns.list("levels")[0] // 2
        offsets.flags.writeable = False
        return offsets

    @property
    def split(self) -> "npt.NDArray[np.int64]":
        """Bids of each snapshot: int64 (snapshots,); -1 where the wire does not say. Read-only, no copy."""
        return self._columns.array("split")

    def __getitem__(self, name: str) -> Any:
        """``levels``, ``prices``, ``volumes``, ``offsets`` or ``split`` by name."""
        if name in ("levels", "prices", "volumes", "offsets"):
            return getattr(self, name)
        return super().__getitem__(name)

    def snapshot(self, index: int) -> "npt.NDArray[np.float64]":
        """Price and volume of one snapshot's levels: float64 (levels, 2), a view. Negative indices count from the end.

        Raises:
            IndexError: There is no such snapshot.
        """
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"snapshot {index}: there are {count}")
        index %= count
        start, stop = self._columns.list("levels")[0][index : index + 2]
        return self.levels[start // 2 : stop // 2]

    def to_grid(
        self, step: float | None = None
    ) -> "tuple[npt.NDArray[np.datetime64], npt.NDArray[np.float64], npt.NDArray[np.float64]]":
        """The heatmap as a dense matrix.

        Args:
            step: Width of a price bucket; None takes the smallest distance between two levels.

        Returns:
            Times datetime64[ns] (T,), lower edges of the price buckets float64 (P,), volumes float64 (T, P).

        Raises:
            InvalidRequest: The step is no price step, or the matrix would not fit into memory.
        """
        offsets, values = self._columns.list("levels")
        try:
            prices, volumes = _engine.to_grid(offsets // 2, values.reshape(-1, 2), step)
        except InvalidRequest:
            raise
        except ValueError as problem:
            raise InvalidRequest(f"step: {problem}") from None
        return self.timestamps, prices, volumes

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        facts.pop("columns")
        return facts | {"levels": f"{len(self.levels):,}"}

    def plot(  # type: ignore[override]
        self, *, ax: Any = None, step: float | None = None, prices: tuple[float, float] | None = None
    ) -> Any:
        """Draws volume by time and price on a logarithmic colour scale.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            step: Height of a price bucket; None chooses one that suits the picture.
            prices: Lowest and highest price shown; None chooses the part around the market.

        Returns:
            The axes.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        from . import plots

        return plots.heatmap(self, ax=ax, step=step, prices=prices)


class SeriesSet(Sequence[Series]):
    """The series of one answer. A set of exactly one answers for it: ``answer["close"]``, ``answer.to_pandas()``.

    Series are found by what they are of, never by position: ``answer.sel(side="BUY")``.
    """

    def __init__(self, series: Sequence[Series], *, why_empty: str = "the answer holds no data") -> None:
        self._series = tuple(series)
        self._why_empty = why_empty

    @property
    def ids(self) -> tuple[SeriesId, ...]:
        """What each series is of."""
        return tuple(one.id for one in self._series)

    @property
    def only(self) -> Series:
        """The one series.

        Raises:
            SelectionError: There are none or several; the message lists what there is.
        """
        if len(self._series) == 1:
            return self._series[0]
        if not self._series:
            raise SelectionError(f"there is no series: {self._why_empty}")
        ids = listing([str(one) for one in self.ids])
        raise SelectionError(f"there are {len(self._series)} series; pick one with sel(…): {ids}")

    def sel(self, **wanted: str) -> "SeriesSet":
        """The series whose identity has the given values, such as ``sel(side="BUY", exchange="BYBIT")``.

        Raises:
            InvalidRequest: An identity has no such field.
        """
        names = [one.name for one in fields(SeriesId) if one.name != "extra"]
        for name in wanted:
            if name not in names:
                raise InvalidRequest(f"{name}: not a field of a series' identity; those are {', '.join(names)}")
        matching = [one for one in self._series if wanted.items() <= one.id.known().items()]
        if matching:
            return SeriesSet(matching)
        asked = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        there = listing([str(one) for one in self.ids]) or "nothing"
        return SeriesSet([], why_empty=f"none has {asked}; the answer holds: {there}")

    @overload
    def __getitem__(self, index: int) -> Series: ...
    @overload
    def __getitem__(self, index: slice) -> "SeriesSet": ...
    @overload
    def __getitem__(self, index: str) -> Any: ...
    def __getitem__(self, index: int | slice | str) -> Any:
        """A column of the only series by name; or a series by position, or several by slice."""
        if isinstance(index, str):
            return self.only[index]
        return SeriesSet(self._series[index]) if isinstance(index, slice) else self._series[index]

    def __len__(self) -> int:
        """Number of series."""
        return len(self._series)

    def __iter__(self) -> Iterator[Series]:
        return iter(self._series)

    def __getattr__(self, name: str) -> Any:
        """Everything else that a series has, of the only one: ``timestamps``, ``levels``, ``plot`` and so on."""
        if name.startswith("_") or not (hasattr(Series, name) or hasattr(Heatmap, name)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.only, name)

    def __dir__(self) -> list[str]:
        names = set(super().__dir__())
        return sorted(names | set(dir(self._series[0])) if len(self._series) == 1 else names)

    def __repr__(self) -> str:
        if not self._series:
            return "<SeriesSet: no series>"
        return "<SeriesSet\n" + "\n".join(f"  {one!r}" for one in self._series) + "\n>"

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self._series) or card("SeriesSet", {"series": "none"})

    def to_pandas(self, *, copy: bool = False) -> Any:
        """The frame of the only series; of several, one long frame with ``side``, ``exchange`` and ``symbol``.

        A set without series gives an empty frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        if len(self._series) == 1:
            return self._series[0].to_pandas(copy=copy)
        return frames.set_to_pandas(self._series)

    def to_polars(self) -> Any:
        """As :meth:`to_pandas`, for polars."""
        return self.only.to_polars() if len(self._series) == 1 else frames.set_to_polars(self._series)

    def to_arrow(self) -> Any:
        """As :meth:`to_pandas`, for pyarrow."""
        return self.only.to_arrow() if len(self._series) == 1 else frames.set_to_arrow(self._series)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow C stream of :meth:`to_arrow`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def decode_points(body: bytes | bytearray | memoryview) -> SeriesSet:
    """Decodes a ``/v1/points`` body, nested or flat (section 2.2); the decoder alone, for bodies one already has.

    Raises:
        DecodeError: The body is malformed; ``.offset`` and ``.path`` say where.
    """
    return wrap(_engine.decode_points(body if isinstance(body, bytes) else bytes(body)))


def wrap(columns: Sequence[_engine.Columns]) -> SeriesSet:
    """The engine's answer as users see it."""
    return SeriesSet([(Heatmap if one.shape == "heatmap" else Series)(one) for one in columns])


def read(columns: _engine.Columns, name: str) -> Values:
    """One column of the engine's in the form that its kind has.

    Raises:
        KeyError: There is no such column.
    """
    if name not in columns.names:
        near = difflib.get_close_matches(name, columns.names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"no column {name!r}{hint} There are: {', '.join(columns.names) or 'none'}")
    kind = columns.kind(name)
    if kind == "time":
        return columns.array(name).view("datetime64[ns]")
    if kind == "text":
        import numpy as np

        return np.array(columns.text(name), dtype=object)
    if kind == "list":
        return Ragged(*columns.list(name))
    if kind == "rows":
        offsets, inner = columns.rows(name)
        return Nested(offsets, {one: read(inner, one) for one in inner.names})
    return columns.array(name)
