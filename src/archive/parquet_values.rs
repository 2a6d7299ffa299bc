//! Reads Parquet columns directly into the caller's buffers, a few thousand values at a time. Only for columns of
//! numbers, times and lists of doubles as this package writes them; other files are read as tables (`parquet_read`).

use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Encoding, LogicalType, TimeUnit, Type as Physical};
use parquet::column::page::{Page, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::reader::Length;
use parquet::schema::types::ColumnDescriptor;
use zerocopy::IntoBytes;

use super::arrow_table::{ELEMENT, LIST};
use super::file_bytes::FileBytes;
use super::parquet_pages::ColumnPages;
use super::parquet_read::{Parquet, guarded, pairs};
use super::table::Metadata;
use crate::columns::NO_TIME;

/// Values that are decoded at once: few enough for the CPU caches.
const STRIPE: usize = 1 << 12;
/// Most values per byte of a file: memory must not be allocated for what a damaged footer claims.
const MOST_A_BYTE: usize = 1 << 12;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParquetKind {
    Float,
    Int,
    Time,
    List,
}

/// A column of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    place: usize,
    /// Definition level of a value.
    depth: i16,
    pub(super) kind: ParquetKind,
    /// Most values; empty lists count as one.
    pub(super) values: usize,
}

/// A file's columns.
pub(super) struct ParquetValues {
    bytes: Arc<FileBytes>,
    footer: ParquetMetaData,
}

impl ParquetValues {
    /// The columns of a file's bytes; `None` if the file is damaged, or claims more than such a file can hold.
    pub(super) fn open(bytes: FileBytes) -> Option<Self> {
        let most = usize::try_from(bytes.len()).ok()?.saturating_mul(MOST_A_BYTE);
        let values = Self::open_with(bytes, PageIndexPolicy::Skip)?;
        let groups = values.footer.row_groups().iter();
        let claimed = groups.flat_map(|group| group.columns().iter().map(ColumnChunkMetaData::num_values));
        let claimed = claimed.chain([values.footer.file_metadata().num_rows()]);
        let each = claimed.map(|values| usize::try_from(values).ok()).collect::<Option<Vec<_>>>()?;
        each.iter().all(|values| *values <= most).then_some(values)
    }

    /// The same with the page index, so that pages can be skipped.
    pub(super) fn open_by_pages(bytes: FileBytes) -> Option<Self> {
        Self::open_with(bytes, PageIndexPolicy::Optional)
    }

    fn open_with(bytes: FileBytes, pages: PageIndexPolicy) -> Option<Self> {
        let reader = ParquetMetaDataReader::new().with_page_index_policy(pages);
        let footer = guarded(|| reader.parse_and_finish(&bytes)).ok()?;
        Some(Self { bytes: Arc::new(bytes), footer })
    }

    pub(super) fn metadata(&self) -> Metadata {
        pairs(&self.footer)
    }

    pub(super) fn rows(&self) -> usize {
        self.footer.file_metadata().num_rows() as usize
    }

    /// The column of that name; `None` if there is none, or its type is not supported here.
    pub(super) fn leaf(&self, name: &str) -> Option<Leaf> {
        let schema = self.footer.file_metadata().schema_descr();
        let place = (0..schema.num_columns()).find(|&place| schema.column(place).path().parts()[0] == name)?;
        let column = schema.column(place);
        let kind = kind(&column)?;
        if kind == ParquetKind::List
            && schema.get_column_root(place).get_basic_info().converted_type() != ConvertedType::LIST
        {
            return None;
        }
        let values = self.footer.row_groups().iter().map(|group| group.column(place).num_values() as usize);
        Some(Leaf { place, depth: column.max_def_level(), kind, values: values.sum() })
    }

