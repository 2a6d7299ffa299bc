//! Tables: CSV files of the package's own layouts, written with spreadsheets and data frames. Fields may be quoted, columns
//! may have any order, and optional ones may be missing.

use csv::ByteRecord;

use crate::clock::{UnixNanos, UnixSecond};
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::lines::Lines;
use crate::market::ingest::quoted::{StrayQuote, split};
use crate::market::ingest::rows::{BrokenFile, shown};
use crate::market::ingest::task::{IngestTask, Tally};
use crate::market::store::unpartitioned::BETWEEN;
use crate::protocol::suggest::hint;

/// Longest field. A list of prices or tokens has some thousand bytes.
const LONGEST_FIELD: usize = 1 << 16;
/// Most bytes of a table, uncompressed: all its rows are in memory at once, in the ingest and in the service.
const LARGEST: usize = 1 << 28;
/// Most letters of an unknown column's name that are shown.
const LONGEST_NAME: usize = 100;
/// Most columns of a table; the layouts have some thirty.
const MOST_COLUMNS: usize = 1_000;

/// The columns of a layout.
pub(in crate::market) struct CsvColumns {
    /// Required columns.
    pub(in crate::market) needed: &'static [&'static str],
    /// Optional columns.
    pub(in crate::market) others: &'static [&'static str],
}

impl CsvColumns {
    fn all(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.needed.iter().chain(self.others).copied()
    }
}

/// Range of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::market) enum Range {
    Any,
    NotNegative,
    /// 0 to 1.
    Probability,
}

/// Seconds since 1970 of the year 5138: larger numbers are milliseconds or microseconds.
const LARGEST_SECOND: i64 = 100_000_000_000;

/// The second of a time in ISO 8601, UTC without an offset, such as `2025-11-18 23:25:28+00:00`; from 1970 on.
fn written_time(text: &str) -> Option<UnixSecond> {
    if text.as_bytes().get(4) != Some(&b'-') {
        return None; // digits alone are seconds
    }
    let utc = |time: jiff::civil::DateTime| time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|time| time.timestamp());
    let time = text.parse::<jiff::Timestamp>().ok().or_else(|| text.parse().ok().and_then(utc))?;
    Some(UnixSecond(time.as_second())).filter(|second| second.0 >= 0)
}

/// A row of a table.
pub(in crate::market) struct CsvRecord<'a> {
    header: &'a [Option<&'static str>],
    fields: &'a ByteRecord,
}

impl<'a> CsvRecord<'a> {
    /// A field; empty where the file has no such column.
    pub(in crate::market) fn text(&self, column: &'static str) -> Result<&'a str, RowFault> {
        let place = self.header.iter().position(|name| *name == Some(column));
        let field = place.and_then(|place| self.fields.get(place)).unwrap_or_default();
        std::str::from_utf8(field)
            .map_err(|_| RowFault::new(column, format!("{} is not UTF-8; save the file as UTF-8", shown(field))))
    }

    /// A field that must not be empty.
    pub(in crate::market) fn needed(&self, column: &'static str) -> Result<&'a str, RowFault> {
        let text = self.text(column)?;
        if text.is_empty() { Err(RowFault::new(column, "is empty; every row needs it")) } else { Ok(text) }
    }

    /// A number; NaN where the field is empty.
    pub(in crate::market) fn number(&self, column: &'static str, range: Range) -> Result<f64, RowFault> {
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
        value.ok_or_else(|| RowFault::new(column, format!("{} is not {wanted}", shown(text.as_bytes()))))
    }

    /// A required number.
    pub(in crate::market) fn needed_number(&self, column: &'static str, range: Range) -> Result<f64, RowFault> {
        self.needed(column)?;
        self.number(column, range)
    }

    /// A whole number of 0 or more; 0 where the field is empty. A data frame with gaps writes 3 as 3.0.
    pub(in crate::market) fn whole(&self, column: &'static str) -> Result<i64, RowFault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(0);
        }
        let digits = text.strip_suffix(".0").unwrap_or(text);
        let value = digits.parse::<i64>().ok().filter(|value| *value >= 0);
        value.ok_or_else(|| {
            RowFault::new(column, format!("{} is not a whole number of 0 or more", shown(text.as_bytes())))
        })
    }

    /// A count: as [`Self::whole`], within the 32 bits of the wire.
    pub(in crate::market) fn count(&self, column: &'static str) -> Result<i64, RowFault> {
        let count = self.whole(column)?;
        if count <= i64::from(i32::MAX) {
            return Ok(count);
        }
        Err(RowFault::new(column, format!("{count} is more than {}, the most that an answer can tell", i32::MAX)))
    }

    /// A time in seconds, or as data frames write it; 0 where the field is empty.
    pub(in crate::market) fn seconds(&self, column: &'static str) -> Result<UnixSecond, RowFault> {
        if let Some(second) = written_time(self.text(column)?) {
            return Ok(second);
        }
        let value = self.whole(column)?;
        if value < LARGEST_SECOND {
            return Ok(UnixSecond(value));
        }
        Err(RowFault::new(column, format!("{value} is not in seconds since 1970; it looks like milliseconds or less")))
    }

    /// A time, which the table has in microseconds; `None` where the field is empty.
    pub(in crate::market) fn time(&self, column: &'static str) -> Result<Option<UnixNanos>, RowFault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(None);
        }
        let micros = self.whole(column)?;
        // Microseconds of the years 1973 to 2286.
        if (LARGEST_SECOND * 1_000..LARGEST_SECOND * 100_000).contains(&micros) {
            return Ok(micros.checked_mul(1_000).map(UnixNanos));
        }
        Err(RowFault::new(column, format!("{micros} is not in microseconds since 1970, such as 1733011200000000")))
    }

