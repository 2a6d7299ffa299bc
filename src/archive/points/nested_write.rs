//! Tables with lists → Parquet bytes. Lists are Parquet's own (`LIST`), so that every reader sees them as lists; values
//! are laid out by repetition and definition levels, as the format's paper ("Dremel") has it.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use crate::archive::{Metadata, Table};
use crate::columns::{Column, NO_TIME};

type Parquet<T> = Result<T, ParquetError>;

/// Stands for the fields of records that never had any: Parquet has no group without fields.
pub(super) const NO_FIELDS: &str = "nothing";

/// A table as the bytes of a Parquet file. The columns are of one length.
pub(super) fn encode(table: &Table, metadata: &Metadata) -> Parquet<Vec<u8>> {
    let fields: Vec<TypePtr> = table.iter().map(|(name, column)| field(name, column)).collect::<Parquet<_>>()?;
    let schema = Arc::new(Type::group_type_builder("points").with_fields(fields).build()?);
    let pairs = metadata.iter().map(|(name, value)| KeyValue::new(name.clone(), value.clone())).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(pairs))
        .set_created_by(concat!("marketpoints ", env!("CARGO_PKG_VERSION")).to_owned());
    for (name, column) in table {
        if matches!(column, Column::Time(_)) {
            // Times hardly repeat, but their steps are small.
            let name = ColumnPath::from(name.as_str());
            properties = properties
                .set_column_dictionary_enabled(name.clone(), false)
                .set_column_encoding(name, Encoding::DELTA_BINARY_PACKED);
        }
    }
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    let rows = table.first().map_or(0, |(_, column)| column.len());
    if rows > 0 {
        let mut group = writer.next_row_group()?;
        let places: Vec<Place> =
            (0..rows).map(|row| Place { repetition: 0, definition: 0, index: Some(row) }).collect();
        for (_, column) in table {
            write(&mut group, column, &places, 0)?;
        }
        group.close()?;
    }
    writer.into_inner()
}

fn field(name: &str, column: &Column) -> Parquet<TypePtr> {
    let plain = |physical, repetition, logical| {
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let time = Some(LogicalType::timestamp(true, TimeUnit::NANOS));
    match column {
        Column::Float(_) => plain(Physical::DOUBLE, Repetition::REQUIRED, None),
        Column::Int(_) => plain(Physical::INT64, Repetition::REQUIRED, None),
        Column::Time(_) => plain(Physical::INT64, Repetition::OPTIONAL, time),
        Column::Text(_) | Column::Raw(_) => {
            plain(Physical::BYTE_ARRAY, Repetition::OPTIONAL, Some(LogicalType::String))
        }
        Column::List(_) => list(name, field("element", &Column::Float(Vec::new()))?),
        Column::Rows(rows) if rows.columns.is_empty() => {
            list(name, group("element", vec![field(NO_FIELDS, &Column::Int(Vec::new()))?])?)
        }
        Column::Rows(rows) => {
            let fields = rows.columns.iter().map(|(name, column)| field(name, column)).collect::<Parquet<_>>()?;
            list(name, group("element", fields)?)
        }
    }
}

fn group(name: &str, fields: Vec<TypePtr>) -> Parquet<TypePtr> {
    let group = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED).with_fields(fields);
    group.build().map(Arc::new)
}

/// The three levels that the format prescribes for lists.
fn list(name: &str, element: TypePtr) -> Parquet<TypePtr> {
    let repeated = Type::group_type_builder("list").with_repetition(Repetition::REPEATED).with_fields(vec![element]);
    let group = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
    let group = group.with_logical_type(Some(LogicalType::List)).with_fields(vec![Arc::new(repeated.build()?)]);
    group.build().map(Arc::new)
}

/// Where a value stands: its levels, and its row in the column, or none within an empty list.
#[derive(Clone, Copy)]
struct Place {
    repetition: i16,
    definition: i16,
    index: Option<usize>,
}

/// The places inside the lists of a column.
fn inside(places: &[Place], offsets: &[i64], depth: i16) -> Vec<Place> {
    let mut inner = Vec::with_capacity(places.len());
    for place in places {
        let span = place.index.map_or(0..0, |row| offsets[row] as usize..offsets[row + 1] as usize);
        if span.is_empty() {
            inner.push(Place { index: None, ..*place });
        }
        for index in span.clone() {
            let repetition = if index == span.start { place.repetition } else { depth };
            inner.push(Place { repetition, definition: depth, index: Some(index) });
        }
    }
    inner
}

fn write(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    column: &Column,
    places: &[Place],
    depth: i16,
) -> Parquet<()> {
    match column {
        Column::Float(values) => leaf::<DoubleType>(group, places, depth, false, |row| Some(values[row])),
        Column::Int(values) => leaf::<Int64Type>(group, places, depth, false, |row| Some(values[row])),
        Column::Time(values) => {
            leaf::<Int64Type>(group, places, depth, true, |row| Some(values[row]).filter(|time| *time != NO_TIME))
        }
        Column::Text(values) => {
            let text = |row: usize| values[row].as_deref().map(ByteArray::from);
            leaf::<ByteArrayType>(group, places, depth, true, text)
        }
        Column::Raw(raw) => leaf::<ByteArrayType>(group, places, depth, true, |row| raw.get(row).map(ByteArray::from)),
        Column::List(list) => {
            let inner = inside(places, &list.offsets, depth + 1);
            leaf::<DoubleType>(group, &inner, depth + 1, false, |row| Some(list.values[row]))
        }
        Column::Rows(rows) => {
            let inner = inside(places, &rows.offsets, depth + 1);
            if rows.columns.is_empty() {
                return leaf::<Int64Type>(group, &inner, depth + 1, false, |_| Some(0));
            }
            rows.columns.iter().try_for_each(|(_, column)| write(group, column, &inner, depth + 1))
        }
    }
}

fn leaf<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    places: &[Place],
    depth: i16,
    optional: bool,
    value: impl Fn(usize) -> Option<T::T>,
) -> Parquet<()> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".to_owned()));
    };
    let found: Vec<Option<T::T>> = places.iter().map(|place| place.index.and_then(&value)).collect();
    let definitions: Vec<i16> = places
        .iter()
        .zip(&found)
        .map(|(place, value)| if value.is_some() { depth + i16::from(optional) } else { place.definition })
        .collect();
    let repetitions: Vec<i16> = places.iter().map(|place| place.repetition).collect();
    let values: Vec<T::T> = found.into_iter().flatten().collect();
    let definitions = (optional || depth > 0).then_some(definitions.as_slice());
    let repetitions = (depth > 0).then_some(repetitions.as_slice());
    writer.typed::<T>().write_batch(&values, definitions, repetitions)?;
    writer.close()
}
