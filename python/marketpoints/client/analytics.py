"""The methods of the prediction-market analytics (specification, section 4.3): fixed weights, Advanced tier."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from .. import _engine
from ..common.arguments import ANALYTICS, Extra, number, pairs, rows, text, weight_bound, whole
from ..common.signatures import hinted_keywords
from ..errors import InvalidRequest
from ..records.analytics import MarketSummary, TraderProfile, UserCategories, UserPosition
from ..records.plan import Plan, plan_of
from ..records.tables import Records, record
from .base import EngineCaller, settled

__all__ = ["AnalyticsMethods", "plan_analytics"]

LeaderboardAnswer = TypeVar("LeaderboardAnswer", covariant=True)
ProfileAnswer = TypeVar("ProfileAnswer", covariant=True)
PositionsAnswer = TypeVar("PositionsAnswer", covariant=True)
SummaryAnswer = TypeVar("SummaryAnswer", covariant=True)
CategoriesAnswer = TypeVar("CategoriesAnswer", covariant=True)
Record = TypeVar("Record")
#: A check, what it is applied to, and the argument's name.
Check: TypeAlias = tuple[Callable[[Any, str], Any], Any, str]

#: A market's condition; a wallet has 40 digits, and an outcome token decimal ones (supplement 2 and 4).
CONDITION = re.compile("0x[0-9a-fA-F]{64}")
#: The sort orders of the leaderboard (section 4.3).
ORDERS = _engine.vocabulary()["leaderboard_order"]
DIRECTIONS = dict(zip(("asc", "desc"), _engine.vocabulary()["sort_direction"], strict=True))


class AnalyticsMethods(
    EngineCaller, Generic[LeaderboardAnswer, ProfileAnswer, PositionsAnswer, SummaryAnswer, CategoriesAnswer]
):
    """Traders, their positions, and markets over all accounts."""

    @hinted_keywords
    def leaderboard(
        self,
        *,
        limit: int | None = None,
        offset: int = 0,
        roi_percentage: int | None = None,
        min_total_trade_count: float | None = None,
        max_total_trade_count: float | None = None,
        win_rate: float | None = None,
        avg_position_size: float | None = None,
        total_volume: float | None = None,
        primary_category: str | None = None,
        open_position_count: int | None = None,
        time_since_last_trade: int | None = None,
        avg_holding_time: int | None = None,
        sort_by: str | None = None,
        sort_direction: str | None = None,
        max_weight: int | None = None,
        extra: Extra = None,
    ) -> LeaderboardAnswer:
        """Traders in an order, best realized profit first; weight 60 for each started hundred of rows.

        Args:
            limit: Most rows; None is all that paging reaches, 200 from the first on.
            offset: Rows to skip. Beyond 100 it is the service's to judge, and without a limit one page is asked.
            roi_percentage: Least realized return on investment in percent, a whole number.
            min_total_trade_count: Fewest positions.
            max_total_trade_count: Most positions.
            win_rate: Least win rate in percent.
            avg_position_size: Least average position size.
            total_volume: Least traded size.
            primary_category: Only traders who traded this category; their numbers stay those of the full account.
            open_position_count: Fewest open positions.
            time_since_last_trade: Least seconds since the latest trade.
            avg_holding_time: Least average holding duration in seconds.
            sort_by: REALIZED_PNL, ROI, WIN_COUNT, WIN_RATE, TOTAL_SIZE or TOTAL_POSITION_COUNT, in any case.
            sort_direction: ``"asc"``, ``"desc"`` or a wire name.
            max_weight: Most weight that it may cost in all; more is refused before anything is sent.
            extra: Further parameters by wire name, passed through.

        Returns:
            :class:`Records` of :class:`TraderProfile`.

        Raises:
            InvalidRequest: An argument is not valid; nothing was sent, or the service answered 400.
            TierError: The tier does not include it.
            PartialError: A page behind the first failed; ``results`` holds the rows of those before it.
        """
        given = {
            "offset": (_offset, offset, "offset"),
            "roiPercentage": (whole, roi_percentage, "roi_percentage"),
            "minTotalTradeCount": (number, min_total_trade_count, "min_total_trade_count"),
            "maxTotalTradeCount": (number, max_total_trade_count, "max_total_trade_count"),
            "winRate": (number, win_rate, "win_rate"),
            "avgPositionSize": (number, avg_position_size, "avg_position_size"),
            "totalVolume": (number, total_volume, "total_volume"),
            "primaryCategory": (text, primary_category, "primary_category"),
            "openPositionCount": (whole, open_position_count, "open_position_count"),
            "timeSinceLastTrade": (whole, time_since_last_trade, "time_since_last_trade"),
            "avgHoldingTime": (whole, avg_holding_time, "avg_holding_time"),
            "sortBy": (_order, sort_by, "sort_by"),
            "sortDirection": (_direction, sort_direction, "sort_direction"),
        }
        answer: LeaderboardAnswer = self._analytics(
            "leaderboard", given, extra, max_weight, _rows(TraderProfile), limit
        )
        return answer

    @hinted_keywords
    def trader_profile(self, user_wallet: str, *, max_weight: int | None = None, extra: Extra = None) -> ProfileAnswer:
        """A wallet over all its positions, weight 100.

        Args:
            user_wallet: Address of the wallet.
            max_weight: Most weight that it may cost in all; more is refused before anything is sent.
            extra: Further parameters by wire name, passed through.

        Returns:
            A :class:`TraderProfile`; None for a wallet that the service does not know.

        Raises:
            InvalidRequest: No wallet is given.
            TierError: The tier does not include it.
        """
        given = {"userWallet": (_no_condition, user_wallet, "user_wallet")}
        answer: ProfileAnswer = self._analytics("trader_profile", given, extra, max_weight, _one(TraderProfile))
        return answer

    @hinted_keywords
    def positions(
        self,
        user_wallet: str | None = None,
        asset_id: str | None = None,
        condition_id: str | None = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        max_weight: int | None = None,
        extra: Extra = None,
    ) -> PositionsAnswer:
        """Positions of a wallet, of a market, or of a wallet in a market; weight 40 for each started hundred of rows.

        Args:
            user_wallet: Address of a wallet; its largest realized profit comes first.
            asset_id: Outcome token, a text; without a wallet the largest unrealized size comes first.
            condition_id: Market condition, instead of ``asset_id``.
            limit: Most rows; None is all that paging reaches, 200 from the first on.
            offset: Rows to skip. Beyond 100 it is the service's to judge, and without a limit one page is asked.
            max_weight: Most weight that it may cost in all; more is refused before anything is sent.
            extra: Further parameters by wire name, passed through.

        Returns:
            :class:`Records` of :class:`UserPosition`.

        Raises:
            InvalidRequest: None of the three is given, or both ``asset_id`` and ``condition_id``.
            TierError: The tier does not include it.
            PartialError: A page behind the first failed; ``results`` holds the rows of those before it.
        """
        given = {
            "userWallet": (_no_condition, user_wallet, "user_wallet"),
            "assetId": (_no_condition, asset_id, "asset_id"),
            "conditionId": (text, condition_id, "condition_id"),
            "offset": (_offset, offset, "offset"),
        }
        answer: PositionsAnswer = self._analytics("positions", given, extra, max_weight, _rows(UserPosition), limit)
        return answer

    @hinted_keywords
    def market_summary(
        self,
        asset_id: str | None = None,
        condition_id: str | None = None,
        *,
        max_weight: int | None = None,
        extra: Extra = None,
    ) -> SummaryAnswer:
        """A market, or one outcome of it, over all accounts; weight 60.

        Args:
            asset_id: Outcome token, a text.
            condition_id: Market condition, for all its outcomes. Exactly one of the two is given.
            max_weight: Most weight that it may cost in all; more is refused before anything is sent.
            extra: Further parameters by wire name, passed through.

        Returns:
            A :class:`MarketSummary`; None for a market that the service does not know.

        Raises:
            InvalidRequest: Neither or both are given.
            TierError: The tier does not include it.
        """
        given = {"assetId": (_no_condition, asset_id, "asset_id"), "conditionId": (text, condition_id, "condition_id")}
        answer: SummaryAnswer = self._analytics("market_summary", given, extra, max_weight, _one(MarketSummary))
        return answer

    @hinted_keywords
    def user_categories(
        self, user_wallet: str, *, max_weight: int | None = None, extra: Extra = None
    ) -> CategoriesAnswer:
        """A wallet's positions by category, weight 40.

        Args:
            user_wallet: Address of the wallet.
            max_weight: Most weight that it may cost in all; more is refused before anything is sent.
            extra: Further parameters by wire name, passed through.

        Returns:
            :class:`UserCategories`; None for a wallet that the service does not know.

        Raises:
            InvalidRequest: No wallet is given.
            TierError: The tier does not include it.
        """
        given = {"userWallet": (_no_condition, user_wallet, "user_wallet")}
        answer: CategoriesAnswer = self._analytics("user_categories", given, extra, max_weight, _one(UserCategories))
        return answer

    def _analytics(
        self,
        method: str,
        given: Mapping[str, Check],
        extra: Extra,
        max_weight: int | None,
        read: Callable[[Any], Any],
        limit: int | None = None,
    ) -> Any:
        endpoint = ANALYTICS[method]
        name, key = endpoint["name"], endpoint["answer_key"]

        def asked() -> dict[str, Any]:
            parameters = pairs({wire: check(value, named) for wire, (check, value, named) in given.items()})
            return {
                "endpoint": name,
                "parameters": parameters + pairs(extra),
                "limit": rows(limit),
                "max_weight": weight_bound(max_weight),
            }

        return self._ask("analytics", settled(asked), lambda answer: read(answer.get(key)))


class _Planned(AnalyticsMethods[Plan, Plan, Plan, Plan, Plan]):
    """The analytics methods, which answer with their request instead of sending it."""

    def __init__(self, live: _engine.Client) -> None:
        self._live = live

    def _ask(self, call: str, arguments: Callable[[], Mapping[str, Any]], read: Callable[[Any], Any]) -> Plan:
        return plan_of(self._live.plan_analytics(**arguments()))


def plan_analytics(live: _engine.Client, method: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Plan:
    """The request of the analytics method of that name.

    Raises:
        InvalidRequest: An argument is not valid.
        TierError: The tier does not include it.
    """
    answer: Plan = getattr(_Planned(live), method)(*arguments, **named)
    return answer


def _no_condition(value: Any, name: str) -> str | None:
    """A wallet or an outcome token. A condition in the place of either, where it costs as much, answers nothing."""
    given = text(value, name)
    if given is not None and CONDITION.fullmatch(given):
        raise InvalidRequest(
            f"{name}: {given!r} is the id of a condition; give it to positions or market_summary as condition_id="
        )
    return given


def _offset(offset: Any, name: str) -> int | None:
    skipped = whole(offset, name)
    if skipped is not None and skipped < 0:
        raise InvalidRequest(f"{name}: {offset!r} is not a number of rows to skip")
    return skipped or None


def _order(sort_by: Any, name: str) -> str | None:
    order = text(sort_by, name)
    return order.upper() if order is not None and order.upper() in ORDERS else order


def _direction(sort_direction: Any, name: str) -> str | None:
    direction = text(sort_direction, name)
    if direction is None or direction.upper() in DIRECTIONS.values():
        return direction and direction.upper()
    if direction.lower() not in DIRECTIONS:
        raise InvalidRequest(f"{name}: {direction!r} is not one of {', '.join(DIRECTIONS)}")
    return DIRECTIONS[direction.lower()]


def _rows(kind: type[Record]) -> Callable[[Any], Records[Record]]:
    return lambda sent: Records([record(kind, row) for row in sent or ()], kind)


def _one(kind: type[Record]) -> Callable[[Any], Record | None]:
    return lambda sent: None if sent is None else record(kind, sent)
