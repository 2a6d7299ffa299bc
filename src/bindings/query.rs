//! The checked query, for one symbol or several.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

use super::errors;
use super::failures::from_client;
use super::times::unix_nanos;
use crate::client::{ClientError, PointsArguments, PointsRequests, RequestLists};
use crate::clock::{GivenLength, time_of_number};
use crate::protocol::query::{PARAMETERS, ParameterKind};
use crate::protocol::{
    AnalyticsEndpoint, AnalyticsQuery, DataType, MarketSort, MarketsQuery, PointsQuery, SortDirection, Tier, Weight,
};

/// A checked query for points of one symbol or several: wire names, a window in Unix seconds.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Query(pub(super) PointsRequests);

#[pymethods]
impl Query {
    /// `arguments` are those of the protocol's table except the window's, as text; one that is a list comes once for each
    /// value.
    #[new]
    #[pyo3(signature = (
        data_type, arguments = Vec::new(), *, start = None, end = None, period = None, include_forming = false,
        extra = Vec::new(), max_weight = None, open_window = false
    ))]
    fn new(
        py: Python<'_>,
        data_type: String,
        arguments: Vec<(String, String)>,
        start: Option<f64>,
        end: Option<f64>,
        period: Option<i64>,
        include_forming: bool,
        extra: Vec<(String, String)>,
        max_weight: Option<u64>,
        open_window: bool,
    ) -> PyResult<Self> {
        let max_weight = max_weight.map(Weight);
        let query = PointsQuery { data_type, extra, ..PointsQuery::default() };
        let mut asked = PointsArguments { query, start, end, period, include_forming, max_weight, open_window };
        let mut lists = RequestLists::default();
        let set = arguments.iter().try_for_each(|(argument, value)| asked.add(&mut lists, argument, value));
        let requests = set.and_then(|()| PointsRequests::new(&asked, &lists));
        requests.map(Self).map_err(|error| from_client(py, error))
    }

    /// The query of a call with plain arguments: texts in ASCII, numbers of seconds, True, False and None. Nothing if one of
    /// them is something else, or wrong: Python reads those one by one, and says what is wrong.
    #[staticmethod]
    pub(super) fn of_plain(
        data_type: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        symbol: &Bound<'_, PyAny>,
        interval: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyDict>,
    ) -> Option<Self> {
        let data_type = DataType::find(plain_text(data_type)?)?.spec().name.to_owned();
        let query = PointsQuery { data_type, ..PointsQuery::default() };
        let mut asked = PointsArguments { query, ..PointsArguments::default() };
        let mut lists = RequestLists::default();
        for (name, value) in arguments {
            add_plain(&mut asked, &mut lists, plain_text(&name)?, &value)?;
        }
        for (name, value) in [("interval", interval), ("exchange", exchange), ("symbol", symbol)] {
            add_plain(&mut asked, &mut lists, name, value)?;
        }
        PointsRequests::new(&asked, &lists).ok().map(Self)
    }

    /// The parts of a `Provenance` of Python's.
    #[pyo3(signature = (now, tier))]
    pub(super) fn asked<'py>(&self, py: Python<'py>, now: f64, tier: Option<&str>) -> PyResult<ProvenanceParts<'py>> {
        let (exchanges, symbol, coin) = self.selection(py)?;
        let selection = (exchanges, symbol.map(str::to_owned), coin.map(str::to_owned));
        Ok((now, self.window(py, now, tier)?, self.session().map(str::to_owned), self.usd(), selection))
    }

    #[pyo3(signature = (now, tier = None))]
    fn window(&self, py: Python<'_>, now: f64, tier: Option<&str>) -> PyResult<(i64, i64)> {
        let window = self.0.first().window(unix_nanos(py, now)?, tier.and_then(Tier::find));
        Ok((window.from, window.to))
    }

    /// The first bucket start of a tier's history for a window of the last so many seconds; None for a fixed window.
    #[pyo3(signature = (now, tier = None))]
    fn first_in_history(&self, py: Python<'_>, now: f64, tier: Option<&str>) -> PyResult<Option<i64>> {
        let now = unix_nanos(py, now)?;
        Ok(self.0.first().first_in_history(now, tier.and_then(Tier::find)).map(|first| first.0))
    }

    /// Why the window holds no bucket; None if it holds one.
    #[pyo3(signature = (now, tier = None))]
    fn why_no_bucket(&self, py: Python<'_>, now: f64, tier: Option<&str>) -> PyResult<Option<String>> {
        Ok(self.0.first().why_no_bucket(unix_nanos(py, now)?, tier.and_then(Tier::find)))
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

/// Now, the window, the session, whether in USD, and the selection.
pub(super) type ProvenanceParts<'py> = (f64, (i64, i64), Option<String>, bool, SelectionParts<'py>);
/// Exchanges, symbol and coin.
type SelectionParts<'py> = (Bound<'py, PyTuple>, Option<String>, Option<String>);

