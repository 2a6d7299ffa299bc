//! An archive, and how its rows are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::coverage::gaps;
use super::fault::{ArchiveFault, FileState};
use super::key::ArchiveKey;
use super::ledger::{self, KeyLedger, LedgerPart, part_name};
use super::part_file;
use super::partition::{named, touches};
use super::scan::Scan;
use super::store::{Address, ArchiveStore, Folder, Found, Objects};
use crate::clock::{SECONDS_PER_DAY, Window};
use crate::columns::Series;
use crate::protocol::PointsQuery;

/// Most files in memory at once before they are decoded.
pub(super) const AT_ONCE: usize = 16;
/// A shorter lease would take a slow answer of the store for the end of a writer.
const SHORTEST_LEASE: Duration = Duration::from_millis(500);
const LONGEST_LEASE: Duration = Duration::from_secs(SECONDS_PER_DAY.unsigned_abs());

/// An archive of one service's points.
#[derive(Debug, Clone)]
pub struct Archive {
    pub(super) store: Arc<dyn ArchiveStore>,
    pub(super) path: PathBuf,
    pub(super) plain_options: Option<Vec<(String, String)>>,
}

impl Archive {
    /// An archive in a folder, which need not exist yet. Does no I/O.
    pub fn new(folder: &Path) -> Self {
        Self { store: Arc::new(Folder::new(folder)), path: folder.to_owned(), plain_options: Some(Vec::new()) }
    }

    /// An archive at a prefix of an object store: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`.
    /// Options have the names of the environment variables, which they override (`aws_region` or `region`). A writer
    /// that does not renew its lock for `lease` counts as gone. Sends nothing.
    ///
    /// # Errors
    /// [`ArchiveFault::Address`] for an address or an invalid option.
    pub fn at(address: &str, options: &[(String, String)], lease: Duration) -> Result<Self, ArchiveFault> {
        if !(SHORTEST_LEASE..=LONGEST_LEASE).contains(&lease) {
            let bounds = (SHORTEST_LEASE.as_secs_f64(), LONGEST_LEASE.as_secs());
            let problem = format!("lease: {} s is not between {} and {} s", lease.as_secs_f64(), bounds.0, bounds.1);
            return Err(ArchiveFault::Address(problem));
        }
        let address = Address::parse(address, options)?;
        let (path, plain_options) = (PathBuf::from(address.text()), address.plain_options());
        Ok(Self { store: Arc::new(Objects::new(address, lease)?), path, plain_options })
    }

    /// The folder or the address.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The options of the store; `None` if one of them may be secret.
    pub fn plain_options(&self) -> Option<&[(String, String)]> {
        self.plain_options.as_deref()
    }

    /// The same archive for the writes of one call: one that finds another folder at the path than the first write did
    /// is an error, and makes none anew.
    #[must_use]
    pub fn pinned(&self) -> Self {
        Self { store: self.store.pinned().unwrap_or_else(|| Arc::clone(&self.store)), ..self.clone() }
    }

    /// How long to wait before trying again to lock a key.
    pub fn patience(&self) -> Duration {
        self.store.patience()
    }

    /// The key of a query in this archive; `None` for a query that cannot be archived, and while the archive is empty.
    pub fn key(&self, query: &PointsQuery) -> Result<Option<ArchiveKey>, ArchiveFault> {
        Ok(self.source()?.and_then(|source| ArchiveKey::new(&source, query)))
    }

    /// The windows of bucket starts that were downloaded.
    pub fn asked(&self, key: &ArchiveKey) -> Result<Vec<Window>, ArchiveFault> {
        let Some((ledger, _)) = self.ledger(&key.name)? else { return Ok(Vec::new()) };
        Ok(self.settled(key, ledger)?.asked())
    }

