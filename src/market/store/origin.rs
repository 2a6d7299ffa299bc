//! The dump from which a store's file was made, recorded in the file so that a second ingest of it changes nothing.

use std::path::PathBuf;

use crate::archive::{Metadata, read_parquet};

/// Metadata key: hash of the dump file that a table was made of.
const FINGERPRINT: &str = "marketpoints.source_sha256";
/// Metadata key: good rows of the dump file. Files of earlier versions do not have it.
const ROWS: &str = "marketpoints.source_rows";
/// Metadata key: bad rows of the dump file, which the table lacks. Only where there were any.
const LEFT_OUT: &str = "marketpoints.source_rows_left_out";

/// The dump file that a table was made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::market) struct DumpOrigin {
    /// Hash of its bytes.
    pub(in crate::market) fingerprint: String,
    /// Its good rows; `None` where the table does not say.
    pub(in crate::market) rows: Option<u64>,
    /// Its bad rows.
    pub(in crate::market) left_out: u64,
}

impl DumpOrigin {
    /// A dump file with this hash and numbers of good and of bad rows.
    pub(in crate::market) fn new(fingerprint: &str, rows: u64, left_out: u64) -> Self {
        Self { fingerprint: fingerprint.to_owned(), rows: Some(rows), left_out }
    }

    /// The metadata of a table.
    pub(in crate::market) fn metadata(&self) -> Metadata {
        let rows = self.rows.map(|rows| (ROWS.to_owned(), rows.to_string()));
        let left_out = (self.left_out > 0).then(|| (LEFT_OUT.to_owned(), self.left_out.to_string()));
        [(FINGERPRINT.to_owned(), self.fingerprint.clone())].into_iter().chain(rows).chain(left_out).collect()
    }

    /// The dump file that tables were made of; `None` when one of them is missing, damaged, or of another dump: then they
    /// must be written again.
    pub(in crate::market) fn read<const N: usize>(files: [PathBuf; N]) -> Option<Self> {
        let mut origin = None;
        for file in files {
            let (_, metadata) = read_parquet(&file).ok()?;
            let value = |key: &str| metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
            let fingerprint = value(FINGERPRINT)?.to_owned();
            let number = |key: &str| value(key).and_then(|count| count.parse().ok());
            let of_file = Self { fingerprint, rows: number(ROWS), left_out: number(LEFT_OUT).unwrap_or(0) };
            if origin.get_or_insert_with(|| of_file.clone()).fingerprint != of_file.fingerprint {
                return None;
            }
        }
        origin
    }
}
