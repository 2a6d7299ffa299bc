//! Book events and the book at the end of each minute, as tables.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::archive::{ArchiveError, Table, read_first, read_metadata};
use crate::clock::{UnixDay, UnixMinute, UnixNanos, Window};
use crate::columns::Column;
use crate::market::cache::Cache;
use crate::market::raw::{Book, BookFeed, PriceLevel, RawData, SourceError};
use crate::market::store::changes::prepared;
use crate::market::store::columns::{FileColumns, unreadable};
use crate::market::store::layout::Dataset;
use crate::market::store::minutes::near;
use crate::market::store::opened::{FirstEvents, OpenedStore};
use crate::market::store::origin::DumpOrigin;
use crate::market::store::partitions::Partitions;
use crate::market::store::ticks::PriceDecimals;
use crate::market::store::{changes, layout};

/// The dataset of the changes of books.
pub(in crate::market) const EVENTS: Dataset = Dataset::new("book_events");
/// The dataset of the books at the end of each minute.
pub(in crate::market) const MINUTES: Dataset = Dataset::new("book_1m");

/// One change of a book.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) struct BookChange {
    /// When it happened.
    pub time: UnixNanos,
    /// Part of a snapshot; the first such event after any other clears the book.
    pub snapshot: bool,
    /// Whether it is a bid.
    pub bid: bool,
    /// Price of the level.
    pub price: f64,
    /// New amount of the level; 0 removes it.
    pub amount: f64,
}

/// The kind of dump that a day's books were made of, the least detailed one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::market) enum BookSource {
    /// Snapshots of 5 levels a side.
    Snapshots5,
    /// Snapshots of 25 levels a side.
    Snapshots25,
    /// Every change of the complete book.
    Changes,
}

impl BookSource {
    const ALL: [Self; 3] = [Self::Snapshots5, Self::Snapshots25, Self::Changes];

    /// Levels a side; `None` where it is the complete book.
    pub(in crate::market) const fn levels(self) -> Option<usize> {
        match self {
            Self::Snapshots5 => Some(5),
            Self::Snapshots25 => Some(25),
            Self::Changes => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Snapshots5 => "book_snapshot_5",
            Self::Snapshots25 => "book_snapshot_25",
            Self::Changes => "incremental_book_L2",
        }
    }
}

/// Metadata key: kind of dump of a day's books; without it, dumps of changes.
const SOURCE: &str = "marketpoints.source_kind";

/// Side of a row that stands for a minute whose book ended empty.
const NO_LEVEL: i64 = -1;

/// A book being rebuilt. Prices are above 0, so their bits are in the order of the prices.
#[derive(Default)]
struct BookState {
    bids: BTreeMap<u64, f64>,
    asks: BTreeMap<u64, f64>,
    in_snapshot: bool,
}

impl BookState {
    fn apply(&mut self, event: &BookChange) {
        if event.snapshot && !self.in_snapshot {
            self.bids.clear();
            self.asks.clear();
        }
        self.in_snapshot = event.snapshot;
        let side = if event.bid { &mut self.bids } else { &mut self.asks };
        if event.amount == 0.0 {
            side.remove(&event.price.to_bits());
        } else {
            side.insert(event.price.to_bits(), event.amount);
        }
    }

    /// The state that a book shows; `in_snapshot` says whether it ended within a snapshot.
    fn of(book: &Book, in_snapshot: bool) -> Self {
        let side = |levels: &[PriceLevel]| levels.iter().map(|&(price, amount)| (price.to_bits(), amount)).collect();
        Self { bids: side(&book.bids), asks: side(&book.asks), in_snapshot }
    }

    fn book(&self, time: UnixNanos) -> Book {
        let level = |(price, amount): (&u64, &f64)| (f64::from_bits(*price), *amount);
        Book { time, bids: self.bids.iter().rev().map(level).collect(), asks: self.asks.iter().map(level).collect() }
    }
}

fn minute(event: &BookChange) -> UnixMinute {
    event.time.minute()
}

