//! What a series' rows hold, and the names and kinds of its columns: made for Python once and shared by all series that have the same.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::columns::{Column, Name};
use crate::protocol::Shape;

/// Most layouts that are kept.
const REMEMBERED: usize = 32;

/// Layouts of earlier series.
static KNOWN: Mutex<Vec<Arc<Layout>>> = Mutex::new(Vec::new());

/// What a row holds, and names and kinds of columns in their order.
pub(super) struct Layout {
    shape: (Shape, Py<PyString>),
    columns: Vec<(Name, &'static str)>,
    names: Py<PyTuple>,
    /// A place under each name of a plain column: a copy of it is filled faster than an empty dictionary.
    blank: Py<PyDict>,
}

/// Python's word for what a column holds.
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

/// Whether a column of that kind is one array.
pub(super) fn is_plain(kind: &str) -> bool {
    matches!(kind, "float" | "int" | "time")
}

impl Layout {
    /// The layout of a series.
    pub(super) fn of(py: Python<'_>, shape: Shape, columns: &[(Name, Column)]) -> PyResult<Arc<Self>> {
        let known = || KNOWN.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let fits = |layout: &&Arc<Self>| {
            let mut pairs = layout.columns.iter().zip(columns);
            (layout.shape.0, layout.columns.len()) == (shape, columns.len())
                && pairs.all(|((name, one), (other, column))| name == other && *one == kind(column))
        };
        let found = known().iter().find(fits).map(Arc::clone);
        if let Some(layout) = found {
            return Ok(layout);
        }
        // Without the lock: Python may run anything while it makes an object.
        let layout = Self::new(py, shape, columns.iter().map(|(name, column)| (name.clone(), kind(column))).collect())?;
        // Not with fields that no table knows: a body could name as many as it likes.
        let mut known = known();
        if known.len() < REMEMBERED && columns.iter().all(|(name, _)| matches!(name, Name::Borrowed(_))) {
            known.push(Arc::clone(&layout));
        }
        Ok(layout)
    }

    /// A layout of its own.
    pub(super) fn new(py: Python<'_>, shape: Shape, columns: Vec<(Name, &'static str)>) -> PyResult<Arc<Self>> {
        let names = PyTuple::new(py, columns.iter().map(|(name, _)| PyString::intern(py, name)))?;
        let blank = PyDict::new(py);
        for ((_, kind), name) in columns.iter().zip(&names) {
            if is_plain(kind) {
                blank.set_item(name, py.None())?;
            }
        }
        let shape = (shape, PyString::intern(py, shape.name()).unbind());
        Ok(Arc::new(Self { shape, columns, names: names.unbind(), blank: blank.unbind() }))
    }

    /// Python's word for what a row holds.
    pub(super) fn shape(&self) -> &Py<PyString> {
        &self.shape.1
    }

    /// The names.
    pub(super) fn names(&self) -> &Py<PyTuple> {
        &self.names
    }

    /// A dictionary of the plain columns: what `array` has for each kind, one after the other.
    pub(super) fn arrays(
        &self,
        py: Python<'_>,
        mut array: impl FnMut(&str) -> Option<Py<PyAny>>,
    ) -> PyResult<Py<PyDict>> {
        let arrays = self.blank.bind(py).copy()?;
        for ((_, kind), name) in self.columns.iter().zip(self.names.bind(py).iter_borrowed()) {
            if let Some(array) = array(kind) {
                arrays.set_item(name, array)?;
            }
        }
        Ok(arrays.unbind())
    }

    /// The columns with their kinds.
    pub(super) fn columns(&self) -> &[(Name, &'static str)] {
        &self.columns
    }

    /// The index and kind of a column.
    pub(super) fn find(&self, name: &str) -> PyResult<(usize, &'static str)> {
        let found = self.columns.iter().position(|(known, _)| known == name);
        found.map(|index| (index, self.columns[index].1)).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}
