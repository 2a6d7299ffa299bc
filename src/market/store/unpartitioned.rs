//! Tables that are not partitioned by market and day: one file for each ingested file.

use std::path::{Path, PathBuf};

use super::columns::FileColumns;
use crate::archive::{ArchiveError, Table};
use crate::columns::Column;
use crate::market::raw::SourceError;
use crate::market::store::changes::prepared;
use crate::market::store::layout::Dataset;
use crate::market::store::origin::DumpOrigin;
use crate::market::store::{changes, layout};

/// Separator of the entries of a list in a text.
pub(in crate::market) const BETWEEN: char = '|';

/// A field of a line, by its column.
type LineField<L, T> = (&'static str, fn(&mut L) -> &mut T);

/// A kind of table: dataset, and columns of its lines.
pub(in crate::market) struct UnpartitionedTable<L: 'static> {
    pub(in crate::market) dataset: Dataset,
    /// Columns of times in Unix nanoseconds; `NO_TIME` if empty.
    pub(in crate::market) times: &'static [LineField<L, i64>],
    pub(in crate::market) texts: &'static [LineField<L, String>],
    /// Columns of numbers; NaN if unknown.
    pub(in crate::market) numbers: &'static [LineField<L, f64>],
    pub(in crate::market) wholes: &'static [LineField<L, i64>],
}

impl<L: Default> UnpartitionedTable<L> {
    /// The file that a table was made of; `None` when there is none yet, or it is damaged.
    pub(in crate::market) fn read_origin(&self, root: &Path, source: &str) -> Option<DumpOrigin> {
        DumpOrigin::read([layout::table_file(root, self.dataset, source)])
    }

    /// Writes the lines of a file.
    pub(in crate::market) fn write(
        &self,
        root: &Path,
        source: &str,
        mut lines: Vec<L>,
        origin: &DumpOrigin,
    ) -> Result<(), ArchiveError> {
        let mut table = Table::new();
        let mut add = |name: &str, column| table.push((name.to_owned(), column));
        for (name, field) in self.times {
            add(name, Column::Time(lines.iter_mut().map(|line| *field(line)).collect()));
        }
        for (name, field) in self.texts {
            add(name, Column::Text(lines.iter_mut().map(|line| Some(field(line).clone())).collect()));
        }
        for (name, field) in self.numbers {
            add(name, Column::Float(lines.iter_mut().map(|line| *field(line)).collect()));
        }
        for (name, field) in self.wholes {
            add(name, Column::Int(lines.iter_mut().map(|line| *field(line)).collect()));
        }
        let file = prepared(&layout::table_file(root, self.dataset, source), &table, &origin.metadata())?;
        changes::place(root, [file])
    }

    /// The lines of a store's tables, in the order of their sources' names: the last of two with the same key counts.
    pub(in crate::market) fn read_all(&self, root: &Path) -> Result<Vec<Vec<L>>, SourceError> {
        let files: Vec<PathBuf> = layout::table_files(root, self.dataset)?;
        files.iter().map(|file| self.read(file)).collect()
    }

    fn read(&self, file: &Path) -> Result<Vec<L>, SourceError> {
        let mut columns = FileColumns::read(file)?;
        let mut lines: Vec<L> = Vec::new();
        for (name, field) in self.times.iter().chain(self.wholes) {
            fill(&mut lines, columns.whole(name)?, *field);
        }
        for (name, field) in self.texts {
            fill(&mut lines, columns.texts(name)?, *field);
        }
        for (name, field) in self.numbers {
            fill(&mut lines, columns.floats(name)?, *field);
        }
        Ok(lines)
    }
}

/// Puts a column's values into the lines; the first column creates them.
fn fill<L: Default, T>(lines: &mut Vec<L>, values: Vec<T>, field: fn(&mut L) -> &mut T) {
    lines.resize_with(values.len(), L::default);
    for (line, value) in lines.iter_mut().zip(values) {
        *field(line) = value;
    }
}
