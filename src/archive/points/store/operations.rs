//! What the logic of an archive needs of the place where its files lie.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use object_store::UpdateVersion;

use super::conflict_retry::ConflictRetry;
use crate::archive::points::fault::ArchiveFault;

/// Folder of what is not data. Its name begins as Spark, pyarrow and DuckDB want it of files that they must not read.
const OWN: &str = "_marketpoints";

/// Name of a file that the archive keeps for itself.
pub(in crate::archive::points) fn own(name: &str) -> String {
    format!("{OWN}/{name}")
}

/// What stood at a name when it was last looked at. What is put there takes its place and no other's.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::archive::points) enum Version {
    /// Nothing.
    Absent,
    /// Something that nobody else can change meanwhile: the lock is held.
    Locked,
    /// This version of an object.
    Tagged(UpdateVersion),
}

/// A whole file.
#[derive(Debug, Clone)]
pub(in crate::archive::points) struct Found {
    pub(in crate::archive::points) bytes: Bytes,
    pub(in crate::archive::points) version: Version,
}

/// A file that is written but not yet in place. Dropped, it is gone.
pub(in crate::archive::points) trait Staged {
    /// Puts the file in place of what stood there, in one step, and tells its version.
    ///
    /// # Errors
    /// [`ArchiveFault::Conflict`] when something else stands there by now.
    fn place(self: Box<Self>, seen: &Version) -> Result<Version, ArchiveFault>;
}

/// The right to write, given back when dropped, and some time after its holder ended in any way.
pub(in crate::archive::points) trait Lock: Debug + Send {
    /// Gives the right back, and waits until others can have it.
    fn release(&mut self);
}

/// A local folder or an object store.
pub(in crate::archive::points) trait ArchiveStore: Debug + Send + Sync {
    /// A file; `None` where there is none.
    fn read(&self, name: &str) -> Result<Option<Found>, ArchiveFault>;

    /// Several files, in the order of their names; all at once where that is faster.
    fn read_all(&self, names: &[String]) -> Result<Vec<Option<Found>>, ArchiveFault> {
        names.iter().map(|name| self.read(name)).collect()
    }

    /// Whether reading a file costs next to nothing: it lies on this machine, not behind a network.
    fn is_local(&self) -> bool;

    /// A file's length; `None` where there is none.
    fn length(&self, name: &str) -> Result<Option<u64>, ArchiveFault>;

    /// Names of the files below a folder, in order.
    fn list(&self, folder: &str) -> Result<Vec<String>, ArchiveFault>;

    /// Refuses a name below which nothing may be written.
    fn check(&self, _name: &str) -> Result<(), ArchiveFault> {
        Ok(())
    }

    /// Writes a whole file where there is none; `false` where there is one. `owner` as in [`ArchiveStore::stage`].
    fn create(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<bool, ArchiveFault>;

    /// Readies a file beside the data. `owner` names it, so that what a dead process left is found.
    fn stage(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<Box<dyn Staged>, ArchiveFault>;

    /// Whether files can go without the risk that what goes is not what was looked at.
    fn removes(&self) -> bool;

    /// Removes a file; one that is not there is fine. Only of a store that [removes](ArchiveStore::removes).
    fn remove(&self, name: &str) -> Result<(), ArchiveFault>;

    /// Keeps what was found where nobody reads it as data; tells that place, and what stands at the name now.
    fn set_aside(&self, name: &str, found: &Found) -> Result<(String, Version), ArchiveFault>;

    /// Takes the lock of that name; `None` while somebody else has it.
    fn try_lock(&self, name: &str) -> Result<Option<Box<dyn Lock>>, ArchiveFault>;

    /// Removes what dead processes left: of an owner, whose lock is held, and of others whose lock nobody holds.
    fn sweep(&self, owner: &str) -> Result<(), ArchiveFault>;

    /// Waits after another writer came before, so that not all begin anew at once; `false` when it is time to give up. Where
    /// a lock holds nobody else comes before.
    fn wait_for_turn(&self, _contest: &mut ConflictRetry) -> bool {
        false
    }

    /// How long to wait before asking again for a lock that somebody else has.
    fn patience(&self) -> Duration;
}

/// Where in the quarantine a file goes: without `=`, so that no reader takes the name for a partition, and with an ending
/// that is not `.parquet`.
pub(super) fn aside(name: &str, ending: &str) -> String {
    let plain = name.replace('=', "-").replace('/', ".");
    let short = &plain[plain.len().saturating_sub(150)..]; // names of data files are ASCII
    own(&format!("quarantine/{short}.{ending}"))
}
