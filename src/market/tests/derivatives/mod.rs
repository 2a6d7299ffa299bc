//! Dumps → store → answers, against plain computations over the same rows; and the invariants on the demo.

mod dumps;
mod heatmap;
mod inverse;

use std::collections::BTreeMap;
use std::path::Path;

use self::dumps::{
    DAY, Forced, INTERVALS, LATER, OHLC, PREDICTED, RATE, TICKER_HEADER, ask, ask_at, close, forced, market, ohlc, put,
    put_forced, put_readings, readings, refused, side_sums, table,
};
use crate::clock::{SECOND, UnixNanos};
use crate::columns::Series;
use crate::market::engine::Market;
use crate::market::sources::ingest::ingest;
use crate::protocol::{PointsQuery, SeriesId};

/// Fields that the identities of a sum keep: type, interval and side (supplement 2).
pub(in crate::market) fn as_a_sum(series: Vec<Series>) -> Vec<Series> {
    let sum = |one: Series| {
        let (data_type, interval, side) = (one.id.data_type.clone(), one.id.interval.clone(), one.id.side.clone());
        Series { id: SeriesId { data_type, interval, side, ..SeriesId::default() }.into(), ..one }
    };
    series.into_iter().map(sum).collect()
}

#[test]
fn liquidations_are_sums_per_side() {
    let (one, two) = (forced(1, 300), forced(2, 200));
    let (_folder, market, report) = market(|dumps| {
        put_forced(dumps, "BINANCE_FUTURES/XRPUSDT", &one);
        put_forced(dumps, "BYBIT/XRPUSDT", &two);
    });
    assert_eq!((report.files, report.rows, report.problems.len()), (2, 500, 0));
    let both: Vec<Forced> = one.iter().chain(&two).copied().collect();
    for (interval, seconds) in INTERVALS {
        for usd in [false, true] {
            let tail = if usd { "&transform.normalize.quote=USD" } else { "" };
            let alone = format!("type=LIQUIDATION_AGG&exchange=BINANCE_FUTURES&interval={interval}{tail}");
            let series = ask(&market, &format!("{alone}&rawSymbol=XRPUSDT"));
            let grouped = "&coin=XRP&transform.groupBy.type=GROUP_BY_TYPE_SUM";
            let same = ask(&market, &format!("{alone}{grouped}"));
            let sum = ask(&market, &format!("{alone}&exchange=BYBIT{grouped}"));
            let expected = as_a_sum(series.clone());
            assert_eq!((series.len(), &expected), (2, &same), "a sum over one exchange is the exchange");
            assert_eq!((sum.len(), &sum[0].id, &sum[1].id), (2, &expected[0].id, &expected[1].id));
            for (side, buy) in [(0, true), (1, false)] {
                assert_eq!(series[side].id.side.as_deref(), Some(if buy { "BUY" } else { "SELL" }));
                assert_eq!(table(&series[side], ["liquidations"]), side_sums(&one, buy, seconds, usd));
                assert_eq!(table(&sum[side], ["liquidations"]), side_sums(&both, buy, seconds, usd));
            }
        }
    }
    assert!(ask(&market, "type=OPEN_INTEREST_AGG&exchange=BYBIT&rawSymbol=XRPUSDT&interval=HOUR").is_empty());
}

#[test]
fn rates_and_interest_are_first_highest_lowest_last() {
    let rows = readings(3, 400);
    let (_folder, market, report) = market(|dumps| put_readings(dumps, "BYBIT/XRPUSDT", &rows));
    assert_eq!((report.rows, report.problems.len()), (400, 0));
    let of = |index: usize| rows.iter().map(move |(second, values)| (*second, values[index]));
    for (interval, seconds) in INTERVALS {
        let tail = format!("exchange=BYBIT&rawSymbol=XRPUSDT&interval={interval}");
        let interest = ask(&market, &format!("type=OPEN_INTEREST_AGG&{tail}"));
        assert_eq!(table(&interest[0], OHLC), ohlc(of(2), seconds));
        let value =
            rows.iter().map(|(second, [_, _, interest, mark])| (*second, interest.zip(*mark).map(|(i, p)| i * p)));
        let in_usd = ask(&market, &format!("type=OPEN_INTEREST_AGG&{tail}&transform.normalize.quote=USD"));
        assert_eq!(table(&in_usd[0], OHLC), ohlc(value, seconds));
        let funding = ask(&market, &format!("type=FUNDING_RATE_AGG&{tail}"));
        let quarter =
            ask(&market, &format!("type=FUNDING_RATE_AGG&{tail}&transform.normalize.fundingInterval=7200000"));
        for (index, names) in [(0, RATE), (1, PREDICTED)] {
            let known = |series: &Series| -> BTreeMap<i64, [f64; 4]> {
                table(series, names).into_iter().filter(|(_, row)| !row[0].is_nan()).collect()
            };
            assert_eq!(known(&funding[0]), ohlc(of(index), seconds));
            assert_eq!(known(&quarter[0]), ohlc(of(index).map(|(s, v)| (s, v.map(|v| v / 4.0))), seconds));
        }
    }
}

