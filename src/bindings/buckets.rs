//! The buckets of a series, over its times as NumPy holds them.

use numpy::datetime::{Datetime, units::Nanoseconds};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arrays::as_times;
use super::errors;
use crate::columns;
use crate::protocol::{BucketGrid, Interval};

type Time = Datetime<Nanoseconds>;
type Times<'py> = PyReadonlyArray1<'py, Time>;

/// A way in which a series' time is cut: buckets of one length, or calendar months.
#[pyclass(frozen, name = "Buckets", module = "marketpoints._engine")]
pub(super) struct RowBuckets(columns::RowBuckets);

#[pymethods]
impl RowBuckets {
    /// The buckets of a session or, without one, of an interval; an error where neither has a known length.
    #[staticmethod]
    #[pyo3(signature = (interval, session = None))]
    fn of(py: Python<'_>, interval: Option<&str>, session: Option<&str>) -> PyResult<Self> {
        let of_interval = || interval.and_then(Interval::find).map(BucketGrid::Every);
        if let Some(grid) = session.and_then(BucketGrid::of_session).or_else(of_interval) {
            return Ok(Self(grid.into()));
        }
        let problem = match interval {
            None => "the series names no interval, so its buckets have no known length".to_owned(),
            Some(name) => {
                let shown = PyString::new(py, name).repr()?.to_string();
                format!("interval {shown} is not known, so its buckets have no known length")
            }
        };
        Err(errors::selection(py, &problem))
    }

    /// The buckets of rows that have their own ends; None where none has one.
    #[staticmethod]
    fn between(starts: Times<'_>, ends: Times<'_>) -> PyResult<Option<Self>> {
        Ok(columns::RowBuckets::between(starts.as_slice()?, ends.as_slice()?).map(Self))
    }

    /// Length of the longest.
    #[getter]
    fn nanoseconds(&self) -> i64 {
        self.0.length()
    }

    /// When each bucket is over.
    fn ends<'py>(&self, py: Python<'py>, starts: Times<'py>) -> PyResult<Bound<'py, PyArray1<Time>>> {
        let starts = starts.as_slice()?;
        Ok(py.detach(|| self.0.ends(starts)).into_pyarray(py))
    }

    /// Starts of the buckets of a window in which no row starts; without one, from the first row to the last.
    #[pyo3(signature = (starts, window = None))]
    fn missing<'py>(
        &self,
        py: Python<'py>,
        starts: Times<'py>,
        window: Option<(i64, i64)>,
    ) -> PyResult<Bound<'py, PyArray1<Time>>> {
        let starts = starts.as_slice()?;
        let missing = py.detach(|| self.0.missing(starts, window));
        Ok(as_times(missing.map_err(|error| PyMemoryError::new_err(error.to_string()))?).into_pyarray(py))
    }

    /// Start and end of each stretch of buckets that follow one another.
    fn stretches<'py>(&self, py: Python<'py>, starts: Times<'py>) -> PyResult<Bound<'py, PyArray2<Time>>> {
        let starts = starts.as_slice()?;
        let edges = py.detach(|| self.0.stretches(starts)).into_flattened();
        let rows = [edges.len() / 2, 2];
        as_times(edges).into_pyarray(py).reshape(rows)
    }
}
