//! Reads Parquet into tables, through Arrow. A damaged or foreign file is an error, never data.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;

use super::arrow_table::{column, empty};
use super::error::ArchiveError;
use super::regular_file::open_plain;
use super::table::{CONTENT, Metadata, Table, content_hash};

pub(super) type Parquet<T> = Result<T, ParquetError>;

/// Most rows that are decoded at once: memory must not be allocated for what a damaged footer claims.
const BATCH: usize = 1 << 18;

/// Reads a file.
///
/// # Errors
/// The file is missing, truncated, damaged, not Parquet, or has columns of types that [`super::write_parquet`] does not
/// write.
pub fn read_parquet(path: &Path) -> Result<(Table, Metadata), ArchiveError> {
    let (table, metadata) = of_file(path, |file| read(file, |_| true, |_, _| true))?;
    let hash = metadata.iter().find(|(name, _)| name == CONTENT);
    if hash.is_some_and(|(_, hash)| *hash != content_hash(&table)) {
        return Err(ArchiveError::new(path, "the file is damaged: its values are not those that were written"));
    }
    Ok((table, metadata))
}

/// Reads the row groups in which a column of integers or times may have values in `[from, to)`: all rows with such a
/// value, and possibly others.
///
/// # Errors
/// As [`read_parquet`]; the checksum is not verified, because it is that of the complete file.
pub fn read_parquet_within(path: &Path, column: &str, from: i64, to: i64) -> Result<Table, ArchiveError> {
    let within = |footer: &ParquetMetaData, group: &RowGroupMetaData| match bounds(footer, group, column) {
        Some((least, most)) => least.is_none_or(|least| least < to) && most.is_none_or(|most| from <= most),
        None => true,
    };
    Ok(of_file(path, |file| read(file, |_| true, within))?.0)
}

/// Reads only a file's metadata.
///
/// # Errors
/// As [`read_parquet`], as far as the footer shows it.
pub fn read_metadata(path: &Path) -> Result<Metadata, ArchiveError> {
    of_file(path, |file| Ok(pairs(&footer(&file)?)))
}

/// The hash of a file's values from its footer.
#[cfg(feature = "service")]
pub(crate) fn read_content_hash(path: &Path) -> Option<String> {
    let metadata = read_metadata(path).ok()?;
    metadata.into_iter().find(|(name, _)| name == CONTENT).map(|(_, hash)| hash)
}

/// The minimum of a column of integers or times from the footer; `None` if the file has no rows or no such statistic.
///
/// # Errors
/// As [`read_parquet`], as far as the footer shows it.
pub fn read_first(path: &Path, column: &str) -> Result<Option<i64>, ArchiveError> {
    of_file(path, |file| {
        let footer = footer(&file)?;
        Ok(footer.row_groups().iter().filter_map(|group| bounds(&footer, group, column)?.0).min())
    })
}

/// The metadata of a file's bytes, from its footer.
pub(super) fn metadata_of(bytes: &impl ChunkReader) -> Result<Metadata, String> {
    guarded(|| Ok(pairs(&footer(bytes)?)))
}

/// The columns selected by `wanted` from a file's bytes, and the metadata.
pub(super) fn table_of(
    bytes: impl ChunkReader + 'static,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Table, Metadata), String> {
    guarded(|| read(bytes, wanted, |_, _| true))
}

fn of_file<T>(path: &Path, work: impl FnOnce(File) -> Parquet<T>) -> Result<T, ArchiveError> {
    let file = open_plain(path).map_err(|error| ArchiveError::new(path, error.to_string()))?;
    guarded(|| work(file)).map_err(|problem| ArchiveError::new(path, problem))
}

/// The library may panic on inconsistent bytes; a damaged file must not end the process.
pub(super) fn guarded<T>(work: impl FnOnce() -> Parquet<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("a damaged Parquet file".to_owned()),
    }
}

fn footer(from: &impl ChunkReader) -> Parquet<ParquetMetaData> {
    ParquetMetaDataReader::new().parse_and_finish(from)
}

pub(super) fn pairs(footer: &ParquetMetaData) -> Metadata {
    let pairs = footer.file_metadata().key_value_metadata();
    pairs.into_iter().flatten().map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect()
}

/// The minimum and the maximum of a column's values in a row group, if the footer has them.
fn bounds(footer: &ParquetMetaData, group: &RowGroupMetaData, column: &str) -> Option<(Option<i64>, Option<i64>)> {
    let fields = footer.file_metadata().schema_descr();
    let place = (0..fields.num_columns()).find(|&place| fields.column(place).name() == column)?;
    match group.column(place).statistics() {
        Some(Statistics::Int64(values)) => Some((values.min_opt().copied(), values.max_opt().copied())),
        _ => None,
    }
}

