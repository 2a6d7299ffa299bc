//! Raw dumps → store.
//!
//! Dumps of a market lie as `KIND/EXCHANGE/SYMBOL/DAY.csv` or `.csv.gz`, with the columns of the published tick-data dumps
//! in any order. KIND is `trades`, `incremental_book_L2`, `book_snapshot_25`, `book_snapshot_5`, `liquidations`,
//! `derivative_ticker` (there an empty field means unknown) or `options_chain` (there SYMBOL is `OPTIONS`). Sheets of the
//! package's own layouts lie as `KIND/NAME.csv` or `KIND/FOLDER/NAME.csv`, gzip or not; KIND is `token_supply`, `markets` or
//! `positions`. A bad row is reported and left out; a file whose stream breaks is reported and not taken at all.

mod events;
mod fault;
mod fields;
mod folders;
mod lines;
mod options;
mod predictions;
mod quoted;
mod rows;
mod sheet;
mod snapshots;
mod streamed;
mod supply;
mod task;
#[cfg(test)]
mod tests;
mod trade_row;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use self::events::Kind;
use self::fault::Fault;
use self::folders::{Source, days, entries, in_place, sheets};
use self::task::Task;
use super::MarketError;
use super::store::{BookSource, Turn, foreign, sweep};
use crate::decode::Kernel;

/// Most bad rows that are listed for one file; the rest is counted.
const MOST_PROBLEMS: usize = 1_000;

/// How often the files of a kind that overlap are looked at again, at most: most often twice is enough.
const MOST_PASSES: usize = 8;

/// Something in the dumps that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: String,
    /// Line in the file, the header being line 1; 0 when it is the file as a whole.
    pub line: u64,
    /// What is wrong, and what mends it.
    pub what: String,
    /// Name of the column; empty for the row, or the file, as a whole.
    pub column: String,
}

/// What files of a folder of dumps hold. In the order in which they are read: of the books of a day, those that tell most
/// come first.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Events(Kind),
    Snapshots(BookSource),
    Options,
    Supply,
    PredictionMarkets,
    PredictionPositions,
}

/// The folders of the layouts.
const LAYOUTS: [(&str, Layout); 10] = [
    ("derivative_ticker", Layout::Events(Kind::Tickers)),
    ("incremental_book_L2", Layout::Events(Kind::Books)),
    ("book_snapshot_25", Layout::Snapshots(BookSource::Snapshots25)),
    ("book_snapshot_5", Layout::Snapshots(BookSource::Snapshots5)),
    ("liquidations", Layout::Events(Kind::Liquidations)),
    ("markets", Layout::PredictionMarkets),
    ("options_chain", Layout::Options),
    ("positions", Layout::PredictionPositions),
    ("token_supply", Layout::Supply),
    ("trades", Layout::Events(Kind::Trades)),
];

/// What an ingest did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IngestReport {
    /// Dump files read into the store.
    pub files: usize,
    /// Dump files left alone because the store holds them already.
    pub unchanged: usize,
    /// Good rows read.
    pub rows: usize,
    /// What was left out.
    pub problems: Vec<Problem>,
    /// Whether the ingest was ended before it had seen every file.
    pub interrupted: bool,
}

impl IngestReport {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.unchanged += other.unchanged;
        self.rows += other.rows;
        self.problems.extend(other.problems);
        self.interrupted |= other.interrupted;
    }

    fn problem(&mut self, file: &Path, line: u64, what: impl Into<String>) {
        self.fault(file, line, Fault::new("", what));
    }

    fn fault(&mut self, file: &Path, line: u64, fault: Fault) {
        let (column, what) = fault.into_parts();
        self.problems.push(Problem { file: file.display().to_string(), line, what, column });
    }
}

