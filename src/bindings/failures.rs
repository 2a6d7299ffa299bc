//! Converts failed calls to the classes of `marketpoints.errors`, with partial results.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use super::columns::Columns;
use super::errors::make;
use super::records::records;
use super::times::windows;
use crate::archive::points::{ArchiveFault, FileState};
use crate::client::{Cause, ClientError, ErrorKind};

/// The Python class for a kind of error.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidRequest => "InvalidRequest",
        ErrorKind::Authentication => "AuthenticationError",
        ErrorKind::Tier => "TierError",
        ErrorKind::RateLimit => "RateLimitError",
        ErrorKind::Server => "ServerError",
        ErrorKind::Transport => "TransportError",
        ErrorKind::Timeout => "TimeoutError",
        ErrorKind::Decode => "DecodeError",
        ErrorKind::Partial => "PartialError",
        ErrorKind::Archive => "ArchiveError",
        ErrorKind::NotArchived => "NotArchivedError",
    }
}

/// The Python class for an error of an archive.
fn archive_class(fault: &ArchiveFault) -> &'static str {
    match fault {
        ArchiveFault::NotAsked { .. } | ArchiveFault::NotKnown { .. } => "NotArchivedError",
        ArchiveFault::File { state: FileState::Foreign, .. } => "ForeignFileError",
        ArchiveFault::File { state: FileState::Newer, .. } => "NewerFormatError",
        ArchiveFault::File { .. } => "DamagedFileError",
        ArchiveFault::Unconditional { .. } => "UnsupportedStoreError",
        ArchiveFault::Address(_) => "InvalidRequest",
        _ => "ArchiveError",
    }
}

/// The Python error for a failed call.
pub(super) fn from_client(py: Python<'_>, error: ClientError) -> PyErr {
    let attributes = match client_attributes(py, &error) {
        Ok(attributes) => attributes,
        Err(error) => return error,
    };
    let filled = error.partial.map_or(Ok(()), |partial| {
        let partial = *partial;
        let failures: Vec<_> =
            partial.failures.into_iter().map(|failure| from_client(py, failure).into_value(py)).collect();
        match partial.rows {
            Some(rows) => attributes.set_item("results", records(py, &rows)?)?,
            None => attributes.set_item("results", Columns::hand_over(py, partial.results)?)?,
        }
        attributes.set_item("failures", failures)
    });
    match filled {
        Ok(()) => {
            let class = match error.cause.as_deref() {
                Some(Cause::Archive(fault)) => archive_class(fault),
                _ => class_name(error.kind),
            };
            make(py, class, &error.message, &attributes)
        }
        Err(error) => error,
    }
}

fn client_attributes<'py>(py: Python<'py>, error: &ClientError) -> PyResult<Bound<'py, PyDict>> {
    let attributes = PyDict::new(py);
    attributes.set_item("status", error.status)?;
    attributes.set_item("code", error.code.as_deref())?;
    attributes.set_item("request", error.request.as_deref())?;
    if error.kind == ErrorKind::RateLimit {
        attributes.set_item("retry_after", error.retry_after)?;
    }
    match error.cause.as_deref() {
        Some(Cause::Body(place)) => {
            attributes.set_item("offset", place.offset)?;
            attributes.set_item("path", &place.path)?;
        }
        Some(Cause::Archive(
            ArchiveFault::File { path, .. }
            | ArchiveFault::Access { path, .. }
            | ArchiveFault::Conflict { path }
            | ArchiveFault::Unconditional { path },
        )) => {
            attributes.set_item("path", path)?;
        }
        Some(Cause::Archive(ArchiveFault::NotAsked { missing, .. } | ArchiveFault::NotKnown { missing, .. })) => {
            attributes.set_item("missing", windows(py, missing)?)?;
        }
        _ => {}
    }
    Ok(attributes)
}

/// The records of a call.
pub(super) fn recorded<T: Serialize>(py: Python<'_>, answer: Result<T, ClientError>) -> PyResult<Py<PyAny>> {
    records(py, &answer.map_err(|error| from_client(py, error))?)
}
