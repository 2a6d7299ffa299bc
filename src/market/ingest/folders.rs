//! Finds the files of a folder of dumps. Anything else is reported and skipped.

use std::fs;
use std::path::{Path, PathBuf};

use super::report::IngestReport;
use super::task::{IngestRules, IngestTask};
use crate::clock::UnixDay;
use crate::market::query::error::MarketError;
use crate::market::store::layout::{parse_date, unfit};
use crate::protocol::exchange::near_miss;

/// A file to read.
pub(in crate::market) enum DumpFile {
    /// Exchange, symbol and day.
    Day(String, String, UnixDay),
    /// Name of the table, with its folder.
    Table(String),
}

/// Name and layout of a folder of dumps.
pub(in crate::market) type DumpFolder = (&'static str, FolderLayout);

/// Reads the file of a market (exchange and symbol) and day.
type ReadDay = fn((&str, &str), UnixDay, &mut IngestTask<'_>) -> Result<(), MarketError>;
/// Reads the files of all markets and days.
type ReadDays = fn(&[(PathBuf, DumpFile)], IngestRules<'_>, &mut IngestReport) -> Result<(), MarketError>;
/// Reads a table, by its name.
type ReadTable = fn(&str, &mut IngestTask<'_>) -> Result<(), MarketError>;

/// Layout of a folder of dumps.
#[derive(Clone, Copy)]
pub(in crate::market) enum FolderLayout {
    /// A file for each market and day.
    Days(ReadDay),
    /// A file per market and day, whose neighbours may overlap: all days of a market are read together.
    Overlapping(ReadDays),
    Tables(ReadTable),
}

const NOT_UTF8: &str = "its name is not UTF-8, so no query could name it; rename it";
const NO_FILE: &str = "no file, but a folder, a pipe or a link to nothing";
const NO_DAY: &str = "the name is not DAY.csv or DAY.csv.gz, such as 2024-12-01.csv.gz, of the years 1680 to 2259";
const NO_FOLDER: &str = "a file where a folder belongs (KIND/EXCHANGE/SYMBOL/DAY.csv.gz)";

/// The files of a kind that is split by market and day.
pub(in crate::market) fn days(kind: &Path, report: &mut IngestReport) -> Vec<(PathBuf, DumpFile)> {
    let mut files = Vec::new();
    for (exchange, folder) in folders(kind, report) {
        // Nobody could ask for it: clients take the name for a mistake.
        if let Some(meant) = near_miss(&exchange) {
            report.problem(&folder, 0, format!("no exchange has this name; did you mean {meant}? Rename it"));
            continue;
        }
        for (symbol, folder) in folders(&folder, report) {
            let mut last_day = None;
            for file in listed(&folder, report) {
                let Some(day) = day_of(&file) else {
                    report.problem(&file, 0, NO_DAY);
                    continue;
                };
                // A pipe might never end.
                if !file.is_file() {
                    report.problem(&file, 0, NO_FILE);
                    continue;
                }
                if last_day.replace(day) == Some(day) {
                    report.problem(&file, 0, "a second file of the same day; only the first was read");
                    continue;
                }
                files.push((file, DumpFile::Day(exchange.clone(), symbol.clone(), day)));
            }
        }
    }
    files
}

/// The files of a kind of tables: in its folder, and in the folders there.
pub(in crate::market) fn tables(kind: &Path, report: &mut IngestReport) -> Vec<(PathBuf, DumpFile)> {
    let mut files = Vec::new();
    for path in listed(kind, report) {
        let inside = if path.is_dir() { listed(&path, report) } else { vec![path] };
        for file in inside {
            let name = file.strip_prefix(kind).ok().and_then(Path::to_str).map(|name| name.replace('\\', "/"));
            let Some(name) = name else {
                report.problem(&file, 0, NOT_UTF8);
                continue;
            };
            if file.is_dir() || name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".csv").is_none() {
                report.problem(&file, 0, "no table: those are NAME.csv or NAME.csv.gz, at most one folder down");
            } else if !file.is_file() {
                report.problem(&file, 0, NO_FILE);
            } else if let Some(why) = unfit(&name) {
                report.problem(&file, 0, format!("its name {why}"));
            } else {
                files.push((file, DumpFile::Table(name)));
            }
        }
    }
    files
}

/// The entries of a folder, by name, without hidden files.
///
/// # Errors
/// It cannot be read.
pub(in crate::market) fn entries(folder: &Path) -> Result<Vec<PathBuf>, MarketError> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = entries.map_err(|error| in_place(folder, &error))?;
    paths.retain(|path| !file_name(path).starts_with('.'));
    paths.sort();
    Ok(paths)
}

/// An error with its path.
pub(in crate::market) fn in_place(path: &Path, error: &std::io::Error) -> MarketError {
    MarketError::Internal(format!("{}: {error}", path.display()))
}

/// As [`entries`]; a folder that cannot be read is reported and counts as empty.
fn listed(folder: &Path, report: &mut IngestReport) -> Vec<PathBuf> {
    if !folder.is_dir() {
        report.problem(folder, 0, NO_FOLDER);
        return Vec::new();
    }
    entries(folder).unwrap_or_else(|_| {
        report.problem(folder, 0, "the folder cannot be read; allow it to be read");
        Vec::new()
    })
}

/// The folders in a folder, with their names. Names that no exchange or symbol can have are reported and left out, since two
/// of them could become one.
fn folders(parent: &Path, report: &mut IngestReport) -> Vec<(String, PathBuf)> {
    let mut folders = Vec::new();
    for path in listed(parent, report) {
        if !path.is_dir() {
            report.problem(&path, 0, NO_FOLDER);
            continue;
        }
        match path.file_name().and_then(|name| name.to_str()).map(str::to_owned) {
            None => report.problem(&path, 0, NOT_UTF8),
            Some(name) => match unfit(&name) {
                Some(why) => report.problem(&path, 0, format!("its name {why}")),
                None => folders.push((name, path)),
            },
        }
    }
    folders
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn day_of(file: &Path) -> Option<UnixDay> {
    let name = file_name(file);
    let stem = name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".csv")?;
    // Nanoseconds hold the years 1678 to 2261; a file may reach into the days beside its own.
    parse_date(stem).filter(|day| (-106_000..=106_000).contains(&day.0))
}
