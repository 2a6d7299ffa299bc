//! What a client is made from.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::error::ClientError;
use crate::archive::points::Archive;
use crate::clock::UnixNanos;
use crate::protocol::{Dialect, Tier};

/// Who shares the budget of a key.
#[derive(Debug, Clone, Default)]
pub enum BudgetScope {
    /// The clients of one [`super::Registry`].
    #[default]
    Process,
    /// All processes of this user on this machine, by a file in the user's cache folder.
    Machine,
    /// All processes that name this folder, by a file in it: containers of one machine that share a volume.
    Folder(PathBuf),
    /// Everybody who names the same Redis, by its address such as `redis://host:6379/0`.
    Redis(SecretString),
}

impl BudgetScope {
    /// Reads `process`, `machine`, an absolute path, or the address of a Redis.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for anything else. It is not shown: it may hold a password.
    pub fn parse(text: &str) -> Result<Self, ClientError> {
        match text {
            "process" => Ok(Self::Process),
            "machine" => Ok(Self::Machine),
            _ if ["redis://", "rediss://", "redis+unix://", "unix://"]
                .iter()
                .any(|scheme| text.starts_with(scheme)) =>
            {
                Ok(Self::Redis(text.into()))
            }
            _ if Path::new(text).is_absolute() => Ok(Self::Folder(text.into())),
            _ => Err(ClientError::invalid(
                "budget is none of \"process\", \"machine\", the absolute path of a folder, and the address of a Redis \
                 such as redis://host:6379/0",
            )),
        }
    }
}

/// Random numbers in 0 ..= 1 that spread the pauses between attempts.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// The client's clock; `None` when it does not tell.
pub type Now = Arc<dyn Fn() -> Option<UnixNanos> + Send + Sync>;

/// Settings of a client.
pub struct Config {
    /// API key (section 5).
    pub api_key: SecretString,
    /// Base address, such as `https://host`; a path in front of `/v1` is kept.
    pub base_url: String,
    /// The key's tier; without it the limit is learnt from `/v1/usage` and the answers' headers.
    pub tier: Option<Tier>,
    /// Time that one attempt may take, from connecting to the last byte.
    pub timeout: Duration,
    /// Time that may pass within a body without a byte.
    pub read_timeout: Duration,
    /// Time that a request may take over all its attempts, waits for budget and pauses included; `None` is bounded by
    /// the rest alone.
    pub total_timeout: Option<Duration>,
    /// Largest body that is read, decompressed, in bytes.
    pub max_body: u64,
    /// Most bytes that the columns of one answer may take in memory; `None` is what was asked can need, with room to spare.
    pub max_memory: Option<u64>,
    /// Attempts after the first.
    pub retries: u32,
    /// First step of the back-off between attempts; each further one doubles it, up to 30 s.
    pub first_pause: Duration,
    /// Where the pauses' random numbers come from.
    pub jitter: Jitter,
    /// Longest that a call may wait for budget; `None` waits as long as it takes.
    pub max_wait: Option<Duration>,
    /// Who shares the key's budget.
    pub budget: BudgetScope,
    /// Proxy for every request; without it the usual environment variables hold, except for loopback addresses.
    pub proxy: Option<String>,
    /// PEM file with further trusted certificates.
    pub ca_certs: Option<PathBuf>,
    /// Archive to read through: closed buckets come from it where it has them, and go into it where it has not.
    pub archive: Option<Archive>,
    /// Name under which an archive knows the service; the base address where there is none.
    pub source: Option<String>,
    /// Names that the service publishes instead of the specification's. Its base address is not looked at.
    pub dialect: Dialect,
    /// Whether symbols and coins are looked up in the service's lists ([`super::Client::look_up`]).
    pub check_symbols: bool,
    /// Whether block sizes that are no multiple of the recommended one are asked all the same (supplement 9).
    pub any_block_size: bool,
    /// Tells when answers came, which an archive notes; without one the time that a call began at runs on.
    pub clock: Option<Now>,
}

impl Config {
    /// Settings with the defaults of the design: 30 s an attempt, 5 retries.
    pub fn new(api_key: impl Into<SecretString>, base_url: impl Into<String>) -> Self {
        Self {
            api_key: api_key.into(),
            base_url: base_url.into(),
            tier: None,
            timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(15),
            total_timeout: None,
            max_body: 1 << 30,
            max_memory: None,
            retries: 5,
            first_pause: Duration::from_millis(500),
            jitter: Arc::new(fastrand::f64),
            max_wait: None,
            budget: BudgetScope::Process,
            proxy: None,
            ca_certs: None,
            archive: None,
            source: None,
            dialect: Dialect::default(),
            check_symbols: true,
            any_block_size: false,
            clock: None,
        }
    }
}
