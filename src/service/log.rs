//! The access log and the journal: one record for each request, without keys.

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::UnixNanos;
use crate::protocol::Weight;

/// One request as the access log and the journal show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRecord {
    /// The service's time at the start of the request, Unix nanoseconds.
    pub time: UnixNanos,
    /// Address of the peer.
    pub peer: Option<IpAddr>,
    /// HTTP method.
    pub method: String,
    /// Path with query. The service's keys, and values of parameters whose name suggests a key, are replaced by
    /// `[key]`.
    pub target: String,
    /// Name of the key's entry; `None` if the request had no known key.
    pub holder: Option<String>,
    /// Allowance of that key: a tier's name, or `unlimited`.
    pub plan: Option<&'static str>,
    /// HTTP status; 0 when a fault closed the connection without an answer.
    pub status: u16,
    /// Weight that was charged.
    pub weight: Weight,
    /// Bytes of the answer's body.
    pub bytes: u64,
    /// Time from the request's head to the answer, in microseconds, without sending it.
    pub microseconds: u64,
}

/// Called with each record, on a thread that serves connections: pass the record on, do not block. A panic in it does
/// not reach the service.
pub type AccessLog = Arc<dyn Fn(&AccessRecord) + Send + Sync>;

/// Calls the log.
pub(super) fn emit(log: &AccessLog, record: &AccessRecord) {
    // The request is answered already; a log that panics must not change that.
    let _ = catch_unwind(AssertUnwindSafe(|| log(record)));
}

/// Microseconds, rounded down.
pub(super) fn microseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}
