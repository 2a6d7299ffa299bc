//! The analytics records of section 2.5: nested fields in `snake_case`, zeros and empties left out when written and read
//! as zero or empty when absent (section 2.1, supplement 2). Zeros inside arrays stay. Asset ids are strings of up to 78
//! digits, never numbers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::records::{Timestamp, integer, is_nothing, is_zero, numbers};

/// A wallet over all its positions: an element of `traderProfiles`, the value of `traderProfile` (section 2.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TraderProfile {
    /// Trader wallet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wallet_address: String,
    /// Tracked positions.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_position_count: i64,
    /// Open positions.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub open_position_count: i64,
    /// Closed positions.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub closed_position_count: i64,
    /// When the latest open position was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_open_position_ts: Option<Timestamp>,
    /// Tracked size, in outcome tokens.
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_size: f64,
    /// Realized profit and loss, USD.
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_realized_pnl: f64,
    /// Unrealized profit and loss, USD; absent in every recorded answer (supplement 8).
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_unrealized_pnl: f64,
    /// Return on investment, percent; absent in every recorded answer (supplement 8).
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_roi: f64,
    /// Closed positions with a gain, percent of the closed ones.
    #[serde(skip_serializing_if = "is_nothing")]
    pub win_rate_by_positions: f64,
    /// Largest realized win, USD.
    #[serde(skip_serializing_if = "is_nothing")]
    pub largest_win: f64,
    /// Largest realized loss, USD, below zero.
    #[serde(skip_serializing_if = "is_nothing")]
    pub largest_loss: f64,
    /// Mean holding duration, seconds.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub avg_holding_duration: i64,
    /// Value of open positions.
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_open_pos_value: f64,
    /// Value of closed positions.
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_closed_pos_value: f64,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A wallet's position in one outcome token: an element of `userPositions` (section 2.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UserPosition {
    /// Trader wallet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wallet_address: String,
    /// Outcome token, a decimal number of up to 78 digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub asset_id: String,
    /// Tokens still held.
    #[serde(skip_serializing_if = "is_nothing")]
    pub unrealized_size: f64,
    /// Tokens sold, merged or redeemed.
    #[serde(skip_serializing_if = "is_nothing")]
    pub realized_size: f64,
    /// Average entry price, 0 to 1.
    #[serde(skip_serializing_if = "is_nothing")]
    pub avg_price: f64,
    /// Average exit price, 0 to 1.
    #[serde(skip_serializing_if = "is_nothing")]
    pub avg_exit_price: f64,
    /// Realized profit and loss, USD.
    #[serde(skip_serializing_if = "is_nothing")]
    pub realized_pnl: f64,
    /// 1 for a winner; absent both for a loser and before the market is resolved (supplement 2).
    #[serde(skip_serializing_if = "is_nothing")]
    pub resolved_price: f64,
    /// When the open position was opened, Unix seconds.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub latest_open_ts: i64,
    /// How long the closed position was held, seconds.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub prev_hold_duration: i64,
    /// Purchases.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub buy_count: i64,
    /// Sales.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub sell_count: i64,
    /// Splits of collateral into both outcomes.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub split_count: i64,
    /// Merges of both outcomes into collateral.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub merge_count: i64,
    /// Transfers received.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub transfer_in_count: i64,
    /// Transfers sent.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub transfer_out_count: i64,
    /// Conversions into this outcome.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub conversion_in_count: i64,
    /// Conversions out of this outcome.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub conversion_out_count: i64,
    /// Market title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub market_name: String,
    /// Outcome label.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome_name: String,
    /// Market category, as sent: it may carry a trailing space.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// Market sub-category.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_category: String,
    /// Market condition, `0x` and 64 hexadecimal digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition_id: String,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A market, or one outcome of it, over all accounts: the value of `marketSummary` (section 2.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MarketSummary {
    /// Event identifier.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event_id: String,
    /// Conditions in the summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub condition_id: Vec<String>,
    /// Open positions.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_open_positions: i64,
    /// Closed positions.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_closed_positions: i64,
    /// Cost basis, USD.
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_cost_basis: f64,
    /// Traded size, in outcome tokens.
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_size: f64,
    /// Largest open position, in outcome tokens.
    #[serde(skip_serializing_if = "is_nothing")]
    pub largest_open_position: f64,
    /// Purchases.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_buy_count: i64,
    /// Sales.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_sell_count: i64,
    /// Splits of collateral into both outcomes.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_split_count: i64,
    /// Merges of both outcomes into collateral.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_merge_count: i64,
    /// Transfers received.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_transfer_in_count: i64,
    /// Transfers sent.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_transfer_out_count: i64,
    /// Conversions into this outcome.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_conversion_in_count: i64,
    /// Conversions out of this outcome.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub total_conversion_out_count: i64,
    /// Transfers received less transfers sent.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub net_transfer_flow: i64,
    /// Conversions in less conversions out.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub net_conversion_flow: i64,
    /// Median holding duration, seconds.
    #[serde(skip_serializing_if = "is_nothing")]
    pub median_hold_duration: f64,
    /// Mean holding duration, seconds.
    #[serde(skip_serializing_if = "is_nothing")]
    pub mean_hold_duration: f64,
    /// Smallest realized profit and loss, USD.
    #[serde(skip_serializing_if = "is_nothing")]
    pub realized_pnl_min: f64,
    /// Largest realized profit and loss, USD.
    #[serde(skip_serializing_if = "is_nothing")]
    pub realized_pnl_max: f64,
    /// Percentiles p0 to p99 of the realized profit and loss, USD: 100 entries.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "numbers")]
    pub realized_pnl_distribution: Vec<f64>,
    /// Closed positions with a gain, as a fraction of the closed ones (supplement 8).
    #[serde(skip_serializing_if = "is_nothing")]
    pub win_rate: f64,
    /// Purchases a position.
    #[serde(skip_serializing_if = "is_nothing")]
    pub avg_buy_count: f64,
    /// Sales a position.
    #[serde(skip_serializing_if = "is_nothing")]
    pub avg_sell_count: f64,
    /// Mean size of a position, in outcome tokens.
    #[serde(skip_serializing_if = "is_nothing")]
    pub avg_size: f64,
    /// One row for each outcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcome_pricing: Vec<OutcomePricing>,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One outcome's prices over all accounts: a row of `outcome_pricing` (section 2.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomePricing {
    /// Market condition.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition_id: String,
    /// Outcome token, a decimal number of up to 78 digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token_id: String,
    /// Outcome label.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome_name: String,
    /// Mean entry price weighted by size, 0 to 1.
    #[serde(skip_serializing_if = "is_nothing")]
    pub weighted_avg_entry_price: f64,
    /// Mean exit price weighted by realized size, 0 to 1.
    #[serde(skip_serializing_if = "is_nothing")]
    pub weighted_avg_exit_price: f64,
    /// 101 counts: entry i has the open accounts with an average entry price in [i, i+1) cents.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "numbers")]
    pub open_pos_avg_price_distribution: Vec<f64>,
    /// 101 counts: the same for the average exit price of closed accounts.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "numbers")]
    pub closed_pos_avg_exit_price_distribution: Vec<f64>,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A wallet's positions by category: the value of `userCategories` (section 2.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UserCategories {
    /// Trader wallet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wallet_address: String,
    /// One row for each category and sub-category, most positions first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub category_breakdown: Vec<CategoryRow>,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One category of a wallet: a row of `category_breakdown` (section 2.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CategoryRow {
    /// Category, as sent: it may carry a trailing space (supplement 8).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub market_category: String,
    /// Sub-category.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub market_sub_category: String,
    /// Positions.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub count: i64,
    /// Tokens sold, merged or redeemed.
    #[serde(skip_serializing_if = "is_nothing")]
    pub realized_size: f64,
    /// Tokens still held.
    #[serde(skip_serializing_if = "is_nothing")]
    pub unrealized_size: f64,
    /// Realized profit and loss, USD.
    #[serde(skip_serializing_if = "is_nothing")]
    pub realized_pnl: f64,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Answer of an analytics endpoint: the one key of its row of [`super::ANALYTICS`], or `{}` if the wallet or market is
