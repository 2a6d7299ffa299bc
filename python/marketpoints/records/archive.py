"""Records of an archive: its contents, what a sync did, what changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ..common.display import card, lines, safe_repr
from ..identity import SeriesId, Window
from ..printable import printable
from .tables import Records

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Archived",
    "Compacted",
    "FileProblem",
    "Inconsistency",
    "Missing",
    "Overviews",
    "Refreshed",
    "Revision",
    "Synced",
    "Verification",
    "Vintage",
]

Windows = tuple[Window, ...]
#: The engine's report on each symbol, by its name.
Reports = Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Span:
    """A window of a query."""

    type: str
    exchange: str | None
    symbol: str | None
    coin: str | None
    interval: str
    parameters: str
    start: "np.datetime64"
    end: "np.datetime64"
    buckets: int


@dataclass(frozen=True)
class Missing(Span):
    """A window of a query that was never downloaded into an archive.

    Attributes:
        type: Data type.
        exchange: Exchanges, joined by ``+``; None where none was named.
        symbol: Exchange-native symbol.
        coin: Base asset.
        interval: Wire name of the interval.
        parameters: The other parameters, as the wire spells them.
        start: First bucket start, ``datetime64[ns]`` in UTC.
        end: End, exclusive, ``datetime64[ns]`` in UTC.
        buckets: Buckets in the window, empty ones included.
    """


@dataclass(frozen=True)
class Archived(Span):
    """A window that was downloaded into an archive.

    Attributes:
        type: Data type.
        exchange: Exchanges, joined by ``+``; None where none was named.
        symbol: Exchange-native symbol.
        coin: Base asset.
        interval: Wire name of the interval.
        parameters: The other parameters, as the wire spells them.
        start: First bucket start, ``datetime64[ns]`` in UTC.
        end: End, exclusive, ``datetime64[ns]`` in UTC.
        buckets: Buckets in the window, empty ones included.
        key: The last folder's name, from everything that changes the answer.
    """

    key: str


@dataclass(frozen=True)
class Vintage(Archived):
    """Archived buckets that the service changed later; with the fields of :class:`Archived`.

    Attributes:
        known_from: Since when all of them were known with these values, ``datetime64[ns]`` in UTC; NaT in archives of
            earlier versions, which did not record it.
        replaced_at: When the archive replaced them, ``datetime64[ns]`` in UTC.
        rows: Number of their rows.
    """

    known_from: "np.datetime64"
    replaced_at: "np.datetime64"
    rows: int


@dataclass(frozen=True)
class Compacted:
    """The report of a compaction.

    Attributes:
        files: Files of vintages.
        bytes: Their size.
        rows: Their rows.
    """

    files: int
    bytes: int
    rows: int


@dataclass(frozen=True)
class Overviews:
    """The report of building overviews.

    Attributes:
        months: Archived months, each of which has overviews now.
        built: Months whose overviews were built now; the others had them.
        bytes: Size of the files that were built.
    """

    months: int
    built: int
    bytes: int


@dataclass(frozen=True, repr=False)
class Synced:
    """The report of a sync.

    Attributes:
        requests: Requests that brought an answer.
        weight: Their summed weight.
        rows: Archived rows.
        windows: Archived windows of bucket starts: each a :class:`~marketpoints.Window`, in order.
        mended: Files that were not what had been written, each with what was done.
        each: For several symbols or coins, the report of each by its name, such as
            ``"BINANCE_FUTURES BTCUSDT"``; this one has the sums.
    """

    requests: int
    weight: int
    rows: int
    windows: Windows
    mended: tuple[str, ...]
    each: Mapping[str, "Synced"] = field(default_factory=dict, kw_only=True, hash=False)

    def _facts(self) -> dict[str, str]:
        facts = {"requests": f"{self.requests:,}", "weight": f"{self.weight:,}", "rows": f"{self.rows:,}"}
        return facts | ({"mended files": f"{len(self.mended):,}"} if self.mended else {})

    @safe_repr
    def __repr__(self) -> str:
        parts = "".join(f"\n  {printable(name)}: {lines(one._facts())}" for name, one in self.each.items())
        return f"<{type(self).__name__} {lines(self._facts())}{parts}>"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts() | {name: lines(one._facts()) for name, one in self.each.items()})


@dataclass(frozen=True)
class Revision:
    """A value that the service changed.

    Attributes:
        id: Identity of its series.
        time: Bucket start, ``datetime64[ns]`` in UTC.
        column: Name of the column.
        before: The archived value; None where there was none. Times are ``datetime64[ns]``; for a
            list, its number of entries.
        after: The value that the service sends now.
    """

    id: SeriesId
    time: "np.datetime64"
    column: str
    before: "float | int | str | np.datetime64 | None"
    after: "float | int | str | np.datetime64 | None"


@dataclass(frozen=True, repr=False)
class Refreshed(Synced):
    """The report of a refresh.

    Attributes:
        revisions: Values that differ from the archived ones.
    """

    revisions: Records[Revision]

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {"revisions": f"{len(self.revisions):,}"}


@dataclass(frozen=True)
class FileProblem:
    """A file that is not what was written.

    Attributes:
        path: The file, from the archive's root.
        state: ``damaged``, ``missing``, ``foreign`` or ``newer``.
        problem: What is wrong, and how to repair it.
    """

    path: str
    state: str
    problem: str


@dataclass(frozen=True)
class Inconsistency:
    """A value that differs from the one computed from finer buckets of the same query.

    Attributes:
        id: Identity of its series.
        time: Bucket start, ``datetime64[ns]`` in UTC.
        finer: Wire name of the interval of the finer buckets.
        column: Name of the column.
        kept: The bucket's archived value; None where there is none. Times are ``datetime64[ns]``.
        made: The value computed from the finer buckets.
        key: The last folder's name, as in :class:`Archived`.
    """

    id: SeriesId
    time: "np.datetime64"
    finer: str
    column: str
    kept: "float | np.datetime64 | None"
    made: "float | np.datetime64 | None"
    key: str


@dataclass(frozen=True, repr=False)
class Verification:
    """The report of a check of every file; true when nothing is wrong.

    Attributes:
        files: Files whose checksum is right.
        bytes: Their size.
        problems: All other files.
        consistent: Whether buckets were to be compared with the finer ones in them.
        compared: Buckets that were compared with the finer ones in them, once for each finer interval.
        inconsistencies: Values that differ from those computed from finer buckets.
    """

    files: int
    bytes: int
    problems: Records[FileProblem]
    consistent: bool = field(default=False, kw_only=True)
    compared: int = field(default=0, kw_only=True)
    inconsistencies: Records[Inconsistency] = field(default_factory=lambda: Records([], Inconsistency), kw_only=True)

    def __bool__(self) -> bool:
        return not self.problems and not self.inconsistencies

    def _facts(self) -> dict[str, str]:
        facts = {"files": f"{self.files:,}", "bytes": f"{self.bytes:,}", "problems": f"{len(self.problems):,}"}
        found = {"compared": f"{self.compared:,}", "inconsistencies": f"{len(self.inconsistencies):,}"}
        return facts | (found if self.consistent else {})

    @safe_repr
    def __repr__(self) -> str:
        shown = "".join("\n  " + printable(f"{one.state}: {one.path}: {one.problem}") for one in self.problems[:10])
        return f"<Verification {lines(self._facts())}{shown}>"

    def _repr_html_(self) -> str:
        return card("Verification", self._facts())


def _spans(windows: Sequence[Window]) -> Windows:
    """Windows in order, adjacent ones merged."""
    spans: list[Window] = []
    for start, end in sorted(windows):
        if spans and start <= spans[-1].end:
            spans[-1] = Window(spans[-1].start, max(end, spans[-1].end))
        else:
            spans.append(Window(start, end))
    return tuple(spans)


def _done(about: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: about[name] for name in ("requests", "weight", "rows")}
    return plain | {"windows": _spans(about["windows"]), "mended": tuple(about["mended"])}


def synced(reports: Reports) -> Synced:
    """The report of a sync from the engine's reports."""
    parts = {name: Synced(**_done(about)) for name, about in reports}
    if len(parts) == 1:
        return next(iter(parts.values()))
    return Synced(**_sum(reports), each=parts)


