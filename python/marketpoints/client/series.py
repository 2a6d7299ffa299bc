"""The series methods of price levels, options and supply (specification, sections 2.3 and 4.1)."""

from ..common.arguments import METHODS, Extra, Names, Sizes
from ..common.progress import Progress
from ..common.times import Duration, Interval, Time
from .values import SeriesAnswer, ValueMethods

__all__ = ["SeriesMethods"]


class SeriesMethods(ValueMethods[SeriesAnswer]):
    """Every series method."""

    def orderbook_heatmap(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        block_size: Sizes = None,
        max_depth: int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: Names = None,
        usd: bool = False,
        group_by: str | None = None,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        max_weight: int | None = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """The order book as price levels per snapshot (BLOCK_BOOK_SNAPSHOT_AGG): a :class:`~marketpoints.Heatmap`.

        ``block_size`` is required by the service; :meth:`block_sizes` recommends one. Arguments and errors as in
        :meth:`points`.
        """
        return self.points(
            METHODS["orderbook_heatmap"],
            exchange,
            symbol,
            interval,
            block_size=block_size,
            max_depth=max_depth,
            start=start,
            end=end,
            period=period,
            coin=coin,
            usd=usd,
            group_by=group_by,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            max_weight=max_weight,
            progress=progress,
        )

    def liquidation_heatmap(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        max_depth: int | None = None,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: Names = None,
        usd: bool = False,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        max_weight: int | None = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Liquidation volume by price level (VENUE_LIQUIDATION_AGG): a :class:`~marketpoints.Heatmap` without sides.

        By ``coin=`` only, without a symbol; no exchange means all of them. Advanced tier. Arguments and errors as in
        :meth:`points`.
        """
        return self.points(
            METHODS["liquidation_heatmap"],
            exchange,
            symbol,
            interval,
            max_depth=max_depth,
            start=start,
            end=end,
            period=period,
            coin=coin,
            usd=usd,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            max_weight=max_weight,
            progress=progress,
        )

    def volume_profile(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: Names = None,
        usd: bool = False,
        group_by: str | None = None,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        max_weight: int | None = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Traded volume by price and side in each bucket (VOLUME_PROFILE_AGG): a :class:`~marketpoints.Profile`.

        The service chooses the height of a level. A cross-exchange symbol goes by
        ``extra={"normalizedSymbol": "BTC-USDT"}`` in place of ``symbol`` and ``coin``. Arguments and errors as in
        :meth:`points`.
        """
        return self.points(
            METHODS["volume_profile"],
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
            extra=extra,
            max_weight=max_weight,
            progress=progress,
        )

    def tpo(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        session: str | None = None,
        block_minutes: int | None = None,
        block_size: Sizes = None,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: Names = None,
        usd: bool = False,
        group_by: str | None = None,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        max_weight: int | None = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Market profiles (TPO_AGG): which time blocks visited which price; a :class:`~marketpoints.Tpo`.

        ``session`` is ``"daily"``, ``"weekly"``, ``"monthly"`` or a wire name; ``block_minutes`` 5, 30, 60 or 240.
        ``block_size`` is the height of a level, about which :meth:`block_sizes` tells; None leaves it to the service.
        With ``coin`` the exchange may be left out. Arguments and errors as in :meth:`points`.
        """
        return self.points(
            METHODS["tpo"],
            exchange,
            symbol,
            interval,
            session=session,
            block_minutes=block_minutes,
            block_size=block_size,
            start=start,
            end=end,
            period=period,
            coin=coin,
            usd=usd,
            group_by=group_by,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            max_weight=max_weight,
            progress=progress,
        )

    def skew(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        tenor: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: Names = None,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        max_weight: int | None = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """25-delta skew of options in percentage points (SKEW_OPTION_SUMMARY_AGG): the column ``skew``.

        Exchange, summary symbol (such as ``BTC_25``), ``coin`` and ``tenor`` are all required; :meth:`tenors` lists the
        tenors. Advanced tier. Arguments and errors as in :meth:`points`.
        """
        return self.points(
            METHODS["skew"],
            exchange,
            symbol,
            interval,
            tenor=tenor,
            start=start,
            end=end,
            period=period,
            coin=coin,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            max_weight=max_weight,
            progress=progress,
        )

    def implied_volatility(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        tenor: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: Names = None,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        max_weight: int | None = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Implied volatility of options in percentage points (IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG).

        The column is ``implied_volatility``. Exchange, summary symbol (such as ``BTC_ATM``), ``coin`` and ``tenor`` are
        all required. Advanced tier. Arguments and errors as in :meth:`points`.
        """
        return self.points(
            METHODS["implied_volatility"],
            exchange,
            symbol,
            interval,
            tenor=tenor,
            start=start,
            end=end,
            period=period,
            coin=coin,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            max_weight=max_weight,
            progress=progress,
        )

    def token_supply(
        self,
        exchange: Names = None,
        symbol: Names = None,
        interval: Interval | None = None,
        *,
        token_name: Names = None,
        start: Time | None = None,
        end: Time | None = None,
        period: Duration | None = None,
        coin: Names = None,
        sort: str | None = None,
        include_forming: bool = False,
        extra: Extra = None,
        max_weight: int | None = None,
        progress: Progress = False,
    ) -> SeriesAnswer:
        """Supply, market capitalization and dominance of a token (TOKEN_SUPPLY_AGG).

        By ``coin=`` and best with ``token_name=``, without exchange and symbol. There may be several rows a time, one
        for each ``chain``. Altcoin dominance is 100 less ``marketcap_dominance_percent`` of Bitcoin. Advanced tier.
        Arguments and errors as in :meth:`points`.
        """
        return self.points(
            METHODS["token_supply"],
            exchange,
            symbol,
            interval,
            token_name=token_name,
            start=start,
            end=end,
            period=period,
            coin=coin,
            sort=sort,
            include_forming=include_forming,
            extra=extra,
            max_weight=max_weight,
            progress=progress,
        )
