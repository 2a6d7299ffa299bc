//! The engine behind the service: raw events → candles, liquidations, funding rates, open interest and book heatmaps;
//! its sources (demo, store); transforms. No HTTP.

mod analytics;
mod availability;
mod block_size;
mod cache;
mod candles;
mod demo;
mod derivatives;
mod discovery;
mod engine;
mod error;
mod feed;
mod heatmap;
mod ingest;
mod listing;
mod names;
mod profiles;
mod short;
mod source;
mod stop;
mod store;
mod stream;
mod summaries;
#[cfg(test)]
mod tests;
mod usd;
mod watched;
mod window;

pub use analytics::{Counts, Outcome, Position, PositionTable, PredictionEvent};
pub use demo::Demo;
pub use derivatives::{Gauge, GaugeBar, Ticker};
pub use engine::Market;
pub use error::MarketError;
pub use feed::{Feed, Feeds};
pub use ingest::{Ingest, IngestReport, Problem, ingest};
pub use source::{Bar, Book, Level, Listing, Source, SourceError, Trade};
pub use stop::Stop;
pub use stream::{StreamEvent, Subscription};
pub use summaries::{OptionSummary, PredictionState, PredictionTold, SummaryKind, Supply, SupplyRow, Token};
pub use watched::Moment;
