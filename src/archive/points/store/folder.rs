//! A local folder: files are written atomically, and locks end with their holder.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tempfile::{Builder, NamedTempFile};

use super::operations::{ArchiveStore, FileRanges, Found, Lock, Staged, Version, aside, own};
use crate::archive::atomic_file::{is_random, permissions};
use crate::archive::locked_file::LockedFile;
use crate::archive::points::fault::{ArchiveFault, FileState};
use crate::archive::points::key::is_key;
use crate::archive::regular_file::{open_plain, open_plain_with, plain};
use crate::archive::state_file::FileIdentity;
use crate::columns::pages;

/// Largest file whose memory is reserved at once.
const EXPECTED: u64 = 64 << 20;
/// Pause between two attempts to lock.
const LOOK: Duration = Duration::from_millis(20);

/// A local folder.
#[derive(Debug)]
pub(in crate::archive::points) struct Folder {
    root: PathBuf,
    /// Which folder the first lock found, where all must find the same.
    pinned: Option<Arc<OnceLock<FileIdentity>>>,
}

/// A file that is not in place yet.
struct UnplacedFile {
    file: NamedTempFile,
    path: PathBuf,
    name: String,
}

/// A lock, held until dropped; the system releases it if the process ends in any way.
#[derive(Debug)]
struct FileLock {
    file: Option<LockedFile>,
    identity: FileIdentity,
    path: PathBuf,
    root: PathBuf,
}

impl Folder {
    /// A folder, which need not exist yet.
    pub(in crate::archive::points) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), pinned: None }
    }

    /// The error where the folder is not there any more while something writes to it.
    fn gone(root: &Path) -> ArchiveFault {
        let problem = "the folder, or its lock, was removed or moved while this wrote to it, and what was written may have gone \
                       with it; ask again";
        ArchiveFault::access(&root.display().to_string(), &problem)
    }

    /// Refuses anything but a folder, or nothing, at the path.
    fn is_no_file(&self) -> Result<(), ArchiveFault> {
        match std::fs::metadata(&self.root) {
            Ok(about) if !about.is_dir() => {
                let path = self.root.display().to_string();
                Err(ArchiveFault::access(&path, &"a file; an archive is a folder: name another"))
            }
            _ => Ok(()),
        }
    }

    /// The path of a file. The archive's own folder may be a link; nothing in it may be one, because writes, moves and
    /// removals would then leave the archive.
    fn path(&self, name: &str) -> Result<PathBuf, ArchiveFault> {
        let mut path = self.root.clone();
        let mut relative = String::new();
        for part in name.split('/').filter(|part| !part.is_empty()) {
            path.push(part);
            relative = if relative.is_empty() { part.to_owned() } else { format!("{relative}/{part}") };
            if std::fs::symlink_metadata(&path).is_ok_and(|about| about.file_type().is_symlink()) {
                let problem = "a link, and an archive follows none; put what it points to in its place";
                return Err(ArchiveFault::file(&relative, FileState::Foreign, problem));
            }
        }
        Ok(path)
    }

    /// Opens a file; `None` where there is none.
    fn open(&self, name: &str) -> Result<Option<File>, ArchiveFault> {
        match open_plain(&self.path(name)?) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::InvalidInput => is_file(name, Err(error)).map(|()| None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                self.is_no_file().map(|()| None)
            }
            Err(error) => Err(ArchiveFault::access(name, &error)),
        }
    }

    /// Removes the unfinished files of an owner, recognised by this package's naming.
    fn remove_unfinished(&self, owner: &str, names: &[String]) -> Result<(), ArchiveFault> {
        names.iter().filter(|name| owner_of(name) == Some(owner)).try_for_each(|name| self.remove(name))
    }

    fn unplaced(&self, owner: &str, name: &str, bytes: &[u8]) -> Result<UnplacedFile, ArchiveFault> {
        let bad = |error: std::io::Error| ArchiveFault::access(name, &error);
        let path = self.path(name)?;
        let folder = self.path(&own("unfinished"))?;
        if !self.root.is_dir() {
            return Err(Self::gone(&self.root)); // the lock made it
        }
        std::fs::create_dir_all(&folder).map_err(bad)?;
        let mut file = Builder::new().prefix(&format!("{owner}-")).tempfile_in(&folder).map_err(bad)?;
        file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(bad)?;
        if let Some(permissions) = permissions(&folder) {
            // A temporary file is private; the finished one gets the permissions usual in its folder.
            file.as_file().set_permissions(permissions).map_err(bad)?;
        }
        Ok(UnplacedFile { file, path, name: name.to_owned() })
    }
}

