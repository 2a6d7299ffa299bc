//! What a table learns about its rows, and the ways it tries on the next ones: a template that is known, keys in any order,
//! and at last the general way.

use std::cell::RefCell;
use std::sync::Arc;

use super::batch::{BATCH, Batch};
use super::delimiters::Delimiters;
use super::fields::Fields;
use super::json::Reader;
use super::row_template::RowTemplate;
use super::unordered::Unordered;
use crate::protocol::Field;

/// Rows to try after a mismatch; the number doubles while rows match.
const FEW: usize = 8;
/// Most templates that are tried on a row, and most that are learnt for one table.
const MOST_TRIED: usize = 4;
const MOST_LEARNT: usize = 16;
/// Most rows that are read the general way before a template is tried again.
const LONGEST_PAUSE: usize = 64;
/// Rows in a row that were not read with keys in any order, after which it is not tried any more.
const MANY_ODD: usize = 8;
/// Most templates kept between bodies.
const REMEMBERED: usize = 32;

/// Templates that a table has learnt from its rows.
pub(super) struct RowTemplates {
    /// The last used first.
    templates: Vec<Arc<RowTemplate>>,
    /// Templates learnt in this table; a body in which every row is different must not be studied for ever.
    learnt: usize,
    /// Rows still to be read the general way, and how many it will be the next time.
    pause: usize,
    penalty: usize,
    /// Rows of the next batch.
    limit: usize,
    /// The type's fields and wrapping, under which templates are remembered.
    origin: TemplateOrigin,
    delimiters: Delimiters,
    batch: Batch,
    unordered: Unordered,
    odd: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TemplateOrigin {
    /// Where the type's table of fields stands, which tells types apart.
    fields: usize,
    width: usize,
    wrapped: bool,
}

impl TemplateOrigin {
    fn of(fields: &'static [Field], wrapped: bool) -> Self {
        Self { fields: fields.as_ptr() as usize, width: fields.len(), wrapped }
    }
}

thread_local! {
    /// Templates of earlier bodies, the newest last: a small body is decoded in the time that learning takes.
    static MEMORY: RefCell<Vec<(TemplateOrigin, Arc<RowTemplate>)>> = const { RefCell::new(Vec::new()) };
}

impl RowTemplates {
    /// Memory of earlier rows of these fields.
    pub(super) fn recall(fields: &'static [Field], wrapped: bool) -> Self {
        let origin = TemplateOrigin::of(fields, wrapped);
        let templates = MEMORY.with_borrow(|memory| {
            let known = memory.iter().rev().filter(|(other, _)| *other == origin && !fields.is_empty());
            known.take(MOST_TRIED).map(|(_, template)| Arc::clone(template)).collect()
        });
        Self {
            templates,
            learnt: 0,
            pause: 0,
            penalty: 1,
            limit: BATCH,
            origin,
            delimiters: Delimiters::default(),
            batch: Batch::default(),
            unordered: Unordered::default(),
            odd: 0,
        }
    }

    /// Whether it learns the templates of points with these fields.
    pub(super) fn is_of(&self, fields: &'static [Field]) -> bool {
        self.origin == TemplateOrigin::of(fields, true)
    }

    /// Forgets everything but the templates.
    pub(super) fn start_over(&mut self) {
        (self.learnt, self.pause, self.penalty, self.limit, self.odd) = (0, 0, 1, BATCH, 0);
        self.delimiters.clear();
    }

    /// Forgets templates with fields from that index on.
    pub(super) fn forget_fields(&mut self, width: usize) {
        self.templates.retain(|template| template.slots.iter().all(|slot| slot.field < width));
    }

    /// Forgets places in bytes that are gone.
    pub(super) fn new_bytes(&mut self) {
        self.delimiters.clear();
    }

    /// Reads rows in one of the fast ways; none, when the next row needs the general way.
    pub(super) fn rows(&mut self, fields: &mut Fields, reader: &mut Reader<'_>) -> usize {
        if self.pause == 0 {
            for index in 0..self.templates.len() {
                let rows = self.rows_of(index, fields, reader);
                if rows > 0 {
                    self.templates[..=index].rotate_right(1);
                    self.penalty = 1;
                    return rows;
                }
            }
            if self.learnt < MOST_LEARNT {
                return 0;
            }
            self.pause = LONGEST_PAUSE;
        }
        let rows = self.unordered_rows(fields, reader);
        self.pause -= rows.clamp(1, self.pause);
        rows
    }

