//! Keys and their budgets: who sent a request, what it is charged, the rate-limit headers (service.md 5, 8.1 and 8.5).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::config::{Allowance, KeyEntry, KeySecret, digest};
use super::error::ServiceError;
use crate::budget::{Bucket, Refusal};
use crate::clock::{SharedClock, UnixNanos};
use crate::protocol::tier::TIERS;
use crate::protocol::wire::WINDOW_SECONDS;
use crate::protocol::{ErrorBody, Usage, Weight};

/// Random bytes of a generated key.
const KEY_BYTES: usize = 16;

/// A key's holder: what it may do and what it has spent.
pub(super) struct Access {
    pub(super) name: String,
    key: KeySecret,
    digest: [u8; 32],
    pub(super) allowance: Allowance,
    bucket: Mutex<Bucket>,
    /// One permit for each channel of the live stream that may be open at a time.
    pub(super) streams: Arc<Semaphore>,
    clock: SharedClock,
}

/// Every key of a service.
pub(super) struct KeyRing {
    holders: Vec<Arc<Access>>,
    /// The known keys, raw and percent-encoded, longest first: one key may be a prefix of another.
    spellings: Vec<String>,
    /// Whether only the hash is known of some keys.
    hashed: bool,
}

impl KeyRing {
    /// The given keys, or random ones for every tier and `unlimited` if none are given.
    pub(super) fn new(given: Vec<KeyEntry>, clock: &SharedClock) -> Result<Self, ServiceError> {
        let entries = if given.is_empty() { generated()? } else { given };
        for (index, entry) in entries.iter().enumerate() {
            if entry.key.digest() == digest(b"") {
                return Err(ServiceError::Keys(format!("the key named {:?} is empty", entry.name)));
            }
            for other in &entries[..index] {
                if other.name == entry.name {
                    return Err(ServiceError::Keys(format!("two keys are named {:?}", entry.name)));
                }
                if other.key.digest() == entry.key.digest() {
                    let problem = format!("{:?} and {:?} are the same key", other.name, entry.name);
                    return Err(ServiceError::Keys(problem));
                }
            }
        }
        let access = |entry: KeyEntry| {
            Arc::new(Access {
                bucket: Mutex::new(Bucket::new(entry.allowance.limits(), clock.now())),
                streams: Arc::new(Semaphore::new(entry.allowance.streams() as usize)),
                name: entry.name,
                digest: entry.key.digest(),
                key: entry.key,
                allowance: entry.allowance,
                clock: Arc::clone(clock),
            })
        };
        let holders: Vec<_> = entries.into_iter().map(access).collect();
        let spelt = |key: &str| {
            let encoded: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
            [key.to_owned(), encoded.replace('+', "%20"), encoded]
        };
        let mut spellings: Vec<String> = holders.iter().filter_map(|access| access.known()).flat_map(spelt).collect();
        spellings.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        spellings.dedup();
        let hashed = holders.iter().any(|access| access.known().is_none());
        Ok(Self { holders, spellings, hashed })
    }

    /// The holder of a key. Full hashes are compared, so that the time it takes reveals nothing about the keys.
    pub(super) fn find(&self, presented: &[u8]) -> Option<Arc<Access>> {
        let presented = digest(presented);
        let mut found = None;
        for access in &self.holders {
            if bool::from(access.digest.ct_eq(&presented)) {
                found = Some(Arc::clone(access));
            }
        }
        found
    }

    /// The text with every key of the service replaced, except keys of which only the hash is known.
    pub(super) fn hide(&self, text: &str, instead: &str) -> String {
        let hidden = |text: String, spelling: &String| {
            if text.contains(spelling) { text.replace(spelling, instead) } else { text }
        };
        self.spellings.iter().fold(text.to_owned(), hidden)
    }

    /// Whether a word contains a known key, or is a key of which only the hash is known.
    pub(super) fn is_in(&self, word: &str) -> bool {
        self.spellings.iter().any(|spelling| word.contains(spelling))
            || self.hashed && self.find(word.as_bytes()).is_some()
    }

    /// Allowances of the keys by their names.
    pub(super) fn plans(&self) -> BTreeMap<String, Allowance> {
        self.holders.iter().map(|access| (access.name.clone(), access.allowance)).collect()
    }

    /// The keys by name, for the service's owner. Keys of which only the hash is known are left out.
    pub(super) fn exposed(&self) -> BTreeMap<String, String> {
        self.holders.iter().filter_map(|access| Some((access.name.clone(), access.known()?.to_owned()))).collect()
    }
}

