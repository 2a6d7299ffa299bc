//! A decoded series in Python: numbers and times are read-only NumPy arrays from the start, strings are converted on
//! first use.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList, PySlice, PyString, PyTuple, PyType};

use super::arrays::{ArrayValues, array, arrays, make_read_only, viewed, viewed_offsets, viewed_times, whole};
use super::errors;
use super::imports::load_numpy;
use super::layout::Layout;
use crate::columns::{Column, ColumnName, Series};
use crate::decode::{is_settled, settled};
use crate::protocol::records::attribute_name;
use crate::protocol::{ID_FIELDS, SeriesId, Shape};

/// From so many series on, Python's garbage collector is paused while they are created.
const MANY: usize = 256;

/// Pauses Python's garbage collector until dropped.
struct CollectorPause<'py>(Option<Bound<'py, PyModule>>);

impl<'py> CollectorPause<'py> {
    fn of_the_collector(py: Python<'py>) -> PyResult<Self> {
        let collector = py.import("gc")?;
        if !collector.call_method0("isenabled")?.extract::<bool>()? {
            return Ok(Self(None));
        }
        collector.call_method0("disable")?;
        Ok(Self(Some(collector)))
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        if let Some(collector) = &self.0 {
            collector.call_method0("enable").ok();
        }
    }
}

/// A column that is not a single array.
enum HeldColumn {
    Ragged(Py<PyAny>, Py<PyAny>),
    Text(Mutex<Text>),
}

/// A column of strings, in Rust or converted to Python.
enum Text {
    Engine(Vec<Option<String>>),
    Python(Py<PyAny>),
}

/// One decoded series: its identity and its columns.
#[pyclass(frozen, mapping, module = "marketpoints._engine")]
pub(super) struct Columns {
    id: Arc<SeriesId>,
    rows: usize,
    #[pyo3(get)]
    timestamps: Py<PyAny>,
    /// Columns that are one array, where `Layout::place` says.
    arrays: Py<PyTuple>,
    #[pyo3(get)]
    layout: Py<Layout>,
    /// The other columns by index.
    others: Vec<(usize, HeldColumn)>,
}

impl Columns {
    fn new(py: Python<'_>, series: Series) -> PyResult<Self> {
        let (rows, width) = (series.len(), series.columns.len());
        let layout = Layout::of(py, series.shape, &series.columns)?;
        let (mut plain, mut ints, mut times) = (Vec::with_capacity(width + 1), Vec::new(), Vec::with_capacity(width));
        let mut others = Vec::new();
        for (index, (_, column)) in series.columns.into_iter().enumerate() {
            let held = match column {
                Column::Float(values) => {
                    plain.push(ArrayValues::Floats(values));
                    continue;
                }
                Column::Int(values) => {
                    ints.push(ArrayValues::Integers(values));
                    continue;
                }
                Column::Time(values) => {
                    times.push(ArrayValues::Times(values));
                    continue;
                }
                Column::Text(values) => HeldColumn::Text(Mutex::new(Text::Engine(values))),
                // all of them are settled by `hand_over`
                Column::Raw(raw) => {
                    let texts = raw.iter().map(|text| text.map(str::to_owned)).collect();
                    HeldColumn::Text(Mutex::new(Text::Engine(texts)))
                }
                Column::List(list) => HeldColumn::Ragged(array(py, list.offsets)?, array(py, list.values)?),
                Column::Rows(rows) => {
                    let length = rows.offsets.last().map_or(0, |length| *length as usize);
                    let nested = Series {
                        id: Arc::default(),
                        shape: Shape::Table,
                        timestamps: vec![0; length],
                        columns: rows.columns,
                    };
                    let nested = Py::new(py, Self::new(py, nested)?)?.into_any();
                    HeldColumn::Ragged(array(py, rows.offsets)?, nested)
                }
            };
            others.push((index, held));
        }
        plain.append(&mut ints);
        plain.append(&mut times);
        plain.push(ArrayValues::Times(series.timestamps));
        let mut plain = arrays(py, plain, rows)?;
        let timestamps = plain.pop().unwrap_or_else(|| py.None());
        Self::of(py, (series.id, layout), (rows, timestamps), plain, others)
    }

    fn of(
        py: Python<'_>,
        (id, layout): (Arc<SeriesId>, Py<Layout>),
        (rows, timestamps): (usize, Py<PyAny>),
        plain: Vec<Py<PyAny>>,
        others: Vec<(usize, HeldColumn)>,
    ) -> PyResult<Self> {
        let arrays = PyTuple::new(py, plain)?.unbind();
        Ok(Self { id, rows, timestamps, arrays, layout, others })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn layout(&self) -> &Layout {
        self.layout.get()
    }

    pub(super) fn timestamps(&self) -> &Py<PyAny> {
        &self.timestamps
    }

    /// A column that is one array; `None` for what is no name of one.
    pub(super) fn array<'py>(&self, name: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyAny>>> {
        let place = self.layout.get().place(name)?;
        Some(self.arrays.bind(name.py()).get_item(place))
    }

