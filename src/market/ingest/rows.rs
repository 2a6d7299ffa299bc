//! The rows of a dump file, by column name.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::archive::open_plain;
use crate::clock::{MICROS_PER_SECOND, SECONDS_PER_DAY, UnixDay, UnixNanos};
use crate::decode::Delimited;
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::fields;
use crate::market::ingest::lines::{DumpLine, Lines};

/// Microseconds in a day.
const DAY: i64 = SECONDS_PER_DAY * MICROS_PER_SECOND;

/// Largest price, amount or rate. Anything larger is an error in the dump, and sums of it could overflow to infinity.
const LARGEST: f64 = 1e18;

/// Hash of a file's bytes, in hexadecimal; `None` when `keep_going`, called after each piece, returns false.
pub(in crate::market) fn fingerprint(path: &Path, keep_going: &dyn Fn() -> bool) -> std::io::Result<Option<String>> {
    /// Bytes hashed between two calls of `keep_going`: a call for each page would cost more than hashing it, and 64 MiB take
    /// milliseconds.
    const PIECE: u64 = 1 << 26;
    let mut file = open_plain(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut pending = PIECE;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(Some(hex::encode(hasher.finalize())));
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
pub(in crate::market) struct DumpRows {
    lines: Lines,
    layout: RowLayout,
}

/// Layout of a file's rows.
struct RowLayout {
    /// Where each wanted column stands.
    columns: Vec<usize>,
    width: usize,
    times: Range<i64>,
}

/// Reason why a file cannot be read further, and the line.
pub(in crate::market) struct BrokenFile {
    pub line: u64,
    pub what: String,
}

/// One row.
pub(in crate::market) struct DumpRow<'a> {
    line: DumpLine<'a>,
    layout: &'a RowLayout,
}

/// The rows of a block before the first is read, all as wide as the header. Columns read at once give the same values as
/// single rows; other columns must be read row by row.
pub(in crate::market) struct RowBlock<'a> {
    text: &'a [u8],
    fields: &'a mut Delimited,
    first: usize,
    layout: &'a RowLayout,
}

impl RowBlock<'_> {
    /// Number of rows.
    pub(in crate::market) fn rows(&self) -> usize {
        self.fields.lines() - self.first
    }

    /// As [`DumpRow::time`], of all rows; `None` if one must be read alone.
    pub(in crate::market) fn times(&self, column: usize) -> Option<impl Iterator<Item = UnixNanos>> {
        let mut times = Vec::with_capacity(self.rows());
        for field in self.column(column) {
            times.push(fields::whole(self.text, field)?);
        }
        let inside = times.iter().all(|time| self.layout.times.contains(time));
        inside.then(|| times.into_iter().map(|micros| UnixNanos(micros * 1_000)))
    }

    /// As [`DumpRow::number`], of all rows; `None` if one must be read alone.
    pub(in crate::market) fn numbers(&mut self, column: usize, above: bool) -> Option<Vec<f64>> {
        let mut values = Vec::with_capacity(self.rows());
        let RowLayout { columns, width, .. } = self.layout;
        let read = self.fields.floats(self.text, self.first, *width, columns[column], &mut values);
        (read && values.iter().all(|value| fits(*value, above))).then_some(values)
    }

    /// As [`DumpRow::either`], of all rows; `None` if one must be read alone.
    pub(in crate::market) fn either(&self, column: usize, yes: &str, no: &str) -> Option<Vec<bool>> {
        let (yes, no) = (yes.as_bytes(), no.as_bytes());
        let mut values = Vec::with_capacity(self.rows());
        for field in self.column(column) {
            let text = &self.text[field];
            if text != yes && text != no {
                return None;
            }
            values.push(text == yes);
        }
        Some(values)
    }

    fn column(&self, column: usize) -> impl Iterator<Item = Range<usize>> {
        self.fields.fields(self.first, self.layout.width, self.layout.columns[column])
    }
}

/// Most bytes of a header, and names of columns, that a message has.
const SHOWN: (usize, usize) = (120, 8);

