//! Pacing: one account per key and base address, first come first served, corrected by the answers' headers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::config::{BudgetScope, Config};
use super::error::{ClientError, ErrorKind};
use super::ledger::BudgetLedger;
use crate::budget::{Account, BudgetHeaders, LONGEST_PAUSE, Limits, Refusal, RequestOutcome};
use crate::clock::{RunningClock, SharedClock};
use crate::protocol::Weight;
use crate::protocol::tier::TIERS;

/// Longest pause between two looks at the line: a place in it is given up when nobody asks for it.
const LOOK: Duration = Duration::from_secs(1);

/// The pacers of a process.
#[derive(Clone, Default)]
pub struct Registry {
    pacers: Arc<Mutex<HashMap<String, Arc<Pacer>>>>,
}

impl Registry {
    /// The pacer of the client's key, base address and scope. Only a hash of them is kept.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] for an address of Redis that is none, and for a link in the place of the account's file.
    pub(super) fn pacer(&self, config: &Config, base: &str) -> Result<Arc<Pacer>, ClientError> {
        let hashed = |parts: &[&str]| hex::encode(&Sha256::digest(parts.join("\n"))[..16]);
        let account = hashed(&[config.api_key.expose_secret(), base]);
        let scope = match &config.budget {
            BudgetScope::Process => "process",
            BudgetScope::Machine => "machine",
            BudgetScope::Folder(folder) => &folder.to_string_lossy(),
            BudgetScope::Redis(address) => address.expose_secret(),
        };
        let mut pacers = self.pacers.lock().unwrap_or_else(PoisonError::into_inner);
        let pacer = match pacers.entry(hashed(&[&account, scope])) {
            std::collections::hash_map::Entry::Occupied(entry) => Arc::clone(entry.get()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let clock: SharedClock = Arc::new(RunningClock::wall());
                let ledger = BudgetLedger::new(&config.budget, &account, clock)?;
                Arc::clone(entry.insert(Arc::new(Pacer::new(ledger))))
            }
        };
        if let Some(tier) = config.tier {
            pacer.assume(tier.spec().into());
        }
        Ok(pacer)
    }
}

/// The budget as the local bucket sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetView {
    /// Weight per minute: a rate.
    pub limit: u32,
    /// Most weight that the bucket holds, and so most that is ever left.
    pub burst: Weight,
    /// Whole weight left, burst included.
    pub remaining: Weight,
    /// Weight spent in the last 60 seconds.
    pub used: Weight,
    /// Time until the bucket is full again; what time that is, only who knows the service's clock can tell.
    pub full_in: Duration,
}

/// The pace of one key at one base address.
pub(super) struct Pacer {
    ledger: Arc<BudgetLedger>,
    /// Held by whoever is first in line in this process; tokio's mutex hands it on in order of arrival.
    line: tokio::sync::Mutex<()>,
    pub(super) learnt: OnceCell<()>,
    /// Names of requests; those of different processes start at random.
    names: AtomicU64,
    /// Limits of the tier that a client was given.
    assumed: Mutex<Option<Limits>>,
}

/// Weight that was taken for a request under way. Dropped (a cancelled call, a broken connection) it stays spent.
pub(super) struct Permit {
    pacer: Arc<Pacer>,
    name: u64,
    weight: Weight,
    settled: bool,
}

/// How long a request may wait for budget.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Patience {
    /// `max_wait` of the client.
    pub max_wait: Option<Duration>,
    /// End of the whole call.
    pub deadline: Option<Instant>,
}

/// A place in the line of the account, given up when the call is cancelled.
struct InLine<'a> {
    pacer: &'a Pacer,
    name: u64,
    waits: bool,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        if self.waits {
            let name = self.name;
            self.pacer.ledger.update_later(move |account, _| account.leave(name));
        }
    }
}

impl Pacer {
    fn new(ledger: BudgetLedger) -> Self {
        Self {
            ledger: Arc::new(ledger),
            line: tokio::sync::Mutex::default(),
            learnt: OnceCell::new(),
            names: AtomicU64::new(fastrand::u64(..)),
            assumed: Mutex::default(),
        }
    }

