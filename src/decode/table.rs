//! Objects → columns: a table grows by one row per object, whatever order its keys come in.

use std::borrow::Cow;
use std::cell::RefCell;

use super::DecodeError;
use super::json::{Name, Reader, Result};
use super::kernel::expect;
use super::learner::Learner;
use super::names::Names;
use super::values::Values;
use crate::columns::{self, Column, Raw};
use crate::protocol::data_type::TIMESTAMP;
use crate::protocol::{Field, FieldKind, TPO_WRAPPER};

/// Most columns of one table. Real types have about twenty; without a bound a hostile body makes rows × fields cells.
/// What comes beyond stands in one more column, as JSON.
const MAX_FIELDS: usize = 256;
/// The name of that column, as no key is named.
pub(super) const NO_KEY: &str = "\0more fields";

/// Most tables that are kept between bodies.
const SPARES: usize = 4;

thread_local! {
    /// Tables of points between two uses, the newest last: making one would take a fifth of the time of a small body.
    #[allow(clippy::vec_box)] // they go in and out as they are, which a table itself would not
    static SPARE: RefCell<Vec<Box<Table>>> = const { RefCell::new(Vec::new()) };
}

/// Columns under construction.
pub(super) struct Table {
    fields: Vec<Builder>,
    /// The mark of each field's name.
    marks: Vec<u64>,
    rows: usize,
    /// Whether each row's object stands in another one, under the key `Point`.
    wrapped: bool,
    learner: Learner,
    names: Names,
}

struct Builder {
    wire: Cow<'static, str>,
    column: Cow<'static, str>,
    /// What a row without the field holds, for doubles.
    missing: f64,
    required: bool,
    /// Whether a table names the field.
    known: bool,
    /// The likeliest kind, where the specification states none.
    likely: Option<FieldKind>,
    values: Values,
}

/// A state of a table to which it can go back: rows, fields, and the tables within.
pub(super) struct Mark {
    rows: usize,
    fields: usize,
    inner: Vec<(usize, Mark)>,
}

impl Table {
    /// A table with the columns of known fields; unknown ones are added as they come.
    pub(super) fn new(fields: &'static [Field], wrapped: bool, names: &Names) -> Self {
        // Shapes are remembered by the type's fields: those of other names must not be taken for theirs.
        let learner = Learner::recall(if names.rename(fields) { &[] } else { fields }, wrapped);
        let fields: Vec<Builder> = fields.iter().map(|field| Builder::known(field, names)).collect();
        let marks = fields.iter().map(|field| Name::new(field.wire.as_bytes()).mark).collect();
        Self { fields, marks, rows: 0, wrapped, learner, names: names.clone() }
    }

    /// A table of points, with the memory of an earlier one where that had the same fields.
    pub(super) fn of_points(fields: &'static [Field], names: &Names) -> Box<Self> {
        let spare = SPARE.with_borrow_mut(|tables| {
            let place = tables.iter().rposition(|table| names.are_neutral() && table.learner.is_of(fields))?;
            Some(tables.remove(place))
        });
        spare.unwrap_or_else(|| Box::new(Self::new(fields, true, names)))
    }

    /// The finished columns of such a table.
    pub(super) fn finish_points(mut self: Box<Self>) -> Vec<(columns::Name, Column)> {
        // One that unknown fields, or rows of their own, have not changed.
        let plain = |field: &Builder| field.known && matches!(field.values, Values::Float(_) | Values::Time(_));
        if !self.names.are_neutral() || !self.fields.iter().all(plain) {
            return self.finish();
        }
        let taken = |field: &mut Builder| Some((field.column.clone(), field.values.take()?.finish()?));
        let mut columns = Vec::with_capacity(self.fields.len());
        columns.extend(self.fields.iter_mut().filter_map(taken));
        self.rows = 0;
        self.learner.start_over();
        SPARE.with_borrow_mut(|tables| {
            if tables.len() == SPARES {
                tables.remove(0);
            }
            tables.push(self);
        });
        columns
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Bytes of its values in memory; of texts, without their letters.
    pub(super) fn bytes(&self) -> usize {
        self.fields.iter().map(|field| field.values.bytes()).sum()
    }

    /// Number of rows times fields.
    pub(super) fn cells(&self) -> usize {
        self.rows * self.fields.len()
    }

    /// Whether each row's object stands in another one, under the key `Point`.
    pub(super) fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    /// The index of the field of that name.
    pub(super) fn position(&self, wire: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.wire == wire)
    }

