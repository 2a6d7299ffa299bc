//! Trades, and liquidations, of a store.

use std::sync::Arc;

use super::files::{self, LIQUIDATIONS, TRADES, TradeFiles};
use crate::clock::{UnixDay, UnixNanos, UnixSecond, Window};
use crate::market::cache::Cache;
use crate::market::raw::{Bar, LiquidationFeed, RawData, SourceError, Trade, TradeFeed};
use crate::market::store::layout::Dataset;
use crate::market::store::minutes::{Minutes, near};
use crate::market::store::opened::{FirstEvents, OpenedStore};
use crate::market::store::partitions::{Partitions, in_order, is_in};
use crate::market::store::ticks::PriceDecimals;

/// Day files of bars kept decoded: about 60 MB.
const KEPT_BAR_DAYS: usize = 400;
/// Day files of events kept decoded; they are larger.
const KEPT_EVENT_DAYS: usize = 8;
/// Days' highest prices kept: some numbers each.
const KEPT_PEAKS: usize = 200_000;

/// Trades or liquidations of a store's markets, and their minute bars.
struct StoredTrades {
    partitions: Arc<Partitions>,
    kind: RawData,
    pair: TradeFiles,
    bars: Cache<(usize, UnixDay), Vec<Bar>>,
    events: Cache<(usize, UnixDay), Vec<Trade>>,
    /// Highest price of a day's file.
    peaks: Cache<(usize, UnixDay), Option<Peak>>,
}

/// The highest price of a file's events, and the time of the events.
#[derive(Debug, Clone, Copy)]
struct Peak {
    high: f64,
    /// Starts of the first and of the last minute.
    minutes: (UnixSecond, UnixSecond),
    /// The moment of the last event.
    last: UnixNanos,
}

impl StoredTrades {
    /// The events of a kind of raw data.
    fn new(partitions: Arc<Partitions>, kind: RawData, pair: TradeFiles) -> Self {
        let (bars, events) = (Cache::new(KEPT_BAR_DAYS), Cache::new(KEPT_EVENT_DAYS));
        Self { partitions, kind, pair, bars, events, peaks: Cache::new(KEPT_PEAKS) }
    }

    /// Visits the minute bars with a start in a window, as of `now`.
    fn bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        let valued = self.valued(market);
        self.minutes(market, now, |minutes| minutes.visit(window, now, &mut |bar| visit(&valued(*bar))))
    }

    /// The last minute bar that starts before `before`.
    fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        let bar = self.minutes(market, now, |minutes| minutes.before(before, now))?;
        Ok(bar.map(self.valued(market)))
    }

    /// Visits the events with a time in a window, by time and then by file order.
    fn events(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        let read = |day: UnixDay| self.day_events(market, day);
        let days = self.partitions.days(market, self.kind);
        in_order(days, window, now, &read, |event| event.time, visit)
    }

    /// The highest price of the minutes with a start in a window.
    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        let mut highest: Option<f64> = None;
        let mut count = |high: f64| highest = highest.into_iter().chain([high]).reduce(f64::max);
        for &day in near(self.partitions.days(market, self.kind), window) {
            let Some(peak) = *self.peak(market, day)? else { continue };
            if window.contains(peak.minutes.0) && window.contains(peak.minutes.1) && peak.last <= now {
                count(peak.high);
                continue;
            }
            let both = window.and(Window::between(peak.minutes.0, peak.minutes.1.plus(60)));
            if !both.is_empty() {
                self.bars(market, both, now, &mut |bar| count(bar.high))?;
            }
        }
        Ok(highest)
    }

    fn day_bars(&self, market: usize, day: UnixDay) -> Result<Arc<Vec<Bar>>, SourceError> {
        self.bars.get((market, day), || files::read_bars(&self.partitions.file(self.pair.minutes, market, day)))
    }

    fn day_events(&self, market: usize, day: UnixDay) -> Result<Arc<Vec<Trade>>, SourceError> {
        self.events.get((market, day), || files::read_trades(&self.partitions.file(self.pair.events, market, day)))
    }

    /// The highest price in a day's file.
    fn peak(&self, market: usize, day: UnixDay) -> Result<Arc<Option<Peak>>, SourceError> {
        self.peaks.get((market, day), || {
            let bars = self.day_bars(market, day)?;
            let Some((first, last)) = bars.first().zip(bars.last()) else { return Ok(None) };
            Ok(Some(Peak {
                high: bars.iter().map(|bar| bar.high).fold(f64::MIN, f64::max),
                minutes: (first.start, last.start),
                last: bars.iter().map(|bar| bar.last).max().unwrap_or(UnixNanos(i64::MAX)),
            }))
        })
    }

    /// Gives `visit` the minute bars of a market.
    fn minutes<T>(&self, market: usize, now: UnixNanos, use_them: impl FnOnce(&Minutes<'_, Bar>) -> T) -> T {
        let read = |day: UnixDay| self.day_bars(market, day);
        let partial = |day: UnixDay, start: UnixSecond| {
            let events = self.day_events(market, day)?;
            let mut part: Option<Bar> = None;
            for event in events.iter().filter(|event| is_in(event.time, start, now)) {
                match &mut part {
                    None => part = Some(Bar::of(start, event)),
                    Some(part) => part.add(event),
                }
            }
            Ok(part)
        };
        use_them(&Minutes { days: self.partitions.days(market, self.kind), read: &read, partial: &partial })
    }

    /// Sets the quote value of bars of inverse markets to the worth of their contracts: files have price × amount.
    fn valued(&self, market: usize) -> impl Fn(Bar) -> Bar + use<> {
        let contract = self.partitions.instruments[market].contract_usd();
        move |bar| contract.map_or(bar, |contract| bar.of_contracts(contract))
    }
}

