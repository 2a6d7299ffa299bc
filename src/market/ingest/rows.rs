//! The rows of a dump file, by column name.

use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;

use csv::ByteRecord;
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

/// Microseconds in a day.
const DAY: i64 = 86_400_000_000;

/// Hash of a file's bytes, in hexadecimal.
pub(super) fn fingerprint(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hexadecimal(&hasher.finalize()))
}

/// A dump file being read.
pub(super) struct Rows {
    reader: csv::Reader<Box<dyn Read>>,
    record: ByteRecord,
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
    fields: Result<Vec<&'a [u8]>, String>,
}

impl Rows {
    /// Opens the file of a Unix day, gzip by its name, and finds the wanted columns in its header.
    pub(super) fn open(path: &Path, day: i64, wanted: &[&str]) -> Result<Self, Broken> {
        let broken = |line: u64, what: String| Broken { line, what };
        let file = File::open(path).map_err(|error| broken(0, error.to_string()))?;
        let packed = path.extension().is_some_and(|suffix| suffix == "gz");
        let bytes = BufReader::with_capacity(1 << 18, file);
        let bytes: Box<dyn Read> = if packed { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
        let mut reader =
            csv::ReaderBuilder::new().quoting(false).flexible(true).buffer_capacity(1 << 18).from_reader(bytes);
        let header = reader.byte_headers().map_err(|error| broken(1, error.to_string()))?.clone();
        let place = |name: &&str| {
            let found = header.iter().position(|column| column == name.as_bytes());
            found.ok_or_else(|| {
                broken(1, format!("the header has no column {name:?}; needed are {}", wanted.join(", ")))
            })
        };
        let columns = wanted.iter().map(place).collect::<Result<_, _>>()?;
        // Dumps are cut by the time of arrival, so a row may belong to the day before or after, and to no other.
        let times = (day - 1) * DAY..(day + 2) * DAY;
        Ok(Self { reader, record: ByteRecord::new(), columns, width: header.len(), times })
    }

    /// The next row; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, Broken> {
        let line = self.reader.position().line();
        match self.reader.read_byte_record(&mut self.record) {
            Ok(false) => Ok(None),
            Ok(true) => {
                let line = self.record.position().map_or(line, csv::Position::line);
                let fields = if self.record.len() == self.width {
                    Ok(self.columns.iter().map(|&column| &self.record[column]).collect())
                } else {
                    Err(format!("{} columns, the header has {}", self.record.len(), self.width))
                };
                Ok(Some(Row { line, times: self.times.clone(), fields }))
            }
            Err(error) => Err(Broken { line, what: error.to_string() }),
        }
    }
}

impl<'a> Row<'a> {
    /// A field as it is in the file.
    pub(super) fn text(&self, column: usize) -> Result<&'a [u8], String> {
        self.fields.as_ref().map(|fields| fields[column]).map_err(Clone::clone)
    }

    /// A time in microseconds as Unix nanoseconds.
    pub(super) fn time(&self, column: usize) -> Result<i64, String> {
        let text = self.text(column)?;
        let micros = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
        let micros = micros.ok_or_else(|| format!("{} is no time in microseconds", shown(text)))?;
        if self.times.contains(&micros) {
            return Ok(micros * 1_000);
        }
        Err(format!("timestamp {micros} µs is not within a day of the file's date"))
    }

    /// A number of at least `least`, or above it when `above`.
    pub(super) fn number(&self, column: usize, name: &str, above: bool) -> Result<f64, String> {
        let text = self.text(column)?;
        let value = fast_float2::parse::<f64, _>(text).ok().filter(|value| value.is_finite());
        let right = |value: &f64| if above { *value > 0.0 } else { *value >= 0.0 };
        let wanted = if above { "above 0" } else { "of 0 or more" };
        value.filter(right).ok_or_else(|| format!("{name} {} is no number {wanted}", shown(text)))
    }

    /// A number, NaN where the field is empty. Unless `signed` it must be 0 or more.
    pub(super) fn optional(&self, column: usize, name: &str, signed: bool) -> Result<f64, String> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(f64::NAN);
        }
        let value = fast_float2::parse::<f64, _>(text).ok().filter(|value| value.is_finite());
        let wanted = if signed { "" } else { " of 0 or more" };
        value
            .filter(|value| signed || *value >= 0.0)
            .ok_or_else(|| format!("{name} {} is no number{wanted}", shown(text)))
    }

    /// One of two words.
    pub(super) fn either(&self, column: usize, name: &str, yes: &str, no: &str) -> Result<bool, String> {
        match self.text(column)? {
            text if text == yes.as_bytes() => Ok(true),
            text if text == no.as_bytes() => Ok(false),
            text => Err(format!("{name} {} is neither {yes} nor {no}", shown(text))),
        }
    }
}

/// A field as a message quotes it.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(40).collect();
    format!("{short:?}")
}
