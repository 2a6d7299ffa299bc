//! Pacing: one bucket per key and base address, first come first served, corrected by the answers' headers.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::sync::OnceCell;

use super::config::Config;
use super::error::{ClientError, ErrorKind};
use crate::budget::{Bucket, Limits, Refusal};
use crate::clock::{Clock, RunningClock, SECOND};

/// The pacers of a process.
#[derive(Clone, Default)]
pub struct Registry {
    pacers: Arc<Mutex<HashMap<Account, Arc<Pacer>>>>,
}

/// Base address and hash of the key.
type Account = (String, u64);

impl Registry {
    pub(super) fn pacer(&self, config: &Config, base: &str) -> Arc<Pacer> {
        let mut hasher = DefaultHasher::new();
        config.api_key.expose_secret().hash(&mut hasher);
        let mut pacers = lock(&self.pacers);
        let pacer = pacers.entry((base.to_owned(), hasher.finish())).or_default();
        if let Some(tier) = config.tier {
            pacer.learn_limits(tier.spec().into());
        }
        Arc::clone(pacer)
    }
}

/// The budget as the local bucket sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetView {
    /// Weight per minute.
    pub limit: u64,
    /// Whole weight left, burst included.
    pub remaining: u64,
    /// Weight spent in the last 60 seconds.
    pub used: u64,
    /// Unix second at which the bucket is full again.
    pub reset: i64,
}

/// What an answer's headers said about the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BudgetHeaders {
    pub limit: Option<u32>,
    pub remaining: Option<u64>,
    pub used: Option<u64>,
}

/// The pace of one key at one base address.
pub(super) struct Pacer {
    state: Mutex<State>,
    /// Held by whoever is first in line; tokio's mutex hands it on in order of arrival.
    line: tokio::sync::Mutex<()>,
    pub(super) learnt: OnceCell<()>,
    clock: RunningClock,
}

#[derive(Default)]
struct State {
    bucket: Option<Bucket>,
    under_way: u64,
    /// No request before this time: the service said 429.
    paused_until: i64,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            line: tokio::sync::Mutex::default(),
            learnt: OnceCell::new(),
            clock: RunningClock::wall(),
        }
    }
}

/// A poisoned lock only means that another thread panicked between two whole updates.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Weight that was taken for a request under way. Dropped (a cancelled call, a broken connection) it stays spent.
pub(super) struct Permit<'a> {
    pacer: &'a Pacer,
    weight: u64,
    settled: bool,
}

impl Pacer {
    /// Whether the limit is known.
    pub(super) fn knows_limits(&self) -> bool {
        lock(&self.state).bucket.is_some()
    }

    /// Takes over known limits; the level stays.
    pub(super) fn learn_limits(&self, limits: Limits) {
        let now = self.clock.now();
        match &mut lock(&self.state).bucket {
            Some(bucket) => bucket.set_limits(limits, now),
            none => *none = Some(Bucket::new(limits, now)),
        }
    }

    /// Capacity of the bucket, when it is known.
    pub(super) fn burst(&self) -> Option<u64> {
        lock(&self.state).bucket.as_ref().map(|bucket| u64::from(bucket.limits().burst))
    }

    pub(super) fn view(&self) -> Option<BudgetView> {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        let bucket = state.bucket.as_mut()?;
        Some(BudgetView {
            limit: u64::from(bucket.limits().per_minute),
            remaining: bucket.remaining(now),
            used: bucket.used(now),
            reset: bucket.full_at(now).div_euclid(SECOND) + i64::from(bucket.full_at(now).rem_euclid(SECOND) > 0),
        })
    }

    /// Seconds until all of `weight` could have been taken, request by request; 0 while the limit is unknown.
    pub(super) fn eta(&self, weight: u64) -> f64 {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        let pause = (state.paused_until - now).max(0) as f64 / SECOND as f64;
        let Some(bucket) = state.bucket.as_mut() else { return pause };
        let missing = weight.saturating_sub(bucket.remaining(now));
        pause.max(missing as f64 * 60.0 / f64::from(bucket.limits().per_minute.max(1)))
    }

