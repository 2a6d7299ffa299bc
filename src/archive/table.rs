//! A flat table: what a file holds.

use std::path::Path;

use super::ArchiveError;
use sha2::{Digest, Sha256};

use crate::columns::Column;
use crate::hexadecimal::hexadecimal;

/// Named columns of one length. Only doubles, whole numbers, times and strings lie flat.
pub type Table = Vec<(String, Column)>;

/// Names and values that a file carries beside its columns.
pub type Metadata = Vec<(String, String)>;

/// Metadata key: hash of what a file holds, so that a flipped bit is told from data.
pub(super) const CONTENT: &str = "marketpoints.content_sha256";

/// Hash of a table's names, kinds and values.
pub(super) fn content_hash(table: &Table) -> String {
    let mut hasher = Sha256::new();
    for (name, column) in table {
        hasher.update(name.as_bytes());
        hasher.update([0]);
        match column {
            Column::Float(values) => values.iter().for_each(|value| hasher.update(value.to_bits().to_le_bytes())),
            Column::Int(values) | Column::Time(values) => {
                for value in values {
                    hasher.update(value.to_le_bytes());
                }
            }
            Column::Text(values) => values.iter().for_each(|value| {
                hasher.update([u8::from(value.is_some())]);
                hasher.update(value.as_deref().unwrap_or_default().as_bytes());
                hasher.update([0]);
            }),
            Column::List(_) | Column::Rows(_) => {} // refused by `rows`
        }
    }
    hexadecimal(&hasher.finalize())
}

/// Number of rows, once the columns are known to be flat and of one length.
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
