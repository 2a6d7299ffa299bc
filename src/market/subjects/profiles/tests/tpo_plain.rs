//! Market profiles of random trades against a slow computation over plain lists.

use proptest::prelude::*;

use super::tape::{Tape, context, trade};
use crate::clock::SECOND;
use crate::columns::{Column, Series};
use crate::market::raw::Trade;
use crate::market::subjects::profiles::tpo::market_profiles;
use crate::protocol::{DataType, PointsQuery};

/// Price level, blocks that visited it, bought, sold.
type Level = (i64, Vec<i64>, f64, f64);

/// The levels of one session, by asking every level about every block.
fn plain(trades: &[Trade], start: i64, block: i64) -> Vec<Level> {
    let floor = |trade: &Trade| trade.price.floor() as i64;
    let index = |trade: &Trade| (trade.time.0 / SECOND - start) / block;
    let top = trades.iter().map(floor).max().unwrap_or(0);
    let mut levels = Vec::new();
    for level in 0..=top {
        let touches = |number: i64| {
            let part = || trades.iter().filter(|trade| index(trade) == number).map(floor);
            part().any(|at| at <= level) && part().any(|at| at >= level)
        };
        let blocks: Vec<i64> = (0..288).filter(|&number| touches(number)).collect();
        let volume = |buy: bool| {
            trades.iter().filter(|trade| trade.buy == buy && floor(trade) == level).map(|trade| trade.amount).sum()
        };
        if !blocks.is_empty() {
            levels.push((level, blocks, volume(true), volume(false)));
        }
    }
    levels
}

/// The levels in a row of an answer.
fn answered(series: &Series, row: usize) -> Vec<Level> {
    let Some(Column::Rows(levels)) = series.column("levels") else { panic!("no levels") };
    let column = |name: &str| &levels.columns.iter().find(|(known, _)| known == name).unwrap().1;
    let float = |name: &str, at: usize| match column(name) {
        Column::Float(values) => values[at],
        other => panic!("{name}: {other:?}"),
    };
    let Column::List(blocks) = column("block_ids") else { panic!("no blocks") };
    (levels.offsets[row] as usize..levels.offsets[row + 1] as usize)
        .map(|at| {
            let ids = blocks.row(at).iter().map(|id| *id as i64).collect();
            (float("price", at) as i64, ids, float("buy_volume", at), float("sell_volume", at))
        })
        .collect()
}

proptest! {
    #[test]
    fn profiles_are_those_of_a_plain_computation(
        steps in prop::collection::vec((1i64..9_000, 40i64..160, 1i32..64, any::<bool>()), 1..30),
        minutes in prop::sample::select(vec![5u32, 30, 60, 240]),
    ) {
        let mut second = 0;
        let trades: Vec<Trade> = steps.iter().map(|&(pause, quarters, eighths, buy)| {
            second += pause;
            let amount = f64::from(eighths) / 8.0; // eighths add exactly in any order
            trade(second, quarters as f64 / 4.0, if buy { amount } else { -amount })
        }).collect();
        let query = PointsQuery {
            from: Some(0), period: Some(10 * 86_400), block_size: Some(1.0), block_minutes: Some(minutes),
            session: Some("TPO_SESSION_DAILY".to_owned()), ..PointsQuery::default()
        };
        let tape = Tape::default().with("BTC", "USDT", 0.25, &trades);
        let series = market_profiles(&context(&tape, DataType::TpoAgg, &query, "DAY", 20 * 86_400), &[0]).unwrap();

        let days: Vec<&[Trade]> = trades.chunk_by(|one, next| one.time.0 / (86_400 * SECOND) == next.time.0 / (86_400 * SECOND)).collect();
        prop_assert_eq!(series.len(), days.len());
        for (row, day) in days.iter().enumerate() {
            let start = day[0].time.0 / SECOND / 86_400 * 86_400;
            prop_assert_eq!(series.timestamps[row], start * SECOND);
            let levels = plain(day, start, i64::from(minutes) * 60);
            prop_assert_eq!(&answered(&series, row), &levels);

            let value = |name: &str| series.floats(name).unwrap()[row];
            let visits: usize = levels.iter().map(|level| level.1.len()).sum();
            prop_assert_eq!(value("total_tpo_count"), visits as f64);
            let most = levels.iter().map(|level| level.1.len()).max().unwrap();
            let control = levels.iter().find(|level| level.0 == value("poc_price") as i64).unwrap();
            prop_assert_eq!(control.1.len(), most);
            let (low, high) = (value("val_price") as i64, value("vah_price") as i64);
            let held: usize = levels.iter().filter(|level| (low..=high).contains(&level.0)).map(|level| level.1.len()).sum();
            prop_assert!(low <= control.0 && control.0 <= high && held * 10 >= visits * 7);
            let prices = || day.iter().map(|trade| trade.price);
            prop_assert_eq!(value("profile_high"), prices().fold(0.0, f64::max));
            prop_assert_eq!(value("profile_low"), prices().fold(f64::MAX, f64::min));
            prop_assert_eq!((value("opening_price"), value("closing_price")), (day[0].price, day[day.len() - 1].price));
            prop_assert_eq!(value("total_volume"), day.iter().map(|trade| trade.amount).sum::<f64>());
        }
    }
}
