//! A store: Parquet files that [`super::ingest::ingest()`] made of raw dumps.
//!
//! `DATASET/exchange=X/symbol=Y/date=D/part.parquet`, one file per dump file: `trades` and `candles_1m` of trades, `book_events`
//! and `book_1m` of books, `liquidations` and `liquidations_1m`, `derivative_ticker` and `derivative_ticker_1m`,
//! `option_summaries_1m` of option chains. Minute aggregates answer all types but profiles; events answer profiles and
//! the minute that holds `now`. Data that is not cut by market and day is in `DATASET/source=FILE/part.parquet`:
//! `token_supply`, `prediction_markets`, `prediction_positions`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use crate::clock::{UnixDay, UnixNanos};
use crate::market::cache::Cache;
use crate::market::raw::{Feeds, Instrument, RawData, Source, SourceError};
use crate::market::store::layout;
use crate::market::store::opened::OpenedStore;
use crate::market::store::partitions::{Days, Partitions};
use crate::market::subjects::{SUBJECTS, stored};
use crate::protocol::DataType;

/// First events kept: a number each.
const KEPT_FIRSTS: usize = 200_000;

/// An opened store.
pub(in crate::market) struct MarketStore {
    opened: OpenedStore,
    firsts: Cache<(usize, DataType), Option<UnixNanos>>,
}

impl MarketStore {
    /// Opens a store.
    pub(in crate::market) fn open(root: &Path) -> Result<Self, SourceError> {
        let mut found: BTreeMap<(String, String), Days> = BTreeMap::new();
        for kind in RawData::ALL {
            for (exchange, symbol, day) in layout::files(root, stored(kind).minutes)? {
                found.entry((exchange, symbol)).or_default()[kind as usize].push(day);
            }
        }
        let (mut markets, is_empty) = (Vec::new(), found.is_empty());
        for ((exchange, symbol), mut of) in found {
            for (kind, days) in RawData::ALL.into_iter().zip(&mut of) {
                days.sort_unstable();
                let kept = stored(kind);
                let file = |day: &UnixDay| layout::file(root, kept.minutes, &exchange, &symbol, *day);
                // One day with the kind is enough, and is mostly the first: a store of years opens at once.
                if !days.iter().any(|day| (kept.has_kind)(&file(day))) {
                    days.clear();
                }
            }
            let Some(first) = of.iter().flatten().min().copied() else { continue };
            let raw_data = RawData::ALL.into_iter().filter(|kind| !of[*kind as usize].is_empty()).collect();
            markets.push((Instrument::named(exchange, symbol, first.second(), raw_data), of));
        }
        let opened = OpenedStore::new(root, Partitions::new(root, markets));
        let opened = SUBJECTS.iter().try_fold(opened, |opened, subject| (subject.store)(opened))?;
        if is_empty && opened.last_day.is_none() {
            let problem = format!("{} is no store: nothing was ingested there; run ingest first", root.display());
            return Err(SourceError(problem));
        }
        Ok(Self { opened, firsts: Cache::new(KEPT_FIRSTS) })
    }

    /// The end of the last day.
    pub(in crate::market) fn last_event(&self) -> Option<UnixNanos> {
        // A folder may be named by any date; nanoseconds end in the year 2262.
        let day = self.opened.partitions.last_day().max(self.opened.last_day);
        day.map(|day| UnixDay(day.0.saturating_add(1)).nanos())
    }
}

impl Source for MarketStore {
    fn instruments(&self) -> &[Instrument] {
        &self.opened.partitions.instruments
    }

    fn feeds(&self) -> &Feeds {
        &self.opened.feeds
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        let Some(kind) = data_type.spec().made_of else { return Ok(None) };
        let first = self.firsts.get((market, data_type), || {
            let (days, firsts) = (self.opened.partitions.days(market, kind), self.opened.first_events(kind)?);
            for (place, &day) in days.iter().enumerate() {
                let Some(first) = firsts.first_of(market, kind, day)? else { continue };
                // A file may reach into the day before its own.
                let next = days.get(place + 1).filter(|next| **next == day.next());
                let other = next.map(|&next| firsts.first_of(market, kind, next)).transpose()?.flatten();
                return Ok(Some(other.map_or(first, |other| other.min(first))));
            }
            Ok::<_, SourceError>(None)
        })?;
        Ok(*first)
    }

    fn icon_url(&self, _market: usize) -> String {
        String::new() // dumps have none
    }
}
