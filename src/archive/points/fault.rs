//! What can be wrong with an archive of points.

use crate::clock::{Window, utc};
use crate::protocol::query::Spelling;

/// How a file differs from what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Truncated, empty, with flipped bits, or of a content that nobody committed.
    Damaged,
    /// Gone.
    Missing,
    /// A whole file of something else: another program's, another key's or another archive's.
    Foreign,
    /// Written by a newer version of this package.
    Newer,
}

impl FileState {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Missing => "missing",
            Self::Foreign => "foreign",
            Self::Newer => "newer",
        }
    }
}

/// Why an archive does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveFault {
    /// A file is not what was written; it is never read as data.
    #[error("{path}: {problem}")]
    File {
        /// The file, from the archive's root.
        path: String,
        /// What it is instead.
        state: FileState,
        /// What is wrong, and how to mend it.
        problem: String,
    },
    /// Buckets were never asked, so nobody knows whether they hold anything.
    #[error("{what}: {}; sync it", never(missing))]
    NotAsked {
        /// What was to be read.
        what: String,
        /// The windows of bucket starts that are missing.
        missing: Vec<Window>,
    },
    /// What was known at a moment is asked, and buckets were not known then, or nobody can tell any more.
    #[error("{what}: {problem}")]
    NotKnown {
        /// What was to be read.
        what: String,
        /// The windows of bucket starts that are missing.
        missing: Vec<Window>,
        /// Why.
        problem: String,
    },
    /// The archive holds another service's data.
    #[error(
        "the archive {path} holds data of {holds}, not of {wanted}; use a folder or a prefix for each service, or, if both are \
         one service, give its name: {}",
        Spelling::caller().given("archive_source", format_args!("{holds:?}"))
    )]
    Source {
        /// The archive.
        path: String,
        /// Where its data are from.
        holds: String,
        /// Where the data to be kept are from.
        wanted: String,
    },
    /// The file system or the store refused.
    #[error("{path}: {problem}")]
    Access {
        /// The file.
        path: String,
        /// What it said.
        problem: String,
    },
    /// The answers do not fit what is kept.
    #[error("{0}")]
    Content(String),
    /// What a change was based on is no longer there: another writer was faster.
    #[error("{path}: another writer changed it again and again; what was downloaded is not kept, sync once more")]
    Conflict {
        /// The file.
        path: String,
    },
    /// The object store replaces what it was not told to.
    #[error(
        "{path}: the store does not heed conditions (If-None-Match and If-Match, or conditional_put is disabled), so that \
         two writers would undo each other's work; use a store that does, or a local folder"
    )]
    Unconditional {
        /// The file or the store.
        path: String,
    },
    /// An address or an invalid option.
    #[error("{0}")]
    Address(String),
}

impl ArchiveFault {
    /// A file that is not what was written.
    pub(super) fn file(path: &str, state: FileState, problem: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), state, problem: problem.into() }
    }

    /// A refusal of the file system.
    pub(super) fn access(path: &str, problem: &dyn ToString) -> Self {
        Self::Access { path: path.to_owned(), problem: problem.to_string() }
    }
}

fn never(missing: &[Window]) -> String {
    let from_to = |window: &Window| format!("{} to {}", utc(window.from), utc(window.to));
    match missing {
        [] => "nothing of it was ever asked".to_owned(),
        [only] => format!("{} was never asked", from_to(only)),
        [first, ..] => format!("{} windows were never asked, the first {}", missing.len(), from_to(first)),
    }
}
