//! Prediction-market analytics: the five endpoints as one table, and their records (service.md 2.5 and 4.3,
//! supplement 8). Their queries stand with the others, in [`crate::protocol::query`].

mod records;

use super::tier::Tier;
use super::units::Weight;

pub use records::{
    AnalyticsAnswer, CategoryRow, MarketSummary, OutcomePricing, TraderProfile, UserCategories, UserPosition,
};

/// Base path of the analytics endpoints (section 4.3).
pub const ANALYTICS_PREFIX: &str = "/v1/prediction/analytics";
/// Lowest tier that may ask them (section 5).
pub const ANALYTICS_TIER: Tier = Tier::Advanced;
/// Rows of a page when `limit` is absent (section 4.3).
pub const DEFAULT_LIMIT: i64 = 20;
/// Most rows of a page (section 4.3).
pub const MAX_LIMIT: i64 = 100;
/// Farthest row, counted from 0, at which a page may start (section 4.3).
pub const MAX_OFFSET: i64 = 100;
/// [`MAX_OFFSET`] of newer services (supplement 8).
pub const NEWER_MAX_OFFSET: i64 = 10_000;

/// An analytics endpoint (section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnalyticsEndpoint {
    /// Ranked trader profiles.
    Leaderboard,
    /// One wallet's account.
    TraderProfile,
    /// Positions of a wallet or of a market.
    Positions,
    /// One market, or one outcome of it, over all accounts.
    MarketSummary,
    /// One wallet's positions by category.
    UserCategories,
}

/// One row of the table of analytics endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalyticsSpec {
    /// The endpoint.
    pub endpoint: AnalyticsEndpoint,
    /// Last part of the path, after the prefix.
    pub name: &'static str,
    /// Whole path.
    pub path: &'static str,
    /// Fixed weight of a request (section 8.5); it does not follow the formula of `/v1/points`.
    pub weight: Weight,
    /// Names of the parameters, in the specification's order.
    pub parameters: &'static [&'static str],
    /// Key of the answer that holds the record or records.
    pub answer_key: &'static str,
}

/// The endpoints of section 4.3, in its order.
pub const ANALYTICS: [AnalyticsSpec; 5] = [
    AnalyticsSpec {
        endpoint: AnalyticsEndpoint::Leaderboard,
        name: "leaderboard",
        path: "/v1/prediction/analytics/leaderboard",
        weight: Weight(60),
        parameters: &[
            "limit",
            "offset",
            "roiPercentage",
            "minTotalTradeCount",
            "maxTotalTradeCount",
            "winRate",
            "avgPositionSize",
            "totalVolume",
            "primaryCategory",
            "openPositionCount",
            "timeSinceLastTrade",
            "avgHoldingTime",
            "sortBy",
            "sortDirection",
        ],
        answer_key: "traderProfiles",
    },
    AnalyticsSpec {
        endpoint: AnalyticsEndpoint::TraderProfile,
        name: "trader-profile",
        path: "/v1/prediction/analytics/trader-profile",
        weight: Weight(100),
        parameters: &["userWallet"],
        answer_key: "traderProfile",
    },
    AnalyticsSpec {
        endpoint: AnalyticsEndpoint::Positions,
        name: "positions",
        path: "/v1/prediction/analytics/positions",
        weight: Weight(40),
        parameters: &["userWallet", "assetId", "conditionId", "limit", "offset"],
        answer_key: "userPositions",
    },
    AnalyticsSpec {
        endpoint: AnalyticsEndpoint::MarketSummary,
        name: "market-summary",
        path: "/v1/prediction/analytics/market-summary",
        weight: Weight(60),
        parameters: &["assetId", "conditionId"],
        answer_key: "marketSummary",
    },
    AnalyticsSpec {
        endpoint: AnalyticsEndpoint::UserCategories,
        name: "user-categories",
        path: "/v1/prediction/analytics/user-categories",
        weight: Weight(40),
        parameters: &["userWallet"],
        answer_key: "userCategories",
    },
];

impl AnalyticsEndpoint {
    /// The endpoint's row.
    pub const fn spec(self) -> &'static AnalyticsSpec {
        &ANALYTICS[self as usize]
    }

    /// Looks an endpoint up by the last part of its path.
    pub fn find(name: &str) -> Option<Self> {
        ANALYTICS.iter().find(|row| row.name == name).map(|row| row.endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_section_4_3() {
        let rows: Vec<_> =
            ANALYTICS.iter().map(|row| (row.name, row.weight.0, row.parameters.len(), row.answer_key)).collect();
        assert_eq!(
            rows,
            [
                ("leaderboard", 60, 14, "traderProfiles"),
                ("trader-profile", 100, 1, "traderProfile"),
                ("positions", 40, 5, "userPositions"),
                ("market-summary", 60, 2, "marketSummary"),
                ("user-categories", 40, 1, "userCategories"),
            ]
        );
        for row in &ANALYTICS {
            assert_eq!(row.endpoint.spec(), row);
            assert_eq!(AnalyticsEndpoint::find(row.name), Some(row.endpoint));
            assert_eq!(row.path, format!("{ANALYTICS_PREFIX}/{}", row.name));
        }
        assert_eq!(AnalyticsEndpoint::find("positions/"), None);
    }
}
