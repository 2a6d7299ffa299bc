//! A market, or one outcome of it, over all accounts (service.md 2.5).

use super::statistics::{percentile, percentiles, price_distribution, ratio};
use crate::market::raw::{Position, PositionTable};
use crate::protocol::analytics::{MarketSummary, OutcomePricing};

/// Sums up the positions in these outcomes of one market.
///
/// Cost basis is entry price × size over all positions; holding times and the win rate are those of the closed positions;
/// the distribution of realized profit and loss is over positions that realized anything; averages are per position.
pub(in crate::market) fn of(table: &PositionTable, outcomes: &[usize]) -> MarketSummary {
    let rows = table.held(outcomes);
    let mut summary = MarketSummary::default();
    if let Some(event) = outcomes.first().map(|&outcome| &table.events()[table.outcomes()[outcome].event]) {
        summary.event_id.clone_from(&event.event_id);
        summary.condition_id = vec![event.condition_id.clone()];
    }
    for row in &rows {
        add(&mut summary, row);
    }
    summary.net_transfer_flow = summary.total_transfer_in_count - summary.total_transfer_out_count;
    summary.net_conversion_flow = summary.total_conversion_in_count - summary.total_conversion_out_count;

    let closed: Vec<&Position> = rows.iter().copied().filter(|row| !row.is_open()).collect();
    let held_for = ascending(closed.iter().map(|row| row.prev_hold_duration as f64));
    summary.median_hold_duration = percentile(&held_for, 0.5);
    summary.mean_hold_duration = ratio(held_for.iter().sum(), held_for.len() as f64);
    let wins = closed.iter().filter(|row| row.realized_pnl > 0.0).count();
    summary.win_rate = ratio(wins as f64, closed.len() as f64);

    let realized = ascending(rows.iter().filter(|row| row.realized_size > 0.0).map(|row| row.realized_pnl));
    summary.realized_pnl_min = realized.first().copied().unwrap_or_default();
    summary.realized_pnl_max = realized.last().copied().unwrap_or_default();
    summary.realized_pnl_distribution = percentiles(&realized);

    let positions = rows.len() as f64;
    summary.avg_buy_count = ratio(summary.total_buy_count as f64, positions);
    summary.avg_sell_count = ratio(summary.total_sell_count as f64, positions);
    summary.avg_size = ratio(summary.total_size, positions);
    summary.outcome_pricing = outcomes.iter().map(|&outcome| pricing(table, outcome)).collect();
    summary
}

fn add(summary: &mut MarketSummary, row: &Position) {
    summary.total_open_positions += i64::from(row.is_open());
    summary.total_closed_positions += i64::from(!row.is_open());
    summary.total_cost_basis += row.avg_price * row.size();
    summary.total_size += row.size();
    summary.largest_open_position = summary.largest_open_position.max(row.unrealized_size);
    summary.total_buy_count += row.counts.buy;
    summary.total_sell_count += row.counts.sell;
    summary.total_split_count += row.counts.split;
    summary.total_merge_count += row.counts.merge;
    summary.total_transfer_in_count += row.counts.transfer_in;
    summary.total_transfer_out_count += row.counts.transfer_out;
    summary.total_conversion_in_count += row.counts.conversion_in;
    summary.total_conversion_out_count += row.counts.conversion_out;
}

fn pricing(table: &PositionTable, outcome: usize) -> OutcomePricing {
    let rows = table.held(&[outcome]);
    let weighted = |price: fn(&Position) -> f64, weight: fn(&Position) -> f64| {
        let sum: f64 = rows.iter().map(|row| price(row) * weight(row)).sum();
        ratio(sum, rows.iter().map(|row| weight(row)).sum())
    };
    let (open, closed): (Vec<&Position>, Vec<&Position>) = rows.iter().copied().partition(|row| row.is_open());
    let known = &table.outcomes()[outcome];
    OutcomePricing {
        condition_id: table.events()[known.event].condition_id.clone(),
        token_id: known.asset_id.clone(),
        outcome_name: known.name.clone(),
        weighted_avg_entry_price: weighted(|row| row.avg_price, Position::size),
        weighted_avg_exit_price: weighted(|row| row.avg_exit_price, |row| row.realized_size),
        open_pos_avg_price_distribution: price_distribution(open.iter().map(|row| row.avg_price)),
        closed_pos_avg_exit_price_distribution: price_distribution(closed.iter().map(|row| row.avg_exit_price)),
        ..OutcomePricing::default()
    }
}

fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