    /// Some rows of a column of doubles; NaN for nulls.
    pub(super) fn floats(&self, leaf: &Leaf, rows: Range<usize>, out: &mut [f64]) -> Result<(), String> {
        guarded(|| {
            if self.is_plain(leaf) {
                self.plain(leaf, rows, out)
            } else {
                self.flat::<DoubleType>(leaf, rows, f64::NAN, out)
            }
        })
    }

    /// Some rows of a column of integers or times.
    pub(super) fn integers(&self, leaf: &Leaf, rows: Range<usize>, out: &mut [i64]) -> Result<(), String> {
        let missing = if leaf.kind == ParquetKind::Time { NO_TIME } else { 0 };
        guarded(|| self.flat::<Int64Type>(leaf, rows, missing, out))
    }

    /// Some rows of list columns with equal lengths, interleaved: the first value of each, the second of each, and so
    /// on. `ends` receives the end of each row. Returns the number of values.
    pub(super) fn lists(
        &self,
        leaves: &[Leaf],
        rows: Range<usize>,
        ends: &mut [i64],
        out: &mut [f64],
    ) -> Result<usize, String> {
        guarded(|| self.woven(leaves, rows, ends, out))
    }

    /// Whether the pages of a column are plain doubles without nulls.
    fn is_plain(&self, leaf: &Leaf) -> bool {
        // The encoding of levels (RLE) is listed even if there are none.
        let plain = |group: &RowGroupMetaData| {
            let mut encodings = group.column(leaf.place).encodings();
            encodings.all(|encoding| matches!(encoding, Encoding::PLAIN | Encoding::RLE))
        };
        leaf.depth == 0 && leaf.kind == ParquetKind::Float && self.footer.row_groups().iter().all(plain)
    }

