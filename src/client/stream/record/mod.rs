//! Records a stream as raw dumps, a file a day, in the layout that the ingest reads (docs/dumps.md), with a log of when
//! channels were open and where events may be missing.

mod book;
mod book_form;
mod row_prefix;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::json;

use self::book::Sides;
use self::row_prefix::RowPrefix;
use self::rows::{RecordedDump, RecordedRow};
use super::event::Event;
use super::gap::Gap;
use crate::archive::{ArchiveError, LinesFile};
use crate::client::error::ClientError;
use crate::clock::{SharedClock, UnixDay, UnixNanos};
use crate::protocol::dump::RECORDING;
use crate::protocol::redacted;
use crate::protocol::stream::{Channel, ChannelKind, Family};

/// First line of the recording's log.
const ABOUT: &str = "{\"format\":\"marketpoints recording\",\"version\":1}\n";
/// Most files open at a time: a process is often limited to about a thousand.
const MOST_OPEN: usize = 200;
/// Number of rows at a file's end whose ids are read when it is opened again.
const MOST_KNOWN: usize = 2_000;
/// Longest exchange or symbol that is used as a folder's name, in bytes.
const LONGEST_NAME: usize = 200;

/// The file that an event belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct DayKey {
    dump: RecordedDump,
    exchange: String,
    symbol: String,
    /// Unix day.
    day: UnixDay,
}

impl DayKey {
    /// The folders that its file lies in.
    fn folders(&self) -> [&str; 3] {
        [self.dump.folder(), &self.exchange, &self.symbol]
    }

    /// Name of its file.
    fn file(&self) -> String {
        let date = Timestamp::from_second(self.day.second().0);
        let date = date.map_or_else(|_| self.day.0.to_string(), |time| time.strftime("%F").to_string());
        format!("{date}.csv")
    }
}

/// A day's open file.
struct Day {
    file: LinesFile,
    /// Rows that are not written yet, and their number.
    pending: String,
    pending_rows: u64,
    /// Ids of the last rows when the file was opened, because a new connection replays recent events.
    known: HashSet<String>,
    /// The book as recorded in the file.
    sides: Option<Sides>,
    /// Whether the next row must not be a snapshot, because it would be read as part of the one before.
    after_snapshot: bool,
    used: u64,
}

#[derive(Default)]
struct RecorderState {
    days: HashMap<DayKey, Day>,
    turn: u64,
    rows: u64,
    left_out: u64,
    /// The channels that were opened, by the connection that they share, and the time of the last event since, or of their
    /// opening.
    opened: BTreeMap<Family, (serde_json::Value, UnixNanos)>,
    closed: bool,
}

/// Records streams into a folder.
pub(super) struct Recorder {
    folder: PathBuf,
    /// Clock for the rows' time of arrival.
    clock: SharedClock,
    /// Symbols that are recorded, by exchange: events of other markets are ignored.
    markets: HashMap<String, HashSet<String>>,
    state: Mutex<RecorderState>,
}

