//! What is wrong with a row.

/// A row that is left out: which column, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Name of the column; empty for the row as a whole.
    pub(super) column: String,
    pub(super) what: String,
}

impl Fault {
    pub(super) fn new(column: impl Into<String>, what: impl Into<String>) -> Self {
        Self { column: column.into(), what: what.into() }
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self::new("", what)
    }
}