/// unknown. Top-level keys are camelCase (section 2.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AnalyticsAnswer {
    /// Answer of `/leaderboard`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trader_profiles: Vec<TraderProfile>,
    /// Answer of `/trader-profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trader_profile: Option<TraderProfile>,
    /// Answer of `/positions`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_positions: Vec<UserPosition>,
    /// Answer of `/market-summary`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market_summary: Option<MarketSummary>,
    /// Answer of `/user-categories`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_categories: Option<UserCategories>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_left_out_and_read_back_as_zeros_and_strangers_are_kept() {
        let text = r#"{"traderProfile":{"wallet_address":"0xab","open_position_count":2,"latest_open_position_ts":{"s":5},"total_size":0.5,"newer":[1]}}"#;
        let answer: AnalyticsAnswer = serde_json::from_str(text).unwrap();
        let profile = answer.trader_profile.as_ref().unwrap();
        assert_eq!((profile.open_position_count, profile.closed_position_count, profile.total_roi), (2, 0, 0.0));
        assert_eq!(profile.latest_open_position_ts, Some(Timestamp { s: 5, ns: 0 }));
        assert_eq!(profile.extra["newer"][0], 1);
        assert_eq!(serde_json::to_string(&answer).unwrap(), text);
        assert_eq!(serde_json::to_string(&AnalyticsAnswer::default()).unwrap(), "{}");
    }

    #[test]
    fn integers_may_carry_an_exponent_and_ids_stay_text() {
        let id = "111299642775108135148113523472260651188510255643046337855221699185339755388694";
        let text = format!(r#"{{"asset_id":"{id}","prev_hold_duration":1.4305671e+07,"unrealized_size":5}}"#);
        let position: UserPosition = serde_json::from_str(&text).unwrap();
        assert_eq!((position.asset_id.as_str(), position.prev_hold_duration), (id, 14_305_671));
        assert_eq!(position.unrealized_size, 5.0);
    }
}