/// What is wrong with a header that lacks a column.
fn without_column(header: &[u8], name: &str, wanted: &[&str]) -> String {
    let (bytes, columns) = SHOWN;
    let there = String::from_utf8_lossy(&header[..header.len().min(bytes)]);
    let quoted = if header.contains(&b'"') { " (fields of these files are not quoted)" } else { "" };
    let more = if wanted.len() > columns { " and so on" } else { "" };
    let needed = wanted[..wanted.len().min(columns)].join(", ");
    format!("the header has no column {name:?}, it is {there:?}{quoted}; needed are {needed}{more}")
}

impl DumpRows {
    /// Opens the file of a day, gzip by its name, and finds the wanted columns in its header.
    pub(in crate::market) fn open(path: &Path, day: UnixDay, wanted: &[&str]) -> Result<Self, BrokenFile> {
        let broken = |line: u64, what: String| BrokenFile { line, what };
        let mut lines = Lines::open(path).map_err(|error| broken(0, error.to_string()))?;
        let header = lines.next_line().map_err(|error| broken(1, error.to_string()))?;
        let header = header.map(|line| &line.block[line.begin..line.end]).unwrap_or_default();
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
        let names: Vec<&[u8]> = header.split(|byte| *byte == b',').collect();
        let place = |name: &&str| {
            let mut found = (0..names.len()).filter(|place| names[*place] == name.as_bytes());
            match (found.next(), found.next()) {
                (Some(place), None) => Ok(place),
                (Some(_), Some(_)) => Err(broken(1, format!("the header has the column {name:?} twice"))),
                (None, _) => Err(broken(1, without_column(header, name, wanted))),
            }
        };
        let columns = wanted.iter().map(place).collect::<Result<_, _>>()?;
        let width = names.len();
        // Dumps are split by the time of arrival, so a row may be of the day before or after, and of no other.
        let times = (day.0 - 1) * DAY..(day.0 + 2) * DAY;
        Ok(Self { lines, layout: RowLayout { columns, width, times } })
    }

    /// The next row; `None` at the end.
    pub(in crate::market) fn next(&mut self) -> Result<Option<DumpRow<'_>>, BrokenFile> {
        let number = self.lines.number + 1;
        match self.lines.next_line() {
            Ok(line) => Ok(line.map(|line| DumpRow { line, layout: &self.layout })),
            Err(error) => Err(BrokenFile { line: number, what: error.to_string() }),
        }
    }

    /// The next rows, if a block of them begins here and all have the header's width.
    pub(in crate::market) fn block(&mut self) -> Result<Option<RowBlock<'_>>, BrokenFile> {
        let number = self.lines.number + 1;
        let layout = &self.layout;
        match self.lines.fresh() {
            Ok(Some((text, fields, first))) if fields.have_width(first, layout.width) => {
                Ok(Some(RowBlock { text, fields, first, layout }))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(BrokenFile { line: number, what: error.to_string() }),
        }
    }

    /// Skips the block that was read.
    pub(in crate::market) fn pass(&mut self) {
        self.lines.pass();
    }
}

impl<'a> DumpRow<'a> {
    /// Its line in the file.
    pub(in crate::market) fn number_of_line(&self) -> u64 {
        self.line.number
    }

    /// Whether this is an empty line: among very many of them, one is returned now and then.
    pub(in crate::market) fn is_empty(&self) -> bool {
        self.line.begin == self.line.end
    }

