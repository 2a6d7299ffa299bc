//! State shared by the requests of one call: how many are in flight, the progress, and whether the rest is still worth
//! sending.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::error::{ClientError, ErrorKind};
use super::inner::ClientInner;
use super::plan::{PlannedRequest, check_weight};
use crate::protocol::Weight;

/// Requests of one call that are in flight at once.
pub(super) const PARALLEL: usize = 8;
/// After so many requests failed beyond their retries without an answer in between, the service is taken to be down.
pub(super) const MOST_FAILURES: usize = 3;
/// How often progress is reported while nothing arrives.
const TICK: Duration = Duration::from_millis(250);

/// Progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgressUpdate {
    /// Requests that were answered.
    pub done: usize,
    /// All requests of the call; 0 while none is known to be needed.
    pub requests: usize,
    /// Weight of the requests that were answered.
    pub weight_done: Weight,
    /// Weight of all requests.
    pub weight: Weight,
    /// Rows that arrived.
    pub rows: usize,
    /// Seconds that the next request still waits for budget; 0 if none waits.
    pub waiting: f64,
    /// Estimated seconds until the last answer, from the budget and the duration of earlier answers.
    pub left: f64,
}

/// Called after each answer, and periodically while nothing arrives. `Break` ends the call: it sends nothing more and
/// waits for no answer; what arrived before is returned as when some requests fail.
pub type Progress = Arc<dyn Fn(&ProgressUpdate) -> ControlFlow<()> + Send + Sync>;

/// A number of requests and their total weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amount {
    pub(super) requests: usize,
    pub(super) weight: Weight,
}

impl Amount {
    pub(super) fn of(requests: &[PlannedRequest]) -> Self {
        Self { requests: requests.len(), weight: requests.iter().map(|request| request.weight).sum() }
    }
}

/// One running call.
pub(super) struct CallRun<'a> {
    inner: &'a ClientInner,
    slots: Semaphore,
    stopped: AtomicBool,
    /// Requests that failed since the last answer.
    failures: AtomicUsize,
    counts: Mutex<CallCounts>,
    max_weight: Option<Weight>,
    on_progress: Option<Progress>,
    /// Whether the progress callback ended the call.
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct CallCounts {
    expected: Amount,
    done: Amount,
    /// Requests that failed or were not sent.
    lost: usize,
    /// Weight that has been charged or will not be sent.
    settled: Weight,
    in_line: usize,
    rows: usize,
    /// Total duration of the answers.
    busy: Duration,
}

/// One request of a call.
pub(super) struct CallStep<'r, 'a> {
    run: &'r CallRun<'a>,
    weight: Weight,
    paid: OnceLock<Instant>,
    _slot: Option<SemaphorePermit<'r>>,
}

impl<'a> CallRun<'a> {
    /// A call that may weigh `max_weight` in all.
    pub(super) fn new(inner: &'a ClientInner, on_progress: Option<Progress>, max_weight: Option<Weight>) -> Self {
        Self {
            inner,
            slots: Semaphore::new(PARALLEL),
            stopped: AtomicBool::new(false),
            failures: AtomicUsize::new(0),
            counts: Mutex::default(),
            max_weight,
            on_progress,
            ended: watch::Sender::new(false),
        }
    }

