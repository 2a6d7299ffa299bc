//! Joins in time over arrays.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::columns;

/// The latest row known at each moment and no older than `max_age` nanoseconds, or -1.
#[pyfunction]
pub(super) fn latest_known<'py>(
    py: Python<'py>,
    moments: PyReadonlyArray1<'_, i64>,
    known: PyReadonlyArray1<'_, i64>,
    max_age: i64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (moments, known) = (moments.as_slice()?, known.as_slice()?);
    Ok(py.detach(|| columns::latest_known(moments, known, max_age)).into_pyarray(py))
}

/// The values of the rows found by [`latest_known`]; NaN where there is none.
#[pyfunction]
pub(super) fn latest_values<'py>(
    py: Python<'py>,
    moments: PyReadonlyArray1<'_, i64>,
    known: PyReadonlyArray1<'_, i64>,
    max_age: i64,
    values: PyReadonlyArray1<'_, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (moments, known, values) = (moments.as_slice()?, known.as_slice()?, values.as_slice()?);
    Ok(py.detach(|| columns::latest_values(moments, known, max_age, values)).into_pyarray(py))
}

/// A copy of ascending times without gaps; None for others.
#[pyfunction]
pub(super) fn copy_of_ascending<'py>(
    py: Python<'py>,
    times: PyReadonlyArray1<'_, i64>,
) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
    let times = times.as_slice()?;
    Ok(py.detach(|| columns::copy_of_ascending(times)).map(|copy| copy.into_pyarray(py)))
}

/// The values of the rows at some indices; NaN at -1.
#[pyfunction]
pub(super) fn gather<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'_, f64>,
    places: PyReadonlyArray1<'_, i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (values, places) = (values.as_slice()?, places.as_slice()?);
    Ok(py.detach(|| columns::gather(values, places, f64::NAN)).into_pyarray(py))
}
