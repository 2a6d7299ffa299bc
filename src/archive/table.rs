//! A flat table: what a file holds.

use std::path::Path;

use super::ArchiveError;
use crate::columns::Column;

/// Named columns of one length. Only doubles, whole numbers, times and strings lie flat.
pub type Table = Vec<(String, Column)>;

/// Names and values that a file carries beside its columns.
pub type Metadata = Vec<(String, String)>;

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
