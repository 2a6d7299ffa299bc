//! The leaderboard's filters and orders, each against its definition.

use std::collections::HashMap;

use super::{NOW, PROFILES, ROWS, ask, open, table};
use crate::clock::{SECOND, UnixNanos};
use crate::market::subjects::predictions::analytics::answer;
use crate::protocol::analytics::TraderProfile;
use crate::protocol::query::{LeaderboardQuery, LeaderboardSort};
use crate::protocol::{AnalyticsAsk, AnalyticsEndpoint, SortDirection};

/// Addresses of the leaderboard's first hundred.
fn board(query: &str) -> Vec<String> {
    let rows = ask(AnalyticsEndpoint::Leaderboard, &format!("{query}&limit=100")).trader_profiles;
    rows.into_iter().map(|row| row.wallet_address).collect()
}

/// The answer by its definition: filter all profiles, order them, take a hundred.
fn expected(fits: impl Fn(&TraderProfile) -> bool, key: impl Fn(&TraderProfile) -> f64) -> Vec<String> {
    let mut rows: Vec<&TraderProfile> = PROFILES.iter().filter(|row| fits(row)).collect();
    rows.sort_by(|left, right| left.wallet_address.cmp(&right.wallet_address));
    rows.sort_by(|left, right| key(right).partial_cmp(&key(left)).unwrap());
    rows.into_iter().take(100).map(|row| row.wallet_address.clone()).collect()
}

fn wins(profile: &TraderProfile) -> f64 {
    let place = table().wallets().iter().position(|wallet| *wallet == profile.wallet_address).unwrap();
    ROWS[place].iter().filter(|row| !open(row) && row.realized_pnl > 0.0).count() as f64
}

#[test]
fn the_leaderboard_has_every_order() {
    let all = |_: &TraderProfile| true;
    let by_profit = expected(all, |row| row.total_realized_pnl);
    assert_eq!(board(""), by_profit);
    let default = ask(AnalyticsEndpoint::Leaderboard, "").trader_profiles;
    assert_eq!(default.len(), 20);
    assert!(default.iter().all(|row| PROFILES.contains(row)), "rows are whole profiles");
    for (name, sort) in LeaderboardSort::NAMES {
        let key = |row: &TraderProfile| match sort {
            LeaderboardSort::RealizedPnl => row.total_realized_pnl,
            LeaderboardSort::Roi => row.total_roi,
            LeaderboardSort::WinCount => wins(row),
            LeaderboardSort::WinRate => row.win_rate_by_positions,
            LeaderboardSort::TotalSize => row.total_size,
            LeaderboardSort::TotalPositionCount => row.total_position_count as f64,
        };
        let descending = expected(all, key);
        assert_eq!(board(&format!("sortBy={name}")), descending, "{name}");
        assert_eq!(board(&format!("sortBy={name}&sortDirection=SORT_DIRECTION_DESC")), descending, "{name}");
        let ascending = expected(all, |row| -key(row));
        assert_eq!(board(&format!("sortBy={name}&sortDirection=SORT_DIRECTION_ASC")), ascending, "{name}");
    }
    assert_eq!(board("offset=100")[0], {
        let mut rows: Vec<&TraderProfile> = PROFILES.iter().collect();
        rows.sort_by(|left, right| right.total_realized_pnl.partial_cmp(&left.total_realized_pnl).unwrap());
        rows[100].wallet_address.clone()
    });
}

#[test]
fn the_leaderboard_has_every_filter_and_bounds_are_inclusive() {
    type Fits<'a> = Box<dyn Fn(&TraderProfile) -> bool + 'a>;
    let middle = &PROFILES[7];
    let mean = |row: &TraderProfile| row.total_size / row.total_position_count as f64;
    let (rate, size, count) = (middle.win_rate_by_positions, middle.total_size, middle.total_position_count);
    let (average, held) = (mean(middle), middle.avg_holding_duration);
    let cases: Vec<(String, Fits)> = vec![
        ("roiPercentage=5".into(), Box::new(|row| row.total_roi >= 5.0)),
        ("roiPercentage=-5".into(), Box::new(|row| row.total_roi >= -5.0)),
        (format!("minTotalTradeCount={count}"), Box::new(|row| row.total_position_count >= count)),
        (format!("maxTotalTradeCount={count}"), Box::new(|row| row.total_position_count <= count)),
        (format!("winRate={rate}"), Box::new(|row| row.win_rate_by_positions >= rate)),
        (format!("avgPositionSize={average}"), Box::new(move |row| mean(row) >= average)),
        (format!("totalVolume={size}"), Box::new(|row| row.total_size >= size)),
        ("openPositionCount=6".into(), Box::new(|row| row.open_position_count >= 6)),
        (format!("avgHoldingTime={held}"), Box::new(|row| row.avg_holding_duration >= held)),
        (
            "minTotalTradeCount=10&maxTotalTradeCount=20&roiPercentage=1".into(),
            Box::new(|row| (10..=20).contains(&row.total_position_count) && row.total_roi >= 1.0),
        ),
    ];
    for (query, fits) in cases {
        let found = expected(&fits, |row| row.total_realized_pnl);
        assert!(!found.is_empty() && found.len() < 500, "{query} tells nothing");
        assert!(PROFILES.iter().any(|row| !fits(row)), "{query} keeps everybody");
        assert_eq!(board(&query), found, "{query}");
    }
}

#[test]
fn a_category_chooses_traders_and_leaves_their_numbers_whole() {
    for category in ["Crypto", "Culture", "Culture+"] {
        let wanted = category.trim_end_matches('+');
        let trades = |row: &TraderProfile| {
            let place = PROFILES.iter().position(|one| one == row).unwrap();
            ROWS[place].iter().any(|position| position.category.trim() == wanted)
        };
        let rows = ask(AnalyticsEndpoint::Leaderboard, &format!("primaryCategory={category}&limit=100"));
        let found: Vec<String> = rows.trader_profiles.iter().map(|row| row.wallet_address.clone()).collect();
        assert_eq!(found, expected(trades, |row| row.total_realized_pnl), "{category}");
        assert!(rows.trader_profiles.iter().all(|row| PROFILES.contains(row)));
    }
}

#[test]
fn the_time_since_the_latest_trade_follows_the_clock() {
    let mut latest: HashMap<&str, i64> = HashMap::new();
    for row in table().positions() {
        let time = latest.entry(&table().wallets()[row.wallet]).or_default();
        *time = row.last_trade.0.max(*time);
    }
    let mut ages: Vec<i64> = latest.values().map(|time| NOW - time).collect();
    ages.sort_unstable();
    let age = ages[450]; // fifty wallets have rested that long
    let fits = |row: &TraderProfile| NOW - latest[row.wallet_address.as_str()] >= age;
    let quiet = expected(fits, |row| row.total_realized_pnl);
    assert_eq!(board(&format!("timeSinceLastTrade={age}")), quiet);
    assert!(quiet.len() >= 50);
    let query = LeaderboardQuery {
        time_since_last_trade: Some(age),
        sort: Some(SortDirection::Descending),
        ..LeaderboardQuery::default()
    };
    let asked = AnalyticsAsk::Leaderboard(query);
    assert!(
        answer(table(), &asked, UnixNanos((NOW - ages[499]) * SECOND)).trader_profiles.is_empty(),
        "nobody has rested yet"
    );
}