/// Refuses a store in the dumps' folder or below it, where the next ingest would take its files for dumps, and dumps below the
/// store.
fn apart(dumps: &Path, store: &Path) -> Result<(), MarketError> {
    // The store need not be there yet: the nearest folder above it is.
    let real = |path: &Path| {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let there = whole.ancestors().find_map(|above| fs::canonicalize(above).ok().map(|real| (above, real)));
        there.map_or_else(
            || whole.clone(),
            |(above, real)| real.join(whole.strip_prefix(above).unwrap_or(Path::new(""))),
        )
    };
    let (inner, outer) = (real(store), real(dumps));
    let problem = if inner == outer {
        "the dumps and the store are one folder"
    } else if inner.starts_with(&outer) {
        "the store lies in the folder of dumps"
    } else if outer.starts_with(&inner) {
        "the dumps lie in the folder of the store"
    } else {
        return Ok(());
    };
    Err(MarketError::Internal(format!("{}: {problem}; give the store a folder of its own", store.display())))
}

/// An ingest: which dumps, into which store, by which rules.
#[derive(Debug, Clone, Copy)]
pub struct Ingest<'a> {
    dumps: &'a Path,
    store: &'a Path,
    allow_fewer_rows: bool,
}

/// [`Ingest::run`] by the usual rules.
///
/// # Errors
/// As there.
pub fn ingest(dumps: &Path, store: &Path, keep_going: &dyn Fn() -> bool) -> Result<IngestReport, MarketError> {
    Ingest::new(dumps, store).run(keep_going)
}

impl<'a> Ingest<'a> {
    /// Every dump below `dumps` into the store at `store`.
    pub fn new(dumps: &'a Path, store: &'a Path) -> Self {
        Self { dumps, store, allow_fewer_rows: false }
    }

    /// Whether a dump file may take the place of one with more good rows. Without it such a file is a problem in the report,
    /// and the store keeps what it has.
    #[must_use]
    pub fn allow_fewer_rows(self, allow: bool) -> Self {
        Self { allow_fewer_rows: allow, ..self }
    }

    /// Reads every dump into the store, which is made if it is not there.
    ///
    /// A dump file that the store holds already changes nothing; one with new content replaces what the old one told, unless it
    /// has fewer good rows. Of
    /// several dumps of a market's book on one day the store keeps the one that tells most: `incremental_book_L2`, else
    /// `book_snapshot_25`, else `book_snapshot_5`. `keep_going` is asked before each file and every some ten thousand rows: on
    /// `false` the ingest ends with what it has done, and what is in the store is whole. Files that a killed ingest left
    /// unfinished an hour ago or more are removed. One ingest at a time changes a store: another one waits, and asks `keep_going`
    /// meanwhile.
    ///
    /// # Errors
    /// [`MarketError::Internal`] when `dumps` is no folder, one of the two lies in the other, the store cannot be written, or the
    /// environment names a kernel that is not there; a link in the store, which follows none. Bad data is no error: it is in the report.
    pub fn run(&self, keep_going: &dyn Fn() -> bool) -> Result<IngestReport, MarketError> {
        self.run_telling(keep_going, &|_| ())
    }