/// Writes a day's events, in time order, and the book at the end of each minute that had one. The books are placed
/// last: if they are there, both are.
pub(in crate::market) fn write(
    root: &Path,
    exchange: &str,
    symbol: &str,
    day: UnixDay,
    events: &[BookChange],
    (source, origin): (BookSource, &DumpOrigin),
) -> Result<(), ArchiveError> {
    let metadata = [origin.metadata(), vec![(SOURCE.to_owned(), source.name().to_owned())]].concat();
    let path = |dataset| layout::file(root, dataset, exchange, symbol, day);
    let of_events = prepared(&path(EVENTS), &event_table(events), &metadata)?;
    let mut decimals = PriceDecimals::default();
    for event in events {
        decimals.add(event.price);
    }
    let of_books = [metadata, vec![decimals.metadata()]].concat();
    let books = prepared(&path(MINUTES), &book_table(events), &of_books)?;
    changes::place(root, [of_events, books])
}

/// The dump that a day's books were made of, with its kind. `None` when there are none yet, or they are damaged.
pub(in crate::market) fn read_origin(
    root: &Path,
    exchange: &str,
    symbol: &str,
    day: UnixDay,
) -> Option<(BookSource, DumpOrigin)> {
    let files = [EVENTS, MINUTES];
    let origin = DumpOrigin::read(files.map(|dataset| layout::file(root, dataset, exchange, symbol, day)))?;
    let metadata = read_metadata(&layout::file(root, MINUTES, exchange, symbol, day)).ok()?;
    let source = match metadata.iter().find(|(name, _)| name == SOURCE) {
        None => BookSource::Changes,
        Some((_, kind)) => BookSource::ALL.into_iter().find(|source| source.name() == kind)?,
    };
    Some((source, origin))
}

fn event_table(events: &[BookChange]) -> Table {
    let whole = |value: fn(&BookChange) -> i64| Column::Int(events.iter().map(value).collect());
    vec![
        ("time".to_owned(), Column::Time(events.iter().map(|event| event.time.0).collect())),
        ("is_snapshot".to_owned(), whole(|event| i64::from(event.snapshot))),
        ("is_bid".to_owned(), whole(|event| i64::from(event.bid))),
        ("price".to_owned(), Column::Float(events.iter().map(|event| event.price).collect())),
        ("amount".to_owned(), Column::Float(events.iter().map(|event| event.amount).collect())),
    ]
}

/// One row per level: minute, time of its last event, side, price, amount; bids from the best down, then asks up.
fn book_table(events: &[BookChange]) -> Table {
    let (mut minutes, mut last_events, mut sides) = (Vec::new(), Vec::new(), Vec::new());
    let (mut prices, mut amounts) = (Vec::new(), Vec::new());
    let mut state = BookState::default();
    for (index, event) in events.iter().enumerate() {
        state.apply(event);
        if events.get(index + 1).is_some_and(|next| minute(next) == minute(event)) {
            continue;
        }
        let book = state.book(event.time);
        if book.bids.is_empty() && book.asks.is_empty() {
            // An empty book is a state too: a row without a level says so.
            minutes.push(minute(event).nanos().0);
            last_events.push(event.time.0);
            sides.push(NO_LEVEL);
            prices.push(0.0);
            amounts.push(0.0);
        }
        for (is_bid, levels) in [(1, &book.bids), (0, &book.asks)] {
            for &(price, amount) in levels {
                minutes.push(minute(event).nanos().0);
                last_events.push(event.time.0);
                sides.push(is_bid);
                prices.push(price);
                amounts.push(amount);
            }
        }
    }
    vec![
        ("time".to_owned(), Column::Time(minutes)),
        ("last_event".to_owned(), Column::Time(last_events)),
        ("is_bid".to_owned(), Column::Int(sides)),
        ("price".to_owned(), Column::Float(prices)),
        ("amount".to_owned(), Column::Float(amounts)),
    ]
}

/// The books of a day, one per minute.
pub(in crate::market) struct BookDay {
    minutes: Vec<MinuteBook>,
}

struct MinuteBook {
    start: UnixMinute,
    book: Book,
}

fn read(path: &Path) -> Result<BookDay, SourceError> {
    let mut columns = FileColumns::read(path)?;
    let (starts, last_events) = (columns.whole("time")?, columns.whole("last_event")?);
    let (sides, prices, amounts) = (columns.whole("is_bid")?, columns.floats("price")?, columns.floats("amount")?);
    let mut minutes: Vec<MinuteBook> = Vec::new();
    for row in 0..starts.len() {
        let start = UnixNanos(starts[row]).minute();
        if minutes.last().is_none_or(|last| last.start != start) {
            minutes.push(MinuteBook { start, book: Book { time: UnixNanos(last_events[row]), ..Book::default() } });
        }
        if let Some(last) = minutes.last_mut() {
            let level: PriceLevel = (prices[row], amounts[row]);
            match sides[row] {
                NO_LEVEL => {}
                0 => last.book.asks.push(level),
                _ => last.book.bids.push(level),
            }
        }
    }
    Ok(BookDay { minutes })
}

