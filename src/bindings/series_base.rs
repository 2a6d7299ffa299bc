//! What series and sets of series are made of in Python, and how their columns are looked up.
//!
//! What programs ask of them again and again is answered here: a method of Python's would take twice as long.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::columns::Columns;
use super::errors;

/// How Python pickles an object by itself, which the oldest protocols cannot do for objects of a base like these.
fn reduced<'py>(object: &Bound<'py, PyAny>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
    object.py().get_type::<PyAny>().call_method1(intern!(object.py(), "__reduce_ex__"), (object, protocol.max(2)))
}

/// The base of every series: its columns, what was asked for, and the window of a range of rows.
#[pyclass(frozen, subclass, module = "marketpoints._engine")]
pub(super) struct SeriesBase {
    #[pyo3(get, name = "_columns")]
    columns: Py<Columns>,
    #[pyo3(get, name = "_asked")]
    asked: Py<PyAny>,
    #[pyo3(get, name = "_part")]
    part: Option<Py<PyAny>>,
}

#[pymethods]
impl SeriesBase {
    #[new]
    #[pyo3(signature = (columns, asked, part = None))]
    fn new(columns: Py<Columns>, asked: Py<PyAny>, part: Option<Py<PyAny>>) -> Self {
        Self { columns, asked, part }
    }

    /// What a copy or a pickle is made of, beside the attributes that programs gave it.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (&self.columns, &self.asked, &self.part).into_pyobject(py)
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        reduced(slf.as_any(), protocol)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.columns)?;
        visit.call(&self.asked)?;
        visit.call(&self.part)
    }

    /// Column names in the wire's order, in `snake_case`, without the timestamp.
    #[getter]
    fn columns(&self, py: Python<'_>) -> Py<PyTuple> {
        self.columns.get().layout().names().clone_ref(py)
    }

    /// Start of each row's bucket: datetime64[ns] in UTC, shape (rows,), read-only.
    #[getter]
    fn timestamps(&self, py: Python<'_>) -> Py<PyAny> {
        self.columns.get().timestamps().clone_ref(py)
    }

    fn __len__(&self) -> usize {
        self.columns.get().len()
    }

    /// A column that is one array; `_item` of Python's knows the others, and ranges of rows.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().columns.get().array(name).unwrap_or_else(|| slf.call_method1(intern!(slf.py(), "_item"), (name,)))
    }
}

/// The base of every set of series: the series, why they may have no rows, and the weight of the call.
#[pyclass(frozen, subclass, module = "marketpoints._engine")]
pub(super) struct SeriesSetBase {
    #[pyo3(get, name = "_items")]
    items: Py<PyTuple>,
    #[pyo3(get, name = "_why_empty")]
    why_empty: Option<Py<PyString>>,
    #[pyo3(get, name = "_weight")]
    weight: Option<u64>,
}

#[pymethods]
impl SeriesSetBase {
    #[new]
    #[pyo3(signature = (series, why_empty = None, weight = None))]
    fn new(
        series: &Bound<'_, PyAny>,
        why_empty: Option<Py<PyString>>,
        weight: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let whole = |weight: &Bound<'_, PyAny>| {
            weight.extract::<u64>().map_err(|error| {
                let py = weight.py();
                // What methods of its own raise is theirs.
                let is_ours = error.is_instance_of::<PyOverflowError>(py) || error.is_instance_of::<PyTypeError>(py);
                let problem = "weight: that of a call is a whole number from 0 to 2**64 - 1, or None";
                if is_ours { errors::invalid(py, problem) } else { error }
            })
        };
        let weight = weight.map(whole).transpose()?;
        let items = match series.cast::<PyList>() {
            Ok(list) => list.to_tuple(),
            Err(_) => series.py().get_type::<PyTuple>().call1((series,))?.cast_into()?,
        };
        Ok(Self { items: items.unbind(), why_empty, weight })
    }

    /// What a copy or a pickle is made of, beside the attributes that programs gave it.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (&self.items, &self.why_empty, self.weight).into_pyobject(py)
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        reduced(slf.as_any(), protocol)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.items)
    }

    /// A series by its position, or a column of the only one; `_item` of Python's knows slices, and what is wrong.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let items = slf.get().items.bind(slf.py());
        if index.is_exact_instance_of::<PyInt>()
            && let Some(place) = index.extract::<usize>().ok().filter(|place| *place < items.len())
        {
            return items.get_item(place);
        }
        if items.len() == 1
            && index.is_exact_instance_of::<PyString>()
            && let Ok(only) = items.get_item(0)?.cast::<SeriesBase>()
        {
            return only.get_item(index);
        }
        slf.call_method1(intern!(slf.py(), "_item"), (index,))
    }
}
