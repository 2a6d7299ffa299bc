//! Option summaries and prediction markets in the listing.

use serde_json::Value;

use super::*;
use crate::clock::UnixNanos;
use crate::encode;
use crate::protocol::{AnalyticsEndpoint, AnalyticsQuery, MarketListing, MarketsPage, MarketsQuery};

const NEW_YEAR: i64 = 1_767_225_600; // 2026-01-01

fn page(query: &str, now: i64) -> MarketsPage {
    DEMO.markets(&MarketsQuery::parse(query).unwrap(), UnixNanos(now)).unwrap()
}

fn entries(query: &str, now: i64) -> Vec<MarketListing> {
    page(&format!("pageSize=1000&{query}"), now).symbols
}

/// The prediction markets by condition, as they are told.
fn predictions(now: i64) -> Vec<(MarketListing, Value)> {
    let all = entries("exchange=PREDICTION_VENUE", now);
    let with_json = |entry: MarketListing| {
        assert_eq!(entry.prediction_markets.len(), 1);
        let market = serde_json::to_value(&entry.prediction_markets[0]).unwrap();
        (entry, market)
    };
    all.into_iter().map(with_json).collect()
}

fn number(value: &Value, name: &str) -> f64 {
    value.get(name).map_or(0.0, |value| value.as_f64().unwrap())
}

#[test]
fn option_summaries_are_listed_by_tenor_and_answer_what_they_list() {
    let options = entries("category=OPTION", NOW);
    assert_eq!(options, entries("exchange=DERIBIT", NOW));
    assert_eq!(options.len(), 16);
    for (kind, symbols) in [
        ("SKEW_OPTION_SUMMARY_AGG", ["BTC_25", "ETH_25"]),
        ("IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG", ["BTC_ATM", "ETH_ATM"]),
    ] {
        let listed = entries(&format!("type={kind}"), NOW);
        let names: Vec<(&str, &str)> = listed.iter().map(|row| (&*row.raw_symbol, &*row.tenor)).collect();
        let tenors = ["ONE_W", "ONE_M", "TWO_M", "THREE_M"];
        let expected: Vec<(&str, &str)> =
            symbols.iter().flat_map(|symbol| tenors.map(|tenor| (*symbol, tenor))).collect();
        assert_eq!(names, expected);
        for row in listed {
            assert_eq!((&*row.normalized_symbol, &*row.category), (&*row.coin, "OPTION"));
            let MarketListing { exchange, raw_symbol, coin, tenor, .. } = row;
            let query = format!(
                "type={kind}&exchange={exchange}&rawSymbol={raw_symbol}&coin={coin}&tenor={tenor}&interval=DAY&period=864000"
            );
            assert_eq!(series(&query, NOW).len(), 10);
        }
    }
    assert_eq!(entries("category=OPTION&coin=ETH", NOW).len(), 8);
    assert_eq!(entries("symbolFilter=btc_atm", NOW).len(), 4);
    assert!(entries("category=OPTION", 1_000_000_000 * SECOND).is_empty());
}

#[test]
fn prediction_markets_are_listed_with_what_section_2_4_names() {
    let all = predictions(NOW);
    // All questions of 2025, and those of 2026 that have opened by 22 April.
    assert_eq!(all.len(), 38);
    for (entry, market) in &all {
        assert_eq!(market["conditionId"], *entry.raw_symbol);
        assert_eq!(market["question"], *entry.full_name);
        assert!(entry.raw_symbol.len() == 66 && entry.coin.is_empty() && entry.category.is_empty());
        assert_eq!(market["outcomes"].as_array().unwrap().len(), 2);
        let slug = market["slug"].as_str().unwrap();
        assert!(slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{slug}");
        let price = number(market, "lastPrice");
        assert!((0.0..=1.0).contains(&price) && price == entry.last_price);
        let prices: Vec<f64> =
            market["prices"].as_array().unwrap().iter().map(|price| price.as_f64().unwrap()).collect();
        assert_eq!((prices.len(), prices[23]), (24, price));
        assert!(prices.iter().all(|price| (0.0..=1.0).contains(price)));
        let closed = market.get("closed") == Some(&Value::Bool(true));
        let over = market["availableTo"]["s"].as_i64().unwrap() <= NOW / SECOND;
        assert!(!closed || !(0.005..=0.995).contains(&price), "{price}");
        assert_eq!((&entry.title, entry.tags.len()), (&entry.full_name, 2));
        assert_eq!(entry.liquidity > 0.0, !over, "a market that is over has no book");
        assert_eq!(closed, over);
        assert!(market["availableSince"]["s"].as_i64().unwrap() < market["availableTo"]["s"].as_i64().unwrap());
        assert_eq!(number(market, "orderPriceMinTickSize"), 0.001);
    }
    let titles: Vec<&str> = all.iter().filter_map(|(_, market)| market.get("groupItemTitle")?.as_str()).collect();
    let mut sorted = titles.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        ["$120k", "$120k", "$150k", "$150k", "$200k", "$200k"],
        "the three questions of one event, in two years"
    );
    let closed = all.iter().filter(|(_, market)| market.get("closed").is_some()).count();
    assert!((5..33).contains(&closed), "{closed}");
}

