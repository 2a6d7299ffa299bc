//! Tables → CSV.

use std::path::Path;

use jiff::Timestamp;

use super::table::rows;
use super::whole::write_whole;
use super::{ArchiveError, Table};
use crate::columns::{Column, NO_TIME};

/// Writes a table to a CSV file that appears whole or not at all. Times are ISO 8601 in UTC; what is not there (NaN, no
/// time, no string) is an empty field; doubles are spelt so that they read back exactly.
///
/// # Errors
/// The file cannot be written, or the columns are ragged or of different lengths.
pub fn write_csv(path: &Path, table: &Table) -> Result<(), ArchiveError> {
    let rows = rows(path, table)?;
    write_whole(path, |out| {
        let mut writer = csv::Writer::from_writer(out);
        let header = table.iter().map(|(name, _)| name);
        writer.write_record(header).map_err(|error| error.to_string())?;
        for row in 0..rows {
            for (_, column) in table {
                writer.write_field(cell(column, row)).map_err(|error| error.to_string())?;
            }
            writer.write_record(None::<&[u8]>).map_err(|error| error.to_string())?;
        }
        writer.flush().map_err(|error| error.to_string())
    })
}

fn cell(column: &Column, row: usize) -> String {
    match column {
        Column::Float(values) if values[row].is_nan() => String::new(),
        Column::Float(values) => values[row].to_string(),
        Column::Int(values) => values[row].to_string(),
        Column::Time(values) if values[row] == NO_TIME => String::new(),
        Column::Time(values) => {
            Timestamp::from_nanosecond(i128::from(values[row])).map_or_else(|_| String::new(), |time| time.to_string())
        }
        Column::Text(values) => values[row].clone().unwrap_or_default(),
        Column::List(_) | Column::Rows(_) => String::new(), // refused by `rows`
    }
}