    /// Some rows of such a column, decompressed page by page to where they belong.
    fn plain(&self, leaf: &Leaf, rows: Range<usize>, out: &mut [f64]) -> Parquet<()> {
        let (mut out, mut scratch) = (out, Vec::new());
        for (group, rows) in self.groups(rows) {
            let mut pages = self.pages(group, leaf)?;
            let all = self.footer.row_group(group).num_rows() as usize;
            let mut first = 0; // the first row of the next page
            while first < rows.end {
                let known = pages.peek_next_page()?.and_then(|page| page.num_rows.or(page.num_levels)); // one per value
                if let Some(count) = known.filter(|count| first + count <= rows.start) {
                    pages.skip_next_page()?;
                    first += count;
                    continue;
                }
                let Some(Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. }) = pages.next_stored()?
                else {
                    return Err(misfit());
                };
                let end = first + num_values as usize;
                if end == first || end > all {
                    return Err(misfit());
                }
                let wanted = rows.start.clamp(first, end)..rows.end.min(end);
                let (place, rest) = out.split_at_mut_checked(wanted.len()).ok_or_else(misfit)?;
                if place.len() == end - first {
                    pages.decompress_into(&buf, place.as_mut_bytes())?;
                } else {
                    scratch.resize(end - first, 0.0);
                    pages.decompress_into(&buf, scratch.as_mut_bytes())?;
                    place.copy_from_slice(&scratch[wanted.start - first..wanted.end - first]);
                }
                for value in place {
                    *value = f64::from_bits(u64::from_le(value.to_bits()));
                }
                (out, first) = (rest, end);
            }
        }
        if out.is_empty() { Ok(()) } else { Err(misfit()) }
    }

    fn flat<T: DataType<T: Copy>>(
        &self,
        leaf: &Leaf,
        rows: Range<usize>,
        missing: T::T,
        out: &mut [T::T],
    ) -> Parquet<()> {
        let (mut out, mut values, mut levels) = (out, Vec::with_capacity(STRIPE), Vec::new());
        for (group, rows) in self.groups(rows) {
            let mut column = self.column::<T>(group, leaf, rows.start)?;
            let mut left = rows.len();
            while left > 0 {
                values.clear();
                levels.clear();
                let (read, found, _) = column.read_records(left.min(STRIPE), Some(&mut levels), None, &mut values)?;
                let (place, rest) = out.split_at_mut_checked(read).ok_or_else(misfit)?;
                if read == 0 {
                    return Err(misfit());
                } else if found == read {
                    place.copy_from_slice(&values);
                } else {
                    let mut found = values.iter();
                    for (to, level) in place.iter_mut().zip(&levels) {
                        let value = if *level == leaf.depth { found.next() } else { None };
                        *to = value.copied().unwrap_or(missing);
                    }
                }
                (out, left) = (rest, left - read);
            }
        }
        if out.is_empty() { Ok(()) } else { Err(misfit()) }
    }

    fn woven(&self, leaves: &[Leaf], rows: Range<usize>, ends: &mut [i64], out: &mut [f64]) -> Parquet<usize> {
        let (width, mut ends, mut done) = (leaves.len(), ends, 0);
        let mut stripes: Vec<Stripe> = leaves.iter().map(|_| Stripe::default()).collect();
        let [first, others @ ..] = &mut stripes[..] else { return Err(misfit()) };
        for (group, rows) in self.groups(rows) {
            let columns = leaves.iter().map(|leaf| self.column::<DoubleType>(group, leaf, rows.start));
            let mut columns = columns.collect::<Parquet<Vec<_>>>()?;
            let whole = self.footer.row_group(group);
            let values = leaves.first().map_or(0, |leaf| whole.column(leaf.place).num_values());
            let at_once = (STRIPE as i64).saturating_mul(whole.num_rows()) / values.max(1);
            let (at_once, mut left) = (at_once.max(1) as usize, rows.len());
            while left > 0 {
                let read = first.read(&mut columns[0], left.min(at_once))?;
                let (own, rest) = ends.split_at_mut_checked(read).ok_or_else(misfit)?;
                let place = out.get_mut(done..done + first.values.len() * width).ok_or_else(misfit)?;
                if read == 0 || !first.ends(leaves[0].depth, own) {
                    return Err(misfit());
                }
                for end in own {
                    *end = done as i64 + *end * width as i64;
                }
                for (other, column) in others.iter_mut().zip(&mut columns[1..]) {
                    let same = other.read(column, read)? == read && other.is_as_long_as(first);
                    if !same {
                        return Err(misfit());
                    }
                }
                interleave(first, others, place);
                done += place.len();
                (ends, left) = (rest, left - read);
            }
        }
        if ends.is_empty() { Ok(done) } else { Err(misfit()) }
    }

    /// The row groups that contain some rows, and which rows of each.
    fn groups(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut start = 0;
        self.footer.row_groups().iter().enumerate().filter_map(move |(group, about)| {
            let own = start..start + about.num_rows() as usize;
            start = own.end;
            let within = rows.start.max(own.start)..rows.end.min(own.end);
            (!within.is_empty()).then(|| (group, within.start - own.start..within.end - own.start))
        })
    }

    /// A column of a row group, from one of its rows on.
    fn column<T: DataType>(&self, group: usize, leaf: &Leaf, from: usize) -> Parquet<ColumnReaderImpl<T>> {
        let about = self.footer.row_group(group).column(leaf.place).column_descr_ptr();
        let mut column = ColumnReaderImpl::new(about, Box::new(self.pages(group, leaf)?));
        if column.skip_records(from)? == from { Ok(column) } else { Err(misfit()) }
    }

    fn pages(&self, group: usize, leaf: &Leaf) -> Parquet<ColumnPages> {
        ColumnPages::open(&self.bytes, &self.footer, group, leaf.place)
    }
}

/// Some rows of lists: their values, and the levels that show where each row begins.
#[derive(Default)]
struct Stripe {
    values: Vec<f64>,
    depths: Vec<i16>,
    repeats: Vec<i16>,
}