fn read_events(path: &Path) -> Result<Vec<BookChange>, SourceError> {
    let mut columns = FileColumns::read(path)?;
    let (times, snapshots, sides) = (columns.whole("time")?, columns.whole("is_snapshot")?, columns.whole("is_bid")?);
    let (prices, amounts) = (columns.floats("price")?, columns.floats("amount")?);
    let event = |row: usize| BookChange {
        time: UnixNanos(times[row]),
        snapshot: snapshots[row] != 0,
        bid: sides[row] != 0,
        price: prices[row],
        amount: amounts[row],
    };
    Ok((0..times.len()).map(event).collect())
}

impl BookDay {
    /// The last book of the minutes of a window, as of `now`. The minute that holds `now` is rebuilt from its events.
    pub(in crate::market) fn last(
        &self,
        window: Window,
        now: UnixNanos,
        events: impl FnOnce() -> Result<Arc<Vec<BookChange>>, SourceError>,
    ) -> Result<Option<Book>, SourceError> {
        let begun = |minute: &MinuteBook| minute.start.second().0 < window.to && minute.start.nanos() <= now;
        let end = self.minutes.partition_point(begun);
        let Some(last) =
            end.checked_sub(1).map(|index| &self.minutes[index]).filter(|last| last.start.second().0 >= window.from)
        else {
            return Ok(None);
        };
        if last.book.time <= now {
            return Ok(Some(last.book.clone()));
        }
        let before = end.checked_sub(2).map(|index| &self.minutes[index]);
        let events = events()?;
        let first = events.partition_point(|event| minute(event) < last.start);
        let of_minute = &events[first..first + events[first..].partition_point(|event| event.time <= now)];
        if of_minute.is_empty() {
            return Ok(before
                .filter(|before| before.start.second().0 >= window.from)
                .map(|before| before.book.clone()));
        }
        // The book at the end of the minute before has all earlier events.
        let in_snapshot = first.checked_sub(1).is_some_and(|index| events[index].snapshot);
        let mut state = before.map_or_else(BookState::default, |before| BookState::of(&before.book, in_snapshot));
        for event in of_minute {
            state.apply(event);
        }
        Ok(of_minute.last().map(|last| state.book(last.time)))
    }
}

/// Day files of books kept decoded.
const KEPT_DAYS: usize = 8;
/// Day files of book events kept decoded, the largest of all. Forming minutes are rebuilt from them.
const KEPT_EVENT_DAYS: usize = 2;

/// The books of a store's markets.
pub(in crate::market) struct StoredBooks {
    partitions: Arc<Partitions>,
    books: Cache<(usize, UnixDay), BookDay>,
    events: Cache<(usize, UnixDay), Vec<BookChange>>,
}

impl StoredBooks {
    /// The books of some markets.
    pub(in crate::market) fn new(partitions: Arc<Partitions>) -> Self {
        Self { partitions, books: Cache::new(KEPT_DAYS), events: Cache::new(KEPT_EVENT_DAYS) }
    }
}

/// Adds the books of a store that is being opened.
pub(in crate::market) fn open(store: OpenedStore) -> OpenedStore {
    let books = Arc::new(StoredBooks::new(Arc::clone(&store.partitions)));
    store.with_first_events(RawData::Books, Arc::<StoredBooks>::clone(&books)).with::<dyn BookFeed>(books)
}

