//! The engine behind the service: raw events → series, by subject; its sources (demo, store); discovery and streams. No HTTP.
//!
//! ```
//! use marketpoints::clock::UnixSecond;
//! use marketpoints::market::Market;
//! use marketpoints::protocol::PointsQuery;
//! use marketpoints::{decode, encode};
//!
//! let (market, now) = (Market::demo(0), UnixSecond(1_776_880_800).nanos()); // 2026-04-22T18:00:00Z
//! let query = PointsQuery {
//!     from: Some(1_776_870_000),
//!     period: Some(3 * 3_600),
//!     ..PointsQuery::of_market("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE_FUTURES", "BTCUSDT", "HOUR")
//! };
//! market.check(&query, now)?;
//! let candles = market.points(&query, now)?;
//! assert_eq!(candles[0].timestamps[0], UnixSecond(1_776_870_000).nanos().0);
//! assert_eq!(candles[0].floats("close").map(<[f64]>::len), Some(3));
//!
//! let body = encode::points(&candles, false); // what the service sends, and a client reads
//! assert_eq!(decode::points(&body)?, candles);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod engine;
mod market_snapshot;
mod query_cost;

mod archived;
mod demo;
mod ingest;
mod instruments;
mod query;
mod raw;
mod store;

mod subjects;

mod listing;
mod sources;
mod stream;
#[cfg(test)]
mod tests;

pub use engine::Market;
pub use ingest::report::{IngestReport, Problem};
pub use market_snapshot::MarketSnapshot;
pub use query::error::MarketError;
pub use raw::{
    Bar, Book, BookFeed, CancelFlag, Feed, Feeds, Instrument, LiquidationFeed, OhlcBar, OptionFeed, OptionSummary,
    OutcomeToken, Position, PositionCounts, PositionTable, PredictionEvent, PredictionFeed, PredictionFigures,
    PredictionState, PriceLevel, RawData, RawDataSet, Source, SourceError, SummaryKind, Supply, SupplyFeed, SupplyRow,
    Ticker, TickerFeed, TickerField, Token, Trade, TradeFeed,
};
pub use sources::demo::Demo;
pub use sources::ingest::{Ingest, ingest};
pub use stream::{StreamEvent, Subscription};
