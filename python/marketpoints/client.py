"""The clients: one waits, the other is awaited. What they can do stands in the ``*_methods`` modules, once for both."""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from . import _engine
from .analytics_methods import AnalyticsMethods
from .analytics_records import MarketSummary, TraderProfile, UserCategories, UserPosition
from .discovery_methods import DiscoveryMethods
from .errors import ArchiveError, PartialError
from .market_records import Market
from .progress import Progress, reporting
from .records import Records, Usage
from .series_methods import SeriesMethods
from .sets import SeriesSet, wrap

__all__ = ["AsyncClient", "Client"]

Answer = TypeVar("Answer", covariant=True)
Later: TypeAlias = Coroutine[Any, Any, Answer]


class Client(
    SeriesMethods[SeriesSet],
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

    def _points(self, query: _engine.Query, progress: Progress) -> SeriesSet:
        with _wrapping_partial_results(), reporting(progress) as report:
            return wrap(self._live.points(query, report))

    def _ask(self, call: str, arguments: Mapping[str, Any], read: Callable[[Any], Any]) -> Any:
        return read(getattr(self._live, call)(**arguments))

    def _archived(self, call: str, arguments: Sequence[Any], progress: Progress, read: Callable[[Any], Any]) -> Any:
        with reporting(progress) as report:
            return read(getattr(self._live, call)(*arguments, progress=report))

    def close(self) -> None:
        """Closes the connections; later calls raise."""
        self._close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(
    SeriesMethods[Later[SeriesSet]],
    DiscoveryMethods[Later[Records[Market]], Later[list[str]], Later[list[float]], Later[Usage]],
    AnalyticsMethods[
        Later[Records[TraderProfile]],
        Later[TraderProfile | None],
        Later[Records[UserPosition]],
        Later[MarketSummary | None],
        Later[UserCategories | None],
    ],
):
    """The client for asyncio: the same methods and arguments as :class:`Client`, awaited.

    Cancelling a call ends its request. An asynchronous context manager: leaving it closes the connections. Arguments
    are checked when a method is called, before anything is awaited.
    """

    async def _points(self, query: _engine.Query, progress: Progress) -> SeriesSet:
        with _wrapping_partial_results(), reporting(progress) as report:
            return wrap(await self._live.points_async(query, report))

    async def _ask(self, call: str, arguments: Mapping[str, Any], read: Callable[[Any], Any]) -> Any:
        return read(await getattr(self._live, f"{call}_async")(**arguments))

    async def _archived(
        self, call: str, arguments: Sequence[Any], progress: Progress, read: Callable[[Any], Any]
    ) -> Any:
        with reporting(progress) as report:
            return read(await getattr(self._live, f"{call}_async")(*arguments, progress=report))

    async def close(self) -> None:
        """Closes the connections; later calls raise."""
        self._close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@contextmanager
def _wrapping_partial_results() -> Iterator[None]:
    """The engine leaves its own columns in an error; users get a set of series."""
    try:
        yield
    except (PartialError, ArchiveError) as error:
        error.results = wrap(error.results or [])
        raise