#[test]
fn hourly_venues_are_brought_to_eight_hours() {
    let rows = [(DAY + 5, [Some(1.25e-5), None, Some(10.0), None])];
    let (_folder, market, _) = market(|dumps| put_readings(dumps, "HYPERLIQUID_FUTURES/XRP", &rows));
    let query = "type=FUNDING_RATE_AGG&exchange=HYPERLIQUID_FUTURES&rawSymbol=XRP&interval=HOUR";
    close(&table(&ask(&market, query)[0], RATE), &BTreeMap::from([(DAY, [0.0001; 4])]));
    let native = ask(&market, &format!("{query}&transform.normalize.fundingInterval=3600000"));
    assert_eq!(table(&native[0], RATE), BTreeMap::from([(DAY, [1.25e-5; 4])]));
    assert!(table(&native[0], PREDICTED)[&DAY].iter().all(|value| value.is_nan()));
}

#[test]
fn exchanges_add_and_weigh_and_a_silent_one_keeps_its_last() {
    let full = |second: i64, rate: f64, interest: f64| (DAY + second, [Some(rate), None, Some(interest), Some(2.0)]);
    let one = [full(0, 0.0001, 300.0), full(30, 0.0003, 400.0), full(65, 0.0002, 500.0), full(200, 0.0004, 100.0)];
    let two = [full(10, -0.0001, 100.0), full(50, 0.0001, 100.0), full(190, 0.0, 300.0)];
    let (_folder, market, _) = market(|dumps| {
        put_readings(dumps, "BINANCE_FUTURES/XRPUSDT", &one);
        put_readings(dumps, "BYBIT/XRPUSDT", &two);
    });
    let tail = "exchange=BINANCE_FUTURES&exchange=BYBIT&coin=XRP&interval=MINUTE&transform.groupBy.type=GROUP_BY_TYPE";
    let sum = ask(&market, &format!("type=OPEN_INTEREST_AGG&{tail}_SUM"));
    let expected = [
        (DAY, [400.0, 500.0, 400.0, 500.0]),
        (DAY + 60, [600.0; 4]), // the second is silent: its last 100
        (DAY + 180, [400.0; 4]),
    ];
    assert_eq!((sum.len(), table(&sum[0], OHLC)), (1, BTreeMap::from(expected)));
    let in_usd = ask(&market, &format!("type=OPEN_INTEREST_AGG&{tail}_SUM&transform.normalize.quote=USD"));
    assert_eq!(table(&in_usd[0], OHLC), expected.iter().map(|(s, row)| (*s, row.map(|v| v * 2.0))).collect());
    let mean = ask(&market, &format!("type=FUNDING_RATE_AGG&{tail}_OPEN_INTEREST_WEIGHTED_AVG"));
    let weighted = |one: f64, weight: f64, two: f64, other: f64| (one * weight + two * other) / (weight + other);
    let expected = BTreeMap::from([
        (
            DAY,
            [(0.0001, -0.0001), (0.0003, 0.0001), (0.0001, -0.0001), (0.0003, 0.0001)]
                .map(|(a, b)| weighted(a, 400.0, b, 100.0)),
        ),
        (DAY + 60, [weighted(0.0002, 500.0, 0.0001, 100.0); 4]),
        (DAY + 180, [weighted(0.0004, 100.0, 0.0, 300.0); 4]),
    ]);
    close(&table(&mean[0], RATE), &expected);
    // A window that begins later knows what was before it.
    let late = format!("type=OPEN_INTEREST_AGG&{tail}_SUM&from={}&period=60", DAY + 60);
    let late = market.points(&PointsQuery::parse(&late).unwrap(), UnixNanos(LATER)).unwrap();
    assert_eq!(table(&late[0], OHLC), BTreeMap::from([(DAY + 60, [600.0; 4])]));
    // One exchange alone is as it is.
    let single = "type=FUNDING_RATE_AGG&exchange=BYBIT&coin=XRP&interval=FIVE_MINUTES";
    let grouped = format!("{single}&transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG");
    assert_eq!(format!("{:?}", ask(&market, &grouped)), format!("{:?}", as_a_sum(ask(&market, single))));
}

