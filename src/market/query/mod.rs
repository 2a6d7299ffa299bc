//! Shared parts of all answers: the window, USD and quotes, price steps, rounding, the error.

pub(in crate::market) mod context;
pub(in crate::market) mod error;
pub(in crate::market) mod price_step;
pub(in crate::market) mod rounding;
pub(in crate::market) mod usd;
pub(in crate::market) mod window;
