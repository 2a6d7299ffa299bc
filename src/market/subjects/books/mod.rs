//! Order books: heatmaps, and the recommended block sizes.

pub(in crate::market) mod block_size;
pub(in crate::market) mod demo;
pub(in crate::market) mod heatmap;
pub(in crate::market) mod ingest;
pub(in crate::market) mod snapshots;
pub(in crate::market) mod store;
