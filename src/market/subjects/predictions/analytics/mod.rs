//! Prediction-market analytics (service.md 2.5 and 4.3): everything is computed from one table of positions, so that the
//! five endpoints agree with each other.

mod account;
mod leaderboard;
mod statistics;
mod summary;
#[cfg(test)]
mod tests;

use crate::clock::UnixNanos;
use crate::market::raw::{Position, PositionTable};
use crate::protocol::query::PositionsQuery;
use crate::protocol::{AnalyticsAnswer, AnalyticsAsk};

/// Answers a query from a table as of `now`, which only `timeSinceLastTrade` looks at. A wallet or
/// market that the table does not know gives an empty answer.
pub(in crate::market) fn answer(table: &PositionTable, ask: &AnalyticsAsk, now: UnixNanos) -> AnalyticsAnswer {
    let mut answer = AnalyticsAnswer::default();
    match ask {
        AnalyticsAsk::Leaderboard(query) => answer.trader_profiles = leaderboard::rank(table, query, now),
        AnalyticsAsk::TraderProfile(wallet) => {
            answer.trader_profile = table.wallet(wallet).map(|wallet| account::account(table, wallet).profile);
        }
        AnalyticsAsk::Positions(query) => {
            let (skipped, most) = query.page.bounds();
            let rows = select(table, query).into_iter().skip(skipped).take(most);
            answer.user_positions = rows.map(|row| table.record(row)).collect();
        }
        AnalyticsAsk::MarketSummary(query) => {
            answer.market_summary = match (&query.asset_id, &query.condition_id) {
                (Some(asset), _) => table.outcome(asset).map(|outcome| summary::of(table, &[outcome])),
                (None, Some(condition)) => {
                    table.event(condition).map(|event| summary::of(table, &table.outcomes_of(event)))
                }
                (None, None) => None,
            };
        }
        AnalyticsAsk::UserCategories(wallet) => {
            answer.user_categories = table.wallet(wallet).map(|wallet| account::categories(table, wallet));
        }
    }
    answer
}

/// The positions of a query: a wallet's by realized profit and loss, a market's by size still held, the largest first.
fn select<'a>(table: &'a PositionTable, query: &PositionsQuery) -> Vec<&'a Position> {
    let event = query.condition_id.as_ref().map(|condition| table.event(condition));
    let outcome = query.asset_id.as_ref().map(|asset| table.outcome(asset));
    let Some(wallet) = &query.user_wallet else {
        return match (outcome, event) {
            (Some(Some(outcome)), _) => table.held(&[outcome]),
            (None, Some(Some(event))) => table.held(&table.outcomes_of(event)),
            _ => Vec::new(),
        };
    };
    let Some(wallet) = table.wallet(wallet) else { return Vec::new() };
    let fits = |row: &&Position| {
        outcome.is_none_or(|wanted| wanted == Some(row.outcome))
            && event.is_none_or(|wanted| wanted == Some(table.outcomes()[row.outcome].event))
    };
    table.of_wallet(wallet).filter(fits).collect()
}
