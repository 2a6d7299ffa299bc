"""Plans and reports of universes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from ..common.arguments import count
from ..common.display import card, grid, lines, safe_repr
from ..common.intervals import DAY, HOUR, MINUTE
from ..common.protocols import ArchiveLike
from ..common.times import exact
from ..printable import printable
from .pieces import Piece, PieceReport, PlannedSeries, rows_kept
from .tables import Records, TypedRecord

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SeriesPlan", "SeriesReport", "UniversePlan", "UniverseReport", "duration_words", "report_of", "size_words"]

#: Fields that a report sums up.
TOTALS = ("requests", "weight", "rows")
#: Most refused and failed series that a repr lists.
SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class SeriesRecord(TypedRecord):
    """Which series of a universe a record is of.

    Attributes:
        type: Data type by wire name.
        exchange: Exchanges, joined by ``+``; empty where none was named.
        symbol: Exchange-native symbol; empty where none was named.
        coin: Base asset; empty where none was named.
        interval: Short name of the interval.
        parameters: The other parameters, as they were given.
        start: First bucket start of the window, ``datetime64[ns]`` in UTC; NaT for a series that cannot be requested.
        end: End of its closed buckets, exclusive, ``datetime64[ns]`` in UTC.
        status: Its status.
        requests: Requests.
        weight: Their summed weight.
    """

    type: str
    exchange: str
    symbol: str
    coin: str
    interval: str
    parameters: str
    start: "np.datetime64"
    end: "np.datetime64"
    status: str
    requests: int
    weight: int

    def __str__(self) -> str:
        parts = (self.type, self.exchange, self.symbol, self.coin, self.interval, self.parameters)
        return printable(" ".join(part for part in parts if part))


@dataclass(frozen=True, eq=False, repr=False)
class SeriesPlan(SeriesRecord):
    """The requests and the weight of one series of a universe.

    Attributes:
        points: Buckets in its requests.
        bytes: Estimate of their size on disk.
        reason: Why it is refused, or that no bucket of it has closed yet; else empty.
    """

    points: int
    bytes: int
    reason: str = ""

    SHOWN = ("type", "exchange", "symbol", "coin", "interval", "status", "requests", "weight", "reason")


@dataclass(frozen=True, eq=False, repr=False)
class SeriesReport(SeriesRecord):
    """The outcome of a series of a universe.

    Attributes:
        rows: Rows that this run archived.
        reason: Why it was refused or failed, or that no bucket of it has closed yet; else empty.
    """

    rows: int
    reason: str = ""

    SHOWN = ("type", "exchange", "symbol", "coin", "interval", "status", "requests", "weight", "rows", "reason")


class SeriesTable:
    """Base of plans and reports of universes: their series as a table, as JSON, and in words."""

    #: Every status that a series may have.
    STATUSES: ClassVar[tuple[str, ...]] = ()

    series: Records[Any]

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame``: one row for each series.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return self.series.to_pandas()

    def to_json(self, indent: int | None = 2) -> str:
        """Everything as JSON: totals, then ``series``; times are ISO 8601 in UTC, null where there is none."""
        return json.dumps(self._plain(), indent=indent, ensure_ascii=False)

    def _plain(self) -> dict[str, Any]:
        names = [one.name for one in fields(self) if one.name != "series" and one.name[0] != "_"]  # type: ignore[arg-type]
        totals = {name: getattr(self, name) for name in names}
        plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in totals.items()}
        return self._counts() | plain | {"series": [_plain(one) for one in self.series]}

    def _counts(self) -> dict[str, int]:
        counts = dict.fromkeys(self.STATUSES, 0)
        for one in self.series:
            counts[one.status] += 1
        return counts

    def _with_status(self, *statuses: str) -> Records[Any]:
        return Records([one for one in self.series if one.status in statuses], self.series._kind)

    def _facts(self) -> dict[str, str]:
        counts = {name: f"{count:,}" for name, count in self._counts().items() if count}
        return {"series": f"{len(self.series):,}"} | counts

    def _problems(self) -> list[str]:
        problems = [f"{one.status}: {one}: {one.reason}" for one in self._with_status("refused", "failed")]
        more = [f"… and {len(problems) - SHOWN:,} more" for _ in range(len(problems) > SHOWN)]
        return [printable(line) for line in problems[:SHOWN]] + more

    @safe_repr
    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {lines(self._facts())}{''.join(f'{chr(10)}  {one}' for one in self._problems())}>"
        )

    def _repr_html_(self) -> str:
        rows = [[one.status, str(one), one.reason] for one in self._with_status("refused", "failed")[:SHOWN]]
        below = grid(["status", "series", "why"], rows, [], 0, left=3) if rows else ""
        return card(type(self).__name__, self._facts(), below)


@dataclass(frozen=True, repr=False)
class UniversePlan(SeriesTable):
    """The requests and the weight of a universe. False if nothing is left to request.

    Attributes:
        series: The plan of each series: ``status`` is ``planned``, ``kept`` (all of it is archived) or ``refused``.
        requests: Number of all requests.
        weight: Their summed weight.
        points: Buckets in them.
        bytes: Estimate of their size on disk: from this archive's files of the type and interval, or, without any,
            from those of one demo market.
        eta: Seconds to wait with the current budget; 0 if it is not known.
        requests_by_tier: Requests that each tier would send for the series that it allows, by the tier's name: a
            smaller bucket needs smaller requests.
        weight_by_tier: What each tier would spend on them.
        bytes_by_tier: Their size on disk, estimated as ``bytes``.
        eta_by_tier: Seconds that each tier would take for them, from a full bucket; with a daily cap, days.
        refused_by_tier: How many series each tier does not allow.
    """

    STATUSES = ("planned", "kept", "refused")

    series: Records[SeriesPlan]
    requests: int
    weight: int
    points: int
    bytes: int
    eta: float
    requests_by_tier: Mapping[str, int] = field(default_factory=dict, hash=False)
    weight_by_tier: Mapping[str, int] = field(default_factory=dict, hash=False)
    bytes_by_tier: Mapping[str, int] = field(default_factory=dict, hash=False)
    eta_by_tier: Mapping[str, float] = field(default_factory=dict, hash=False)
    refused_by_tier: Mapping[str, int] = field(default_factory=dict, hash=False)
    _parts: tuple[PlannedSeries, ...] = field(default=(), compare=False)

    def __bool__(self) -> bool:
        return self.requests > 0

    @property
    def refused(self) -> Records[SeriesPlan]:
        """The series that are not requested, each with its reason."""
        return self._with_status("refused")

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {
            "requests": f"{self.requests:,}",
            "weight": f"{self.weight:,}",
            "points": f"{self.points:,}",
            "about": size_words(self.bytes),
            "waits for": duration_words(self.eta) if self.eta else "nothing",
            "by tier": "; ".join(self.tiers()),
        }

    def pieces(self, requests: int | None = None) -> list[Piece]:
        """The remaining requests as small, picklable pieces for other processes.

        :meth:`Piece.sync` runs one. An archive lets one writer at a time write a series: run several pieces of one
        series one at a time, the oldest first, or they wait for each other.

        Args:
            requests: Most requests of a piece; None makes one piece of each series, however many requests it has.

        Raises:
            InvalidRequest: ``requests`` is no whole number above 0.
        """
        most = count(requests, "requests")
        pieces = []
        for place, part in enumerate(self._parts):
            slices = () if part.refusal else part.slices
            size = most or len(slices) or 1
            pieces += [Piece.of(place, part, slices[at : at + size]) for at in range(0, len(slices), size)]
        return pieces

    def report(self, reports: Iterable[PieceReport], archive: ArchiveLike, *, seconds: float = 0.0) -> "UniverseReport":
        """The universe's report from the reports of its pieces.

        Args:
            reports: What :meth:`Piece.sync` returned for the pieces; a series that lacks one is ``failed``.
            archive: The :class:`~marketpoints.Archive` that they were written to.
            seconds: How long it took.
        """
        return report_of(self._parts, list(reports), rows_kept(archive._engine, self._parts), seconds, "not sent")

    def tiers(self) -> list[str]:
        """Each tier's wait, in words."""
        refused = {tier: f", {count:,} refused" for tier, count in self.refused_by_tier.items()}
        return [f"{tier} {duration_words(eta)}{refused.get(tier, '')}" for tier, eta in self.eta_by_tier.items()]


