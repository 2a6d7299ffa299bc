//! Tables → Parquet.

use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::table::{CONTENT, ContentHash, rows};
use super::whole::Unfinished;
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
    let mut writer = ParquetWriter::begin(path, table)?;
    writer.push(table)?;
    writer.finish(metadata)
}

/// A Parquet file as [`write_parquet`] writes it, of a table that comes in parts. It appears when it is finished; dropped
/// before, it leaves nothing.
pub struct ParquetWriter {
    file: Unfinished,
    writer: SerializedFileWriter<BufWriter<File>>,
    hash: ContentHash,
}

impl ParquetWriter {
    /// Begins a file of tables with the columns of `like`.
    ///
    /// # Errors
    /// The file cannot be made, or a column is ragged.
    pub fn begin(path: &Path, like: &Table) -> Result<Self, ArchiveError> {
        rows(path, like)?;
        let file = Unfinished::begin(path)?;
        let schema = schema(like).map_err(|error| file.bad(&error))?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("marketpoints ", env!("CARGO_PKG_VERSION")).to_owned());
        for (name, column) in like {
            if matches!(column, Column::Time(_) | Column::Int(_)) {
                // Times hardly repeat, but their steps are small: half the size and a third of the time of a dictionary.
                let name = ColumnPath::from(name.as_str());
                properties = properties
                    .set_column_dictionary_enabled(name.clone(), false)
                    .set_column_encoding(name, Encoding::DELTA_BINARY_PACKED);
            }
        }
        let writer = SerializedFileWriter::new(file.out()?, schema, Arc::new(properties.build()))
            .map_err(|error| file.bad(&error))?;
        Ok(Self { file, writer, hash: ContentHash::default() })
    }

    /// Adds rows; the columns are those of `like`.
    ///
    /// # Errors
    /// The file cannot be written, or the columns are of different lengths.
    pub fn push(&mut self, part: &Table) -> Result<(), ArchiveError> {
        let rows = rows(&self.file.path, part)?;
        self.hash.update(part);
        for start in (0..rows).step_by(GROUP) {
            let span = start..rows.min(start + GROUP);
            self.group(part, span).map_err(|error| self.file.bad(&error))?;
        }
        Ok(())
    }

    fn group(&mut self, part: &Table, span: Range<usize>) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (_, column) in part {
            write_column(&mut group, column, span.clone())?;
        }
        group.close()?;
        Ok(())
    }

    /// Completes the file and puts it in place.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, metadata: &Metadata) -> Result<(), ArchiveError> {
        for (name, value) in metadata {
            self.writer.append_key_value_metadata(KeyValue::new(name.clone(), value.clone()));
        }
        self.writer.append_key_value_metadata(KeyValue::new(CONTENT.to_owned(), self.hash.finish()));
        let out = self.writer.into_inner().map_err(|error| self.file.bad(&error))?;
        out.into_inner().map_err(|error| self.file.bad(error.error()))?;
        self.file.finish()
    }
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
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    column: &Column,
    span: Range<usize>,
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
        Column::List(_) | Column::Rows(_) | Column::Raw(_) => {
            return Err(ParquetError::General("a ragged column".to_owned()));
        }
    }
    writer.close()
}
