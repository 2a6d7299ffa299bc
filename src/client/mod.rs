//! The client: knows the exact cost of a call before it sends, paces itself by the shared bucket, retries what may be
//! retried, and never takes a part for the whole. Async; the bindings add the blocking face.

mod analytics;
mod archived;
mod calls;
mod config;
mod dialect;
mod discovery;
mod error;
mod fetch;
mod keeping;
mod ledger;
mod listing;
pub mod log;
mod pace;
mod parts;
mod points;
mod reading;
mod request;
mod retry;
mod rules;
mod run;
mod several;
mod stream;
mod tiers;
mod transport;
mod unpack;

pub use archived::{Checked, Synced, read_archive};
pub use calls::{Each, call_failure, first_kept, read_archive_all};
pub use config::{BudgetScope, Config, Jitter};
pub use dialect::read_dialect;
pub use error::{ClientError, ErrorKind, Partial, Place};
pub use listing::Listed;
pub use pace::{BudgetView, Registry};
pub use points::{Plan, PlannedRequest};
pub use request::{PointsArguments, PointsRequest};
pub use run::{HowFar, Progress};
pub use several::{PointsRequests, Subjects};
pub use stream::{
    Backoff, Event, EventStream, Gap, Overflow, Pause, StreamItem, StreamOptions, StreamState, Taken, nanoseconds,
};
pub use tiers::TierWait;

use std::sync::Arc;

use listing::Listings;
use pace::Pacer;
use retry::Policy;
use transport::Transport;

use crate::archive::points::Archive;
use crate::protocol::Tier;

/// A client for one key at one base address. Cloning shares connections and budget.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    transport: Transport,
    pacer: Arc<Pacer>,
    policy: Policy,
    tier: Option<Tier>,
    max_wait: Option<std::time::Duration>,
    total_timeout: Option<std::time::Duration>,
    jitter: Jitter,
    max_memory: Option<u64>,
    archive: Option<Archive>,
    /// Name under which an archive knows the service.
    source: String,
    listings: Listings,
    check_symbols: bool,
    any_block_size: bool,
}

impl Client {
    /// Makes a client. Nothing is sent. Clients of one key and base address that take the same `registry` share one
    /// bucket.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] for a key that no header can carry, a base address that is no http(s) URL, or
    /// certificates that cannot be read.
    pub fn new(config: &Config, registry: &Registry) -> Result<Self, ClientError> {
        let transport = Transport::new(config)?;
        let pacer = registry.pacer(config, transport.base())?;
        let policy = Policy { retries: config.retries, first_pause: config.first_pause };
        let source = config.source.clone().unwrap_or_else(|| transport.base().to_owned());
        let inner = Inner {
            transport,
            pacer,
            policy,
            tier: config.tier,
            max_wait: config.max_wait,
            max_memory: config.max_memory,
            total_timeout: config.total_timeout,
            jitter: Arc::clone(&config.jitter),
            archive: config.archive.clone(),
            source,
            listings: Listings::default(),
            check_symbols: config.check_symbols,
            any_block_size: config.any_block_size,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The budget as the local bucket sees it; `None` until a tier or an answer told the limit.
    pub fn budget(&self) -> Option<BudgetView> {
        self.inner.pacer.view()
    }

    /// What the service's clock says now, Unix seconds, going by the `Date` of its latest answer; `None` before the first.
    pub fn service_time(&self) -> Option<f64> {
        self.inner.transport.service_time()
    }
}
