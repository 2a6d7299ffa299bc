//! Which byte ranges of a Parquet file some columns and rows take, and their checksums: each column chunk is hashed in
//! blocks, and the file's metadata name the hashes, so that a reader verifies what it reads without the rest.

use std::ops::Range;

use bytes::Bytes;
use parquet::basic::Type as Physical;
use parquet::file::metadata::page_index::RowGroupPageIndex;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::file_bytes::FileBytes;
use super::parquet_read::{guarded, pairs};
use super::table::Metadata;

/// Name of the checksums in a file's metadata.
const CHECKSUMS: &str = "marketpoints.checksums";
/// Bytes of a column chunk that are hashed together: few enough that some pages can be read alone.
const BLOCK: u64 = 32 << 10;
/// Digits of a hash.
const DIGITS: usize = 16;

/// The checksums of a file's column chunks.
#[derive(Debug, Serialize, Deserialize)]
struct ChunkChecksums {
    /// Bytes of a block; the last one of a chunk has fewer.
    block: u64,
    /// For each column chunk, row group by row group, the XXH3 (64 bits) of each of its blocks, in hexadecimal digits.
    xxh3: Vec<String>,
}

/// A part of a column chunk that is hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) range: Range<u64>,
    xxh3: String,
}

impl Block {
    /// Whether these are the bytes that were written.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.xxh3 == xxh3(bytes)
    }
}

fn xxh3(bytes: &[u8]) -> String {
    format!("{:0DIGITS$x}", XxHash3_64::oneshot(bytes))
}

/// The checksums of column chunks that were just written, as an entry of the file's metadata.
pub(super) fn checksums(bytes: &[u8], groups: &[RowGroupMetaData]) -> Option<(String, String)> {
    let digits = |range: Range<u64>| {
        let chunk = bytes.get(range.start as usize..range.end as usize)?;
        Some(chunk.chunks(BLOCK as usize).map(xxh3).collect())
    };
    let xxh3 = chunks(groups).map(digits).collect::<Option<_>>()?;
    let text = serde_json::to_string(&ChunkChecksums { block: BLOCK, xxh3 }).ok()?;
    Some((CHECKSUMS.to_owned(), text))
}

/// The byte ranges of all column chunks.
fn chunks(groups: &[RowGroupMetaData]) -> impl Iterator<Item = Range<u64>> {
    groups.iter().flat_map(RowGroupMetaData::columns).map(|column| {
        let (start, length) = column.byte_range();
        start..start.saturating_add(length)
    })
}

/// What a file says at its end, after the column chunks: the page index and the footer.
pub(super) struct FileEnd {
    footer: ParquetMetaData,
    checksums: ChunkChecksums,
}

