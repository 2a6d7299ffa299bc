//! The values of one column under construction.

use std::borrow::Cow;

use super::DecodeError;
use super::json::{Reader, Result};
use super::kernel::{fit, reserve};
use super::names::Names;
use super::number;
use super::table::{Mark, Table};
use crate::columns::{Column, List, NO_TIME, Rows};

/// What is known of a field's kind before its values come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// The table of its type names it, and any other is an error.
    Settled,
    /// The table of its type names the likeliest one.
    Likely,
    /// Nothing: no table knows the field.
    Unknown,
}

/// Values, one for each row.
pub(super) enum Values {
    /// A field that no table knows and that was null so far.
    Unseen(usize),
    Float(Vec<f64>),
    Time(Vec<i64>),
    Text(Vec<Option<String>>),
    List(List),
    Rows(Vec<i64>, Box<Table>),
}

impl Values {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Unseen(rows) => *rows,
            Self::Float(values) => values.len(),
            Self::Time(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::List(list) => list.len(),
            Self::Rows(offsets, _) => offsets.len() - 1,
        }
    }

    /// Adds rows without a value, up to that many rows in all.
    pub(super) fn fill(&mut self, rows: usize, missing: f64) {
        match self {
            Self::Unseen(known) => *known = rows,
            Self::Float(values) => values.resize(rows, missing),
            Self::Time(values) => values.resize(rows, NO_TIME),
            Self::Text(values) => values.resize(rows, None),
            Self::List(list) => list.offsets.resize(rows + 1, list.values.len() as i64),
            Self::Rows(offsets, table) => offsets.resize(rows + 1, table.len() as i64),
        }
    }

    /// What there is of doubles or times; nothing is left. `None` of other kinds, which stay.
    pub(super) fn take(&mut self) -> Option<Self> {
        match self {
            Self::Float(values) => Some(Self::Float(std::mem::take(values))),
            Self::Time(values) => Some(Self::Time(std::mem::take(values))),
            _ => None,
        }
    }

    /// Forgets the rows after the first ones. `inner` is the state of a table of rows; without it, that stays as it is.
    pub(super) fn truncate(&mut self, rows: usize, inner: Option<&Mark>) {
        match self {
            Self::Unseen(known) => *known = rows.min(*known),
            Self::Float(values) => values.truncate(rows),
            Self::Time(values) => values.truncate(rows),
            Self::Text(values) => values.truncate(rows),
            Self::List(list) => {
                list.offsets.truncate(rows + 1);
                list.values.truncate(list.offsets.last().map_or(0, |end| *end as usize));
            }
            Self::Rows(offsets, table) => {
                offsets.truncate(rows + 1);
                if let Some(inner) = inner {
                    table.rewind(inner);
                }
            }
        }
    }

    /// That many rows without a value, of a kind that may change.
    pub(super) fn empty_lists(rows: usize) -> Self {
        Self::List(List { offsets: vec![0; rows + 1], values: Vec::new() })
    }

    /// Bytes in memory; of texts, without their letters.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Unseen(_) => 0,
            Self::Float(values) => size_of_val(&values[..]),
            Self::Time(values) => size_of_val(&values[..]),
            Self::Text(values) => size_of_val(&values[..]),
            Self::List(list) => size_of_val(&list.offsets[..]) + size_of_val(&list.values[..]),
            Self::Rows(offsets, table) => size_of_val(&offsets[..]) + table.bytes(),
        }
    }

    /// Bytes of one row, as far as they are known beforehand.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Float(_) | Self::Time(_) | Self::List(_) => 8,
            _ => 0,
        }
    }

    /// Makes room for rows to come, and for so many values of their lists.
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

    /// Reads the next row's value. Where the kind is not settled, it is what the values are, which never is an error.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, missing: f64, certainty: Certainty) -> Result<()> {
        if reader.null()? {
            self.fill(self.len() + 1, missing);
            return Ok(());
        }
        if certainty == Certainty::Settled {
            return self.read_kind(reader);
        }
        if let Self::Unseen(rows) = *self {
            *self = Self::guess(reader, rows)?;
        }
        self.read_unsettled(reader, certainty)
    }

    /// Reads a value of any kind. One that does not fit the values before it makes the column a text of JSON, and so does
    /// a number of an unknown field, which may be a name, that is no double. If there were no values before it, the column
    /// takes its kind.
    fn read_unsettled(&mut self, reader: &mut Reader<'_>, certainty: Certainty) -> Result<()> {
        let (before, rows) = (reader.clone(), self.len());
        let inner = if let Self::Rows(_, table) = self { Some(table.mark()) } else { None };
        let read = match self {
            Self::Float(values) if matches!(reader.peek()?, b't' | b'f') => {
                values.push(f64::from(u8::from(reader.boolean()?)));
                Ok(())
            }
            _ => self.read_kind(reader),
        };
        let as_told = !matches!(self, Self::Float(_))
            || certainty == Certainty::Likely
            || is_exact(&reader.bytes()[before.offset()..reader.offset()]);
        if read.is_ok() && as_told {
            return Ok(());
        }
        // It must be whole before it changes anything: what follows it shows that.
        *reader = before;
        let mut behind = reader.clone();
        let text = behind.skip()?;
        behind.peek()?;
        self.truncate(rows, inner.as_ref());
        let empty = std::mem::replace(self, Self::Unseen(rows)).finish();
        if empty.as_ref().is_none_or(Column::holds_nothing) {
            let guess = Self::guess(reader, rows)?;
            if empty.is_none_or(|empty| !guess.is_like(&empty)) {
                *self = guess;
                return self.read_unsettled(reader, certainty);
            }
            *self = Self::Text(vec![None; rows]);
        } else if let Some(Column::Text(values)) = empty.map(Column::into_text) {
            *self = Self::Text(values);
        }
        let Self::Text(values) = self else { return Err(reader.error("a value of another kind")) };
        // A string as it reads; one that is no text, as it was sent.
        let string = if text.starts_with(b"\"") { reader.string().ok().map(Cow::into_owned) } else { None };
        values.push(Some(string.unwrap_or_else(|| String::from_utf8_lossy(text).into_owned())));
        *reader = behind;
        Ok(())
    }

    /// Whether a column is of this kind.
    fn is_like(&self, column: &Column) -> bool {
        matches!(
            (self, column),
            (Self::Float(_), Column::Float(_))
                | (Self::Time(_), Column::Time(_))
                | (Self::Text(_), Column::Text(_))
                | (Self::List(_), Column::List(_))
                | (Self::Rows(..), Column::Rows(_))
        )
    }

    /// Reads a value of the column's kind.
    fn read_kind(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        match self {
            Self::Float(values) => values.push(reader.number()?),
            Self::Time(values) => values.push(time(reader)?),
            // A nested value of a field that no table knows is kept as its JSON text: nothing is lost.
            Self::Text(values) => values.push(Some(match reader.peek()? {
                b'"' => reader.string()?.into_owned(),
                _ => String::from_utf8_lossy(reader.skip()?).into_owned(),
            })),
            Self::List(list) => {
                reader.numbers(&mut list.values)?;
                list.offsets.push(list.values.len() as i64);
            }
            Self::Rows(offsets, table) => {
                let mut index = 0;
                let mut more = reader.open(b'[')?;
                while more {
                    index += table.rows(reader).map_err(|error| error.at_index(index))?;
                    more = reader.another(b']')?;
                }
                offsets.push(table.len() as i64);
            }
            Self::Unseen(_) => {}
        }
        Ok(())
    }

    /// The kind of column that an unknown field's first value asks for, with `rows` blank rows.
    fn guess(reader: &mut Reader<'_>, rows: usize) -> Result<Self> {
        let mut ahead = reader.clone();
        let mut values = match ahead.peek()? {
            b'-' | b'0'..=b'9' | b't' | b'f' => Self::Float(Vec::new()),
            b'[' if is_list_of(&mut ahead.clone(), |first| matches!(first, b'-' | b'0'..=b'9'))? => {
                Self::List(List::default())
            }
            b'[' if is_list_of(&mut ahead.clone(), |first| first == b'{')? => {
                Self::Rows(vec![0], Box::new(Table::new(&[], false, &Names::default())))
            }
            b'{' if time(&mut ahead.clone()).is_ok() => Self::Time(Vec::new()),
            _ => Self::Text(Vec::new()),
        };
        values.fill(rows, f64::NAN);
        Ok(values)
    }

    /// The finished column; `None` when nothing but null was ever seen.
    pub(super) fn finish(self) -> Option<Column> {
        fn fitted<T>(mut values: Vec<T>) -> Vec<T> {
            // Room was reserved by the size of the body, which may hold more than this column's series.
            fit(&mut values);
            values
        }
        Some(match self {
            Self::Unseen(_) => return None,
            Self::Float(values) => Column::Float(fitted(values)),
            Self::Time(values) => Column::Time(fitted(values)),
            Self::Text(values) => Column::Text(values),
            Self::List(list) => Column::List(List { offsets: fitted(list.offsets), values: fitted(list.values) }),
            Self::Rows(offsets, table) => Column::Rows(Rows { offsets, columns: table.finish() }),
        })
    }
}

