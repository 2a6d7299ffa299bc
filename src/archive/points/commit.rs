//! Writing: a writer repairs what it finds before it adds to it.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::archive::Archive;
use super::coverage::{add_all, within};
use super::fault::{ArchiveFault, FileState};
use super::key::ArchiveKey;
use super::key_writer::KeyWriter;
use super::ledger::{self, KeyLedger, LedgerPart, Pending, part_name};
use super::part_file;
use super::partition::{Partition, named, partitions, touches};
use super::rows::{joined, keep};
use super::store::{ConflictRetry, Found, Staged, Version};
use super::vintages::NewVintage;
use crate::clock::{UnixMicros, Window};
use crate::columns::Series;

/// A partition's new file, or none, and what it replaces.
struct NewFile {
    partition: String,
    file: Option<Box<dyn Staged>>,
    seen: Version,
    /// The rows that buckets had before they changed.
    vintage: Option<NewVintage>,
}

/// What is at the path of a partition's file.
struct CurrentFile {
    /// The file, if it is the one that the ledger names.
    good: Option<Bytes>,
    /// What a new file replaces.
    seen: Version,
}

impl Archive {
    /// Locks a key for writing; `None` while another writer has it. Completes or undoes what an earlier writer left
    /// unfinished.
    ///
    /// # Errors
    /// [`ArchiveFault::Source`] when the archive holds another service's data; [`ArchiveFault::Access`] when the folder
    /// cannot be written; [`ArchiveFault::File`] when it holds a link in place of a file or folder.
    pub fn try_writer(&self, key: &ArchiveKey) -> Result<Option<KeyWriter>, ArchiveFault> {
        let Some(lock) = self.store.try_lock(&key.name)? else { return Ok(None) };
        self.store.check(&key.folder())?;
        let aside = self.claim(&key.source, &key.name)?.into_iter().collect();
        self.store.sweep(&key.name)?;
        let (ledger, ledger_seen) = (KeyLedger::new(key), Version::Absent);
        let mut writer = KeyWriter { archive: self.clone(), key: key.clone(), ledger, ledger_seen, aside, lock };
        writer.load_anew(&mut ConflictRetry::default())?;
        Ok(Some(writer))
    }
}

impl KeyWriter {
    /// Repairs a window: damaged and foreign files are moved to quarantine, and their buckets count as never
    /// downloaded. A thorough check compares checksums. Any other check does so too in a folder, but in an object store
    /// only looks at presence and length, because reading every object would download the archive.
    pub fn mend(&mut self, window: Window, thorough: bool) -> Result<(), ArchiveFault> {
        self.again(|writer| writer.try_mend(window, thorough))
    }

    /// Archives the answer to one request for some windows, replacing what was there. Rows outside of the windows are
    /// ignored. Changed buckets become a vintage; `at` is the time of the answer, Unix microseconds.
    pub fn commit(&mut self, windows: &[Window], answer: &[Series], at: UnixMicros) -> Result<(), ArchiveFault> {
        let mut set = Vec::new();
        add_all(&mut set, windows);
        self.again(|writer| writer.try_commit(&set, answer, at))
    }

    /// Retries work that conflicts with another writer, on top of what that one wrote. With a folder's lock there are
    /// no conflicts; an object store's lock may pass to another writer while its holder is suspended.
    pub(super) fn again(&mut self, work: impl Fn(&mut Self) -> Result<(), ArchiveFault>) -> Result<(), ArchiveFault> {
        let mut contest = ConflictRetry::default();
        loop {
            match work(self) {
                Err(ArchiveFault::Conflict { .. }) if self.archive.store.wait_for_turn(&mut contest) => {
                    self.load_anew(&mut contest)?;
                }
                done => return done,
            }
        }
    }

