//! Decodes rows of known fields with keys in any order: each key is looked up, its value is found by the delimiters,
//! and the numbers of each column are converted together.

use super::batch::BATCH;
use super::delimiters::DelimiterView;
use super::fields::Fields;
use super::json::{FieldName, Reader};
use super::values::{RowValues, is_numbers, push_texts};

/// Most fields: one bit each.
const FIELDS: usize = 64;
/// The text between seconds and nanoseconds, with the comma.
const NANOSECONDS: &[u8; 6] = b",\"ns\":";

/// Rows whose values are located but not converted. All of them have the same fields.
#[derive(Default)]
pub(super) struct Unordered {
    rows: usize,
    /// Which fields the rows have, and which of the times among them have nanoseconds.
    present: u64,
    with_part: u64,
    /// Where each value starts and ends, and where its nanoseconds end, field by field, [`BATCH`] places each.
    starts: Vec<u32>,
    ends: Vec<u32>,
    part_ends: Vec<u32>,
    /// Where the rows start, the position after the last one, and the delimiters consumed with it.
    open: u32,
    separator: u32,
    passed: usize,
}

/// The fields of one row, as of [`Unordered`], and where it ends.
struct UnorderedRow {
    present: u64,
    with_part: u64,
    separator: u32,
    passed: usize,
}

impl Unordered {
    /// Locates the values of the next rows.
    pub(super) fn find(&mut self, fields: &Fields, view: &DelimiterView<'_>, limit: usize) -> usize {
        self.rows = 0;
        (self.open, self.separator) = (view.open, view.open);
        let (mut cursor, mut open) = (0, view.open as usize);
        while self.rows < limit {
            let Some(row) = self.find_row(fields, view, cursor, open) else { break };
            if self.rows > 0 && (row.present, row.with_part) != (self.present, self.with_part) {
                break;
            }
            (self.present, self.with_part, self.separator) = (row.present, row.with_part, row.separator);
            self.rows += 1;
            open = row.separator as usize;
            (cursor, self.passed) = (row.passed + 1, row.passed);
            if view.bytes[open] != b',' {
                break;
            }
            self.passed = cursor;
            open += 1;
        }
        if self.rows > 0 && fields.allows(self.present) { self.rows } else { 0 }
    }

    fn find_row(
        &mut self,
        fields: &Fields,
        view: &DelimiterView<'_>,
        mut cursor: usize,
        open: usize,
    ) -> Option<UnorderedRow> {
        let (ahead, bytes) = (view.ahead, view.bytes);
        let mut at = open;
        if fields.is_wrapped() {
            at += bytes.get(at..)?.starts_with(b"{\"Point\":").then_some(9)?;
        }
        at += (*bytes.get(at)? == b'{').then_some(1)?;
        let (mut present, mut with_part) = (0u64, 0u64);
        loop {
            let name = FieldName::at(bytes.get(at..)?)?;
            at += name.bytes.len() + 3;
            let field = fields.find(name, usize::MAX).filter(|field| *field < FIELDS)?;
            let bit = 1 << field;
            if present & bit != 0 {
                return None;
            }
            present |= bit;
            let place = field * BATCH + self.rows;
            if self.starts.len() <= place {
                for places in [&mut self.starts, &mut self.ends, &mut self.part_ends] {
                    places.resize((field + 1) * BATCH, 0);
                }
            }
            let mut end = *ahead.get(cursor)?;
            cursor += 1;
            match fields.values(field) {
                RowValues::Float(_) | RowValues::Raw(_) => (self.starts[place], self.ends[place]) = (at as u32, end),
                RowValues::Time(_) => {
                    at += bytes.get(at..)?.starts_with(b"{\"s\":").then_some(5)?;
                    (self.starts[place], self.ends[place]) = (at as u32, end);
                    if bytes.get(end as usize..)?.starts_with(NANOSECONDS) {
                        with_part |= bit;
                        end = *ahead.get(cursor)?;
                        cursor += 1;
                        self.part_ends[place] = end;
                    }
                    let closed = bytes[end as usize] == b'}' && *ahead.get(cursor)? == end + 1;
                    end = closed.then_some(end + 1)?;
                    cursor += 1;
                }
                _ => return None,
            }
            at = end as usize + 1;
            match bytes[end as usize] {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        if fields.is_wrapped() {
            at += (bytes.get(at) == Some(&b'}') && *ahead.get(cursor)? as usize == at).then_some(1)?;
            cursor += 1;
        }
        let separator = at as u32;
        (*ahead.get(cursor)? == separator).then_some(UnorderedRow { present, with_part, separator, passed: cursor })
    }

    /// The position after the last row.
    pub(super) fn separator(&self) -> usize {
        self.separator as usize
    }

    /// The delimiters consumed with it.
    pub(super) fn passed(&self) -> usize {
        self.passed
    }

    /// Average size of a row in bytes.
    pub(super) fn length(&self) -> usize {
        (self.separator - self.open) as usize / self.rows.max(1)
    }

    /// Adds the rows' values of one field; `false` if one of them is of another kind.
    pub(super) fn convert(
        &self,
        field: usize,
        values: &mut RowValues,
        missing: f64,
        reader: &Reader<'_>,
        bytes: &[u8],
    ) -> bool {
        let start = values.len();
        if field >= FIELDS || self.present >> field & 1 == 0 {
            values.fill(start + self.rows, missing);
            return true;
        }
        let span = field * BATCH..field * BATCH + self.rows;
        let (starts, ends) = (&self.starts[span.clone()], &self.ends[span.clone()]);
        match values {
            RowValues::Float(column) => reader.kernel().floats(bytes, starts, 0, ends, column),
            RowValues::Time(column) => {
                let part =
                    (self.with_part >> field & 1 == 1).then(|| (NANOSECONDS.len() as u32, &self.part_ends[span]));
                reader.kernel().times(bytes, starts, 0, ends, part, column)
            }
            RowValues::Raw(raw) if !raw.known => {
                is_numbers(reader.kernel(), bytes, starts, 0, ends)
                    && push_texts(raw, bytes, starts.iter().zip(ends).map(|(start, end)| (*start, *end)))
            }
            _ => false,
        }
    }
}
