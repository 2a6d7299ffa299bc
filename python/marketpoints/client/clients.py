"""The blocking and the async client. Their methods are in the other modules, once for both."""

import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from .. import _engine
from ..common.progress import Progress, ProgressCallback, reporting
from ..common.queries import PointsCall, build_query
from ..errors import ArchiveError, Error, PartialError
from ..identity import Provenance, ProvenanceParts
from ..records.analytics import MarketSummary, TraderProfile, UserCategories, UserPosition
from ..records.markets import Market
from ..records.plan import Usage
from ..records.tables import Records
from ..results.sets import SeriesSet, wrap
from ..stream.streams import AsyncStream, Stream
from .analytics import AnalyticsMethods
from .base import settled
from .discovery import DiscoveryMethods
from .series import SeriesMethods
from .streaming import StreamMethods

__all__ = ["AsyncClient", "Client"]

Answer = TypeVar("Answer", covariant=True)
AsyncAnswer: TypeAlias = Coroutine[Any, Any, Answer]


class Client(
    SeriesMethods[SeriesSet],
    StreamMethods[Stream],
    DiscoveryMethods[Records[Market], list[str], list[float], Usage],
    AnalyticsMethods[
        Records[TraderProfile],
        TraderProfile | None,
        Records[UserPosition],
        MarketSummary | None,
        UserCategories | None,
    ],
):
    """The blocking client. It works inside a running event loop too, and Ctrl-C interrupts it.

    A context manager: leaving it closes the connections.
    """

    def _points(self, asked: PointsCall, progress: Progress) -> SeriesSet:
        live = self._live
        if progress is False:  # most calls are plain, and what they take adds to the answer's time
            prepared = live.prepare(*asked, self.tier)
            if prepared is not None:
                query, parts, now = prepared
                return self._fetched(live, query, parts, now, None)
        query = build_query("points", *asked)
        live, parts, now = self._asking(query)
        known, words = live.listed(query)
        self._warn(words if known else live.look_up(query, now))
        with reporting(progress) as report:
            return self._fetched(live, query, parts, now, report)

    def _fetched(
        self,
        live: _engine.Client,
        query: _engine.Query,
        asked: ProvenanceParts,
        now: float,
        report: ProgressCallback | None,
    ) -> SeriesSet:
        try:
            fetched = live.points(query, report, now)
        except BaseException as error:
            _wrap_partial(error, asked)
            raise
        return self._explained(live, fetched, query, asked)

    def _ask(self, call: str, arguments: Callable[[], Mapping[str, Any]], read: Callable[[Any], Any]) -> Any:
        with _reading_partial_rows(read):
            return read(getattr(self._live, call)(**arguments()))

    def _archived(
        self, call: str, arguments: Callable[[], Sequence[Any]], progress: Progress, read: Callable[[Any], Any]
    ) -> Any:
        checked, live = arguments(), self._live
        if call == "sync":
            query, archive = checked
            known, words = live.listed(query)
            self._warn(words if known else live.look_up(query, live.now(), archive))
        with _reading_partial_reports(read), reporting(progress) as report:
            return read(getattr(live, call)(*checked, progress=report))

    def _opened(self, engine: _engine.EventStream, channels: int, batches: bool) -> Stream:
        return Stream(engine, channels, batches)

    def _as_of(self, moment: float) -> "Client":
        """This client with its clock stopped at a moment in Unix seconds."""
        twin = Client.__new__(Client)
        twin.__dict__.update(self.__dict__)
        twin._settings = {**self._settings, "clock": lambda: moment}
        twin._connected, twin._pid = self._connect(lambda: moment), os.getpid()
        return twin

    def close(self) -> None:
        """Closes the connections; later calls raise."""
        self._close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(
    SeriesMethods[AsyncAnswer[SeriesSet]],
    StreamMethods[AsyncStream],
    DiscoveryMethods[
        AsyncAnswer[Records[Market]], AsyncAnswer[list[str]], AsyncAnswer[list[float]], AsyncAnswer[Usage]
    ],
    AnalyticsMethods[
        AsyncAnswer[Records[TraderProfile]],
        AsyncAnswer[TraderProfile | None],
        AsyncAnswer[Records[UserPosition]],
        AsyncAnswer[MarketSummary | None],
        AsyncAnswer[UserCategories | None],
    ],
):
    """The client for asyncio: the same methods and arguments as :class:`Client`, awaited.

    Cancelling a call ends its request. An asynchronous context manager: leaving it closes the connections. Whatever a
    call raises comes from what is awaited, its arguments' errors too, so that ``asyncio.gather(…,
    return_exceptions=True)`` has them all; only an unknown keyword is a ``TypeError`` at once.
    """

    def _points(self, asked: PointsCall, progress: Progress) -> AsyncAnswer[SeriesSet]:
        query = settled(lambda: build_query("points", *asked))
        return self._points_of(query, progress)

    async def _points_of(self, make_query: Callable[[], _engine.Query], progress: Progress) -> SeriesSet:
        query = make_query()
        live, asked, now = self._asking(query)
        known, words = live.listed(query)
        self._warn(words if known else await live.look_up_async(query, now))
        with reporting(progress) as report:
            answer = live.points_async(query, report, now)
            fetched = await _with_mended_error(answer, lambda error: _wrap_partial(error, asked))
            return self._explained(live, fetched, query, asked)

    async def _ask(self, call: str, arguments: Callable[[], Mapping[str, Any]], read: Callable[[Any], Any]) -> Any:
        with _reading_partial_rows(read):
            return read(await getattr(self._live, f"{call}_async")(**arguments()))

    async def _archived(
        self, call: str, arguments: Callable[[], Sequence[Any]], progress: Progress, read: Callable[[Any], Any]
    ) -> Any:
        checked, live = arguments(), self._live
        if call == "sync":
            query, archive = checked
            known, words = live.listed(query)
            self._warn(words if known else await live.look_up_async(query, live.now(), archive))
        with reporting(progress) as report:
            answer = getattr(live, f"{call}_async")(*checked, progress=report)
            return read(await _with_mended_error(answer, lambda error: _wrap_reports(error, read)))

    def _opened(self, engine: _engine.EventStream, channels: int, batches: bool) -> AsyncStream:
        return AsyncStream(engine, channels, batches)

    async def close(self) -> None:
        """Closes the connections; later calls raise."""
        self._close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _wrap_partial(error: BaseException, asked: ProvenanceParts) -> None:
    """Converts the engine's columns in an error to a set of series."""
    package_error = _package_error(error)
    if isinstance(package_error, (PartialError, ArchiveError)):
        package_error.results = wrap(package_error.results or [], asked)


