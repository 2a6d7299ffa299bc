//! The archive's own description: which service its data are from. Ledgers and data files name it too; if the
//! description is lost or damaged, they are used, and the next writer writes it again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::archive::Archive;
use super::checksum::sha256;
use super::fault::{ArchiveFault, FileState};
use super::key::VERSION;
use super::ledger::{self, KeyLedger};
use super::part_file;
use super::store::{Found, Version, own};

const FORMAT: &str = "marketpoints archive";
/// How often writing is tried again after another writer was faster.
const TRIES: usize = 5;

#[derive(Serialize, Deserialize)]
struct ArchiveInfo {
    format: String,
    version: u32,
    source: String,
    /// SHA-256 of the rest; archives of the first versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<String>,
}

impl ArchiveInfo {
    fn new(source: &str) -> Self {
        let check = sha256(format!("{FORMAT}\n{VERSION}\n{source}").as_bytes());
        Self { format: FORMAT.to_owned(), version: VERSION, source: source.to_owned(), check: Some(check) }
    }
}

/// What was found in place of the description.
enum FoundSource {
    /// Nothing.
    Absent,
    /// Something that cannot be parsed.
    Damaged(Found),
    /// The service's name, and whether the checksum is right.
    Source { source: String, is_checked: bool, found: Found },
}

fn file() -> String {
    own("archive.json")
}

impl Archive {
    /// Which service the data are from; `None` if there are none. If the description is lost or damaged, it is taken
    /// from ledgers and data files.
    ///
    /// # Errors
    /// [`ArchiveFault::File`] if the description belongs to another program or a newer version, or is lost while the
    /// data are of several services.
    pub fn source(&self) -> Result<Option<String>, ArchiveFault> {
        match self.found_source()? {
            FoundSource::Source { source, is_checked: true, .. } => Ok(Some(source)),
            // Without a checksum the ledgers are more reliable, if they agree.
            FoundSource::Source { source, .. } => Ok(Some(self.known_source().ok().flatten().unwrap_or(source))),
            FoundSource::Absent | FoundSource::Damaged(_) => self.known_source(),
        }
    }

    /// Refuses another service than that of the data. An archive whose service is unknown refuses none yet.
    ///
    /// # Errors
    /// [`ArchiveFault::Source`].
    pub fn check_source(&self, source: &str) -> Result<(), ArchiveFault> {
        match self.source() {
            Ok(Some(holds)) if holds != source => Err(self.of_another(holds, source)),
            // A damaged description is repaired, or reported, by the next writer.
            _ => Ok(()),
        }
    }

    /// What is wrong with the description, if anything.
    ///
    /// # Errors
    /// As [`Archive::source`].
    pub(super) fn about_problem(&self) -> Result<(), ArchiveFault> {
        match self.found_source()? {
            FoundSource::Damaged(_) => {
                let problem =
                    "damaged; the data are read all the same, and the next sync writes it anew from the ledgers";
                Err(ArchiveFault::file(&file(), FileState::Damaged, problem))
            }
            FoundSource::Absent | FoundSource::Source { .. } => Ok(()),
        }
    }

    fn found_source(&self) -> Result<FoundSource, ArchiveFault> {
        let Some(found) = self.store.read(&file())? else { return Ok(FoundSource::Absent) };
        let Ok(value) = serde_json::from_slice::<Value>(&found.bytes) else { return Ok(FoundSource::Damaged(found)) };
        let fault = |state, problem: &str| Err(ArchiveFault::file(&file(), state, problem));
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        // By its checksum it is ours and of this version, even if a bit has flipped elsewhere.
        let is_right =
            |source: &str| text("check").map(|check| ArchiveInfo::new(source).check.as_deref() == Some(check));
        let is_ours = text("source").and_then(is_right) == Some(true);
        if value.get("format").and_then(Value::as_str).is_some_and(|format| format != FORMAT) {
            if is_ours {
                return Ok(FoundSource::Damaged(found));
            }
            return fault(FileState::Foreign, "not of this package; use another folder or prefix");
        }
        if value.get("version").and_then(Value::as_f64).is_some_and(|version| version > f64::from(VERSION)) {
            if is_ours {
                return Ok(FoundSource::Damaged(found));
            }
            return fault(FileState::Newer, "an archive of a newer version of marketpoints; update this one");
        }
        Ok(match serde_json::from_value::<ArchiveInfo>(value) {
            Ok(about) if about.version == VERSION && (is_ours || about.check.is_none()) => {
                FoundSource::Source { source: about.source, is_checked: is_ours, found }
            }
            _ => FoundSource::Damaged(found),
        })
    }

