//! The client: each call once blocking, once awaitable, over the same future.

mod calls;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;

use super::archive::{Archive, checked, synced};
use super::awaiting::awaitable;
use super::blocking::{beside, wait, wait_here};
use super::columns::Columns;
use super::dialect::Dialect;
use super::errors::{self, seconds};
use super::failures::from_client;
use super::failures::recorded;
use super::imports::load_numpy;
use super::plan::Plan;
use super::query::{MarketFilters, ProvenanceParts, Query, analytics_query};
use super::runtime::Process;
use super::stream::{ChannelParts, EventStream, options};
use super::times::{python_clock, unix_nanos, unix_seconds};
use crate::client::{self, BudgetScope, ClientError, Config, ErrorKind, Fetched, Listed, Overflow, StreamOptions};
use crate::protocol::{self, Tier, Weight};

/// The settings of a client and of a stream that have a value by default, each by its name in Python.
#[pyfunction]
pub(super) fn default_settings(py: Python<'_>) -> PyResult<(Bound<'_, PyDict>, Bound<'_, PyDict>)> {
    let (config, options) = (Config::new("", ""), StreamOptions::default());
    let client = PyDict::new(py);
    client.set_item("timeout", config.timeout.as_secs_f64())?;
    client.set_item("read_timeout", config.read_timeout.as_secs_f64())?;
    client.set_item("retries", config.retries)?;
    client.set_item("max_body", config.max_body)?;
    client.set_item("check_symbols", config.check_symbols)?;
    client.set_item("any_block_size", config.any_block_size)?;
    let stream = PyDict::new(py);
    stream.set_item("queue", options.queue)?;
    stream.set_item("overflow", if options.overflow == Overflow::Wait { "wait" } else { "drop" })?;
    stream.set_item("backoff", (options.backoff.first.as_secs_f64(), options.backoff.longest.as_secs_f64()))?;
    stream.set_item("ping_after", options.ping_after.as_secs_f64())?;
    stream.set_item("batches", options.batches)?;
    Ok((client, stream))
}

