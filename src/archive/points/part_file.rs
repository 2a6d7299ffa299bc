//! Data files: series as Parquet with metadata that say what the file holds and whether it is complete.

use std::collections::HashSet;

use bytes::Bytes;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use sha2::{Digest, Sha256};

use super::fault::{ArchiveFault, FileState};
use super::key::{ArchiveKey, VERSION};
use super::pack::{PackedSeries, pack, unpack};
use crate::archive::file_bytes::FileBytes;
use crate::archive::parquet_read::{metadata_of, table_of};
use crate::archive::parquet_write::{parquet_bytes, parquet_bytes_with_checksums};
use crate::archive::table::{ContentHash, Metadata, Table};
use crate::clock::Window;
use crate::columns::Series;

const FORMAT: &str = "marketpoints.format";
const VERSION_NAME: &str = "marketpoints.version";
const KEY: &str = "marketpoints.key";
const SOURCE: &str = "marketpoints.source";
const QUERY: &str = "marketpoints.query";
const WINDOWS: &str = "marketpoints.windows";
const SERIES: &str = "marketpoints.series";
const CONTENT: &str = "marketpoints.content_sha256";
const MAGIC: &[u8] = b"PAR1";

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartFileKind {
    /// Data.
    Part,
    /// Data that were replaced.
    Vintage,
}

impl PartFileKind {
    const fn format(self) -> &'static str {
        match self {
            Self::Part => "points archive",
            Self::Vintage => "points vintage",
        }
    }
}

/// The bytes of a file with these series, which covers these windows.
pub(super) fn to_bytes(key: &ArchiveKey, windows: &[Window], series: &[Series]) -> Result<Vec<u8>, ArchiveFault> {
    let windows: Vec<(i64, i64)> = windows.iter().map(|window| (window.from, window.to)).collect();
    bytes_of(PartFileKind::Part, key, &windows, series)
}

/// The bytes of a file with these series and their identities.
pub(super) fn bytes_of(
    kind: PartFileKind,
    key: &ArchiveKey,
    windows: &impl Serialize,
    series: &[Series],
) -> Result<Vec<u8>, ArchiveFault> {
    let (table, packed) = pack(series);
    let spell = |error: serde_json::Error| ArchiveFault::Content(format!("{}: {error}", key.label()));
    let windows = serde_json::to_string(windows).map_err(spell)?;
    let series = serde_json::to_string(&packed).map_err(spell)?;
    let content = content(key, &windows, &series, &table);
    let pairs = [
        (FORMAT, kind.format()),
        (VERSION_NAME, &VERSION.to_string()),
        (KEY, &key.name),
        (SOURCE, &key.source),
        (QUERY, &key.query.to_query_string()),
        (WINDOWS, &windows),
        (SERIES, &series),
        (CONTENT, &content),
    ];
    let metadata = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    // Vintages are always read completely.
    let bytes = match kind {
        PartFileKind::Part => parquet_bytes_with_checksums(&table, &metadata),
        PartFileKind::Vintage => parquet_bytes(&table, &metadata),
    };
    bytes.map_err(|error| ArchiveFault::Content(format!("{}: {error}", key.label())))
}

/// The series of a file whose checksum is right; if only some columns are `wanted`, others may be left out.
pub(super) fn series(
    path: &str,
    bytes: impl Into<FileBytes>,
    wanted: Option<&[String]>,
) -> Result<Vec<Series>, ArchiveFault> {
    contents::<IgnoredAny>(path, bytes, wanted).map(|(_, series)| series)
}

