//! The fields of a table and their values so far.

use std::borrow::Cow;

use super::error::DecodeError;
use super::json::{FieldName, Reader, Result};
use super::names::BodyNames;
use super::values::RowValues;
use crate::columns::pages::expect;
use crate::columns::{self, Column, Raw};
use crate::protocol::field::TIMESTAMP;
use crate::protocol::{Field, FieldKind, TPO_WRAPPER};

/// Most columns of one table. Real types have about twenty; without a bound a hostile body could make rows × fields
/// cells. Further fields go into one more column, as JSON.
const MAX_FIELDS: usize = 256;
/// The name of that column, which no key can have.
pub(super) const NO_KEY: &str = "\0more fields";

/// Columns under construction.
pub(super) struct Fields {
    every: Vec<FieldBuilder>,
    /// A hash of each field's name.
    marks: Vec<u64>,
    rows: usize,
    /// Whether each row's object is nested in another one, under the key `Point`.
    wrapped: bool,
    names: BodyNames,
}

struct FieldBuilder {
    wire: Cow<'static, str>,
    column: Cow<'static, str>,
    /// The value of a row without the field, for doubles.
    missing: f64,
    required: bool,
    /// Whether the type's table has the field.
    known: bool,
    /// The likeliest kind, if the specification states none.
    likely: Option<FieldKind>,
    values: RowValues,
}

impl Fields {
    /// The columns of known fields; unknown ones are added as they appear.
    pub(super) fn new(fields: &'static [Field], wrapped: bool, names: &BodyNames) -> Self {
        let every: Vec<FieldBuilder> = fields.iter().map(|field| FieldBuilder::known(field, names)).collect();
        let marks = every.iter().map(|field| FieldName::new(field.wire.as_bytes()).mark).collect();
        Self { every, marks, rows: 0, wrapped, names: names.clone() }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of fields.
    pub(super) fn width(&self) -> usize {
        self.every.len()
    }

    /// Bytes of the values in memory, without the text of strings.
    pub(super) fn bytes(&self) -> usize {
        self.every.iter().map(|field| field.values.bytes()).sum()
    }

    /// Whether each row's object is nested in another one, under the key `Point`.
    pub(super) fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    /// Whether no more fields may be added.
    pub(super) fn is_full(&self) -> bool {
        self.every.len() >= MAX_FIELDS
    }

    /// The index of the field of that name.
    pub(super) fn position(&self, wire: &str) -> Option<usize> {
        self.every.iter().position(|field| field.wire == wire)
    }

    /// A field's name on the wire.
    pub(super) fn wire(&self, field: usize) -> &str {
        &self.every[field].wire
    }

    /// A field's values.
    pub(super) fn values(&self, field: usize) -> &RowValues {
        &self.every[field].values
    }

    /// Whether a row has every required field, given as a bit set.
    pub(super) fn allows(&self, present: u64) -> bool {
        self.every.iter().enumerate().all(|(index, field)| !field.required || (index < 64 && present >> index & 1 == 1))
    }

    /// The field of that name. It first looks at the one that followed in the row before.
    #[inline]
    pub(super) fn find(&self, name: FieldName<'_>, expected: usize) -> Option<usize> {
        let is = |index: usize| {
            let wire = self.every[index].wire.as_bytes();
            wire.len() == name.bytes.len() && (wire.len() <= 8 || wire == name.bytes)
        };
        if self.marks.get(expected) == Some(&name.mark) && is(expected) {
            return Some(expected);
        }
        if self.marks.len() > 64 {
            return self.every.iter().position(|field| field.wire.as_bytes() == name.bytes);
        }
        // All of them, without a branch for each: the match cannot be predicted.
        let found =
            self.marks.iter().enumerate().fold(0u64, |all, (at, mark)| all | u64::from(*mark == name.mark) << at);
        let first = found.trailing_zeros() as usize;
        if found.count_ones() <= 1 {
            return (found != 0 && is(first)).then_some(first);
        }
        (0..self.marks.len()).find(|index| found >> index & 1 == 1 && is(*index))
    }

    /// Whether the next row may have a value of a field here.
    #[inline]
    fn check(&self, reader: &mut Reader<'_>, index: usize) -> Result<()> {
        let field = &self.every[index];
        if field.values.len() > self.rows {
            return Err(reader.error("a duplicate key"));
        }
        if field.required && reader.peek()? == b'n' {
            return Err(reader.error(format!("a point without {}", field.wire)));
        }
        Ok(())
    }

    /// Reads the value of a field of the next row.
    #[inline]
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, index: usize) -> Result<()> {
        self.check(reader, index)?;
        let field = &mut self.every[index];
        field.values.read(reader, field.missing, field.likely)
    }

    /// The same for a field of records, which `records` reads; it returns their number in all rows.
    pub(super) fn read_records<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        index: usize,
        records: impl FnOnce(&mut Reader<'a>) -> Result<usize>,
    ) -> Result<()> {
        self.check(reader, index)?;
        let all = records(reader)?;
        if let RowValues::Records(offsets) = &mut self.every[index].values {
            offsets.push(all as i64);
        }
        Ok(())
    }

    /// Ends the next row, which began at `start`, filling in missing fields.
    pub(super) fn end_row(&mut self, start: usize) -> Result<()> {
        self.rows += 1;
        for field in &mut self.every {
            if field.values.len() < self.rows {
                if field.required {
                    return Err(DecodeError::new(start, format!("a point without {}", field.wire)));
                }
                field.values.fill(self.rows, field.missing);
            }
        }
        Ok(())
    }

