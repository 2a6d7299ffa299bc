//! What a market tells beside the raw data of its venues: option summaries and token supply (service.md 2.3 and 4.1).
//! What the specification leaves open is decided here.
//!
//! **Option summaries** are read once a minute, on the minute. A bucket tells its last reading, the forming bucket the
//! last one up to now; so an hour's value is that of its last minute that has one ([`chain`] says how a store reads). Skew is the implied volatility of the put with a
//! delta of −0.25 less that of the call with 0.25, and implied volatility is that at the money, both annual and in
//! percentage points. `exchange` (one), `coin`, `rawSymbol` and `tenor` are all required: 400 says which is missing, and
//! so does a tenor that no summary has, or the symbol of the other kind (`BTC_ATM` for skew), for these can never be
//! meant. What else is not there is answered with nothing, or refused by [`super::names`].
//!
//! **Token supply** comes in snapshots of a day, taken at 00:00 UTC. A bucket tells the latest snapshot from before its
//! end, none after now: every bucket after the first snapshot has one. A token on several chains has a row for each, the
//! primary one first (last where the order descends): the rows of one time are alike in everything but `chain`, `contractAddress` and
//! `totalValueLocked`, which is what is locked on that chain. A `tokenName` is compared without regard to case; one
//! that is not the coin's is answered with nothing. `exchange` and `rawSymbol` are refused: the type is not keyed by
//! them.
//!
//! **Listing.** Each option summary has an entry for each tenor, without prices. A prediction market has an entry of its
//! own under its `conditionId`, without coin and category, so that a filter by either leaves it out; `predictionMarkets`
//! holds that one market. `lastPrice`, `prices` (24 hourly ones, the newest last) and the changes are of the first
//! outcome; volumes are those of its trades, so that they agree with its candles, and those of the positions where a source
//! has no trades of it; open interest (in tokens of both outcomes) and traders are those of the positions. `liquidity` is
//! what rests in its book, price × amount. `closed` says that the market has resolved: one past its expiry may still be
//! waiting.

pub(super) mod chain;
mod options;
mod predictions;
mod supply;
#[cfg(test)]
mod tests;

pub use options::{OptionSummary, SummaryKind};
pub use predictions::{PredictionState, PredictionTold};
pub use supply::{Supply, SupplyRow, Token};

pub(super) use options::{check_option_summary, option_entries, option_summaries};
pub(super) use predictions::{PREDICTION_VENUE, prediction_entries};
pub(super) use supply::{Marketcaps, token_supply};
