//! Writing: one key is held by one writer at a time, who mends what it finds before it adds to it.

use std::collections::BTreeMap;
use std::path::Path;

use super::coverage::{add, remove};
use super::fault::{ArchiveFault, FileState};
use super::key::{Key, VERSION};
use super::ledger::{self, Ledger, Part, Pending, part_name, sha256};
use super::partition::{Partition, named, partitions};
use super::store::{Lock, own};
use super::{About, Archive, FORMAT, gaps, joined, keep, part_file, within};
use crate::columns::Series;
use crate::weight::Window;

/// The right to write a key's data, until dropped or until the process ends in any way.
#[derive(Debug)]
pub struct Hold {
    archive: Archive,
    key: Key,
    ledger: Ledger,
    /// Files that were set aside, each with what was wrong.
    aside: Vec<String>,
    _lock: Lock,
}

impl Archive {
    /// Takes the right to write a key's data; `None` while another writer has it. Brings to an end, or takes back, what
    /// a writer left that did not finish.
    ///
    /// # Errors
    /// [`ArchiveFault::Source`] when the archive holds another service's data; [`ArchiveFault::Access`] when the folder
    /// cannot be written.
    pub fn try_hold(&self, key: &Key) -> Result<Option<Hold>, ArchiveFault> {
        let Some(lock) = self.store.try_lock(&key.name)? else { return Ok(None) };
        if !self.claim(&key.source)? {
            return Ok(None);
        }
        self.store.sweep(&key.name)?;
        let mut hold =
            Hold { archive: self.clone(), key: key.clone(), ledger: Ledger::new(key), aside: Vec::new(), _lock: lock };
        match self.ledger(&key.name) {
            Ok(Some((ledger, _))) => hold.ledger = ledger,
            Ok(None) => hold.rebuild()?,
            Err(ArchiveFault::File { state: FileState::Damaged, problem, .. }) => {
                hold.set_aside(&ledger::name(&key.name), &problem)?;
                hold.rebuild()?;
            }
            Err(fault) => return Err(fault),
        }
        hold.settle()?;
        Ok(Some(hold))
    }

    /// Notes which service the data are from; `false` while another writer is about to.
    fn claim(&self, source: &str) -> Result<bool, ArchiveFault> {
        let fits = |holds: &str| {
            if holds == source {
                return Ok(true);
            }
            let path = self.path().display().to_string();
            Err(ArchiveFault::Source { path, holds: holds.to_owned(), wanted: source.to_owned() })
        };
        if let Some(holds) = self.source()? {
            return fits(&holds);
        }
        let Some(_lock) = self.store.try_lock("archive")? else { return Ok(false) };
        if let Some(holds) = self.source()? {
            return fits(&holds);
        }
        let about = About { format: FORMAT.to_owned(), version: VERSION, source: source.to_owned() };
        let bytes = serde_json::to_vec_pretty(&about).map_err(|error| ArchiveFault::access("archive.json", &error))?;
        self.store.write("archive", &own("archive.json"), &bytes)?;
        Ok(true)
    }
}

impl Hold {
    /// The windows of bucket starts that were asked.
    pub fn asked(&self) -> Vec<Window> {
        self.ledger.asked()
    }

    /// What of a window was never asked.
    pub fn gaps(&self, window: Window) -> Vec<Window> {
        gaps(&self.asked(), window)
    }

    /// The folder of the archive.
    pub fn path(&self) -> &Path {
        self.archive.path()
    }

    /// Files that were set aside since the key is held, each with what was wrong.
    pub fn take_aside(&mut self) -> Vec<String> {
        std::mem::take(&mut self.aside)
    }

    /// The rows of what was asked of a window.
    pub fn read(&self, window: Window) -> Result<Vec<Series>, ArchiveFault> {
        let windows = within(&self.asked(), window);
        let parts =
            windows.iter().map(|window| self.archive.read(&self.key, *window)).collect::<Result<Vec<_>, _>>()?;
        joined(&self.key, parts, &windows)
    }

    /// Mends what of a window is not what was written: damaged and foreign files are set aside, and their buckets count as
    /// never asked. A quick look goes by presence and length, a thorough one by checksum.
    pub fn mend(&mut self, window: Window, thorough: bool) -> Result<(), ArchiveFault> {
        let before = self.ledger.clone();
        let touched =
            |name: &String| named(&self.key, name).is_none_or(|whole| whole.from < window.to && whole.to > window.from);
        let names: Vec<String> = self.ledger.parts.keys().filter(|name| touched(name)).cloned().collect();
        for partition in names {
            self.check(&partition, thorough)?;
        }
        if self.ledger == before { Ok(()) } else { self.save() }
    }

