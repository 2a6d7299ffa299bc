//! The markets of a store, and the days for which it has files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layout::{self, Dataset};
use super::minutes::near;
use crate::clock::{UnixDay, UnixNanos, UnixSecond, Window};
use crate::market::raw::{Instrument, RawData, SourceError};

/// Days with a file, ascending, by kind.
pub(in crate::market) type Days = [Vec<UnixDay>; RawData::ALL.len()];

/// The markets and days of a store's files.
pub(in crate::market) struct Partitions {
    root: PathBuf,
    pub(in crate::market) instruments: Vec<Instrument>,
    /// Days by market.
    days: Vec<Days>,
}

impl Partitions {
    /// The markets of a store's folder, each with its days.
    pub(in crate::market) fn new(root: &Path, markets: Vec<(Instrument, Days)>) -> Self {
        let (instruments, days) = markets.into_iter().unzip();
        Self { root: root.to_owned(), instruments, days }
    }

    /// Days with a file of a kind, ascending.
    pub(in crate::market) fn days(&self, market: usize, kind: RawData) -> &[UnixDay] {
        &self.days[market][kind as usize]
    }

    /// The last day of any file.
    pub(in crate::market) fn last_day(&self) -> Option<UnixDay> {
        self.days.iter().flatten().flatten().copied().max()
    }

    /// The path of a market's file of a day.
    pub(in crate::market) fn file(&self, dataset: Dataset, market: usize, day: UnixDay) -> PathBuf {
        let instrument = &self.instruments[market];
        layout::file(&self.root, dataset, &instrument.exchange, &instrument.raw_symbol, day)
    }
}

/// Visits the events of day files with a time in a window, none after `now`, by time and then by file.
pub(in crate::market) fn in_order<T: Copy>(
    days: &[UnixDay],
    window: Window,
    now: UnixNanos,
    read: &dyn Fn(UnixDay) -> Result<Arc<Vec<T>>, SourceError>,
    time: fn(&T) -> UnixNanos,
    visit: &mut dyn FnMut(&T),
) -> Result<(), SourceError> {
    let times = window.nanos();
    let (first, last) = (times.start, times.end.plus(-1).min(now));
    // The next file may hold events of this day too, so they are buffered until it is read.
    let mut waiting: Vec<T> = Vec::new();
    for &day in near(days, window) {
        let events = read(day)?;
        let begin = events.partition_point(|event| time(event) < first);
        let end = events.partition_point(|event| time(event) <= last).max(begin);
        waiting.extend_from_slice(&events[begin..end]);
        // Stable, so that of events at one time those of the earlier file come first.
        waiting.sort_by_key(time);
        let ready = waiting.partition_point(|event| time(event) < day.nanos());
        waiting.drain(..ready).for_each(|event| visit(&event));
    }
    waiting.iter().for_each(visit);
    Ok(())
}

/// Whether an event lies in the minute that starts at `start`, and not after `now`.
pub(in crate::market) fn is_in(time: UnixNanos, start: UnixSecond, now: UnixNanos) -> bool {
    Window::between(start, start.plus(60)).contains(time.second()) && time <= now
}