/// The client's engine.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Client {
    /// `None` after `close`.
    open: Mutex<Option<client::Client>>,
    process: Arc<Process>,
    clock: Option<Py<PyAny>>,
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (
        api_key, base_url, *, tier, timeout, read_timeout, total_timeout, retries, max_wait, max_body, max_memory, budget,
        proxy, ca_certs, clock, archive, archive_source, dialect, check_symbols, any_block_size
    ))]
    fn new(
        py: Python<'_>,
        api_key: String,
        base_url: String,
        tier: Option<&str>,
        timeout: f64,
        read_timeout: f64,
        total_timeout: Option<f64>,
        retries: u32,
        max_wait: Option<f64>,
        max_body: u64,
        max_memory: Option<u64>,
        budget: &str,
        proxy: Option<String>,
        ca_certs: Option<std::path::PathBuf>,
        clock: Option<Py<PyAny>>,
        archive: Option<PyRef<'_, Archive>>,
        archive_source: Option<String>,
        dialect: Option<PyRef<'_, Dialect>>,
        check_symbols: bool,
        any_block_size: bool,
    ) -> PyResult<Self> {
        let tier = tier
            .map(|name| {
                let problem =
                    || format!("tier {} is not one of free, basic, standard, advanced", protocol::redacted(name));
                Tier::find(name).ok_or_else(|| errors::invalid(py, &problem()))
            })
            .transpose()?;
        let config = Config {
            tier,
            timeout: seconds(py, "timeout", timeout, 0.0)?,
            read_timeout: seconds(py, "read_timeout", read_timeout, 0.0)?,
            total_timeout: total_timeout.map(|value| seconds(py, "total_timeout", value, 0.0)).transpose()?,
            retries,
            max_wait: max_wait.map(|value| seconds(py, "max_wait", value, -1.0)).transpose()?,
            max_body,
            max_memory,
            budget: BudgetScope::parse(budget).map_err(|error| from_client(py, error))?,
            proxy,
            ca_certs,
            archive: archive.map(|archive| archive.0.clone()),
            source: archive_source,
            dialect: dialect.map(|dialect| dialect.0.clone()).unwrap_or_default(),
            check_symbols,
            any_block_size,
            clock: clock.as_ref().map(|clock| python_clock(clock.clone_ref(py))),
            ..Config::new(api_key, base_url)
        };
        let process = Process::current(py)?;
        let client = client::Client::new(&config, &process.registry).map_err(|error| from_client(py, error))?;
        Ok(Self { open: Mutex::new(Some(client)), process, clock })
    }

    fn plan(&self, py: Python<'_>, query: &Query) -> PyResult<Plan> {
        let (now, client, request) = (unix_nanos(py, self.now(py)?)?, self.client(py)?, query.0.clone());
        let plan = if client.has_archive() {
            beside(py, &self.process, move || client.plan_all(&request, now))?
        } else {
            py.detach(|| client.plan_all(&request, now))
        };
        plan.map(Plan).map_err(|error| from_client(py, error))
    }

    #[pyo3(signature = (endpoint, parameters, limit = None, max_weight = None))]
    fn plan_analytics(
        &self,
        py: Python<'_>,
        endpoint: &str,
        parameters: Vec<(String, String)>,
        limit: Option<usize>,
        max_weight: Option<u64>,
    ) -> PyResult<Plan> {
        let query = analytics_query(py, endpoint, parameters)?;
        let plan = self.client(py)?.plan_analytics(&query, limit, max_weight.map(Weight));
        plan.map(Plan).map_err(|error| from_client(py, error))
    }

    /// Whether the service lists a query's symbol or coin, from cached lists only. An answer may ask this after the
    /// client was closed: then it is not known.
    fn is_listed(&self, py: Python<'_>, query: &Query) -> Option<bool> {
        match self.client(py).ok()?.listed_all(&query.0) {
            Ok(Some(Listed::Yes)) => Some(true),
            Ok(_) => None,
            Err(_) => Some(false),
        }
    }

    /// Raises if the archive to read through holds another service's data.
    fn check_archive(&self, py: Python<'_>) -> PyResult<()> {
        let client = self.client(py)?;
        beside(py, &self.process, move || client.check_archive())?.map_err(|error| from_client(py, error))
    }

    /// What is known before a query is sent: whether a list must be fetched, and a warning.
    fn listed(&self, py: Python<'_>, query: &Query) -> PyResult<(bool, Option<String>)> {
        let listed = self.client(py)?.listed_all(&query.0).map_err(|error| from_client(py, error))?;
        Ok((listed.is_some(), listed.and_then(Listed::warning)))
    }

    /// A call with plain arguments for what is known to be listed: its query, the parts of a `Provenance`, and now. Nothing
    /// where an argument is something else, a list must be fetched, or there is something to say.
    fn prepare<'py>(
        &self,
        py: Python<'py>,
        data_type: &Bound<'py, PyAny>,
        exchange: &Bound<'py, PyAny>,
        symbol: &Bound<'py, PyAny>,
        interval: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyDict>,
        tier: Option<&str>,
    ) -> PyResult<Option<(Query, ProvenanceParts<'py>, f64)>> {
        let Some(query) = Query::of_plain(data_type, exchange, symbol, interval, arguments) else { return Ok(None) };
        let listed = self.client(py)?.listed_all(&query.0);
        if !listed.is_ok_and(|listed| listed.is_some_and(|listed| listed.warning().is_none())) {
            return Ok(None);
        }
        load_numpy(py)?;
        let now = self.now(py)?;
        let asked = query.asked(py, now, tier)?;
        Ok(Some((query, asked, now)))
    }

    #[pyo3(signature = (query, now, archive = None))]
    fn look_up(&self, py: Python<'_>, query: &Query, now: f64, archive: Option<&Archive>) -> PyResult<Option<String>> {
        let future = self.ask_listing(py, query, unix_nanos(py, now)?, archive)?;
        let listed = wait(py, &self.process, future)?.map_err(|error| from_client(py, error))?;
        Ok(listed.warning())
    }

    #[pyo3(signature = (query, now, archive = None))]
    fn look_up_async<'py>(
        &self,
        py: Python<'py>,
        query: &Query,
        now: f64,
        archive: Option<&Archive>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = self.ask_listing(py, query, unix_nanos(py, now)?, archive)?;
        awaitable(py, &self.process, future, |py, listed| {
            let listed = listed.map_err(|error| from_client(py, error))?;
            listed.warning().into_py_any(py)
        })
    }

    /// [`Self::look_up`] for several queries at once; what is refused is among the results.
    fn look_up_each(
        &self,
        py: Python<'_>,
        queries: Vec<PyRef<'_, Query>>,
        now: f64,
        archive: &Archive,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let future = self.ask_listings(py, &queries, unix_nanos(py, now)?, archive)?;
        looked_up(py, wait(py, &self.process, future)?)
    }

    fn look_up_each_async<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<PyRef<'py, Query>>,
        now: f64,
        archive: &Archive,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = self.ask_listings(py, &queries, unix_nanos(py, now)?, archive)?;
        awaitable(py, &self.process, future, |py, every| looked_up(py, every)?.into_py_any(py))
    }

    /// The service's current time from its latest answer; None before the first, and when the client is closed.
    #[getter]
    fn service_time(&self, py: Python<'_>) -> Option<f64> {
        self.client(py).ok()?.service_time().map(unix_seconds)
    }

    /// The client's clock.
    #[pyo3(name = "now")]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.now(py)
    }

    #[pyo3(signature = (query, progress = None, now = None))]
    fn points(
        &self,
        py: Python<'_>,
        query: &Query,
        progress: Option<Py<PyAny>>,
        now: Option<f64>,
    ) -> PyResult<(Vec<Py<Columns>>, u64)> {
        let now = now.map_or_else(|| self.now(py), Ok)?;
        let calls_python = progress.is_some() || self.clock.is_some();
        let small = !calls_python && self.client(py)?.is_small(&query.0, unix_nanos(py, now)?);
        let future = self.fetch_points(py, query, progress, Some(now))?;
        let outcome = if small { wait_here(py, &self.process, future) } else { wait(py, &self.process, future) };
        outcome?.convert(py, arrived)
    }

    #[pyo3(signature = (query, progress = None, now = None))]
    fn points_async<'py>(
        &self,
        py: Python<'py>,
        query: &Query,
        progress: Option<Py<PyAny>>,
        now: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = self.fetch_points(py, query, progress, now)?;
        awaitable(py, &self.process, future, |py, answer| answer.convert(py, arrived)?.into_py_any(py))
    }

    #[pyo3(signature = (query, archive, progress = None))]
    fn sync(
        &self,
        py: Python<'_>,
        query: &Query,
        archive: &Archive,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let future = self.fetch_missing(py, query, archive, progress)?;
        wait(py, &self.process, future)?.convert(py, synced)
    }

    #[pyo3(signature = (query, archive, progress = None))]
    fn sync_async<'py>(
        &self,
        py: Python<'py>,
        query: &Query,
        archive: &Archive,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = self.fetch_missing(py, query, archive, progress)?;
        awaitable(py, &self.process, future, |py, answer| answer.convert(py, synced))
    }

    #[pyo3(signature = (query, archive, replace, progress = None))]
    fn ask_again(
        &self,
        py: Python<'_>,
        query: &Query,
        archive: &Archive,
        replace: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let future = self.fetch_again(py, query, archive, replace, progress)?;
        wait(py, &self.process, future)?.convert(py, checked)
    }

    #[pyo3(signature = (query, archive, replace, progress = None))]
    fn ask_again_async<'py>(
        &self,
        py: Python<'py>,
        query: &Query,
        archive: &Archive,
        replace: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = self.fetch_again(py, query, archive, replace, progress)?;
        awaitable(py, &self.process, future, |py, answer| answer.convert(py, checked))
    }

    fn markets(&self, py: Python<'_>, filters: MarketFilters) -> PyResult<Py<PyAny>> {
        let future = self.fetch_markets(py, filters)?;
        recorded(py, wait(py, &self.process, future)?)
    }

    fn markets_async<'py>(&self, py: Python<'py>, filters: MarketFilters) -> PyResult<Bound<'py, PyAny>> {
        let future = self.fetch_markets(py, filters)?;
        awaitable(py, &self.process, future, recorded)
    }

    fn discover(&self, py: Python<'_>, list: &str, filters: Vec<(String, String)>) -> PyResult<Py<PyAny>> {
        let future = self.fetch_list(py, list, filters)?;
        recorded(py, wait(py, &self.process, future)?)
    }

    fn discover_async<'py>(
        &self,
        py: Python<'py>,
        list: &str,
        filters: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = self.fetch_list(py, list, filters)?;
        awaitable(py, &self.process, future, recorded)
    }

    #[pyo3(signature = (endpoint, parameters, limit = None, max_weight = None))]
    fn analytics(
        &self,
        py: Python<'_>,
        endpoint: &str,
        parameters: Vec<(String, String)>,
        limit: Option<usize>,
        max_weight: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        let future = self.fetch_analytics(py, endpoint, parameters, limit, max_weight)?;
        recorded(py, wait(py, &self.process, future)?)
    }

    #[pyo3(signature = (endpoint, parameters, limit = None, max_weight = None))]
    fn analytics_async<'py>(
        &self,
        py: Python<'py>,
        endpoint: &str,
        parameters: Vec<(String, String)>,
        limit: Option<usize>,
        max_weight: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = self.fetch_analytics(py, endpoint, parameters, limit, max_weight)?;
        awaitable(py, &self.process, future, recorded)
    }

    #[pyo3(signature = (
        channels, *, queue, overflow, backoff, reconnects, ping_after, record, batches
    ))]
    fn stream(
        &self,
        py: Python<'_>,
        channels: Vec<ChannelParts>,
        queue: usize,
        overflow: &str,
        backoff: (f64, f64),
        reconnects: Option<u32>,
        ping_after: f64,
        record: Option<PathBuf>,
        batches: bool,
    ) -> PyResult<EventStream> {
        let options = options(py, queue, overflow, backoff, reconnects, ping_after, record, batches)?;
        EventStream::new(py, &self.client(py)?, Arc::clone(&self.process), channels, options)
    }

    fn usage(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let client = self.client(py)?;
        recorded(py, wait(py, &self.process, async move { client.usage().await })?)
    }

    fn usage_async<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let client = self.client(py)?;
        awaitable(py, &self.process, async move { client.usage().await }, recorded)
    }

    fn close(&self, py: Python<'_>) {
        let client = self.open.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| self.process.settle(client));
    }

    #[getter]
    fn budget<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(view) = self.client(py)?.budget() else { return Ok(None) };
        let budget = PyDict::new(py);
        budget.set_item("limit", view.limit)?;
        budget.set_item("burst", view.burst.0)?;
        budget.set_item("remaining", view.remaining.0)?;
        budget.set_item("used", view.used.0)?;
        // By the client's clock, where `/v1/usage` uses the service's; a full bucket is full now (section 8.5).
        let full_at = self.now(py)? + view.full_in.as_secs_f64();
        let reset = if view.full_in.is_zero() { full_at.floor() } else { full_at.ceil() };
        budget.set_item("reset", reset as i64)?;
        Ok(Some(budget))
    }
}

