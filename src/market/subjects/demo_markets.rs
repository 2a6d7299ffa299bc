//! The demo's markets: first the markets of coins, then the prediction markets, each with its own list of trades. Raw data of
//! both kinds is served here; raw data of coins only, and data of no market, by feeds in the folders of their subjects.

use std::sync::Arc;

use super::books;
use super::funding::demo::CoinTickers;
use super::liquidations::demo::{CoinLiquidations, LIQUIDATIONS};
use super::predictions::demo::odds;
use super::predictions::demo::tape::Tape;
use super::predictions::demo::venue::DemoPredictionVenue;
use super::trades::demo::{CoinTrades, TRADES};
use crate::clock::{UnixMinute, UnixNanos, UnixSecond, Window};
use crate::market::cache::Cache;
use crate::market::demo::clock::{BEGIN, END, minutes};
use crate::market::demo::coins::Coins;
use crate::market::raw::{
    Bar, Book, BookFeed, Instrument, LiquidationFeed, OhlcBar, RawData, SourceError, Ticker, TickerFeed, TickerField,
    Trade, TradeFeed, join,
};
use crate::protocol::DataType;

/// Hours' bars kept: two days of every market are about 1 MB.
const KEPT_HOURS: usize = 20_000;
const HOUR: i64 = 3_600;

/// The demo's markets.
pub(in crate::market) struct DemoMarkets {
    pub(in crate::market) instruments: Vec<Instrument>,
    pub(in crate::market) coins: Arc<Coins>,
    trades: Arc<CoinTrades>,
    liquidations: CoinLiquidations,
    tickers: CoinTickers,
    /// The prediction markets, whose places come after those of the coins' markets.
    pub(in crate::market) venue: Arc<DemoPredictionVenue>,
    /// Bars of closed hours by (market, start).
    hours: Cache<(usize, UnixSecond), Option<Bar>>,
}

impl DemoMarkets {
    /// The markets of a seed.
    pub(in crate::market) fn new(seed: u64) -> Self {
        let coins = Arc::new(Coins::new(seed));
        let trades = Arc::new(CoinTrades::new(Arc::clone(&coins)));
        let venue = Arc::new(DemoPredictionVenue::new(seed, Arc::clone(&trades)));
        Self {
            instruments: coins.instruments.iter().cloned().chain(venue.instruments()).collect(),
            liquidations: CoinLiquidations::new(Arc::clone(&coins)),
            tickers: CoinTickers::new(Arc::clone(&coins)),
            coins,
            trades,
            venue,
            hours: Cache::new(KEPT_HOURS),
        }
    }

    /// The place among the venue's events of a market that is one of the prediction markets.
    pub(in crate::market) fn event(&self, market: usize) -> Option<usize> {
        market.checked_sub(self.coins.instruments.len()).filter(|_| market < self.instruments.len())
    }

    /// The tape of a market, if it is one of the prediction markets.
    fn tape(&self, market: usize) -> Option<&Tape> {
        self.event(market).map(|event| self.venue.tape(event))
    }

    /// The first event of a market's raw data for a data type. Kinds of raw data that are not named here start with the market.
    pub(in crate::market) fn first_event(&self, market: usize, data_type: DataType) -> Option<UnixNanos> {
        let instrument = &self.instruments[market];
        if !instrument.raw_data.serve(data_type) {
            return None;
        }
        let begin = Some(instrument.available_since.nanos());
        if self.event(market).is_some() {
            return begin;
        }
        match data_type.spec().made_of {
            Some(RawData::Trades | RawData::Books) => self.trades.first(market),
            Some(RawData::Liquidations) => self.liquidations.first(market),
            _ => begin,
        }
    }
}

