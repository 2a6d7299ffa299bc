//! Dumps of option chains → the readings of every whole minute of the day.
//!
//! The file is read as a stream: only the last quote of each option and those of the last minutes stay in memory. A
//! day's readings use its own file's quotes alone, so that they do not depend on what else was ingested.

use std::collections::{BTreeMap, HashMap};

use super::chain::{Contract, OptionChain, Quote};
use super::store::{self, OptionReading};
use crate::clock::{SECOND, UnixDay, UnixMinute, UnixNanos};
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::{DumpRow, shown, whole};
use crate::market::ingest::task::IngestTask;
use crate::market::query::error::MarketError;

/// The one folder of the published layout: a file holds the options of every underlying.
const SYMBOL: &str = "OPTIONS";

const COLUMNS: [&str; 8] =
    ["symbol", "timestamp", "type", "strike_price", "expiration", "mark_iv", "underlying_price", "delta"];

/// Minutes by which readings are delayed: dumps are in order of arrival, and only nearly in order of time. Later quotes
/// count from the next reading on.
const LATE: i64 = 5;

const MINUTE: i64 = 60 * SECOND;

/// Reads one file into the store, unless the store holds it already.
pub(in crate::market) fn ingest_file(
    (exchange, symbol): (&str, &str),
    day: UnixDay,
    task: &mut IngestTask<'_>,
) -> Result<(), MarketError> {
    if symbol != SYMBOL {
        let what =
            format!("option chains are read from {SYMBOL}/DAY.csv.gz, one file for all options; not from {symbol}");
        task.report.problem(task.file, 0, what);
        return Ok(());
    }
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    if !task.is_new(store::read_origin(task.store, exchange, SYMBOL, day), &hash) {
        return Ok(());
    }
    let mut chains = Chains::new(day);
    let taken = task.each_row(day, &COLUMNS, |row| {
        let (root, contract, quote) = read(row)?;
        chains.take(root, contract, quote);
        Ok(true)
    });
    if !taken {
        return Ok(());
    }
    let readings = chains.finish();
    Ok(store::write(task.store, exchange, SYMBOL, day, &readings, &task.origin(&hash))?)
}

/// Root of the symbol, option, and quote; no quote if the row has no volatility.
fn read<'a>(row: &DumpRow<'a>) -> Result<(&'a str, Contract, Option<Quote>), RowFault> {
    let symbol = row.text(0)?;
    let root = std::str::from_utf8(symbol).ok().and_then(|symbol| symbol.split_once('-')).map(|(root, _)| root);
    let root = root.filter(|root| !root.is_empty()).ok_or_else(|| {
        RowFault::new("symbol", format!("{} is no option's, such as BTC-27DEC24-100000-C", shown(symbol)))
    })?;
    let time = row.time(1)?;
    let put = row.either(2, "type", "put", "call")?;
    let strike = row.number(3, "strike_price", true)?;
    let expiry = row.text(4)?;
    let expiry =
        whole(expiry).filter(|micros| *micros > 0).and_then(|micros| micros.checked_mul(1_000)).ok_or_else(|| {
            RowFault::new("expiration", format!("{} is no time in microseconds since 1970", shown(expiry)))
        })?;
    let volatility = row.optional(5, "mark_iv", false)?;
    let quote = Quote {
        time,
        volatility,
        delta: row.optional(7, "delta", true)?,
        forward: row.optional(6, "underlying_price", true)?,
    };
    Ok((root, Contract::new(UnixNanos(expiry), strike, put), (volatility > 0.0).then_some(quote)))
}

/// The chains of a day's file, by root, and their readings so far.
struct Chains {
    /// Last whole minute of the day.
    last: UnixMinute,
    roots: Vec<String>,
    places: HashMap<String, usize>,
    known: Vec<OptionChain>,
    /// Quotes that no reading has used yet, by the first minute that uses them: the newest of each option.
    waiting: BTreeMap<UnixMinute, HashMap<(usize, Contract), Quote>>,
    /// The last minute that was read.
    read: UnixMinute,
    readings: Vec<OptionReading>,
}

impl Chains {
    fn new(day: UnixDay) -> Self {
        let before = |minute: UnixMinute| UnixMinute(minute.0 - 1);
        Self {
            last: before(day.next().minute()),
            roots: Vec::new(),
            places: HashMap::new(),
            known: Vec::new(),
            waiting: BTreeMap::new(),
            read: before(day.minute()),
            readings: Vec::new(),
        }
    }

    fn take(&mut self, root: &str, contract: Contract, quote: Option<Quote>) {
        let Some(quote) = quote else { return };
        // A reading on the minute uses the quotes up to it.
        let minute = UnixMinute(quote.time.minute().0 + i64::from(quote.time.0.rem_euclid(MINUTE) > 0));
        if minute > self.last {
            return;
        }
        let place = match self.places.get(root) {
            Some(&place) => place,
            None => {
                self.places.insert(root.to_owned(), self.roots.len());
                self.roots.push(root.to_owned());
                self.known.push(OptionChain::default());
                self.roots.len() - 1
            }
        };
        let seen_by = minute.max(self.read.next());
        let newest = self.waiting.entry(seen_by).or_default().entry((place, contract)).or_insert(quote);
        if newest.time <= quote.time {
            *newest = quote;
        }
        self.read_to(UnixMinute(minute.0 - LATE));
    }

    /// Takes the readings up to a minute.
    fn read_to(&mut self, last: UnixMinute) {
        while self.read < last {
            if self.waiting.is_empty() && self.known.iter().all(OptionChain::is_empty) {
                self.read = last;
                return;
            }
            self.read = self.read.next();
            let minute = self.read;
            for ((place, contract), quote) in self.waiting.remove(&minute).unwrap_or_default() {
                self.known[place].take(contract, quote);
            }
            for (root, chain) in self.roots.iter().zip(&mut self.known) {
                chain.forget(minute.nanos());
                let readings = chain.readings(minute.nanos()).into_iter().enumerate();
                let valued = readings.filter(|(_, one)| !(one.volatility.is_nan() && one.skew.is_nan()));
                self.readings.extend(valued.map(|(tenor, reading)| OptionReading {
                    minute,
                    root: root.clone(),
                    tenor,
                    reading,
                }));
            }
        }
    }

    fn finish(mut self) -> Vec<OptionReading> {
        self.read_to(self.last);
        self.readings
    }
}
