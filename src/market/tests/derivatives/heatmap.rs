//! The liquidation heatmap: dumps → store → answers against plain sums over the same rows, and its invariants.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::dumps::{DAY, Forced, INTERVALS, LATER, ask, ask_at, forced, market, put, put_forced, refused, table};
use crate::clock::{SECOND, UnixNanos};
use crate::columns::Series;
use crate::decode;
use crate::encode;
use crate::market::engine::Market;
use crate::market::query::error::MarketError;
use crate::protocol::{DiscoveryList, Filters, MarketsQuery, PointsQuery};

const QUERY: &str = "type=VENUE_LIQUIDATION_AGG&coin=XRP&interval=";

/// Price and volume of each level by bucket start.
type Levels = BTreeMap<i64, Vec<(f64, f64)>>;

fn levels(series: &[Series]) -> Levels {
    let [series] = series else { panic!("{} series", series.len()) };
    let (levels, split) = series.levels().unwrap();
    assert!(split.iter().all(|bids| *bids == -1), "a liquidation heatmap has no sides");
    let pairs = |row: usize| levels.row(row).chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    series.timestamps.iter().enumerate().map(|(row, time)| (time / SECOND, pairs(row))).collect()
}

/// The sums that rows at whole prices make: every level is a price, whatever the step.
fn sums(rows: &[Forced], seconds: i64, usd: bool) -> Levels {
    let mut sums: BTreeMap<i64, BTreeMap<i64, f64>> = BTreeMap::new();
    for (second, _, price, amount) in rows {
        let bucket = sums.entry(second / seconds * seconds).or_default();
        *bucket.entry(*price as i64).or_default() += if usd { price * amount } else { *amount };
    }
    let pairs = |bucket: BTreeMap<i64, f64>| bucket.into_iter().map(|(price, sum)| (price as f64, sum)).collect();
    sums.into_iter().map(|(start, bucket)| (start, pairs(bucket))).collect()
}

#[test]
fn levels_are_floored_to_the_servers_step_and_both_sides_add() {
    let rows = [
        (DAY + 3, true, 2_000.0, 1.0), // 2000 / 2000: a step of 1
        (DAY + 4, false, 2_000.99, 2.0),
        (DAY + 5, true, 2_001.0, 4.0),
        (DAY + 59, false, 1_999.25, 8.0),
        (DAY + 125, true, 0.3, 16.0), // 0.00015: nearest are 0.0001 and 0.0002, in proportion the latter
        (DAY + 126, true, 0.300_19, 32.0),
        (DAY + 127, true, 0.300_2, 64.0),
        (DAY + 130, true, 0.5, 0.0), // nothing of it was executed
        (DAY + 240, false, 0.7, 0.0),
    ];
    let (_folder, market, _) = market(|dumps| put_forced(dumps, "BYBIT/XRPUSDT", &rows));
    let answer = ask(&market, &format!("{QUERY}MINUTE"));
    let expected =
        [(DAY, vec![(1_999.0, 8.0), (2_000.0, 3.0), (2_001.0, 4.0)]), (DAY + 120, vec![(0.3, 48.0), (0.300_2, 64.0)])];
    assert_eq!(levels(&answer), BTreeMap::from(expected));
    let id = &answer[0].id;
    let fields = [&id.data_type, &id.interval, &id.coin].map(|field| field.as_deref().unwrap());
    assert_eq!(fields, ["VENUE_LIQUIDATION_AGG", "MINUTE", "XRP"]);
}