impl Drop for Client {
    /// Ends its connections where nobody closed it.
    fn drop(&mut self) {
        if let Some(client) = self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            self.process.settle(client);
        }
    }
}

impl Client {
    /// The engine's client, unless closed.
    fn client(&self, py: Python<'_>) -> PyResult<client::Client> {
        if !self.process.is_own() {
            let message = "this client was made before the process forked; make a new one in the child";
            return Err(errors::general(py, message));
        }
        let open = self.open.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| errors::general(py, "this client is closed; make a new one"))
    }

    /// Now in Unix seconds, by the client's clock.
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        match &self.clock {
            Some(clock) => clock.call0(py)?.extract(py),
            None => Ok(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()),
        }
    }
}

/// The series of a call, and the weight of its answers.
fn arrived(py: Python<'_>, answer: Result<Fetched, ClientError>) -> PyResult<(Vec<Py<Columns>>, u64)> {
    let Fetched { series, weight } = answer.map_err(|error| from_client(py, error))?;
    Ok((Columns::hand_over(py, series)?, weight.0))
}

/// What the lists say of each query: a warning, `None`, or the error that refuses it.
fn looked_up(py: Python<'_>, every: Vec<Result<Listed, ClientError>>) -> PyResult<Vec<Py<PyAny>>> {
    let one = |listed: Result<Listed, ClientError>| match listed {
        Ok(listed) => listed.warning().into_py_any(py),
        Err(error) if error.kind == ErrorKind::InvalidRequest => from_client(py, error).into_py_any(py),
        Err(error) => Err(from_client(py, error)),
    };
    every.into_iter().map(one).collect()
}
