//! The columns of a file of the store, by name.

use std::io::ErrorKind;
use std::path::Path;

use crate::archive::{ArchiveError, Table, read_parquet};
use crate::columns::Column;
use crate::market::raw::SourceError;

/// The columns of a file, by name and kind.
pub(in crate::market) struct FileColumns<'a> {
    path: &'a Path,
    table: Table,
}

/// The error for a file of the store that cannot be read.
pub(in crate::market) fn unreadable(path: &Path, error: &ArchiveError) -> SourceError {
    let is_gone = std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    SourceError(if is_gone {
        let how = "ingest the dump again, or delete the store's file .files as well to do without it";
        format!("{} is missing, which an ingest put there; {how}", path.display())
    } else {
        format!("{error}; ingest the dump again")
    })
}

impl<'a> FileColumns<'a> {
    pub(in crate::market) fn read(path: &'a Path) -> Result<Self, SourceError> {
        let (table, _) = read_parquet(path).map_err(|error| unreadable(path, &error))?;
        Ok(Self { path, table })
    }

    /// The columns of a table that was read from the file.
    pub(in crate::market) fn of(path: &'a Path, table: Table) -> Self {
        Self { path, table }
    }

    fn take(&mut self, name: &str) -> Result<Column, SourceError> {
        let found = self.table.iter().position(|(known, _)| known == name);
        found.map(|index| self.table.swap_remove(index).1).ok_or_else(|| self.foreign(name))
    }

    pub(in crate::market) fn floats(&mut self, name: &str) -> Result<Vec<f64>, SourceError> {
        match self.take(name)? {
            Column::Float(values) => Ok(values),
            _ => Err(self.foreign(name)),
        }
    }

    pub(in crate::market) fn whole(&mut self, name: &str) -> Result<Vec<i64>, SourceError> {
        match self.take(name)? {
            Column::Int(values) | Column::Time(values) => Ok(values),
            _ => Err(self.foreign(name)),
        }
    }

    /// Strings, empty if null.
    pub(in crate::market) fn texts(&mut self, name: &str) -> Result<Vec<String>, SourceError> {
        match self.take(name)? {
            Column::Text(values) => Ok(values.into_iter().map(Option::unwrap_or_default).collect()),
            _ => Err(self.foreign(name)),
        }
    }

    fn foreign(&self, name: &str) -> SourceError {
        SourceError(format!("{}: no column {name} as this store has it; ingest the dump again", self.path.display()))
    }
}
