//! Trades that are also in the files of neighbouring days, because the dumps' windows overlap.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use super::files::{PartitionPath, read_bars, read_trades_within};
use crate::archive::{Metadata, read_content_hash, read_metadata};
use crate::clock::{SECOND, UnixDay, UnixNanos};
use crate::market::raw::Trade;

/// A day's file reaches into the day before and the day after, so files two days apart may overlap.
pub(in crate::market) const REACH: i64 = 2;
/// Nanoseconds of a neighbour that are read at a time, so that memory stays bounded.
const PIECE: i64 = 3_600 * SECOND;

/// Finds trades of a day that the store has in neighbouring days' files.
pub(in crate::market) struct Overlap {
    neighbours: Vec<Neighbour>,
    /// Trades that were left out.
    left_out: u64,
}

/// Metadata key: trades of the dump file that a neighbouring day has.
const LEFT_OUT: &str = "marketpoints.trades_left_out";
/// Metadata key: the neighbouring days that have them, with the hashes of their contents.
const CUT_AGAINST: &str = "marketpoints.trades_left_out_for";

/// Whether trades of the day's dump file were left out because of a neighbouring day's file that has changed since.
pub(in crate::market) fn is_outdated(place: &PartitionPath<'_>) -> bool {
    let metadata = read_metadata(&place.found(place.pair.minutes)).unwrap_or_default();
    let value = |key: &str| metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let holds_the_same = |one: &str| {
        let (day, hash) = one.split_once(':')?;
        let other = PartitionPath { day: UnixDay(day.parse().ok()?), ..*place };
        (read_content_hash(&other.found(place.pair.events))? == hash).then_some(())
    };
    match value(CUT_AGAINST) {
        Some(days) => days.split(',').filter(|one| !one.is_empty()).any(|one| holds_the_same(one).is_none()),
        // Earlier versions did not record the neighbours.
        None => value(LEFT_OUT).is_some_and(|count| count != "0"),
    }
}

struct Neighbour {
    day: UnixDay,
    path: PathBuf,
    /// Whether it had a trade.
    met: bool,
    /// Times of its first and last trade.
    first: UnixNanos,
    last: UnixNanos,
    /// End, exclusive, of the trades that are counted in `unmet`.
    read_until: UnixNanos,
    /// Its trades from the start of the last piece on, and how many of each are not matched yet.
    unmet: HashMap<TradeKey, u32>,
}

/// Time, price, amount and side, by which trades are the same.
type TradeKey = (UnixNanos, u64, u64, bool);

fn key(trade: &Trade) -> TradeKey {
    (trade.time, trade.price.to_bits(), trade.amount.to_bits(), trade.buy)
}

impl Overlap {
    /// Finds the neighbours of a place. An unreadable one counts as empty: its own dump restores it.
    pub(in crate::market) fn of(place: &PartitionPath<'_>) -> Self {
        let days = (place.day.0 - REACH..=place.day.0 + REACH).map(UnixDay).filter(|&day| day != place.day);
        let neighbours = days.filter_map(|day| {
            let place = PartitionPath { day, ..*place };
            let bars = read_bars(&place.found(place.pair.minutes)).ok()?;
            let (first, last) = (bars.iter().map(|bar| bar.first).min()?, bars.iter().map(|bar| bar.last).max()?);
            let path = place.found(place.pair.events);
            let read_until = UnixNanos(i64::MIN);
            Some(Neighbour { day, path, met: false, first, last, read_until, unmet: HashMap::new() })
        });
        Self { neighbours: neighbours.collect(), left_out: 0 }
    }

    /// The metadata of a file of minutes about the trades that were left out.
    pub(in crate::market) fn metadata(&self) -> Metadata {
        vec![(LEFT_OUT.to_owned(), self.left_out.to_string()), (CUT_AGAINST.to_owned(), self.cut_against())]
    }

    /// The neighbours that had trades, with the hashes of their files: if one changes, the trades that were left out
    /// must be compared again.
    fn cut_against(&self) -> String {
        let met = self.neighbours.iter().filter(|other| other.met);
        let hashes = met.map(|other| format!("{}:{}", other.day.0, read_content_hash(&other.path).unwrap_or_default()));
        hashes.collect::<Vec<_>>().join(",")
    }

    /// The trades, which are in time order, without those that a neighbour has. Of several equal trades, as
    /// many are left out as the neighbour has.
    pub(in crate::market) fn new_among<'a>(&mut self, trades: &'a [Trade]) -> Cow<'a, [Trade]> {
        let (Some(first), Some(last)) = (trades.first(), trades.last()) else { return Cow::Borrowed(trades) };
        if self.neighbours.iter().all(|other| last.time < other.first || other.last < first.time) {
            return Cow::Borrowed(trades);
        }
        let mut is_new = |trade: &&Trade| !self.neighbours.iter_mut().any(|other| other.meets(trade));
        let new: Vec<Trade> = trades.iter().filter(&mut is_new).copied().collect();
        self.left_out += (trades.len() - new.len()) as u64;
        Cow::Owned(new)
    }
}

impl Neighbour {
    fn meets(&mut self, trade: &Trade) -> bool {
        if trade.time < self.first || self.last < trade.time {
            return false;
        }
        if self.read_until <= trade.time {
            self.read_until = trade.time.plus(PIECE);
            self.unmet.clear();
            let piece = read_trades_within(&self.path, trade.time, self.read_until).unwrap_or_default();
            for other in &piece {
                *self.unmet.entry(key(other)).or_default() += 1;
            }
        }
        match self.unmet.get_mut(&key(trade)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                self.met = true;
                true
            }
            _ => false,
        }
    }
}
