"""The clients: one waits, the other is awaited. What they can do stands in :class:`~marketpoints.methods.Methods`."""

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from . import _engine
from .errors import PartialError
from .methods import Methods
from .progress import Progress, reporting
from .records import Market, Records, Usage, numbers
from .series import SeriesSet, wrap

__all__ = ["AsyncClient", "Client"]

Answer = TypeVar("Answer", covariant=True)
Later: TypeAlias = Coroutine[Any, Any, Answer]


class Client(Methods[SeriesSet, Records[Market], Usage]):
    """The blocking client. It works inside a running event loop too, and Ctrl-C interrupts it.

    A context manager: leaving it closes the connections.
    """

    def _points(self, query: _engine.Query, progress: Progress) -> SeriesSet:
        with _wrapping_partial_results(), reporting(progress) as report:
            return wrap(self._live.points(query, report))

    def _markets(self, filters: Mapping[str, Any]) -> Records[Market]:
        return _records(self._live.markets(**filters))

    def usage(self) -> Usage:
        """As :meth:`Methods.usage`."""
        return numbers(self._live.usage(), Usage)

    def close(self) -> None:
        """Closes the connections; later calls raise."""
        self._close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Methods[Later[SeriesSet], Later[Records[Market]], Later[Usage]]):
    """The client for asyncio: the same methods and arguments as :class:`Client`, awaited.

    Cancelling a call ends its request. An asynchronous context manager: leaving it closes the connections. Arguments
    are checked when a method is called, before anything is awaited.
    """

    async def _points(self, query: _engine.Query, progress: Progress) -> SeriesSet:
        with _wrapping_partial_results(), reporting(progress) as report:
            return wrap(await self._live.points_async(query, report))

    async def _markets(self, filters: Mapping[str, Any]) -> Records[Market]:
        return _records(await self._live.markets_async(**filters))

    async def usage(self) -> Usage:
        """As :meth:`Methods.usage`, awaited."""
        return numbers(await self._live.usage_async(), Usage)

    async def close(self) -> None:
        """Closes the connections; later calls raise."""
        self._close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _records(entries: Sequence[Mapping[str, Any]]) -> Records[Market]:
    return Records([Market.from_wire(entry) for entry in entries])


@contextmanager
def _wrapping_partial_results() -> Iterator[None]:
    """The engine leaves its own columns in a PartialError; users get a set of series."""
    try:
        yield
    except PartialError as error:
        error.results = wrap(error.results or [])
        raise
