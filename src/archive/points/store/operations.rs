//! The operations that an archive's logic needs of its storage.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::UpdateVersion;

use super::conflict_retry::ConflictRetry;
use crate::archive::points::fault::ArchiveFault;

/// Folder of everything that is not data. Its first character makes Spark, pyarrow and DuckDB skip it.
const OWN: &str = "_marketpoints";

/// Name of one of the archive's own files.
pub(in crate::archive::points) fn own(name: &str) -> String {
    format!("{OWN}/{name}")
}

/// The state of a name when it was last read. A write replaces exactly this state.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::archive::points) enum Version {
    /// Nothing.
    Absent,
    /// A file that no one else can change meanwhile, because the lock is held.
    Locked,
    /// This version of an object.
    Tagged(UpdateVersion),
}

/// A file's content.
#[derive(Debug, Clone)]
pub(in crate::archive::points) struct Found {
    pub(in crate::archive::points) bytes: Bytes,
    pub(in crate::archive::points) version: Version,
}

/// Ranges of a file.
#[derive(Debug, Clone)]
pub(in crate::archive::points) struct FileRanges {
    pub(in crate::archive::points) name: String,
    /// The file's length.
    pub(in crate::archive::points) length: u64,
    /// In order, apart from each other, none of them empty.
    pub(in crate::archive::points) ranges: Vec<Range<u64>>,
}

/// A file that is written but not in place yet. It is removed if dropped.
pub(in crate::archive::points) trait Staged {
    /// Puts the file in place of the state seen there, atomically, and returns its version.
    ///
    /// # Errors
    /// [`ArchiveFault::Conflict`] if the state has changed.
    fn place(self: Box<Self>, seen: &Version) -> Result<Version, ArchiveFault>;
}

/// A lock, released when dropped, and some time after its holder ended in any way.
pub(in crate::archive::points) trait Lock: Debug + Send {
    /// Releases the lock, and waits until others can take it.
    fn release(&mut self);

    /// Checks that what was locked is still where it was.
    ///
    /// # Errors
    /// [`ArchiveFault::Access`] when it was removed or moved: another writer may have what is there now.
    fn check(&self) -> Result<(), ArchiveFault> {
        Ok(())
    }
}

/// A local folder or an object store.
pub(in crate::archive::points) trait ArchiveStore: Debug + Send + Sync {
    /// A file; `None` where there is none.
    fn read(&self, name: &str) -> Result<Option<Found>, ArchiveFault>;

    /// Several files, in the order of their names; concurrently if that is faster.
    fn read_all(&self, names: &[String]) -> Result<Vec<Option<Found>>, ArchiveFault> {
        names.iter().map(|name| self.read(name)).collect()
    }

    /// The bytes of ranges of several files, and little else; concurrently if that is faster. `None` for a file that is
    /// absent or has another length.
    fn read_ranges(&self, files: &[FileRanges]) -> Result<Vec<Option<Vec<Bytes>>>, ArchiveFault>;

    /// Whether reading a file is cheap: local, not behind a network.
    fn is_local(&self) -> bool;

    /// The same store for several locks, of which each must find what the first one found; `None` where it cannot be removed
    /// or moved as a whole.
    fn pinned(&self) -> Option<Arc<dyn ArchiveStore>> {
        None
    }

    /// A file's length; `None` where there is none.
    fn length(&self, name: &str) -> Result<Option<u64>, ArchiveFault>;

    /// Names of the files below a folder, in order.
    fn list(&self, folder: &str) -> Result<Vec<String>, ArchiveFault>;

    /// Refuses a name below which nothing may be written.
    fn check(&self, _name: &str) -> Result<(), ArchiveFault> {
        Ok(())
    }

    /// Creates a file if there is none; `false` if there is one. `owner` as in [`ArchiveStore::stage`].
    fn create(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<bool, ArchiveFault>;

    /// Writes a file without putting it in place. `owner` is part of its name, so that leftovers of dead processes are
    /// found.
    fn stage(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<Box<dyn Staged>, ArchiveFault>;

    /// Whether a file can be removed without the risk of removing a newer version.
    fn removes(&self) -> bool;

    /// Removes a file, if it exists. Only for a store that [removes](ArchiveStore::removes).
    fn remove(&self, name: &str) -> Result<(), ArchiveFault>;

    /// Moves a file to quarantine; returns its new path, and what is now at the old one.
    fn set_aside(&self, name: &str, found: &Found) -> Result<(String, Version), ArchiveFault>;

    /// Takes the lock of that name; `None` while someone else has it.
    fn try_lock(&self, name: &str) -> Result<Option<Box<dyn Lock>>, ArchiveFault>;

    /// Removes leftovers of dead processes: of an owner whose lock is held, and of others whose lock is free.
    fn sweep(&self, owner: &str) -> Result<(), ArchiveFault>;

    /// Waits after a conflict, so that not all writers retry at once; `false` when it is time to give up. Where locks
    /// exclude other writers there are no conflicts.
    fn wait_for_turn(&self, _contest: &mut ConflictRetry) -> bool {
        false
    }

    /// How long to wait before trying a lock again that someone else has.
    fn patience(&self) -> Duration;
}

/// The path of a file in quarantine: without `=`, so that no reader takes the name for a partition, and with an ending
/// other than `.parquet`.
pub(super) fn aside(name: &str, ending: &str) -> String {
    let plain = name.replace('=', "-").replace('/', ".");
    let short = &plain[plain.len().saturating_sub(200)..]; // names of data files are ASCII
    own(&format!("quarantine/{short}.{ending}"))
}
