//! Where an archive lies, as the few operations that its logic needs: whole files that are read, listed, put in place in
//! one step, and a right to write. Behind them are a local folder, where the system's file locks keep writers apart, and
//! an object store, where a change goes through only while what it is based on still stands.

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
pub(super) use operations::{ArchiveStore, Found, Lock, Staged, Version, own};
