//! Reads the rows of a window from an archive's files: files are checked and opened in parallel; then the values of
//! several files at once are read into preallocated columns (`column_buffers`) or, if the files' columns differ,
//! decoded as series and joined.

use bytes::Bytes;

use super::archive::{AT_ONCE, Archive};
use super::column_buffers::{Open, PreallocatedRead, open};
use super::coverage::within;
use super::fault::ArchiveFault;
use super::key::ArchiveKey;
use super::ledger::{KeyLedger, LedgerPart, part_name};
use super::part_ranges::{self, PartialFile, Wanted};
use super::partition::named;
use super::rows::{contradiction, keep, without_empty};
use super::scan::Scan;
use super::{part_file, partition};
use crate::archive::file_bytes::FileBytes;
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

/// The largest file behind a network that is always read completely: one request less takes longer.
const SMALL_FAR: u64 = 64 << 10;

/// An existing file, with its values if they can be read into preallocated columns.
struct CheckedFile {
    partition: String,
    name: String,
    bytes: FileBytes,
    /// Whether rows outside of the window may be missing.
    has_all_rows: bool,
    open: Option<Open>,
}

/// A file as it was read, not verified yet.
enum FoundFile {
    Whole(Option<Bytes>),
    Partial(PartialFile),
}

/// The result of the files so far.
enum PartsRead {
    Placed(PreallocatedRead),
    Joined(Joiner),
}

/// What is read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    archive: &'a Archive,
    key: &'a ArchiveKey,
    ledger: &'a KeyLedger,
    scan: Scan<'a>,
    /// Rows of all files.
    rows: usize,
    /// The windows that were downloaded.
    asked: &'a [Window],
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
        let asked = ledger.asked();
        let reading = Reading { archive: self, key, ledger, scan, rows, asked: &asked };
        let (mut made, mut left) = (PartsRead::Placed(PreallocatedRead::expecting(rows)), &partitions[..]);
        while !left.is_empty() {
            let (some, rest) = left.split_at(at_once(ledger, left, most));
            made = made.with(reading.check(some)?, reading)?;
            left = rest;
        }
        let joined = made.into_joiner(rows).finish(key.is_unique());
        Ok(without_empty(joined.map_err(|both| contradiction(key, &both))?))
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
        bytes.map_or_else(|| Ok(Vec::new()), |bytes| series_within(name, bytes.into(), window.into()))
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
        if is(now) || next.is_some_and(is) { Ok(()) } else { Err(self.strange(key, name, now, bytes)) }
    }
}

