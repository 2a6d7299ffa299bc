//! Volume profiles of hand-made trades.

use super::tape::{Tape, context, trade};
use crate::clock::SECOND;
use crate::columns::{Column, Series};
use crate::market::query::error::MarketError;
use crate::market::raw::Trade;
use crate::market::subjects::profiles::volume::volume_profiles;
use crate::protocol::{DataType, PointsQuery};

fn profiles(tape: &Tape, markets: &[usize], usd: bool, now: i64) -> Result<Series, MarketError> {
    let query = PointsQuery { from: Some(0), period: Some(10 * 3_600), usd, ..PointsQuery::default() };
    volume_profiles(&context(tape, DataType::VolumeProfileAgg, &query, "HOUR", now), markets)
}

fn rows(tape: &Tape, markets: &[usize], usd: bool) -> Vec<(i64, Vec<f64>)> {
    let series = profiles(tape, markets, usd, 1_000_000).unwrap();
    let Some(Column::List(list)) = series.column("profile") else { panic!("no profile") };
    series.timestamps.iter().enumerate().map(|(row, at)| (at / SECOND, list.row(row).to_vec())).collect()
}

fn bitcoin() -> [Trade; 5] {
    [
        trade(10, 100_010.0, 1.0),
        trade(20, 100_049.5, -0.5),
        trade(30, 100_050.0, 2.0),
        trade(3_599, 99_999.5, -0.25),
        trade(7_200, 50_000.0, 1.0),
    ]
}

#[test]
fn levels_are_floored_and_sides_kept_apart() {
    let tape = Tape::default().with("BTC", "USDT", 0.5, &bitcoin());
    // 100010 / 2000 is near 50; 50000 / 2000 = 25 is near 20. The second hour has no trades.
    let first = vec![99_950.0, 0.0, 0.25, 100_000.0, 1.0, 0.5, 100_050.0, 2.0, 0.0];
    assert_eq!(rows(&tape, &[0], false), [(0, first), (7_200, vec![50_000.0, 1.0, 0.0])]);
}

#[test]
fn usd_volumes_are_price_times_amount() {
    let tape = Tape::default().with("BTC", "USDT", 0.5, &bitcoin());
    let first = vec![99_950.0, 0.0, 24_999.875, 100_000.0, 100_010.0, 50_024.75, 100_050.0, 200_100.0, 0.0];
    assert_eq!(rows(&tape, &[0], true)[0], (0, first));
}

#[test]
fn foreign_quotes_are_converted_by_the_minute() {
    let rates = [trade(5, 100_000.0, 1.0), trade(65, 200_000.0, 1.0)];
    let ether = [trade(10, 0.03125, 2.0), trade(70, 0.03125, -4.0)];
    let tape = Tape::default().with("ETH", "BTC", 0.00001, &ether).with("BTC", "USD", 1.0, &rates);
    // 3125 USD at first, 6250 a minute later; the step is that of 3125: 3125 / 2000 is near 2.
    assert_eq!(rows(&tape, &[0], true), [(0, vec![3_124.0, 6_250.0, 0.0, 6_250.0, 0.0, 25_000.0])]);
    // In coin nothing is converted: 0.03125 / 2000 = 0.0000156 is near 0.00002 (the tick allows both).
    assert_eq!(rows(&tape, &[0], false), [(0, vec![0.03124, 2.0, 4.0])]);
    // Ticks are in quote: they say nothing of converted prices.
    let coarse = Tape::default().with("ETH", "BTC", 50.0, &ether).with("BTC", "USD", 1.0, &rates);
    assert_eq!(rows(&coarse, &[0], true), rows(&tape, &[0], true));

    let alone = Tape::default().with("ETH", "BTC", 0.00001, &ether);
    let problem = profiles(&alone, &[0], true, 1_000_000).unwrap_err();
    assert!(matches!(&problem, MarketError::Invalid(_)) && problem.to_string().contains("BTC"), "{problem}");
    let problem = profiles(&alone.with("X", "USD", 1.0, &[]), &[0, 1], true, 1_000_000).unwrap_err();
    assert!(matches!(problem, MarketError::Invalid(_)), "{problem}");
}

#[test]
fn a_sum_adds_by_level_on_the_grid_of_the_first_trade() {
    let one = [trade(20, 100.0, 1.0), trade(30, 100.04, 1.0)];
    let other = [trade(19, 70.0, -8.0), trade(40, 100.0, 2.0)];
    let tape = Tape::default().with("BTC", "USDT", 0.01, &one).with("BTC", "USD", 0.01, &other);
    // 100 / 2000 is 0.05 and 70 / 2000 = 0.035 is near 0.05; alone 100 has the same.
    assert_eq!(rows(&tape, &[0, 1], false), [(0, vec![70.0, 0.0, 8.0, 100.0, 4.0, 0.0])]);
    // The second market comes first in time, at a price with another step: 10 / 2000 = 0.005.
    let other = [trade(19, 10.0, -8.0)];
    let tape = Tape::default().with("BTC", "USDT", 0.001, &one).with("BTC", "USD", 0.001, &other);
    assert_eq!(rows(&tape, &[0, 1], false), [(0, vec![10.0, 0.0, 8.0, 100.0, 1.0, 0.0, 100.04, 1.0, 0.0])]);
    // The coarser tick of the two holds for both: 0.005 is no multiple of 0.01, so 0.01 is the nearest.
    let tape = Tape::default().with("BTC", "USDT", 0.001, &[trade(20, 10.019, 1.0)]).with("BTC", "USD", 0.01, &other);
    assert_eq!(rows(&tape, &[0, 1], false), [(0, vec![10.0, 0.0, 8.0, 10.01, 1.0, 0.0])]);
}

#[test]
fn nothing_after_now_is_read() {
    let tape = Tape::default().with("BTC", "USDT", 0.5, &bitcoin());
    let series = profiles(&tape, &[0], false, 25).unwrap();
    let Some(Column::List(list)) = series.column("profile") else { panic!("no profile") };
    assert_eq!(list.values, [100_000.0, 1.0, 0.5]);
    assert!(profiles(&tape, &[0], false, 9).unwrap().is_empty());
}
