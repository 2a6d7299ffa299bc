//! Writes tables as Parquet, through Arrow. Lists are Parquet's own (`LIST`), so that every reader sees them as lists.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::arrow_table::{ELEMENT, LIST, batch, schema};
use super::atomic_file::{Unfinished, Unplaced};
use super::error::ArchiveError;
use super::parquet_ranges::checksums;
use super::table::{CONTENT, ContentHash, Metadata, Table, rows};
use crate::columns::Column;

/// Rows of a row group: readers skip or distribute complete groups.
const GROUP: usize = 1 << 20;
/// Rows that are converted for the library at once: few enough for the CPU caches.
const BATCH: usize = 1 << 14;

/// Compression level of zstd: its default. Against the lowest level, files are up to a third smaller and read as fast.
const LEVEL: i32 = 3;
/// Number of values that are sampled per column.
const SAMPLE: usize = 1 << 13;

/// Writes a table to a Parquet file, atomically.
///
/// Doubles are required DOUBLE (NaN stays NaN), integers required INT64, times optional INT64 of the logical type
/// `TIMESTAMP(NANOS, UTC)`, strings optional UTF-8; compression is zstd. The metadata contains a hash of the values, by
/// which [`super::read_parquet`] detects flipped bits.
///
/// # Errors
/// The file cannot be written, or the columns are ragged or differ in length.
pub fn write_parquet(path: &Path, table: &Table, metadata: &Metadata) -> Result<(), ArchiveError> {
    let mut writer = ParquetWriter::begin(path, table)?;
    writer.push(table)?;
    writer.finish(metadata)
}

/// A table, with or without lists, as the bytes of a Parquet file. All columns have the same length.
pub(super) fn parquet_bytes(table: &Table, metadata: &Metadata) -> Result<Vec<u8>, ParquetError> {
    let mut writer = TableWriter::begin(Vec::new(), table)?;
    writer.push(table)?;
    writer.finish(metadata)
}

/// The same with checksums of the column chunks (`parquet_ranges`) in its metadata.
pub(super) fn parquet_bytes_with_checksums(table: &Table, metadata: &Metadata) -> Result<Vec<u8>, ParquetError> {
    let mut writer = TableWriter::begin(Vec::new(), table)?;
    writer.push(table)?;
    writer.writer.sync()?; // so that all column chunks are there
    let checksums = checksums(writer.writer.inner(), writer.writer.flushed_row_groups());
    let metadata = metadata.iter().cloned().chain(checksums).collect();
    writer.finish(&metadata)
}

/// Writes a table in parts, in the format of [`write_parquet`]. The file appears when it is finished; dropped before,
/// it leaves nothing.
pub struct ParquetWriter {
    file: Unfinished,
    writer: TableWriter<BufWriter<File>>,
    hash: ContentHash,
}

impl ParquetWriter {
    /// Creates a file for tables with the columns of `like`.
    ///
    /// # Errors
    /// The file cannot be created, or a column is ragged.
    pub fn begin(path: &Path, like: &Table) -> Result<Self, ArchiveError> {
        rows(path, like)?;
        let file = Unfinished::begin(path)?;
        let writer = TableWriter::begin(file.out()?, like).map_err(|error| file.bad(&cause(&error)))?;
        Ok(Self { file, writer, hash: ContentHash::default() })
    }

    /// Adds rows; the columns are those of `like`.
    ///
    /// # Errors
    /// The file cannot be written, or the columns differ in length.
    pub fn push(&mut self, part: &Table) -> Result<(), ArchiveError> {
        rows(&self.file.path, part)?;
        self.hash.update(part);
        self.writer.push(part).map_err(|error| self.file.bad(&cause(&error)))
    }

    /// Completes the file and moves it to its path.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self, metadata: &Metadata) -> Result<(), ArchiveError> {
        self.complete(metadata)?.place()
    }

    /// Completes the file; the caller then puts it in place.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn complete(self, metadata: &Metadata) -> Result<Unplaced, ArchiveError> {
        let hash = (CONTENT.to_owned(), self.hash.finish());
        let metadata = metadata.iter().cloned().chain([hash]).collect();
        let out = self.writer.finish(&metadata).map_err(|error| self.file.bad(&cause(&error)))?;
        out.into_inner().map_err(|error| self.file.bad(error.error()))?;
        self.file.complete()
    }
}

/// What went wrong, without the library's word for errors that are not its own, such as a full disk.
fn cause(error: &ParquetError) -> String {
    match error {
        ParquetError::External(inner) => inner.to_string(),
        other => other.to_string(),
    }
}

/// Writes tables with the same columns as Parquet.
struct TableWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
}

impl<W: Write + Send> TableWriter<W> {
    fn begin(out: W, like: &Table) -> Result<Self, ParquetError> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
            .set_max_row_group_row_count(Some(GROUP))
            .set_created_by(concat!("marketpoints ", env!("CARGO_PKG_VERSION")).to_owned());
        for (name, column) in like {
            let one = || ColumnPath::from(name.as_str());
            match column {
                // Times hardly repeat, but their differences are small: half the size and a third of the time of a
                // dictionary.
                Column::Time(_) | Column::Int(_) => {
                    properties = properties
                        .set_column_dictionary_enabled(one(), false)
                        .set_column_encoding(one(), Encoding::DELTA_BINARY_PACKED);
                }
                // A dictionary of values that do not repeat is a second column, and its codes hide repeated digits from
                // the compression: such files are a quarter larger, and slower to read.
                Column::Float(values) if !repeat(values) => {
                    properties = properties.set_column_dictionary_enabled(one(), false);
                }
                Column::List(list) if !repeat(&list.values) => {
                    let path = [name.as_str(), LIST, ELEMENT].map(str::to_owned).to_vec();
                    properties = properties.set_column_dictionary_enabled(ColumnPath::new(path), false);
                }
                _ => {}
            }
        }
        // The file is plain Parquet, without an embedded Arrow schema.
        let options = ArrowWriterOptions::new().with_properties(properties.build());
        let options = options.with_skip_arrow_metadata(true).with_schema_root("points".to_owned());
        let schema = schema(like);
        Ok(Self { writer: ArrowWriter::try_new_with_options(out, schema.clone(), options)?, schema })
    }

    /// Appends rows, as row groups of their own.
    fn push(&mut self, part: &Table) -> Result<(), ParquetError> {
        let rows = part.first().map_or(0, |(_, column)| column.len());
        for start in (0..rows).step_by(BATCH) {
            self.writer.write(&batch(&self.schema, part, start..rows.min(start + BATCH))?)?;
        }
        self.writer.flush()
    }

    fn finish(mut self, metadata: &Metadata) -> Result<W, ParquetError> {
        for (name, value) in metadata {
            self.writer.append_key_value_metadata(KeyValue::new(name.clone(), value.clone()));
        }
        self.writer.into_inner()
    }
}

/// Whether most values repeat others, judged by the first ones.
fn repeat(values: &[f64]) -> bool {
    let sample = &values[..values.len().min(SAMPLE)];
    sample.iter().map(|value| value.to_bits()).collect::<HashSet<u64>>().len() * 2 <= sample.len()
}
