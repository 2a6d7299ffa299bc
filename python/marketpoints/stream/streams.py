"""The live stream: a blocking and an async iterator."""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from .. import _engine
from ..common.arguments import between, seconds
from ..common.display import safe_repr
from ..common.logs import warn
from ..common.warnings import UnknownSymbolWarning
from ..errors import Error
from .events import StreamEvent, event_of

__all__ = ["AsyncStream", "Stream"]

# Events taken from the engine at a time: enough that the crossing costs nothing, few enough to be held twice. Rows of
# batches are no objects.
SINGLE, ROWS = 256, 65_536


class _EventBuffer:
    """Events taken from the engine and not delivered yet."""

    def __init__(self, stream: _engine.EventStream, channels: int, batches: bool) -> None:
        self._stream = stream
        self._channels = channels
        self._at_once = ROWS if batches else SINGLE
        self._opened = False
        self._ended = False
        self._events: deque[Any] = deque()

    def _take(self) -> None:
        self._ended = self._stream.take(self._events, self._at_once)

    def _warn(self, words: str | None) -> None:
        """Warns of a channel that may stay silent, before it is opened: a program may turn warnings into errors."""
        if words is not None:
            warn(words, UnknownSymbolWarning)

    def _next(self) -> StreamEvent | None:
        """The next event of those taken; None when there are none.

        Raises:
            Error: What went wrong at this place of the stream.
        """
        taken: list[Any] = []
        try:
            return _event(taken[0]) if self._move(taken, 1) else None
        except Error:
            raise
        except BaseException:  # of a signal, such as Ctrl-C
            self._events.extendleft(taken)
            raise

    def _several(self, most: int) -> list[StreamEvent]:
        """The available events, at most so many; an error that comes first is raised, a later one left for later."""
        found: list[StreamEvent] = []
        taken: list[Any] = []
        try:
            while len(found) < most:
                if not self._events:
                    self._take()
                if not self._move(taken, most - len(found)):
                    break
                for message in taken[len(found) :]:
                    found.append(_event(message))
        except Error:
            # Left for later, with what came after it; the first one is raised.
            self._events.extendleft(reversed(taken[len(found) :] if found else taken[1:]))
            if not found:
                raise
        except BaseException:  # of a signal, such as Ctrl-C
            self._events.extendleft(reversed(taken))
            raise
        return found

    def _move(self, taken: list[Any], most: int) -> int:
        """Moves waiting messages, at most so many, to what was taken, and returns how many these are.

        In one call of the interpreter's own: no signal's handler and no other thread comes between.
        """
        before = len(taken)
        with suppress(IndexError):  # fewer wait
            taken.extend(islice(iter(self._events.popleft, None), most))
        return len(taken) - before

    @property
    def dropped(self) -> int:
        """Events that were dropped because too many waited (``overflow="drop"``)."""
        return self._stream.dropped

    @property
    def recorded(self) -> int:
        """Rows that were written so far (``record=``); a book is a row for each level that changed."""
        return self._stream.recorded[0]

    @property
    def unrecorded(self) -> int:
        """Events that could not be recorded: without a time, a price or a side, or of a type that is no raw data."""
        return self._stream.recorded[1]

    @property
    def reconnects(self) -> int:
        """How often a connection broke and was made again; each time there is a :class:`~marketpoints.StreamGap`."""
        return self._stream.reconnects

    @property
    def state(self) -> str:
        """The state of the stream.

        ``not open yet``, ``connecting``, ``open``, ``connecting again`` (a connection broke), or ``ended`` (nothing
        more will come but what waits to be taken).
        """
        return self._stream.state

    @safe_repr
    def __repr__(self) -> str:
        channels = f"{self._channels} channel{'' if self._channels == 1 else 's'}"
        return f"<{type(self).__name__} of {channels}, {self.state}>"


def _event(message: Any) -> StreamEvent:
    if isinstance(message, Exception):
        raise message
    return event_of(message)