impl ArchiveStore for Folder {
    fn read(&self, name: &str) -> Result<Option<Found>, ArchiveFault> {
        let Some(mut file) = self.open(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let length = file.metadata().map_or(0, |about| about.len());
        pages::reserve(&mut bytes, length.min(EXPECTED) as usize + 1); // one more: the end is seen without growing
        file.read_to_end(&mut bytes).map_err(|error| ArchiveFault::access(name, &error))?;
        Ok(Some(Found { bytes: Bytes::from(bytes), version: Version::Locked }))
    }

    fn read_ranges(&self, files: &[FileRanges]) -> Result<Vec<Option<Vec<Bytes>>>, ArchiveFault> {
        let each = files.iter().map(|FileRanges { name, length, ranges }| {
            let Some(mut file) = self.open(name)? else { return Ok(None) };
            let bad = |error: std::io::Error| ArchiveFault::access(name, &error);
            if file.metadata().map_err(bad)?.len() != *length {
                return Ok(None);
            }
            let mut found = Vec::with_capacity(ranges.len());
            for range in ranges {
                let length = range.end - range.start;
                let mut bytes = Vec::new();
                pages::reserve(&mut bytes, length.min(EXPECTED) as usize);
                file.seek(SeekFrom::Start(range.start)).map_err(bad)?;
                (&mut file).take(length).read_to_end(&mut bytes).map_err(bad)?;
                found.push(Bytes::from(bytes));
            }
            Ok(Some(found))
        });
        each.collect()
    }

    fn is_local(&self) -> bool {
        true
    }

    fn pinned(&self) -> Option<Arc<dyn ArchiveStore>> {
        let pinned = Some(self.pinned.clone().unwrap_or_default());
        Some(Arc::new(Self { root: self.root.clone(), pinned }))
    }

    fn length(&self, name: &str) -> Result<Option<u64>, ArchiveFault> {
        match std::fs::metadata(self.path(name)?) {
            Ok(about) => is_file(name, plain(&about)).map(|()| Some(about.len())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                self.is_no_file().map(|()| None)
            }
            Err(error) => Err(ArchiveFault::access(name, &error)),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, ArchiveFault> {
        self.is_no_file()?;
        let mut names = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let bad = |error: std::io::Error| ArchiveFault::access(&folder, &error);
            let entries = match std::fs::read_dir(self.path(&folder)?) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(bad(error)),
            };
            for entry in entries {
                let entry = entry.map_err(bad)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if entry.file_type().map_err(bad)?.is_dir() {
                    folders.push(name);
                } else {
                    names.push(name);
                }
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn check(&self, name: &str) -> Result<(), ArchiveFault> {
        self.path(name).map(|_| ())
    }

    fn create(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<bool, ArchiveFault> {
        let unplaced = self.unplaced(owner, name, &bytes)?;
        let bad = |error: &dyn ToString| ArchiveFault::access(name, error);
        if let Some(folder) = unplaced.path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| bad(&error))?;
        }
        match unplaced.file.persist_noclobber(&unplaced.path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(bad(&error.error)),
        }
    }

    fn stage(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<Box<dyn Staged>, ArchiveFault> {
        Ok(Box::new(self.unplaced(owner, name, &bytes)?))
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&self, name: &str) -> Result<(), ArchiveFault> {
        match std::fs::remove_file(self.path(name)?) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ArchiveFault::access(name, &error)),
            _ => Ok(()),
        }
    }

    fn set_aside(&self, name: &str, _found: &Found) -> Result<(String, Version), ArchiveFault> {
        let bad = |error: std::io::Error| ArchiveFault::access(name, &error);
        let (path, folder) = (self.path(name)?, self.path(&own("quarantine"))?);
        std::fs::create_dir_all(&folder).map_err(bad)?;
        for number in 0_u32.. {
            let aside = aside(name, &number.to_string());
            let place = self.root.join(&aside);
            // Also for a link to nothing.
            if std::fs::symlink_metadata(&place).is_ok() {
                continue;
            }
            std::fs::rename(path, place).map_err(bad)?;
            return Ok((aside, Version::Absent));
        }
        Err(ArchiveFault::access(name, &"no free name in the quarantine"))
    }

    fn try_lock(&self, name: &str) -> Result<Option<Box<dyn Lock>>, ArchiveFault> {
        self.is_no_file()?;
        let found = FileIdentity::of_folder(&self.root);
        let pinned = self.pinned.as_ref().and_then(|pinned| pinned.get());
        if pinned.is_some_and(|first| !found.is_ok_and(|found| found == *first)) {
            return Err(Self::gone(&self.root));
        }
        let bad = |error: std::io::Error| {
            let path = self.root.display().to_string();
            ArchiveFault::access(&path, &format!("{error}; an archive is a folder that can be made here: name another"))
        };
        std::fs::create_dir_all(&self.root).map_err(bad)?;
        if let Some(pinned) = &self.pinned {
            let made = FileIdentity::of_folder(&self.root).map_err(bad)?;
            if *pinned.get_or_init(|| made) != made {
                return Err(Self::gone(&self.root));
            }
        }
        let name = own(&format!("lock/{name}"));
        let bad = |error: &dyn ToString| ArchiveFault::access(&name, error);
        let path = self.path(&name)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| bad(&error))?;
        }
        // Opened for reading too: opening a named pipe only for writing waits for its reader.
        let file = open_plain_with(OpenOptions::new().create(true).truncate(false).read(true).write(true), &path);
        let file = file.map_err(|error| bad(&error))?;
        match file.try_lock() {
            Ok(()) => {
                let identity = FileIdentity::of(&file).map_err(|error| bad(&error))?;
                let lock = FileLock { file: Some(LockedFile::new(file)), identity, path, root: self.root.clone() };
                lock.check()?;
                Ok(Some(Box::new(lock)))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(bad(&format!("{error}; an archive needs a file system that locks files")))
            }
        }
    }

