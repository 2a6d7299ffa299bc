//! Rows of a learnt shape, many at a time: their delimiters give the ends of all values at once, one comparison for each
//! literal shows that the rows have the shape, and each column's numbers are converted together.

use std::cell::RefCell;
use std::sync::Arc;

use super::json::Reader;
use super::shape::{Kind, Shape, Slot};
use super::table::Table;
use super::values::Values;
use super::window::Window;
use crate::protocol::Field;

/// Most rows at once: what is known of them stays in the nearest cache.
const BATCH: usize = 64;
/// Rows to try after a mismatch; the number doubles while rows match.
const FEW: usize = 8;
/// Most shapes that are tried on a row, and most that are learnt for one table.
const SHAPES: usize = 4;
const LESSONS: usize = 16;
/// Most rows that are read the general way before a shape is tried again.
const LONGEST_PAUSE: usize = 64;
/// Most shapes kept between bodies.
const REMEMBERED: usize = 32;

/// What a table has learnt about its rows.
pub(super) struct Learner {
    /// The last used first.
    shapes: Vec<Arc<Shape>>,
    /// Shapes learnt in this table; a body in which every row is different must not be studied for ever.
    lessons: usize,
    /// Rows still to be read the general way, and how many it will be the next time.
    pause: usize,
    penalty: usize,
    /// Rows of the next batch.
    limit: usize,
    /// The type's fields and wrapping, under which shapes are remembered.
    origin: Origin,
    window: Window,
    batch: Batch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    /// Where the type's table of fields stands, which tells types apart.
    fields: usize,
    width: usize,
    wrapped: bool,
}

thread_local! {
    /// Shapes of earlier bodies, the newest last: a small body is decoded in the time that learning takes.
    static MEMORY: RefCell<Vec<(Origin, Arc<Shape>)>> = const { RefCell::new(Vec::new()) };
}

/// Rows whose values are found but not converted.
#[derive(Default)]
struct Batch {
    rows: usize,
    /// Where each row starts.
    opens: Vec<u32>,
    /// Where each value ends, slot by slot, [`BATCH`] places each.
    ends: Vec<u32>,
    /// Where the byte between each row and the next stands.
    separators: Vec<u32>,
    /// Delimiters up to and with that byte.
    passed: Vec<usize>,
    /// The numbers of the lists, one for each list slot.
    lists: Vec<Numbers>,
}

/// The numbers of one list slot: where the byte before each stands, where each ends, and how many there are up to each
/// row's end.
#[derive(Default)]
struct Numbers {
    befores: Vec<u32>,
    ends: Vec<u32>,
    counts: Vec<usize>,
}

impl Learner {
    /// What is remembered of earlier rows of these fields.
    pub(super) fn recall(fields: &'static [Field], wrapped: bool) -> Self {
        let origin = Origin { fields: fields.as_ptr() as usize, width: fields.len(), wrapped };
        let shapes = MEMORY.with_borrow(|memory| {
            let known = memory.iter().rev().filter(|(other, _)| *other == origin && !fields.is_empty());
            known.take(SHAPES).map(|(_, shape)| Arc::clone(shape)).collect()
        });
        Self {
            shapes,
            lessons: 0,
            pause: 0,
            penalty: 1,
            limit: BATCH,
            origin,
            window: Window::new(),
            batch: Batch::default(),
        }
    }

    fn remember(&self, shape: &Arc<Shape>) {
        // A field that no table knows may have another place in the next body.
        if self.origin.width == 0 || shape.slots.iter().any(|slot| slot.field >= self.origin.width) {
            return;
        }
        MEMORY.with_borrow_mut(|memory| {
            memory.retain(|(origin, known)| *origin != self.origin || known != shape);
            if memory.len() == REMEMBERED {
                memory.remove(0);
            }
            memory.push((self.origin, Arc::clone(shape)));
        });
    }
}

