//! The lists of the discovery endpoints (service.md 4.2, supplement 5), from the markets that are available.
//!
//! Filters are "or" within a parameter and "and" between parameters; a value that nothing has gives an empty list. With
//! `type`, a market counts when it serves one of the types. The block size of a market (the 4K size) is the member of
//! 1, 2, 5, 10, … × 10ⁿ, a multiple of the market's tick, with which the included depth of the orderbook heatmap reaches
//! about a tenth of the last price to either side, in the market's quote: 88,000 / 10 / 3,500 gives 2. Several markets
//! give their distinct sizes, ascending; none that has traded gives `[0]`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::MarketError;
use super::feed::Feed;
use super::profiles::nearest_step;
use super::source::{Listing, Source};
use crate::clock::SECOND;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::discovery::TENORS;
use crate::protocol::query::{FILTER_PARAMETERS, refuse_unknown};
use crate::protocol::{DataType, DiscoveryList, Filters, Selection, TypeSpec};

/// Share of the price that the included depth reaches with the recommended block size, to either side.
const REACH: f64 = 0.1;

/// What a list holds as of `now` (Unix nanoseconds), as a JSON array.
pub(super) fn list(
    source: &dyn Source,
    list: DiscoveryList,
    filters: &Filters,
    now: i64,
) -> Result<Value, MarketError> {
    refuse_unknown(&filters.extra, &FILTER_PARAMETERS)?;
    let markets: Vec<(usize, &Listing)> = source
        .listings()
        .iter()
        .enumerate()
        .filter(|(_, listing)| listing.available_since * SECOND <= now && fits(listing, filters))
        .collect();
    let names = |name: fn(&Listing) -> String| {
        let distinct: BTreeSet<String> = markets.iter().map(|(_, listing)| name(listing)).collect();
        Ok(distinct.into_iter().filter(|name| !name.is_empty()).collect())
    };
    match list {
        DiscoveryList::Coins => names(|listing| listing.coin.clone()),
        DiscoveryList::Symbols => names(|listing| listing.raw_symbol.clone()),
        DiscoveryList::NormalizedSymbols => names(Listing::normalized_symbol),
        DiscoveryList::Exchanges => names(|listing| listing.exchange.clone()),
        DiscoveryList::Categories => names(|listing| listing.category.clone()),
        DiscoveryList::Types => {
            let distinct: BTreeSet<&str> = served(&markets, filters).map(|spec| spec.name).collect();
            Ok(distinct.into_iter().collect())
        }
        DiscoveryList::Tenors => {
            let options = served(&markets, filters).any(|spec| spec.selection == Selection::OptionSummary);
            Ok(TENORS.into_iter().filter(|_| options).collect())
        }
        DiscoveryList::BlockSizes => block_sizes(source, &markets, now),
    }
}

/// The types that any of the markets serves, of those that the filters ask for.
fn served<'a>(markets: &'a [(usize, &Listing)], filters: &'a Filters) -> impl Iterator<Item = &'static TypeSpec> + 'a {
    DATA_TYPES.iter().filter(|spec| {
        among(&filters.types, spec.name) && markets.iter().any(|(_, listing)| listing.feeds.serve(spec.data_type))
    })
}