    /// `true` or `false`; `false` where the field is empty.
    pub(in crate::market) fn flag(&self, column: &'static str) -> Result<bool, RowFault> {
        match self.text(column)? {
            "true" | "True" => Ok(true),
            "" | "false" | "False" => Ok(false),
            text => Err(RowFault::new(column, format!("{} is neither true nor false", shown(text.as_bytes())))),
        }
    }

    /// The entries of a list; none where the field is empty.
    pub(in crate::market) fn list(&self, column: &'static str) -> Result<Vec<&'a str>, RowFault> {
        let text = self.text(column)?;
        Ok(if text.is_empty() { Vec::new() } else { text.split(BETWEEN).collect() })
    }

    /// The numbers of a list, NaN where an entry is empty.
    pub(in crate::market) fn numbers(&self, column: &'static str) -> Result<Vec<f64>, RowFault> {
        let value = |text: &str| {
            let value = fast_float2::parse::<f64, _>(text).ok().filter(|value| (0.0..=1.0).contains(value));
            let problem = || RowFault::new(column, format!("{} is not a number from 0 to 1", shown(text.as_bytes())));
            if text.is_empty() { Ok(f64::NAN) } else { value.ok_or_else(problem) }
        };
        self.list(column)?.into_iter().map(value).collect()
    }
}

impl IngestTask<'_> {
    /// As [`IngestTask::each_row`], of a table.
    pub(in crate::market) fn each_record(
        &mut self,
        columns: &CsvColumns,
        mut take: impl FnMut(&CsvRecord<'_>) -> Result<(), RowFault>,
    ) -> bool {
        let mut tally = Tally::default();
        let outcome = (|| {
            let broken = |line: u64, what: String| BrokenFile { line, what };
            let mut lines = Lines::open(self.file).map_err(|error| broken(0, error.to_string()))?;
            let mut fields = ByteRecord::new();
            let first = lines.next_line().map_err(|error| broken(1, error.to_string()))?;
            let (first, mut bytes) = first.map_or((&b""[..], 0), |line| (line.text(), line.length()));
            split(first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first), &mut fields)
                .map_err(|_| broken(1, "a quote of the header is not closed, or not at the end of its field".into()))?;
            let header = self.header(&fields, columns)?;
            // A quote that is open at the end of a line is stray, unless the file ends there: then the file is cut off.
            let mut open: Option<(u64, RowFault)> = None;
            loop {
                let next = lines.number + 1;
                let Some(line) = lines.next_line().map_err(|error| broken(next, error.to_string()))? else {
                    return match open {
                        Some((line, _)) if lines.is_cut() => Err(broken(line, "the file ends within quotes".into())),
                        Some((line, fault)) => {
                            self.count(&mut tally, line, Err(fault));
                            Ok(())
                        }
                        None => Ok(()),
                    };
                };
                bytes += line.length();
                if bytes > LARGEST {
                    return Err(broken(0, format!("it has more than {LARGEST} bytes; cut it into several files")));
                }
                if let Some((line, fault)) = open.take()
                    && !self.count(&mut tally, line, Err(fault))
                {
                    return Ok(());
                }
                if line.length() == 0 {
                    // One of very many empty lines.
                    self.report.interrupted |= !(self.keep_going)();
                    if self.report.interrupted {
                        return Ok(());
                    }
                    continue;
                }
                let outcome = match split(line.text(), &mut fields) {
                    Err(StrayQuote::Open(place)) => {
                        let what = "a quote is opened and not closed in its line; close it, or double it within quotes";
                        open = Some((line.number, RowFault::new(name(&header, place), what)));
                        continue;
                    }
                    Err(StrayQuote::Behind(place)) => {
                        let what = "text stands behind a closing quote; double quotes within a quoted field";
                        Err(RowFault::new(name(&header, place), what))
                    }
                    Ok(()) => row(&header, &fields).and_then(|record| take(&record)),
                };
                if !self.count(&mut tally, line.number, outcome) {
                    return Ok(());
                }
            }
        })();
        self.end(tally, outcome)
    }