/// Whether all elements of an array start so.
fn is_list_of(reader: &mut Reader<'_>, fits: impl Fn(u8) -> bool) -> Result<bool> {
    let mut fitting = true;
    if reader.is_at_the_bottom() {
        return Ok(false);
    }
    reader.array(|reader, _| {
        fitting &= fits(reader.peek()?);
        reader.skip().map(drop)
    })?;
    Ok(fitting)
}

/// Whether a number reads as a double without loss: a whole one beyond 2^53 may not. Digits after a point are rounded, as
/// the service's own are.
pub(super) fn is_exact(number: &[u8]) -> bool {
    const ALWAYS: usize = 15;
    if number.len() <= ALWAYS || !number.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-')) {
        return true;
    }
    let whole = str::from_utf8(number).ok().and_then(|text| text.parse::<i128>().ok());
    whole.is_some_and(|whole| (whole as f64) as i128 == whole)
}

/// Reads a timestamp object as Unix nanoseconds.
fn time(reader: &mut Reader<'_>) -> Result<i64> {
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
        // Nanoseconds that are null are as good as none.
        *place = Some(if key == "ns" && reader.null()? { 0 } else { reader.integer()? });
        Ok(())
    })?;
    let seconds = seconds.ok_or_else(|| DecodeError::new(start, "a timestamp without s"))?;
    number::unix_nanoseconds(seconds, nanoseconds.unwrap_or(0)).map_err(|problem| DecodeError::new(start, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Kernel;

    #[test]
    fn timestamps_out_of_range_are_refused() {
        let read = |text: &str| time(&mut Reader::new(text.as_bytes(), Kernel::Scalar)).map_err(|error| error.problem);
        assert_eq!(read(r#"{"s":1.7768808e+09}"#), Ok(1_776_880_800_000_000_000));
        assert_eq!(read(r#"{"s":-1,"ns":999999999}"#), Ok(-1));
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
