//! One file on its way into the store.

use std::path::Path;

use super::fault::Fault;
use super::rows::{Broken, Row, Rows, fingerprint};
use super::{IngestReport, MOST_PROBLEMS};

/// Rows between two looks at whether to go on: many looks a second, and not worth a thought at each row.
const PATIENCE: usize = 1 << 15;

/// A file, where it goes, and who is told.
pub(super) struct Task<'a> {
    pub(super) file: &'a Path,
    pub(super) store: &'a Path,
    pub(super) report: &'a mut IngestReport,
    pub(super) keep_going: &'a dyn Fn() -> bool,
}

/// Rows of a file so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    good: usize,
    bad: usize,
}

impl Task<'_> {
    /// Hash of the file; `None`, with a problem in the report, where it cannot be read, and where the ingest is to end.
    pub(super) fn fingerprint(&mut self) -> Option<String> {
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

    /// Hands every row of a published dump to `take`, which says what is wrong with a bad one and whether it wants more.
    /// `true` when the file was read to its end and holds a good row; else it must not be taken, and the report says why,
    /// unless `take` left it.
    pub(super) fn each_row(
        &mut self,
        day: i64,
        columns: &[&str],
        mut take: impl FnMut(&Row<'_>) -> Result<bool, Fault>,
    ) -> bool {
        let (mut tally, mut left) = (Tally::default(), false);
        let outcome = (|| {
            let mut rows = Rows::open(self.file, day, columns)?;
            while let Some(row) = rows.next()? {
                let taken = take(&row);
                left = matches!(taken, Ok(false));
                if left || !self.count(&mut tally, row.line, taken.map(drop)) {
                    break;
                }
            }
            Ok(())
        })();
        !left && self.end(tally, outcome)
    }

    /// Counts a row. `false` when the ingest is to end.
    pub(super) fn count(&mut self, tally: &mut Tally, line: u64, outcome: Result<(), Fault>) -> bool {
        match outcome {
            Ok(()) => tally.good += 1,
            Err(fault) => {
                tally.bad += 1;
                if tally.bad <= MOST_PROBLEMS {
                    self.report.fault(self.file, line, fault);
                }
            }
        }
        if (tally.good + tally.bad).is_multiple_of(PATIENCE) && !(self.keep_going)() {
            self.report.interrupted = true;
        }
        !self.report.interrupted
    }

    /// Whether the file is to be taken: it was read to its end, and has a good row.
    pub(super) fn end(&mut self, tally: Tally, outcome: Result<(), Broken>) -> bool {
        if self.report.interrupted {
            return false;
        }
        if tally.bad > MOST_PROBLEMS {
            self.report.problem(self.file, 0, format!("{} more bad rows", tally.bad - MOST_PROBLEMS));
        }
        if let Err(Broken { line, what }) = outcome {
            // The header is line 1: a file without a column that is needed is whole, and of no use.
            let how = if line <= 1 { "was not taken" } else { "breaks off and was not taken" };
            self.report.problem(self.file, line, format!("the file {how}: {what}"));
            return false;
        }
        if tally.good == 0 {
            self.report.problem(self.file, 0, "no good row in the file; it was not taken");
            return false;
        }
        self.report.files += 1;
        self.report.rows += tally.good;
        true
    }
}
