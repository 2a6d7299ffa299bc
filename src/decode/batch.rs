//! Decodes many rows of a learnt template at once: their delimiters give the ends of all values, one comparison per
//! literal verifies that the rows match the template, and the numbers of each column are converted together.

use super::delimiters::DelimiterView;
use super::json::Reader;
use super::kernel::{Kernel, ListSpan};
use super::row_template::{Ragged, RowTemplate, SlotKind, TemplateSlot};
use super::values::{RowValues, is_numbers, push_texts};

/// Most rows of a batch: their state fits into the L1 cache.
pub(super) const BATCH: usize = 128;
/// Rows that the kernels handle together.
const TOGETHER: usize = 8;
/// Bytes at the end of a body that the kernels must not load when they compare a literal.
const END: usize = 64;

/// Rows whose values are located but not converted.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) rows: usize,
    /// Where each row starts.
    opens: Vec<u32>,
    /// Where each value ends, slot by slot, with [`BATCH`] places each.
    ends: Vec<u32>,
    /// The position of the byte between each row and the next.
    separators: Vec<u32>,
    /// Number of delimiters up to and with that byte.
    passed: Vec<usize>,
    /// The numbers of the lists, one for each list slot.
    lists: Vec<Numbers>,
}

/// The numbers of one list slot: each row's list, and the position before and at the end of each number (both longer
/// than the number of numbers).
#[derive(Default)]
struct Numbers {
    spans: Vec<ListSpan>,
    befores: Vec<u32>,
    ends: Vec<u32>,
}

impl Batch {
    /// The end of the first rows: the separator, and how many delimiters are consumed with it.
    pub(super) fn end(&self, rows: usize) -> Option<(usize, usize)> {
        let last = rows.checked_sub(1)?;
        Some((self.separators[last] as usize, self.passed[last]))
    }

    /// Average size of the first rows in bytes.
    pub(super) fn length(&self, rows: usize) -> usize {
        self.end(rows).map_or(0, |(separator, _)| (separator - self.opens[0] as usize) / rows)
    }

    /// Locates the values of the next rows, assuming that they match the template.
    pub(super) fn find(&mut self, template: &RowTemplate, view: &DelimiterView<'_>, limit: usize) -> usize {
        let slots = template.slots.len();
        self.rows = 0;
        if self.ends.len() < slots * BATCH {
            self.ends.resize(slots * BATCH, 0);
        }
        if self.opens.is_empty() {
            self.opens.resize(BATCH, 0);
            self.separators.resize(BATCH, 0);
            self.passed.resize(BATCH, 0);
        }
        match (template.stride, template.ragged) {
            (Some(stride), _) => self.find_steady(template, stride, view, limit),
            (None, Some(ragged)) => {
                self.find_ragged(template, ragged, view, limit);
                self.collect_lists(view);
            }
            (None, None) => {
                self.find_varying(template, view, limit);
                self.collect_lists(view);
            }
        }
        self.rows
    }

    /// For rows with the same number of delimiters each.
    fn find_steady(&mut self, template: &RowTemplate, stride: usize, view: &DelimiterView<'_>, limit: usize) {
        let Some(last) = template.slots.last() else { return };
        let tail = template.tail.len() as u32;
        let mut open = view.open;
        let mut passed = 0;
        let places = self.opens.iter_mut().zip(&mut self.separators).zip(&mut self.passed).take(limit);
        for (delimiters, ((start, end), so_far)) in view.ahead.chunks_exact(stride).zip(places) {
            let separator = delimiters[stride - 1];
            if separator != delimiters[last.place].wrapping_add(tail) {
                break;
            }
            passed += stride;
            (*start, *end, *so_far) = (open, separator, passed);
            self.rows += 1;
            open = separator + 1;
            if view.bytes[separator as usize] != b',' {
                *so_far -= 1;
                break;
            }
        }
        for (slot, ends) in template.slots.iter().zip(self.ends.chunks_exact_mut(BATCH)) {
            let rows = view.ahead.chunks_exact(stride).take(self.rows);
            ends.iter_mut().zip(rows).for_each(|(end, delimiters)| *end = delimiters[slot.place]);
        }
    }