#[test]
fn prediction_markets_agree_with_the_analytics() {
    let demo = &*DEMO;
    for (entry, market) in predictions(NOW) {
        let answer = {
            let query = format!("conditionId={}", entry.raw_symbol);
            demo.analytics(&AnalyticsQuery::parse(AnalyticsEndpoint::MarketSummary, &query).unwrap(), UnixNanos(NOW))
                .unwrap()
        };
        let summary = answer.market_summary.unwrap();
        // The analytics track some wallets; others trade as well.
        assert!(number(&market, "totalVolume") > 0.1 * summary.total_size);
        let positions =
            f64::from(i32::try_from(summary.total_open_positions + summary.total_closed_positions).unwrap());
        let traders = number(&market, "uniqueTraders");
        // A wallet has at most one position in each of the two outcomes.
        assert!(traders <= positions && positions <= 2.0 * traders);
        let largest = summary.largest_open_position;
        assert!(number(&market, "openInterest") >= largest * (1.0 - 1e-12));
    }
}

#[test]
fn nothing_of_a_prediction_market_is_listed_before_it_happens() {
    let open = |now: i64| predictions(now * SECOND);
    assert!(open(1_735_689_599).is_empty(), "the venue opens on 2025-01-01");
    let (early, late) = (open(NEW_YEAR - 200 * 86_400), open(NEW_YEAR));
    assert!(early.len() < late.len() && late.len() == 28);
    let (mut grew, mut traded, mut resolved) = (0, 0, 0);
    for (entry, then) in &early {
        assert!(entry.available_since.unwrap().s <= NEW_YEAR - 200 * 86_400);
        let now = &late.iter().find(|(later, _)| later.raw_symbol == entry.raw_symbol).unwrap().1;
        assert!(number(then, "totalVolume") <= number(now, "totalVolume"));
        assert!(number(then, "uniqueTraders") <= number(now, "uniqueTraders"));
        grew += usize::from(number(then, "totalVolume") < number(now, "totalVolume"));
        traded += usize::from(number(then, "buyVolume24H") > 0.0 && number(then, "sellVolume24H") > 0.0);
        resolved += usize::from(then.get("closed").is_none() && now.get("closed").is_some());
        let volume = number(then, "buyVolume24H") + number(then, "sellVolume24H");
        assert!((entry.volume_24h - volume).abs() <= 1e-9 * volume);
    }
    assert!(grew >= 5 && traded >= 2 && resolved >= 2, "{grew} {traded} {resolved}");
    // The change of a day is the difference of two days' listings.
    let day_before = open(NEW_YEAR - 201 * 86_400);
    for (entry, before) in &day_before {
        let now = &early.iter().find(|(later, _)| later.raw_symbol == entry.raw_symbol).unwrap().1;
        let change = number(now, "lastPrice") - number(before, "lastPrice");
        assert!((number(now, "oneDayPriceChange") - change).abs() < 1e-12);
        let interest = number(now, "openInterest") - number(before, "openInterest");
        assert!((number(now, "oneDayOIChange") - interest).abs() <= 1e-9 * number(now, "openInterest"));
    }
}

#[test]
fn filters_know_prediction_markets() {
    assert_eq!(entries("symbolFilter=bitcoin TRADE above&exchange=PREDICTION_VENUE", NOW).len(), 6);
    for every in ["TRADE_AGG", "BLOCK_BOOK_SNAPSHOT_AGG", "OPEN_INTEREST_AGG", "TPO_AGG"] {
        assert_eq!(entries(&format!("exchange=PREDICTION_VENUE&type={every}"), NOW).len(), 38, "{every}");
    }
    for nothing in ["type=FUNDING_RATE_AGG", "type=LIQUIDATION_AGG", "coin=BTC", "category=SPOT"] {
        assert!(entries(&format!("exchange=PREDICTION_VENUE&{nothing}"), NOW).is_empty(), "{nothing}");
    }
    let condition = &predictions(NOW)[0].0.raw_symbol;
    assert_eq!(entries(&format!("symbolFilter={condition}"), NOW).len(), 1);
    let body = String::from_utf8(encode::record(&page("exchange=PREDICTION_VENUE", NOW)).unwrap()).unwrap();
    assert!(body.contains("\"predictionMarkets\":[{") && body.contains("\"tags\":[{\"id\":\""));
}

#[test]
fn venues_report_their_coins_market_capitalization() {
    let marketcap = series("type=TOKEN_SUPPLY_AGG&coin=SOL&interval=DAY&period=86400", NOW);
    let expected = *marketcap.floats("marketcap").unwrap().last().unwrap();
    let listed = entries("coin=SOL&type=TRADE_AGG", NOW);
    assert_eq!(listed.len(), 8);
    assert!(listed.iter().all(|row| row.marketcap == expected));
}
