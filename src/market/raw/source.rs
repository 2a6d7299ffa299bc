//! What the engine asks of a source of market data: the demo and the store both answer it.

use std::sync::Arc;

use super::book::Book;
use super::listing::Instrument;
use super::options::OptionSummary;
use super::positions::PositionTable;
use super::predictions::{PredictionFigures, PredictionState};
use super::supply::{Supply, Token};
use super::ticker::{OhlcBar, Ticker, TickerField};
use super::trade::{Bar, Trade, join};
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::protocol::DataType;

/// A source that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

impl SourceError {
    /// The source has no such data, and was asked for it.
    pub(super) fn lacks(what: &str) -> Self {
        Self(format!("this source has no {what}"))
    }
}

/// Market data by market and time. Nothing after `now` is ever told.
pub trait Source: Send + Sync {
    /// The markets; a market is named by its place in this list.
    fn instruments(&self) -> &[Instrument];

    /// Visits the minute bars with a start in a window in time order. The minute that holds `now`
    /// has only the trades up to then.
    fn bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError>;

    /// All of what [`Source::bars`] tells in one bar; `None` where it tells nothing.
    fn span(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        let mut whole: Option<Bar> = None;
        self.bars(market, window, now, &mut |bar| join(&mut whole, bar))?;
        Ok(whole)
    }

    /// The last minute bar that starts before `before`.
    fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Result<Option<Bar>, SourceError>;

    /// Visits the trades with a time in a window, none after `now`, by time and then by file order.
    fn trades(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError>;

    /// The price step of a market, in quote: every price of its trades and its book is a multiple of it. A property of the
    /// market, the same at all times; 1 for a market with neither.
    fn tick(&self, market: usize) -> Result<f64, SourceError>;

    /// The moment of the first event that a data type of this market is made of; `None` where there is none at all.
    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        let instrument = &self.instruments()[market];
        Ok(instrument.raw_data.serve(data_type).then(|| instrument.available_since.nanos()))
    }

    /// The highest price of the minutes with a start in a window, as of `now`: the most of what [`Source::bars`] tells.
    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        let mut highest: Option<f64> = None;
        self.bars(market, window, now, &mut |bar| highest = highest.into_iter().chain([bar.high]).reduce(f64::max))?;
        Ok(highest)
    }

    /// Address of a picture of a market's coin, or of the question; empty where the source knows none.
    fn icon_url(&self, market: usize) -> String;

    /// The last book state of those minutes of a window that had a book event, as of `now`.
    fn last_book(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Book>, SourceError>;

    /// As [`Source::bars`], of the market's liquidations: `buy` is what forced buy orders took, the liquidated shorts;
    /// `sell` what forced sell orders took, the liquidated longs.
    fn liquidation_bars(
        &self,
        _market: usize,
        _window: Window,
        _now: UnixNanos,
        _visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        Err(SourceError::lacks("liquidations"))
    }

    /// As [`Source::trades`], of the market's liquidations, each with the side of the forced order.
    fn liquidations(
        &self,
        _market: usize,
        _window: Window,
        _now: UnixNanos,
        _visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        Err(SourceError::lacks("liquidations"))
    }

    /// As [`Source::bars`], of the readings of a field.
    fn ticker_bars(
        &self,
        _market: usize,
        _gauge: TickerField,
        _window: Window,
        _now: UnixNanos,
        _visit: &mut dyn FnMut(&OhlcBar),
    ) -> Result<(), SourceError> {
        Err(SourceError::lacks("derivative ticker"))
    }

    /// The last minute bar of a field that starts before `before`.
    fn ticker_before(
        &self,
        _market: usize,
        _gauge: TickerField,
        _before: UnixSecond,
        _now: UnixNanos,
    ) -> Result<Option<OhlcBar>, SourceError> {
        Err(SourceError::lacks("derivative ticker"))
    }

    /// As [`Source::trades`], of the readings of the market's fields.
    fn readings(
        &self,
        _market: usize,
        _window: Window,
        _now: UnixNanos,
        _visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        Err(SourceError::lacks("derivative ticker"))
    }

    /// The option summaries; one is named by its place in this list.
    fn option_summaries(&self) -> &[OptionSummary];

    /// The last reading of an option summary on a whole minute in `[from, at]`, percentage points; it looks
    /// at nothing later. `None` where there is none.
    fn option_summary(&self, _summary: usize, _from: UnixSecond, _at: UnixSecond) -> Result<Option<f64>, SourceError> {
        Err(SourceError::lacks("option summaries"))
    }

    /// The tokens whose supply is known; one is named by its place in this list.
    fn tokens(&self) -> &[Token];

    /// Visits the latest supply snapshot before a window and those with a time in it, in time order, none after `now`.
    fn supply(
        &self,
        _token: usize,
        _window: Window,
        _now: UnixNanos,
        _visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        Err(SourceError::lacks("token supply"))
    }

    /// The positions on the prediction venue as of `now`, where the source knows when they were taken;
    /// `None` for a source without any.
    fn positions(&self, now: UnixNanos) -> Option<Arc<PositionTable>>;

    /// The state at a second of the prediction market with this place among the positions' events; `None` before its
    /// opening.
    fn prediction(&self, event: usize, at: UnixSecond) -> Option<PredictionState>;

    /// Tokens that the market of [`Source::prediction`] traded up to a second; `None` where only the positions tell.
    fn prediction_volume(&self, event: usize, at: UnixSecond) -> Option<f64>;

    /// What the source was told of a prediction market beside its state, as of a second; `None` for a source that
    /// computes it from the positions.
    fn prediction_figures(&self, event: usize, at: UnixSecond) -> Option<&PredictionFigures>;
}
