"""The archive: what was downloaded once is not downloaded again."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, overload

from . import _engine
from .arguments import build_query, folder
from .client import AsyncClient, Client, Later
from .display import card, lines
from .errors import InvalidRequest, NotArchivedError
from .records import Records
from .series import SeriesId
from .sets import SeriesSet, wrap

if TYPE_CHECKING:
    from .arguments import Names
    from .progress import Progress

__all__ = ["Archive", "Archived", "FileProblem", "Refreshed", "Revision", "Synced", "Verification"]

Windows = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Archived:
    """A window that an archive holds, asked of the service and kept.

    Attributes:
        type: Data type.
        exchange: Exchanges, joined by ``+``; None where none was named.
        symbol: Exchange-native symbol.
        coin: Base asset.
        interval: Wire name of the interval.
        parameters: The other parameters, as the wire spells them.
        start: First bucket start, Unix seconds.
        end: End, exclusive, Unix seconds.
        buckets: Buckets in the window, empty ones included.
        key: The last folder's name: of everything that changes the answer.
    """

    type: str
    exchange: str | None
    symbol: str | None
    coin: str | None
    interval: str
    parameters: str
    start: int
    end: int
    buckets: int
    key: str


@dataclass(frozen=True, repr=False)
class Synced:
    """What a sync did.

    Attributes:
        requests: Requests that brought an answer.
        weight: Their summed weight.
        rows: Rows kept.
        windows: Windows of bucket starts that were kept: (start, end) in Unix seconds, in order.
        mended: Files that were not what had been written, each with what was done.
    """

    requests: int
    weight: int
    rows: int
    windows: Windows
    mended: tuple[str, ...]

    def _facts(self) -> dict[str, str]:
        facts = {"requests": f"{self.requests:,}", "weight": f"{self.weight:,}", "rows": f"{self.rows:,}"}
        return facts | ({"mended files": f"{len(self.mended):,}"} if self.mended else {})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {lines(self._facts())}>"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts())


@dataclass(frozen=True)
class Revision:
    """A value that the service tells otherwise than it did.

    Attributes:
        id: Whose.
        time: Bucket start, Unix nanoseconds.
        column: Name of the column.
        before: What was kept; None where there was no value. Of a list, how many entries.
        after: What the service says now.
    """

    id: SeriesId
    time: int
    column: str
    before: float | int | str | None
    after: float | int | str | None


@dataclass(frozen=True, repr=False)
class Refreshed(Synced):
    """What a refresh did.

    Attributes:
        revisions: Values that differ from what was kept.
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
        problem: What is wrong, and how to mend it.
    """

    path: str
    state: str
    problem: str


@dataclass(frozen=True, repr=False)
class Verification:
    """What a look at every file found; true when nothing is wrong.

    Attributes:
        files: Files whose checksum is right.
        bytes: Their size.
        problems: All others.
    """

    files: int
    bytes: int
    problems: Records[FileProblem]

    def __bool__(self) -> bool:
        return not self.problems

    def _facts(self) -> dict[str, str]:
        return {"files": f"{self.files:,}", "bytes": f"{self.bytes:,}", "problems": f"{len(self.problems):,}"}

    def __repr__(self) -> str:
        shown = "".join(f"\n  {one.state}: {one.path}: {one.problem}" for one in self.problems[:10])
        return f"<Verification {lines(self._facts())}{shown}>"

    def _repr_html_(self) -> str:
        return card("Verification", self._facts())


class Archive:
    """A folder of plain Parquet files, hive-partitioned, with a ledger of what was asked.

    It holds closed buckets of one service only. Several programs may read and write it at once; whatever ends a writer,
    what it had downloaded stays. See ``docs/archive.md``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Names the archive. Nothing is touched before the first sync.

        Args:
            path: A folder, which need not exist yet, or its ``file://`` address.

        Raises:
            InvalidRequest: ``path`` names no local folder.
        """
        self._path = folder(path)
        self._engine = _engine.Archive(self._path)

    @property
    def path(self) -> str:
        """The folder."""
        return self._path

    @property
    def source(self) -> str | None:
        """Which service the data are from: its address, or its ``archive_source``; None while there are none."""
        return self._engine.source

    def read(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        **arguments: Any,
    ) -> SeriesSet:
        """What is kept, as the client would answer. Needs no network and no key.

        Args:
            type: Data type by its wire name, or a series method's name, such as ``"candles"``.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol.
            interval: Short name or wire name.
            arguments: As of :meth:`Client.points`. An open start or end is the archive's: without ``start``,
                ``end`` and ``period`` the answer is all that is kept.

        Raises:
            InvalidRequest: An argument cannot be right.
            NotArchivedError: A part of the window was never asked: ``missing`` says which, ``results`` holds the rest.
            DamagedFileError: A file is not what was written; so :class:`ForeignFileError` and
                :class:`NewerFormatError`.
        """
        query = build_query(type, exchange, symbol, interval, **arguments, open_window=True)
        try:
            return wrap(self._engine.read(query))
        except NotArchivedError as error:
            error.results = wrap(error.results or [])
            raise

    @overload
    def sync(
        self,
        client: Client,
        type: str,
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Synced: ...
    @overload
    def sync(
        self,
        client: AsyncClient,
        type: str,
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Later[Synced]: ...
    def sync(
        self,
        client: Client | AsyncClient,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Synced | Later[Synced]:
        """Downloads what is missing of the closed buckets of a window, and nothing else; awaited with an async client.

        What has arrived is kept at once: after an interruption of any kind the next sync pays only for the rest.

        Args:
            client: Asks the service.
            type: Data type by its wire name, or a series method's name.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol.
            interval: Short name or wire name.
            progress: True shows a bar; a function is called with (requests done, requests).
            arguments: As of :meth:`Client.points`.

        Raises:
            ArchiveError: The folder cannot be written, or holds another service's data.
            PartialError: Some requests failed; what arrived is kept.
        """
        query = build_query(type, exchange, symbol, interval, **arguments)
        answer: Synced | Later[Synced] = _client(client)._archived("sync", (query, self._engine), progress, _synced)
        return answer

    @overload
    def refresh(
        self,
        client: Client,
        type: str,
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Refreshed: ...
    @overload
    def refresh(
        self,
        client: AsyncClient,
        type: str,
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Later[Refreshed]: ...
    def refresh(
        self,
        client: Client | AsyncClient,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Refreshed | Later[Refreshed]:
        """Downloads a window again, keeps what the service says now, and tells what changed. Arguments as :meth:`sync`.

        Raises:
            ArchiveError: The folder cannot be written, or holds another service's data.
            PartialError: Some requests failed; what arrived is kept.
        """
        query = build_query(type, exchange, symbol, interval, **arguments)
        work = (query, self._engine, True)
        answer: Refreshed | Later[Refreshed] = _client(client)._archived("ask_again", work, progress, _refreshed)
        return answer

    @overload
    def verify(self) -> Verification: ...
    @overload
    def verify(
        self,
        client: Client,
        type: str,
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Refreshed: ...
    @overload
    def verify(
        self,
        client: AsyncClient,
        type: str,
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Later[Refreshed]: ...
    def verify(
        self,
        client: Client | AsyncClient | None = None,
        type: str | None = None,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        progress: "Progress" = False,
        **arguments: Any,
    ) -> Verification | Refreshed | Later[Refreshed]:
        """Compares every file with its checksum; with a client and a query, asks the kept windows again instead.

        Changes nothing: a sync mends files, :meth:`refresh` takes over revised history.

        Returns:
            Without a client a :class:`Verification`; with one, what the service tells otherwise than it did.

        Raises:
            ArchiveError: The folder cannot be read.
        """
        if client is None:
            found = self._engine.survey()
            problems = Records([FileProblem(*problem) for problem in found["problems"]])
            return Verification(found["files"], found["bytes"], problems)
        if type is None:
            raise InvalidRequest("type: say what to ask again, such as verify(client, 'candles', …)")
        query = build_query(type, exchange, symbol, interval, **arguments)
        work = (query, self._engine, False)
        answer: Refreshed | Later[Refreshed] = _client(client)._archived("ask_again", work, progress, _refreshed)
        return answer

    def contents(self) -> Records[Archived]:
        """The windows that are kept, by query.

        Raises:
            DamagedFileError: A ledger is not what was written.
        """
        return Records([window for entry in self._engine.contents() for window in _windows(entry)])

    def __repr__(self) -> str:
        return f"<Archive {self._path}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._path,)


def _client(client: object) -> Client | AsyncClient:
    if isinstance(client, (Client, AsyncClient)):
        return client
    raise InvalidRequest(f"client: {client!r} is neither a Client nor an AsyncClient")


def _spans(windows: Sequence[tuple[int, int]]) -> Windows:
    """Windows in order, those that touch as one."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(windows):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return tuple(spans)


