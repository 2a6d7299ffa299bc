//! The feeds of a source: each kind of raw data is a trait, and a source is asked for it by that trait. So a new kind is added
//! without a change of the sources.

use std::any::{Any, TypeId};
use std::sync::Arc;

/// A source that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Marker of feed traits, such as `dyn TradeFeed`, by which a source is asked for its raw data. Their methods read nothing
/// after the `now` that they get.
pub trait Feed: Send + Sync + 'static {
    /// Name of its data in messages, in the plural.
    const NAME: &'static str;
}

/// The feeds of a source by their traits.
#[derive(Clone, Default)]
pub struct Feeds(Vec<(TypeId, Arc<dyn Any + Send + Sync>)>);

impl Feeds {
    /// Adds a feed; it replaces one of the same trait.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use marketpoints::clock::{UnixNanos, Window};
    /// use marketpoints::market::{Book, BookFeed, Feeds, SourceError};
    ///
    /// struct NoBooks;
    ///
    /// impl BookFeed for NoBooks {
    ///     fn last_book(&self, _: usize, _: Window, _: UnixNanos) -> Result<Option<Book>, SourceError> {
    ///         Ok(None)
    ///     }
    /// }
    ///
    /// let feeds = Feeds::default().with::<dyn BookFeed>(Arc::new(NoBooks));
    /// assert!(feeds.of::<dyn BookFeed>().is_ok());
    /// ```
    #[must_use]
    pub fn with<F: Feed + ?Sized>(mut self, feed: Arc<F>) -> Self {
        self.0.retain(|(trait_, _)| *trait_ != TypeId::of::<F>());
        self.0.push((TypeId::of::<F>(), Arc::new(feed)));
        self
    }

    /// The feed of a trait.
    ///
    /// # Errors
    /// The source has no such data. A missing feed is an error, never an empty answer.
    pub fn of<F: Feed + ?Sized>(&self) -> Result<&F, SourceError> {
        let found = self.0.iter().find(|(trait_, _)| *trait_ == TypeId::of::<F>());
        let feed = found.and_then(|(_, feed)| feed.downcast_ref::<Arc<F>>());
        feed.map(Arc::as_ref).ok_or_else(|| SourceError(format!("this source has no {}", F::NAME)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{UnixNanos, Window};
    use crate::market::raw::{Book, BookFeed, TradeFeed};

    struct OneBook(i64);

    impl BookFeed for OneBook {
        fn last_book(&self, _: usize, _: Window, _: UnixNanos) -> Result<Option<Book>, SourceError> {
            Ok(Some(Book { time: UnixNanos(self.0), ..Book::default() }))
        }
    }

    fn time(feeds: &Feeds) -> i64 {
        let books = feeds.of::<dyn BookFeed>().unwrap();
        books.last_book(0, Window { from: 0, to: 1 }, UnixNanos(0)).unwrap().unwrap().time.0
    }

    #[test]
    fn a_feed_is_found_by_its_trait_and_one_that_is_not_there_is_an_error() {
        let feeds = Feeds::default().with::<dyn BookFeed>(Arc::new(OneBook(7)));
        assert_eq!(time(&feeds), 7);
        assert_eq!(feeds.of::<dyn TradeFeed>().err().unwrap().to_string(), "this source has no trades");
        assert_eq!(time(&feeds.with::<dyn BookFeed>(Arc::new(OneBook(8)))), 8);
    }
}
