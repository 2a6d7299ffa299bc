//! A store: Parquet files that [`super::ingest::ingest()`] made of raw dumps.
//!
//! `DATASET/exchange=X/symbol=Y/date=D/part.parquet`, one file per dump file: `trades` and `candles_1m` of trades, `book_events`
//! and `book_1m` of books, `liquidations` and `liquidations_1m`, `derivative_ticker` and `derivative_ticker_1m`,
//! `option_summaries_1m` of option chains. The minute aggregates answer for everything but profiles; the events also for
//! the minute that holds `now`. What is not cut by market and day lies in `DATASET/source=FILE/part.parquet`:
//! `token_supply`, `prediction_markets`, `prediction_positions`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::clock::{UnixDay, UnixNanos, UnixSecond, Window};
use crate::market::books::store::StoredBooks;
use crate::market::cache::Cache;
use crate::market::funding::store::{self as tickers, StoredTickers};
use crate::market::options::store::Options;
use crate::market::predictions::store::Predictions;
use crate::market::raw::{
    Bar, Book, Instrument, OhlcBar, OptionSummary, PositionTable, PredictionFigures, PredictionState, RawData, Source,
    SourceError, Supply, Ticker, TickerField, Token, Trade,
};
use crate::market::store::layout::{self, Dataset};
use crate::market::store::partitions::{Days, Partitions};
use crate::market::store::ticks::PriceDecimals;
use crate::market::supply::store::Supplies;
use crate::market::trades::files::{LIQUIDATIONS, TRADES};
use crate::market::trades::store::StoredTrades;
use crate::protocol::DataType;

/// Price steps kept: a number each.
const KEPT_TICKS: usize = 10_000;
/// First events kept: a number each.
const KEPT_FIRSTS: usize = 200_000;

/// An opened store.
pub(in crate::market) struct MarketStore {
    partitions: Arc<Partitions>,
    trades: StoredTrades,
    liquidations: StoredTrades,
    books: StoredBooks,
    tickers: StoredTickers,
    options: Options,
    supplies: Supplies,
    predictions: Option<Predictions>,
    ticks: Cache<usize, f64>,
    firsts: Cache<(usize, DataType), Option<UnixNanos>>,
}

impl MarketStore {
    /// Opens a store.
    pub(in crate::market) fn open(root: &Path) -> Result<Self, SourceError> {
        let mut found: BTreeMap<(String, String), Days> = BTreeMap::new();
        for kind in RawData::ALL {
            for (exchange, symbol, day) in layout::files(root, Dataset::of(kind))? {
                found.entry((exchange, symbol)).or_default()[kind as usize].push(day);
            }
        }
        let supplies = Supplies::open(root)?;
        let options = Options::open(root, |coin| supplies.coin_name(coin))?;
        let predictions = Predictions::open(root)?;
        let others = supplies.last_time().is_some() || options.last_day().is_some() || predictions.is_some();
        if found.is_empty() && !others {
            let problem = format!("{} is no store: nothing was ingested there; run ingest first", root.display());
            return Err(SourceError(problem));
        }
        let mut markets = Vec::new();
        for ((exchange, symbol), mut of) in found {
            for days in &mut of {
                days.sort_unstable();
            }
            for kind in [RawData::FundingRates, RawData::OpenInterest] {
                let file = |day: UnixDay| layout::file(root, Dataset::of(kind), &exchange, &symbol, day);
                // One day is enough, and most often it is the first: a store of years opens at once.
                if !of[kind as usize].iter().any(|day| tickers::holds(&file(*day), kind)) {
                    of[kind as usize].clear();
                }
            }
            let Some(first) = of.iter().flatten().min().copied() else { continue };
            let raw_data = RawData::ALL.into_iter().filter(|kind| !of[*kind as usize].is_empty()).collect();
            markets.push((Instrument::named(exchange, symbol, first.second(), raw_data), of));
        }
        let partitions = Arc::new(Partitions::new(root, markets));
        Ok(Self {
            trades: StoredTrades::new(Arc::clone(&partitions), RawData::Trades, TRADES),
            liquidations: StoredTrades::new(Arc::clone(&partitions), RawData::Liquidations, LIQUIDATIONS),
            books: StoredBooks::new(Arc::clone(&partitions)),
            tickers: StoredTickers::new(Arc::clone(&partitions)),
            partitions,
            options,
            supplies,
            predictions,
            ticks: Cache::new(KEPT_TICKS),
            firsts: Cache::new(KEPT_FIRSTS),
        })
    }

