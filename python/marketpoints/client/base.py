"""The base of both clients: settings, the engine of this process, and calls to it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NoReturn, TypeVar

from .. import _engine
from ..common.arguments import archive_engine, between, flag, folder, path_text, seconds, text
from ..common.clock import OffsetClock, clock_of_environment
from ..common.dialect import Dialect, address, dialect_of_environment, given_dialect
from ..common.display import card, safe_repr
from ..common.logs import note, warn
from ..common.progress import Progress
from ..common.protocols import ArchiveLike
from ..common.secrets import Hidden, hidden_text, hide_locals, of_type
from ..common.signatures import hinted_keywords
from ..common.warnings import UnknownSymbolWarning
from ..errors import Error, InvalidRequest
from ..identity import Provenance, ProvenanceParts
from ..printable import printable
from ..records.plan import Budget, left, numbers
from ..results.sets import SeriesSet, wrap
from .empty_answers import why_nothing

__all__ = ["BUDGET", "KEY", "TIER", "URL", "Connection", "EngineCaller", "settled"]

KEY, URL, TIER = "MARKETPOINTS_API_KEY", "MARKETPOINTS_BASE_URL", "MARKETPOINTS_TIER"
BUDGET = "MARKETPOINTS_BUDGET"
# Engines of a parent process. A forked child must not end them: their threads and sockets are the parent's.
_inherited: list[_engine.Client] = []

Made = TypeVar("Made")


def _known_tier(name: str | None) -> str | None:
    """The tier whose budget is kept to; the local service's ``unlimited`` has none, so its client learns that."""
    return None if name in ("", "unlimited") else name


def settled(make: Callable[[], Made]) -> Callable[[], Made]:
    """What ``make`` makes or refuses now, handed out when it is called.

    Arguments are read when a method is called, for lists and mappings may change before it is awaited; what is wrong
    with them comes to whoever awaits it.
    """
    try:
        made = make()
    except Error as error:
        refused = error

        def refuse() -> NoReturn:
            raise refused

        return refuse
    return lambda: made


class EngineCaller(ABC):
    """Calls the engine."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Methods by the name that users call: a TypeError of Python's own names no class that they do not know."""
        super().__init_subclass__(**options)
        for name, method in vars(cls).items():
            if isinstance(method, FunctionType) and not name.startswith("_"):
                method.__qualname__ = name

    @abstractmethod
    def _ask(self, call: str, arguments: Callable[[], Mapping[str, Any]], read: Callable[[Any], Any]) -> Any:
        """``read`` applied to the answer of the engine's method ``call``: at once, or when awaited.

        So comes what is wrong with the arguments, which are :func:`settled`.
        """


