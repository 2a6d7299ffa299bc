//! Corners where transforms meet, and rows that must not drag others down.

use std::fs;

use marketpoints::clock::UnixNanos;
use marketpoints::columns::{Column, Series};
use marketpoints::market::{IngestReport, Market, ingest};
use marketpoints::protocol::{GroupBy, PointsQuery};

const SECOND: i64 = 1_000_000_000;
const TRADE_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n";
const BOOK_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n";

/// A folder with dumps and a store beside them; removed when dropped.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn dump(&self, name: &str, text: &str) {
        let path = self.0.path().join("dumps").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    fn ingest(&self) -> IngestReport {
        ingest(&self.0.path().join("dumps"), &self.0.path().join("store"), &|| true).unwrap()
    }

    fn market(&self) -> Market {
        Market::open(&self.0.path().join("store")).unwrap()
    }
}

fn query(data_type: &str, exchange: &str, symbol: &str, interval: &str, from: i64, period: i64) -> PointsQuery {
    PointsQuery {
        data_type: data_type.into(),
        exchanges: vec![exchange.into()],
        raw_symbol: Some(symbol.into()),
        interval: Some(interval.into()),
        from: Some(from),
        period: Some(period),
        ..PointsQuery::default()
    }
}

fn agnostic(market: &Market, query: &PointsQuery, now: i64) -> Series {
    market.points(query, UnixNanos(now)).unwrap().remove(0)
}

const START: i64 = 1_570_838_400;

fn row(second: i64, price: f64, amount: f64) -> String {
    format!("x,,{0}000000,{0}000000,1,buy,{price},{amount}\n", START + second)
}

fn bench(markets: &[(&str, &str, &[String])]) -> Bench {
    let bench = Bench::new();
    for (venue, symbol, rows) in markets {
        let text = format!("{TRADE_HEADER}{}", rows.concat()).replace("x,,", &format!("x,{symbol},"));
        bench.dump(&format!("trades/{venue}/{symbol}/2019-10-12.csv"), &text);
    }
    assert_eq!(bench.ingest().problems, []);
    bench
}

#[test]
fn a_filled_sum_is_filled_only_where_no_venue_traded() {
    let one = [row(1, 10.0, 1.0), row(130, 12.0, 1.0)];
    let two = [row(5, 20.0, 1.0), row(70, 30.0, 3.0)];
    let bench = bench(&[("ONE", "AUSDT", &one), ("TWO", "AUSDT", &two)]);
    let market = bench.market();
    let query = PointsQuery {
        exchanges: vec!["ONE".into(), "TWO".into()],
        coin: Some("A".into()),
        raw_symbol: None,
        group_by: Some(GroupBy::Sum),
        gapfill: true,
        ..query("TRADE_SIDE_AGNOSTIC_AGG", "", "", "MINUTE", START, 240)
    };
    let sum = agnostic(&market, &query, (START + 600) * SECOND);
    // Minute 1 is TWO's alone, minute 2 ONE's alone, minute 3 nobody's.
    assert_eq!(sum.floats("high").unwrap(), [20.0, 30.0, 12.0, 12.0]);
    assert_eq!(sum.floats("low").unwrap(), [10.0, 30.0, 12.0, 12.0]);
    assert_eq!(sum.floats("close").unwrap(), [15.0, 30.0, 12.0, 12.0]);
    let Some(Column::Time(first)) = sum.column("first_timestamp") else { panic!("no times") };
    assert_eq!(first[..3], [1, 70, 130].map(|second| (START + second) * SECOND));
}

#[test]
fn a_filled_window_in_usd_may_be_cut_anywhere() {
    let trades = [row(10, 2.0, 1.0)];
    let rates = [row(5, 100.0, 1.0), row(65, 200.0, 1.0), row(125, 400.0, 1.0)];
    let bench = bench(&[("X", "AETH", &trades), ("X", "ETHUSDT", &rates)]);
    let market = bench.market();
    let ask = |from: i64, period: i64| {
        let query = query("TRADE_SIDE_AGNOSTIC_AGG", "X", "AETH", "MINUTE", START + from, period);
        let filled = PointsQuery { gapfill: true, usd: true, ..query };
        let series = agnostic(&market, &filled, (START + 600) * SECOND);
        series.floats("close").unwrap().to_vec()
    };
    let whole = ask(0, 240);
    assert_eq!(whole, [200.0; 4], "the last close, at the rate of its own minute");
    assert_eq!([ask(0, 120), ask(120, 120)].concat(), whole);
}

