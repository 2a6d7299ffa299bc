//! Recent pieces, kept for the next question.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// A bounded cache. When it is full it starts anew: questions come in runs over neighbouring pieces, so what is lost is
/// read once more at the most.
pub(super) struct Cache<K, V> {
    pieces: Mutex<HashMap<K, Arc<V>>>,
    most: usize,
}

impl<K: Hash + Eq, V> Cache<K, V> {
    /// A cache of at most so many pieces.
    pub(super) fn new(most: usize) -> Self {
        Self { pieces: Mutex::default(), most }
    }

    /// The piece, made now if it is not there. Two callers may both make it; one of them is kept.
    pub(super) fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let lock = || self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(piece) = lock().get(&key) {
            return Ok(Arc::clone(piece));
        }
        let piece = Arc::new(make()?);
        let mut pieces = lock();
        if pieces.len() >= self.most {
            pieces.clear();
        }
        Ok(Arc::clone(pieces.entry(key).or_insert(piece)))
    }
}
