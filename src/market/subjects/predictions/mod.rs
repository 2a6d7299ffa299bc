//! Prediction markets: the listing and the analytics of positions (service.md 2.4, 2.5 and 4.3). What the specification
//! leaves open is decided here.
//!
//! **Listing.** Each option summary has an entry for each tenor, without prices. A prediction market has an entry of its
//! own under its `conditionId`, without coin and category, so that a filter by either leaves it out; `predictionMarkets`
//! holds that one market. `lastPrice`, `prices` (24 hourly ones, the newest last) and the changes are of the first
//! outcome. Volumes come from trades if the source has them, so that they agree with the candles, else from positions. Open
//! interest (in tokens of both outcomes) and trader counts come from positions. `liquidity` is the worth of the book, price ×
//! amount. `closed` means that the market is resolved; an expired market may still be unresolved.

pub(in crate::market) mod analytics;
pub(in crate::market) mod demo;
pub(in crate::market) mod ingest;
pub(in crate::market) mod listing;
pub(in crate::market) mod store;
