//! Profiles, categories and summaries against the sums of the positions.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::{PROFILES, ROWS, ask, open, table};
use crate::clock::UnixNanos;
use crate::market::subjects::predictions::analytics::answer;
use crate::protocol::analytics::{CategoryRow, MarketSummary, UserPosition};
use crate::protocol::query::MarketSummaryQuery;
use crate::protocol::{AnalyticsAsk, AnalyticsEndpoint};

/// 0.00, 0.01, … 1.00.
static EDGES: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=100).map(|cent| format!("{}.{:02}", cent / 100, cent % 100).parse().unwrap()).collect());

fn summary(asset: Option<&str>, condition: Option<&str>) -> MarketSummary {
    let [asset_id, condition_id] = [asset, condition].map(|text| text.map(str::to_owned));
    let asked = AnalyticsAsk::MarketSummary(MarketSummaryQuery { asset_id, condition_id });
    answer(table(), &asked, UnixNanos(0)).market_summary.unwrap()
}

fn close(left: f64, right: f64) {
    assert!((left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0), "{left} {right}");
}

#[test]
fn profiles_are_the_sums_of_their_positions() {
    let all = table().positions().len();
    assert!(all > 10_000);
    assert_eq!((PROFILES.len(), ROWS.iter().map(Vec::len).sum::<usize>()), (500, all));
    for (profile, rows) in PROFILES.iter().zip(ROWS.iter()) {
        assert!(rows.iter().all(|row| row.wallet_address == profile.wallet_address));
        let closed: Vec<&UserPosition> = rows.iter().filter(|row| !open(row)).collect();
        let count = |rows: usize| rows as i64;
        assert_eq!(profile.total_position_count, count(rows.len()));
        assert_eq!(profile.closed_position_count, count(closed.len()));
        assert_eq!(profile.open_position_count, count(rows.len() - closed.len()));
        close(profile.total_size, rows.iter().map(|row| row.unrealized_size + row.realized_size).sum());
        assert_eq!(profile.total_realized_pnl, rows.iter().map(|row| row.realized_pnl).sum::<f64>());
        close(profile.total_open_pos_value, rows.iter().map(|row| row.unrealized_size).sum());
        close(profile.total_closed_pos_value, closed.iter().map(|row| row.realized_size).sum());
        let best = rows.iter().map(|row| row.realized_pnl).fold(0.0, f64::max);
        let worst = rows.iter().map(|row| row.realized_pnl).fold(0.0, f64::min);
        assert_eq!((profile.largest_win, profile.largest_loss), (best, worst));
        let latest = rows.iter().map(|row| row.latest_open_ts).max().filter(|&second| second > 0);
        assert_eq!(profile.latest_open_position_ts.map(|time| time.s), latest);
        if !closed.is_empty() {
            let wins = closed.iter().filter(|row| row.realized_pnl > 0.0).count();
            close(profile.win_rate_by_positions, 100.0 * wins as f64 / closed.len() as f64);
            let held: i64 = closed.iter().map(|row| row.prev_hold_duration).sum();
            assert_eq!(profile.avg_holding_duration, held / count(closed.len()));
        }
        let cost: f64 = rows.iter().map(|row| row.avg_price * row.realized_size).sum();
        if cost > 0.0 {
            close(profile.total_roi, 100.0 * profile.total_realized_pnl / cost);
        } else {
            assert_eq!(profile.total_roi, 0.0);
        }
    }
}

#[test]
fn categories_are_the_sums_of_their_positions_and_the_most_frequent_come_first() {
    let mut spaced = false;
    for (wallet, rows) in table().wallets().iter().zip(ROWS.iter()) {
        let answer = ask(AnalyticsEndpoint::UserCategories, &format!("userWallet={wallet}")).user_categories.unwrap();
        assert_eq!(&answer.wallet_address, wallet);
        let breakdown = answer.category_breakdown;
        assert!(breakdown.is_sorted_by(|left, right| left.count >= right.count));
        let mut expected: BTreeMap<(&str, &str), [f64; 4]> = BTreeMap::new();
        for row in rows {
            let sums = expected.entry((&row.category, &row.sub_category)).or_default();
            for (sum, part) in sums.iter_mut().zip([1.0, row.realized_size, row.unrealized_size, row.realized_pnl]) {
                *sum += part;
            }
        }
        assert_eq!(breakdown.len(), expected.len());
        for CategoryRow {
            market_category,
            market_sub_category,
            count,
            realized_size,
            unrealized_size,
            realized_pnl,
            ..
        } in &breakdown
        {
            let sums = expected[&(market_category.as_str(), market_sub_category.as_str())];
            assert_eq!(*count as f64, sums[0]);
            close(*realized_size, sums[1]);
            close(*unrealized_size, sums[2]);
            close(*realized_pnl, sums[3]);
            spaced |= market_category.ends_with(' ');
        }
    }
    assert!(spaced, "a category with a trailing space is told as it is");
}

/// Rank-based percentile, computed by counting: the two neighbours of the place p/100 · (n − 1).
fn percentile_of(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|left, right| left.partial_cmp(right).unwrap());
    let hundredths = percent * (sorted.len() - 1);
    let (low, part) = (hundredths / 100, (hundredths % 100) as f64 / 100.0);
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] * (1.0 - part) + sorted[high] * part
}

