//! How every row of a dump begins.

use std::fmt::{Display, Formatter, Result};

/// Whose row it is, and from when.
pub(super) struct Begin<'a> {
    pub exchange: &'a str,
    pub symbol: &'a str,
    /// Unix microseconds.
    pub time: i64,
    /// Unix microseconds by this machine's clock: when the row came.
    pub now: i64,
}

impl Display for Begin<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{},{},{},{}", self.exchange, self.symbol, self.time, self.now)
    }
}
