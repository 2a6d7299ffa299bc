//! Agreement: what one endpoint tells is computed again here from the rows of another.

use std::sync::{Arc, LazyLock};

use super::answer;
use crate::clock::{SECOND, UnixNanos};
use crate::market::raw::{PositionTable, PredictionFeed};
use crate::market::sources::demo::Demo;
use crate::protocol::analytics::{TraderProfile, UserPosition};
use crate::protocol::query::Spelling;
use crate::protocol::{AnalyticsAnswer, AnalyticsAsk, AnalyticsEndpoint, AnalyticsQuery};

mod agreement;
mod leaderboard;
mod recorded;
mod selection;

const NOW: i64 = 1_776_880_800;

static DEMO: LazyLock<Demo> = LazyLock::new(|| Demo::new(0));
/// Every wallet's rows, as `/positions` tells them.
static ROWS: LazyLock<Vec<Vec<UserPosition>>> = LazyLock::new(|| {
    let rows = |wallet: &String| ask(AnalyticsEndpoint::Positions, &format!("userWallet={wallet}&limit=100"));
    table().wallets().iter().map(|wallet| rows(wallet).user_positions).collect()
});
static PROFILES: LazyLock<Vec<TraderProfile>> = LazyLock::new(|| {
    let profile =
        |wallet: &String| answer(table(), &AnalyticsAsk::TraderProfile(wallet.clone()), UnixNanos(0)).trader_profile;
    table().wallets().iter().filter_map(profile).collect()
});

fn table() -> &'static PositionTable {
    static TABLE: LazyLock<Arc<PositionTable>> =
        LazyLock::new(|| DEMO.markets.venue.positions(UnixNanos(NOW * SECOND)).unwrap());
    &TABLE
}

fn ask(endpoint: AnalyticsEndpoint, query: &str) -> AnalyticsAnswer {
    let query = AnalyticsQuery::parse(endpoint, query).unwrap();
    query.check(Spelling::Wire).unwrap();
    query.check_offset().unwrap();
    answer(table(), &query.ask, UnixNanos(NOW * SECOND))
}

fn open(row: &UserPosition) -> bool {
    row.unrealized_size > 0.0
}