    /// Completes when the progress callback ends the call.
    pub(super) async fn ended(&self) {
        // The sender is a field of this struct, so it is never gone.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Waits for what a call needs before it sends anything.
    ///
    /// # Errors
    /// The progress callback ended the call meanwhile.
    pub(super) async fn unless_ended<T>(&self, needed: impl Future<Output = T>) -> Result<T, ClientError> {
        tokio::select! {
            biased;
            value = needed => Ok(value),
            () = self.ended() => Err(ClientError::new(ErrorKind::Transport, "not sent, because the call was ended")),
        }
    }

    fn counts(&self) -> MutexGuard<'_, CallCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the expected amount `before` by `amount`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] when the call would weigh more than allowed.
    pub(super) fn expect(&self, before: Amount, amount: Amount) -> Result<(), ClientError> {
        let mut counts = self.counts();
        let requests = counts.expected.requests + amount.requests - before.requests.min(counts.expected.requests);
        let weight = counts.expected.weight + amount.weight - before.weight.min(counts.expected.weight);
        check_weight(weight, requests, self.max_weight)?;
        counts.expected = Amount { requests, weight };
        Ok(())
    }

    /// Weight of the requests that were answered so far.
    pub(super) fn weight_done(&self) -> Weight {
        self.counts().done.weight
    }

    /// Runs the call and reports progress meanwhile.
    pub(super) async fn watched<T>(&self, work: impl Future<Output = T>) -> T {
        if self.on_progress.is_none() {
            return work.await;
        }
        let mut work = pin!(work);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                value = &mut work => return value,
                _ = ticks.tick() => self.report(),
            }
        }
    }

    /// Waits until one more request may be in flight; `None` when no more are to be sent.
    pub(super) async fn step(&self, weight: Weight, stopped: &AtomicBool) -> Option<CallStep<'_, 'a>> {
        let slot = self.slots.acquire().await.ok(); // never closed
        if stopped.load(Ordering::Relaxed) || self.stopped.load(Ordering::Relaxed) {
            let mut counts = self.counts();
            counts.lost += 1;
            counts.settled += weight;
            return None;
        }
        Some(CallStep { run: self, weight, paid: OnceLock::new(), _slot: slot })
    }

    fn report(&self) {
        let Some(on_progress) = self.on_progress.as_ref().filter(|_| !*self.ended.borrow()) else { return };
        if on_progress(&self.update()).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
            self.ended.send_replace(true);
        }
    }

    fn update(&self) -> ProgressUpdate {
        let counts = self.counts();
        let (expected, done) = (counts.expected, counts.done);
        let unpaid = expected.weight.saturating_sub(counts.settled);
        let missing = expected.requests.saturating_sub(done.requests + counts.lost);
        let each = if done.requests == 0 { 0.0 } else { counts.busy.as_secs_f64() / done.requests as f64 };
        let (rows, in_line) = (counts.rows, counts.in_line > 0);
        drop(counts); // the budget may be in a file
        let waiting = if in_line { self.inner.pacer.eta(Weight::ZERO) } else { 0.0 };
        let budget = if unpaid > Weight::ZERO { self.inner.pacer.refill(unpaid).max(waiting) + each } else { 0.0 };
        let left = if missing == 0 { 0.0 } else { budget.max(each * missing.div_ceil(PARALLEL) as f64) };
        let Amount { requests, weight } = expected;
        ProgressUpdate { done: done.requests, requests, weight_done: done.weight, weight, rows, waiting, left }
    }
}

impl CallStep<'_, '_> {
    /// The request starts or stops waiting for budget.
    pub(super) fn in_line(&self, waits: bool) {
        let mut counts = self.run.counts();
        if waits {
            counts.in_line += 1;
            return;
        }
        counts.in_line -= 1;
        if self.paid.set(Instant::now()).is_ok() {
            counts.settled += self.weight;
        }
    }

    /// The request was answered with so many rows; `useful` unless the answer could not be archived.
    pub(super) fn answered(self, rows: usize, useful: bool) {
        let run = self.run;
        let mut counts = run.counts();
        counts.done.requests += 1;
        counts.done.weight += self.weight;
        counts.rows += rows;
        counts.busy += self.paid.get().map(Instant::elapsed).unwrap_or_default();
        drop(counts);
        if useful {
            run.failures.store(0, Ordering::Relaxed);
        } else {
            run.count_failure();
        }
        run.report();
    }

    /// The request failed beyond its retries. Returns whether to skip the other requests for the same symbol.
    pub(super) fn failed(self, error: &ClientError) -> bool {
        use ErrorKind::{Authentication, InvalidRequest, RateLimit, Tier};
        let run = self.run;
        run.counts().lost += 1;
        match error.kind {
            // Another symbol may be valid where this one is not.
            InvalidRequest => true,
            // Every request of the call would fail the same way.
            Authentication | RateLimit | Tier => {
                run.stopped.store(true, Ordering::Relaxed);
                true
            }
            _ => {
                run.count_failure();
                false
            }
        }
    }
}

impl CallRun<'_> {
    fn count_failure(&self) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= MOST_FAILURES {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
}
