//! One change of a store at a time, and none while somebody reads: who answers from a store sees it as it was before a dump
//! file went into it, or as it is afterwards.
//!
//! Two files in the store's folder are locked, whatever they hold going with no process: `.changes` counts the changes, and
//! whoever reads shares its lock; `.gate` lets a writer pass before readers that come later, so that it need not wait for
//! ever. On a file system without locks the count alone is left, and an answer may meet a change.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::archive::{ArchiveError, Metadata, ParquetWriter, Table, open_own, open_own_to_write};

pub(in crate::market) const GATE: &str = ".gate";
pub(in crate::market) const CHANGES: &str = ".changes";
/// Digits of the count.
const DIGITS: u64 = 20;

/// A store that nobody changes, until dropped.
#[derive(Debug)]
pub(in crate::market) struct Reading {
    _changes: Option<File>,
    /// How often the store was changed.
    pub(in crate::market) count: u64,
}

impl Reading {
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
pub(in crate::market) fn prepared(path: &Path, table: &Table) -> Result<ParquetWriter, ArchiveError> {
    let mut writer = ParquetWriter::begin(path, table)?;
    writer.push(table)?;
    Ok(writer)
}

/// Puts the tables of one dump file in their places, in this order, as one change of the store.
pub(in crate::market) fn place<const N: usize>(
    root: &Path,
    tables: [(ParquetWriter, Metadata); N],
) -> Result<(), ArchiveError> {
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
    for (table, metadata) in tables {
        table.finish(&metadata)?;
    }
    Ok(())
}
