//! Objects → columns: a table grows by one row per object, whatever order its keys come in.

use super::DecodeError;
use super::json::{Reader, Result};
use crate::clock::SECOND;
use crate::columns::{Column, List, NO_TIME, Rows};
use crate::protocol::{Field, FieldKind, TPO_WRAPPER};

/// Most columns of one table. Real types have about twenty; without a bound a hostile body makes rows × fields cells.
const MAX_FIELDS: usize = 256;

/// Columns under construction.
pub(super) struct Table {
    fields: Vec<Builder>,
    rows: usize,
}

struct Builder {
    wire: String,
    column: String,
    /// What a row without the field holds, for doubles.
    missing: f64,
    required: bool,
    /// Whether a table names the field: then its kind is settled.
    known: bool,
    values: Values,
}

enum Values {
    /// A field that no table knows and that was null so far.
    Unseen(usize),
    Float(Vec<f64>),
    Time(Vec<i64>),
    Text(Vec<Option<String>>),
    List(List),
    Rows(Vec<i64>, Table),
}

impl Table {
    /// A table with the columns of known fields; unknown ones are added as they come.
    pub(super) fn new(fields: &[Field]) -> Self {
        Self { fields: fields.iter().map(Builder::known).collect(), rows: 0 }
    }

    /// Reads one object as the next row.
    pub(super) fn row(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.offset();
        let mut expected = 0;
        self.fill(reader, &mut expected)?;
        self.rows += 1;
        for field in &mut self.fields {
            if field.values.len() < self.rows {
                if field.required {
                    return Err(DecodeError::new(start, format!("a point without {}", field.wire)));
                }
                field.values.push_missing(field.missing);
            }
        }
        Ok(())
    }

    fn fill(&mut self, reader: &mut Reader<'_>, expected: &mut usize) -> Result<()> {
        reader.object(|reader, key| {
            if key == TPO_WRAPPER && reader.peek()? == b'{' {
                return self.fill(reader, expected);
            }
            // Keys mostly come in the order of the row before: look there first.
            let known = match self.fields.get(*expected) {
                Some(field) if field.wire == *key => Some(*expected),
                _ => self.fields.iter().position(|field| field.wire == *key),
            };
            let index = match known {
                Some(index) => index,
                None if self.fields.len() == MAX_FIELDS => {
                    return Err(reader.error(format!("more than {MAX_FIELDS} different fields")));
                }
                None => {
                    let mut field = Builder::unknown(key, self.rows);
                    // Two spellings of one name must not hide each other.
                    while self.fields.iter().any(|other| other.column == field.column) {
                        field.column.push('_');
                    }
                    self.fields.push(field);
                    self.fields.len() - 1
                }
            };
            *expected = index + 1;
            let field = &mut self.fields[index];
            if field.values.len() > self.rows {
                return Err(reader.error("a duplicate key"));
            }
            if field.required && reader.peek()? == b'n' {
                return Err(reader.error(format!("a point without {}", field.wire)));
            }
            field.values.read(reader, field.missing, field.known)
        })
    }

    /// The finished columns, by column name. Unknown fields that were never more than null are dropped.
    pub(super) fn finish(self) -> Vec<(String, Column)> {
        self.fields.into_iter().filter_map(|field| Some((field.column, field.values.finish()?))).collect()
    }
}

impl Builder {
    fn known(field: &Field) -> Self {
        let (missing, values) = match field.kind {
            FieldKind::Number => (0.0, Values::Float(Vec::new())),
            FieldKind::Optional => (f64::NAN, Values::Float(Vec::new())),
            FieldKind::Time | FieldKind::OptionalTime => (f64::NAN, Values::Time(Vec::new())),
            FieldKind::Text => (f64::NAN, Values::Text(Vec::new())),
            FieldKind::List => (f64::NAN, Values::List(List::default())),
            FieldKind::Rows(fields) => (f64::NAN, Values::Rows(vec![0], Table::new(fields))),
        };
        let required = field.kind == FieldKind::Time;
        Self { wire: field.wire.to_owned(), column: field.column.to_owned(), missing, required, known: true, values }
    }

    fn unknown(wire: &str, rows: usize) -> Self {
        let values = Values::Unseen(rows);
        Self {
            wire: wire.to_owned(),
            column: snake_case(wire),
            missing: f64::NAN,
            required: false,
            known: false,
            values,
        }
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Unseen(rows) => *rows,
            Self::Float(values) => values.len(),
            Self::Time(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::List(list) => list.len(),
            Self::Rows(offsets, _) => offsets.len() - 1,
        }
    }

