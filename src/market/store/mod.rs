//! A store: Parquet files that [`super::ingest()`] made of raw dumps.
//!
//! `DATASET/exchange=X/symbol=Y/date=D/part.parquet`, one file per dump file: `trades` and `candles_1m` of trades, `book_events`
//! and `book_1m` of books, `liquidations` and `liquidations_1m`, `derivative_ticker` and `derivative_ticker_1m`,
//! `option_summaries_1m` of option chains. The minute aggregates answer for everything but profiles; the events also for
//! the minute that holds `now`. What is not cut by market and day lies in `DATASET/source=FILE/part.parquet`:
//! `token_supply`, `prediction_markets`, `prediction_positions`.

mod answers;
mod books;
mod changes;
mod layout;
mod leftovers;
mod minutes;
mod options;
mod origin;
mod overlap;
mod predictions;
mod sheets;
mod supply;
mod tickers;
mod ticks;
mod trades;
mod turn;
#[cfg(test)]
mod visits;

pub(super) use books::{BookSource, Event, read_origin as read_book_origin, write as write_books};
pub(super) use changes::Reading;
pub(super) use layout::{DAY, foreign, parse_date, unfit};
pub(super) use leftovers::sweep;
pub(super) use options::{OptionReading, read_origin as read_option_origin, write as write_options};
pub(super) use origin::Origin;
pub(super) use predictions::{BETWEEN, MarketLine, PREDICTION_MARKETS, PREDICTION_POSITIONS, PositionLine};
pub(super) use supply::{SUPPLY, SupplyLine};
pub(super) use tickers::{read_origin as read_ticker_origin, write as write_tickers};
pub(super) use trades::{
    LIQUIDATIONS, Place, TRADES, TradeWriter, is_outdated, read_origin as read_trade_origin, write as write_trades,
};
pub(super) use turn::Turn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::books::BookDay;
use self::layout::Dataset;
use self::minutes::{Minutes, near};
use self::options::Options;
use self::predictions::Predictions;
use self::supply::Supplies;
use self::tickers::GaugeDay;
use self::ticks::Decimals;
use self::trades::Pair;
use super::cache::Cache;
use super::derivatives::{Gauge, GaugeBar, Ticker, minute_bars};
use super::feed::Feed;
use super::source::{Bar, Listing, SourceError, Trade};
use crate::archive::read_first;
use crate::clock::SECOND;
use crate::protocol::DataType;

/// Day files of bars kept decoded: about 60 MB.
const KEPT_BAR_DAYS: usize = 400;
/// Day files of gauges kept decoded: about 60 MB.
const KEPT_GAUGE_DAYS: usize = 150;
/// Day files of events and books kept decoded; they are larger.
const KEPT_EVENT_DAYS: usize = 8;
/// Day files of book events kept decoded, the largest of all: what the minutes under way are rebuilt from.
const KEPT_BOOK_EVENT_DAYS: usize = 2;
/// Price steps kept: a number each.
const KEPT_TICKS: usize = 10_000;
/// First events and days' highest prices kept: some numbers each.
const KEPT_FACTS: usize = 200_000;

/// Days with a file, ascending, by feed.
type Days = [Vec<i64>; Feed::ALL.len()];

/// An opened store.
pub(super) struct Store {
    root: PathBuf,
    listings: Vec<Listing>,
    /// By market.
    days: Vec<Days>,
    bars: Cache<(Feed, usize, i64), Vec<Bar>>,
    trades: Cache<(Feed, usize, i64), Vec<Trade>>,
    books: Cache<(usize, i64), BookDay>,
    book_events: Cache<(usize, i64), Vec<Event>>,
    gauges: Cache<(usize, i64), GaugeDay>,
    tickers: Cache<(usize, i64), Vec<Ticker>>,
    ticks: Cache<usize, f64>,
    firsts: Cache<(usize, DataType), Option<i64>>,
    /// Of the trades in a day's file.
    peaks: Cache<(usize, i64), Option<Peak>>,
    options: Options,
    supplies: Supplies,
    predictions: Option<Predictions>,
}

/// The highest price of a file's trades, and when they were.
#[derive(Debug, Clone, Copy)]
struct Peak {
    high: f64,
    /// Unix seconds of the first and of the last minute.
    minutes: (i64, i64),
    /// Unix nanoseconds of the last trade.
    last: i64,
}

