//! Reads from a file only what some columns and rows need: first its end, whose checksum the ledger has; if rows are left
//! out, the times; then the blocks that the end names with their checksums.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;

use super::column_buffers::FEW;
use super::fault::ArchiveFault;
use super::ledger::{EndChecksum, LedgerPart};
use super::pack::{PackedSeries, TIME};
use super::part_file;
use super::scan::Scan;
use super::store::{ArchiveStore, FileRanges};
use crate::archive::file_bytes::FileBytes;
use crate::archive::parquet_ranges::{Block, FileEnd, ranges};
use crate::archive::parquet_values::ParquetValues;
use crate::clock::UnixNanos;

/// First bytes of a file that are read with its end.
const HEAD: u64 = 8 << 10;

/// A file of which a part is to be read.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) part: &'a LedgerPart,
    pub(super) end: &'a EndChecksum,
    /// Whether rows of the file are outside of the window.
    pub(super) is_cut: bool,
}

/// The part of a file that was read, not verified yet.
pub(super) struct PartialFile {
    pub(super) bytes: FileBytes,
    blocks: Vec<Block>,
    /// Whether the columns are complete; otherwise pages without rows of the window are missing.
    pub(super) has_all_rows: bool,
}

/// A file whose end was read.
struct Begun {
    about: FileEnd,
    names: HashSet<String>,
    /// Whether only pages with rows of the window are read.
    by_pages: bool,
    blocks: Vec<Block>,
    /// The ranges that were read.
    pieces: Vec<(u64, Bytes)>,
}

impl PartialFile {
    /// Whether everything that was read is what was written.
    pub(super) fn is_right(&self) -> bool {
        self.blocks.iter().all(|block| {
            let length = (block.range.end - block.range.start) as usize;
            self.bytes.get(block.range.start, length).is_some_and(|bytes| block.is(&bytes))
        })
    }
}