impl Table {
    /// Reads rows of a shape that is known; none, when the next row has another.
    pub(super) fn learnt_rows(&mut self, reader: &mut Reader<'_>) -> usize {
        let learner = self.learner();
        if learner.pause > 0 {
            learner.pause -= 1;
            return 0;
        }
        for index in 0..self.learner().shapes.len() {
            let rows = self.rows_of(index, reader);
            if rows > 0 {
                let learner = self.learner();
                learner.shapes[..=index].rotate_right(1);
                learner.penalty = 1;
                return rows;
            }
        }
        0
    }

    /// Learns the shape of a row that was read the general way.
    pub(super) fn learn(&mut self, row: &[u8]) {
        let learner = self.learner();
        if learner.lessons < LESSONS {
            learner.lessons += 1;
            if let Some(shape) = Shape::learn(row, self).map(Arc::new) {
                let learner = self.learner();
                learner.remember(&shape);
                if !learner.shapes.contains(&shape) {
                    learner.shapes.truncate(SHAPES - 1);
                    learner.shapes.insert(0, shape);
                    return;
                }
            }
        }
        let learner = self.learner();
        learner.pause = learner.pause.max(learner.penalty);
        learner.penalty = (learner.penalty * 2).min(LONGEST_PAUSE);
    }

    /// Forgets places in bytes that are gone.
    pub(super) fn new_bytes(&mut self) {
        self.learner().window.clear();
        self.inner_tables().for_each(Self::new_bytes);
    }

    fn rows_of(&mut self, index: usize, reader: &mut Reader<'_>) -> usize {
        let shape = Arc::clone(&self.learner().shapes[index]);
        let learner = self.learner();
        let (mut batch, limit) = (std::mem::take(&mut learner.batch), learner.limit);
        let window = &mut learner.window;
        let (kernel, bytes, at) = (reader.kernel(), reader.bytes(), reader.offset());
        // A row that reaches beyond the stretch is looked for once more, at the start of the next stretch.
        let mut rows = 0;
        if window.reach(at) {
            rows = batch.find(&shape, window, bytes, at, limit);
        }
        if rows == 0 && window.is_used_up(at) {
            window.cover(kernel, bytes, at);
            rows = batch.find(&shape, window, bytes, at, limit);
        }
        let bytes = &bytes[window.base()..];
        let rows = if rows == 0 { 0 } else { batch.verify(&shape, reader, bytes) };
        let (base, passed, last) = match rows.checked_sub(1) {
            Some(row) => (window.base(), batch.passed[row], batch.separators[row] as usize),
            None => (0, 0, 0),
        };
        let expected = rows + expected_rows(bytes.len(), &batch, rows);
        let read = rows > 0
            && self.add_rows(rows, |field, values, missing| {
                batch.convert(&shape, field, values, missing, reader, bytes, rows, expected)
            });
        let found = batch.rows;
        let learner = self.learner();
        learner.batch = batch;
        learner.limit = if rows == found { (limit * 2).min(BATCH) } else { FEW };
        if !read {
            // One of these rows is wrong; the general way says what is.
            learner.pause = rows.saturating_sub(1);
            learner.limit = FEW;
            return 0;
        }
        learner.window.pass(passed);
        reader.jump(base + last);
        rows
    }
}

/// How many rows more the rest of the body may hold.
fn expected_rows(left: usize, batch: &Batch, rows: usize) -> usize {
    match rows.checked_sub(1) {
        None => 0,
        Some(last) => {
            let length = (batch.separators[last] - batch.opens[0]) as usize / rows;
            left / length.max(1)
        }
    }
}