impl Store {
    /// Opens a store.
    pub(super) fn open(root: &Path) -> Result<Self, SourceError> {
        let mut found: BTreeMap<(String, String), Days> = BTreeMap::new();
        for feed in Feed::ALL {
            for (exchange, symbol, day) in layout::files(root, Dataset::of(feed))? {
                found.entry((exchange, symbol)).or_default()[feed as usize].push(day);
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
        let (mut listings, mut days) = (Vec::new(), Vec::new());
        for ((exchange, symbol), mut of) in found {
            for days in &mut of {
                days.sort_unstable();
            }
            for feed in [Feed::FundingRates, Feed::OpenInterest] {
                let tells =
                    |day: &i64| tickers::tells(&layout::file(root, Dataset::of(feed), &exchange, &symbol, *day), feed);
                // One day is enough, and most often it is the first: a store of years opens at once.
                if !of[feed as usize].iter().any(tells) {
                    of[feed as usize].clear();
                }
            }
            let Some(first) = of.iter().flatten().min().copied() else { continue };
            let feeds = Feed::ALL.into_iter().filter(|feed| !of[*feed as usize].is_empty()).collect();
            listings.push(layout::listing(exchange, symbol, first * DAY, feeds));
            days.push(of);
        }
        Ok(Self {
            root: root.to_owned(),
            listings,
            days,
            bars: Cache::new(KEPT_BAR_DAYS),
            trades: Cache::new(KEPT_EVENT_DAYS),
            books: Cache::new(KEPT_EVENT_DAYS),
            book_events: Cache::new(KEPT_BOOK_EVENT_DAYS),
            gauges: Cache::new(KEPT_GAUGE_DAYS),
            tickers: Cache::new(KEPT_EVENT_DAYS),
            ticks: Cache::new(KEPT_TICKS),
            firsts: Cache::new(KEPT_FACTS),
            peaks: Cache::new(KEPT_FACTS),
            options,
            supplies,
            predictions,
        })
    }

    /// Unix nanoseconds of the end of the last day.
    pub(super) fn last_event(&self) -> Option<i64> {
        // A folder may be named by any date; nanoseconds end in the year 2262.
        let days = self.days.iter().flatten().flatten().copied().chain(self.options.last_day());
        let others = [self.supplies.last_time(), self.predictions.as_ref().and_then(Predictions::last_time)];
        let days = days.chain(others.into_iter().flatten().map(|time| time.div_euclid(DAY)));
        days.max().map(|day| day.saturating_add(1).saturating_mul(DAY).saturating_mul(SECOND))
    }

    fn file(&self, dataset: Dataset, market: usize, day: i64) -> PathBuf {
        let listing = &self.listings[market];
        layout::file(&self.root, dataset, &listing.exchange, &listing.raw_symbol, day)
    }

    fn day_bars(&self, feed: Feed, pair: Pair, market: usize, day: i64) -> Result<Arc<Vec<Bar>>, SourceError> {
        self.bars.get((feed, market, day), || trades::read_bars(&self.file(pair.minutes, market, day)))
    }

    fn day_gauges(&self, market: usize, day: i64) -> Result<Arc<GaugeDay>, SourceError> {
        self.gauges.get((market, day), || tickers::read_bars(&self.file(Dataset::TickerMinutes, market, day)))
    }

    /// Unix nanoseconds of the first event in a day's file that a data type is made of.
    fn first_of(&self, market: usize, data_type: DataType, day: i64) -> Result<Option<i64>, SourceError> {
        let bars = |feed: Feed, pair: Pair| {
            let bars = self.day_bars(feed, pair, market, day)?;
            Ok(bars.first().map(|bar| bar.first))
        };
        match Feed::of(data_type) {
            Some(Feed::Trades) => bars(Feed::Trades, TRADES),
            Some(Feed::Liquidations) => bars(Feed::Liquidations, LIQUIDATIONS),
            Some(feed @ (Feed::FundingRates | Feed::OpenInterest)) => {
                let day = self.day_gauges(market, day)?;
                let told = Gauge::ALL.into_iter().filter(|gauge| gauge.feed() == feed);
                Ok(told.filter_map(|gauge| day[gauge as usize].first()).map(|bar| bar.first).min())
            }
            Some(Feed::Books) => {
                let path = self.file(Dataset::BookEvents, market, day);
                read_first(&path, "time").map_err(|error| SourceError(error.to_string()))
            }
            None => Ok(None),
        }
    }

    /// Decimals of the finest price of a market, over all its days of trades and books. A file that cannot be read tells
    /// none: who asks for its day is told.
    fn decimals(&self, market: usize) -> Decimals {
        let files = [Feed::Trades, Feed::Books].into_iter().flat_map(|feed| {
            let days = self.days[market][feed as usize].iter();
            days.map(move |&day| self.file(Dataset::of(feed), market, day))
        });
        files.filter_map(|file| Decimals::read(&file).ok()).max().unwrap_or_default()
    }

    /// What a day's file of trades tells of the highest price.
    fn peak(&self, market: usize, day: i64) -> Result<Arc<Option<Peak>>, SourceError> {
        self.peaks.get((market, day), || {
            let bars = self.day_bars(Feed::Trades, TRADES, market, day)?;
            let Some((first, last)) = bars.first().zip(bars.last()) else { return Ok(None) };
            Ok(Some(Peak {
                high: bars.iter().map(|bar| bar.high).fold(f64::MIN, f64::max),
                minutes: (first.start, last.start),
                last: bars.iter().map(|bar| bar.last).max().unwrap_or(i64::MAX),
            }))
        })
    }

    fn day_trades(&self, feed: Feed, pair: Pair, market: usize, day: i64) -> Result<Arc<Vec<Trade>>, SourceError> {
        self.trades.get((feed, market, day), || trades::read_trades(&self.file(pair.events, market, day)))
    }

    /// Hands over the minute bars of a market's trades or liquidations.
    fn minutes<T>(
        &self,
        feed: Feed,
        pair: Pair,
        market: usize,
        now: i64,
        use_them: impl FnOnce(&Minutes<'_, Bar>) -> T,
    ) -> T {
        let read = |day: i64| self.day_bars(feed, pair, market, day);
        let partial = |day: i64, start: i64| {
            let events = self.day_trades(feed, pair, market, day)?;
            let mut part: Option<Bar> = None;
            for event in events.iter().filter(|event| is_in(event.time, start, now)) {
                match &mut part {
                    None => part = Some(Bar::of(start, event)),
                    Some(part) => part.add(event),
                }
            }
            Ok(part)
        };
        use_them(&Minutes { days: &self.days[market][feed as usize], read: &read, partial: &partial })
    }

    /// Visits the minute bars with a start in `[from, to)` of a market's trades or liquidations.
    fn visit_bars(
        &self,
        feed: Feed,
        pair: Pair,
        market: usize,
        (from, to): (i64, i64),
        now: i64,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        let valued = self.valued(market);
        self.minutes(feed, pair, market, now, |minutes| minutes.visit(from, to, now, &mut |bar| visit(&valued(*bar))))
    }

    /// Files hold price × amount as the worth in quote; contracts of an inverse market are worth what they are.
    fn valued(&self, market: usize) -> impl Fn(Bar) -> Bar + use<> {
        let contract = self.listings[market].contract_usd();
        move |bar| contract.map_or(bar, |contract| bar.of_contracts(contract))
    }

    /// Visits the trades or liquidations with a time in `[from, to)`, by time and then by file order.
    fn visit_events(
        &self,
        feed: Feed,
        pair: Pair,
        market: usize,
        (from, to): (i64, i64),
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        let read = |day: i64| self.day_trades(feed, pair, market, day);
        in_order(&self.days[market][feed as usize], (from, to, now), &read, |event| event.time, visit)
    }

    /// Hands over the minute bars of a gauge of a market.
    fn gauges<T>(
        &self,
        gauge: Gauge,
        market: usize,
        now: i64,
        use_them: impl FnOnce(&Minutes<'_, GaugeBar>) -> T,
    ) -> T {
        let read = |day: i64| Ok(Arc::clone(&self.day_gauges(market, day)?[gauge as usize]));
        let partial = |day: i64, start: i64| {
            let read = || tickers::read_readings(&self.file(Dataset::Tickers, market, day));
            let readings = self.tickers.get((market, day), read)?;
            let told: Vec<Ticker> = readings.iter().filter(|one| is_in(one.time, start, now)).copied().collect();
            Ok(minute_bars(&told, gauge).pop())
        };
        let days = &self.days[market][gauge.feed() as usize];
        use_them(&Minutes { days, read: &read, partial: &partial })
    }
}

/// Visits the events of day files with a time in `[from, to)` (Unix seconds), none after `now`, by time and then by file.
fn in_order<T: Copy>(
    days: &[i64],
    (from, to, now): (i64, i64, i64),
    read: &dyn Fn(i64) -> Result<Arc<Vec<T>>, SourceError>,
    time: fn(&T) -> i64,
    visit: &mut dyn FnMut(&T),
) -> Result<(), SourceError> {
    let (first, last) = (from.saturating_mul(SECOND), to.saturating_mul(SECOND).saturating_sub(1).min(now));
    // The next file may still hold events of this day: they wait for it.
    let mut waiting: Vec<T> = Vec::new();
    for &day in near(days, from, to) {
        let events = read(day)?;
        let begin = events.partition_point(|event| time(event) < first);
        let end = events.partition_point(|event| time(event) <= last).max(begin);
        waiting.extend_from_slice(&events[begin..end]);
        // Stable, so that of events at one time those of the earlier file come first.
        waiting.sort_by_key(time);
        let ready = waiting.partition_point(|event| time(event) < (day * DAY).saturating_mul(SECOND));
        waiting.drain(..ready).for_each(|event| visit(&event));
    }
    waiting.iter().for_each(visit);
    Ok(())
}

/// Whether an event lies in the minute that starts at the second `start`, and not after `now` (Unix nanoseconds).
fn is_in(time: i64, start: i64, now: i64) -> bool {
    (start..start + 60).contains(&time.div_euclid(SECOND)) && time <= now
}
