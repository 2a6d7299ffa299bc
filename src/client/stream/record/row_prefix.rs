//! How every row of a dump begins.

use std::fmt::{Display, Formatter, Result};

use crate::clock::UnixNanos;

/// Whose row it is, and from when.
pub(super) struct RowPrefix<'a> {
    pub exchange: &'a str,
    pub symbol: &'a str,
    pub time: UnixNanos,
    /// When the row came, by this machine's clock.
    pub now: UnixNanos,
}

impl Display for RowPrefix<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let [time, now] = [self.time, self.now].map(|time| time.0.div_euclid(1_000)); // dumps count microseconds
        write!(out, "{},{},{time},{now}", self.exchange, self.symbol)
    }
}
