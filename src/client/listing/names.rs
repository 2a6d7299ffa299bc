//! Whether a service lists a symbol or a coin.

use std::cmp::Reverse;

use crate::client::error::ClientError;
use crate::client::list_cache::{ListLookup, ListQuery};
use crate::client::listed::Listed;
use crate::protocol::exchange::{VenueKind, venue};
use crate::protocol::query::Spelling;
use crate::protocol::suggest::{did_you_mean, letters};
use crate::protocol::{DataType, DiscoveryList, Filters, PointsQuery, excerpt};

/// Most names that a message lists.
const FEW: usize = 8;

/// A symbol or a coin to look up.
pub(super) struct NameLookup<'a> {
    query: ListQuery,
    name: &'a str,
}

impl<'a> NameLookup<'a> {
    /// From a query's symbol, or else its coin.
    pub(super) fn of(query: &'a PointsQuery) -> Option<Self> {
        let (list, name) = match (&query.raw_symbol, &query.normalized_symbol, &query.coin) {
            (Some(symbol), ..) => (DiscoveryList::Symbols, symbol),
            (None, Some(symbol), _) => (DiscoveryList::NormalizedSymbols, symbol),
            (None, None, Some(coin)) => (DiscoveryList::Coins, coin),
            (None, None, None) => return None,
        };
        Some(Self::in_list(list, &query.data_type, &query.exchanges, name))
    }

    /// For the symbol of a market.
    pub(super) fn of_market(data_type: &str, exchange: &str, symbol: &'a str) -> Self {
        Self::in_list(DiscoveryList::Symbols, data_type, &[exchange.to_owned()], symbol)
    }

    fn in_list(list: DiscoveryList, data_type: &str, exchanges: &[String], name: &'a str) -> Self {
        let mut exchanges = exchanges.to_vec();
        exchanges.sort_unstable();
        let filters = Filters { types: vec![data_type.to_owned()], exchanges, ..Filters::default() };
        Self { query: ListQuery { list, filters }, name }
    }
}

impl ListLookup<String> for NameLookup<'_> {
    fn query(&self) -> &ListQuery {
        &self.query
    }

    fn evaluate(&self, names: &[String]) -> Result<Listed, ClientError> {
        let Self { query: ListQuery { list, filters }, name } = self;
        if names.iter().any(|known| known == name) {
            return Ok(Listed::Yes);
        }
        let of = filters.types.join(", ");
        let at = if filters.exchanges.is_empty() { "the service".to_owned() } else { filters.exchanges.join(" with ") };
        let at = excerpt(&at);
        if names.is_empty() && filters.types.iter().any(|name| DataType::find(name).is_none()) {
            return Ok(Listed::Unknown); // for an unknown type it may list nothing at all
        }
        if names.is_empty() {
            let name = excerpt(name);
            let words = format!("the service lists nothing of {of} for {at}: {name} may be answered with nothing");
            return Ok(Listed::Unsure(words));
        }
        let near = nearest(name, names).map_or_else(String::new, did_you_mean);
        // A few are named; of many, the number is enough.
        let there = match names.len() {
            1..=FEW => names.join(", "),
            count => format!("{count} {}", words_of(*list)),
        };
        let name = excerpt(name);
        let words = format!("{at} has no {name}{near} (of {of} the service lists {there} there");
        // The list of so large a venue may be incomplete.
        if filters.exchanges.iter().any(|exchange| venue(exchange) == Some(VenueKind::Prediction)) {
            return Ok(Listed::Unsure(format!(
                "{words}, maybe not all: markets go by their conditionId, not by a slug)"
            )));
        }
        let switch = Spelling::caller().switch("check_symbols", false);
        Err(ClientError::invalid(format!("{words}; {switch} asks all the same)")))
    }
}

/// The plural word for a list's entries in messages.
fn words_of(list: DiscoveryList) -> &'static str {
    match list {
        DiscoveryList::Symbols => "symbols",
        DiscoveryList::NormalizedSymbols => "normalized symbols",
        DiscoveryList::Coins => "coins",
        _ => list.endpoint().key,
    }
}

