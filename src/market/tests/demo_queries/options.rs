//! Option summaries.

use super::*;
use crate::{decode, encode};

const SKEW: &str = "type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_25";
const VOLATILITY: &str = "type=IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_ATM";
const TENORS: [&str; 4] = ["ONE_W", "ONE_M", "TWO_M", "THREE_M"];
const MIDNIGHT: i64 = 1_776_816_000; // 2026-04-22

fn values(query: &str, column: &str) -> Vec<f64> {
    series(query, NOW).floats(column).unwrap().to_vec()
}

/// Pearson's correlation.
fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(left), mean(right));
    let product = |one: &[f64], m: f64, other: &[f64], n: f64| -> f64 {
        one.iter().zip(other).map(|(x, y)| (x - m) * (y - n)).sum()
    };
    product(left, a, right, b) / (product(left, a, left, a) * product(right, b, right, b)).sqrt()
}

fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn the_identity_names_coin_and_tenor() {
    for (query, column) in [(SKEW, "skew"), (VOLATILITY, "implied_volatility")] {
        let one = series(&format!("{query}&tenor=TWO_M&interval=HOUR&period=36000"), NOW);
        assert_eq!(one.id.category.as_deref(), Some("OPTION"));
        assert_eq!(one.id.normalized_symbol.as_deref(), Some("BTC"));
        assert_eq!((one.id.tenor.as_deref(), one.id.coin.as_deref()), (Some("TWO_M"), Some("BTC")));
        assert_eq!((one.id.exchange.as_deref(), one.id.interval.as_deref()), (Some("DERIBIT"), Some("HOUR")));
        assert_eq!(one.columns.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), [column]);
        assert_eq!(decode::points(&encode::points(std::slice::from_ref(&one), false)).unwrap(), [one]);
    }
}

#[test]
fn a_bucket_holds_its_last_minute() {
    for (query, column) in [(SKEW, "skew"), (VOLATILITY, "implied_volatility")] {
        let of = |interval: &str| {
            series(&format!("{query}&tenor=ONE_W&interval={interval}&from={MIDNIGHT}&period={DAY}"), NOW)
        };
        let (minutes, hours) = (of("MINUTE"), of("HOUR"));
        // From midnight to 18:00:30: 18 hours and a forming one, of which one minute has begun.
        assert_eq!((minutes.len(), hours.len()), (18 * 60 + 1, 19));
        let minutes = minutes.floats(column).unwrap();
        let mut expected: Vec<f64> = minutes[..18 * 60].chunks(60).map(|hour| hour[59]).collect();
        expected.push(minutes[18 * 60]);
        assert_eq!(hours.floats(column).unwrap(), expected);
        assert!(hours.timestamps.iter().zip(0..).all(|(at, hour)| *at == (MIDNIGHT + hour * 3_600) * SECOND));
    }
}

#[test]
fn what_was_answered_does_not_change_later() {
    let query = format!("{SKEW}&tenor=ONE_M&interval=MINUTE&from={}&period=600", MIDNIGHT + 64_800 - 540);
    let (then, later) = (series(&query, NOW), series(&query, NOW + DAY * SECOND));
    assert_eq!((then.len(), later.len()), (10, 10));
    assert_eq!(then, later);
    let query = format!("{SKEW}&tenor=ONE_M&interval=HOUR&from={}&period=7200", MIDNIGHT + 64_800);
    let at = |minute: i64| series(&query, (MIDNIGHT + 64_800 + 60 * minute) * SECOND).floats("skew").unwrap()[0];
    assert_ne!(at(1), at(40), "the forming bucket moves");
    assert_eq!(at(59), at(60), "the closed one does not");
}

#[test]
fn the_longer_the_calmer() {
    let spreads: Vec<f64> = TENORS
        .iter()
        .map(|tenor| {
            let query = format!("{VOLATILITY}&tenor={tenor}&interval=DAY&period={}", 360 * DAY);
            let values = values(&query, "implied_volatility");
            assert!(values.len() >= 360 && values.iter().all(|value| (10.0..150.0).contains(value)));
            spread(&values)
        })
        .collect();
    assert!(spreads.is_sorted_by(|left, right| left > right), "{spreads:?}");
}

