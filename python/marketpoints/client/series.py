"""The series methods: one for each data type, and one that takes any (specification, sections 2.3 and 4.1)."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import _engine
from ..common.arguments import METHODS, Names, analytics
from ..common.progress import Progress
from ..common.queries import (
    CandleArguments,
    FundingArguments,
    LiquidationMapArguments,
    MarketProfileArguments,
    OptionArguments,
    OrderBookArguments,
    PointsCall,
    QueryArguments,
    SummedArguments,
    TokenArguments,
    build_query,
)
from ..common.signatures import checked_keywords
from ..common.times import Interval
from ..records.plan import Plan, plan_of
from .analytics import plan_analytics
from .base import Connection

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["SeriesMethods"]

SeriesAnswer = TypeVar("SeriesAnswer", covariant=True)


def _query_of_plan(
    type: str,  # noqa: A002 - the wire's own name
    exchange: Names = None,
    symbol: Names = None,
    interval: Interval | None = None,
    **arguments: "Unpack[QueryArguments]",
) -> _engine.Query:
    return build_query("plan", type, exchange, symbol, interval, arguments)


# The name in Python's own TypeErrors.
_query_of_plan.__qualname__ = "plan"


class SeriesMethods(Connection, Generic[SeriesAnswer]):
    """Every series method."""

    @checked_keywords(QueryArguments)
    def points(  # noqa: D417 - its arguments stand in QueryArguments
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> SeriesAnswer:
        """Points of any data type, known to this version or not (section 4.1).

        A window longer than one request may be is fetched in several and joined. A list of symbols or coins is one
        call too: it runs within one budget, and the answer has the series of each in the order asked. A symbol is asked
        of each exchange apart, exchange by exchange; a coin of all exchanges at once, which weighs less (section 8.2).

        Args:
            type: Data type by its wire name, such as ``OPEN_INTEREST_AGG``, or by its method's, ``open_interest``.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several. What is named twice is asked once.
            interval: ``"1m" "5m" "15m" "30m" "1h" "4h" "1d" "1w"``, a wire name, or a duration such as
                ``timedelta(hours=1)`` (also NumPy's and pandas').
            start: First bucket start: datetime, date, ISO text (UTC if naive), NumPy or pandas time, Unix seconds.
            end: End of the window, exclusive; None is now.
            period: Length of the window in seconds, as a ``timedelta`` (also NumPy's and pandas'), or as a text such as
                ``"90d"`` or ``"1h30m"``, instead of start or end.
            coin: Base asset, or several, instead of a symbol. Where a type takes both, such as the option summaries,
                lists of symbols and coins pair by position.
            usd: Values in USD.
            group_by: ``"sum"`` or ``"oi_weighted"``: one series over all exchanges.
            gapfill: Fill missing buckets with the last close.
            sort: ``"asc"`` or ``"desc"``: the order on the wire. Results always ascend.
            include_forming: Keep the bucket, or the session, that has not ended yet.
            max_depth: Levels of a heatmap.
            block_size: Height of a heatmap's, or a market profile's, price block: one for all, or one for each symbol
                or coin.
            tenor: Option tenor.
            token_name: Token name (token supply), one for each coin.
            session: Session of a market profile.
            block_minutes: Block length of a market profile in minutes.
            extra: Further parameters by wire name, passed through.
            max_weight: Most weight that the call may cost in all; more raises before anything is sent.
            progress: True shows a bar with weight, requests, rows, the wait for budget and the seconds left; a function
                is called with (requests done, requests) after each answer.

        Returns:
            The answer's series; a set of exactly one answers for it.

        Raises:
            InvalidRequest: An argument is not valid, or the service does not list the symbol or coin; nothing was
                sent, or the service answered 400.
            AuthenticationError: The service does not know the key.
            TierError: The tier does not include it.
            RateLimitError: It would wait for budget longer than ``max_wait``, or the day's weight is spent.
            PartialError: Some requests of several failed; ``results`` holds what arrived, ``failures`` says what did
                not, and of which symbol.
            TransportError: No complete answer arrived, as often as the client tried.
            ServerError: The service failed as often as the client tried.
            DecodeError: The answer is malformed.
        """
        return self._points((type, exchange, symbol, interval, arguments), progress)

    @abstractmethod
    def _points(self, asked: PointsCall, progress: Progress) -> SeriesAnswer:
        """Fetches points: at once, or when awaited."""

    def plan(self, type: str, *arguments: Any, **named: Any) -> Plan:  # noqa: A002 - the wire's own name
        """The requests and the weight of a call, and the time that each tier would take.

        Sends nothing, so neither client awaits it.

        Args:
            type: Data type as for :meth:`points`, the name of a series method such as ``candles``, or that of an
                analytics method such as ``leaderboard``, whose ``points`` are rows.
            arguments: The call's arguments.
            named: The call's arguments by name, ``max_weight`` among them.

        Raises:
            InvalidRequest: As the call; also when it weighs more than ``max_weight``, or can never run.
            TierError: The tier does not include it.
        """
        named.pop("progress", None)
        if method := analytics(type):
            return plan_analytics(self._live, method, arguments, named)
        return plan_of(self._live.plan(_query_of_plan(type, *arguments, **named)))

    @checked_keywords(CandleArguments)
    def candles(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[CandleArguments]",
    ) -> SeriesAnswer:
        """Candles of both sides together (TRADE_SIDE_AGNOSTIC_AGG): open, high, low, close, volume.

        Also the times of the first and the last trade. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["candles"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(CandleArguments)
    def side_candles(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[CandleArguments]",
    ) -> SeriesAnswer:
        """Candles per side (TRADE_AGG): two series, ``sel(side="BUY")`` and ``sel(side="SELL")``.

        Both share the prices; the volume is the side's. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["side_candles"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(SummedArguments)
    def liquidations(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[SummedArguments]",
    ) -> SeriesAnswer:
        """Liquidated volume per side (LIQUIDATION_AGG): two series with the column ``liquidations``.

        In coin, or in USD with ``usd``. A bucket without liquidations is absent, so the sides differ in length. Which
        side ``BUY`` means is the venue's word; the client does not turn it. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["liquidations"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(FundingArguments)
    def funding_rate(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[FundingArguments]",
    ) -> SeriesAnswer:
        """Funding rates (FUNDING_RATE_AGG): open, high, low and close of the rate and of the predicted rate.

        Rates are fractions (0.0001 is 0.01 %) for 8 hours unless ``extra`` names another
        ``transform.normalize.fundingInterval`` in milliseconds; an unknown one is NaN. ``group_by="oi_weighted"`` is
        the mean over exchanges weighted by open interest. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["funding_rate"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(SummedArguments)
    def open_interest(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[SummedArguments]",
    ) -> SeriesAnswer:
        """Open interest (OPEN_INTEREST_AGG): open, high, low and close; NaN where an exchange leaves one out.

        In the venue's unit, or in USD with ``usd``. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["open_interest"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(OrderBookArguments)
    def orderbook_heatmap(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[OrderBookArguments]",
    ) -> SeriesAnswer:
        """The order book as price levels per snapshot (BLOCK_BOOK_SNAPSHOT_AGG): a :class:`~marketpoints.Heatmap`.

        ``block_size`` is required by the service; :meth:`block_sizes` recommends one. Arguments and errors as in
        :meth:`points`.
        """
        return self._points((METHODS["orderbook_heatmap"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(LiquidationMapArguments)
    def liquidation_heatmap(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[LiquidationMapArguments]",
    ) -> SeriesAnswer:
        """Liquidation volume by price level (VENUE_LIQUIDATION_AGG): a :class:`~marketpoints.Heatmap` without sides.

        By ``coin=`` only, without a symbol; no exchange means all of them. Advanced tier. Arguments and errors as in
        :meth:`points`.
        """
        return self._points((METHODS["liquidation_heatmap"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(SummedArguments)
    def volume_profile(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[SummedArguments]",
    ) -> SeriesAnswer:
        """Traded volume by price and side in each bucket (VOLUME_PROFILE_AGG): a :class:`~marketpoints.Profile`.

        The service chooses the height of a level. A cross-exchange symbol goes by
        ``extra={"normalizedSymbol": "BTC-USDT"}`` in place of ``symbol`` and ``coin``. Arguments and errors as in
        :meth:`points`.
        """
        return self._points((METHODS["volume_profile"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(MarketProfileArguments)
    def tpo(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[MarketProfileArguments]",
    ) -> SeriesAnswer:
        """Market profiles (TPO_AGG): which time blocks visited which price; a :class:`~marketpoints.Tpo`.

        ``session`` is ``"daily"``, ``"weekly"``, ``"monthly"`` or a wire name; ``block_minutes`` 5, 30, 60 or 240.
        ``block_size`` is the height of a level (see :meth:`block_sizes`); None leaves it to the service.
        With ``coin`` the exchange may be left out. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["tpo"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(OptionArguments)
    def skew(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[OptionArguments]",
    ) -> SeriesAnswer:
        """25-delta skew of options in percentage points (SKEW_OPTION_SUMMARY_AGG): the column ``skew``.

        Exchange, summary symbol (such as ``BTC_25``), ``coin`` and ``tenor`` are all required; :meth:`tenors` lists the
        tenors. Advanced tier. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["skew"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(OptionArguments)
    def implied_volatility(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[OptionArguments]",
    ) -> SeriesAnswer:
        """Implied volatility of options in percentage points (IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG).

        The column is ``implied_volatility``. Exchange, summary symbol (such as ``BTC_ATM``), ``coin`` and ``tenor`` are
        all required. Advanced tier. Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["implied_volatility"], exchange, symbol, interval, arguments), progress)

    @checked_keywords(TokenArguments)
    def token_supply(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        progress: Progress = False,
        **arguments: "Unpack[TokenArguments]",
    ) -> SeriesAnswer:
        """Supply, market capitalization and dominance of a token (TOKEN_SUPPLY_AGG).

        By ``coin=`` and best with ``token_name=``, without exchange and symbol. There may be several rows a time, one
        for each ``chain``. Altcoin dominance is 100 less ``marketcap_dominance_percent`` of Bitcoin. Advanced tier.
        Arguments and errors as in :meth:`points`.
        """
        return self._points((METHODS["token_supply"], exchange, symbol, interval, arguments), progress)