impl Batch {
    /// Finds the values of the next rows, supposing that they have the shape.
    fn find(&mut self, shape: &Shape, window: &Window, bytes: &[u8], at: usize, limit: usize) -> usize {
        let slots = shape.slots.len();
        self.rows = 0;
        if self.ends.len() < slots * BATCH {
            self.ends.resize(slots * BATCH, 0);
        }
        if self.opens.is_empty() {
            self.opens.resize(BATCH, 0);
            self.separators.resize(BATCH, 0);
            self.passed.resize(BATCH, 0);
        }
        let base = window.base();
        let bytes = &bytes[base..];
        let open = (at - base) as u32;
        match shape.stride {
            Some(stride) => self.find_steady(shape, stride, window.ahead(), bytes, open, limit),
            None => self.find_varying(shape, window.ahead(), bytes, open, limit),
        }
        self.rows
    }

    /// Rows with the same number of delimiters each.
    fn find_steady(&mut self, shape: &Shape, stride: usize, ahead: &[u32], bytes: &[u8], mut open: u32, limit: usize) {
        let Some(last) = shape.slots.last() else { return };
        let tail = shape.tail.len() as u32;
        for (row, delimiters) in ahead.chunks_exact(stride).take(limit).enumerate() {
            let separator = delimiters[stride - 1];
            if separator != delimiters[last.place].wrapping_add(tail) {
                return;
            }
            self.opens[row] = open;
            for (slot, ends) in shape.slots.iter().zip(self.ends.chunks_exact_mut(BATCH)) {
                ends[row] = delimiters[slot.place];
            }
            self.separators[row] = separator;
            self.passed[row] = (row + 1) * stride - 1;
            self.rows = row + 1;
            open = separator + 1;
            if bytes[separator as usize] != b',' {
                return;
            }
            self.passed[row] += 1;
        }
    }

    /// Rows whose lists and strings hold any number of delimiters.
    fn find_varying(&mut self, shape: &Shape, ahead: &[u32], bytes: &[u8], mut open: u32, limit: usize) {
        let lists = shape.slots.iter().filter(|slot| slot.kind == Kind::List).count();
        self.lists.resize_with(lists, Numbers::default);
        for list in &mut self.lists {
            list.befores.clear();
            list.ends.clear();
            list.counts.clear();
        }
        let mut cursor = 0;
        for row in 0..limit {
            let Some((separator, passed)) = self.find_row(shape, row, cursor, ahead, bytes, open) else { return };
            self.opens[row] = open;
            self.separators[row] = separator;
            self.passed[row] = passed;
            self.rows = row + 1;
            if bytes[separator as usize] != b',' {
                return;
            }
            self.passed[row] += 1;
            cursor = passed + 1;
            open = separator + 1;
        }
    }

    /// One of them: its separator, and the delimiters before that.
    fn find_row(
        &mut self,
        shape: &Shape,
        row: usize,
        mut cursor: usize,
        ahead: &[u32],
        bytes: &[u8],
        open: u32,
    ) -> Option<(u32, usize)> {
        let mut from = open;
        let mut list = 0;
        for (index, slot) in shape.slots.iter().enumerate() {
            let start = from.checked_add(slot.literal.len() as u32)?;
            cursor += slot.gap;
            let end = match slot.kind {
                Kind::Text => {
                    let end = start + plain_text(bytes.get(start as usize..)?)?;
                    cursor += ahead.get(cursor..)?.iter().take_while(|place| **place < end).count();
                    end
                }
                Kind::List => {
                    let end = self.lists[list].find(start, ahead, &mut cursor, bytes)?;
                    list += 1;
                    end
                }
                _ => {
                    cursor += 1;
                    *ahead.get(cursor - 1)?
                }
            };
            self.ends[index * BATCH + row] = end;
            from = end;
        }
        cursor += shape.tail_gap;
        let separator = *ahead.get(cursor)?;
        (separator == from.checked_add(shape.tail.len() as u32)?).then_some((separator, cursor))
    }

    /// How many of the first rows have the shape's literals where they should stand.
    fn verify(&self, shape: &Shape, reader: &Reader<'_>, bytes: &[u8]) -> usize {
        let mut rows = self.rows;
        for (index, slot) in shape.slots.iter().enumerate() {
            rows = reader.kernel().same(bytes, &self.befores(index)[..rows], 0, &slot.literal);
        }
        reader.kernel().same(bytes, &self.befores(shape.slots.len())[..rows], 0, &shape.tail)
    }

