//! The trait of a source of market data: its markets and its feeds. The demo and the store implement it.

use std::sync::Arc;

use super::cancel_flag::{CancelFlag, pieces};
use super::feeds::{Feed, Feeds, SourceError};
use super::listing::Instrument;
use crate::clock::{UnixNanos, Window};
use crate::protocol::DataType;

/// Market data by market and time.
pub trait Source: Send + Sync {
    /// The markets; a market is named by its place in this list.
    fn instruments(&self) -> &[Instrument];

    /// The feeds of the source.
    fn feeds(&self) -> &Feeds;

    /// The first event of the raw data of a data type; `None` if there is none.
    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        let instrument = &self.instruments()[market];
        Ok(instrument.raw_data.serve(data_type).then(|| instrument.available_since.nanos()))
    }

    /// Address of a picture of a market's coin, or of the question; empty if the source knows none.
    fn icon_url(&self, market: usize) -> String;

    /// Flags that cancel the work on an answer.
    fn cancel_flags(&self) -> &[CancelFlag] {
        &[]
    }
}

impl dyn Source + '_ {
    /// The feed of a trait, for one call.
    ///
    /// # Errors
    /// The source has no such data, or the work is cancelled.
    pub fn of<F: Feed + ?Sized>(&self) -> Result<&F, SourceError> {
        self.cancel_flags().iter().try_for_each(CancelFlag::check)?;
        self.feeds().of::<F>()
    }

    /// The feed of a trait, for a visit of a window that may be long: if it can be cancelled, `visit` is called for each day
    /// of the window, in order.
    ///
    /// # Errors
    /// As [`Self::of`], and those of the visit.
    pub fn each<F: Feed + ?Sized>(
        &self,
        window: Window,
        mut visit: impl FnMut(&F, Window) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        if self.cancel_flags().is_empty() {
            return visit(self.of::<F>()?, window);
        }
        pieces(window).try_for_each(|piece| visit(self.of::<F>()?, piece))
    }
}

/// A source whose work fails as soon as a flag is set: between two calls, and between the days of a long visit.
pub(in crate::market) struct CancellableSource<'a> {
    source: SourceHandle<'a>,
    cancel_flags: Vec<CancelFlag>,
}

enum SourceHandle<'a> {
    Borrowed(&'a dyn Source),
    Shared(Arc<dyn Source>),
}

impl CancellableSource<'static> {
    pub(in crate::market) fn shared(source: &Arc<dyn Source>, stop: &CancelFlag) -> Self {
        Self { cancel_flags: with(source.cancel_flags(), stop), source: SourceHandle::Shared(Arc::clone(source)) }
    }
}

impl<'a> CancellableSource<'a> {
    pub(in crate::market) fn of(source: &'a dyn Source, stop: &CancelFlag) -> Self {
        Self { cancel_flags: with(source.cancel_flags(), stop), source: SourceHandle::Borrowed(source) }
    }

    fn source(&self) -> &dyn Source {
        match &self.source {
            SourceHandle::Borrowed(source) => *source,
            SourceHandle::Shared(source) => source.as_ref(),
        }
    }
}

/// The flags of a source, and one more.
fn with(cancel_flags: &[CancelFlag], stop: &CancelFlag) -> Vec<CancelFlag> {
    cancel_flags.iter().chain([stop]).cloned().collect()
}

impl Source for CancellableSource<'_> {
    fn instruments(&self) -> &[Instrument] {
        self.source().instruments()
    }

    fn feeds(&self) -> &Feeds {
        self.source().feeds()
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        self.cancel_flags.iter().try_for_each(CancelFlag::check)?;
        self.source().first_event(market, data_type)
    }

    fn icon_url(&self, market: usize) -> String {
        self.source().icon_url(market)
    }

    fn cancel_flags(&self) -> &[CancelFlag] {
        &self.cancel_flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;
    use crate::market::raw::TradeFeed;
    use crate::market::sources::demo::Demo;

    #[test]
    fn a_visit_ends_soon_after_the_stop_is_set_and_is_complete_without() {
        let (now, year) = (1_776_880_800, 365 * 86_400);
        let demo = Demo::new(0);
        let (plain, stop): (&dyn Source, _) = (&demo, CancelFlag::default());
        let cancellable = CancellableSource::of(plain, &stop);
        let source: &dyn Source = &cancellable;
        let starts_of = |source: &dyn Source| {
            let mut starts = Vec::new();
            let window = Window { from: now - 200_000, to: now };
            let visited = source.each::<dyn TradeFeed>(window, |trades, window| {
                trades.bars(0, window, UnixNanos(now * SECOND), &mut |bar| starts.push(*bar))
            });
            visited.unwrap();
            starts
        };
        let complete = starts_of(plain);
        assert!(complete.len() > 3_000);
        assert_eq!(starts_of(source), complete);
        let mut visited = 0;
        let ended = source.each::<dyn TradeFeed>(Window { from: now - 11 * year, to: now }, |trades, window| {
            trades.trades(0, window, UnixNanos(now * SECOND), &mut |_| {
                visited += 1;
                stop.set();
            })
        });
        assert!(ended.is_err() && (1..100_000).contains(&visited), "{visited}");
        assert!(source.of::<dyn TradeFeed>().is_err() && plain.of::<dyn TradeFeed>().is_ok());
    }
}
