//! Errors of a body, with their position.

use std::fmt;

use crate::protocol::excerpt::{LONGEST, within};

/// Most characters of a message, and of a key in a path.
const LONGEST_PROBLEM: usize = 500;
const LONGEST_KEY: usize = 80;

/// A body that is not a valid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Byte offset of the error in the body.
    pub offset: usize,
    /// Path in the document, such as `series[0].points[17].Point.open`; empty at the top. Long names and deep paths are
    /// cut.
    pub path: String,
    /// The problem.
    pub problem: String,
}

impl DecodeError {
    /// An error at a byte offset. Quotations of the body are cut, and shown without control characters.
    pub fn new(offset: usize, problem: impl Into<String>) -> Self {
        Self { offset, path: String::new(), problem: within(&problem.into(), LONGEST_PROBLEM) }
    }

    /// The error with `part` of the enclosing value in its path.
    #[must_use]
    pub(super) fn inside(mut self, part: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        let path = format!("{}{dot}{}", within(part, LONGEST_KEY), self.path);
        // The outer part says where to look; inner parts may be dropped.
        self.path = match path.char_indices().nth(LONGEST) {
            None => path,
            Some((end, _)) => format!("{}…", &path[..end]),
        };
        self
    }

    /// The error with an element of the enclosing array in its path.
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
