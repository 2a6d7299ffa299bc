"""The plan of a universe in pieces for other processes: small, picklable, without key, client or open file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.display import lines, safe_repr
from ..common.progress import ProgressCallback, RunningTotals
from ..common.protocols import ArchiveLike
from ..common.queries import build_query
from ..common.times import from_seconds, iso, no_time, to_duration, to_unix
from ..errors import (
    ArchiveError,
    AuthenticationError,
    DamagedFileError,
    Error,
    ForeignFileError,
    InvalidRequest,
    NewerFormatError,
    RateLimitError,
    TierError,
)
from .plan import Budget

if TYPE_CHECKING:
    from ..common.protocols import ClientLike

__all__ = [
    "Piece",
    "PieceReport",
    "PlannedSeries",
    "Slice",
    "SyncArguments",
    "failed",
    "kept",
    "query_of",
    "rows_kept",
    "sync_piece",
]

#: Arguments of the window; a piece has its own.
WINDOW = ("start", "end", "period")
#: Errors of one series' files; other series of the archive can be written.
OWN_FILES = (DamagedFileError, ForeignFileError, NewerFormatError)


@dataclass(frozen=True)
class SyncArguments:
    """One series of a universe, as the arguments of ``archive.sync``."""

    type: str
    exchanges: tuple[str, ...]
    symbol: str | None
    coin: str | None
    interval: Any
    arguments: Mapping[str, Any]

    @property
    def others(self) -> Mapping[str, Any]:
        """The arguments without ``start``, ``end`` and ``period``."""
        return {name: value for name, value in self.arguments.items() if name not in WINDOW}

    def __str__(self) -> str:
        parts = ("+".join(self.exchanges), self.symbol, self.coin, self.interval, self.type)
        return " ".join(part for part in parts if part)

    def plain(self) -> "SyncArguments":
        """A copy with times as numbers, so that a worker needs no package of the given time types."""
        read: Mapping[str, Callable[[Any], Any]] = {
            "start": lambda value: to_unix(value, "start"),
            "end": lambda value: to_unix(value, "end"),
            "period": to_duration,
        }
        arguments = {name: read[name](value) if name in read else value for name, value in self.arguments.items()}
        return SyncArguments(self.type, self.exchanges, self.symbol, self.coin, self.interval, arguments)


def query_of(wanted: SyncArguments, window: tuple[int, int] | None = None) -> _engine.Query:
    """The query of a series, for a window in Unix seconds or for the universe's.

    Raises:
        InvalidRequest: The table of types does not allow it.
    """
    arguments = wanted.arguments if window is None else {**wanted.others, "start": window[0], "end": window[1]}
    arguments = {**arguments, "coin": wanted.coin}
    return build_query("sync_all", wanted.type, wanted.exchanges or None, wanted.symbol, wanted.interval, arguments)


@dataclass(frozen=True)
class Slice:
    """One request of a plan: its window in Unix seconds, and its weight."""

    start: int
    end: int
    weight: int


@dataclass(frozen=True)
class PlannedSeries:
    """A series of a plan.

    Attributes:
        wanted: The series.
        window: Its window in Unix seconds; None if it cannot be requested.
        slices: The requests that are left to send, the oldest first.
        refusal: Why nothing is requested; empty if something is.
    """

    wanted: SyncArguments
    window: tuple[int, int] | None = None
    slices: tuple[Slice, ...] = ()
    refusal: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether the ledger cannot be read, so that the missing windows are unknown: a request of weight 0."""
        return any(one.weight == 0 for one in self.slices)

    @property
    def why_empty(self) -> str:
        """Why its window has no bucket, as where it starts in the future; empty where it has some."""
        none = self.window is not None and self.window[0] >= self.window[1]
        return "no bucket of its window has closed yet" if none else ""

    def facts(self) -> dict[str, Any]:
        """The fields of plans and reports that identify the series."""
        wanted = self.wanted
        start, end = (no_time(), no_time()) if self.window is None else map(from_seconds, self.window)
        return {
            "type": wanted.type,
            "exchange": "+".join(wanted.exchanges),
            "symbol": wanted.symbol or "",
            "coin": wanted.coin or "",
            "interval": wanted.interval,
            "parameters": " ".join(f"{name}={value}" for name, value in wanted.others.items()),
            "start": start,
            "end": end,
        }


