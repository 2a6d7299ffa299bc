//! Times as Python's results hold them: `datetime64[ns]`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::clock::SECOND;
use crate::weight::Window;

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
        let edge = |seconds: i64| moment(py, seconds.saturating_mul(SECOND));
        list.append(class.call1((edge(window.from)?, edge(window.to)?))?)?;
    }
    Ok(list)
}
