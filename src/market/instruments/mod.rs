//! What may be named and listed: whether a query's names are there, what a market serves since when, and the entries of
//! the listing.

pub(in crate::market) mod availability;
pub(in crate::market) mod filter;
pub(in crate::market) mod names;
