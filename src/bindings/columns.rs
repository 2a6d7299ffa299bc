//! A decoded series as Python sees it. A column's memory moves into its NumPy array at the first look, without a copy.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList, PyType};

use crate::columns::{Column, Series};
use crate::protocol::{ID_FIELDS, SeriesId, Shape};

/// A column on either side of the border.
enum Held {
    Engine(Column),
    Array(Py<PyAny>),
    Ragged(Py<PyAny>, Py<PyAny>),
}

/// One decoded series: its identity and its columns, as arrays over the engine's memory.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Columns {
    id: SeriesId,
    shape: &'static str,
    rows: usize,
    timestamps: Mutex<Held>,
    fields: Vec<(String, &'static str, Mutex<Held>)>,
}

fn kind(column: &Column) -> &'static str {
    match column {
        Column::Float(_) => "float",
        Column::Int(_) => "int",
        Column::Time(_) => "time",
        Column::Text(_) => "text",
        Column::List(_) => "list",
        Column::Rows(_) => "rows",
    }
}

impl Columns {
    fn new(series: Series) -> Self {
        let rows = series.len();
        let columns = series.columns.into_iter();
        let fields = columns.map(|(name, column)| (name, kind(&column), Mutex::new(Held::Engine(column)))).collect();
        Self {
            id: series.id,
            shape: series.shape.name(),
            rows,
            timestamps: Mutex::new(Held::Engine(Column::Time(series.timestamps))),
            fields,
        }
    }

    /// Hands series over to Python.
    pub(super) fn hand_over(py: Python<'_>, series: Vec<Series>) -> PyResult<Vec<Py<Self>>> {
        series.into_iter().map(|one| Py::new(py, Self::new(one))).collect()
    }

