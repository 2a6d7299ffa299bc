//! A store: Parquet files that [`super::ingest()`] made of raw dumps.
//!
//! `DATASET/exchange=X/symbol=Y/date=D.parquet`, one file per dump file: `trades` and `candles_1m` of trades, `book_events`
//! and `book_1m` of books. The minute aggregates answer for everything; the events only for the minute that holds `now`.

mod books;
mod layout;
mod trades;
#[cfg(test)]
mod visits;

pub(super) use books::{Event, read_fingerprint as read_book_fingerprint, write as write_books};
pub(super) use layout::{DAY, parse_date};
pub(super) use trades::{read_fingerprint as read_trade_fingerprint, write as write_trades};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::books::BookDay;
use self::layout::Dataset;
use super::cache::Cache;
use super::source::{Bar, Book, Listing, Source, SourceError, Trade};
use crate::clock::SECOND;

/// Day files of bars kept decoded: about 60 MB.
const KEPT_BAR_DAYS: usize = 400;
/// Day files of events and books kept decoded; they are larger.
const KEPT_EVENT_DAYS: usize = 8;
/// Price steps kept: a number each.
const KEPT_TICKS: usize = 10_000;

/// An opened store.
pub(super) struct Store {
    root: PathBuf,
    listings: Vec<Listing>,
    /// Days by market, ascending, of trades and of books.
    days: Vec<(Vec<i64>, Vec<i64>)>,
    bars: Cache<(usize, i64), Vec<Bar>>,
    trades: Cache<(usize, i64), Vec<Trade>>,
    books: Cache<(usize, i64), BookDay>,
    ticks: Cache<usize, f64>,
}

impl Store {
    /// Opens a store.
    pub(super) fn open(root: &Path) -> Result<Self, SourceError> {
        let mut found: BTreeMap<(String, String), (Vec<i64>, Vec<i64>)> = BTreeMap::new();
        for (dataset, book) in [(Dataset::Candles, false), (Dataset::Books, true)] {
            for (exchange, symbol, day) in layout::files(root, dataset) {
                let days = found.entry((exchange, symbol)).or_default();
                if book { &mut days.1 } else { &mut days.0 }.push(day);
            }
        }
        if found.is_empty() {
            let problem = format!("{} is no store: nothing was ingested there; run ingest first", root.display());
            return Err(SourceError(problem));
        }
        let (mut listings, mut days) = (Vec::new(), Vec::new());
        for ((exchange, symbol), mut of) in found {
            of.0.sort_unstable();
            of.1.sort_unstable();
            let first = of.0.iter().chain(&of.1).min().copied().unwrap_or(0);
            listings.push(layout::listing(exchange, symbol, first * DAY, !of.0.is_empty(), !of.1.is_empty()));
            days.push(of);
        }
        Ok(Self {
            root: root.to_owned(),
            listings,
            days,
            bars: Cache::new(KEPT_BAR_DAYS),
            trades: Cache::new(KEPT_EVENT_DAYS),
            books: Cache::new(KEPT_EVENT_DAYS),
            ticks: Cache::new(KEPT_TICKS),
        })
    }

    /// Unix nanoseconds of the end of the last day.
    pub(super) fn last_event(&self) -> Option<i64> {
        let days = self.days.iter().flat_map(|(trades, books)| trades.iter().chain(books));
        days.max().map(|day| (day + 1) * DAY * SECOND)
    }

    fn file(&self, dataset: Dataset, market: usize, day: i64) -> PathBuf {
        let listing = &self.listings[market];
        layout::file(&self.root, dataset, &listing.exchange, &listing.raw_symbol, day)
    }

    fn day_bars(&self, market: usize, day: i64) -> Result<Arc<Vec<Bar>>, SourceError> {
        self.bars.get((market, day), || trades::read_bars(&self.file(Dataset::Candles, market, day)))
    }

    fn day_trades(&self, market: usize, day: i64) -> Result<Arc<Vec<Trade>>, SourceError> {
        self.trades.get((market, day), || trades::read_trades(&self.file(Dataset::Trades, market, day)))
    }

