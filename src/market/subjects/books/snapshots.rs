//! Dumps of book snapshots: each row is the book, as deep as the dump goes.
//!
//! Each row is stored as its changes against the row before, so that a day of snapshots takes no more space than a day
//! of changes, and the store has a single form of books.

use std::collections::BTreeMap;

use super::store::{self, BookChange, BookSource};
use crate::clock::{UnixDay, UnixNanos};
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::DumpRow;
use crate::market::ingest::task::IngestTask;
use crate::market::query::error::MarketError;
use crate::market::raw::PriceLevel;

/// Rows that wait for earlier ones. Dumps are in order of arrival, so a row may come after one with a later timestamp, but
/// not by much.
const WAITING: usize = 4_096;

/// Price of a removal that stands for an empty book: removing a level that does not exist changes nothing.
const NO_PRICE: f64 = 1.0;

/// Reads one file into the store, unless the store holds it already, or the day's book in a more detailed form.
pub(in crate::market) fn ingest_file(
    source: BookSource,
    (exchange, symbol): (&str, &str),
    day: UnixDay,
    task: &mut IngestTask<'_>,
) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    let stored = store::read_origin(task.store, exchange, symbol, day);
    match stored {
        Some((kind, _)) if kind > source => {
            task.report.unchanged += 1;
            return Ok(());
        }
        // Numbers of rows of different kinds of dump are not comparable.
        Some((kind, _)) if kind < source => {}
        same => {
            if !task.is_new(same.map(|(_, origin)| origin), &hash) {
                return Ok(());
            }
        }
    }
    let columns = columns(source.levels().unwrap_or(0));
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut changes = Changes::default();
    if !task.each_row(day, &names, |row| changes.take(read(row, &names)?, row.number_of_line()).map(|()| true)) {
        return Ok(());
    }
    let events = changes.finish();
    Ok(store::write(task.store, exchange, symbol, day, &events, (source, &task.origin(&hash)))?)
}

/// The published columns: the time, then for each level the ask's price and amount and the bid's.
fn columns(levels: usize) -> Vec<String> {
    let mut columns = vec!["timestamp".to_owned()];
    for level in 0..levels {
        for side in ["asks", "bids"] {
            columns.extend(["price", "amount"].map(|part| format!("{side}[{level}].{part}")));
        }
    }
    columns
}

/// The book of one row, each side from the best outwards.
#[derive(Debug, Clone, PartialEq, Default)]
struct Snapshot {
    time: UnixNanos,
    asks: Vec<PriceLevel>,
    bids: Vec<PriceLevel>,
}

fn read(row: &DumpRow<'_>, names: &[&str]) -> Result<Snapshot, RowFault> {
    let mut snapshot = Snapshot { time: row.time(0)?, ..Snapshot::default() };
    for (index, pair) in names[1..].chunks_exact(2).enumerate() {
        let (column, ask) = (1 + 2 * index, index.is_multiple_of(2));
        let value = |place: usize| row.optional(column + place, pair[place], false);
        let (price, amount) = (value(0)?, value(1)?);
        if price.is_nan() && amount.is_nan() {
            continue; // the book has fewer levels
        }
        if price.is_nan() || amount.is_nan() {
            let empty = pair[usize::from(!price.is_nan())];
            return Err(RowFault::new(empty, "is empty where the level has its other half; give both or neither"));
        }
        let side = if ask { &mut snapshot.asks } else { &mut snapshot.bids };
        let last = side.last().map_or(if ask { 0.0 } else { f64::INFINITY }, |level| level.0);
        if price <= 0.0 || (ask && price <= last) || (!ask && price >= last) {
            let wanted = if ask { "above 0 and ascend" } else { "above 0 and descend" };
            return Err(RowFault::new(pair[0], format!("{price} after {last}: prices must be {wanted} from the best")));
        }
        side.push((price, amount));
    }
    for side in [&mut snapshot.asks, &mut snapshot.bids] {
        side.retain(|level| level.1 > 0.0);
    }
    Ok(snapshot)
}

/// Snapshots → the changes between them, in order of time.
#[derive(Default)]
struct Changes {
    /// By time and line.
    waiting: BTreeMap<(UnixNanos, u64), Snapshot>,
    last: Option<Snapshot>,
    events: Vec<BookChange>,
}

impl Changes {
    fn take(&mut self, snapshot: Snapshot, line: u64) -> Result<(), RowFault> {
        if self.last.as_ref().is_some_and(|last| snapshot.time < last.time) {
            let what = format!("is earlier than that of {WAITING} rows before it; sort the file by time");
            return Err(RowFault::new("timestamp", what));
        }
        self.waiting.insert((snapshot.time, line), snapshot);
        if self.waiting.len() > WAITING {
            self.emit();
        }
        Ok(())
    }

