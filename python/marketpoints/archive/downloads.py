"""Downloads into an archive: missing windows and changed values, of one query or many."""

from typing import TYPE_CHECKING, Any, Literal, overload

from ..client.base import settled
from ..client.clients import AsyncAnswer, AsyncClient, Client
from ..common.arguments import flag, weight_bound
from ..common.queries import QueryArguments, build_query
from ..common.secrets import redacted
from ..errors import InvalidRequest, NotArchivedError
from ..records.archive import Refreshed, Synced, Verification, refreshed, synced
from ..records.universe import UniversePlan, UniverseReport
from ..universes.planning import planned_async, planned_blocking
from ..universes.running import check_weight, run_async, run_blocking
from ..universes.universe import Universe, universe_of
from .inventory import Inventory

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Unpack

    from .. import _engine
    from ..common.arguments import Names
    from ..common.progress import Progress
    from ..common.times import Interval

    UniverseLike = Universe | Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | os.PathLike[str]

__all__ = ["Downloads"]


class Downloads(Inventory):
    """The methods of an archive that download."""

    @overload
    def sync(
        self,
        client: Client,
        type: str,
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> Synced: ...
    @overload
    def sync(
        self,
        client: AsyncClient,
        type: str,
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> AsyncAnswer[Synced]: ...
    def sync(
        self,
        client: Client | AsyncClient,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> Synced | AsyncAnswer[Synced]:
        """Downloads the missing closed buckets of a window; awaited with an async client.

        Each answer is archived at once: after any interruption the next sync pays only for the rest.

        Args:
            client: Asks the service.
            type: Data type by its wire name, or a series method's name.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several: the report then has one for each in ``each``.
            interval: Short name or wire name.
            progress: As of :meth:`Client.points`.
            arguments: As of :meth:`Client.points`, ``max_weight`` included: what is left to pay may not weigh more.

        Raises:
            ArchiveError: The folder or the store cannot be written, or holds another service's data.
            PartialError: Some requests failed; what arrived is kept. Of several symbols, ``results`` is the report of
                those that did not fail.
        """
        asks = _client(client, "sync")
        work = settled(lambda: (build_query("sync", type, exchange, symbol, interval, arguments), self._engine))
        answer: Synced | AsyncAnswer[Synced] = asks._archived("sync", work, progress, synced)
        return answer

    @overload
    def sync_all(
        self,
        client: Client,
        universe: "UniverseLike",
        *,
        dry_run: Literal[False] = False,
        max_weight: int | None = None,
        progress: "Progress" = False,
    ) -> UniverseReport: ...
    @overload
    def sync_all(
        self,
        client: Client,
        universe: "UniverseLike",
        *,
        dry_run: Literal[True],
        max_weight: int | None = None,
        progress: "Progress" = False,
    ) -> UniversePlan: ...
    @overload
    def sync_all(
        self,
        client: AsyncClient,
        universe: "UniverseLike",
        *,
        dry_run: Literal[False] = False,
        max_weight: int | None = None,
        progress: "Progress" = False,
    ) -> AsyncAnswer[UniverseReport]: ...
    @overload
    def sync_all(
        self,
        client: AsyncClient,
        universe: "UniverseLike",
        *,
        dry_run: Literal[True],
        max_weight: int | None = None,
        progress: "Progress" = False,
    ) -> AsyncAnswer[UniversePlan]: ...
    def sync_all(
        self,
        client: Client | AsyncClient,
        universe: "UniverseLike",
        *,
        dry_run: bool = False,
        max_weight: int | None = None,
        progress: "Progress" = False,
    ) -> UniverseReport | UniversePlan | AsyncAnswer[UniverseReport] | AsyncAnswer[UniversePlan]:
        """Downloads the missing buckets of many series, as one plan and one run; awaited with an async client.

        Series take turns by the weight that they were given, the oldest buckets of each first, so that none waits for
        another to end. What has arrived is kept at once: after an interruption of any kind the next start pays only for
        the rest, and a start every day for the new day.

        Args:
            client: Asks the service.
            universe: A :class:`~marketpoints.Universe`, its mappings, or the path of its TOML file.
            dry_run: Makes the plan alone, as :meth:`plan_all`.
            max_weight: Most weight that the plan may have; more raises before anything is paid.
            progress: True shows a bar with weight, requests, rows, the wait for budget, the seconds left and what is
                under way; a function is called with (requests done, requests) after each answer.

        Returns:
            The outcome of each series. A failure of one neither ends the others nor raises: the report is
            false where anything was refused or failed.

        Raises:
            InvalidRequest: The universe is not valid, no market passes its filters, or it weighs too much.
            AuthenticationError: The service does not know the key, found before anything is paid. Where the key ends in
                the middle of a run, the series that are left are ``failed``.
            ArchiveError: The archive holds another service's data.
        """
        asks, is_dry = _client(client, "sync_all"), flag(dry_run, "dry_run")
        if isinstance(asks, AsyncClient):
            asked = settled(lambda: (universe_of(universe), weight_bound(max_weight)))
            return self._plan_all_later(asks, asked) if is_dry else self._sync_all_later(asks, asked, progress)
        wanted, most = universe_of(universe), weight_bound(max_weight)
        planned = planned_blocking(asks, wanted, self._engine)
        if is_dry:
            return planned
        check_weight(planned, most)
        return run_blocking(asks, planned, self._engine, progress)

    async def _sync_all_later(
        self, client: AsyncClient, asked: "Callable[[], tuple[Universe, int | None]]", progress: "Progress"
    ) -> UniverseReport:
        wanted, most = asked()
        planned = await planned_async(client, wanted, self._engine)
        check_weight(planned, most)
        return await run_async(client, planned, self._engine, progress)

    @overload
    def plan_all(self, client: Client, universe: "UniverseLike") -> UniversePlan: ...
    @overload
    def plan_all(self, client: AsyncClient, universe: "UniverseLike") -> AsyncAnswer[UniversePlan]: ...
    @overload
    def plan_all(
        self, client: Client | AsyncClient, universe: "UniverseLike"
    ) -> UniversePlan | AsyncAnswer[UniversePlan]: ...
    def plan_all(
        self, client: Client | AsyncClient, universe: "UniverseLike"
    ) -> UniversePlan | AsyncAnswer[UniversePlan]:
        """The requests and the weight of :meth:`sync_all`, by series and by tier; awaited with an async client.

        Pays nothing. Where the universe has filters of markets, symbols are to be checked, or the budget is not known,
        it asks the service for these (weight 0).

        Args:
            client: Whose tier, clock and service the plan is for.
            universe: As for :meth:`sync_all`.

        Raises:
            InvalidRequest: The universe is not valid, or no market passes its filters.
            ArchiveError: The archive holds another service's data.
        """
        asks = _client(client, "plan_all")
        if isinstance(asks, AsyncClient):
            return self._plan_all_later(asks, settled(lambda: (universe_of(universe), None)))
        return planned_blocking(asks, universe_of(universe), self._engine)

    async def _plan_all_later(
        self, client: AsyncClient, asked: "Callable[[], tuple[Universe, int | None]]"
    ) -> UniversePlan:
        return await planned_async(client, asked()[0], self._engine)

    @overload
    def refresh(
        self,
        client: Client,
        type: str,
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> Refreshed: ...
    @overload
    def refresh(
        self,
        client: AsyncClient,
        type: str,
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> AsyncAnswer[Refreshed]: ...
    def refresh(
        self,
        client: Client | AsyncClient,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> Refreshed | AsyncAnswer[Refreshed]:
        """Downloads a window again, archives the new values, and returns what changed. Arguments as :meth:`sync`.

        Raises:
            ArchiveError: The folder or the store cannot be written, or holds another service's data.
            PartialError: Some requests failed; what arrived is kept.
        """
        asks = _client(client, "refresh")
        work = settled(
            lambda: (build_query("refresh", type, exchange, symbol, interval, arguments), self._engine, True)
        )
        answer: Refreshed | AsyncAnswer[Refreshed] = asks._archived("ask_again", work, progress, refreshed)
        return answer

    @overload
    def verify(self, *, consistent: bool = False) -> Verification: ...
    @overload
    def verify(
        self,
        client: Client,
        type: str,
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> Refreshed: ...
    @overload
    def verify(
        self,
        client: AsyncClient,
        type: str,
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> AsyncAnswer[Refreshed]: ...
    def verify(
        self,
        client: Client | AsyncClient | None = None,
        type: str | None = None,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        consistent: bool = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> Verification | Refreshed | AsyncAnswer[Refreshed]:
        """Compares every file with its checksum; with a client and a query, downloads archived windows again.

        Changes nothing: a sync mends files, :meth:`refresh` takes over revised history.

        Args:
            client: Asks the service.
            type: Data type by its wire name, or a series method's name.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several.
            interval: Short name or wire name.
            progress: As of :meth:`Client.points`.
            consistent: Without a client, also compares each bucket with what the finer buckets make that are kept of
                the same query: hours with their minutes, days with their hours. Of candles, open interest and funding
                rates the first, last, least and most value are the same, sums of volumes and liquidations to 1e-9 of
                their size. Sums and means over exchanges (``group_by``), filled gaps and other types are left out.
            arguments: As of :meth:`Client.points`.

        Returns:
            Without a client a :class:`Verification`; with one, what the service has changed since.

        Raises:
            ArchiveError: The folder or the store cannot be read.
            DamagedFileError: With a client: a file is not what was written. Nothing was asked; a sync mends it.
            NotArchivedError: There is no archive at the path, or with a client: nothing is kept of the query.
        """
        if client is None:
            return self._verified(flag(consistent, "consistent"))
        if consistent:
            raise InvalidRequest("consistent: what is kept is compared with itself: leave the client out")
        asks = _client(client, "verify")
        work = settled(lambda: (self._kept_query(type, exchange, symbol, interval, arguments), self._engine, False))
        answer: Refreshed | AsyncAnswer[Refreshed] = asks._archived("ask_again", work, progress, refreshed)
        return answer

    def _kept_query(
        self,
        type: str | None,  # noqa: A002 - the wire's own name
        exchange: "Names",
        symbol: "Names",
        interval: "Interval | None",
        arguments: QueryArguments,
    ) -> "_engine.Query":
        """The query of a verification, which starts with the first archived bucket unless the arguments say when."""
        if type is None:
            raise InvalidRequest("type: say what to ask again, such as verify(client, 'candles', …)")
        if arguments.get("start") is None and arguments.get("period") is None:
            kept = build_query("verify", type, exchange, symbol, interval, arguments, open_window=True)
            starts = self._engine.first_kept(kept)
            if starts is None:
                raise NotArchivedError(
                    f"{self._engine.path}: nothing is kept of this query: there is nothing to verify"
                )
            arguments = arguments | {"start": starts}
        return build_query("verify", type, exchange, symbol, interval, arguments)


def _client(client: object, call: str) -> Client | AsyncClient:
    if isinstance(client, (Client, AsyncClient)):
        return client
    first = f"the client that asks comes first: archive.{call}(client, …)"
    raise InvalidRequest(f"client: {redacted(client)} is neither a Client nor an AsyncClient; {first}")
