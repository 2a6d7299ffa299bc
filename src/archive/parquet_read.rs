//! Parquet → tables. A damaged or foreign file is an error, never data.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::basic::LogicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;

use super::plain_file::open_plain;
use super::table::{CONTENT, content_hash};
use super::{ArchiveError, Metadata, Table};
use crate::columns::{Column, NO_TIME};

/// Reads a whole file.
///
/// # Errors
/// The file is missing, truncated, damaged, no Parquet, or has columns that [`super::write_parquet`] does not write.
pub fn read_parquet(path: &Path) -> Result<(Table, Metadata), ArchiveError> {
    let (table, metadata) = guarded(path, |reader| Ok((read_columns(reader, |_| true)?, metadata(reader))))?;
    let hash = metadata.iter().find(|(name, _)| name == CONTENT);
    if hash.is_some_and(|(_, hash)| *hash != content_hash(&table)) {
        return Err(ArchiveError::new(path, "the file is damaged: its values are not those that were written"));
    }
    Ok((table, metadata))
}

/// Reads the groups of rows in which a column of whole numbers or times may have values in `[from, to)`: all rows that have
/// such a value, and others beside them.
///
/// # Errors
/// As [`read_parquet`]; without its checksum, which is of the whole file.
pub fn read_parquet_within(path: &Path, column: &str, from: i64, to: i64) -> Result<Table, ArchiveError> {
    guarded(path, |reader| {
        let fields = reader.metadata().file_metadata().schema_descr();
        let place = (0..fields.num_columns()).find(|&place| fields.column(place).name() == column);
        read_columns(reader, |group| {
            let statistics = place.and_then(|place| group.column(place).statistics());
            let Some(Statistics::Int64(values)) = statistics else { return true };
            values.min_opt().is_none_or(|least| *least < to) && values.max_opt().is_none_or(|most| from <= *most)
        })
    })
}

/// Reads only what a file carries beside its columns.
///
/// # Errors
/// As [`read_parquet`], as far as the footer shows it.
pub fn read_metadata(path: &Path) -> Result<Metadata, ArchiveError> {
    guarded(path, |reader| Ok(metadata(reader)))
}

/// The hash of a file's values, as its footer tells it.
#[cfg(feature = "service")]
pub(crate) fn read_content_hash(path: &Path) -> Option<String> {
    let metadata = read_metadata(path).ok()?;
    metadata.into_iter().find(|(name, _)| name == CONTENT).map(|(_, hash)| hash)
}

/// The least value of a column of whole numbers or times, as the footer tells it; `None` where the file has no rows or
/// does not tell.
///
/// # Errors
/// As [`read_parquet`], as far as the footer shows it.
pub fn read_first(path: &Path, column: &str) -> Result<Option<i64>, ArchiveError> {
    guarded(path, |reader| {
        let fields = reader.metadata().file_metadata().schema_descr();
        let Some(place) = (0..fields.num_columns()).find(|&place| fields.column(place).name() == column) else {
            return Ok(None);
        };
        let least = reader.metadata().row_groups().iter().filter_map(|group| match group.column(place).statistics() {
            Some(Statistics::Int64(values)) => values.min_opt().copied(),
            _ => None,
        });
        Ok(least.min())
    })
}

fn guarded<T>(
    path: &Path,
    read: impl FnOnce(&SerializedFileReader<File>) -> Result<T, ParquetError>,
) -> Result<T, ArchiveError> {
    // The library may panic on bytes that lie about themselves; a damaged file must not end the process.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let file = open_plain(path).map_err(|error| error.to_string())?;
        let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
        read(&reader).map_err(|error| error.to_string())
    }));
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(problem)) => Err(ArchiveError::new(path, problem)),
        Err(_) => Err(ArchiveError::new(path, "a damaged Parquet file")),
    }
}

fn metadata(reader: &SerializedFileReader<File>) -> Metadata {
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let pairs = pairs.into_iter().flatten();
    pairs.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect()
}

fn read_columns(
    reader: &SerializedFileReader<File>,
    wanted: impl Fn(&RowGroupMetaData) -> bool,
) -> Result<Table, ParquetError> {
    let fields = reader.metadata().file_metadata().schema_descr();
    let mut table = Table::new();
    for index in 0..fields.num_columns() {
        let field = fields.column(index);
        let time = matches!(field.logical_type_ref(), Some(LogicalType::Timestamp { .. }));
        let mut whole: Option<Column> = None;
        for group in 0..reader.num_row_groups() {
            if !wanted(reader.metadata().row_group(group)) {
                continue;
            }
            let group = reader.get_row_group(group)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let part = read_column(group.get_column_reader(index)?, rows, time)?;
            let fits = match &mut whole {
                None => {
                    whole = Some(part);
                    true
                }
                Some(whole) => whole.append(part),
            };
            if !fits {
                return Err(ParquetError::General("a column of changing kind".to_owned()));
            }
        }
        let empty = || if time { Column::Time(Vec::new()) } else { Column::Float(Vec::new()) };
        table.push((field.name().to_owned(), whole.unwrap_or_else(empty)));
    }
    Ok(table)
}

fn read_column(reader: ColumnReader, rows: usize, time: bool) -> Result<Column, ParquetError> {
    Ok(match reader {
        ColumnReader::DoubleColumnReader(reader) => Column::Float(spread(reader, rows, Ok, || f64::NAN)?),
        ColumnReader::Int64ColumnReader(reader) if time => Column::Time(spread(reader, rows, Ok, || NO_TIME)?),
        ColumnReader::Int64ColumnReader(reader) => Column::Int(spread(reader, rows, Ok, || 0)?),
        ColumnReader::ByteArrayColumnReader(reader) => Column::Text(spread(
            reader,
            rows,
            |text: ByteArray| text.as_utf8().map(|text| Some(text.to_owned())),
            || None,
        )?),
        _ => return Err(ParquetError::General("a column of a type that this package does not write".to_owned())),
    })
}

/// Reads a column's values, turns each with `convert`, and puts `missing()` where there is none.
fn spread<T: DataType, V>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    convert: impl Fn(T::T) -> Result<V, ParquetError>,
    missing: impl Fn() -> V,
) -> Result<Vec<V>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (records, _, _) = reader.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General(format!("{rows} rows announced, {read} found")));
        }
        read += records;
    }
    if values.len() == rows {
        return values.into_iter().map(convert).collect();
    }
    let short = || ParquetError::General("fewer values than levels".to_owned());
    let mut there = values.into_iter();
    let value = |level: &i16| if *level == 0 { Ok(missing()) } else { convert(there.next().ok_or_else(short)?) };
    levels.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{TextFormat, write_parquet, write_text};
    use crate::columns::List;

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
        // Nothing but the file is left in its folder.
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
            // A bit of what nobody reads (a statistic, say) may flip; a value never.
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