    fn sweep(&self, owner: &str) -> Result<(), ArchiveFault> {
        let names = self.list(&own("unfinished"))?;
        self.remove_unfinished(owner, &names)?;
        let others: BTreeSet<&str> = names.iter().filter_map(|name| owner_of(name)).collect();
        for other in others.into_iter().filter(|other| *other != owner) {
            // Whoever has the lock is active.
            if let Some(_lock) = self.try_lock(other)? {
                // Listed again: a writer may have been active meanwhile.
                self.remove_unfinished(other, &self.list(&own("unfinished"))?)?;
            }
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        LOOK
    }
}

/// Refuses a folder, a named pipe or a socket at a file's path. It is left unchanged.
fn is_file(name: &str, plain: std::io::Result<()>) -> Result<(), ArchiveFault> {
    plain.map_err(|error| ArchiveFault::file(name, FileState::Foreign, format!("{error}; move it away")))
}

/// The owner of an unfinished file, from its name: a key's, `-`, and six letters or digits. `None` for another form.
fn owner_of(name: &str) -> Option<&str> {
    let (owner, random) = name.strip_prefix(&own("unfinished/"))?.rsplit_once('-')?;
    (is_key(owner) && is_random(random)).then_some(owner)
}

impl Staged for UnplacedFile {
    fn place(self: Box<Self>, _seen: &Version) -> Result<Version, ArchiveFault> {
        let bad = |error: &dyn ToString| ArchiveFault::access(&self.name, error);
        if !self.file.path().exists() {
            return Err(bad(
                &"gone before it was put in place: the folder was removed or moved while this wrote to it; ask again",
            ));
        }
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| bad(&error))?;
        }
        self.file.persist(&self.path).map_err(|error| ArchiveFault::access(&self.name, &error.error))?;
        Ok(Version::Locked)
    }
}

impl Lock for FileLock {
    fn release(&mut self) {
        drop(self.file.take());
    }

    fn check(&self) -> Result<(), ArchiveFault> {
        if self.identity.is_at(&self.path) {
            return Ok(());
        }
        Err(Folder::gone(&self.root))
    }
}
