//! A store that is being opened, to which each subject adds its feed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layout::Dataset;
use super::partitions::Partitions;
use crate::clock::{UnixDay, UnixNanos};
use crate::market::raw::{Feed, Feeds, RawData, SourceError};

/// Storage of a kind of raw data of the markets.
#[derive(Clone, Copy)]
pub(in crate::market) struct StoredKind {
    /// Dataset of its minutes: a day with such a file has data of the kind.
    pub(in crate::market) minutes: Dataset,
    /// Whether a file of the minutes has the kind, if it may have another one instead.
    pub(in crate::market) has_kind: fn(&Path) -> bool,
}

impl StoredKind {
    /// A kind with files of its own.
    pub(in crate::market) const fn alone(minutes: Dataset) -> Self {
        Self { minutes, has_kind: |_| true }
    }
}

/// Lookup of first events in a store.
pub(in crate::market) trait FirstEvents: Send + Sync {
    /// The moment of the first event of a kind in a day's file.
    fn first_of(&self, market: usize, kind: RawData, day: UnixDay) -> Result<Option<UnixNanos>, SourceError>;
}

/// A store that is being opened: folder, markets, and the feeds added so far.
pub(in crate::market) struct OpenedStore {
    pub(in crate::market) root: PathBuf,
    pub(in crate::market) partitions: Arc<Partitions>,
    pub(in crate::market) feeds: Feeds,
    /// The last day of data that belong to no market.
    pub(in crate::market) last_day: Option<UnixDay>,
    firsts: [Option<Arc<dyn FirstEvents>>; RawData::ALL.len()],
}

impl OpenedStore {
    /// A store of these markets.
    pub(in crate::market) fn new(root: &Path, partitions: Partitions) -> Self {
        let (root, partitions) = (root.to_owned(), Arc::new(partitions));
        Self { root, partitions, feeds: Feeds::default(), last_day: None, firsts: RawData::ALL.map(|_| None) }
    }

    /// Adds a feed.
    #[must_use]
    pub(in crate::market) fn with<F: Feed + ?Sized>(self, feed: Arc<F>) -> Self {
        Self { feeds: self.feeds.with(feed), ..self }
    }

    /// Adds the source of a kind's first events.
    #[must_use]
    pub(in crate::market) fn with_first_events(mut self, kind: RawData, firsts: Arc<dyn FirstEvents>) -> Self {
        self.firsts[kind as usize] = Some(firsts);
        self
    }

    /// Adds data that belong to no market, up to a day.
    #[must_use]
    pub(in crate::market) fn reaching(self, day: Option<UnixDay>) -> Self {
        Self { last_day: self.last_day.max(day), ..self }
    }

    /// The source of a kind's first events.
    pub(in crate::market) fn first_events(&self, kind: RawData) -> Result<&dyn FirstEvents, SourceError> {
        let firsts = self.firsts[kind as usize].as_deref();
        firsts.ok_or_else(|| SourceError(format!("this store does not know the first events of {kind:?}")))
    }
}