    /// Converts series to Python.
    pub(super) fn hand_over(py: Python<'_>, series: Vec<Series>) -> PyResult<Vec<Py<Self>>> {
        load_numpy(py)?;
        // Archived series are settled here; without the GIL, because every value of an unknown field is read.
        let series = if series.iter().all(is_settled) { series } else { py.detach(|| settled(series)) };
        // So many new objects would trigger the garbage collector again and again, each time for longer.
        let paused = if series.len() > MANY { Some(CollectorPause::of_the_collector(py)?) } else { None };
        let columns = Self::hand_over_each(py, series);
        drop(paused);
        columns
    }

    fn hand_over_each(py: Python<'_>, series: Vec<Series>) -> PyResult<Vec<Py<Self>>> {
        let mut columns = Vec::with_capacity(series.len());
        for one in series {
            let vanished = one.vanished_prices();
            if !vanished.is_empty() {
                errors::warn(py, "RenamedFieldWarning", &Self::vanished(&vanished))?;
            }
            columns.push(Py::new(py, Self::new(py, one)?)?);
        }
        Ok(columns)
    }

    /// The warning about prices that are 0 in every row.
    pub(super) fn vanished(names: &[&str]) -> String {
        format!(
            "{} is 0 in every row, while there are fields that this version does not know: the service may have renamed \
             it; look at the columns, and see Dialect(fields=…)",
            names.join(", ")
        )
    }

    /// A column of a kind that is not a plain array.
    fn other(&self, name: &str, wanted: &str) -> PyResult<&HeldColumn> {
        let (index, kind) = self.layout.get().find(name)?;
        let held = self.others.iter().find(|(place, _)| *place == index && kind == wanted);
        held.map(|(_, held)| held).ok_or_else(|| wrong_kind(name, kind, wanted))
    }

    fn ragged(&self, py: Python<'_>, name: &str, wanted: &str) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        match self.other(name, wanted)? {
            HeldColumn::Ragged(offsets, values) => Ok((offsets.clone_ref(py), values.clone_ref(py))),
            HeldColumn::Text(_) => Err(wrong_kind(name, "text", wanted)),
        }
    }
}

fn wrong_kind(name: &str, kind: &str, wanted: &str) -> PyErr {
    PyTypeError::new_err(format!("column {name} is of kind {kind}, not {wanted}"))
}

