//! Errors of files.

use std::path::{Path, PathBuf};

/// A file that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .path.display())]
pub struct ArchiveError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

impl ArchiveError {
    /// A file and what is wrong with it.
    pub(super) fn new(path: &Path, problem: impl Into<String>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }
}