#[test]
fn volatility_follows_the_candles_and_skew_leans_against_them() {
    let window = format!("interval=DAY&period={}", 360 * DAY);
    let hours = format!("interval=FOUR_HOURS&from={}&period={}", MIDNIGHT - 362 * DAY, 362 * DAY);
    let candles = series(&format!("type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BINANCE&rawSymbol=BTCUSDT&{hours}"), NOW);
    let closes = candles.floats("close").unwrap();
    let at: Vec<i64> = candles.timestamps.iter().map(|at| at / SECOND + 4 * 3_600).collect();
    let volatility = series(&format!("{VOLATILITY}&tenor=ONE_W&{window}"), NOW);
    let skew = values(&format!("{SKEW}&tenor=ONE_W&{window}"), "skew");
    let implied = volatility.floats("implied_volatility").unwrap();
    let (mut realized, mut runs, mut implied_logs, mut leaning) = (vec![], vec![], vec![], vec![]);
    for (row, time) in volatility.timestamps.iter().enumerate() {
        // The last reading of the day, and the candles of the two days before its end.
        let Some(end) = at.iter().position(|end| *end == time / SECOND + DAY).filter(|end| *end >= 12) else {
            continue;
        };
        let moves = closes[end - 12..=end].windows(2).map(|two| (two[1] / two[0]).ln().powi(2));
        realized.push(moves.sum::<f64>().sqrt().ln());
        runs.push((closes[end] / closes[end - 12]).ln());
        implied_logs.push(implied[row].ln());
        leaning.push(skew[row]);
    }
    assert!(realized.len() > 300);
    let (follows, leans) = (correlation(&realized, &implied_logs), correlation(&runs, &leaning));
    assert!(follows > 0.5, "{follows}");
    assert!(leans < -0.8, "{leans}");
}

#[test]
fn everything_is_required() {
    let whole = "exchange=DERIBIT&coin=BTC&rawSymbol=BTC_25&tenor=ONE_W";
    for missing in ["exchange", "coin", "rawSymbol", "tenor"] {
        let rest: Vec<&str> = whole.split('&').filter(|pair| !pair.starts_with(missing)).collect();
        let message = refusal(&format!("type=SKEW_OPTION_SUMMARY_AGG&interval=HOUR&period=3600&{}", rest.join("&")));
        assert!(message.contains(missing) && message.contains("missing"), "{message}");
    }
    let window = "interval=HOUR&period=3600";
    assert!(refusal(&format!("{SKEW}&exchange=BYBIT&tenor=ONE_W&{window}")).contains("one exchange"));
    let message = refusal(&format!("{SKEW}&tenor=ONE_Y&{window}"));
    assert!(TENORS.iter().all(|tenor| message.contains(tenor)), "{message}");
    for transform in ["gapfill=true", "transform.normalize.quote=USD", "transform.groupBy.type=GROUP_BY_TYPE_SUM"] {
        refusal(&format!("{SKEW}&tenor=ONE_W&{transform}&{window}"));
    }
}

#[test]
fn the_symbol_of_the_other_kind_is_told_apart_from_an_unknown_one() {
    let rest = "interval=HOUR&period=3600&exchange=DERIBIT&tenor=ONE_W";
    let message = refusal(&format!("type=SKEW_OPTION_SUMMARY_AGG&coin=ETH&rawSymbol=ETH_ATM&{rest}"));
    assert!(message.contains("IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG") && message.contains("ETH_25"), "{message}");
    let message = refusal(&format!("type=IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG&coin=BTC&rawSymbol=BTC_25&{rest}"));
    assert!(message.contains("SKEW_OPTION_SUMMARY_AGG") && message.contains("BTC_ATM"), "{message}");
    for nothing in ["coin=SOL&rawSymbol=SOL_25", "coin=BTC&rawSymbol=BTC_10", "coin=ETH&rawSymbol=BTC_25"] {
        assert!(ask(&format!("type=SKEW_OPTION_SUMMARY_AGG&{nothing}&{rest}"), NOW).unwrap().is_empty(), "{nothing}");
    }
    let elsewhere = "exchange=BYBIT&coin=BTC&rawSymbol=BTC_25&tenor=ONE_W&interval=HOUR&period=3600";
    assert!(ask(&format!("type=SKEW_OPTION_SUMMARY_AGG&{elsewhere}"), NOW).unwrap().is_empty());
}
