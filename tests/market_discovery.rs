//! What a store lists as of a moment: by its events, not by its files; and what its markets are ordered by.

use marketpoints::clock::UnixNanos;
use marketpoints::market::Market;
use marketpoints::protocol::{DiscoveryList, Filters, MarketListing, MarketsQuery, Timestamp};

use crate::support::dumps::{BOOKS, Bench, SECOND, START, TRADES};

const DAY: i64 = 86_400;
const TICKERS: &str = "exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,predicted_funding_rate,\
                       open_interest,last_price,index_price,mark_price\n";

/// The store of dumps without a problem.
fn bench(dumps: &[(&str, &str, String)]) -> Bench {
    let bench = Bench::new();
    for (name, header, rows) in dumps {
        bench.dump(name, &format!("{header}{rows}"));
    }
    assert_eq!(bench.ingest().problems, []);
    bench
}

/// Rows at seconds after [`START`], with half a second, which dumps tell in microseconds.
fn rows(rows: &[(i64, &str)]) -> String {
    let row = |(second, rest): &(i64, &str)| format!("x,S,{0}500000,{0}500000,{rest}\n", START + second);
    rows.iter().map(row).collect::<Vec<_>>().concat()
}

fn at(second: i64) -> i64 {
    (START + second) * SECOND + SECOND / 2
}

fn markets(market: &Market, query: &str, now: i64) -> Vec<MarketListing> {
    market.markets(&MarketsQuery::parse(query).unwrap(), UnixNanos(now)).unwrap().symbols
}

