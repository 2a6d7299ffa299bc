//! The demo and a store against the one table of exchanges.

use super::*;
use crate::clock::{SECOND, UnixNanos, Window};
use crate::market::raw::{Instrument, Source, TickerFeed, TickerField};
use crate::market::sources::demo::Demo;
use crate::market::sources::store::MarketStore;
use crate::protocol::exchange::Exchange;

#[test]
fn demo_and_store_describe_a_market_alike() {
    let demo = Demo::new(0);
    let markets: Vec<&Instrument> = demo.instruments().iter().collect();
    let mut dumps = Dumps::default();
    for row in &markets {
        dumps.trade(&format!("{}/{}", row.exchange, row.raw_symbol), DAY, 1.0, 1.0);
    }
    let (folder, _market) = dumps.market();
    let store = MarketStore::open(&folder.path().join("store")).unwrap();
    let described = |row: &Instrument| {
        let names = [&row.exchange, &row.raw_symbol, &row.coin, &row.quote, &row.category].map(Clone::clone);
        (names, row.normalized_symbol(), row.contract_usd(), row.funding_seconds(), row.is_usd_like())
    };
    let described = |rows: &[&Instrument]| {
        let mut all: Vec<_> = rows.iter().map(|row| described(row)).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    };
    assert_eq!(described(&store.instruments().iter().collect::<Vec<_>>()), described(&markets));
    for row in markets {
        let known = Exchange::find(&row.exchange).expect("an exchange of the table");
        assert_eq!(row.funding_seconds(), known.funding_seconds, "{}", row.exchange);
    }
}

#[test]
fn the_demo_settles_funding_when_the_table_says() {
    let demo = Demo::new(0);
    let mut hourly = 0;
    for (market, row) in demo.instruments().iter().enumerate().filter(|(_, row)| row.coin == "BTC") {
        let known = Exchange::find(&row.exchange).unwrap();
        if row.category != "PERPETUAL" {
            continue;
        }
        hourly += usize::from(known.funding_seconds == 3_600);
        let (mut last, mut settled) = (None, Vec::new());
        let now = (DAY + DAYS) * SECOND;
        demo.markets
            .ticker_bars(
                market,
                TickerField::FundingRate,
                Window { from: DAY, to: DAY + DAYS },
                UnixNanos(now),
                &mut |bar| {
                    if last.is_some_and(|rate| rate != bar.open) {
                        settled.push(bar.start.0 - DAY);
                    }
                    last = Some(bar.close);
                },
            )
            .unwrap();
        let due: Vec<i64> = (1..DAYS / known.funding_seconds).map(|time| time * known.funding_seconds).collect();
        assert_eq!(settled, due, "{}", row.exchange);
    }
    assert_eq!(hourly, 1, "HYPERLIQUID_FUTURES");
}
