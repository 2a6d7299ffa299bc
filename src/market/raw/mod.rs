//! Raw data: types, feeds, markets, and the trait `Source` that the demo and the store implement.

mod book;
mod cancel_flag;
mod feeds;
mod listing;
mod options;
mod positions;
mod predictions;
mod raw_data;
mod source;
mod supply;
mod ticker;
mod trade;

pub use crate::protocol::RawData;
pub use book::{Book, BookFeed, PriceLevel};
pub use cancel_flag::CancelFlag;
pub use feeds::{Feed, Feeds, SourceError};
pub use listing::Instrument;
pub use options::{OptionFeed, OptionSummary, SummaryKind};
pub use positions::{OutcomeToken, Position, PositionCounts, PositionTable, PredictionEvent};
pub(super) use predictions::PREDICTION_VENUE;
pub use predictions::{PredictionFeed, PredictionFigures, PredictionState};
pub use raw_data::RawDataSet;
pub(super) use source::CancellableSource;
pub use source::Source;
pub(super) use supply::coin_name;
pub use supply::{Supply, SupplyFeed, SupplyRow, Token};
pub(super) use ticker::minute_bars;
pub use ticker::{OhlcBar, Ticker, TickerFeed, TickerField};
pub(super) use trade::join;
pub use trade::{Bar, LiquidationFeed, Trade, TradeFeed};