    /// Whether a row must have a value for every field that must, by bits of those it has.
    pub(super) fn allows(&self, present: u64) -> bool {
        self.fields
            .iter()
            .enumerate()
            .all(|(index, field)| !field.required || (index < 64 && present >> index & 1 == 1))
    }

    /// A field's values.
    pub(super) fn values(&self, field: usize) -> &Values {
        &self.fields[field].values
    }

    /// Reads at least one element of an array of rows, and leaves the reader before what stands between two.
    pub(super) fn rows(&mut self, reader: &mut Reader<'_>) -> Result<usize> {
        reader.peek()?;
        let fast = self.fast_rows(reader);
        if fast > 0 {
            return Ok(fast);
        }
        let start = reader.offset();
        self.element(reader)?;
        self.learn(&reader.bytes()[start..reader.offset()]);
        Ok(1)
    }

    /// Reads one element the general way.
    fn element(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        if self.wrapped {
            point(reader, |reader| self.row(reader, |_, _| Ok(false)))
        } else {
            self.row(reader, |_, _| Ok(false))
        }
    }

    /// Reads one object as the next row. `take` gets every key first and may read its value instead.
    pub(super) fn row<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        mut take: impl FnMut(&mut Reader<'a>, &str) -> Result<bool>,
    ) -> Result<()> {
        let start = reader.offset();
        let mut expected = 0;
        self.fill(reader, &mut expected, &mut take)?;
        self.rows += 1;
        for field in &mut self.fields {
            if field.values.len() < self.rows {
                if field.required {
                    return Err(DecodeError::new(start, format!("a point without {}", field.wire)));
                }
                field.values.fill(self.rows, field.missing);
            }
        }
        Ok(())
    }

    fn fill<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        expected: &mut usize,
        take: &mut impl FnMut(&mut Reader<'a>, &str) -> Result<bool>,
    ) -> Result<()> {
        let mut more = reader.open(b'{')?;
        while more {
            let before = reader.offset();
            let known = reader.plain_key().and_then(|key| self.find(key, *expected));
            if let Some(index) = known
                && !self.is_tpo_wrapper(index, reader)?
            {
                *expected = index + 1;
                if let Err(error) = self.value(reader, index) {
                    return Err(error.inside(&self.fields[index].wire));
                }
            } else {
                reader.jump(before);
                let key = reader.key()?;
                self.field(reader, &key, expected, take).map_err(|error| error.inside(&key))?;
            }
            more = reader.another(b'}')?;
        }
        Ok(())
    }

    /// The field of that name. Keys mostly come in the order of the row before: it looks there first.
    #[inline]
    pub(super) fn find(&self, name: Name<'_>, expected: usize) -> Option<usize> {
        let is = |index: usize| {
            let wire = self.fields[index].wire.as_bytes();
            wire.len() == name.bytes.len() && (wire.len() <= 8 || wire == name.bytes)
        };
        if self.marks.get(expected) == Some(&name.mark) && is(expected) {
            return Some(expected);
        }
        if self.marks.len() > 64 {
            return self.fields.iter().position(|field| field.wire.as_bytes() == name.bytes);
        }
        // All of them, without a branch for each: which one it is cannot be foreseen.
        let found =
            self.marks.iter().enumerate().fold(0u64, |all, (at, mark)| all | u64::from(*mark == name.mark) << at);
        let first = found.trailing_zeros() as usize;
        if found.count_ones() <= 1 {
            return (found != 0 && is(first)).then_some(first);
        }
        (0..self.marks.len()).find(|index| found >> index & 1 == 1 && is(*index))
    }

