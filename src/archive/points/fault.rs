//! Errors of an archive of points.

use crate::clock::{Window, utc};
use crate::protocol::query::Spelling;

/// What is said where an archive has no row of a query, and nothing says that there are none.
pub const NOTHING_ASKED: &str =
    "nothing of this query was ever asked (another interval, depth, block size or unit is another query)";

/// How a file differs from what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Truncated, empty, with flipped bits, or with content that was never committed.
    Damaged,
    /// Not there.
    Missing,
    /// A complete file of something else: another program's, another key's or another archive's.
    Foreign,
    /// Written by a newer version of this package.
    Newer,
}

impl FileState {
    /// The word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Missing => "missing",
            Self::Foreign => "foreign",
            Self::Newer => "newer",
        }
    }
}

/// Why an archive cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveFault {
    /// A file is not what was written; it is never read as data.
    #[error("{path}: {problem}")]
    File {
        /// The file's path within the archive.
        path: String,
        /// Its state.
        state: FileState,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// Buckets were never downloaded, so whether they have rows is not known.
    #[error("{what}: {}; sync it", never(missing))]
    NotAsked {
        /// The data that were to be read.
        what: String,
        /// The windows of bucket starts that are missing.
        missing: Vec<Window>,
    },
    /// For a read as of a moment: buckets were not known then, or what was known was dropped.
    #[error("{what}: {problem}")]
    NotKnown {
        /// The data that were to be read.
        what: String,
        /// The windows of bucket starts that are missing.
        missing: Vec<Window>,
        /// The reason.
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
        /// The service of its data.
        holds: String,
        /// The service of the data to be archived.
        wanted: String,
    },
    /// The file system or the store returned an error.
    #[error("{path}: {problem}")]
    Access {
        /// The file.
        path: String,
        /// Its message.
        problem: String,
    },
    /// The answers contradict what is archived.
    #[error("{0}")]
    Content(String),
    /// Another writer changed a file first.
    #[error("{path}: another writer changed it again and again; what was downloaded is not kept, sync once more")]
    Conflict {
        /// The file.
        path: String,
    },
    /// The object store ignores the conditions of conditional writes.
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

    /// An error of the file system.
    pub(super) fn access(path: &str, problem: &dyn ToString) -> Self {
        Self::Access { path: path.to_owned(), problem: problem.to_string() }
    }
}

fn never(missing: &[Window]) -> String {
    let from_to = |window: &Window| format!("{} to {}", utc(window.start()), utc(window.end()));
    match missing {
        [] => NOTHING_ASKED.to_owned(),
        [only] => format!("{} was never asked", from_to(only)),
        [first, ..] => format!("{} windows were never asked, the first {}", missing.len(), from_to(first)),
    }
}
