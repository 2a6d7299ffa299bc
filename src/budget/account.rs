//! One key's budget at one address, as everybody who spends from it must see it: the bucket, the line before it, and what
//! is under way. All of it is plain data, so that processes and machines can share it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bucket::kept::plausible;
use super::bucket::{Bucket, Limits, Refusal};
use crate::clock::{SECOND, UnixNanos};
use crate::protocol::Weight;

/// How long a place in the line is kept for somebody who does not ask again.
const PLACE_KEPT: i64 = 3 * SECOND;
/// How long a request counts as under way when nobody reports its end: its process is gone.
const LONGEST_FLIGHT: i64 = 300 * SECOND;
/// Longest time that a request is assumed to take on its way to the service.
const LONGEST_WAY: Duration = Duration::from_secs(2);
/// Pause before asking again behind somebody whose turn it is already.
const NEXT_TURN: Duration = Duration::from_millis(2);
/// Longest pause that is kept. A service that asks for more has nothing left for its day, and is asked again after this.
pub const LONGEST_PAUSE: i64 = 600 * SECOND;
/// Longest line and most requests under way that a stored account may have; more is damage.
const MOST_ENTRIES: usize = 10_000;

/// The shared state of a budget. All times are of one clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    bucket: Option<Bucket>,
    /// Whether the service sent the limits; they take precedence over a tier's row of the table.
    limits_reported: bool,
    /// Nobody sends before this time: the service said 429.
    paused_until: UnixNanos,
    /// The service said 429 with a wait that is no pause: its day's weight is spent.
    #[serde(default)]
    day_spent: Option<DaySpent>,
    line: Vec<QueueEntry>,
    under_way: Vec<Flight>,
}

/// A day that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct DaySpent {
    /// When the service answers again, by its own word.
    until: UnixNanos,
    /// Nobody asks before; then one request finds out whether it still holds.
    believed_until: UnixNanos,
}

/// A place in the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct QueueEntry {
    id: u64,
    weight: Weight,
    kept_until: UnixNanos,
}

/// A request under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Flight {
    id: u64,
    weight: Weight,
    /// Whether nothing else that costs was under way at any time since it was sent: only then the answer is newer than
    /// everything that was spent.
    alone: bool,
    /// Whether the bucket may have been full: then the service's refills from its arrival on, which only its answer proves.
    starts_refill: bool,
    counts_until: UnixNanos,
    /// When its weight was taken.
    #[serde(default)]
    taken: UnixNanos,
}

/// Budget headers of an answer (section 8.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BudgetHeaders {
    /// Weight per minute.
    pub limit: Option<u32>,
    /// Whole weight left.
    pub remaining: Option<Weight>,
    /// Weight spent in the last minute.
    pub used: Option<Weight>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The service answered and charged.
    Answered(BudgetHeaders),
    /// The service refused with 429 and charged nothing; `wait` is the `Retry-After` that it gave.
    Refused {
        /// Its budget headers.
        headers: BudgetHeaders,
        /// When to come again.
        wait: Option<Duration>,
    },
    /// The request surely did not reach the service.
    NotSent,
    /// Nobody knows: it may have been charged.
    Unknown,
}

/// The answer to [`Account::take`].
pub type TakeResult = Result<(), Refusal>;

impl Account {
    /// The limits, once they are known.
    pub fn limits(&self) -> Option<Limits> {
        self.bucket.as_ref().map(Bucket::limits)
    }

    /// Takes over the limits of a tier, unless the service has sent its own.
    pub fn assume(&mut self, limits: Limits, now: UnixNanos) {
        if !self.limits_reported {
            self.set_limits(limits, now);
        }
    }

    /// Takes `weight` for the request `id` when it is its turn and fits, or keeps a place in the line for it. Whoever is
    /// refused with [`Refusal::Wait`] asks again after that time, and at least every second or so: a place that nobody
    /// asks for is given up. Weight 0 waits for no line, only for a pause.
    ///
    /// # Errors
    /// [`Refusal`] with the time to wait, which counts everybody in front, or with what makes waiting useless.
    pub fn take(&mut self, id: u64, weight: Weight, now: UnixNanos) -> TakeResult {
        self.forget_the_gone(now);
        let starts_refill =
            weight > Weight::ZERO && self.bucket.as_mut().is_some_and(|bucket| bucket.is_nearly_full(LONGEST_WAY, now));
        let turn = self.turn(id, weight, now);
        match turn {
            Err(Refusal::Wait(_)) if weight > Weight::ZERO => self.keep_place(id, weight, now),
            _ => self.leave(id),
        }
        turn?;
        let alone = self.under_way.iter().all(|flight| flight.weight == Weight::ZERO);
        if weight > Weight::ZERO {
            for flight in &mut self.under_way {
                flight.alone = false;
            }
        }
        if let Some(bucket) = self.bucket.as_mut().filter(|_| starts_refill) {
            bucket.hold(now.plus(LONGEST_WAY.as_nanos() as i64), now);
        }
        let counts_until = now.plus(LONGEST_FLIGHT);
        self.under_way.push(Flight { id, weight, alone, starts_refill, counts_until, taken: now });
        Ok(())
    }

