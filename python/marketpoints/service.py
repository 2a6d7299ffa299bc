"""The local service: the whole road offline, from a demo market or from one's own dumps."""

import os
from typing import Any

from . import _engine
from .arguments import between
from .client import AsyncClient, Client
from .errors import InvalidRequest
from .times import Time, iso, to_unix

__all__ = ["LocalService"]


class LocalService:
    """A market-data service of one's own on this machine; it answers from the moment it is made.

    A context manager: leaving it stops the service.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        now: Time | None = None,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        seed: int = 0,
    ) -> None:
        """Starts the service.

        Args:
            data: Folder of a store that :func:`~marketpoints.ingest` wrote; None is the demo market.
            now: What time it is for the service; its clock runs on from there. None is the wall clock.
            port: Port to listen on; 0 takes a free one.
            host: Address to listen on. The default answers this machine only.
            seed: Seed of the demo market: equal seeds give equal markets.

        Raises:
            InvalidRequest: The folder is no store, or an argument cannot be right.
            Error: The service could not start, such as when the port is taken.
        """
        folder = None if data is None else os.fspath(data)
        port, seed = between(port, "port", 0, 65_535), between(seed, "seed", 0, 2**64 - 1)
        self._service = _engine.LocalService(folder, now=to_unix(now, "now"), host=host, port=port, seed=seed)
        self._data = folder
        # The port is another one each time, the data are not: what an archive knows the service by.
        self._source = f"local demo, seed {seed}" if folder is None else f"local store {os.path.realpath(folder)}"
        self._stopped = False

    @property
    def url(self) -> str:
        """Base address, such as ``http://127.0.0.1:43211``."""
        return self._service.url

    @property
    def keys(self) -> dict[str, str]:
        """One key a tier by its name, and ``unlimited``: no budget, no history wall."""
        return self._service.keys

    def now(self) -> float:
        """The service's clock in Unix seconds."""
        return self._service.now()

    def advance(self, seconds: float) -> None:
        """Moves the service's clock forward; budgets refill accordingly.

        Raises:
            InvalidRequest: ``seconds`` is negative or no number.
        """
        self._service.advance(seconds)

    def client(self, tier: str = "advanced", **settings: Any) -> Client:
        """A client with this service's address and clock and the tier's key.

        Args:
            tier: ``free``, ``basic``, ``standard``, ``advanced`` or ``unlimited``.
            settings: Further settings of :class:`~marketpoints.Client`.

        Raises:
            InvalidRequest: There is no such tier, or a setting cannot be right.
        """
        return Client(**{**self._settings(tier), **settings})

    def async_client(self, tier: str = "advanced", **settings: Any) -> AsyncClient:
        """As :meth:`client`, for asyncio."""
        return AsyncClient(**{**self._settings(tier), **settings})

    def _settings(self, tier: str) -> dict[str, Any]:
        keys = self.keys
        if tier not in keys:
            raise InvalidRequest(f"tier: {tier!r} is not one of {', '.join(sorted(keys))}")
        # The unlimited key has no row in the tier table: its client learns from the answers that there is no limit.
        known = None if tier == "unlimited" else tier
        return {
            "api_key": keys[tier],
            "base_url": self.url,
            "tier": known,
            "clock": self.now,
            "archive_source": self._source,
        }

    def stop(self) -> None:
        """Stops it; open requests get a moment to finish. A second call does nothing."""
        self._stopped = True
        self._service.stop()

    def __enter__(self) -> "LocalService":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        source = f"store {self._data}" if self._data is not None else "demo market"
        state = "stopped" if self._stopped else f"{iso(self.now())} UTC"
        return f"<LocalService {self.url}, {source}, {state}>"
