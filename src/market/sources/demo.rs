//! The demo market: deterministic in seed, market and minute, without files.
//!
//! Everything derives from the trades of a minute, which derive from the coin's path: candles are their sum, the book
//! stands around the last of them, liquidations are some of them, open interest moves with their volume. The prediction
//! markets come after the coins' markets in the list; each trades on a tape of its own.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::clock::{UnixMinute, UnixNanos, UnixSecond, Window};
use crate::market::books;
use crate::market::cache::Cache;
use crate::market::demo::clock::minutes;
use crate::market::demo::clock::{BEGIN, END};
use crate::market::demo::coins::Coins;
use crate::market::funding::demo::CoinTickers;
use crate::market::liquidations::demo::{CoinLiquidations, LIQUIDATIONS};
use crate::market::options::demo::DemoOptions;
use crate::market::predictions::demo::odds;
use crate::market::predictions::demo::tape::Tape;
use crate::market::predictions::demo::venue::DemoPredictionVenue;
use crate::market::raw::{
    Bar, Book, Instrument, OhlcBar, OptionSummary, PositionTable, PredictionFigures, PredictionState, RawData, Source,
    SourceError, Supply, Ticker, TickerField, Token, Trade, join,
};
use crate::market::supply::demo::DemoSupply;
use crate::market::trades::demo::{CoinTrades, TRADES};
use crate::protocol::DataType;

/// Hours' bars kept: two days of every market are about 1 MB.
const KEPT_HOURS: usize = 20_000;
const HOUR: i64 = 3_600;

/// The demo market.
pub struct Demo {
    instruments: Vec<Instrument>,
    pub(in crate::market) coins: Arc<Coins>,
    trades: Arc<CoinTrades>,
    liquidations: CoinLiquidations,
    tickers: CoinTickers,
    options: DemoOptions,
    supply: DemoSupply,
    /// The prediction markets, whose places come after those of the coins' markets.
    venue: DemoPredictionVenue,
    /// Bars of closed hours by (market, start).
    hours: Cache<(usize, i64), Option<Bar>>,
}

impl Demo {
    /// The demo market of a seed.
    pub fn new(seed: u64) -> Self {
        let coins = Arc::new(Coins::new(seed));
        let trades = Arc::new(CoinTrades::new(Arc::clone(&coins)));
        let venue = DemoPredictionVenue::new(seed, Arc::clone(&trades));
        Self {
            instruments: coins.instruments.iter().cloned().chain(venue.instruments()).collect(),
            liquidations: CoinLiquidations::new(Arc::clone(&coins)),
            tickers: CoinTickers::new(Arc::clone(&coins)),
            options: DemoOptions::new(&coins.instruments, &coins.traits),
            supply: DemoSupply::new(&coins.instruments, &coins.traits),
            coins,
            trades,
            venue,
            hours: Cache::new(KEPT_HOURS),
        }
    }

    /// The place among the venue's events of a market that is one of the prediction markets.
    fn event(&self, market: usize) -> Option<usize> {
        market.checked_sub(self.coins.instruments.len()).filter(|_| market < self.instruments.len())
    }

    /// The tape of a market, if it is one of the prediction markets.
    fn tape(&self, market: usize) -> Option<&Tape> {
        self.event(market).map(|event| self.venue.tape(event))
    }
}

impl Source for Demo {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

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
        let mut whole: Option<Bar> = None;
        let mut at = window.from.max(BEGIN);
        let end = window.to.min(now.second().0.saturating_add(1)).min(END);
        while at < end {
            let next = (at.div_euclid(HOUR) * HOUR + HOUR).min(end);
            let hour = Window { from: at, to: next };
            let part = |window: Window| -> Result<Option<Bar>, SourceError> {
                let mut part: Option<Bar> = None;
                self.bars(market, window, now, &mut |bar| join(&mut part, bar))?;
                Ok(part)
            };
            // Listings ask for the same hours again and again, and what is closed stays as it is.
            let closed = next - at == HOUR && UnixSecond(next).nanos() <= now;
            let hour = if closed { *self.hours.get((market, at), || part(hour))? } else { part(hour)? };
            if let Some(hour) = hour {
                join(&mut whole, &hour);
            }
            at = next;
        }
        Ok(whole)
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

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        let instrument = &self.instruments[market];
        if !instrument.raw_data.serve(data_type) {
            return Ok(None);
        }
        let begin = Some(instrument.available_since.nanos());
        if self.event(market).is_some() {
            return Ok(begin);
        }
        Ok(match data_type.spec().made_of {
            Some(RawData::Trades | RawData::Books) => self.trades.first(market),
            Some(RawData::Liquidations) => self.liquidations.first(market),
            _ => begin,
        })
    }

    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        let Some(tape) = self.tape(market) else {
            return Ok(self.trades.highest(market, None, window, now));
        };
        let mut highest: Option<f64> = None;
        tape.bars(window, now, &mut |bar| highest = highest.into_iter().chain([bar.high]).reduce(f64::max));
        Ok(highest)
    }

    fn icon_url(&self, market: usize) -> String {
        let icon = |folder: &str, name: &str| format!("https://icons.example/{folder}/{}.svg", name.to_lowercase());
        match self.event(market) {
            Some(event) => icon("predictions", self.venue.category(event)),
            None => icon("coins", &self.instruments[market].coin),
        }
    }

    fn last_book(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Book>, SourceError> {
        let minutes = minutes(window, now);
        if let Some(tape) = self.tape(market) {
            return Ok(minutes.rev().find_map(|minute| tape.book(UnixMinute(minute), now)));
        }
        let traded = |minute| Some((UnixMinute(minute), self.trades.bar(market, UnixMinute(minute), now)?.close));
        let last = minutes.rev().take(2).find_map(traded);
        Ok(last.map(|(minute, close)| books::demo::around(&self.coins.traits[market], minute, close)))
    }

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

    fn option_summaries(&self) -> &[OptionSummary] {
        self.options.summaries()
    }

    fn option_summary(&self, summary: usize, _from: UnixSecond, at: UnixSecond) -> Result<Option<f64>, SourceError> {
        Ok(self.options.value(summary, at))
    }

    fn tokens(&self) -> &[Token] {
        self.supply.tokens()
    }

    fn supply(
        &self,
        token: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        self.supply.visit(token, window, now.second(), visit);
        Ok(())
    }

    fn positions(&self, now: UnixNanos) -> Option<Arc<PositionTable>> {
        Some(self.venue.table(now))
    }

    fn prediction(&self, event: usize, at: UnixSecond) -> Option<PredictionState> {
        self.venue.state(event, at)
    }

    fn prediction_volume(&self, event: usize, at: UnixSecond) -> Option<f64> {
        self.venue.volume(event, at)
    }

    fn prediction_figures(&self, event: usize, _at: UnixSecond) -> Option<&PredictionFigures> {
        self.venue.figures(event)
    }
}
