//! Files appear whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::ArchiveError;

/// How the names of files begin that are not whole yet.
pub(crate) const UNFINISHED: &str = ".unfinished-";

/// Lets `fill` write a new file beside `path` and puts it in place when it is complete. A failure, or the end of the
/// process, leaves the old file or none.
pub(super) fn write_whole(
    path: &Path,
    fill: impl FnOnce(BufWriter<&File>) -> Result<(), String>,
) -> Result<(), ArchiveError> {
    let bad = |problem: &dyn ToString| ArchiveError::new(path, problem.to_string());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| bad(&error))?;
    let mut file = NamedTempFile::with_prefix_in(UNFINISHED, folder).map_err(|error| bad(&error))?;
    fill(BufWriter::with_capacity(1 << 16, file.as_file())).map_err(|problem| bad(&problem))?;
    file.flush().and_then(|()| file.as_file().sync_all()).map_err(|error| bad(&error))?;
    let permissions = permissions(folder);
    if let Some(permissions) = permissions {
        // A temporary file is private; the finished one is as readable as its folder.
        file.as_file().set_permissions(permissions).map_err(|error| bad(&error))?;
    }
    file.persist(path).map_err(|error| bad(&error.error))?;
    Ok(())
}

#[cfg(unix)]
fn permissions(folder: &Path) -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(folder).ok()?.permissions().mode();
    Some(std::fs::Permissions::from_mode(mode & 0o666))
}

#[cfg(not(unix))]
fn permissions(_folder: &Path) -> Option<std::fs::Permissions> {
    None
}
