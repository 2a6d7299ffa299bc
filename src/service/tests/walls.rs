//! Keys, parameters and the walls of the tiers (sections 4, 5, 7 and 8).

use super::harness::{Bench, NOW, minutes};

const DAY: i64 = 86_400;

#[test]
fn an_answer_is_one_line_of_json_with_its_length() {
    let bench = Bench::new();
    let answer = bench.minutes("free", 1, "");
    assert_eq!(
        answer.body,
        r#"{"series":[{"id":{"type":"TRADE_AGG"},"points":[{"Point":{"close":2.5e+06,"timestamp":{"s":1776880740}}}]}]}"#
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.number("content-length"), answer.body.len() as i64);
    assert_eq!(answer.header("transfer-encoding"), None);
    let markets = bench.get("free", "/v1/markets?exchange=OKEX_SWAP&pageSize=1");
    assert_eq!(markets.body, r#"{"symbols":[{"exchange":"OKEX_SWAP","lastPrice":2.5e+06}],"nextOffset":1}"#);
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
    let answer = bench.minutes("free", 1, "&rawSymbol=NOWHERE");
    assert_eq!(answer.code(), "INVALID_EXCHANGE");
    assert_eq!(bench.minutes("free", 1, "&rawSymbol=STRANGER").code(), "INVALID_SYMBOL");
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
        let days_up_to_now = |days: i64| format!("/v1/points?type=TRADE_AGG&interval=HOUR&period={}", days * DAY);
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
        let answer = bench.get(tier, "/v1/points?type=TRADE_AGG&interval=MINUTE&period=6000001");
        assert_eq!(answer.status, 403);
        assert!(answer.message().contains("100001 points") && answer.message().contains("100000"), "{answer:?}");
    }
    let book = "/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=1&interval=MINUTE&period=";
    assert_eq!(bench.get("advanced", &format!("{book}{}", 60 * 4_000)).status, 200);
    let answer = bench.get("advanced", &format!("{book}{}", 60 * 4_001));
    assert!(answer.status == 403 && answer.message().contains("4001"), "{answer:?}");
}

#[test]
fn a_request_heavier_than_the_burst_can_never_run() {
    let bench = Bench::new();
    let answer = bench.get("free", "/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=1&interval=MINUTE&period=120001");
    assert_eq!((answer.status, answer.budget()), (403, (10, 20, 0)));
    assert!(answer.message().contains("weighs 30") && answer.message().contains("20"), "{answer:?}");
    assert_eq!(answer.header("retry-after"), None);
}

#[test]
fn the_depth_of_a_book_is_charged() {
    let bench = Bench::new();
    let book = "/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=1&interval=MINUTE&period=60&maxDepth=";
    assert_eq!(bench.get("advanced", &format!("{book}3500")).number("x-ratelimit-used"), 10);
    assert_eq!(bench.get("advanced", &format!("{book}3501")).number("x-ratelimit-used"), 22);
}
