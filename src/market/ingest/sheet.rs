//! Sheets: CSV files of the package's own layouts, which people write with spreadsheets and data frames. Fields may be
//! quoted, columns come in any order, and those that may be left out may.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use csv::ByteRecord;
use flate2::read::MultiGzDecoder;

use super::fault::Fault;
use super::rows::{Broken, shown};
use super::task::{Tally, Task};
use crate::market::store::BETWEEN;
use crate::protocol::suggest::hint;

/// The columns of a layout.
pub(super) struct Columns {
    /// Those that every file has.
    pub(super) needed: &'static [&'static str],
    /// Those that a file may leave out.
    pub(super) others: &'static [&'static str],
}

impl Columns {
    fn all(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.needed.iter().chain(self.others).copied()
    }
}

/// What a number may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    Any,
    NotNegative,
    /// 0 to 1.
    Probability,
}

/// Seconds since 1970 of the year 5138: what is larger is in milliseconds or microseconds.
const LARGEST_SECOND: i64 = 100_000_000_000;

/// The Unix second of a time in ISO 8601, UTC without an offset, such as `2025-11-18 23:25:28+00:00`; of 1970 and later.
fn written_time(text: &str) -> Option<i64> {
    if text.as_bytes().get(4) != Some(&b'-') {
        return None; // digits alone are seconds
    }
    let utc = |time: jiff::civil::DateTime| time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|time| time.timestamp());
    let time = text.parse::<jiff::Timestamp>().ok().or_else(|| text.parse().ok().and_then(utc))?;
    Some(time.as_second()).filter(|second| *second >= 0)
}

/// A row of a sheet.
pub(super) struct Record<'a> {
    header: &'a [Option<&'static str>],
    fields: &'a ByteRecord,
}

impl<'a> Record<'a> {
    /// A field; empty where the file has no such column.
    pub(super) fn text(&self, column: &'static str) -> Result<&'a str, Fault> {
        let place = self.header.iter().position(|name| *name == Some(column));
        let field = place.and_then(|place| self.fields.get(place)).unwrap_or_default();
        std::str::from_utf8(field)
            .map_err(|_| Fault::new(column, format!("{} is not UTF-8; save the file as UTF-8", shown(field))))
    }

    /// A field that must not be empty.
    pub(super) fn needed(&self, column: &'static str) -> Result<&'a str, Fault> {
        let text = self.text(column)?;
        if text.is_empty() { Err(Fault::new(column, "is empty; every row needs it")) } else { Ok(text) }
    }

    /// A number; NaN where the field is empty.
    pub(super) fn number(&self, column: &'static str, range: Range) -> Result<f64, Fault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(f64::NAN);
        }
        let (fits, wanted): (fn(f64) -> bool, _) = match range {
            Range::Any => (|_| true, "a number such as -12.5"),
            Range::NotNegative => (|value| value >= 0.0, "a number of 0 or more"),
            Range::Probability => (|value| (0.0..=1.0).contains(&value), "a number from 0 to 1"),
        };
        let value = fast_float2::parse::<f64, _>(text).ok().filter(|value| value.is_finite() && fits(*value));
        value.ok_or_else(|| Fault::new(column, format!("{} is not {wanted}", shown(text.as_bytes()))))
    }

    /// A number that must be there.
    pub(super) fn needed_number(&self, column: &'static str, range: Range) -> Result<f64, Fault> {
        self.needed(column)?;
        self.number(column, range)
    }

    /// A whole number of 0 or more; 0 where the field is empty. A data frame with gaps spells 3 as 3.0.
    pub(super) fn whole(&self, column: &'static str) -> Result<i64, Fault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(0);
        }
        let digits = text.strip_suffix(".0").unwrap_or(text);
        let value = digits.parse::<i64>().ok().filter(|value| *value >= 0);
        value
            .ok_or_else(|| Fault::new(column, format!("{} is not a whole number of 0 or more", shown(text.as_bytes()))))
    }

    /// How often something happened: as [`Self::whole`], within the 32 bits of the wire.
    pub(super) fn count(&self, column: &'static str) -> Result<i64, Fault> {
        let count = self.whole(column)?;
        if count <= i64::from(i32::MAX) {
            return Ok(count);
        }
        Err(Fault::new(column, format!("{count} is more than {}, the most that an answer can tell", i32::MAX)))
    }

    /// Unix seconds, also of a time as data frames spell it; 0 where the field is empty.
    pub(super) fn seconds(&self, column: &'static str) -> Result<i64, Fault> {
        if let Some(second) = written_time(self.text(column)?) {
            return Ok(second);
        }
        let value = self.whole(column)?;
        if value < LARGEST_SECOND {
            return Ok(value);
        }
        Err(Fault::new(column, format!("{value} is not in seconds since 1970; it looks like milliseconds or less")))
    }

