//! Bytes as text: hashes and keys.

use std::fmt::Write;

/// Two lower-case hexadecimal digits a byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}"); // writing to a string cannot fail
    }
    text
}
