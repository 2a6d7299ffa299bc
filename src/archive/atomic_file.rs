//! Writes files atomically: they appear complete or not at all.

use std::ffi::OsStr;
use std::fs::{DirEntry, File};
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{NamedTempFile, TempPath};

use super::error::ArchiveError;
use super::regular_file::plain;

/// Prefix of the names of unfinished files; the final name and random characters follow.
const UNFINISHED: &str = ".unfinished-";
/// Number of random characters.
const RANDOM: usize = 6;
/// Longest file name that every common file system allows, in bytes.
const LONGEST_NAME: usize = 255;
/// How long an unfinished file must be untouched to count as left behind. A writer locks its file, but not every file
/// system has locks.
const ABANDONED: Duration = Duration::from_secs(3_600);
/// First bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// A new file beside its final path. It is removed if dropped before it is finished.
pub(super) struct Unfinished {
    pub(super) path: PathBuf,
    file: NamedTempFile,
}

impl Unfinished {
    /// Creates the file, and its folders if needed. Anything but a file at the final path is an error.
    pub(super) fn begin(path: &Path) -> Result<Self, ArchiveError> {
        let bad = |error: std::io::Error| ArchiveError::new(path, error.to_string());
        if let Ok(about) = std::fs::symlink_metadata(path)
            && !about.is_symlink()
        {
            plain(&about).map_err(bad)?;
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(bad)?;
        let name = path.file_name().unwrap_or_default();
        sweep(folder, name, SystemTime::now());
        let file = NamedTempFile::with_prefix_in(prefix(name), folder).map_err(bad)?;
        // Shows that the writer is alive. Without locks, the file's age has to show it.
        let _ = file.as_file().try_lock();
        Ok(Self { path: path.to_owned(), file })
    }

    /// The output.
    pub(super) fn out(&self) -> Result<BufWriter<File>, ArchiveError> {
        let file = self.file.as_file().try_clone().map_err(|error| self.bad(&error))?;
        Ok(BufWriter::with_capacity(1 << 16, file))
    }

    /// An error about this file.
    pub(super) fn bad(&self, problem: &dyn ToString) -> ArchiveError {
        ArchiveError::new(&self.path, problem.to_string())
    }

    /// Moves the file to its final path; everything written must have been flushed.
    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        self.complete()?.place()
    }

    /// Syncs and closes the complete file; everything written must have been flushed.
    pub(super) fn complete(self) -> Result<Unplaced, ArchiveError> {
        let path = self.path;
        let bad = |error: std::io::Error| ArchiveError::new(&path, error.to_string());
        self.file.as_file().sync_all().map_err(bad)?;
        if let Some(permissions) = path.parent().and_then(permissions) {
            // A temporary file is private; the finished one gets the permissions usual in its folder.
            self.file.as_file().set_permissions(permissions).map_err(bad)?;
        }
        Ok(Unplaced { path, file: self.file.into_temp_path() })
    }
}

/// A complete file beside its final path, where the old file, if any, still is. It is removed if dropped before it is
/// put in place.
#[derive(Debug)]
pub struct Unplaced {
    path: PathBuf,
    file: TempPath,
}

impl Unplaced {
    /// Its path until it is put in place.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Its final path.
    pub fn destination(&self) -> &Path {
        &self.path
    }

    /// Moves it to its final path.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn place(self) -> Result<(), ArchiveError> {
        let Self { path, file } = self;
        file.persist(&path).map_err(|error| ArchiveError::new(&path, error.error.to_string()))
    }
}

/// Prefix of the unfinished files of that name.
fn prefix(name: &OsStr) -> String {
    match name.to_str() {
        Some(name) if UNFINISHED.len() + name.len() + 1 + RANDOM <= LONGEST_NAME => format!("{UNFINISHED}{name}-"),
        _ => UNFINISHED.to_owned(),
    }
}

/// Removes unfinished files that killed writers of that name left in a folder, as of `now`: only files with this
/// package's naming that were not written to for an hour and whose writer is gone. What cannot be removed is left.
pub(crate) fn sweep(folder: &Path, name: &OsStr, now: SystemTime) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_left_behind(&entry, name, now) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_left_behind(entry: &DirEntry, name: &OsStr, now: SystemTime) -> bool {
    let found = entry.file_name();
    let Some(found) = found.to_str().filter(|found| found.starts_with(UNFINISHED)) else { return false };
    let own = prefix(name);
    let random = found.strip_prefix(&own);
    let bare = found.strip_prefix(UNFINISHED).is_some_and(is_random);
    if !bare && !random.is_some_and(is_random) {
        return false;
    }
    // For a link this is the link's own metadata, and a link is never ours.
    let Ok(about) = entry.metadata() else { return false };
    let idle = about.modified().ok().and_then(|touched| now.duration_since(touched).ok());
    if !about.is_file() || idle.is_none_or(|idle| idle < ABANDONED) {
        return false;
    }
    let Ok(mut file) = File::open(entry.path()) else { return false };
    if file.try_lock().is_err() {
        return false; // its writer is alive
    }
    // A short name may belong to any file, and a text has no mark that it is ours.
    let is_text = !bare && Path::new(name).extension().is_none_or(|ending| ending != "parquet");
    let mut begin = Vec::new();
    is_text || file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut begin).is_ok_and(|_| MAGIC.starts_with(&begin))
}

/// Whether a text is the end of an unfinished file's name.
pub(super) fn is_random(text: &str) -> bool {
    text.len() == RANDOM && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Calls `fill` to write a new file beside `path` and moves it there when it is complete. After an error, or if the
/// process ends, the old file, if any, is unchanged. `fill` must flush its writer.
pub(super) fn write_whole(
    path: &Path,
    fill: impl FnOnce(BufWriter<File>) -> Result<(), String>,
) -> Result<(), ArchiveError> {
    let file = Unfinished::begin(path)?;
    fill(file.out()?).map_err(|problem| file.bad(&problem))?;
    file.finish()
}

#[cfg(unix)]
pub(super) fn permissions(folder: &Path) -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mode = std::fs::metadata(folder).ok()?.permissions().mode();
    Some(std::fs::Permissions::from_mode(mode & 0o666))
}

#[cfg(not(unix))]
pub(super) fn permissions(_folder: &Path) -> Option<std::fs::Permissions> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_written_over() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for (name, kind) in [("pipe", "a named pipe"), ("socket", "a socket"), ("folder", "a folder")] {
            let fault = write_whole(&at(name), |_| Ok(())).unwrap_err();
            assert_eq!((fault.path, fault.problem), (at(name), format!("{kind}, not a file")));
        }
        assert!(std::fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());
        assert!(std::fs::symlink_metadata(at("socket")).unwrap().file_type().is_socket());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
