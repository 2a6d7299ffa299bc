//! Order books.

use super::feeds::{Feed, SourceError};
use crate::clock::{UnixNanos, Window};

/// One level of a book: price and amount, in the unit of the market's trades.
pub type PriceLevel = (f64, f64);

/// The state of an order book.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Book {
    /// When its last event was.
    pub time: UnixNanos,
    /// From the best down.
    pub bids: Vec<PriceLevel>,
    /// From the best up.
    pub asks: Vec<PriceLevel>,
}

/// Order books.
pub trait BookFeed: Send + Sync {
    /// The last book state of those minutes of a window that had a book event, as of `now`.
    fn last_book(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Book>, SourceError>;
}

impl Feed for dyn BookFeed {
    const NAME: &'static str = "order books";
}
