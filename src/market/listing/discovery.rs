//! The lists of the discovery endpoints (service.md 4.2, supplement 5), from the markets, option
//! summaries and tokens that are available.
//!
//! A market is available from its first event on, and serves a type from that type's first event on.
//!
//! Filters are "or" within a parameter and "and" between parameters; an unknown value gives an empty list. `type` selects
//! markets that serve one of the types. Several markets give their distinct block sizes, ascending; `[0]` if none has a price.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::clock::{UnixNanos, UnixSecond};
use crate::market::instruments::availability::Availability;
use crate::market::query::error::MarketError;
use crate::market::raw::{Instrument, OptionFeed, OptionSummary, Source, SourceError, SupplyFeed};
use crate::market::subjects::books::block_size::recommended;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::discovery::TENORS;
use crate::protocol::query::{FILTER_PARAMETERS, refuse_unknown};
use crate::protocol::{DataType, DiscoveryList, Filters, Selection};

/// The contents of a list as of `now`, a JSON array.
pub(in crate::market) fn list(
    source: &dyn Source,
    list: DiscoveryList,
    filters: &Filters,
    now: UnixNanos,
) -> Result<Value, MarketError> {
    refuse_unknown(&filters.extra, &FILTER_PARAMETERS)?;
    let entries = entries(source, filters, now)?;
    let names = |name: for<'e> fn(&'e ListEntry<'_>) -> &'e str| {
        let distinct: BTreeSet<&str> = entries.iter().map(name).filter(|name| !name.is_empty()).collect();
        Ok(distinct.into_iter().collect())
    };
    match list {
        DiscoveryList::Coins => names(|entry| entry.coin),
        DiscoveryList::Symbols => names(|entry| entry.raw_symbol),
        DiscoveryList::NormalizedSymbols => names(|entry| &entry.normalized_symbol),
        DiscoveryList::Exchanges => names(|entry| entry.exchange),
        DiscoveryList::Categories => names(|entry| entry.category),
        DiscoveryList::Types => {
            let types = DATA_TYPES.iter().filter(|spec| among(&filters.types, spec.name));
            let served = types.filter(|spec| entries.iter().any(|entry| entry.serves(spec.data_type)));
            Ok(served.map(|spec| spec.name).collect::<BTreeSet<_>>().into_iter().collect())
        }
        DiscoveryList::Tenors => {
            let tenors: BTreeSet<&str> = entries.iter().filter_map(ListEntry::tenor).collect();
            let known = TENORS.into_iter().filter(|tenor| tenors.contains(tenor));
            Ok(known.chain(tenors.iter().copied().filter(|tenor| !TENORS.contains(tenor))).collect())
        }
        DiscoveryList::BlockSizes => {
            let markets: Vec<(usize, &Instrument)> = entries.iter().filter_map(ListEntry::market).collect();
            block_sizes(source, &markets, now)
        }
    }
}

/// Kinds of lists.
enum ListKind<'a> {
    Market(usize, &'a Instrument, Availability),
    Summary(&'a OptionSummary),
    Token,
}

/// A market, option summary or token by its names; empty if it has none.
struct ListEntry<'a> {
    exchange: &'a str,
    category: &'a str,
    coin: &'a str,
    raw_symbol: &'a str,
    normalized_symbol: String,
    kind: ListKind<'a>,
}

impl<'a> ListEntry<'a> {
    fn serves(&self, data_type: DataType) -> bool {
        match &self.kind {
            ListKind::Market(_, _, available) => available.serves(data_type),
            ListKind::Summary(summary) => summary.kind.data_type() == data_type,
            ListKind::Token => data_type.spec().selection == Selection::Token,
        }
    }

    fn tenor(&self) -> Option<&'a str> {
        match &self.kind {
            ListKind::Summary(summary) => Some(&summary.tenor),
            _ => None,
        }
    }

    fn market(&self) -> Option<(usize, &'a Instrument)> {
        match &self.kind {
            ListKind::Market(market, instrument, _) => Some((*market, *instrument)),
            _ => None,
        }
    }
}

/// The entries that are available as of `now` and pass the filters.
fn entries<'a>(source: &'a dyn Source, filters: &Filters, now: UnixNanos) -> Result<Vec<ListEntry<'a>>, SourceError> {
    let begun = |since: UnixSecond| since.nanos() <= now;
    let mut entries = Vec::new();
    for (market, instrument) in source.instruments().iter().enumerate() {
        let normalized_symbol = instrument.normalized_symbol();
        let names =
            [&instrument.exchange, &instrument.category, &instrument.coin, &instrument.raw_symbol, &normalized_symbol];
        if !named(filters, names.map(String::as_str)) {
            continue;
        }
        let Some(available) = Availability::of(source, market, now) else { continue };
        entries.push(ListEntry {
            exchange: &instrument.exchange,
            category: &instrument.category,
            coin: &instrument.coin,
            raw_symbol: &instrument.raw_symbol,
            normalized_symbol,
            kind: ListKind::Market(market, instrument, available),
        });
    }
    let summaries =
        source.of::<dyn OptionFeed>()?.option_summaries().iter().filter(|summary| begun(summary.available_since));
    entries.extend(summaries.map(|summary| ListEntry {
        exchange: &summary.exchange,
        category: "OPTION",
        coin: &summary.coin,
        raw_symbol: &summary.raw_symbol,
        normalized_symbol: summary.coin.clone(), // section 2.3
        kind: ListKind::Summary(summary),
    }));
    let tokens = source.of::<dyn SupplyFeed>()?.tokens().iter().filter(|token| begun(token.available_since));
    entries.extend(tokens.map(|token| ListEntry {
        exchange: "",
        category: "",
        coin: &token.coin,
        raw_symbol: "",
        normalized_symbol: String::new(),
        kind: ListKind::Token,
    }));
    entries.retain(|entry| fits(entry, filters));
    Ok(entries)
}

