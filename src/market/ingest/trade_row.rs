//! The rows of trades, and of liquidations, which are told alike.

use super::fault::Fault;
use super::rows::Row;
use crate::market::source::Trade;

/// What is read of a row.
pub(super) const TRADE_COLUMNS: [&str; 4] = ["timestamp", "side", "price", "amount"];

/// A row with these columns.
pub(super) fn trade(row: &Row<'_>) -> Result<Trade, Fault> {
    Ok(Trade {
        time: row.time(0)?,
        buy: row.either(1, "side", "buy", "sell")?,
        price: row.number(2, "price", true)?,
        amount: row.number(3, "amount", false)?,
    })
}
