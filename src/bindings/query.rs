//! The checked query, for one symbol or several.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::errors;
use crate::client::{PointsArguments, PointsRequests, Subjects};
use crate::protocol::{PointsQuery, Tier};

/// A checked query for points of one symbol or several: wire names, a window in Unix seconds.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Query(pub(super) PointsRequests);

#[pymethods]
impl Query {
    /// `arguments` are those of the protocol's table but the window's and those that may be several, each as a text.
    #[new]
    #[pyo3(signature = (
        data_type, exchanges = Vec::new(), symbols = Vec::new(), arguments = Vec::new(), *, start = None, end = None,
        period = None, coins = Vec::new(), token_names = Vec::new(), block_sizes = Vec::new(), include_forming = false,
        extra = Vec::new(), max_weight = None, open_window = false
    ))]
    fn new(
        py: Python<'_>,
        data_type: String,
        exchanges: Vec<String>,
        symbols: Vec<String>,
        arguments: Vec<(String, String)>,
        start: Option<f64>,
        end: Option<f64>,
        period: Option<i64>,
        coins: Vec<String>,
        token_names: Vec<String>,
        block_sizes: Vec<f64>,
        include_forming: bool,
        extra: Vec<(String, String)>,
        max_weight: Option<u64>,
        open_window: bool,
    ) -> PyResult<Self> {
        let query = PointsQuery { data_type, exchanges, extra, ..PointsQuery::default() };
        let mut asked = PointsArguments { query, start, end, period, include_forming, max_weight, open_window };
        let subjects = Subjects { symbols, coins, token_names, block_sizes };
        let set = arguments.iter().try_for_each(|(argument, value)| asked.set(argument, value));
        let requests = set.and_then(|()| PointsRequests::new(&asked, &subjects));
        requests.map(Self).map_err(|error| errors::from_client(py, error))
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
