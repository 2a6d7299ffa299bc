//! Vintages: files of the buckets that a service changed, with their former rows, since when these were known and when
//! they were replaced. They are outside of the data folders, so that no reader takes them for data, and a ledger names
//! them in the order in which they were replaced.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::coverage::add;
use super::fault::{ArchiveFault, FileState};
use super::key::ArchiveKey;
use super::known_since::{KnownBuckets, shared};
use super::ledger::{KeyLedger, LedgerPart, Vintage};
use super::part_file::{PartFileKind, bytes_of, contents, examine_of};
use super::revision::revisions;
use super::store::own;
use crate::clock::{UnixMicros, Window};
use crate::columns::Series;

/// A vintage's metadata.
#[derive(Serialize, Deserialize)]
struct VintageInfo {
    replaced: UnixMicros,
    /// Its windows, and since when they were known.
    known: Vec<(i64, i64, i64, i64)>,
}

/// The folder of a key's vintages.
pub(super) fn folder(key: &ArchiveKey) -> String {
    own(&format!("vintages/{}", key.name))
}

/// The file of that name.
pub(super) fn file(key: &ArchiveKey, name: &str) -> String {
    format!("{}/{name}.vintage", folder(key))
}

/// The name of a vintage from its file's; `None` for another form.
pub(super) fn name_of<'a>(key: &ArchiveKey, file: &'a str) -> Option<&'a str> {
    let name = file.strip_prefix(&folder(key))?.strip_prefix('/')?.strip_suffix(".vintage")?;
    number(name).map(|_| name)
}

/// Names ascend in the order in which vintages were replaced, and end in their partition.
pub(super) fn name(number: u64, partition: &str) -> String {
    format!("{number:010}-{partition}")
}

/// The part of a name before the partition.
pub(super) fn number(name: &str) -> Option<u64> {
    let (number, _) = name.split_once('-')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

/// The partition in a name.
pub(super) fn partition(name: &str) -> &str {
    name.split_once('-').map_or("", |(_, partition)| partition)
}

/// The first unused number of a ledger's vintages.
pub(super) fn next_number(ledger: &KeyLedger) -> u64 {
    let names = ledger.vintages.keys().chain(&ledger.going);
    names.filter_map(|name| number(name)).max().map_or(1, |last| last + 1)
}

/// A vintage and its file. Without windows it replaces one that was dropped.
pub(super) fn make(
    key: &ArchiveKey,
    replaced: UnixMicros,
    known: &[KnownBuckets],
    series: &[Series],
) -> Result<(Vintage, Vec<u8>), ArchiveFault> {
    let about = VintageInfo { replaced, known: known.iter().map(KnownBuckets::numbers).collect() };
    let bytes = Bytes::from(bytes_of(PartFileKind::Vintage, key, &about, series)?);
    let rows = series.iter().map(|one| one.len() as u64).sum();
    let part = LedgerPart::of(&bytes, rows);
    Ok((Vintage { part, replaced, dropped: known.is_empty() }, bytes.into()))
}

/// Since when the windows of a file whose checksum is right were known, and their rows.
pub(super) fn open(path: &str, bytes: Bytes) -> Result<(Vec<KnownBuckets>, Vec<Series>), ArchiveFault> {
    let (about, series) = contents::<VintageInfo>(path, bytes, None)?;
    Ok((about.known.into_iter().map(KnownBuckets::of_numbers).collect(), series))
}

/// The metadata of a file in unknown state, if it is a complete vintage of this key.
pub(super) fn examine(key: &ArchiveKey, path: &str, bytes: &Bytes) -> Result<Vintage, ArchiveFault> {
    let (about, rows) = examine_of::<VintageInfo>(PartFileKind::Vintage, key, path, bytes)?;
    let part = LedgerPart::of(bytes, rows);
    Ok(Vintage { part, replaced: about.replaced, dropped: about.known.is_empty() })
}

/// The error for a file that is not what the ledger names. Its content cannot be downloaded again.
pub(super) fn strange(key: &ArchiveKey, path: &str, bytes: Option<&Bytes>) -> ArchiveFault {
    let lost = "what it held cannot be asked again; compact() of a later time drops it";
    let Some(bytes) = bytes else {
        return ArchiveFault::file(path, FileState::Missing, format!("the file is gone, and {lost}"));
    };
    match examine(key, path, bytes) {
        Err(ArchiveFault::File { path, state: FileState::Damaged, problem }) => {
            ArchiveFault::file(&path, FileState::Damaged, format!("{problem}, and {lost}"))
        }
        Err(fault) => fault,
        Ok(_) => {
            ArchiveFault::file(path, FileState::Damaged, format!("not the file that the ledger names, and {lost}"))
        }
    }
}

/// The buckets of some windows in which two readings differ.
pub(super) fn changed_buckets(
    key: &ArchiveKey,
    windows: &[Window],
    before: &[Series],
    after: &[Series],
) -> Vec<Window> {
    let mut changed = Vec::new();
    for revision in revisions(before, after) {
        let start = key.grid().floor(revision.time.second());
        add(&mut changed, Window::between(start, key.grid().end(start)));
    }
    shared(&changed, windows)
}
