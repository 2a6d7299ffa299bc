//! Cache of recent values.

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;

/// A bounded cache that drops the least used values.
pub(in crate::market) struct Cache<K, V>(quick_cache::sync::Cache<K, Arc<V>>);

impl<K: Hash + Eq + Clone, V> Cache<K, V> {
    /// A cache of at most `most` values.
    pub(in crate::market) fn new(most: usize) -> Self {
        Self(quick_cache::sync::Cache::new(most))
    }

    /// The value of a key, made now if it is missing. One of several callers makes it while the others wait; if it fails, the
    /// next one tries.
    #[expect(clippy::needless_pass_by_value, reason = "callers make their keys on the spot")]
    pub(in crate::market) fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        self.0.get_or_insert_with(&key, || make().map(Arc::new))
    }

    /// As [`Self::get`], for values whose construction cannot fail.
    pub(in crate::market) fn made(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        match self.get(key, || Ok::<_, Infallible>(make())) {
            Ok(piece) => piece,
            Err(never) => match never {},
        }
    }
}
