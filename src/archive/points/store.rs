//! Where an archive lies: files that appear whole or not at all, and locks that end with their holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tempfile::{Builder, NamedTempFile};

use super::fault::ArchiveFault;
use crate::archive::whole::permissions;

/// Folder of what is not data. Its name begins as Spark, pyarrow and DuckDB want it of files that they must not read.
const OWN: &str = "_marketpoints";

/// Name of a file that the archive keeps for itself.
pub(super) fn own(name: &str) -> String {
    format!("{OWN}/{name}")
}

/// A local folder.
#[derive(Debug, Clone)]
pub(super) struct Store {
    root: PathBuf,
}

/// A file that is written but not yet in place. Dropped, it is gone.
pub(super) struct Staged {
    file: NamedTempFile,
    path: PathBuf,
    name: String,
}

/// Held until dropped; the system takes it back from a process that ends in any way.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Store {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file's bytes; `None` where there is none.
    pub(super) fn read(&self, name: &str) -> Result<Option<Bytes>, ArchiveFault> {
        match std::fs::read(self.path(name)) {
            Ok(bytes) => Ok(Some(Bytes::from(bytes))),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(ArchiveFault::access(name, &error)),
        }
    }

    /// A file's length; `None` where there is none.
    pub(super) fn length(&self, name: &str) -> Result<Option<u64>, ArchiveFault> {
        match std::fs::metadata(self.path(name)) {
            Ok(about) => Ok(Some(about.len())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(ArchiveFault::access(name, &error)),
        }
    }

    /// Writes a file beside the data. `owner` names it, so that what a dead process left is found.
    pub(super) fn stage(&self, owner: &str, name: &str, bytes: &[u8]) -> Result<Staged, ArchiveFault> {
        let bad = |error: std::io::Error| ArchiveFault::access(name, &error);
        let folder = self.path(&own("unfinished"));
        std::fs::create_dir_all(&folder).map_err(bad)?;
        let mut file = Builder::new().prefix(&format!("{owner}-")).tempfile_in(&folder).map_err(bad)?;
        file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(bad)?;
        if let Some(permissions) = permissions(&folder) {
            // A temporary file is private; the finished one is as readable as its folder.
            file.as_file().set_permissions(permissions).map_err(bad)?;
        }
        Ok(Staged { file, path: self.path(name), name: name.to_owned() })
    }

    /// Writes a whole file.
    pub(super) fn write(&self, owner: &str, name: &str, bytes: &[u8]) -> Result<(), ArchiveFault> {
        self.stage(owner, name, bytes)?.place()
    }

    /// Removes a file; one that is not there is fine.
    pub(super) fn remove(&self, name: &str) -> Result<(), ArchiveFault> {
        match std::fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ArchiveFault::access(name, &error)),
            _ => Ok(()),
        }
    }

    /// Moves a file to where nobody reads it as data; tells its new name.
    pub(super) fn set_aside(&self, name: &str) -> Result<String, ArchiveFault> {
        let bad = |error: std::io::Error| ArchiveFault::access(name, &error);
        let folder = self.path(&own("quarantine"));
        std::fs::create_dir_all(&folder).map_err(bad)?;
        for number in 0_u32.. {
            // No `=`, so that no reader takes the name for a partition, and no `.parquet` at its end.
            let plain = name.replace('=', "-").replace('/', ".");
            let short = &plain[plain.len().saturating_sub(150)..]; // names of data files are ASCII
            let aside = own(&format!("quarantine/{short}.{number}"));
            if self.path(&aside).try_exists().map_err(bad)? {
                continue;
            }
            std::fs::rename(self.path(name), self.path(&aside)).map_err(bad)?;
            return Ok(aside);
        }
        Err(ArchiveFault::access(name, &"no free name in the quarantine"))
    }

    /// Names of the files below a folder, in order.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, ArchiveFault> {
        let mut names = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let bad = |error: std::io::Error| ArchiveFault::access(&folder, &error);
            let entries = match std::fs::read_dir(self.path(&folder)) {
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

    /// Takes the lock of that name; `None` while somebody else has it.
    pub(super) fn try_lock(&self, name: &str) -> Result<Option<Lock>, ArchiveFault> {
        let name = own(&format!("lock/{name}"));
        let bad = |error: &dyn ToString| ArchiveFault::access(&name, error);
        let path = self.path(&name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| bad(&error))?;
        }
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| bad(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(bad(&format!("{error}; an archive needs a file system that locks files")))
            }
        }
    }

    /// Removes what a dead process left of an owner; the owner's lock is held.
    pub(super) fn sweep(&self, owner: &str) -> Result<(), ArchiveFault> {
        for name in self.list(&own("unfinished"))? {
            if name.rsplit('/').next().is_some_and(|file| file.starts_with(&format!("{owner}-"))) {
                self.remove(&name)?;
            }
        }
        Ok(())
    }
}

impl Staged {
    /// Puts the file in place, in one step.
    pub(super) fn place(self) -> Result<(), ArchiveFault> {
        let bad = |error: &dyn ToString| ArchiveFault::access(&self.name, error);
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| bad(&error))?;
        }
        self.file.persist(&self.path).map_err(|error| bad(&error.error))?;
        Ok(())
    }
}
