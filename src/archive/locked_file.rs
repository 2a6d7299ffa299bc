//! Files that are locked while they are held.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::{Deref, DerefMut};

/// A locked file; dropping it releases the lock, and so does the end of the process.
#[derive(Debug)]
pub(crate) struct LockedFile(File);

impl LockedFile {
    /// A file whose lock this process has just taken, or that needs none.
    pub(crate) fn new(file: File) -> Self {
        Self(file)
    }

    /// Waits until no one else has the lock. On a file system without locks the file is not locked.
    pub(crate) fn exclusive(file: File) -> Self {
        wait(|| file.lock());
        Self(file)
    }

    /// Waits until no one else has the lock for itself. On a file system without locks the file is not locked.
    #[cfg_attr(not(feature = "service"), allow(dead_code, reason = "a store of a market is read by the service"))]
    pub(crate) fn shared(file: File) -> Self {
        wait(|| file.lock_shared());
        Self(file)
    }
}

/// A signal that the process handles interrupts the wait without an end of it.
fn wait(lock: impl Fn() -> io::Result<()>) {
    while lock().is_err_and(|error| error.kind() == ErrorKind::Interrupted) {}
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Explicitly: a child that was forked meanwhile has the file open too, so closing it would not be enough.
        let _ = self.0.unlock();
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for LockedFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_wait_goes_on_after_a_signal() {
        let attempts = AtomicUsize::new(0);
        wait(|| match attempts.fetch_add(1, Ordering::Relaxed) {
            0..2 => Err(ErrorKind::Interrupted.into()),
            _ => Ok(()),
        });
        assert_eq!(attempts.into_inner(), 3);
        wait(|| Err(ErrorKind::Unsupported.into())); // a file system without locks
    }

    #[test]
    fn a_lock_ends_though_a_copy_of_the_file_is_open() {
        // As in a child that was forked: it has the same open file.
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let file = LockedFile::exclusive(File::open(&path).unwrap());
        let _forked = file.try_clone().unwrap();
        assert!(File::open(&path).unwrap().try_lock_shared().is_err());
        drop(file);
        let several = [(); 2].map(|()| LockedFile::shared(File::open(&path).unwrap()));
        assert!(File::open(&path).unwrap().try_lock().is_err());
        drop(several);
        File::open(&path).unwrap().try_lock().unwrap();
    }
}
