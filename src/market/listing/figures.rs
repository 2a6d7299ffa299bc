//! Figures of the listing's entries as of now.
//!
//! - **24 hours** are the minutes that begin in the last 86,400 seconds.
//! - **USD volume** is the worth of the quote amounts. Quotes that do not count as USD are converted minute by minute
//!   ([`crate::market::query::usd`]); without a rate the volume is unknown.
//! - **The highest price** (`pctFromATH`) is that of the last 365 days, the longest history of any plan.
//! - **Average true range** is the mean over the hours with trades among the last 14 whole hours, in percent of the last
//!   price.

use std::collections::HashMap;

use crate::clock::{SECOND, SECONDS_PER_DAY as DAY, UnixNanos, UnixSecond, Window};
use crate::market::instruments::filter::{OrderedEntry, full_name};
use crate::market::query::error::MarketError;
use crate::market::query::usd::Converter;
use crate::market::raw::{Bar, Instrument, RawData, Source, SourceError, TickerFeed, TickerField, TradeFeed};
use crate::protocol::MarketListing;

const HOUR: i64 = 3_600;
/// Hourly prices listed in `prices`.
const HISTORY: i64 = 24;
/// Seconds of history that are searched for the highest price.
const PEAK_WINDOW: i64 = 365 * DAY;
/// Hours that the average true range is over.
const RANGE_HOURS: i64 = 14;

/// Figures of a source's markets as of a moment; expensive ones are computed once.
pub(in crate::market) struct Figures<'a> {
    source: &'a dyn Source,
    now: UnixNanos,
    from_peak: HashMap<usize, Option<f64>>,
    interest: HashMap<usize, Option<f64>>,
    volumes: HashMap<usize, Option<f64>>,
}

/// Volume and last price of a market in a window.
#[derive(Default)]
struct TradedFigures {
    open: Option<f64>,
    close: Option<f64>,
    amount: f64,
    /// USD; `None` if a rate is missing.
    worth: Option<f64>,
}

impl<'a> Figures<'a> {
    /// The figures of a source as of `now`.
    pub(in crate::market) fn new(source: &'a dyn Source, now: UnixNanos) -> Self {
        let (from_peak, interest, volumes) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { source, now, from_peak, interest, volumes }
    }

    fn second(&self) -> i64 {
        self.now.second().0
    }