@dataclass(frozen=True, repr=False)
class UniverseReport(SeriesTable):
    """The outcome of a universe. True if every series is complete or empty.

    Attributes:
        series: The outcome of each: ``status`` is ``complete`` (all closed buckets of its window are archived),
            ``empty`` (the same, and the service has no row of it), ``refused`` (never sent, or refused by the service:
            another run would not help) or ``failed`` (what arrived is archived, another run requests the rest).
        requests: Requests that brought an answer.
        weight: Their summed weight.
        rows: Archived rows.
        seconds: How long it took.
    """

    STATUSES = ("complete", "empty", "refused", "failed")

    series: Records[SeriesReport]
    requests: int
    weight: int
    rows: int
    seconds: float

    def __bool__(self) -> bool:
        return not self._with_status("refused", "failed")

    @property
    def complete(self) -> Records[SeriesReport]:
        """The series of which all closed buckets of the window are archived."""
        return self._with_status("complete")

    @property
    def empty(self) -> Records[SeriesReport]:
        """The series that were downloaded in full and have no row."""
        return self._with_status("empty")

    @property
    def refused(self) -> Records[SeriesReport]:
        """The series that were not requested, or that the service refused."""
        return self._with_status("refused")

    @property
    def failed(self) -> Records[SeriesReport]:
        """The series that are still incomplete."""
        return self._with_status("failed")

    def _facts(self) -> dict[str, str]:
        totals = {name: f"{getattr(self, name):,}" for name in ("requests", "weight", "rows")}
        return super()._facts() | totals | {"took": duration_words(self.seconds)}