#[test]
fn every_venue_of_the_coin_counts_or_those_that_are_named() {
    let (one, two, other) = (forced(21, 300), forced(22, 200), forced(23, 100));
    let (_folder, market, _) = market(|dumps| {
        put_forced(dumps, "BINANCE_FUTURES/XRPUSDT", &one);
        put_forced(dumps, "BYBIT/XRPUSDT", &two);
        put_forced(dumps, "BYBIT/ADAUSDT", &other);
        put(dumps, "trades", "BINANCE/XRPUSDT", &format!("timestamp,side,price,amount\n{DAY}000000,buy,1,1\n"));
    });
    let both: Vec<Forced> = one.iter().chain(&two).copied().collect();
    for (interval, seconds) in INTERVALS {
        for (usd, tail) in [(false, ""), (true, "&transform.normalize.quote=USD")] {
            let of = |select: &str| ask(&market, &format!("{QUERY}{interval}{tail}{select}"));
            let all = of("");
            assert_eq!(levels(&all), sums(&both, seconds, usd), "{interval}");
            assert_eq!(of("&exchange=BYBIT&exchange=BINANCE_FUTURES"), all);
            assert_eq!(of("&transform.groupBy.type=GROUP_BY_TYPE_SUM"), all, "it is aggregated as it is");
            assert_eq!(levels(&of("&exchange=BYBIT&exchange=BINANCE")), sums(&two, seconds, usd));
            assert!(of("&exchange=BINANCE").is_empty() && of("&exchange=NOWHERE").is_empty());
        }
    }
    let all = &ask(&market, &format!("{QUERY}HOUR"))[0].id;
    let common = [&all.exchange, &all.raw_symbol, &all.normalized_symbol, &all.category];
    let common = common.map(Option::as_deref);
    assert_eq!(common, [None, Some("XRPUSDT"), Some("XRP-USDT"), Some("PERPETUAL")], "only what all have in common");
    let single = &ask(&market, &format!("{QUERY}HOUR&exchange=BYBIT"))[0].id;
    assert_eq!(single.exchange.as_deref(), Some("BYBIT"));
}

#[test]
fn depth_keeps_the_levels_nearest_to_the_last_liquidation() {
    let at = |second: i64, price: f64| (DAY + second, true, price, 1.0);
    // Levels 1996 to 2006 of a step of 1, the last liquidation at 2001.
    let rows = [at(0, 2_000.0), at(1, 1_996.0), at(2, 2_006.0), at(3, 2_003.0), at(4, 1_999.0), at(5, 2_001.5)];
    // The later event of two venues is the last, whichever venue stands first.
    let early = [at(0, 2_006.0), at(4, 1_996.0)];
    for (first, second) in [("BINANCE_FUTURES", "BYBIT"), ("BYBIT", "BINANCE_FUTURES")] {
        let (_folder, market, _) = market(|dumps| {
            put_forced(dumps, &format!("{first}/XRPUSDT"), &rows);
            put_forced(dumps, &format!("{second}/XRPUSDT"), &early);
        });
        let prices = |depth: &str| -> Vec<f64> {
            let found = levels(&ask(&market, &format!("{QUERY}MINUTE{depth}")));
            found[&DAY].iter().map(|(price, _)| *price).collect()
        };
        assert_eq!(prices("&maxDepth=1"), [2_001.0]);
        assert_eq!(prices("&maxDepth=2"), [2_000.0, 2_001.0]);
        assert_eq!(prices("&maxDepth=3"), [1_999.0, 2_000.0, 2_001.0], "of two equally near the lower one");
        assert_eq!(prices("&maxDepth=5"), [1_996.0, 1_999.0, 2_000.0, 2_001.0, 2_003.0]);
        let every = [1_996.0, 1_999.0, 2_000.0, 2_001.0, 2_003.0, 2_006.0];
        assert_eq!((prices("&maxDepth=6"), prices("")), (every.to_vec(), every.to_vec()));
    }
}

#[test]
fn without_a_depth_1500_levels_are_kept() {
    let rows: Vec<Forced> = (0..1_600).map(|level| (DAY + level / 60, true, 2_000.0 + level as f64, 1.0)).collect();
    let (_folder, market, _) = market(|dumps| put_forced(dumps, "BYBIT/XRPUSDT", &rows));
    let kept = |depth: &str| levels(&ask(&market, &format!("{QUERY}HOUR{depth}")))[&DAY].len();
    assert_eq!(
        [kept(""), kept("&maxDepth=1500"), kept("&maxDepth=1599"), kept("&maxDepth=4000")],
        [1_500, 1_500, 1_599, 1_600]
    );
    let lowest = levels(&ask(&market, &format!("{QUERY}HOUR")))[&DAY][0];
    assert_eq!(lowest, (2_100.0, 1.0), "the last liquidation was at the top");
}

