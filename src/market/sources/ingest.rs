//! Raw dumps → store.
//!
//! Dumps of a market lie as `KIND/EXCHANGE/SYMBOL/DAY.csv` or `.csv.gz`, with the columns of the published tick-data dumps
//! in any order. KIND is `trades`, `incremental_book_L2`, `book_snapshot_25`, `book_snapshot_5`, `liquidations`,
//! `derivative_ticker` (there an empty field means unknown) or `options_chain` (there SYMBOL is `OPTIONS`). Tables of the
//! package's own layouts lie as `KIND/NAME.csv` or `KIND/FOLDER/NAME.csv`, gzip or not; KIND is `token_supply`, `markets` or
//! `positions`. A bad row is reported and left out; a file that is cut off is reported and not stored.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::decode::Kernel;
use crate::market::ingest::folders::{DumpFile, DumpFolder, FolderLayout, days, entries, in_place, tables};
use crate::market::ingest::report::IngestReport;
use crate::market::ingest::task::{IngestRules, IngestTask};
use crate::market::query::error::MarketError;
use crate::market::store::ingest_lock::IngestLock;
use crate::market::store::layout::{foreign, note_files};
use crate::market::store::stale_files::sweep;
use crate::market::subjects::{SUBJECTS, datasets};
use crate::protocol::dump::RECORDING;

/// The folders of dumps in reading order: by name, but the folders of a group one after the other.
fn dump_folders() -> Vec<DumpFolder> {
    let mut groups: Vec<&[DumpFolder]> = SUBJECTS.iter().flat_map(|subject| subject.dumps.iter().copied()).collect();
    groups.sort_by_key(|group| group.first().map(|(name, _)| *name));
    groups.concat()
}

/// Refuses a store in the folder of dumps or below it, because the next ingest would read its files as dumps, and dumps below
/// the store.
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

/// An ingest of dumps into a store.
#[derive(Debug, Clone, Copy)]
pub struct Ingest<'a> {
    dumps: &'a Path,
    store: &'a Path,
    allow_fewer_rows: bool,
}

/// [`Ingest::run`] with default rules.
///
/// # Errors
/// As there.
pub fn ingest(dumps: &Path, store: &Path, keep_going: &dyn Fn() -> bool) -> Result<IngestReport, MarketError> {
    Ingest::new(dumps, store).run(keep_going)
}

impl<'a> Ingest<'a> {
    /// An ingest of all dumps below `dumps` into the store at `store`.
    pub fn new(dumps: &'a Path, store: &'a Path) -> Self {
        Self { dumps, store, allow_fewer_rows: false }
    }

    /// Sets whether a dump file may replace one with more good rows. By default such a file is reported and not stored.
    #[must_use]
    pub fn allow_fewer_rows(self, allow: bool) -> Self {
        Self { allow_fewer_rows: allow, ..self }
    }

    /// Reads every dump into the store, which is created if it is missing.
    ///
    /// Unchanged dump files are skipped. A changed file replaces its earlier content, unless it has fewer good rows. The store
    /// keeps the most detailed book of a market and day: `incremental_book_L2`, else `book_snapshot_25`, else
    /// `book_snapshot_5`.
    ///
    /// `keep_going` is called before each file, every 32,768 rows and while another ingest holds the store's lock; if it
    /// returns `false`, the ingest ends, and the files in the store are complete. Unfinished files that a
    /// killed ingest left an hour ago or more are removed.
    ///
    /// # Errors
    /// [`MarketError::Internal`] when `dumps` is no folder, one of the two lies in the other, the store cannot be written or has
    /// a link in it, or the environment names an unknown kernel. Bad data is no error: it is in the report.
    pub fn run(&self, keep_going: &dyn Fn() -> bool) -> Result<IngestReport, MarketError> {
        self.run_with_notices(keep_going, &|_| ())
    }

    /// As [`Self::run`]; `notice` gets a sentence before a wait for another ingest into the store.
    ///
    /// # Errors
    /// As there.
    pub fn run_with_notices(
        &self,
        keep_going: &dyn Fn() -> bool,
        notice: &dyn Fn(&str),
    ) -> Result<IngestReport, MarketError> {
        let (dumps, store) = (self.dumps, self.store);
        if !dumps.is_dir() {
            let message = format!("{} is no folder of dumps (KIND/EXCHANGE/SYMBOL/DAY.csv.gz)", dumps.display());
            return Err(MarketError::Internal(message));
        }
        apart(dumps, store)?;
        Kernel::active().map_err(|problem| MarketError::Internal(problem.to_owned()))?;
        let mut report = IngestReport::default();
        let (mut folders, layouts, datasets) = (entries(dumps)?, dump_folders(), datasets());
        let others = layouts.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let is_known =
            |folder: &PathBuf| layouts.iter().any(|(name, _)| folder.file_name().is_some_and(|own| own == *name));
        // Without dumps no store is created and no lock is needed.
        let mut lock = None;
        if folders.iter().any(is_known) {
            fs::create_dir_all(store).map_err(|error| in_place(store, &error))?;
            lock = IngestLock::begin(store, keep_going, notice)?;
            if lock.is_none() {
                report.interrupted = true;
                return Ok(report);
            }
            if let Some(problem) = foreign(store, &datasets) {
                return Err(MarketError::Internal(problem));
            }
            sweep(store, &datasets, SystemTime::now());
            note_files(store, &datasets)?;
        }
        for (name, layout) in layouts {
            let Some(place) = folders.iter().position(|folder| folder.file_name().is_some_and(|known| known == name))
            else {
                continue;
            };
            let files = match layout {
                FolderLayout::Days(_) | FolderLayout::Overlapping(_) => days(&folders.swap_remove(place), &mut report),
                FolderLayout::Tables(_) => tables(&folders.swap_remove(place), &mut report),
            };
            if let FolderLayout::Overlapping(read) = layout {
                let rules = IngestRules { store, allow_fewer_rows: self.allow_fewer_rows, keep_going };
                read(&files, rules, &mut report)?;
                if report.interrupted {
                    return Ok(report);
                }
                continue;
            }
            for file in &files {
                if !keep_going() {
                    report.interrupted = true;
                }
                if report.interrupted {
                    return Ok(report);
                }
                take(layout, file, self, &mut report, keep_going)?;
            }
        }
        folders.sort();
        // A recorded stream writes this file about itself; it is no dump.
        folders.retain(|other| other.file_name().is_none_or(|name| name != RECORDING));
        for other in folders {
            report.problem(&other, 0, format!("no kind of dump that is read; known are {others}"));
        }
        drop(lock);
        Ok(report)
    }
}

fn take(
    layout: FolderLayout,
    (file, source): &(PathBuf, DumpFile),
    ingest: &Ingest<'_>,
    report: &mut IngestReport,
    keep_going: &dyn Fn() -> bool,
) -> Result<(), MarketError> {
    let Ingest { store, allow_fewer_rows, .. } = *ingest;
    let mut task = IngestTask { file, store, report, keep_going, allow_fewer_rows, held: 0, good: 0, bad: 0 };
    match (layout, source) {
        (FolderLayout::Days(read), DumpFile::Day(exchange, symbol, day)) => read((exchange, symbol), *day, &mut task),
        (FolderLayout::Tables(read), DumpFile::Table(name)) => read(name, &mut task),
        // A layout is either cut by days or a table; those that overlap are read together.
        (_, DumpFile::Day(..) | DumpFile::Table(_)) => Ok(()),
    }
}
