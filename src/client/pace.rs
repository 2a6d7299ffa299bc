//! Pacing: one account per key and base URL, first come first served, corrected by the answers' headers.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::config::{BudgetScope, Config};
use super::error::{ClientError, ErrorKind};
use super::ledger::BudgetLedger;
use super::log;
use crate::budget::{Account, BudgetHeaders, LONGEST_PAUSE, Limits, Refusal, RequestOutcome};
use crate::clock::{RunningClock, SharedClock};
use crate::protocol::Weight;
use crate::protocol::tier::TIERS;

/// Longest pause between two checks of the queue: a place in it expires if it is not renewed.
const LOOK: Duration = Duration::from_secs(1);

/// The pacers of a process.
#[derive(Clone, Default)]
pub struct Registry {
    pacers: Arc<Mutex<HashMap<String, Arc<Pacer>>>>,
}

impl Registry {
    /// The pacer for the client's key, base URL and scope, which are stored only as a hash.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] for an invalid Redis address, and for a link at the path of the account's file.
    pub(super) fn pacer(&self, config: &Config, base: &str) -> Result<PacerShare, ClientError> {
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
        Ok(PacerShare::new(pacer))
    }
}

/// A client's share of its pacer. When the last client is gone, the account's file is closed; the account stays.
pub(super) struct PacerShare(Arc<Pacer>);

impl PacerShare {
    fn new(pacer: Arc<Pacer>) -> Self {
        pacer.clients.fetch_add(1, Ordering::SeqCst);
        Self(pacer)
    }
}

impl Deref for PacerShare {
    type Target = Arc<Pacer>;

    fn deref(&self) -> &Arc<Pacer> {
        &self.0
    }
}

impl Drop for PacerShare {
    fn drop(&mut self) {
        if self.clients.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.ledger.close();
        }
    }
}

/// The budget as the local bucket sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetView {
    /// Refill rate: weight per minute.
    pub limit: u32,
    /// Capacity: the most weight that can ever be left.
    pub burst: Weight,
    /// Weight left, burst included, rounded down.
    pub remaining: Weight,
    /// Weight spent in the last 60 seconds.
    pub used: Weight,
    /// Time until the bucket is full again, as a duration: an absolute time would need the service's clock.
    pub full_in: Duration,
}

/// Paces one key at one base URL.
pub(super) struct Pacer {
    ledger: Arc<BudgetLedger>,
    /// Held by the first request in the queue of this process; tokio's mutex is first come, first served.
    line: tokio::sync::Mutex<()>,
    pub(super) learnt: OnceCell<()>,
    /// Ids of requests; different processes start at random numbers.
    names: AtomicU64,
    /// The limits of the tier that the client was given.
    assumed: Mutex<Option<Limits>>,
    /// How many clients there are.
    clients: AtomicUsize,
}

/// Weight taken for a request in flight. If it is dropped (a cancelled call, a broken connection), the weight stays
/// spent.
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
    /// Deadline of the whole call.
    pub deadline: Option<Instant>,
}

/// A place in the account's queue, given up when the call is cancelled.
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
            // From the operating system: a generator in the process would give forked children the same numbers.
            names: AtomicU64::new(getrandom::u64().unwrap_or_else(|_| fastrand::u64(..))),
            assumed: Mutex::default(),
            clients: AtomicUsize::new(0),
        }
    }

    /// Whether no connection is needed to count the budget.
    pub(super) fn is_local(&self) -> bool {
        self.ledger.is_local()
    }

    /// Uses the limits of a tier until the service reports others.
    fn assume(&self, limits: Limits) {
        *self.assumed.lock().unwrap_or_else(PoisonError::into_inner) = Some(limits);
        self.ledger.update_now(|account, now| account.assume(limits, now));
    }

    /// Whether the limit is known.
    pub(super) fn knows_limits(&self) -> bool {
        self.burst().is_some()
    }

    /// Whether someone else who shares the account knows the limit.
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

    /// Seconds until `weight` has refilled, regardless of the queue; 0 while the limit is unknown.
    pub(super) fn refill(&self, weight: Weight) -> f64 {
        let refill = |account: &mut Account, now| account.bucket(now).map(|bucket| bucket.refill(weight, now));
        self.ledger.update_now(refill).unwrap_or_default().as_secs_f64()
    }

    /// Waits in the queue until `weight` can be taken, and takes it. Weight 0 does not queue, it only waits for a
    /// pause.
    ///
    /// # Errors
    /// [`ErrorKind::RateLimit`] when the weight exceeds the bucket's capacity, when the daily cap is reached, or when
    /// the wait would be longer than allowed.
    pub(super) async fn acquire(self: &Arc<Self>, weight: Weight, patience: Patience) -> Result<Permit, ClientError> {
        let start = Instant::now();
        let waiting = self.wait_and_take(weight, patience, start);
        // Waiting in the queue may take all of the allowed time.
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
        // A request without weight need not queue.
        let _first = if weight == Weight::ZERO { None } else { Some(self.line.lock().await) };
        let name = self.names.fetch_add(1, Ordering::Relaxed);
        let assumed = *self.assumed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = InLine { pacer: self, name, waits: false };
        let mut is_told = false;
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
                    let message = format!(
                        "the key's weight for today is spent: nothing is sent for {seconds} s (a day ends at 00:00 UTC; a \
                         service that asks for a wait as long is taken to mean it)"
                    );
                    return Err(rate_limit(message, wait));
                }
            };
            if let Some(error) = patience.exceeded(weight, start, wait) {
                return Err(error);
            }
            if !std::mem::replace(&mut is_told, true) {
                log::emit_wait(weight, wait);
            }
            tokio::time::sleep(wait.min(LOOK)).await;
        }
    }
}

impl Patience {
    /// Whether a wait requested by the service is too long: longer than the caller allows, or longer than any bucket
    /// takes to refill, which means that the daily cap is reached.
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

    /// The service refused with 429: nothing was charged, and no one sends before `wait` is over.
    pub(super) async fn refused(self, headers: BudgetHeaders, wait: Option<Duration>) {
        self.settle(RequestOutcome::Refused { headers, wait }).await;
    }

    /// The request certainly did not reach the service.
    pub(super) async fn not_sent(self) {
        self.settle(RequestOutcome::NotSent).await;
    }

    /// It may have been charged: the weight stays spent.
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

/// The error for a weight that exceeds the capacity.
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
