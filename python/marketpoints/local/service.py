"""The local service: everything offline, from a demo market or from one's own dumps."""

import ipaddress
import json
import os
import stat
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..client.clients import AsyncClient, Client
from ..client.empty_answers import last_day
from ..common.arguments import archive_engine, between, flag, new_path, number, path_text, text
from ..common.clock import OffsetClock
from ..common.dialect import Dialect
from ..common.display import card, safe_repr
from ..common.intervals import DAY
from ..common.logs import warn
from ..common.secrets import Hidden, hide_locals, redacted
from ..common.signatures import hinted_keywords
from ..common.times import Duration, Time, iso, to_seconds, to_unix
from ..common.warnings import ExposedKeysWarning, ExposedServiceWarning, OutdatedDataWarning
from ..errors import InvalidRequest
from ..records.requests import ServiceRequest, journal, last
from ..records.tables import Records
from .faults import Faults

if TYPE_CHECKING:
    from ..common.protocols import ArchiveLike

__all__ = ["LocalService"]

# The folder of an archive's own files.
OWN = "_marketpoints"
# The journal is kept in memory, some 400 bytes a request.
MOST_KEPT = 1_000_000


class LocalService:
    """A market-data service of one's own on this machine; it answers from the moment it is made.

    A context manager: leaving it stops the service.
    """

    @hide_locals
    @hinted_keywords
    def __init__(
        self,
        data: "ArchiveLike | str | os.PathLike[str] | None" = None,
        now: Time | None = None,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        seed: int = 0,
        keys: str | os.PathLike[str] | Mapping[str, tuple[str, str]] | None = None,
        access_log: str | os.PathLike[str] | None = None,
        grace: float = 2.0,
        strict_symbols: bool | None = None,
        any_block_size: bool = False,
        keep_requests: int = 10_000,
        speed: float = 1.0,
    ) -> None:
        """Starts the service.

        Args:
            data: Folder of a store that :func:`~marketpoints.ingest` wrote; or an archive, also by its folder or its
                address: the closed buckets that were paid for, with the weights, walls and errors of always, and a
                :class:`~marketpoints.NotArchivedError` for what was never asked. None is the demo market.
            now: What time it is for the service; its clock runs on from there. None is the wall clock, with an
                :class:`~marketpoints.OutdatedDataWarning` where the data ended more than a day ago.
            port: Port to listen on; 0 takes a free one.
            host: Address to listen on. The default answers this machine only, as every address of 127.0.0.0/8 and ::1
                do; others are warned of (:class:`~marketpoints.ExposedServiceWarning`).
            seed: Seed of the demo market: equal seeds give equal markets.
            keys: The keys that it takes: a file with a line ``name tier key`` for each, or ``{name: (tier, key)}``. The
                tier is ``free``, ``basic``, ``standard``, ``advanced`` or ``unlimited``; in place of the key may stand
                ``sha256:`` and the hexadecimal digits of its hash. None makes a random one for each tier. Of a file of
                keys that others may read an :class:`~marketpoints.ExposedKeysWarning` warns.
            access_log: File to which a line of JSON is appended for each request, without keys; ``-`` is standard
                error. None logs nothing.
            grace: Seconds that requests under way get to finish when it stops.
            strict_symbols: Whether a symbol or coin that the exchange never had is 400 INVALID_SYMBOL, and a published
                exchange that there are no data of 400 INVALID_EXCHANGE. False answers them with nothing, as the live
                service often does. None is True for the demo market and False for a store, which holds only what was
                put into it. An unknown exchange is 400 INVALID_EXCHANGE either way.
            any_block_size: Whether block sizes that are no multiple of the recommended one are served; else they are
                400 with the nearest that fits.
            keep_requests: How many of the last requests :attr:`requests` has; 0 keeps none. :attr:`spent` counts all.
            speed: How many times as fast as the machine's its clock runs: at 60 a day's stream takes 24 minutes, and
                budgets refill 60 times as fast. At 0 it stands until :meth:`advance` moves it.

        Raises:
            InvalidRequest: The folder is neither store nor archive, the keys file is none, or an argument cannot be
                right.
            Error: The service could not start, such as when the port is taken.
        """
        given = Hidden(keys)
        entries = _keys(given)
        archive = archive_engine(data) if is_archive(data) else None
        folder = None if data is None or archive is not None else path_text(data, "data")
        port, seed = between(port, "port", 0, 65_535), between(seed, "seed", 0, 2**64 - 1)
        host = text(host, "host") or ""
        _warn_of_open_address(host)
        self._service = _engine.LocalService(
            folder,
            archive,
            now=to_unix(now, "now"),
            host=host,
            port=port,
            seed=seed,
            keys=entries.reveal(),
            access_log=None if access_log is None else new_path(access_log, "access_log", "file"),
            grace=number(grace, "grace") or 0.0,
            strict_symbols=None if strict_symbols is None else flag(strict_symbols, "strict_symbols"),
            any_block_size=flag(any_block_size, "any_block_size"),
            keep_requests=between(keep_requests, "keep_requests", 0, MOST_KEPT),
            speed=number(speed, "speed") or 0.0,
        )
        self._faults = Faults(self._service.faults)
        self._data, self._shown = data, None if data is None else folder if archive is None else archive.path
        self._kind = "store" if archive is None else "archive"
        self._seed, self._strict_symbols = seed, strict_symbols
        # The port is another one each time, the data are not: what an archive knows the service by.
        if archive is not None:
            # Its answers are archived under the name of the service that they came from.
            self._source = archive.source or ""
        else:
            self._source = f"local demo, seed {seed}" if folder is None else f"local store {os.path.realpath(folder)}"
        self._any_block_size, self._keep_requests, self._speed = any_block_size, keep_requests, speed
        self._stopped = False
        try:
            self._warn(given, now)
        except BaseException:
            # A program may turn warnings into errors: then no one has the service to stop it.
            self.stop()
            raise

    def _warn(self, keys: Hidden[Any], now: Time | None) -> None:
        """Warns of keys that others may read, and of data that ended before the service's time."""
        file = keys.reveal() if isinstance(keys.reveal(), (str, os.PathLike)) else None
        # A hash cannot be turned back into a key.
        if file is not None and self._service.keys and (readers := readable_by(file)):
            warn(
                f"{os.fspath(file)}: {readers} may read the keys in it; `chmod 600` the file, or write their hashes "
                "(sha256:…) instead",
                ExposedKeysWarning,
            )
        if now is None and self._data_end is not None and self._data_end < self.now() - DAY:
            spelled = _engine.spelled_argument
            warn(
                f"the data of {self._shown} end on {last_day(self._data_end)}, and without {spelled('now')} the "
                f"service's clock says {iso(self.now())}: the last hours are empty, and the tiers' history does not "
                f"reach back to the data; give {spelled('now', repr(iso(self._data_end)))}",
                OutdatedDataWarning,
            )

    @property
    def url(self) -> str:
        """Base address, such as ``http://127.0.0.1:43211``."""
        return self._service.url

    @property
    def archive_source(self) -> str:
        """Name under which an archive knows its data, at each port; of a served archive that one's source, or empty."""
        return self._source

    @property
    def keys(self) -> dict[str, str]:
        """The keys by their names: without ``keys=`` one for each tier, and ``unlimited``: no budget, no history wall.

        Keys of which only the hash is known are left out.
        """
        return self._service.keys

    @property
    def tiers(self) -> dict[str, str]:
        """The tier of each key by the key's name: ``free``, ``basic``, ``standard``, ``advanced`` or ``unlimited``."""
        return self._service.tiers

    @property
    def faults(self) -> Faults:
        """The injected faults; none until one is set."""
        return self._faults

    @property
    def requests(self) -> Records[ServiceRequest]:
        """Its requests so far: the oldest first, in the order of the answers.

        A request is there when its answer arrives, also one that was refused. The last ``keep_requests`` (10,000) are
        kept, and at most 16 MiB of their targets; :attr:`requests_left_out` says how many are not. Requests whose head
        cannot be read are not included; of a stream only its opening is. Stays when the service has stopped.
        """
        return journal(self._service.requests())

    @property
    def requests_left_out(self) -> int:
        """How many requests were removed from :attr:`requests` to make room for later ones."""
        return self._service.requests_left_out

    @property
    def spent(self) -> int:
        """Weight that was charged for all requests since the start, or since :meth:`clear_requests`, of all keys."""
        return self._service.spent

    def clear_requests(self) -> None:
        """Clears :attr:`requests` and :attr:`spent`. Budgets are unchanged."""
        self._service.clear_requests()

    def assert_spent(self, weight: int) -> None:
        """Asserts that the requests so far weighed so much.

        Raises:
            AssertionError: They weighed another amount; the message has the last of them.
        """
        spent = self.spent
        if spent == weight:
            return
        before, requests = last([one for one in self.requests if one.weight])
        of_what = "; of all requests these were charged:" if requests else ""
        more = [f"and {before} before these"] if before else []
        raise AssertionError("\n  ".join([f"spent {spent}, not {weight}{of_what}", *more, *requests]))

    @property
    def _data_end(self) -> float | None:
        """End of a store's last day now, Unix seconds; None for the demo market, and for a store without data."""
        return self._service.data_end

    def _ending(self) -> Callable[[], float | None]:
        """A function that gives a client the end of the data, without keeping the service alive."""
        service = weakref.ref(self)

        def end() -> float | None:
            known = service()
            return None if known is None else known._data_end

        return end

    @property
    def openapi(self) -> dict[str, Any]:
        """The OpenAPI 3.1 document that every local service answers at ``/openapi.json``."""
        document: dict[str, Any] = json.loads(_engine.openapi())
        return document

    def now(self) -> float:
        """The service's clock in Unix seconds."""
        return self._service.now()

    def advance(self, seconds: Duration) -> None:
        """Moves the service's clock forward; budgets refill accordingly.

        Args:
            seconds: How far: seconds, a timedelta, or a text such as ``"1h"``.

        Raises:
            InvalidRequest: ``seconds`` is negative or no duration, or ends after the year 2261.
        """
        self._service.advance(to_seconds(seconds, "seconds"))

    def as_of(self, now: Time) -> "LocalService":
        """Another service of the same market at another moment, on a free port, with keys of its own.

        Raises:
            InvalidRequest: ``now`` is no time.
        """
        return LocalService(
            self._data,
            now,
            seed=self._seed,
            grace=0.0,
            strict_symbols=self._strict_symbols,
            any_block_size=self._any_block_size,
            keep_requests=self._keep_requests,
            speed=self._speed,
        )

    @hide_locals
    def client(self, tier: str = "advanced", **settings: Any) -> Client:
        """A client with this service's address and clock and the tier's key.

        Args:
            tier: Name of a key, or else a tier that some key has: ``free``, ``basic``, ``standard``, ``advanced`` or
                ``unlimited``.
            settings: Further settings of :class:`~marketpoints.Client`.

        Raises:
            InvalidRequest: There is no such key, or a setting is not valid.
        """
        made = Client(**{**self._settings(tier), **settings})
        made._data_end = self._ending()
        return made

    @hide_locals
    def async_client(self, tier: str = "advanced", **settings: Any) -> AsyncClient:
        """Like :meth:`client`, for asyncio."""
        made = AsyncClient(**{**self._settings(tier), **settings})
        made._data_end = self._ending()
        return made

    def _settings(self, tier: str) -> dict[str, Any]:
        names, tiers = list(self.keys), self.tiers
        tier = text(tier, "tier") or ""
        name = tier if tier in names else next((name for name in names if tiers[name] == tier), None)
        if name is None and (tier in tiers or tier in tiers.values()):
            hint = "only its hash is known here; give the key itself: Client(key, service.url, clock=service.now)"
            raise InvalidRequest(f"tier: {tier!r} has a key, but {hint}")
        if name is None:
            raise InvalidRequest(f"tier: {redacted(tier)} is not one of {', '.join(sorted(names))}")
        return {
            "api_key": self.keys[name],
            "base_url": self.url,
            # Also of the unlimited key, or its client would keep to the tier that the environment names.
            "tier": tiers[name],
            "clock": OffsetClock(self.now, self._speed),
            "archive_source": self._source,
            "any_block_size": self._any_block_size,
            # It speaks the neutral names, whatever the environment says of another service.
            "dialect": Dialect(),
        }

    def stop(self) -> None:
        """Stops it; open requests get a moment to finish. A second call does nothing."""
        self._stopped = True
        self._service.stop()

    def __enter__(self) -> "LocalService":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @safe_repr
    def __repr__(self) -> str:
        return f"<LocalService {', '.join(self._facts().values())}>"

    def _repr_html_(self) -> str:
        return card("LocalService", self._facts())

    def _facts(self) -> dict[str, str]:
        source = "demo market" if self._data is None else f"{self._kind} {self._shown}"
        state = "stopped" if self._stopped else f"{iso(self.now())} UTC"
        return {"address": self.url, "answers from": source, "time": state}


