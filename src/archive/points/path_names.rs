//! Folder names that every file system allows, and that hive readers decode to the original value.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

/// Longest value in a folder's name; file systems allow 255 bytes, including the column's name.
const LONGEST: usize = 160;
/// Everything except letters, digits and these.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// A value of a hive partition: letters, digits, `-`, `_` and inner dots are unchanged, everything else is
/// percent-encoded, as Spark, polars, DuckDB and pyarrow decode it. A value that is too long is cut and ends in a hash.
pub(super) fn hive(value: &str) -> String {
    let mut name = utf8_percent_encode(value, ENCODED).to_string();
    // A leading dot would hide the folder, Windows drops a trailing one, and `..` leads upwards.
    for end in [name.len().saturating_sub(1), 0] {
        if name.as_bytes().get(end) == Some(&b'.') {
            name.replace_range(end..=end, "%2E");
        }
    }
    if name.is_empty() {
        return hive_null();
    }
    if name.len() > LONGEST {
        let mut cut = LONGEST - 34;
        while name.as_bytes()[cut - 2..cut].contains(&b'%') {
            cut -= 1; // not within an encoded byte
        }
        name.truncate(cut);
        name.push_str("--");
        name.push_str(&hex::encode(Sha256::digest(value.as_bytes()))[..32]);
    }
    name
}

/// The name that hive readers use for a missing value.
pub(super) fn hive_null() -> String {
    "__HIVE_DEFAULT_PARTITION__".to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_symbols_stay_in_their_folder() {
        assert_eq!(hive("BTC-USDT_25"), "BTC-USDT_25");
        assert_eq!(hive("BTC/USDT"), "BTC%2FUSDT");
        assert_eq!(hive(".."), "%2E%2E");
        assert_eq!(hive("a:b\\c*?\"<>|"), "a%3Ab%5Cc%2A%3F%22%3C%3E%7C");
        assert_eq!(hive("end. "), "end.%20");
        assert_eq!(hive("end."), "end%2E");
        assert_eq!(hive("ä%"), "%C3%A4%25");
        assert_eq!(hive(""), "__HIVE_DEFAULT_PARTITION__");
        let long = hive(&"x".repeat(10_000));
        assert!(long.len() <= LONGEST && long != hive(&"x".repeat(10_001)));
    }

    proptest! {
        // faults.md row 50
        #[test]
        fn names_are_safe_and_decode_to_the_value(value in any::<String>()) {
            let name = hive(&value);
            prop_assert!(name.len() <= LONGEST && name.is_ascii() && !name.ends_with(['.', ' ']) && !name.contains(['/', '\\', ':']));
            if !value.is_empty() && !name.contains("--") {
                let plain: Vec<u8> = form_urlencoded::parse(format!("v={name}").as_bytes()).flat_map(|(_, v)| v.into_owned().into_bytes()).collect();
                prop_assert_eq!(plain, value.into_bytes());
            }
        }
    }
}
