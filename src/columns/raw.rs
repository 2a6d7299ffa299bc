//! Values as they were sent: what a column of no settled kind holds until all of its rows are there.

use std::ops::Range;

/// JSON texts, one for each row or none. What they are is settled when all rows of all answers are together, so that it
/// does not depend on which answer a row came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Raw {
    /// Whether a table names the field, without its kind. The name of any other column is the field's own.
    pub known: bool,
    /// Where each row's text ends; a row without a value has an empty one.
    ends: Vec<usize>,
    text: String,
}

impl Raw {
    /// Rows without values.
    pub fn blank(known: bool, rows: usize) -> Self {
        Self { known, ends: vec![0; rows], text: String::new() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether every row is without a value.
    pub fn holds_nothing(&self) -> bool {
        self.text.is_empty()
    }

    /// A row's text.
    pub fn get(&self, row: usize) -> Option<&str> {
        Some(&self.text[self.span(row)]).filter(|text| !text.is_empty())
    }

    /// Where a row's text stands in [`Self::text`]; that of a row without a value is empty.
    pub fn span(&self, row: usize) -> Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    /// All texts, one behind the other.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The rows' texts.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Adds a row, or a row without a value.
    pub fn push(&mut self, value: Option<&str>) {
        self.text.push_str(value.unwrap_or_default());
        self.ends.push(self.text.len());
    }

    /// Adds a field, whose name and value are JSON, to the object in the last row, or such a row behind so many.
    pub fn push_field(&mut self, rows: usize, name: &str, value: &str) {
        if self.ends.len() > rows {
            self.ends.pop();
            self.text.pop();
            self.text.push(',');
        } else {
            self.text.push('{');
        }
        self.text.extend([name, ":", value, "}"]);
        self.ends.push(self.text.len());
    }

    /// Adds rows without a value up to so many in all, or forgets those after the first ones.
    pub fn resize(&mut self, rows: usize) {
        self.ends.resize(rows, self.text.len());
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Appends the rows of another.
    pub fn append(&mut self, other: &Self) {
        let base = self.text.len();
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    /// The rows named by `order`, in that order.
    #[must_use]
    pub fn take(&self, order: &[usize]) -> Self {
        let mut taken = Self::blank(self.known, 0);
        for &row in order {
            taken.push(self.get(row));
        }
        taken
    }

    /// Bytes in memory, as much as texts would take: it may become such.
    pub fn bytes(&self) -> usize {
        self.ends.len() * size_of::<Option<String>>() + self.text.len()
    }
}
