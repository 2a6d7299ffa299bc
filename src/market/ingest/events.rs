//! Dumps of events: trades, changes of books, liquidations, readings of the derivative ticker.

use super::fault::Fault;
use super::rows::Row;
use super::streamed;
use super::task::Task;
use super::trade_row::{TRADE_COLUMNS, trade};
use crate::archive::ArchiveError;
use crate::market::MarketError;
use crate::market::derivatives::Ticker;
use crate::market::store::{self, BookSource, Event, LIQUIDATIONS, Place, TRADES};

/// A kind of dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trades,
    Books,
    Liquidations,
    Tickers,
}

const BOOK_COLUMNS: [&str; 5] = ["timestamp", "is_snapshot", "side", "price", "amount"];
const TICKER_COLUMNS: [&str; 7] =
    ["timestamp", "funding_rate", "predicted_funding_rate", "open_interest", "mark_price", "last_price", "index_price"];

/// Reads one file into the store, unless the store holds it already.
pub(super) fn ingest_file(
    kind: Kind,
    (exchange, symbol): (&str, &str),
    day: i64,
    task: &mut Task<'_>,
) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    let store = task.store;
    let pair = if kind == Kind::Liquidations { LIQUIDATIONS } else { TRADES };
    let place = Place { pair, store, market: (exchange, symbol), day };
    let stored = match kind {
        Kind::Trades | Kind::Liquidations => store::read_trade_origin(&place),
        Kind::Tickers => store::read_ticker_origin(store, exchange, symbol, day),
        // Rows of another kind of dump count otherwise.
        Kind::Books => store::read_book_origin(store, exchange, symbol, day)
            .filter(|(source, _)| *source == BookSource::Changes)
            .map(|(_, origin)| origin),
    };
    if !task.is_new(stored, &hash) {
        return Ok(());
    }
    take(kind, &place, task, &hash)
}

/// Reads a file again whose trades were cut against those of a neighbouring day, which has changed since. Whether it was read.
pub(super) fn ingest_again(
    kind: Kind,
    (exchange, symbol): (&str, &str),
    day: i64,
    task: &mut Task<'_>,
) -> Result<bool, MarketError> {
    let pair = match kind {
        Kind::Trades => TRADES,
        Kind::Liquidations => LIQUIDATIONS,
        Kind::Books | Kind::Tickers => return Ok(false),
    };
    let place = Place { pair, store: task.store, market: (exchange, symbol), day };
    if !store::is_outdated(&place) {
        return Ok(false);
    }
    let Some(hash) = task.fingerprint() else { return Ok(false) };
    let stored = store::read_trade_origin(&place);
    // One that was not taken is not taken now either: what is in the store is of another file.
    if stored.is_none_or(|stored| stored.fingerprint != hash) {
        return Ok(false);
    }
    take(kind, &place, task, &hash)?;
    Ok(true)
}

fn take(kind: Kind, place: &Place<'_>, task: &mut Task<'_>, hash: &str) -> Result<(), MarketError> {
    let Place { store, market: (exchange, symbol), day, .. } = *place;
    match kind {
        Kind::Trades | Kind::Liquidations => trades(place, task, hash),
        Kind::Tickers => match collect(task, day, &TICKER_COLUMNS, ticker, |reading| reading.time) {
            Some(readings) => store::write_tickers(store, exchange, symbol, day, &readings, &task.origin(hash)),
            None => Ok(()),
        },
        Kind::Books => match books(task, day) {
            Some(events) => {
                let origin = task.origin(hash);
                store::write_books(store, exchange, symbol, day, &events, (BookSource::Changes, &origin))
            }
            None => Ok(()),
        },
    }
    .map_err(|error: ArchiveError| MarketError::Internal(error.to_string()))
}

fn trades(place: &Place<'_>, task: &mut Task<'_>, hash: &str) -> Result<(), ArchiveError> {
    if streamed::trades(place, task, hash)? {
        return Ok(());
    }
    // Out of order: the whole day must be at hand to bring it into order.
    match collect(task, place.day, &TRADE_COLUMNS, trade, |trade| trade.time) {
        Some(trades) => store::write_trades(place, &trades, &task.origin(hash)),
        None => Ok(()),
    }
}

/// The changes of a day's book from its first snapshot on: those before it would make a book with holes.
fn books(task: &mut Task<'_>, day: i64) -> Option<Vec<Event>> {
    let mut events = collect(task, day, &BOOK_COLUMNS, event, |event| event.time)?;
    let Some(first) = events.iter().position(|event| event.snapshot) else {
        task.report.problem(task.file, 0, "no snapshot in the file, only changes of an unknown book; it was not taken");
        (task.report.files, task.report.rows) = (task.report.files - 1, task.report.rows - events.len());
        return None;
    };
    if first > 0 {
        task.report.problem(task.file, 0, format!("{first} changes before the first snapshot were left out"));
        task.report.rows -= first;
        task.good -= first as u64;
        if task.has_fewer(task.good) {
            (task.report.files, task.report.rows) = (task.report.files - 1, task.report.rows - (events.len() - first));
            return None;
        }
    }
    Some(events.split_off(first))
}

/// The price that values the open interest is the mark price, or else the last price, or else the index.
fn ticker(row: &Row<'_>) -> Result<Ticker, Fault> {
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

fn event(row: &Row<'_>) -> Result<Event, Fault> {
    Ok(Event {
        time: row.time(0)?,
        snapshot: row.either(1, "is_snapshot", "true", "false")?,
        bid: row.either(2, "side", "bid", "ask")?,
        price: row.number(3, "price", true)?,
        amount: row.number(4, "amount", false)?,
    })
}

/// The events of a file by time, then by file order; `None` when it is not to be taken.
fn collect<T>(
    task: &mut Task<'_>,
    day: i64,
    columns: &[&str],
    read: fn(&Row<'_>) -> Result<T, Fault>,
    time: fn(&T) -> i64,
) -> Option<Vec<T>> {
    let mut events = Vec::new();
    let whole = task.each_row(day, columns, |row| {
        events.push(read(row)?);
        Ok(true)
    });
    if !whole {
        return None;
    }
    if !events.is_sorted_by_key(time) {
        events.sort_by_key(time);
    }
    Some(events)
}