    /// Keeps the answer for some windows, in place of what was there: one request's worth. Rows outside of the windows
    /// are not kept.
    pub fn commit(&mut self, windows: &[Window], answer: &[Series]) -> Result<(), ArchiveFault> {
        let mut staged = Vec::new();
        let mut shares: BTreeMap<String, Vec<Partition>> = BTreeMap::new();
        for window in windows {
            for part in partitions(&self.key, *window) {
                shares.entry(part.name.clone()).or_default().push(part);
            }
        }
        for (partition, parts) in shares {
            let windows: Vec<Window> = parts.iter().map(|part| part.window).collect();
            let mut fresh = answer.to_vec();
            for one in &mut fresh {
                keep(one, &windows, true);
            }
            let name = part_name(&self.key, &partition);
            self.check(&partition, true)?;
            let mut kept = match self.ledger.parts.get(&partition) {
                None => Vec::new(),
                Some(_) => self.content(&name)?,
            };
            let rows = |series: &[Series]| series.iter().map(Series::len).sum::<usize>();
            let before = rows(&kept);
            for one in &mut kept {
                keep(one, &windows, false);
            }
            if before == rows(&kept) && rows(&fresh) == 0 {
                // Nothing there and nothing new: the ledger alone knows that it was asked.
                self.ledger.ask(&windows);
                continue;
            }
            let series = joined(&self.key, vec![kept, fresh], &[parts[0].whole])?;
            let mut asked = within(&self.ledger.asked(), parts[0].whole);
            for window in &windows {
                add(&mut asked, *window);
            }
            let part = if series.is_empty() {
                staged.push((partition.clone(), None));
                None
            } else {
                let bytes = part_file::to_bytes(&self.key, &asked, &series)?;
                let file = self.archive.store.stage(&self.key.name, &name, &bytes)?;
                staged.push((partition.clone(), Some(file)));
                Some(Part { sha256: sha256(&bytes), bytes: bytes.len() as u64, rows: rows(&series) as u64 })
            };
            self.ledger.pending.insert(partition, Pending::new(part, &windows));
        }
        if !staged.is_empty() {
            self.save()?;
        }
        for (partition, file) in staged {
            match file {
                Some(file) => file.place()?,
                None => self.archive.store.remove(&part_name(&self.key, &partition))?,
            }
            self.ledger.settle(&partition, true);
        }
        self.save()
    }

    fn content(&self, name: &str) -> Result<Vec<Series>, ArchiveFault> {
        match self.archive.store.read(name)? {
            Some(bytes) => part_file::series(name, bytes),
            None => Ok(Vec::new()),
        }
    }

    fn save(&mut self) -> Result<(), ArchiveFault> {
        let bytes = self.ledger.seal();
        self.archive.store.write(&self.key.name, &ledger::name(&self.key.name), &bytes)
    }

    fn set_aside(&mut self, name: &str, problem: &str) -> Result<(), ArchiveFault> {
        let aside = self.archive.store.set_aside(name)?;
        self.aside.push(format!("{name}: {problem}; moved to {aside}"));
        Ok(())
    }

    /// Brings a commit to an end that its writer did not: the checksums tell how far it came.
    fn settle(&mut self) -> Result<(), ArchiveFault> {
        if self.ledger.pending.is_empty() {
            return Ok(());
        }
        for (partition, pending) in self.ledger.pending.clone() {
            let bytes = self.archive.store.read(&part_name(&self.key, &partition))?;
            let found = bytes.map(|bytes| sha256(&bytes));
            let arrived = found == pending.part.map(|part| part.sha256);
            self.ledger.settle(&partition, arrived);
            self.check(&partition, true)?;
        }
        self.save()
    }

    /// Looks whether a partition's file is the one that the ledger names, and mends it if not.
    fn check(&mut self, partition: &str, thorough: bool) -> Result<(), ArchiveFault> {
        let name = part_name(&self.key, partition);
        let known = self.ledger.parts.get(partition).cloned();
        if !thorough && self.archive.store.length(&name)? == known.as_ref().map(|part| part.bytes) {
            return Ok(());
        }
        let bytes = self.archive.store.read(&name)?;
        let found = bytes.as_ref().map(|bytes| sha256(bytes));
        if found == known.as_ref().map(|part| part.sha256.clone()) {
            return Ok(());
        }
        if let Some(whole) = named(&self.key, partition).filter(|_| known.is_some()) {
            let mut asked = self.ledger.asked();
            remove(&mut asked, whole);
            self.ledger.set_asked(&asked);
        }
        self.ledger.parts.remove(partition);
        let (Some(bytes), Some(sha256)) = (bytes, found) else {
            self.aside.push(format!("{name}: the file was gone"));
            return Ok(());
        };
        match part_file::examine(&self.key, &name, &bytes) {
            // Whole and of this key: a copy from elsewhere, or the ledger is older than the file.
            Ok((windows, rows)) => {
                self.ledger.parts.insert(partition.to_owned(), Part { sha256, bytes: bytes.len() as u64, rows });
                self.ledger.ask(&windows);
                Ok(())
            }
            Err(ArchiveFault::File { state: FileState::Damaged | FileState::Foreign, problem, .. }) => {
                self.set_aside(&name, &problem)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Makes the ledger anew from the files, which say what they answer for. What was asked and empty is forgotten.
    fn rebuild(&mut self) -> Result<(), ArchiveFault> {
        let folder = self.key.folder();
        for name in self.archive.store.list(&folder)? {
            let partition = name.strip_prefix(&format!("{folder}/date="));
            let partition = partition.and_then(|rest| rest.strip_suffix("/part.parquet")).map(str::to_owned);
            if let Some(partition) = partition.filter(|partition| named(&self.key, partition).is_some()) {
                self.check(&partition, true)?;
            }
        }
        if self.ledger.parts.is_empty() { Ok(()) } else { self.save() }
    }
}
