//! Files of the package's own that are modified in place. They must be regular files with a single name: through a link
//! or a second name, a write would change someone else's file, and opening a pipe could block.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::regular_file::open_regular;

const LINK: &str = "a link, and none is followed here: put a file, or nothing, in its place";
const NO_FILE: &str = "no file: put a file, or nothing, in its place";
#[cfg(unix)]
const SECOND_NAME: &str = "a file with a second name elsewhere (a hard link), which would be written too: put a copy, or nothing, in its place";

/// Opens a file for reading.
#[cfg(feature = "service")]
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true))
}

/// Opens a file for reading and writing, and creates it if needed; if `private`, only for its user.
///
/// # Errors
/// Also for a file with a second name (a hard link), which would be changed too.
pub(crate) fn open_own_to_write(path: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    let file = open(path, &mut options)?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) > 1 {
        return Err(foreign(SECOND_NAME));
    }
    Ok(file)
}

/// What is wrong at a file's path, with the remedy; `None` for a file, or nothing.
pub(crate) fn is_foreign(path: &Path) -> Option<&'static str> {
    let about = fs::symlink_metadata(path).ok()?;
    if about.file_type().is_symlink() {
        return Some(LINK);
    }
    (!about.is_file()).then_some(NO_FILE)
}

/// Which file one is. No other gets the same while that one is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    #[cfg(unix)]
    device_and_number: (u64, u64),
}

impl FileIdentity {
    /// That of an open file.
    #[cfg(unix)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|about| Self::in_metadata(&about))
    }

    #[cfg(not(unix))]
    pub(crate) fn of(_: &File) -> io::Result<Self> {
        Ok(Self {})
    }

    /// That of a folder, which may be behind a link. It holds for as long as something in the folder is open.
    #[cfg(unix)]
    pub(crate) fn of_folder(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|about| Self::in_metadata(&about))
    }

    #[cfg(not(unix))]
    pub(crate) fn of_folder(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|_| Self {})
    }

    /// Whether it is the file at that path.
    #[cfg(unix)]
    pub(crate) fn is_at(self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|about| self == Self::in_metadata(&about))
    }

    #[cfg(not(unix))]
    pub(crate) fn is_at(self, path: &Path) -> bool {
        path.exists()
    }

    #[cfg(unix)]
    fn in_metadata(about: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device_and_number: (about.dev(), about.ino()) }
    }
}

/// Whether an open file is still the one at that path.
pub(crate) fn is_same_file(file: &File, path: &Path) -> bool {
    FileIdentity::of(file).is_ok_and(|own| own.is_at(path))
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if let Some(problem) = is_foreign(path) {
        return Err(foreign(problem));
    }
    // Something that was put there since the check is refused too.
    open_regular(options, path, false)
}

fn foreign(problem: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, problem)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_one_name_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("foreign"), "not ours").unwrap();
        std::os::unix::fs::symlink(at("foreign"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("dangling")).unwrap();
        fs::hard_link(at("foreign"), at("second")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        // No child process: for a moment it would inherit the locks of concurrent tests.
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();
        for (name, words) in
            [("link", "a link"), ("dangling", "a link"), ("second", "hard link"), ("folder", "no file")]
        {
            let message = open_own_to_write(&at(name), false).unwrap_err().to_string();
            assert!(message.contains(words) && message.ends_with("in its place"), "{name}: {message}");
        }
        for name in ["link", "dangling", "folder", "pipe"] {
            #[cfg(feature = "service")]
            assert!(open_own(&at(name)).is_err(), "{name}");
            assert!(open_own_to_write(&at(name), true).is_err(), "{name}");
        }
        assert!(!at("nothing").exists());
        let own = open_own_to_write(&at("own"), true).unwrap();
        assert!(is_same_file(&own, &at("own")) && !is_same_file(&own, &at("foreign")));
        fs::remove_file(at("own")).unwrap();
        std::os::unix::fs::symlink(at("foreign"), at("own")).unwrap();
        assert!(!is_same_file(&own, &at("own")));
    }
}
