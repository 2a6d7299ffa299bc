//! What a store remembers about locks of others.

use crate::clock::UnixNanos;
use object_store::UpdateVersion;

/// Someone else's lock, as it was first seen.
#[derive(Debug)]
pub(super) struct LockWatch {
    pub(super) version: UpdateVersion,
    /// When, by the observer's clock.
    pub(super) since: UnixNanos,
}
