//! Verifies an archive: what it contains, and whether every file is what was written.

use std::collections::BTreeSet;

use super::archive::Archive;
use super::checksum::sha256;
use super::fault::{ArchiveFault, FileState};
use super::key::ArchiveKey;
use super::ledger::{self, KeyLedger, part_name};
use super::store::own;
use super::vintage;
use crate::clock::Window;
use crate::protocol::PointsQuery;

/// How often a key is checked again while someone writes it.
const LOOKS: usize = 100;

/// The archived data of one key.
#[derive(Debug, Clone)]
pub struct Content {
    /// The key.
    pub key: ArchiveKey,
    /// The windows of bucket starts that were downloaded.
    pub windows: Vec<Window>,
    /// Rows in its files.
    pub rows: u64,
    /// Size of its files.
    pub bytes: u64,
    /// Number of its files.
    pub files: usize,
}

/// A file that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The file's path within the archive.
    pub path: String,
    /// Its state.
    pub state: FileState,
    /// What is wrong, and the remedy.
    pub problem: String,
}

/// The result of checking every file.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Files whose checksum is right.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
    /// All other files.
    pub problems: Vec<FileProblem>,
}

impl Archive {
    /// The archived data by key, and files among the ledgers that do not belong to this archive: they are left
    /// unchanged.
    ///
    /// # Errors
    /// [`ArchiveFault::File`] for a ledger that is not what was written.
    pub fn contents(&self) -> Result<(Vec<Content>, Vec<FileProblem>), ArchiveFault> {
        let mut contents = Vec::new();
        let mut foreign = self.strangers()?;
        let names = self.ledgers()?;
        let source = self.source_of(&names);
        for name in names {
            let (key, ledger) = match self.open_ledger(&name, &source) {
                Err(ArchiveFault::File { path, state: FileState::Foreign, problem }) => {
                    foreign.push(FileProblem { path, state: FileState::Foreign, problem });
                    continue;
                }
                opened => opened?,
            };
            let ledger = self.settled(&key, ledger)?;
            let windows = ledger.asked();
            let sum = |of: fn(&ledger::LedgerPart) -> u64| ledger.parts.values().map(of).sum();
            let (rows, bytes) = (sum(|part| part.rows), sum(|part| part.bytes));
            contents.push(Content { key, windows, rows, bytes, files: ledger.parts.len() });
        }
        contents.sort_by_key(|content| content.key.folder());
        Ok((contents, foreign))
    }

    /// Reads every file and compares checksums. Changes nothing.
    ///
    /// # Errors
    /// [`ArchiveFault::Access`] when the folder cannot be read. Problems of files are in the result.
    pub fn verify(&self) -> Result<Verification, ArchiveFault> {
        let mut report = Verification { problems: self.strangers()?, ..Verification::default() };
        let mut known = BTreeSet::new();
        if let Err(fault) = self.about_problem() {
            report.note(fault)?;
        }
        let names = self.ledgers()?;
        let source = self.source_of(&names);
        for name in names {
            match self.open_ledger(&name, &source) {
                Ok((key, ledger)) => self.look_in_peace(&key, ledger, &mut report, &mut known)?,
                Err(fault) => report.note(fault)?,
            }
        }
        let vintages = own("vintages");
        let is_ours = |name: &String| name.starts_with("type=") || name.starts_with(&vintages);
        let mut unknown = self.store.list("")?;
        unknown.retain(|name| is_ours(name) && !known.contains(name));
        if !unknown.is_empty() {
            // A writer may have put them in place since its ledger was read.
            let names = self.ledgers()?;
            let source = self.source_of(&names);
            for name in names {
                if let Ok((key, ledger)) = self.open_ledger(&name, &source) {
                    known.extend(names_of(&key, &ledger));
                }
            }
        }
        for name in unknown {
            if !known.contains(&name) {
                if let Err(fault) = self.store.check(&name) {
                    report.note(fault)?;
                    continue;
                }
                let problem =
                    "no ledger names it; a sync that downloads its dates takes it in or sets it aside".to_owned();
                report.problems.push(FileProblem { path: name, state: FileState::Foreign, problem });
            }
        }
        Ok(report)
    }

    /// As [`Archive::look`], repeated while a writer changes the ledger.
    fn look_in_peace(
        &self,
        key: &ArchiveKey,
        mut ledger: KeyLedger,
        report: &mut Verification,
        known: &mut BTreeSet<String>,
    ) -> Result<(), ArchiveFault> {
        let mut own = Verification::default();
        for _ in 0..LOOKS {
            own = Verification::default();
            self.look(key, &ledger, &mut own)?;
            let now = if own.problems.is_empty() { None } else { self.ledger(&key.name)? };
            let Some((now, _)) = now.filter(|(now, _)| *now != ledger) else { break };
            ledger = now;
        }
        report.files += own.files;
        report.bytes += own.bytes;
        report.problems.extend(own.problems);
        known.extend(names_of(key, &ledger));
        Ok(())
    }

