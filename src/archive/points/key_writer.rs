//! The single writer of a key.

use super::archive::Archive;
use super::coverage::{gaps, within};
use super::fault::ArchiveFault;
use super::key::ArchiveKey;
use super::ledger::{self, KeyLedger};
use super::partition::partitions;
use super::rows::joined;
use super::store::{Found, Lock, Version};
use crate::clock::Window;
use crate::columns::Series;

/// Exclusive right to write a key's data, until dropped or until the process ends in any way.
#[derive(Debug)]
pub struct KeyWriter {
    pub(super) archive: Archive,
    pub(super) key: ArchiveKey,
    pub(super) ledger: KeyLedger,
    /// The version of the ledger that the next one replaces.
    pub(super) ledger_seen: Version,
    /// Files that were moved to quarantine, each with the reason.
    pub(super) aside: Vec<String>,
    pub(super) lock: Box<dyn Lock>,
}

impl KeyWriter {
    /// The windows of bucket starts that were downloaded.
    pub fn asked(&self) -> Vec<Window> {
        self.ledger.asked()
    }

    /// The parts of a window that were never downloaded.
    pub fn gaps(&self, window: Window) -> Vec<Window> {
        gaps(&self.asked(), window)
    }

    /// Releases the key for other writers, and waits until they can have it. A writer that is only dropped is released
    /// some time later.
    pub fn release(&mut self) {
        self.lock.release();
    }

    /// Checks that the archive is still where it was when the key was locked.
    ///
    /// # Errors
    /// [`ArchiveFault::Access`] when its folder, or the lock in it, was removed or moved.
    pub fn is_in_place(&self) -> Result<(), ArchiveFault> {
        self.lock.check()
    }

    /// Files that were moved to quarantine since the key was locked, each with the reason.
    pub fn take_aside(&mut self) -> Vec<String> {
        std::mem::take(&mut self.aside)
    }

    /// The archived rows of a window.
    pub fn read(&self, window: Window) -> Result<Vec<Series>, ArchiveFault> {
        let windows = within(&self.asked(), window);
        let parts =
            windows.iter().map(|window| self.archive.read(&self.key, *window)).collect::<Result<Vec<_>, _>>()?;
        joined(&self.key, parts, &windows)
    }

    /// Reads the archived rows of a window, one file at a time, and changes nothing.
    ///
    /// # Errors
    /// The first file that is not what was written.
    pub fn examine(&self, window: Window) -> Result<(), ArchiveFault> {
        for asked in within(&self.asked(), window) {
            for part in partitions(&self.key, asked) {
                self.archive.read(&self.key, part.window)?;
            }
        }
        Ok(())
    }

    pub(super) fn save(&mut self) -> Result<(), ArchiveFault> {
        self.lock.check()?;
        let bytes = self.ledger.seal();
        let file = self.archive.store.stage(&self.key.name, &ledger::name(&self.key.name), bytes)?;
        self.ledger_seen = file.place(&self.ledger_seen)?;
        Ok(())
    }

    /// Moves a file to quarantine; returns what is now in its place.
    pub(super) fn set_aside(&mut self, name: &str, found: &Found, problem: &str) -> Result<Version, ArchiveFault> {
        let (aside, seen) = self.archive.store.set_aside(name, found)?;
        self.aside.push(format!("{name}: {problem}; moved to {aside}"));
        Ok(seen)
    }
}