    /// The known column at each place of a header. Unknown columns are reported, once, and ignored.
    fn header(&mut self, header: &ByteRecord, columns: &CsvColumns) -> Result<Vec<Option<&'static str>>, BrokenFile> {
        if header.len() > MOST_COLUMNS {
            let what = format!("the header has {} columns; a table has {MOST_COLUMNS} at most", header.len());
            return Err(BrokenFile { line: 1, what });
        }
        let mut found = Vec::with_capacity(header.len());
        for field in header {
            let known = columns.all().find(|name| name.as_bytes() == field);
            if known.is_none() || found.contains(&known) {
                let text: String = String::from_utf8_lossy(field).chars().take(LONGEST_NAME).collect();
                let near = hint(&text, columns.all().filter(|name| !found.contains(&Some(*name))));
                let what = if known.is_none() { "no column of this layout" } else { "a column that was there before" };
                self.report.fault(self.file, 1, RowFault::new(text, format!("{what}; it was passed over{near}")));
                found.push(None);
            } else {
                found.push(known);
            }
        }
        match columns.needed.iter().find(|name| !found.contains(&Some(**name))) {
            None => Ok(found),
            Some(missing) => {
                let what = format!("the header has no column {missing:?}; needed are {}", columns.needed.join(", "));
                Err(BrokenFile { line: 1, what })
            }
        }
    }
}

/// Name of the known column at a place; empty where there is none.
fn name(header: &[Option<&'static str>], place: usize) -> &'static str {
    header.get(place).copied().flatten().unwrap_or_default()
}

/// A row of the header's width, of which no field is too long.
fn row<'a>(header: &'a [Option<&'static str>], fields: &'a ByteRecord) -> Result<CsvRecord<'a>, RowFault> {
    if fields.len() != header.len() {
        let what = format!("{} columns, the header has {}", fields.len(), header.len());
        return Err(RowFault::new("", format!("{what}; quote fields that hold a comma")));
    }
    match fields.iter().position(|field| field.len() > LONGEST_FIELD) {
        None => Ok(CsvRecord { header, fields }),
        Some(place) => {
            let what = format!("{} bytes, where a field has {LONGEST_FIELD} at most", fields[place].len());
            Err(RowFault::new(name(header, place), what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_data_frames_write_them() {
        // Pandas, polars and people; a bare number is none of them.
        for text in ["2025-11-18 23:25:28+00:00", "2025-11-18T23:25:28.000000000+0000", "2025-11-18T23:25:28Z"] {
            assert_eq!(written_time(text), Some(UnixSecond(1_763_508_328)), "{text}");
        }
        assert_eq!(written_time("2025-11-18 23:25:28.9"), Some(UnixSecond(1_763_508_328)));
        assert_eq!(written_time("2025-11-19 00:25:28+01:00"), Some(UnixSecond(1_763_508_328)));
        for text in ["", "1763508328", "1969-12-31 23:59:59", "18.11.2025", "20251118"] {
            assert_eq!(written_time(text), None, "{text}");
        }
    }
}
