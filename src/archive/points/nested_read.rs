//! Parquet bytes → tables with lists, from repetition and definition levels. Bytes that lie are errors, never a panic.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;

use super::nested_write::NO_FIELDS;
use crate::archive::{Metadata, Table};
use crate::columns::{Column, List, NO_TIME, Rows};

type Parquet<T> = Result<T, ParquetError>;

/// The metadata of a file, from its footer.
pub(super) fn metadata(bytes: Bytes) -> Result<Metadata, String> {
    guarded(|| Ok(pairs(&SerializedFileReader::new(bytes)?)))
}

/// The columns that `wanted` names, and the metadata.
pub(super) fn decode(bytes: Bytes, wanted: impl Fn(&str) -> bool) -> Result<(Table, Metadata), String> {
    guarded(|| {
        let reader = SerializedFileReader::new(bytes)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let (mut table, mut leaves) = (Table::new(), 0);
        for field in schema.root_schema().get_fields() {
            let name = field.name();
            if wanted(name) {
                let column = read(&reader, field, &mut leaves, 0)?;
                table.push((name.to_owned(), column));
            } else {
                leaves += count(field);
            }
        }
        Ok((table, pairs(&reader)))
    })
}

/// The library may panic on bytes that lie about themselves; a damaged file must not end the process.
fn guarded<T>(work: impl FnOnce() -> Parquet<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("bytes that are no Parquet".to_owned()),
    }
}

fn pairs(reader: &SerializedFileReader<Bytes>) -> Metadata {
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    pairs.into_iter().flatten().map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect()
}

fn count(field: &Type) -> usize {
    if field.is_primitive() { 1 } else { field.get_fields().iter().map(|inner| count(inner)).sum() }
}

fn unknown(name: &str) -> ParquetError {
    ParquetError::General(format!("column {name} is of a type that this package does not write"))
}

fn read(reader: &SerializedFileReader<Bytes>, field: &Type, leaves: &mut usize, depth: i16) -> Parquet<Column> {
    if field.is_primitive() {
        let (_, column) = read_leaf(reader, *leaves, depth)?;
        *leaves += 1;
        return Ok(column);
    }
    let element = match field.get_fields() {
        [list] if !list.is_primitive() => match list.get_fields() {
            [element] => element,
            _ => return Err(unknown(field.name())),
        },
        _ => return Err(unknown(field.name())),
    };
    let level = usize::try_from(depth).unwrap_or(0);
    if element.is_primitive() {
        let (mut offsets, values) = read_leaf(reader, *leaves, depth + 1)?;
        *leaves += 1;
        return match values {
            Column::Float(values) if offsets.len() > level => {
                Ok(Column::List(List { offsets: offsets.swap_remove(level), values }))
            }
            _ => Err(unknown(field.name())),
        };
    }
    // Every leaf below tells the same offsets; the first one's are taken.
    let (mut offsets, _) = read_leaf(reader, first_leaf(reader, *leaves)?, depth + 1)?;
    let mut columns = Vec::new();
    for inner in element.get_fields() {
        if inner.name() == NO_FIELDS {
            *leaves += 1;
        } else {
            columns.push((inner.name().to_owned().into(), read(reader, inner, leaves, depth + 1)?));
        }
    }
    if offsets.len() <= level {
        return Err(unknown(field.name()));
    }
    Ok(Column::Rows(Rows { offsets: offsets.swap_remove(level), columns }))
}

fn first_leaf(reader: &SerializedFileReader<Bytes>, index: usize) -> Parquet<usize> {
    let columns = reader.metadata().file_metadata().schema_descr().num_columns();
    if index < columns { Ok(index) } else { Err(unknown("without leaves")) }
}