impl FirstEvents for StoredTrades {
    fn first_of(&self, market: usize, _kind: RawData, day: UnixDay) -> Result<Option<UnixNanos>, SourceError> {
        Ok(self.day_bars(market, day)?.first().map(|bar| bar.first))
    }
}

/// Cached price steps, a number each.
const KEPT_TICKS: usize = 10_000;

/// The trades of a store, and the price steps of its markets.
struct StoredTradeFeed {
    trades: Arc<StoredTrades>,
    /// The minutes that have prices on a market's ticks.
    priced: &'static [(RawData, Dataset)],
    ticks: Cache<usize, f64>,
}

/// Adds the trades of a store that is being opened. The price steps are those of the minutes in `priced`.
pub(in crate::market) fn open(store: OpenedStore, priced: &'static [(RawData, Dataset)]) -> OpenedStore {
    let trades = Arc::new(StoredTrades::new(Arc::clone(&store.partitions), RawData::Trades, TRADES));
    let feed = StoredTradeFeed { trades: Arc::clone(&trades), priced, ticks: Cache::new(KEPT_TICKS) };
    store.with_first_events(RawData::Trades, trades).with::<dyn TradeFeed>(Arc::new(feed))
}

/// Adds the liquidations of a store that is being opened.
pub(in crate::market) fn open_liquidations(store: OpenedStore) -> OpenedStore {
    let forced = Arc::new(StoredTrades::new(Arc::clone(&store.partitions), RawData::Liquidations, LIQUIDATIONS));
    store
        .with_first_events(RawData::Liquidations, Arc::<StoredTrades>::clone(&forced))
        .with::<dyn LiquidationFeed>(forced)
}

impl StoredTradeFeed {
    /// Decimals of the finest price of a market, over all its days of trades and books. An unreadable file is skipped:
    /// a query of its day fails with the error.
    fn decimals(&self, market: usize) -> PriceDecimals {
        let partitions = &self.trades.partitions;
        let files = self.priced.iter().flat_map(|&(kind, minutes)| {
            partitions.days(market, kind).iter().map(move |&day| partitions.file(minutes, market, day))
        });
        files.filter_map(|file| PriceDecimals::read(&file).ok()).max().unwrap_or_default()
    }
}

impl TradeFeed for StoredTradeFeed {
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

    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        self.trades.highest(market, window, now)
    }
}

impl LiquidationFeed for StoredTrades {
    fn liquidation_bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        self.bars(market, window, now, visit)
    }

    fn liquidations(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        self.events(market, window, now, visit)
    }
}
