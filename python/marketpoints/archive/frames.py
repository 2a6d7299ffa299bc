"""Archived data as a dask DataFrame: a partition a day, a month or a year, read when needed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast

from .. import _engine
from ..common.arguments import METHODS, Names, names, series_type
from ..common.intervals import DAY
from ..common.optional import load
from ..common.protocols import ArchiveLike
from ..common.queries import PAIRED, QueryArguments, build_query
from ..common.times import Interval, Time, iso, to_duration, to_unix
from ..errors import InvalidRequest, NotArchivedError, SelectionError
from ..identity import Window
from ..results.arrow_tables import LABELS, arrow_name
from ..results.levels import LevelSeries
from ..results.series import Series
from ..results.sets import SeriesSet
from .reading import read

__all__ = ["PartitionSpan", "frame"]

#: How long a partition is: as files begin, so that none lies in two partitions.
PartitionSpan: TypeAlias = Literal["day", "month", "year"]
SPANS = cast("dict[PartitionSpan, int]", dict(_engine.file_spans()))
SHORTEST: PartitionSpan = "day"
#: Bytes of files that a partition is about: in memory some times as much.
BYTES = 32 * 1024**2
#: Seconds at either end that are looked at for the columns; sessions of a market profile are up to a month.
SAMPLE, SAMPLE_OF_SESSIONS = DAY, 40 * DAY


@dataclass(frozen=True)
class SeriesQuery:
    """A query of one symbol or coin; it can be pickled."""

    type: str
    exchange: tuple[str, ...] | None
    symbol: str | None
    interval: Any
    arguments: Mapping[str, Any]
    as_of: float | None = None
    columns: tuple[str, ...] | None = None

    def query(self, window: tuple[int, int] | None = None) -> _engine.Query:
        """The engine's query for a window in Unix seconds; without one, for the arguments' own."""
        arguments = dict(self.arguments)
        if window is not None:
            arguments = {**arguments, "start": window[0], "end": window[1], "period": None}
        asked = cast("QueryArguments", arguments)
        return build_query("to_dask", self.type, self.exchange, self.symbol, self.interval, asked, open_window=True)

    def read(self, archive: _engine.Archive, window: tuple[int, int]) -> SeriesSet:
        """The series of a window, Unix seconds."""
        return read(archive, self.query(window), self.as_of, self.columns)


@dataclass(frozen=True)
class KeptSeries:
    """The archived part of a query: the window to read in Unix seconds, and its approximate size."""

    asks: SeriesQuery
    start: int
    end: int
    step: int
    bytes_a_second: float


#: A partition: queries and their windows.
Work: TypeAlias = tuple[tuple[SeriesQuery, tuple[int, int]], ...]


@dataclass(frozen=True)
class PartitionReader:
    """How workers read a partition. It has no credentials: those are in the workers' environment.

    Attributes:
        place: Path, options and lease of the archive.
        labels: Names of the columns in which series differ; none where there is one series.
        meta: The frame without rows that every partition looks like.
        chosen: Whether its columns were named: others are left out, where they would be an error.
    """

    place: tuple[str, list[tuple[str, str]], float]
    labels: tuple[str, ...]
    meta: Any
    chosen: bool

    def __call__(self, work: Work) -> Any:
        """A partition as a pandas frame."""
        archive = _engine.Archive(*self.place)
        read = [one for asks, window in work for one in asks.read(archive, window)]
        if not read:  # none of the series has a part in it
            return self.meta
        whole, meta = _joined(read, self.labels), self.meta
        if not self.chosen and (more := [name for name in whole if name not in meta]):
            raise SelectionError(
                f"the column {more[0]!r} is in neither the first nor the last window: name others with columns=, "
                "or begin or end the window where it is"
            )
        lacking = {name: _nothing(name, meta.dtypes[name], whole.index) for name in meta if name not in whole}
        whole = whole.assign(**lacking)[list(meta)]
        kinds = {name: kind for name, kind in meta.dtypes.items() if name not in self.labels}
        return whole.astype({name: kind for name, kind in kinds.items() if whole[name].dtype != kind})


def frame(
    archive: ArchiveLike,
    type: str,  # noqa: A002 - the wire's own name
    exchange: Any,
    symbol: Any,
    interval: Interval | None,
    arguments: QueryArguments,
    *,
    as_of: Time | None,
    partition: PartitionSpan | None,
    columns: Names,
) -> Any:
    """The archived data of a query, as a dask DataFrame.

    Raises:
        InvalidRequest: An argument is not valid.
        NotArchivedError: A part of the window was never asked.
        MissingDependencyError: dask is not installed.
    """
    frames, pandas = load("dask.dataframe"), load("pandas")
    if partition is not None and partition not in SPANS:
        raise InvalidRequest(f"partition: {partition!r} is none of day, month and year")
    engine = archive._engine
    if engine.options is None:
        raise InvalidRequest("a graph never carries credentials: set them in the environment, here and at the workers")
    known = to_unix(as_of, "as_of")
    holdings = _holdings(
        engine, [replace(one, as_of=known) for one in _asks(type, exchange, symbol, interval, arguments)]
    )
    size = sum(one.bytes_a_second for one in holdings)
    fits = [span for span, seconds in SPANS.items() if size * seconds <= BYTES]
    spans = _spans(holdings, next(iter(fits), SHORTEST) if partition is None else partition)
    sample = _sample(engine, holdings)
    labels = _labels(sample) if _may_be_several(holdings, sample) else ()
    meta = _joined(sample, labels).iloc[:0]
    if columns is not None:
        chosen = names(columns, "columns")
        if unknown := [name for name in chosen if name not in meta]:
            raise InvalidRequest(f"columns: there is no {unknown[0]!r}; those are {', '.join(meta)}")
        meta = meta[chosen]
        holdings = _projected(holdings, sample, [name for name in chosen if name not in labels])
    # Each partition has the categories that it needs.
    shown = frames.utils.clear_known_categories(meta, cols=[name for name in labels if name in meta])
    place = (engine.path, engine.options, archive._lease)
    # Dask's last division is the last bucket itself, not the end of the window.
    stamps = [start for start, _ in spans] + [spans[-1][1] - min(one.step for one in holdings)]
    return frames.from_map(
        PartitionReader(place, labels, meta, columns is not None),
        [_work(holdings, window) for window in spans],
        meta=shown,
        divisions=tuple(pandas.Timestamp(at, unit="s", tz="UTC") for at in stamps),
        label="archive",
        enforce_metadata=False,
    )


def _projected(holdings: Sequence[KeptSeries], sample: Sequence[Series], columns: Sequence[str]) -> list[KeptSeries]:
    """Archived rows, read without unwanted columns; rows of levels need all of them."""
    if not columns or any(isinstance(one, LevelSeries) for one in sample):
        return list(holdings)
    return [replace(one, asks=replace(one.asks, columns=tuple(columns))) for one in holdings]


def _asks(
    type: str,  # noqa: A002 - the wire's own name
    exchange: Any,
    symbol: Any,
    interval: Interval | None,
    arguments: QueryArguments,
) -> list[SeriesQuery]:
    """The query of each symbol or coin."""
    exchanges = names(exchange, "exchange")
    symbols: list[Any] = names(symbol, "symbol")
    coins: list[Any] = names(arguments.get("coin"), "coin")
    for name in PAIRED:
        if isinstance(arguments.get(name), (list, tuple)):
            raise InvalidRequest(f"{name}: one for all; for several call it for each, and dask.dataframe.concat them")
    if len(symbols) > 1 and len(coins) > 1:
        raise InvalidRequest("coin: one for all symbols; for several call it for each")
    kind, of = series_type(type), tuple(exchanges) or None
    given = {name: value for name, value in arguments.items() if name != "coin"}
    return [
        SeriesQuery(kind, of, one, interval, {**given, "coin": coin})
        for one in symbols or [None]
        for coin in coins or [None]
    ]


def _may_be_several(holdings: Sequence[KeptSeries], sample: Sequence[Series]) -> bool:
    """Whether partitions may hold several series, whatever the first and the last do."""
    asks = holdings[0].asks
    every = len(asks.exchange or ()) > 1 and asks.arguments.get("group_by") is None
    return every or len(holdings) > 1 or len({one.id for one in sample}) > 1


def _labels(sample: Sequence[Series]) -> tuple[str, ...]:
    """The columns in which series differ, as in long frames: coins where there are no symbols."""
    taken = {name for one in sample for name in one.flat()[1]}
    labels = [name for name, part in LABELS.items() if any(getattr(one.id, part) is not None for one in sample)]
    by_symbol = all(one.id.raw_symbol is not None for one in sample)
    return tuple(name for name in labels if name not in taken and not (name == "coin" and by_symbol))


def _joined(read: Sequence[Series], labels: Sequence[str]) -> Any:
    """Series as one frame by time, with the columns in which they differ.

    Raises:
        SelectionError: There are several, and they differ in no column.
    """
    import numpy as np

    pandas = load("pandas")
    full = [one for one in read if len(one)] or list(read[:1])
    if not labels and len({one.id for one in full}) > 1:
        raise SelectionError(f"{full[0].id} and {full[-1].id}: the first and the last window have one series alone")
    parts = [_plain(pandas, one) for one in full]
    kinds = {name: part.dtypes[name] for part in parts for name in part}
    for place, part in enumerate(parts):
        lacking = {name: _nothing(name, kind, part.index) for name, kind in kinds.items() if name not in part}
        parts[place] = part.assign(**lacking)[list(kinds)]
    whole = parts[0] if len(parts) == 1 else pandas.concat(parts)
    rows = [len(part) for part in parts]
    for place, name in enumerate(labels):
        own = [getattr(one.id, LABELS[name]) for one in full]
        choices = list(dict.fromkeys(one for one in own if one is not None))
        codes = np.repeat([-1 if one is None else choices.index(one) for one in own], rows)
        whole.insert(place, name, pandas.Categorical.from_codes(codes, categories=choices))
    return whole if len(parts) == 1 else whole.sort_index(kind="stable")


def _plain(pandas: Any, series: Series) -> Any:
    """A series as a frame in which texts and lists are Arrow's: dask takes every object for a text."""
    frame = series.to_pandas()
    objects = [name for name, kind in frame.dtypes.items() if isinstance(kind, pandas.StringDtype) or kind == "object"]
    if objects:
        table = series.to_arrow()
        for name in objects:
            column = pandas.array(
                table[arrow_name(name)], dtype=pandas.ArrowDtype(table.schema.field(arrow_name(name)).type)
            )
            frame[name] = column.astype("string[pyarrow]") if _is_text(pandas, column) else column
    return frame


