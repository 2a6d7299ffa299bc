//! Instruments: whether a query's names exist, since when a market serves which type, and the entries of the listing.

pub(in crate::market) mod availability;
pub(in crate::market) mod filter;
pub(in crate::market) mod names;
