//! The kinds of dumps that are read, and how their rows become events.

use std::path::Path;

use super::rows::{Broken, Row, Rows, fingerprint};
use super::{IngestReport, MOST_PROBLEMS, streamed};
use crate::archive::ArchiveError;
use crate::market::MarketError;
use crate::market::derivatives::Ticker;
use crate::market::source::Trade;
use crate::market::store::{self, Event, LIQUIDATIONS, Place, TRADES};

/// A kind of dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trades,
    Books,
    Liquidations,
    Tickers,
}

impl Kind {
    /// Names of the kinds' folders.
    pub(super) const NAMES: [&str; 4] = ["trades", "incremental_book_L2", "liquidations", "derivative_ticker"];

    pub(super) fn find(name: &str) -> Option<Self> {
        match name {
            "trades" => Some(Self::Trades),
            "incremental_book_L2" => Some(Self::Books),
            "liquidations" => Some(Self::Liquidations),
            "derivative_ticker" => Some(Self::Tickers),
            _ => None,
        }
    }
}

pub(super) const TRADE_COLUMNS: [&str; 4] = ["timestamp", "side", "price", "amount"];
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
        let place = Place { pair, store, market, day, fingerprint: &hash };
        if streamed::trades(file, &place, report)? {
            return Ok(());
        }
        // Out of order: the whole day must be at hand to bring it into order.
        collect(file, day, report, &TRADE_COLUMNS, trade, |trade| trade.time)
            .map_or(Ok(()), |trades| store::write_trades(&place, &trades))
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

pub(super) fn trade(row: &Row<'_>) -> Result<Trade, String> {
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
    let whole = read_rows(file, day, report, columns, read, &mut |event| {
        events.push(event);
        true
    });
    if !whole {
        return None;
    }
    if !events.is_sorted_by_key(time) {
        events.sort_by_key(time);
    }
    Some(events)
}

/// Hands every good row of a file to `take`, until that wants no more. `false` when the file breaks off, holds no good row
/// or was left: then it must not be taken. Problems go into the report.
pub(super) fn read_rows<T>(
    file: &Path,
    day: i64,
    report: &mut IngestReport,
    columns: &[&str],
    read: fn(&Row<'_>) -> Result<T, String>,
    take: &mut dyn FnMut(T) -> bool,
) -> bool {
    let (mut good, mut bad, mut left) = (0, 0, false);
    let outcome = (|| -> Result<(), Broken> {
        let mut rows = Rows::open(file, day, columns)?;
        while let Some(row) = rows.next()? {
            match read(&row) {
                Ok(event) => {
                    good += 1;
                    if !take(event) {
                        left = true;
                        break;
                    }
                }
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
    if left {
        return false;
    }
    if bad > MOST_PROBLEMS {
        report.problem(file, 0, format!("{} more bad rows", bad - MOST_PROBLEMS));
    }
    if let Err(Broken { line, what }) = outcome {
        report.problem(file, line, format!("the file breaks off and was not taken: {what}"));
        return false;
    }
    if good == 0 {
        report.problem(file, 0, "no good row in the file; it was not taken");
        return false;
    }
    report.files += 1;
    report.rows += good;
    true
}
