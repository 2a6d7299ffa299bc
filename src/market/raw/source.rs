//! What the engine asks of a source of market data: its markets, and its feeds. The demo and the store both answer it.

use std::sync::Arc;

use super::feeds::{Feed, Feeds, SourceError};
use super::listing::Instrument;
use super::stop::{Stop, pieces};
use crate::clock::{UnixNanos, Window};
use crate::protocol::DataType;

/// Market data by market and time.
pub trait Source: Send + Sync {
    /// The markets; a market is named by its place in this list.
    fn instruments(&self) -> &[Instrument];

    /// The raw data of the markets, and what else the source has.
    fn feeds(&self) -> &Feeds;

    /// The moment of the first event that a data type of this market is made of; `None` where there is none at all.
    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        let instrument = &self.instruments()[market];
        Ok(instrument.raw_data.serve(data_type).then(|| instrument.available_since.nanos()))
    }

    /// Address of a picture of a market's coin, or of the question; empty where the source knows none.
    fn icon_url(&self, market: usize) -> String;

    /// What ends the work on an answer early; see [`Stop`].
    fn stops(&self) -> &[Stop] {
        &[]
    }
}

impl dyn Source + '_ {
    /// The feed of a trait, for one call.
    ///
    /// # Errors
    /// The source has no such data, or its work is to end.
    pub fn of<F: Feed + ?Sized>(&self) -> Result<&F, SourceError> {
        self.stops().iter().try_for_each(Stop::check)?;
        self.feeds().of::<F>()
    }

    /// The feed of a trait, for a visit of a window that may be long: where the work may be ended early, `visit` is called for
    /// each day of the window, in order.
    ///
    /// # Errors
    /// As [`Self::of`], and those of the visit.
    pub fn each<F: Feed + ?Sized>(
        &self,
        window: Window,
        mut visit: impl FnMut(&F, Window) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        if self.stops().is_empty() {
            return visit(self.of::<F>()?, window);
        }
        pieces(window).try_for_each(|piece| visit(self.of::<F>()?, piece))
    }
}

/// A source whose work fails as soon as a stop is set: between two calls, and between the days of a long visit.
pub(in crate::market) struct Stoppable<'a> {
    source: StoppableSource<'a>,
    stops: Vec<Stop>,
}

enum StoppableSource<'a> {
    Borrowed(&'a dyn Source),
    Shared(Arc<dyn Source>),
}

impl Stoppable<'static> {
    pub(in crate::market) fn shared(source: &Arc<dyn Source>, stop: &Stop) -> Self {
        Self { stops: with(source.stops(), stop), source: StoppableSource::Shared(Arc::clone(source)) }
    }
}

impl<'a> Stoppable<'a> {
    pub(in crate::market) fn of(source: &'a dyn Source, stop: &Stop) -> Self {
        Self { stops: with(source.stops(), stop), source: StoppableSource::Borrowed(source) }
    }

    fn source(&self) -> &dyn Source {
        match &self.source {
            StoppableSource::Borrowed(source) => *source,
            StoppableSource::Shared(source) => source.as_ref(),
        }
    }
}

/// The stops of a source, and one more.
fn with(stops: &[Stop], stop: &Stop) -> Vec<Stop> {
    stops.iter().chain([stop]).cloned().collect()
}

impl Source for Stoppable<'_> {
    fn instruments(&self) -> &[Instrument] {
        self.source().instruments()
    }

    fn feeds(&self) -> &Feeds {
        self.source().feeds()
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        self.stops.iter().try_for_each(Stop::check)?;
        self.source().first_event(market, data_type)
    }

    fn icon_url(&self, market: usize) -> String {
        self.source().icon_url(market)
    }

    fn stops(&self) -> &[Stop] {
        &self.stops
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
        let (plain, stop): (&dyn Source, _) = (&demo, Stop::default());
        let stoppable = Stoppable::of(plain, &stop);
        let source: &dyn Source = &stoppable;
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
