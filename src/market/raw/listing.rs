//! The markets of a source.

use super::predictions::PREDICTION_VENUE;
use super::raw_data::RawDataSet;
use crate::clock::UnixSecond;
use crate::protocol::exchange::contract_usd;
use crate::protocol::exchange::funding_seconds;
use crate::protocol::symbol::{self, Category, Symbol};
use crate::protocol::wire::USD_LIKE;

/// A market of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Instrument {
    /// Exchange identifier.
    pub exchange: String,
    /// Exchange-native symbol.
    pub raw_symbol: String,
    /// Base asset; empty for a prediction market.
    pub coin: String,
    /// Quote asset; empty where it is unknown.
    pub quote: String,
    /// `SPOT`, `PERPETUAL`, `FUTURE`, `OPTION` or `COMBO`; empty for a prediction market.
    pub category: String,
    /// Full name of the base asset, where the source knows it.
    pub coin_name: String,
    /// From when on there may be data; [`Source::first_event`] says since when there is.
    pub available_since: UnixSecond,
    /// Kinds of raw data that the market may have.
    pub raw_data: RawDataSet,
}

impl Instrument {
    /// A market as its exchange and symbol describe it; `since` and the raw data come from the source.
    pub(in crate::market) fn named(
        exchange: String,
        raw_symbol: String,
        since: UnixSecond,
        raw_data: RawDataSet,
    ) -> Self {
        let Symbol { coin, quote, category, .. } = symbol::parse(&exchange, &raw_symbol, since);
        // The id of a prediction market is no pair: it has no coin and no category, and its prices are in USD.
        let (coin, quote, category) = match exchange.as_str() {
            PREDICTION_VENUE => (String::new(), USD_LIKE[0].to_owned(), ""),
            _ => (coin, quote, category.name()),
        };
        Self {
            exchange,
            raw_symbol,
            coin,
            quote,
            category: category.to_owned(),
            coin_name: String::new(),
            available_since: since,
            raw_data,
        }
    }

    /// Symbol in BASE-QUOTE form; empty without a base. A future has its end besides, BASE-QUOTE-YYMMDD: it is another
    /// thing than the perpetual. Options and combinations keep their own symbols.
    pub fn normalized_symbol(&self) -> String {
        if self.is(Category::Option) || self.is(Category::Combo) {
            return self.raw_symbol.clone();
        }
        if self.raw_symbol.is_empty() {
            return String::new(); // all markets of a coin
        }
        let expiry = || symbol::parse(&self.exchange, &self.raw_symbol, self.available_since).expiry;
        let expiry = if self.is(Category::Future) { expiry().unwrap_or_default() } else { String::new() };
        let parts = if self.coin.is_empty() { [""; 3] } else { [&*self.coin, &*self.quote, &*expiry] };
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    }

    /// Whether the market is of a category.
    pub fn is(&self, category: Category) -> bool {
        self.category == category.name()
    }

    /// USD that a unit of amount is worth on an inverse market, whatever the price; `None` where amounts are in coin.
    pub fn contract_usd(&self) -> Option<f64> {
        contract_usd(&self.exchange, &self.raw_symbol)
    }

    /// Seconds that the market's funding rates are for: its exchange's time between settlements.
    pub fn funding_seconds(&self) -> i64 {
        funding_seconds(&self.exchange)
    }

    /// Whether the quote counts as one USD.
    pub fn is_usd_like(&self) -> bool {
        USD_LIKE.contains(&self.quote.as_str())
    }
}
