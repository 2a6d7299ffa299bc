//! Quotes of options.

use crate::clock::UnixNanos;

/// An option's row in a dump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) struct Quote {
    /// Its time.
    pub time: UnixNanos,
    /// Mark volatility, annual, percentage points; above 0.
    pub volatility: f64,
    /// Delta; NaN where it is unknown.
    pub delta: f64,
    /// Price of the underlying future of the expiry; NaN where it is unknown.
    pub forward: f64,
}
