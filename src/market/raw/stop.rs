//! Work that ends early: long visits of a source are cut into pieces, between which somebody may say that nobody waits for
//! the answer any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::book::Book;
use super::listing::Instrument;
use super::options::OptionSummary;
use super::positions::PositionTable;
use super::predictions::{PredictionFigures, PredictionState};
use super::source::{Source, SourceError};
use super::supply::{Supply, Token};
use super::ticker::{OhlcBar, Ticker, TickerField};
use super::trade::{Bar, Trade};
use crate::clock::{SECONDS_PER_DAY, UnixNanos, UnixSecond, Window};
use crate::protocol::DataType;

/// Seconds of a piece: a day, as stores keep their files.
const PIECE: i64 = SECONDS_PER_DAY;

/// Says to work under way that nobody waits for it any more. Clones say it to the same work.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Says it.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was said.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<(), SourceError> {
        if self.is_set() { Err(SourceError("nobody waits for the answer any more".to_owned())) } else { Ok(()) }
    }
}

/// A window in pieces of at most a day, in order.
pub(in crate::market) fn pieces(window: Window) -> impl Iterator<Item = Window> {
    let from =
        move |from: i64| Window { from, to: (from.div_euclid(PIECE) * PIECE).saturating_add(PIECE).min(window.to) };
    let first = (!window.is_empty()).then(|| from(window.from));
    std::iter::successors(first, move |piece| (piece.to < window.to).then(|| from(piece.to)))
}

/// A source that fails as soon as its stop is set: between two calls, and within those that visit much.
pub(in crate::market) struct Stoppable<'a> {
    source: HeldStop<'a>,
    stop: Stop,
}

enum HeldStop<'a> {
    Borrowed(&'a dyn Source),
    Shared(Arc<dyn Source>),
}

impl Stoppable<'static> {
    pub(in crate::market) fn shared(source: &Arc<dyn Source>, stop: &Stop) -> Self {
        Self { source: HeldStop::Shared(Arc::clone(source)), stop: stop.clone() }
    }
}

impl<'a> Stoppable<'a> {
    pub(in crate::market) fn of(source: &'a dyn Source, stop: &Stop) -> Self {
        Self { source: HeldStop::Borrowed(source), stop: stop.clone() }
    }

    fn all(&self) -> &dyn Source {
        match &self.source {
            HeldStop::Borrowed(source) => *source,
            HeldStop::Shared(source) => source.as_ref(),
        }
    }

    fn each(
        &self,
        window: Window,
        mut visit: impl FnMut(&dyn Source, Window) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        for piece in pieces(window) {
            self.stop.check()?;
            visit(self.all(), piece)?;
        }
        Ok(())
    }

    fn source(&self) -> Result<&dyn Source, SourceError> {
        self.stop.check()?;
        Ok(self.all())
    }
}

impl Source for Stoppable<'_> {
    fn instruments(&self) -> &[Instrument] {
        self.all().instruments()
    }

    fn bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        self.each(window, |source, window| source.bars(market, window, now, visit))
    }

    fn span(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        // Whole: sums of parts may differ in the last digit.
        self.source()?.span(market, window, now)
    }

    fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        self.source()?.bar_before(market, before, now)
    }

    fn trades(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        self.each(window, |source, window| source.trades(market, window, now, visit))
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        self.source()?.tick(market)
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        self.source()?.first_event(market, data_type)
    }

    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        self.source()?.highest(market, window, now)
    }

    fn icon_url(&self, market: usize) -> String {
        self.all().icon_url(market)
    }

    fn last_book(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Book>, SourceError> {
        self.source()?.last_book(market, window, now)
    }

    fn liquidation_bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        self.each(window, |source, window| source.liquidation_bars(market, window, now, visit))
    }

    fn liquidations(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        self.each(window, |source, window| source.liquidations(market, window, now, visit))
    }

    fn ticker_bars(
        &self,
        market: usize,
        field: TickerField,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&OhlcBar),
    ) -> Result<(), SourceError> {
        self.each(window, |source, window| source.ticker_bars(market, field, window, now, visit))
    }

    fn ticker_before(
        &self,
        market: usize,
        field: TickerField,
        before: UnixSecond,
        now: UnixNanos,
    ) -> Result<Option<OhlcBar>, SourceError> {
        self.source()?.ticker_before(market, field, before, now)
    }

    fn readings(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        self.each(window, |source, window| source.readings(market, window, now, visit))
    }

    fn option_summaries(&self) -> &[OptionSummary] {
        self.all().option_summaries()
    }

    fn option_summary(&self, summary: usize, from: UnixSecond, at: UnixSecond) -> Result<Option<f64>, SourceError> {
        self.source()?.option_summary(summary, from, at)
    }

    fn tokens(&self) -> &[Token] {
        self.all().tokens()
    }

    fn supply(
        &self,
        token: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        self.source()?.supply(token, window, now, visit)
    }

    fn positions(&self, now: UnixNanos) -> Option<Arc<PositionTable>> {
        self.all().positions(now)
    }

    fn prediction(&self, event: usize, at: UnixSecond) -> Option<PredictionState> {
        self.all().prediction(event, at)
    }

    fn prediction_volume(&self, event: usize, at: UnixSecond) -> Option<f64> {
        self.all().prediction_volume(event, at)
    }

    fn prediction_figures(&self, event: usize, at: UnixSecond) -> Option<&PredictionFigures> {
        self.all().prediction_figures(event, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;
    use crate::market::sources::demo::Demo;

    #[test]
    fn pieces_end_with_the_days_and_make_up_the_whole() {
        let parts = |from, to| pieces(Window { from, to }).map(|piece| (piece.from, piece.to)).collect::<Vec<_>>();
        assert_eq!(parts(5, 10), [(5, 10)]);
        assert_eq!(parts(86_390, 172_801), [(86_390, 86_400), (86_400, 172_800), (172_800, 172_801)]);
        assert_eq!(parts(-1, 1), [(-1, 0), (0, 1)]);
        assert!(parts(7, 7).is_empty() && parts(8, 7).is_empty());
        assert_eq!(parts(i64::MAX - 1, i64::MAX), [(i64::MAX - 1, i64::MAX)]);
    }

    #[test]
    fn a_visit_ends_soon_after_the_stop_is_set_and_is_whole_without() {
        let (now, year) = (1_776_880_800, 365 * 86_400);
        let demo = Demo::new(0);
        let (plain, stop): (&dyn Source, _) = (&demo, Stop::default());
        let source = Stoppable::of(plain, &stop);
        let starts_of = |source: &dyn Source| {
            let mut starts = Vec::new();
            source
                .bars(0, Window { from: now - 200_000, to: now }, UnixNanos(now * SECOND), &mut |bar| starts.push(*bar))
                .unwrap();
            starts
        };
        let whole = starts_of(plain);
        assert!(whole.len() > 3_000);
        assert_eq!(starts_of(&source), whole);
        let mut visited = 0;
        let ended = source.trades(0, Window { from: now - 11 * year, to: now }, UnixNanos(now * SECOND), &mut |_| {
            visited += 1;
            stop.set();
        });
        assert!(ended.is_err() && (1..100_000).contains(&visited), "{visited}");
        assert!(source.span(0, Window { from: now - 60, to: now }, UnixNanos(now * SECOND)).is_err());
    }
}
