//! Requests for points that newcomers send (section 4.1).

use std::sync::Arc;

use super::harness::{Bench, NOW};
use crate::market::Market;

fn demo() -> Bench {
    Bench::with(|config| config.source = Arc::new(Market::demo(0)))
}

fn points(query: &str) -> String {
    format!("/v1/points?{query}&interval=HOUR&from={}&period=7200", NOW - 6 * 3_600)
}

#[test]
fn a_missing_block_size_names_the_path_that_recommends_one() {
    let bench = demo();
    let answer = bench.get("free", &points("type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=BTCUSDT"));
    assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_PARAMS"));
    let message = answer.message();
    let path = message.split_once("GET ").unwrap().1.split(' ').next().unwrap();
    assert_eq!(bench.get("free", &format!("{path}?exchange=BYBIT&rawSymbol=BTCUSDT")).status, 200, "{message}");
}

#[test]
fn parameters_of_other_types_change_nothing() {
    let bench = demo();
    for query in [
        "type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BYBIT&rawSymbol=BTCUSDT",
        "type=TRADE_AGG&exchange=BYBIT&coin=BTC",
        "type=TPO_AGG&coin=BTC&blockSize=100",
        "type=VENUE_LIQUIDATION_AGG&coin=BTC",
        "type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_25&tenor=ONE_W",
    ] {
        let ask = |more: &str| bench.get("unlimited", &points(&format!("{query}{more}")));
        let plain = ask("");
        assert!(plain.status == 200 && plain.body.contains("\"point"), "{query}: {}", plain.body);
        for more in ["&tokenName=Bitcoin", "&tokenName=No+such", "&tenor=NOPE", "&tpoBlockSizeMinutes=30"] {
            if !(more.contains("tenor") && query.contains("SKEW")) {
                assert_eq!(ask(more).body, plain.body, "{query}{more}");
            }
        }
    }
    let supply = "type=TOKEN_SUPPLY_AGG&coin=BTC";
    let refused = bench.get("unlimited", &points(&format!("{supply}&tokenName=No+such")));
    assert!(refused.status == 400 && refused.message().contains("is no token of BTC, which has Bitcoin"));
    let empty = bench.get("unlimited", &points("type=TOKEN_SUPPLY_AGG&coin="));
    assert!(empty.status == 400 && empty.message().contains("TOKEN_SUPPLY_AGG takes no empty coin"), "{}", empty.body);
}