@dataclass(frozen=True, repr=False)
class Piece:
    """A part of a universe's plan for one process: some consecutive requests of one series.

    It can be pickled, has a few hundred bytes, and holds neither a key nor a client nor an open file.

    Attributes:
        series: Place of its series in the plan's ``series``.
        wanted: The series, as the arguments of ``archive.sync``.
        start: First bucket start of its window, Unix seconds.
        end: End of its window, exclusive, Unix seconds.
        requests: Its requests, by the plan.
        weight: Their summed weight.
    """

    series: int
    wanted: SyncArguments
    start: int
    end: int
    requests: int
    weight: int

    @classmethod
    def of(cls, series: int, part: PlannedSeries, slices: Sequence[Slice]) -> "Piece":
        """Some consecutive requests of a series."""
        weight = sum(one.weight for one in slices)
        return cls(series, part.wanted, slices[0].start, slices[-1].end, len(slices), weight)

    def query(self, now: float, tier: str | None) -> _engine.Query | None:
        """Its query at ``now`` (Unix seconds); None if nothing of it can be requested any more.

        A ``period`` begins no earlier than the tier's history at that time: a run may take hours, and what is
        before the history wall by then would be refused.
        """
        first = query_of(self.wanted).first_in_history(now, tier)
        start = self.start if first is None else max(self.start, first)
        return query_of(self.wanted, (start, self.end)) if start < self.end else None

    def sync(self, client: "ClientLike", archive: ArchiveLike) -> "PieceReport":
        """Downloads what an archive still lacks of the piece.

        Several processes may run pieces of one plan at once, and one piece twice: the second finds it in the archive,
        and pays nothing. If a process is killed, another one can run its piece again.

        Args:
            client: A :class:`~marketpoints.Client` of this process.
            archive: The :class:`~marketpoints.Archive`, the same for all pieces.

        Returns:
            The piece's report. Errors of the package are in it and not raised.
        """
        return sync_piece(self, client, archive._engine)

    @safe_repr
    def __repr__(self) -> str:
        window = f"{iso(self.start)} to {iso(self.end)} UTC"
        facts = {"requests": f"{self.requests:,}", "weight": f"{self.weight:,}"}
        return f"<Piece {self.wanted}: {window}, {lines(facts)}>"


@dataclass(frozen=True)
class PieceReport:
    """The result of a piece of a plan.

    Attributes:
        series: Place of its series in the plan's ``series``.
        planned: Requests that it had by the plan.
        status: ``kept`` (archived), ``refused`` or ``failed``.
        requests: Requests that brought an answer; none if another process had downloaded the piece already.
        weight: Their summed weight.
        rows: Archived rows.
        reason: Why it was refused or failed; else empty.
        ends: Why all other pieces would fail too: the key is wrong, the daily cap is spent, nothing can be written;
            else empty.
        error: The error, if the service does not know the key.
        budget: What was left of the budget; None if that is not known.
    """

    series: int
    planned: int
    status: str = "kept"
    requests: int = 0
    weight: int = 0
    rows: int = 0
    reason: str = ""
    ends: str = ""
    error: AuthenticationError | None = None
    budget: Budget | None = None

    def __bool__(self) -> bool:
        return self.status == "kept"


def kept(piece: Piece, reports: Iterable[tuple[str, Mapping[str, Any]]] | None) -> PieceReport:
    """The report of a piece that is archived, or that had nothing to request."""
    counts = [about for _, about in reports or ()]
    sums = {name: sum(about[name] for about in counts) for name in ("requests", "weight", "rows")}
    return PieceReport(piece.series, piece.requests, **sums)


def failed(piece: Piece, error: Error, progress: Sequence[int]) -> PieceReport:
    """The report of a piece that failed beyond the client's retries; ``progress`` is requests, weight and rows."""
    parts = [error, *(error.failures or ())]
    refused = any(isinstance(part, (InvalidRequest, TierError)) for part in parts)
    wrong_key = [part for part in parts if isinstance(part, AuthenticationError)]
    everywhere = [part for part in parts if isinstance(part, (AuthenticationError, RateLimitError))]
    unkept = isinstance(error, ArchiveError) and not isinstance(error, OWN_FILES) and error.results is not None
    requests, weight, rows = progress
    return PieceReport(
        piece.series,
        piece.requests,
        "refused" if refused else "failed",
        requests,
        weight,
        rows,
        reason=str(error),
        ends=str(everywhere[0] if everywhere else error) if everywhere or unkept else "",
        error=wrong_key[0] if wrong_key else None,
    )


def sync_piece(
    piece: Piece, client: "ClientLike", archive: _engine.Archive, on_progress: ProgressCallback | None = None
) -> PieceReport:
    """Runs a piece with a blocking client; the engine calls ``on_progress`` meanwhile."""
    live, totals = client._live, RunningTotals(on_progress)
    try:
        query = piece.query(live.now(), client.tier)
        return kept(piece, query and live.sync(query, archive, totals))
    except Error as error:
        return failed(piece, error, totals.progress)


def rows_kept(archive: _engine.Archive, parts: Sequence[PlannedSeries]) -> list[int]:
    """How many rows an archive has of each series; 0 for one that cannot be requested."""
    counts = [0] * len(parts)
    try:
        asked = [(place, query_of(part.wanted)) for place, part in enumerate(parts) if part.window is not None]
        rows = {one["key"]: one["rows"] for one in archive.contents()[0]}
        keys = archive.keys([query for _, query in asked])
    except ArchiveError:
        # verify() reports a ledger that cannot be read; its number of rows is not known.
        return [1] * len(parts)
    for (place, _), key in zip(asked, keys, strict=True):
        counts[place] = rows.get(key or "", 0)
    return counts
