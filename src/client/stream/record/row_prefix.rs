//! The first columns of every row of a dump.

use std::fmt::{Display, Formatter, Result};

use crate::clock::UnixNanos;

/// The columns.
pub(super) struct RowPrefix<'a> {
    pub exchange: &'a str,
    pub symbol: &'a str,
    pub time: UnixNanos,
    /// Time of arrival, by this machine's clock.
    pub now: UnixNanos,
}

impl Display for RowPrefix<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let [time, now] = [self.time, self.now].map(|time| time.0.div_euclid(1_000)); // dumps count microseconds
        write!(out, "{},{},{time},{now}", self.exchange, self.symbol)
    }
}