    /// Reads the ledger, or rebuilds it, and completes what an earlier writer began, retrying on conflicts.
    fn load_anew(&mut self, contest: &mut ConflictRetry) -> Result<(), ArchiveFault> {
        loop {
            match self.load() {
                Err(ArchiveFault::Conflict { .. }) if self.archive.store.wait_for_turn(contest) => {}
                done => return done,
            }
        }
    }

    fn load(&mut self) -> Result<(), ArchiveFault> {
        (self.ledger, self.ledger_seen) = (KeyLedger::new(&self.key), Version::Absent);
        let name = ledger::name(&self.key.name);
        match self.archive.store.read(&name)? {
            None => self.rebuild()?,
            Some(found) => match KeyLedger::parse(&self.key.name, &found.bytes) {
                Ok(ledger) => (self.ledger, self.ledger_seen) = (ledger, found.version),
                Err(ArchiveFault::File { state: FileState::Damaged, problem, .. }) => {
                    self.ledger_seen = self.set_aside(&name, &found, &problem)?;
                    self.rebuild()?;
                }
                Err(fault) => return Err(fault),
            },
        }
        self.settle()
    }

    fn try_mend(&mut self, window: Window, thorough: bool) -> Result<(), ArchiveFault> {
        self.lock.check()?;
        let before = self.ledger.clone();
        let names: Vec<String> =
            self.ledger.parts.keys().filter(|name| touches(&self.key, name, window)).cloned().collect();
        let thorough = thorough || self.archive.store.is_local();
        for partition in names {
            let length = self.ledger.parts.get(&partition).map(|part| part.bytes);
            if thorough || self.archive.store.length(&part_name(&self.key, &partition))? != length {
                self.check(&partition)?;
            }
        }
        if self.ledger == before { Ok(()) } else { self.save() }
    }