impl BookFeed for StoredBooks {
    fn last_book(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Book>, SourceError> {
        for &day in near(self.partitions.days(market, RawData::Books), window).iter().rev() {
            let file = |dataset| self.partitions.file(dataset, market, day);
            let books = self.books.get((market, day), || read(&file(MINUTES)))?;
            let events = || self.events.get((market, day), || read_events(&file(EVENTS)));
            if let Some(book) = books.last(window, now, events)? {
                return Ok(Some(book));
            }
        }
        Ok(None)
    }
}

impl FirstEvents for StoredBooks {
    fn first_of(&self, market: usize, _kind: RawData, day: UnixDay) -> Result<Option<UnixNanos>, SourceError> {
        let path = self.partitions.file(EVENTS, market, day);
        read_first(&path, "time").map(|first| first.map(UnixNanos)).map_err(|error| unreadable(&path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    fn event(second: i64, snapshot: bool, bid: bool, price: f64, amount: f64) -> BookChange {
        BookChange { time: UnixNanos(second * SECOND), snapshot, bid, price, amount }
    }

    fn day() -> (tempfile::TempDir, BookDay, Vec<BookChange>) {
        let events = vec![
            event(10, true, true, 9.0, 1.0),
            event(10, true, false, 11.0, 1.0),
            event(30, false, true, 9.5, 2.0),
            event(70, false, true, 9.0, 0.0),
            event(80, false, false, 10.5, 4.0),
            event(200, true, true, 8.0, 7.0),
            event(200, true, false, 12.0, 7.0),
        ];
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            "X",
            "A/B",
            UnixDay(0),
            &events,
            (BookSource::Snapshots25, &DumpOrigin::new("hash", 7, 0)),
        )
        .unwrap();
        let origin = read_origin(folder.path(), "X", "A/B", UnixDay(0));
        assert_eq!(origin, Some((BookSource::Snapshots25, DumpOrigin::new("hash", 7, 0))));
        assert_eq!(read_origin(folder.path(), "X", "A/B", UnixDay(1)), None);
        let books = read(&layout::file(folder.path(), MINUTES, "X", "A/B", UnixDay(0))).unwrap();
        let stored = read_events(&layout::file(folder.path(), EVENTS, "X", "A/B", UnixDay(0))).unwrap();
        assert_eq!(stored, events);
        (folder, books, events)
    }

    fn last(from: i64, to: i64, now: i64) -> Option<(Vec<PriceLevel>, Vec<PriceLevel>)> {
        let (_folder, books, events) = day();
        let book = books.last(Window { from, to }, UnixNanos(now * SECOND), || Ok(Arc::new(events))).unwrap()?;
        Some((book.bids, book.asks))
    }

    #[test]
    fn each_minute_ends_with_its_last_state() {
        assert_eq!(last(0, 60, 1_000), Some((vec![(9.5, 2.0), (9.0, 1.0)], vec![(11.0, 1.0)])));
        assert_eq!(last(60, 120, 1_000), Some((vec![(9.5, 2.0)], vec![(10.5, 4.0), (11.0, 1.0)])));
        assert_eq!(last(120, 180, 1_000), None);
        assert_eq!(last(0, 300, 1_000), Some((vec![(8.0, 7.0)], vec![(12.0, 7.0)]))); // a snapshot starts anew
    }

    #[test]
    fn a_book_that_ends_empty_hides_nothing_of_what_was_before() {
        let folder = tempfile::tempdir().unwrap();
        let events = [
            event(5, true, true, 9.0, 1.0),
            event(70, false, true, 9.5, 7.0),
            event(110, false, true, 9.0, 0.0),
            event(110, false, true, 9.5, 0.0),
        ];
        write(folder.path(), "X", "A", UnixDay(0), &events, (BookSource::Changes, &DumpOrigin::new("hash", 7, 0)))
            .unwrap();
        let books = read(&layout::file(folder.path(), MINUTES, "X", "A", UnixDay(0))).unwrap();
        let last = |to: i64, now: i64| {
            let events = || Ok(Arc::new(events.to_vec()));
            books.last(Window { from: 0, to }, UnixNanos(now * SECOND), events).unwrap().unwrap().bids
        };
        assert_eq!(last(120, 90), [(9.5, 7.0), (9.0, 1.0)]);
        assert_eq!(last(300, 200), []);
        assert_eq!(last(60, 200), [(9.0, 1.0)]);
    }

    #[test]
    fn nothing_of_the_future_is_seen() {
        assert_eq!(last(60, 120, 75), Some((vec![(9.5, 2.0)], vec![(11.0, 1.0)])));
        assert_eq!(last(60, 120, 65), None);
        assert_eq!(last(0, 120, 65), Some((vec![(9.5, 2.0), (9.0, 1.0)], vec![(11.0, 1.0)])));
        assert_eq!(last(0, 120, 5), None);
    }
}
