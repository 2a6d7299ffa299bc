"""``stream()``, once for both clients."""

import os
from abc import abstractmethod
from typing import Any, Generic, TypeVar

from .. import _engine
from ..common.arguments import between, flag, new_path, seconds, text
from ..common.secrets import redacted
from ..errors import InvalidRequest
from ..stream.channels import Channels, parts_of
from .base import Connection

__all__ = ["StreamMethods"]

StreamAnswer = TypeVar("StreamAnswer", covariant=True)


class StreamMethods(Connection, Generic[StreamAnswer]):
    """The method that opens a stream."""

    def stream(
        self,
        channels: Channels,
        *,
        queue: int = 10_000,
        overflow: str = "wait",
        backoff: tuple[float, float] = (2.0, 60.0),
        reconnects: int | None = None,
        ping_after: float = 20.0,
        record: str | os.PathLike[str] | None = None,
        batches: bool = False,
    ) -> StreamAnswer:
        """Events of these channels as they come (service.md 6; supplement, section 7). Nothing is sent yet.

        The stream of an :class:`AsyncClient` is for ``async for`` and ``async with``. A connection that breaks is made
        again: authenticated and subscribed anew; events that came already are not delivered twice, and a
        :class:`~marketpoints.StreamGap` says what may be missing.

        Args:
            channels: A :class:`~marketpoints.Channel`, a mapping of its fields, or several of these.
            queue: Most events that wait to be taken; fewer where they take more than about 256 MiB together.
            overflow: What happens when so many wait: ``"wait"`` reads no further until some were taken, ``"drop"``
                drops the oldest and counts them in ``dropped``.
            backoff: First and longest pause in seconds before a connection is made again; each doubles the one before,
                and up to half of it is left to chance.
            reconnects: Most attempts in a row to connect again; None is without end.
            ping_after: Seconds of silence after which the service is asked for a sign of life; after as much again the
                connection is made anew.
            record: Folder in which events are kept before they are handed out, as days of raw dumps that
                :func:`~marketpoints.ingest` reads; None keeps none. Of trades, liquidations, books, funding rates and
                open interest alone, of which the service makes everything else.
            batches: Whether trades and liquidations come as :class:`~marketpoints.TradeBatch`, arrays of as many as are
                there, which takes a small part of the time of single events; everything else comes as it is.

        Raises:
            InvalidRequest: A channel or a setting is not valid, or a channel cannot be recorded; found before anything
                is sent.
        """
        parts = parts_of(channels)
        engine = self._live.stream(
            parts,
            queue=between(queue, "queue", 1, 2**31),
            overflow=text(overflow, "overflow") or "",
            backoff=_pauses(backoff),
            reconnects=None if reconnects is None else between(reconnects, "reconnects", 0, 2**31),
            ping_after=seconds(ping_after, "ping_after"),
            record=None if record is None else new_path(record, "record", "folder"),
            batches=flag(batches, "batches"),
        )
        return self._opened(engine, len(parts), batches)

    @abstractmethod
    def _opened(self, engine: _engine.EventStream, channels: int, batches: bool) -> StreamAnswer:
        """The engine's stream of so many channels, to be iterated over."""


def _pauses(backoff: Any) -> tuple[float, float]:
    try:
        first, longest = backoff
    except (TypeError, ValueError):
        raise InvalidRequest(f"backoff: {redacted(backoff)} is not two numbers of seconds, such as (2, 60)") from None
    return seconds(first, "backoff"), seconds(longest, "backoff")
