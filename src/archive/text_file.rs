//! Writes tables as text: CSV and JSON.

use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Number, Value};

use super::atomic_file::write_whole;
use super::error::ArchiveError;
use super::table::{Table, rows};
use crate::clock::UnixNanos;
use crate::columns::{Column, NO_TIME};

/// A text format. Times are ISO 8601 in UTC; doubles are read back exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// A header and a line per row; a missing value (NaN, no time, no string) is an empty field.
    Csv,
    /// A list of objects, one per line; a missing value, or one that JSON has no number for, is null.
    Json,
}

impl TextFormat {
    /// The format of that name, which is also the files' extension.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn spell(self, table: &Table, rows: usize, out: impl Write) -> Result<(), String> {
        match self {
            Self::Csv => csv(table, rows, out).map_err(|error| error.to_string()),
            Self::Json => json(table, rows, out).map_err(|error| error.to_string()),
        }
    }
}

/// Writes a table to a text file, atomically.
///
/// # Errors
/// The file cannot be written, or the columns are ragged or differ in length.
pub fn write_text(path: &Path, table: &Table, format: TextFormat) -> Result<(), ArchiveError> {
    let rows = rows(path, table)?;
    write_whole(path, |out| format.spell(table, rows, out))
}

/// A table as text.
///
/// # Errors
/// The columns are ragged or differ in length.
pub fn table_text(table: &Table, format: TextFormat) -> Result<Vec<u8>, ArchiveError> {
    let nowhere = Path::new("table");
    let mut text = Vec::new();
    let written = format.spell(table, rows(nowhere, table)?, &mut text);
    written.map(|()| text).map_err(|problem| ArchiveError::new(nowhere, problem))
}

fn csv(table: &Table, rows: usize, out: impl Write) -> csv::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.iter().map(|(name, _)| name))?;
    for row in 0..rows {
        for (_, column) in table {
            writer.write_field(field(column, row))?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(writer.flush()?)
}

fn json(table: &Table, rows: usize, mut out: impl Write) -> std::io::Result<()> {
    let names: Vec<String> = table.iter().map(|(name, _)| Value::from(name.as_str()).to_string()).collect();
    write!(out, "[")?;
    for row in 0..rows {
        write!(out, "{}", if row == 0 { "\n{" } else { ",\n{" })?;
        for (place, (name, (_, column))) in names.iter().zip(table).enumerate() {
            write!(out, "{}{name}:{}", if place == 0 { "" } else { "," }, value(column, row))?;
        }
        write!(out, "}}")?;
    }
    writeln!(out, "\n]")?;
    out.flush()
}

fn time(moment: UnixNanos) -> Option<String> {
    let time = Timestamp::from_nanosecond(i128::from(moment.0)).ok();
    time.filter(|_| moment.0 != NO_TIME).map(|time| time.to_string())
}

fn field(column: &Column, row: usize) -> String {
    match column {
        Column::Float(values) if values[row].is_nan() => String::new(),
        Column::Float(values) => values[row].to_string(),
        Column::Int(values) => values[row].to_string(),
        Column::Time(values) => time(UnixNanos(values[row])).unwrap_or_default(),
        Column::Text(values) => values[row].clone().unwrap_or_default(),
        Column::List(_) | Column::Rows(_) | Column::Raw(_) => String::new(), // refused by `rows`
    }
}

fn value(column: &Column, row: usize) -> Value {
    match column {
        Column::Float(values) => Number::from_f64(values[row]).map_or(Value::Null, Value::Number),
        Column::Int(values) => values[row].into(),
        Column::Time(values) => time(UnixNanos(values[row])).into(),
        Column::Text(values) => values[row].clone().into(),
        Column::List(_) | Column::Rows(_) | Column::Raw(_) => Value::Null, // refused by `rows`
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_tell_what_is_there_and_what_is_not() {
        let table: Table = vec![
            ("time".to_owned(), Column::Time(vec![1_500_000_000, NO_TIME])),
            ("a \"b\"".to_owned(), Column::Float(vec![0.1, f64::NAN])),
            ("n".to_owned(), Column::Int(vec![-1, 2])),
            ("text".to_owned(), Column::Text(vec![Some("x,\"y\"\n".to_owned()), None])),
        ];
        let text = |format| String::from_utf8(table_text(&table, format).unwrap()).unwrap();
        assert_eq!(
            text(TextFormat::Csv),
            "time,\"a \"\"b\"\"\",n,text\n1970-01-01T00:00:01.5Z,0.1,-1,\"x,\"\"y\"\"\n\"\n,,2,\n"
        );
        let read: Value = serde_json::from_str(&text(TextFormat::Json)).unwrap();
        assert_eq!(
            read,
            serde_json::json!([
                {"time": "1970-01-01T00:00:01.5Z", "a \"b\"": 0.1, "n": -1, "text": "x,\"y\"\n"},
                {"time": null, "a \"b\"": null, "n": 2, "text": null},
            ])
        );
        let none: Table = vec![("time".to_owned(), Column::Time(Vec::new()))];
        assert_eq!(table_text(&none, TextFormat::Json).unwrap(), b"[\n]\n");
        let uneven: Table = vec![("a".to_owned(), Column::Int(vec![1])), ("b".to_owned(), Column::Int(vec![]))];
        assert!(table_text(&uneven, TextFormat::Csv).is_err());
    }
}
