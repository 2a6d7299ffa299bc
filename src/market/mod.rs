//! The engine behind the service: raw events → series, by subject; its sources (demo, store); discovery and streams. No HTTP.

mod cache;
mod engine;
mod inline;
mod moment;

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
pub use moment::Moment;
pub use query::error::MarketError;
pub use raw::{
    Bar, Book, BookFeed, Feed, Feeds, Instrument, LiquidationFeed, OhlcBar, OptionFeed, OptionSummary, OutcomeToken,
    Position, PositionCounts, PositionTable, PredictionEvent, PredictionFeed, PredictionFigures, PredictionState,
    PriceLevel, RawData, RawDataSet, Source, SourceError, Stop, SummaryKind, Supply, SupplyFeed, SupplyRow, Ticker,
    TickerFeed, TickerField, Token, Trade, TradeFeed,
};
pub use sources::demo::Demo;
pub use sources::ingest::{Ingest, ingest};
pub use stream::{StreamEvent, Subscription};
