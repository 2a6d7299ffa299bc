//! Keys, parameters and the walls of the tiers (sections 4, 5, 7 and 8).

use std::sync::Arc;

use super::harness::{Bench, NOW, minutes};
use crate::market::Market;

const DAY: i64 = 86_400;

#[test]
fn an_answer_is_one_line_of_json_with_its_length() {
    let bench = Bench::new();
    let answer = bench.minutes("free", 1, "");
    // The seller's side did not trade, so its volume is left out (supplement 2 and 4).
    let id = |side: &str| {
        format!(
            r#"{{"type":"TRADE_AGG","rawSymbol":"BTCUSDT","exchange":"BYBIT","normalizedSymbol":"BTC-USDT","category":"PERPETUAL","interval":"MINUTE","side":"{side}","coin":"BTC"}}"#
        )
    };
    let prices = r#""open":2.5e+06,"high":2.5e+06,"low":2.5e+06,"close":2.5e+06"#;
    let at = r#"{"s":1776880740}"#;
    let times = format!(r#""timestamp":{at},"firstTimestamp":{at},"lastTimestamp":{at}"#);
    let point = |volume: &str| format!(r#"{{"Point":{{{prices}{volume},{times}}}}}"#);
    let series = |side: &str, volume: &str| format!(r#"{{"id":{},"points":[{}]}}"#, id(side), point(volume));
    let expected = [series("BUY", r#","volume":1"#), series("SELL", "")].join(",");
    assert_eq!(answer.body, format!(r#"{{"series":[{expected}]}}"#));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.number("content-length"), answer.body.len() as i64);
    assert_eq!(answer.header("transfer-encoding"), None);
    let markets = bench.get("free", "/v1/markets?exchange=OKEX_SWAP&pageSize=1");
    assert!(
        markets.body.starts_with(r#"{"symbols":[{"exchange":"OKEX_SWAP","rawSymbol":"BTC-USDT-SWAP","#),
        "{markets:?}"
    );
    assert!(markets.body.contains(r#""lastPrice":2.5e+06,"#) && markets.body.ends_with(r#"}],"nextOffset":1}"#));
    assert!(!markets.body.contains('\n'));
}

#[test]
fn without_a_known_key_nothing_is_answered_or_echoed() {
    let bench = Bench::new();
    for target in ["/v1/usage", "/v1/markets", "/v1/points"] {
        for key in ["", "X-Service-Key: \r\n", "X-Service-Key: mp-local-stolen\r\n"] {
            let answer =
                bench.raw(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{key}Connection: close\r\n\r\n"));
            assert_eq!((answer.status, answer.code().as_str()), (401, "INVALID_API_KEY"));
            assert!(answer.message().contains("x-service-key") && !answer.body.contains("stolen"), "{answer:?}");
            assert_eq!(answer.header("x-ratelimit-limit"), None);
        }
    }
}

#[test]
fn wrong_parameters_are_named_with_a_hint() {
    let bench = Bench::new();
    let ask = |query: &str| {
        let answer = bench.get("free", &format!("/v1/points?{query}"));
        assert_eq!(answer.status, 400, "{answer:?}");
        (answer.code(), answer.message())
    };
    for (query, code, part) in [
        ("", "INVALID_PARAMS", "parameter type: missing"),
        ("type=TRADE_AG&interval=MINUTE", "INVALID_PARAMS", "did you mean TRADE_AGG?"),
        ("type=TRADE_AGG&interval=MINUTE&rawsymbol=A", "INVALID_PARAMS", "did you mean rawSymbol?"),
        ("type=TRADE_AGG", "INVALID_TIMEFRAME", "parameter interval: missing"),
        ("type=TRADE_AGG&interval=1h", "INVALID_TIMEFRAME", "did you mean HOUR?"),
        ("type=TRADE_AGG&interval=HOURS", "INVALID_TIMEFRAME", "did you mean HOUR?"),
        ("type=TRADE_AGG&interval=HOUR&period=-1", "INVALID_PARAMS", "-1 is negative"),
        ("type=TRADE_AGG&interval=HOUR&period=9223372036854775807", "INVALID_PARAMS", "beyond the years"),
        ("type=TRADE_AGG&interval=HOUR&from=9223372036854775807&period=60", "INVALID_PARAMS", "beyond the years"),
        ("type=TRADE_AGG&interval=HOUR&from=-9223372036854775808&period=60", "INVALID_PARAMS", "beyond the years"),
        ("type=TRADE_AGG&interval=HOUR&from=9223372036&period=60", "INVALID_PARAMS", "beyond the years"),
    ] {
        let (found, message) = ask(query);
        assert!(found == code && message.contains(part), "{query}: {found} {message}");
    }
    let answer = bench.get("free", "/v1/markets?pagesize=5");
    assert!(answer.status == 400 && answer.message().contains("did you mean pageSize?"), "{answer:?}");
}

/// Names that the demo market lacks, with the code and a part of the message (supplement 6).
const UNKNOWN: [(&str, &str, &str); 19] = [
    ("type=TRADE_AGG&exchange=NOWHERE&rawSymbol=BTCUSDT", "INVALID_EXCHANGE", "\"NOWHERE\" is no known exchange"),
    ("type=TRADE_AGG&exchange=BYBTI&rawSymbol=BTCUSDT", "INVALID_EXCHANGE", "did you mean BYBIT?"),
    ("type=TRADE_AGG&exchange=bybit&rawSymbol=BTCUSDT", "INVALID_EXCHANGE", "did you mean BYBIT?"),
    ("type=TRADE_AGG&exchange=&rawSymbol=BTCUSDT", "INVALID_EXCHANGE", "there are data of BINANCE"),
    ("type=TRADE_AGG&exchange=UPBIT&rawSymbol=BTC-KRW", "INVALID_EXCHANGE", "no data of UPBIT here"),
    ("type=OPEN_INTEREST_AGG&exchange=BYBIT&exchange=NOWHERE&coin=BTC", "INVALID_EXCHANGE", "NOWHERE"),
    ("type=VENUE_LIQUIDATION_AGG&exchange=NOWHERE&coin=BTC", "INVALID_EXCHANGE", "NOWHERE"),
    (
        "type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSD",
        "INVALID_SYMBOL",
        "\"BTCUSD\" is no symbol of BYBIT; did you mean BTCUSDT?",
    ),
    ("type=LIQUIDATION_AGG&exchange=BYBIT&rawSymbol=LTC-USDT-SWAP", "INVALID_SYMBOL", "parameter rawSymbol: "),
    ("type=FUNDING_RATE_AGG&exchange=BYBIT&coin=PEPE", "INVALID_SYMBOL", "\"PEPE\" is no coin of BYBIT"),
    ("type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=NO&blockSize=10", "INVALID_SYMBOL", "\"NO\""),
    ("type=TPO_AGG&coin=NOPE", "INVALID_SYMBOL", "\"NOPE\" is no coin"),
    ("type=VENUE_LIQUIDATION_AGG&coin=btc", "INVALID_SYMBOL", "did you mean BTC?"),
    ("type=VOLUME_PROFILE_AGG&exchange=BYBIT&normalizedSymbol=BTC-EUR", "INVALID_SYMBOL", "did you mean BTC-USD"),
    ("type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=SOL&rawSymbol=SOL_25&tenor=ONE_M", "INVALID_SYMBOL", "SOL_25"),
    (
        "type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=ETH&rawSymbol=BTC_25&tenor=ONE_M",
        "INVALID_SYMBOL",
        "of the coin BTC, not of ETH",
    ),
    (
        "type=SKEW_OPTION_SUMMARY_AGG&exchange=BYBIT&coin=BTC&rawSymbol=BTC_25&tenor=ONE_M",
        "INVALID_SYMBOL",
        "it is one of DERIBIT",
    ),
    ("type=TOKEN_SUPPLY_AGG&coin=NOPE", "INVALID_SYMBOL", "\"NOPE\" is no coin"),
    ("type=TRADE_AGG&exchange=PREDICTION_VENUE&rawSymbol=will-it-rain", "INVALID_SYMBOL", "go by conditionId"),
];

#[test]
fn names_that_the_market_never_had_are_refused_with_the_nearest_and_cost_nothing() {
    let bench = Bench::with(|config| config.source = Arc::new(Market::demo(0)));
    for (query, code, part) in UNKNOWN {
        let answer = bench.get("advanced", &format!("/v1/points?{query}&interval=HOUR&period=3600"));
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{query}: {answer:?}");
        assert!(answer.message().contains(part), "{query}: {}", answer.message());
        assert_eq!(answer.budget(), (750, 1_500, 0), "{query}");
    }
    // What is there without data of the type, or none in the window, is no error.
    for query in [
        "type=LIQUIDATION_AGG&exchange=BINANCE&rawSymbol=BTCUSDT",
        "type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&from=-86400",
        "type=TRADE_AGG&exchange=DERIBIT&rawSymbol=BTC_25",
    ] {
        let answer = bench.get("unlimited", &format!("/v1/points?{query}&interval=HOUR&period=3600"));
        assert_eq!((answer.status, answer.body.as_str()), (200, "{}"), "{query}");
    }
}

#[test]
fn without_strict_symbols_only_exchanges_that_nobody_knows_are_refused() {
    let bench = Bench::with(|config| config.source = Arc::new(Market::demo(0).with_strict_symbols(false)));
    for (query, code, _) in UNKNOWN {
        let answer = bench.get("unlimited", &format!("/v1/points?{query}&interval=HOUR&period=3600"));
        if code == "INVALID_EXCHANGE" && !query.contains("UPBIT") {
            assert_eq!((answer.status, answer.code().as_str()), (400, code), "{query}");
        } else {
            assert_eq!((answer.status, answer.body.as_str()), (200, "{}"), "{query}");
        }
    }
}

#[test]
fn parameters_are_checked_before_the_plan_whatever_the_type() {
    let bench = Bench::with(|config| config.source = Arc::new(Market::demo(0)));
    let skew = "type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_25";
    for (query, name) in [
        (skew.to_owned(), "tenor"),
        (format!("{skew}&tenor=ONE_Y"), "tenor"),
        (skew.replace("BTC_25", "BTC_ATM") + "&tenor=ONE_M", "rawSymbol"),
        ("type=IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG".to_owned(), "exchange"),
        ("type=TOKEN_SUPPLY_AGG&coin=BTC&exchange=BYBIT".to_owned(), "exchange"),
        ("type=VENUE_LIQUIDATION_AGG&coin=BTC&rawSymbol=BTCUSDT".to_owned(), "rawSymbol"),
        ("type=TPO_AGG&coin=BTC&tpoSession=DAILY".to_owned(), "tpoSession"),
        ("type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&exchange=OKEX_SWAP&coin=BTC".to_owned(), "blockSize"),
        ("type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&from=0&gapfill=1".to_owned(), "gapfill"),
        ("type=LIQUIDATION_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&from=0&gapfill=true".to_owned(), "gapfill"),
    ] {
        let answer = bench.get("free", &format!("/v1/points?{query}&interval=HOUR&period=3600"));
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_PARAMS"), "{query}: {answer:?}");
        assert!(answer.message().contains(&format!("parameter {name}: ")), "{query}: {}", answer.message());
    }
    let whole = format!("/v1/points?{skew}&tenor=ONE_M&interval=HOUR&period=3600");
    assert_eq!(bench.get("free", &whole).status, 403);
    // An empty budget comes last, too.
    while bench.minutes("free", 1, "&exchange=BYBIT").status == 200 {}
    assert_eq!(bench.minutes("free", 1, "&gapfil=true").status, 400);
    assert_eq!(bench.minutes("free", 1, "&transform.normalize.fundingInterval=1").status, 400);
}

#[test]
fn a_block_size_is_a_multiple_of_the_recommended_one() {
    let bench = Bench::with(|config| config.source = Arc::new(Market::demo(0)));
    let sizes = bench.get("free", "/v1/block-sizes?exchange=BYBIT&rawSymbol=BTCUSDT").json();
    let size = sizes["blockSizes"][0].as_f64().unwrap();
    let book = "type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&maxDepth=5";
    let tpo = "type=TPO_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR";
    let ask = |bench: &Bench, query: &str, size: f64| {
        bench.get("unlimited", &format!("/v1/points?{query}&period=3600&blockSize={size}"))
    };
    for query in [book, tpo] {
        for times in [1.0, 2.0, 5.0, 50.0] {
            assert_eq!(ask(&bench, query, times * size).status, 200, "{query} {times}");
        }
        for (times, nearest) in [(0.5, 1.0), (0.01, 1.0), (1.25, 1.0), (7.75, 8.0)] {
            let answer = ask(&bench, query, times * size);
            assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_PARAMS"), "{query} {times}");
            let fits = format!("the nearest that fits is {}", nearest * size);
            assert!(
                answer.message().contains("parameter blockSize: ") && answer.message().ends_with(&fits),
                "{answer:?}"
            );
        }
    }
    // A tick of a probability: the size is below one.
    let markets = bench.get("free", "/v1/markets?exchange=PREDICTION_VENUE&pageSize=1").json();
    let condition = markets["symbols"][0]["rawSymbol"].as_str().unwrap();
    let odds = book.replace("BYBIT", "PREDICTION_VENUE").replace("BTCUSDT", condition);
    assert_eq!(ask(&bench, &odds, 0.003).status, 200);
    let answer = ask(&bench, &odds, 0.0026);
    assert!(answer.status == 400 && answer.message().ends_with("the nearest that fits is 0.003"), "{answer:?}");
    // The switch.
    let any = Bench::with(|config| config.source = Arc::new(Market::demo(0).with_any_block_size(true)));
    assert_eq!(ask(&any, book, 1.25 * size).status, 200);
    assert_eq!(ask(&any, &odds, 0.0026).status, 200);
}

#[test]
fn a_coin_over_all_exchanges_is_several_exchanges() {
    let bench = Bench::new();
    let target = "/v1/points?type=TPO_AGG&coin=BTC&interval=DAY&period=86400";
    let refused = bench.get("standard", target);
    assert!(refused.status == 403 && refused.message().contains("plan advanced"), "{refused:?}");
    assert_eq!(bench.get("standard", &format!("{target}&exchange=BYBIT")).status, 200);
    assert_eq!(bench.get("advanced", target).status, 200);
}

#[test]
fn types_above_the_tier_are_refused() {
    let bench = Bench::new();
    let target = "/v1/points?type=VENUE_LIQUIDATION_AGG&coin=BTC&interval=MINUTE&period=60";
    for tier in ["free", "basic", "standard"] {
        let answer = bench.get(tier, target);
        assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"));
        let message = answer.message();
        assert!(
            message.contains("VENUE_LIQUIDATION_AGG needs the plan advanced") && message.contains(tier),
            "{message}"
        );
    }
    assert_eq!(bench.get("advanced", target).status, 200);
    assert_eq!(bench.get("unlimited", target).status, 200);
}

#[test]
fn several_exchanges_need_advanced_and_weigh_more() {
    let bench = Bench::new();
    let answer = bench.minutes("standard", 1, "&exchange=OKEX_SWAP&coin=BTC");
    assert_eq!(answer.status, 403);
    assert!(answer.message().contains("several exchanges (2 were given) needs the plan advanced"));
    assert_eq!(bench.minutes("standard", 1, "&exchange=BYBIT").status, 200); // the same one twice is one
    assert_eq!(bench.minutes("advanced", 1, "&exchange=OKEX_SWAP&coin=BTC").budget(), (750, 1_498, 2));
}

#[test]
fn the_window_may_start_as_far_back_as_the_tier_says() {
    let bench = Bench::new();
    for (tier, days) in [("free", 7), ("basic", 30), ("standard", 90), ("advanced", 365)] {
        let edge = NOW - days * DAY;
        let ask = |from: i64| bench.get(tier, &format!("{}&from={from}", minutes(1, "")));
        assert_eq!(ask(edge).status, 200, "{tier}");
        let answer = ask(edge - 1);
        assert_eq!(answer.status, 403, "{tier}");
        let depth = format!("history depth of {days} days of the plan {tier}");
        assert!(answer.message().contains(&depth) && answer.message().contains(&edge.to_string()), "{answer:?}");
        // Without `from` the window ends now.
        let days_up_to_now = |days: i64| {
            format!("/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period={}", days * DAY)
        };
        assert_eq!(bench.get(tier, &days_up_to_now(days)).status, 200, "{tier}");
        assert_eq!(bench.get(tier, &days_up_to_now(days + 1)).status, 403, "{tier}");
    }
    assert_eq!(bench.minutes("unlimited", 1, "&from=-1000000").status, 200);
    // The wall moves with the clock.
    let edge = format!("{}&from={}", minutes(1, ""), NOW - 7 * DAY);
    bench.advance(1);
    assert_eq!(bench.get("free", &edge).status, 403);
}

#[test]
fn more_points_than_the_type_allows_are_refused_with_both_numbers() {
    let bench = Bench::new();
    assert_eq!(bench.minutes("advanced", 100_000, "").status, 200);
    for tier in ["advanced", "unlimited"] {
        let answer = bench.get(tier, &minutes(100_001, ""));
        assert_eq!(answer.status, 403);
        assert!(answer.message().contains("100001 points") && answer.message().contains("100000"), "{answer:?}");
    }
    let book =
        "/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&blockSize=1&interval=MINUTE&period=";
    assert_eq!(bench.get("advanced", &format!("{book}{}", 60 * 4_000)).status, 200);
    let answer = bench.get("advanced", &format!("{book}{}", 60 * 4_001));
    assert!(answer.status == 403 && answer.message().contains("4001"), "{answer:?}");
}

#[test]
fn a_request_heavier_than_the_burst_can_never_run() {
    let bench = Bench::new();
    let answer = bench.get("free", "/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&blockSize=1&interval=MINUTE&period=120001");
    assert_eq!((answer.status, answer.budget()), (403, (10, 20, 0)));
    assert!(answer.message().contains("weighs 30") && answer.message().contains("20"), "{answer:?}");
    assert_eq!(answer.header("retry-after"), None);
}

#[test]
fn the_depth_of_a_book_is_charged() {
    let bench = Bench::new();
    let book = "/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&blockSize=1&interval=MINUTE&period=60&maxDepth=";
    assert_eq!(bench.get("advanced", &format!("{book}3500")).number("x-ratelimit-used"), 10);
    assert_eq!(bench.get("advanced", &format!("{book}3501")).number("x-ratelimit-used"), 22);
}
