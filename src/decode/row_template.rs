//! Template of a row: the literal bytes between its values, learnt from a row that was read the general way.
//!
//! The live service writes every point of a series with the same keys in the same order. So the next point is the same
//! bytes with other numbers between them, and reading it is comparing the bytes and converting the numbers.

use super::fields::Fields;
use super::json::{Reader, Result};
use super::kernel::{Kernel, Literal};
use super::values::RowValues;
use crate::protocol::TPO_WRAPPER;

/// Most values of a learnt row: the widest known type has 20 fields, and a timestamp is two values.
const MOST_SLOTS: usize = 64;

/// One row's literals and the values between them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowTemplate {
    pub(super) slots: Vec<TemplateSlot>,
    /// From the last value to the end of the row.
    pub(super) tail: Literal,
    /// Delimiters in the tail that do not end the last value.
    pub(super) tail_gap: usize,
    /// Delimiters from one row to the next, when every row has as many.
    pub(super) stride: Option<usize>,
    /// Delimiters of a row in which only one list varies.
    pub(super) ragged: Option<Ragged>,
}

/// A row with one list of any length between values of one delimiter each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ragged {
    /// The slot of the list.
    pub(super) list: usize,
    /// Delimiters from one row to the next, if the list had one number.
    pub(super) shortest: usize,
    /// Brackets and braces that close something, in every row; the last one ends the row.
    pub(super) closers: usize,
}

/// A value that changes from row to row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TemplateSlot {
    pub(super) kind: SlotKind,
    /// The column.
    pub(super) field: usize,
    /// Bytes between the end of the value before, or the start of the row, and this value.
    pub(super) literal: Literal,
    /// Delimiters in the literal that do not end the value before.
    pub(super) gap: usize,
    /// Which of the row's delimiters ends the value, when every row has as many.
    pub(super) place: usize,
}

/// How the value of a slot reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotKind {
    /// A double.
    Number,
    /// Whole seconds of a time.
    Seconds,
    /// Nanoseconds of the time whose seconds are the slot before.
    Nanoseconds,
    /// Doubles up to a bracket.
    List,
    /// A string up to its quote.
    Text,
}

impl RowTemplate {
    /// The template of the row that stands in these bytes and that was read into `fields`; `None` when it holds what only the
    /// general way can read.
    pub(super) fn learn(row: &[u8], fields: &Fields) -> Option<Self> {
        let mut builder = TemplateBuilder { row, fields, slots: Vec::new(), from: 0, delimited: false, closers: 0 };
        let mut reader = Reader::new(row, Kernel::Scalar);
        let learnt = if fields.is_wrapped() {
            reader.object(|reader, key| if key == "Point" { builder.object(reader) } else { unlearnable(reader) })
        } else {
            builder.object(&mut reader)
        };
        if learnt.is_err() || builder.slots.is_empty() || builder.slots.len() > MOST_SLOTS {
            return None;
        }
        let tail = &row[builder.from..];
        let tail_gap = count(tail) - usize::from(builder.delimited);
        let mut slots = builder.slots;
        let steady = slots.iter().all(|slot| !matches!(slot.kind, SlotKind::List | SlotKind::Text));
        let mut passed = 0;
        for slot in &mut slots {
            slot.place = passed + slot.gap;
            passed = slot.place + 1;
        }
        // The last one is the comma between the rows.
        let shortest = passed + tail_gap + 1;
        let mut varying =
            slots.iter().enumerate().filter(|(_, slot)| matches!(slot.kind, SlotKind::List | SlotKind::Text));
        let ragged = match (varying.next(), varying.next()) {
            (Some((list, slot)), None) if slot.kind == SlotKind::List => {
                let closers = builder.closers + tail.iter().filter(|byte| closes(**byte)).count();
                Some(Ragged { list, shortest, closers })
            }
            _ => None,
        };
        let stride = steady.then_some(shortest);
        Some(Self { slots, tail: Literal::new(tail), tail_gap, stride, ragged })
    }
}

