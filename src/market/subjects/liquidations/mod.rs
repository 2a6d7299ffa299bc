//! Liquidations: sums by side, and the heatmap of a coin.

pub(in crate::market) mod demo;
pub(in crate::market) mod heatmap;
pub(in crate::market) mod sums;
