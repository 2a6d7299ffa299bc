//! One change of a store at a time, and none while somebody reads: who answers from a store sees it as it was before the files
//! of a change went into it, or as it is afterwards.
//!
//! Two files in the store's folder are locked, whatever they hold going with no process: `.changes` counts the changes, and
//! whoever reads shares its lock; `.gate` lets a writer pass before readers that come later, so that it need not wait for
//! ever. On a file system without locks the count alone is left, and an answer may meet a change.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::archive::{ArchiveError, Metadata, ParquetWriter, Table, Unplaced, open_own, open_own_to_write};
use crate::market::store::held;

pub(in crate::market) const GATE: &str = ".gate";
pub(in crate::market) const CHANGES: &str = ".changes";
/// Digits of the count.
const DIGITS: u64 = 20;

/// A store that nobody changes, until dropped.
#[derive(Debug)]
pub(in crate::market) struct StoreReading {
    _changes: Option<File>,
    /// How often the store was changed.
    pub(in crate::market) count: u64,
}

impl StoreReading {
    /// Waits until a change under way is done.
    pub(in crate::market) fn begin(root: &Path) -> Self {
        // Without the files nothing was ingested since there are such; a lock that cannot be had is passed over.
        let gate = open_own(&root.join(GATE)).ok();
        let _ = gate.as_ref().map(File::lock_shared);
        let mut changes = open_own(&root.join(CHANGES)).ok();
        let _ = changes.as_ref().map(File::lock_shared);
        drop(gate);
        let count = changes.as_mut().map_or(0, count);
        Self { _changes: changes, count }
    }
}

fn count(changes: &mut File) -> u64 {
    let mut text = String::new();
    let read = changes.seek(SeekFrom::Start(0)).and_then(|_| changes.take(DIGITS).read_to_string(&mut text));
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

/// A finished table that is not yet in its place.
pub(in crate::market) fn prepared(path: &Path, table: &Table, metadata: &Metadata) -> Result<Unplaced, ArchiveError> {
    let mut writer = ParquetWriter::begin(path, table)?;
    writer.push(table)?;
    writer.complete(metadata)
}

/// Puts files in their places, in this order, as one change of the store.
pub(in crate::market) fn place<const N: usize>(root: &Path, files: [Unplaced; N]) -> Result<(), ArchiveError> {
    Change { files: files.into() }.place(root)
}

/// Files that go into the store together, complete but not yet in their places. Dropped, they are gone.
#[derive(Debug, Default)]
pub(in crate::market) struct Change {
    files: Vec<Unplaced>,
}

impl Change {
    pub(in crate::market) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds a file, or puts it where an earlier one for the same place was.
    pub(in crate::market) fn add(&mut self, file: Unplaced) {
        match self.files.iter_mut().find(|other| other.destination() == file.destination()) {
            Some(earlier) => *earlier = file,
            None => self.files.push(file),
        }
    }

    /// Where to read what will lie at a path once the change is made.
    pub(in crate::market) fn found(&self, path: PathBuf) -> PathBuf {
        let own = self.files.iter().find(|file| file.destination() == path);
        own.map_or(path, |file| file.path().to_owned())
    }

    /// Puts the files in their places, in the order in which they came.
    pub(in crate::market) fn place(self, root: &Path) -> Result<(), ArchiveError> {
        let open = |name: &str| {
            let path = root.join(name);
            open_own_to_write(&path, false).map_err(|error| ArchiveError { path, problem: error.to_string() })
        };
        let (gate, mut changes) = (open(GATE)?, open(CHANGES)?);
        let _ = gate.lock();
        let _ = changes.lock();
        let count = count(&mut changes) + 1;
        let written = changes.seek(SeekFrom::Start(0)).and_then(|_| changes.write_all(count.to_string().as_bytes()));
        written.map_err(|error| ArchiveError { path: root.join(CHANGES), problem: error.to_string() })?;
        let names: Vec<String> = self.files.iter().filter_map(|file| held::name(root, file.destination())).collect();
        self.files.into_iter().try_for_each(Unplaced::place)?;
        held::add(root, &names)
    }
}