def is_archive(data: object) -> bool:
    """Whether the data to serve are an archive: an object, its folder, or an object store's address."""
    if isinstance(getattr(data, "_engine", None), _engine.Archive):
        return True
    if not isinstance(data, (str, os.PathLike)):
        return False
    path = os.fspath(data)
    return isinstance(path, str) and ("://" in path or os.path.isdir(os.path.join(path, OWN)))  # noqa: PTH112, PTH118


def _keys(given: Hidden[Any]) -> Hidden[str | list[tuple[str, str, str]] | None]:
    """The keys as the engine takes them."""
    if given.reveal() is None or isinstance(given.reveal(), (str, os.PathLike)):
        return Hidden(None if given.reveal() is None else path_text(given.reveal(), "keys"))
    if not isinstance(given.reveal(), Mapping):
        kind = type(given.reveal()).__name__
        raise InvalidRequest(f"keys: a {kind} is neither a file nor {{name: (tier, key)}}")
    # Without the entry itself: it may hold the key.
    wrong = [name for name, entry in given.reveal().items() if not _is_entry(entry)]
    if wrong:
        raise InvalidRequest(f"keys: {redacted(wrong[0])} needs a tier and a key, such as ('advanced', 'my-own-key')")
    return Hidden([(name, *entry) for name, entry in given.reveal().items()])


def _is_entry(entry: object) -> bool:
    return isinstance(entry, (tuple, list)) and len(entry) == 2 and all(isinstance(word, str) for word in entry)


def _warn_of_open_address(host: str) -> None:
    """Warns before the service listens where other machines reach it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return  # the engine refuses it
    # ::ffff:127.0.0.1 is 127.0.0.1.
    address = getattr(address, "ipv4_mapped", None) or address
    if not address.is_loopback:
        warn(f"{host} is open to other machines; anyone with a key can use it", ExposedServiceWarning)


def readable_by(file: str | os.PathLike[str]) -> str:
    """The other readers of a file: ``its group``, ``every user of this machine``, or an empty text for none.

    Pipes, and systems without such permissions, count as readable by no one else.
    """
    mode = os.stat(file).st_mode  # noqa: PTH116 - as the engine opened it
    if os.name != "posix" or not stat.S_ISREG(mode):
        return ""
    return "every user of this machine" if mode & stat.S_IROTH else "its group" if mode & stat.S_IRGRP else ""