fn generated() -> Result<Vec<KeyEntry>, ServiceError> {
    let tiers = TIERS.iter().map(|row| Allowance::Tier(row.tier));
    tiers
        .chain([Allowance::Unlimited])
        .map(|allowance| {
            let mut random = [0; KEY_BYTES];
            getrandom::fill(&mut random).map_err(|error| ServiceError::Keys(format!("no random source: {error}")))?;
            let key = format!("mp-local-{}-{}", allowance.name(), hex::encode(random));
            Ok(KeyEntry { name: allowance.name().to_owned(), key: key.into(), allowance })
        })
        .collect()
}

impl Access {
    fn known(&self) -> Option<&str> {
        match &self.key {
            KeySecret::Known(key) => Some(key.expose_secret()),
            KeySecret::Hashed(_) => None,
        }
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current budget; see [`Self::usage_at`].
    pub(super) fn usage(&self) -> Usage {
        let bucket = self.bucket();
        let now = self.clock.now(); // read under the lock, so that the bucket never sees time go back
        Self::usage_at(bucket, now)
    }

    /// The budget as the headers and `/v1/usage` report it: tokens left (burst included) rounded down, weight spent in
    /// the last 60 s, and the Unix second at which the bucket is full again (rounded up; the current second when it is
    /// full).
    fn usage_at(mut bucket: MutexGuard<'_, Bucket>, now: UnixNanos) -> Usage {
        let full_at = bucket.full_at(now);
        let reset = if full_at <= now { now.second() } else { full_at.ceil_second() };
        Usage {
            limit: i64::from(bucket.limits().per_minute),
            remaining: bucket.remaining(now).0 as i64,
            used: bucket.used(now).0 as i64,
            reset: reset.0,
            window_seconds: i64::from(WINDOW_SECONDS),
        }
    }

    /// Charges a request's weight, or returns the error body: 429 with the seconds after which the same request passes,
    /// or 403 for a request that never can. The error carries the budget it was decided on, because the budget may have
    /// changed by the time the headers are written.
    pub(super) fn charge(self: &Arc<Self>, weight: Weight) -> Result<Charge, Uncharged> {
        let mut bucket = self.bucket();
        let now = self.clock.now();
        let limits = bucket.limits();
        let refused = match bucket.try_take(weight, now) {
            Ok(()) => return Ok(Charge { access: Arc::clone(self), weight, taken: now, state: AtomicU8::new(OPEN) }),
            Err(refused) => refused,
        };
        let error = match refused {
            Refusal::TooHeavy => ErrorBody::forbidden(format!(
                "the request weighs {weight}, more than the {} that the plan {} can ever hold; ask for a shorter window, \
                 fewer exchanges or less depth",
                limits.burst,
                self.allowance.name(),
            )),
            Refusal::Wait(wait) => {
                let seconds = whole_seconds(wait);
                let message = format!(
                    "the request weighs {weight} and {} are left; {} refill per minute: try again in {seconds} s",
                    bucket.remaining(now),
                    limits.per_minute,
                );
                ErrorBody::rate_limited(message, seconds)
            }
            Refusal::DailyCap(until_midnight) => {
                // Right after midnight the bucket itself may still be too empty.
                let midnight = now.plus(until_midnight.as_nanos() as i64);
                let refill = bucket.clone().wait(weight, midnight).unwrap_or_default();
                let seconds = whole_seconds(until_midnight.saturating_add(refill));
                let message = format!(
                    "the daily cap of {} weight of the plan {} is reached; it resets at 00:00 UTC: try again in \
                     {seconds} s",
                    limits.per_day.unwrap_or_default(),
                    self.allowance.name(),
                );
                ErrorBody::rate_limited(message, seconds)
            }
        };
        Err(Uncharged { error, usage: Self::usage_at(bucket, now) })
    }
}

/// A request that was not charged: why, and the budget at that moment.
pub(super) struct Uncharged {
    pub(super) error: ErrorBody,
    pub(super) usage: Usage,
}

/// Weight charged for a request in progress. It is refunded at most once: on an error, or when it is dropped without an
/// answer.
pub(super) struct Charge {
    access: Arc<Access>,
    weight: Weight,
    /// When it was charged, Unix nanoseconds.
    taken: UnixNanos,
    state: AtomicU8,
}

/// States of a [`Charge`].
const OPEN: u8 = 0;
const KEPT: u8 = 1;
const RETURNED: u8 = 2;

impl Charge {
    /// The answer was made: its weight stays spent, unless it was refunded before.
    pub(super) fn keep(&self) {
        let _ = self.state.compare_exchange(OPEN, KEPT, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// The caller gets an error, whether or not an answer was made: the weight is refunded.
    pub(super) fn refund(&self) {
        if self.state.swap(RETURNED, Ordering::SeqCst) != RETURNED {
            let mut bucket = self.access.bucket();
            bucket.refund_of(self.weight, self.taken, self.access.clock.now());
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if *self.state.get_mut() == OPEN {
            self.refund();
        }
    }
}

/// Rounded up, so that waiting that long is enough; at least 1.
fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}