    /// As [`Self::asked`], without the windows of files that touch `window` and are gone or of another length. Objects are
    /// not looked at: each would be a request.
    pub fn asked_and_there(&self, key: &ArchiveKey, window: Window) -> Result<Vec<Window>, ArchiveFault> {
        let Some((ledger, _)) = self.ledger(&key.name)? else { return Ok(Vec::new()) };
        let mut ledger = self.settled(key, ledger)?;
        if self.store.is_local() {
            for (partition, part) in ledger.parts.clone() {
                if touches(key, &partition, window)
                    && self.store.length(&part_name(key, &partition))? != Some(part.bytes)
                    && let Some(whole) = named(key, &partition)
                {
                    ledger.forget(whole);
                }
            }
        }
        Ok(ledger.asked())
    }

    /// The series of a window, as the service would answer: ascending, without empty ones.
    ///
    /// # Errors
    /// [`ArchiveFault::NotAsked`] where a part of the window was never downloaded, [`ArchiveFault::File`] where a file
    /// is not what was written.
    pub fn read<'a>(&self, key: &ArchiveKey, scan: impl Into<Scan<'a>>) -> Result<Vec<Series>, ArchiveFault> {
        let scan @ Scan { window, .. } = scan.into();
        let mut before = None;
        loop {
            let Some((ledger, Found { bytes, .. })) = self.ledger(&key.name)? else {
                return Err(ArchiveFault::NotAsked { what: key.label(), missing: vec![window] });
            };
            let pending = ledger.pending.clone();
            let mut settled = self.settled(key, ledger)?;
            let missing = gaps(&settled.asked(), window);
            if !missing.is_empty() {
                return Err(ArchiveFault::NotAsked { what: key.label(), missing });
            }
            // A committed file must still exist: otherwise its rows would be taken for none.
            settled.pending = pending;
            match self.read_parts(key, &settled, scan) {
                // A writer may have committed a file since the ledger was read: then the ledger has changed too.
                Err(fault) if before.as_ref() == Some(&bytes) => return Err(fault),
                Err(_) => before = Some(bytes),
                Ok(series) => return Ok(series),
            }
        }
    }

    pub(super) fn ledger(&self, key: &str) -> Result<Option<(KeyLedger, Found)>, ArchiveFault> {
        let Some(found) = self.store.read(&ledger::name(key))? else { return Ok(None) };
        Ok(Some((KeyLedger::parse(key, &found.bytes)?, found)))
    }

    /// The ledger as the next writer will find it: a file that a killed writer had put in place counts as archived. It
    /// is not paid for again, so plans must not count it.
    pub(super) fn settled(&self, key: &ArchiveKey, mut ledger: KeyLedger) -> Result<KeyLedger, ArchiveFault> {
        for (partition, pending) in ledger.pending.clone() {
            let found = self.store.read(&ledger::part_name(key, &partition))?;
            ledger.settle(key, &partition, pending.is(found.as_ref()));
        }
        Ok(ledger)
    }

    /// The error for a file that is not what the ledger names, with the remedy.
    pub(super) fn strange(
        &self,
        key: &ArchiveKey,
        name: &str,
        known: Option<&LedgerPart>,
        bytes: Option<&Bytes>,
    ) -> ArchiveFault {
        let Some(bytes) = bytes else {
            return ArchiveFault::file(name, FileState::Missing, "the file is gone; a sync fetches it again");
        };
        // In an object store a sync only checks lengths (`KeyWriter::mend`).
        let work = if self.store.is_local() { "sync" } else { "refresh" };
        if known.is_some_and(|known| known.bytes == bytes.len() as u64) {
            let problem =
                format!("the file is damaged: as long as it was written, and not the same; a {work} fetches it again");
            return ArchiveFault::file(name, FileState::Damaged, problem);
        }
        match part_file::examine(key, name, bytes) {
            Err(ArchiveFault::File { path, state: FileState::Damaged, problem }) => {
                ArchiveFault::file(&path, FileState::Damaged, format!("{problem}; a {work} fetches it again"))
            }
            Err(fault) => fault,
            Ok(_) => {
                let problem = format!("not the file that the ledger names; a {work} mends that");
                ArchiveFault::file(name, FileState::Damaged, problem)
            }
        }
    }
}