def _done(about: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: about[name] for name in ("requests", "weight", "rows")}
    return plain | {"windows": _spans(about["windows"]), "mended": tuple(about["mended"])}


def _synced(about: Mapping[str, Any]) -> Synced:
    return Synced(**_done(about))


def _refreshed(about: Mapping[str, Any]) -> Refreshed:
    known = {one.name for one in fields(SeriesId)}
    revisions = [
        Revision(
            SeriesId(**{name: value for name, value in one.items() if name in known}),
            *(one[name] for name in ("time", "column", "before", "after")),
        )
        for one in about["revisions"]
    ]
    return Refreshed(**_done(about), revisions=Records(revisions))


def _windows(entry: Mapping[str, Any]) -> list[Archived]:
    exchanges, plain, others = [], {}, []
    for name, value in entry["query"]:
        if name == "exchange":
            exchanges.append(value)
        elif name in ("type", "rawSymbol", "coin", "interval") and name not in plain:
            plain[name] = value
        else:
            others.append(f"{name}={value}")
    return [
        Archived(
            type=plain["type"],
            exchange="+".join(exchanges) or None,
            symbol=plain.get("rawSymbol"),
            coin=plain.get("coin"),
            interval=plain["interval"],
            parameters=" ".join(others),
            start=start,
            end=end,
            buckets=(end - start) // entry["interval_seconds"],
            key=entry["key"],
        )
        for start, end in entry["windows"]
    ]