    /// Whether no connection is needed to count the budget.
    pub(super) fn is_local(&self) -> bool {
        self.ledger.is_local()
    }

    /// Takes over the limits of a tier, until the service tells others.
    fn assume(&self, limits: Limits) {
        *self.assumed.lock().unwrap_or_else(PoisonError::into_inner) = Some(limits);
        self.ledger.update_now(|account, now| account.assume(limits, now));
    }

    /// Whether the limit is known.
    pub(super) fn knows_limits(&self) -> bool {
        self.burst().is_some()
    }

    /// Whether somebody else who shares the account knows the limit.
    pub(super) async fn hears_limits(&self) -> bool {
        self.ledger.update(|account, _| account.limits().is_some()).await
    }

    /// Capacity of the bucket, when it is known.
    pub(super) fn burst(&self) -> Option<Weight> {
        self.ledger.limits().map(|limits| limits.burst)
    }

    pub(super) fn view(&self) -> Option<BudgetView> {
        self.ledger.update_now(|account, now| {
            let bucket = account.bucket(now)?;
            let full_in = u64::try_from(bucket.full_at(now).since(now)).unwrap_or(0);
            Some(BudgetView {
                limit: bucket.limits().per_minute,
                burst: bucket.limits().burst,
                remaining: bucket.remaining(now),
                used: bucket.used(now),
                full_in: Duration::from_nanos(full_in),
            })
        })
    }

    /// Seconds until all of `weight` could have been taken, request by request; 0 while the limit is unknown.
    pub(super) fn eta(&self, weight: Weight) -> f64 {
        self.ledger.update_now(|account, now| account.eta(weight, now)).as_secs_f64()
    }

    /// Seconds until `weight` has refilled, whoever stands in line; 0 while the limit is unknown.
    pub(super) fn refill(&self, weight: Weight) -> f64 {
        let refill = |account: &mut Account, now| account.bucket(now).map(|bucket| bucket.refill(weight, now));
        self.ledger.update_now(refill).unwrap_or_default().as_secs_f64()
    }

    /// Waits in line until `weight` can be taken, and takes it. Weight 0 does not wait in line, only for a pause.
    ///
    /// # Errors
    /// [`ErrorKind::RateLimit`] when the weight is more than the bucket ever holds, when the daily cap is reached, or
    /// when the wait would be longer than the caller's patience.
    pub(super) async fn acquire(self: &Arc<Self>, weight: Weight, patience: Patience) -> Result<Permit, ClientError> {
        let start = Instant::now();
        let waiting = self.wait_and_take(weight, patience, start);
        // Others in line may take the whole time.
        let line_end = patience.max_wait.map(|most| start + most + Duration::from_millis(50));
        match line_end.into_iter().chain(patience.deadline).min() {
            None => waiting.await,
            Some(end) => match tokio::time::timeout_at(end, waiting).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    let wait = Duration::from_secs_f64(self.eta(weight)).max(Duration::from_millis(100));
                    Err(patience
                        .exceeded(weight, start, wait)
                        .unwrap_or_else(|| rate_limit("waited too long in line for budget".to_owned(), wait)))
                }
            },
        }
    }

    async fn wait_and_take(
        self: &Arc<Self>,
        weight: Weight,
        patience: Patience,
        start: Instant,
    ) -> Result<Permit, ClientError> {
        // What weighs nothing need not stand in line behind what does.
        let _first = if weight == Weight::ZERO { None } else { Some(self.line.lock().await) };
        let name = self.names.fetch_add(1, Ordering::Relaxed);
        let assumed = *self.assumed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = InLine { pacer: self, name, waits: false };
        loop {
            place.waits = true;
            let take = |account: &mut Account, now| {
                // Another process may have started the shared account without knowing a tier.
                if let Some(limits) = assumed {
                    account.assume(limits, now);
                }
                account.take(name, weight, now)
            };
            let taken = self.ledger.update(take).await;
            place.waits = taken.is_err() && weight > Weight::ZERO;
            let wait = match taken {
                Ok(()) => return Ok(Permit { pacer: Arc::clone(self), name, weight, settled: false }),
                Err(Refusal::Wait(wait)) => wait,
                Err(Refusal::TooHeavy) => {
                    place.waits = false;
                    return Err(too_heavy(weight, self.burst().unwrap_or_default()));
                }
                Err(Refusal::DailyCap(wait)) => {
                    place.waits = false;
                    let seconds = wait.as_secs_f64().ceil();
                    let message =
                        format!("the key's weight for today is spent; it starts anew at 00:00 UTC, in {seconds} s");
                    return Err(rate_limit(message, wait));
                }
            };
            if let Some(error) = patience.exceeded(weight, start, wait) {
                return Err(error);
            }
            tokio::time::sleep(wait.min(LOOK)).await;
        }
    }
}