    /// What stands before a slot's literal in each row: the end of the slot before, or the start of the row.
    fn befores(&self, slot: usize) -> &[u32] {
        match slot.checked_sub(1) {
            None => &self.opens,
            Some(before) => &self.ends[before * BATCH..slot * BATCH],
        }
    }

    /// Adds the rows' values of one field; `false` when one of them is not what it should be.
    #[allow(clippy::too_many_arguments)] // the parts of one batch, which nobody else needs
    fn convert(
        &self,
        shape: &Shape,
        field: usize,
        values: &mut Values,
        missing: f64,
        reader: &Reader<'_>,
        bytes: &[u8],
        rows: usize,
        expected: usize,
    ) -> bool {
        let start = values.len();
        let Some(index) = shape.slots.iter().position(|slot| slot.field == field) else {
            values.fill(start + rows, missing);
            return true;
        };
        let (kernel, slot) = (reader.kernel(), &shape.slots[index]);
        let befores = &self.befores(index)[..rows];
        let ends = &self.befores(index + 1)[..rows];
        let skip = slot.literal.len() as u32;
        if start == 0 {
            values.reserve(expected);
        }
        match (slot.kind, values) {
            (Kind::Number, Values::Float(column)) => {
                column.resize(start + rows, 0.0);
                kernel.floats(bytes, befores, skip, ends, &mut column[start..])
            }
            (Kind::Seconds, Values::Time(column)) => {
                column.resize(start + rows, 0);
                let part = shape.slots.get(index + 1).filter(|next| next.kind == Kind::Nanoseconds);
                let part = part.map(|next: &Slot| (next.literal.len() as u32, &self.befores(index + 2)[..rows]));
                kernel.times(bytes, befores, skip, ends, part, &mut column[start..])
            }
            (Kind::List, Values::List(column)) => {
                let list = shape.slots[..index].iter().filter(|slot| slot.kind == Kind::List).count();
                let numbers = &self.lists[list];
                let before = column.values.len();
                let count = numbers.counts[rows - 1];
                column.values.resize(before + count, 0.0);
                column.offsets.extend(numbers.counts[..rows].iter().map(|count| (before + count) as i64));
                kernel.floats(bytes, &numbers.befores[..count], 1, &numbers.ends[..count], &mut column.values[before..])
            }
            (Kind::Text, Values::Text(column)) => {
                let texts = befores.iter().zip(ends).map(|(before, end)| {
                    let text = bytes.get((before + skip) as usize..*end as usize)?;
                    Some(str::from_utf8(text).ok()?.to_owned())
                });
                column.extend(texts);
                column[start..].iter().all(Option::is_some)
            }
            _ => false,
        }
    }
}

impl Numbers {
    /// Finds the numbers of a list from its first byte after the bracket, and where it ends.
    fn find(&mut self, start: u32, ahead: &[u32], cursor: &mut usize, bytes: &[u8]) -> Option<u32> {
        let mut before = start.wrapping_sub(1);
        let mut end = *ahead.get(*cursor)?;
        *cursor += 1;
        if end != start || bytes[end as usize] != b']' {
            loop {
                self.befores.push(before);
                self.ends.push(end);
                if bytes[end as usize] != b',' {
                    break;
                }
                before = end;
                end = *ahead.get(*cursor)?;
                *cursor += 1;
            }
        }
        self.counts.push(self.ends.len());
        (bytes[end as usize] == b']').then_some(end)
    }
}

/// Length of a string without escapes, up to its quote; `None` for anything that needs a closer look.
fn plain_text(bytes: &[u8]) -> Option<u32> {
    const LONGEST: usize = 256;
    let end = bytes.iter().take(LONGEST).position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x80..))?;
    (bytes[end] == b'"').then_some(end as u32)
}
