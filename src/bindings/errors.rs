//! Engine errors → the classes of `marketpoints.errors`, with their attributes.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::columns::Columns;
use super::records::records;
use super::times::windows;
use crate::archive::points::{ArchiveFault, FileState};
use crate::client::{ClientError, ErrorKind, Place};
use crate::decode::DecodeError;

/// The Python class of a kind of trouble.
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
    }
}

/// The Python class of what is wrong with an archive.
fn archive_class(fault: &ArchiveFault) -> &'static str {
    match fault {
        ArchiveFault::NotAsked { .. } => "NotArchivedError",
        ArchiveFault::File { state: FileState::Foreign, .. } => "ForeignFileError",
        ArchiveFault::File { state: FileState::Newer, .. } => "NewerFormatError",
        ArchiveFault::File { .. } => "DamagedFileError",
        ArchiveFault::Unconditional { .. } => "UnsupportedStoreError",
        ArchiveFault::Address(_) => "InvalidRequest",
        _ => "ArchiveError",
    }
}

fn make(py: Python<'_>, class: &str, message: &str, attributes: &Bound<'_, PyDict>) -> PyErr {
    let made = py
        .import("marketpoints.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call((message,), Some(attributes)));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Warns with a class of `marketpoints.common.warnings`, at the line that called the package.
pub(super) fn warn(py: Python<'_>, class: &str, message: &str) -> PyResult<()> {
    let class = py.import("marketpoints.common.warnings")?.getattr(class)?;
    let message = std::ffi::CString::new(message.replace('\0', " "))?;
    PyErr::warn(py, &class, &message, 2)
}

/// The Python error of a failed call.
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
            Some(rows) => attributes.set_item("results", records(py, Ok(rows))?)?,
            None => attributes.set_item("results", Columns::hand_over(py, partial.results)?)?,
        }
        attributes.set_item("failures", failures)
    });
    match filled {
        Ok(()) => {
            let class = match error.place.as_deref() {
                Some(Place::Archive(fault)) => archive_class(fault),
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
    match error.place.as_deref() {
        Some(Place::Body(place)) => {
            attributes.set_item("offset", place.offset)?;
            attributes.set_item("path", &place.path)?;
        }
        Some(Place::Archive(
            ArchiveFault::File { path, .. }
            | ArchiveFault::Access { path, .. }
            | ArchiveFault::Conflict { path }
            | ArchiveFault::Unconditional { path },
        )) => {
            attributes.set_item("path", path)?;
        }
        Some(Place::Archive(ArchiveFault::NotAsked { missing, .. })) => {
            attributes.set_item("missing", windows(py, missing)?)?;
        }
        _ => {}
    }
    Ok(attributes)
}

/// The Python error of a body that does not decode.
pub(super) fn from_decode(py: Python<'_>, error: &DecodeError) -> PyErr {
    let attributes = PyDict::new(py);
    let filled = attributes.set_item("offset", error.offset).and_then(|()| attributes.set_item("path", &error.path));
    match filled {
        Ok(()) => make(py, "DecodeError", &error.to_string(), &attributes),
        Err(error) => error,
    }
}

/// `InvalidRequest` with a message.
pub(super) fn invalid(py: Python<'_>, message: &str) -> PyErr {
    make(py, "InvalidRequest", message, &PyDict::new(py))
}

/// `SelectionError` with a message.
pub(super) fn selection(py: Python<'_>, message: &str) -> PyErr {
    make(py, "SelectionError", message, &PyDict::new(py))
}

/// `Error`, the base class, with a message.
pub(super) fn general(py: Python<'_>, message: &str) -> PyErr {
    make(py, "Error", message, &PyDict::new(py))
}

/// A duration given in seconds, of more than `least`.
pub(super) fn seconds(py: Python<'_>, name: &str, value: f64, least: f64) -> PyResult<Duration> {
    let problem = || format!("{name}={value} is no time in seconds that a call can take");
    let duration = Duration::try_from_secs_f64(value).ok().filter(|_| value > least);
    duration.ok_or_else(|| invalid(py, &problem()))
}
