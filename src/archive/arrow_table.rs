//! Converts tables to and from Arrow batches as stored in files: doubles, integers, lists and records are required,
//! times and strings optional.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, LargeListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::{ArrowNativeType, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use super::table::Table;
use crate::columns::arrow::{UTC, times};
use crate::columns::{Column, List, NO_TIME, RaggedRows};

/// Placeholder for the fields of records without fields: Parquet has no empty group.
const NO_FIELDS: &str = "nothing";
/// Parquet's name for the values of a list.
pub(super) const ELEMENT: &str = "element";
/// Parquet's name for the repeated group of a list.
pub(super) const LIST: &str = "list";

/// The Arrow schema of a table's columns.
pub(super) fn schema(table: &Table) -> SchemaRef {
    Arc::new(Schema::new(table.iter().map(|(name, column)| field(name, column)).collect::<Fields>()))
}

fn field(name: &str, column: &Column) -> Field {
    let (kind, optional) = match column {
        Column::Float(_) => (DataType::Float64, false),
        Column::Int(_) => (DataType::Int64, false),
        Column::Time(_) => (DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some(UTC.into())), true),
        Column::Text(_) | Column::Raw(_) => (DataType::Utf8, true),
        Column::List(_) => (DataType::LargeList(element(DataType::Float64)), false),
        Column::Rows(rows) => (DataType::LargeList(element(DataType::Struct(fields(rows)))), false),
    };
    Field::new(name, kind, optional)
}

fn element(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new(ELEMENT, kind, false))
}

fn fields(rows: &RaggedRows) -> Fields {
    if rows.columns.is_empty() {
        return Fields::from(vec![Field::new(NO_FIELDS, DataType::Int64, false)]);
    }
    rows.columns.iter().map(|(name, column)| field(name, column)).collect()
}

/// Some rows of a table as a batch of that schema.
pub(super) fn batch(schema: &SchemaRef, table: &Table, span: Range<usize>) -> Result<RecordBatch, ArrowError> {
    let columns = table.iter().map(|(_, column)| array(column, span.clone())).collect::<Result<_, _>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
}

fn array(column: &Column, span: Range<usize>) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Float(values) => Arc::new(Float64Array::from(values[span].to_vec())),
        Column::Int(values) => Arc::new(Int64Array::from(values[span].to_vec())),
        Column::Time(values) => times(values[span].to_vec().into()),
        Column::Text(values) => Arc::new(values[span].iter().map(Option::as_deref).collect::<StringArray>()),
        Column::Raw(raw) => Arc::new(span.map(|row| raw.get(row)).collect::<StringArray>()),
        Column::List(list) => {
            let (offsets, inner) = within(&list.offsets, span);
            let values: ArrayRef = Arc::new(Float64Array::from(list.values[inner].to_vec()));
            Arc::new(LargeListArray::try_new(element(DataType::Float64), offsets, values, None)?)
        }
        Column::Rows(rows) => {
            let (offsets, inner) = within(&rows.offsets, span);
            let arrays: Vec<ArrayRef> = if rows.columns.is_empty() {
                vec![Arc::new(Int64Array::from(vec![0; inner.len()]))]
            } else {
                let arrays = rows.columns.iter().map(|(_, column)| array(column, inner.clone()));
                arrays.collect::<Result<_, _>>()?
            };
            let records = StructArray::try_new(fields(rows), arrays, None)?;
            let element = element(records.data_type().clone());
            Arc::new(LargeListArray::try_new(element, offsets, Arc::new(records), None)?)
        }
    })
}

/// The offsets of some rows, starting from 0, and the range of their values.
fn within(offsets: &[i64], span: Range<usize>) -> (OffsetBuffer<i64>, Range<usize>) {
    let offsets = &offsets[span.start..=span.end];
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let moved: Vec<i64> = offsets.iter().map(|offset| offset - first).collect();
    (OffsetBuffer::new(moved.into()), first as usize..last as usize)
}

/// An empty column of an Arrow type; `None` for a type that this package does not write.
pub(super) fn empty(kind: &DataType) -> Option<Column> {
    column(arrow_array::new_empty_array(kind))
}

