//! What was asked and where it lies. A ledger names its key's files with their checksums, so that "asked and empty" is
//! told from "never asked", and a file that nobody committed from one that somebody did.
//!
//! A change goes in three steps: the ledger names the files that are coming, the files are put in place, the ledger takes
//! them for what is there. Whoever finds the first ledger knows by the checksums how far it came.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checksum::{sha256, xxh3};
use super::coverage::{add, gaps, remove};
use super::fault::{ArchiveFault, FileState};
use super::key::{ArchiveKey, is_key};
use super::known_since::{KnownBuckets, forget, known_of, note, shared};
use super::store::{Found, own};
use crate::clock::{UnixMicros, Window};

const FORMAT: &str = "marketpoints ledger";
/// Version of what ledgers look like. Since the second they say since when windows are known, and name vintages; since the
/// third they have a checksum of files that takes little of a read. Earlier ones are read, and written as the third.
const VERSION: u32 = 3;

/// A file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LedgerPart {
    pub(super) sha256: String,
    /// What reads compare; files of earlier ledgers have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    xxh3: Option<String>,
    pub(super) bytes: u64,
    pub(super) rows: u64,
}

impl LedgerPart {
    /// A file of so many rows.
    pub(super) fn of(bytes: &[u8], rows: u64) -> Self {
        Self { sha256: sha256(bytes), xxh3: Some(xxh3(bytes)), bytes: bytes.len() as u64, rows }
    }

    /// Whether a file holds these bytes, as far as a read looks.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.bytes == bytes.len() as u64
            && match &self.xxh3 {
                Some(known) => *known == xxh3(bytes),
                None => self.sha256 == sha256(bytes),
            }
    }
}

/// A file with what others took the place of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Vintage {
    pub(super) part: LedgerPart,
    /// When the archive learned otherwise.
    pub(super) replaced: UnixMicros,
    /// Whether what it held was dropped: a file without rows stands for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) dropped: bool,
}

/// A file that is coming.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    /// The new file; none where the old one goes.
    pub(super) part: Option<LedgerPart>,
    /// What it adds to what was asked.
    windows: Vec<(i64, i64)>,
    /// When that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<UnixMicros>,
    /// Name and file of what it takes the place of; put in place before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) vintage: Option<(String, Vintage)>,
}

/// One key's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeyLedger {
    format: String,
    version: u32,
    key: String,
    pub(super) source: String,
    /// The query without its window, as the wire spells it.
    pub(super) query: String,
    asked: Vec<(i64, i64)>,
    /// Since when what was asked is known, as far as that was noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    learned: Vec<(i64, i64, i64, i64)>,
    /// Files by partition.
    pub(super) parts: BTreeMap<String, LedgerPart>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) pending: BTreeMap<String, Pending>,
    /// Vintages by name, in the order in which they were replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) vintages: BTreeMap<String, Vintage>,
    /// Vintages whose files are being removed, or replaced by files without rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) going: Vec<String>,
    /// SHA-256 of this ledger with this field empty.
    check: String,
}

/// Name of a key's ledger.
pub(super) fn name(key: &str) -> String {
    own(&format!("ledger/{key}.json"))
}

/// The key whose ledger has that name; `None` for a name that this package does not give.
pub(super) fn key_of(name: &str) -> Option<&str> {
    let key = name.strip_prefix(&own("ledger/"))?.strip_suffix(".json")?;
    is_key(key).then_some(key)
}

/// Name of a key's file for a partition.
pub(super) fn part_name(key: &ArchiveKey, partition: &str) -> String {
    format!("{}/date={partition}/part.parquet", key.folder())
}

impl Pending {
    pub(super) fn new(
        part: Option<LedgerPart>,
        windows: &[Window],
        at: Option<UnixMicros>,
        vintage: Option<(String, Vintage)>,
    ) -> Self {
        Self { part, windows: pairs(windows), at, vintage }
    }

    pub(super) fn windows(&self) -> Vec<Window> {
        windows(&self.windows)
    }

    /// Whether what lies in the file's place is what was coming.
    pub(super) fn is(&self, found: Option<&Found>) -> bool {
        found.map(|found| sha256(&found.bytes)) == self.part.as_ref().map(|part| part.sha256.clone())
    }
}

