//! Token supply (service.md 2.3 and 4.1). What the specification leaves open is decided here.
//!
//! **Token supply** comes in snapshots of a day, taken at 00:00 UTC. A bucket has the latest snapshot before its
//! end and not after now, so every bucket after the first snapshot has one. A token on several chains has a row for each, the
//! primary one first (last in descending order). The rows of one time differ only in `chain`, `contractAddress` and
//! `totalValueLocked`, the value locked on that chain. A `tokenName` is compared without regard to case; the answer to a name
//! that is not the coin's is empty. `exchange` and `rawSymbol` are refused: the type is not keyed by them.

pub(in crate::market) mod answer;
pub(in crate::market) mod demo;
pub(in crate::market) mod ingest;
pub(in crate::market) mod store;