/// An array as a column, without a copy if the memory is not shared; `None` for a type that this package does not
/// write.
pub(super) fn column(array: ArrayRef) -> Option<Column> {
    Some(match array.data_type() {
        DataType::Float64 => Column::Float(numbers::<Float64Type>(array, f64::NAN)),
        DataType::Int64 => Column::Int(numbers::<Int64Type>(array, 0)),
        DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, _) => {
            Column::Time(numbers::<TimestampNanosecondType>(array, NO_TIME))
        }
        DataType::Utf8 => Column::Text(array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()),
        DataType::List(_) | DataType::LargeList(_) => {
            let (offsets, values) = parts(array)?;
            match values.data_type() {
                DataType::Struct(_) => {
                    let (fields, arrays, _) = values.as_struct().clone().into_parts();
                    drop(values);
                    let named = fields.iter().zip(arrays).filter(|(field, _)| field.name() != NO_FIELDS);
                    let named = named.map(|(field, array)| Some((field.name().clone().into(), column(array)?)));
                    Column::Rows(RaggedRows { offsets, columns: named.collect::<Option<_>>()? })
                }
                DataType::Float64 => Column::List(List { offsets, values: numbers::<Float64Type>(values, f64::NAN) }),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// The offsets starting from 0, and the values between the first and the last of them.
fn parts(array: ArrayRef) -> Option<(Vec<i64>, ArrayRef)> {
    let (offsets, values) = match array.data_type() {
        DataType::LargeList(_) => {
            let (_, offsets, values, _) = array.as_list::<i64>().clone().into_parts();
            (offsets.to_vec(), values)
        }
        _ => {
            let (_, offsets, values, _) = array.as_list::<i32>().clone().into_parts();
            (offsets.iter().map(|offset| i64::from(*offset)).collect(), values)
        }
    };
    drop(array);
    let (first, last) = (*offsets.first()?, *offsets.last()?);
    if first == 0 && last as usize == values.len() {
        return Some((offsets, values));
    }
    let moved = offsets.iter().map(|offset| offset - first).collect();
    Some((moved, values.slice(first as usize, (last - first) as usize)))
}

/// The numbers of an array, with `missing` in place of nulls.
fn numbers<T: arrow_array::ArrowPrimitiveType>(array: ArrayRef, missing: T::Native) -> Vec<T::Native> {
    let (_, values, nulls) = array.as_primitive::<T>().clone().into_parts();
    drop(array); // so that the memory of the values is not shared
    let mut values = owned(values);
    for row in nulls.iter().flat_map(|nulls| (0..nulls.len()).filter(|row| nulls.is_null(*row))) {
        values[row] = missing;
    }
    values
}

fn owned<T: ArrowNativeType>(values: ScalarBuffer<T>) -> Vec<T> {
    values.into_inner().into_vec::<T>().unwrap_or_else(|shared| shared.typed_data::<T>().to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use bytes::Bytes;

    use ::parquet::file::metadata::ParquetMetaDataReader;
    use ::parquet::schema::printer::print_schema;

    use super::super::parquet_read::{read_first, read_parquet, table_of};
    use super::super::parquet_write::parquet_bytes;
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

    /// A table with a column of each kind, null times and strings, unusual doubles, and empty lists.
    fn sample() -> Table {
        let odd = [0.1 + 0.2, f64::NAN, -0.0, f64::INFINITY, f64::from_bits(0x7ff8_0000_dead_beef), 5e-324];
        let doubles = |count: usize| (0..count).map(|place| odd[place % odd.len()]).collect::<Vec<_>>();
        let texts = |count: usize| (0..count).map(|place| (place % 3 > 0).then(|| format!("é\"{place}"))).collect();
        let times = |count: i64| (0..count).map(|at| if at % 4 == 1 { NO_TIME } else { at * 1_570_752_011 }).collect();
        let (outer, deep) = (vec![0, 2, 2, 5, 6, 6], vec![0, 0, 3, 4, 4, 4, 7]);
        let inner = RaggedRows {
            offsets: deep.clone(),
            columns: vec![("number".into(), Column::Int((0..7).collect())), ("at".into(), Column::Time(times(7)))],
        };
        let records = vec![
            ("price".into(), Column::Float(doubles(6))),
            ("blocks".into(), Column::List(List { offsets: deep, values: doubles(7) })),
            ("note".into(), Column::Text(texts(6))),
            ("deep".into(), Column::Rows(inner)),
        ];
        vec![
            ("time".into(), Column::Time(times(5))),
            ("value".into(), Column::Float(doubles(5))),
            ("count".into(), Column::Int(vec![i64::MIN, -1, 0, 1, i64::MAX])),
            ("text".into(), Column::Text(texts(5))),
            ("list".into(), Column::List(List { offsets: outer.clone(), values: doubles(6) })),
            ("rows".into(), Column::Rows(RaggedRows { offsets: outer.clone(), columns: records })),
            ("bare".into(), Column::Rows(RaggedRows { offsets: outer, columns: vec![] })),
        ]
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
                ("rows".into(), Column::Rows(RaggedRows { offsets: offsets.clone(), columns: vec![
                    ("price".into(), Column::Float(doubles(inner))),
                    ("blocks".into(), Column::List(List { offsets: deep.clone(), values: doubles(levels) })),
                    ("note".into(), Column::Text(texts[..inner].to_vec())),
                    ("deep".into(), Column::Rows(RaggedRows { offsets: deep.clone(), columns: vec![
                        ("number".into(), Column::Int((0..levels as i64).collect())),
                        ("at".into(), Column::Time(vec![NO_TIME; levels])),
                    ] })),
                ] })),
                ("bare".into(), Column::Rows(RaggedRows { offsets, columns: vec![] })),
            ];
            let metadata = vec![("key".to_owned(), "value".to_owned())];
            let bytes = Bytes::from(parquet_bytes(&table, &metadata).unwrap());
            let (read, beside) = table_of(bytes.clone(), |_| true).unwrap();
            prop_assert!(beside.contains(&metadata[0]));
            prop_assert_eq!(read.len(), table.len());
            for ((name, column), (known, values)) in read.iter().zip(&table) {
                prop_assert_eq!(name, known);
                prop_assert!(same(column, values), "{}: {:?} is not {:?}", name, column, values);
            }
            let (one, _) = table_of(bytes, |name| name == "count").unwrap();
            prop_assert_eq!(one.len(), 1);
            prop_assert_eq!(one[0].1.clone(), Column::Int((0..rows as i64).collect()));
        }
    }

    /// Files written before the package used Arrow, in `tests/parquet`.
    #[test]
    fn files_of_earlier_versions_read_back_and_are_written_alike() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet");
        let bytes = Bytes::from(std::fs::read(folder.join("nested.parquet")).unwrap());
        let (read, metadata) = table_of(bytes.clone(), |_| true).unwrap();
        assert_eq!(metadata, [("key".to_owned(), "value".to_owned())]);
        assert_same(&read, &sample());
        let written = Bytes::from(parquet_bytes(&sample(), &metadata).unwrap());
        assert_eq!(spelt_schema(&written), spelt_schema(&bytes));

        let flat = sample()[..4].to_vec();
        let mut twice = flat.clone();
        for ((_, column), (_, more)) in twice.iter_mut().zip(&flat) {
            assert!(column.append(more.clone()));
        }
        let path = folder.join("flat.parquet");
        let (read, metadata) = read_parquet(&path).unwrap(); // verifies its checksum
        assert_same(&read, &twice);
        let written = parquet_bytes(&flat, &metadata).unwrap();
        assert_eq!(spelt_schema(&Bytes::from(written)), spelt_schema(&Bytes::from(std::fs::read(&path).unwrap())));
        assert_eq!(read_first(&path, "count").unwrap(), Some(i64::MIN));
    }

    fn assert_same(read: &Table, known: &Table) {
        assert_eq!(read.len(), known.len());
        for ((name, column), (expected, values)) in read.iter().zip(known) {
            assert!(name == expected && same(column, values), "{name}: {column:?} is not {values:?}");
        }
    }

    /// The schema in Parquet's notation.
    fn spelt_schema(bytes: &Bytes) -> String {
        let footer = ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
        let mut spelt = Vec::new();
        print_schema(&mut spelt, footer.file_metadata().schema_descr().root_schema());
        String::from_utf8(spelt).unwrap()
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let table: Table = vec![
            ("n".into(), Column::Int((0..50).collect())),
            ("l".into(), Column::List(List { offsets: (0..51).collect(), values: vec![0.5; 50] })),
        ];
        let whole = parquet_bytes(&table, &vec![]).unwrap();
        for cut in 0..whole.len() {
            assert!(table_of(Bytes::copy_from_slice(&whole[..cut]), |_| true).is_err(), "{cut}");
        }
        for bit in (0..whole.len() * 8).step_by(5) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = table_of(Bytes::from(bytes), |_| true);
        }
    }
}
