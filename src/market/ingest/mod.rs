//! Raw dumps → store.
//!
//! Dumps lie as `KIND/EXCHANGE/SYMBOL/DAY.csv` or `.csv.gz`, with the columns of the published tick-data dumps in any
//! order; KIND is `trades`, `incremental_book_L2`, `liquidations` or `derivative_ticker` (there an empty field means
//! unknown). A bad row is reported and left out; a file whose stream breaks is reported and not taken at all.

mod events;
mod lines;
mod rows;
mod streamed;

use std::fs;
use std::path::{Path, PathBuf};

use self::events::{Kind, ingest_file};
use super::MarketError;
use super::store::parse_date;

/// Most bad rows that are listed for one file; the rest is counted.
const MOST_PROBLEMS: usize = 1_000;

/// Something in the dumps that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: String,
    /// Line in the file, the header being line 1; 0 when it is the file as a whole.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

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
}

impl IngestReport {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.unchanged += other.unchanged;
        self.rows += other.rows;
        self.problems.extend(other.problems);
    }

    fn problem(&mut self, file: &Path, line: u64, what: impl Into<String>) {
        self.problems.push(Problem { file: file.display().to_string(), line, what: what.into() });
    }
}

/// Reads every dump below `dumps` into the store at `store`, which is made if it is not there.
///
/// A dump file that the store holds already changes nothing; one with new content replaces its day. `keep_going` is
/// asked before each file: on `false` the ingest ends with what it has done, and what is in the store is whole.
///
/// # Errors
/// [`MarketError::Internal`] when `dumps` is no folder or the store cannot be written. Bad data is no error: it is in
/// the report.
pub fn ingest(dumps: &Path, store: &Path, keep_going: &dyn Fn() -> bool) -> Result<IngestReport, MarketError> {
    if !dumps.is_dir() {
        let message = format!("{} is no folder of dumps (KIND/EXCHANGE/SYMBOL/DAY.csv.gz)", dumps.display());
        return Err(MarketError::Internal(message));
    }
    let mut report = IngestReport::default();
    for kind_folder in entries(dumps)? {
        let name = file_name(&kind_folder);
        let Some(kind) = Kind::find(&name) else {
            let what = format!("{name:?} is no kind of dump that is read; known are {}", Kind::NAMES.join(", "));
            report.problem(&kind_folder, 0, what);
            continue;
        };
        for exchange in folders(&kind_folder, &mut report)? {
            for symbol in folders(&exchange, &mut report)? {
                let market = (file_name(&exchange), file_name(&symbol));
                let mut last_day = None;
                for file in entries(&symbol)? {
                    let Some(day) = day_of(&file) else {
                        report.problem(&file, 0, "the name is not DAY.csv or DAY.csv.gz, such as 2024-12-01.csv.gz");
                        continue;
                    };
                    if last_day.replace(day) == Some(day) {
                        report.problem(&file, 0, "a second file of the same day; only the first was read");
                        continue;
                    }
                    if !keep_going() {
                        return Ok(report);
                    }
                    ingest_file(kind, &file, store, &market, day, &mut report)?;
                }
            }
        }
    }
    Ok(report)
}

/// What is in a folder, by name, without hidden files.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, MarketError> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, MarketError>>()?;
    paths.retain(|path| !file_name(path).starts_with('.'));
    paths.sort();
    Ok(paths)
}

fn folders(parent: &Path, report: &mut IngestReport) -> Result<Vec<PathBuf>, MarketError> {
    let (folders, others): (Vec<_>, Vec<_>) = entries(parent)?.into_iter().partition(|path| path.is_dir());
    for other in others {
        report.problem(&other, 0, "a file where a folder belongs (KIND/EXCHANGE/SYMBOL/DAY.csv.gz)");
    }
    Ok(folders)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn day_of(file: &Path) -> Option<i64> {
    let name = file_name(file);
    let stem = name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".csv")?;
    parse_date(stem).filter(|_| file.is_file())
}
