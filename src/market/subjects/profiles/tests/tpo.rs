//! Market profiles of hand-made trades, every field by hand.

use super::tape::{Tape, context, trade};
use crate::clock::{SECOND, UnixNanos};
use crate::columns::{Column, ColumnName, NO_TIME, RaggedRows, Series};
use crate::market::query::error::MarketError;
use crate::market::raw::Trade;
use crate::market::subjects::profiles::tpo::market_profiles;
use crate::protocol::{DataType, PointsQuery};
use crate::{decode, encode};

const HALF_HOUR: i64 = 1_800;

/// A daily profile in steps of 1.
fn query() -> PointsQuery {
    PointsQuery {
        data_type: "TPO_AGG".to_owned(),
        from: Some(0),
        period: Some(86_400),
        block_size: Some(1.0),
        session: Some("TPO_SESSION_DAILY".to_owned()),
        ..PointsQuery::default()
    }
}

fn profiles(tape: &Tape, markets: &[usize], query: &PointsQuery) -> Result<Series, MarketError> {
    market_profiles(&context(tape, DataType::TpoAgg, query, "DAY", 1_000_000), markets)
}

/// Four blocks: 0 visits 100 to 102, 1 visits 102 to 103, 2 visits 103 only, 4 visits 106 only (103 to 106 was jumped).
fn trades() -> Vec<Trade> {
    vec![
        trade(10, 101.5, 1.0),
        trade(20, 100.25, -2.0),
        trade(30, 102.5, 4.0),
        trade(HALF_HOUR, 102.0, 8.0),
        trade(HALF_HOUR + 5, 103.0, -16.0),
        trade(2 * HALF_HOUR, 103.9, 32.0),
        trade(4 * HALF_HOUR + 1, 106.0, -64.0),
    ]
}

fn floats<'a>(columns: &'a [(ColumnName, Column)], name: &str) -> &'a [f64] {
    match columns.iter().find(|(known, _)| known == name) {
        Some((_, Column::Float(values))) => values,
        Some((_, Column::List(list))) => &list.values,
        other => panic!("{name}: {other:?}"),
    }
}