    /// Reads what belongs to a key that needs a closer look: one that nobody knows, or one with escapes.
    #[cold]
    fn field<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        key: &str,
        expected: &mut usize,
        take: &mut impl FnMut(&mut Reader<'a>, &str) -> Result<bool>,
    ) -> Result<()> {
        if key == TPO_WRAPPER && reader.peek()? == b'{' {
            return self.fill(reader, expected, take);
        }
        if take(reader, key)? {
            return Ok(());
        }
        let index = match self.find(Name::new(key.as_bytes()), *expected) {
            Some(index) => index,
            None if self.is_wrapper(reader)? => return self.fill(reader, expected, take),
            None if self.fields.len() >= MAX_FIELDS => return self.add_to_more_fields(reader, key),
            None => self.add(key),
        };
        *expected = index + 1;
        self.value(reader, index)
    }

    /// Reads the value of a field of the next row.
    #[inline]
    fn value(&mut self, reader: &mut Reader<'_>, index: usize) -> Result<()> {
        let field = &mut self.fields[index];
        if field.values.len() > self.rows {
            return Err(reader.error("a duplicate key"));
        }
        if field.required && reader.peek()? == b'n' {
            return Err(reader.error(format!("a point without {}", field.wire)));
        }
        field.values.read(reader, field.missing, field.likely)
    }

    /// Whether a known field's value is no value of it: an unknown field may have the name of the wrapper of profiles.
    fn is_tpo_wrapper(&self, index: usize, reader: &mut Reader<'_>) -> Result<bool> {
        let field = &self.fields[index];
        Ok(!field.known && field.wire == TPO_WRAPPER && reader.peek()? == b'{')
    }

    /// Whether the reader stands at an object that is all there is of a point and has its timestamp: a wrapper that this
    /// version does not know.
    fn is_wrapper(&self, reader: &Reader<'_>) -> Result<bool> {
        let mut ahead = reader.clone();
        let untouched = self.wrapped && self.fields.iter().all(|field| field.values.len() == self.rows);
        if !untouched || ahead.peek()? != b'{' {
            return Ok(false);
        }
        let time = self.fields.iter().find(|field| field.column == TIMESTAMP.column).map(|field| field.wire.as_bytes());
        let mut found = false;
        ahead.object(|ahead, key| {
            found |= Some(key.as_bytes()) == time;
            ahead.skip().map(drop)
        })?;
        Ok(found && ahead.peek()? == b'}')
    }