impl TradeFeed for DemoMarkets {
    fn bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        match self.tape(market) {
            Some(tape) => tape.bars(window, now, visit),
            None => self.coins.bars(TRADES, market, window, now, visit),
        }
        Ok(())
    }

    fn span(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        let mut all: Option<Bar> = None;
        let mut at = window.start().max(BEGIN);
        let end = window.end().min(now.second().plus(1)).min(END);
        while at < end {
            let next = UnixSecond(at.0.div_euclid(HOUR) * HOUR + HOUR).min(end);
            let hour = Window::between(at, next);
            let part = |window: Window| -> Result<Option<Bar>, SourceError> {
                let mut part: Option<Bar> = None;
                self.bars(market, window, now, &mut |bar| join(&mut part, bar))?;
                Ok(part)
            };
            // Listings need the same hours repeatedly, and closed hours do not change.
            let closed = next.since(at) == HOUR && next.nanos() <= now;
            let hour = if closed { *self.hours.get((market, at), || part(hour))? } else { part(hour)? };
            if let Some(hour) = hour {
                join(&mut all, &hour);
            }
            at = next;
        }
        Ok(all)
    }

    fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        Ok(match self.tape(market) {
            Some(tape) => tape.bar_before(before, now),
            None => self.trades.bar_before(market, before, now),
        })
    }

    fn trades(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        match self.tape(market) {
            Some(tape) => tape.trades(window, now, visit),
            None => self.coins.events(TRADES, market, window, now, visit),
        }
        Ok(())
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        Ok(if self.event(market).is_some() { odds::TICK } else { self.trades.tick(market) })
    }

    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        let Some(tape) = self.tape(market) else {
            return Ok(self.trades.highest(market, None, window, now));
        };
        let mut highest: Option<f64> = None;
        tape.bars(window, now, &mut |bar| highest = highest.into_iter().chain([bar.high]).reduce(f64::max));
        Ok(highest)
    }
}

impl BookFeed for DemoMarkets {
    fn last_book(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Book>, SourceError> {
        let minutes = minutes(window, now);
        if let Some(tape) = self.tape(market) {
            return Ok(minutes.rev().find_map(|minute| tape.book(UnixMinute(minute), now)));
        }
        let traded = |minute| Some((UnixMinute(minute), self.trades.bar(market, UnixMinute(minute), now)?.close));
        let last = minutes.rev().take(2).find_map(traded);
        Ok(last.map(|(minute, close)| books::demo::around(&self.coins.traits[market], minute, close)))
    }
}

impl LiquidationFeed for DemoMarkets {
    fn liquidation_bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        if self.instruments[market].raw_data.has(RawData::Liquidations) {
            self.coins.bars(LIQUIDATIONS, market, window, now, visit);
        }
        Ok(())
    }

    fn liquidations(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        if self.instruments[market].raw_data.has(RawData::Liquidations) {
            self.coins.events(LIQUIDATIONS, market, window, now, visit);
        }
        Ok(())
    }
}

impl TickerFeed for DemoMarkets {
    fn ticker_bars(
        &self,
        market: usize,
        field: TickerField,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&OhlcBar),
    ) -> Result<(), SourceError> {
        match self.tape(market) {
            Some(tape) => tape.ticker_bars(field, window, now, visit),
            None if self.instruments[market].raw_data.has(RawData::OpenInterest) => {
                self.tickers.bars(market, field, window, now, visit);
            }
            None => {}
        }
        Ok(())
    }

    fn ticker_before(
        &self,
        market: usize,
        field: TickerField,
        before: UnixSecond,
        now: UnixNanos,
    ) -> Result<Option<OhlcBar>, SourceError> {
        Ok(match self.tape(market) {
            Some(tape) => tape.ticker_before(field, before, now),
            None if self.instruments[market].raw_data.has(RawData::OpenInterest) => {
                self.tickers.bar_before(market, field, before, now)
            }
            None => None,
        })
    }

    fn readings(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        match self.tape(market) {
            Some(tape) => tape.readings(window, now, visit),
            None if self.instruments[market].raw_data.has(RawData::FundingRates) => {
                self.tickers.readings(market, window, now, visit);
            }
            None => {}
        }
        Ok(())
    }
}
