//! The stream's events against the answers of `/v1/points` and against sums made here.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::clock::{SECOND, UnixNanos};
use crate::columns::{Column, Series};
use crate::encode;
use crate::market::engine::Market;
use crate::market::query::error::MarketError;
use crate::protocol::stream::{Channel, Frame};
use crate::protocol::{PointsQuery, stream::StreamPoint};

/// 2026-04-22 18:00 UTC.
const START: i64 = 1_776_880_800;
const MINUTE: i64 = 60 * SECOND;

fn demo() -> Market {
    Market::demo(0)
}

fn channel(kind: &str) -> Channel {
    Channel::new(kind, "BINANCE_FUTURES", "BTCUSDT")
}

/// The points of a channel from `from` to `until` (Unix nanoseconds, both inclusive), in so many parts.
fn points_of(market: &Market, channel: &Channel, from: i64, until: i64, parts: i64) -> Vec<Value> {
    let mut subscription = market.subscribe(channel, UnixNanos(from - 1)).unwrap();
    let mut points: Vec<StreamPoint> = Vec::new();
    let mut last = i64::MIN;
    for part in 1..=parts {
        let to = from + (until + 1 - from) * part / parts;
        for event in market.events(&mut subscription, UnixNanos(to)).unwrap() {
            assert!(
                event.at >= UnixNanos(last) && event.at < UnixNanos(to) && event.at >= UnixNanos(from),
                "{event:?}"
            );
            last = event.at.0;
            points.push(event.point);
        }
        assert_eq!(subscription.produced_until(), UnixNanos(to));
    }
    let frame: Value = serde_json::from_slice(&encode::record(&Frame { points: &points }).unwrap()).unwrap();
    frame["points"].as_array().unwrap().clone()
}

fn time(value: &Value) -> i64 {
    value["seconds"].as_i64().unwrap() * SECOND + value["nanoseconds"].as_i64().unwrap()
}

/// The series of a minute's point, as of its end.
fn minute(market: &Market, more: &str, start: i64) -> Vec<Series> {
    let text = format!("exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT&interval=MINUTE&period=60&from={start}&{more}");
    market.points(&PointsQuery::parse(&text).unwrap(), UnixNanos((start + 60) * SECOND - 1)).unwrap()
}

fn number(series: &Series, name: &str) -> f64 {
    let (_, column) = series.columns.iter().find(|(known, _)| known == name).unwrap();
    let Column::Float(values) = column else { panic!("{name} is no number") };
    values[0]
}

#[test]
fn trades_of_a_minute_make_its_candle() {
    let market = demo();
    for start in [START, START + 60, START + 7_200] {
        let trades = points_of(&market, &channel("TRADE"), start * SECOND, (start + 60) * SECOND - 1, 1);
        let prices: Vec<f64> = trades.iter().map(|point| point["trade"]["price"].as_f64().unwrap()).collect();
        let candle = &minute(&market, "type=TRADE_SIDE_AGNOSTIC_AGG", start)[0];
        assert_eq!(number(candle, "open"), prices[0]);
        assert_eq!(number(candle, "close"), *prices.last().unwrap());
        assert_eq!(number(candle, "high"), prices.iter().copied().fold(f64::MIN, f64::max));
        assert_eq!(number(candle, "low"), prices.iter().copied().fold(f64::MAX, f64::min));
        for series in minute(&market, "type=TRADE_AGG", start) {
            let side = series.id.side.clone().unwrap();
            let of_side = trades.iter().filter(|point| point["series"]["side"] == json!(side));
            let sum: f64 = of_side.map(|point| point["trade"]["amount"].as_f64().unwrap()).sum();
            assert!((number(&series, "volume") / sum - 1.0).abs() < 1e-12, "{side}");
        }
    }
}

#[test]
fn liquidations_of_a_minute_make_its_bars() {
    let market = demo();
    let mut found = 0;
    for start in (START..START + 4 * 3_600).step_by(60) {
        let forced = points_of(&market, &channel("LIQUIDATION"), start * SECOND, (start + 60) * SECOND - 1, 1);
        for series in minute(&market, "type=LIQUIDATION_AGG", start) {
            let side = json!(series.id.side.clone().unwrap());
            let of_side = forced.iter().filter(|point| point["series"]["side"] == side);
            let sum: f64 = of_side.map(|point| point["liquidation"]["amount"].as_f64().unwrap()).sum();
            let reported = if series.timestamps.is_empty() { 0.0 } else { number(&series, "liquidations") };
            assert!((reported - sum).abs() <= 1e-12 * sum, "{start} {side}");
            found += usize::from(sum > 0.0);
        }
    }
    assert!(found > 5, "{found}");
}

