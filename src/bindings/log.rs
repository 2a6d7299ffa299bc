//! The engine's records → Python's `logging`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::log::{Attempt, Level, Listener, Record};

/// Where Python's side lives.
const MODULE: &str = "marketpoints.logs";

/// Hands a call's records to the logger `marketpoints`; `None` when it would drop them all, so that they are not even put
/// together.
pub(super) fn listener(py: Python<'_>) -> Option<Listener> {
    let module = py.import(MODULE).ok()?;
    let threshold: i64 = module.call_method0("threshold").and_then(|level| level.extract()).ok()?;
    let least = [Level::Debug, Level::Warning].into_iter().find(|level| *level as i64 >= threshold)?;
    let tell = |record: Record| {
        // Handlers may take their time or use a client themselves: the worker's other tasks move on. When the interpreter
        // is gone there is nobody to tell.
        tokio::task::block_in_place(|| {
            Python::try_attach(|py| {
                if let Err(error) = emit(py, &record) {
                    error.write_unraisable(py, None);
                }
            });
        });
    };
    Some(Listener { least, tell: Arc::new(tell) })
}

fn emit(py: Python<'_>, record: &Record) -> PyResult<()> {
    let fields = PyDict::new(py);
    if let Record::Attempt(Attempt { url, weight, status, seconds, attempt, error, again_in }) = record {
        fields.set_item("url", url)?;
        fields.set_item("weight", weight)?;
        fields.set_item("status", status)?;
        fields.set_item("seconds", seconds)?;
        fields.set_item("attempt", attempt)?;
        fields.set_item("error", error.as_deref())?;
        fields.set_item("again_in", again_in)?;
    }
    py.import(MODULE)?.call_method1("emit", (record.level() as i64, record.to_string(), fields))?;
    Ok(())
}