#[test]
fn closed_buckets_depend_on_neither_window_nor_clock() {
    let rows: Vec<Forced> = forced(31, 400);
    let (_folder, market, _) = market(|dumps| {
        put_forced(dumps, "BYBIT/XRPUSDT", &rows[..200]);
        put_forced(dumps, "BINANCE_FUTURES/XRPUSDT", &rows[200..]);
    });
    let query = format!("{QUERY}FIVE_MINUTES");
    let whole = levels(&ask(&market, &query));
    for (from, period) in [(0, 300), (300, 600), (1_201, 3_000), (6_900, 300)] {
        let text = format!("{query}&from={}&period={period}", DAY + from);
        let part = market.points(&PointsQuery::parse(&text).unwrap(), UnixNanos(LATER)).unwrap();
        let first = (DAY + from + 299) / 300 * 300;
        let expected: Levels =
            whole.range(first..DAY + from + period).map(|(start, levels)| (*start, levels.clone())).collect();
        assert_eq!(levels(&part), expected, "{from}");
    }
    for now in [DAY + 61, DAY + 1_810, DAY + 3_599, DAY + 5_000] {
        let seen: Vec<Forced> = rows.iter().filter(|row| row.0 <= now).copied().collect();
        let answered = levels(&ask_at(&market, &query, now * SECOND).unwrap());
        assert_eq!(answered, sums(&seen, 300, false), "nothing of the future");
        assert!(
            answered.iter().filter(|(start, _)| *start + 300 <= now).all(|(start, levels)| *levels == whole[start])
        );
    }
}

#[test]
fn the_table_and_unlike_quotes_decide_what_is_refused() {
    let events = [(DAY + 70, true, 0.5, 4.0), (DAY + 130, false, 0.25, 8.0)];
    let fill = |dumps: &std::path::Path| {
        put_forced(dumps, "BYBIT/XRPETH", &events);
        put_forced(dumps, "BINANCE_FUTURES/XRPUSDT", &[(DAY + 70, false, 2_000.0, 1.0)]);
    };
    let (_folder, poor, _) = market(fill);
    for (extra, words) in [
        ("coin=XRP&rawSymbol=XRPUSDT", "rawSymbol: VENUE_LIQUIDATION_AGG is of a coin"),
        ("rawSymbol=XRPUSDT&exchange=BYBIT", "leave rawSymbol out"),
        ("exchange=BYBIT", "coin is missing"),
        ("coin=XRP&gapfill=true", "has no gapfill"),
        ("coin=XRP&transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG", "does not aggregate"),
        ("coin=XRP", "transform.normalize.quote: the coin's markets are quoted in USD and ETH"),
        ("coin=XRP&transform.normalize.quote=USD", "no rate of ETH"),
    ] {
        let problem = refused(&poor, &format!("type=VENUE_LIQUIDATION_AGG&interval=MINUTE&{extra}"));
        assert!(problem.contains(words), "{problem}");
    }
    // One quote alone is on its own axis; in USD all are on one.
    let native = levels(&ask(&poor, &format!("{QUERY}MINUTE&exchange=BYBIT")));
    assert_eq!(native, BTreeMap::from([(DAY + 60, vec![(0.5, 4.0)]), (DAY + 120, vec![(0.25, 8.0)])]));
    let (_folder, rich, _) = market(|dumps| {
        fill(dumps);
        let rates =
            format!("timestamp,side,price,amount\n{}000000,buy,3000,1\n{}000000,buy,4000,1\n", DAY + 10, DAY + 125);
        put(dumps, "trades", "BINANCE/ETHUSDT", &rates);
    });
    let in_usd = levels(&ask(&rich, &format!("{QUERY}MINUTE&transform.normalize.quote=USD")));
    let expected = [(DAY + 60, vec![(1_500.0, 6_000.0), (2_000.0, 2_000.0)]), (DAY + 120, vec![(1_000.0, 8_000.0)])];
    assert_eq!(in_usd, BTreeMap::from(expected));
}