    /// For rows with one list of any length.
    ///
    /// Each row ends with a fixed number of closing brackets, which gives the length of its list without reading it; so
    /// no row depends on the one before. The literals, once verified, show that there is no other bracket, because they
    /// contain as many as the row has.
    fn find_ragged(&mut self, template: &RowTemplate, ragged: Ragged, view: &DelimiterView<'_>, limit: usize) {
        let mut rows = 0;
        let mut next = 0;
        let mut open = view.open;
        // Delimiters before each row, and the same with the commas within its list.
        let (mut before, mut with_commas) = ([0; BATCH], [0; BATCH]);
        for closers in view.closers.chunks_exact(ragged.closers.max(1)).take(limit.min(BATCH)) {
            let separator = closers[closers.len() - 1] as usize + 1 - view.passed;
            let Some(commas) = (separator + 1).checked_sub(next + ragged.shortest) else { break };
            let Some(place) = view.ahead.get(separator).copied() else { break };
            (before[rows], with_commas[rows]) = (next, next + commas);
            self.opens[rows] = open;
            self.separators[rows] = place;
            next = separator + 1;
            open = place + 1;
            rows += 1;
            if view.bytes[place as usize] != b',' {
                self.passed[rows - 1] = separator;
                break;
            }
            self.passed[rows - 1] = next;
        }
        let (before, with_commas) = (&before[..rows], &with_commas[..rows]);
        for (index, (slot, ends)) in template.slots.iter().zip(self.ends.chunks_exact_mut(BATCH)).enumerate() {
            let passed = if index < ragged.list { before } else { with_commas };
            ends.iter_mut().zip(passed).for_each(|(end, passed)| *end = view.ahead[passed + slot.place]);
        }
        self.lists.resize_with(1, Numbers::default);
        let list = &mut self.lists[0];
        list.clear(view.ahead.len());
        let opens = match ragged.list.checked_sub(1) {
            None => &self.opens,
            Some(before) => &self.ends[before * BATCH..ragged.list * BATCH],
        };
        let slot = &template.slots[ragged.list];
        let spans = before.iter().zip(with_commas).zip(opens);
        list.add(
            view.ahead,
            spans.map(|((before, with_commas), open)| {
                (before + slot.place, open + slot.literal.len() as u32, with_commas - before)
            }),
        );
        // After the last value there is only the tail.
        let tail = template.tail.len() as u32;
        let ends = &self.ends[(template.slots.len() - 1) * BATCH..][..rows];
        let whole = ends.iter().zip(&self.separators).position(|(end, separator)| end.wrapping_add(tail) != *separator);
        self.rows = whole.unwrap_or(rows);
    }

    /// Collects the numbers of the rows' lists.
    fn collect_lists(&mut self, view: &DelimiterView<'_>) {
        for list in &mut self.lists {
            let rows = view.kernel.lists(view.ahead, &list.spans, &mut list.befores, &mut list.ends);
            self.rows = self.rows.min(rows);
        }
    }