    /// Learns the template of a row that was read the general way.
    pub(super) fn learn(&mut self, fields: &Fields, row: &[u8]) {
        if self.learnt < MOST_LEARNT {
            self.learnt += 1;
            if let Some(template) = RowTemplate::learn(row, fields).map(Arc::new) {
                self.remember(&template);
                if !self.templates.contains(&template) {
                    self.templates.truncate(MOST_TRIED - 1);
                    self.templates.insert(0, template);
                    return;
                }
            }
        }
        self.pause = self.pause.max(self.penalty);
        self.penalty = (self.penalty * 2).min(LONGEST_PAUSE);
    }

    fn remember(&self, template: &Arc<RowTemplate>) {
        // A field that no table knows may have another place in the next body.
        if self.origin.width == 0 || template.slots.iter().any(|slot| slot.field >= self.origin.width) {
            return;
        }
        MEMORY.with_borrow_mut(|memory| {
            memory.retain(|(origin, known)| *origin != self.origin || known != template);
            if memory.len() == REMEMBERED {
                memory.remove(0);
            }
            memory.push((self.origin, Arc::clone(template)));
        });
    }

    /// Reads rows of a known template.
    fn rows_of(&mut self, index: usize, fields: &mut Fields, reader: &mut Reader<'_>) -> usize {
        let Self { templates, delimiters, batch, limit, pause, .. } = self;
        let template = &*templates[index];
        let found = delimiters.find(reader, template.ragged.is_some(), |view| batch.find(template, view, *limit));
        let bytes = delimiters.bytes(reader);
        let rows = if found == 0 { 0 } else { batch.verify(template, reader, bytes) };
        if rows > 0 && fields.rows() == 0 {
            // All columns before any is written, so that they stand side by side in huge pages.
            let ends = batch.end(rows).is_some_and(|(separator, _)| bytes[separator] != b',');
            let likely = likely_rows(rows, ends, batch.length(rows), reader);
            // Lengths of lists vary more than those of rows.
            let listed = |field| batch.list_values(template, field, rows) * (likely + likely / 16) / rows;
            fields.reserve(likely, |field| if template.stride.is_some() { 0 } else { listed(field) });
        }
        let read = rows > 0
            && fields.add_rows(rows, |field, values, missing| {
                batch.convert(template, field, values, missing, reader, bytes, rows)
            });
        *limit = if rows * 2 > found { (*limit * 2).min(BATCH) } else { FEW };
        if !read {
            // If not all of them are of another template, one is wrong, and the general way says what.
            *pause = rows.saturating_sub(1);
            return 0;
        }
        if let Some((separator, passed)) = batch.end(rows) {
            delimiters.pass(passed);
            reader.jump(delimiters.base() + separator);
        }
        rows
    }

    /// Reads rows whose fields are known but come in any order.
    fn unordered_rows(&mut self, fields: &mut Fields, reader: &mut Reader<'_>) -> usize {
        if self.odd > MANY_ODD {
            return 0;
        }
        let limit = self.pause.clamp(1, BATCH);
        let Self { unordered: rows, delimiters, .. } = self;
        let found = delimiters.find(reader, false, |view| rows.find(fields, view, limit));
        let bytes = delimiters.bytes(reader);
        if found > 0 && fields.rows() == 0 {
            let ends = bytes[rows.separator()] != b',';
            fields.reserve(likely_rows(found, ends, rows.length(), reader), |_| 0);
        }
        let read = found > 0
            && fields.add_rows(found, |field, values, missing| rows.convert(field, values, missing, reader, bytes));
        if !read {
            self.odd += 1;
            return 0;
        }
        delimiters.pass(rows.passed());
        reader.jump(delimiters.base() + rows.separator());
        self.odd = 0;
        found
    }
}

/// Rows in all, if the rest of the body goes on like the first ones, and a little more: a column that turns out too
/// short is copied to a place of twice the size, on fresh pages.
///
/// `ends`: whether the array ends with the first ones. Then there are no more, and room for a large rest of the body, made
/// for each of many short series, would be most of the work.
fn likely_rows(rows: usize, ends: bool, length: usize, reader: &Reader<'_>) -> usize {
    if ends {
        return rows;
    }
    // The rest starts with the rows that are found.
    let more = (reader.left() / length.max(1)).saturating_sub(rows);
    rows + more + more / 64 + more.min(rows)
}
