//! The local service and the ingest.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use super::archive::Archive;
use super::blocking::beside;
use super::errors;
use super::faults::Faults;
use super::runtime::Process;
use super::times::MOST_SECONDS;
use crate::clock::{Clock, RunningClock, SECOND, UnixNanos};
use crate::market::{self, Ingest, Market};
use crate::protocol::redacted;
use crate::service::{
    self, AccessRecord, FaultSwitch, Journal, KeyEntry, LogFile, RunningService, Service, ServiceConfig, key_entry,
    read_keys,
};

/// The keys of a service: a file, or name, tier and key of each.
#[derive(FromPyObject)]
pub(super) enum KeysArgument {
    File(PathBuf),
    Given(Vec<(String, String, String)>),
}

impl KeysArgument {
    fn entries(self) -> Result<Vec<KeyEntry>, String> {
        match self {
            Self::File(path) => read_keys(&path).map_err(|error| error.to_string()),
            Self::Given(given) if given.is_empty() => {
                Err("keys: there are none; give one, or None for new ones".into())
            }
            Self::Given(given) => given
                .iter()
                .map(|(name, tier, key)| {
                    key_entry(name, tier, key).map_err(|problem| format!("keys[{}]: {problem}", redacted(name)))
                })
                .collect(),
        }
    }
}

/// The OpenAPI 3.1 document of every service, as JSON.
#[pyfunction]
pub(super) fn openapi() -> String {
    service::openapi().to_string()
}

/// A request of the journal, as passed to Python.
type RequestRow = (i64, String, String, u16, u64, &'static str, String, u64, u64);

/// A running local service on threads of its own.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct LocalService {
    running: Mutex<Option<RunningService>>,
    log: Option<LogFile>,
    url: String,
    keys: BTreeMap<String, String>,
    tiers: BTreeMap<String, &'static str>,
    faults: FaultSwitch,
    journal: Journal,
    clock: Arc<RunningClock>,
    market: Arc<Market>,
    pid: u32,
}

#[pymethods]
impl LocalService {
    #[new]
    #[pyo3(signature = (
        data = None, archive = None, *, now = None, host = "127.0.0.1", port = 0, seed = 0, keys = None,
        access_log = None, grace = 2.0, strict_symbols = None, any_block_size = false, keep_requests = 10_000,
        speed = 1.0
    ))]
    fn new(
        py: Python<'_>,
        data: Option<PathBuf>,
        archive: Option<PyRef<'_, Archive>>,
        now: Option<f64>,
        host: &str,
        port: u16,
        seed: u64,
        keys: Option<KeysArgument>,
        access_log: Option<PathBuf>,
        grace: f64,
        strict_symbols: Option<bool>,
        any_block_size: bool,
        keep_requests: usize,
        speed: f64,
    ) -> PyResult<Self> {
        let host: IpAddr = host.parse().map_err(|_| {
            errors::invalid(py, &format!("host {} is not an IP address such as 127.0.0.1", redacted(host)))
        })?;
        if !(0.0..=1e6).contains(&speed) {
            return Err(errors::invalid(py, &format!("speed={speed} is no number from 0 to 1,000,000")));
        }
        let clock = match now {
            None => RunningClock::wall(),
            Some(now) if now.is_finite() && now.abs() < MOST_SECONDS => {
                RunningClock::starting_at(UnixNanos((now * SECOND as f64).round() as i64))
            }
            Some(now) => return Err(errors::invalid(py, &format!("now={now} is no Unix time in seconds"))),
        };
        let clock = Arc::new(clock.at_speed(speed));
        let archive = archive.map(|archive| archive.0.clone());
        let process = Process::current(py)?;
        let market = match (archive, &data) {
            // It may be remote.
            (Some(archive), _) => beside(py, &process, move || Market::of_archive(archive))?,
            (None, Some(store)) => py.detach(|| Market::open(store)),
            (None, None) => Ok(py.detach(|| Market::demo(seed))),
        };
        let market = market.map_err(|error| errors::invalid(py, &error.to_string()))?;
        let mut market = market.with_any_block_size(any_block_size);
        if let Some(strict) = strict_symbols {
            market = market.with_strict_symbols(strict);
        }
        let market = Arc::new(market);
        let mut config = ServiceConfig::new(Arc::clone(&market), clock.clone());
        config.host = host;
        config.port = port;
        config.kept_requests = keep_requests;
        config.limits.grace = Duration::try_from_secs_f64(grace)
            .map_err(|_| errors::invalid(py, &format!("grace={grace} is no number of seconds, 0 or more")))?;
        if let Some(keys) = keys {
            config.keys = py.detach(|| keys.entries()).map_err(|problem| errors::invalid(py, &problem))?;
        }
        let log = py.detach(|| access_log.map(|path| LogFile::open(&path)).transpose());
        let log = log.map_err(|error| errors::invalid(py, &error.to_string()))?;
        config.access_log = log.as_ref().map(LogFile::log);
        let running = py.detach(|| Service::start(config));
        let running = running.map_err(|error| errors::general(py, &error.to_string()))?;
        let (url, keys, faults, journal) = (running.url(), running.keys(), running.faults(), running.journal());
        let tiers = running.plans().into_iter().map(|(name, allowance)| (name, allowance.name())).collect();
        let running = Mutex::new(Some(running));
        Ok(Self { running, log, url, keys, tiers, faults, journal, clock, market, pid: std::process::id() })
    }

    #[getter]
    fn data_end(&self, py: Python<'_>) -> Option<f64> {
        // For a store that was removed, the last state is returned.
        let end = py.detach(|| self.market.current().map_or_else(|_| self.market.last_event(), |now| now.last_event()));
        end.map(|end| end.0 as f64 / SECOND as f64)
    }

    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    #[getter]
    fn keys(&self) -> BTreeMap<String, String> {
        self.keys.clone()
    }

    #[getter]
    fn tiers(&self) -> BTreeMap<String, &'static str> {
        self.tiers.clone()
    }

    #[getter]
    fn faults(&self) -> Faults {
        Faults(self.faults.clone())
    }

    /// Of each request: Unix nanoseconds, method, target, status, weight, tier, name of the key, bytes and microseconds.
    fn requests(&self, py: Python<'_>) -> Vec<RequestRow> {
        let row = |one: AccessRecord| {
            let tier = one.plan.unwrap_or_default();
            let key = one.holder.unwrap_or_default();
            (one.time.0, one.method, one.target, one.status, one.weight.0, tier, key, one.bytes, one.microseconds)
        };
        py.detach(|| self.journal.requests()).into_iter().map(row).collect()
    }

    #[getter]
    fn requests_left_out(&self) -> u64 {
        self.journal.left_out()
    }

    #[getter]
    fn spent(&self) -> u64 {
        self.journal.spent().0
    }

    fn clear_requests(&self) {
        self.journal.clear();
    }

    fn now(&self) -> f64 {
        self.clock.now().0 as f64 / SECOND as f64
    }

    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        if !(0.0..MOST_SECONDS).contains(&seconds) || self.now() + seconds >= MOST_SECONDS {
            return Err(errors::invalid(
                py,
                &format!("the clock moves forward, at most to the year 2261, not by {seconds} s"),
            ));
        }
        self.clock.advance((seconds * SECOND as f64).round() as i64);
        Ok(())
    }

    fn stop(&self, py: Python<'_>) {
        let running = self.running.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| self.end(running));
    }
}

