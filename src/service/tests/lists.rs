//! The list endpoints over real sockets (section 4.2, supplement 5).

use std::sync::Arc;

use serde_json::Value;

use super::harness::{Bench, NOW};
use crate::market::Market;
use crate::protocol::LISTS;

fn demo() -> Bench {
    Bench::with(|config| config.source = Arc::new(Market::demo(0)))
}

#[test]
fn every_list_is_answered_under_its_key_for_any_plan_and_costs_nothing() {
    let bench = demo();
    for row in &LISTS {
        let answer = bench.get("free", &format!("{}?type=TRADE_AGG&type=SKEW_OPTION_SUMMARY_AGG&coin=BTC", row.path));
        assert_eq!((answer.status, answer.budget()), (200, (10, 20, 0)), "{}", row.path);
        for (key, list) in answer.json().as_object().unwrap() {
            assert!(key == row.key && !list.as_array().unwrap().is_empty(), "{answer:?}");
        }
    }
    assert_eq!(
        bench.get("free", "/v1/symbols?type=TRADE_AGG&exchange=BYBIT&coin=BTC").body,
        r#"{"rawSymbols":["BTCUSDT"]}"#
    );
    assert_eq!(bench.get("free", "/v1/categories?exchange=COINBASE").body, r#"{"categories":["SPOT"]}"#);
}

#[test]
fn an_empty_list_is_an_absent_key_but_no_block_size_is_a_zero() {
    for bench in [demo(), Bench::new()] {
        assert_eq!(bench.get("free", "/v1/coins?exchange=NOWHERE").body, "{}");
        assert_eq!(bench.get("free", "/v1/symbols?type=NEWER_TYPE").body, "{}");
    }
    assert_eq!(demo().get("free", "/v1/block-sizes?exchange=NOWHERE").body, r#"{"blockSizes":[0]}"#);
}

#[test]
fn symbols_without_a_type_are_a_server_error_that_says_what_to_give() {
    let bench = demo();
    for path in ["/v1/symbols", "/v1/normalized-symbols", "/v1/symbols?coin=BTC", "/v1/symbols?type=&type="] {
        let answer = bench.get("free", path);
        assert_eq!((answer.status, answer.code().as_str()), (500, "INTERNAL_ERROR"), "{path}");
        assert!(answer.message().contains("parameter type: missing") && answer.message().contains("type=TRADE_AGG"));
    }
}

#[test]
fn lists_want_a_key_and_known_parameters() {
    let bench = demo();
    for row in &LISTS {
        let text = format!("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", row.path);
        assert_eq!(bench.raw(&text).status, 401);
        let answer = bench.get("free", &format!("{}?rawsymbol=A", row.path));
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_PARAMS"));
        assert!(answer.message().contains("did you mean rawSymbol?"));
    }
}

/// The complete listing over HTTP.
fn listing(bench: &Bench) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for offset in (0..).step_by(100) {
        let page = bench.get("free", &format!("/v1/markets?pageSize=100&pageOffset={offset}")).json();
        let rows = page["symbols"].as_array().cloned().unwrap_or_default();
        let last = rows.len() < 100;
        all.extend(rows);
        if last {
            break;
        }
    }
    all
}

/// Base assets, symbols and so on of the markets of a listing that pass a test.
fn listed(all: &[Value], keep: impl Fn(&Value) -> bool, field: &str) -> Vec<String> {
    let kept = all.iter().filter(|row| keep(row)).filter_map(|row| row[field].as_str());
    let mut names: Vec<String> = kept.map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn every_filter_of_every_list_is_repeatable_and_keeps_what_the_listing_has() {
    let bench = demo();
    let names = |target: &str| -> Vec<String> {
        let answer = bench.get("free", target).json();
        let lists = answer.as_object().unwrap().values();
        lists.flat_map(|list| list.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned())).collect()
    };
    let all = listing(&bench); // the service's clock stands still
    // Each filter with two values, and what of the listing has one of them. Options and tokens serve no candles.
    let filters = [
        ("exchange", "exchange", ["BYBIT", "COINBASE"]),
        ("category", "category", ["SPOT", "PERPETUAL"]),
        ("coin", "coin", ["LTC", "AVAX"]),
        ("rawSymbol", "rawSymbol", ["LTC-USD", "BTCUSDT"]),
        ("normalizedSymbol", "normalizedSymbol", ["ETH-USD", "SOL-USDT"]),
    ];
    let lists = [
        ("/v1/coins", "coin"),
        ("/v1/symbols", "rawSymbol"),
        ("/v1/normalized-symbols", "normalizedSymbol"),
        ("/v1/exchanges", "exchange"),
        ("/v1/categories", "category"),
    ];
    for (parameter, key, [one, two]) in filters {
        let keep = |row: &Value| row["category"] != "OPTION" && (row[key] == one || row[key] == two);
        for (path, field) in lists {
            let target = format!("{path}?type=TRADE_AGG&type=TPO_AGG&{parameter}={one}&{parameter}={two}");
            assert_eq!(names(&target), listed(&all, keep, field), "{target}");
        }
        let types = format!("/v1/types?{parameter}={one}&{parameter}={two}");
        assert!(names(&types).contains(&"TRADE_AGG".to_owned()), "{types}");
        let sizes =
            bench.get("free", &format!("/v1/block-sizes?{parameter}={one}&{parameter}={two}&type=TPO_AGG")).json();
        assert!(sizes["blockSizes"].as_array().unwrap().iter().all(|size| size.as_f64().unwrap() > 0.0), "{parameter}");
    }
    assert_eq!(names("/v1/tenors?coin=BTC&coin=ETH&exchange=DERIBIT&category=OPTION").len(), 4);
    assert_eq!(bench.get("free", "/v1/tenors?coin=LTC").body, "{}");
    assert_eq!(names("/v1/types?type=TRADE_AGG&type=FUNDING_RATE_AGG&exchange=PREDICTION_VENUE"), ["TRADE_AGG"]);
    assert_eq!(names("/v1/symbols?type=TRADE_AGG&exchange=PREDICTION_VENUE").len(), 38);
}

#[test]
fn markets_are_ordered_paged_and_made_distinct_over_http() {
    let bench = demo();
    let rows =
        |query: &str| bench.get("free", &format!("/v1/markets?{query}")).json()["symbols"].as_array().unwrap().clone();
    let perpetual = "category=PERPETUAL&pageSize=100";
    let value = |row: &Value, key: &str| row.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    for (field, key) in [
        ("VOLUME_24H", "volume24hUsd"),
        ("PRICE_CHANGE_24H", "priceChange24h"),
        ("PCT_FROM_ATH", "pctFromATH"),
        ("MARKET_SYMBOL_OI_CHANGE_24H", "oiChange24h"),
        ("MARKET_SYMBOL_MARKETCAP", "marketcap"),
    ] {
        let down = rows(&format!("{perpetual}&sortCriteria.field={field}&sortCriteria.direction=2"));
        assert_eq!(down.len(), 40);
        assert!(down.is_sorted_by(|one, other| value(one, key) >= value(other, key)), "{field}");
        let up = rows(&format!("{perpetual}&sortCriteria.field={field}&sortCriteria.direction=SORT_DIRECTION_ASC"));
        assert!(up.is_sorted_by(|one, other| value(one, key) <= value(other, key)), "{field}");
        assert!(value(&up[0], key) < value(&down[0], key), "{field}");
        let page = rows(&format!("category=PERPETUAL&pageSize=4&pageOffset=8&sortCriteria.field={field}"));
        assert_eq!(page, down[8..12], "{field}");
    }
    let distinct = rows("pageSize=1000&distinct=true&category=SPOT&category=PERPETUAL");
    let mut symbols: Vec<&str> = distinct.iter().map(|row| row["normalizedSymbol"].as_str().unwrap()).collect();
    symbols.sort_unstable();
    symbols.dedup();
    assert_eq!((distinct.len(), symbols.len()), (20, 20), "a USDT and a USD symbol for each of the ten coins");
    for (query, name) in [
        ("pageSize=0", "pageSize"),
        ("pageSize=1001", "pageSize"),
        ("pageOffset=-1", "pageOffset"),
        ("sortCriteria.field=VOLUME", "sortCriteria.field"),
        ("sortCriteria.direction=down", "sortCriteria.direction"),
        ("distinct=1", "distinct"),
        ("sortcriteria.field=VOLUME_24H", "sortcriteria.field"),
    ] {
        let answer = bench.get("free", &format!("/v1/markets?{query}"));
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_PARAMS"), "{query}");
        assert!(answer.message().contains(&format!("parameter {name}: ")), "{answer:?}");
    }
}

#[test]
fn a_volume_profile_goes_by_its_normalized_symbol_and_nothing_else_does() {
    let bench = demo();
    let window = format!("interval=HOUR&from={}&period=7200", NOW / 3_600 * 3_600 - 7_200);
    let ask = |query: &str| bench.get("unlimited", &format!("/v1/points?{window}&{query}"));
    let by_name = ask("type=VOLUME_PROFILE_AGG&exchange=BYBIT&normalizedSymbol=BTC-USDT");
    assert_eq!(by_name.body, ask("type=VOLUME_PROFILE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT").body);
    assert_eq!(by_name.json()["series"].as_array().unwrap().len(), 1);
    let both = "type=VOLUME_PROFILE_AGG&exchange=BYBIT&exchange=BINANCE";
    assert_eq!(ask(&format!("{both}&normalizedSymbol=BTC-USDT")).json()["series"].as_array().unwrap().len(), 2);
    let sum = "transform.groupBy.type=GROUP_BY_TYPE_SUM";
    assert_eq!(
        ask(&format!("{both}&normalizedSymbol=BTC-USDT&{sum}")).body,
        ask(&format!("{both}&coin=BTC&{sum}")).body
    );
    for (query, name) in [
        ("type=VOLUME_PROFILE_AGG&normalizedSymbol=BTC-USDT", "exchange"),
        ("type=VOLUME_PROFILE_AGG&exchange=BYBIT", "rawSymbol"),
        ("type=VOLUME_PROFILE_AGG&exchange=BYBIT&normalizedSymbol=", "normalizedSymbol"),
        ("type=TRADE_AGG&exchange=BYBIT&normalizedSymbol=BTC-USDT", "normalizedSymbol"),
        ("type=TPO_AGG&exchange=BYBIT&normalizedSymbol=BTC-USDT", "normalizedSymbol"),
    ] {
        let answer = ask(query);
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.message().contains(&format!("parameter {name}: ")), "{answer:?}");
    }
}