#[test]
fn interest_is_valued_by_mark_then_last_then_index() {
    let rows = [",,,2,5,6,7", ",,,2,5,6,", ",,,2,,6,", ",,,2,,,", ",,,2,0,,"].iter().enumerate();
    let rows = rows.map(|(at, row)| format!("x,y,{0}000000,1,{row}\n", DAY + 60 * at as i64));
    let rows = rows.collect::<Vec<_>>().concat();
    let fill = |dumps: &Path| put(dumps, "derivative_ticker", "BYBIT/XRPUSDT", &format!("{TICKER_HEADER}{rows}"));
    let (_folder, market, _) = market(fill);
    let query = "type=OPEN_INTEREST_AGG&exchange=BYBIT&rawSymbol=XRPUSDT&interval=MINUTE";
    assert_eq!(table(&ask(&market, query)[0], OHLC).len(), 5);
    let valued = table(&ask(&market, &format!("{query}&transform.normalize.quote=USD"))[0], OHLC);
    // The columns are last, index, mark; what has no price has no value.
    let expected = [(DAY, [14.0; 4]), (DAY + 60, [10.0; 4]), (DAY + 120, [12.0; 4])];
    assert_eq!(valued, BTreeMap::from(expected));
}

#[test]
fn a_value_is_carried_for_a_day_and_parts_of_a_minute_join_over_files() {
    let full = |second: i64, interest: f64| (DAY + second, [None, None, Some(interest), Some(2.0)]);
    let (_folder, market, _) = market(|dumps| {
        put_readings(dumps, "BYBIT/XRPUSDT", &[full(30, 7.0), full(86_400 + 30, 9.0), full(86_400 + 90, 9.5)]);
        // Dumps are cut by arrival: a reading of the first day's last minute may come with the second day.
        put_readings(dumps, "BINANCE_FUTURES/XRPUSDT", &[full(0, 1.0), full(86_399, 2.0)]);
        let second = format!("{TICKER_HEADER}x,y,{0}500000,{1}000000,,,,4,,,1\n", DAY + 86_399, DAY + 86_400);
        std::fs::write(dumps.join("derivative_ticker/BINANCE_FUTURES/XRPUSDT/2024-12-02.csv"), second).unwrap();
    });
    let alone = "type=OPEN_INTEREST_AGG&exchange=BINANCE_FUTURES&rawSymbol=XRPUSDT&interval=MINUTE";
    let expected = [(DAY, [1.0; 4]), (DAY + 86_340, [2.0, 4.0, 2.0, 4.0])];
    assert_eq!(table(&ask(&market, alone)[0], OHLC), BTreeMap::from(expected));
    let seen = ask_at(&market, alone, (DAY + 86_399) * SECOND).unwrap();
    assert_eq!(table(&seen[0], OHLC)[&(DAY + 86_340)], [2.0; 4]);
    let sum = "type=OPEN_INTEREST_AGG&exchange=BINANCE_FUTURES&exchange=BYBIT&coin=XRP&interval=MINUTE\
               &transform.groupBy.type=GROUP_BY_TYPE_SUM";
    let both = table(&ask(&market, sum)[0], OHLC);
    assert_eq!(both, BTreeMap::from([(DAY, [8.0; 4]), (DAY + 86_340, [9.0, 11.0, 9.0, 11.0])]));
    let next = format!("{sum}&from={}&period=172800", DAY + 86_400);
    let next = market.points(&PointsQuery::parse(&next).unwrap(), UnixNanos(LATER)).unwrap();
    assert_eq!(table(&next[0], OHLC).into_keys().collect::<Vec<_>>(), [DAY + 86_400, DAY + 86_460]);
    assert_eq!(table(&next[0], OHLC)[&(DAY + 86_460)], [13.5; 4]);
}