    fn find(&self, name: &str, wanted: &[&str]) -> PyResult<&Mutex<Held>> {
        let Some((_, kind, held)) = self.fields.iter().find(|(known, _, _)| known == name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        if wanted.contains(kind) {
            return Ok(held);
        }
        Err(PyTypeError::new_err(format!("column {name} is of kind {kind}, not {}", wanted.join(" or "))))
    }
}

/// Waits for a lock without holding up the interpreter. A poisoned lock only means a panic between two whole updates.
fn lock<'a>(py: Python<'_>, held: &'a Mutex<Held>) -> MutexGuard<'a, Held> {
    held.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// Moves values into a read-only array.
fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> Py<PyAny> {
    let array: Bound<'_, PyArray1<T>> = values.into_pyarray(py);
    array.readwrite().make_nonwriteable();
    array.into_any().unbind()
}

fn cross(py: Python<'_>, held: &mut Held) -> PyResult<()> {
    let Held::Engine(column) = held else { return Ok(()) };
    *held = match std::mem::replace(column, Column::Int(Vec::new())) {
        Column::Float(values) => Held::Array(array(py, values)),
        Column::Int(values) | Column::Time(values) => Held::Array(array(py, values)),
        Column::Text(values) => Held::Array(values.into_py_any(py)?),
        Column::List(list) => Held::Ragged(array(py, list.offsets), array(py, list.values)),
        Column::Rows(rows) => {
            let length = rows.offsets.last().map_or(0, |length| *length as usize);
            let nested = Columns::new(Series {
                id: SeriesId::default(),
                shape: Shape::Table,
                timestamps: vec![0; length],
                columns: rows.columns,
            });
            Held::Ragged(array(py, rows.offsets), Py::new(py, nested)?.into_any())
        }
    };
    Ok(())
}

fn single(py: Python<'_>, held: &Mutex<Held>) -> PyResult<Py<PyAny>> {
    let mut held = lock(py, held);
    cross(py, &mut held)?;
    match &*held {
        Held::Array(array) => Ok(array.clone_ref(py)),
        _ => Err(PyTypeError::new_err("not a plain column")),
    }
}

fn ragged(py: Python<'_>, held: &Mutex<Held>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
    let mut held = lock(py, held);
    cross(py, &mut held)?;
    match &*held {
        Held::Ragged(offsets, values) => Ok((offsets.clone_ref(py), values.clone_ref(py))),
        _ => Err(PyTypeError::new_err("not a ragged column")),
    }
}

/// A read-only view of a one-dimensional array of `length` values; what Python handed over may be anything.
fn viewed<T: Element>(name: &str, values: &Bound<'_, PyAny>, length: usize) -> PyResult<Py<PyAny>> {
    let misfit = || PyValueError::new_err(format!("column {name}: no array of {length} values of its kind"));
    let array = values.cast::<PyArray1<T>>().map_err(|_| misfit())?;
    if array.len() != length {
        return Err(misfit());
    }
    let view = array.call_method0("view")?;
    view.getattr("flags")?.setattr("writeable", false)?;
    Ok(view.unbind())
}

/// The offsets of ragged rows, and how many values they say there are.
fn viewed_offsets(name: &str, offsets: &Bound<'_, PyAny>, rows: usize) -> PyResult<(Py<PyAny>, usize)> {
    let view = viewed::<i64>(name, offsets, rows + 1)?;
    let starts: Vec<i64> = offsets.extract()?;
    let total = starts.last().and_then(|total| usize::try_from(*total).ok());
    match total.filter(|_| starts[0] == 0 && starts.windows(2).all(|two| two[0] <= two[1])) {
        Some(total) => Ok((view, total)),
        None => Err(PyValueError::new_err(format!("column {name}: the offsets do not ascend from 0"))),
    }
}

/// A column as [`Columns::__reduce__`] told it.
fn restored(
    (name, kind, values): (String, String, Bound<'_, PyAny>),
    rows: usize,
) -> PyResult<(String, &'static str, Mutex<Held>)> {
    let (kind, held) = match kind.as_str() {
        "float" => ("float", Held::Array(viewed::<f64>(&name, &values, rows)?)),
        "int" => ("int", Held::Array(viewed::<i64>(&name, &values, rows)?)),
        "time" => ("time", Held::Array(viewed::<i64>(&name, &values, rows)?)),
        "text" if values.extract::<Vec<Option<String>>>()?.len() == rows => ("text", Held::Array(values.unbind())),
        "list" => {
            let (offsets, values): (Bound<'_, PyAny>, Bound<'_, PyAny>) = values.extract()?;
            let (offsets, total) = viewed_offsets(&name, &offsets, rows)?;
            ("list", Held::Ragged(offsets, viewed::<f64>(&name, &values, total)?))
        }
        "rows" => {
            let (offsets, nested): (Bound<'_, PyAny>, Bound<'_, Columns>) = values.extract()?;
            let (offsets, total) = viewed_offsets(&name, &offsets, rows)?;
            if nested.get().rows != total {
                return Err(PyValueError::new_err(format!("column {name}: the records are not {total}")));
            }
            ("rows", Held::Ragged(offsets, nested.into_any().unbind()))
        }
        _ => return Err(PyValueError::new_err(format!("column {name}: not {rows} values of a kind {kind}"))),
    };
    Ok((name, kind, Mutex::new(held)))
}

/// What a pickle holds of columns: identity, its unknown fields, shape, timestamps, and name, kind and values of each.
type Parts<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, &'static str, Py<PyAny>, Bound<'py, PyList>);

/// Python's name of an identity field.
pub(super) fn python_name(wire: &str) -> &str {
    match wire {
        "rawSymbol" => "raw_symbol",
        "normalizedSymbol" => "normalized_symbol",
        "tokenName" => "token_name",
        plain => plain,
    }
}

#[pymethods]
impl Columns {
    #[new]
    fn restore(
        id: &Bound<'_, PyDict>,
        extra_id: &Bound<'_, PyDict>,
        shape: &str,
        timestamps: &Bound<'_, PyAny>,
        fields: Vec<(String, String, Bound<'_, PyAny>)>,
    ) -> PyResult<Self> {
        let mut known = SeriesId::default();
        for wire in ID_FIELDS {
            let value = id.get_item(python_name(wire))?.map(|value| value.extract()).transpose()?;
            if let (Some(place), Some(value)) = (known.field_mut(wire), value) {
                *place = value;
            }
        }
        known.extra =
            extra_id.iter().map(|(name, value)| Ok((name.extract()?, value.extract()?))).collect::<PyResult<_>>()?;
        let shape = [Shape::Table, Shape::Heatmap, Shape::Profile, Shape::Tpo]
            .map(Shape::name)
            .into_iter()
            .find(|name| *name == shape);
        let shape = shape.ok_or_else(|| PyValueError::new_err("no shape of a series"))?;
        let rows = timestamps.len()?;
        let timestamps = Mutex::new(Held::Array(viewed::<i64>("timestamps", timestamps, rows)?));
        let fields = fields.into_iter().map(|field| restored(field, rows)).collect::<PyResult<_>>()?;
        Ok(Self { id: known, shape, rows, timestamps, fields })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, Parts<'py>)> {
        let fields = PyList::empty(py);
        for (name, kind, held) in &self.fields {
            let values = match *kind {
                "list" | "rows" => ragged(py, held)?.into_py_any(py)?,
                _ => single(py, held)?,
            };
            fields.append((name, kind, values))?;
        }
        let parts = (self.id(py)?, self.extra_id(py)?, self.shape, self.timestamps(py)?, fields);
        Ok((py.get_type::<Self>(), parts))
    }

    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let id = PyDict::new(py);
        for (name, value) in self.id.fields() {
            id.set_item(python_name(name), value)?;
        }
        Ok(id)
    }

    #[getter]
    fn extra_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let extra = PyDict::new(py);
        for (name, value) in &self.id.extra {
            extra.set_item(name, value)?;
        }
        Ok(extra)
    }

    #[getter]
    fn shape(&self) -> &'static str {
        self.shape
    }

    #[getter]
    fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|(name, _, _)| name.as_str()).collect()
    }

    #[getter]
    fn timestamps(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        single(py, &self.timestamps)
    }

    fn kind(&self, name: &str) -> PyResult<&'static str> {
        let found = self.fields.iter().find(|(known, _, _)| known == name);
        found.map(|(_, kind, _)| *kind).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// A column of numbers, which most are, in one step; None for another kind, and where there is no such column.
    fn numbers(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let found = self.fields.iter().find(|(known, kind, _)| known == name && matches!(*kind, "float" | "int"));
        found.map(|(_, _, held)| single(py, held)).transpose()
    }

    fn array(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        single(py, self.find(name, &["float", "int", "time"])?)
    }

    fn text(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        single(py, self.find(name, &["text"])?)
    }

    fn list(&self, py: Python<'_>, name: &str) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        ragged(py, self.find(name, &["list"])?)
    }

    fn rows(&self, py: Python<'_>, name: &str) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        ragged(py, self.find(name, &["rows"])?)
    }

    fn __len__(&self) -> usize {
        self.rows
    }
}
