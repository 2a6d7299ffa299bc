//! Exports tables through the Arrow C data interface (`PyCapsule` protocol): any Arrow reader can import them, and no
//! other library is needed. NumPy's numbers are shared, not copied.

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, RecordBatchIterator,
    StringArray,
};
use arrow_buffer::{ArrowNativeType, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use numpy::datetime::{Datetime, units::Nanoseconds};
use numpy::{Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyMapping, PyType};

use super::arrays::make_read_only;
use super::errors;
use crate::columns::arrow::{self, SchemaMetadata};

/// A column as passed by Python: its name, the kind of its values, and the values.
type Described<'py> = (String, String, Bound<'py, PyAny>);

/// A table of columns in one or several batches.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl ArrowTable {
    #[new]
    #[pyo3(signature = (columns, metadata=None))]
    fn new(columns: Vec<Described<'_>>, metadata: Option<SchemaMetadata>) -> PyResult<Self> {
        let columns = columns.iter().map(named).collect::<PyResult<_>>()?;
        let batch = arrow::batch(columns, metadata.unwrap_or_default()).map_err(misfit)?;
        Ok(Self { schema: batch.schema(), batches: vec![batch] })
    }

    /// The rows of several tables, concatenated.
    #[classmethod]
    #[pyo3(signature = (parts, metadata=None))]
    fn stack(
        class: &Bound<'_, PyType>,
        parts: Vec<PyRef<'_, ArrowTable>>,
        metadata: Option<SchemaMetadata>,
    ) -> PyResult<Self> {
        let parts: Vec<RecordBatch> = parts.iter().flat_map(|part| part.batches.iter().cloned()).collect();
        let stacked = arrow::stack(&parts, metadata.unwrap_or_default());
        let (schema, batches) = stacked.map_err(|problem| errors::selection(class.py(), &message(&problem)))?;
        Ok(Self { schema, batches })
    }

    /// The names for a column's codes, by the column's name.
    #[getter]
    fn categories<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (column, field) in self.schema.fields().iter().enumerate() {
            let names = |batch: &RecordBatch| -> Option<Vec<String>> {
                let values = batch.column(column).as_any_dictionary_opt()?.values();
                Some(values.as_string_opt::<i32>()?.iter().flatten().map(str::to_owned).collect())
            };
            // A batch without that column has no names for it.
            if let Some(names) = self.batches.iter().filter_map(names).max_by_key(Vec::len) {
                found.set_item(field.name(), names)?;
            }
        }
        Ok(found)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(misfit)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if let Some(requested) = requested_schema {
            // If the requested schema fits, the table's own is exported all the same: the protocol leaves that to the
            // producer.
            arrow::can_become(&self.schema, &requested_of(requested)?)
                .map_err(|problem| errors::selection(py, &message(&problem)))?;
        }
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

/// The schema in a capsule of another library.
fn requested_of(capsule: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: by its name the capsule holds an ArrowSchema of the C data interface, of which `FFI_ArrowSchema` is the
    // layout. The capsule keeps it while it is borrowed here, and owns it afterwards.
    #[allow(unsafe_code)]
    let schema = unsafe { pointer.as_ref() };
    // SAFETY: the struct of the interface is nine fields of eight bytes: the format is the first, `release` the eighth.
    // Who takes a schema clears its `release`, and may have freed the rest.
    #[allow(unsafe_code)]
    let (format, release) = unsafe { (pointer.cast::<usize>().read(), pointer.cast::<usize>().add(7).read()) };
    if format == 0 || release == 0 {
        return Err(PyValueError::new_err("the requested schema was already taken by another reader"));
    }
    Schema::try_from(schema).map_err(misfit)
}

fn message(problem: &ArrowError) -> String {
    match problem {
        ArrowError::SchemaError(text) => text.clone(),
        other => other.to_string(),
    }
}

fn misfit(problem: ArrowError) -> PyErr {
    PyValueError::new_err(message(&problem))
}

fn named((name, kind, values): &Described<'_>) -> PyResult<(String, ArrayRef)> {
    Ok((name.clone(), array_of(kind, values)?))
}

