//! Reads the rows of a window from an archive's files: files are checked and opened in parallel; then the values of
//! several files at once are read into preallocated columns (`column_buffers`) or, if the files' columns differ,
//! decoded as series and joined.

use bytes::Bytes;

use super::archive::{AT_ONCE, Archive};
use super::column_buffers::{Open, Placing, open};
use super::fault::ArchiveFault;
use super::key::ArchiveKey;
use super::ledger::{self, KeyLedger, LedgerPart};
use super::rows::{contradiction, keep, without_empty};
use super::scan::Scan;
use super::{part_file, partition};
use crate::clock::Window;
use crate::columns::{Joiner, Series, pages, parallel};

/// Approximate number of bytes of files in memory before they are decoded: few enough for the CPU caches.
const BYTES_AT_ONCE: u64 = 12 << 20;
/// And this fraction of the total: values take several times as much as their files, and the rest is to be small.
const SHARE: u64 = 6;
/// But no less: processors that wait for each other after every file are no faster than one.
const LEAST_AT_ONCE: u64 = 4 << 20;
/// The same for files behind a network: many requests must be in flight.
const BYTES_AT_ONCE_FAR: u64 = 64 << 20;

/// Approximate ratio of the size of values to that of their files.
const DENSE: u64 = 4;

/// An existing file, with its values if they can be read into preallocated columns.
struct CheckedFile {
    name: String,
    bytes: Bytes,
    open: Option<Open>,
}

/// The result of the files so far.
enum PartsRead {
    Placed(Placing),
    Joined(Joiner),
}

impl Archive {
    /// The rows of a window from its files.
    pub(super) fn read_parts(
        &self,
        key: &ArchiveKey,
        ledger: &KeyLedger,
        scan: Scan<'_>,
    ) -> Result<Vec<Series>, ArchiveFault> {
        let touched = |name: &&String| partition::touches(key, name, scan.window);
        let mut partitions: Vec<&String> = ledger.parts.keys().chain(ledger.pending.keys()).filter(touched).collect();
        partitions.sort_unstable();
        partitions.dedup();
        let rows = partitions.iter().filter_map(|name| ledger.parts.get(*name)).map(|part| part.rows as usize).sum();
        let all = bytes_of(ledger, &partitions);
        let most =
            if self.store.is_local() { (all / SHARE).clamp(LEAST_AT_ONCE, BYTES_AT_ONCE) } else { BYTES_AT_ONCE_FAR };
        // Memory for files, and for columns that take several times as much, is reused.
        pages::expect_some_of(all.saturating_mul(DENSE) as usize);
        let (mut made, mut left) = (PartsRead::Placed(Placing::expecting(rows)), &partitions[..]);
        while !left.is_empty() {
            let (some, rest) = left.split_at(at_once(ledger, left, most));
            made = made.with(self.check(key, ledger, some, scan)?, scan, rows)?;
            left = rest;
        }
        let joined = made.into_joiner(rows).finish(key.is_unique());
        Ok(without_empty(joined.map_err(|both| contradiction(key, &both))?))
    }

    /// Some files, each of which is named by the ledger or was just put in place by a writer; files that should not
    /// exist are left out.
    fn check(
        &self,
        key: &ArchiveKey,
        ledger: &KeyLedger,
        partitions: &[&String],
        scan: Scan<'_>,
    ) -> Result<Vec<CheckedFile>, ArchiveFault> {
        let names: Vec<String> = partitions.iter().map(|partition| ledger::part_name(key, partition)).collect();
        // Behind a network all are requested at once; locally, the thread that checks a file reads it, so that it stays
        // in the caches.
        let mut found = Vec::new();
        if !self.store.is_local() {
            found = self.store.read_all(&names)?.into_iter().map(Some).collect();
        }
        found.resize_with(names.len(), || None);
        let threads = parallel::threads(bytes_of(ledger, partitions) as usize);
        let each = partitions.iter().zip(names).zip(found).collect();
        let checked = parallel::map(threads.min(partitions.len()), each, |((partition, name), found)| {
            let found = found.map_or_else(|| self.store.read(&name), Ok)?;
            let bytes = found.map(|found| found.bytes);
            self.is_named(key, ledger, partition, &name, bytes.as_ref())?;
            Ok(bytes.map(|bytes| CheckedFile { open: open(&bytes, scan), bytes, name }))
        });
        checked.into_iter().filter_map(Result::transpose).collect()
    }

