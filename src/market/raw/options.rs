//! Option summaries.

use super::feeds::{Feed, SourceError};
use crate::clock::UnixSecond;
use crate::protocol::DataType;

/// Kind of an option summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SummaryKind {
    /// 25-delta skew.
    Skew,
    /// Implied volatility at the money.
    ImpliedVolatility,
}

impl SummaryKind {
    /// The data type of section 2.3 that has it.
    pub const fn data_type(self) -> DataType {
        match self {
            Self::Skew => DataType::SkewOptionSummaryAgg,
            Self::ImpliedVolatility => DataType::ImpliedVolatilityOptionSummaryAgg,
        }
    }

    /// The column of the value.
    pub(in crate::market) const fn column(self) -> &'static str {
        match self {
            Self::Skew => "skew",
            Self::ImpliedVolatility => "implied_volatility",
        }
    }
}

/// One option summary of a source: a number for every minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionSummary {
    /// Exchange identifier.
    pub exchange: String,
    /// Summary symbol, such as `BTC_25` or `BTC_ATM`.
    pub raw_symbol: String,
    /// Underlying asset.
    pub coin: String,
    /// Full name of the underlying asset.
    pub coin_name: String,
    /// Tenor, such as `ONE_M`.
    pub tenor: String,
    /// Its kind.
    pub kind: SummaryKind,
    /// From when on there is data.
    pub available_since: UnixSecond,
}

/// Option summaries.
pub trait OptionFeed: Send + Sync {
    /// The option summaries; one is named by its place in this list.
    fn option_summaries(&self) -> &[OptionSummary];

    /// The last reading of an option summary on a whole minute in `[from, at]`, percentage points; it looks
    /// at nothing later. `None` where there is none.
    fn option_summary(&self, summary: usize, from: UnixSecond, at: UnixSecond) -> Result<Option<f64>, SourceError>;
}

impl Feed for dyn OptionFeed {
    const NAME: &'static str = "option summaries";
}
