//! Positions of an answer and their order; answers without positions.

use std::collections::BTreeSet;

use super::{NOW, ROWS, ask, table};
use crate::clock::{SECOND, UnixNanos};
use crate::encode;
use crate::market::engine::Market;
use crate::protocol::analytics::UserPosition;
use crate::protocol::{AnalyticsEndpoint, AnalyticsQuery};

#[test]
fn a_wallets_positions_come_by_profit_and_a_markets_by_size() {
    for rows in ROWS.iter() {
        assert!(rows.is_sorted_by(|left, right| left.realized_pnl >= right.realized_pnl));
    }
    let row = &ROWS[3][0];
    let pages = |query: &str| -> Vec<UserPosition> {
        let page = |offset: usize| {
            ask(AnalyticsEndpoint::Positions, &format!("{query}&limit=100&offset={offset}")).user_positions
        };
        [page(0), page(100)].concat()
    };
    for query in [format!("assetId={}", row.asset_id), format!("conditionId={}", row.condition_id)] {
        let found = pages(&query);
        assert!(found.len() > 100 && found.is_sorted_by(|left, right| left.unrealized_size >= right.unrealized_size));
        assert!(found.iter().all(|one| one.condition_id == row.condition_id));
        let wallets: BTreeSet<_> = found.iter().map(|one| (&one.wallet_address, &one.asset_id)).collect();
        assert_eq!(wallets.len(), found.len(), "no row twice");
        let first = ask(AnalyticsEndpoint::Positions, &query).user_positions;
        assert_eq!(first, found[..20], "20 rows by default");
        let some = ask(AnalyticsEndpoint::Positions, &format!("{query}&limit=7&offset=13")).user_positions;
        assert_eq!(some, found[13..20]);
    }
}

#[test]
fn a_wallet_may_be_narrowed_to_an_outcome_or_a_market() {
    let rows = &ROWS[3];
    let wallet = &rows[0].wallet_address;
    for row in rows {
        let by = |name: &str, value: &str| {
            ask(AnalyticsEndpoint::Positions, &format!("userWallet={wallet}&{name}={value}")).user_positions
        };
        assert_eq!(by("assetId", &row.asset_id), std::slice::from_ref(row));
        let same: Vec<UserPosition> = rows.iter().filter(|one| one.condition_id == row.condition_id).cloned().collect();
        assert_eq!(by("conditionId", &row.condition_id), same);
    }
}

#[test]
fn strangers_get_an_empty_answer() {
    let wallet = &table().wallets()[0];
    for (endpoint, query) in [
        (AnalyticsEndpoint::TraderProfile, "userWallet=0xnobody".to_owned()),
        (AnalyticsEndpoint::UserCategories, "userWallet=0xnobody".to_owned()),
        (AnalyticsEndpoint::Positions, "userWallet=0xnobody".to_owned()),
        (AnalyticsEndpoint::Positions, "assetId=1".to_owned()),
        (AnalyticsEndpoint::Positions, "conditionId=0x1".to_owned()),
        (AnalyticsEndpoint::Positions, format!("userWallet={wallet}&assetId=1")),
        (AnalyticsEndpoint::Positions, format!("userWallet={wallet}&conditionId=0x1")),
        (AnalyticsEndpoint::MarketSummary, "assetId=1".to_owned()),
        (AnalyticsEndpoint::MarketSummary, "conditionId=0x1".to_owned()),
        (AnalyticsEndpoint::Leaderboard, "primaryCategory=Weaving".to_owned()),
        (AnalyticsEndpoint::Leaderboard, "minTotalTradeCount=101".to_owned()),
    ] {
        assert_eq!(encode::record(&ask(endpoint, &query)).unwrap(), b"{}", "{query}");
    }
}

#[test]
fn the_engine_keeps_the_rules_itself() {
    let market = Market::demo(0);
    let ask = |endpoint, query: &str| {
        market.analytics(&AnalyticsQuery::parse(endpoint, query).unwrap(), UnixNanos(NOW * SECOND))
    };
    let problem = |endpoint, query: &str| ask(endpoint, query).unwrap_err().to_string();
    assert!(problem(AnalyticsEndpoint::Positions, "").contains("userWallet"));
    assert!(problem(AnalyticsEndpoint::Leaderboard, "offset=101").contains("0 to 100"));
    assert!(problem(AnalyticsEndpoint::Leaderboard, "winrate=5").contains("did you mean winRate?"));
    assert_eq!(ask(AnalyticsEndpoint::Leaderboard, "").unwrap().trader_profiles.len(), 20);
}