    /// The end of the last day.
    pub(in crate::market) fn last_event(&self) -> Option<UnixNanos> {
        // A folder may be named by any date; nanoseconds end in the year 2262.
        let days = self.partitions.last_day().into_iter().chain(self.options.last_day());
        let others = [self.supplies.last_time(), self.predictions.as_ref().and_then(Predictions::last_time)];
        let days = days.chain(others.into_iter().flatten().map(UnixSecond::day));
        days.max().map(|day| UnixDay(day.0.saturating_add(1)).nanos())
    }

    /// The moment of the first event of a kind in a day's file.
    fn first_of(&self, market: usize, kind: RawData, day: UnixDay) -> Result<Option<UnixNanos>, SourceError> {
        match kind {
            RawData::Trades => self.trades.first_of(market, day),
            RawData::Liquidations => self.liquidations.first_of(market, day),
            RawData::FundingRates | RawData::OpenInterest => self.tickers.first_of(market, kind, day),
            RawData::Books => self.books.first_of(market, day),
        }
    }

    /// Decimals of the finest price of a market, over all its days of trades and books. A file that cannot be read tells
    /// none: who asks for its day is told.
    fn decimals(&self, market: usize) -> PriceDecimals {
        let files = [RawData::Trades, RawData::Books].into_iter().flat_map(|kind| {
            let days = self.partitions.days(market, kind).iter();
            days.map(move |&day| self.partitions.file(Dataset::of(kind), market, day))
        });
        files.filter_map(|file| PriceDecimals::read(&file).ok()).max().unwrap_or_default()
    }
}

impl Source for MarketStore {
    fn instruments(&self) -> &[Instrument] {
        &self.partitions.instruments
    }

    fn bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        self.trades.bars(market, window, now, visit)
    }

    fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        self.trades.bar_before(market, before, now)
    }

    fn trades(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        self.trades.events(market, window, now, visit)
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        let tick = self.ticks.get(market, || Ok::<_, SourceError>(self.decimals(market).tick()))?;
        Ok(*tick)
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        let Some(kind) = data_type.spec().made_of else { return Ok(None) };
        let first = self.firsts.get((market, data_type), || {
            let days = self.partitions.days(market, kind);
            for (place, &day) in days.iter().enumerate() {
                let Some(first) = self.first_of(market, kind, day)? else { continue };
                // A file may reach into the day before its own.
                let next = days.get(place + 1).filter(|next| **next == day.next());
                let other = next.map(|&next| self.first_of(market, kind, next)).transpose()?.flatten();
                return Ok(Some(other.map_or(first, |other| other.min(first))));
            }
            Ok::<_, SourceError>(None)
        })?;
        Ok(*first)
    }

    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        self.trades.highest(market, window, now)
    }

    fn icon_url(&self, _market: usize) -> String {
        String::new() // dumps tell none
    }

    fn last_book(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Book>, SourceError> {
        self.books.last(market, window, now)
    }

    fn liquidation_bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        self.liquidations.bars(market, window, now, visit)
    }

    fn liquidations(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        self.liquidations.events(market, window, now, visit)
    }

    fn ticker_bars(
        &self,
        market: usize,
        field: TickerField,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&OhlcBar),
    ) -> Result<(), SourceError> {
        self.tickers.bars(market, field, window, now, visit)
    }

    fn ticker_before(
        &self,
        market: usize,
        field: TickerField,
        before: UnixSecond,
        now: UnixNanos,
    ) -> Result<Option<OhlcBar>, SourceError> {
        self.tickers.bar_before(market, field, before, now)
    }

    fn readings(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        self.tickers.readings(market, window, now, visit)
    }

    fn option_summaries(&self) -> &[OptionSummary] {
        self.options.summaries()
    }

    fn option_summary(&self, summary: usize, from: UnixSecond, at: UnixSecond) -> Result<Option<f64>, SourceError> {
        self.options.last(summary, from, at)
    }

    fn tokens(&self) -> &[Token] {
        self.supplies.tokens()
    }

    fn supply(
        &self,
        token: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        self.supplies.visit(token, window, now.second(), visit);
        Ok(())
    }

    fn positions(&self, _now: UnixNanos) -> Option<Arc<PositionTable>> {
        self.predictions.as_ref().map(|predictions| Arc::clone(predictions.table()))
    }

    fn prediction(&self, event: usize, at: UnixSecond) -> Option<PredictionState> {
        self.predictions.as_ref()?.state(event, at)
    }

    fn prediction_volume(&self, _event: usize, _at: UnixSecond) -> Option<f64> {
        None // only the positions tell
    }

    fn prediction_figures(&self, event: usize, at: UnixSecond) -> Option<&PredictionFigures> {
        self.predictions.as_ref()?.figures(event, at)
    }
}
