//! NumPy arrays: read-only from the start, over the engine's memory or over that of a pickle.

use std::ptr;

use numpy::datetime::{Datetime, units::Nanoseconds};
use numpy::npyffi::{NPY_ARRAY_CARRAY_RO, NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{Element, IntoPyArray, PyArray1, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Longest columns that share an owner. An owner each costs more than their arrays, but who keeps one long column should
/// not keep the others in memory.
const SHORT: usize = 512;

/// The same values with their unit, in the same memory.
pub(super) fn as_times(values: Vec<i64>) -> Vec<Datetime<Nanoseconds>> {
    values.into_iter().map(Datetime::from).collect()
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

/// Values of a column that is one array.
pub(super) enum ArrayValues {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
    /// Nanoseconds.
    Times(Vec<i64>),
}

/// Owner of the memory of arrays.
#[pyclass(frozen, module = "marketpoints._engine")]
struct Memory(Vec<ArrayValues>);

/// Read-only arrays over the memory of columns of the same length, without a copy.
pub(super) fn arrays(py: Python<'_>, columns: Vec<ArrayValues>, rows: usize) -> PyResult<Vec<Py<PyAny>>> {
    let mut made = Vec::with_capacity(columns.len());
    if rows <= SHORT {
        add_arrays(py, columns, &mut made)?;
    } else {
        for column in columns {
            add_arrays(py, vec![column], &mut made)?;
        }
    }
    Ok(made)
}

fn add_arrays(py: Python<'_>, columns: Vec<ArrayValues>, made: &mut Vec<Py<PyAny>>) -> PyResult<()> {
    let memory = Bound::new(py, Memory(columns))?;
    for column in &memory.get().0 {
        made.push(match column {
            ArrayValues::Floats(values) => over(&memory, values, numpy::dtype::<f64>(py))?,
            ArrayValues::Integers(values) => over(&memory, values, numpy::dtype::<i64>(py))?,
            ArrayValues::Times(values) => {
                static UNIT: PyOnceLock<Py<numpy::PyArrayDescr>> = PyOnceLock::new();
                let unit = UNIT.get_or_init(py, || numpy::dtype::<Datetime<Nanoseconds>>(py).unbind());
                over(&memory, values, unit.bind(py).clone())?
            }
        });
    }
    Ok(())
}

/// A read-only array over values that `memory` owns. rust-numpy makes writeable ones only: to change that takes longer than
/// to make the array.
fn over<'py, T>(
    memory: &Bound<'py, Memory>,
    values: &[T],
    dtype: Bound<'py, numpy::PyArrayDescr>,
) -> PyResult<Py<PyAny>> {
    let py = memory.py();
    debug_assert_eq!(dtype.itemsize(), size_of::<T>());
    let mut shape = [values.len() as npy_intp];
    // SAFETY: the array has the address, number and size of `values`. They are part of `memory`, which is frozen: they stay there,
    // unchanged, as long as it lives, and the array holds a reference to it. NumPy does not write to a read-only array, and makes
    // none writeable whose owner does not lend its memory for that.
    #[allow(unsafe_code)]
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            dtype.into_dtype_ptr(),
            1,
            shape.as_mut_ptr(),
            ptr::null_mut(),
            values.as_ptr().cast_mut().cast(),
            NPY_ARRAY_CARRAY_RO,
            ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), memory.clone().into_ptr()) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array.unbind())
    }
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
