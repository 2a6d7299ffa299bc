//! The rows of a window from an archive's files: each is checked and opened on whatever processor is free; then the values of
//! some files at once are put in their places (`placing`), or, where files are not alike, made series and joined.

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

/// Bytes of files that are in memory at once before they are decoded, about: so few are still in the processor's caches.
const BYTES_AT_ONCE: u64 = 12 << 20;
/// And this part of all: values take several times as much as their files, and what is beside them is to be little.
const SHARE: u64 = 6;
/// But not fewer: processors that wait for each other after every file read no faster than one.
const LEAST_AT_ONCE: u64 = 4 << 20;
/// The same where each answer comes over a network: many must be under way.
const BYTES_AT_ONCE_FAR: u64 = 64 << 20;

/// How many times as much as their files values take, about.
const DENSE: u64 = 4;

/// A file that is there, with its values as far as they can be put in their places.
struct CheckedFile {
    name: String,
    bytes: Bytes,
    open: Option<Open>,
}

/// What is made of the files so far.
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
        // Files, and columns that take several times as much, are cut from memory that is there already.
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

    /// Some files, each of which is what the ledger names or what a writer has just put in its place; without those that are
    /// not to be there.
    fn check(
        &self,
        key: &ArchiveKey,
        ledger: &KeyLedger,
        partitions: &[&String],
        scan: Scan<'_>,
    ) -> Result<Vec<CheckedFile>, ArchiveFault> {
        let names: Vec<String> = partitions.iter().map(|partition| ledger::part_name(key, partition)).collect();
        // Behind a network all are asked at once; here, whoever checks a file reads it: it is still in the caches.
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

    /// The rows of a window in one file, which is what the ledger names or what a writer has just put in its place.
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

    /// Refuses a file that neither the ledger names nor a writer has just put in its place.
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
    /// What is made with the next files' rows.
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

/// How many of the next files are in memory at once, of so many bytes.
fn at_once(ledger: &KeyLedger, partitions: &[&String], most: u64) -> usize {
    let fit = |count: &usize| bytes_of(ledger, &partitions[..*count]) <= most;
    let count = (1..=partitions.len().min(AT_ONCE)).take_while(fit).last().unwrap_or(1);
    // As many for each processor: some more than the bytes that were meant, never more files than are to be at once.
    let threads = parallel::threads(bytes_of(ledger, partitions) as usize);
    let rounded = count.next_multiple_of(threads);
    let even = if rounded <= AT_ONCE || count < threads { rounded } else { count - count % threads };
    even.min(partitions.len())
}

fn bytes_of(ledger: &KeyLedger, partitions: &[&String]) -> u64 {
    let bytes = |name: &&String| ledger.parts.get(*name).map_or(0, |part| part.bytes);
    partitions.iter().map(bytes).fold(0, u64::saturating_add)
}
