//! Inverse contracts, whose amounts are dollars and not coins; and what a ticker must tell to be listed.

use std::collections::BTreeMap;
use std::path::Path;

use super::as_a_sum;
use super::dumps::{DAY, LATER, OHLC, RATE, ask, close, market, put, put_forced, put_readings, refused, table};
use crate::clock::UnixNanos;
use crate::columns::{Column, Series};
use crate::market::engine::Market;
use crate::market::raw::Source;
use crate::market::sources::demo::Demo;
use crate::protocol::{DiscoveryList, Filters};

const USD: &str = "&transform.normalize.quote=USD";
const SUM: &str = "&transform.groupBy.type=GROUP_BY_TYPE_SUM";
const BOTH: &str = "exchange=BITMEX&exchange=BYBIT&coin=BTC&interval=MINUTE";

/// `BitMEX` counts dollars, Bybit's USDT market counts coins.
fn fill(dumps: &Path) {
    let header = "timestamp,side,price,amount\n";
    let trades = |rows: &[(i64, &str, f64, f64)]| {
        let rows = rows.iter().map(|(at, side, price, amount)| format!("{}000000,{side},{price},{amount}\n", DAY + at));
        format!("{header}{}", rows.collect::<String>())
    };
    let contracts = [(1, "buy", 50_000.0, 100_000.0), (2, "sell", 40_000.0, 20_000.0)];
    put(dumps, "trades", "BITMEX/XBTUSD", &trades(&contracts));
    put(dumps, "trades", "BYBIT/BTCUSDT", &trades(&[(1, "buy", 44_000.0, 2.0)]));
    put_forced(dumps, "BITMEX/XBTUSD", &[(DAY + 1, true, 50_000.0, 3_000.0), (DAY + 2, false, 40_000.0, 500.0)]);
    put_forced(dumps, "BYBIT/BTCUSDT", &[(DAY + 3, true, 40_000.0, 0.5)]);
    let reading = |rate: f64, interest: f64, mark: f64| [(DAY + 5, [Some(rate), None, Some(interest), Some(mark)])];
    put_readings(dumps, "BITMEX/XBTUSD", &reading(0.0001, 3e6, 50_000.0));
    put_readings(dumps, "BYBIT/BTCUSDT", &reading(0.0005, 20.0, 50_000.0));
    let book = "timestamp,is_snapshot,side,price,amount\n";
    let book = format!("{book}{0}000000,true,bid,50000,7000\n{0}000000,true,ask,50100,900\n", DAY + 1);
    put(dumps, "incremental_book_L2", "BITMEX/XBTUSD", &book);
}

fn one(market: &Market, query: &str) -> Series {
    let mut series = ask(market, query);
    assert_eq!(series.len(), 1, "{query}");
    series.remove(0)
}