    /// Whether a known field's value is of another kind: an unknown field may be named like the wrapper of profiles.
    pub(super) fn is_tpo_wrapper(&self, index: usize, reader: &mut Reader<'_>) -> Result<bool> {
        let field = &self.every[index];
        Ok(!field.known && field.wire == TPO_WRAPPER && reader.peek()? == b'{')
    }

    /// Whether the reader is at an object that is the point's only one and has its timestamp: an unknown wrapper.
    /// version does not know.
    pub(super) fn is_wrapper(&self, reader: &Reader<'_>) -> Result<bool> {
        let mut ahead = reader.clone();
        let untouched = self.wrapped && self.every.iter().all(|field| field.values.len() == self.rows);
        if !untouched || ahead.peek()? != b'{' {
            return Ok(false);
        }
        let time = self.every.iter().find(|field| field.column == TIMESTAMP.column).map(|field| field.wire.as_bytes());
        let mut found = false;
        ahead.object(|ahead, key| {
            found |= Some(key.as_bytes()) == time;
            ahead.skip().map(drop)
        })?;
        Ok(found && ahead.peek()? == b'}')
    }

    /// Adds a field beyond the maximum to the column for all of those.
    pub(super) fn add_to_more_fields(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<()> {
        let text = String::from_utf8_lossy(reader.skip()?);
        let index = self.position(NO_KEY).unwrap_or_else(|| self.add(NO_KEY));
        let rows = self.rows;
        let RowValues::Raw(values) = &mut self.every[index].values else { return Ok(()) };
        values.push_field(rows, &serde_json::Value::from(key).to_string(), &text);
        Ok(())
    }

    /// Adds an unknown field.
    pub(super) fn add(&mut self, key: &str) -> usize {
        let mut name = self.names.field(key).into_owned();
        // A dialect may give two fields one name: both must be kept.
        while self.every.iter().any(|other| !other.known && other.column == name) {
            name.push('_');
        }
        let field = FieldBuilder::unknown(key, name, self.rows);
        self.every.push(field);
        self.marks.push(FieldName::new(key.as_bytes()).mark);
        self.every.len() - 1
    }

    /// The finished columns, by column name; unknown fields by their own, without those that are null in every row.
    pub(super) fn finish(self) -> Vec<(columns::ColumnName, Column)> {
        // Not collected in place: the excess capacity of larger fields would be cut off by copying.
        let mut columns = Vec::with_capacity(self.every.len());
        for field in self.every {
            if let Some(column) = field.values.finish() {
                columns.push((field.column, column));
            }
        }
        columns
    }

    /// Adds rows that are read column by column: `fill` gets each field's index, its values, and the default value. If
    /// it fails, no row is added.
    pub(super) fn add_rows(&mut self, rows: usize, mut fill: impl FnMut(usize, &mut RowValues, f64) -> bool) -> bool {
        let mut fields = self.every.iter_mut().enumerate();
        let all = fields.all(|(index, field)| fill(index, &mut field.values, field.missing));
        if all {
            self.rows += rows;
        } else {
            for field in &mut self.every {
                field.values.truncate(self.rows);
            }
        }
        all
    }

    /// Reserves capacity for further rows, in which a field has `list_values` in all.
    pub(super) fn reserve(&mut self, rows: usize, list_values: impl Fn(usize) -> usize) {
        let bytes = |(index, field): (usize, &FieldBuilder)| {
            field.values.width() * rows + list_values(index) * size_of::<f64>()
        };
        expect(self.every.iter().enumerate().map(bytes).sum());
        for (index, field) in self.every.iter_mut().enumerate() {
            field.values.reserve(rows, list_values(index));
        }
    }

    /// The finished columns if all fields are known and hold doubles or times, leaving none of their rows; `None`
    /// otherwise.
    pub(super) fn take(&mut self) -> Option<Vec<(columns::ColumnName, Column)>> {
        let plain =
            |field: &FieldBuilder| field.known && matches!(field.values, RowValues::Float(_) | RowValues::Time(_));
        if !self.names.are_neutral() || !self.every.iter().all(plain) {
            return None;
        }
        let taken = |field: &mut FieldBuilder| Some((field.column.clone(), field.values.take()?.finish()?));
        let mut columns = Vec::with_capacity(self.every.len());
        columns.extend(self.every.iter_mut().filter_map(taken));
        self.rows = 0;
        Some(columns)
    }

    /// Truncates to so many rows and fields.
    pub(super) fn rewind(&mut self, rows: usize, width: usize) {
        self.rows = rows;
        self.every.truncate(width);
        self.marks.truncate(width);
        for field in &mut self.every {
            field.values.truncate(rows);
        }
    }
}

impl FieldBuilder {
    fn known(field: &Field, names: &BodyNames) -> Self {
        let missing = if matches!(field.kind, FieldKind::Number | FieldKind::Price) { 0.0 } else { f64::NAN };
        let required = field.kind == FieldKind::Time;
        let (wire, column) = (names.wire(field.wire), field.column.into());
        let likely = field.open.then_some(field.kind);
        Self { wire, column, missing, required, known: true, likely, values: RowValues::of(field.kind) }
    }

    fn unknown(wire: &str, column: String, rows: usize) -> Self {
        Self {
            wire: wire.to_owned().into(),
            column: column.into(),
            missing: f64::NAN,
            required: false,
            known: false,
            likely: None,
            values: RowValues::Raw(Raw::blank(false, rows)),
        }
    }
}
