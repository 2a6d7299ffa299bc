//! Locks within the process.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A poisoned lock only means that another thread panicked between two complete updates.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
