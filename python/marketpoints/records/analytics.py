"""Typed records of the prediction-market analytics (specification, section 2.5). Ids stay texts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..common.display import card
from ..common.sparks import spark
from ..common.times import no_time
from ..results.arrow_tables import ColumnKind
from .tables import Pictured, Records, Table, numbers_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "CategoryRow",
    "MarketSummary",
    "OutcomePricing",
    "TraderProfile",
    "UserCategories",
    "UserPosition",
]


def percent(fraction: Any) -> Any:
    """A fraction in percent, without rounding noise: 0.07 is 7, not 7.000000000000001."""
    return float(Decimal(repr(fraction)) * 100) if isinstance(fraction, (int, float)) else fraction


@dataclass(frozen=True, eq=False, repr=False)
class TraderProfile(Pictured):
    """A wallet over all its positions. A field that the answer omits is 0 unless stated otherwise below.

    Attributes:
        wallet_address: Trader wallet.
        total_position_count: Tracked positions.
        open_position_count: Open positions.
        closed_position_count: Closed positions.
        latest_open_position_ts: Time of the latest open position, ``datetime64[ns]`` in UTC; NaT where the answer does
            not say.
        total_size: Tracked size in outcome tokens.
        total_realized_pnl: Realized profit and loss in USD.
        total_unrealized_pnl: Unrealized profit and loss in USD; NaN where the answer does not say (supplement,
            section 8: it was never seen).
        total_roi: Return on investment in percent; NaN likewise.
        win_rate_by_positions: Share of closed positions with a gain, 0 to 100.
        largest_win: Largest realized win in USD.
        largest_loss: Largest realized loss in USD, below 0.
        avg_holding_duration: Mean holding duration in seconds.
        total_open_pos_value: Value of open positions.
        total_closed_pos_value: Value of closed positions.
        extra: Fields that this version does not know, as sent.
    """

    SHOWN = ("wallet_address", "total_position_count", "total_realized_pnl", "total_roi", "win_rate_by_positions")

    wallet_address: str = ""
    total_position_count: int = 0
    open_position_count: int = 0
    closed_position_count: int = 0
    latest_open_position_ts: "np.datetime64" = field(default_factory=no_time)
    total_size: float = 0.0
    total_realized_pnl: float = 0.0
    total_unrealized_pnl: float = math.nan
    total_roi: float = math.nan
    win_rate_by_positions: float = 0.0
    largest_win: float = 0.0
    largest_loss: float = 0.0
    avg_holding_duration: int = 0
    total_open_pos_value: float = 0.0
    total_closed_pos_value: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False, repr=False)
class UserPosition(Pictured):
    """A wallet's position in one outcome token. A field that the answer omits is 0 or empty.

    Attributes:
        wallet_address: Trader wallet.
        asset_id: Outcome token, a decimal number of up to 78 digits as text.
        unrealized_size: Tokens still held.
        realized_size: Tokens sold, merged or redeemed.
        avg_price: Average entry price, 0 to 1.
        avg_exit_price: Average exit price, 0 to 1.
        realized_pnl: Realized profit and loss in USD.
        resolved_price: 1 for a winner; None both for a resolved loser and before the market is resolved.
        latest_open_ts: Time of the latest opening, ``datetime64[ns]`` in UTC; NaT where the answer does not say.
        prev_hold_duration: Seconds for which the closed position was held.
        buy_count: Purchases.
        sell_count: Sales.
        split_count: Splits of collateral into both outcomes.
        merge_count: Merges of both outcomes into collateral.
        transfer_in_count: Transfers received.
        transfer_out_count: Transfers sent.
        conversion_in_count: Conversions into this outcome.
        conversion_out_count: Conversions out of this outcome.
        market_name: Market title.
        outcome_name: Outcome label.
        category: Market category, as sent.
        sub_category: Market sub-category.
        condition_id: Market condition.
        extra: Fields that this version does not know, as sent.
    """

    SHOWN = ("wallet_address", "market_name", "outcome_name", "unrealized_size", "realized_size", "realized_pnl")

    wallet_address: str = ""
    asset_id: str = ""
    unrealized_size: float = 0.0
    realized_size: float = 0.0
    avg_price: float = 0.0
    avg_exit_price: float = 0.0
    realized_pnl: float = 0.0
    resolved_price: float | None = None
    latest_open_ts: "np.datetime64" = field(default_factory=no_time)
    prev_hold_duration: int = 0
    buy_count: int = 0
    sell_count: int = 0
    split_count: int = 0
    merge_count: int = 0
    transfer_in_count: int = 0
    transfer_out_count: int = 0
    conversion_in_count: int = 0
    conversion_out_count: int = 0
    market_name: str = ""
    outcome_name: str = ""
    category: str = ""
    sub_category: str = ""
    condition_id: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False, repr=False)
class OutcomePricing(Pictured):
    """One outcome's prices over all accounts.

    Attributes:
        condition_id: Market condition.
        token_id: Outcome token, a decimal number of up to 78 digits as text.
        outcome_name: Outcome label.
        weighted_avg_entry_price: Mean entry price, 0 to 1.
        weighted_avg_exit_price: Mean exit price, 0 to 1.
        open_pos_avg_price_distribution: float64 (101,): entry i counts the accounts whose average entry price lies in
            [i, i + 1) cents; empty where the answer has none. Read-only.
        closed_pos_avg_exit_price_distribution: The same for average exit prices.
        extra: Fields that this version does not know, as sent.
    """

    SHOWN = ("outcome_name", "weighted_avg_entry_price", "weighted_avg_exit_price", "token_id")

    condition_id: str = ""
    token_id: str = ""
    outcome_name: str = ""
    weighted_avg_entry_price: float = 0.0
    weighted_avg_exit_price: float = 0.0
    open_pos_avg_price_distribution: "npt.NDArray[np.float64]" = field(default_factory=lambda: numbers_of(()))
    closed_pos_avg_exit_price_distribution: "npt.NDArray[np.float64]" = field(default_factory=lambda: numbers_of(()))
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False, repr=False)
class MarketSummary(Pictured):
    """A market, or one outcome of it, over all accounts. A field that the answer omits is 0 or empty.

    Attributes:
        event_id: Event identifier.
        condition_id: Condition identifiers in the summary.
        total_open_positions: Open positions.
        total_closed_positions: Closed positions.
        total_cost_basis: Cost basis in USD.
        total_size: Traded size in outcome tokens.
        largest_open_position: Largest open position in outcome tokens.
        total_buy_count: Purchases.
        total_sell_count: Sales.
        total_split_count: Splits.
        total_merge_count: Merges.
        total_transfer_in_count: Transfers received.
        total_transfer_out_count: Transfers sent.
        total_conversion_in_count: Conversions in.
        total_conversion_out_count: Conversions out.
        net_transfer_flow: Transfers received less those sent.
        net_conversion_flow: Conversions in less those out.
        median_hold_duration: Median holding duration in seconds.
        mean_hold_duration: Mean holding duration in seconds.
        realized_pnl_min: Smallest realized profit and loss in USD.
        realized_pnl_max: Largest realized profit and loss in USD.
        realized_pnl_distribution: float64 (100,): percentiles p0 to p99 of the realized profit and loss in USD; empty
            where the answer has none. Read-only.
        win_rate: Share of closed positions with a gain, 0 to 100 as in :class:`TraderProfile`; the wire has a fraction.
        avg_buy_count: Purchases a position.
        avg_sell_count: Sales a position.
        avg_size: Mean size of a position in outcome tokens.
        outcome_pricing: One row for each outcome.
        extra: Fields that this version does not know, as sent.
    """

    event_id: str = ""
    condition_id: tuple[str, ...] = ()
    total_open_positions: int = 0
    total_closed_positions: int = 0
    total_cost_basis: float = 0.0
    total_size: float = 0.0
    largest_open_position: float = 0.0
    total_buy_count: int = 0
    total_sell_count: int = 0
    total_split_count: int = 0
    total_merge_count: int = 0
    total_transfer_in_count: int = 0
    total_transfer_out_count: int = 0
    total_conversion_in_count: int = 0
    total_conversion_out_count: int = 0
    net_transfer_flow: int = 0
    net_conversion_flow: int = 0
    median_hold_duration: float = 0.0
    mean_hold_duration: float = 0.0
    realized_pnl_min: float = 0.0
    realized_pnl_max: float = 0.0
    realized_pnl_distribution: "npt.NDArray[np.float64]" = field(default_factory=lambda: numbers_of(()))
    win_rate: float = field(default=0.0, metadata={"read": percent})
    avg_buy_count: float = 0.0
    avg_sell_count: float = 0.0
    avg_size: float = 0.0
    outcome_pricing: Records[OutcomePricing] = field(default_factory=lambda: Records(()))
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def distributions(self) -> Table:
        """Every distribution in one tidy :class:`~marketpoints.Table`, a row for each value.

        Columns: ``distribution``, the attribute's name; ``token_id`` and ``outcome_name``, empty for the whole market;
        ``bin``, int64: the percentile, or the first cent of the price; ``value``, float64: USD, or accounts.
        """
        import numpy as np

        parts = [("realized_pnl_distribution", "", "", self.realized_pnl_distribution)]
        for name in ("open_pos_avg_price_distribution", "closed_pos_avg_exit_price_distribution"):
            parts += [(name, row.token_id, row.outcome_name, getattr(row, name)) for row in self.outcome_pricing]
        names, tokens, outcomes, values = zip(*parts, strict=True)
        lengths = [len(one) for one in values]
        texts = {"distribution": names, "token_id": tokens, "outcome_name": outcomes}
        repeated = {name: np.repeat(np.array(every, dtype=object), lengths) for name, every in texts.items()}
        bins = np.concatenate([np.arange(length, dtype=np.int64) for length in lengths])
        return Table(repeated | {"bin": bins, "value": np.concatenate(values)})

    def _repr_html_(self) -> str:
        return card("MarketSummary", self._facts(), spark(self.realized_pnl_distribution, name="percentiles in USD:"))

    def _facts(self) -> dict[str, str]:
        return {
            "event": self.event_id,
            "outcomes": ", ".join(row.outcome_name for row in self.outcome_pricing),
            "positions": f"{self.total_open_positions:,} open, {self.total_closed_positions:,} closed",
            "size": f"{self.total_size:,.2f}",
            "win rate": f"{self.win_rate:.1f} %",
        }


@dataclass(frozen=True, eq=False, repr=False)
class CategoryRow(Pictured):
    """One category of a wallet.

    Attributes:
        market_category: Category, as sent: it may carry a trailing space.
        market_sub_category: Sub-category.
        count: Positions.
        realized_size: Tokens sold, merged or redeemed.
        unrealized_size: Tokens still held.
        realized_pnl: Realized profit and loss in USD.
        extra: Fields that this version does not know, as sent.
    """

    SHOWN = ("market_category", "market_sub_category", "count", "realized_pnl")

    market_category: str = ""
    market_sub_category: str = ""
    count: int = 0
    realized_size: float = 0.0
    unrealized_size: float = 0.0
    realized_pnl: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False, repr=False)
class UserCategories(Pictured):
    """A wallet's positions by category; its frames have a row for each category.

    Attributes:
        wallet_address: Trader wallet.
        category_breakdown: One row for each category and sub-category, most positions first.
        extra: Fields that this version does not know, as sent.
    """

    wallet_address: str = ""
    category_breakdown: Records[CategoryRow] = field(default_factory=lambda: Records(()))
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def _tabled(cls, records: Sequence[Any]) -> dict[str, tuple[ColumnKind, Sequence[Any]]]:
        """A row for each category, with its wallet."""
        rows = [(record.wallet_address, row) for record in records for row in record.category_breakdown]
        wallets: dict[str, tuple[ColumnKind, Sequence[Any]]] = {
            "wallet_address": ("text", [wallet for wallet, _ in rows])
        }
        return wallets | CategoryRow._tabled([row for _, row in rows])

    def _facts(self) -> dict[str, str]:
        facts = {"wallet": self.wallet_address}
        return facts | {
            f"{row.market_category.strip()}/{row.market_sub_category}": f"{row.count:,}"
            for row in self.category_breakdown
        }