impl FileEnd {
    /// Reads the end of a file; `None` if it is damaged or names no checksums.
    pub(super) fn open(bytes: &FileBytes, with_pages: bool) -> Option<Self> {
        let policy = if with_pages { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        let reader = ParquetMetaDataReader::new().with_page_index_policy(policy);
        let footer = guarded(|| reader.parse_and_finish(bytes)).ok()?;
        let pairs = footer.file_metadata().key_value_metadata()?;
        let text = pairs.iter().find(|pair| pair.key == CHECKSUMS)?.value.as_ref()?;
        let checksums: ChunkChecksums = serde_json::from_str(text).ok()?;
        (checksums.block > 0).then_some(Self { footer, checksums })
    }

    /// The length of the end of a complete file, if it names the right checksums of everything before it.
    pub(super) fn length_of(bytes: &Bytes) -> Option<u64> {
        let whole = FileBytes::from(bytes.clone());
        let end = Self::open(&whole, false)?;
        let right = |block: &Block| {
            let found = whole.get(block.range.start, usize::try_from(block.range.end - block.range.start).ok()?)?;
            Some(block.is(&found))
        };
        let blocks = end.blocks(|_| true, None)?;
        let last = chunks(end.footer.row_groups()).map(|chunk| chunk.end).max().unwrap_or(0);
        let fits = blocks.iter().all(|block| right(block) == Some(true));
        (fits && last < bytes.len() as u64).then(|| bytes.len() as u64 - last)
    }

    pub(super) fn metadata(&self) -> Metadata {
        pairs(&self.footer)
    }

    /// Whether all of some columns are numbers or times.
    pub(super) fn are_numbers(&self, wanted: impl Fn(&str) -> bool) -> bool {
        let fields = self.footer.file_metadata().schema_descr();
        let mut wanted = fields.columns().iter().filter(|column| wanted(&column.path().parts()[0]));
        wanted.all(|column| matches!(column.physical_type(), Physical::DOUBLE | Physical::INT64))
    }

    /// The blocks that some columns take, in order: of all rows, or of the pages with some rows of the file. `None` if the
    /// file contradicts itself.
    pub(super) fn blocks(&self, wanted: impl Fn(&str) -> bool, rows: Option<&[Range<usize>]>) -> Option<Vec<Block>> {
        let fields = self.footer.file_metadata().schema_descr();
        let (groups, columns) = (self.footer.row_groups(), fields.num_columns());
        if self.checksums.xxh3.len() != groups.len() * columns {
            return None;
        }
        let (mut blocks, mut first) = (Vec::new(), 0);
        for (number, group) in groups.iter().enumerate() {
            let index = self.footer.page_index_for_row_group(number);
            let own = first..first + group.num_rows();
            for place in (0..columns).filter(|&place| wanted(&fields.column(place).path().parts()[0])) {
                let (start, length) = group.column(place).byte_range();
                let chunk = start..start.checked_add(length)?;
                let pages = rows.and_then(|rows| pages_of(&index, place, &chunk, &own, rows));
                let digits = self.checksums.xxh3.get(number * columns + place)?;
                blocks.extend(self.blocks_of(&chunk, &pages.unwrap_or_else(|| vec![chunk.clone()]), digits)?);
            }
            first = own.end;
        }
        Some(blocks)
    }

    /// The blocks of a column chunk that touch some ranges.
    fn blocks_of(&self, chunk: &Range<u64>, ranges: &[Range<u64>], digits: &str) -> Option<Vec<Block>> {
        let size = self.checksums.block;
        let all = (chunk.end - chunk.start).div_ceil(size);
        if digits.len() as u64 != all.checked_mul(DIGITS as u64)? {
            return None;
        }
        let mut blocks = Vec::new();
        for (number, start) in (chunk.start..chunk.end).step_by(usize::try_from(size).ok()?).enumerate() {
            let range = start..chunk.end.min(start.saturating_add(size));
            if ranges.iter().any(|wanted| wanted.start < range.end && range.start < wanted.end) {
                let xxh3 = digits.get(number * DIGITS..(number + 1) * DIGITS)?.to_owned();
                blocks.push(Block { range, xxh3 });
            }
        }
        Some(blocks)
    }
}

/// The byte ranges of the pages of a column chunk that have some rows of the file, with its dictionary; `None` if that is
/// unknown. The chunk has the rows `own`.
fn pages_of(
    index: &RowGroupPageIndex,
    place: usize,
    chunk: &Range<u64>,
    own: &Range<i64>,
    rows: &[Range<usize>],
) -> Option<Vec<Range<u64>>> {
    let pages = index.page_locations(place)?;
    let first = u64::try_from(pages.first()?.offset).ok()?;
    let mut ranges = Vec::from_iter((chunk.start < first).then_some(chunk.start..first));
    let ends = pages.iter().skip(1).map(|next| own.start + next.first_row_index).chain([own.end]);
    for (page, end) in pages.iter().zip(ends) {
        let start = own.start + page.first_row_index;
        if rows.iter().any(|rows| (rows.start as i64) < end && start < rows.end as i64) {
            let start = u64::try_from(page.offset).ok()?;
            ranges.push(start..start.checked_add(u64::try_from(page.compressed_page_size).ok()?)?);
        }
    }
    ranges.iter().all(|range| chunk.start <= range.start && range.end <= chunk.end).then_some(ranges)
}

/// The ranges of some blocks, neighbours as one.
pub(super) fn ranges(blocks: &[Block]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = blocks.iter().map(|block| block.range.clone()).collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match ranges.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => ranges.push(range),
        }
    }
    ranges
}
