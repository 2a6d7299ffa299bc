//! A store that may change under a running service: each answer is made of one state of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::store::Store;
use crate::clock::UnixNanos;
use crate::market::query::error::MarketError;
use crate::market::raw::Source;
use crate::market::store::changes::Reading;

/// A store's folder, and the store as it was opened last.
pub(in crate::market) struct Watched {
    root: PathBuf,
    opened: Mutex<Opened>,
}

/// One state of the store.
#[derive(Clone)]
pub(in crate::market) struct Opened {
    /// How often the store had been changed.
    changes: u64,
    pub(in crate::market) source: Arc<dyn Source>,
    pub(in crate::market) last_event: Option<UnixNanos>,
}

impl Opened {
    fn open(root: &Path, reading: &Reading) -> Result<Self, MarketError> {
        let store = Store::open(root)?;
        let last_event = store.last_event();
        Ok(Self { changes: reading.count, source: Arc::new(store), last_event })
    }
}

impl Watched {
    /// Opens the store of a folder.
    pub(in crate::market) fn open(root: &Path) -> Result<(Self, Opened), MarketError> {
        let opened = Opened::open(root, &Reading::begin(root))?;
        Ok((Self { root: root.to_owned(), opened: Mutex::new(opened.clone()) }, opened))
    }

    /// The store as it is now, which it stays until the lock is dropped; opened anew if it was changed.
    pub(in crate::market) fn current(&self) -> Result<(Opened, Reading), MarketError> {
        let reading = Reading::begin(&self.root);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.changes != reading.count {
            *opened = Opened::open(&self.root, &reading)?;
        }
        Ok((opened.clone(), reading))
    }
}