#[test]
fn events_do_not_depend_on_how_time_is_cut() {
    let market = demo();
    for channel in [
        channel("TRADE"),
        channel("LIQUIDATION"),
        channel("FUNDING_RATE"),
        channel("OPEN_INTEREST"),
        channel("TRADE_AGG").with("batchInterval", "5s"),
        channel("VOLUME_PROFILE_AGG").with("updateFrequency", "500ms"),
        channel("BLOCK_BOOK_SNAPSHOT").with("blockSize", "50").with("maxDepth", "20"),
    ] {
        let (from, until) = (START * SECOND + 17, (START + 130) * SECOND + 500);
        let whole = points_of(&market, &channel, from, until, 1);
        assert_eq!(points_of(&market, &channel, from, until, 61), whole, "{channel:?}");
        assert!(!whole.is_empty() || channel.kind == "LIQUIDATION", "{channel:?}");
    }
}

#[test]
fn batches_hold_the_trades_of_their_interval_by_side() {
    let market = demo();
    let (from, until) = (START * SECOND, (START + 60) * SECOND);
    let trades = points_of(&market, &channel("TRADE"), from, until - 1, 1);
    let mut sums: BTreeMap<(i64, String), Vec<(f64, f64)>> = BTreeMap::new();
    for point in &trades {
        let trade = &point["trade"];
        let start = time(&trade["timestamp"]) / (5 * SECOND) * 5 * SECOND;
        let side = point["series"]["side"].as_str().unwrap().to_owned();
        let pair = (trade["price"].as_f64().unwrap(), trade["amount"].as_f64().unwrap());
        sums.entry((start, side)).or_default().push(pair);
    }
    // The interval that ends at `until` is sent at that moment.
    let batches = points_of(&market, &channel("TRADE_AGG").with("batchInterval", "5s"), from + 1, until, 1);
    assert_eq!(batches.len(), sums.len());
    for point in &batches {
        let (batch, side) = (&point["tradeAggregation"], point["series"]["side"].as_str().unwrap().to_owned());
        let trades = &sums[&(time(&batch["timestamp"]), side)];
        let prices = trades.iter().map(|(price, _)| *price);
        assert_eq!(batch["open"].as_f64().unwrap(), trades[0].0);
        assert_eq!(batch["close"].as_f64().unwrap(), trades.last().unwrap().0);
        assert_eq!(batch["high"].as_f64().unwrap(), prices.clone().fold(f64::MIN, f64::max));
        assert_eq!(batch["low"].as_f64().unwrap(), prices.fold(f64::MAX, f64::min));
        let volume: f64 = trades.iter().map(|(_, amount)| amount).sum();
        assert!((batch["volume"].as_f64().unwrap() / volume - 1.0).abs() < 1e-12);
    }
}

fn list(series: &Series, name: &str) -> Vec<f64> {
    match &series.columns.iter().find(|(known, _)| known == name).unwrap().1 {
        Column::List(list) => list.values.clone(),
        other => panic!("{other:?} is no list"),
    }
}

#[test]
fn the_last_snapshot_of_a_minute_is_its_heatmap() {
    let market = demo();
    let channel = channel("BLOCK_BOOK_SNAPSHOT").with("blockSize", "25").with("maxDepth", "40");
    let snapshots =
        points_of(&market, &channel.with("updateFrequency", "500ms"), START * SECOND, (START + 120) * SECOND, 7);
    assert!(snapshots.len() > 10);
    for start in [START, START + 60] {
        let of_minute = |point: &&Value| {
            let at = time(&point["blockBookSnapshot"]["timestamp"]);
            start * SECOND < at && at <= (start + 60) * SECOND
        };
        let last = &snapshots.iter().rfind(of_minute).unwrap()["blockBookSnapshot"];
        let heatmap = &minute(&market, "type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=25&maxDepth=40", start)[0];
        // The heatmap's levels ascend: bids from the worst up, then asks.
        let pairs = |side: &str| -> Vec<[f64; 2]> {
            let flat: Vec<f64> = last[side].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
            flat.chunks(2).map(|pair| [pair[0], pair[1]]).collect()
        };
        let (mut levels, asks) = (pairs("bids"), pairs("asks"));
        assert!(levels.len() >= 30 && asks.len() >= 30);
        levels.reverse();
        levels.extend(asks);
        assert_eq!(levels.concat(), list(heatmap, "levels"));
    }
}

#[test]
fn the_last_profile_of_a_minute_is_its_profile() {
    let market = demo();
    for (quote, transform) in [(false, ""), (true, "&transform.normalize.quote=USD")] {
        let mut channel = channel("VOLUME_PROFILE_AGG");
        if quote {
            channel = channel.with("quote", "USD");
        }
        let profiles = points_of(&market, &channel, START * SECOND + 1, (START + 60) * SECOND, 4);
        let last = profiles.last().unwrap();
        assert!(profiles.iter().all(|point| time(&point["volumeProfileAggregation"]["timestamp"]) == START * SECOND));
        let flat = last["volumeProfileAggregation"]["profile"].as_array().unwrap();
        let flat: Vec<f64> = flat.iter().map(|one| one.as_f64().unwrap()).collect();
        let whole = &minute(&market, &format!("type=VOLUME_PROFILE_AGG{transform}"), START)[0];
        assert_eq!(flat, list(whole, "profile"));
        let size = last["series"]["blockSize"].as_f64().unwrap();
        assert!(flat.chunks(3).all(|level| (level[0] / size).fract() == 0.0), "{size}");
    }
}