fn levels(series: &Series) -> &RaggedRows {
    match series.column("levels") {
        Some(Column::Rows(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_step_that_is_too_fine_is_refused_before_the_work_is_done() {
    // Eleven years of trades, of which a few blocks of half an hour have more levels than any answer.
    let text =
        "type=TPO_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=WEEK&from=1420416000&period=347155200&blockSize=";
    let begun = std::time::Instant::now();
    for step in ["0.0001", "0.000001"] {
        let query = crate::protocol::PointsQuery::parse(&format!("{text}{step}")).unwrap();
        let error = crate::market::Market::demo(0)
            .points(&query, UnixNanos(1_776_880_800_000_000_000))
            .unwrap_err()
            .to_string();
        assert!(error.contains("blockSize") && error.contains("give a larger step"), "{error}");
    }
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn every_field_of_a_small_day() {
    let tape = Tape::default().with("BTC", "USDT", 0.01, &trades());
    let series = profiles(&tape, &[0], &query()).unwrap();
    assert_eq!(series.timestamps, [0]);
    assert_eq!(series.column("period_start"), Some(&Column::Time(vec![0])));
    assert_eq!(series.column("period_end"), Some(&Column::Time(vec![86_400 * SECOND])));
    let level = |name: &str| floats(&levels(&series).columns, name).to_vec();
    assert_eq!(levels(&series).offsets, [0, 5]);
    assert_eq!(level("price"), [100.0, 101.0, 102.0, 103.0, 106.0]);
    assert_eq!(level("block_ids"), [0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 4.0]);
    assert_eq!(level("tpo_count"), [1.0, 1.0, 2.0, 2.0, 1.0]);
    assert_eq!(level("buy_volume"), [0.0, 1.0, 12.0, 32.0, 0.0]);
    assert_eq!(level("sell_volume"), [2.0, 0.0, 0.0, 16.0, 64.0]);
    assert_eq!(level("volume"), [2.0, 1.0, 12.0, 48.0, 64.0]);
    assert_eq!(level("first_touch_block"), [0.0, 0.0, 0.0, 1.0, 4.0]);
    assert_eq!(level("last_touch_block"), [0.0, 0.0, 1.0, 2.0, 4.0]);
    // 102 and 103 have two blocks each and are equally far from the middle, 103 being nothing of it: |103 - 103| = 0.
    // From 103 (2 of 7): above is 106 alone (1), below 102 and 101 (3): 5 of 7 are 71 %.
    for (name, value) in [
        ("block_size_minutes", 30.0),
        ("poc_price", 103.0),
        ("vah_price", 103.0),
        ("val_price", 101.0),
        ("profile_high", 106.0),
        ("profile_low", 100.25),
        ("opening_price", 101.5),
        ("closing_price", 106.0),
        ("ibr_high", 103.0),
        ("ibr_low", 100.25),
        ("total_tpo_count", 7.0),
        ("value_area_percentage", 70.0),
        ("total_volume", 127.0),
    ] {
        assert_eq!(floats(&series.columns, name), [value], "{name}");
    }
    assert!(floats(&series.columns, "poor_highs").is_empty() && floats(&series.columns, "poor_lows").is_empty());
    assert_eq!(floats(&series.columns, "single_prints"), [101.0]);
}

#[test]
fn extremes_that_two_blocks_visited_are_poor() {
    let tape = |prices: &[(i64, f64)]| {
        let trades: Vec<Trade> = prices.iter().map(|&(block, price)| trade(block * HALF_HOUR, price, 1.0)).collect();
        profiles(&Tape::default().with("BTC", "USDT", 0.01, &trades), &[0], &query()).unwrap()
    };
    let both = tape(&[(0, 100.0), (1, 100.5), (2, 102.0), (3, 102.0)]);
    assert_eq!(floats(&both.columns, "poor_highs"), [102.0]);
    assert_eq!(floats(&both.columns, "poor_lows"), [100.0]);
    let flat = tape(&[(0, 100.0), (1, 100.5)]);
    assert_eq!(floats(&flat.columns, "poor_highs"), floats(&flat.columns, "poor_lows"));
    let one = tape(&[(0, 100.0)]);
    assert!(floats(&one.columns, "poor_highs").is_empty() && floats(&one.columns, "single_prints").is_empty());
    // A session whose first hour was quiet has no initial balance.
    assert!(floats(&tape(&[(2, 100.0)]).columns, "ibr_high")[0].is_nan());
}

#[test]
fn blocks_and_steps_are_as_asked() {
    let tape = Tape::default().with("BTC", "USDT", 0.01, &trades());
    let of = |minutes: u32, size: Option<f64>| {
        let asked = PointsQuery { block_minutes: Some(minutes), block_size: size, ..query() };
        profiles(&tape, &[0], &asked).unwrap()
    };
    let ids = |series: &Series| floats(&levels(series).columns, "block_ids").to_vec();
    assert_eq!(ids(&of(60, Some(10.0))), [0.0, 1.0, 2.0]);
    assert_eq!(ids(&of(240, Some(10.0))), [0.0]);
    assert_eq!(ids(&of(5, Some(10.0))), [0.0, 6.0, 12.0, 24.0]);
    assert_eq!(floats(&of(5, None).columns, "block_size_minutes"), [5.0]);
    // The server's own: 101.5 / 2000 is near 0.05.
    assert_eq!(floats(&levels(&of(240, None)).columns, "price").len(), 116); // 100.25 to 106.00

    for (asked, name) in [
        (PointsQuery { session: Some("DAILY".to_owned()), ..query() }, "tpoSession"),
        (PointsQuery { block_size: Some(1e-9), ..query() }, "blockSize"),
        (PointsQuery { block_size: Some(1e-300), ..query() }, "blockSize"),
    ] {
        let problem = profiles(&tape, &[0], &asked).unwrap_err();
        assert!(matches!(&problem, MarketError::Invalid(_)) && problem.to_string().contains(name), "{problem}");
    }
}

#[test]
fn a_sum_joins_the_blocks_of_its_markets() {
    let one = [trade(10, 100.0, 1.0), trade(20, 101.0, 2.0)];
    let other = [trade(15, 104.0, -1.0), trade(HALF_HOUR, 104.0, -3.0)];
    let tape = Tape::default().with("BTC", "USDT", 0.01, &one).with("BTC", "USD", 0.01, &other);
    let series = profiles(&tape, &[0, 1], &query()).unwrap();
    let level = |name: &str| floats(&levels(&series).columns, name).to_vec();
    // Block 0 runs from 100 to 104 over both markets.
    assert_eq!(level("price"), [100.0, 101.0, 102.0, 103.0, 104.0]);
    assert_eq!(level("tpo_count"), [1.0, 1.0, 1.0, 1.0, 2.0]);
    assert_eq!(level("volume"), [1.0, 2.0, 0.0, 0.0, 4.0]);
    // Means weighted by volume: (100 × 3 + 104 × 4) / 7 and (101 × 3 + 104 × 4) / 7.
    assert!((floats(&series.columns, "opening_price")[0] - 716.0 / 7.0).abs() < 1e-9);
    assert!((floats(&series.columns, "closing_price")[0] - 719.0 / 7.0).abs() < 1e-9);
    assert_eq!(floats(&series.columns, "profile_high"), [104.0]);
    assert_eq!(floats(&series.columns, "ibr_low"), [100.0]);
}

#[test]
fn what_is_encoded_is_decoded() {
    let mut trades = trades();
    trades.extend([trade(86_400, 99.0, 1.0), trade(86_400 + HALF_HOUR, 99.0, -1.0)]);
    let tape = Tape::default().with("BTC", "USDT", 0.01, &trades);
    let series = profiles(&tape, &[0], &PointsQuery { period: Some(10 * 86_400), ..query() }).unwrap();
    assert_eq!(series.len(), 2);
    assert!(series.timestamps.iter().all(|&at| at != NO_TIME));
    assert_eq!(decode::points(&encode::points(std::slice::from_ref(&series), false)).unwrap(), [series]);
}