impl Stripe {
    fn read(&mut self, column: &mut ColumnReaderImpl<DoubleType>, rows: usize) -> Parquet<usize> {
        self.values.clear();
        self.depths.clear();
        self.repeats.clear();
        let (depths, repeats) = (Some(&mut self.depths), Some(&mut self.repeats));
        Ok(column.read_records(rows, depths, repeats, &mut self.values)?.0)
    }

    /// The end of each row, counted from the first value; `false` if there are too few rows.
    fn ends(&self, depth: i16, ends: &mut [i64]) -> bool {
        /// Levels that mostly begin no row are handled together.
        const TOGETHER: usize = 32;
        let no_row_is_empty = self.values.len() == self.repeats.len();
        let (mut places, mut values) = (ends.iter_mut(), 0);
        let Some(mut end) = places.next() else { return self.repeats.is_empty() };
        let levels = self.repeats.chunks(TOGETHER).zip(self.depths.chunks(TOGETHER));
        for (number, (repeats, depths)) in levels.enumerate() {
            if no_row_is_empty && repeats.iter().map(|level| u32::from(*level == 0)).sum::<u32>() == 0 {
                values += repeats.len() as i64;
                continue;
            }
            for (level, (repeat, found)) in repeats.iter().zip(depths).enumerate() {
                if *repeat == 0 && (number > 0 || level > 0) {
                    *end = values;
                    let Some(next) = places.next() else { return false };
                    end = next;
                }
                values += i64::from(*found == depth);
            }
        }
        *end = values;
        places.next().is_none()
    }

    fn is_as_long_as(&self, other: &Self) -> bool {
        self.repeats == other.repeats && self.depths == other.depths && self.values.len() == other.values.len()
    }
}

/// Interleaves the values of columns: the first of each, the second of each, and so on.
fn interleave(first: &Stripe, others: &[Stripe], out: &mut [f64]) {
    match others {
        [] => out.copy_from_slice(&first.values),
        // Nearly always: prices and volumes, which the compiler writes several at a time.
        [second] => {
            for ((pair, one), two) in out.as_chunks_mut::<2>().0.iter_mut().zip(&first.values).zip(&second.values) {
                *pair = [*one, *two];
            }
        }
        _ => {
            for (number, column) in std::iter::once(first).chain(others).enumerate() {
                for (together, value) in out.chunks_exact_mut(others.len() + 1).zip(&column.values) {
                    together[number] = *value;
                }
            }
        }
    }
}

/// The type of a column from its schema.
fn kind(column: &ColumnDescriptor) -> Option<ParquetKind> {
    let parts: Vec<&str> = column.path().parts().iter().map(String::as_str).collect();
    let bare = column.logical_type_ref().is_none() && column.converted_type() == ConvertedType::NONE;
    match (column.physical_type(), column.max_rep_level(), column.max_def_level(), &parts[..]) {
        (Physical::DOUBLE, 0, 0 | 1, [_]) if bare => Some(ParquetKind::Float),
        (Physical::INT64, 0, 0 | 1, [_]) if bare => Some(ParquetKind::Int),
        (Physical::INT64, 0, 0 | 1, [_]) => match column.logical_type_ref() {
            Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS => Some(ParquetKind::Time),
            _ => None,
        },
        (Physical::DOUBLE, 1, 1, [_, LIST, ELEMENT]) if bare => Some(ParquetKind::List),
        _ => None,
    }
}