fn block_sizes(source: &dyn Source, markets: &[(usize, &Instrument)], now: UnixNanos) -> Result<Value, MarketError> {
    let mut sizes = Vec::new();
    for &(market, _) in markets {
        sizes.extend(recommended(source, market, now)?);
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    Ok(if sizes.is_empty() { Value::from(vec![0]) } else { Value::from(sizes) })
}

fn among(values: &[String], value: &str) -> bool {
    values.is_empty() || values.iter().any(|known| known == value)
}

/// Whether exchange, category, coin, raw and normalized symbol pass the filters.
fn named(filters: &Filters, names: [&str; 5]) -> bool {
    let lists =
        [&filters.exchanges, &filters.categories, &filters.coins, &filters.raw_symbols, &filters.normalized_symbols];
    lists.into_iter().zip(names).all(|(values, name)| among(values, name))
}

fn fits(entry: &ListEntry<'_>, filters: &Filters) -> bool {
    let serves = |name: &String| DataType::find(name).is_some_and(|data_type| entry.serves(data_type));
    named(filters, [entry.exchange, entry.category, entry.coin, entry.raw_symbol, &entry.normalized_symbol])
        && (filters.types.is_empty() || filters.types.iter().any(serves))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;

    use super::*;
    use crate::clock::{SECOND, UnixSecond};
    use crate::market::raw::TradeFeed;
    use crate::market::sources::demo::Demo;

    const NOW: i64 = 1_776_880_830 * SECOND;

    static DEMO: LazyLock<Demo> = LazyLock::new(|| Demo::new(0));

    fn ask(endpoint: DiscoveryList, query: &str) -> Value {
        list(&*DEMO, endpoint, &Filters::parse(query), UnixNanos(NOW)).unwrap()
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
        assert_eq!(
            (tenors, served),
            (json!(["ONE_W", "ONE_M", "TWO_M", "THREE_M"]), json!(["SKEW_OPTION_SUMMARY_AGG"]))
        );
        assert_eq!(ask(DiscoveryList::Symbols, "type=SKEW_OPTION_SUMMARY_AGG&coin=BTC"), json!(["BTC_25"]));
        assert_eq!(ask(DiscoveryList::Types, "exchange=DERIBIT&category=OPTION").as_array().unwrap().len(), 2);
        assert_eq!(ask(DiscoveryList::Coins, "type=TOKEN_SUPPLY_AGG&coin=BTC"), json!(["BTC"]));
    }

    #[test]
    fn a_block_size_reaches_a_tenth_of_the_price_on_the_ticks() {
        let demo = &*DEMO;
        for (market, instrument) in demo.instruments().iter().enumerate() {
            if instrument.available_since > UnixSecond(NOW / SECOND) {
                continue;
            }
            let query = format!("exchange={}&rawSymbol={}", instrument.exchange, instrument.raw_symbol);
            let sizes = ask(DiscoveryList::BlockSizes, &query);
            let size = sizes[0].as_f64().unwrap();
            assert_eq!(sizes.as_array().unwrap().len(), 1, "{query}");
            let close =
                demo.markets.bar_before(market, UnixSecond(NOW / SECOND + 1), UnixNanos(NOW)).unwrap().unwrap().close;
            let reach = size * 3_500.0 / close;
            let (low, high) = (0.1 / 2.5f64.sqrt(), 0.1 * 2.5f64.sqrt()); // neighbours of 1, 2, 5, 10 are that far apart
            let ticks = size / demo.markets.tick(market).unwrap();
            assert!((ticks - ticks.round()).abs() < 1e-6 && ticks >= 1.0 - 1e-9, "{query}: {ticks} ticks");
            if instrument.exchange == "PREDICTION_VENUE" {
                assert!((size - 0.001).abs() < 1e-12, "supplement 4"); // what the rule gives is below the tick
                continue;
            }
            assert!(reach >= low - 1e-9 && (reach <= high + 1e-9 || ticks < 10.0), "{query}: {reach}");
        }
        assert_eq!(ask(DiscoveryList::BlockSizes, "exchange=NOWHERE"), json!([0]));
        assert!(ask(DiscoveryList::BlockSizes, "coin=BTC").as_array().unwrap().len() <= 2);
    }
}
