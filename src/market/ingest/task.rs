//! The ingest of one file.

use std::path::Path;

use super::report::{IngestReport, MOST_PROBLEMS};
use crate::clock::{UnixDay, UnixNanos};
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::{BrokenFile, DumpRow, DumpRows, RowBlock, fingerprint};
use crate::market::store::origin::DumpOrigin;

/// Rows between two calls of `keep_going`: many calls a second, at no cost for each row.
const PATIENCE: usize = 1 << 15;

/// The store, and the rules of an ingest.
#[derive(Clone, Copy)]
pub(in crate::market) struct IngestRules<'a> {
    pub(in crate::market) store: &'a Path,
    pub(in crate::market) allow_fewer_rows: bool,
    pub(in crate::market) keep_going: &'a dyn Fn() -> bool,
}

/// A file to ingest, with its store and report.
pub(in crate::market) struct IngestTask<'a> {
    pub(in crate::market) file: &'a Path,
    pub(in crate::market) store: &'a Path,
    pub(in crate::market) report: &'a mut IngestReport,
    pub(in crate::market) keep_going: &'a dyn Fn() -> bool,
    /// Whether a file may replace one with more good rows.
    pub(in crate::market) allow_fewer_rows: bool,
    /// Good rows of the file that this one would replace; 0 if there is none, or its rows are not recorded.
    pub(in crate::market) held: u64,
    /// Good rows of this file, once it is read and accepted.
    pub(in crate::market) good: u64,
    /// Bad rows of this file, once it is read and accepted.
    pub(in crate::market) bad: u64,
}

/// Number of rows of a file so far.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::market) struct Tally {
    good: usize,
    bad: usize,
}

/// Receives the rows of a file.
pub(in crate::market) trait Taker {
    /// Takes a row; returns whether more are wanted, or the fault of the row.
    fn row(&mut self, row: &DumpRow<'_>) -> Result<bool, RowFault>;

    /// Takes all rows of a block at once; returns whether more are wanted. `None` if it took none: then the rows are passed
    /// one by one.
    fn block(&mut self, _: &mut RowBlock<'_>) -> Option<bool> {
        None
    }
}

/// Takes rows one by one.
struct OneByOne<Take>(Take);

impl<Take: FnMut(&DumpRow<'_>) -> Result<bool, RowFault>> Taker for OneByOne<Take> {
    fn row(&mut self, row: &DumpRow<'_>) -> Result<bool, RowFault> {
        self.0(row)
    }
}

impl IngestTask<'_> {
    /// Hash of the file; `None` if it cannot be read, with a problem in the report, and if the ingest is interrupted.
    pub(in crate::market) fn fingerprint(&mut self) -> Option<String> {
        match fingerprint(self.file, self.keep_going) {
            Ok(hash) => {
                self.report.interrupted |= hash.is_none();
                hash
            }
            Err(error) => {
                self.report.problem(self.file, 0, error.to_string());
                None
            }
        }
    }

    /// Whether the file must be read: the store has no file or another one in its place.
    pub(in crate::market) fn is_new(&mut self, stored: Option<DumpOrigin>, fingerprint: &str) -> bool {
        let Some(stored) = stored else { return true };
        if stored.fingerprint == fingerprint {
            self.report.unchanged += 1;
            if stored.left_out > 0 {
                let rows = if stored.left_out == 1 { "1 bad row" } else { &format!("{} bad rows", stored.left_out) };
                let what = format!(
                    "unchanged since it was read, and without its {rows}; mend it, or ingest it into a new store to see which"
                );
                self.report.problem(self.file, 0, what);
            }
            return false;
        }
        self.held = stored.rows.unwrap_or(0);
        true
    }

    /// The file's origin, to be recorded in the store.
    pub(in crate::market) fn origin(&self, fingerprint: &str) -> DumpOrigin {
        DumpOrigin::new(fingerprint, self.good, self.bad)
    }

