//! Passes the engine's records to Python's `logging`.

use std::sync::Arc;

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

use super::imports::found_once;
use crate::client::log::{Attempt, Listener, LogLevel, LogRecord};

/// The Python module that logs them.
fn module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    found_once(py, &MODULE, || py.import("marketpoints.common.logs"))
}

/// A listener that passes a call's records to `tell`; `None` if the logger `marketpoints` would drop them all, so that
/// none are built. They are logged by [`emit`] on the caller's thread: a handler may hold locks, and may use a client
/// itself.
///
/// # Errors
/// Exceptions that end a program: a Ctrl-C while the logger is asked must not be lost.
pub(super) fn listener(
    py: Python<'_>,
    on_record: impl Fn(LogRecord) + Send + Sync + 'static,
) -> PyResult<Option<Listener>> {
    let threshold = module(py).and_then(|module| module.call_method0(intern!(py, "threshold"))?.extract());
    let threshold: i64 = match threshold {
        Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
        Err(_) => return Ok(None),
        Ok(threshold) => threshold,
    };
    let least = [LogLevel::Debug, LogLevel::Warning].into_iter().find(|level| *level as i64 >= threshold);
    Ok(least.map(|least| Listener { least, on_record: Arc::new(on_record) }))
}

/// Logs a record.
///
/// # Errors
/// What ends a program, such as Ctrl-C in a handler. Any other error of a handler must not lose an answer that was paid.
pub(super) fn emit(py: Python<'_>, record: &LogRecord) -> PyResult<()> {
    let emitted = arguments(py, record).and_then(|(emit, arguments)| emit.call1(arguments));
    match emitted {
        Err(error) if !error.is_instance_of::<PyException>(py) => Err(error),
        Err(error) => {
            error.write_unraisable(py, None);
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Logs a record on an event loop's thread, soon.
pub(super) fn emit_on(py: Python<'_>, event_loop: &Py<PyAny>, record: &LogRecord) {
    let soon = arguments(py, record).and_then(|(emit, (level, message, fields))| {
        event_loop.call_method1(py, "call_soon_threadsafe", (emit, level, message, fields))
    });
    // Raises when the loop is closed: then nobody waits any more.
    drop(soon);
}

type Arguments<'py> = (i64, String, Bound<'py, PyDict>);

fn arguments<'py>(py: Python<'py>, record: &LogRecord) -> PyResult<(Bound<'py, PyAny>, Arguments<'py>)> {
    let fields = PyDict::new(py);
    if let LogRecord::Attempt(Attempt { url, weight, status, seconds, attempt, error, again_in }) = record {
        fields.set_item("url", url)?;
        fields.set_item("weight", weight.0)?;
        fields.set_item("status", status)?;
        fields.set_item("seconds", seconds)?;
        fields.set_item("attempt", attempt)?;
        fields.set_item("error", error.as_deref())?;
        fields.set_item("again_in", again_in)?;
    }
    Ok((module(py)?.getattr("emit")?, (record.level() as i64, record.to_string(), fields)))
}