    /// Unix nanoseconds of a time in microseconds; `None` where the field is empty.
    pub(super) fn time(&self, column: &'static str) -> Result<Option<i64>, Fault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(None);
        }
        let micros = self.whole(column)?;
        // What the years from 1973 to 2286 have in microseconds.
        if (LARGEST_SECOND * 1_000..LARGEST_SECOND * 100_000).contains(&micros) {
            return Ok(micros.checked_mul(1_000));
        }
        Err(Fault::new(column, format!("{micros} is not in microseconds since 1970, such as 1733011200000000")))
    }

    /// `true` or `false`; `false` where the field is empty.
    pub(super) fn flag(&self, column: &'static str) -> Result<bool, Fault> {
        match self.text(column)? {
            "true" | "True" => Ok(true),
            "" | "false" | "False" => Ok(false),
            text => Err(Fault::new(column, format!("{} is neither true nor false", shown(text.as_bytes())))),
        }
    }

    /// The entries of a list; none where the field is empty.
    pub(super) fn list(&self, column: &'static str) -> Result<Vec<&'a str>, Fault> {
        let text = self.text(column)?;
        Ok(if text.is_empty() { Vec::new() } else { text.split(BETWEEN).collect() })
    }

    /// The numbers of a list, NaN where an entry is empty.
    pub(super) fn numbers(&self, column: &'static str) -> Result<Vec<f64>, Fault> {
        let value = |text: &str| {
            let value = fast_float2::parse::<f64, _>(text).ok().filter(|value| (0.0..=1.0).contains(value));
            let problem = || Fault::new(column, format!("{} is not a number from 0 to 1", shown(text.as_bytes())));
            if text.is_empty() { Ok(f64::NAN) } else { value.ok_or_else(problem) }
        };
        self.list(column)?.into_iter().map(value).collect()
    }
}

impl Task<'_> {
    /// As [`Task::each_row`], of a sheet.
    pub(super) fn each_record(
        &mut self,
        columns: &Columns,
        mut take: impl FnMut(&Record<'_>) -> Result<(), Fault>,
    ) -> bool {
        let mut tally = Tally::default();
        let outcome = (|| {
            let broken = |line: u64, what: String| Broken { line, what };
            let bytes = open(self.file).map_err(|error| broken(0, error.to_string()))?;
            let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
            let header = reader.byte_headers().map_err(|error| broken(1, error.to_string()))?;
            let header = self.header(header, columns)?;
            let mut fields = ByteRecord::new();
            loop {
                let line = reader.position().line();
                if !reader.read_byte_record(&mut fields).map_err(|error| broken(line, error.to_string()))? {
                    return Ok(());
                }
                let line = fields.position().map_or(line, csv::Position::line);
                let outcome = if fields.len() == header.len() {
                    take(&Record { header: &header, fields: &fields })
                } else {
                    let what = format!("{} columns, the header has {}", fields.len(), header.len());
                    Err(Fault::new("", format!("{what}; quote fields that hold a comma")))
                };
                if !self.count(&mut tally, line, outcome) {
                    return Ok(());
                }
            }
        })();
        self.end(tally, outcome)
    }

    /// Which known column stands at each place of a header. One that is not known is told, once, and passed over.
    fn header(&mut self, header: &ByteRecord, columns: &Columns) -> Result<Vec<Option<&'static str>>, Broken> {
        let mut found = Vec::with_capacity(header.len());
        for (place, field) in header.iter().enumerate() {
            let field = if place == 0 { field.strip_prefix(b"\xef\xbb\xbf").unwrap_or(field) } else { field };
            let known = columns.all().find(|name| name.as_bytes() == field);
            if known.is_none() || found.contains(&known) {
                let text = String::from_utf8_lossy(field);
                let near = hint(&text, columns.all().filter(|name| !found.contains(&Some(*name))));
                let what = if known.is_none() { "no column of this layout" } else { "a column that was there before" };
                self.report.fault(self.file, 1, Fault::new(text, format!("{what}; it was passed over{near}")));
                found.push(None);
            } else {
                found.push(known);
            }
        }
        match columns.needed.iter().find(|name| !found.contains(&Some(**name))) {
            None => Ok(found),
            Some(missing) => {
                let what = format!("the header has no column {missing:?}; needed are {}", columns.needed.join(", "));
                Err(Broken { line: 1, what })
            }
        }
    }
}

fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let bytes = BufReader::with_capacity(1 << 16, File::open(path)?);
    let packed = path.extension().is_some_and(|suffix| suffix == "gz");
    Ok(if packed { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_data_frames_write_them() {
        // Pandas, polars and people; a bare number is none of them.
        for text in ["2025-11-18 23:25:28+00:00", "2025-11-18T23:25:28.000000000+0000", "2025-11-18T23:25:28Z"] {
            assert_eq!(written_time(text), Some(1_763_508_328), "{text}");
        }
        assert_eq!(written_time("2025-11-18 23:25:28.9"), Some(1_763_508_328));
        assert_eq!(written_time("2025-11-19 00:25:28+01:00"), Some(1_763_508_328));
        for text in ["", "1763508328", "1969-12-31 23:59:59", "18.11.2025", "20251118"] {
            assert_eq!(written_time(text), None, "{text}");
        }
    }
}
