//! Objects → columns: a table grows by one row per object, with keys in any order.

use std::cell::RefCell;

use super::fields::Fields;
use super::json::{FieldName, Reader, Result};
use super::names::BodyNames;
use super::row_templates::RowTemplates;
use crate::columns::{self, Column};
use crate::protocol::field::TIMESTAMP;
use crate::protocol::{Field, FieldKind, TPO_WRAPPER};

/// Most tables in the pool.
const SPARES: usize = 4;

thread_local! {
    /// Tables that are reused, most recent last: creating one would take a fifth of the time of a small body.
    #[allow(clippy::vec_box)] // they go in and out as they are, which a table itself would not
    static SPARE: RefCell<Vec<Box<DecodedTable>>> = const { RefCell::new(Vec::new()) };
}

/// Columns under construction, and how their rows are read.
pub(super) struct DecodedTable {
    fields: Fields,
    /// The tables of fields with records, with the index of their field, in order.
    records: Vec<(usize, DecodedTable)>,
    templates: RowTemplates,
}

/// A state of a table to return to: rows, fields, and nested tables.
pub(super) struct Mark {
    rows: usize,
    fields: usize,
    records: Vec<Mark>,
}

impl DecodedTable {
    /// A table with the columns of known fields; unknown ones are added as they appear.
    pub(super) fn new(fields: &'static [Field], wrapped: bool, names: &BodyNames) -> Self {
        // Templates are cached by the type's fields: those of a dialect must not be mixed with them.
        let templates = RowTemplates::recall(if names.rename(fields) { &[] } else { fields }, wrapped);
        let records = fields.iter().enumerate().filter_map(|(index, field)| match field.kind {
            FieldKind::Rows(fields) => Some((index, Self::new(fields, false, names))),
            _ => None,
        });
        Self { fields: Fields::new(fields, wrapped, names), records: records.collect(), templates }
    }

    /// A table of points, reusing one with the same fields.
    pub(super) fn of_points(fields: &'static [Field], names: &BodyNames) -> Box<Self> {
        let spare = SPARE.with_borrow_mut(|tables| {
            let place = tables.iter().rposition(|table| names.are_neutral() && table.templates.is_of(fields))?;
            Some(tables.remove(place))
        });
        spare.unwrap_or_else(|| Box::new(Self::new(fields, true, names)))
    }

    /// The finished columns of such a table.
    pub(super) fn finish_points(mut self: Box<Self>) -> Vec<(columns::ColumnName, Column)> {
        // A table without unknown fields or rows left is returned to the pool.
        let Some(columns) = self.fields.take() else { return self.finish() };
        self.templates.start_over();
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
        self.fields.rows()
    }

    /// Bytes of its values in memory, without the text of strings.
    pub(super) fn bytes(&self) -> usize {
        self.fields.bytes() + self.records.iter().map(|(_, table)| table.bytes()).sum::<usize>()
    }

    /// Number of rows times fields.
    pub(super) fn cells(&self) -> usize {
        self.fields.rows() * self.fields.width()
    }

    /// Reads at least one element of an array of rows, and leaves the reader before the separator.
    pub(super) fn rows(&mut self, reader: &mut Reader<'_>) -> Result<usize> {
        reader.peek()?;
        let fast = self.templates.rows(&mut self.fields, reader);
        if fast > 0 {
            return Ok(fast);
        }
        let start = reader.offset();
        self.element(reader)?;
        self.templates.learn(&self.fields, &reader.bytes()[start..reader.offset()]);
        Ok(1)
    }

    /// Reads one element on the general path.
    fn element(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        if self.fields.is_wrapped() {
            point(reader, |reader| self.row(reader, |_, _| Ok(false)))
        } else {
            self.row(reader, |_, _| Ok(false))
        }
    }

    /// Reads one object as the next row. `take` is called with every key first and may read its value.
    pub(super) fn row<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        mut take: impl FnMut(&mut Reader<'a>, &str) -> Result<bool>,
    ) -> Result<()> {
        let start = reader.offset();
        let mut expected = 0;
        self.fill(reader, &mut expected, &mut take)?;
        self.fields.end_row(start)
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
            let known = reader.plain_key().and_then(|key| self.fields.find(key, *expected));
            if let Some(index) = known
                && !self.fields.is_tpo_wrapper(index, reader)?
            {
                *expected = index + 1;
                if let Err(error) = self.value(reader, index) {
                    return Err(error.inside(self.fields.wire(index)));
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

    /// Reads the value of an unusual key: an unknown one, or one with escapes.
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
        let index = match self.fields.find(FieldName::new(key.as_bytes()), *expected) {
            Some(index) => index,
            None if self.fields.is_wrapper(reader)? => return self.fill(reader, expected, take),
            None if self.fields.is_full() => return self.fields.add_to_more_fields(reader, key),
            None => self.fields.add(key),
        };
        *expected = index + 1;
        self.value(reader, index)
    }

    /// Reads the value of a field of the next row.
    #[inline]
    fn value(&mut self, reader: &mut Reader<'_>, index: usize) -> Result<()> {
        let Some((_, table)) = self.records.iter_mut().find(|(field, _)| *field == index) else {
            return self.fields.read(reader, index);
        };
        self.fields.read_records(reader, index, |reader| {
            if !reader.null()? {
                let mut row = 0;
                let mut more = reader.open(b'[')?;
                while more {
                    row += table.rows(reader).map_err(|error| error.at_index(row))?;
                    more = reader.another(b']')?;
                }
            }
            Ok(table.len())
        })
    }

    /// The finished columns, by column name; unknown fields by their own, without those that are null in every row.
    pub(super) fn finish(self) -> Vec<(columns::ColumnName, Column)> {
        let mut columns = self.fields.finish();
        let mut records = self.records.into_iter();
        for (_, column) in &mut columns {
            if let Column::Rows(rows) = column
                && let Some((_, table)) = records.next()
            {
                rows.columns = table.finish();
            }
        }
        columns
    }

    /// Adjusts offsets after bytes were removed.
    pub(super) fn new_bytes(&mut self) {
        self.templates.new_bytes();
        self.records.iter_mut().for_each(|(_, table)| table.new_bytes());
    }

    /// The state to return to when the next row turns out to be incomplete.
    pub(super) fn mark(&self) -> Mark {
        let records = self.records.iter().map(|(_, table)| table.mark()).collect();
        Mark { rows: self.fields.rows(), fields: self.fields.width(), records }
    }

    /// Returns to an earlier state.
    pub(super) fn rewind(&mut self, mark: &Mark) {
        self.fields.rewind(mark.rows, mark.fields);
        self.templates.forget_fields(mark.fields);
        for ((_, table), mark) in self.records.iter_mut().zip(&mark.records) {
            table.rewind(mark);
        }
    }
}

/// Reads an element of `points`: an object with the key `Point`, whose value `read` reads. Without that key, it is the
/// value of another key with an object, or the element itself if it has a timestamp.
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