    fn emit(&mut self) {
        let Some((_, next)) = self.waiting.pop_first() else { return };
        let (time, before) = (next.time, self.events.len());
        let first = self.last.is_none();
        let last = self.last.take().unwrap_or_default();
        let event = |bid, price, amount| BookChange { time, snapshot: first, bid, price, amount };
        for (bid, old, new) in [(true, &last.bids, &next.bids), (false, &last.asks, &next.asks)] {
            let gone = old.iter().filter(|level| !new.iter().any(|other| other.0 == level.0));
            self.events.extend(gone.map(|level| event(bid, level.0, 0.0)));
            let changed = new.iter().filter(|level| !old.contains(level));
            self.events.extend(changed.map(|level| event(bid, level.0, level.1)));
        }
        if self.events.len() == before {
            // The book did not change, but it was observed: its minute has an event.
            let bid = next.bids.first().map(|level| event(true, level.0, level.1));
            let ask = next.asks.first().map(|level| event(false, level.0, level.1));
            self.events.push(bid.or(ask).unwrap_or_else(|| event(true, NO_PRICE, 0.0)));
        }
        self.last = Some(next);
    }

    fn finish(mut self) -> Vec<BookChange> {
        while !self.waiting.is_empty() {
            self.emit();
        }
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snapshot(time: i64, bids: &[PriceLevel], asks: &[PriceLevel]) -> Snapshot {
        Snapshot { time: UnixNanos(time), bids: bids.to_vec(), asks: asks.to_vec() }
    }

    /// The book after each time, rebuilt from the changes.
    fn follow(events: &[BookChange]) -> Vec<(UnixNanos, Vec<PriceLevel>, Vec<PriceLevel>)> {
        let mut book: [BTreeMap<u64, f64>; 2] = Default::default();
        let mut seen: Vec<(UnixNanos, Vec<PriceLevel>, Vec<PriceLevel>)> = Vec::new();
        for event in events {
            let side = &mut book[usize::from(event.bid)];
            if event.amount == 0.0 {
                side.remove(&event.price.to_bits());
            } else {
                side.insert(event.price.to_bits(), event.amount);
            }
            let [asks, bids] = &book;
            let level = |(price, amount): (&u64, &f64)| (f64::from_bits(*price), *amount);
            let now = (event.time, bids.iter().rev().map(level).collect(), asks.iter().map(level).collect());
            match seen.last_mut() {
                Some(last) if last.0 == event.time => *last = now,
                _ => seen.push(now),
            }
        }
        seen
    }

    #[test]
    fn the_columns_are_the_published_ones() {
        let five = columns(5);
        assert_eq!(five.len(), 21);
        assert_eq!(five[..5], ["timestamp", "asks[0].price", "asks[0].amount", "bids[0].price", "bids[0].amount"]);
        assert_eq!(columns(25).last().map(String::as_str), Some("bids[24].amount"));
    }

    #[test]
    fn a_row_too_late_is_reported_and_left_out() {
        let mut changes = Changes::default();
        for time in 1..=WAITING as i64 + 1 {
            changes.take(snapshot(10 * time, &[(1.0, time as f64)], &[]), time as u64).unwrap();
        }
        let late = changes.take(snapshot(9, &[(1.0, 7.0)], &[]), 99_999).unwrap_err();
        let (column, what) = late.into_parts();
        assert!(column == "timestamp" && what.contains("sort the file"), "{what}");
        changes.take(snapshot(11, &[(1.0, 7.0)], &[]), 99_999).unwrap();
        let seen = follow(&changes.finish());
        let times = [seen[0].0, seen[1].0, seen[2].0];
        assert_eq!((times, seen.len()), ([10, 11, 20].map(UnixNanos), WAITING + 2));
    }

    proptest! {
        /// Whoever follows the changes sees every row's book, and nothing else; also an empty and an unchanged one.
        #[test]
        fn changes_lead_from_row_to_row(
            rows in prop::collection::vec(
                (prop::collection::btree_map(1u32..9, 1u32..3, 0..4), prop::collection::btree_map(9u32..17, 1u32..3, 0..4)),
                1..40,
            ),
            shuffle in any::<u64>(),
        ) {
            let level = |(price, amount): (&u32, &u32)| (f64::from(*price), f64::from(*amount));
            let books: Vec<Snapshot> = rows.iter().enumerate().map(|(row, (bids, asks))| Snapshot {
                time: UnixNanos(5 * row as i64),
                bids: bids.iter().rev().map(level).collect(),
                asks: asks.iter().map(level).collect(),
            }).collect();
            let mut order: Vec<usize> = (0..books.len()).collect();
            order.sort_by_key(|row| (*row as u64).wrapping_mul(shuffle | 1));
            let mut changes = Changes::default();
            for row in order {
                changes.take(books[row].clone(), row as u64).unwrap();
            }
            let events = changes.finish();
            let expected: Vec<_> = books.into_iter().map(|book| (book.time, book.bids, book.asks)).collect();
            prop_assert!(events.iter().all(|event| event.snapshot == (event.time == UnixNanos(0))));
            prop_assert_eq!(follow(&events), expected);
        }
    }
}
