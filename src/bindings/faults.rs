//! The fault injection of a local service.

use std::time::Duration;

use pyo3::prelude::*;

use super::errors;
use crate::service::{AddedRule, Fault, FaultRule as Rule, FaultSwitch, When};

/// The faults of one service.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Faults(pub(super) FaultSwitch);

#[pymethods]
impl Faults {
    #[pyo3(signature = (
        path = "", *, probability = 1.0, count = None, latency = 0.0, status = None, retry_after = 1, cut_body = None,
        drop = false, headers = None
    ))]
    fn add(
        &self,
        py: Python<'_>,
        path: &str,
        probability: f64,
        count: Option<u32>,
        latency: f64,
        status: Option<u16>,
        retry_after: u64,
        cut_body: Option<usize>,
        drop: bool,
        headers: Option<Vec<(String, Option<String>)>>,
    ) -> PyResult<FaultRule> {
        let status = status.map(|status| match status {
            429 => Fault::RateLimited { retry_after },
            other => Fault::Failure(other),
        });
        let cut = cut_body.map(|after| Fault::CutBody { after });
        let dropped = drop.then_some(Fault::Drop);
        let mut given = [status, cut, dropped, headers.map(Fault::Headers)].into_iter().flatten();
        let delay = Duration::try_from_secs_f64(latency)
            .map_err(|_| errors::invalid(py, &format!("latency={latency} is no number of seconds, 0 or more")))?;
        let fault = match (given.next(), given.next()) {
            (None, _) => Fault::Latency(delay),
            (Some(fault), None) if delay.is_zero() => fault,
            (Some(fault), None) => Fault::LateWith(delay, Box::new(fault)),
            (Some(_), Some(_)) => {
                let problem = "status, cut_body, drop and headers exclude each other in one rule; set a rule for each";
                return Err(errors::invalid(py, problem));
            }
        };
        if fault == Fault::Latency(Duration::ZERO) {
            let problem = "name what goes wrong: latency, status, cut_body, drop or headers";
            return Err(errors::invalid(py, problem));
        }
        let when = match count {
            Some(count) => When::AtMost { probability, count },
            None => When::Probability(probability),
        };
        let added = self.0.add(Rule { path: path.to_owned(), when, fault });
        added.map(FaultRule).map_err(|error| errors::invalid(py, &error.to_string()))
    }

    fn seed(&self, seed: u64) {
        self.0.seed(seed);
    }

    fn clear(&self) {
        self.0.clear();
    }

    #[getter]
    fn seen(&self) -> u64 {
        self.0.injected()
    }
}

/// A rule of a service's faults.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct FaultRule(AddedRule);

#[pymethods]
impl FaultRule {
    #[getter]
    fn seen(&self) -> u64 {
        self.0.hits()
    }

    #[getter]
    fn active(&self) -> bool {
        self.0.is_active()
    }

    fn remove(&self) {
        self.0.remove();
    }
}