#[test]
fn gauges_are_sent_as_they_read() {
    let market = demo();
    let (from, until) = (START * SECOND, (START + 60) * SECOND - 1);
    let interest = points_of(&market, &channel("OPEN_INTEREST"), from, until, 1);
    let rates = points_of(&market, &channel("FUNDING_RATE"), from, until, 1);
    let bar = &minute(&market, "type=OPEN_INTEREST_AGG", START)[0];
    assert_eq!(interest.first().unwrap()["openInterest"]["openInterest"].as_f64(), Some(number(bar, "open")));
    assert_eq!(interest.last().unwrap()["openInterest"]["openInterest"].as_f64(), Some(number(bar, "close")));
    let bar = &minute(&market, "type=FUNDING_RATE_AGG", START)[0];
    let last = &rates.last().unwrap()["fundingRate"];
    assert_eq!(last["fundingRate"].as_f64(), Some(number(bar, "rate_close")));
    assert_eq!(last["predictedFundingRate"].as_f64(), Some(number(bar, "predicted_close")));
    assert!(rates[0]["series"].get("side").is_none());
}

#[test]
fn a_point_is_spelt_as_the_supplement_spells_it() {
    let market = demo();
    let mut subscription = market.subscribe(&channel("TRADE"), UnixNanos(START * SECOND)).unwrap();
    let event = market.events(&mut subscription, UnixNanos(START * SECOND + MINUTE)).unwrap().remove(0);
    let text = String::from_utf8(encode::record(&Frame { points: &[event.point] }).unwrap()).unwrap();
    let start = "{\"points\":[{\"series\":{\"type\":\"TRADE\",\"symbol\":\"BTCUSDT\",\"exchange\":\"BINANCE_FUTURES\",\
                 \"normalizedSymbol\":\"BTC-USDT\",\"category\":\"PERPETUAL\",\"side\":\"";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("\",\"coin\":\"BTC\",\"inverse\":false},\"trade\":{\"id\":\""), "{text}");
    assert!(text.contains("\"timestamp\":{\"seconds\":17768808") && text.contains("\"nanoseconds\":"), "{text}");
}

#[test]
fn ids_are_one_for_each_event_of_a_source() {
    let market = demo();
    let ids = |channel: &Channel| -> Vec<String> {
        let points = points_of(&market, channel, START * SECOND, (START + 600) * SECOND, 3);
        points.iter().map(|point| point["trade"]["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = ids(&channel("TRADE"));
    assert_eq!(first, ids(&channel("TRADE")));
    let mut all = [first, ids(&Channel::new("TRADE", "BINANCE_FUTURES", "ETHUSDT"))].concat();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn markets_without_data_are_silent_and_wrong_channels_are_refused() {
    let market = demo();
    let (from, until) = (START * SECOND, (START + 600) * SECOND);
    for channel in [
        Channel { category: "SPOT".into(), ..channel("TRADE") },
        Channel::new("FUNDING_RATE", "BINANCE", "BTCUSDT"),
        Channel::new("LIQUIDATION", "COINBASE", "BTC-USD"),
    ] {
        assert!(points_of(&market, &channel, from, until, 1).is_empty(), "{channel:?}");
    }
    let of_category = Channel { category: "PERPETUAL".into(), ..channel("TRADE") };
    assert!(!points_of(&market, &of_category, from, until, 1).is_empty());
    for (channel, word) in [
        (channel("TRADES"), "did you mean TRADE?"),
        (channel("BLOCK_BOOK_SNAPSHOT"), "blockSize: missing"),
        (channel("VOLUME_PROFILE_AGG").with("quote", "EUR"), "EUR"),
        (channel("TRADE_AGG").with("batchInterval", "2s"), "200ms, 1s, 5s"),
    ] {
        let Err(MarketError::Invalid(error)) = market.subscribe(&channel, UnixNanos(from)) else {
            panic!("{channel:?}")
        };
        assert!(error.to_string().contains(word), "{error}");
    }
    let unknown = [Channel::new("TRADE", "NOWHERE", "BTCUSDT"), Channel::new("TRADE", "BYBIT", "BTCUSD")];
    let refusals = unknown.each_ref().map(|channel| market.subscribe(channel, UnixNanos(from)).unwrap_err());
    assert!(matches!(&refusals[0], MarketError::UnknownExchange(error) if error.to_string().contains("NOWHERE")));
    assert!(
        matches!(&refusals[1], MarketError::UnknownSymbol(error) if error.problem.ends_with("did you mean BTCUSDT?"))
    );
    let lenient = demo().with_strict_symbols(false);
    assert!(lenient.subscribe(&unknown[0], UnixNanos(from)).is_err());
    assert!(points_of(&lenient, &unknown[1], from, until, 1).is_empty());
}