/// The listed name that was most likely meant: the same letters in another case or with other separators; else a name
/// that extends it or that it extends, or one within two edits. Of equally near ones, one in USDT, then the first.
fn nearest<'a>(name: &str, names: &'a [String]) -> Option<&'a str> {
    let wanted = letters(name);
    let candidates = names.iter().filter_map(|known| {
        let known_letters = letters(known);
        let edits = strsim::osa_distance(&wanted, &known_letters);
        let continues = known_letters.len().min(wanted.len()) >= 2
            && (known_letters.starts_with(&wanted) || wanted.starts_with(&known_letters));
        let slip = if wanted.len() <= 4 { edits <= 1 } else { edits <= 2 };
        (slip || continues).then_some((edits, Reverse(known_letters.ends_with("USDT")), known))
    });
    candidates.min_by_key(|(edits, in_usdt, _)| (*edits, *in_usdt)).map(|(_, _, known)| known.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_was_meant_is_found() {
        let futures = list(&["1000SATSUSDT", "BTCUSDC", "BTCUSDT", "BTCUSDT_260925", "ETHBTC", "ETHUSDT", "XRPUSDT"]);
        let swaps = list(&["BTC-USD-SWAP", "BTC-USDT-SWAP", "ETH-USDT-SWAP"]);
        let coins = list(&["AVAX", "BTC", "ETH"]);
        for (names, given, meant) in [
            (&futures, "BTCUSD", "BTCUSDT"),
            (&futures, "btcusdt", "BTCUSDT"),
            (&futures, "BTC/USDT", "BTCUSDT"),
            (&futures, "BTC-USDT-SWAP", "BTCUSDT"),
            (&futures, "BTC", "BTCUSDT"),
            (&futures, "BTCUSTD", "BTCUSDT"),
            (&swaps, "BTC-USDT", "BTC-USDT-SWAP"),
            (&swaps, "BTCUSDT", "BTC-USDT-SWAP"),
            (&coins, "btc", "BTC"),
            (&coins, "BTCUSDT", "BTC"),
        ] {
            assert_eq!(nearest(given, names), Some(meant), "{given}");
        }
        assert_eq!(nearest("DOGECOIN", &futures), None);
        assert_eq!(nearest("TRX", &list(&["XRP", "BTC"])), None);
        assert_eq!(nearest("", &list(&["BTCUSDT"])), None);
    }

    #[test]
    fn only_a_list_that_is_sure_refuses() {
        let evaluate = |exchange: &str, name: &str, names: &[&str]| {
            NameLookup::of_market("TRADE_AGG", exchange, name).evaluate(&list(names))
        };
        assert_eq!(evaluate("BINANCE_FUTURES", "BTCUSDT", &["BTCUSDT"]).unwrap(), Listed::Yes);
        let refused = evaluate("BINANCE_FUTURES", "BTCUSD", &["BTCUSDT"]).unwrap_err().message;
        assert!(refused.starts_with("BINANCE_FUTURES has no BTCUSD; did you mean BTCUSDT? ("), "{refused}");
        let refused = evaluate("BINANCE_FUTURES", "NOSUCH", &["BTCUSDT"]).unwrap_err().message;
        assert!(
            refused.starts_with("BINANCE_FUTURES has no NOSUCH (of TRADE_AGG the service lists BTCUSDT there"),
            "{refused}"
        );
        let unsure = [
            evaluate("BINANCE_FUTURES", "BTCUSD", &[]).unwrap(),
            evaluate("PREDICTION_VENUE", "some-slug", &["0xabc"]).unwrap(),
        ];
        assert!(unsure.iter().all(|one| matches!(one, Listed::Unsure(_))), "{unsure:?}");
        let newer = NameLookup::of_market("NEWER_TYPE", "BINANCE_FUTURES", "BTCUSD");
        assert_eq!(newer.evaluate(&[]).unwrap(), Listed::Unknown);
    }
}
