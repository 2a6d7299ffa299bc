//! Files appear whole or not at all.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::ArchiveError;

/// How the names of files begin that are not whole yet.
pub(crate) const UNFINISHED: &str = ".unfinished-";

/// A new file beside the place where it belongs. Dropped before it is put there, it is gone.
pub(super) struct Unfinished {
    pub(super) path: PathBuf,
    file: NamedTempFile,
}

impl Unfinished {
    /// Begins a file, and the folders that it needs.
    pub(super) fn begin(path: &Path) -> Result<Self, ArchiveError> {
        let bad = |error: std::io::Error| ArchiveError::new(path, error.to_string());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(bad)?;
        let file = NamedTempFile::with_prefix_in(UNFINISHED, folder).map_err(bad)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Where the bytes go.
    pub(super) fn out(&self) -> Result<BufWriter<File>, ArchiveError> {
        let file = self.file.as_file().try_clone().map_err(|error| self.bad(&error))?;
        Ok(BufWriter::with_capacity(1 << 16, file))
    }

    /// An error about this file.
    pub(super) fn bad(&self, problem: &dyn ToString) -> ArchiveError {
        ArchiveError::new(&self.path, problem.to_string())
    }

    /// Puts the file in place; all that was written must have been flushed.
    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        let path = self.path;
        let bad = |error: std::io::Error| ArchiveError::new(&path, error.to_string());
        self.file.as_file().sync_all().map_err(bad)?;
        if let Some(permissions) = path.parent().and_then(permissions) {
            // A temporary file is private; the finished one is as readable as its folder.
            self.file.as_file().set_permissions(permissions).map_err(bad)?;
        }
        self.file.persist(&path).map_err(|error| bad(error.error))?;
        Ok(())
    }
}

/// Lets `fill` write a new file beside `path` and puts it in place when it is complete. A failure, or the end of the
/// process, leaves the old file or none. `fill` flushes what it wrote.
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