    /// For rows whose lists and strings hold any number of delimiters.
    fn find_varying(&mut self, template: &RowTemplate, view: &DelimiterView<'_>, limit: usize) {
        let lists = template.slots.iter().filter(|slot| slot.kind == SlotKind::List).count();
        self.lists.resize_with(lists, Numbers::default);
        for list in &mut self.lists {
            list.clear(view.ahead.len());
        }
        let (mut cursor, mut open) = (0, view.open);
        for row in 0..limit {
            let Some((separator, passed)) = self.find_row(template, view, row, cursor, open) else { return };
            self.opens[row] = open;
            self.separators[row] = separator;
            self.passed[row] = passed;
            self.rows = row + 1;
            if view.bytes[separator as usize] != b',' {
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
        template: &RowTemplate,
        view: &DelimiterView<'_>,
        row: usize,
        mut cursor: usize,
        open: u32,
    ) -> Option<(u32, usize)> {
        let (ahead, bytes) = (view.ahead, view.bytes);
        let mut from = open;
        let mut list = 0;
        for (index, slot) in template.slots.iter().enumerate() {
            let start = from.checked_add(slot.literal.len() as u32)?;
            cursor += slot.gap;
            let end = match slot.kind {
                SlotKind::Text => {
                    let end = start + plain_text(bytes.get(start as usize..)?)?;
                    cursor += ahead.get(cursor..)?.iter().take_while(|place| **place < end).count();
                    end
                }
                SlotKind::List => {
                    let end = self.lists[list].find(view, start, &mut cursor)?;
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
        cursor += template.tail_gap;
        let separator = *ahead.get(cursor)?;
        (separator == from.checked_add(template.tail.len() as u32)?).then_some((separator, cursor))
    }

    /// How many of the first rows match the template in all literals.
    pub(super) fn verify(&self, template: &RowTemplate, reader: &Reader<'_>, bytes: &[u8]) -> usize {
        let mut rows = self.rows;
        // A row near the end, where the kernels cannot load, is decoded alone, so that it does not delay the others.
        let near = self.end(rows).is_some_and(|(separator, _)| bytes.len() - separator < END);
        let literals = template.slots.iter().map(|slot| &slot.literal).chain([&template.tail]);
        for (index, literal) in literals.enumerate() {
            let same = |befores: &[u32]| reader.kernel().same(bytes, befores, 0, literal);
            let befores = &self.befores(index)[..rows];
            rows = match befores.split_last() {
                Some((_, first)) if near => {
                    let same_first = same(first);
                    if same_first < first.len() { same_first } else { rows - 1 + same(&befores[rows - 1..]) }
                }
                _ => same(befores),
            };
        }
        // The kernels take eight at a time; the rest is read with the next stretch.
        let goes_on = self.end(rows).is_some_and(|(separator, _)| bytes[separator] == b',');
        if rows > TOGETHER && rows == self.rows && goes_on { rows / TOGETHER * TOGETHER } else { rows }
    }

    /// The start of a slot's literal in each row: the end of the slot before, or the start of the row.
    fn befores(&self, slot: usize) -> &[u32] {
        match slot.checked_sub(1) {
            None => &self.opens,
            Some(before) => &self.ends[before * BATCH..slot * BATCH],
        }
    }

    /// The numbers of the list in that slot.
    fn list(&self, template: &RowTemplate, slot: usize) -> &Numbers {
        let before = template.slots[..slot].iter().filter(|slot| slot.kind == SlotKind::List).count();
        &self.lists[before]
    }

    /// Number of values in the first rows' lists of one field.
    pub(super) fn list_values(&self, template: &RowTemplate, field: usize, rows: usize) -> usize {
        let slot = template.slots.iter().position(|slot| slot.field == field && slot.kind == SlotKind::List);
        slot.map_or(0, |slot| self.list(template, slot).until(rows))
    }

    /// Adds the rows' values of one field; `false` if one of them is of another kind.
    #[allow(clippy::too_many_arguments)] // the parts of one batch, used nowhere else
    pub(super) fn convert(
        &self,
        template: &RowTemplate,
        field: usize,
        values: &mut RowValues,
        missing: f64,
        reader: &Reader<'_>,
        bytes: &[u8],
        rows: usize,
    ) -> bool {
        let start = values.len();
        let Some(index) = template.slots.iter().position(|slot| slot.field == field) else {
            values.fill(start + rows, missing);
            return true;
        };
        let (kernel, slot) = (reader.kernel(), &template.slots[index]);
        let befores = &self.befores(index)[..rows];
        let ends = &self.befores(index + 1)[..rows];
        let skip = slot.literal.len() as u32;
        match (slot.kind, values) {
            (SlotKind::Number, RowValues::Float(column)) => kernel.floats(bytes, befores, skip, ends, column),
            (SlotKind::Seconds, RowValues::Time(column)) => {
                let part = template.slots.get(index + 1).filter(|next| next.kind == SlotKind::Nanoseconds);
                let part =
                    part.map(|next: &TemplateSlot| (next.literal.len() as u32, &self.befores(index + 2)[..rows]));
                kernel.times(bytes, befores, skip, ends, part, column)
            }
            (SlotKind::List, RowValues::List(column)) => {
                let numbers = self.list(template, index);
                let before = column.values.len();
                let count = numbers.until(rows);
                column.offsets.extend(numbers.spans[..rows].iter().map(|span| (before + span.until as usize) as i64));
                kernel.floats(bytes, &numbers.befores[..count], 1, &numbers.ends[..count], &mut column.values)
            }
            (SlotKind::Number, RowValues::Raw(raw)) if !raw.known => {
                let spans = befores.iter().zip(ends).map(|(before, end)| (before + skip, *end));
                is_numbers(kernel, bytes, befores, skip, ends) && push_texts(raw, bytes, spans)
            }
            (SlotKind::List, RowValues::Raw(raw)) if !raw.known => {
                let numbers = self.list(template, index);
                let count = numbers.until(rows);
                // With the brackets.
                let spans = befores.iter().zip(ends).map(|(before, end)| (before + skip - 1, end + 1));
                is_numbers(kernel, bytes, &numbers.befores[..count], 1, &numbers.ends[..count])
                    && push_texts(raw, bytes, spans)
            }
            (SlotKind::Text, RowValues::Raw(raw)) if !raw.known => {
                // With the quotes.
                push_texts(raw, bytes, befores.iter().zip(ends).map(|(before, end)| (before + skip - 1, end + 1)))
            }
            (SlotKind::Text, RowValues::Text(column)) => {
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
    /// Clears it, with capacity for so many numbers.
    fn clear(&mut self, room: usize) {
        self.spans.clear();
        let room = room + Kernel::LIST_ROOM;
        if self.ends.len() < room {
            self.befores.resize(room, 0);
            self.ends.resize(room, 0);
        }
    }

    /// Numbers in the lists of the first rows.
    fn until(&self, rows: usize) -> usize {
        rows.checked_sub(1).map_or(0, |last| self.spans[last].until as usize)
    }

    /// Finds the numbers of a list from the first byte after its bracket, and the end of the list.
    fn find(&mut self, view: &DelimiterView<'_>, start: u32, cursor: &mut usize) -> Option<u32> {
        let (commas, end) = view.kernel.list_end(view.bytes, start as usize)?;
        // Within a list the only delimiters are commas; others mean that this is not a plain list.
        if *view.ahead.get(*cursor + commas)? != end as u32 {
            return None;
        }
        self.add(view.ahead, [(*cursor, start, commas)]);
        *cursor += commas + 1;
        Some(end as u32)
    }

    /// Adds lists by the index of their first delimiter, the offset of their first number, and how many commas they have.
    #[inline]
    fn add(&mut self, ahead: &[u32], lists: impl IntoIterator<Item = (usize, u32, usize)>) {
        let mut until = self.until(self.spans.len());
        self.spans.extend(lists.into_iter().map(|(first, start, commas)| {
            until += commas + usize::from(commas > 0 || ahead[first] != start);
            ListSpan { first: first as u32, before: start.wrapping_sub(1), until: until as u32 }
        }));
    }
}

/// Length of a string without escapes, up to its quote; `None` for anything else.
fn plain_text(bytes: &[u8]) -> Option<u32> {
    const LONGEST: usize = 256;
    let end = bytes.iter().take(LONGEST).position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x80..))?;
    (bytes[end] == b'"').then_some(end as u32)
}
