//! What an aggregated series says of itself (section 2.2, supplement 2).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::harness::{Bench, NOW};
use crate::market::Market;

#[test]
fn an_aggregated_series_keeps_type_interval_and_side() {
    let bench = Bench::with(|config| config.source = Arc::new(Market::demo(0)));
    let window = format!("interval=HOUR&from={}&period=14400", NOW - 6 * 3_600);
    for (data_type, group, more, sides) in [
        ("TRADE_SIDE_AGNOSTIC_AGG", "SUM", "", 1),
        ("TRADE_AGG", "SUM", "", 2),
        ("LIQUIDATION_AGG", "SUM", "", 2),
        ("OPEN_INTEREST_AGG", "SUM", "", 1),
        ("FUNDING_RATE_AGG", "OPEN_INTEREST_WEIGHTED_AVG", "", 1),
        ("BLOCK_BOOK_SNAPSHOT_AGG", "SUM", "&blockSize=100&maxDepth=5", 1),
        ("VOLUME_PROFILE_AGG", "SUM", "", 1),
        ("TPO_AGG", "SUM", "", 1),
    ] {
        for exchanges in ["exchange=BYBIT", "exchange=BYBIT&exchange=BINANCE_FUTURES"] {
            let query = format!("type={data_type}&{exchanges}&coin=BTC&{window}{more}");
            let ask = |query: &str| bench.get("unlimited", &format!("/v1/points?{query}")).json()["series"].clone();
            let sum = ask(&format!("{query}&transform.groupBy.type=GROUP_BY_TYPE_{group}"));
            let sum = sum.as_array().unwrap();
            assert_eq!(sum.len(), sides, "{query}");
            let mut seen = BTreeSet::new();
            for one in sum {
                let id = one["id"].as_object().unwrap();
                assert_eq!((&id["type"], &id["interval"]), (&data_type.into(), &"HOUR".into()), "{query}");
                let side = id.get("side").map(|side| side.as_str().unwrap().to_owned());
                assert_eq!(id.len(), if sides == 2 { 3 } else { 2 }, "{query}: {id:?}");
                assert!(seen.insert(side), "{query}: a side twice");
            }
            // Without grouping each market has its full identity.
            let plain = ask(&query);
            assert!(plain.as_array().unwrap().iter().all(|one| one["id"]["coin"] == "BTC"), "{query}");
        }
    }
    // The liquidation heatmap is of a coin whatever is asked (section 2.3).
    let heatmap = format!("/v1/points?type=VENUE_LIQUIDATION_AGG&coin=BTC&{window}");
    for more in ["", "&transform.groupBy.type=GROUP_BY_TYPE_SUM"] {
        let answer = bench.get("unlimited", &format!("{heatmap}{more}"));
        assert_eq!(answer.json()["series"][0]["id"]["coin"], "BTC");
    }
}
