//! Checksums, as ledgers and names have them.

use sha2::{Digest, Sha256};

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