impl Recorder {
    /// A recorder of these channels. Nothing is written yet.
    ///
    /// # Errors
    /// A channel whose events are no raw data, or whose exchange or symbol is not a valid folder name; an order book in
    /// another form than the folder's, or in two.
    pub(super) fn new<'a>(
        folder: &Path,
        channels: impl IntoIterator<Item = &'a Channel> + Clone,
        clock: SharedClock,
    ) -> Result<Self, ClientError> {
        book_form::check(folder, channels.clone())?;
        let mut markets: HashMap<String, HashSet<String>> = HashMap::new();
        for channel in channels {
            markets.entry(channel.exchange.clone()).or_default().insert(channel.symbol.clone());
            if ChannelKind::find(&channel.kind).and_then(RecordedDump::of).is_none() {
                let kinds = RecordedDump::KINDS.map(|kind| kind.spec().name).join(", ");
                let problem = format!(
                    "record: {} is no raw data that can be ingested; record {kinds}, of which the service makes the rest",
                    channel.kind
                );
                return Err(ClientError::invalid(problem));
            }
            if let Some(name) = [&channel.exchange, &channel.symbol].into_iter().find(|name| !is_name(name)) {
                let problem = format!("record: {} can be no folder's name", redacted(name));
                return Err(ClientError::invalid(problem));
            }
        }
        Ok(Self { folder: folder.to_owned(), clock, markets, state: Mutex::default() })
    }

    /// Rows written so far.
    pub(super) fn rows(&self) -> u64 {
        self.state().rows
    }

    /// Events that could not be recorded.
    pub(super) fn left_out(&self) -> u64 {
        self.state().left_out
    }

    /// Records that the channels of a connection are open from `time` on, by the service's clock.
    ///
    /// # Errors
    /// The folder cannot be written, or another recording writes there.
    pub(super) fn opened(&self, channels: &[Channel], time: UnixNanos) -> Result<(), ArchiveError> {
        let mut state = self.state();
        if state.closed {
            return Ok(());
        }
        // Before anything is noted: a recording that is refused is none.
        for channel in channels {
            if let Some(dump) = ChannelKind::find(&channel.kind).and_then(RecordedDump::of) {
                let (exchange, symbol) = (channel.exchange.clone(), channel.symbol.clone());
                let key = DayKey { dump, exchange, symbol, day: time.day() };
                if self.folder.join(key.folders().join("/")).join(key.file()).exists() {
                    self.day(&mut state, &key)?;
                    state.close_some();
                }
            }
        }
        let family = channels.first().map(Channel::family);
        let channels = channels.iter().map(Channel::to_json).collect::<serde_json::Value>();
        self.note(&json!({"opened": spelt(time), "channels": channels}))?;
        state.opened.extend(family.map(|family| (family, (channels, time))));
        Ok(())
    }

    /// Records a gap.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn gap(&self, gap: &Gap) -> Result<(), ArchiveError> {
        let channels: Vec<_> = gap.channels.iter().map(Channel::to_json).collect();
        self.note(&json!({
            "gap": [spelt(gap.from), spelt(gap.to)], "reason": gap.reason, "channels": channels,
        }))
    }

    /// Writes events, all rows of a file at once.
    ///
    /// # Errors
    /// A file cannot be written, or is not one of a recording.
    pub(super) fn events(&self, events: &[Event]) -> Result<(), ArchiveError> {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.closed {
            return Ok(());
        }
        let now = self.clock.now();
        let mut touched = Vec::new();
        let mut outcome = events.iter().try_for_each(|event| {
            let Some((key, row)) = placed(event).filter(|(key, _)| self.is_asked(key)) else {
                state.left_out += 1;
                return Ok(());
            };
            if let Some((_, last)) = state.opened.get_mut(&Family::of(event.kind())) {
                *last = row.time.max(*last);
            }
            let day = self.day(state, &key)?;
            let begun = day.pending.is_empty();
            day.pending_rows += day.add(&key, &row, now);
            if begun && !day.pending.is_empty() {
                touched.push(key);
            }
            Ok(())
        });
        // Where one file fails, the rows of the others are written all the same.
        for key in touched {
            if let Some(day) = state.days.get_mut(&key) {
                let (rows, count) = (std::mem::take(&mut day.pending), std::mem::take(&mut day.pending_rows));
                match day.file.append(rows.as_bytes()) {
                    Ok(()) => state.rows += count,
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
        }
        state.close_some();
        outcome
    }

    /// Closes the files, once a write under way is done, so that another recording may continue them, and notes until when
    /// there are events. Nothing is recorded after it, nor handed out.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.days.clear();
        for (channels, last) in std::mem::take(&mut state.opened).into_values() {
            // Where it cannot be written, it is as after a program that was killed: the last rows say it.
            let _ = self.note(&json!({"ended": spelt(last), "channels": channels}));
        }
    }

    fn is_asked(&self, key: &DayKey) -> bool {
        self.markets.get(&key.exchange).is_some_and(|symbols| symbols.contains(&key.symbol))
    }

    /// The file of a market and day, opened if needed.
    fn day<'a>(&self, state: &'a mut RecorderState, key: &DayKey) -> Result<&'a mut Day, ArchiveError> {
        state.turn += 1;
        let day = match state.days.entry(key.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(free) => {
                let (file, tail) = LinesFile::open_below(&self.folder, &key.folders(), &key.file(), key.dump.header())?;
                free.insert(Day::of(file, key.dump, &tail))
            }
        };
        day.used = state.turn;
        Ok(day)
    }

    fn note(&self, line: &serde_json::Value) -> Result<(), ArchiveError> {
        LinesFile::add_line(&self.folder.join(RECORDING), ABOUT, &line.to_string())
    }

    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecorderState {
    /// If too many files are open, closes those that were used least recently.
    fn close_some(&mut self) {
        if self.days.len() > MOST_OPEN {
            let mut used: Vec<u64> = self.days.values().map(|day| day.used).collect();
            used.sort_unstable();
            let first = used[used.len() - MOST_OPEN / 2];
            self.days.retain(|_, day| day.used >= first);
        }
    }
}