    /// As [`Self::run`]; `tell` gets a sentence when it has to wait, until another ingest into the store has ended.
    ///
    /// # Errors
    /// As there.
    pub fn run_telling(&self, keep_going: &dyn Fn() -> bool, tell: &dyn Fn(&str)) -> Result<IngestReport, MarketError> {
        let (dumps, store) = (self.dumps, self.store);
        if !dumps.is_dir() {
            let message = format!("{} is no folder of dumps (KIND/EXCHANGE/SYMBOL/DAY.csv.gz)", dumps.display());
            return Err(MarketError::Internal(message));
        }
        apart(dumps, store)?;
        Kernel::active().map_err(|problem| MarketError::Internal(problem.to_owned()))?;
        let mut report = IngestReport::default();
        let (mut folders, others) = (entries(dumps)?, LAYOUTS.map(|(name, _)| name).join(", "));
        let is_known =
            |folder: &PathBuf| LAYOUTS.iter().any(|(name, _)| folder.file_name().is_some_and(|own| own == *name));
        // Without dumps there is no store to make, and nothing to wait for.
        let mut turn = None;
        if folders.iter().any(is_known) {
            fs::create_dir_all(store).map_err(|error| in_place(store, &error))?;
            turn = Turn::begin(store, keep_going, tell)?;
            if turn.is_none() {
                report.interrupted = true;
                return Ok(report);
            }
            if let Some(problem) = foreign(store) {
                return Err(MarketError::Internal(problem));
            }
            sweep(store, SystemTime::now());
        }
        for (name, layout) in LAYOUTS {
            let Some(place) = folders.iter().position(|folder| folder.file_name().is_some_and(|known| known == name))
            else {
                continue;
            };
            let files = match layout {
                Layout::Events(_) | Layout::Snapshots(_) | Layout::Options => {
                    days(&folders.swap_remove(place), &mut report)
                }
                _ => sheets(&folders.swap_remove(place), &mut report),
            };
            for file in &files {
                if !keep_going() {
                    report.interrupted = true;
                }
                if report.interrupted {
                    return Ok(report);
                }
                take(layout, file, self, &mut report, keep_going)?;
            }
            if let Layout::Events(kind) = layout {
                report.interrupted |= !self.take_again(kind, &files, keep_going)?;
            }
        }
        folders.sort();
        for other in folders {
            report.problem(&other, 0, format!("no kind of dump that is read; known are {others}"));
        }
        drop(turn);
        Ok(report)
    }
}

impl Ingest<'_> {
    /// Reads the files again that were cut against a neighbouring day which holds something else now: a trade that the
    /// neighbour has no more is theirs again. Also where the ingest that changed the neighbour was ended before it came here.
    /// They are in the report already. `false` where the ingest was ended.
    fn take_again(
        &self,
        kind: Kind,
        files: &[(PathBuf, Source)],
        keep_going: &dyn Fn() -> bool,
    ) -> Result<bool, MarketError> {
        let Ingest { store, allow_fewer_rows, .. } = *self;
        // One that is read again may change what a third one is to leave out.
        for _ in 0..MOST_PASSES {
            let mut again = false;
            for (file, source) in files {
                let Source::Day(exchange, symbol, day) = source else { continue };
                let mut report = IngestReport::default();
                let task =
                    &mut Task { file, store, report: &mut report, keep_going, allow_fewer_rows, held: 0, good: 0 };
                again |= events::ingest_again(kind, (exchange, symbol), *day, task)?;
                if report.interrupted {
                    return Ok(false);
                }
            }
            if !again {
                break;
            }
        }
        Ok(true)
    }
}

fn take(
    layout: Layout,
    (file, source): &(PathBuf, Source),
    ingest: &Ingest<'_>,
    report: &mut IngestReport,
    keep_going: &dyn Fn() -> bool,
) -> Result<(), MarketError> {
    let Ingest { store, allow_fewer_rows, .. } = *ingest;
    let mut task = Task { file, store, report, keep_going, allow_fewer_rows, held: 0, good: 0 };
    match (layout, source) {
        (Layout::Events(kind), Source::Day(exchange, symbol, day)) => {
            events::ingest_file(kind, (exchange, symbol), *day, &mut task)
        }
        (Layout::Snapshots(kind), Source::Day(exchange, symbol, day)) => {
            snapshots::ingest_file(kind, (exchange, symbol), *day, &mut task)
        }
        (Layout::Options, Source::Day(exchange, symbol, day)) => {
            if symbol == options::SYMBOL {
                return options::ingest_file(exchange, *day, &mut task);
            }
            let what = format!(
                "option chains are read from {0}/DAY.csv.gz, one file for all options; not from {symbol}",
                options::SYMBOL
            );
            task.report.problem(file, 0, what);
            Ok(())
        }
        (Layout::Supply, Source::Sheet(name)) => supply::ingest_file(name, &mut task),
        (Layout::PredictionMarkets, Source::Sheet(name)) => predictions::ingest_markets(name, &mut task),
        (Layout::PredictionPositions, Source::Sheet(name)) => predictions::ingest_positions(name, &mut task),
        // A layout is either cut by days or a sheet.
        (_, Source::Day(..) | Source::Sheet(_)) => Ok(()),
    }
}
