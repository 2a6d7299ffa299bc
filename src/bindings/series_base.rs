//! What series and sets of series are made of in Python, and how their columns are looked up.
//!
//! What programs ask of them again and again is answered here: a method of Python's would take twice as long.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple, PyType};

use super::columns::Columns;

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

    /// What a copy or a pickle is made of.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let own = slf.get();
        Ok((slf.get_type(), (&own.columns, &own.asked, &own.part).into_pyobject(slf.py())?))
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
    fn new(series: &Bound<'_, PyAny>, why_empty: Option<Py<PyString>>, weight: Option<u64>) -> PyResult<Self> {
        let items = match series.cast::<PyList>() {
            Ok(list) => list.to_tuple(),
            Err(_) => series.py().get_type::<PyTuple>().call1((series,))?.cast_into()?,
        };
        Ok(Self { items: items.unbind(), why_empty, weight })
    }

    /// What a copy or a pickle is made of.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let own = slf.get();
        Ok((slf.get_type(), (&own.items, &own.why_empty, own.weight).into_pyobject(slf.py())?))
    }

    /// A series by its position, or a column of the only one; `_item` of Python's knows slices, and what is wrong.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let items = slf.get().items.bind(slf.py());
        if index.is_exact_instance_of::<PyInt>()
            && let Some(place) = index.extract::<usize>().ok().filter(|place| *place < items.len())
        {
            return items.get_item(place);
        }
        if items.len() == 1 && index.is_exact_instance_of::<PyString>() {
            return items.get_item(0)?.get_item(index);
        }
        slf.call_method1(intern!(slf.py(), "_item"), (index,))
    }
}