    fn try_commit(&mut self, windows: &[Window], answer: &[Series], at: UnixMicros) -> Result<(), ArchiveFault> {
        self.lock.check()?;
        // The change may have reached the store although its answer was lost.
        self.settle()?;
        let mut coming: Vec<NewFile> = Vec::new();
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
            let CurrentFile { good, seen } = self.check(&partition)?;
            let strange = good.is_none() && seen != Version::Absent;
            let mut kept = good.map_or_else(|| Ok(Vec::new()), |bytes| part_file::series(&name, bytes, None))?;
            let rows = |series: &[Series]| series.iter().map(Series::len).sum::<usize>();
            let vintage = self.vintage(&partition, &windows, &kept, &fresh, at)?;
            let before = rows(&kept);
            for one in &mut kept {
                keep(one, &windows, false);
            }
            if before == rows(&kept) && rows(&fresh) == 0 && !strange {
                // No file before and no rows now: only the ledger records that the window was downloaded.
                self.ledger.ask(&self.key, &windows, Some(at));
                continue;
            }
            let series = joined(&self.key, vec![kept, fresh], &[parts[0].whole])?;
            let mut asked = within(&self.ledger.asked(), parts[0].whole);
            add_all(&mut asked, &windows);
            let named = vintage.as_ref().map(|coming| (coming.name.clone(), coming.vintage.clone()));
            let part = if series.is_empty() && self.archive.store.removes() {
                coming.push(NewFile { partition: partition.clone(), file: None, seen, vintage });
                None
            } else {
                // Where files cannot be removed safely, a file without rows replaces it.
                let bytes = Bytes::from(part_file::to_bytes(&self.key, &asked, &series)?);
                let part = LedgerPart::of(&bytes, rows(&series) as u64);
                let file = self.archive.store.stage(&self.key.name, &name, bytes.into())?;
                coming.push(NewFile { partition: partition.clone(), file: Some(file), seen, vintage });
                Some(part)
            };
            self.ledger.pending.insert(partition, Pending::new(part, &windows, Some(at), named));
        }
        if !coming.is_empty() {
            self.save()?;
        }
        for NewFile { partition, file, seen, vintage } in coming {
            if let Some(vintage) = vintage {
                vintage.file.place(&Version::Absent)?;
            }
            match file {
                Some(file) => file.place(&seen).map(|_| ())?,
                None => self.archive.store.remove(&part_name(&self.key, &partition))?,
            }
            self.ledger.settle(&self.key, &partition, true);
        }
        self.save()
    }

    /// Completes a commit that its writer did not finish: the checksums show how far it came.
    pub(super) fn settle(&mut self) -> Result<(), ArchiveFault> {
        if self.ledger.pending.is_empty() && self.ledger.going.is_empty() {
            return Ok(());
        }
        for (partition, pending) in self.ledger.pending.clone() {
            let found = self.archive.store.read(&part_name(&self.key, &partition))?;
            let arrived = pending.is(found.as_ref());
            self.ledger.settle(&self.key, &partition, arrived);
            self.settle_vintage(pending.vintage)?;
            self.check(&partition)?;
        }
        self.drop_vintages()?;
        self.save()
    }

    /// Checks whether a partition's file is the one that the ledger names, repairs it if not, and returns what is
    /// there.
    fn check(&mut self, partition: &str) -> Result<CurrentFile, ArchiveFault> {
        let name = part_name(&self.key, partition);
        let known = self.ledger.parts.get(partition).cloned();
        let found = self.archive.store.read(&name)?;
        let found = match (found, &known) {
            (None, None) => return Ok(CurrentFile { good: None, seen: Version::Absent }),
            (Some(Found { bytes, version }), Some(known)) if known.is(&bytes) => {
                return Ok(CurrentFile { good: Some(bytes), seen: version });
            }
            (found, _) => found,
        };
        let is_known = known.is_some();
        if let Some(whole) = named(&self.key, partition).filter(|_| is_known) {
            self.ledger.forget(whole);
        }
        self.ledger.parts.remove(partition);
        let Some(found) = found else {
            self.aside.push(format!("{name}: the file was gone"));
            return Ok(CurrentFile { good: None, seen: Version::Absent });
        };
        // Damage on a disk keeps the length, and may hit what this version does not read and others do.
        if known.is_some_and(|known| known.bytes == found.bytes.len() as u64) {
            let seen = self.set_aside(&name, &found, "as long as it was written, and not the same")?;
            return Ok(CurrentFile { good: None, seen });
        }
        match part_file::examine(&self.key, &name, &found.bytes) {
            // Complete and of this key: a copy from elsewhere, or the ledger is older than the file.
            Ok((windows, rows)) => {
                let part = LedgerPart::of(&found.bytes, rows);
                self.ledger.parts.insert(partition.to_owned(), part);
                if is_known {
                    self.adopt_vintages()?;
                }
                self.ledger.ask(&self.key, &windows, None);
                Ok(CurrentFile { good: Some(found.bytes), seen: found.version })
            }
            Err(ArchiveFault::File { state: FileState::Damaged | FileState::Foreign, problem, .. }) => {
                let seen = self.set_aside(&name, &found, &problem)?;
                Ok(CurrentFile { good: None, seen })
            }
            Err(fault) => Err(fault),
        }
    }

    /// Rebuilds the ledger from the files, which name the windows they cover. Windows that were downloaded and empty
    /// are lost.
    fn rebuild(&mut self) -> Result<(), ArchiveFault> {
        let folder = self.key.folder();
        for name in self.archive.store.list(&folder)? {
            let partition = name.strip_prefix(&format!("{folder}/date="));
            let partition = partition.and_then(|rest| rest.strip_suffix("/part.parquet")).map(str::to_owned);
            if let Some(partition) = partition.filter(|partition| named(&self.key, partition).is_some()) {
                self.check(&partition)?;
            }
        }
        self.adopt_vintages()?;
        if self.ledger.parts.is_empty() && self.ledger.vintages.is_empty() { Ok(()) } else { self.save() }
    }
}
