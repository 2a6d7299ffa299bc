//! What a call would send.

use pyo3::prelude::*;

use crate::client;

/// Tier, seconds, why not, and requests, weight and points.
type PlannedTierRow = (&'static str, Option<f64>, Option<String>, Option<(usize, u64, u64)>);

/// One request of a plan.
#[pyclass(frozen, get_all, module = "marketpoints._engine")]
pub(super) struct PlannedRequest {
    url: String,
    weight: u64,
    points: u64,
    /// Of the window, in Unix seconds; `None` for what has no points.
    start: Option<i64>,
    end: Option<i64>,
}

/// What a call would send.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Plan(pub(super) client::Plan);

#[pymethods]
impl Plan {
    #[getter]
    fn requests(&self) -> Vec<PlannedRequest> {
        let planned = |request: &client::PlannedRequest| PlannedRequest {
            url: request.url.clone(),
            weight: request.weight.0,
            points: request.points.0,
            start: request.window.map(|window| window.from),
            end: request.window.map(|window| window.to),
        };
        self.0.requests.iter().map(planned).collect()
    }

    #[getter]
    fn weight(&self) -> u64 {
        self.0.weight().0
    }

    #[getter]
    fn points(&self) -> u64 {
        self.0.points().0
    }

    #[getter]
    fn eta(&self) -> f64 {
        self.0.eta
    }

    /// Tier, seconds that it would take, why it would not do it; requests, weight and points unless a wall refuses it.
    #[getter]
    fn tiers(&self) -> Vec<PlannedTierRow> {
        let row = |wait: &client::TierWait| {
            let cut = wait.cut.map(|cut| (cut.requests, cut.weight.0, cut.points.0));
            (wait.tier, wait.eta.clone().ok(), wait.eta.clone().err(), cut)
        };
        self.0.tiers.iter().map(row).collect()
    }
}
