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
    /// Path with query. The service's keys in it, and values of parameters that are named like a key, read `[key]`.
    pub target: String,
    /// Name of the key's entry; `None` when no known key came.
    pub holder: Option<String>,
    /// What that key may do: a tier's name, or `unlimited`.
    pub plan: Option<&'static str>,
    /// HTTP status; 0 when a fault closed the connection without an answer.
    pub status: u16,
    /// Weight that was charged.
    pub weight: Weight,
    /// Bytes of the answer's body.
    pub bytes: u64,
    /// Time from the head of the request to the answer, in microseconds; sending the answer does not count.
    pub microseconds: u64,
}

/// Takes the records. It is called on a thread that serves connections: hand the record on, do not wait. A panic in it is
/// kept from the service.
pub type AccessLog = Arc<dyn Fn(&AccessRecord) + Send + Sync>;

/// Hands a record over.
pub(super) fn emit(log: &AccessLog, record: &AccessRecord) {
    // The request was answered; a log that fails is its owner's concern.
    let _ = catch_unwind(AssertUnwindSafe(|| log(record)));
}

/// Whole microseconds.
pub(super) fn microseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}