    fn push_missing(&mut self, missing: f64) {
        match self {
            Self::Unseen(rows) => *rows += 1,
            Self::Float(values) => values.push(missing),
            Self::Time(values) => values.push(NO_TIME),
            Self::Text(values) => values.push(None),
            Self::List(list) => list.push([]),
            Self::Rows(offsets, table) => offsets.push(table.rows as i64),
        }
    }

    fn read(&mut self, reader: &mut Reader<'_>, missing: f64, known: bool) -> Result<()> {
        if reader.null()? {
            self.push_missing(missing);
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
                reader.array(|reader, _| {
                    list.values.push(reader.number()?);
                    Ok(())
                })?;
                list.offsets.push(list.values.len() as i64);
            }
            Self::Rows(offsets, table) => {
                reader.array(|reader, _| table.row(reader))?;
                offsets.push(table.rows as i64);
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
            b'[' if is_list_of(&mut ahead.clone(), |first| first == b'{') => Self::Rows(vec![0], Table::new(&[])),
            b'{' if time(&mut ahead.clone()).is_ok() => Self::Time(Vec::new()),
            _ => Self::Text(Vec::new()),
        };
        for _ in 0..rows {
            values.push_missing(f64::NAN);
        }
        Ok(values)
    }

    fn finish(self) -> Option<Column> {
        Some(match self {
            Self::Unseen(_) => return None,
            Self::Float(values) => Column::Float(values),
            Self::Time(values) => Column::Time(values),
            Self::Text(values) => Column::Text(values),
            Self::List(list) => Column::List(list),
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
    let nanoseconds = nanoseconds.unwrap_or(0);
    if !(0..SECOND).contains(&nanoseconds) {
        return Err(DecodeError::new(start, format!("{nanoseconds} nanoseconds are not within a second")));
    }
    let whole = seconds.checked_mul(SECOND).and_then(|whole| whole.checked_add(nanoseconds));
    whole.ok_or_else(|| DecodeError::new(start, format!("{seconds} s is beyond the years 1677 to 2262")))
}

/// `rateOpen` → `rate_open`.
fn snake_case(wire: &str) -> String {
    let mut name = String::with_capacity(wire.len() + 4);
    let mut after_lower = false;
    for letter in wire.chars() {
        if letter.is_uppercase() && after_lower {
            name.push('_');
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(objects: &str, fields: &[Field]) -> Result<Vec<(String, Column)>> {
        let mut table = Table::new(fields);
        Reader::new(objects.as_bytes()).array(|reader, _| table.row(reader))?;
        Ok(table.finish())
    }

    #[test]
    fn unknown_fields_become_columns_of_what_they_hold() {
        let columns = table(
            r#"[{"a":null}, {"newRate":1,"buy_levels":[1,2],"note":"x","when":{"s":5,"ns":7},"odd":{"k":[1]}},
                {"buy_levels":[],"newRate":2.5,"rows":[{"p":1},{"p":2}],"flag":true}]"#,
            &[],
        )
        .unwrap();
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["new_rate", "buy_levels", "note", "when", "odd", "rows", "flag"]);
        let Column::Float(rates) = &columns[0].1 else { panic!() };
        assert!(rates[0].is_nan());
        assert_eq!(rates[1..], [1.0, 2.5]);
        assert_eq!(columns[1].1, Column::List(List { offsets: vec![0, 0, 2, 2], values: vec![1.0, 2.0] }));
        assert_eq!(columns[2].1, Column::Text(vec![None, Some("x".into()), None]));
        assert_eq!(columns[3].1, Column::Time(vec![NO_TIME, 5_000_000_007, NO_TIME]));
        assert_eq!(columns[4].1, Column::Text(vec![None, Some("{\"k\":[1]}".into()), None]));
        let Column::Rows(rows) = &columns[5].1 else { panic!() };
        assert_eq!((&rows.offsets[..], &rows.columns[0].1), (&[0, 0, 0, 2][..], &Column::Float(vec![1.0, 2.0])));
    }

    #[test]
    fn timestamps_out_of_range_are_refused() {
        let read = |text: &str| time(&mut Reader::new(text.as_bytes())).map_err(|error| error.problem);
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

    #[test]
    fn names_turn_into_snake_case() {
        for (wire, column) in
            [("rateOpen", "rate_open"), ("volume", "volume"), ("poc_price", "poc_price"), ("oiUSD", "oi_usd")]
        {
            assert_eq!(snake_case(wire), column);
        }
    }
}
