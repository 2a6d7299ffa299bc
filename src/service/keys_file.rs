//! The keys file: one key a line, `name tier key`, separated by spaces or tabs; `#` at the start of a line, or after an
//! entry, starts a comment.
//!
//! ```text
//! # name   tier       key, or its SHA-256
//! lab      advanced   mp-lab-5f0c2a
//! student  free       sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b
//! ```
//!
//! The tier is one of section 8.1 or `unlimited`. Errors name line and column and never quote the file: a key may be in
//! the wrong column.

use std::io;
use std::path::{Path, PathBuf};

use super::config::{Allowance, KeyEntry, KeySecret};
use crate::archive::read_settings_text;
use crate::protocol::Tier;
use crate::protocol::tier::TIERS;

/// Prefix of a hashed key.
const HASH_PREFIX: &str = "sha256:";

/// Why a keys file is not valid.
#[derive(Debug, thiserror::Error)]
pub enum KeysFileError {
    /// The file cannot be read.
    #[error("cannot read the keys file {path}: {source}")]
    Read {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line that is not a valid entry.
    #[error("keys file{file}, line {line}: {problem}")]
    Line {
        /// A space and the path, or nothing if the text did not come from a file.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// The problem, and valid values.
        problem: String,
    },
    /// No key at all. The service would then make random ones, which is not what a keys file is for.
    #[error("the keys file{file} has no keys; give at least one line: name tier key")]
    Empty {
        /// As above.
        file: String,
    },
}

/// Reads a keys file.
///
/// # Errors
/// As [`parse_keys`], and when the file cannot be read as UTF-8 text.
pub fn read_keys(path: &Path) -> Result<Vec<KeyEntry>, KeysFileError> {
    let text = read_settings_text(path).map_err(|source| KeysFileError::Read { path: path.to_owned(), source })?;
    parse_keys(&text).map_err(|mut error| {
        if let KeysFileError::Line { file, .. } | KeysFileError::Empty { file } = &mut error {
            *file = format!(" {}", path.display());
        }
        error
    })
}

/// Reads the text of a keys file.
///
/// The first line that is not valid or repeats a key, by its number.
pub fn parse_keys(text: &str) -> Result<Vec<KeyEntry>, KeysFileError> {
    let mut keys: Vec<(usize, KeyEntry)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // A byte order mark, which some editors write, is not part of a name.
        let mut words: Vec<&str> = line.trim_start_matches('\u{feff}').split_whitespace().collect();
        if words.get(3).is_some_and(|word| word.starts_with('#')) {
            words.truncate(3); // a comment after the entry; a key may start with # itself
        }
        if words.first().is_none_or(|word| word.starts_with('#')) {
            continue;
        }
        let line = index + 1;
        let entry = entry(&words).map_err(|problem| KeysFileError::Line { file: String::new(), line, problem })?;
        let same = |what: &str, other: usize| KeysFileError::Line {
            file: String::new(),
            line,
            problem: format!("the {what} is that of line {other}; each key needs its own"),
        };
        for (other, known) in &keys {
            if known.name == entry.name {
                return Err(same("name", *other));
            }
            if known.key.digest() == entry.key.digest() {
                return Err(same("key", *other));
            }
        }
        keys.push((line, entry));
    }
    if keys.is_empty() {
        Err(KeysFileError::Empty { file: String::new() })
    } else {
        Ok(keys.into_iter().map(|(_, entry)| entry).collect())
    }
}

fn entry(words: &[&str]) -> Result<KeyEntry, String> {
    let &[name, tier, key] = words else {
        return Err(format!("{} words; write three: name tier key", words.len()));
    };
    key_entry(name, tier, key)
}

/// Makes an entry from a tier (of section 8.1 or `unlimited`) and a key, or `sha256:` with the 64 hexadecimal digits of
/// its hash.
///
/// # Errors
/// The problem of a tier or key; the message quotes neither.
pub fn key_entry(name: &str, tier: &str, key: &str) -> Result<KeyEntry, String> {
    let allowance = match Tier::find(tier) {
        Some(tier) => Allowance::Tier(tier),
        None if tier.eq_ignore_ascii_case(Allowance::Unlimited.name()) => Allowance::Unlimited,
        None => {
            let tiers = TIERS.map(|row| row.name).join(", ");
            let unlimited = Allowance::Unlimited.name();
            return Err(format!("the tier is none that there is; write one of {tiers}, {unlimited}"));
        }
    };
    let key = match key.strip_prefix(HASH_PREFIX) {
        Some(digits) => KeySecret::Hashed(digest(digits).ok_or_else(|| {
            format!("what follows {HASH_PREFIX} in the key is no SHA-256; write its 64 hexadecimal digits")
        })?),
        None if key.bytes().all(|byte| byte.is_ascii_graphic()) => key.to_owned().into(),
        None => return Err("the key holds characters that no header can; use ASCII letters and digits".to_owned()),
    };
    Ok(KeyEntry { name: name.to_owned(), key, allowance })
}

fn digest(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc`, from the standard (FIPS 180-2, B.1).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn names_tiers_and_keys_are_read() {
        let text =
            format!("\u{feff}# keys\n\nlab Advanced a-key\r\n  student\tfree sha256:{ABC}\nload unlimited k#1\n");
        let keys = parse_keys(&text).unwrap();
        let found: Vec<_> = keys.iter().map(|entry| (entry.name.as_str(), entry.allowance)).collect();
        let free = Allowance::Tier(Tier::Free);
        assert_eq!(
            found,
            [("lab", Allowance::Tier(Tier::Advanced)), ("student", free), ("load", Allowance::Unlimited)]
        );
        assert_eq!(keys[1].key.digest(), KeySecret::from("abc".to_owned()).digest());
        assert!(!format!("{keys:?}").contains("a-key"));
    }

    #[test]
    fn errors_name_the_line_and_no_word_of_it() {
        for (text, problem) in [
            ("\nlab free".to_owned(), "line 2: 2 words; write three"),
            ("lab free s3cret more".to_owned(), "line 1: 4 words"),
            (
                "lab s3cret free".to_owned(),
                "line 1: the tier is none that there is; write one of free, basic, standard, advanced, unlimited",
            ),
            ("lab free sha256:s3cret".to_owned(), "line 1: what follows sha256: in the key is no SHA-256"),
            (format!("lab free sha256:{}é", &ABC[..62]), "is no SHA-256"),
            ("lab free s3cret\u{e9}".to_owned(), "characters that no header can"),
            ("a free s3cret\n# x\na free other".to_owned(), "line 3: the name is that of line 1"),
            (format!("a free abc\nb basic sha256:{ABC}"), "line 2: the key is that of line 1"),
            ("# nothing\n".to_owned(), "no keys"),
        ] {
            let error = parse_keys(&text).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains("s3cret") && !error.contains(ABC), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        assert!(read_keys(&path).unwrap_err().to_string().contains("keys: "));
        std::fs::write(&path, "lab free a-key\n").unwrap();
        assert_eq!(read_keys(&path).unwrap().len(), 1);
        for (text, problem) in [("lab free\n", ", line 1: 2 words"), ("", " has no keys")] {
            std::fs::write(&path, text).unwrap();
            let error = read_keys(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("{}{problem}", path.display())), "{error}");
        }
    }
}
