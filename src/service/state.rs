//! State shared by all requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::access::KeyRing;
use super::faults::FaultSwitch;
use super::journal::Journal;
use super::limits::{ConnectionLimits, StreamLimits};
use super::log::AccessLog;
use super::response_memory::ResponseMemory;
use crate::clock::SharedClock;
use crate::market::Market;

/// State of all requests.
pub(super) struct ServiceState {
    pub(super) source: Arc<Market>,
    pub(super) clock: SharedClock,
    pub(super) keys: Arc<KeyRing>,
    pub(super) bound_to: IpAddr,
    /// One permit per concurrent computation.
    pub(super) computations: Arc<Semaphore>,
    /// As many again for answers of a few milliseconds, so that they do not queue behind others.
    pub(super) light_computations: Arc<Semaphore>,
    /// A part of `computations`, taken by long ones in addition, so that they leave room for the others.
    pub(super) long_computations: Arc<Semaphore>,
    pub(super) response_memory: ResponseMemory,
    pub(super) limits: ConnectionLimits,
    pub(super) answer_within: Duration,
    pub(super) faults: FaultSwitch,
    pub(super) access_log: Option<AccessLog>,
    pub(super) journal: Journal,
    pub(super) stream: StreamLimits,
}
