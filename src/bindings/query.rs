//! The checked query, for one symbol or several.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::errors;
use crate::client::{PointsArguments, PointsRequests, Subjects};
use crate::protocol::Tier;

/// A checked query for points of one symbol or several: wire names, a window in Unix seconds.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Query(pub(super) PointsRequests);

#[pymethods]
impl Query {
    #[new]
    #[pyo3(signature = (
        data_type, exchanges = Vec::new(), symbols = Vec::new(), interval = None, *, start = None, end = None,
        period = None, coins = Vec::new(), usd = false, group_by = None, gapfill = false, sort = None,
        include_forming = false, max_depth = None, block_sizes = Vec::new(), tenor = None, token_names = Vec::new(),
        session = None, block_minutes = None, extra = Vec::new(), max_weight = None, open_window = false
    ))]
    #[allow(clippy::fn_params_excessive_bools)] // as above
    fn new(
        py: Python<'_>,
        data_type: String,
        exchanges: Vec<String>,
        symbols: Vec<String>,
        interval: Option<String>,
        start: Option<f64>,
        end: Option<f64>,
        period: Option<i64>,
        coins: Vec<String>,
        usd: bool,
        group_by: Option<String>,
        gapfill: bool,
        sort: Option<String>,
        include_forming: bool,
        max_depth: Option<u32>,
        block_sizes: Vec<f64>,
        tenor: Option<String>,
        token_names: Vec<String>,
        session: Option<String>,
        block_minutes: Option<u32>,
        extra: Vec<(String, String)>,
        max_weight: Option<u64>,
        open_window: bool,
    ) -> PyResult<Self> {
        let arguments = PointsArguments {
            data_type,
            exchanges,
            interval,
            start,
            end,
            period,
            usd,
            group_by,
            gapfill,
            sort,
            include_forming,
            max_depth,
            tenor,
            session,
            block_minutes,
            extra,
            max_weight,
            open_window,
            ..PointsArguments::default()
        };
        let subjects = Subjects { symbols, coins, token_names, block_sizes };
        PointsRequests::new(&arguments, &subjects).map(Self).map_err(|error| errors::from_client(py, error))
    }

    #[pyo3(signature = (now, tier = None))]
    fn window(&self, now: f64, tier: Option<&str>) -> (i64, i64) {
        let window = self.0.first().window(now, tier.and_then(Tier::find));
        (window.from, window.to)
    }

    /// Why the window holds no bucket, in words; None where it holds one.
    #[pyo3(signature = (now, tier = None))]
    fn why_no_bucket(&self, now: f64, tier: Option<&str>) -> Option<String> {
        self.0.first().why_no_bucket(now, tier.and_then(Tier::find))
    }

    #[getter]
    fn bounded(&self) -> Option<(i64, i64)> {
        self.0.first().bounded().map(|window| (window.from, window.to))
    }

    #[getter]
    fn usd(&self) -> bool {
        self.0.first().usd()
    }

    #[getter]
    fn selection<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Option<&str>, Option<&str>)> {
        let (exchanges, symbol, coin) = self.0.selection();
        Ok((PyTuple::new(py, exchanges)?, symbol, coin))
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.0.first().session()
    }
}
