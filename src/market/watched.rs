//! A store that may change under a running service: each answer is made of one state of it.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::source::Source;
use super::store::{Reading, Store};
use super::{Market, MarketError};

/// A store's folder, and the store as it was opened last.
pub(super) struct Watched {
    root: PathBuf,
    opened: Mutex<Opened>,
}

#[derive(Clone)]
struct Opened {
    /// How often the store had been changed.
    changes: u64,
    source: Arc<dyn Source>,
    last_event: Option<i64>,
}

impl Opened {
    fn open(root: &Path, reading: &Reading) -> Result<Self, MarketError> {
        let store = Store::open(root)?;
        let last_event = store.last_event();
        Ok(Self { changes: reading.count, source: Arc::new(store), last_event })
    }
}

/// A market that does not change, for one answer: an ingest into its store waits until this is dropped.
pub struct Moment {
    market: Market,
    _reading: Option<Reading>,
}

impl Deref for Moment {
    type Target = Market;

    fn deref(&self) -> &Market {
        &self.market
    }
}

impl Market {
    /// A store that [`super::ingest`] made, without strict symbols.
    ///
    /// # Errors
    /// [`MarketError::Internal`] for a folder that is no store.
    pub fn open(store: &Path) -> Result<Self, MarketError> {
        let opened = Opened::open(store, &Reading::begin(store))?;
        let (source, last_event) = (Arc::clone(&opened.source), opened.last_event);
        let watched = Watched { root: store.to_owned(), opened: Mutex::new(opened) };
        let mut market = Self::of(source);
        (market.last_event, market.watched) = (last_event, Some(Arc::new(watched)));
        Ok(market)
    }

    /// The market as it is now, and stays until what is returned is dropped. A store that was ingested into since it was opened
    /// is opened anew. Waits while a dump file is put in place.
    ///
    /// # Errors
    /// [`MarketError::Internal`] when the store cannot be opened any more.
    pub fn current(&self) -> Result<Moment, MarketError> {
        let Some(watched) = &self.watched else {
            return Ok(Moment { market: self.with_source(Arc::clone(&self.source), self.last_event), _reading: None });
        };
        let reading = Reading::begin(&watched.root);
        let opened = {
            let mut opened = watched.opened.lock().unwrap_or_else(PoisonError::into_inner);
            if opened.changes != reading.count {
                *opened = Opened::open(&watched.root, &reading)?;
            }
            opened.clone()
        };
        Ok(Moment { market: self.with_source(opened.source, opened.last_event), _reading: Some(reading) })
    }
}