class Connection(EngineCaller):
    """Settings and the engine. Each client waits for calls in its own way."""

    #: Returns the end of a local service's data in Unix seconds, if they end.
    _data_end: Callable[[], float | None] | None = None

    @hide_locals
    @hinted_keywords
    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        tier: str | None = None,
        timeout: float = 30.0,
        read_timeout: float = 15.0,
        total_timeout: float | None = None,
        retries: int = 5,
        max_wait: float | None = None,
        max_body: int = 1024**3,
        max_memory: int | None = None,
        budget: str | None = None,
        proxy: str | None = None,
        ca_certs: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] | None = None,
        archive: ArchiveLike | str | os.PathLike[str] | None = None,
        archive_source: str | None = None,
        dialect: Dialect | str | os.PathLike[str] | None = None,
        check_symbols: bool = True,
        any_block_size: bool = False,
    ) -> None:
        """Settings come from the arguments, then from the environment.

        Args:
            api_key: The key; None takes the environment's ``MARKETPOINTS_API_KEY``.
            base_url: The service's address; None takes that of ``dialect``, then ``MARKETPOINTS_BASE_URL``.
            tier: ``free``, ``basic``, ``standard`` or ``advanced``; None takes ``MARKETPOINTS_TIER``; without
                that the budget is learnt from the answers' headers and ``usage``.
            timeout: Seconds that one attempt may take.
            read_timeout: Seconds that may pass within an answer's body without a byte.
            total_timeout: Seconds that a request may take over all its attempts, with pauses and waits for budget; None
                is bounded by ``timeout`` and ``retries`` alone.
            retries: Further attempts after the first, where a retry can help.
            max_wait: Most seconds that a request may wait for budget; None waits as long as it takes.
            max_body: Largest body in bytes, decompressed; a larger one ends in :class:`~marketpoints.ServerError`.
            max_memory: Most bytes that the arrays of one answer may take; more ends in
                :class:`~marketpoints.ServerError` as soon as it is seen. None is twice what was asked can need by
                estimate, and 64 MiB.
            budget: Who shares the key's budget: ``"process"``, ``"machine"`` (every process of this user, by a file in
                the cache folder), or the address of a Redis such as ``redis://host:6379/0`` (every machine that names
                it); None takes ``MARKETPOINTS_BUDGET``, else ``"machine"``.
            proxy: Address of an HTTP proxy, such as ``http://host:3128``; None takes the environment's, but none for a
                loopback address.
            ca_certs: PEM file of certificate authorities to trust besides the system's.
            clock: Returns Unix seconds, for data of another time than now; None takes the machine's clock plus the
                seconds in ``MARKETPOINTS_CLOCK_OFFSET`` (times ``MARKETPOINTS_CLOCK_SPEED``), which
                ``marketpoints serve --now`` prints.
            archive: An :class:`~marketpoints.Archive`, its folder, or the address of an object store's prefix, to read
                through: closed buckets that it holds are not asked again, and those it lacks are kept in it.
            archive_source: Name under which an archive knows the service; None is its address. One name for
                several addresses of one service lets them share an archive.
            dialect: The names that the service publishes instead of the specification's, a
                :class:`~marketpoints.Dialect` or the path of its TOML file; None takes the file that
                ``MARKETPOINTS_DIALECT`` names, and ``Dialect()`` is the specification's names whatever that says.
            check_symbols: Whether a symbol or coin is looked up in the service's listing (weight 0, asked once and
                kept) before it is paid for or a stream is opened: one that the service does not have is refused with
                the nearest, and where the listing is not sure an :class:`~marketpoints.UnknownSymbolWarning` is issued.
            any_block_size: Whether block sizes that are no multiple of the recommended one are asked all the same.
                Otherwise they are refused before they are paid for, with the nearest that fits (supplement 9), where
                the service recommends a size (weight 0, asked once for a market and kept).

        Raises:
            InvalidRequest: A setting is missing or is not valid.
        """
        # An address may hold a password.
        hidden = {
            "api_key": Hidden(api_key),
            "base_url": Hidden(base_url),
            "budget": Hidden(budget),
            "proxy": Hidden(proxy),
        }
        texts = {name: hidden_text(value, name) for name, value in hidden.items()}
        own = given_dialect(dialect)
        speaks = dialect_of_environment() if own is None else own
        key = Hidden(texts["api_key"].reveal() or os.environ.get(KEY))
        url = Hidden(texts["base_url"].reveal() or address(own) or os.environ.get(URL) or address(speaks))
        if not key.reveal():
            raise InvalidRequest(f"no API key: set {_engine.spelled_setting('api_key', KEY)}")
        if not url.reveal():
            raise InvalidRequest(f"no address: set {_engine.spelled_setting('base_url', URL)}, or name it in a dialect")
        addresses = {"base_url": url, "budget": texts["budget"], "proxy": texts["proxy"]}
        given: dict[str, Any] = {
            "tier": _known_tier(text(tier, "tier") or os.environ.get(TIER)),
            "timeout": seconds(timeout, "timeout"),
            "read_timeout": seconds(read_timeout, "read_timeout"),
            "total_timeout": None if total_timeout is None else seconds(total_timeout, "total_timeout"),
            "retries": between(retries, "retries", 0, 1_000),
            "max_wait": None if max_wait is None else seconds(max_wait, "max_wait"),
            "max_body": between(max_body, "max_body", 1, 2**63 - 1),
            "max_memory": None if max_memory is None else between(max_memory, "max_memory", 1, 2**63 - 1),
            "ca_certs": None if ca_certs is None else path_text(ca_certs, "ca_certs"),
            "clock": clock,
            "archive": archive if archive is None or isinstance(archive, ArchiveLike) else folder(archive),
            "archive_source": text(archive_source, "archive_source"),
            "dialect": speaks,
            "check_symbols": flag(check_symbols, "check_symbols"),
            "any_block_size": flag(any_block_size, "any_block_size"),
        }
        given_clock: object = clock  # whatever was passed
        if given_clock is not None and not callable(given_clock):
            raise InvalidRequest(f"clock: {of_type(given_clock)} is no function that returns Unix seconds")
        # Like the key, an address that may hold a password is in no attribute.
        secret = {name for name, place in addresses.items() if "@" in (place.reveal() or "")}
        plain = {name: None if name in secret else place.reveal() for name, place in addresses.items()}
        self._settings: Mapping[str, Any] = given | plain
        self._secrets = tuple(name for name in addresses if name in secret)

        # A closure, so that no repr, debugger or pickle shows the key.
        def connect(at: Callable[[], float] | None = None, **others: Any) -> _engine.Client:
            kept = None if given["archive"] is None else archive_engine(given["archive"])
            settings: dict[str, Any] = {"clock": at or clock or clock_of_environment(), "archive": kept}
            settings["dialect"] = None if speaks is None else speaks._checked
            return _engine.Client(
                key.reveal() or "",
                url.reveal() or "",
                budget=addresses["budget"].reveal() or os.environ.get(BUDGET) or "machine",
                proxy=addresses["proxy"].reveal(),
                **{**given, **settings, **others},
            )

        def key_is_in_environment() -> bool:
            return os.environ.get(KEY) == key.reveal()

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

    def _asking(self, query: _engine.Query) -> tuple[_engine.Client, ProvenanceParts, float]:
        """The engine's client, and a query's window at this moment of its clock."""
        _engine.load_numpy()  # an answer needs it; loaded in between, its time would count as a request's
        live = self._live
        now = live.now()
        return live, query.asked(now, self.tier), now

    def _warn(self, words: str | None) -> None:
        """Warns about a symbol before it is paid for: a program may turn warnings into errors."""
        if words is not None:
            warn(words, UnknownSymbolWarning)

    def _explained(
        self,
        live: _engine.Client,
        fetched: tuple[Sequence[_engine.Columns], int],
        query: _engine.Query,
        parts: ProvenanceParts,
    ) -> SeriesSet:
        """Adds the weight that an answer cost; without rows also the reason.

        It was paid: nothing here checks again what a moment later may be judged otherwise.
        """
        columns, weight = fetched
        answer = wrap(columns, parts, weight)
        if answer.why_empty is None:
            return answer
        asked = Provenance(*parts)
        no_bucket = None if asked.now is None else query.why_no_bucket(asked.now, self.tier)
        end = None if self._data_end is None else self._data_end()
        why = why_nothing(asked, live.is_listed(query), end, no_bucket, live.service_time)
        note(why)
        return SeriesSet(answer, why_empty=why, weight=weight)

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
    def dialect(self) -> Dialect | None:
        """The dialect; None for the specification's names."""
        dialect: Dialect | None = self._settings["dialect"]
        return dialect

    @property
    def budget(self) -> Budget | None:
        """The budget as the client's own bucket sees it (section 8); None until an answer had it."""
        view = self._live.budget
        return None if view is None else numbers(view, Budget)

    @safe_repr
    def __repr__(self) -> str:
        state = "" if self._connected is not None else ", closed"
        return f"<{type(self).__name__} {printable(self.base_url)}, tier {self.tier or 'unknown'}{state}>"

    def _repr_html_(self) -> str:
        is_closed = self._connected is None
        budget = None if is_closed else self.budget  # the client's own bucket: nothing is asked
        facts = {"address": self.base_url, "tier": self.tier or "unknown"} | ({"state": "closed"} if is_closed else {})
        return card(
            type(self).__name__,
            facts | ({} if budget is None else budget._facts()),
            "" if budget is None else left(budget),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        clock = self._settings["clock"]
        if clock is not None and not isinstance(clock, OffsetClock):
            raise TypeError("a client with a clock of its own cannot be pickled; make one in the other process")
        if not self._key_is_in_environment():
            raise TypeError(f"a pickle never carries the key: set {KEY} to it here and in the other process")
        if self._secrets:
            places = " and ".join(f"{name}=" for name in self._secrets)
            raise TypeError(f"a pickle never carries a password: take {places} from the environment instead")
        return _unpickle, (type(self), dict(self._settings))

    @abstractmethod
    def _archived(
        self, call: str, arguments: Callable[[], Sequence[Any]], progress: Progress, read: Callable[[Any], Any]
    ) -> Any:
        """``read`` applied to the engine's work on an archive: at once, or when awaited."""

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
