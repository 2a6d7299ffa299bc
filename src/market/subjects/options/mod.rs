//! Option summaries: skew and implied volatility (service.md 2.3 and 4.1). What the specification leaves open is decided
//! here.
//!
//! **Option summaries** are read once a minute, on the minute. A bucket has its last reading, the forming bucket the
//! last one up to now; so an hour's value is that of its last minute that has one ([`chain`] says how a store reads). Skew is the implied volatility of the put with a
//! delta of −0.25 less that of the call with 0.25, and implied volatility is that at the money, both annual and in
//! percentage points. `exchange` (one), `coin`, `rawSymbol` and `tenor` are all required: 400 says which is missing, and
//! so does a tenor that no summary has, or the symbol of the other kind (`BTC_ATM` for skew), for these can never be
//! meant. What else is not there is answered with nothing, or refused by [`super::instruments::names`].

pub(in crate::market) mod answer;
pub(in crate::market) mod chain;
pub(in crate::market) mod demo;
pub(in crate::market) mod ingest;
pub(in crate::market) mod store;