/// One leaf's values, and the offsets of the lists around it, from the outermost in; `depth` of them are wanted.
fn read_leaf(reader: &SerializedFileReader<Bytes>, index: usize, depth: i16) -> Parquet<(Vec<Vec<i64>>, Column)> {
    let about = reader.metadata().file_metadata().schema_descr().column(index);
    let lists = about.max_rep_level();
    let optional = about.max_def_level() == lists + 1;
    if lists < depth || !(optional || about.max_def_level() == lists) {
        return Err(unknown(about.name()));
    }
    let time = matches!(about.logical_type_ref(), Some(LogicalType::Timestamp { .. }));
    let shape = Shape { lists, optional };
    let mut starts = vec![Vec::new(); usize::try_from(lists).unwrap_or(0)];
    let mut counts = vec![0; starts.len() + 1];
    let mut column: Option<Column> = None;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut take = Taking { shape, rows, starts: &mut starts, counts: &mut counts };
        let part = match group.get_column_reader(index)? {
            ColumnReader::DoubleColumnReader(from) => Column::Float(take.all(from, Ok, || f64::NAN)?),
            ColumnReader::Int64ColumnReader(from) if time => Column::Time(take.all(from, Ok, || NO_TIME)?),
            ColumnReader::Int64ColumnReader(from) => Column::Int(take.all(from, Ok, || 0)?),
            ColumnReader::ByteArrayColumnReader(from) => {
                let text = |bytes: ByteArray| bytes.as_utf8().map(|text| Some(text.to_owned()));
                Column::Text(take.all(from, text, || None)?)
            }
            _ => return Err(unknown(about.name())),
        };
        match &mut column {
            None => column = Some(part),
            Some(whole) => {
                if !whole.append(part) {
                    return Err(ParquetError::General("a column of changing kind".to_owned()));
                }
            }
        }
    }
    for (level, starts) in starts.iter_mut().enumerate() {
        starts.push(counts[level + 1]);
    }
    let empty = || match about.physical_type() {
        Physical::DOUBLE => Column::Float(Vec::new()),
        Physical::BYTE_ARRAY => Column::Text(Vec::new()),
        _ if time => Column::Time(Vec::new()),
        _ => Column::Int(Vec::new()),
    };
    Ok((starts, column.unwrap_or_else(empty)))
}

#[derive(Clone, Copy)]
struct Shape {
    lists: i16,
    optional: bool,
}

/// Takes one row group's values, and notes where lists start.
struct Taking<'a> {
    shape: Shape,
    rows: usize,
    starts: &'a mut [Vec<i64>],
    counts: &'a mut [i64],
}

