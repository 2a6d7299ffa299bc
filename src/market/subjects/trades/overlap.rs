//! Trades that the files of neighbouring days have as well: dumps whose windows overlap hold them twice.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use super::files::{PartitionPath, read_bars, read_trades_within};
use crate::archive::{Metadata, read_content_hash, read_metadata};
use crate::clock::{SECOND, UnixDay, UnixNanos};
use crate::market::raw::Trade;

/// A day's file reaches into the day before and the day after, so two files that are two days apart may meet.
pub(in crate::market) const REACH: i64 = 2;
/// Nanoseconds of a neighbour that are read at a time, so that memory stays bounded.
const PIECE: i64 = 3_600 * SECOND;

/// What the store's other days of the market hold, while the trades of one day go in.
pub(in crate::market) struct Overlap {
    neighbours: Vec<Neighbour>,
    /// Trades that were left out.
    left_out: u64,
}

/// Metadata key: trades of the dump file that a neighbouring day has.
const LEFT_OUT: &str = "marketpoints.trades_left_out";
/// Metadata key: the neighbouring days that have them, and what they held then.
const CUT_AGAINST: &str = "marketpoints.trades_left_out_for";

/// Whether trades of the day's dump file were left out because a neighbouring day had them, which holds something else now.
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
        // An earlier version did not say against what.
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
    /// Until when, exclusively, its trades are counted below.
    read_until: UnixNanos,
    /// Its trades since the last piece began, and how many of each were not met yet.
    unmet: HashMap<TradeKey, u32>,
}

/// Time, price, amount and side: the same trade has the same.
type TradeKey = (i64, u64, u64, bool);

fn key(trade: &Trade) -> TradeKey {
    (trade.time, trade.price.to_bits(), trade.amount.to_bits(), trade.buy)
}

impl Overlap {
    /// Looks at the neighbours of a place. One that cannot be read holds nothing: its own dump makes it anew.
    pub(in crate::market) fn of(place: &PartitionPath<'_>) -> Self {
        let days = (place.day.0 - REACH..=place.day.0 + REACH).map(UnixDay).filter(|&day| day != place.day);
        let neighbours = days.filter_map(|day| {
            let place = PartitionPath { day, ..*place };
            let bars = read_bars(&place.found(place.pair.minutes)).ok()?;
            let (first, last) = (bars.iter().map(|bar| bar.first).min()?, bars.iter().map(|bar| bar.last).max()?);
            let path = place.found(place.pair.events);
            let (first, last, read_until) = (UnixNanos(first), UnixNanos(last), UnixNanos(i64::MIN));
            Some(Neighbour { day, path, met: false, first, last, read_until, unmet: HashMap::new() })
        });
        Self { neighbours: neighbours.collect(), left_out: 0 }
    }

    /// What a file of minutes says of the trades that were left out.
    pub(in crate::market) fn metadata(&self) -> Metadata {
        vec![(LEFT_OUT.to_owned(), self.left_out.to_string()), (CUT_AGAINST.to_owned(), self.cut_against())]
    }

    /// The neighbours that had trades, and the hashes of what they hold: when they hold something else, the trades that were left
    /// out are to be looked at again.
    fn cut_against(&self) -> String {
        let met = self.neighbours.iter().filter(|other| other.met);
        let hashes = met.map(|other| format!("{}:{}", other.day.0, read_content_hash(&other.path).unwrap_or_default()));
        hashes.collect::<Vec<_>>().join(",")
    }

    /// The trades, which are in time order, without those that a neighbour has. A trade that is there several times is left
    /// out as often as the neighbour has it.
    pub(in crate::market) fn new_among<'a>(&mut self, trades: &'a [Trade]) -> Cow<'a, [Trade]> {
        let (Some(first), Some(last)) = (trades.first(), trades.last()) else { return Cow::Borrowed(trades) };
        if self.neighbours.iter().all(|other| last.time < other.first.0 || other.last.0 < first.time) {
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
        if trade.time < self.first.0 || self.last.0 < trade.time {
            return false;
        }
        if self.read_until.0 <= trade.time {
            self.read_until = UnixNanos(trade.time).plus(PIECE);
            self.unmet.clear();
            let piece = read_trades_within(&self.path, UnixNanos(trade.time), self.read_until).unwrap_or_default();
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
