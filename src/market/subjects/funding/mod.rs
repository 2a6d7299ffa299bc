//! Funding rates and open interest: the data of the derivative ticker (service.md 2.3 and 4.1).

pub(in crate::market) mod demo;
pub(in crate::market) mod fields;
pub(in crate::market) mod funding_rate;
pub(in crate::market) mod ingest;
pub(in crate::market) mod open_interest;
pub(in crate::market) mod store;