#[test]
fn a_value_older_than_a_day_does_not_count() {
    let full = |interest: f64| [None, None, Some(interest), None];
    let rows = |late: i64| {
        let (_folder, market, _) = market(|dumps| {
            put_readings(dumps, "BYBIT/XRPUSDT", &[(DAY, full(7.0))]);
            put_readings(dumps, "BINANCE_FUTURES/XRPUSDT", &[(DAY + late, full(1.0))]);
        });
        let query = "type=OPEN_INTEREST_AGG&exchange=BINANCE_FUTURES&exchange=BYBIT&coin=XRP&interval=MINUTE\
                     &transform.groupBy.type=GROUP_BY_TYPE_SUM";
        let query = format!("{query}&from={}&period=60", DAY + late / 60 * 60);
        table(&market.points(&PointsQuery::parse(&query).unwrap(), UnixNanos(LATER)).unwrap()[0], OHLC)
    };
    assert_eq!(rows(86_410), BTreeMap::from([(DAY + 86_400, [8.0; 4])]));
    assert_eq!(rows(86_470), BTreeMap::from([(DAY + 86_460, [1.0; 4])]));
}

#[test]
fn the_past_does_not_change_and_the_future_is_not_known() {
    let (rows, events) = (readings(5, 300), forced(6, 300));
    let (_folder, market, _) = market(|dumps| {
        put_readings(dumps, "BYBIT/XRPUSDT", &rows);
        put_forced(dumps, "BYBIT/XRPUSDT", &events);
    });
    for now in [DAY + 61, DAY + 1_810, DAY + 3_599, DAY + 5_000] {
        let tail = "exchange=BYBIT&rawSymbol=XRPUSDT&interval=FIVE_MINUTES";
        let seen = rows.iter().filter(|row| row.0 <= now).map(|(second, values)| (*second, values[2]));
        let interest = ask_at(&market, &format!("type=OPEN_INTEREST_AGG&{tail}"), now * SECOND).unwrap();
        assert_eq!(interest.first().map(|one| table(one, OHLC)).unwrap_or_default(), ohlc(seen, 300));
        let happened: Vec<Forced> = events.iter().filter(|event| event.0 <= now).copied().collect();
        for series in ask_at(&market, &format!("type=LIQUIDATION_AGG&{tail}"), now * SECOND).unwrap() {
            let buy = series.id.side.as_deref() == Some("BUY");
            assert_eq!(table(&series, ["liquidations"]), side_sums(&happened, buy, 300, false));
        }
    }
}

#[test]
fn foreign_quotes_take_the_stores_own_rate() {
    let events = [(DAY + 70, true, 0.5, 4.0), (DAY + 130, false, 0.25, 8.0)];
    let rows = [(DAY + 70, [None, None, Some(10.0), Some(0.5)])];
    let fill = |dumps: &Path| {
        put_forced(dumps, "BYBIT/XRPETH", &events);
        put_readings(dumps, "BYBIT/XRPETH", &rows);
    };
    let tail = "exchange=BYBIT&rawSymbol=XRPETH&interval=MINUTE&transform.normalize.quote=USD";
    let (_folder, poor, _) = market(fill);
    for data_type in ["LIQUIDATION_AGG", "OPEN_INTEREST_AGG"] {
        assert!(refused(&poor, &format!("type={data_type}&{tail}")).contains("ETH"));
    }
    let (_folder, rich, _) = market(|dumps| {
        fill(dumps);
        let text =
            format!("timestamp,side,price,amount\n{}000000,buy,3000,1\n{}000000,buy,4000,1\n", DAY + 10, DAY + 125);
        put(dumps, "trades", "BINANCE/ETHUSDT", &text);
    });
    let series = ask(&rich, &format!("type=LIQUIDATION_AGG&{tail}"));
    assert_eq!(table(&series[0], ["liquidations"]), BTreeMap::from([(DAY + 60, [0.5 * 4.0 * 3_000.0])]));
    assert_eq!(table(&series[1], ["liquidations"]), BTreeMap::from([(DAY + 120, [0.25 * 8.0 * 4_000.0])]));
    let interest = ask(&rich, &format!("type=OPEN_INTEREST_AGG&{tail}"));
    assert_eq!(table(&interest[0], OHLC), BTreeMap::from([(DAY + 60, [10.0 * 0.5 * 3_000.0; 4])]));
}

