//! The values of one column under construction.

use super::DecodeError;
use super::json::{Reader, Result};
use super::kernel::{fit, reserve};
use super::names::Names;
use super::number;
use super::table::{Mark, Table};
use crate::columns::{Column, List, NO_TIME, Rows};

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

    /// Forgets the rows after the first ones.
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

    /// Reads the next row's value.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, missing: f64, known: bool) -> Result<()> {
        if reader.null()? {
            self.fill(self.len() + 1, missing);
            return Ok(());
        }
        if let Self::Unseen(rows) = *self {
            *self = Self::guess(reader, rows)?;
        }
        match self {
            Self::Float(values) => values.push(match reader.peek()? {
                b't' | b'f' if !known => f64::from(u8::from(reader.boolean()?)),
                _ => reader.number()?,
            }),
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
            b'[' if is_list_of(&mut ahead.clone(), |first| matches!(first, b'-' | b'0'..=b'9')) => {
                Self::List(List::default())
            }
            b'[' if is_list_of(&mut ahead.clone(), |first| first == b'{') => {
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

fn is_list_of(reader: &mut Reader<'_>, fits: impl Fn(u8) -> bool) -> bool {
    let mut fitting = true;
    let whole = reader.array(|reader, _| {
        fitting &= fits(reader.peek()?);
        reader.skip().map(drop)
    });
    whole.is_ok() && fitting
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
        *place = Some(reader.integer()?);
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