    /// The source's markets.
    pub(in crate::market) fn instruments(&self) -> &'a [Instrument] {
        self.source.instruments()
    }

    /// A market's row.
    pub(in crate::market) fn row(&mut self, market: usize) -> Result<OrderedEntry, MarketError> {
        let instrument = &self.source.instruments()[market];
        let second = self.second();
        let today = MarketError::listed(self.traded(market, Window { from: second - DAY, to: second + 1 }))?
            .unwrap_or_default();
        let last = match today.close {
            None if instrument.raw_data.has(RawData::Trades) => MarketError::listed(self.last_price(market))?.flatten(),
            close => close,
        };
        let price_change = today.open.zip(last).map(|(open, close)| (close / open - 1.0) * 100.0);
        self.volumes.insert(market, today.worth);
        let entry = MarketListing {
            exchange: instrument.exchange.clone(),
            raw_symbol: instrument.raw_symbol.clone(),
            normalized_symbol: instrument.normalized_symbol(),
            coin: instrument.coin.clone(),
            category: instrument.category.clone(),
            coin_name: instrument.coin_name.clone(),
            quote_coin_name: instrument.quote.clone(),
            full_name: full_name(instrument),
            last_price: last.unwrap_or(0.0),
            volume_24h: today.amount,
            volume_24h_usd: today.worth.unwrap_or(0.0),
            price_change_24h: price_change.unwrap_or(0.0),
            icon_url: self.source.icon_url(market),
            ..MarketListing::default()
        };
        Ok(OrderedEntry { entry, market: Some(market), volume: today.worth, price_change })
    }

    /// The entry of a row with the figures that only the entries of a page need.
    pub(in crate::market) fn complete(&mut self, mut row: OrderedEntry) -> Result<MarketListing, MarketError> {
        row.entry.oi_change_24h = self.interest_change(&row)?.unwrap_or(0.0);
        row.entry.pct_from_ath = self.distance_to_peak(&row)?.unwrap_or(0.0);
        if let Some(market) = row.market.filter(|_| row.entry.prediction_markets.is_empty()) {
            let second = self.second();
            let before = self.traded(market, Window { from: second - 2 * DAY, to: second - DAY });
            let before = MarketError::listed(before)?.unwrap_or_default().amount;
            if before > 0.0 {
                row.entry.volume_change_24h = (row.entry.volume_24h / before - 1.0) * 100.0;
            }
            row.entry.prices = MarketError::listed(self.hourly_prices(market))?.unwrap_or_default();
        }
        Ok(row.entry)
    }

    /// USD traded in 24 hours; `None` if unknown.
    pub(in crate::market) fn volume(&mut self, market: usize) -> Result<Option<f64>, MarketError> {
        if let Some(known) = self.volumes.get(&market) {
            return Ok(*known);
        }
        let second = self.second();
        let worth = MarketError::listed(self.traded(market, Window { from: second - DAY, to: second + 1 }))?
            .and_then(|today| today.worth);
        self.volumes.insert(market, worth);
        Ok(worth)
    }

    /// Distance of the last price to the highest of [`PEAK_WINDOW`], percent, 0 or below.
    pub(in crate::market) fn distance_to_peak(&mut self, row: &OrderedEntry) -> Result<Option<f64>, MarketError> {
        // A probability has no peak to measure from: it ends at 0 or 1.
        let Some(market) = row.market.filter(|_| row.entry.prediction_markets.is_empty()) else { return Ok(None) };
        if let Some(known) = self.from_peak.get(&market) {
            return Ok(*known);
        }
        let second = self.second();
        let window = Window { from: second - PEAK_WINDOW, to: second + 1 };
        let peak = self.source.of::<dyn TradeFeed>().and_then(|trades| trades.highest(market, window, self.now));
        let peak = MarketError::listed(peak)?.flatten();
        let last = Some(row.entry.last_price).filter(|price| *price > 0.0);
        let from_peak = peak.zip(last).map(|(peak, last)| (last / peak - 1.0) * 100.0);
        self.from_peak.insert(market, from_peak);
        Ok(from_peak)
    }

    /// Change of the open interest in 24 hours, percent.
    pub(in crate::market) fn interest_change(&mut self, row: &OrderedEntry) -> Result<Option<f64>, MarketError> {
        let Some(market) = row.market.filter(|&market| self.instruments()[market].raw_data.has(RawData::OpenInterest))
        else {
            return Ok(None);
        };
        if let Some(known) = self.interest.get(&market) {
            return Ok(*known);
        }
        let interest = |at: UnixSecond| -> Result<Option<f64>, MarketError> {
            let before = UnixSecond(at.0 + 1);
            let ticker = self.source.of::<dyn TickerFeed>();
            let bar =
                ticker.and_then(|ticker| ticker.ticker_before(market, TickerField::OpenInterest, before, self.now));
            let bar = MarketError::listed(bar)?.flatten();
            Ok(bar.map(|bar| bar.close).filter(|interest| *interest > 0.0))
        };
        let (then, today) = (interest(UnixSecond(self.second() - DAY))?, interest(self.now.second())?);
        let change = then.zip(today).map(|(then, today)| (today / then - 1.0) * 100.0);
        self.interest.insert(market, change);
        Ok(change)
    }

    /// Mean true range of the last [`RANGE_HOURS`] whole hours, percent of the last price.
    pub(in crate::market) fn range(&self, row: &OrderedEntry) -> Result<Option<f64>, MarketError> {
        let Some(market) = row.market.filter(|&market| self.instruments()[market].raw_data.has(RawData::Trades)) else {
            return Ok(None);
        };
        let end = self.second().div_euclid(HOUR) * HOUR;
        let begin = end - RANGE_HOURS * HOUR;
        let (mut sum, mut count, mut close) = (0.0, 0, None);
        for start in (begin - HOUR..end).step_by(HOUR as usize) {
            let hour = self.span(market, Window { from: start, to: start + HOUR });
            let Some(hour) = MarketError::listed(hour)?.flatten() else { continue };
            if start >= begin {
                let before = close.unwrap_or(hour.open);
                sum += hour.high.max(before) - hour.low.min(before);
                count += 1;
            }
            close = Some(hour.close);
        }
        let mean = (count > 0).then(|| sum / f64::from(count));
        let last = Some(row.entry.last_price).filter(|price| *price > 0.0);
        Ok(mean.zip(last).map(|(mean, last)| mean / last * 100.0))
    }

    /// The last prices as of now and as of each whole hour before it, the newest last.
    fn hourly_prices(&self, market: usize) -> Result<Vec<f64>, SourceError> {
        let mut prices = Vec::new();
        if self.source.instruments()[market].raw_data.has(RawData::Trades) {
            for back in (0..HISTORY).rev() {
                let then = self.now.plus(-back * HOUR * SECOND);
                let bar = self.source.of::<dyn TradeFeed>()?.bar_before(
                    market,
                    UnixSecond(then.second().0.saturating_add(1)),
                    then,
                )?;
                prices.extend(bar.map(|bar| bar.close));
            }
        }
        Ok(prices)
    }

    fn last_price(&self, market: usize) -> Result<Option<f64>, MarketError> {
        let trades = self.source.of::<dyn TradeFeed>()?;
        Ok(trades.bar_before(market, UnixSecond(self.second() + 1), self.now)?.map(|bar| bar.close))
    }

    /// The bar of a window, read at once: sums by day may differ in the last digit.
    fn span(&self, market: usize, window: Window) -> Result<Option<Bar>, SourceError> {
        self.source.of::<dyn TradeFeed>()?.span(market, window, self.now)
    }

    /// Volume and last price of the minutes that start in a window.
    fn traded(&self, market: usize, window: Window) -> Result<TradedFigures, MarketError> {
        let instrument = &self.source.instruments()[market];
        if !instrument.raw_data.has(RawData::Trades) {
            return Ok(TradedFigures::default());
        }
        let mut traded = TradedFigures { worth: Some(0.0), ..TradedFigures::default() };
        if instrument.is_usd_like() {
            if let Some(bar) = self.span(market, window)? {
                (traded.open, traded.close, traded.amount) = (Some(bar.open), Some(bar.close), bar.volume());
                traded.worth = Some(bar.buy_quote + bar.sell_quote);
            }
            return Ok(traded);
        }
        let (mut converter, mut outcome) = (Converter::new(self.source, market, true, self.now), Ok(()));
        let mut add = |bar: &Bar| {
            traded.open.get_or_insert(bar.open);
            traded.close = Some(bar.close);
            traded.amount += bar.volume();
            match converter.bar(bar) {
                Ok(Ok(bar)) => {
                    traded.worth = traded.worth.map(|worth| worth + bar.buy_quote + bar.sell_quote);
                }
                Ok(Err(_)) => traded.worth = None,
                Err(error) => outcome = Err(error),
            }
        };
        self.source.each::<dyn TradeFeed>(window, |trades, window| trades.bars(market, window, self.now, &mut add))?;
        outcome?;
        Ok(traded)
    }
}
