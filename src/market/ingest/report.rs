//! Report of an ingest.

use std::path::Path;

use super::fault::RowFault;

/// Most bad rows that are listed for a file; the rest are counted.
pub(in crate::market) const MOST_PROBLEMS: usize = 1_000;

/// Something in the dumps that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: String,
    /// Line in the file, the header being line 1; 0 for the file as a whole.
    pub line: u64,
    /// The problem, and how to fix it.
    pub what: String,
    /// Name of the column; empty for the row, or the file, as a whole.
    pub column: String,
}

/// Report of an ingest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IngestReport {
    /// Dump files read into the store.
    pub files: usize,
    /// Dump files left alone because the store holds them already.
    pub unchanged: usize,
    /// Good rows read.
    pub rows: usize,
    /// Rows and files that were left out.
    pub problems: Vec<Problem>,
    /// Whether the ingest ended before the last file.
    pub interrupted: bool,
}

impl IngestReport {
    pub(in crate::market) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.unchanged += other.unchanged;
        self.rows += other.rows;
        self.problems.extend(other.problems);
        self.interrupted |= other.interrupted;
    }

    pub(in crate::market) fn problem(&mut self, file: &Path, line: u64, what: impl Into<String>) {
        self.fault(file, line, RowFault::new("", what));
    }

    pub(in crate::market) fn fault(&mut self, file: &Path, line: u64, fault: RowFault) {
        let (column, what) = fault.into_parts();
        self.problems.push(Problem { file: file.display().to_string(), line, what, column });
    }
}
