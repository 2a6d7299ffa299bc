//! Dumps of trades, and of liquidations, which are told alike.

use super::files::{self, Pair, PartitionPath};
use super::trade_row::{TRADE_COLUMNS, trade};
use super::{overlap, streamed, writer};
use crate::archive::ArchiveError;
use crate::market::ingest::task::{Task, collect};
use crate::market::query::error::MarketError;

/// Reads one file into the store, unless the store holds it already.
pub(in crate::market) fn ingest_file(
    pair: Pair,
    market: (&str, &str),
    day: i64,
    task: &mut Task<'_>,
) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    let place = PartitionPath { pair, store: task.store, market, day };
    if task.is_new(files::read_origin(&place), &hash) { Ok(take(&place, task, &hash)?) } else { Ok(()) }
}

/// Reads a file again whose trades were cut against those of a neighbouring day, which has changed since. Whether it was read.
pub(in crate::market) fn ingest_again(
    pair: Pair,
    market: (&str, &str),
    day: i64,
    task: &mut Task<'_>,
) -> Result<bool, MarketError> {
    let place = PartitionPath { pair, store: task.store, market, day };
    if !overlap::is_outdated(&place) {
        return Ok(false);
    }
    let Some(hash) = task.fingerprint() else { return Ok(false) };
    let stored = files::read_origin(&place);
    // One that was not taken is not taken now either: what is in the store is of another file.
    if stored.is_none_or(|stored| stored.fingerprint != hash) {
        return Ok(false);
    }
    take(&place, task, &hash)?;
    Ok(true)
}

fn take(place: &PartitionPath<'_>, task: &mut Task<'_>, hash: &str) -> Result<(), ArchiveError> {
    if streamed::trades(place, task, hash)? {
        return Ok(());
    }
    // Out of order: the whole day must be at hand to bring it into order.
    match collect(task, place.day, &TRADE_COLUMNS, trade, |trade| trade.time) {
        Some(trades) => writer::write(place, &trades, &task.origin(hash)),
        None => Ok(()),
    }
}