def _is_text(pandas: Any, column: Any) -> bool:
    return bool(pandas.api.types.is_string_dtype(column.dtype))


def _nothing(name: str, kind: Any, index: Any) -> Any:
    """A column of a part that lacks it.

    Raises:
        SelectionError: It would hold values that cannot be absent.
    """
    pandas = load("pandas")
    if getattr(kind, "kind", "") in "iub" and not isinstance(kind, pandas.ArrowDtype):
        raise SelectionError(f"the column {name!r} holds whole numbers, and is missing in a part of the window")
    return pandas.Series([None] * len(index), index=index, dtype=kind)


def _holdings(engine: _engine.Archive, every: Sequence[SeriesQuery]) -> list[KeptSeries]:
    entries = {one["key"]: one for one in engine.contents()[0]}
    keys = engine.keys([asks.query() for asks in every])
    holdings = []
    for asks, key in zip(every, keys, strict=True):
        if key is None or not (entry := entries.get(key)) or not entry["windows"]:
            subject = " ".join(str(part) for part in (asks.type, asks.exchange, asks.symbol, asks.interval) if part)
            raise NotArchivedError(f"{engine.path}: nothing is kept of {subject}; sync it")
        holdings.append(_holding(asks, entry))
    return holdings


def _holding(asks: SeriesQuery, entry: Mapping[str, Any]) -> KeptSeries:
    windows = sorted(
        tuple(int(one.astype("datetime64[s]").astype(int)) for one in window) for window in entry["windows"]
    )
    given = asks.arguments
    end = to_unix(given.get("end"), "end")
    end = windows[-1][1] if end is None else end
    start, period = to_unix(given.get("start"), "start"), to_duration(given.get("period"))
    if start is None:
        start = windows[0][0] if period is None else end - period
    elif period is not None and given.get("end") is None:
        end = start + period
    # Buckets that begin within the window, as `read` has them.
    first, last = math.ceil(start), math.ceil(end)
    start, end = asks.query((first, last)).bounded or (first, last)
    if start >= end:
        raise InvalidRequest(f"the window from {iso(start)} to {iso(end)} holds no bucket")
    # The engine reports windows before and after the archived ones when it reads the columns.
    holes = [(one, other) for (_, one), (other, _) in pairwise(windows)]
    if missing := [one for one in holes if one[0] < end and start < one[1]]:
        hole = f"{iso(missing[0][0])} to {iso(missing[0][1])} UTC"
        raise NotArchivedError(f"{asks.type}: {hole} was never asked; sync it", missing=list(map(_window, missing)))
    seconds = sum(last - first for first, last in windows)
    return KeptSeries(asks, start, end, entry["interval_seconds"], entry["bytes"] / seconds)


