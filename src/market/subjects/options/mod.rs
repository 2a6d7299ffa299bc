//! Option summaries: skew and implied volatility (service.md 2.3 and 4.1). What the specification leaves open is decided
//! here.
//!
//! **Option summaries** are read once a minute, on the minute. A bucket has its last reading, the forming bucket the
//! last one up to now; so an hour has the value of its last minute with a reading ([`chain`] describes those of a
//! store). Skew is the implied volatility of the put with a delta of −0.25 less that of the call with 0.25; implied
//! volatility is at the money. Both are annual and in percentage points. `exchange` (one), `coin`, `rawSymbol` and
//! `tenor` are all required; a missing one is refused, as are an unknown tenor and the symbol of the other kind
//! (`BTC_ATM` for skew). Other unknown names are answered with nothing, or refused by
//! [`crate::market::instruments::names`].

pub(in crate::market) mod answer;
pub(in crate::market) mod chain;
pub(in crate::market) mod demo;
pub(in crate::market) mod ingest;
pub(in crate::market) mod store;
