//! Prediction markets: the listing and the analytics of positions (service.md 2.4, 2.5 and 4.3). What the specification
//! leaves open is decided here.
//!
//! **Listing.** Each option summary has an entry for each tenor, without prices. A prediction market has an entry of its
//! own under its `conditionId`, without coin and category, so that a filter by either leaves it out; `predictionMarkets`
//! holds that one market. `lastPrice`, `prices` (24 hourly ones, the newest last) and the changes are of the first
//! outcome; volumes are those of its trades, so that they agree with its candles, and those of the positions where a source
//! has no trades of it; open interest (in tokens of both outcomes) and traders are those of the positions. `liquidity` is
//! what rests in its book, price × amount. `closed` says that the market has resolved: one past its expiry may still be
//! waiting.

pub(in crate::market) mod analytics;
pub(in crate::market) mod demo;
pub(in crate::market) mod ingest;
pub(in crate::market) mod listing;
pub(in crate::market) mod store;