def refreshed(reports: Reports) -> Refreshed:
    """The report of a refresh from the engine's reports."""
    parts = {name: Refreshed(**_done(about), revisions=_revisions(about)) for name, about in reports}
    if len(parts) == 1:
        return next(iter(parts.values()))
    revisions = Records([revision for one in parts.values() for revision in one.revisions], Revision)
    return Refreshed(**_sum(reports), revisions=revisions, each=parts)


def _sum(reports: Reports) -> dict[str, Any]:
    """Several reports as one."""
    every = [about for _, about in reports]
    plain: dict[str, Any] = {name: sum(one[name] for one in every) for name in ("requests", "weight", "rows")}
    lists = {name: [entry for one in every for entry in one[name]] for name in ("windows", "mended")}
    return _done(plain | lists)


def _revisions(about: Mapping[str, Any]) -> Records[Revision]:
    revisions = [
        Revision(_id(one), *(one[name] for name in ("time", "column", "before", "after"))) for one in about["revisions"]
    ]
    return Records(revisions, Revision)


def inconsistencies(found: Sequence[Mapping[str, Any]]) -> Records[Inconsistency]:
    """Inconsistencies from the engine's dictionaries."""
    parts = ("time", "finer", "column", "before", "after", "key")
    return Records([Inconsistency(_id(one), *(one[name] for name in parts)) for one in found], Inconsistency)


def _id(about: Mapping[str, Any]) -> SeriesId:
    known = {one.name for one in fields(SeriesId)}
    return SeriesId(**{name: value for name, value in about.items() if name in known})


def windows(entry: Mapping[str, Any]) -> list[Archived]:
    """The archived windows of one query, from the engine's entry."""
    return [Archived(**about, key=entry["key"]) for about in _spans_of(entry)]


def missing(entry: Mapping[str, Any]) -> list[Missing]:
    """The windows of one query that were never downloaded, from the engine's entry."""
    return [Missing(**about) for about in _spans_of(entry)]


def _spans_of(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of each window of a query."""
    import numpy as np

    exchanges, plain, others = [], {}, []
    step = np.timedelta64(entry["interval_seconds"], "s")
    for name, value in entry["query"]:
        if name == "exchange":
            exchanges.append(value)
        elif name in ("type", "rawSymbol", "coin", "interval") and name not in plain:
            plain[name] = value
        else:
            others.append(f"{name}={value}")
    about = {
        "type": plain["type"],
        "exchange": "+".join(exchanges) or None,
        "symbol": plain.get("rawSymbol"),
        "coin": plain.get("coin"),
        "interval": plain["interval"],
        "parameters": " ".join(others),
    }
    return [
        about | {"start": start, "end": end, "buckets": int((end - start) // step)} for start, end in entry["windows"]
    ]


def vintages(entry: Mapping[str, Any]) -> list[Vintage]:
    """The vintages of one query, from the engine's entry."""
    about = zip(windows(entry), entry["known_from"], entry["replaced_at"], entry["rows"], strict=True)
    return [Vintage(**vars(window), known_from=known, replaced_at=at, rows=rows) for window, known, at, rows in about]