#[test]
fn a_stray_quote_costs_one_row_at_most() {
    let bench = Bench::new();
    let good: Vec<String> = (0..50).map(|second| row(second, 2.0, 1.0).replace("x,,", "x,A,")).collect();
    let stray = "x,\"A,1570838402000000,1,1,hold,2,3\n";
    bench.dump("trades/X/A/2019-10-12.csv", &format!("{TRADE_HEADER}{stray}{}", good.concat()));
    let report = bench.ingest();
    assert_eq!((report.rows, report.problems.len()), (50, 1));
}

#[test]
fn a_row_of_another_year_is_reported_not_lost() {
    let bench = Bench::new();
    let astray = "x,A,1600000000000000,1,1,buy,2,3\n";
    bench.dump(
        "trades/X/A/2019-10-12.csv",
        &format!("{TRADE_HEADER}{astray}{}", row(9, 2.0, 1.0)).replace("x,,", "x,A,"),
    );
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
fn windows_in_the_far_past_and_future_are_answered() {
    let market = Market::demo(1);
    for (from, period) in [(-9_000_000_000i64, 60), (9_000_000_000, 60), (i64::MIN, 60), (i64::MAX, 60), (0, i64::MAX)]
    {
        let query = query("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE", "BTCUSDT", "WEEK", from, period);
        // Refused or answered, but never a panic.
        drop(market.points(&query, UnixNanos(1_420_900_000 * SECOND)));
    }
}

#[test]
fn a_sum_of_unlike_quotes_needs_usd() {
    let one = [row(1, 10.0, 1.0)];
    let bench = bench(&[("X", "AUSDT", &one), ("X", "AETH", &one), ("X", "ETHUSD", &one)]);
    let sum = |usd: bool| PointsQuery {
        raw_symbol: None,
        coin: Some("A".into()),
        group_by: Some(GroupBy::Sum),
        usd,
        ..query("TRADE_AGG", "X", "", "MINUTE", START, 60)
    };
    let problem = bench.market().points(&sum(false), UnixNanos(i64::MAX)).unwrap_err().to_string();
    assert!(problem.contains("USD and ETH") || problem.contains("ETH and USD"), "{problem}");
    // One at 10 USDT, one at 10 ETH of 10 USD each.
    let series = agnostic(&bench.market(), &sum(true), i64::MAX);
    assert_eq!((series.floats("close").unwrap(), series.floats("volume").unwrap()), (&[55.0][..], &[110.0][..]));
}

#[test]
fn changes_before_the_first_snapshot_make_no_book() {
    let bench = Bench::new();
    let line = |second: i64, snapshot: bool, side: &str, price: f64| {
        format!("x,AUSDT,{0}000000,{0}000000,{snapshot},{side},{price},5\n", START + second)
    };
    let rows = [line(1, false, "bid", 9.0), line(61, true, "bid", 8.0), line(61, true, "ask", 12.0)];
    bench.dump("incremental_book_L2/X/AUSDT/2019-10-12.csv", &format!("{BOOK_HEADER}{}", rows.concat()));
    let report = bench.ingest();
    assert_eq!((report.rows, report.problems.len()), (2, 1));
    assert!(report.problems[0].what.contains("1 changes before the first snapshot"));
    let query =
        PointsQuery { block_size: Some(1.0), ..query("BLOCK_BOOK_SNAPSHOT_AGG", "X", "AUSDT", "MINUTE", START, 180) };
    let heatmap = agnostic(&bench.market(), &query, i64::MAX);
    assert_eq!(heatmap.timestamps, [(START + 60) * SECOND]);
    assert_eq!(heatmap.levels().unwrap().0.values, [8.0, 5.0, 12.0, 5.0]);
}
