//! Dumps of trades, and of liquidations, which have the same form.
//!
//! Files of neighbouring days may hold the same trades, and each leaves out those that the store has from the other. So
//! when a file changes, such neighbours are read again with it, and all of them go into the store as one change.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::files::{self, PartitionPath, TradeFiles};
use super::overlap::REACH;
use super::streamed::Streamed;
use super::trade_row::{TRADE_COLUMNS, trade};
use super::{overlap, streamed, writer};
use crate::archive::{ArchiveError, Unplaced};
use crate::clock::UnixDay;
use crate::market::ingest::folders::DumpFile;
use crate::market::ingest::report::IngestReport;
use crate::market::ingest::task::{IngestRules, IngestTask, collect};
use crate::market::query::error::MarketError;
use crate::market::store::changes::Change;

/// Most passes over the overlapping files of a change; two are usually enough.
const MOST_PASSES: usize = 8;

/// Reads files into the store, unless the store holds them already; those of a market are adjacent.
pub(in crate::market) fn ingest_files(
    pair: TradeFiles,
    files: &[(PathBuf, DumpFile)],
    rules: IngestRules<'_>,
    report: &mut IngestReport,
) -> Result<(), MarketError> {
    let days: Vec<DayFile<'_>> = files.iter().filter_map(DayFile::of).collect();
    for files in days.chunk_by(|one, next| one.market == next.market) {
        let mut market = MarketFiles { pair, files, rules, tried: HashSet::new() };
        for first in 0..files.len() {
            market.change(first, report, MarketFiles::read_new)?;
            if report.interrupted {
                return Ok(());
            }
        }
        // Completes a change whose ingest was killed while it placed the files.
        for first in 0..files.len() {
            market.change(first, report, MarketFiles::read_outdated)?;
            if report.interrupted {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A dump file of a market's day.
struct DayFile<'a> {
    path: &'a Path,
    market: (&'a str, &'a str),
    day: UnixDay,
}

impl<'a> DayFile<'a> {
    fn of((path, dump): &'a (PathBuf, DumpFile)) -> Option<Self> {
        match dump {
            DumpFile::Day(exchange, symbol, day) => Some(Self { path, market: (exchange, symbol), day: *day }),
            DumpFile::Table(_) => None,
        }
    }
}

/// A change in preparation, and its part of the report once it is made.
#[derive(Default)]
struct PendingChange {
    change: Change,
    /// The days of its files.
    days: Vec<UnixDay>,
    report: IngestReport,
}

/// Reads a file into a change, by its index; returns whether the change now has it.
type Read<'a> = fn(&mut MarketFiles<'a>, usize, &mut PendingChange) -> Result<bool, MarketError>;

/// The files of a market, by day.
struct MarketFiles<'a> {
    pair: TradeFiles,
    files: &'a [DayFile<'a>],
    rules: IngestRules<'a>,
    /// Indices of the files that were read in this ingest, stored or rejected.
    tried: HashSet<usize>,
}

impl<'a> MarketFiles<'a> {
    /// Reads a file, and with it the neighbouring files that had left out trades because of its old content. All or
    /// none of them go into the store.
    fn change(&mut self, first: usize, report: &mut IngestReport, read: Read<'a>) -> Result<(), MarketError> {
        let mut pending = PendingChange::default();
        if !(self.rules.keep_going)() {
            report.interrupted = true;
            return Ok(());
        }
        let mut again = read(self, first, &mut pending)?;
        // A file that is read again may change what a third one, or the first, must leave out.
        for _ in 0..MOST_PASSES {
            if !again || pending.report.interrupted {
                break;
            }
            again = false;
            for other in 0..self.files.len() {
                let day = self.files[other].day;
                if pending.days.iter().any(|own| (own.0 - day.0).abs() <= REACH) {
                    again |= self.read_outdated(other, &mut pending)?;
                }
            }
        }
        let PendingChange { change, report: own, .. } = pending;
        if own.interrupted {
            // Nothing of this change is in the store.
            report.problems.extend(own.problems);
            report.interrupted = true;
            return Ok(());
        }
        if !change.is_empty() {
            change.place(self.rules.store)?;
        }
        report.add(own);
        Ok(())
    }

    /// Reads a file unless the store holds it already.
    fn read_new(&mut self, file: usize, pending: &mut PendingChange) -> Result<bool, MarketError> {
        if !self.tried.insert(file) {
            return Ok(false);
        }
        let PendingChange { change, report, .. } = pending;
        let (place, mut task) = self.task(file, change, report);
        let Some(hash) = task.fingerprint() else { return Ok(false) };
        if !task.is_new(files::read_origin(&place), &hash) {
            return Ok(false);
        }
        let files = read(&place, &mut task, &hash)?;
        Ok(self.put(file, files, pending))
    }

    /// Reads a file again that left out trades because of a neighbouring day's file that has changed since.
    fn read_outdated(&mut self, file: usize, pending: &mut PendingChange) -> Result<bool, MarketError> {
        // The file is in the report already, or will be when its turn comes.
        let mut scratch = IngestReport::default();
        let (place, mut task) = self.task(file, &pending.change, &mut scratch);
        if pending.report.interrupted || !overlap::is_outdated(&place) {
            return Ok(false);
        }
        if !(self.rules.keep_going)() {
            pending.report.interrupted = true;
            return Ok(false);
        }
        let Some(hash) = task.fingerprint() else {
            pending.report.interrupted |= scratch.interrupted;
            return Ok(false);
        };
        if files::read_origin(&place).is_none_or(|held| held.fingerprint != hash) {
            // The store has an older version of the file: the current one joins this change, unless it was rejected.
            return self.read_new(file, pending);
        }
        let files = read(&place, &mut task, &hash)?;
        pending.report.interrupted |= scratch.interrupted;
        Ok(self.put(file, files, pending))
    }

    fn task<'b>(
        &self,
        file: usize,
        change: &'b Change,
        report: &'b mut IngestReport,
    ) -> (PartitionPath<'b>, IngestTask<'b>)
    where
        'a: 'b,
    {
        let IngestRules { store, allow_fewer_rows, keep_going } = self.rules;
        let DayFile { path, market, day } = self.files[file];
        let place = PartitionPath { pair: self.pair, store, market, day, change };
        (place, IngestTask { file: path, store, report, keep_going, allow_fewer_rows, held: 0, good: 0, bad: 0 })
    }

    fn put(&self, file: usize, files: Option<[Unplaced; 2]>, pending: &mut PendingChange) -> bool {
        let Some(files) = files else { return false };
        for file in files {
            pending.change.add(file);
        }
        pending.days.push(self.files[file].day);
        true
    }
}

/// The store's files of a day; `None` when its dump is rejected.
fn read(
    place: &PartitionPath<'_>,
    task: &mut IngestTask<'_>,
    hash: &str,
) -> Result<Option<[Unplaced; 2]>, ArchiveError> {
    match streamed::trades(place, task, hash)? {
        Streamed::Taken(files) => return Ok(Some(files)),
        Streamed::Left => return Ok(None),
        Streamed::Unordered => {}
    }
    // Out of order: sorting needs the whole day in memory.
    let trades = collect(task, place.day, &TRADE_COLUMNS, trade, |trade| trade.time);
    trades.map(|trades| writer::write(place, &trades, &task.origin(hash))).transpose()
}