fn list<'a>(series: &'a Series, name: &str) -> &'a [f64] {
    match series.column(name) {
        Some(Column::List(list)) => &list.values,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn alone_an_inverse_market_counts_its_contracts_and_in_usd_their_worth() {
    let (_folder, market, report) = market(fill);
    assert_eq!(report.problems, []);
    let tail = "exchange=BITMEX&rawSymbol=XBTUSD&interval=MINUTE";
    for unit in ["", USD] {
        // A contract is a dollar: the numbers are the same in both units.
        let of = |data_type: &str| ask(&market, &format!("type={data_type}&{tail}{unit}"));
        let candle = table(&of("TRADE_SIDE_AGNOSTIC_AGG")[0], ["open", "close", "volume"]);
        assert_eq!(candle, BTreeMap::from([(DAY, [50_000.0, 40_000.0, 120_000.0])]));
        let sides: Vec<f64> = of("TRADE_AGG").iter().map(|side| side.floats("volume").unwrap()[0]).collect();
        assert_eq!(sides, [100_000.0, 20_000.0]);
        let sides: Vec<f64> =
            of("LIQUIDATION_AGG").iter().map(|side| side.floats("liquidations").unwrap()[0]).collect();
        assert_eq!(sides, [3_000.0, 500.0]);
        assert_eq!(table(&of("OPEN_INTEREST_AGG")[0], OHLC), BTreeMap::from([(DAY, [3e6; 4])]));
        assert_eq!(list(&of("VOLUME_PROFILE_AGG")[0], "profile"), [40_000.0, 0.0, 20_000.0, 50_000.0, 100_000.0, 0.0]);
        assert_eq!(of("TPO_AGG")[0].floats("total_volume").unwrap(), [120_000.0]);
        let book = one(&market, &format!("type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=100&{tail}{unit}"));
        assert_eq!(list(&book, "levels"), [50_000.0, 7_000.0, 50_100.0, 900.0]);
        let heatmap =
            one(&market, &format!("type=VENUE_LIQUIDATION_AGG&exchange=BITMEX&coin=BTC&interval=MINUTE{unit}"));
        assert_eq!(list(&heatmap, "levels"), [40_000.0, 500.0, 50_000.0, 3_000.0]);
    }
}

#[test]
fn contracts_add_to_coins_in_usd_alone() {
    let (_folder, market, _) = market(fill);
    for (data_type, name) in [
        ("TRADE_AGG", "transform.groupBy.type"),
        ("LIQUIDATION_AGG", "transform.groupBy.type"),
        ("OPEN_INTEREST_AGG", "transform.groupBy.type"),
        ("VOLUME_PROFILE_AGG", "transform.groupBy.type"),
        ("VENUE_LIQUIDATION_AGG", "transform.normalize.quote"),
    ] {
        let problem = refused(&market, &format!("type={data_type}&{BOTH}{SUM}"));
        assert!(problem.contains(&format!("{name}: ")), "{problem}");
        assert!(problem.contains("counted in contracts of 1 USD and in coins; add transform.normalize.quote=USD"));
    }
    let of = |data_type: &str| one(&market, &format!("type={data_type}&{BOTH}{SUM}{USD}"));
    let candle = table(&of("TRADE_SIDE_AGNOSTIC_AGG"), ["open", "volume"])[&DAY];
    assert_eq!(candle[1], 120_000.0 + 2.0 * 44_000.0);
    // Means over the markets are weighted by coins: 120,000 dollars at the close of 40,000 are 3, beside Bybit's 2.
    close(
        &BTreeMap::from([(DAY, [candle[0]; 4])]),
        &BTreeMap::from([(DAY, [(50_000.0 * 3.0 + 44_000.0 * 2.0) / 5.0; 4])]),
    );
    assert_eq!(table(&of("OPEN_INTEREST_AGG"), OHLC), BTreeMap::from([(DAY, [4e6; 4])]));
    assert_eq!(list(&of("VENUE_LIQUIDATION_AGG"), "levels"), [40_000.0, 20_500.0, 50_000.0, 3_000.0]);
    let sides = ask(&market, &format!("type=LIQUIDATION_AGG&{BOTH}{SUM}{USD}"));
    let sides: Vec<f64> = sides.iter().map(|side| side.floats("liquidations").unwrap()[0]).collect();
    assert_eq!(sides, [23_000.0, 500.0]);
}

#[test]
fn unlike_open_interests_weigh_by_their_worth() {
    let (_folder, market, _) = market(fill);
    let group = "&transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG";
    let mean = one(&market, &format!("type=FUNDING_RATE_AGG&{BOTH}{group}"));
    // 3 million dollars against 20 coins at 50,000.
    close(&table(&mean, RATE), &BTreeMap::from([(DAY, [(0.0001 * 3e6 + 0.0005 * 1e6) / 4e6; 4])]));
}

#[test]
fn a_contract_of_a_hundred_dollars_is_worth_a_hundred() {
    let (_folder, market, _) = market(|dumps| {
        put_forced(dumps, "BINANCE_DELIVERY/BTCUSD_PERP", &[(DAY, true, 50_000.0, 30.0)]);
        put_forced(dumps, "OKEX_SWAP/ETH-USD-SWAP", &[(DAY, true, 2_000.0, 30.0)]);
    });
    for (coin, levels) in [("BTC", [50_000.0, 3_000.0]), ("ETH", [2_000.0, 300.0])] {
        let query = format!("type=VENUE_LIQUIDATION_AGG&coin={coin}&interval=MINUTE");
        assert_eq!(list(&one(&market, &format!("{query}{USD}")), "levels"), levels);
        assert_eq!(list(&one(&market, &query), "levels"), [levels[0], 30.0], "alone, in its own unit");
    }
}

#[test]
fn a_market_is_listed_under_what_its_ticker_reports() {
    let (_folder, market, _) = market(|dumps| {
        let at = |values: [Option<f64>; 4]| [(DAY, values), (DAY + 90, values)];
        put_readings(dumps, "BYBIT/AUSDT", &at([Some(0.0001), None, None, Some(2.0)]));
        put_readings(dumps, "BYBIT/BUSDT", &at([None, Some(0.0001), None, None]));
        put_readings(dumps, "BYBIT/CUSDT", &at([None, None, Some(5.0), None]));
        put_readings(dumps, "BYBIT/DUSDT", &at([Some(0.0), None, Some(0.0), None]));
        put_readings(dumps, "BYBIT/EUSDT", &at([None, None, None, Some(2.0)]));
    });
    let listed = |list: DiscoveryList, filter: &str| {
        market.list(list, &Filters::parse(filter), UnixNanos(LATER)).unwrap().to_string()
    };
    for (data_type, coins) in [("FUNDING_RATE_AGG", r#"["A","B","D"]"#), ("OPEN_INTEREST_AGG", r#"["C","D"]"#)] {
        assert_eq!(listed(DiscoveryList::Coins, &format!("type={data_type}")), coins);
    }
    assert_eq!(listed(DiscoveryList::Types, "coin=A"), r#"["FUNDING_RATE_AGG"]"#);
    assert_eq!(listed(DiscoveryList::Coins, ""), r#"["A","B","C","D"]"#, "a ticker without a value serves nothing");
    let ask = |data_type: &str, coin: &str| {
        ask(&market, &format!("type={data_type}&exchange=BYBIT&rawSymbol={coin}USDT&interval=MINUTE")).len()
    };
    assert_eq!([ask("FUNDING_RATE_AGG", "A"), ask("OPEN_INTEREST_AGG", "A")], [1, 0]);
    assert_eq!([ask("FUNDING_RATE_AGG", "B"), ask("FUNDING_RATE_AGG", "C"), ask("OPEN_INTEREST_AGG", "C")], [1, 0, 1]);
}

#[test]
fn a_quantity_that_begins_on_a_later_day_is_answered() {
    let (_folder, market, _) = market(|dumps| {
        put_readings(dumps, "BYBIT/XRPUSDT", &[(DAY, [Some(0.0001), None, None, None])]);
        let header = super::dumps::TICKER_HEADER;
        let next = format!("{header}x,y,{0}000000,{0}000000,,,,7,,,2\n", DAY + 86_400);
        std::fs::write(dumps.join("derivative_ticker/BYBIT/XRPUSDT/2024-12-02.csv"), next).unwrap();
    });
    let query = "type=OPEN_INTEREST_AGG&exchange=BYBIT&rawSymbol=XRPUSDT&interval=DAY";
    let query = format!("{query}&from={DAY}&period=172800");
    let found = market.points(&crate::protocol::PointsQuery::parse(&query).unwrap(), UnixNanos(LATER)).unwrap();
    assert_eq!(table(&found[0], OHLC), BTreeMap::from([(DAY + 86_400, [7.0; 4])]));
}

#[test]
fn a_sum_over_one_exchange_is_the_exchange() {
    let (_folder, market, _) = market(fill);
    for exchange in ["BITMEX", "BYBIT"] {
        for (data_type, group) in [
            ("LIQUIDATION_AGG", "SUM"),
            ("OPEN_INTEREST_AGG", "SUM"),
            ("VENUE_LIQUIDATION_AGG", "SUM"),
            ("TRADE_AGG", "SUM"),
            ("FUNDING_RATE_AGG", "OPEN_INTEREST_WEIGHTED_AVG"),
        ] {
            let units = if data_type == "FUNDING_RATE_AGG" { &[""][..] } else { &["", USD] };
            for unit in units {
                let query = format!("type={data_type}&exchange={exchange}&coin=BTC&interval=MINUTE{unit}");
                let grouped = ask(&market, &format!("{query}&transform.groupBy.type=GROUP_BY_TYPE_{group}"));
                let alone = ask(&market, &query);
                // The liquidation heatmap is of a coin anyhow, and tells it (section 2.3).
                let expected = if data_type == "VENUE_LIQUIDATION_AGG" { alone } else { as_a_sum(alone) };
                // Debug, because unknown values are NaN, which is not equal to itself.
                assert_eq!(format!("{grouped:?}"), format!("{expected:?}"), "{exchange} {data_type}");
                assert!(!grouped.is_empty());
            }
        }
    }
}

#[test]
fn the_demo_counts_coins() {
    // Its trades are made in coins: a market of the table of contracts would be told in a wrong unit.
    let demo = Demo::new(0);
    assert!(demo.instruments().iter().all(|instrument| instrument.contract_usd().is_none()));
}
