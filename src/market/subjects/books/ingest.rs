//! Dumps of changes of books.

use super::store::{self, BookChange, BookSource};
use crate::clock::UnixDay;
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::DumpRow;
use crate::market::ingest::task::{IngestTask, collect};
use crate::market::query::error::MarketError;

const BOOK_COLUMNS: [&str; 5] = ["timestamp", "is_snapshot", "side", "price", "amount"];

/// Reads one file into the store, unless the store holds it already.
pub(in crate::market) fn ingest_file(
    (exchange, symbol): (&str, &str),
    day: UnixDay,
    task: &mut IngestTask<'_>,
) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    let stored = store::read_origin(task.store, exchange, symbol, day);
    // Numbers of rows of different kinds of dump are not comparable.
    let stored = stored.filter(|(source, _)| *source == BookSource::Changes).map(|(_, origin)| origin);
    if !task.is_new(stored, &hash) {
        return Ok(());
    }
    let Some(events) = books(task, day) else { return Ok(()) };
    let origin = task.origin(&hash);
    Ok(store::write(task.store, exchange, symbol, day, &events, (BookSource::Changes, &origin))?)
}

/// The changes of a day's book from its first snapshot on: earlier ones would give an incomplete book.
fn books(task: &mut IngestTask<'_>, day: UnixDay) -> Option<Vec<BookChange>> {
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

fn event(row: &DumpRow<'_>) -> Result<BookChange, RowFault> {
    Ok(BookChange {
        time: row.time(0)?,
        snapshot: row.either(1, "is_snapshot", "true", "false")?,
        bid: row.either(2, "side", "bid", "ask")?,
        price: row.number(3, "price", true)?,
        amount: row.number(4, "amount", false)?,
    })
}
