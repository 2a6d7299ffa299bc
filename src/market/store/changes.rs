//! One change of a store at a time, and none while an answer reads it: an answer sees the store as it was before all
//! files of a change were placed, or after.
//!
//! Two files in the store's folder are locked; the system releases the locks of a process that ends. `.changes` counts
//! the changes, and readers share its lock; `.gate` lets a writer pass before readers that come later, so that it does
//! not starve. On a file system without locks only the count works, and an answer may be computed during a change.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::archive::{ArchiveError, LockedFile, Metadata, ParquetWriter, Table, Unplaced, open_own, open_own_to_write};
use crate::market::store::file_list;

pub(in crate::market) const GATE: &str = ".gate";
pub(in crate::market) const CHANGES: &str = ".changes";
/// Digits of the count.
const DIGITS: u64 = 20;

/// A lock that keeps a store unchanged until dropped.
#[derive(Debug)]
pub(in crate::market) struct StoreReading {
    _changes: Option<LockedFile>,
    /// Number of changes of the store.
    pub(in crate::market) count: u64,
}

impl StoreReading {
    /// Waits until a change under way is done.
    pub(in crate::market) fn begin(root: &Path) -> Self {
        // Stores of earlier versions lack the files; a file system without locks is read without one.
        let locked = |name: &str| open_own(&root.join(name)).ok().map(LockedFile::shared);
        let gate = locked(GATE);
        let mut changes = locked(CHANGES);
        drop(gate);
        let count = changes.as_deref_mut().map_or(0, count);
        Self { _changes: changes, count }
    }
}

fn count(changes: &mut File) -> u64 {
    let mut text = String::new();
    let read = changes.seek(SeekFrom::Start(0)).and_then(|_| changes.take(DIGITS).read_to_string(&mut text));
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

/// A complete table file that is not yet in its place.
pub(in crate::market) fn prepared(path: &Path, table: &Table, metadata: &Metadata) -> Result<Unplaced, ArchiveError> {
    let mut writer = ParquetWriter::begin(path, table)?;
    writer.push(table)?;
    writer.complete(metadata)
}

/// Puts files in their places, in this order, as one change of the store.
pub(in crate::market) fn place<const N: usize>(root: &Path, files: [Unplaced; N]) -> Result<(), ArchiveError> {
    Change { files: files.into() }.place(root)
}

/// Complete files that are placed in the store together; dropping them removes them.
#[derive(Debug, Default)]
pub(in crate::market) struct Change {
    files: Vec<Unplaced>,
}

impl Change {
    pub(in crate::market) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds a file; it replaces an earlier one for the same place.
    pub(in crate::market) fn add(&mut self, file: Unplaced) {
        match self.files.iter_mut().find(|other| other.destination() == file.destination()) {
            Some(earlier) => *earlier = file,
            None => self.files.push(file),
        }
    }

    /// Where to read the file that will be at a path after the change.
    pub(in crate::market) fn found(&self, path: PathBuf) -> PathBuf {
        let own = self.files.iter().find(|file| file.destination() == path);
        own.map_or(path, |file| file.path().to_owned())
    }

    /// Puts the files in their places, in the order in which they were added.
    pub(in crate::market) fn place(self, root: &Path) -> Result<(), ArchiveError> {
        let open = |name: &str| {
            let path = root.join(name);
            open_own_to_write(&path, false).map_err(|error| ArchiveError { path, problem: error.to_string() })
        };
        let (gate, changes) = (open(GATE)?, open(CHANGES)?);
        let _gate = LockedFile::exclusive(gate);
        let mut changes = LockedFile::exclusive(changes);
        let count = count(&mut changes) + 1;
        let written = changes.seek(SeekFrom::Start(0)).and_then(|_| changes.write_all(count.to_string().as_bytes()));
        written.map_err(|error| ArchiveError { path: root.join(CHANGES), problem: error.to_string() })?;
        let names: Vec<String> =
            self.files.iter().filter_map(|file| file_list::name(root, file.destination())).collect();
        self.files.into_iter().try_for_each(Unplaced::place)?;
        file_list::add(root, &names)
    }
}