    /// The service named by the ledgers, or else by the data files; `None` if there are none.
    fn known_source(&self) -> Result<Option<String>, ArchiveFault> {
        let mut known = BTreeSet::new();
        for name in self.ledgers()? {
            let found = match self.store.read(&ledger::name(&name)) {
                Ok(Some(found)) => found,
                // A file that is not a ledger says nothing.
                Ok(None) | Err(ArchiveFault::File { .. }) => continue,
                Err(fault) => return Err(fault),
            };
            known.extend(KeyLedger::parse(&name, &found.bytes).ok().map(|ledger| ledger.source));
        }
        if known.is_empty() {
            // One file of each query is enough.
            let mut folders = BTreeSet::new();
            for name in self.store.list("")?.into_iter().filter(|name| name.starts_with("type=")) {
                let folder = name.rsplitn(3, '/').last().unwrap_or_default().to_owned();
                if folders.contains(&folder) {
                    continue;
                }
                let found = self.store.read(&name)?;
                if let Some(source) = found.and_then(|found| part_file::source(&found.bytes)) {
                    known.insert(source);
                    folders.insert(folder);
                }
            }
        }
        if known.len() > 1 {
            let names = known.into_iter().collect::<Vec<_>>().join(", ");
            let problem = format!(
                "it is lost or damaged, and the data are of several services ({names}); move the ledgers and files of all \
                 but one into another archive"
            );
            return Err(ArchiveFault::file(&file(), FileState::Damaged, problem));
        }
        Ok(known.pop_first())
    }

    /// Writes the service's name, also if it is lost or damaged; returns what was repaired. `owner` is the holder of
    /// the lock.
    pub(super) fn claim(&self, source: &str, owner: &str) -> Result<Option<String>, ArchiveFault> {
        for _ in 0..TRIES {
            let (stands, seen) = match self.found_source()? {
                FoundSource::Source { source: holds, is_checked: true, .. } if holds == source => return Ok(None),
                FoundSource::Source { source: holds, found, .. } if holds == source => {
                    // Written by a version without checksums: it gets one now, unless another writer is faster.
                    return match self.write_about(source, owner, &found.version) {
                        Ok(()) | Err(ArchiveFault::Conflict { .. }) => Ok(None),
                        Err(fault) => Err(fault),
                    };
                }
                // A flipped bit makes another name: then the data are more reliable.
                FoundSource::Source { is_checked: false, found, .. }
                    if self.known_source()?.as_deref() == Some(source) =>
                {
                    (Some(found.bytes), found.version)
                }
                FoundSource::Source { source: holds, .. } => return Err(self.of_another(holds, source)),
                FoundSource::Damaged(found) => (Some(found.bytes), found.version),
                FoundSource::Absent => (None, Version::Absent),
            };
            let known = self.known_source()?;
            let mended = match &stands {
                Some(_) => Some("damaged; written anew"),
                None => known.as_ref().map(|_| "the file was gone; written anew"),
            };
            let mut note = mended.map(|what| format!("{}: {what}", file()));
            if let Some(bytes) = stands {
                // A copy, so that the description is always there: other writers may read it at this moment.
                let aside = own(&format!("quarantine/archive.json.{}", &sha256(&bytes)[..16]));
                self.store.create(owner, &aside, bytes.to_vec())?;
                note = note.map(|note| format!("{note}; what stood there is in {aside}"));
            }
            let holds = known.unwrap_or_else(|| source.to_owned());
            match self.write_about(&holds, owner, &seen) {
                Ok(()) if holds == source => return Ok(note),
                Ok(()) => return Err(self.of_another(holds, source)),
                Err(ArchiveFault::Conflict { .. }) => {} // another writer was faster
                Err(fault) => return Err(fault),
            }
        }
        Err(ArchiveFault::Conflict { path: file() })
    }

    fn write_about(&self, source: &str, owner: &str, seen: &Version) -> Result<(), ArchiveFault> {
        let bytes = serde_json::to_vec_pretty(&ArchiveInfo::new(source))
            .map_err(|error| ArchiveFault::access(&file(), &error))?;
        if *seen != Version::Absent {
            return self.store.stage(owner, &file(), bytes)?.place(seen).map(|_| ());
        }
        if self.store.create(owner, &file(), bytes)? { Ok(()) } else { Err(ArchiveFault::Conflict { path: file() }) }
    }

    fn of_another(&self, holds: String, wanted: &str) -> ArchiveFault {
        ArchiveFault::Source { path: self.path().display().to_string(), holds, wanted: wanted.to_owned() }
    }
}
