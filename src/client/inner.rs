//! A client: connections, budget and settings.

use std::sync::Arc;
use std::time::Instant;

use super::config::{Config, Jitter, Now};
use super::error::ClientError;
use super::list_cache::ListCaches;
use super::pace::{BudgetView, PacerShare, Registry};
use super::retry::Policy;
use super::transport::Transport;

use crate::archive::points::Archive;
use crate::clock::UnixNanos;
use crate::decode::Kernel;
use crate::protocol::Tier;

/// A client for one key at one base address. Cloning shares connections and budget.
#[derive(Clone)]
pub struct Client {
    pub(super) inner: Arc<ClientInner>,
}

/// State that a client shares with its clones.
pub(super) struct ClientInner {
    pub(super) transport: Transport,
    pub(super) pacer: PacerShare,
    pub(super) policy: Policy,
    pub(super) tier: Option<Tier>,
    pub(super) max_wait: Option<std::time::Duration>,
    pub(super) total_timeout: Option<std::time::Duration>,
    pub(super) jitter: Jitter,
    pub(super) max_memory: Option<u64>,
    pub(super) archive: Option<Archive>,
    /// Name of the service in an archive.
    pub(super) source: String,
    pub(super) listings: ListCaches,
    pub(super) check_symbols: bool,
    pub(super) any_block_size: bool,
    clock: Option<Now>,
}

impl ClientInner {
    /// A clock for the answers of a call that began at `now`: the client's clock, else `now` continued.
    pub(super) fn answer_clock(&self, now: UnixNanos) -> impl Fn() -> UnixNanos + Send + Sync + '_ {
        let began = Instant::now();
        move || {
            let time = self.clock.as_ref().and_then(|clock| clock());
            time.unwrap_or_else(|| now.plus(i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX)))
        }
    }
}

impl Client {
    /// Makes a client. Nothing is sent. Clients with the same key, base URL and `registry` share one bucket.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for a key that is not a valid header value, a base URL that is not http(s),
    /// certificates that cannot be read, or an environment variable that names no kernel of the decoder.
    pub fn new(config: &Config, registry: &Registry) -> Result<Self, ClientError> {
        // Not when an answer is decoded, which was paid for.
        Kernel::active().map_err(ClientError::invalid)?;
        let transport = Transport::new(config)?;
        let pacer = registry.pacer(config, transport.base())?;
        let policy = Policy { retries: config.retries, first_pause: config.first_pause };
        let source = config.source.clone().unwrap_or_else(|| transport.base().to_owned());
        let inner = ClientInner {
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
            listings: ListCaches::default(),
            check_symbols: config.check_symbols,
            any_block_size: config.any_block_size,
            clock: config.clock.clone(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether calls read through an archive, which may be remote.
    pub fn has_archive(&self) -> bool {
        self.inner.archive.is_some()
    }

    /// The budget as the local bucket sees it; `None` until the limit is known from a tier or an answer.
    pub fn budget(&self) -> Option<BudgetView> {
        self.inner.pacer.view()
    }

    /// The service's current time, extrapolated from the `Date` of its latest answer; `None` before the first.
    pub fn service_time(&self) -> Option<UnixNanos> {
        self.inner.transport.service_time()
    }
}