/// The wanted parts of some files; `None` for a file that is not what the ledger names.
pub(super) fn read(
    store: &dyn ArchiveStore,
    files: &[Wanted<'_>],
    scan: Scan<'_>,
) -> Result<Vec<Option<PartialFile>>, ArchiveFault> {
    let asked = files.iter().map(|wanted| wanted.ranges(wanted.first_ranges())).collect::<Vec<_>>();
    let ends = store.read_ranges(&asked)?;
    let mut begun: Vec<_> = files.iter().zip(ends).map(|(wanted, found)| begin(wanted, found?, scan)).collect();
    fill(store, files, &mut begun, Begun::times)?;
    fill(store, files, &mut begun, |begun, wanted| begun.values(wanted, scan))?;
    let partial = files.iter().zip(begun).map(|(wanted, begun)| {
        let Begun { pieces, blocks, by_pages, .. } = begun?;
        Some(PartialFile { bytes: FileBytes::of_pieces(wanted.part.bytes, pieces), blocks, has_all_rows: !by_pages })
    });
    Ok(partial.collect())
}

/// Reads the next blocks of some files; those that contradict themselves become `None`.
fn fill(
    store: &dyn ArchiveStore,
    files: &[Wanted<'_>],
    begun: &mut [Option<Begun>],
    next: impl Fn(&mut Begun, &Wanted<'_>) -> Option<Vec<Block>>,
) -> Result<(), ArchiveFault> {
    let mut asked = Vec::new();
    for (wanted, begun) in files.iter().zip(begun.iter_mut()) {
        let Some(file) = begun else { continue };
        match next(file, wanted) {
            None => *begun = None,
            Some(blocks) => {
                asked.push(wanted.ranges(ranges(&blocks)));
                file.blocks.extend(blocks);
            }
        }
    }
    let any = asked.iter().any(|file| !file.ranges.is_empty());
    let found = if any { store.read_ranges(&asked)? } else { asked.iter().map(|_| Some(Vec::new())).collect() };
    let left = begun.iter_mut().filter(|begun| begun.is_some());
    for ((begun, asked), found) in left.zip(asked).zip(found) {
        match (begun.as_mut(), found) {
            (Some(file), Some(found)) => {
                file.pieces.extend(asked.ranges.iter().map(|range| range.start).zip(found));
            }
            _ => *begun = None,
        }
    }
    Ok(())
}

/// Reads the end of a file; `None` if it is not what was written.
fn begin(wanted: &Wanted<'_>, mut found: Vec<Bytes>, scan: Scan<'_>) -> Option<Begun> {
    let end = found.pop().filter(|end| wanted.end.is(end))?;
    let (start, length) = (wanted.end_range().start, wanted.part.bytes);
    let mut pieces = vec![(start, end)];
    let about = FileEnd::open(&FileBytes::of_pieces(length, pieces.clone()), wanted.is_cut)?;
    let packed: Vec<PackedSeries> = part_file::packed(&about.metadata())?;
    let few = packed.len() <= FEW && packed.iter().all(PackedSeries::has_no_raw_values);
    let narrowed: Vec<PackedSeries> = packed.into_iter().map(|one| one.narrowed(scan.columns)).collect();
    let names: HashSet<String> =
        narrowed.iter().flat_map(PackedSeries::file_columns).chain([TIME]).map(str::to_owned).collect();
    // Rows are only left out of files whose values are put in preallocated columns.
    let by_pages = wanted.is_cut && few && about.are_numbers(|name| names.contains(name));
    let mut blocks = Vec::new();
    if let Some(head) = found.pop() {
        // Most times are few bytes, and the first column.
        let times = about.blocks(|name| name == TIME, None)?;
        let lie_in = |range: &Range<u64>| range.end <= head.len() as u64;
        let their = ranges(&times);
        if their.iter().all(lie_in) {
            let piece = |range: Range<u64>| (range.start, head.slice(range.start as usize..range.end as usize));
            pieces.extend(their.into_iter().map(piece));
            blocks = times;
        }
    }
    Some(Begun { about, names, by_pages, blocks, pieces })
}

impl Wanted<'_> {
    fn ranges(&self, ranges: Vec<Range<u64>>) -> FileRanges {
        FileRanges { name: self.name.to_owned(), length: self.part.bytes, ranges }
    }

    fn end_range(&self) -> Range<u64> {
        self.part.bytes.saturating_sub(self.end.bytes)..self.part.bytes
    }

    /// The end of the file, after its first bytes if times are needed before anything else.
    fn first_ranges(&self) -> Vec<Range<u64>> {
        let end = self.end_range();
        let head = 0..end.start.min(HEAD);
        let head = (self.is_cut && !head.is_empty()).then_some(head);
        head.into_iter().chain([end]).collect()
    }
}

impl Begun {
    /// The blocks of the times, if they are needed first and were not read yet.
    fn times(&mut self, _: &Wanted<'_>) -> Option<Vec<Block>> {
        if self.by_pages && self.blocks.is_empty() {
            self.about.blocks(|name| name == TIME, None)
        } else {
            Some(Vec::new())
        }
    }

    /// The blocks of everything else.
    fn values(&mut self, wanted: &Wanted<'_>, scan: Scan<'_>) -> Option<Vec<Block>> {
        let has_times = !self.blocks.is_empty();
        let rows = if self.by_pages { self.rows(wanted, scan) } else { None };
        self.by_pages = rows.is_some();
        self.about.blocks(|name| self.names.contains(name) && !(has_times && name == TIME), rows.as_deref())
    }

    /// The rows with times in the window.
    fn rows(&self, wanted: &Wanted<'_>, scan: Scan<'_>) -> Option<Vec<Range<usize>>> {
        let values = ParquetValues::open(FileBytes::of_pieces(wanted.part.bytes, self.pieces.clone()))?;
        let mut times = vec![0; values.rows()];
        values.integers(&values.leaf(TIME)?, 0..times.len(), &mut times).ok()?;
        let window = scan.window.nanos();
        let mut rows: Vec<Range<usize>> = Vec::new();
        for (row, _) in times.iter().enumerate().filter(|(_, time)| window.contains(&UnixNanos(**time))) {
            match rows.last_mut().filter(|last| last.end == row) {
                Some(last) => last.end += 1,
                None => rows.push(row..row + 1),
            }
        }
        Some(rows)
    }
}
