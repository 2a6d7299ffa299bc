"""The Rust engine behind marketpoints: arguments in, arrays out. Users go through the package's own names.

Errors are raised as the classes of :mod:`marketpoints.errors`.
"""

import builtins
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from .identity import ProvenanceParts, Window
from .results.series import Series
from .results.sets import SeriesSet

__all__ = [
    "Archive",
    "ArrowTable",
    "Buckets",
    "Client",
    "Columns",
    "Dialect",
    "EventStream",
    "FaultRule",
    "Faults",
    "IngestReport",
    "Layout",
    "LocalService",
    "PackedLevels",
    "Plan",
    "PlannedRequest",
    "Query",
    "SeriesBase",
    "SeriesSetBase",
    "__version__",
    "analytics_endpoints",
    "attribute_name",
    "calendar_seconds",
    "calendar_windows",
    "checksum",
    "closest",
    "contract_usd",
    "copy_of_ascending",
    "data_types",
    "decode_points",
    "default_settings",
    "file_spans",
    "from_seconds",
    "gather",
    "identity_fields",
    "ingest",
    "intervals",
    "iso",
    "latest_known",
    "latest_values",
    "length_seconds",
    "level_extent",
    "load_numpy",
    "openapi",
    "points_parameters",
    "raster",
    "regroup",
    "shutdown",
    "speak_of_options",
    "spelled_argument",
    "spelled_setting",
    "table_text",
    "tiers",
    "to_grid",
    "unix_seconds",
    "vocabulary",
    "volume_quantiles",
    "weight",
    "whole_seconds",
    "write_table",
]

__version__: str

#: A callback, called after each answer of a call and every quarter of a second in between: with requests done
#: and all, weight done and all, rows, seconds that the next request still waits for budget, and seconds left.
_Tell: TypeAlias = Callable[[int, int, int, int, int, float, float], object]

@final
class Layout:
    """The shape of a series' rows, and names and kinds of its columns. Series of a type share one."""

    @property
    def shape(self) -> Literal["table", "heatmap", "profile", "tpo"]:
        """The shape of a row."""
    @property
    def names(self) -> tuple[str, ...]:
        """Column names in wire order, without the timestamp."""

