//! What a store remembers of the locks of others.

use crate::clock::UnixNanos;
use object_store::UpdateVersion;

/// Somebody else's lock, as it was first seen.
#[derive(Debug)]
pub(super) struct LockWatch {
    pub(super) version: UpdateVersion,
    /// When, by the looker's clock.
    pub(super) since: UnixNanos,
}