    /// Waits in line until `weight` can be taken, and takes it. Weight 0 does not wait in line, only for a pause.
    ///
    /// # Errors
    /// [`ErrorKind::RateLimit`] when the weight is more than the bucket ever holds, when the daily cap is reached, or
    /// when the wait would be longer than `max_wait` in all.
    pub(super) async fn acquire(&self, weight: u64, max_wait: Option<Duration>) -> Result<Permit<'_>, ClientError> {
        let start = self.clock.now();
        let too_long = |wait: Duration| {
            let waited = Duration::from_nanos((self.clock.now() - start).max(0) as u64);
            max_wait.filter(|most| waited + wait > *most).map(|most| rate_limit(
                format!(
                    "the budget allows weight {weight} in {:.1} s, longer than max_wait={} s; wait, ask less, or allow more",
                    (waited + wait).as_secs_f64(), most.as_secs_f64()
                ),
                wait,
            ))
        };
        let in_line = async {
            // What weighs nothing need not stand in line behind what does.
            let _first = if weight == 0 { None } else { Some(self.line.lock().await) };
            loop {
                let wait = match self.try_take(weight) {
                    Ok(()) => return Ok(Permit { pacer: self, weight, settled: false }),
                    Err(Refusal::Wait(wait)) => wait,
                    Err(Refusal::TooHeavy) => {
                        let burst = self.burst().unwrap_or(0);
                        let message = format!("weight {weight} never fits: the bucket holds at most {burst}; ask less");
                        return Err(ClientError::new(ErrorKind::RateLimit, message));
                    }
                    Err(Refusal::DailyCap(wait)) => {
                        let message = "the tier's weight for today is spent; it starts anew at 00:00 UTC".to_owned();
                        return Err(rate_limit(message, wait));
                    }
                };
                if let Some(error) = too_long(wait) {
                    return Err(error);
                }
                tokio::time::sleep(wait).await;
            }
        };
        match max_wait {
            None => in_line.await,
            // Others in line may take the whole time.
            Some(most) => match tokio::time::timeout(most + Duration::from_millis(50), in_line).await {
                Ok(outcome) => outcome,
                Err(_) => Err(too_long(Duration::from_millis(100))
                    .unwrap_or_else(|| rate_limit("waited too long in line for budget".to_owned(), most))),
            },
        }
    }

    fn try_take(&self, weight: u64) -> Result<(), Refusal> {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        if state.paused_until > now {
            return Err(Refusal::Wait(Duration::from_nanos((state.paused_until - now) as u64)));
        }
        if let Some(bucket) = &mut state.bucket {
            bucket.try_take(weight, now)?;
        }
        state.under_way += weight;
        Ok(())
    }

    fn observe(&self, headers: BudgetHeaders) {
        if let Some(limit) = headers.limit {
            let known = lock(&self.state).bucket.as_ref().map(Bucket::limits);
            if known.is_none_or(|known| known.per_minute != limit) {
                self.learn_limits(Limits::of_rate(limit));
            }
        }
        let now = self.clock.now();
        let mut state = lock(&self.state);
        let under_way = state.under_way;
        if let (Some(bucket), Some(remaining)) = (&mut state.bucket, headers.remaining) {
            bucket.observe_remaining(remaining, under_way, now);
            if let Some(used) = headers.used.filter(|_| under_way == 0) {
                bucket.observe_used(used, now);
            }
        }
    }
}