def _package_error(error: BaseException) -> BaseException | None:
    """The package's own error; if `progress` raised, it is the cause of that exception."""
    return error if isinstance(error, Error) else error.__cause__


def _with_mended_error(promise: Any, mend: Callable[[BaseException], None]) -> Any:
    """The awaitable, whose error is converted before it is raised.

    Not by whoever awaits it: a ``GeneratorExit`` of `progress` closes every coroutine on its way and never comes to be
    seen in them.
    """

    def done(promise: Any) -> None:
        error = None if promise.cancelled() else promise.exception()
        if error is not None:
            mend(error)

    promise.add_done_callback(done)
    return promise


@contextmanager
def _reading_partial_rows(read: Callable[[Any], Any]) -> Iterator[None]:
    """Converts the rows of the paid analytics pages in an error."""
    try:
        yield
    except PartialError as error:
        error.results = read(error.results)
        raise


@contextmanager
def _reading_partial_reports(read: Callable[[Any], Any]) -> Iterator[None]:
    """Converts the reports, or the paid series that could not be archived, in an error of work on an archive."""
    try:
        yield
    except BaseException as error:
        _wrap_reports(error, read)
        raise


def _wrap_reports(raised: BaseException, read: Callable[[Any], Any]) -> None:
    error = _package_error(raised)
    if isinstance(error, PartialError):
        for failure in error.failures or ():
            _wrap_unkept(failure)
        if error.results:
            error.results = read(error.results)
    elif isinstance(error, ArchiveError):
        _wrap_unkept(error)


def _wrap_unkept(error: Exception) -> None:
    if isinstance(error, ArchiveError) and isinstance(error.results, list):
        error.results = wrap(error.results, Provenance(None))
