//! Lock that allows one ingest into a store at a time: a trade that one ingest leaves out, because a neighbouring day has
//! it, must not be removed from that day by another.
//!
//! The lock is on the file `.ingest` in the store's folder; the system releases it when the process ends. A file system
//! without locks does not wait.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use crate::archive::{ArchiveError, LockedFile, is_same_file, open_own_to_write};

const NAME: &str = ".ingest";
/// Time between two attempts to lock.
const PAUSE: Duration = Duration::from_millis(50);
/// Digits of a process id that are read.
const DIGITS: u64 = 20;

/// Lock of one ingest on a store, held until dropped.
#[derive(Debug)]
pub(in crate::market) struct IngestLock {
    _file: LockedFile,
}

impl IngestLock {
    /// Waits for the lock of the existing store at `root`. Before a wait, `notice` gets a sentence, once. `None` if
    /// `keep_going` ends the wait.
    pub(in crate::market) fn begin(
        root: &Path,
        keep_going: &dyn Fn() -> bool,
        notice: &dyn Fn(&str),
    ) -> Result<Option<Self>, ArchiveError> {
        let path = root.join(NAME);
        let bad = |error: std::io::Error| ArchiveError { path: path.clone(), problem: error.to_string() };
        let mut notified = false;
        loop {
            let mut file = open_own_to_write(&path, false).map_err(bad)?;
            match file.try_lock() {
                // The locked file may have been removed with its store during the wait.
                Ok(()) if !is_same_file(&file, &path) => continue,
                Ok(()) => {
                    let id = std::process::id().to_string();
                    let written = file.set_len(0).and_then(|()| file.write_all(id.as_bytes()));
                    written.map_err(bad)?;
                    return Ok(Some(Self { _file: LockedFile::new(file) }));
                }
                Err(TryLockError::Error(_)) => return Ok(Some(Self { _file: LockedFile::new(file) })),
                Err(TryLockError::WouldBlock) => {}
            }
            if !notified {
                notice(&format!(
                    "waits for another ingest{} into {}; Ctrl-C ends the wait",
                    holder(&mut file),
                    root.display()
                ));
                notified = true;
            }
            if !keep_going() {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The process that holds the lock, in words; empty if the file does not name it.
fn holder(file: &mut File) -> String {
    let mut id = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(DIGITS).read_to_string(&mut id));
    match read.ok().and_then(|_| id.trim().parse::<u32>().ok()) {
        Some(id) => format!(" (process {id})"),
        None => String::new(),
    }
}