impl Day {
    fn of(file: LinesFile, dump: RecordedDump, tail: &str) -> Self {
        Self {
            file,
            pending: String::new(),
            pending_rows: 0,
            known: if dump.has_ids() {
                tail.lines().rev().take(MOST_KNOWN).map(rows::id_of).map(str::to_owned).collect()
            } else {
                HashSet::new()
            },
            sides: None,
            after_snapshot: tail.lines().next_back().is_some_and(book::is_of_snapshot),
            used: 0,
        }
    }

    /// Adds the rows of an event to the pending ones; returns their number.
    fn add(&mut self, key: &DayKey, row: &RecordedRow<'_>, now: UnixNanos) -> u64 {
        let DayKey { exchange, symbol, .. } = key;
        let begin = RowPrefix { exchange, symbol, time: row.time, now };
        match &row.what {
            rows::RowPayload::Trade { id, .. } if self.known.contains(*id) && !id.is_empty() => 0,
            rows::RowPayload::Book { bids, asks } => match &mut self.sides {
                Some(sides) => sides.changes(bids, asks, &begin, &mut self.pending),
                None => {
                    let rows = book::snapshot(bids, asks, self.after_snapshot, &begin, &mut self.pending);
                    // An empty book has no rows, and so cannot start a file.
                    self.sides = (rows > 0).then(|| Sides::of(bids, asks));
                    rows
                }
            },
            other => other.write(&begin, &mut self.pending),
        }
    }
}

/// The file and the row of an event; `None` if it cannot be a row.
fn placed(event: &Event) -> Option<(DayKey, RecordedRow<'_>)> {
    let dump = ChannelKind::find(event.kind()).and_then(RecordedDump::of)?;
    let (exchange, symbol) = (event.exchange(), event.symbol());
    let row = RecordedRow::of(dump, event)?;
    let day = row.time.day();
    let key = || DayKey { dump, exchange: exchange.to_owned(), symbol: symbol.to_owned(), day };
    (is_name(exchange) && is_name(symbol)).then(|| (key(), row))
}

/// Whether a name can be used as a folder's name and as a field of a row.
fn is_name(name: &str) -> bool {
    let fits = |letter: char| !letter.is_control() && !matches!(letter, '/' | '\\' | ',' | '"');
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('.') && name.chars().all(fits)
}

fn spelt(time: UnixNanos) -> String {
    Timestamp::from_nanosecond(i128::from(time.0)).map_or_else(|_| time.0.to_string(), |time| time.to_string())
}
