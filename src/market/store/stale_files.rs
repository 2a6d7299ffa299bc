//! Removal of files that a killed ingest left behind.

use std::ffi::OsStr;
use std::path::Path;
use std::time::SystemTime;

use crate::archive;
use crate::market::store::layout::{self, Dataset};

/// Removes unfinished files of a store that were not written to for an hour as of `now` and whose writer has ended. Newer
/// ones may belong to a running ingest.
pub(in crate::market) fn sweep(root: &Path, datasets: &[Dataset], now: SystemTime) {
    for folder in layout::folders(root, datasets) {
        archive::sweep(&folder, OsStr::new(layout::FILE), now);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;
    use crate::clock::UnixDay;

    const TRADES: Dataset = Dataset::new("trades");
    const SUPPLY: Dataset = Dataset::new("token_supply");
    const BOOKS: Dataset = Dataset::new("book_1m");
    const ALL: [Dataset; 3] = [TRADES, SUPPLY, BOOKS];

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn only_old_unfinished_files_of_the_store_go() {
        let root = tempfile::tempdir().unwrap();
        let day = layout::file(root.path(), TRADES, "X", "A", UnixDay(5));
        let table = layout::table_file(root.path(), SUPPLY, "a.csv");
        let (day, table) = (day.parent().unwrap(), table.parent().unwrap());
        let elsewhere = root.path().join("notes");
        let mut files = Vec::new();
        for (folder, name, content, goes) in [
            (day, ".unfinished-part.parquet-Ab3xY9", "PAR1x", true),
            (day, ".unfinished-part.parquet-Ab3xY8", "", true),
            (day, ".unfinished-Ab3xY9", "PAR1x", true),
            (table, ".unfinished-part.parquet-000000", "PA", true),
            (day, ".unfinished-part.parquet-Ab3xY7", "a note of mine", false),
            (day, ".unfinished-Ab3xY7", "a note of mine", false),
            (day, ".unfinished-part.parquet-Ab3", "PAR1x", false),
            (day, ".unfinished-business", "PAR1x", false),
            (day, ".unfinished-part.parquet-Ab3xY9.bak", "PAR1x", false),
            (day, "part.parquet", "PAR1x", false),
            (day, "unfinished-Ab3xY9", "PAR1x", false),
            (elsewhere.as_path(), ".unfinished-Ab3xY9", "PAR1x", false),
            (root.path(), ".unfinished-Ab3xY9", "PAR1x", false),
        ] {
            std::fs::create_dir_all(folder).unwrap();
            let file = folder.join(name);
            std::fs::write(&file, content).unwrap();
            files.push((file, goes));
        }
        std::fs::create_dir(day.join(".unfinished-Folder")).unwrap();
        let at_work = day.join(".unfinished-part.parquet-AtWork");
        let writer = File::create(&at_work).unwrap();
        writer.try_lock().unwrap();
        let written = SystemTime::now();
        sweep(root.path(), &ALL, written + HOUR / 2);
        assert!(files.iter().all(|(file, _)| file.is_file()), "they may still be written to");
        sweep(root.path(), &ALL, written + HOUR * 2);
        for (file, goes) in &files {
            assert_eq!(file.is_file(), !goes, "{}", file.display());
        }
        assert!(day.join(".unfinished-Folder").is_dir());
        assert!(at_work.is_file(), "its writer runs, however long it has not written");
        drop(writer);
        sweep(root.path(), &ALL, written + HOUR * 2);
        assert!(!at_work.exists());
        sweep(&root.path().join("nowhere"), &ALL, written);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_goes_behind_a_link() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = outside.path().join(".unfinished-part.parquet-Ab3xY9");
        std::fs::write(&file, "PAR1").unwrap();
        let day = layout::file(root.path(), BOOKS, "X", "A", UnixDay(5));
        let day = day.parent().unwrap();
        std::fs::create_dir_all(day.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path(), day).unwrap();
        let trades = layout::file(root.path(), TRADES, "X", "A", UnixDay(5));
        std::os::unix::fs::symlink(outside.path(), trades.ancestors().nth(4).unwrap()).unwrap();
        sweep(root.path(), &ALL, SystemTime::now() + HOUR * 2);
        assert!(file.exists());
    }
}
