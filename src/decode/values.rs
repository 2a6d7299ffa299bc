//! The values of one column under construction.

use std::cell::Cell;

use super::error::DecodeError;
use super::json::{Reader, Result};
use super::kernel::Kernel;
use super::number;
use crate::clock::{UnixNanos, UnixSecond};
use crate::columns::pages::{fit, reserve};
use crate::columns::{Column, List, NO_TIME, RaggedRows, Raw};
use crate::protocol::FieldKind;

/// Values, one for each row.
pub(super) enum RowValues {
    /// Raw values: of an unknown field, or of one whose kind varies.
    Raw(Raw),
    Float(Vec<f64>),
    Time(Vec<i64>),
    Text(Vec<Option<String>>),
    List(List),
    /// Where each row's records start in the table of all rows' records.
    Records(Vec<i64>),
}

impl RowValues {
    /// Empty, of a known kind.
    pub(super) fn of(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Number | FieldKind::Price | FieldKind::Optional => Self::Float(Vec::new()),
            FieldKind::Time | FieldKind::OptionalTime => Self::Time(Vec::new()),
            FieldKind::List => Self::List(List::default()),
            FieldKind::Text => Self::Text(Vec::new()),
            FieldKind::Rows(_) => Self::Records(vec![0]),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Raw(raw) => raw.len(),
            Self::Float(values) => values.len(),
            Self::Time(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::List(list) => list.len(),
            Self::Records(offsets) => offsets.len() - 1,
        }
    }

    /// Adds rows without a value, up to that many rows in all.
    pub(super) fn fill(&mut self, rows: usize, missing: f64) {
        match self {
            Self::Raw(raw) if raw.known && !missing.is_nan() => {
                let value = Column::Float(vec![missing]).json(0);
                (raw.len()..rows).for_each(|_| raw.push(value.as_deref()));
            }
            Self::Raw(raw) => raw.resize(rows),
            Self::Float(values) => values.resize(rows, missing),
            Self::Time(values) => values.resize(rows, NO_TIME),
            Self::Text(values) => values.resize(rows, None),
            Self::List(list) => list.offsets.resize(rows + 1, list.values.len() as i64),
            Self::Records(offsets) => offsets.resize(rows + 1, offsets.last().copied().unwrap_or(0)),
        }
    }

    /// Takes the doubles or times; `None` for other kinds, which stay.
    pub(super) fn take(&mut self) -> Option<Self> {
        match self {
            Self::Float(values) => Some(Self::Float(std::mem::take(values))),
            Self::Time(values) => Some(Self::Time(std::mem::take(values))),
            _ => None,
        }
    }

    /// Truncates to the first rows; for records, their offsets.
    pub(super) fn truncate(&mut self, rows: usize) {
        match self {
            Self::Raw(raw) => raw.resize(rows.min(raw.len())),
            Self::Float(values) => values.truncate(rows),
            Self::Time(values) => values.truncate(rows),
            Self::Text(values) => values.truncate(rows),
            Self::List(list) => {
                list.offsets.truncate(rows + 1);
                list.values.truncate(list.offsets.last().map_or(0, |end| *end as usize));
            }
            Self::Records(offsets) => offsets.truncate(rows + 1),
        }
    }

    /// Bytes in memory, without the text of strings.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Raw(raw) => raw.bytes(),
            Self::Float(values) => size_of_val(&values[..]),
            Self::Time(values) => size_of_val(&values[..]),
            Self::Text(values) => size_of_val(&values[..]),
            Self::List(list) => size_of_val(&list.offsets[..]) + size_of_val(&list.values[..]),
            Self::Records(offsets) => size_of_val(&offsets[..]),
        }
    }

    /// Bytes of one row, as far as known beforehand.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Float(_) | Self::Time(_) | Self::List(_) => 8,
            _ => 0,
        }
    }

    /// Reserves capacity for further rows, and for so many values of their lists.
    pub(super) fn reserve(&mut self, rows: usize, list_values: usize) {
        match self {
            Self::Float(values) => reserve(values, rows),
            Self::Time(values) => reserve(values, rows),
            Self::List(list) => {
                reserve(&mut list.offsets, rows);
                reserve(&mut list.values, list_values);
            }
            _ => {}
        }
    }

    /// Reads the next row's value. `likely`: the expected kind of a field without a stated kind. A value of another
    /// kind is no error: from then on raw values are kept.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, missing: f64, likely: Option<FieldKind>) -> Result<()> {
        if reader.null()? {
            self.fill(self.len() + 1, missing);
            return Ok(());
        }
        let Some(kind) = likely else { return self.read_kind(reader) };
        if let Self::Raw(raw) = self {
            return read_raw(raw, reader, kind);
        }
        let (before, rows) = (reader.clone(), self.len());
        if self.read_kind(reader).is_ok() {
            return Ok(());
        }
        // It must be complete before it changes anything, which the following byte shows.
        *reader = before;
        let mut behind = reader.clone();
        behind.skip()?;
        behind.peek()?;
        self.truncate(rows);
        if let Some(column) = std::mem::replace(self, Self::Text(Vec::new())).finish() {
            let mut raw = column.to_raw(true);
            read_raw(&mut raw, reader, kind)?;
            *self = Self::Raw(raw);
        }
        Ok(())
    }

    /// Reads a value of the column's kind.
    fn read_kind(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        match self {
            Self::Float(values) => values.push(reader.number()?),
            Self::Time(values) => values.push(time(reader)?.0),
            Self::Text(values) => values.push(Some(match reader.peek()? {
                b'"' => reader.string()?.into_owned(),
                _ => String::from_utf8_lossy(reader.skip()?).into_owned(),
            })),
            Self::Raw(raw) => raw.push(Some(&String::from_utf8_lossy(reader.skip()?))),
            Self::List(list) => {
                reader.numbers(&mut list.values)?;
                list.offsets.push(list.values.len() as i64);
            }
            Self::Records(_) => return Err(reader.error("records are read by their table")),
        }
        Ok(())
    }

    /// The finished column, for records without their fields; `None` for an unknown field that is null in every row.
    pub(super) fn finish(self) -> Option<Column> {
        fn fitted<T>(mut values: Vec<T>) -> Vec<T> {
            // Capacity was reserved by the size of the body, which may hold more than this series.
            fit(&mut values);
            values
        }
        Some(match self {
            Self::Raw(raw) if !raw.known && raw.holds_nothing() => return None,
            Self::Raw(raw) => Column::Raw(raw),
            Self::Float(values) => Column::Float(fitted(values)),
            Self::Time(values) => Column::Time(fitted(values)),
            Self::Text(values) => Column::Text(values),
            Self::List(list) => Column::List(List { offsets: fitted(list.offsets), values: fitted(list.values) }),
            Self::Records(offsets) => Column::Rows(RaggedRows { offsets, columns: Vec::new() }),
        })
    }
}