/// The columns selected by `wanted`, of the row groups selected by `within`.
fn read(
    from: impl ChunkReader + 'static,
    wanted: impl Fn(&str) -> bool,
    within: impl Fn(&ParquetMetaData, &RowGroupMetaData) -> bool,
) -> Parquet<(Table, Metadata)> {
    // By the file's own schema: an embedded Arrow schema is not written by this package.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(from, options)?;
    let footer = builder.metadata().clone();
    let groups = (0..footer.num_row_groups()).filter(|&group| within(&footer, footer.row_group(group))).collect();
    let fields = builder.schema().fields().clone();
    let roots: Vec<usize> = (0..fields.len()).filter(|&place| wanted(fields[place].name())).collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
    let unknown =
        |name: &str| ParquetError::General(format!("column {name} is of a type that this package does not write"));
    let blank = |place: &usize| {
        let (name, kind) = (fields[*place].name(), fields[*place].data_type());
        Ok((name.clone(), empty(kind).ok_or_else(|| unknown(name))?))
    };
    let mut table: Table = roots.iter().map(blank).collect::<Parquet<_>>()?;
    for batch in builder.with_projection(mask).with_row_groups(groups).with_batch_size(BATCH).build()? {
        let (_, arrays, _) = batch?.into_parts();
        for ((name, whole), array) in table.iter_mut().zip(arrays) {
            let part = column(array).ok_or_else(|| unknown(name))?;
            if whole.is_empty() {
                *whole = part; // most files are one batch: nothing is copied
            } else if !whole.append(part) {
                return Err(ParquetError::General("a column of changing kind".to_owned()));
            }
        }
    }
    Ok((table, pairs(&footer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{TextFormat, write_parquet, write_text};
    use crate::columns::{Column, List, NO_TIME};

    fn table() -> Table {
        vec![
            ("time".into(), Column::Time(vec![1_570_752_011_620_000_000, NO_TIME, -1])),
            ("price".into(), Column::Float(vec![0.1 + 0.2, f64::NAN, -0.0])),
            ("count".into(), Column::Int(vec![i64::MAX, 0, -7])),
            ("note".into(), Column::Text(vec![Some("a,\"b\"".into()), None, Some(String::new())])),
        ]
    }

    #[test]
    fn what_is_written_reads_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/folder/table.parquet");
        let metadata = vec![("source".to_owned(), "test".to_owned())];
        write_parquet(&path, &table(), &metadata).unwrap();
        let (read, beside) = read_parquet(&path).unwrap();
        assert!(beside.contains(&metadata[0]) && read_metadata(&path).unwrap() == beside);
        assert_eq!(read.len(), 4);
        for ((name, column), (expected, values)) in read.iter().zip(&table()) {
            let mut both = column.clone();
            assert!(name == expected && both.append(values.clone()));
            assert!((0..3).all(|row| both.same(row, row + 3)), "{name}");
        }
        // Only the file is left in its folder.
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn row_groups_are_joined() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.parquet");
        let rows = (1 << 20) + 5;
        let long = vec![("n".to_owned(), Column::Int((0..rows).collect()))];
        write_parquet(&path, &long, &vec![]).unwrap();
        assert_eq!(read_parquet(&path).unwrap().0, long);
    }

    #[test]
    fn an_empty_table_is_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.parquet");
        write_parquet(&path, &vec![("t".to_owned(), Column::Time(vec![]))], &vec![]).unwrap();
        assert_eq!(read_parquet(&path).unwrap().0, [("t".to_owned(), Column::Time(vec![]))]);
    }

    #[test]
    fn csv_spells_what_is_not_there_as_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        write_text(&path, &table(), TextFormat::Csv).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "time,price,count,note\n2019-10-11T00:00:11.62Z,0.30000000000000004,9223372036854775807,\"a,\"\"b\"\"\"\n\
             ,,0,\n1969-12-31T23:59:59.999999999Z,-0,-7,\n"
        );
    }

    #[test]
    fn damaged_and_foreign_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        write_parquet(&path, &table(), &vec![]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 4, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(read_parquet(&path).is_err(), "{cut}");
        }
        std::fs::write(&path, "no parquet at all").unwrap();
        assert!(read_parquet(&path).unwrap_err().to_string().contains("table.parquet"));
        assert!(read_parquet(&folder.path().join("missing.parquet")).is_err());
    }

    // faults.md row 47
    #[test]
    fn no_flipped_bit_is_read_as_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let expected = vec![("n".to_owned(), Column::Int((0..200).collect()))];
        write_parquet(&path, &expected, &vec![]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for bit in (0..whole.len() * 8).step_by(7) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bytes).unwrap();
            // A bit that is never read (such as a statistic) may flip; a value never.
            assert!(read_parquet(&path).map_or(true, |(table, _)| table == expected), "bit {bit}");
        }
    }

    #[test]
    fn ragged_and_uneven_tables_are_refused_and_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let ragged = vec![("levels".to_owned(), Column::List(List::default()))];
        let uneven = vec![("a".to_owned(), Column::Int(vec![1])), ("b".to_owned(), Column::Int(vec![]))];
        for table in [ragged, uneven] {
            assert!(write_parquet(&path, &table, &vec![]).is_err());
            assert!(write_text(&path, &table, TextFormat::Csv).is_err());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
