//! What a client is made from.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::archive::points::Archive;
use crate::protocol::Tier;

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
    /// Attempts after the first.
    pub retries: u32,
    /// First step of the back-off between attempts; each further one doubles it, up to 30 s.
    pub first_pause: Duration,
    /// Longest that a call may wait for budget; `None` waits as long as it takes.
    pub max_wait: Option<Duration>,
    /// Proxy for every request; without it the usual environment variables hold, except for loopback addresses.
    pub proxy: Option<String>,
    /// PEM file with further trusted certificates.
    pub ca_certs: Option<PathBuf>,
    /// Archive to read through: closed buckets come from it where it has them, and go into it where it has not.
    pub archive: Option<Archive>,
    /// Name under which an archive knows the service; the base address where there is none.
    pub source: Option<String>,
}

impl Config {
    /// Settings with the defaults of the design: 30 s an attempt, 5 retries.
    pub fn new(api_key: impl Into<SecretString>, base_url: impl Into<String>) -> Self {
        Self {
            api_key: api_key.into(),
            base_url: base_url.into(),
            tier: None,
            timeout: Duration::from_secs(30),
            retries: 5,
            first_pause: Duration::from_millis(500),
            max_wait: None,
            proxy: None,
            ca_certs: None,
            archive: None,
            source: None,
        }
    }
}