    fn look(&self, key: &ArchiveKey, ledger: &KeyLedger, report: &mut Verification) -> Result<(), ArchiveFault> {
        for (partition, part) in &ledger.parts {
            let name = part_name(key, partition);
            let bytes = match self.store.read(&name) {
                Ok(found) => found.map(|found| found.bytes),
                Err(fault) => {
                    report.note(fault)?;
                    continue;
                }
            };
            let found = bytes.as_ref().map(|bytes| sha256(bytes));
            let next = ledger.pending.get(partition).and_then(|next| next.part.as_ref()).map(|part| &part.sha256);
            let goes = ledger.pending.get(partition).is_some_and(|next| next.part.is_none());
            match found {
                None if goes => {}
                Some(found) if found == part.sha256 || Some(&found) == next => {
                    report.files += 1;
                    report.bytes += bytes.map_or(0, |bytes| bytes.len() as u64);
                }
                _ => report.note(self.strange(key, &name, Some(part), bytes.as_ref()))?,
            }
        }
        for (name, vintage) in ledger.vintages.iter().filter(|(name, _)| !ledger.going.contains(name)) {
            let file = vintage::file(key, name);
            match self.store.read(&file) {
                Ok(Some(found)) if sha256(&found.bytes) == vintage.part.sha256 => {
                    report.files += 1;
                    report.bytes += found.bytes.len() as u64;
                }
                Ok(found) => report.note(vintage::strange(key, &file, found.map(|found| found.bytes).as_ref()))?,
                Err(fault) => report.note(fault)?,
            }
        }
        Ok(())
    }

    pub(super) fn ledgers(&self) -> Result<Vec<String>, ArchiveFault> {
        let names = self.store.list(&own("ledger"))?;
        Ok(names.iter().filter_map(|name| ledger::key_of(name)).map(str::to_owned).collect())
    }

    /// Files among the ledgers whose names have another form.
    fn strangers(&self) -> Result<Vec<FileProblem>, ArchiveFault> {
        let names = self.store.list(&own("ledger"))?.into_iter().filter(|name| ledger::key_of(name).is_none());
        let problem = "not a ledger of this package, and left alone; move it away";
        let stranger = |path| FileProblem { path, state: FileState::Foreign, problem: problem.to_owned() };
        Ok(names.map(stranger).collect())
    }

    /// The service of the ledgers' data, determined once for all of them: each may have to be read for it.
    fn source_of(&self, ledgers: &[String]) -> Result<String, ArchiveFault> {
        if ledgers.is_empty() { Ok(String::new()) } else { self.source().map(Option::unwrap_or_default) }
    }

    fn open_ledger(
        &self,
        name: &str,
        source: &Result<String, ArchiveFault>,
    ) -> Result<(ArchiveKey, KeyLedger), ArchiveFault> {
        let path = ledger::name(name);
        let gone = || ArchiveFault::file(&path, FileState::Missing, "the ledger is gone");
        let (ledger, _) = self.ledger(name)?.ok_or_else(gone)?;
        let source = source.as_ref().map_err(Clone::clone)?;
        let key = PointsQuery::parse(&ledger.query).ok().and_then(|query| ArchiveKey::new(source, &query));
        match key {
            Some(key) if key.name == name => Ok((key, ledger)),
            _ => Err(ArchiveFault::file(&path, FileState::Foreign, "the ledger of another archive; move it away")),
        }
    }
}

/// Every file that a ledger names, including pending ones.
fn names_of(key: &ArchiveKey, ledger: &KeyLedger) -> Vec<String> {
    let parts = ledger.parts.keys().chain(ledger.pending.keys()).map(|partition| part_name(key, partition));
    let coming = ledger.pending.values().filter_map(|next| next.vintage.as_ref()).map(|(name, _)| name);
    let vintages = ledger.vintages.keys().chain(&ledger.going).chain(coming).map(|name| vintage::file(key, name));
    parts.chain(vintages).collect()
}

impl Verification {
    fn note(&mut self, fault: ArchiveFault) -> Result<(), ArchiveFault> {
        match fault {
            ArchiveFault::File { path, state, problem } => self.problems.push(FileProblem { path, state, problem }),
            other => return Err(other),
        }
        Ok(())
    }
}
