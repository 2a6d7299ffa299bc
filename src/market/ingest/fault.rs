//! Faults of rows.

/// Reason why a row is left out: the column, and how to fix it. Boxed, because most rows have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::market) struct RowFault(Box<(String, String)>);

impl RowFault {
    /// A fault in a column; `column` is empty if the row as a whole is bad.
    pub(in crate::market) fn new(column: impl Into<String>, what: impl Into<String>) -> Self {
        Self(Box::new((column.into(), what.into())))
    }

    /// The column and the problem.
    pub(in crate::market) fn into_parts(self) -> (String, String) {
        *self.0
    }
}