impl Reading<'_> {
    /// Some files, each of which is named by the ledger or was just put in place by a writer; files that should not
    /// exist are left out.
    fn check(self, partitions: &[&String]) -> Result<Vec<CheckedFile>, ArchiveFault> {
        let files: Vec<(&str, String)> =
            partitions.iter().map(|partition| (partition.as_str(), part_name(self.key, partition))).collect();
        // Behind a network all are requested at once; locally, the thread that checks a file reads it, so that it stays
        // in the caches.
        let mut found = Vec::new();
        if !self.archive.store.is_local() {
            found = self.find(&files)?.into_iter().map(Some).collect();
        }
        found.resize_with(files.len(), || None);
        let threads = parallel::threads(bytes_of(self.ledger, partitions) as usize);
        let each = files.into_iter().zip(found).collect();
        let checked = parallel::map(threads.min(partitions.len()), each, |(file, found)| {
            let found = match found {
                Some(found) => found,
                None => self.find(std::slice::from_ref(&file))?.pop().unwrap_or(FoundFile::Whole(None)),
            };
            self.verified(file, found)
        });
        checked.into_iter().filter_map(Result::transpose).collect()
    }

    /// Reads some files: of each what is needed, or everything.
    fn find(self, files: &[(&str, String)]) -> Result<Vec<FoundFile>, ArchiveFault> {
        let wanted: Vec<_> = files.iter().map(|(partition, name)| self.wanted(partition, name)).collect();
        let some: Vec<Wanted<'_>> = wanted.iter().flatten().copied().collect();
        let mut partial = part_ranges::read(&*self.archive.store, &some, self.scan)?.into_iter();
        // What is not as expected is read completely, which tells what it is.
        let partial: Vec<_> = wanted.iter().map(|wanted| wanted.and_then(|_| partial.next().flatten())).collect();
        let rest = files.iter().zip(&partial).filter(|(_, partial)| partial.is_none());
        let rest: Vec<String> = rest.map(|((_, name), _)| name.clone()).collect();
        let mut whole = self.archive.store.read_all(&rest)?.into_iter();
        let found = partial.into_iter().map(|partial| {
            let whole = || FoundFile::Whole(whole.next().flatten().map(|found| found.bytes));
            partial.map_or_else(whole, FoundFile::Partial)
        });
        Ok(found.collect())
    }

    /// What is needed of a file, if that is not everything.
    fn wanted<'a>(&'a self, partition: &str, name: &'a str) -> Option<Wanted<'a>> {
        let part = self.ledger.parts.get(partition).filter(|_| !self.ledger.pending.contains_key(partition))?;
        let end = part.end.as_ref().filter(|_| self.archive.store.is_local() || part.bytes > SMALL_FAR)?;
        let Window { from, to } = self.scan.window;
        let own = within(self.asked, named(self.key, partition)?);
        let is_cut = own.iter().any(|own| own.from < from || to < own.to);
        (is_cut || self.scan.columns.is_some()).then_some(Wanted { name, part, end, is_cut })
    }

    /// A file that is what was written, opened; `None` if there is none and none should be.
    fn verified(self, file: (&str, String), found: FoundFile) -> Result<Option<CheckedFile>, ArchiveFault> {
        let (partition, name) = (file.0.to_owned(), file.1);
        let (bytes, has_all_rows) = match found {
            FoundFile::Partial(partial) if partial.is_right() => (Some(partial.bytes), partial.has_all_rows),
            FoundFile::Partial(_) => (self.whole(&partition, &name)?, true),
            FoundFile::Whole(bytes) => {
                self.archive.is_named(self.key, self.ledger, &partition, &name, bytes.as_ref())?;
                (bytes.map(FileBytes::from), true)
            }
        };
        Ok(bytes.map(|bytes| CheckedFile { open: open(&bytes, self.scan), partition, name, bytes, has_all_rows }))
    }

    /// Reads a complete file.
    fn whole(self, partition: &str, name: &str) -> Result<Option<FileBytes>, ArchiveFault> {
        let bytes = self.archive.store.read(name)?.map(|found| found.bytes);
        self.archive.is_named(self.key, self.ledger, partition, name, bytes.as_ref())?;
        Ok(bytes.map(FileBytes::from))
    }

    /// The rows of a window in a checked file.
    fn series(self, file: CheckedFile) -> Result<Vec<Series>, ArchiveFault> {
        let bytes = if file.has_all_rows { Some(file.bytes) } else { self.whole(&file.partition, &file.name)? };
        bytes.map_or_else(|| Ok(Vec::new()), |bytes| series_within(&file.name, bytes, self.scan))
    }
}

impl PartsRead {
    /// Adds the next files' rows.
    fn with(self, files: Vec<CheckedFile>, reading: Reading<'_>) -> Result<Self, ArchiveFault> {
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
            made = made.with_some(some, reading)?;
        }
        Ok(made)
    }

    fn with_some(mut self, mut files: Vec<CheckedFile>, reading: Reading<'_>) -> Result<Self, ArchiveFault> {
        if let Self::Placed(placing) = &mut self {
            let open: Option<Vec<Open>> = files.iter_mut().map(|file| file.open.take()).collect();
            if open.is_some_and(|open| placing.add(&open)) {
                return Ok(self);
            }
        }
        let mut joiner = self.into_joiner(reading.rows);
        let size = files.iter().map(|file| file.bytes.held()).sum();
        let threads = parallel::threads(size).min(files.len());
        for series in parallel::map(threads, files, |file| reading.series(file)) {
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
fn series_within(name: &str, bytes: FileBytes, scan: Scan<'_>) -> Result<Vec<Series>, ArchiveFault> {
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
