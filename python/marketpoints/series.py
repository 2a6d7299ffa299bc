"""Results: one series with its identity and its columns (specification, section 2.2)."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _engine, frames
from .display import card, lines
from .ragged import Nested, Ragged

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Series", "SeriesId", "read"]

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

    def flat(self) -> tuple[Any, dict[str, Any]]:
        """The series as a table: the time of each of its rows, datetime64[ns] in UTC, and its columns by name.

        Price levels have a row each, with the time of theirs.
        """
        return self.timestamps, {name: self[name] for name in self.columns}

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