/// The values of a column, by the kind that Python passed.
fn array_of(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(match kind {
        "array" => array(values)?,
        "codes" => {
            let (codes, names): (Bound<'_, PyAny>, Vec<String>) = values.extract()?;
            arrow::categories::<Int8Type>(lent::<i8, i8>(&codes)?, StringArray::from(names)).map_err(misfit)?
        }
        "label" => {
            let (text, names, rows): (Option<String>, Option<Vec<String>>, usize) = values.extract()?;
            arrow::repeated(text.as_deref(), names, rows).map_err(misfit)?
        }
        "int" => Arc::new(Int64Array::from(values.extract::<Vec<Option<i64>>>()?)),
        "float" => Arc::new(Float64Array::from(values.extract::<Vec<Option<f64>>>()?)),
        "truth" => Arc::new(BooleanArray::from(values.extract::<Vec<Option<bool>>>()?)),
        "text" => Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)),
        "numbers" => small_lists(values.extract::<Vec<Vec<f64>>>()?, |flat| Arc::new(Float64Array::from(flat)))?,
        "texts" => small_lists(values.extract::<Vec<Vec<String>>>()?, |flat| Arc::new(StringArray::from(flat)))?,
        "records" => {
            let (lengths, fields): (Vec<usize>, Vec<Described<'_>>) = values.extract()?;
            let fields = fields.iter().map(named).collect::<PyResult<_>>()?;
            small_list(lengths.iter().copied(), arrow::structs(fields, lengths.iter().sum()).map_err(misfit)?)?
        }
        other => return Err(PyTypeError::new_err(format!("no kind of column: {other}"))),
    })
}

fn small_lists<T>(rows: Vec<Vec<T>>, array: impl FnOnce(Vec<T>) -> ArrayRef) -> PyResult<ArrayRef> {
    let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
    small_list(lengths.into_iter(), array(rows.into_iter().flatten().collect()))
}

fn small_list(lengths: impl ExactSizeIterator<Item = usize>, values: ArrayRef) -> PyResult<ArrayRef> {
    let offsets = OffsetBuffer::<i32>::try_from_lengths(lengths);
    let offsets = offsets.map_err(|problem| PyValueError::new_err(problem.to_string()))?;
    let element = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(element, offsets, values, None).map_err(misfit)?))
}

/// A NumPy array by its dtype, or the ragged rows of `Ragged` and `Nested`: offsets and values or fields.
fn array(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(offsets) = values.getattr("offsets") {
        let offsets = lent::<i64, i64>(&offsets)?;
        let inner = match values.getattr("values") {
            Ok(values) => array(&values)?,
            Err(_) => {
                let mut fields = Vec::new();
                for pair in values.getattr("fields")?.cast::<PyMapping>()?.items()?.iter() {
                    let (name, values): (String, Bound<'_, PyAny>) = pair.extract()?;
                    fields.push((name, array(&values)?));
                }
                let rows = offsets.last().map_or(0, |rows| *rows as usize);
                arrow::structs(fields, rows).map_err(misfit)?
            }
        };
        return arrow::lists(offsets, inner).map_err(misfit);
    }
    let untyped = values.cast::<PyUntypedArray>()?;
    let kind = untyped.dtype();
    Ok(match (kind.kind(), kind.itemsize()) {
        (b'f', 8) => arrow::doubles(lent::<f64, f64>(values)?),
        (b'i', 8) => arrow::integers(lent::<i64, i64>(values)?),
        (b'i', 4) => Arc::new(Int32Array::new(lent::<i32, i32>(values)?, None)),
        (b'M', 8) => arrow::times(lent::<Datetime<Nanoseconds>, i64>(values)?),
        (b'b', 1) => Arc::new(BooleanArray::from(values.cast::<PyArray1<bool>>()?.to_vec()?)),
        (b'O', _) => array_of("text", values)?,
        _ => return Err(PyTypeError::new_err(format!("no column of {kind}"))),
    })
}

/// The memory of a NumPy array, kept alive while it is in use. Values that are not contiguous, such as the prices of
/// (price, volume) pairs, are copied by NumPy first.
fn lent<T: Element, N: ArrowNativeType>(values: &Bound<'_, PyAny>) -> PyResult<ScalarBuffer<N>> {
    const { assert!(size_of::<T>() == size_of::<N>()) };
    let array = values.cast::<PyArray1<T>>()?;
    let side_by_side = array.is_c_contiguous() && array.is_aligned();
    let array = if side_by_side { array.clone() } else { values.call_method0("copy")?.cast_into()? };
    make_read_only(&array)?;
    let Some(start) = NonNull::new(array.data()) else { return Ok(Vec::new().into()) };
    let (count, bytes) = (array.len(), array.len() * size_of::<T>());
    // Whoever gives it back may do so on any thread, and must not wait for Python's lock there: the reference is counted
    // when the engine is called the next time.
    let owner = Arc::new(AssertUnwindSafe(array.into_any().unbind()));
    // SAFETY: `start` is the first of `count` values, which lie side by side and are aligned. The array that owns them is
    // kept by the buffer, and nobody writes to it: it is read-only as of here, and was the result's alone before.
    #[allow(unsafe_code)]
    let buffer = unsafe { Buffer::from_custom_allocation(start.cast(), bytes, owner) };
    Ok(ScalarBuffer::new(buffer, 0, count))
}