impl LocalService {
    fn end(&self, running: Option<RunningService>) {
        match running {
            Some(running) if self.pid == std::process::id() => {
                running.stop();
                if let Some(log) = &self.log {
                    log.finish();
                }
            }
            // A forked child holds the object but not the threads: waiting for them would never end.
            Some(running) => std::mem::forget(running),
            None => {}
        }
    }
}

impl Drop for LocalService {
    fn drop(&mut self) {
        // The log's writer is also a thread of the process that started it.
        if self.pid != std::process::id() {
            std::mem::forget(self.log.take());
        }
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.end(running);
    }
}

/// The result of an ingest.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct IngestReport(market::IngestReport);

#[pymethods]
impl IngestReport {
    #[getter]
    fn files(&self) -> u64 {
        self.0.files as u64
    }

    #[getter]
    fn unchanged(&self) -> u64 {
        self.0.unchanged as u64
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows as u64
    }

    #[getter]
    fn problems(&self) -> Vec<(String, u64, String, String)> {
        let parts = |problem: &market::Problem| {
            (problem.file.clone(), problem.line, problem.what.clone(), problem.column.clone())
        };
        self.0.problems.iter().map(parts).collect()
    }
}

fn is_ended(error: &Mutex<Option<PyErr>>) -> bool {
    error.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Ingests raw dumps into a store; stops on Ctrl-C, also within a file, which is then skipped. `tell` is called with a
/// sentence if it has to wait for another ingest.
#[pyfunction]
#[pyo3(signature = (dumps, store, allow_fewer_rows = false, tell = None))]
pub(super) fn ingest(
    py: Python<'_>,
    dumps: PathBuf,
    store: PathBuf,
    allow_fewer_rows: bool,
    tell: Option<Py<PyAny>>,
) -> PyResult<IngestReport> {
    // Attaching now and then lets a pending Ctrl-C through; the rest runs without the GIL.
    let interrupted = Mutex::new(None);
    let end = |error: PyErr| *interrupted.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    let keep_going = || {
        #[allow(clippy::redundant_closure_for_method_calls)] // the method itself is not general enough a function
        let signal = Python::try_attach(|py| py.check_signals());
        match signal {
            Some(Err(error)) => {
                end(error);
                false
            }
            Some(Ok(())) => true,
            None => false,
        }
    };
    let ingest = Ingest::new(&dumps, &store).allow_fewer_rows(allow_fewer_rows);
    let said = |words: &str| {
        let outcome = Python::try_attach(|py| tell.as_ref().map_or(Ok(()), |tell| tell.call1(py, (words,)).map(drop)));
        outcome.and_then(Result::err).map(end);
    };
    let report = py.detach(|| ingest.run_with_notices(&|| keep_going() && !is_ended(&interrupted), &said));
    if let Some(error) = interrupted.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    report.map(IngestReport).map_err(|error| errors::invalid(py, &error.to_string()))
}
