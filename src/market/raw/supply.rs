//! Token supply.

use super::feeds::{Feed, SourceError};
use crate::clock::{UnixNanos, UnixSecond, Window};

/// A token whose supply a source knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Ticker.
    pub coin: String,
    /// Full name: `tokenName` of section 4.1.
    pub name: String,
    /// The first snapshot.
    pub available_since: UnixSecond,
}

/// Supply figures of a token on one chain (section 2.3), NaN where unknown. Amounts are in USD,
/// supplies in coin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SupplyRow {
    /// Market capitalization.
    pub marketcap: f64,
    /// Market capitalization of the first snapshot.
    pub first_marketcap: f64,
    /// Share of all coins' market capitalization, percent.
    pub dominance: f64,
    /// Coins in circulation.
    pub circulating: f64,
    /// Coins that exist.
    pub total: f64,
    /// Coins that there can ever be.
    pub max: f64,
    /// Value locked on the chain.
    pub locked: f64,
    /// Price × the most coins that there can be, or those that exist where nothing bounds them.
    pub diluted: f64,
    /// Chain.
    pub chain: String,
    /// Contract on the chain; empty for its own coin.
    pub contract: String,
    /// Rank by market capitalization, 1 for the largest.
    pub rank: f64,
    /// Traded in the 24 hours before the snapshot.
    pub volume: f64,
    /// Price.
    pub price: f64,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Supply {
    /// When it was taken.
    pub time: UnixSecond,
    /// A row for each chain, the primary one first.
    pub rows: Vec<SupplyRow>,
}

/// Full name of a coin by its token; empty where there is none.
pub(in crate::market) fn coin_name(tokens: &[Token], coin: &str) -> String {
    tokens.iter().find(|token| token.coin == coin).map_or_else(String::new, |token| token.name.clone())
}

/// Token supply.
pub trait SupplyFeed: Send + Sync {
    /// The tokens whose supply is known; one is named by its place in this list.
    fn tokens(&self) -> &[Token];

    /// Visits the latest supply snapshot before a window and those with a time in it, in time order, none after `now`.
    fn supply(
        &self,
        token: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError>;
}

impl Feed for dyn SupplyFeed {
    const NAME: &'static str = "token supply";
}