#[test]
fn amounts_in_coin_add_whatever_the_quotes_are() {
    let (_folder, market, _) = market(|dumps| {
        put_forced(dumps, "BYBIT/XRPETH", &[(DAY, true, 0.5, 4.0)]);
        put_forced(dumps, "BINANCE_FUTURES/XRPUSDT", &[(DAY, true, 2.0, 1.5)]);
    });
    let query = "type=LIQUIDATION_AGG&exchange=BYBIT&exchange=BINANCE_FUTURES&coin=XRP&interval=MINUTE\
                 &transform.groupBy.type=GROUP_BY_TYPE_SUM";
    assert_eq!(table(&ask(&market, query)[0], ["liquidations"]), BTreeMap::from([(DAY, [5.5])]));
    assert!(refused(&market, &format!("{query}&transform.normalize.quote=USD")).contains("ETH"));
}

#[test]
fn bad_rows_are_named_and_a_second_ingest_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (dumps, store) = (folder.path().join("dumps"), folder.path().join("store"));
    let row = |values: &str| format!("x,y,{DAY}000000,{DAY}000000,{values}\n");
    let ticker = [",0.1,,,,,", ",,,-5,,,1", ",abc,,,,,", ",,,,,,", ",-0.1,NaN,,,,"].map(row).concat();
    put(&dumps, "derivative_ticker", "BYBIT/XRPUSDT", &format!("{TICKER_HEADER}{ticker}"));
    let forced = [",buy,1,2", ",BUY,1,2", ",sell,0,2", ",sell,1"].map(row).concat();
    let header = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n";
    put(&dumps, "liquidations", "BYBIT/XRPUSDT", &format!("{header}{forced}"));
    put(&dumps, "liquidations", "BYBIT/BTCUSDT", "exchange,symbol,timestamp,side,price\n");
    let report = ingest(&dumps, &store, &|| true).unwrap();
    let lines: Vec<(bool, u64)> =
        report.problems.iter().map(|problem| (problem.file.contains("ticker"), problem.line)).collect();
    let expected = [(true, 3), (true, 4), (true, 6), (false, 1), (false, 3), (false, 4), (false, 5)];
    assert_eq!((report.files, report.rows, &lines[..]), (2, 3, &expected[..]), "{:?}", report.problems);
    let again = ingest(&dumps, &store, &|| true).unwrap();
    assert_eq!((again.files, again.unchanged, again.rows), (0, 2, 0));
    assert!(!store.join("liquidations_1m/exchange=BYBIT/symbol=BTCUSDT").exists(), "taken whole or not at all");
}

#[test]
fn markets_without_the_data_are_no_part_of_an_aggregate() {
    let market = Market::demo(0);
    let tail = "coin=BTC&interval=HOUR&transform.groupBy.type=GROUP_BY_TYPE_SUM";
    for data_type in ["LIQUIDATION_AGG", "OPEN_INTEREST_AGG"] {
        let alone = ask(&market, &format!("type={data_type}&exchange=BYBIT&{tail}"));
        assert!(!alone.is_empty());
        assert_eq!(ask(&market, &format!("type={data_type}&exchange=BYBIT&exchange=BINANCE&{tail}")), alone);
        assert!(ask(&market, &format!("type={data_type}&exchange=BINANCE&{tail}")).is_empty());
    }
}

