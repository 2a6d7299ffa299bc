//! One wallet over all its positions (service.md 2.5).

use std::collections::HashMap;

use super::statistics::ratio;
use crate::clock::UnixSecond;
use crate::market::raw::PositionTable;
use crate::protocol::Timestamp;
use crate::protocol::analytics::{CategoryRow, TraderProfile, UserCategories};

/// A wallet's profile, with further figures for the leaderboard.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::market) struct WalletAccount {
    pub(in crate::market) profile: TraderProfile,
    /// Closed positions with a gain.
    pub(in crate::market) wins: i64,
    /// The latest event of any position.
    pub(in crate::market) last_trade: UnixSecond,
}

/// Adds up a wallet's positions, in the order of `/positions`, so that a client that adds its rows gets exactly the
/// same sums.
///
/// Sizes are in outcome tokens: the total is held plus realized; the value of closed positions is their realized size, as in
/// the recorded answers, and the value of open ones their held size. The return is the realized profit over the cost of the
/// realized tokens, in percent. The present price of a token is unknown, so there is no unrealized profit.
pub(in crate::market) fn account(table: &PositionTable, wallet: usize) -> WalletAccount {
    let mut account = WalletAccount::default();
    let profile = &mut account.profile;
    profile.wallet_address.clone_from(&table.wallets()[wallet]);
    let (mut latest_open, mut held_for, mut cost) = (UnixSecond(0), 0, 0.0);
    for row in table.of_wallet(wallet) {
        profile.total_position_count += 1;
        profile.total_size += row.size();
        profile.total_realized_pnl += row.realized_pnl;
        profile.largest_win = profile.largest_win.max(row.realized_pnl);
        profile.largest_loss = profile.largest_loss.min(row.realized_pnl);
        cost += row.avg_price * row.realized_size;
        account.last_trade = account.last_trade.max(row.last_trade);
        if row.is_open() {
            profile.open_position_count += 1;
            profile.total_open_pos_value += row.unrealized_size;
            latest_open = latest_open.max(row.latest_open_ts);
        } else {
            profile.closed_position_count += 1;
            profile.total_closed_pos_value += row.realized_size;
            held_for += row.prev_hold_duration;
            account.wins += i64::from(row.realized_pnl > 0.0);
        }
    }
    let closed = profile.closed_position_count;
    profile.latest_open_position_ts = (latest_open > UnixSecond(0)).then_some(Timestamp { s: latest_open.0, ns: 0 });
    profile.total_roi = ratio(profile.total_realized_pnl, cost) * 100.0;
    profile.win_rate_by_positions = ratio(account.wins as f64, closed as f64) * 100.0;
    profile.avg_holding_duration = held_for / closed.max(1);
    account
}

/// A wallet's positions by category and sub-category: most positions first, then by name.
pub(in crate::market) fn categories(table: &PositionTable, wallet: usize) -> UserCategories {
    let mut rows: Vec<CategoryRow> = Vec::new();
    let mut places = HashMap::new();
    for position in table.of_wallet(wallet) {
        let event = table.event_of(position);
        let place = *places.entry((&event.category, &event.sub_category)).or_insert_with(|| {
            rows.push(CategoryRow {
                market_category: event.category.clone(),
                market_sub_category: event.sub_category.clone(),
                ..CategoryRow::default()
            });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.count += 1;
        row.realized_size += position.realized_size;
        row.unrealized_size += position.unrealized_size;
        row.realized_pnl += position.realized_pnl;
    }
    rows.sort_by(|left, right| {
        let names = |row: &CategoryRow| (row.market_category.clone(), row.market_sub_category.clone());
        right.count.cmp(&left.count).then_with(|| names(left).cmp(&names(right)))
    });
    UserCategories {
        wallet_address: table.wallets()[wallet].clone(),
        category_breakdown: rows,
        ..UserCategories::default()
    }
}
