//! The list of files that were put into a store, so that a lost one counts as missing and not as "no data".
//!
//! The file `.files` in the store's folder has a line for each, relative to that folder. Lines are only added. Without
//! the file, as in stores of earlier versions, nothing counts as missing, and the next ingest lists what it finds.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::archive::{ArchiveError, open_own, open_own_to_write};

pub(in crate::market) const FILE_LIST: &str = ".files";

/// The names, in the order in which they were added, and any foreign lines, which the caller skips. A last line without
/// an end was cut off and is left out.
pub(in crate::market) fn names(root: &Path) -> Vec<String> {
    let mut text = Vec::new();
    let read = open_own(&root.join(FILE_LIST)).and_then(|mut file| file.read_to_end(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    String::from_utf8_lossy(&text[..whole]).lines().map(str::to_owned).collect()
}

/// The name of a file below the store's folder; `None` for a file elsewhere.
pub(in crate::market) fn name(root: &Path, file: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = file.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

/// The file of that name.
pub(in crate::market) fn path(root: &Path, name: &str) -> PathBuf {
    name.split('/').fold(root.to_owned(), |path, part| path.join(part))
}

/// Adds names.
pub(in crate::market) fn add(root: &Path, names: &[String]) -> Result<(), ArchiveError> {
    if names.is_empty() {
        return Ok(());
    }
    let path = root.join(FILE_LIST);
    let written = (|| {
        let mut file = open_own_to_write(&path, false)?;
        let end = file.seek(SeekFrom::End(0))?;
        // If a killed ingest left an unfinished line, the next one must not continue it.
        let mut last = [b'\n'];
        if end > 0 {
            file.seek(SeekFrom::Start(end - 1))?;
            file.read_exact(&mut last)?;
        }
        let begin = if last == [b'\n'] { "" } else { "\n" };
        let lines: String = names.iter().flat_map(|name| [name, "\n"]).collect();
        file.write_all((begin.to_owned() + &lines).as_bytes())
    })();
    written.map_err(|error| ArchiveError { path, problem: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_is_none_and_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert!(names(root).is_empty());
        add(root, &[]).unwrap();
        assert!(!root.join(FILE_LIST).exists());
        add(root, &["a/part".to_owned(), "b/part".to_owned()]).unwrap();
        assert_eq!(names(root), ["a/part", "b/part"]);
        let whole = std::fs::read(root.join(FILE_LIST)).unwrap();
        std::fs::write(root.join(FILE_LIST), &whole[..whole.len() - 3]).unwrap();
        assert_eq!(names(root), ["a/part"]);
        add(root, &["c/part".to_owned()]).unwrap();
        assert_eq!(names(root), ["a/part", "b/pa", "c/part"]);
        assert_eq!(name(root, &path(root, "a/part")).as_deref(), Some("a/part"));
        assert_eq!(name(root, Path::new("/elsewhere/part")), None);
    }
}
