//! Times in Python's results (`datetime64[ns]`), and clocks of Python.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use super::errors;
use super::imports::{found_once, load_numpy};
use crate::client::Now;
use crate::clock::{SECOND, UnixMicros, UnixNanos, UnixSecond, Window};

/// A moment as NumPy's `datetime64[ns]`.
pub(super) fn moment(py: Python<'_>, time: UnixNanos) -> PyResult<Bound<'_, PyAny>> {
    static DATETIME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    load_numpy(py)?;
    let datetime = found_once(py, &DATETIME, || py.import("numpy")?.getattr("datetime64"))?;
    datetime.call1((time.0, "ns"))
}

/// Windows of Unix seconds as a list of `marketpoints.Window`.
pub(super) fn windows<'py>(py: Python<'py>, windows: &[Window]) -> PyResult<Bound<'py, PyList>> {
    static WINDOW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = found_once(py, &WINDOW, || py.import("marketpoints.identity")?.getattr("Window"))?;
    let list = PyList::empty(py);
    for window in windows {
        let edge = |seconds: i64| moment(py, UnixSecond(seconds).nanos());
        list.append(class.call1((edge(window.from)?, edge(window.to)?))?)?;
    }
    Ok(list)
}

/// Unix seconds that fit into nanoseconds: the years 1678 to 2261.
pub(super) const MOST_SECONDS: f64 = 9.2e9;

/// Converts the Unix seconds of a Python clock; rounded so that no moment gets into the next second.
pub(super) fn unix_nanos(py: Python<'_>, seconds: f64) -> PyResult<UnixNanos> {
    if !(-MOST_SECONDS..MOST_SECONDS).contains(&seconds) {
        let message = format!("the clock returned {seconds}, which is not a time in Unix seconds before the year 2261");
        return Err(errors::invalid(py, &message));
    }
    let second = seconds.floor();
    Ok(UnixSecond(second as i64).nanos().plus(((seconds - second) * SECOND as f64) as i64))
}

/// A moment in Unix seconds, for Python's clocks.
pub(super) fn unix_seconds(time: UnixNanos) -> f64 {
    time.0 as f64 / SECOND as f64
}

/// Converts Unix seconds of Python to microseconds, the precision that survives a double.
pub(super) fn to_microsecond(seconds: f64) -> UnixNanos {
    UnixMicros((seconds * 1e6).round() as i64).nanos()
}

/// A Python clock that the engine calls during a call. Its exceptions are written to `sys.unraisablehook`, so that no
/// paid answer is lost.
pub(super) fn python_clock(clock: Py<PyAny>) -> Now {
    Arc::new(move || {
        let call = |py: Python<'_>| {
            let seconds = clock.call0(py).and_then(|seconds| seconds.extract::<f64>(py));
            seconds.map_err(|error| error.write_unraisable(py, None)).ok()
        };
        // It may be slow: the worker's other tasks continue.
        let seconds = tokio::task::block_in_place(|| Python::try_attach(call)).flatten();
        seconds.filter(|seconds| seconds.is_finite()).map(to_microsecond)
    })
}