    /// Adds a field beyond the most that have columns to the column that holds all of those.
    fn add_to_more_fields(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<()> {
        let text = String::from_utf8_lossy(reader.skip()?);
        let index = self.position(NO_KEY).unwrap_or_else(|| self.add(NO_KEY));
        let rows = self.rows;
        let Values::Raw(values) = &mut self.fields[index].values else { return Ok(()) };
        values.push_field(rows, &serde_json::Value::from(key).to_string(), &text);
        Ok(())
    }

    /// Adds a field that no table knows.
    fn add(&mut self, key: &str) -> usize {
        let mut name = self.names.field(key).into_owned();
        // A dialect may give two fields one name: they must not hide each other.
        while self.fields.iter().any(|other| !other.known && other.column == name) {
            name.push('_');
        }
        let field = Builder::unknown(key, name, self.rows);
        self.fields.push(field);
        self.marks.push(Name::new(key.as_bytes()).mark);
        self.fields.len() - 1
    }

    /// The finished columns, by column name; unknown fields by their own, without those that were never more than null.
    pub(super) fn finish(self) -> Vec<(columns::Name, Column)> {
        // Not collected in place: what is left over of the larger fields would be cut off and copied.
        let mut columns = Vec::with_capacity(self.fields.len());
        for field in self.fields {
            if let Some(column) = field.values.finish() {
                columns.push((field.column, column));
            }
        }
        columns
    }

    /// Adds rows that are read column by column: `fill` gets each field's index, its values, and what a row without it
    /// holds. When it fails, no row is added.
    pub(super) fn add_rows(&mut self, rows: usize, mut fill: impl FnMut(usize, &mut Values, f64) -> bool) -> bool {
        let mut fields = self.fields.iter_mut().enumerate();
        let all = fields.all(|(index, field)| fill(index, &mut field.values, field.missing));
        if all {
            self.rows += rows;
        } else {
            for field in &mut self.fields {
                field.values.truncate(self.rows, None);
            }
        }
        all
    }

    /// Makes room for rows to come, in which a field has so many `list_values` in all.
    pub(super) fn reserve(&mut self, rows: usize, list_values: impl Fn(usize) -> usize) {
        let bytes =
            |(index, field): (usize, &Builder)| field.values.width() * rows + list_values(index) * size_of::<f64>();
        expect(self.fields.iter().enumerate().map(bytes).sum());
        for (index, field) in self.fields.iter_mut().enumerate() {
            field.values.reserve(rows, list_values(index));
        }
    }

    /// The learner, taken out of the table while it works on it.
    pub(super) fn learner(&mut self) -> &mut Learner {
        &mut self.learner
    }

    /// The tables of fields that hold records.
    pub(super) fn inner_tables(&mut self) -> impl Iterator<Item = &mut Table> {
        self.fields.iter_mut().filter_map(|field| match &mut field.values {
            Values::Rows(_, table) => Some(&mut **table),
            _ => None,
        })
    }

    /// The state to go back to when the next row turns out not to be whole yet.
    pub(super) fn mark(&self) -> Mark {
        let tables = self.fields.iter().enumerate().filter_map(|(index, field)| match &field.values {
            Values::Rows(_, table) => Some((index, table.mark())),
            _ => None,
        });
        Mark { rows: self.rows, fields: self.fields.len(), inner: tables.collect() }
    }

    /// Goes back to an earlier state.
    pub(super) fn rewind(&mut self, mark: &Mark) {
        self.rows = mark.rows;
        self.fields.truncate(mark.fields);
        self.marks.truncate(mark.fields);
        self.learner.forget_fields(mark.fields);
        for (index, field) in self.fields.iter_mut().enumerate() {
            let inner = mark.inner.iter().find(|(place, _)| *place == index).map(|(_, inner)| inner);
            field.values.truncate(mark.rows, inner);
        }
    }
}

/// Reads an element of `points`: an object with the key `Point`, whose value `read` reads. Without that key it is the value
/// of another key that holds an object, or, with a timestamp of its own, the element itself.
pub(super) fn point<'a>(reader: &mut Reader<'a>, mut read: impl FnMut(&mut Reader<'a>) -> Result<()>) -> Result<()> {
    let mut found = false;
    let (whole, mut bare, mut other) = (reader.clone(), false, None);
    reader.object(|reader, key| {
        if key != "Point" {
            bare |= key == TIMESTAMP.wire;
            if reader.peek()? == b'{' && other.is_none() {
                other = Some(reader.clone());
            }
            return reader.skip().map(drop);
        }
        if found {
            return Err(reader.error("a duplicate key"));
        }
        found = true;
        read(reader)
    })?;
    match (found, other) {
        (true, _) => Ok(()),
        (false, _) if bare => read(&mut { whole }),
        (false, Some(mut inside)) => read(&mut inside),
        (false, None) => Err(reader.error("a point without the key Point")),
    }
}

impl Builder {
    fn known(field: &Field, names: &Names) -> Self {
        let missing = if matches!(field.kind, FieldKind::Number | FieldKind::Price) { 0.0 } else { f64::NAN };
        let values = match field.kind {
            FieldKind::Rows(fields) => Values::Rows(vec![0], Box::new(Table::new(fields, false, names))),
            kind => Values::of(kind),
        };
        let required = field.kind == FieldKind::Time;
        let (wire, column) = (names.wire(field.wire), field.column.into());
        let likely = field.open.then_some(field.kind);
        Self { wire, column, missing, required, known: true, likely, values }
    }

    fn unknown(wire: &str, column: String, rows: usize) -> Self {
        Self {
            wire: wire.to_owned().into(),
            column: column.into(),
            missing: f64::NAN,
            required: false,
            known: false,
            likely: None,
            values: Values::Raw(Raw::blank(false, rows)),
        }
    }
}
