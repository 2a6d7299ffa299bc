//! The leaderboard: wallets that pass every filter, in order (service.md 4.3).

use super::account::{WalletAccount, account};
use super::statistics::ratio;
use crate::clock::{UnixNanos, UnixSecond};
use crate::market::raw::PositionTable;
use crate::protocol::SortDirection;
use crate::protocol::analytics::TraderProfile;
use crate::protocol::query::{LeaderboardQuery, LeaderboardSort};

/// One page of the leaderboard as of `now`. The filters choose traders; their numbers stay those of
/// the whole account (supplement 8). Equals stand in the order of their addresses, whatever the direction.
pub(in crate::market) fn rank(table: &PositionTable, query: &LeaderboardQuery, now: UnixNanos) -> Vec<TraderProfile> {
    let second = now.second();
    let mut accounts: Vec<WalletAccount> = Vec::new();
    for (wallet, address) in table.wallets().iter().enumerate() {
        if table.wallet(address) == Some(wallet) && trades(table, wallet, query.primary_category.as_deref()) {
            accounts.push(account(table, wallet));
        }
    }
    accounts.retain(|account| fits(account, query, second));
    let key = |account: &WalletAccount| {
        let profile = &account.profile;
        match query.sort_by.unwrap_or_default() {
            LeaderboardSort::RealizedPnl => profile.total_realized_pnl,
            LeaderboardSort::Roi => profile.total_roi,
            LeaderboardSort::WinCount => account.wins as f64,
            LeaderboardSort::WinRate => profile.win_rate_by_positions,
            LeaderboardSort::TotalSize => profile.total_size,
            LeaderboardSort::TotalPositionCount => profile.total_position_count as f64,
        }
    };
    accounts.sort_by(|left, right| {
        let ascending = key(left).total_cmp(&key(right));
        let asked = match query.sort {
            Some(SortDirection::Ascending) => ascending,
            Some(SortDirection::Descending) | None => ascending.reverse(),
        };
        asked.then_with(|| left.profile.wallet_address.cmp(&right.profile.wallet_address))
    });
    let (skipped, most) = query.page.bounds();
    accounts.into_iter().skip(skipped).take(most).map(|account| account.profile).collect()
}

/// Whether the wallet has a position in the category. Categories may carry a trailing space (supplement 8), which is
/// easily lost on the way through a URL, so spaces around do not count.
fn trades(table: &PositionTable, wallet: usize, category: Option<&str>) -> bool {
    let wanted = category.map(str::trim);
    wanted
        .is_none_or(|wanted| table.of_wallet(wallet).any(|position| table.event_of(position).category.trim() == wanted))
}

fn fits(account: &WalletAccount, query: &LeaderboardQuery, second: UnixSecond) -> bool {
    let profile = &account.profile;
    let positions = profile.total_position_count as f64;
    let least = |bound: Option<f64>, value: f64| bound.is_none_or(|bound| value >= bound);
    let least_whole = |bound: Option<i64>, value: i64| bound.is_none_or(|bound| value >= bound);
    least(query.roi_percentage.map(|percent| percent as f64), profile.total_roi)
        && least(query.min_total_trade_count, positions)
        && query.max_total_trade_count.is_none_or(|most| positions <= most)
        && least(query.win_rate, profile.win_rate_by_positions)
        && least(query.avg_position_size, ratio(profile.total_size, positions))
        && least(query.total_volume, profile.total_size)
        && least_whole(query.open_position_count, profile.open_position_count)
        && least_whole(query.time_since_last_trade, second.0.saturating_sub(account.last_trade.0))
        && least_whole(query.avg_holding_time, profile.avg_holding_duration)
}
