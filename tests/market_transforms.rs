//! Corners where transforms meet: gaps filled, sums over venues, USD; and windows in which nothing can be.

use marketpoints::clock::UnixNanos;
use marketpoints::columns::Column;
use marketpoints::market::Market;
use marketpoints::protocol::{GroupBy, PointsQuery};

use crate::support::dumps::{Bench, SECOND, START, TRADES, first, query, row};

fn bench(markets: &[(&str, &str, &[String])]) -> Bench {
    let bench = Bench::new();
    for (venue, symbol, rows) in markets {
        let text = format!("{TRADES}{}", rows.concat()).replace("x,,", &format!("x,{symbol},"));
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
    let sum = first(&market, &query, (START + 600) * SECOND);
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
        let series = first(&market, &filled, (START + 600) * SECOND);
        series.floats("close").unwrap().to_vec()
    };
    let whole = ask(0, 240);
    assert_eq!(whole, [200.0; 4], "the last close, at the rate of its own minute");
    assert_eq!([ask(0, 120), ask(120, 120)].concat(), whole);
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
    let series = first(&bench.market(), &sum(true), i64::MAX);
    assert_eq!((series.floats("close").unwrap(), series.floats("volume").unwrap()), (&[55.0][..], &[110.0][..]));
}
