//! The kinds of dumps that are read, and how their rows become events.

use std::path::Path;

use super::rows::{Broken, Row, Rows, fingerprint};
use super::{IngestReport, MOST_PROBLEMS};
use crate::archive::ArchiveError;
use crate::market::MarketError;
use crate::market::source::Trade;
use crate::market::store::{self, Event};

/// A kind of dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trades,
    Books,
}

impl Kind {
    /// Names of the kinds' folders.
    pub(super) const NAMES: [&str; 2] = ["trades", "incremental_book_L2"];

    pub(super) fn find(name: &str) -> Option<Self> {
        match name {
            "trades" => Some(Self::Trades),
            "incremental_book_L2" => Some(Self::Books),
            _ => None,
        }
    }
}

/// Reads one file into the store, unless the store holds it already.
pub(super) fn ingest_file(
    kind: Kind,
    file: &Path,
    store: &Path,
    (exchange, symbol): &(String, String),
    day: i64,
    report: &mut IngestReport,
) -> Result<(), MarketError> {
    let hash = match fingerprint(file) {
        Ok(hash) => hash,
        Err(error) => {
            report.problem(file, 0, error.to_string());
            return Ok(());
        }
    };
    let stored = match kind {
        Kind::Trades => store::read_trade_fingerprint(store, exchange, symbol, day),
        Kind::Books => store::read_book_fingerprint(store, exchange, symbol, day),
    };
    if stored.as_deref() == Some(hash.as_str()) {
        report.unchanged += 1;
        return Ok(());
    }
    match kind {
        Kind::Trades => {
            collect(file, day, report, &["timestamp", "side", "price", "amount"], trade, |trade| trade.time)
                .map_or(Ok(()), |trades| store::write_trades(store, exchange, symbol, day, &trades, &hash))
        }
        Kind::Books => {
            let columns = ["timestamp", "is_snapshot", "side", "price", "amount"];
            collect(file, day, report, &columns, event, |event| event.time).map_or(Ok(()), |mut events| {
                // Changes of a book that nobody has shown yet would make a book with holes.
                let first = events.iter().position(|event| event.snapshot).unwrap_or(events.len());
                if first > 0 {
                    report.problem(file, 0, format!("{first} changes before the first snapshot were left out"));
                    report.rows -= first;
                }
                store::write_books(store, exchange, symbol, day, &events.split_off(first), &hash)
            })
        }
    }
    .map_err(|error: ArchiveError| MarketError::Internal(error.to_string()))
}

fn trade(row: &Row<'_>) -> Result<Trade, String> {
    Ok(Trade {
        time: row.time(0)?,
        buy: row.either(1, "side", "buy", "sell")?,
        price: row.number(2, "price", true)?,
        amount: row.number(3, "amount", false)?,
    })
}

fn event(row: &Row<'_>) -> Result<Event, String> {
    Ok(Event {
        time: row.time(0)?,
        snapshot: row.either(1, "is_snapshot", "true", "false")?,
        bid: row.either(2, "side", "bid", "ask")?,
        price: row.number(3, "price", true)?,
        amount: row.number(4, "amount", false)?,
    })
}

/// The events of a file by time, then by file order; `None` when the file breaks off or holds none. Problems go into
/// the report.
fn collect<T>(
    file: &Path,
    day: i64,
    report: &mut IngestReport,
    columns: &[&str],
    read: fn(&Row<'_>) -> Result<T, String>,
    time: fn(&T) -> i64,
) -> Option<Vec<T>> {
    let mut events = Vec::new();
    let mut bad = 0;
    let outcome = (|| -> Result<(), Broken> {
        let mut rows = Rows::open(file, day, columns)?;
        while let Some(row) = rows.next()? {
            match read(&row) {
                Ok(event) => events.push(event),
                Err(what) => {
                    bad += 1;
                    if bad <= MOST_PROBLEMS {
                        report.problem(file, row.line, what);
                    }
                }
            }
        }
        Ok(())
    })();
    if bad > MOST_PROBLEMS {
        report.problem(file, 0, format!("{} more bad rows", bad - MOST_PROBLEMS));
    }
    if let Err(Broken { line, what }) = outcome {
        report.problem(file, line, format!("the file breaks off and was not taken: {what}"));
        return None;
    }
    report.files += 1;
    report.rows += events.len();
    if !events.is_sorted_by_key(time) {
        events.sort_by_key(time);
    }
    Some(events)
}
