//! The rows of trades, and of liquidations, which have the same form.

use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::{DumpRow, RowBlock};
use crate::market::raw::Trade;

/// The columns that are read.
pub(in crate::market) const TRADE_COLUMNS: [&str; 4] = ["timestamp", "side", "price", "amount"];

/// The trade of a row with these columns.
pub(in crate::market) fn trade(row: &DumpRow<'_>) -> Result<Trade, RowFault> {
    Ok(Trade {
        time: row.time(0)?,
        buy: row.either(1, "side", "buy", "sell")?,
        price: row.number(2, "price", true)?,
        amount: row.number(3, "amount", false)?,
    })
}

/// The trades of a block, in file order; `None` when its rows must be read one by one.
pub(in crate::market) fn trades(block: &mut RowBlock<'_>) -> Option<impl Iterator<Item = Trade>> {
    let (prices, amounts) = (block.numbers(2, true)?, block.numbers(3, false)?);
    let (times, buys) = (block.times(0)?, block.either(1, "buy", "sell")?);
    let rows = times.zip(buys).zip(prices.into_iter().zip(amounts));
    Some(rows.map(|((time, buy), (price, amount))| Trade { time, price, amount, buy }))
}
