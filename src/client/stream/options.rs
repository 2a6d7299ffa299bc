//! How a stream is kept up, and what its connections share.

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

/// How a stream is kept up.
#[derive(Clone)]
pub struct StreamOptions {
    /// Most events that wait to be taken.
    pub queue: usize,
    /// What happens when so many wait.
    pub overflow: Overflow,
    /// Pauses between attempts to connect again.
    pub backoff: Backoff,
    /// Most attempts in a row to connect again; `None` is without end.
    pub reconnects: Option<u32>,
    /// Silence of the service after which it is sent a ping; after as much again without an answer the connection counts
    /// as dead.
    pub ping_after: Duration,
    /// Folder in which the events are kept as raw dumps; `None` keeps none.
    pub record: Option<PathBuf>,
    /// Whether trades and liquidations are handed out as columns: as many together as came together.
    pub batches: bool,
}

impl Default for StreamOptions {
    /// 10,000 events, waiting; 2 s doubling to 60 s without end; a ping after 20 s.
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

/// Whether a connection has stood yet: nothing known, or how the first attempt went.
pub(super) type Standing = Option<Result<(), ClientError>>;

/// What the stream and its connections share.
pub(super) struct StreamShared {
    pub(super) client: Arc<ClientInner>,
    pub(super) options: StreamOptions,
    pub(super) queue: StreamQueue,
    pub(super) recorder: Option<Arc<Recorder>>,
    /// What the trades of batches are of.
    pub(super) table: SharedTable,
    pub(super) reconnects: AtomicU64,
    /// Connections that broke and do not stand again yet.
    pub(super) broken: AtomicUsize,
}
