//! Published names that replace the neutral ones, as passed by Python.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;

use super::failures::from_client;
use crate::client::{ClientError, read_dialect};
use crate::protocol::{self, DialectParts};

/// Names in both directions, checked.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Dialect(pub(super) protocol::Dialect);

/// The names of one kind: published ones by neutral ones.
type Names = BTreeMap<String, String>;

#[pymethods]
impl Dialect {
    #[new]
    #[pyo3(signature = (
        *, key_header = None, base_url = None, analytics_prefix = None, types = Names::new(), exchanges = Names::new(),
        fields = Names::new()
    ))]
    fn new(
        py: Python<'_>,
        key_header: Option<String>,
        base_url: Option<String>,
        analytics_prefix: Option<String>,
        types: Names,
        exchanges: Names,
        fields: Names,
    ) -> PyResult<Self> {
        let parts = DialectParts { key_header, base_url, analytics_prefix, types, exchanges, fields };
        let made = protocol::Dialect::new(parts).map_err(ClientError::from);
        made.map(Self).map_err(|error| from_client(py, error))
    }

    #[staticmethod]
    fn from_toml(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        read_dialect(&path).map(Self).map_err(|error| from_client(py, error))
    }

    #[getter]
    fn key_header(&self) -> Option<&str> {
        self.0.key_header()
    }

    #[getter]
    fn base_url(&self) -> Option<&str> {
        self.0.base_url()
    }

    #[getter]
    fn analytics_prefix(&self) -> Option<String> {
        self.0.parts().analytics_prefix
    }

    #[getter]
    fn types(&self) -> Names {
        self.0.parts().types
    }

    #[getter]
    fn exchanges(&self) -> Names {
        self.0.parts().exchanges
    }

    #[getter]
    fn fields(&self) -> Names {
        self.0.parts().fields
    }
}
