//! Tables → Parquet.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::table::{CONTENT, content_hash, rows};
use super::whole::write_whole;
use super::{ArchiveError, Metadata, Table};
use crate::columns::{Column, NO_TIME};

/// Rows of a row group: readers skip or share out whole groups.
const GROUP: usize = 1 << 20;

/// Writes a table to a Parquet file that appears whole or not at all.
///
/// Doubles are required DOUBLE (NaN stays NaN), whole numbers required INT64, times optional INT64 of the logical type
/// `TIMESTAMP(NANOS, UTC)`, strings optional UTF-8; compression is zstd. A hash of the values goes into the metadata, so
/// that [`super::read_parquet`] tells a flipped bit from data.
///
/// # Errors
/// The file cannot be written, or the columns are ragged or of different lengths.
pub fn write_parquet(path: &Path, table: &Table, metadata: &Metadata) -> Result<(), ArchiveError> {
    let rows = rows(path, table)?;
    let schema = schema(table).map_err(|error| ArchiveError::new(path, error.to_string()))?;
    let mut pairs: Vec<KeyValue> =
        metadata.iter().map(|(name, value)| KeyValue::new(name.clone(), value.clone())).collect();
    pairs.push(KeyValue::new(CONTENT.to_owned(), content_hash(table)));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(pairs))
        .set_created_by(concat!("marketpoints ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    write_whole(path, |out| fill(out, table, rows, schema, properties).map_err(|error| error.to_string()))
}

fn fill(
    out: BufWriter<&File>,
    table: &Table,
    rows: usize,
    schema: TypePtr,
    properties: WriterProperties,
) -> Result<(), ParquetError> {
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    for start in (0..rows).step_by(GROUP) {
        let span = start..rows.min(start + GROUP);
        let mut group = writer.next_row_group()?;
        for (_, column) in table {
            write_column(&mut group, column, span.clone())?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn schema(table: &Table) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::new();
    for (name, column) in table {
        let (physical, repetition, logical) = match column {
            Column::Float(_) => (Physical::DOUBLE, Repetition::REQUIRED, None),
            Column::Time(_) => {
                (Physical::INT64, Repetition::OPTIONAL, Some(LogicalType::timestamp(true, TimeUnit::NANOS)))
            }
            Column::Text(_) => (Physical::BYTE_ARRAY, Repetition::OPTIONAL, Some(LogicalType::String)),
            _ => (Physical::INT64, Repetition::REQUIRED, None),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        fields.push(Arc::new(field.with_logical_type(logical).build()?));
    }
    Ok(Arc::new(Type::group_type_builder("points").with_fields(fields).build()?))
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<&File>>,
    column: &Column,
    span: std::ops::Range<usize>,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".to_owned()));
    };
    match column {
        Column::Float(values) => {
            writer.typed::<DoubleType>().write_batch(&values[span], None, None)?;
        }
        Column::Int(values) => {
            writer.typed::<Int64Type>().write_batch(&values[span], None, None)?;
        }
        Column::Time(values) => {
            let values = &values[span];
            let there: Vec<i64> = values.iter().copied().filter(|time| *time != NO_TIME).collect();
            let levels: Vec<i16> = values.iter().map(|time| i16::from(*time != NO_TIME)).collect();
            writer.typed::<Int64Type>().write_batch(&there, Some(&levels), None)?;
        }
        Column::Text(values) => {
            let values = &values[span];
            let there: Vec<ByteArray> = values.iter().flatten().map(|text| text.as_str().into()).collect();
            let levels: Vec<i16> = values.iter().map(|text| i16::from(text.is_some())).collect();
            writer.typed::<ByteArrayType>().write_batch(&there, Some(&levels), None)?;
        }
        Column::List(_) | Column::Rows(_) => return Err(ParquetError::General("a ragged column".to_owned())),
    }
    writer.close()
}