@final
class ArrowTable:
    """Columns as Arrow arrays, for everyone who reads the Arrow PyCapsule interface; numbers share NumPy's memory."""

    def __new__(cls, columns: Sequence[tuple[str, str, Any]], metadata: Mapping[str, str] | None = None) -> ArrowTable:
        """A table of named columns; ValueError where their lengths differ, TypeError for values of another kind.

        A column is a name, a kind and its values: ``array``, a NumPy array or ragged rows (``offsets`` with ``values``
        or ``fields``); ``codes``, int8 codes and their names; ``label``, a text, the names that it is one of or None,
        and the number of rows; ``int``, ``float``, ``truth``, ``text``, ``numbers`` and ``texts``, lists of Python's;
        ``records``, the lengths of the rows and the columns of all records back to back.
        """
    @classmethod
    def stack(cls, parts: Sequence[ArrowTable], metadata: Mapping[str, str] | None = None) -> ArrowTable:
        """The rows of several tables one after the other, null where one lacks a column; nothing is copied.

        SelectionError where a column is of different kinds.
        """
    @property
    def categories(self) -> dict[str, builtins.list[str]]:
        """The names that a column's codes stand for, by the column's name."""
    def __len__(self) -> int:
        """Number of rows."""
    def __arrow_c_schema__(self) -> object:
        """A capsule ``arrow_schema``."""
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule ``arrow_array_stream``; SelectionError where the columns do not fit the requested schema."""

@final
class Columns:
    """One decoded series: its identity and its columns, as read-only arrays. It can be pickled."""

    def __new__(
        cls,
        id: dict[str, str | None],
        extra_id: dict[str, str],
        shape: str,
        timestamps: npt.NDArray[np.int64],
        fields: Sequence[tuple[str, str, Any]],
    ) -> Columns:
        """Columns from their parts, as :meth:`__reduce__` returns them; ValueError where they do not fit together.

        A field is a name, a kind and its values: an array, a list of texts, or the offsets and values of ragged rows.
        """
    @property
    def id(self) -> dict[str, str | None]:
        """Identity fields by their snake_case names (section 2.2); None where the answer has none."""
    @property
    def extra_id(self) -> dict[str, str]:
        """Identity fields that this version does not know: the value's JSON text by wire name."""
    @property
    def layout(self) -> Layout:
        """The shape of a row, and the columns."""
    @property
    def timestamps(self) -> npt.NDArray[np.datetime64]:
        """Start of each row's bucket, ascending: datetime64[ns], read-only."""
    def __getitem__(self, name: str, /) -> npt.NDArray[Any]:
        """A column of kind float (float64), int (int64) or time (datetime64[ns]), over the engine's memory, read-only.

        KeyError for a column of another kind too.
        """
    def kind(self, name: str) -> Literal["float", "int", "time", "text", "list", "rows"]:
        """Kind of a column; KeyError for an unknown name."""
    def text(self, name: str) -> list[str | None]:
        """A column of kind text."""
    def list(self, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """A column of kind list: offsets int64 (rows + 1, counting values) and values float64; read-only, no copy."""
    def rows(self, name: str) -> tuple[npt.NDArray[np.int64], Columns]:
        """A column of kind rows: offsets int64 (rows + 1) and the nested columns; read-only, no copy."""
    def cut(self, start: int, stop: int) -> Columns:
        """The rows from ``start`` up to ``stop``, as views of the same memory; offsets begin at 0 again.

        IndexError where there are no such rows.
        """
    def __len__(self) -> int: ...

@disjoint_base
class SeriesBase:
    """The base of every series: its columns, what was asked for, and the window of a range of rows."""

    def __new__(cls, columns: Columns, asked: ProvenanceParts, part: Window | None = None) -> Self: ...
    @property
    def _columns(self) -> Columns: ...
    @property
    def _asked(self) -> ProvenanceParts: ...
    @property
    def _part(self) -> Window | None: ...
    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in the wire's order, in snake_case, without the timestamp."""
    @property
    def timestamps(self) -> npt.NDArray[np.datetime64]:
        """Start of each row's bucket: datetime64[ns] in UTC, shape (rows,), read-only."""
    def __len__(self) -> int:
        """Number of rows."""
    @overload
    def __getitem__(self, name: str, /) -> Any:
        """A column by name.

        Numbers are float64 or int64 arrays and times datetime64[ns], shape (rows,), read-only. Texts are an object
        array of str and None. Lists are :class:`Ragged`, records :class:`Nested`.

        Raises:
            KeyError: There is no such column; the message lists those that are.
        """
    @overload
    def __getitem__(self, rows: slice, /) -> Self:
        """A range of rows: ``series[10:20]``, a series of the same kind over the same memory.

        Raises:
            InvalidRequest: It has a step: rows would be missing in between, or not ascend.
        """

@disjoint_base
class SeriesSetBase:
    """The base of every set of series: the series, why they may have no rows, and the weight of the call."""

    def __new__(cls, series: Iterable[Series], why_empty: str | None = None, weight: int | None = None) -> Self: ...
    @property
    def _items(self) -> tuple[Series, ...]: ...
    @property
    def _why_empty(self) -> str | None: ...
    @property
    def _weight(self) -> int | None: ...
    @overload
    def __getitem__(self, index: str, /) -> Any:
        """A column of the only series by name."""
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Series:
        """A series by position.

        Raises:
            IndexError: There is no series at this position.
        """
    @overload
    def __getitem__(self, index: slice, /) -> SeriesSet:
        """Several series by slice. Rows are those of a series: ``answer.only[10:20]``, ``answer.head()``.

        Raises:
            SelectionError: A slice of a set of one series reaches beyond it, or one of several begins beyond them, as
                one that is meant for rows.
        """

@final
class Query:
    """A checked query for points of one symbol or several: wire names, a window in Unix seconds."""

    def __new__(
        cls,
        data_type: str,
        arguments: Sequence[tuple[str, str]] = ...,
        *,
        start: float | None = None,
        end: float | None = None,
        period: int | None = None,
        include_forming: bool = False,
        extra: Sequence[tuple[str, str]] = ...,
        max_weight: int | None = None,
        open_window: bool = False,
    ) -> Query: ...
    @staticmethod
    def of_plain(
        data_type: object, exchange: object, symbol: object, interval: object, arguments: Mapping[str, object]
    ) -> Query | None:
        """The query of a call with plain arguments: texts in ASCII, numbers of seconds, True, False and None.

        None where one of them is something else, or wrong: those are read one by one, by what finds the words for it.
        """
    def asked(self, now: float, tier: str | None) -> ProvenanceParts:
        """The parts of a :class:`~marketpoints.identity.Provenance` of what is asked at ``now`` for a tier."""
    def window(self, now: float, tier: str | None = None) -> tuple[int, int]:
        """The half-open window of bucket starts that the query means at ``now`` for a tier, Unix seconds."""
    def first_in_history(self, now: float, tier: str | None = None) -> int | None:
        """The first bucket start that a tier's history has at ``now`` of "the last ``period`` seconds", Unix seconds.

        None where no tier is given, or the window does not move with its history.
        """
    def why_no_bucket(self, now: float, tier: str | None = None) -> str | None:
        """Why that window holds no bucket, in words; None where it holds one."""
    @property
    def bounded(self) -> tuple[int, int] | None:
        """The half-open window of bucket starts where the query names both its ends, Unix seconds."""
    @property
    def usd(self) -> bool:
        """Whether the values are asked in USD."""
    @property
    def selection(self) -> tuple[tuple[str, ...], str | None, str | None]:
        """The exchanges, the symbol and the coin that the query names."""
    @property
    def session(self) -> str | None:
        """The session asked for (TPO) by its wire name; None follows the interval."""

@final
class Archive:
    """An archive of points: reading without a client. A client writes it."""

    def __new__(cls, path: str, options: Sequence[tuple[str, str]] | None = None, lease: float = 10.0) -> Archive:
        """The archive in a folder, which need not exist yet, or at an object store's address; touches nothing."""
    def pinned(self) -> Archive:
        """The same archive for the writes of one run: a folder that is removed or moved meanwhile is an error."""
    @property
    def path(self) -> str:
        """The folder, or the address."""
    @property
    def options(self) -> list[tuple[str, str]] | None:
        """The object store's options; None where one of them may be secret."""
    @property
    def source(self) -> str | None:
        """Which service the data are from; None while there are none."""
    def first_kept(self, query: Query) -> int | None:
        """The first bucket start that is kept of a query, Unix seconds; None where there is none."""
    def read(self, query: Query, as_of: float | None = None, columns: Sequence[str] | None = None) -> list[Columns]:
        """The series of a query, whose window may be open; as they were known at a moment in Unix seconds.

        With ``columns``, those alone, as far as they are there; heatmaps and volume profiles keep their levels.
        """
    def vintages(self, query: Query | None = None) -> list[dict[str, Any]]:
        """Vintages of a query, or of all, by key: what was archived and has changed since.

        key, query (pairs), interval_seconds, windows (``Window``), and of each window known_from, replaced_at
        (``datetime64[ns]``) and rows.
        """
    def missing(self, query: Query) -> list[dict[str, Any]]:
        """A query's windows never downloaded, by key: key, query (pairs), interval_seconds, windows (``Window``)."""
    def edge(self, query: Query, last: bool) -> np.datetime64 | None:
        """The time of a query's first archived row, or of its last; None without any."""
    def compact(self, before: float, query: Query | None = None) -> tuple[int, int, int]:
        """Drops vintages replaced by a moment in Unix seconds, of a query or of all: files, bytes and rows."""
    def keys(self, queries: Sequence[Query]) -> list[str | None]:
        """The keys of queries of one symbol each, as :meth:`contents` has them; None where nothing is kept."""
    def contents(self) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
        """The archived windows by key: key, query (pairs), interval_seconds, windows (``Window``), rows, bytes, files.

        Also path and problem of each foreign file among the ledgers.
        """
    def consistency(self) -> tuple[int, list[dict[str, Any]]]:
        """Number of buckets compared with those of finer intervals, and the values that differ.

        Each with key, finer, the fields of its id, time, column, before (the archived value) and after (the value
        computed from the finer interval).
        """
    def verify(self) -> dict[str, Any]:
        """Every file's checksum compared: files and bytes that are right, problems (path, state, problem)."""

@final
class Dialect:
    """Published names by neutral ones, checked."""

    def __new__(
        cls,
        *,
        key_header: str | None = None,
        base_url: str | None = None,
        analytics_prefix: str | None = None,
        types: dict[str, str] = ...,
        exchanges: dict[str, str] = ...,
        fields: dict[str, str] = ...,
    ) -> Dialect: ...
    @staticmethod
    def from_toml(path: str) -> Dialect:
        """Reads a dialect from a TOML file."""
    @property
    def key_header(self) -> str | None:
        """Header that carries the key."""
    @property
    def base_url(self) -> str | None:
        """Address of the deployment."""
    @property
    def analytics_prefix(self) -> str | None:
        """Base path of the analytics."""
    @property
    def types(self) -> dict[str, str]:
        """Published types."""
    @property
    def exchanges(self) -> dict[str, str]:
        """Published exchange values."""
    @property
    def fields(self) -> dict[str, str]:
        """Published fields."""

@final
class PlannedRequest:
    """One request of a plan."""

    @property
    def url(self) -> str:
        """The full URL, without the key."""
    @property
    def weight(self) -> int:
        """Its weight (section 8.2)."""
    @property
    def points(self) -> int:
        """How many buckets its window holds."""
    @property
    def start(self) -> int | None:
        """First bucket start, Unix seconds; None for what has no points."""
    @property
    def end(self) -> int | None:
        """End of the window, exclusive, Unix seconds; None for what has no points."""

@final
class Plan:
    """The requests of a call, before any is sent."""

    @property
    def requests(self) -> list[PlannedRequest]:
        """The requests in the order of their windows."""
    @property
    def weight(self) -> int:
        """Summed weight."""
    @property
    def points(self) -> int:
        """Summed buckets."""
    @property
    def eta(self) -> float:
        """Seconds that the budget at hand makes the plan wait; 0 when it fits."""
    @property
    def tiers(self) -> list[tuple[str, float | None, str | None, tuple[int, int, int] | None]]:
        """Each tier, the seconds that it would take from a full bucket, why it would not do it, and what it would send.

        That is requests, weight and points; None where a wall of the tier refuses the call.
        """

@final
class Buckets:
    """A way in which a series' time is cut: buckets of one length, or calendar months in UTC. Times: datetime64[ns]."""

    @staticmethod
    def of(interval: str | None, session: str | None = None) -> Buckets:
        """The buckets of a session by its wire name or, without one of a length of its own, of an interval.

        SelectionError where neither has a known length.
        """
    @staticmethod
    def between(starts: npt.NDArray[np.datetime64], ends: npt.NDArray[np.datetime64]) -> Buckets | None:
        """The buckets of rows that have their own ends, NaT where unknown; None where none has one."""
    @property
    def nanoseconds(self) -> int:
        """Length of the longest: of months 31 days."""
    def ends(self, starts: npt.NDArray[np.datetime64]) -> npt.NDArray[np.datetime64]:
        """When each bucket is over: datetime64[ns] (rows,); beyond the year 2262, the last moment that there is."""
    def missing(
        self, starts: npt.NDArray[np.datetime64], window: tuple[int, int] | None = None
    ) -> npt.NDArray[np.datetime64]:
        """Starts of the buckets of a window in which no row starts: datetime64[ns] (missing,), ascending.

        ``starts`` ascend. The window is half-open, Unix nanoseconds; None is from the first row to the last.
        """
    def stretches(self, starts: npt.NDArray[np.datetime64]) -> npt.NDArray[np.datetime64]:
        """Start and end of each stretch of buckets that follow one another: datetime64[ns] (stretches, 2)."""

@final
class Client:
    """The client's engine. The blocking calls release the GIL and stop on Ctrl-C; each has an awaitable twin."""

    def __new__(
        cls,
        api_key: str,
        base_url: str,
        *,
        tier: str | None,
        timeout: float,
        read_timeout: float,
        total_timeout: float | None,
        retries: int,
        max_wait: float | None,
        max_body: int,
        max_memory: int | None,
        budget: str,
        proxy: str | None,
        ca_certs: str | None,
        clock: Callable[[], float] | None,
        archive: Archive | None,
        archive_source: str | None,
        dialect: Dialect | None,
        check_symbols: bool,
        any_block_size: bool,
    ) -> Client: ...
    def check_archive(self) -> None:
        """Raises where the archive that is read through holds another service's data.

        Raises:
            ArchiveError: It does.
        """
    def is_listed(self, query: Query) -> bool | None:
        """Whether the service lists a query's symbol or coin; None where the client does not know. Sends nothing."""
    def listed(self, query: Query) -> tuple[bool, str | None]:
        """Whether nothing has to be looked up before the query is sent, and a warning. Sends nothing.

        Raises:
            InvalidRequest: The service surely does not have the symbol or coin, or the block size does not fit.
        """
    def prepare(
        self,
        data_type: object,
        exchange: object,
        symbol: object,
        interval: object,
        arguments: Mapping[str, object],
        tier: str | None,
    ) -> tuple[Query, ProvenanceParts, float] | None:
        """A call with plain arguments for what is known to be listed: query, parts of a provenance, now.

        None where an argument is something else or wrong, a list must be fetched, or there is something to say.
        """
    def look_up(self, query: Query, now: float, archive: Archive | None = None) -> str | None:
        """Asks the lists of a query's symbol or coin and of its block size; a warning where one is not sure.

        Nothing is asked where the query itself would send nothing at ``now``, Unix seconds, such as where the client's
        archive answers it, or this one.

        Raises:
            InvalidRequest: As :meth:`listed`.
        """
    def look_up_async(self, query: Query, now: float, archive: Archive | None = None) -> Awaitable[str | None]:
        """:meth:`look_up`, awaited."""
    def look_up_each(self, queries: Sequence[Query], now: float, archive: Archive) -> list[str | Exception | None]:
        """:meth:`look_up` for several queries, some at a time; a refusal is among the results."""
    def look_up_each_async(
        self, queries: Sequence[Query], now: float, archive: Archive
    ) -> Awaitable[list[str | Exception | None]]:
        """:meth:`look_up_each`, awaited."""
    def plan(self, query: Query) -> Plan:
        """The requests that :meth:`points` would send for this query; sends nothing."""
    def plan_analytics(
        self,
        endpoint: str,
        parameters: Sequence[tuple[str, str]],
        limit: int | None = None,
        max_weight: int | None = None,
    ) -> Plan:
        """The most requests that :meth:`analytics` would send; sends nothing."""
    def now(self) -> float:
        """Unix seconds by the client's clock."""
    def points(
        self,
        query: Query,
        progress: _Tell | None = None,
        now: float | None = None,
    ) -> tuple[list[Columns], int]:
        """Fetches a query's points, with the weight of the answers.

        ``now`` is the moment that the window goes by, Unix seconds; None asks the client's clock.
        """
    def points_async(
        self,
        query: Query,
        progress: _Tell | None = None,
        now: float | None = None,
    ) -> Awaitable[tuple[list[Columns], int]]:
        """:meth:`points`, awaited."""
    def sync(self, query: Query, archive: Archive, progress: _Tell | None = None) -> list[tuple[str, dict[str, Any]]]:
        """Downloads what an archive lacks; for each symbol requests, weight, windows (``Window``), rows, mended."""
    def sync_async(
        self,
        query: Query,
        archive: Archive,
        progress: _Tell | None = None,
    ) -> Awaitable[list[tuple[str, dict[str, Any]]]]:
        """:meth:`sync`, awaited."""
    def ask_again(
        self,
        query: Query,
        archive: Archive,
        replace: bool,
        progress: _Tell | None = None,
    ) -> list[tuple[str, dict[str, Any]]]:
        """As :meth:`sync` for windows that are archived; ``revisions`` has the changes, ``replace`` archives them."""
    def ask_again_async(
        self,
        query: Query,
        archive: Archive,
        replace: bool,
        progress: _Tell | None = None,
    ) -> Awaitable[list[tuple[str, dict[str, Any]]]]:
        """:meth:`ask_again`, awaited."""
    def markets(self, filters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Every market that passes the filters, page by page, as dictionaries by wire name (section 2.4).

        The filters are all of exchanges, coins, categories, types, symbol_filter, sort_by, sort_direction, distinct,
        limit and extra (pairs by wire name). ``sort_by`` is a ``sortCriteria.field`` of section 4.2 and
        ``sort_direction`` asc, desc or a wire name, both in any case; ``distinct`` asks for one market per normalized
        symbol.

        Raises:
            InvalidRequest: The order is none of those; nothing was sent.
        """
    def markets_async(self, filters: Mapping[str, Any]) -> Awaitable[list[dict[str, Any]]]:
        """:meth:`markets`, awaited."""
    def discover(self, list: str, filters: Sequence[tuple[str, str]]) -> builtins.list[Any]:
        """A discovery list by the last part of its path (section 4.2): names, or numbers for ``block-sizes``.

        The filters are parameters by wire name.
        """
    def discover_async(self, list: str, filters: Sequence[tuple[str, str]]) -> Awaitable[builtins.list[Any]]:
        """:meth:`discover`, awaited."""
    def analytics(
        self,
        endpoint: str,
        parameters: Sequence[tuple[str, str]],
        limit: int | None = None,
        max_weight: int | None = None,
    ) -> dict[str, Any]:
        """The answer of an analytics endpoint by the last part of its path (section 4.3), by wire name.

        Listings are fetched page by page, up to ``limit`` rows.
        """
    def analytics_async(
        self,
        endpoint: str,
        parameters: Sequence[tuple[str, str]],
        limit: int | None = None,
        max_weight: int | None = None,
    ) -> Awaitable[dict[str, Any]]:
        """:meth:`analytics`, awaited."""
    def stream(
        self,
        channels: Sequence[tuple[str, str, str, str | None, Sequence[tuple[str, str]], Sequence[tuple[str, str]]]],
        *,
        queue: int,
        overflow: str,
        backoff: tuple[float, float],
        reconnects: int | None,
        ping_after: float,
        record: str | None,
        batches: bool,
    ) -> EventStream:
        """A stream of channels: type, exchange, symbol, category, parameters, and what is sent unchecked."""
    def usage(self) -> dict[str, int]:
        """The usage record (section 2.4): limit, remaining, used, reset, window_seconds."""
    def usage_async(self) -> Awaitable[dict[str, int]]:
        """:meth:`usage`, awaited."""
    @property
    def service_time(self) -> float | None:
        """The service's clock by its latest answer, Unix seconds; None before the first and after the end."""
    @property
    def budget(self) -> dict[str, int] | None:
        """limit, burst, remaining, used and reset (Unix seconds) as the local bucket sees them; None while unknown."""
    def close(self) -> None:
        """Ends idle connections; later calls raise."""

@final
class EventStream:
    """The live stream (supplement 7). Waiting and taking are two steps: a wait that is given up loses nothing."""

    def look_up(self) -> str | None:
        """Asks the lists in which the channels' symbols and categories must stand; a warning where one is not sure.

        Raises:
            InvalidRequest: The service surely does not have a symbol.
        """
    def look_up_async(self) -> Awaitable[str | None]:
        """:meth:`look_up`, awaited."""
    def open(self) -> None:
        """Connects and subscribes; a second call does nothing."""
    def open_async(self) -> Awaitable[None]:
        """:meth:`open`, awaited."""
    def ready(self, timeout: float | None = None) -> bool:
        """Waits until something can be taken or the stream has ended; False when ``timeout`` seconds passed first."""
    def ready_async(self, timeout: float | None = None) -> Awaitable[bool]:
        """:meth:`ready`, awaited."""
    def take(self, waiting: deque[Any], most: int) -> bool:
        """Appends at most so many of what came, or one batch of more, to what waits; whether that was the end.

        Each is an exception to raise in its turn; or ``{"batch": …}`` with ``name``, the columns ``time``, ``price``,
        ``amount``, ``side``, ``id``, ``market_codes`` and ``series_codes``, ``markets`` and ``series``; or
        ``{"gap": …}`` with ``start``, ``end``, ``seconds``, ``attempts``, ``reason`` and ``channels`` of a connection
        that broke and stands again; or an event: ``time`` (or None), ``name``, ``series``, ``values`` and ``extra``, by
        wire name; lists of numbers are float64 arrays, times ``datetime64[ns]``.
        """
    def close(self) -> None:
        """Ends the connections; what waits can still be taken. Recorded files are closed when it returns."""
    def close_async(self) -> Awaitable[None] | None:
        """:meth:`close`, awaited; None if there are no recorded files to wait for."""
    @property
    def dropped(self) -> int:
        """Events dropped because too many waited."""
    @property
    def recorded(self) -> tuple[int, int]:
        """Rows recorded so far, and events that could not be."""
    @property
    def reconnects(self) -> int:
        """How often a connection broke and stood again."""
    @property
    def state(self) -> str:
        """How it stands, in words: not open yet, connecting, open, connecting again, ended."""

@final
class LocalService:
    """A running local service on a thread of its own."""

    def __new__(
        cls,
        data: str | None = None,
        archive: Archive | None = None,
        *,
        now: float | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        seed: int = 0,
        keys: str | Sequence[tuple[str, str, str]] | None = None,
        access_log: str | None = None,
        grace: float = 2.0,
        strict_symbols: bool | None = None,
        any_block_size: bool = False,
        keep_requests: int = 10_000,
        speed: float = 1.0,
    ) -> LocalService:
        """Starts it and returns when it listens.

        ``data`` is a store's folder, ``archive`` an archive to answer from; without both it is the demo market.
        ``keys`` is a file of them, or name, tier and key of each; ``access_log`` a file of JSON lines, ``-`` for
        standard error; ``grace`` the seconds that requests under way get to finish. ``strict_symbols`` None is True for
        the demo market and False for a store; ``any_block_size`` serves block sizes that are no multiple of the
        recommended one; ``keep_requests`` is how many of the last requests :meth:`requests` returns;
        ``speed`` is how many times as fast its clock runs.
        """
    @property
    def data_end(self) -> float | None:
        """End of a store's last day, Unix seconds; None for the demo market, and for a store without data."""
    @property
    def url(self) -> str:
        """Base address, such as ``http://127.0.0.1:43211``."""
    @property
    def keys(self) -> dict[str, str]:
        """The keys by their names, without those of which only the hash is known."""
    @property
    def tiers(self) -> dict[str, str]:
        """The tier of each key by its name."""
    @property
    def faults(self) -> Faults:
        """The switch of its faults."""
    def requests(self) -> list[tuple[int, str, str, int, int, str, str, int, int]]:
        """The last requests, the oldest first, without keys.

        Each with Unix nanoseconds, method, target, status, weight, tier, name of the key, bytes and microseconds.
        """
    @property
    def requests_left_out(self) -> int:
        """Number of older requests that are no longer held."""
    @property
    def spent(self) -> int:
        """Weight that was charged for all requests."""
    def clear_requests(self) -> None:
        """Forgets all requests and their weight."""
    def now(self) -> float:
        """The service's clock in Unix seconds."""
    def advance(self, seconds: float) -> None:
        """Moves the service's clock forward; budgets refill accordingly."""
    def stop(self) -> None:
        """Stops it; open requests get a moment to finish. A second call does nothing."""

@final
class Faults:
    """The faults of one service, off at first."""

    def add(
        self,
        path: str = "",
        *,
        probability: float = 1.0,
        count: int | None = None,
        latency: float = 0.0,
        status: int | None = None,
        retry_after: int = 1,
        cut_body: int | None = None,
        drop: bool = False,
        headers: Sequence[tuple[str, str | None]] | None = None,
    ) -> FaultRule:
        """Adds a rule; InvalidRequest where it is not valid."""
    def seed(self, seed: int) -> None:
        """Starts the random sequence anew."""
    def clear(self) -> None:
        """Removes every rule."""
    @property
    def seen(self) -> int:
        """Requests that were hit."""

@final
class FaultRule:
    """A rule of a service's faults."""

    @property
    def seen(self) -> int:
        """Requests that it has hit."""
    @property
    def active(self) -> bool:
        """Whether it can still hit."""
    def remove(self) -> None:
        """Takes it back."""

@final
class IngestReport:
    """The counts of an ingest."""

    @property
    def files(self) -> int:
        """Dump files read."""
    @property
    def unchanged(self) -> int:
        """Dump files skipped because the store holds them already."""
    @property
    def rows(self) -> int:
        """Good rows read."""
    @property
    def problems(self) -> list[tuple[str, int, str, str]]:
        """Bad rows: file, line (1 is the header; 0 is the file), what is wrong, column ("" is the row)."""

def openapi() -> str:
    """The description of every local service: OpenAPI 3.1, as JSON."""

def ingest(
    dumps: str, store: str, allow_fewer_rows: bool = False, tell: Callable[[str], object] | None = None
) -> IngestReport:
    """Turns raw dumps (the layouts of docs/dumps.md) into a store; stops on Ctrl-C, also within a file."""

def weight(
    data_type: str,
    *,
    interval: str | None = None,
    interval_seconds: int | None = None,
    period: int | None = None,
    points: int | None = None,
    exchanges: int = 1,
    max_depth: int | None = None,
) -> int:
    """Exact weight of one request: by the formula of section 8.2, or an analytics endpoint's own (section 8.5)."""

def decode_points(body: bytes, dialect: Dialect | None = None, strict: bool = False) -> list[Columns]:
    """Decodes a ``/v1/points`` body whose names are a dialect's."""

def to_grid(
    offsets: npt.NDArray[np.int64], levels: npt.NDArray[np.float64], step: float | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Lays a heatmap's levels (N, 2) on a grid: prices (P) and volumes (T, P)."""

def raster(
    offsets: npt.NDArray[np.int64],
    levels: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    *,
    window: tuple[int, int],
    prices: tuple[float, float],
    size: tuple[int, int],
    step: float,
    split: npt.NDArray[np.int64] | None = None,
    field: int | None = None,
    reduce: str = "max",
    side: str = "both",
    packed: PackedLevels | None = None,
) -> npt.NDArray[np.float32]:
    """The pixels of a window of time and prices: float32 (height, width), the first row the lowest prices.

    NaN where no row stands, 0 where one has no level. ``levels`` are (N, 2), or (N, 3) with two volumes, which are
    added unless ``field`` names one; ``starts``, ``ends`` and ``window`` are Unix nanoseconds; ``step`` is the height
    of a level; ``size`` is width and height; ``reduce`` is ``max``, ``sum``, ``stack`` or ``last``; ``side`` is
    ``both``, ``bids`` or ``asks``, by ``split``, the bids of each row. Pictures of ``max`` and ``last`` are
    read from ``packed``, the same levels, where that is given: the same pixels in less time.
    """

@final
class PackedLevels:
    """Levels packed for many pictures: one float32 for each place of the grid of prices.

    Holds nothing, and helps nothing, where prices are no grid of ``step``, or where that would take more memory than it
    is worth (64 MB, or more than half of the levels').
    """

    def __new__(
        cls,
        offsets: npt.NDArray[np.int64],
        levels: npt.NDArray[np.float64],
        step: float,
        *,
        split: npt.NDArray[np.int64] | None = None,
        field: int | None = None,
    ) -> PackedLevels: ...
    @property
    def nbytes(self) -> int:
        """Bytes that are held; 0 where the levels were not worth it."""

def checksum(bytes: builtins.bytes) -> str:
    """The XXH3 of some bytes, as an archive keeps it of its files: 128 bits in hexadecimal digits."""

def level_extent(offsets: npt.NDArray[np.int64], levels: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Lowest and highest price, and the smallest distance of two neighbours in a row; infinite where there are none."""

def volume_quantiles(
    levels: npt.NDArray[np.float64], shares: npt.NDArray[np.float64], field: int | None = None
) -> npt.NDArray[np.float64]:
    """Volumes below which shares of all lie, those above 0 counted; empty where there is none."""

def regroup(
    offsets: npt.NDArray[np.int64],
    levels: npt.NDArray[np.float64],
    step: float,
    *,
    split: npt.NDArray[np.int64] | None = None,
    field: int | None = None,
    side: str = "both",
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Levels added up in price blocks: offsets, levels (N, 2) and bids of each row."""

def write_table(path: str, columns: Sequence[tuple[str, Any]]) -> None:
    """Writes columns to a ``.parquet``, ``.csv`` or ``.json`` file, atomically.

    A column is a float64, int64 or datetime64[ns] array, or a list of strings and None.
    """

def table_text(columns: Sequence[tuple[str, Any]], format: str) -> bytes:
    """Columns as :func:`write_table` takes them, as the text of a ``csv`` or ``json`` file.

    JSON is a list of objects, one a line, null for what is not there.
    """

def closest(text: str, candidates: Sequence[str]) -> str | None:
    """The candidate nearest in spelling to a text, ignoring case; None when none is near enough."""

def tiers() -> list[tuple[str, int, int, int | None, int, int]]:
    """The tier table (section 8.1): name, weight per minute, burst, weight per day, history days, streams."""

def intervals() -> list[tuple[str, str, int]]:
    """The interval table: wire name, short name, seconds."""

def unix_seconds(value: str | float, name: str, shown: str | None = None) -> float:
    """Unix seconds of an ISO 8601 text or a number; NaN is no time, and ``shown`` what stood there.

    Raises:
        InvalidRequest: It is no time, a number of another unit, or later than the year 5138; the message begins with
            ``name``.
    """

def calendar_seconds(seconds: float, name: str, given: object) -> float:
    """The Unix seconds of a calendar's own object, ``given``.

    Raises:
        InvalidRequest: They are later than the year 5138.
    """

def whole_seconds(value: str | float, nanoseconds: bool, name: str, given: object) -> int:
    """Seconds of a length of time: a text with units, a number of seconds or, if so, of nanoseconds.

    Raises:
        InvalidRequest: It is no length, or none in whole seconds; the message begins with ``name`` and shows ``given``.
    """

def length_seconds(value: str | float, nanoseconds: bool, name: str, given: object) -> float:
    """Like :func:`whole_seconds`, with fractions of a second."""

def iso(seconds: float) -> str:
    """Unix seconds as people read them: ``2026-01-31 12:00`` in UTC, with seconds where there are some."""

def from_seconds(seconds: float) -> np.datetime64:
    """Unix seconds as ``datetime64[ns]``: whole ones exactly, others to the microsecond, all that a double tells."""

def attribute_name(wire: str) -> str:
    """A record's field by its wire name, in snake case: ``buyVolume24H`` is ``buy_volume_24h``."""

def latest_known(moments: npt.NDArray[np.int64], known: npt.NDArray[np.int64], max_age: int) -> npt.NDArray[np.int64]:
    """For each moment the latest row known at it and no older than ``max_age``, or -1: int64 (moments,).

    All in nanoseconds; ``moments`` and ``known`` ascend.
    """

def latest_values(
    moments: npt.NDArray[np.int64], known: npt.NDArray[np.int64], max_age: int, values: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The values of the rows that :func:`latest_known` names, NaN where there is none: float64 (moments,)."""

def copy_of_ascending(times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
    """A copy of times in nanoseconds that ascend, without NaT: int64 (times,). None for others."""

def gather(values: npt.NDArray[np.float64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The values of the rows at ``places``, NaN at -1: float64 (places,)."""

def vocabulary() -> dict[str, list[str]]:
    """Words of the protocol by what they are of.

    ``category``, ``leaderboard_order``, ``prediction_exchange`` (those of prediction markets), ``sort_direction``.
    """

def file_spans() -> list[tuple[str, int]]:
    """How long an archive's files are, the longest first: ``year``, ``month`` or ``day``, and its most seconds."""

def calendar_windows(span: str, start: int, end: int) -> list[tuple[int, int]]:
    """The window ``[start, end)``, Unix seconds, cut where files of that length begin in UTC."""

def points_parameters() -> list[tuple[str, str, str]]:
    """The arguments of a points query (section 4.1): name, what it takes, meaning.

    It takes a ``text``, ``flag``, ``whole`` or ``number``, or several ``texts`` or ``numbers``.
    """

def contract_usd(exchange: str, raw_symbol: str) -> float | None:
    """USD that a unit of amount is worth on an inverse market; None for a market whose amounts are in coin."""

def identity_fields() -> list[str]:
    """The names of the fields of a series' identity, in the wire's order (supplement 2)."""

def default_settings() -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a client, and those of a stream, that have a value by default; by their names."""

def data_types() -> list[dict[str, Any]]:
    """The data-type table.

    By name: name, method, title, role, amount, adds_up, panels (each a quantity, its columns, band, unit, and whether
    it is drawn as steps), cost, max_points, file_bytes (of a minute, an hour and a day), included_depth, arguments (of
    a method that not every type reads), needs_block_size, usd, group_by, gapfill, lowest_tier, shape, columns.
    """

def analytics_endpoints() -> list[dict[str, Any]]:
    """The table of analytics endpoints, in the specification's order (section 4.3).

    By name: name, method, weight, parameters, answer_key.
    """

def speak_of_options(options: bool) -> bool:
    """Has the messages of this process speak of options of the command line, or of arguments; returns what it did."""

def spelled_argument(name: str, value: str | None = None) -> str:
    """How messages of this process name an argument, and its value: ``block_size=3``, or ``--block-size=3``."""

def spelled_setting(argument: str, variable: str) -> str:
    """How messages name a setting that also a variable of the environment gives: ``api_key= or KEY``, or ``KEY``."""

def load_numpy() -> None:
    """Imports NumPy, once, undisturbed by signals; an `ImportError` says why there is none."""

def shutdown() -> None:
    """Ends the engine's threads at interpreter exit; calls in flight are dropped."""