/// Whether the byte closes an array or an object.
pub(super) fn closes(byte: u8) -> bool {
    matches!(byte, b']' | b'}')
}

/// Number of delimiters.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| matches!(byte, b',' | b']' | b'}')).count()
}

/// Such a row makes no template.
fn unlearnable<T>(reader: &Reader<'_>) -> Result<T> {
    Err(reader.error(String::new()))
}

struct TemplateBuilder<'a> {
    row: &'a [u8],
    fields: &'a Fields,
    slots: Vec<TemplateSlot>,
    /// Where the next literal starts, and whether with the delimiter that ends the value before.
    from: usize,
    delimited: bool,
    /// Closing brackets in the literals so far.
    closers: usize,
}

impl TemplateBuilder<'_> {
    fn object(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        reader.object(|reader, key| {
            let first = reader.peek()?;
            if key == TPO_WRAPPER && first == b'{' {
                return self.object(reader);
            }
            let Some(field) = self.fields.position(key) else { return unlearnable(reader) };
            if reader.null()? {
                return Ok(()); // a part of the literal: the rows of this template lack the field
            }
            match self.fields.values(field) {
                RowValues::Float(_) if !matches!(first, b't' | b'f') => self.number(reader, SlotKind::Number, field),
                RowValues::Time(_) => self.time(reader, field),
                RowValues::List(_) => {
                    let start = reader.offset() + 1;
                    reader.skip()?;
                    self.slot(SlotKind::List, field, start, reader.offset() - 1, true);
                    Ok(())
                }
                RowValues::Raw(raw) if !raw.known && matches!(first, b'-' | b'0'..=b'9') => {
                    self.number(reader, SlotKind::Number, field)
                }
                RowValues::Raw(raw) if !raw.known && first == b'[' => {
                    reader.clone().numbers(&mut Vec::new())?;
                    let start = reader.offset() + 1;
                    reader.skip()?;
                    self.slot(SlotKind::List, field, start, reader.offset() - 1, true);
                    Ok(())
                }
                RowValues::Raw(raw) if raw.known => unlearnable(reader),
                RowValues::Text(_) | RowValues::Raw(_) if first == b'"' => {
                    let start = reader.offset() + 1;
                    reader.skip()?;
                    self.slot(SlotKind::Text, field, start, reader.offset() - 1, false);
                    Ok(())
                }
                _ => unlearnable(reader),
            }
        })
    }

    fn time(&mut self, reader: &mut Reader<'_>, field: usize) -> Result<()> {
        let mut next = SlotKind::Seconds;
        reader.object(|reader, key| {
            let kind = match (&**key, next) {
                ("s", SlotKind::Seconds) => SlotKind::Seconds,
                ("ns", SlotKind::Nanoseconds) => SlotKind::Nanoseconds,
                _ => return unlearnable(reader),
            };
            next = SlotKind::Nanoseconds;
            self.number(reader, kind, field)
        })
    }

    fn number(&mut self, reader: &mut Reader<'_>, kind: SlotKind, field: usize) -> Result<()> {
        reader.peek()?;
        let start = reader.offset();
        reader.number()?;
        // With white space behind it the next delimiter would not be its end.
        match self.row.get(reader.offset()) {
            Some(b',' | b'}') => {
                self.slot(kind, field, start, reader.offset(), true);
                Ok(())
            }
            _ => unlearnable(reader),
        }
    }

    fn slot(&mut self, kind: SlotKind, field: usize, start: usize, end: usize, delimited: bool) {
        let literal = &self.row[self.from..start];
        let gap = count(literal) - usize::from(self.delimited);
        self.closers += literal.iter().filter(|byte| closes(**byte)).count();
        self.slots.push(TemplateSlot { kind, field, literal: Literal::new(literal), gap, place: 0 });
        (self.from, self.delimited) = (end, delimited);
    }
}