/// The windows of a file whose checksum is right, and its series.
pub(super) fn contents<W: DeserializeOwned>(
    path: &str,
    bytes: impl Into<FileBytes>,
    wanted: Option<&[String]>,
) -> Result<(W, Vec<Series>), ArchiveFault> {
    let damaged = |problem: String| ArchiveFault::file(path, FileState::Damaged, problem);
    let silent = || damaged("it does not say what it holds".to_owned());
    let bytes = bytes.into();
    let metadata = metadata_of(&bytes).map_err(damaged)?;
    let windows = find(&metadata, WINDOWS).and_then(|text| serde_json::from_str(text).ok()).ok_or_else(silent)?;
    let packed = packed(&metadata).ok_or_else(silent)?;
    let packed: Vec<PackedSeries> = packed.into_iter().map(|one| one.narrowed(wanted)).collect();
    let names: HashSet<&str> = packed.iter().flat_map(PackedSeries::file_columns).collect();
    let (table, _) = table_of(bytes, |name| names.contains(name)).map_err(damaged)?;
    Ok((windows, unpack(table, &packed).map_err(damaged)?))
}

/// The windows and the number of rows of a file in unknown state, if it is a complete file of this key.
pub(super) fn examine(key: &ArchiveKey, path: &str, bytes: &Bytes) -> Result<(Vec<Window>, u64), ArchiveFault> {
    let (windows, rows) = examine_of::<Vec<(i64, i64)>>(PartFileKind::Part, key, path, bytes)?;
    Ok((windows.into_iter().map(|(from, to)| Window { from, to }).collect(), rows))
}

/// The windows and the number of rows of a file in unknown state, if it is a complete file of this kind and key.
pub(super) fn examine_of<W: DeserializeOwned>(
    kind: PartFileKind,
    key: &ArchiveKey,
    path: &str,
    bytes: &Bytes,
) -> Result<(W, u64), ArchiveFault> {
    let fault = |state, problem: &str| Err(ArchiveFault::file(path, state, problem));
    if !bytes.starts_with(MAGIC) && !bytes.is_empty() {
        return fault(FileState::Foreign, "not a Parquet file; move it away");
    }
    let Ok(metadata) = metadata_of(bytes) else {
        let problem = if bytes.is_empty() { "the file is empty" } else { "the file is cut short or damaged" };
        return fault(FileState::Damaged, problem);
    };
    if find(&metadata, FORMAT) != Some(kind.format()) {
        return fault(FileState::Foreign, "a Parquet file of another program; move it away");
    }
    let version = find(&metadata, VERSION_NAME).and_then(|text| text.parse::<u32>().ok());
    if version.is_some_and(|version| version > VERSION) {
        return fault(FileState::Newer, "written by a newer version of marketpoints; update this one");
    }
    if find(&metadata, KEY) != Some(&key.name) {
        return fault(FileState::Foreign, "the file of another query or another archive; move it away");
    }
    let damaged = || ArchiveFault::file(path, FileState::Damaged, "the file is damaged");
    let (table, _) = table_of(bytes.clone(), |_| true).map_err(|_| damaged())?;
    let (windows, series) = (find(&metadata, WINDOWS).unwrap_or_default(), find(&metadata, SERIES).unwrap_or_default());
    if find(&metadata, CONTENT) != Some(&content(key, windows, series, &table)) {
        return Err(damaged());
    }
    // As a read reads it: what it does not understand is no data either.
    let (windows, _) = contents(path, bytes.clone(), None)?;
    Ok((windows, table.first().map_or(0, |(_, column)| column.len() as u64)))
}

/// The service of a file's data; `None` if the file does not say.
pub(super) fn source(bytes: &Bytes) -> Option<String> {
    let metadata = metadata_of(bytes).ok()?;
    find(&metadata, FORMAT).filter(|format| *format == PartFileKind::Part.format())?;
    find(&metadata, SOURCE).map(str::to_owned)
}

/// The metadata about a file's series.
pub(super) fn packed(metadata: &Metadata) -> Option<Vec<PackedSeries>> {
    serde_json::from_str(find(metadata, SERIES)?).ok()
}

fn find<'a>(metadata: &'a Metadata, name: &str) -> Option<&'a str> {
    metadata.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn content(key: &ArchiveKey, windows: &str, series: &str, table: &Table) -> String {
    let mut values = ContentHash::default();
    values.update(table);
    let mut whole = Sha256::new();
    for text in [&key.name, windows, series, &values.finish()] {
        whole.update((text.len() as u64).to_le_bytes());
        whole.update(text.as_bytes());
    }
    hex::encode(whole.finalize())
}
