//! Configuration of a service: source, clock, address and keys.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::limits::{ConnectionLimits, StreamLimits};
use super::log::AccessLog;
use crate::budget::Limits;
use crate::clock::SharedClock;
use crate::market::Market;
use crate::protocol::Tier;

/// Rate of the key `unlimited`: higher than any load test reaches, and small enough for every parser of the headers.
const UNLIMITED_PER_MINUTE: u32 = 10_u32.pow(9);

/// Stream channels of the key `unlimited`: bounded, because each takes memory.
const UNLIMITED_STREAMS: u32 = 1_000;

/// Default number of requests in the journal: about 4 MB.
const KEPT_REQUESTS: usize = 10_000;

/// Allowance of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// The limits and features of a tier (section 8.1).
    Tier(Tier),
    /// Every feature, no history wall, no daily cap and 1,000,000,000 weight a minute: for load tests, local only. The
    /// maximum points of the data types still apply.
    Unlimited,
}

impl Allowance {
    /// The tier whose features it has.
    pub fn tier(self) -> Tier {
        match self {
            Self::Tier(tier) => tier,
            Self::Unlimited => Tier::Advanced,
        }
    }

    /// Refill rate and capacity of its bucket.
    pub fn limits(self) -> Limits {
        match self {
            Self::Tier(tier) => tier.spec().into(),
            Self::Unlimited => Limits::of_rate(UNLIMITED_PER_MINUTE),
        }
    }

    /// How many days back a window may start; `None` is any number.
    pub fn history_days(self) -> Option<u32> {
        match self {
            Self::Tier(tier) => Some(tier.spec().history_days),
            Self::Unlimited => None,
        }
    }

    /// Channels of the live stream that may be open at a time (section 6).
    pub fn streams(self) -> u32 {
        match self {
            Self::Tier(tier) => tier.spec().streams,
            Self::Unlimited => UNLIMITED_STREAMS,
        }
    }

    /// Its name: a tier's, or `unlimited`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tier(tier) => tier.spec().name,
            Self::Unlimited => "unlimited",
        }
    }
}

/// How a key is stored.
#[derive(Debug, Clone)]
pub enum KeySecret {
    /// The key.
    Known(SecretString),
    /// Its SHA-256. [`super::RunningService::keys`] leaves such a key out.
    Hashed([u8; 32]),
}

impl KeySecret {
    /// SHA-256 of the key.
    pub(super) fn digest(&self) -> [u8; 32] {
        match self {
            Self::Known(key) => digest(key.expose_secret().as_bytes()),
            Self::Hashed(digest) => *digest,
        }
    }
}

impl From<String> for KeySecret {
    fn from(key: String) -> Self {
        Self::Known(key.into())
    }
}

/// SHA-256 of a presented key.
pub(super) fn digest(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// A key that the service accepts. Each has its own budget.
#[derive(Debug, Clone)]
pub struct KeyEntry {
    /// Name under which [`super::RunningService::keys`] lists it.
    pub name: String,
    /// The key or its hash.
    pub key: KeySecret,
    /// Its allowance.
    pub allowance: Allowance,
}

/// Configuration of a service.
#[derive(Clone)]
pub struct ServiceConfig {
    /// Answers the queries.
    pub source: Arc<Market>,
    /// The service's time, used for history depth, forming buckets and budgets.
    pub clock: SharedClock,
    /// Address to bind. On a loopback address, requests whose `Host` is another machine are refused.
    pub host: IpAddr,
    /// Port to bind; 0 takes a free one.
    pub port: u16,
    /// The keys; if empty, random ones for each tier and `unlimited`.
    pub keys: Vec<KeyEntry>,
    /// How long computing an answer may take before it becomes a 504 (supplement 6).
    pub answer_within: Duration,
    /// Called with a record of each request; `None` logs nothing. Requests with a malformed head are not logged.
    pub access_log: Option<AccessLog>,
    /// How many of the last requests [`super::RunningService::journal`] keeps.
    pub kept_requests: usize,
    /// Limits against slow, silent and greedy peers.
    pub limits: ConnectionLimits,
    /// Timeouts of the live stream.
    pub stream: StreamLimits,
}

impl ServiceConfig {
    /// A service on a free port of 127.0.0.1 with random keys, a timeout of 30 s and a journal of 10,000 requests.
    pub fn new(source: Arc<Market>, clock: SharedClock) -> Self {
        Self {
            source,
            clock,
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            keys: Vec::new(),
            answer_within: Duration::from_secs(30),
            access_log: None,
            kept_requests: KEPT_REQUESTS,
            limits: ConnectionLimits::default(),
            stream: StreamLimits::default(),
        }
    }
}
