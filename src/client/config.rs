//! Configuration of a client.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::error::ClientError;
use crate::archive::chance;
use crate::archive::points::Archive;
use crate::clock::UnixNanos;
use crate::protocol::{Dialect, Tier};

/// Processes that share the budget of a key.
#[derive(Debug, Clone, Default)]
pub enum BudgetScope {
    /// The clients of one [`super::Registry`].
    #[default]
    Process,
    /// All processes of this user on this machine, through a file in the user's cache folder.
    Machine,
    /// All processes that use this folder, through a file in it, such as containers that share a volume.
    Folder(PathBuf),
    /// All processes that use the same Redis, such as `redis://host:6379/0`.
    Redis(SecretString),
}

impl BudgetScope {
    /// Parses `process`, `machine`, an absolute path, or the address of a Redis.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for anything else. The value is not shown, because it may hold a password.
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

/// Random numbers in 0 ..= 1 for the jitter of the pauses between attempts.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// The client's clock; `None` if it has no time now.
pub type Now = Arc<dyn Fn() -> Option<UnixNanos> + Send + Sync>;

/// Settings of a client.
pub struct Config {
    /// API key (section 5).
    pub api_key: SecretString,
    /// Base URL, such as `https://host`; a path before `/v1` is kept.
    pub base_url: String,
    /// The key's tier; without it the limits are read from `/v1/usage` and the answers' headers.
    pub tier: Option<Tier>,
    /// Timeout of one attempt, from connecting to the last byte.
    pub timeout: Duration,
    /// Timeout between two bytes of a body.
    pub read_timeout: Duration,
    /// Timeout of a request over all its attempts, including waits for budget and pauses; `None` for no limit beyond
    /// the others.
    pub total_timeout: Option<Duration>,
    /// Largest body that is read, in bytes after decompression.
    pub max_body: u64,
    /// Most bytes that the columns of one answer may take in memory; by default an upper estimate from the query.
    pub max_memory: Option<u64>,
    /// Attempts after the first.
    pub retries: u32,
    /// First step of the backoff between attempts; each further one doubles it, up to 30 s.
    pub first_pause: Duration,
    /// Source of random numbers for the pauses.
    pub jitter: Jitter,
    /// Longest that a call may wait for budget; `None` for no limit.
    pub max_wait: Option<Duration>,
    /// Processes that share the key's budget.
    pub budget: BudgetScope,
    /// Proxy for every request; by default the usual environment variables apply, except for loopback addresses.
    pub proxy: Option<String>,
    /// PEM file with additional trusted certificates.
    pub ca_certs: Option<PathBuf>,
    /// Archive to read through: closed buckets are read from it if they are there, and written to it if not.
    pub archive: Option<Archive>,
    /// Name of the service in an archive; by default the base URL.
    pub source: Option<String>,
    /// Published names that replace the specification's. The base URL in it is ignored.
    pub dialect: Dialect,
    /// Whether to look up symbols and coins in the service's lists ([`super::Client::look_up`]).
    pub check_symbols: bool,
    /// Whether to allow block sizes that are not a multiple of the recommended one (supplement 9).
    pub any_block_size: bool,
    /// Clock for the archive's times of answers; by default the time that a call started at, continued.
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
            jitter: Arc::new(chance),
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
