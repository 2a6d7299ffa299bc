//! A store that may change while the service runs: each answer uses one state of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::store::MarketStore;
use crate::clock::UnixNanos;
use crate::market::query::error::MarketError;
use crate::market::raw::Source;
use crate::market::store::changes::StoreReading;

/// A store's folder, and the store as it was opened last.
pub(in crate::market) struct Watched {
    root: PathBuf,
    opened: Mutex<OpenedState>,
}

/// One state of the store.
#[derive(Clone)]
pub(in crate::market) struct OpenedState {
    /// Number of changes of the store when it was opened.
    changes: u64,
    pub(in crate::market) source: Arc<dyn Source>,
    pub(in crate::market) last_event: Option<UnixNanos>,
}

impl OpenedState {
    fn open(root: &Path, reading: &StoreReading) -> Result<Self, MarketError> {
        let store = MarketStore::open(root)?;
        let last_event = store.last_event();
        Ok(Self { changes: reading.count, source: Arc::new(store), last_event })
    }
}

impl Watched {
    /// Opens the store of a folder.
    pub(in crate::market) fn open(root: &Path) -> Result<(Self, OpenedState), MarketError> {
        let opened = OpenedState::open(root, &StoreReading::begin(root))?;
        Ok((Self { root: root.to_owned(), opened: Mutex::new(opened.clone()) }, opened))
    }

    /// The store as it is now, and a lock that keeps it so until dropped. A changed store is opened again.
    pub(in crate::market) fn current(&self) -> Result<(OpenedState, StoreReading), MarketError> {
        let reading = StoreReading::begin(&self.root);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.changes != reading.count {
            *opened = OpenedState::open(&self.root, &reading)?;
        }
        Ok((opened.clone(), reading))
    }
}