    /// As [`Self::read`], row by row.
    pub(in crate::market) fn each_row(
        &mut self,
        day: UnixDay,
        columns: &[&str],
        take: impl FnMut(&DumpRow<'_>) -> Result<bool, RowFault>,
    ) -> bool {
        self.read(day, columns, &mut OneByOne(take))
    }

    /// Passes every row of a published dump to the taker. `true` when the file was read to its end and holds a good
    /// row; else it is rejected, and the report says why, unless the taker wanted no more rows.
    pub(in crate::market) fn read(&mut self, day: UnixDay, columns: &[&str], taker: &mut impl Taker) -> bool {
        let (mut tally, mut left) = (Tally::default(), false);
        let outcome = (|| {
            let mut rows = DumpRows::open(self.file, day, columns)?;
            loop {
                if let Some(mut block) = rows.block()? {
                    let count = block.rows();
                    if let Some(more) = taker.block(&mut block) {
                        rows.pass();
                        left = !more;
                        if left || !self.count_good(&mut tally, count) {
                            break;
                        }
                        continue;
                    }
                }
                let Some(row) = rows.next()? else { break };
                if row.is_empty() {
                    self.report.interrupted |= !(self.keep_going)();
                    if self.report.interrupted {
                        break;
                    }
                    continue;
                }
                let taken = taker.row(&row);
                left = matches!(taken, Ok(false));
                if left || !self.count(&mut tally, row.number_of_line(), taken.map(drop)) {
                    break;
                }
            }
            Ok(())
        })();
        !left && self.end(tally, outcome)
    }

    /// Counts a row. `false` when the ingest is interrupted.
    pub(in crate::market) fn count(&mut self, tally: &mut Tally, line: u64, outcome: Result<(), RowFault>) -> bool {
        match outcome {
            Ok(()) => self.count_good(tally, 1),
            Err(fault) => {
                tally.bad += 1;
                if tally.bad <= MOST_PROBLEMS {
                    self.report.fault(self.file, line, fault);
                }
                self.goes_on(*tally, 1)
            }
        }
    }

    /// Counts good rows.
    fn count_good(&mut self, tally: &mut Tally, rows: usize) -> bool {
        tally.good += rows;
        self.goes_on(*tally, rows)
    }

    /// Whether the ingest goes on after the last `rows`; checks `keep_going` now and then.
    fn goes_on(&mut self, tally: Tally, rows: usize) -> bool {
        let seen = tally.good + tally.bad;
        if seen / PATIENCE != (seen - rows) / PATIENCE && !(self.keep_going)() {
            self.report.interrupted = true;
        }
        !self.report.interrupted
    }

    /// Whether the store holds more good rows of the file and must not lose them; then the report says so.
    pub(in crate::market) fn has_fewer(&mut self, good: u64) -> bool {
        if good >= self.held || self.allow_fewer_rows {
            return false;
        }
        let what = format!(
            "{good} good rows, where the store holds {} of this file: it was not taken, and the store keeps what it has; mend \
             the file, or allow fewer rows (allow_fewer_rows=True, --allow-fewer-rows)",
            self.held
        );
        self.report.problem(self.file, 0, what);
        true
    }

    /// Whether the file is accepted: it was read to its end, and has a good row.
    pub(in crate::market) fn end(&mut self, tally: Tally, outcome: Result<(), BrokenFile>) -> bool {
        if self.report.interrupted {
            return false;
        }
        if tally.bad > MOST_PROBLEMS {
            self.report.problem(self.file, 0, format!("{} more bad rows", tally.bad - MOST_PROBLEMS));
        }
        if let Err(BrokenFile { line, what }) = outcome {
            // A problem of the header (line 1) makes the file unusable, but does not mean that it is cut off.
            let how = if line <= 1 { "was not taken" } else { "breaks off and was not taken" };
            self.report.problem(self.file, line, format!("the file {how}: {what}"));
            return false;
        }
        if tally.good == 0 {
            self.report.problem(self.file, 0, "no good row in the file; it was not taken");
            return false;
        }
        if self.has_fewer(tally.good as u64) {
            return false;
        }
        (self.good, self.bad) = (tally.good as u64, tally.bad as u64);
        self.report.files += 1;
        self.report.rows += tally.good;
        true
    }
}

/// The events of a file by time, then by file order; `None` if it is rejected.
pub(in crate::market) fn collect<T>(
    task: &mut IngestTask<'_>,
    day: UnixDay,
    columns: &[&str],
    read: fn(&DumpRow<'_>) -> Result<T, RowFault>,
    time: fn(&T) -> UnixNanos,
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