fn list(market: &Market, list: DiscoveryList, query: &str, now: i64) -> Vec<String> {
    let names = market.list(list, &Filters::parse(query), UnixNanos(now)).unwrap();
    names.as_array().unwrap().iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_type_is_served_from_its_first_event_on() {
    let bench = bench(&[
        ("trades/BYBIT/AUSDT/2019-10-12.csv", TRADES, rows(&[(3_600, "1,buy,10,1"), (3_700, "2,sell,11,1")])),
        (
            "incremental_book_L2/BYBIT/AUSDT/2019-10-12.csv",
            BOOKS,
            rows(&[(5_000, "true,bid,9,1"), (5_000, "true,ask,11,1")]),
        ),
        ("liquidations/BYBIT/AUSDT/2019-10-12.csv", TRADES, rows(&[(9_000, "1,buy,12,1")])),
        // Rates at once, open interest only from the second row on.
        (
            "derivative_ticker/BYBIT/AUSDT/2019-10-12.csv",
            TICKERS,
            rows(&[(7_000, ",0.0001,,,10,10,10"), (8_000, ",0.0001,,50,10,10,10")]),
        ),
        // A file of the day before its only trade.
        ("trades/BYBIT/BUSDT/2019-10-12.csv", TRADES, rows(&[(DAY + 60, "1,buy,5,1")])),
        // Cut by the time of arrival: the later file holds the earlier trade.
        ("trades/OKEX/C-USDT/2019-10-12.csv", TRADES, rows(&[(DAY - 10, "1,buy,5,1")])),
        ("trades/OKEX/C-USDT/2019-10-13.csv", TRADES, rows(&[(DAY - 20, "1,buy,5,1"), (DAY + 5, "1,buy,5,1")])),
    ]);
    let market = bench.market();
    let first = |kind: &str| match kind {
        "BLOCK_BOOK_SNAPSHOT_AGG" => 5_000,
        "FUNDING_RATE_AGG" => 7_000,
        "OPEN_INTEREST_AGG" => 8_000,
        "LIQUIDATION_AGG" => 9_000,
        _ => 3_600,
    };
    let all = ["TRADE_AGG", "TRADE_SIDE_AGNOSTIC_AGG", "VOLUME_PROFILE_AGG", "TPO_AGG", "BLOCK_BOOK_SNAPSHOT_AGG"];
    let all = all.into_iter().chain(["FUNDING_RATE_AGG", "OPEN_INTEREST_AGG", "LIQUIDATION_AGG"]);
    for kind in all {
        let event = at(first(kind));
        let listed = |now: i64| {
            let query = format!("type={kind}&coin=A");
            let names = markets(&market, &query, now).len();
            assert_eq!(list(&market, DiscoveryList::Coins, &query, now).len(), names, "{kind}");
            let types = list(&market, DiscoveryList::Types, "coin=A", now);
            assert_eq!(types.contains(&kind.to_owned()), names > 0, "{kind}");
            names
        };
        assert_eq!((listed(event - 1), listed(event)), (0, 1), "{kind}");
    }
    // A market is there from the first event of any of its feeds on.
    assert!(markets(&market, "coin=A", at(3_600) - 1).is_empty());
    let entry = &markets(&market, "coin=A", at(9_000))[0];
    assert_eq!(entry.available_since, Some(Timestamp { s: START + 3_600, ns: SECOND / 2 }));
    assert!(markets(&market, "coin=B", at(DAY + 60) - 1).is_empty());
    assert!(list(&market, DiscoveryList::Symbols, "type=TRADE_AGG&coin=B", at(DAY + 60) - 1).is_empty());
    assert_eq!(markets(&market, "coin=B", at(DAY + 60))[0].last_price, 5.0);
    assert!(markets(&market, "coin=C", at(DAY - 20) - 1).is_empty());
    let since = markets(&market, "coin=C", at(2 * DAY))[0].available_since;
    assert_eq!(since, Some(Timestamp { s: START + DAY - 20, ns: SECOND / 2 }));
    assert_eq!(list(&market, DiscoveryList::Exchanges, "", at(DAY)), ["BYBIT", "OKEX"]);
}

#[test]
fn unknown_figures_stand_last_and_nothing_looks_ahead() {
    // USD volumes of the last day: A 400, B 900, D 2 × 100 BTC × 50 = 10,000 by the store's own rate, C unknown.
    let btc = rows(&[(10, "1,buy,50,0.02")]);
    let a = rows(&[(DAY - 60, "1,buy,20,20"), (DAY + 60, "1,buy,99,1000")]);
    let bench = bench(&[
        ("trades/BYBIT/BTCUSDT/2019-10-12.csv", TRADES, btc),
        ("trades/BYBIT/AUSDT/2019-10-07.csv", TRADES, rows(&[(-5 * DAY, "1,buy,40,1")])),
        ("trades/BYBIT/AUSDT/2019-10-12.csv", TRADES, a),
        ("trades/BYBIT/BUSDT/2019-10-12.csv", TRADES, rows(&[(100, "1,buy,30,10"), (7_200, "1,sell,60,10")])),
        ("trades/BYBIT/CEUR/2019-10-12.csv", TRADES, rows(&[(200, "1,buy,1,1000000")])),
        ("trades/BYBIT/DBTC/2019-10-12.csv", TRADES, rows(&[(300, "1,buy,2,100")])),
    ]);
    let market = bench.market();
    let now = at(DAY - 1);
    let coins = |query: &str| -> Vec<String> {
        markets(&market, &format!("pageSize=100&{query}"), now).into_iter().map(|row| row.coin).collect()
    };
    assert_eq!(coins(""), ["D", "B", "A", "BTC", "C"]);
    assert_eq!(coins("sortCriteria.direction=1"), ["BTC", "A", "B", "D", "C"]);
    assert_eq!(coins("distinct=true"), ["D", "B", "A", "BTC", "C"]);
    // A fell from 40 to 20; the 99 of tomorrow is no peak yet. B and the others stand at their peaks.
    let rows = markets(&market, "sortCriteria.field=PCT_FROM_ATH&sortCriteria.direction=SORT_DIRECTION_ASC", now);
    assert_eq!((&*rows[0].coin, rows[0].pct_from_ath, rows[1].pct_from_ath), ("A", -50.0, 0.0));
    let later = &markets(&market, "coin=A", at(DAY + 60))[0];
    assert_eq!((later.last_price, later.pct_from_ath), (99.0, 0.0));
    // Prices moved for B alone, by a hundred percent.
    let rows = markets(&market, "sortCriteria.field=PRICE_CHANGE_24H", now);
    assert_eq!((&*rows[0].coin, rows[0].price_change_24h), ("B", 100.0));
    // One day's worth of D at the rate of its minute.
    assert_eq!(markets(&market, "coin=D", now)[0].volume_24h_usd, 10_000.0);
    assert_eq!(markets(&market, "coin=C", now)[0].volume_24h_usd, 0.0, "unknown is left out");
    assert_eq!(coins("sortCriteria.field=AVAILABLE_SINCE&sortCriteria.direction=1"), ["A", "BTC", "B", "C", "D"]);
    // Nothing tells open interest or capitalization: by name.
    assert_eq!(coins("sortCriteria.field=MARKET_SYMBOL_OI_CHANGE_24H"), ["A", "BTC", "B", "C", "D"]);
}
