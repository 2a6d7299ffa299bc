//! Files that a killed ingest left behind.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::layout;
use crate::archive::UNFINISHED;

/// How long a file must have lain untouched: another ingest may be at work in the same store, and writes its files within
/// minutes.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// Removes the unfinished files of a store that nobody has written to for an hour as of `now`. What cannot be removed stays:
/// it is in nobody's way.
pub(in crate::market) fn sweep(root: &Path, now: SystemTime) {
    for folder in layout::folders(root) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            let ours = about.is_file() && entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let idle = about.modified().ok().and_then(|touched| now.duration_since(touched).ok());
            if ours && idle.is_some_and(|idle| idle >= ABANDONED) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::store::layout::Dataset;

    #[test]
    fn only_old_unfinished_files_of_the_store_go() {
        let root = tempfile::tempdir().unwrap();
        let day = layout::file(root.path(), Dataset::Trades, "X", "A", 5);
        let sheet = layout::sheet(root.path(), Dataset::TokenSupply, "a.csv");
        let (day, sheet) = (day.parent().unwrap(), sheet.parent().unwrap());
        let elsewhere = root.path().join("notes");
        let mut files = Vec::new();
        for (folder, name, goes) in [
            (day, ".unfinished-Ab3", true),
            (sheet, ".unfinished-x", true),
            (day, "part.parquet", false),
            (day, "unfinished-x", false),
            (elsewhere.as_path(), ".unfinished-x", false),
            (root.path(), ".unfinished-x", false),
        ] {
            std::fs::create_dir_all(folder).unwrap();
            let file = folder.join(name);
            std::fs::write(&file, "x").unwrap();
            files.push((file, goes));
        }
        std::fs::create_dir(day.join(".unfinished-folder")).unwrap();
        let written = SystemTime::now();
        sweep(root.path(), written + ABANDONED / 2);
        assert!(files.iter().all(|(file, _)| file.is_file()), "they may still be written to");
        sweep(root.path(), written + ABANDONED * 2);
        assert!(files.iter().all(|(file, goes)| file.is_file() != *goes));
        assert!(day.join(".unfinished-folder").is_dir());
        sweep(&root.path().join("nowhere"), written);
    }
}
