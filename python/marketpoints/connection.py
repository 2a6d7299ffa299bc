"""What every client is: settings, the engine of this process, and one way to ask it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _engine
from .arguments import between, folder, text
from .clock import clock_of_environment
from .errors import Error, InvalidRequest
from .progress import Progress
from .records import Budget, numbers

if TYPE_CHECKING:
    from .archive import Archive

__all__ = ["KEY", "TIER", "URL", "Connection"]

KEY, URL, TIER = "MARKETPOINTS_API_KEY", "MARKETPOINTS_BASE_URL", "MARKETPOINTS_TIER"
# Engines of a parent process. A forked child must not end them: their threads and sockets are the parent's.
_inherited: list[_engine.Client] = []


def _known_tier(name: str | None) -> str | None:
    """The tier whose budget is kept to; the local service's ``unlimited`` has none, so its client learns that."""
    return None if name in ("", "unlimited") else name


class Connection(ABC):
    """Settings and the engine behind them. How a call is waited for is the clients' own."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        tier: str | None = None,
        timeout: float = 30.0,
        retries: int = 5,
        max_wait: float | None = None,
        proxy: str | None = None,
        ca_certs: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] | None = None,
        archive: "Archive | str | os.PathLike[str] | None" = None,
        archive_source: str | None = None,
    ) -> None:
        """Settings come from the arguments, then from the environment.

        Args:
            api_key: The key; None takes the environment's ``MARKETPOINTS_API_KEY``.
            base_url: The service's address; None takes ``MARKETPOINTS_BASE_URL``.
            tier: ``free``, ``basic``, ``standard`` or ``advanced``; None takes ``MARKETPOINTS_TIER``; without
                that the budget is learnt from the answers' headers and ``usage``.
            timeout: Seconds that one attempt may take.
            retries: Further attempts after the first, where a retry can help.
            max_wait: Most seconds that a call may wait for budget; None waits as long as it takes.
            proxy: Address of a proxy; None takes the environment's.
            ca_certs: PEM file of certificate authorities to trust besides the system's.
            clock: Tells Unix seconds, for data of another time than now; None takes the machine's clock plus the
                seconds in ``MARKETPOINTS_CLOCK_OFFSET``, which ``marketpoints serve --now`` prints.
            archive: An :class:`~marketpoints.Archive`, or its folder, to read through: closed buckets that it holds
                are not asked again, and those it lacks are kept in it.
            archive_source: Name under which an archive knows the service; None is its address. One name for
                several addresses of one service lets them share an archive.

        Raises:
            InvalidRequest: A setting is missing or cannot be right.
        """
        key = text(api_key, "api_key") or os.environ.get(KEY)
        url = text(base_url, "base_url") or os.environ.get(URL)
        if not key:
            raise InvalidRequest(f"no API key: give api_key= or set {KEY}")
        if not url:
            raise InvalidRequest(f"no address: give base_url= or set {URL}")
        self._settings: Mapping[str, Any] = {
            "base_url": url,
            "tier": _known_tier(text(tier, "tier") or os.environ.get(TIER)),
            "timeout": timeout,
            "retries": between(retries, "retries", 0, 1_000),
            "max_wait": max_wait,
            "proxy": proxy,
            "ca_certs": None if ca_certs is None else os.fspath(ca_certs),
            "clock": clock,
            "archive": None if archive is None else folder(archive),
            "archive_source": text(archive_source, "archive_source"),
        }

        # A closure, so that the key stands in no attribute that a repr, a debugger's list or a pickle shows.
        def connect() -> _engine.Client:
            kept = self._settings["archive"]
            settings = {
                "clock": clock or clock_of_environment(),
                "archive": None if kept is None else _engine.Archive(kept),
            }
            return _engine.Client(key, **{**self._settings, **settings})

        def key_is_in_environment() -> bool:
            return os.environ.get(KEY) == key

        self._connect = connect
        self._key_is_in_environment = key_is_in_environment
        self._connected: _engine.Client | None = connect()
        self._pid = os.getpid()

    @property
    def _live(self) -> _engine.Client:
        """The engine's client of this process."""
        if self._connected is None:
            raise Error("this client is closed; make a new one")
        if self._pid != os.getpid():
            _inherited.append(self._connected)
            self._connected, self._pid = self._connect(), os.getpid()
        return self._connected

    @property
    def base_url(self) -> str:
        """The service's address."""
        return str(self._settings["base_url"])

    @property
    def tier(self) -> str | None:
        """The tier as set; None where the client learns its budget."""
        tier: str | None = self._settings["tier"]
        return tier

    @property
    def budget(self) -> Budget | None:
        """The budget as the client's own bucket sees it (section 8); None until an answer told it."""
        view = self._live.budget
        return None if view is None else numbers(view, Budget)

    def __repr__(self) -> str:
        state = "" if self._connected is not None else ", closed"
        return f"<{type(self).__name__} {self.base_url}, tier {self.tier or 'unknown'}{state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._settings["clock"] is not None:
            raise TypeError("a client with a clock of its own cannot be pickled; make one in the other process")
        if not self._key_is_in_environment():
            raise TypeError(f"a pickle never carries the key: set {KEY} to it here and in the other process")
        return _unpickle, (type(self), dict(self._settings))

    @abstractmethod
    def _points(self, query: _engine.Query, progress: Progress) -> Any:
        """Fetches points as a :class:`~marketpoints.SeriesSet`: at once, or when awaited."""

    @abstractmethod
    def _ask(self, call: str, arguments: Mapping[str, Any], read: Callable[[Any], Any]) -> Any:
        """What ``read`` makes of the answer of the engine's method ``call``: at once, or when awaited."""

    @abstractmethod
    def _archived(self, call: str, arguments: Sequence[Any], progress: Progress, read: Callable[[Any], Any]) -> Any:
        """What ``read`` makes of the engine's work on an archive: at once, or when awaited."""

    def _close(self) -> None:
        if self._connected is None:
            return
        if self._pid == os.getpid():
            self._connected.close()
        else:
            _inherited.append(self._connected)
        self._connected = None


def _unpickle(kind: type[Connection], settings: dict[str, Any]) -> Connection:
    return kind(**settings)
