//! NumPy arrays: read-only from the start, over the engine's memory or over that of a pickle.

use ndarray::Array2;
use numpy::datetime::{Datetime, units::Nanoseconds};
use numpy::{Element, IntoPyArray, PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Longest columns that are copied. An array over the engine's memory needs an owner object; for short columns one each
/// costs more than copying all columns into one block.
const SHORT: usize = 512;

/// The same values with their unit, in the same memory.
pub(super) fn as_times(values: Vec<i64>) -> Vec<Datetime<Nanoseconds>> {
    values.into_iter().map(Datetime::from).collect()
}

/// Imports NumPy, once: rust-numpy would do so at the first array, and panic if the import fails, as by Ctrl-C.
pub(super) fn numpy_there(py: Python<'_>) -> PyResult<()> {
    static THERE: PyOnceLock<()> = PyOnceLock::new();
    let import = || {
        // A Ctrl-C during the import would otherwise leave NumPy half imported.
        py.check_signals()?;
        py.import("numpy").map(drop)
    };
    THERE.get_or_try_init(py, import).map(drop)
}

/// Moves values into a read-only array, without a copy.
pub(super) fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> PyResult<Py<PyAny>> {
    let array = values.into_pyarray(py);
    make_read_only(&array)?;
    Ok(array.into_any().unbind())
}

/// Through NumPy's own method: rust-numpy's checks its table of borrows four times.
pub(super) fn make_read_only(array: &Bound<'_, PyAny>) -> PyResult<()> {
    static SET_FLAGS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = array.py();
    let set_flags =
        SET_FLAGS.get_or_try_init(py, || py.get_type::<PyUntypedArray>().getattr("setflags").map(Bound::unbind))?;
    set_flags.call1(py, (array, false)).map(drop)
}

/// Adds read-only arrays of columns of one kind and length.
pub(super) fn add_arrays<T: Element + Clone>(
    py: Python<'_>,
    columns: Vec<Vec<T>>,
    plain: &mut Vec<Py<PyAny>>,
) -> PyResult<()> {
    if columns.first().is_none_or(|first| first.len() > SHORT) {
        for values in columns {
            plain.push(array(py, values)?);
        }
        return Ok(());
    }
    // Not memory owned by NumPy: such an array can be made writable again.
    let block = Array2::from_shape_vec((columns.len(), columns[0].len()), columns.concat());
    let block = block.map_err(|problem| PyValueError::new_err(problem.to_string()))?.into_pyarray(py);
    // Its rows are views of it, and read-only too.
    make_read_only(&block)?;
    for row in 0..columns.len() {
        plain.push(block.get_item(row)?.unbind());
    }
    Ok(())
}

/// A read-only view of a one-dimensional array of `length` values; checks what Python passed.
pub(super) fn viewed<T: Element>(name: &str, values: &Bound<'_, PyAny>, length: usize) -> PyResult<Py<PyAny>> {
    let misfit = || PyValueError::new_err(format!("column {name}: no array of {length} values of its kind"));
    let array = values.cast::<PyArray1<T>>().map_err(|_| misfit())?;
    if array.len() != length {
        return Err(misfit());
    }
    let view = array.call_method0("view")?;
    view.getattr("flags")?.setattr("writeable", false)?;
    Ok(view.unbind())
}

/// The same for times, which a pickle holds as integers.
pub(super) fn viewed_times(name: &str, values: &Bound<'_, PyAny>, length: usize) -> PyResult<Py<PyAny>> {
    let whole = viewed::<i64>(name, values, length)?;
    Ok(whole.bind(values.py()).call_method1("view", ("datetime64[ns]",))?.unbind())
}

/// The offsets of ragged rows, and the number of values according to them.
pub(super) fn viewed_offsets(name: &str, offsets: &Bound<'_, PyAny>, rows: usize) -> PyResult<(Py<PyAny>, usize)> {
    let view = viewed::<i64>(name, offsets, rows + 1)?;
    let starts: Vec<i64> = offsets.extract()?;
    let total = starts.last().and_then(|total| usize::try_from(*total).ok());
    match total.filter(|_| starts[0] == 0 && starts.windows(2).all(|two| two[0] <= two[1])) {
        Some(total) => Ok((view, total)),
        None => Err(PyValueError::new_err(format!("column {name}: the offsets do not ascend from 0"))),
    }
}

/// Times as integer nanoseconds for pickles: NumPy does not export the memory of datetime64.
pub(super) fn whole(py: Python<'_>, times: &Py<PyAny>) -> PyResult<Py<PyAny>> {
    times.call_method1(py, "view", ("int64",))
}
