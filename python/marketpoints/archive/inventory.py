"""The content of an archive, now and before, read without a client."""

from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.logs import warn
from ..common.queries import QueryArguments, build_query
from ..common.times import to_unix
from ..common.warnings import ForeignFileWarning
from ..errors import InvalidRequest, NotArchivedError
from ..records.archive import (
    Archived,
    Compacted,
    FileProblem,
    Missing,
    Verification,
    Vintage,
    inconsistencies,
    missing,
    vintages,
    windows,
)
from ..records.tables import Records

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

    from ..common.arguments import Names
    from ..common.times import Interval, Time

__all__ = ["Inventory"]


class Inventory:
    """The methods of an archive about its content, now and before."""

    _engine: _engine.Archive

    def contents(self) -> Records[Archived]:
        """The archived windows, by query.

        Files among the ledgers that are not this archive's are left alone; a :class:`~marketpoints.ForeignFileWarning`
        names them.

        Raises:
            DamagedFileError: A ledger is not what was written.
        """
        kept, foreign = self._engine.contents()
        for path, problem in foreign:
            warn(f"{path}: {problem}", ForeignFileWarning)
        return Records([window for entry in kept for window in windows(entry)], Archived)

    def _verified(self, consistent: bool) -> Verification:
        """Compares every file with its checksum, and buckets with their finer ones."""
        found = self._engine.verify()
        problems = Records([FileProblem(*problem) for problem in found["problems"]], FileProblem)
        if not found["files"] and not problems and self._engine.source is None:
            raise NotArchivedError(f"{self._engine.path}: there is no archive here, so there is nothing to verify")
        compared, differ = self._engine.consistency() if consistent else (0, [])
        return Verification(
            found["files"],
            found["bytes"],
            problems,
            consistent=consistent,
            compared=compared,
            inconsistencies=inconsistencies(differ),
        )

    def missing(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        **arguments: "Unpack[QueryArguments]",
    ) -> Records[Missing]:
        """The windows that were never downloaded, query by query, each in order. Needs no network and no key.

        Buckets that have not closed yet count as missing: an archive knows no clock. Downloaded and empty ones do not.

        Args:
            type: Data type by its wire name, or a series method's name.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several.
            interval: Short name or wire name.
            arguments: As of :meth:`read`. An open start or end is the archive's: without ``start``, ``end`` and
                ``period`` these are the gaps within what is kept.

        Raises:
            InvalidRequest: An argument is not valid.
            NotArchivedError: Nothing is kept of a query, and the window is open.
        """
        query = build_query("missing", type, exchange, symbol, interval, arguments, open_window=True)
        return Records([one for entry in self._engine.missing(query) for one in missing(entry)], Missing)

    def first(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        **arguments: "Unpack[QueryArguments]",
    ) -> "np.datetime64 | None":
        """The time of the first archived row, ``datetime64[ns]`` in UTC; None where there is none.

        With several symbols, the first of all of them. :meth:`contents` shows since when buckets are archived, with
        rows or without.

        Args:
            type: Data type by its wire name, or a series method's name.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several.
            interval: Short name or wire name.
            arguments: As of :meth:`read`; with a window, the first row in it.

        Raises:
            InvalidRequest: An argument is not valid.
            DamagedFileError: The file that holds it is not what was written; so :class:`ForeignFileError` and
                :class:`NewerFormatError`.
        """
        query = build_query("first", type, exchange, symbol, interval, arguments, open_window=True)
        return self._engine.edge(query, False)

    def last(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        **arguments: "Unpack[QueryArguments]",
    ) -> "np.datetime64 | None":
        """The time of the last archived row, as :meth:`first`."""
        query = build_query("last", type, exchange, symbol, interval, arguments, open_window=True)
        return self._engine.edge(query, True)

    def vintages(
        self,
        type: str | None = None,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        **arguments: "Unpack[QueryArguments]",
    ) -> Records[Vintage]:
        """Archived values that changed since, in the order in which they were replaced, query by query.

        Only buckets that the service changed are vintages: changed, removed, or added. What
        was known at a moment is read by ``read(…, as_of=…)``: of a vintage, at its ``known_from``.

        Args:
            type: Data type by its wire name, or a series method's name; without one, all that is kept.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several.
            interval: Short name or wire name.
            arguments: As of :meth:`read`; with a window, the vintages that touch it.

        Raises:
            InvalidRequest: An argument is not valid.
            DamagedFileError: A file is not what was written; so :class:`ForeignFileError` and
                :class:`NewerFormatError`.
        """
        query = _query("vintages", type, exchange, symbol, interval, arguments)
        found = self._engine.vintages(query)
        return Records([one for entry in found for one in vintages(entry)], Vintage)

    def compact(
        self,
        type: str | None = None,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        before: "Time",
        **arguments: "Unpack[QueryArguments]",
    ) -> Compacted:
        """Drops vintages that were replaced at ``before`` or earlier; current data stay.

        Data as known at ``before`` and later can still be read. For a query of which a vintage was dropped,
        ``read(…, as_of=…)`` of an earlier moment raises. Waits for other writers.

        Args:
            type: Data type by its wire name, or a series method's name; without one, all that is kept.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several.
            interval: Short name or wire name.
            before: As a ``start`` of :meth:`Client.points`.
            arguments: As of :meth:`read`, without a window.

        Raises:
            InvalidRequest: An argument is not valid.
            ArchiveError: The folder or the store cannot be written.
        """
        moment = to_unix(before, "before")
        if moment is None:
            raise InvalidRequest("before: say until when what was replaced is dropped, such as before='2026-01-31'")
        for name in ("start", "end", "period"):
            if arguments.get(name) is not None:
                raise InvalidRequest(f"{name}: vintages go by when they were replaced: before= says until when")
        query = _query("compact", type, exchange, symbol, interval, arguments)
        return Compacted(*self._engine.compact(moment, query))


def _query(
    call: str,
    type: str | None,  # noqa: A002 - the wire's own name
    exchange: "Names",
    symbol: "Names",
    interval: "Interval | None",
    arguments: QueryArguments,
) -> _engine.Query | None:
    """The query, whose window may be open; None where nothing is named."""
    if type is not None:
        return build_query(call, type, exchange, symbol, interval, arguments, open_window=True)
    given: dict[str, Any] = {"exchange": exchange, "symbol": symbol, "interval": interval, **arguments}
    for name, value in given.items():
        if value is not None:
            raise InvalidRequest(f"{name}: say of which type: archive.{call}('candles', …); without any, it is of all")
    return None