#[test]
fn the_listings_know_the_type() {
    let (_folder, market, _) = market(|dumps| {
        put_forced(dumps, "BYBIT/XRPUSDT", &forced(1, 5));
        put(dumps, "trades", "BINANCE/ADAUSDT", &format!("timestamp,side,price,amount\n{DAY}000000,buy,1,1\n"));
    });
    let filters = Filters::parse("type=VENUE_LIQUIDATION_AGG");
    let list = |list: DiscoveryList| market.list(list, &filters, UnixNanos(LATER)).unwrap().to_string();
    assert_eq!(list(DiscoveryList::Types), r#"["VENUE_LIQUIDATION_AGG"]"#);
    assert_eq!(
        (list(DiscoveryList::Coins), list(DiscoveryList::Exchanges)),
        (r#"["XRP"]"#.into(), r#"["BYBIT"]"#.into())
    );
    let page = market.markets(&MarketsQuery::parse("type=VENUE_LIQUIDATION_AGG").unwrap(), UnixNanos(LATER)).unwrap();
    assert_eq!(page.symbols.iter().map(|row| row.raw_symbol.as_str()).collect::<Vec<_>>(), ["XRPUSDT"]);
}

/// Properties of every answer, for any market, interval, choice of exchanges and unit.
fn check(market: &Market, query: &str, interval: i64) -> Result<usize, TestCaseError> {
    let answer = ask(market, &format!("type=VENUE_LIQUIDATION_AGG&{query}"));
    let sides = ask(market, &format!("type=LIQUIDATION_AGG&{query}&transform.groupBy.type=GROUP_BY_TYPE_SUM"));
    let mut totals: BTreeMap<i64, f64> = BTreeMap::new();
    for side in &sides {
        for (start, [volume]) in table(side, ["liquidations"]) {
            *totals.entry(start).or_default() += volume;
        }
    }
    let found = if answer.is_empty() { Levels::new() } else { levels(&answer) };
    prop_assert!(found.keys().eq(totals.keys()), "the same buckets");
    for (start, levels) in &found {
        prop_assert!(start % interval == 0 && levels.is_sorted_by(|low, high| low.0 < high.0));
        prop_assert!(levels.iter().all(|(_, volume)| *volume > 0.0));
        let sum: f64 = levels.iter().map(|(_, volume)| volume).sum();
        prop_assert!((sum / totals[start] - 1.0).abs() < 1e-12, "{} {}", sum, totals[start]);
    }
    let [nested, flat] = [false, true].map(|flatten| decode::points(&encode::points(&answer, flatten)).unwrap());
    prop_assert_eq!(&nested, &answer);
    prop_assert_eq!(&flat, &answer);
    Ok(found.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn levels_sum_to_both_sides_and_flat_is_nested(seed in any::<u64>(), counts in [0usize..120, 1usize..120]) {
        let (_folder, market, _) = market(|dumps| {
            for (venue, count) in ["BYBIT", "OKEX_FUTURES"].iter().zip(counts).filter(|(_, count)| *count > 0) {
                put_forced(dumps, &format!("{venue}/XRP-USDT"), &forced(seed ^ count as u64, count));
            }
        });
        let both = "exchange=BYBIT&exchange=OKEX_FUTURES";
        for (interval, seconds) in INTERVALS {
            for (exchanges, unit) in [(both, ""), (both, "&transform.normalize.quote=USD"), ("exchange=OKEX_FUTURES", "")] {
                let query = format!("{exchanges}&coin=XRP&interval={interval}{unit}&maxDepth=100000");
                prop_assert!(check(&market, &query, seconds)? > 0);
            }
        }
    }
}

#[test]
fn the_demo_has_meaningful_liquidations() {
    let market = Market::demo(0);
    for coin in ["BTC", "DOGE"] {
        let exchanges = "exchange=BINANCE_FUTURES&exchange=BYBIT&exchange=OKEX_SWAP&exchange=HYPERLIQUID_FUTURES";
        let query = format!("{exchanges}&coin={coin}&interval=HOUR&maxDepth=100000&transform.normalize.quote=USD");
        let hours = check(&market, &query, 3_600).unwrap();
        assert!(hours > 12, "{coin}: {hours} hours of a day");
        let all =
            ask(&market, &format!("{QUERY}HOUR&maxDepth=100000&transform.normalize.quote=USD").replace("XRP", coin));
        assert_eq!(all, ask(&market, &format!("type=VENUE_LIQUIDATION_AGG&{query}")), "the four have liquidations");
        // Levels lie where the price went in the hour.
        let candles = ask(
            &market,
            &format!("type=TRADE_SIDE_AGNOSTIC_AGG&{query}&transform.groupBy.type=GROUP_BY_TYPE_SUM")
                .replace("&maxDepth=100000", ""),
        );
        let candles = table(&candles[0], ["low", "high"]);
        for (start, levels) in levels(&all) {
            let [low, high] = candles[&start];
            assert!(levels.iter().all(|(price, _)| low * 0.998 < *price && *price <= high), "{coin} {start}");
        }
    }
    assert!(matches!(ask_at(&market, "type=VENUE_LIQUIDATION_AGG&interval=HOUR", LATER), Err(MarketError::Invalid(_))));
}
