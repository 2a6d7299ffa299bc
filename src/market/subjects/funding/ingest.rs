//! Dumps of the derivative ticker.

use super::store;
use crate::clock::UnixDay;
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::DumpRow;
use crate::market::ingest::task::{IngestTask, collect};
use crate::market::query::error::MarketError;
use crate::market::raw::Ticker;

const TICKER_COLUMNS: [&str; 7] =
    ["timestamp", "funding_rate", "predicted_funding_rate", "open_interest", "mark_price", "last_price", "index_price"];

/// Reads one file into the store, unless the store holds it already.
pub(in crate::market) fn ingest_file(
    (exchange, symbol): (&str, &str),
    day: UnixDay,
    task: &mut IngestTask<'_>,
) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    if !task.is_new(store::read_origin(task.store, exchange, symbol, day), &hash) {
        return Ok(());
    }
    match collect(task, day, &TICKER_COLUMNS, ticker, |reading| reading.time) {
        Some(readings) => Ok(store::write(task.store, exchange, symbol, day, &readings, &task.origin(&hash))?),
        None => Ok(()),
    }
}

/// The price that values the open interest is the mark price, or else the last price, or else the index.
fn ticker(row: &DumpRow<'_>) -> Result<Ticker, RowFault> {
    let prices = [
        row.optional(4, "mark_price", false)?,
        row.optional(5, "last_price", false)?,
        row.optional(6, "index_price", false)?,
    ];
    Ok(Ticker {
        time: row.time(0)?,
        funding_rate: row.optional(1, "funding_rate", true)?,
        predicted_rate: row.optional(2, "predicted_funding_rate", true)?,
        open_interest: row.optional(3, "open_interest", false)?,
        price: prices.into_iter().find(|price| *price > 0.0).unwrap_or(f64::NAN),
    })
}