impl Taking<'_> {
    fn all<T: DataType, V>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        convert: impl Fn(T::T) -> Parquet<V>,
        missing: impl Fn() -> V,
    ) -> Parquet<Vec<V>> {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = 0;
        while read < self.rows {
            let left = self.rows - read;
            let (records, _, _) =
                reader.read_records(left, Some(&mut definitions), Some(&mut repetitions), &mut values)?;
            if records == 0 {
                return Err(ParquetError::General(format!("{} rows announced, {read} found", self.rows)));
            }
            read += records;
        }
        let Shape { lists, optional } = self.shape;
        if lists == 0 && !optional {
            return values.into_iter().map(convert).collect();
        }
        let mut there = values.into_iter();
        let mut taken = Vec::with_capacity(definitions.len());
        for (place, definition) in definitions.iter().copied().enumerate() {
            if lists > 0 {
                self.note(repetitions.get(place).copied().unwrap_or(0), definition);
            }
            if definition < lists {
                continue; // an empty list
            }
            if optional && definition == lists {
                taken.push(missing());
                continue;
            }
            let value = there.next().ok_or_else(|| ParquetError::General("fewer values than levels".to_owned()))?;
            taken.push(convert(value)?);
        }
        Ok(taken)
    }

    /// An element at the repeated level begins, and with it the first elements of the lists inside it.
    fn note(&mut self, repetition: i16, definition: i16) {
        let level = |level: i16| usize::try_from(level).unwrap_or(0).min(self.counts.len() - 1);
        let (from, whole) = (level(repetition), level(definition));
        self.counts[from] += 1;
        let inner: Range<usize> = from + 1..self.counts.len();
        for level in inner {
            self.starts[level - 1].push(self.counts[level]);
            if whole < level {
                break;
            }
            self.counts[level] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::nested_write::encode;
    use super::*;

    fn same(left: &Column, right: &Column) -> bool {
        let mut both = left.clone();
        left.len() == right.len()
            && both.append(right.clone())
            && (0..left.len()).all(|row| both.same(row, row + left.len()))
    }

    fn ragged(lengths: &[u8]) -> Vec<i64> {
        let mut offsets = vec![0];
        for length in lengths {
            offsets.push(offsets.last().unwrap() + i64::from(*length));
        }
        offsets
    }

    proptest! {
        /// Lists, lists in records, missing values and bare numbers read back bit for bit.
        #[test]
        fn tables_read_back_bit_for_bit(
            lengths in prop::collection::vec(0_u8..4, 0..20),
            deep in prop::collection::vec(0_u8..3, 60),
            bits in prop::collection::vec(any::<u64>(), 200),
            texts in prop::collection::vec(prop::option::of("[a-z\"é]{0,3}"), 60),
        ) {
            let rows = lengths.len();
            let offsets = ragged(&lengths);
            let inner = *offsets.last().unwrap() as usize;
            let deep = ragged(&deep[..inner]);
            let doubles = |count: usize| bits[..count].iter().map(|bits| f64::from_bits(*bits)).collect::<Vec<_>>();
            let levels = *deep.last().unwrap() as usize;
            let table: Table = vec![
                ("time".into(), Column::Time((0..rows as i64).map(|row| if row % 3 == 2 { NO_TIME } else { row }).collect())),
                ("value".into(), Column::Float(doubles(rows))),
                ("count".into(), Column::Int((0..rows as i64).collect())),
                ("text".into(), Column::Text(texts[..rows].to_vec())),
                ("list".into(), Column::List(List { offsets: offsets.clone(), values: doubles(inner) })),
                ("rows".into(), Column::Rows(Rows { offsets: offsets.clone(), columns: vec![
                    ("price".into(), Column::Float(doubles(inner))),
                    ("blocks".into(), Column::List(List { offsets: deep.clone(), values: doubles(levels) })),
                    ("note".into(), Column::Text(texts[..inner].to_vec())),
                    ("deep".into(), Column::Rows(Rows { offsets: deep.clone(), columns: vec![
                        ("number".into(), Column::Int((0..levels as i64).collect())),
                        ("at".into(), Column::Time(vec![NO_TIME; levels])),
                    ] })),
                ] })),
                ("bare".into(), Column::Rows(Rows { offsets, columns: vec![] })),
            ];
            let metadata = vec![("key".to_owned(), "value".to_owned())];
            let bytes = Bytes::from(encode(&table, &metadata).unwrap());
            let (read, beside) = decode(bytes.clone(), |_| true).unwrap();
            prop_assert!(beside.contains(&metadata[0]));
            prop_assert_eq!(read.len(), table.len());
            for ((name, column), (known, values)) in read.iter().zip(&table) {
                prop_assert_eq!(name, known);
                prop_assert!(same(column, values), "{}: {:?} is not {:?}", name, column, values);
            }
            let (one, _) = decode(bytes, |name| name == "count").unwrap();
            prop_assert_eq!(one.len(), 1);
            prop_assert_eq!(one[0].1.clone(), Column::Int((0..rows as i64).collect()));
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let table: Table = vec![
            ("n".into(), Column::Int((0..50).collect())),
            ("l".into(), Column::List(List { offsets: (0..51).collect(), values: vec![0.5; 50] })),
        ];
        let whole = encode(&table, &vec![]).unwrap();
        for cut in 0..whole.len() {
            assert!(decode(Bytes::copy_from_slice(&whole[..cut]), |_| true).is_err(), "{cut}");
        }
        for bit in (0..whole.len() * 8).step_by(5) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(Bytes::from(bytes), |_| true);
        }
    }
}