    /// The bar of a minute from its trades up to `now`.
    fn partial(&self, market: usize, start: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        let mut whole: Option<Bar> = None;
        for &day in near(&self.days[market].0, start, start + 60) {
            let trades = self.day_trades(market, day)?;
            let minute = trades.iter().filter(|trade| (start..start + 60).contains(&trade.time.div_euclid(SECOND)));
            let mut part: Option<Bar> = None;
            for trade in minute.filter(|trade| trade.time <= now) {
                match &mut part {
                    None => part = Some(Bar::of(start, trade)),
                    Some(part) => part.add(trade),
                }
            }
            match (&mut whole, part) {
                (Some(whole), Some(part)) => whole.merge(&part),
                (None, part) => whole = part,
                (Some(_), None) => {}
            }
        }
        Ok(whole)
    }
}

/// The days whose files may hold a time in `[from, to)`: dumps are cut by the time of arrival, so a file may reach into
/// the day before and after.
fn near(days: &[i64], from: i64, to: i64) -> &[i64] {
    let first = days.partition_point(|day| (day + 2) * DAY <= from);
    let end = days.partition_point(|day| (day - 1) * DAY < to);
    &days[first.min(end)..end]
}

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
        let mut tell = |bar: &Bar| -> Result<(), SourceError> {
            if !(from..to).contains(&bar.start) || bar.start.saturating_mul(SECOND) > now {
                return Ok(());
            }
            if bar.last <= now {
                visit(bar);
            } else if let Some(partial) = self.partial(market, bar.start, now)? {
                visit(&partial);
            }
            Ok(())
        };
        // Bars of a day may still get a part from the next file: they wait for it.
        let mut waiting: Vec<Bar> = Vec::new();
        for &day in near(&self.days[market].0, from, to) {
            waiting = merge(waiting, &self.day_bars(market, day)?);
            let ready = waiting.partition_point(|bar| bar.start < day * DAY);
            for bar in waiting.drain(..ready) {
                tell(&bar)?;
            }
        }
        waiting.iter().try_for_each(tell)
    }

    fn bar_before(&self, market: usize, before: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        let days = near(&self.days[market].0, i64::MIN / 2, before);
        for &day in days.iter().rev() {
            let mut last = None;
            self.bars(market, (day - 1) * DAY, before, now, &mut |bar| last = Some(*bar))?;
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    fn trades(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        let (first, last) = (from.saturating_mul(SECOND), to.saturating_mul(SECOND).saturating_sub(1).min(now));
        // The next file may still hold trades of this day: they wait for it.
        let mut waiting: Vec<Trade> = Vec::new();
        for &day in near(&self.days[market].0, from, to) {
            let trades = self.day_trades(market, day)?;
            let begin = trades.partition_point(|trade| trade.time < first);
            let end = trades.partition_point(|trade| trade.time <= last).max(begin);
            waiting.extend_from_slice(&trades[begin..end]);
            // Stable, so that of trades at one time those of the earlier file come first.
            waiting.sort_by_key(|trade| trade.time);
            let ready = waiting.partition_point(|trade| trade.time < (day * DAY).saturating_mul(SECOND));
            waiting.drain(..ready).for_each(|trade| visit(&trade));
        }
        waiting.iter().for_each(visit);
        Ok(())
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        let Some(&day) = self.days[market].0.first() else { return Ok(1.0) };
        let tick = self.ticks.get(market, || Ok::<_, SourceError>(trades::tick(&self.day_trades(market, day)?)))?;
        Ok(*tick)
    }

    fn last_book(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Book>, SourceError> {
        for &day in near(&self.days[market].1, from, to).iter().rev() {
            let read = || books::read(&self.file(Dataset::Books, market, day));
            let books = self.books.get((market, day), read)?;
            let events = || books::read_events(&self.file(Dataset::BookEvents, market, day));
            if let Some(book) = books.last(from, to, now, events)? {
                return Ok(Some(book));
            }
        }
        Ok(None)
    }
}

/// Joins two runs of bars; the parts of a minute that is in both are merged, `later` being later in file order.
fn merge(earlier: Vec<Bar>, later: &[Bar]) -> Vec<Bar> {
    if earlier.is_empty() {
        return later.to_vec();
    }
    let mut merged: Vec<Bar> = Vec::with_capacity(earlier.len() + later.len());
    let mut pending = later.iter().peekable();
    for mut bar in earlier {
        merged.extend(std::iter::from_fn(|| pending.next_if(|next| next.start < bar.start)));
        if let Some(part) = pending.next_if(|next| next.start == bar.start) {
            bar.merge(part);
        }
        merged.push(bar);
    }
    merged.extend(pending);
    merged
}
