//! The rows of a dump file, by column name.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::fault::Fault;
use super::lines::Lines;
use crate::hexadecimal::hexadecimal;

/// Microseconds in a day.
const DAY: i64 = 86_400_000_000;

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
                let mut begin = 0;
                for comma in memchr::memchr_iter(b',', text) {
                    self.fields.push(begin..comma);
                    begin = comma + 1;
                }
                self.fields.push(begin..text.len());
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
        if self.fields.len() == self.width {
            return Ok(&self.text[self.fields[self.columns[column]].clone()]);
        }
        Err(Fault::new("", format!("{} columns, the header has {}", self.fields.len(), self.width)))
    }

    /// A time in microseconds as Unix nanoseconds.
    pub(super) fn time(&self, column: usize) -> Result<i64, Fault> {
        let text = self.text(column)?;
        let bad = |what: String| Fault::new("timestamp", what);
        let micros = whole(text).ok_or_else(|| bad(format!("{} is no time in microseconds", shown(text))))?;
        if self.times.contains(&micros) {
            return Ok(micros * 1_000);
        }
        Err(bad(format!("{micros} µs is not within a day of the file's date; move the row to its day's file")))
    }

    /// A number of at least 0, or above it when `above`.
    pub(super) fn number(&self, column: usize, name: &str, above: bool) -> Result<f64, Fault> {
        let text = self.text(column)?;
        let value = decimal(text).filter(|value| value.is_finite());
        let right = |value: &f64| if above { *value > 0.0 } else { *value >= 0.0 };
        let wanted = if above { "above 0" } else { "of 0 or more" };
        value.filter(right).ok_or_else(|| Fault::new(name, format!("{} is no number {wanted}", shown(text))))
    }

    /// A number, NaN where the field is empty. Unless `signed` it must be 0 or more.
    pub(super) fn optional(&self, column: usize, name: &str, signed: bool) -> Result<f64, Fault> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(f64::NAN);
        }
        let value = decimal(text).filter(|value| value.is_finite());
        let wanted = if signed { "" } else { " of 0 or more" };
        value
            .filter(|value| signed || *value >= 0.0)
            .ok_or_else(|| Fault::new(name, format!("{} is no number{wanted}", shown(text))))
    }

    /// One of two words.
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
    // Times of this century have 16 digits: up to 18 fit without a check at each.
    if text.is_empty() || text.len() > 18 || !text.iter().all(u8::is_ascii_digit) {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    Some(text.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// A decimal number. Rows are full of short ones (`96513.1`): digits that make a whole number below 2^53 and a power of ten
/// that a double holds exactly, whose quotient is then rounded once, which is what reading correctly means.
fn decimal(text: &[u8]) -> Option<f64> {
    const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let general = || fast_float2::parse::<f64, _>(text).ok();
    if text.len() > TENS.len() {
        return general();
    }
    let (mut digits, mut count, mut point) = (0_u64, 0, None);
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            digits = digits * 10 + u64::from(digit);
            count += 1;
        } else if byte == b'.' && point.is_none() {
            point = Some(count);
        } else {
            return general();
        }
    }
    let decimals = count - point.unwrap_or(count);
    if count == 0 || digits >= 1 << 53 { general() } else { Some(digits as f64 / TENS[decimals]) }
}

/// A field as a message quotes it.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(40).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_as_the_general_parser_reads_them() {
        for text in ["0", "1.", ".5", "96513.1", "0.00141342", "123456789012345", "1234567890123.45", "1e3", "-2", "+1"]
        {
            assert_eq!(decimal(text.as_bytes()), fast_float2::parse(text).ok(), "{text}");
        }
        for text in ["", ".", "1.2.3", "abc", "1,5", "--1", "0x10"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(
            [whole(b"1570752011620000"), whole(b"-1"), whole(b"x1"), whole(b"")],
            [Some(1_570_752_011_620_000), Some(-1), None, None]
        );
    }

    proptest! {
        #[test]
        fn any_decimal_has_the_bits_of_the_standard_library(text in "[0-9]{0,12}\\.?[0-9]{0,9}") {
            prop_assume!(text.bytes().any(|byte| byte.is_ascii_digit()));
            let bits = decimal(text.as_bytes()).map(f64::to_bits);
            prop_assert_eq!(bits, text.parse::<f64>().ok().map(f64::to_bits));
        }
    }
}