#[test]
fn the_table_decides_what_is_refused() {
    let market = Market::demo(0);
    let tail = "exchange=BYBIT&coin=BTC&interval=HOUR";
    for (data_type, extra, word) in [
        ("FUNDING_RATE_AGG", "&transform.groupBy.type=GROUP_BY_TYPE_SUM", "does not aggregate"),
        ("OPEN_INTEREST_AGG", "&transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG", "does not aggregate"),
        ("FUNDING_RATE_AGG", "&transform.normalize.quote=USD", "USD"),
        ("FUNDING_RATE_AGG", "&transform.normalize.fundingInterval=0", "above 0"),
        ("LIQUIDATION_AGG", "&transform.normalize.fundingInterval=28800000", "only FUNDING_RATE_AGG"),
        ("OPEN_INTEREST_AGG", "&gapfill=true", "gapfill"),
        ("LIQUIDATION_AGG", "&gapfill=true", "gapfill"),
    ] {
        let problem = refused(&market, &format!("type={data_type}&{tail}{extra}"));
        assert!(problem.contains(word), "{problem}");
    }
}

#[test]
fn the_demo_keeps_the_invariants() {
    let market = Market::demo(0);
    let at = |query: &str, interval: &str, now: i64| {
        let query = format!("{query}&interval={interval}&from={DAY}&period=14400");
        market.points(&PointsQuery::parse(&query).unwrap(), UnixNanos(now)).unwrap()
    };
    let future = (DAY + 86_400) * SECOND;
    for (data_type, names) in [("OPEN_INTEREST_AGG", OHLC), ("FUNDING_RATE_AGG", RATE), ("FUNDING_RATE_AGG", PREDICTED)]
    {
        let query = format!("type={data_type}&exchange=BYBIT&rawSymbol=BTCUSDT");
        let minutes = table(&at(&query, "MINUTE", future)[0], names);
        assert_eq!(minutes.len(), 240);
        let mut rolled: BTreeMap<i64, [f64; 4]> = BTreeMap::new();
        for (start, row) in &minutes {
            let bucket = rolled.entry(start / 300 * 300).or_insert(*row);
            *bucket = [bucket[0], bucket[1].max(row[1]), bucket[2].min(row[2]), row[3]];
        }
        assert_eq!(table(&at(&query, "FIVE_MINUTES", future)[0], names), rolled);
        let early = table(&at(&query, "FIVE_MINUTES", (DAY + 7_000) * SECOND)[0], names);
        for (start, row) in early.iter().filter(|(start, _)| *start + 300 <= DAY + 7_000) {
            assert_eq!(row, &rolled[start]);
        }
        assert_eq!(early.len(), 24);
    }
    let query = "type=LIQUIDATION_AGG&exchange=BYBIT&rawSymbol=BTCUSDT";
    let (minutes, fives) = (at(query, "MINUTE", future), at(query, "FIVE_MINUTES", future));
    for (minutes, fives) in minutes.iter().zip(&fives) {
        let mut rolled: BTreeMap<i64, f64> = BTreeMap::new();
        for (start, [amount]) in table(minutes, ["liquidations"]) {
            *rolled.entry(start / 300 * 300).or_default() += amount;
        }
        let fives = table(fives, ["liquidations"]);
        assert!(!fives.is_empty() && fives.keys().eq(rolled.keys()));
        assert!(fives.iter().all(|(start, [amount])| (amount - rolled[start]).abs() < 1e-9 && *amount > 0.0));
    }
    let exchanges = "exchange=BINANCE_FUTURES&exchange=BYBIT&exchange=BINANCE&coin=BTC";
    let group = "transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG";
    let interest = at(&format!("type=OPEN_INTEREST_AGG&{exchanges}"), "HOUR", future);
    let rates = at(&format!("type=FUNDING_RATE_AGG&{exchanges}"), "HOUR", future);
    assert_eq!((interest.len(), rates.len()), (2, 2), "a spot market has neither");
    let mean = table(&at(&format!("type=FUNDING_RATE_AGG&{exchanges}&{group}"), "HOUR", future)[0], RATE);
    let [first, second] = [0, 1].map(|index| (table(&rates[index], RATE), table(&interest[index], OHLC)));
    let expected = first.0.keys().map(|start| {
        let (one, other) = (first.1[start][3], second.1[start][3]);
        (*start, [0, 1, 2, 3].map(|at| (first.0[start][at] * one + second.0[start][at] * other) / (one + other)))
    });
    close(&mean, &expected.collect());
}
