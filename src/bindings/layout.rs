//! The names and kinds of a series' columns: created for Python once and shared by all series with the same columns.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyString, PyTuple};

use crate::columns::{Column, ColumnName};
use crate::protocol::Shape;

/// Most cached layouts.
const REMEMBERED: usize = 32;

/// Kinds of columns that are one array each.
const PLAIN: [&str; 3] = ["float", "int", "time"];

/// Layouts of earlier series.
static KNOWN: Mutex<Vec<Py<Layout>>> = Mutex::new(Vec::new());

/// What a row holds, and names and kinds of columns in their order.
///
/// What Python reads are fields: to ask for one takes a quarter of the time that it takes to call for it.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Layout {
    key: Shape,
    columns: Vec<(ColumnName, &'static str)>,
    #[pyo3(get)]
    shape: Py<PyString>,
    #[pyo3(get)]
    names: Py<PyTuple>,
    /// The names of the columns that are one array, in the order of their arrays.
    plain_names: Vec<Py<PyString>>,
}

/// Python's word for what a column holds.
fn kind(column: &Column) -> &'static str {
    match column {
        Column::Float(_) => "float",
        Column::Int(_) => "int",
        Column::Time(_) => "time",
        Column::Text(_) | Column::Raw(_) => "text",
        Column::List(_) => "list",
        Column::Rows(_) => "rows",
    }
}

impl Layout {
    /// The layout of a series.
    pub(super) fn of(py: Python<'_>, shape: Shape, columns: &[(ColumnName, Column)]) -> PyResult<Py<Self>> {
        let known = || KNOWN.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let fits = |layout: &&Py<Self>| {
            let layout = layout.get();
            let mut pairs = layout.columns.iter().zip(columns);
            (layout.key, layout.columns.len()) == (shape, columns.len())
                && pairs.all(|((name, one), (other, column))| name == other && *one == kind(column))
        };
        let found = known().iter().find(fits).map(|layout| layout.clone_ref(py));
        if let Some(layout) = found {
            return Ok(layout);
        }
        // Without the lock: Python may run anything while it makes an object.
        let layout = Self::new(py, shape, columns.iter().map(|(name, column)| (name.clone(), kind(column))).collect())?;
        // Not with fields that no table knows: a body could name as many as it likes.
        let mut known = known();
        if known.len() < REMEMBERED && columns.iter().all(|(name, _)| matches!(name, ColumnName::Borrowed(_))) {
            known.push(layout.clone_ref(py));
        }
        Ok(layout)
    }

    /// A layout of its own.
    pub(super) fn new(py: Python<'_>, shape: Shape, columns: Vec<(ColumnName, &'static str)>) -> PyResult<Py<Self>> {
        // What is interned may stay for ever: not names that a body made up.
        let name = |(name, _): &(ColumnName, _)| match name {
            ColumnName::Borrowed(name) => PyString::intern(py, name),
            ColumnName::Owned(name) => PyString::new(py, name),
        };
        let names = PyTuple::new(py, columns.iter().map(name))?;
        let plain_names = Self::plain(&columns).map(|index| Ok(names.get_item(index)?.cast_into()?.unbind()));
        let plain_names = plain_names.collect::<PyResult<_>>()?;
        let word = PyString::intern(py, shape.name()).unbind();
        Py::new(py, Self { key: shape, columns, shape: word, names: names.unbind(), plain_names })
    }

    /// Python's word for what a row holds.
    pub(super) fn shape(&self) -> &Py<PyString> {
        &self.shape
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> &Py<PyTuple> {
        &self.names
    }

    /// Where the array of a column stands among those of its series; `None` for what is no name of one.
    pub(super) fn place(&self, name: &Bound<'_, PyAny>) -> Option<usize> {
        // A name in a program's text, or one of `names`, is the same object.
        self.plain_names.iter().position(|known| known.is(name)).or_else(|| {
            let (py, text) = (name.py(), name.cast::<PyString>().ok()?.to_str().ok()?);
            self.plain_names.iter().position(|known| known.bind(py).to_str().is_ok_and(|known| known == text))
        })
    }

    /// The indexes of the plain columns in the order of their arrays: those of one kind are made together.
    pub(super) fn plain(columns: &[(ColumnName, &'static str)]) -> impl Iterator<Item = usize> {
        let of_kind = |kind| columns.iter().enumerate().filter(move |(_, column)| column.1 == kind);
        PLAIN.into_iter().flat_map(of_kind).map(|(index, _)| index)
    }

    /// The columns with their kinds.
    pub(super) fn columns(&self) -> &[(ColumnName, &'static str)] {
        &self.columns
    }

    /// The index and kind of a column.
    pub(super) fn find(&self, name: &str) -> PyResult<(usize, &'static str)> {
        let found = self.columns.iter().position(|(known, _)| known == name);
        found.map(|index| (index, self.columns[index].1)).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}
