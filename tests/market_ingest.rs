//! Rows of dumps that cannot be must not drag others down, and none is lost without a word.

use marketpoints::clock::UnixNanos;
use marketpoints::columns::Series;
use marketpoints::protocol::PointsQuery;

use crate::support::dumps::{BOOKS, Bench, SECOND, START, TRADES, first, query, row};

#[test]
fn a_stray_quote_costs_one_row_at_most() {
    let bench = Bench::new();
    let good: Vec<String> = (0..50).map(|second| row(second, 2.0, 1.0).replace("x,,", "x,A,")).collect();
    let stray = "x,\"A,1570838402000000,1,1,hold,2,3\n";
    bench.dump("trades/X/A/2019-10-12.csv", &format!("{TRADES}{stray}{}", good.concat()));
    let report = bench.ingest();
    assert_eq!((report.rows, report.problems.len()), (50, 1));
}

#[test]
fn a_row_of_another_year_is_reported_not_lost() {
    let bench = Bench::new();
    let astray = "x,A,1600000000000000,1,1,buy,2,3\n";
    bench.dump("trades/X/A/2019-10-12.csv", &format!("{TRADES}{astray}{}", row(9, 2.0, 1.0)).replace("x,,", "x,A,"));
    let report = bench.ingest();
    let at = |from: i64| {
        let found =
            bench.market().points(&query("TRADE_AGG", "X", "A", "MINUTE", from, 86_400), UnixNanos(i64::MAX)).unwrap();
        found.first().map_or(0, Series::len) as u64
    };
    let served = at(START) + at(1_600_000_000 - 43_200);
    assert_eq!((report.rows as u64, served, report.problems.len()), (1, 1, 1));
}

#[test]
fn changes_before_the_first_snapshot_make_no_book() {
    let bench = Bench::new();
    let line = |second: i64, snapshot: bool, side: &str, price: f64| {
        format!("x,AUSDT,{0}000000,{0}000000,{snapshot},{side},{price},5\n", START + second)
    };
    let rows = [line(1, false, "bid", 9.0), line(61, true, "bid", 8.0), line(61, true, "ask", 12.0)];
    bench.dump("incremental_book_L2/X/AUSDT/2019-10-12.csv", &format!("{BOOKS}{}", rows.concat()));
    let report = bench.ingest();
    assert_eq!((report.rows, report.problems.len()), (2, 1));
    assert!(report.problems[0].what.contains("1 changes before the first snapshot"));
    let query =
        PointsQuery { block_size: Some(1.0), ..query("BLOCK_BOOK_SNAPSHOT_AGG", "X", "AUSDT", "MINUTE", START, 180) };
    let heatmap = first(&bench.market(), &query, i64::MAX);
    assert_eq!(heatmap.timestamps, [(START + 60) * SECOND]);
    assert_eq!(heatmap.levels().unwrap().0.values, [8.0, 5.0, 12.0, 5.0]);
}