def _window(bounds: tuple[int, int]) -> Window:
    import numpy as np

    start, end = (np.datetime64(one, "s").astype("datetime64[ns]") for one in bounds)
    return Window(start, end)


def _spans(holdings: Sequence[KeptSeries], span: PartitionSpan) -> list[tuple[int, int]]:
    """The windows of the partitions: days, months or years, cut to the archived windows."""
    return _engine.calendar_windows(span, min(one.start for one in holdings), max(one.end for one in holdings))


def _work(holdings: Sequence[KeptSeries], window: tuple[int, int]) -> Work:
    cut = [(one.asks, (max(one.start, window[0]), min(one.end, window[1]))) for one in holdings]
    return tuple((asks, (start, end)) for asks, (start, end) in cut if start < end)


def _sample(engine: _engine.Archive, holdings: Sequence[KeptSeries]) -> list[Series]:
    """Series of the first and the last window of each query: what columns there are, and which series."""
    found: list[Series] = []
    for one in holdings:
        length = max(SAMPLE_OF_SESSIONS if one.asks.type == METHODS["tpo"] else SAMPLE, 50 * one.step)
        read = [*one.asks.read(engine, (one.start, min(one.end, one.start + length)))]
        read += one.asks.read(engine, (max(one.start, one.end - length), one.end))
        if not any(map(len, read)):  # no rows in the days at both ends: use all of it
            read = [*one.asks.read(engine, (one.start, one.end))]
        found += read
    return found
