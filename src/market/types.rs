//! How each data type is checked and answered.

use super::books::heatmap;
use super::query::context::QueryContext;
use super::query::error::MarketError;
use super::{funding, liquidations, options, profiles, supply, trades};
use crate::columns::Series;
use crate::protocol::{DataType, ParamError};

/// What one type does with a query that keeps the rules of its row in [`crate::protocol::DATA_TYPES`].
pub(super) struct TypeAnswer {
    /// What else the query must keep. Reads no data, and may be asked before the markets are looked up.
    pub(super) check: fn(&QueryContext<'_>) -> Result<(), ParamError>,
    /// The series of the query, ascending. A market without data in the window may give an empty one.
    pub(super) answer: fn(&QueryContext<'_>) -> Result<Vec<Series>, MarketError>,
}

/// The answer of a type whose rules are all in its row.
const fn plain(answer: fn(&QueryContext<'_>) -> Result<Vec<Series>, MarketError>) -> TypeAnswer {
    TypeAnswer { check: |_| Ok(()), answer }
}

impl TypeAnswer {
    /// That of a data type.
    pub(super) const fn of(data_type: DataType) -> Self {
        match data_type {
            DataType::TradeSideAgnosticAgg => plain(trades::candles::of_both_sides),
            DataType::TradeAgg => plain(trades::candles::by_side),
            DataType::LiquidationAgg => plain(liquidations::sums::answer),
            DataType::FundingRateAgg => plain(funding::funding_rate::answer),
            DataType::OpenInterestAgg => plain(funding::open_interest::answer),
            DataType::BlockBookSnapshotAgg => plain(heatmap::answer),
            DataType::VolumeProfileAgg => plain(profiles::volume::answer),
            DataType::TpoAgg => Self { check: profiles::tpo::check, answer: profiles::tpo::answer },
            DataType::VenueLiquidationAgg => plain(liquidations::heatmap::answer),
            DataType::SkewOptionSummaryAgg | DataType::ImpliedVolatilityOptionSummaryAgg => {
                Self { check: options::answer::check, answer: options::answer::answer }
            }
            DataType::TokenSupplyAgg => plain(supply::answer::answer),
        }
    }
}