/// Sets an argument; nothing if it is not plain.
fn add_plain(
    asked: &mut PointsArguments,
    lists: &mut RequestLists,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> Option<()> {
    let is_time = matches!(name, "start" | "end" | "period");
    if is_time && value.is_none() {
        return Some(());
    }
    match name {
        "start" => asked.start = Some(time_of_number(plain_number(value)?).ok()?),
        "end" => asked.end = Some(time_of_number(plain_number(value)?).ok()?),
        "period" => asked.period = Some(GivenLength::Seconds(plain_number(value)?).whole_seconds().ok()?),
        "include_forming" => asked.include_forming = value.cast_exact::<PyBool>().ok()?.is_true(),
        _ => {
            let row = PARAMETERS.iter().find(|row| row.argument == Some(name) && name != "type")?;
            match (row.kind, value.cast_exact::<PyBool>()) {
                (ParameterKind::Flag, Ok(flag)) if flag.is_true() => asked.add(lists, name, "true").ok()?,
                (ParameterKind::Flag, Ok(_)) => {}
                (ParameterKind::Text | ParameterKind::Texts, _) if value.is_none() => {}
                (ParameterKind::Text | ParameterKind::Texts, _) => asked.add(lists, name, plain_text(value)?).ok()?,
                _ => return None,
            }
        }
    }
    Some(())
}

fn plain_text<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    value.cast_exact::<PyString>().ok()?.to_str().ok().filter(|text| text.is_ascii())
}

fn plain_number(value: &Bound<'_, PyAny>) -> Option<f64> {
    let is_number = value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>();
    is_number.then(|| value.extract().ok()).flatten()
}

/// The query of an analytics endpoint.
pub(super) fn analytics_query(
    py: Python<'_>,
    endpoint: &str,
    parameters: Vec<(String, String)>,
) -> PyResult<AnalyticsQuery> {
    let problem = || errors::invalid(py, &format!("there is no analytics endpoint {endpoint:?}"));
    let endpoint = AnalyticsEndpoint::find(endpoint).ok_or_else(problem)?;
    let query = AnalyticsQuery::from_pairs(endpoint, parameters).map_err(ClientError::from);
    query.map_err(|error| from_client(py, error))
}

/// The filters of a listing of markets, from a mapping.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct MarketFilters {
    exchanges: Vec<String>,
    coins: Vec<String>,
    categories: Vec<String>,
    types: Vec<String>,
    symbol_filter: Option<String>,
    sort_by: Option<String>,
    sort_direction: Option<String>,
    distinct: bool,
    /// Most markets of all pages together.
    pub(super) limit: Option<usize>,
    extra: Vec<(String, String)>,
}

impl MarketFilters {
    /// The query that is sent page by page.
    pub(super) fn query(self, py: Python<'_>) -> PyResult<MarketsQuery> {
        let (sort_by, sort) = order(py, self.sort_by.as_deref(), self.sort_direction.as_deref())?;
        Ok(MarketsQuery {
            exchanges: self.exchanges,
            coins: self.coins,
            categories: self.categories,
            types: self.types,
            symbol_filter: self.symbol_filter,
            sort_by,
            sort,
            distinct: self.distinct,
            extra: self.extra,
            ..MarketsQuery::default()
        })
    }
}

/// The sort order of a listing, by name.
fn order(
    py: Python<'_>,
    field: Option<&str>,
    direction: Option<&str>,
) -> PyResult<(Option<MarketSort>, Option<SortDirection>)> {
    let wrong = |name: &str, given: &str, valid: &[&str]| {
        errors::invalid(py, &format!("{name}: {given:?} is not one of {}", valid.join(", ")))
    };
    let field = field.map(|name| {
        let valid = MarketSort::NAMES.map(|(name, _)| name);
        MarketSort::find(name).ok_or_else(|| wrong("sort_by", name, &valid))
    });
    let direction = direction
        .map(|name| SortDirection::find_loosely(name).ok_or_else(|| wrong("sort_direction", name, &["asc", "desc"])));
    Ok((field.transpose()?, direction.transpose()?))
}