class Stream(_EventBuffer, Iterator[StreamEvent]):
    """Events as they come; made by :meth:`Client.stream`.

    An iterator that waits for the next event, and a context manager: entering connects, leaving closes. A connection
    that broke and stands again comes as a :class:`~marketpoints.StreamGap` between the events before and after. An
    error of a single frame is raised at its place, and the stream goes on after it; a refusal of the service ends it.
    """

    def open(self) -> "Stream":
        """Connects, authenticates and subscribes; iterating does it too.

        Symbols are looked up in the service's lists first, as those of the other methods (``check_symbols=``): a
        channel of an unknown market would stay silent forever. Where a list is not sure, the market has no data of the
        channel's type, or is not of its category, an :class:`~marketpoints.UnknownSymbolWarning` is issued.

        Raises:
            AuthenticationError: The service does not know the key.
            TierError: The key's tier has no streams, or not so many (section 6).
            InvalidRequest: The service does not list a symbol, or refuses a channel.
            TransportError: The service cannot be reached; the first attempt is not repeated.
        """
        if not self._opened:
            self._warn(self._stream.look_up())
            self._stream.open()
            self._opened = True
        return self

    def __next__(self) -> StreamEvent:
        """Waits for the next event.

        Raises:
            StopIteration: The stream was closed.
            Error: What went wrong at this place of the stream.
        """
        self.open()
        while (event := self._next()) is None:
            if self._ended:
                raise StopIteration
            self._stream.ready()
            self._take()
        return event

    def poll(self, timeout: float = 0.0, most: int = 1_000) -> list[StreamEvent]:
        """The available events, at most ``most``, batches as one; waits up to ``timeout`` seconds for the first.

        Raises:
            InvalidRequest: ``timeout`` is no number of seconds, or ``most`` no whole number above 0.
            Error: What went wrong at this place of the stream.
        """
        wait, at_most = seconds(timeout, "timeout"), between(most, "most", 1, 2**32 - 1)
        self.open()
        if not self._events:
            self._stream.ready(wait)
        return self._several(at_most)

    def close(self) -> None:
        """Ends the connections and closes the recorded files. Events that have arrived can still be iterated over."""
        self._opened = True
        self._stream.close()

    def __enter__(self) -> "Stream":
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(_EventBuffer, AsyncIterator[StreamEvent]):
    """Like :class:`Stream`, for asyncio; made by the :meth:`~Client.stream` of an :class:`AsyncClient`.

    Cancelling a wait loses no event.
    """

    async def open(self) -> "AsyncStream":
        """Connects, authenticates and subscribes; iterating does it too. Raises as :meth:`Stream.open`."""
        if not self._opened:
            self._warn(await self._stream.look_up_async())
            await self._stream.open_async()
            self._opened = True
        return self

    async def __anext__(self) -> StreamEvent:
        """Waits for the next event.

        Raises:
            StopAsyncIteration: The stream was closed.
            Error: What went wrong at this place of the stream.
        """
        await self.open()
        while (event := self._next()) is None:
            if self._ended:
                raise StopAsyncIteration
            await self._stream.ready_async()
            self._take()
        return event

    async def poll(self, timeout: float = 0.0, most: int = 1_000) -> list[StreamEvent]:
        """The available events, at most ``most``, batches as one; waits up to ``timeout`` seconds for the first.

        Raises:
            InvalidRequest: ``timeout`` is no number of seconds, or ``most`` no whole number above 0.
            Error: What went wrong at this place of the stream.
        """
        wait, at_most = seconds(timeout, "timeout"), between(most, "most", 1, 2**32 - 1)
        await self.open()
        if not self._events:
            await self._stream.ready_async(wait)
        return self._several(at_most)

    async def close(self) -> None:
        """Ends the connections and closes the recorded files. Events that have arrived can still be iterated over."""
        self._opened = True
        files = self._stream.close_async()
        if files is not None:
            await files

    async def __aenter__(self) -> "AsyncStream":
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()
