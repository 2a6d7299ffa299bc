//! Flat tables, as files contain them.

use std::path::Path;

use super::error::ArchiveError;
use sha2::{Digest, Sha256};

use crate::columns::Column;

/// Named columns of equal length. Only doubles, integers, times and strings are flat.
pub type Table = Vec<(String, Column)>;

/// Names and values of a file's metadata.
pub type Metadata = Vec<(String, String)>;

/// Metadata key: hash of a file's content, by which flipped bits are detected.
pub(super) const CONTENT: &str = "marketpoints.content_sha256";

/// Hash of a table's names, kinds and values, which may come in parts.
#[derive(Default)]
pub(super) struct ContentHash {
    columns: Vec<(String, Sha256)>,
}

impl ContentHash {
    /// Adds the next rows of the same columns.
    pub(super) fn update(&mut self, part: &Table) {
        if self.columns.is_empty() {
            self.columns = part.iter().map(|(name, _)| (name.clone(), Sha256::new())).collect();
        }
        for ((_, hasher), (_, column)) in self.columns.iter_mut().zip(part) {
            update(hasher, column);
        }
    }

    /// The hash, in hexadecimal.
    pub(super) fn finish(self) -> String {
        let mut whole = Sha256::new();
        for (name, hasher) in self.columns {
            whole.update(name.as_bytes());
            whole.update([0]);
            whole.update(hasher.finalize());
        }
        hex::encode(whole.finalize())
    }
}

fn update(hasher: &mut Sha256, column: &Column) {
    match column {
        Column::Float(values) => words(hasher, values, |value| value.to_bits().to_le_bytes()),
        Column::Int(values) | Column::Time(values) => words(hasher, values, i64::to_le_bytes),
        Column::Text(values) => values.iter().for_each(|value| {
            hasher.update([u8::from(value.is_some())]);
            hasher.update(value.as_deref().unwrap_or_default().as_bytes());
            hasher.update([0]);
        }),
        Column::Raw(raw) => raw.iter().for_each(|value| {
            hasher.update(value.unwrap_or_default().as_bytes());
            hasher.update([0]);
        }),
        Column::List(list) => {
            words(hasher, &list.offsets, i64::to_le_bytes);
            words(hasher, &list.values, |value| value.to_bits().to_le_bytes());
        }
        Column::Rows(rows) => {
            words(hasher, &rows.offsets, i64::to_le_bytes);
            for (name, column) in &rows.columns {
                hasher.update(name.as_bytes());
                hasher.update([0]);
                update(hasher, column);
            }
        }
    }
}

/// Hashes a page of values at a time: one call per value would cost more than the hash.
fn words<T: Copy>(hasher: &mut Sha256, values: &[T], bytes: impl Fn(T) -> [u8; 8]) {
    let mut page = [0; 4096];
    for values in values.chunks(page.len() / 8) {
        for (place, &value) in page.as_chunks_mut().0.iter_mut().zip(values) {
            *place = bytes(value);
        }
        hasher.update(&page[..values.len() * 8]);
    }
}

/// Hash of a complete table.
pub(super) fn content_hash(table: &Table) -> String {
    let mut hash = ContentHash::default();
    hash.update(table);
    hash.finish()
}

/// Number of rows, after checking that the columns are flat and of equal length.
pub(super) fn rows(path: &Path, table: &Table) -> Result<usize, ArchiveError> {
    let rows = table.first().map_or(0, |(_, column)| column.len());
    for (name, column) in table {
        if matches!(column, Column::List(_) | Column::Rows(_)) {
            return Err(ArchiveError::new(path, format!("column {name} is ragged; lay it out in long form first")));
        }
        if column.len() != rows {
            let problem = format!("column {name} has {} rows, the first column {rows}", column.len());
            return Err(ArchiveError::new(path, problem));
        }
    }
    Ok(rows)
}
