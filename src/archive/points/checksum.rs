//! Hash functions for ledgers and names; `LedgerPart` in `ledger.rs` says which of them a ledger uses.

use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;

/// The XXH3 of a file, 128 bits in hexadecimal digits: ten times as fast as SHA-256; detects damage, not forgery.
pub(crate) fn xxh3(bytes: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(bytes))
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
