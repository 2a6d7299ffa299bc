//! The rows of a dump file, by column name.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::fault::Fault;
use super::fields::{self, Short};
use super::lines::Lines;
use crate::hexadecimal::hexadecimal;

/// Microseconds in a day.
const DAY: i64 = 86_400_000_000;

/// Largest price, amount or rate. What is larger is a slip, and its sums would end in infinity.
const LARGEST: f64 = 1e18;

/// Hash of a file's bytes, in hexadecimal; `None` when `keep_going`, asked after each piece, says no.
pub(super) fn fingerprint(path: &Path, keep_going: &dyn Fn() -> bool) -> std::io::Result<Option<String>> {
    /// A look takes longer than a page, but a piece takes no time that somebody would notice.
    const PIECE: u64 = 1 << 26;
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut pending = PIECE;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(Some(hexadecimal(&hasher.finalize())));
        }
        hasher.update(&buffer[..read]);
        pending = pending.saturating_sub(read as u64);
        if pending == 0 {
            pending = PIECE;
            if !keep_going() {
                return Ok(None);
            }
        }
    }
}

/// A dump file being read.
pub(super) struct Rows {
    lines: Lines,
    /// Where the fields of the present line lie in it.
    fields: Vec<Range<usize>>,
    /// Where each wanted column stands.
    columns: Vec<usize>,
    width: usize,
    times: Range<i64>,
}

/// A file that cannot be read on: the line, and why.
pub(super) struct Broken {
    pub line: u64,
    pub what: String,
}

/// One row.
pub(super) struct Row<'a> {
    pub line: u64,
    times: Range<i64>,
    text: &'a [u8],
    fields: &'a [Range<usize>],
    columns: &'a [usize],
    width: usize,
}

impl Rows {
    /// Opens the file of a Unix day, gzip by its name, and finds the wanted columns in its header.
    pub(super) fn open(path: &Path, day: i64, wanted: &[&str]) -> Result<Self, Broken> {
        let broken = |line: u64, what: String| Broken { line, what };
        let mut lines = Lines::open(path).map_err(|error| broken(0, error.to_string()))?;
        let header = lines.next_line().map_err(|error| broken(1, error.to_string()))?;
        let header = header.map(|(_, text)| text).unwrap_or_default();
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
        let header: Vec<&[u8]> = header.split(|byte| *byte == b',').collect();
        let place = |name: &&str| {
            let found = header.iter().position(|column| *column == name.as_bytes());
            found.ok_or_else(|| {
                broken(1, format!("the header has no column {name:?}; needed are {}", wanted.join(", ")))
            })
        };
        let columns = wanted.iter().map(place).collect::<Result<_, _>>()?;
        let width = header.len();
        // Dumps are cut by the time of arrival, so a row may belong to the day before or after, and to no other.
        let times = (day - 1) * DAY..(day + 2) * DAY;
        Ok(Self { lines, fields: Vec::with_capacity(width), columns, width, times })
    }

    /// The next row; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, Broken> {
        let line = self.lines.number + 1;
        match self.lines.next_line() {
            Ok(None) => Ok(None),
            Ok(Some((line, text))) => {
                self.fields.clear();
                fields::split(text, &mut self.fields);
                Ok(Some(Row {
                    line,
                    times: self.times.clone(),
                    text,
                    fields: &self.fields,
                    columns: &self.columns,
                    width: self.width,
                }))
            }
            Err(error) => Err(Broken { line, what: error.to_string() }),
        }
    }
}

impl<'a> Row<'a> {
    /// A field as it is in the file.
    pub(super) fn text(&self, column: usize) -> Result<&'a [u8], Fault> {
        Ok(&self.text[self.field(column)?.clone()])
    }

    #[inline]
    fn field(&self, column: usize) -> Result<&'a Range<usize>, Fault> {
        if self.fields.len() == self.width {
            return Ok(&self.fields[self.columns[column]]);
        }
        Err(self.of_other_width())
    }

    /// How to mend a time of another day: where it would be of this one in another unit, that is it.
    #[cold]
    fn remedy(&self, time: i64) -> String {
        let units = [("seconds", 1e6), ("milliseconds", 1e3), ("nanoseconds", 1e-3)];
        let fits = |scale: f64| (self.times.start as f64..self.times.end as f64).contains(&(time as f64 * scale));
        match units.into_iter().find(|(_, scale)| fits(*scale)) {
            Some((unit, _)) => format!("it looks like {unit}: give microseconds"),
            None => "move the row to its day's file".to_owned(),
        }
    }

    #[cold]
    fn of_other_width(&self) -> Fault {
        Fault::new("", format!("{} columns, the header has {}", self.fields.len(), self.width))
    }

    /// A time in microseconds as Unix nanoseconds.
    #[inline]
    pub(super) fn time(&self, column: usize) -> Result<i64, Fault> {
        let field = self.field(column)?;
        let text = &self.text[field.clone()];
        let bad = |what: String| Fault::new("timestamp", what);
        let short = Short::of(self.text, field).and_then(Short::whole);
        let micros =
            short.or_else(|| whole(text)).ok_or_else(|| bad(format!("{} is no time in microseconds", shown(text))))?;
        if self.times.contains(&micros) {
            return Ok(micros * 1_000);
        }
        Err(bad(format!("{micros} µs is not within a day of the file's date; {}", self.remedy(micros))))
    }

    /// A number of at least 0, or above it when `above`.
    #[inline]
    pub(super) fn number(&self, column: usize, name: &str, above: bool) -> Result<f64, Fault> {
        let field = self.field(column)?;
        let text = &self.text[field.clone()];
        let short = Short::of(self.text, field).and_then(Short::decimal);
        let value = short.or_else(|| decimal(text));
        let right = |value: &f64| if above { *value > 0.0 } else { *value >= 0.0 };
        let wanted = if above { "above 0" } else { "of 0 or more" };
        match value.filter(right) {
            Some(value) if value <= LARGEST => Ok(value),
            Some(_) => Err(Fault::new(name, format!("{} is larger than {LARGEST:e}, which no market is", shown(text)))),
            None => Err(Fault::new(name, format!("{} is no number {wanted}", shown(text)))),
        }
    }

    /// A number, NaN where the field is empty. Unless `signed` it must be 0 or more.
    pub(super) fn optional(&self, column: usize, name: &str, signed: bool) -> Result<f64, Fault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(f64::NAN);
        }
        let value = decimal(text).filter(|value| value.abs() <= LARGEST);
        let wanted = if signed { "" } else { " of 0 or more" };
        value
            .filter(|value| signed || *value >= 0.0)
            .ok_or_else(|| Fault::new(name, format!("{} is no number{wanted}", shown(text))))
    }

    /// One of two words.
    #[inline]
    pub(super) fn either(&self, column: usize, name: &str, yes: &str, no: &str) -> Result<bool, Fault> {
        match self.text(column)? {
            text if text == yes.as_bytes() => Ok(true),
            text if text == no.as_bytes() => Ok(false),
            text => Err(Fault::new(name, format!("{} is neither {yes} nor {no}", shown(text)))),
        }
    }
}

/// A whole number.
pub(super) fn whole(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A decimal number.
fn decimal(text: &[u8]) -> Option<f64> {
    fast_float2::parse::<f64, _>(text).ok()
}

/// A field as a message quotes it.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(40).collect();
    format!("{short:?}")
}