    /// The rows of a window in one file, which is named by the ledger or was just put in place by a writer.
    pub(super) fn read_part(
        &self,
        key: &ArchiveKey,
        ledger: &KeyLedger,
        partition: &str,
        name: &str,
        bytes: Option<Bytes>,
        window: Window,
    ) -> Result<Vec<Series>, ArchiveFault> {
        self.is_named(key, ledger, partition, name, bytes.as_ref())?;
        bytes.map_or_else(|| Ok(Vec::new()), |bytes| series_within(name, bytes, window.into()))
    }

    /// Refuses a file that is neither named by the ledger nor was just put in place by a writer.
    fn is_named(
        &self,
        key: &ArchiveKey,
        ledger: &KeyLedger,
        partition: &str,
        name: &str,
        bytes: Option<&Bytes>,
    ) -> Result<(), ArchiveFault> {
        let is = |part: Option<&LedgerPart>| match (part, bytes) {
            (Some(part), Some(bytes)) => part.is(bytes),
            (part, bytes) => part.is_none() && bytes.is_none(),
        };
        let now = ledger.parts.get(partition);
        let next = ledger.pending.get(partition).map(|next| next.part.as_ref());
        if is(now) || next.is_some_and(is) { Ok(()) } else { Err(self.strange(key, name, bytes)) }
    }
}

impl PartsRead {
    /// Adds the next files' rows.
    fn with(self, files: Vec<CheckedFile>, scan: Scan<'_>, rows: usize) -> Result<Self, ArchiveFault> {
        let mut made = self;
        let mut left = files.into_iter().peekable();
        while left.peek().is_some() {
            let mut some = Vec::new();
            for next in left.by_ref() {
                let ends = next.open.as_ref().is_none_or(Open::has_cut_lists);
                some.push(next);
                if ends {
                    break;
                }
            }
            made = made.with_some(some, scan, rows)?;
        }
        Ok(made)
    }

    fn with_some(mut self, mut files: Vec<CheckedFile>, scan: Scan<'_>, rows: usize) -> Result<Self, ArchiveFault> {
        if let Self::Placed(placing) = &mut self {
            let open: Option<Vec<Open>> = files.iter_mut().map(|file| file.open.take()).collect();
            if open.is_some_and(|open| placing.add(&open)) {
                return Ok(self);
            }
        }
        let mut joiner = self.into_joiner(rows);
        let size = files.iter().map(|file| file.bytes.len()).sum();
        let decoded = parallel::map(parallel::threads(size).min(files.len()), files, |file| {
            series_within(&file.name, file.bytes, scan)
        });
        for series in decoded {
            joiner.add(series?);
        }
        Ok(Self::Joined(joiner))
    }

    fn into_joiner(self, rows: usize) -> Joiner {
        match self {
            Self::Joined(joiner) => joiner,
            Self::Placed(placing) => {
                let mut joiner = Joiner::expecting(rows);
                let placed = placing.finish();
                if !placed.is_empty() {
                    joiner.add(placed);
                }
                joiner
            }
        }
    }
}

/// The rows of a window in a file whose checksum is right.
fn series_within(name: &str, bytes: Bytes, scan: Scan<'_>) -> Result<Vec<Series>, ArchiveFault> {
    let mut series = part_file::series(name, bytes, scan.columns)?;
    for one in &mut series {
        keep(one, &[scan.window], true);
    }
    Ok(series)
}

/// How many of the next files are read into memory at once.
fn at_once(ledger: &KeyLedger, partitions: &[&String], most: u64) -> usize {
    let fit = |count: &usize| bytes_of(ledger, &partitions[..*count]) <= most;
    let count = (1..=partitions.len().min(AT_ONCE)).take_while(fit).last().unwrap_or(1);
    // The same number for each processor: somewhat more bytes than intended, but never too many files.
    let threads = parallel::threads(bytes_of(ledger, partitions) as usize);
    let rounded = count.next_multiple_of(threads);
    let even = if rounded <= AT_ONCE || count < threads { rounded } else { count - count % threads };
    even.min(partitions.len())
}

fn bytes_of(ledger: &KeyLedger, partitions: &[&String]) -> u64 {
    let bytes = |name: &&String| ledger.parts.get(*name).map_or(0, |part| part.bytes);
    partitions.iter().map(bytes).fold(0, u64::saturating_add)
}