    /// A field as it is in the file.
    #[inline]
    pub(in crate::market) fn text(&self, column: usize) -> Result<&'a [u8], RowFault> {
        Ok(&self.line.block[self.field(column)?])
    }

    /// Where a field lies in the block.
    #[inline]
    fn field(&self, column: usize) -> Result<Range<usize>, RowFault> {
        let DumpLine { begin, end, field_ends, .. } = self.line;
        if field_ends.len() != self.layout.width {
            return Err(self.of_other_width());
        }
        let place = self.layout.columns[column];
        let begin = if place == 0 { begin } else { field_ends[place - 1] as usize + 1 };
        Ok(begin..end.min(field_ends[place] as usize))
    }

    /// Remedy for a time of another day: another unit, if the time were of this day in it.
    #[cold]
    fn remedy(&self, micros: i64) -> String {
        let units = [("seconds", 1e6), ("milliseconds", 1e3), ("nanoseconds", 1e-3)];
        let fits = |scale: f64| {
            (self.layout.times.start as f64..self.layout.times.end as f64).contains(&(micros as f64 * scale))
        };
        match units.into_iter().find(|(_, scale)| fits(*scale)) {
            Some((unit, _)) => format!("it looks like {unit}: give microseconds"),
            None => "move the row to its day's file".to_owned(),
        }
    }

    #[cold]
    fn of_other_width(&self) -> RowFault {
        RowFault::new("", format!("{} columns, the header has {}", self.line.field_ends.len(), self.layout.width))
    }

    /// A time, which the file has in microseconds.
    #[inline]
    pub(in crate::market) fn time(&self, column: usize) -> Result<UnixNanos, RowFault> {
        let field = self.field(column)?;
        let text = &self.line.block[field.clone()];
        let bad = |what: String| RowFault::new("timestamp", what);
        let short = fields::whole(self.line.block, field);
        let micros =
            short.or_else(|| whole(text)).ok_or_else(|| bad(format!("{} is no time in microseconds", shown(text))))?;
        if self.layout.times.contains(&micros) {
            return Ok(UnixNanos(micros * 1_000));
        }
        Err(bad(format!("{micros} µs is not within a day of the file's date; {}", self.remedy(micros))))
    }

    /// The number in a field.
    #[inline]
    fn decimal(&self, column: usize) -> Result<Option<f64>, RowFault> {
        let field = self.field(column)?;
        let text = &self.line.block[field.clone()];
        // White space around a number is ignored, as when a block is read at once.
        Ok(fields::decimal(self.line.block, field).or_else(|| fast_float2::parse::<f64, _>(text.trim_ascii()).ok()))
    }

    /// A number of at least 0, or above it when `above`.
    #[inline]
    pub(in crate::market) fn number(&self, column: usize, name: &str, above: bool) -> Result<f64, RowFault> {
        match self.decimal(column)? {
            Some(value) if fits(value, above) => Ok(value),
            value => Err(self.no_number(column, name, above, value)),
        }
    }

    #[cold]
    fn no_number(&self, column: usize, name: &str, above: bool, value: Option<f64>) -> RowFault {
        let text = shown(self.text(column).unwrap_or_default());
        if value.is_some_and(|value| value > LARGEST) {
            return RowFault::new(name, format!("{text} is larger than {LARGEST:e}, which no market is"));
        }
        RowFault::new(name, format!("{text} is no number {}", if above { "above 0" } else { "of 0 or more" }))
    }

    /// A number, NaN where the field is empty. Unless `signed` it must be 0 or more.
    pub(in crate::market) fn optional(&self, column: usize, name: &str, signed: bool) -> Result<f64, RowFault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(f64::NAN);
        }
        let value = self.decimal(column)?.filter(|value| value.abs() <= LARGEST);
        let wanted = if signed { "" } else { " of 0 or more" };
        value
            .filter(|value| signed || *value >= 0.0)
            .ok_or_else(|| RowFault::new(name, format!("{} is no number{wanted}", shown(text))))
    }

    /// One of two words.
    #[inline]
    pub(in crate::market) fn either(&self, column: usize, name: &str, yes: &str, no: &str) -> Result<bool, RowFault> {
        match self.text(column)? {
            text if text == yes.as_bytes() => Ok(true),
            text if text == no.as_bytes() => Ok(false),
            text => Err(RowFault::new(name, format!("{} is neither {yes} nor {no}", shown(text)))),
        }
    }
}

/// Whether a number is at least 0, or above it when `above`, and not too large.
#[inline]
fn fits(value: f64, above: bool) -> bool {
    (if above { value > 0.0 } else { value >= 0.0 }) && value <= LARGEST
}

/// A whole number; white space around it is ignored.
pub(in crate::market) fn whole(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// A field as quoted in messages.
pub(in crate::market) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(40).collect();
    format!("{short:?}")
}
