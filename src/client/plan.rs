//! Plan of a call: its requests, their weight, and their wait for budget.

use super::error::ClientError;
use super::inner::ClientInner;
use super::tiers::TierWait;
use crate::clock::Window;
use crate::protocol::query::Spelling;
use crate::protocol::{Points, Weight};

/// One request of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRequest {
    /// The full URL, without the key.
    pub url: String,
    /// Weight (section 8.2).
    pub weight: Weight,
    /// Number of buckets in its window.
    pub points: Points,
    /// The window; `None` for a request without points.
    pub window: Option<Window>,
    /// Most bytes that its answer may take in memory.
    pub(super) memory: u64,
}

/// Plan of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The requests, in the order of their windows.
    pub requests: Vec<PlannedRequest>,
    /// Seconds until the current budget allows the last of them.
    pub eta: f64,
    /// Wait of each tier, lowest first; empty if not requested.
    pub tiers: Vec<TierWait>,
    pub(super) window: Window,
}

impl Plan {
    /// A plan of these requests, unless it weighs more than allowed.
    pub(super) fn new(
        requests: Vec<PlannedRequest>,
        window: Window,
        inner: &ClientInner,
        max_weight: Option<Weight>,
    ) -> Result<Self, ClientError> {
        let weight = requests.iter().map(|request| request.weight).sum();
        check_weight(weight, requests.len(), max_weight)?;
        Ok(Self { requests, eta: inner.pacer.eta(weight), tiers: Vec::new(), window })
    }

    /// Total weight.
    pub fn weight(&self) -> Weight {
        self.requests.iter().map(|request| request.weight).sum()
    }

    /// Total number of buckets.
    pub fn points(&self) -> Points {
        self.requests.iter().map(|request| request.points).sum()
    }
}

/// Refuses a call that weighs more than its caller allows.
pub(super) fn check_weight(weight: Weight, requests: usize, max_weight: Option<Weight>) -> Result<(), ClientError> {
    match max_weight.filter(|most| weight > *most) {
        None => Ok(()),
        Some(most) => Err(ClientError::invalid(format!(
            "the call weighs {weight} in {requests} request{}, more than {}; ask for less, or allow more",
            if requests == 1 { "" } else { "s" },
            Spelling::caller().given("max_weight", most)
        ))),
    }
}