/// Adds a value of a field with a likely kind. It is spelt as if it had been parsed as that kind, because earlier rows
/// may have been.
fn read_raw(raw: &mut Raw, reader: &mut Reader<'_>, kind: FieldKind) -> Result<()> {
    let before = reader.clone();
    let mut alike = RowValues::of(kind);
    if alike.read_kind(reader).is_ok()
        && let Some(column) = alike.finish()
    {
        raw.push(column.json(0).as_deref());
        return Ok(());
    }
    *reader = before;
    raw.push(Some(&String::from_utf8_lossy(reader.skip()?)));
    Ok(())
}

thread_local! {
    /// Numbers that are only inspected.
    static LOOKED_AT: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

/// Whether these positions hold numbers that are doubles.
pub(super) fn is_numbers(kernel: Kernel, bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32]) -> bool {
    let mut numbers = LOOKED_AT.take();
    numbers.clear();
    let all = kernel.floats(bytes, befores, skip, ends, &mut numbers);
    LOOKED_AT.set(numbers);
    all
}

/// Appends the strings between these positions; `false` if one of them is not a string.
pub(super) fn push_texts(raw: &mut Raw, bytes: &[u8], spans: impl Iterator<Item = (u32, u32)>) -> bool {
    for (start, end) in spans {
        let text = bytes.get(start as usize..end as usize).and_then(|text| str::from_utf8(text).ok());
        let Some(text) = text.filter(|text| !text.is_empty()) else { return false };
        raw.push(Some(text));
    }
    true
}

/// Whether a number is read as a double without loss: an integer beyond 2^53 may not be. Digits after a point are
/// rounded, like the service's own.
pub(super) fn is_exact(number: &[u8]) -> bool {
    const ALWAYS: usize = 15;
    if number.len() <= ALWAYS || !number.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-')) {
        return true;
    }
    let whole = str::from_utf8(number).ok().and_then(|text| text.parse::<i128>().ok());
    whole.is_some_and(|whole| (whole as f64) as i128 == whole)
}

/// Reads a timestamp object.
pub(super) fn time(reader: &mut Reader<'_>) -> Result<UnixNanos> {
    reader.peek()?;
    if let Some(time) = reader.plain_time() {
        return Ok(time);
    }
    let start = reader.offset();
    let (mut seconds, mut nanoseconds) = (None, None);
    reader.object(|reader, key| {
        let place = match &**key {
            "s" => &mut seconds,
            "ns" => &mut nanoseconds,
            _ => return reader.skip().map(drop),
        };
        if place.is_some() {
            return Err(reader.error("a duplicate key"));
        }
        // Null nanoseconds count as absent.
        *place = Some(if key == "ns" && reader.null()? { 0 } else { reader.integer()? });
        Ok(())
    })?;
    let seconds = seconds.ok_or_else(|| DecodeError::new(start, "a timestamp without s"))?;
    number::moment(UnixSecond(seconds), nanoseconds.unwrap_or(0)).map_err(|problem| DecodeError::new(start, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Kernel;

    // faults.md row 22
    #[test]
    fn timestamps_out_of_range_are_refused() {
        let read = |text: &str| time(&mut Reader::new(text.as_bytes(), Kernel::Scalar)).map_err(|error| error.problem);
        assert_eq!(read(r#"{"s":1.7768808e+09}"#), Ok(UnixNanos(1_776_880_800_000_000_000)));
        assert_eq!(read(r#"{"s":-1,"ns":999999999}"#), Ok(UnixNanos(-1)));
        for bad in [
            "{}",
            r#"{"s":"1"}"#,
            r#"{"s":1.5}"#,
            r#"{"s":1,"ns":1000000000}"#,
            r#"{"s":1,"ns":-1}"#,
            r#"{"s":1e10}"#,
            r#"{"s":1,"s":1}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
