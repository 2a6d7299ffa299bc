//! Times as Python's results hold them: `datetime64[ns]`; and the clocks that tell them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::client::Now;
use crate::clock::{Window, nanos_of};

/// Unix nanoseconds as NumPy's `datetime64[ns]`.
pub(super) fn moment(py: Python<'_>, nanoseconds: i64) -> PyResult<Bound<'_, PyAny>> {
    static DATETIME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let datetime = DATETIME.import(py, "numpy", "datetime64")?;
    datetime.call1((nanoseconds, "ns"))
}

/// Windows of Unix seconds as a list of `marketpoints.Window`.
pub(super) fn windows<'py>(py: Python<'py>, windows: &[Window]) -> PyResult<Bound<'py, PyList>> {
    static WINDOW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = WINDOW.import(py, "marketpoints.identity", "Window")?;
    let list = PyList::empty(py);
    for window in windows {
        let edge = |seconds: i64| moment(py, nanos_of(seconds));
        list.append(class.call1((edge(window.from)?, edge(window.to)?))?)?;
    }
    Ok(list)
}

/// Unix seconds as the archive notes them: so many digits survive the way through a double.
pub(super) fn microseconds(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

/// A function of Python that tells the time, as the engine asks it while a call is under way. What it raises is written to
/// `sys.unraisablehook`: it must not lose an answer that was paid.
pub(super) fn python_clock(clock: Py<PyAny>) -> Now {
    Arc::new(move || {
        let call = |py: Python<'_>| {
            let seconds = clock.call0(py).and_then(|seconds| seconds.extract::<f64>(py));
            seconds.map_err(|error| error.write_unraisable(py, None)).ok()
        };
        // It may take its time: the worker's other tasks move on.
        tokio::task::block_in_place(|| Python::try_attach(call)).flatten()
    })
}
