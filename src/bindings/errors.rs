//! Errors and warnings of the package's own classes.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::decode::DecodeError;

/// An error of that class, with its attributes.
pub(super) fn make(py: Python<'_>, class: &str, message: &str, attributes: &Bound<'_, PyDict>) -> PyErr {
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

/// The Python error for a body that cannot be decoded.
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

/// A duration in seconds, larger than `least`.
pub(super) fn seconds(py: Python<'_>, name: &str, value: f64, least: f64) -> PyResult<Duration> {
    let problem = || format!("{name}={value} is no time in seconds that a call can take");
    let duration = Duration::try_from_secs_f64(value).ok().filter(|_| value > least);
    duration.ok_or_else(|| invalid(py, &problem()))
}
