//! Sources of a market, assembled from the subjects: the demo, the store, and the ingest that makes a store.

pub(in crate::market) mod demo;
pub(in crate::market) mod ingest;
pub(in crate::market) mod store;
pub(in crate::market) mod watched;
