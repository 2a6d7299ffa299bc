//! The storage of an archive, as the few operations that its logic needs: complete files that are read, listed and
//! replaced atomically, and locks. Implemented by a local folder, with the system's file locks, and by an object store,
//! with conditional writes.

mod address;
mod conflict_retry;
mod errors;
mod folder;
mod lease;
mod lock_watch;
mod objects;
mod operations;
mod runtime;
mod secrets;

pub(super) use address::Address;
pub(super) use conflict_retry::ConflictRetry;
pub(super) use folder::Folder;
pub(super) use objects::Objects;
pub(super) use operations::{ArchiveStore, FileRanges, Found, Lock, Staged, Version, own};