impl Permit<'_> {
    /// The service answered and charged.
    pub(super) fn answered(mut self, headers: BudgetHeaders) {
        self.settle(false);
        self.pacer.observe(headers);
    }

    /// The service refused with 429: nothing was charged, and nobody sends before `wait` is over.
    pub(super) fn refused(mut self, headers: BudgetHeaders, wait: Option<Duration>) {
        self.settle(true);
        self.pacer.observe(headers);
        let wait =
            wait.unwrap_or_else(|| Duration::from_secs_f64(self.pacer.eta(self.weight)).max(Duration::from_secs(1)));
        let until = self.pacer.clock.now().saturating_add(wait.as_nanos() as i64);
        let mut state = lock(&self.pacer.state);
        state.paused_until = state.paused_until.max(until);
    }

    /// The request surely did not reach the service.
    pub(super) fn not_sent(mut self) {
        self.settle(true);
    }

    fn settle(&mut self, refund: bool) {
        let now = self.pacer.clock.now();
        let mut state = lock(&self.pacer.state);
        if !std::mem::replace(&mut self.settled, true) {
            state.under_way = state.under_way.saturating_sub(self.weight);
            if refund && let Some(bucket) = &mut state.bucket {
                bucket.refund(self.weight, now);
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.settle(false);
    }
}

fn rate_limit(message: String, wait: Duration) -> ClientError {
    ClientError { retry_after: Some(wait.as_secs_f64()), ..ClientError::new(ErrorKind::RateLimit, message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Tier;

    fn pacer() -> Pacer {
        let pacer = Pacer::default();
        pacer.learn_limits(Tier::Free.spec().into());
        pacer
    }

    #[tokio::test]
    async fn a_refused_weight_is_given_back_and_everybody_pauses() {
        let pacer = pacer();
        let permit = pacer.acquire(5, None).await.unwrap();
        assert_eq!(pacer.view().unwrap().remaining, 15);
        permit.refused(BudgetHeaders::default(), Some(Duration::from_secs(30)));
        assert_eq!(pacer.view().unwrap().remaining, 20);
        let error = pacer.acquire(1, Some(Duration::ZERO)).await.err().unwrap();
        assert!(error.retry_after.unwrap() > 29.0 && error.kind == ErrorKind::RateLimit);
    }

    #[tokio::test]
    async fn a_dropped_permit_stays_spent_and_an_unsent_one_does_not() {
        let pacer = pacer();
        drop(pacer.acquire(5, None).await.unwrap());
        pacer.acquire(7, None).await.unwrap().not_sent();
        assert_eq!(pacer.view().unwrap().remaining, 15);
        assert_eq!(lock(&pacer.state).under_way, 0);
    }

    #[tokio::test]
    async fn headers_teach_the_limit_and_the_level() {
        let pacer = Pacer::default();
        assert_eq!(pacer.view(), None);
        let permit = pacer.acquire(3, None).await.unwrap();
        permit.answered(BudgetHeaders { limit: Some(50), remaining: Some(12), used: Some(88) });
        let view = pacer.view().unwrap();
        assert_eq!((view.limit, view.remaining, view.used, pacer.burst()), (50, 12, 88, Some(100)));
    }

    #[tokio::test]
    async fn what_never_fits_is_told_at_once() {
        let error = pacer().acquire(21, None).await.err().unwrap();
        assert!(error.message.contains("at most 20"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_line_is_first_come_first_served() {
        let pacer = Arc::new(pacer());
        drop(pacer.acquire(20, None).await.unwrap());
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for (index, weight) in [3u64, 1, 1].into_iter().enumerate() {
            let (pacer, order) = (Arc::clone(&pacer), Arc::clone(&order));
            waiting.push(tokio::spawn(async move {
                drop(pacer.acquire(weight, None).await.unwrap());
                lock(&order).push(index);
            }));
            tokio::task::yield_now().await;
        }
        // The bucket runs by the machine's clock, tokio's stands still: give it the weight instead of waiting for it.
        lock(&pacer.state).bucket.as_mut().unwrap().observe_remaining(20, 0, pacer.clock.now());
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(*lock(&order), [0, 1, 2]);
    }
}
