//! The kinds of dumps that are read, and how their rows become events.

use std::path::Path;

use super::rows::{Broken, Row, Rows, fingerprint};
use super::{IngestReport, MOST_PROBLEMS};
use crate::archive::ArchiveError;
use crate::market::MarketError;
use crate::market::derivatives::Ticker;
use crate::market::source::Trade;
use crate::market::store::{self, BookSource, Event, LIQUIDATIONS, TRADES};

/// A kind of dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trades,
    Books,
    Liquidations,
    Tickers,
}

const TRADE_COLUMNS: [&str; 4] = ["timestamp", "side", "price", "amount"];
const TICKER_COLUMNS: [&str; 7] =
    ["timestamp", "funding_rate", "predicted_funding_rate", "open_interest", "mark_price", "last_price", "index_price"];

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
        Kind::Trades => store::read_trade_fingerprint(TRADES, store, exchange, symbol, day),
        Kind::Liquidations => store::read_trade_fingerprint(LIQUIDATIONS, store, exchange, symbol, day),
        Kind::Tickers => store::read_ticker_fingerprint(store, exchange, symbol, day),
        Kind::Books => store::read_book_fingerprint(store, exchange, symbol, day),
    };
    if stored.as_deref() == Some(hash.as_str()) {
        report.unchanged += 1;
        return Ok(());
    }
    let market = (exchange.as_str(), symbol.as_str());
    let mut trades = |pair| {
        collect(file, day, report, &TRADE_COLUMNS, trade, |trade| trade.time)
            .map_or(Ok(()), |trades| store::write_trades(pair, store, market, day, &trades, &hash))
    };
    match kind {
        Kind::Trades => trades(TRADES),
        Kind::Liquidations => trades(LIQUIDATIONS),
        Kind::Tickers => collect(file, day, report, &TICKER_COLUMNS, ticker, |reading| reading.time)
            .map_or(Ok(()), |readings| store::write_tickers(store, exchange, symbol, day, &readings, &hash)),
        Kind::Books => {
            let columns = ["timestamp", "is_snapshot", "side", "price", "amount"];
            collect(file, day, report, &columns, event, |event| event.time).map_or(Ok(()), |mut events| {
                // Changes of a book that nobody has shown yet would make a book with holes.
                let Some(first) = events.iter().position(|event| event.snapshot) else {
                    report.problem(
                        file,
                        0,
                        "no snapshot in the file, only changes of an unknown book; it was not taken",
                    );
                    (report.files, report.rows) = (report.files - 1, report.rows - events.len());
                    return Ok(());
                };
                if first > 0 {
                    report.problem(file, 0, format!("{first} changes before the first snapshot were left out"));
                    report.rows -= first;
                }
                store::write_books(store, exchange, symbol, day, &events.split_off(first), (BookSource::Changes, &hash))
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

/// The price that values the open interest is the mark price, or else the last price, or else the index.
fn ticker(row: &Row<'_>) -> Result<Ticker, String> {
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
    if events.is_empty() {
        report.problem(file, 0, "no good row in the file; it was not taken");
        return None;
    }
    report.files += 1;
    report.rows += events.len();
    if !events.is_sorted_by_key(time) {
        events.sort_by_key(time);
    }
    Some(events)
}