fn misfit() -> ParquetError {
    ParquetError::General("its columns are not as long as it says".to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::parquet_write::parquet_bytes;
    use super::super::table::Table;
    use super::*;
    use crate::columns::{Column, List};

    const ROWS: usize = 60_000;

    fn file(bytes: &[u8]) -> FileBytes {
        Bytes::copy_from_slice(bytes).into()
    }

    /// Doubles that do not repeat, and lists of them, longer than a page.
    fn bytes() -> Vec<u8> {
        let value = |row: usize| (row * 7_919 % 1_000_003) as f64 / 64.0;
        let offsets = (0..=ROWS as i64).map(|row| row * 4).collect();
        let list = List { offsets, values: (0..ROWS * 4).map(value).collect() };
        let table: Table =
            vec![("number".into(), Column::Float((0..ROWS).map(value).collect())), ("list".into(), Column::List(list))];
        parquet_bytes(&table, &vec![]).unwrap()
    }

    fn read(bytes: &[u8], rows: Range<usize>) -> (Result<Vec<f64>, String>, Result<Vec<f64>, String>) {
        let values = ParquetValues::open_by_pages(file(bytes)).unwrap();
        let (number, list) = (values.leaf("number").unwrap(), values.leaf("list").unwrap());
        let mut numbers = vec![0.0; rows.len()];
        let numbers = values.floats(&number, rows.clone(), &mut numbers).map(|()| numbers.clone());
        let (mut ends, mut levels) = (vec![0; rows.len()], vec![0.0; rows.len() * 4]);
        let levels = values.lists(&[list], rows, &mut ends, &mut levels).map(|found| levels[..found].to_vec());
        (numbers, levels)
    }

    #[test]
    fn pages_without_wanted_rows_are_not_decoded() {
        let whole = bytes();
        let (numbers, levels) = read(&whole, 0..ROWS);
        let (numbers, levels) = (numbers.unwrap(), levels.unwrap());
        let values = ParquetValues::open_by_pages(file(&whole)).unwrap();
        let index = values.footer.page_index_for_row_group(0);
        for (column, (name, width)) in [("number", 1), ("list", 4)].into_iter().enumerate() {
            let pages = index.page_locations(column).unwrap();
            assert!(pages.len() > 2, "{name}");
            // The second page becomes invalid: its rows cannot be read, those before and after can.
            let (page, next) = (&pages[1], &pages[2]);
            let mut damaged = whole.clone();
            let start = page.offset as usize;
            damaged[start..start + page.compressed_page_size as usize].fill(0xff);
            let (own, after) = (page.first_row_index as usize, next.first_row_index as usize);
            let values_of = |rows| if column == 0 { read(&damaged, rows).0 } else { read(&damaged, rows).1 };
            let known = if column == 0 { &numbers } else { &levels };
            assert!(values_of(0..ROWS).is_err() && values_of(own..own + 1).is_err(), "{name}");
            assert_eq!(values_of(5..own).unwrap(), known[5 * width..own * width], "{name}");
            assert_eq!(values_of(after + 3..ROWS).unwrap(), known[(after + 3) * width..], "{name}");
        }
    }

    #[test]
    fn only_values_that_repeat_have_a_dictionary() {
        let list = |values: Vec<f64>| Column::List(List { offsets: vec![0, values.len() as i64], values });
        let one = |column: Column| {
            let bytes = parquet_bytes(&vec![("a".to_owned(), column)], &vec![]).unwrap();
            let values = ParquetValues::open(file(&bytes)).unwrap();
            values.footer.row_group(0).column(0).dictionary_page_offset().is_some()
        };
        let (same, other): (Vec<f64>, Vec<f64>) = (0..1_000).map(|row| (f64::from(row % 100), f64::from(row))).unzip();
        assert!(one(Column::Float(same.clone())) && one(list(same)));
        assert!(!one(Column::Float(other.clone())) && !one(list(other)));
    }

    #[test]
    fn what_a_footer_cannot_mean_is_not_allocated() {
        let whole = bytes();
        assert!(ParquetValues::open(file(&whole)).is_some());
        assert!(ParquetValues::open(file(&whole[..whole.len() / 2])).is_none());
        // More rows than exist.
        let values = ParquetValues::open(file(&whole)).unwrap();
        let number = values.leaf("number").unwrap();
        assert!(values.floats(&number, 0..ROWS + 1, &mut vec![0.0; ROWS + 1]).is_err());
        assert!(values.floats(&number, 0..ROWS, &mut [0.0; 7]).is_err());
        assert!(values.leaf("nothing").is_none());
    }
}
