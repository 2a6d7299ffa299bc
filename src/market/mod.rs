//! The engine behind the service: raw events → series, by subject; its sources (demo, store); discovery and streams. No HTTP.

mod cache;
mod engine;
mod inline;
mod moment;
mod types;

mod archived;
mod demo;
mod ingest;
mod instruments;
mod query;
mod raw;
mod store;

mod books;
mod funding;
mod liquidations;
mod options;
mod predictions;
mod profiles;
mod supply;
mod trades;

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
    Bar, Book, Instrument, OhlcBar, OptionSummary, OutcomeToken, Position, PositionCounts, PositionTable,
    PredictionEvent, PredictionFigures, PredictionState, PriceLevel, RawData, RawDataSet, Source, SourceError, Stop,
    SummaryKind, Supply, SupplyRow, Ticker, TickerField, Token, Trade,
};
pub use sources::demo::Demo;
pub use sources::ingest::{Ingest, ingest};
pub use stream::{StreamEvent, Subscription};
