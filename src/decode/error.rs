//! What can be wrong with a body, and where.

use std::fmt;

/// A body that is not a valid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Byte offset in the body at which the problem stands.
    pub offset: usize,
    /// Where in the document, such as `series[0].points[17].Point.open`; empty at the top.
    pub path: String,
    /// What is wrong.
    pub problem: String,
}

impl DecodeError {
    /// A problem at a byte offset.
    pub fn new(offset: usize, problem: impl Into<String>) -> Self {
        Self { offset, path: String::new(), problem: problem.into() }
    }

    /// The same error, known to lie inside `part` of the enclosing value.
    #[must_use]
    pub(super) fn inside(mut self, part: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{part}{dot}{}", self.path);
        self
    }

    /// The same error, known to lie inside an element of the enclosing array.
    #[must_use]
    pub(super) fn at_index(self, index: usize) -> Self {
        self.inside(&format!("[{index}]"))
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at byte {}", self.problem, self.offset)?;
        if self.path.is_empty() { Ok(()) } else { write!(out, " ({})", self.path) }
    }
}

impl std::error::Error for DecodeError {}
