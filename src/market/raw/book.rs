//! Order books.

use crate::clock::UnixNanos;

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