impl KeyLedger {
    pub(super) fn new(key: &ArchiveKey) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            key: key.name.clone(),
            source: key.source.clone(),
            query: key.query.to_query_string(),
            asked: Vec::new(),
            learned: Vec::new(),
            parts: BTreeMap::new(),
            pending: BTreeMap::new(),
            vintages: BTreeMap::new(),
            going: Vec::new(),
            check: String::new(),
        }
    }

    /// Reads a ledger of the key with that name.
    pub(super) fn parse(key: &str, bytes: &[u8]) -> Result<Self, ArchiveFault> {
        let name = name(key);
        let fault = |state, problem: &str| Err(ArchiveFault::file(&name, state, problem));
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
            return fault(FileState::Damaged, "a damaged ledger; the next sync makes it anew from the data files");
        };
        if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return fault(FileState::Foreign, "not a ledger of this package; move it away");
        }
        if value.get("version").and_then(Value::as_u64).is_some_and(|version| version > u64::from(VERSION)) {
            return fault(FileState::Newer, "a ledger of a newer version of marketpoints; update this one");
        }
        match serde_json::from_value::<Self>(value) {
            Ok(ledger) if ledger.checksum() == ledger.check && ledger.key == key => Ok(ledger),
            Ok(ledger) if ledger.checksum() == ledger.check => fault(FileState::Foreign, "the ledger of another key"),
            _ => fault(FileState::Damaged, "a damaged ledger; the next sync makes it anew from the data files"),
        }
    }

    /// The ledger as it is written.
    pub(super) fn seal(&mut self) -> Vec<u8> {
        self.version = VERSION;
        self.check = self.checksum();
        serde_json::to_vec_pretty(self).unwrap_or_default() // texts and numbers: nothing that JSON cannot spell
    }

    fn checksum(&self) -> String {
        let bare = Self { check: String::new(), ..self.clone() };
        sha256(&serde_json::to_vec(&bare).unwrap_or_default())
    }

    /// The windows of bucket starts that were asked.
    pub(super) fn asked(&self) -> Vec<Window> {
        windows(&self.asked)
    }

    /// Adds to what was asked, at a moment, where that is known.
    pub(super) fn ask(&mut self, key: &ArchiveKey, more: &[Window], at: Option<UnixMicros>) {
        let (mut asked, mut learned) = (self.asked(), self.learned());
        for window in more {
            if let Some(at) = at {
                // What was asked before is known since then.
                for gap in gaps(&asked, *window) {
                    note(&mut learned, key, gap, at);
                }
            }
            add(&mut asked, *window);
        }
        self.set(&asked, &learned);
    }

    /// Takes a window out of what was asked.
    pub(super) fn forget(&mut self, window: Window) {
        let (mut asked, mut learned) = (self.asked(), self.learned());
        remove(&mut asked, window);
        forget(&mut learned, window);
        self.set(&asked, &learned);
    }

    /// Since when what was asked of some windows is known.
    pub(super) fn known(&self, windows: &[Window]) -> Vec<KnownBuckets> {
        known_of(&self.learned(), &shared(&self.asked(), windows))
    }

    fn learned(&self) -> Vec<KnownBuckets> {
        self.learned.iter().copied().map(KnownBuckets::of_numbers).collect()
    }

    fn set(&mut self, asked: &[Window], learned: &[KnownBuckets]) {
        self.asked = pairs(asked);
        self.learned = learned.iter().map(KnownBuckets::numbers).collect();
    }

    /// Until when vintages were dropped: what was known before nobody can tell any more.
    pub(super) fn dropped(&self) -> Option<UnixMicros> {
        self.vintages.values().filter(|vintage| vintage.dropped).map(|vintage| vintage.replaced).max()
    }

    /// Takes what is coming for what is there, or back. A vintage is put in place first: where the file arrived, it did.
    pub(super) fn settle(&mut self, key: &ArchiveKey, partition: &str, arrived: bool) {
        let Some(pending) = self.pending.remove(partition).filter(|_| arrived) else { return };
        self.ask(key, &pending.windows(), pending.at);
        self.vintages.extend(pending.vintage);
        match pending.part {
            Some(part) => self.parts.insert(partition.to_owned(), part),
            None => self.parts.remove(partition),
        };
    }
}

fn windows(pairs: &[(i64, i64)]) -> Vec<Window> {
    let mut set = Vec::new();
    for &(from, to) in pairs {
        add(&mut set, Window { from, to });
    }
    set
}

fn pairs(windows: &[Window]) -> Vec<(i64, i64)> {
    windows.iter().map(|window| (window.from, window.to)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PointsQuery;

    fn key() -> ArchiveKey {
        let query = PointsQuery { data_type: "T".into(), interval: Some("HOUR".into()), ..PointsQuery::default() };
        ArchiveKey::new("https://host", &query).unwrap()
    }

    fn state(bytes: &[u8]) -> FileState {
        match KeyLedger::parse(&key().name, bytes) {
            Err(ArchiveFault::File { state, .. }) => state,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ledger_reads_back_and_no_changed_byte_passes() {
        let key = key();
        let mut ledger = KeyLedger::new(&key);
        ledger.ask(&key, &[Window { from: 7_200, to: 10_800 }], None);
        ledger.ask(&key, &[Window { from: 0, to: 7_200 }], Some(UnixMicros(7)));
        let part = LedgerPart::of(b"a file", 1);
        ledger.parts.insert("1970-01-01".into(), part.clone());
        let vintage = Vintage { part: part.clone(), replaced: UnixMicros(9), dropped: false };
        ledger.vintages.insert("1".into(), Vintage { dropped: true, ..vintage.clone() });
        let pending =
            Pending::new(Some(part), &[Window { from: 0, to: 1 }], Some(UnixMicros(8)), Some(("2".into(), vintage)));
        ledger.pending.insert("1970-02-01".into(), pending);
        let bytes = ledger.seal();
        assert_eq!(KeyLedger::parse(&key.name, &bytes).unwrap(), ledger);
        assert_eq!(ledger.asked(), [Window { from: 0, to: 10_800 }]);
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 4;
            match KeyLedger::parse(&key.name, &changed) {
                Ok(read) => assert_eq!(read, ledger, "a space became another space"),
                Err(error) => assert!(matches!(error, ArchiveFault::File { .. })),
            }
            assert!(KeyLedger::parse(&key.name, &bytes[..place]).is_err());
        }
    }

    #[test]
    fn foreign_newer_and_damaged_ledgers_are_told_apart() {
        assert_eq!(state(b""), FileState::Damaged);
        assert_eq!(state(b"{}"), FileState::Foreign);
        assert_eq!(state(br#"{"format": "marketpoints ledger", "version": 4, "new": []}"#), FileState::Newer);
        assert_eq!(state(br#"{"format": "marketpoints ledger", "version": 1}"#), FileState::Damaged);
        let other = PointsQuery { data_type: "U".into(), interval: Some("HOUR".into()), ..PointsQuery::default() };
        assert_eq!(state(&KeyLedger::new(&ArchiveKey::new("s", &other).unwrap()).seal()), FileState::Foreign);
    }
}
