//! Trades that the files of neighbouring days tell as well: dumps whose windows overlap hold them twice.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use super::trades::{Place, read_bars, read_trades_within};
use crate::archive::read_content_hash;
use crate::clock::SECOND;
use crate::market::source::Trade;

/// A day's file reaches into the day before and the day after, so two files that are two days apart may meet.
const REACH: i64 = 2;
/// Nanoseconds of a neighbour that are read at a time, so that memory stays bounded.
const PIECE: i64 = 3_600 * SECOND;

/// What the store's other days of the market hold, while the trades of one day go in.
pub(super) struct Overlap {
    neighbours: Vec<Neighbour>,
    /// Trades that were left out.
    pub(super) left_out: u64,
}

/// Whether a neighbour of those that [`Overlap::cut_against`] told holds something else now, or is gone.
pub(super) fn is_outdated(place: &Place<'_>, told: &str) -> bool {
    let holds_the_same = |one: &str| {
        let (day, hash) = one.split_once(':')?;
        let other = Place { day: day.parse().ok()?, ..*place };
        (read_content_hash(&other.file(place.pair.events))? == hash).then_some(())
    };
    told.split(',').filter(|one| !one.is_empty()).any(|one| holds_the_same(one).is_none())
}

struct Neighbour {
    day: i64,
    path: PathBuf,
    /// Whether it had a trade.
    met: bool,
    /// Times of its first and last trade.
    first: i64,
    last: i64,
    /// Until when, exclusively, its trades are counted below.
    read_until: i64,
    /// Its trades since the last piece began, and how many of each were not met yet.
    unmet: HashMap<Key, u32>,
}

/// Time, price, amount and side: the same trade has the same.
type Key = (i64, u64, u64, bool);

fn key(trade: &Trade) -> Key {
    (trade.time, trade.price.to_bits(), trade.amount.to_bits(), trade.buy)
}

impl Overlap {
    /// Looks at the neighbours of a place. One that cannot be read holds nothing: its own dump makes it anew.
    pub(super) fn of(place: &Place<'_>) -> Self {
        let days = (place.day - REACH..=place.day + REACH).filter(|&day| day != place.day);
        let neighbours = days.filter_map(|day| {
            let place = Place { day, ..*place };
            let bars = read_bars(&place.file(place.pair.minutes)).ok()?;
            let (first, last) = (bars.iter().map(|bar| bar.first).min()?, bars.iter().map(|bar| bar.last).max()?);
            let path = place.file(place.pair.events);
            Some(Neighbour { day, path, met: false, first, last, read_until: i64::MIN, unmet: HashMap::new() })
        });
        Self { neighbours: neighbours.collect(), left_out: 0 }
    }

    /// The neighbours that had trades, and the hashes of what they hold: when they hold something else, the trades that were left
    /// out are to be looked at again.
    pub(super) fn cut_against(&self) -> String {
        let met = self.neighbours.iter().filter(|other| other.met);
        let told = met.map(|other| format!("{}:{}", other.day, read_content_hash(&other.path).unwrap_or_default()));
        told.collect::<Vec<_>>().join(",")
    }

    /// The trades, which are in time order, without those that a neighbour has. A trade that is there several times is left
    /// out as often as the neighbour has it.
    pub(super) fn new_among<'a>(&mut self, trades: &'a [Trade]) -> Cow<'a, [Trade]> {
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
            self.read_until = trade.time.saturating_add(PIECE);
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