/// A column from [`Columns::__reduce__`]: its kind, and an array or something else.
fn restored(
    (name, kind, values): &(String, String, Bound<'_, PyAny>),
    rows: usize,
) -> PyResult<(&'static str, Result<Py<PyAny>, HeldColumn>)> {
    Ok(match kind.as_str() {
        "float" => ("float", Ok(viewed::<f64>(name, values, rows)?)),
        "int" => ("int", Ok(viewed::<i64>(name, values, rows)?)),
        "time" => ("time", Ok(viewed_times(name, values, rows)?)),
        "text" if values.extract::<Vec<Option<String>>>()?.len() == rows => {
            ("text", Err(HeldColumn::Text(Mutex::new(Text::Python(values.clone().unbind())))))
        }
        "list" => {
            let (offsets, values): (Bound<'_, PyAny>, Bound<'_, PyAny>) = values.extract()?;
            let (offsets, total) = viewed_offsets(name, &offsets, rows)?;
            ("list", Err(HeldColumn::Ragged(offsets, viewed::<f64>(name, &values, total)?)))
        }
        "rows" => {
            let (offsets, nested): (Bound<'_, PyAny>, Bound<'_, Columns>) = values.extract()?;
            let (offsets, total) = viewed_offsets(name, &offsets, rows)?;
            if nested.get().rows != total {
                return Err(PyValueError::new_err(format!("column {name}: the records are not {total}")));
            }
            ("rows", Err(HeldColumn::Ragged(offsets, nested.into_any().unbind())))
        }
        _ => return Err(PyValueError::new_err(format!("column {name}: not {rows} values of a kind {kind}"))),
    })
}

/// The content of a pickle: identity, unknown fields of it, shape, timestamps, and name, kind and values of each
/// column.
type PickleParts<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, Py<PyString>, Py<PyAny>, Bound<'py, PyList>);

/// The names of a series' identity fields in Python, in the order of the wire.
#[pyfunction]
pub(super) fn identity_fields() -> Vec<String> {
    ID_FIELDS.iter().map(|wire| attribute_name(wire)).collect()
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
            let value = id.get_item(attribute_name(wire))?.map(|value| value.extract()).transpose()?;
            if let (Some(place), Some(value)) = (known.field_mut(wire), value) {
                *place = value;
            }
        }
        known.extra =
            extra_id.iter().map(|(name, value)| Ok((name.extract()?, value.extract()?))).collect::<PyResult<_>>()?;
        let mut shapes = [Shape::Table, Shape::Heatmap, Shape::Profile, Shape::Tpo].into_iter();
        let shape = shapes.find(|known| known.name() == shape);
        let shape = shape.ok_or_else(|| PyValueError::new_err("no shape of a series"))?;
        let rows = timestamps.len()?;
        let timestamps = viewed_times("timestamps", timestamps, rows)?;
        let py = id.py();
        let (mut columns, mut arrays, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (index, field) in fields.into_iter().enumerate() {
            let (kind, values) = restored(&field, rows)?;
            columns.push((ColumnName::Owned(field.0), kind));
            arrays.push(None);
            match values {
                Ok(array) => arrays[index] = Some(array),
                Err(held) => others.push((index, held)),
            }
        }
        let plain = Layout::plain(&columns).filter_map(|index| arrays[index].take()).collect();
        let layout = Layout::new(py, shape, columns)?;
        Self::of(py, (Arc::new(known), layout), (rows, timestamps), plain, others)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, PickleParts<'py>)> {
        let fields = PyList::empty(py);
        for (name, kind) in self.layout.get().columns() {
            let array = || self.__getitem__(PyString::new(py, name).as_any()).map(Bound::unbind);
            let values = match *kind {
                "time" => whole(py, &array()?)?,
                "text" => self.text(py, name)?,
                "list" | "rows" => self.ragged(py, name, kind)?.into_py_any(py)?,
                _ => array()?,
            };
            fields.append((name, kind, values))?;
        }
        let timestamps = whole(py, &self.timestamps)?;
        let parts = (self.id(py)?, self.extra_id(py)?, self.layout.get().shape().clone_ref(py), timestamps, fields);
        Ok((py.get_type::<Self>(), parts))
    }

    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let id = PyDict::new(py);
        for (name, value) in self.id.fields() {
            id.set_item(attribute_name(name), value)?;
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

    /// A column that is one array.
    fn __getitem__<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.array(name).unwrap_or_else(|| Err(PyKeyError::new_err(name.clone().unbind())))
    }

    fn kind(&self, name: &str) -> PyResult<&'static str> {
        Ok(self.layout.get().find(name)?.1)
    }

    fn text(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let HeldColumn::Text(text) = self.other(name, "text")? else { return Err(wrong_kind(name, "ragged", "text")) };
        // Waits without holding the GIL. A poisoned lock only means a panic between two complete updates.
        let mut text = text.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Text::Engine(values) = &mut *text {
            *text = Text::Python(std::mem::take(values).into_py_any(py)?);
        }
        match &*text {
            Text::Python(list) => Ok(list.clone_ref(py)),
            Text::Engine(_) => Ok(PyList::empty(py).into_any().unbind()),
        }
    }

    fn list(&self, py: Python<'_>, name: &str) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        self.ragged(py, name, "list")
    }

    fn rows(&self, py: Python<'_>, name: &str) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        self.ragged(py, name, "rows")
    }

    /// The rows from `start` up to `stop`, as views of the same memory; strings are converted again.
    fn cut(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<Self> {
        if start > stop || stop > self.rows {
            return Err(PyIndexError::new_err(format!("rows {start} to {stop}: there are {}", self.rows)));
        }
        let part = |whole: &Py<PyAny>, start: usize, stop: usize| -> PyResult<Py<PyAny>> {
            let range = PySlice::new(py, start as isize, stop as isize, 1);
            Ok(whole.bind(py).get_item(range)?.unbind())
        };
        let plain = self.arrays.bind(py).iter().map(|array| part(&array.unbind(), start, stop));
        let plain = plain.collect::<PyResult<Vec<_>>>()?;
        let mut others = Vec::with_capacity(self.others.len());
        for (index, held) in &self.others {
            let held = match held {
                HeldColumn::Text(_) => {
                    let name = self.layout.get().columns()[*index].0.as_ref();
                    HeldColumn::Text(Mutex::new(Text::Python(part(&self.text(py, name)?, start, stop)?)))
                }
                HeldColumn::Ragged(offsets, values) => {
                    let kept = part(offsets, start, stop + 1)?;
                    let edge = |row: usize| -> PyResult<usize> { offsets.bind(py).get_item(row)?.extract() };
                    let (first, last) = (edge(start)?, edge(stop)?);
                    let offsets = kept.bind(py).sub(first)?;
                    make_read_only(&offsets)?;
                    let values = match values.cast_bound::<Self>(py) {
                        Ok(nested) => Py::new(py, nested.get().cut(py, first, last)?)?.into_any(),
                        Err(_) => part(values, first, last)?,
                    };
                    HeldColumn::Ragged(offsets.unbind(), values)
                }
            };
            others.push((*index, held));
        }
        let timestamps = part(&self.timestamps, start, stop)?;
        Self::of(py, (Arc::clone(&self.id), self.layout.clone_ref(py)), (stop - start, timestamps), plain, others)
    }

    fn __len__(&self) -> usize {
        self.len()
    }
}
