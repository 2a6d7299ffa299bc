"""What every client can do, written once: settings, queries, plans. How a call is waited for is the clients' own."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from . import _engine
from .arguments import METHODS, Extra, Names, build_query, count, names, pairs, text, whole
from .clock import clock_of_environment
from .errors import Error, InvalidRequest
from .progress import Progress
from .records import Budget, Plan, PlannedRequest, numbers
from .times import Duration, Time

__all__ = ["KEY", "TIER", "URL", "Methods"]

SeriesAnswer = TypeVar("SeriesAnswer", covariant=True)
MarketsAnswer = TypeVar("MarketsAnswer", covariant=True)
UsageAnswer = TypeVar("UsageAnswer", covariant=True)

KEY, URL, TIER = "MARKETPOINTS_API_KEY", "MARKETPOINTS_BASE_URL", "MARKETPOINTS_TIER"
# Engines of a parent process. A forked child must not end them: their threads and sockets are the parent's.
_inherited: list[_engine.Client] = []


def _known_tier(name: str | None) -> str | None:
    """The tier whose budget is kept to; the local service's ``unlimited`` has none, so its client learns that."""
    return None if name in ("", "unlimited") else name


class Methods(Generic[SeriesAnswer, MarketsAnswer, UsageAnswer]):
    """What both clients can do."""

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
            "retries": whole(retries, "retries", 0, 1_000),
            "max_wait": max_wait,
            "proxy": proxy,
            "ca_certs": None if ca_certs is None else os.fspath(ca_certs),
            "clock": clock,
        }

        # A closure, so that the key stands in no attribute that a repr, a debugger's list or a pickle shows.
        def connect() -> _engine.Client:
            return _engine.Client(key, **{**self._settings, "clock": clock or clock_of_environment()})

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
    def _points(self, query: _engine.Query, progress: Progress) -> SeriesAnswer:
        """Fetches points."""

    @abstractmethod
    def _markets(self, filters: Mapping[str, Any]) -> MarketsAnswer:
        """Fetches markets."""

    @abstractmethod
    def usage(self) -> UsageAnswer:
        """The service's own account of the budget (``/v1/usage``, section 2.4); weight 0.

        Raises:
            AuthenticationError: The service does not know the key.
            TransportError: No complete answer arrived.
        """

    def points(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: Names = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: str | None = None,
        usd: bool = False,
        group_by: str | None = None,
        gapfill: bool = False,
        sort: str | None = None,
        include_forming: bool = False,
        max_depth: int | None = None,
        block_size: float | None = None,
        tenor: str | None = None,
        token_name: str | None = None,
        session: str | None = None,
        block_minutes: int | None = None,
        extra: Extra = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Points of any data type, known to this version or not (section 4.1).

        A window longer than one request may be is fetched in several and joined.

        Args:
            type: Data type by its wire name, such as ``OPEN_INTEREST_AGG``.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol.
            interval: ``"1m" "5m" "15m" "30m" "1h" "4h" "1d" "1w"`` or a wire name.
            start: First bucket start: datetime, date, ISO text (UTC if naive), NumPy or pandas time, Unix seconds.
            end: End of the window, exclusive; None is now.
            period: Length of the window in seconds, or a ``timedelta``, instead of start or end.
            coin: Base asset, instead of a symbol.
            usd: Values in USD.
            group_by: ``"sum"`` or ``"oi_weighted"``: one series over all exchanges.
            gapfill: Fill missing buckets with the last close.
            sort: ``"asc"`` or ``"desc"``: the order on the wire. Results always ascend.
            include_forming: Keep the bucket that has not ended yet.
            max_depth: Levels of a heatmap.
            block_size: Height of a heatmap's price bucket.
            tenor: Option tenor.
            token_name: Token name (token supply).
            session: Session of a market profile.
            block_minutes: Block length of a market profile in minutes.
            extra: Further parameters by wire name, passed through.
            progress: True shows a bar; a function is called with (requests done, requests).

        Returns:
            The answer's series; a set of exactly one answers for it.

        Raises:
            InvalidRequest: An argument cannot be right; nothing was sent, or the service answered 400.
            AuthenticationError: The service does not know the key.
            TierError: The tier does not include it.
            RateLimitError: It would wait for budget longer than ``max_wait``.
            PartialError: Some requests of several failed; ``results`` holds what arrived.
            TransportError: No complete answer arrived, as often as the client tried.
            ServerError: The service failed as often as the client tried.
            DecodeError: The answer is malformed.
        """
        query = build_query(
            type,
            exchange,
            symbol,
            interval,
            start=start,
            end=end,
            period=period,
            coin=coin,
            usd=usd,
            group_by=group_by,
            gapfill=gapfill,
            sort=sort,
            include_forming=include_forming,
            max_depth=max_depth,
            block_size=block_size,
            tenor=tenor,
            token_name=token_name,
            session=session,
            block_minutes=block_minutes,
            extra=extra,
        )
        return self._points(query, progress)

    def candles(
        self,
        exchange: Names = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: str | None = None,
        usd: bool = False,
        group_by: str | None = None,
        gapfill: bool = False,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Candles of both sides together (TRADE_SIDE_AGNOSTIC_AGG): open, high, low, close, volume.

        Also the times of the first and the last trade. Arguments and errors as in :meth:`points`.
        """
        return self.points(
            METHODS["candles"],
            exchange,
            symbol,
            interval,
            start=start,
            end=end,
            period=period,
            coin=coin,
            usd=usd,
            group_by=group_by,
            gapfill=gapfill,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            progress=progress,
        )

    def side_candles(
        self,
        exchange: Names = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: str | None = None,
        usd: bool = False,
        group_by: str | None = None,
        gapfill: bool = False,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Candles per side (TRADE_AGG): two series, ``sel(side="BUY")`` and ``sel(side="SELL")``.

        Both share the prices; the volume is the side's. Arguments and errors as in :meth:`points`.
        """
        return self.points(
            METHODS["side_candles"],
            exchange,
            symbol,
            interval,
            start=start,
            end=end,
            period=period,
            coin=coin,
            usd=usd,
            group_by=group_by,
            gapfill=gapfill,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            progress=progress,
        )

    def orderbook_heatmap(
        self,
        exchange: Names = None,
        symbol: str | None = None,
        interval: str | None = None,
        *,
        block_size: float | None = None,
        max_depth: int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: str | None = None,
        usd: bool = False,
        group_by: str | None = None,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """The order book as price levels per snapshot (BLOCK_BOOK_SNAPSHOT_AGG): a :class:`~marketpoints.Heatmap`.

        ``block_size`` is required by the service. Arguments and errors as in :meth:`points`.
        """
        return self.points(
            METHODS["orderbook_heatmap"],
            exchange,
            symbol,
            interval,
            start=start,
            end=end,
            period=period,
            coin=coin,
            usd=usd,
            group_by=group_by,
            sort=sort,
            include_forming=include_forming,
            max_depth=max_depth,
            block_size=block_size,
            extra=extra,
            progress=progress,
        )

    def markets(
        self,
        *,
        exchange: Names = None,
        coin: Names = None,
        category: Names = None,
        type: Names = None,  # noqa: A002 - the wire's own name
        symbol_filter: str | None = None,
        limit: int | None = None,
        extra: Extra = None,
    ) -> MarketsAnswer:
        """The markets that pass the filters (``/v1/markets``, section 4.2), page by page; weight 0.

        Args:
            exchange: Exchange identifiers.
            coin: Base assets.
            category: ``SPOT``, ``PERPETUAL`` and so on.
            type: Data types that a market must have.
            symbol_filter: Text to look for in symbols, coin names and titles, in any case.
            limit: Most markets to return; None returns all.
            extra: Further parameters by wire name, passed through.
        """
        filters = {
            "exchanges": names(exchange, "exchange"),
            "coins": names(coin, "coin"),
            "categories": names(category, "category"),
            "types": names(type, "type"),
            "symbol_filter": text(symbol_filter, "symbol_filter"),
            "limit": count(limit, "limit"),
            "extra": pairs(extra),
        }
        return self._markets(filters)

    def plan(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: Names = None,
        symbol: str | None = None,
        interval: str | None = None,
        **arguments: Any,
    ) -> Plan:
        """What :meth:`points` with these arguments would send and cost. Sends nothing, so neither client awaits it.

        Raises:
            InvalidRequest: As :meth:`points`.
        """
        arguments.pop("progress", None)
        plan = self._live.plan(build_query(type, exchange, symbol, interval, **arguments))
        requests = tuple(PlannedRequest(one.url, one.weight, one.points) for one in plan.requests)
        return Plan(requests, plan.weight, plan.points, plan.eta)

    def _close(self) -> None:
        if self._connected is None:
            return
        if self._pid == os.getpid():
            self._connected.close()
        else:
            _inherited.append(self._connected)
        self._connected = None


def _unpickle(kind: type[Methods[Any, Any, Any]], settings: dict[str, Any]) -> Methods[Any, Any, Any]:
    return kind(**settings)
