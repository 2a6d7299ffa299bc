//! The list endpoints over real sockets (section 4.2, supplement 5).

use std::sync::Arc;

use super::harness::Bench;
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
    for path in ["/v1/symbols", "/v1/normalized-symbols", "/v1/symbols?coin=BTC"] {
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