    /// Gives up the place of `id` in the line.
    pub fn leave(&mut self, id: u64) {
        self.line.retain(|entry| entry.id != id);
    }

    /// The request `id` of `weight` has ended.
    pub fn settle(&mut self, id: u64, weight: Weight, outcome: RequestOutcome, now: UnixNanos) {
        let flight = self.under_way.iter().position(|flight| flight.id == id).map(|index| self.under_way.remove(index));
        // Headers of a request that was forgotten meanwhile are outdated.
        let latest = flight.as_ref().is_some_and(|flight| flight.alone);
        // The minute of a forgotten one is unknown, and long over.
        let taken = flight.as_ref().map_or(UnixNanos(i64::MIN), |flight| flight.taken);
        let started = flight.is_some_and(|flight| flight.starts_refill);
        if let Some(bucket) = self.bucket.as_mut().filter(|_| started) {
            bucket.release(now);
        }
        match outcome {
            RequestOutcome::Unknown => {}
            RequestOutcome::NotSent => self.refund(weight, taken, now),
            RequestOutcome::Answered(headers) => {
                if weight > Weight::ZERO {
                    self.day_spent = None;
                }
                self.observe(headers, latest, now);
            }
            RequestOutcome::Refused { headers, wait } => {
                self.refund(weight, taken, now);
                self.observe(headers, latest, now);
                if let Some(bucket) = &mut self.bucket {
                    // Without a word about the time, all of it has to refill.
                    let least = wait.unwrap_or_else(|| match headers.remaining {
                        Some(_) => Duration::ZERO,
                        None => bucket.refill(Weight::from(u32::MAX), now),
                    });
                    bucket.observe_refusal(weight, least, now);
                }
                let wait = wait.unwrap_or_else(|| self.eta(weight, now).max(Duration::from_secs(1)));
                let wait = i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX);
                let until = now.plus(wait);
                if wait > LONGEST_PAUSE {
                    self.day_spent = Some(DaySpent { until, believed_until: now.plus(LONGEST_PAUSE) });
                } else {
                    self.paused_until = self.paused_until.max(until);
                }
            }
        }
    }

    /// Time until all of `weight` can have been taken, request by request, behind those in the line.
    pub fn eta(&mut self, weight: Weight, now: UnixNanos) -> Duration {
        let pause = self.pause(now);
        let ahead: Weight = self.line.iter().map(|entry| entry.weight).sum();
        let refill =
            self.bucket.as_mut().map_or(Duration::ZERO, |bucket| bucket.refill(weight.saturating_add(ahead), now));
        pause.max(refill).max(self.day_left(now).unwrap_or_default())
    }

    /// The bucket, to look at; `None` until its limits are known.
    pub fn bucket(&mut self, now: UnixNanos) -> Option<&mut Bucket> {
        let bucket = self.bucket.as_mut()?;
        bucket.advance(now);
        Some(bucket)
    }

    /// The account as of `now`, when it was read from somewhere that may be damaged, foreign or ahead of this clock;
    /// `None` when it makes no sense. What can be mended is mended towards less.
    pub fn checked(mut self, now: UnixNanos) -> Option<Self> {
        let times = self.line.iter().map(|entry| entry.kept_until);
        let times = times.chain(self.under_way.iter().map(|flight| flight.counts_until)).chain([self.paused_until]);
        let times = times.chain(self.day_spent.iter().map(|day| day.until));
        let weights = self.line.iter().map(|entry| entry.weight);
        let sound = self.line.len().max(self.under_way.len()) <= MOST_ENTRIES
            && times.into_iter().all(plausible)
            && weights.into_iter().all(|weight| weight.0 < 1 << 48);
        if !sound {
            return None;
        }
        self.bucket = match self.bucket {
            Some(bucket) => Some(bucket.checked(now)?),
            None => None,
        };
        let longest = now.plus(LONGEST_PAUSE);
        self.paused_until = self.paused_until.min(longest);
        if let Some(day) = &mut self.day_spent {
            day.believed_until = day.believed_until.min(longest);
        }
        for entry in &mut self.line {
            entry.kept_until = entry.kept_until.min(now.plus(PLACE_KEPT));
        }
        for flight in &mut self.under_way {
            flight.counts_until = flight.counts_until.min(now.plus(LONGEST_FLIGHT));
            flight.taken = flight.taken.min(now);
        }
        Some(self)
    }

    /// As [`Self::checked`], and as short as it can be kept.
    pub fn shorten(&mut self) {
        if let Some(bucket) = &mut self.bucket {
            bucket.shorten();
        }
    }

    /// The account by another clock, which shows `there` when this one shows `here`.
    #[must_use]
    pub fn moved(mut self, here: UnixNanos, there: UnixNanos) -> Self {
        let by = there.since(here);
        let shifted = |time: UnixNanos| time.plus(by).max(UnixNanos(0));
        if let Some(bucket) = &mut self.bucket {
            bucket.advance(here);
            bucket.shift(by);
        }
        let times = self.line.iter_mut().map(|entry| &mut entry.kept_until);
        let flights = self.under_way.iter_mut().flat_map(|flight| [&mut flight.counts_until, &mut flight.taken]);
        for time in times.chain(flights) {
            *time = shifted(*time);
        }
        if self.paused_until > UnixNanos(0) {
            self.paused_until = shifted(self.paused_until);
        }
        if let Some(day) = &mut self.day_spent {
            day.until = shifted(day.until);
            day.believed_until = shifted(day.believed_until);
        }
        self
    }

    /// Takes over what another view of the same account knows to be less: nothing here grows by it. Both are as of now.
    pub fn tighten(&mut self, other: &Self) {
        match (&mut self.bucket, &other.bucket) {
            (Some(own), Some(other)) => own.tighten(other),
            (own @ None, Some(_)) => {
                own.clone_from(&other.bucket);
                self.limits_reported = other.limits_reported;
            }
            (_, None) => {}
        }
        self.paused_until = self.paused_until.max(other.paused_until);
        self.day_spent = [self.day_spent, other.day_spent].into_iter().flatten().max_by_key(|day| day.believed_until);
    }

    fn turn(&mut self, id: u64, weight: Weight, now: UnixNanos) -> TakeResult {
        let pause = self.pause(now);
        if pause > Duration::ZERO {
            return Err(Refusal::Wait(pause));
        }
        if weight > Weight::ZERO
            && let Some(left) = self.day_left(now)
        {
            return Err(Refusal::DailyCap(left));
        }
        let Some(bucket) = &mut self.bucket else { return Ok(()) };
        let ahead: Weight = self.line.iter().take_while(|entry| entry.id != id).map(|entry| entry.weight).sum();
        if weight == Weight::ZERO || ahead == Weight::ZERO {
            return bucket.try_take(weight, now);
        }
        // A weight that can never fit is refused at once, wherever it is in the line.
        match bucket.wait(weight, now) {
            Ok(_) | Err(Refusal::Wait(_)) => {
                Err(Refusal::Wait(bucket.refill(ahead.saturating_add(weight), now).max(NEXT_TURN)))
            }
            Err(never) => Err(never),
        }
    }

    fn keep_place(&mut self, id: u64, weight: Weight, now: UnixNanos) {
        let kept_until = now.plus(PLACE_KEPT);
        match self.line.iter_mut().find(|entry| entry.id == id) {
            Some(entry) => entry.kept_until = kept_until,
            None => self.line.push(QueueEntry { id, weight, kept_until }),
        }
    }

    fn forget_the_gone(&mut self, now: UnixNanos) {
        self.line.retain(|entry| entry.kept_until > now);
        self.under_way.retain(|flight| flight.counts_until > now);
    }

    fn pause(&self, now: UnixNanos) -> Duration {
        Duration::from_nanos(self.paused_until.since(now).max(0) as u64)
    }

    /// Time until the service answers again by its own word, while that is believed.
    fn day_left(&self, now: UnixNanos) -> Option<Duration> {
        let day = self.day_spent.filter(|day| now < day.believed_until)?;
        Some(Duration::from_nanos(day.until.since(now).max(0) as u64))
    }

    fn refund(&mut self, weight: Weight, taken: UnixNanos, now: UnixNanos) {
        if let Some(bucket) = &mut self.bucket {
            bucket.refund_of(weight, taken, now);
        }
    }

    fn set_limits(&mut self, limits: Limits, now: UnixNanos) {
        match &mut self.bucket {
            Some(bucket) => bucket.set_limits(limits, now),
            none => *none = Some(Bucket::new(limits, now)),
        }
    }

    fn observe(&mut self, headers: BudgetHeaders, latest: bool, now: UnixNanos) {
        if let Some(limit) = headers.limit.filter(|limit| *limit > 0) {
            self.limits_reported = true;
            if self.limits().is_none_or(|known| known.per_minute != limit) {
                self.set_limits(Limits::of_rate(limit), now);
            }
        }
        if let (Some(bucket), Some(remaining)) = (&mut self.bucket, headers.remaining) {
            bucket.observe_remaining(remaining, latest, now);
            if let Some(used) = headers.used.filter(|_| latest) {
                bucket.observe_used(used, now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