fn agrees(summary: &MarketSummary, rows: &[&UserPosition]) {
    let closed: Vec<&&UserPosition> = rows.iter().filter(|row| !open(row)).collect();
    assert_eq!(summary.total_closed_positions, closed.len() as i64);
    assert_eq!(summary.total_open_positions, (rows.len() - closed.len()) as i64);
    let sum = |field: fn(&UserPosition) -> f64| rows.iter().map(|row| field(row)).sum::<f64>();
    close(summary.total_size, sum(|row| row.unrealized_size + row.realized_size));
    close(summary.total_cost_basis, sum(|row| row.avg_price * (row.unrealized_size + row.realized_size)));
    close(summary.avg_size * rows.len() as f64, summary.total_size);
    let largest = rows.iter().map(|row| row.unrealized_size).fold(0.0, f64::max);
    assert_eq!(summary.largest_open_position, largest);
    let count = |field: fn(&UserPosition) -> i64| rows.iter().map(|row| field(row)).sum::<i64>();
    let counts = [
        (summary.total_buy_count, count(|row| row.buy_count)),
        (summary.total_sell_count, count(|row| row.sell_count)),
        (summary.total_split_count, count(|row| row.split_count)),
        (summary.total_merge_count, count(|row| row.merge_count)),
        (summary.total_transfer_in_count, count(|row| row.transfer_in_count)),
        (summary.total_transfer_out_count, count(|row| row.transfer_out_count)),
        (summary.total_conversion_in_count, count(|row| row.conversion_in_count)),
        (summary.total_conversion_out_count, count(|row| row.conversion_out_count)),
        (summary.net_transfer_flow, count(|row| row.transfer_in_count - row.transfer_out_count)),
        (summary.net_conversion_flow, count(|row| row.conversion_in_count - row.conversion_out_count)),
    ];
    for (index, (reported, expected)) in counts.into_iter().enumerate() {
        assert_eq!(reported, expected, "count {index}");
    }
    close(summary.avg_buy_count * rows.len() as f64, counts[0].1 as f64);
    close(summary.avg_sell_count * rows.len() as f64, counts[1].1 as f64);
    let held: Vec<f64> = closed.iter().map(|row| row.prev_hold_duration as f64).collect();
    close(summary.mean_hold_duration, held.iter().sum::<f64>() / held.len() as f64);
    close(summary.median_hold_duration, percentile_of(&held, 50));
    let wins = closed.iter().filter(|row| row.realized_pnl > 0.0).count();
    close(summary.win_rate, wins as f64 / closed.len() as f64);
    let realized: Vec<f64> = rows.iter().filter(|row| row.realized_size > 0.0).map(|row| row.realized_pnl).collect();
    assert_eq!(summary.realized_pnl_distribution.len(), 100);
    for (percent, value) in summary.realized_pnl_distribution.iter().enumerate() {
        close(*value, percentile_of(&realized, percent));
    }
    assert_eq!(summary.realized_pnl_min, summary.realized_pnl_distribution[0]);
    assert_eq!(summary.realized_pnl_max, realized.iter().copied().fold(f64::MIN, f64::max));
    for outcome in &summary.outcome_pricing {
        let own: Vec<&&UserPosition> = rows.iter().filter(|row| row.asset_id == outcome.token_id).collect();
        assert!(own.iter().all(|row| row.outcome_name == outcome.outcome_name));
        assert!(own.iter().all(|row| row.condition_id == outcome.condition_id));
        let size = |row: &UserPosition| row.unrealized_size + row.realized_size;
        let all: f64 = own.iter().map(|row| size(row)).sum();
        close(outcome.weighted_avg_entry_price * all, own.iter().map(|row| row.avg_price * size(row)).sum());
        let sold: f64 = own.iter().map(|row| row.realized_size).sum();
        let proceeds: f64 = own.iter().map(|row| row.avg_exit_price * row.realized_size).sum();
        close(outcome.weighted_avg_exit_price * sold, proceeds);
        // The last edge, as decimals are read, that the price reaches.
        let cents = |price: f64| EDGES.iter().rposition(|edge| *edge <= price).unwrap();
        let (mut entries, mut exits) = (vec![0.0; 101], vec![0.0; 101]);
        for row in own {
            if open(row) {
                entries[cents(row.avg_price)] += 1.0;
            } else {
                exits[cents(row.avg_exit_price)] += 1.0;
            }
        }
        assert_eq!(outcome.open_pos_avg_price_distribution, entries);
        assert_eq!(outcome.closed_pos_avg_exit_price_distribution, exits);
    }
}

#[test]
fn summaries_are_the_sums_of_their_markets_and_outcomes() {
    let rows: Vec<&UserPosition> = ROWS.iter().flatten().collect();
    let mut by_condition: HashMap<&str, Vec<&UserPosition>> = HashMap::new();
    let mut by_asset: HashMap<&str, Vec<&UserPosition>> = HashMap::new();
    for row in rows {
        by_condition.entry(&row.condition_id).or_default().push(row);
        by_asset.entry(&row.asset_id).or_default().push(row);
    }
    assert_eq!((by_condition.len(), by_asset.len()), (38, 76));
    for (condition, rows) in by_condition {
        let answer = summary(None, Some(condition));
        assert_eq!(
            (answer.condition_id.as_slice(), answer.outcome_pricing.len()),
            ([condition.to_owned()].as_slice(), 2)
        );
        agrees(&answer, &rows);
    }
    for (asset, rows) in by_asset {
        let answer = summary(Some(asset), None);
        assert_eq!((answer.condition_id[0].as_str(), answer.outcome_pricing.len()), (rows[0].condition_id.as_str(), 1));
        assert_eq!(answer.outcome_pricing[0].token_id, asset);
        agrees(&answer, &rows);
    }
}