def report_of(
    parts: Sequence[PlannedSeries], pieces: Sequence[PieceReport], rows: Sequence[int], seconds: float, why_not: str
) -> UniverseReport:
    """The report of every series, given its rows in the archive; ``why_not`` says why requests were not sent."""
    of_series: list[list[PieceReport]] = [[] for _ in parts]
    for piece in pieces:
        of_series[piece.series].append(piece)
    series = []
    for part, own, archived in zip(parts, of_series, rows, strict=True):
        sums = {name: sum(getattr(one, name) for one in own) for name in TOTALS}
        problem = next((one for one in reversed(own) if not one), None)
        status, reason = "complete" if archived or sums["rows"] else "empty", ""
        if part.why_empty:
            status, reason = "empty", part.why_empty
        if part.refusal:
            status, reason = "refused", part.refusal
        elif problem is not None:
            status, reason = problem.status, problem.reason
        elif sum(one.planned for one in own) < len(part.slices):
            status, reason = "failed", why_not
        series.append(SeriesReport(**part.facts(), status=status, **sums, reason=reason))
    totals = {name: sum(getattr(one, name) for one in series) for name in TOTALS}
    return UniverseReport(Records(series, SeriesReport), **totals, seconds=seconds)


def duration_words(seconds: float) -> str:
    """A length of time in words."""
    for length, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.0f} s"


def size_words(count: int) -> str:
    """A number of bytes in words."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,} bytes"


def _plain(one: Any) -> dict[str, Any]:
    values = {each.name: getattr(one, each.name) for each in fields(one)}
    for name in ("start", "end"):
        text = exact(values[name]).replace(" ", "T")
        values[name] = f"{text}Z" if text else None
    return values
