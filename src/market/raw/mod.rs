//! What a source of market data tells: the types of its raw data by subject, and the trait that the demo and the store
//! implement.

mod book;
mod listing;
mod options;
mod positions;
mod predictions;
mod raw_data;
mod source;
mod stop;
mod supply;
mod ticker;
mod trade;

pub use crate::protocol::RawData;
pub use book::{Book, PriceLevel};
pub use listing::Instrument;
pub use options::{OptionSummary, SummaryKind};
pub use positions::{OutcomeToken, Position, PositionCounts, PositionTable, PredictionEvent};
pub(super) use predictions::PREDICTION_VENUE;
pub use predictions::{PredictionFigures, PredictionState};
pub use raw_data::RawDataSet;
pub use source::{Source, SourceError};
pub use stop::Stop;
pub(super) use stop::Stoppable;
pub use supply::{Supply, SupplyRow, Token};
pub(super) use ticker::minute_bars;
pub use ticker::{OhlcBar, Ticker, TickerField};
pub(super) use trade::join;
pub use trade::{Bar, Trade};
