//! Options of a stream, and the state that its connections share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

use super::backoff::Backoff;
use super::batch::SharedTable;
use super::queue::{Overflow, StreamQueue};
use super::record::Recorder;
use crate::client::error::ClientError;
use crate::client::inner::ClientInner;

/// Options of a stream.
#[derive(Clone)]
pub struct StreamOptions {
    /// Largest number of events in the queue.
    pub queue: usize,
    /// Rule for a full queue.
    pub overflow: Overflow,
    /// Pauses between attempts to connect again.
    pub backoff: Backoff,
    /// Most failed attempts in a row to connect again; `None` for no limit.
    pub reconnects: Option<u32>,
    /// How long the service may be silent before it is sent a ping; after as long again without an answer the
    /// connection counts as broken.
    pub ping_after: Duration,
    /// Folder to record the events in as raw dumps; `None` to record nothing.
    pub record: Option<PathBuf>,
    /// Whether to deliver trades and liquidations as columns, as many together as arrived together.
    pub batches: bool,
}

impl Default for StreamOptions {
    /// A queue of 10,000 events that blocks when full; reconnects after 2 s doubling to 60 s, without limit; pings
    /// after 20 s.
    fn default() -> Self {
        Self {
            queue: 10_000,
            overflow: Overflow::Wait,
            backoff: Backoff::default(),
            reconnects: None,
            ping_after: Duration::from_secs(20),
            record: None,
            batches: false,
        }
    }
}

/// Result of a connection's first attempt; `None` before it.
pub(super) type Standing = Option<Result<(), ClientError>>;

/// State shared by the stream and its connections.
pub(super) struct StreamShared {
    pub(super) client: Arc<ClientInner>,
    pub(super) options: StreamOptions,
    pub(super) queue: StreamQueue,
    pub(super) recorder: Option<Arc<Recorder>>,
    /// The series of the trades in batches.
    pub(super) table: SharedTable,
    pub(super) reconnects: AtomicU64,
    /// Number of connections that are broken at present.
    pub(super) broken: AtomicUsize,
}
