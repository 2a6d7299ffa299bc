//! Queries of option summaries, token supply and prediction markets on the demo market, and on a source without them.

use std::sync::LazyLock;

use crate::clock::{SECOND, UnixNanos};
use crate::columns::Series;
use crate::market::engine::Market;
use crate::market::query::error::MarketError;
use crate::protocol::PointsQuery;

mod bare;
mod listing;
mod options;
mod predictions;
mod supply;

const NOW: i64 = 1_776_880_830 * SECOND; // 2026-04-22T18:00:30Z, a Wednesday
const DAY: i64 = 86_400;

/// One for all tests: what it has made once it keeps.
static DEMO: LazyLock<Market> = LazyLock::new(|| Market::demo(0));

fn ask(query: &str, now: i64) -> Result<Vec<Series>, MarketError> {
    DEMO.points(&PointsQuery::parse(query).unwrap(), UnixNanos(now))
}

fn series(query: &str, now: i64) -> Series {
    let mut all = ask(query, now).unwrap();
    assert_eq!(all.len(), 1, "{query}");
    all.remove(0)
}

fn refusal(query: &str) -> String {
    match ask(query, NOW) {
        Err(MarketError::Invalid(problem)) => problem.to_string(),
        other => panic!("{query}: {other:?}"),
    }
}
