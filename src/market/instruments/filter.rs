//! Filters of `/v1/markets`, and the entries that pass them.

use crate::market::raw::Instrument;
use crate::protocol::{DataType, MarketListing, MarketsQuery};

/// An entry with its sort keys.
pub(in crate::market) struct OrderedEntry {
    /// The row to send, without the figures that [`Figures::complete`] adds.
    pub(in crate::market) entry: MarketListing,
    /// Its place among the source's markets, if it is one.
    pub(in crate::market) market: Option<usize>,
    /// USD traded in 24 hours; `None` if unknown.
    pub(in crate::market) volume: Option<f64>,
    /// 24-hour price change, percent; `None` if unknown.
    pub(in crate::market) price_change: Option<f64>,
}

/// Fields of an instrument that the filters read.
pub(in crate::market) struct InstrumentView<'a> {
    pub exchange: &'a str,
    pub coin: &'a str,
    pub category: &'a str,
    /// Texts that `symbolFilter` searches, in lower case.
    pub texts: &'a [String],
}

/// Whether a query asks for an entry, by its names.
pub(in crate::market) fn wants(query: &MarketsQuery, face: &InstrumentView<'_>) -> bool {
    let among = |values: &[String], value: &str| values.is_empty() || values.iter().any(|known| known == value);
    let wanted = query.symbol_filter.as_deref().unwrap_or_default().to_lowercase();
    among(&query.exchanges, face.exchange)
        && among(&query.coins, face.coin)
        && among(&query.categories, face.category)
        && face.texts.iter().any(|text| text.contains(&wanted))
}

/// Whether a query asks for an entry that serves these types.
pub(in crate::market) fn asked(query: &MarketsQuery, serves: impl Fn(DataType) -> bool) -> bool {
    query.types.is_empty() || query.types.iter().any(|name| DataType::find(name).is_some_and(&serves))
}

pub(in crate::market) fn full_name(instrument: &Instrument) -> String {
    format!("{} {} {}", instrument.exchange, instrument.normalized_symbol(), instrument.category)
}
