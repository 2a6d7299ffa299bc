//! Ledgers: what was downloaded and in which files it is. A ledger names its key's files with their checksums, so that
//! "downloaded and empty" differs from "never downloaded", and committed files from others.
//!
//! A change has three steps: the ledger names the pending files, the files are put in place, the ledger lists them as
//! current. After a crash, the checksums show how far a change came.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checksum::{sha256, xxh3};
use super::coverage::{add, gaps, remove};
use super::fault::{ArchiveFault, FileState};
use super::key::{ArchiveKey, is_key};
use super::known_since::{KnownBuckets, forget, known_of, note, shared};
use super::store::{Found, own};
use crate::archive::parquet_ranges::FileEnd;
use crate::clock::{UnixMicros, Window};

const FORMAT: &str = "marketpoints ledger";
/// Version of the format. Version 2 added the times since when windows are known, and vintages; version 3 added a
/// checksum of files that is fast to verify, version 4 one of their ends, which name checksums of the rest. Earlier
/// versions are read, and written as version 4.
const VERSION: u32 = 4;

/// A file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LedgerPart {
    pub(super) sha256: String,
    /// The checksum that reads verify; files of earlier ledgers have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    xxh3: Option<String>,
    /// The file's end; files of earlier ledgers, and vintages, have none and are read completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<EndChecksum>,
    pub(super) bytes: u64,
    pub(super) rows: u64,
}

/// The end of a file, which says what the file holds and names the checksums of its column chunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndChecksum {
    xxh3: String,
    pub(super) bytes: u64,
}

impl EndChecksum {
    /// Whether a file ends in these bytes.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.bytes == bytes.len() as u64 && self.xxh3 == xxh3(bytes)
    }
}

impl LedgerPart {
    /// A file of so many rows.
    pub(super) fn of(bytes: &Bytes, rows: u64) -> Self {
        let end = FileEnd::length_of(bytes).map(|length| {
            let end = &bytes[bytes.len() - length as usize..];
            EndChecksum { xxh3: xxh3(end), bytes: length }
        });
        Self { sha256: sha256(bytes), xxh3: Some(xxh3(bytes)), end, bytes: bytes.len() as u64, rows }
    }

    /// Whether a file has these bytes, as far as a read verifies.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.bytes == bytes.len() as u64
            && match &self.xxh3 {
                Some(known) => *known == xxh3(bytes),
                None => self.sha256 == sha256(bytes),
            }
    }
}

/// A file of values that were replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Vintage {
    pub(super) part: LedgerPart,
    /// When the archive received the new values.
    pub(super) replaced: UnixMicros,
    /// Whether its values were dropped, so that a file without rows replaces it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) dropped: bool,
}

/// A pending file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    /// The new file; `None` if the old one is removed.
    pub(super) part: Option<LedgerPart>,
    /// The windows that it adds.
    windows: Vec<(i64, i64)>,
    /// The time of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<UnixMicros>,
    /// Name and file of the vintage that it replaces, which is put in place first.
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
    /// The query without its window, as on the wire.
    pub(super) query: String,
    asked: Vec<(i64, i64)>,
    /// Since when windows are known, as far as recorded.
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

/// The key of a ledger's file name; `None` if it has another form.
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

    /// Whether the file in place is the pending one.
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
        self.seal_as(VERSION)
    }

    /// The ledger as that version wrote it.
    pub(super) fn seal_as(&mut self, version: u32) -> Vec<u8> {
        self.version = version;
        self.check = self.checksum();
        serde_json::to_vec_pretty(self).unwrap_or_default() // strings and numbers only, so this cannot fail
    }

    fn checksum(&self) -> String {
        let bare = Self { check: String::new(), ..self.clone() };
        sha256(&serde_json::to_vec(&bare).unwrap_or_default())
    }

    /// The windows of bucket starts that were downloaded.
    pub(super) fn asked(&self) -> Vec<Window> {
        windows(&self.asked)
    }

    /// Adds windows, downloaded at a moment if that is known.
    pub(super) fn ask(&mut self, key: &ArchiveKey, more: &[Window], at: Option<UnixMicros>) {
        let (mut asked, mut learned) = (self.asked(), self.learned());
        for window in more {
            if let Some(at) = at {
                // Windows that were downloaded before keep their moment.
                for gap in gaps(&asked, *window) {
                    note(&mut learned, key, gap, at);
                }
            }
            add(&mut asked, *window);
        }
        self.set(&asked, &learned);
    }

    /// Removes a window.
    pub(super) fn forget(&mut self, window: Window) {
        let (mut asked, mut learned) = (self.asked(), self.learned());
        remove(&mut asked, window);
        forget(&mut learned, window);
        self.set(&asked, &learned);
    }

    /// Since when some windows are known.
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

    /// Up to when vintages were dropped: what was known before is lost.
    pub(super) fn dropped(&self) -> Option<UnixMicros> {
        self.vintages.values().filter(|vintage| vintage.dropped).map(|vintage| vintage.replaced).max()
    }

    /// Completes or undoes the pending files. A vintage is put in place first, so if the file arrived, so did the
    /// vintage.
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
        let part = LedgerPart::of(&Bytes::from_static(b"a file"), 1);
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
        assert_eq!(state(br#"{"format": "marketpoints ledger", "version": 5, "new": []}"#), FileState::Newer);
        assert_eq!(state(br#"{"format": "marketpoints ledger", "version": 1}"#), FileState::Damaged);
        let other = PointsQuery { data_type: "U".into(), interval: Some("HOUR".into()), ..PointsQuery::default() };
        assert_eq!(state(&KeyLedger::new(&ArchiveKey::new("s", &other).unwrap()).seal()), FileState::Foreign);
    }
}
