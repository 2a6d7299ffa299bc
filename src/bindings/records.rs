//! Records as Python dictionaries.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

use super::errors;
use crate::protocol::records::attribute_name as named;

/// A record's field by its wire name as it is called in Rust and in Python.
#[pyfunction]
pub(super) fn attribute_name(wire: &str) -> String {
    named(wire)
}

/// Records as Python dictionaries by wire name.
pub(super) fn records<T: Serialize>(py: Python<'_>, records: &T) -> PyResult<Py<PyAny>> {
    let value = serde_json::to_value(records).map_err(|error| errors::general(py, &error.to_string()))?;
    object(py, &value)
}

/// Converts a JSON value to Python objects.
pub(super) fn object(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(truth) => truth.into_py_any(py),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into_py_any(py),
            None => number.as_f64().into_py_any(py),
        },
        Value::String(text) => text.into_py_any(py),
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(object(py, value)?)?;
            }
            list.into_py_any(py)
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, object(py, value)?)?;
            }
            dict.into_py_any(py)
        }
    }
}
