//! Trades, and candles of them.

pub(in crate::market) mod candles;
pub(in crate::market) mod demo;
pub(in crate::market) mod files;
pub(in crate::market) mod ingest;
pub(in crate::market) mod overlap;
pub(in crate::market) mod store;
pub(in crate::market) mod streamed;
pub(in crate::market) mod trade_row;
pub(in crate::market) mod writer;
