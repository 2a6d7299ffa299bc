//! What a store tells the market, from its files.

use std::sync::Arc;

use super::books;
use super::layout::Dataset;
use super::minutes::near;
use super::tickers;
use super::trades::{LIQUIDATIONS, TRADES};
use super::{Store, in_order};
use crate::clock::SECOND;
use crate::market::analytics::PositionTable;
use crate::market::derivatives::{Gauge, GaugeBar, Ticker};
use crate::market::feed::Feed;
use crate::market::source::{Bar, Book, Listing, Source, SourceError, Trade};
use crate::market::summaries::{OptionSummary, PredictionState, PredictionTold, Supply, Token};
use crate::protocol::DataType;
use crate::protocol::exchange::funding_seconds;

impl Source for Store {
    fn listings(&self) -> &[Listing] {
        &self.listings
    }

    fn bars(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        self.visit_bars(Feed::Trades, TRADES, market, (from, to), now, visit)
    }

    fn bar_before(&self, market: usize, before: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        let bar = self.minutes(Feed::Trades, TRADES, market, now, |minutes| minutes.before(before, now))?;
        Ok(bar.map(self.valued(market)))
    }

    fn trades(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        self.visit_events(Feed::Trades, TRADES, market, (from, to), now, visit)
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        let tick = self.ticks.get(market, || Ok::<_, SourceError>(self.decimals(market).tick()))?;
        Ok(*tick)
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<i64>, SourceError> {
        let Some(feed) = Feed::of(data_type) else { return Ok(None) };
        let first = self.firsts.get((market, data_type), || {
            let days = &self.days[market][feed as usize];
            for (place, &day) in days.iter().enumerate() {
                let Some(first) = self.first_of(market, data_type, day)? else { continue };
                // A file may reach into the day before its own.
                let next = days.get(place + 1).filter(|next| **next == day + 1);
                let other = next.map(|&next| self.first_of(market, data_type, next)).transpose()?.flatten();
                return Ok(Some(other.map_or(first, |other| other.min(first))));
            }
            Ok::<_, SourceError>(None)
        })?;
        Ok(*first)
    }

    fn highest(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<f64>, SourceError> {
        let mut highest: Option<f64> = None;
        let mut count = |high: f64| highest = highest.into_iter().chain([high]).reduce(f64::max);
        for &day in near(&self.days[market][Feed::Trades as usize], from, to) {
            let Some(peak) = *self.peak(market, day)? else { continue };
            if from <= peak.minutes.0 && peak.minutes.1 < to && peak.last <= now {
                count(peak.high);
                continue;
            }
            let (first, last) = (from.max(peak.minutes.0), to.min(peak.minutes.1.saturating_add(60)));
            if first < last {
                self.bars(market, first, last, now, &mut |bar| count(bar.high))?;
            }
        }
        Ok(highest)
    }

    fn last_book(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Book>, SourceError> {
        for &day in near(&self.days[market][Feed::Books as usize], from, to).iter().rev() {
            let read = || books::read(&self.file(Dataset::Books, market, day));
            let books = self.books.get((market, day), read)?;
            let events = || {
                let read = || books::read_events(&self.file(Dataset::BookEvents, market, day));
                self.book_events.get((market, day), read)
            };
            if let Some(book) = books.last(from, to, now, events)? {
                return Ok(Some(book));
            }
        }
        Ok(None)
    }

    fn liquidation_bars(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        self.visit_bars(Feed::Liquidations, LIQUIDATIONS, market, (from, to), now, visit)
    }

    fn liquidations(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        self.visit_events(Feed::Liquidations, LIQUIDATIONS, market, (from, to), now, visit)
    }

    fn gauge_bars(
        &self,
        market: usize,
        gauge: Gauge,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&GaugeBar),
    ) -> Result<(), SourceError> {
        self.gauges(gauge, market, now, |minutes| minutes.visit(from, to, now, visit))
    }

    fn gauge_before(
        &self,
        market: usize,
        gauge: Gauge,
        before: i64,
        now: i64,
    ) -> Result<Option<GaugeBar>, SourceError> {
        self.gauges(gauge, market, now, |minutes| minutes.before(before, now))
    }

    fn readings(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        let read = |day: i64| {
            self.tickers.get((market, day), || tickers::read_readings(&self.file(Dataset::Tickers, market, day)))
        };
        // A file tells both or one of them.
        let [rates, interest] = [Feed::FundingRates, Feed::OpenInterest].map(|feed| &self.days[market][feed as usize]);
        let days = if rates.is_empty() { interest } else { rates };
        in_order(days, (from, to, now), &read, |reading| reading.time, visit)
    }

    fn funding_seconds(&self, market: usize) -> i64 {
        funding_seconds(&self.listings[market].exchange)
    }

    fn option_summaries(&self) -> &[OptionSummary] {
        self.options.summaries()
    }

    fn option_summary(&self, summary: usize, from: i64, at: i64) -> Result<Option<f64>, SourceError> {
        self.options.last(summary, from, at)
    }

    fn tokens(&self) -> &[Token] {
        self.supplies.tokens()
    }

    fn supply(
        &self,
        token: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        self.supplies.visit(token, from, to, now.div_euclid(SECOND), visit);
        Ok(())
    }

    fn positions(&self, _now: i64) -> Option<Arc<PositionTable>> {
        self.predictions.as_ref().map(|predictions| Arc::clone(predictions.table()))
    }

    fn prediction(&self, event: usize, at: i64) -> Option<PredictionState> {
        self.predictions.as_ref()?.state(event, at)
    }

    fn prediction_told(&self, event: usize, at: i64) -> Option<&PredictionTold> {
        self.predictions.as_ref()?.told(event, at)
    }
}
