//! Markets of stores, and the fixed state of one for an answer.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use super::engine::Market;
use super::query::error::MarketError;
use super::sources::watched::Watched;
use super::store::changes::StoreReading;

/// A market pinned to one state of its store, for one answer: an ingest into the store waits until this is dropped.
pub struct MarketSnapshot {
    market: Market,
    _reading: Option<StoreReading>,
}

impl Deref for MarketSnapshot {
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
        let (watched, opened) = Watched::open(store)?;
        let mut market = Self::of(opened.source);
        (market.last_event, market.watched) = (opened.last_event, Some(Arc::new(watched)));
        Ok(market)
    }

    /// The market as it is now; it does not change until the snapshot is dropped. A changed store is opened again. Waits
    /// while a dump file is put in place.
    ///
    /// # Errors
    /// [`MarketError::Internal`] when the store cannot be opened any more.
    pub fn current(&self) -> Result<MarketSnapshot, MarketError> {
        let Some(watched) = &self.watched else {
            return Ok(MarketSnapshot {
                market: self.with_source(Arc::clone(&self.source), self.last_event),
                _reading: None,
            });
        };
        let (opened, reading) = watched.current()?;
        Ok(MarketSnapshot { market: self.with_source(opened.source, opened.last_event), _reading: Some(reading) })
    }
}