impl Patience {
    /// What a wait that the service asks for is longer than, if anything: the caller's patience, or what any bucket needs
    /// to refill, so that only a day's weight can be spent.
    pub(super) fn too_long(self, wait: Duration) -> Option<String> {
        if wait > Duration::from_nanos(LONGEST_PAUSE as u64) {
            return Some("which is not the minute's budget: the key's weight for today is spent".to_owned());
        }
        if let Some(most) = self.max_wait.filter(|most| wait > *most) {
            return Some(format!("longer than max_wait={} s", most.as_secs_f64()));
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() + wait > deadline);
        late.then(|| "longer than total_timeout allows".to_owned())
    }

    /// The error of a wait that is longer than allowed.
    fn exceeded(self, weight: Weight, start: Instant, wait: Duration) -> Option<ClientError> {
        let now = Instant::now();
        let whole = (now - start + wait).as_secs_f64();
        let bound = if let Some(most) = self.max_wait.filter(|most| now - start + wait > *most) {
            format!("max_wait={} s", most.as_secs_f64())
        } else if self.deadline.is_some_and(|deadline| now + wait > deadline) {
            "total_timeout allows".to_owned()
        } else {
            return None;
        };
        Some(rate_limit(
            format!(
                "the budget allows weight {weight} in {whole:.1} s, longer than {bound}; wait, ask less, or allow more"
            ),
            wait,
        ))
    }
}

impl Permit {
    /// The service answered and charged.
    pub(super) async fn answered(self, headers: BudgetHeaders) {
        self.settle(RequestOutcome::Answered(headers)).await;
    }

    /// The service refused with 429: nothing was charged, and nobody sends before `wait` is over.
    pub(super) async fn refused(self, headers: BudgetHeaders, wait: Option<Duration>) {
        self.settle(RequestOutcome::Refused { headers, wait }).await;
    }

    /// The request surely did not reach the service.
    pub(super) async fn not_sent(self) {
        self.settle(RequestOutcome::NotSent).await;
    }

    /// It may have been charged: it stays spent.
    pub(super) async fn unknown(self) {
        self.settle(RequestOutcome::Unknown).await;
    }

    async fn settle(mut self, outcome: RequestOutcome) {
        let (name, weight) = (self.name, self.weight);
        self.pacer.ledger.update(|account, now| account.settle(name, weight, outcome, now)).await;
        self.settled = true;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.settled {
            let (name, weight) = (self.name, self.weight);
            self.pacer
                .ledger
                .update_later(move |account, now| account.settle(name, weight, RequestOutcome::Unknown, now));
        }
    }
}

/// The refusal of a weight that never fits.
pub(super) fn too_heavy(weight: Weight, burst: Weight) -> ClientError {
    let tier = TIERS.iter().find(|tier| tier.burst() >= weight);
    let tier = tier.map_or_else(String::new, |tier| {
        format!(", or use the tier {}, whose bucket holds {}", tier.name, tier.burst())
    });
    let message = format!("weight {weight} never fits: the bucket holds at most {burst}; ask less{tier}");
    ClientError::new(ErrorKind::RateLimit, message)
}

fn rate_limit(message: String, wait: Duration) -> ClientError {
    ClientError { retry_after: Some(wait.as_secs_f64()), ..ClientError::new(ErrorKind::RateLimit, message) }
}

#[cfg(test)]
mod tests;