fn block_sizes(source: &dyn Source, markets: &[(usize, &Listing)], now: i64) -> Result<Value, MarketError> {
    let depth = DataType::BlockBookSnapshotAgg.spec().included_depth.unwrap_or(1);
    let mut sizes = Vec::new();
    for &(market, listing) in markets {
        if !listing.feeds.has(Feed::Trades) {
            continue;
        }
        let last = source.bar_before(market, now.div_euclid(SECOND).saturating_add(1), now)?;
        if let Some(price) = last.map(|bar| bar.close).filter(|price| *price > 0.0) {
            sizes.push(nearest_step(price * REACH / f64::from(depth), &[source.tick(market)?]));
        }
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    Ok(if sizes.is_empty() { Value::from(vec![0]) } else { Value::from(sizes) })
}

fn among(values: &[String], value: &str) -> bool {
    values.is_empty() || values.iter().any(|known| known == value)
}

fn fits(listing: &Listing, filters: &Filters) -> bool {
    let serves = |name: &String| DataType::find(name).is_some_and(|data_type| listing.feeds.serve(data_type));
    among(&filters.exchanges, &listing.exchange)
        && among(&filters.categories, &listing.category)
        && among(&filters.coins, &listing.coin)
        && among(&filters.raw_symbols, &listing.raw_symbol)
        && among(&filters.normalized_symbols, &listing.normalized_symbol())
        && (filters.types.is_empty() || filters.types.iter().any(serves))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::market::Demo;

    const NOW: i64 = 1_776_880_830 * SECOND;

    fn ask(endpoint: DiscoveryList, query: &str) -> Value {
        list(&Demo::new(0), endpoint, &Filters::parse(query), NOW).unwrap()
    }

    #[test]
    fn names_are_sorted_and_distinct_and_pass_the_filters() {
        use DiscoveryList::{Categories, Coins, Exchanges, NormalizedSymbols, Symbols};
        for (list, query, names) in [
            (Coins, "exchange=BYBIT&coin=BTC&coin=ETH", json!(["BTC", "ETH"])),
            (Symbols, "type=TRADE_AGG&coin=BTC&exchange=OKEX&exchange=OKEX_SWAP", json!(["BTC-USDT", "BTC-USDT-SWAP"])),
            (
                NormalizedSymbols,
                "type=TRADE_AGG&coin=BTC&exchange=BYBIT&exchange=COINBASE",
                json!(["BTC-USD", "BTC-USDT"]),
            ),
            (Exchanges, "rawSymbol=BTCUSDT&category=PERPETUAL", json!(["BINANCE_FUTURES", "BYBIT"])),
            (Categories, "coin=BTC&exchange=BYBIT&exchange=COINBASE", json!(["PERPETUAL", "SPOT"])),
            (Exchanges, "normalizedSymbol=BTC-USD&category=SPOT&type=TRADE_AGG", json!(["BITSTAMP", "COINBASE"])),
            (Coins, "type=NEWER_TYPE", json!([])),
            (Coins, "exchange=NOWHERE", json!([])),
        ] {
            assert_eq!(ask(list, query), names, "{query}");
        }
        let every = ask(Coins, "");
        let names: Vec<&str> = every.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(names.is_sorted() && names.contains(&"BTC"));
    }

    #[test]
    fn types_are_those_that_the_markets_serve() {
        let spot = ask(DiscoveryList::Types, "exchange=COINBASE");
        let has = |types: &Value, name: &str| types.as_array().unwrap().contains(&json!(name));
        assert!(has(&spot, "TRADE_AGG") && !has(&spot, "FUNDING_RATE_AGG"));
        assert!(has(&ask(DiscoveryList::Types, "exchange=BYBIT"), "FUNDING_RATE_AGG"));
        assert_eq!(
            ask(DiscoveryList::Types, "type=TRADE_AGG&type=LIQUIDATION_AGG&exchange=BITSTAMP"),
            json!(["TRADE_AGG"])
        );
    }

    #[test]
    fn tenors_belong_to_option_summaries() {
        assert_eq!(ask(DiscoveryList::Tenors, "type=TRADE_AGG"), json!([]));
        let served = ask(DiscoveryList::Types, "type=SKEW_OPTION_SUMMARY_AGG");
        let tenors = ask(DiscoveryList::Tenors, "type=SKEW_OPTION_SUMMARY_AGG");
        assert_eq!(tenors == json!(TENORS), served == json!(["SKEW_OPTION_SUMMARY_AGG"]));
    }

    #[test]
    fn a_block_size_reaches_a_tenth_of_the_price_on_the_ticks() {
        let demo = Demo::new(0);
        for (market, listing) in demo.listings().iter().enumerate() {
            let query = format!("exchange={}&rawSymbol={}", listing.exchange, listing.raw_symbol);
            let sizes = ask(DiscoveryList::BlockSizes, &query);
            let size = sizes[0].as_f64().unwrap();
            assert_eq!(sizes.as_array().unwrap().len(), 1, "{query}");
            let close = demo.bar_before(market, NOW / SECOND + 1, NOW).unwrap().unwrap().close;
            let reach = size * 3_500.0 / close;
            let (low, high) = (0.1 / 2.5f64.sqrt(), 0.1 * 2.5f64.sqrt()); // neighbours of 1, 2, 5, 10 are that far apart
            let ticks = size / demo.tick(market).unwrap();
            assert!((ticks - ticks.round()).abs() < 1e-6 && ticks >= 1.0 - 1e-9, "{query}: {ticks} ticks");
            assert!(reach >= low - 1e-9 && (reach <= high + 1e-9 || ticks < 10.0), "{query}: {reach}");
        }
        assert_eq!(ask(DiscoveryList::BlockSizes, "exchange=NOWHERE"), json!([0]));
        assert!(ask(DiscoveryList::BlockSizes, "coin=BTC").as_array().unwrap().len() <= 2);
    }
}
