//! The bucket itself, and its limits.

pub(super) mod kept;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::spends::Spends;
use crate::clock::{SECOND, UnixDay, UnixNanos};
use crate::protocol::tier::TIERS;
use crate::protocol::wire::WINDOW_SECONDS;
use crate::protocol::{TierSpec, Weight};

/// Fractions of one weight that the bucket counts in: the bucket of rate r gains exactly r of them a nanosecond, so
/// that refilling is exact in integers.
const UNITS: i128 = 60 * SECOND as i128;
/// How long a spend counts as one of the last minute, in nanoseconds.
const WINDOW: i64 = WINDOW_SECONDS as i64 * SECOND;

/// Rate and capacity of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Weight that refills per minute: a rate, and so no [`Weight`].
    pub per_minute: u32,
    /// Capacity.
    pub burst: Weight,
    /// Weight per UTC day, when there is a cap.
    pub per_day: Option<Weight>,
}

impl From<&TierSpec> for Limits {
    fn from(tier: &TierSpec) -> Self {
        Self { per_minute: tier.weight_per_minute, burst: tier.burst(), per_day: tier.weight_per_day }
    }
}

impl Limits {
    /// Limits known only by their rate: the burst is twice the rate, and the daily cap is that of the tier with this rate (section 8.1).
    pub fn of_rate(per_minute: u32) -> Self {
        let tier = TIERS.iter().find(|tier| tier.weight_per_minute == per_minute);
        let burst = Weight::from(per_minute.saturating_mul(2));
        Self { per_minute, burst, per_day: tier.and_then(|tier| tier.weight_per_day) }
    }
}

/// Why a weight was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It fits after this long, if nothing else is taken.
    Wait(Duration),
    /// It never fits: heavier than the capacity.
    TooHeavy,
    /// The day's cap is reached; it resets after this long.
    DailyCap(Duration),
}

/// A token bucket. All times are of one clock; a time before an earlier one counts as that earlier one.
///
/// ```
/// use marketpoints::budget::{Bucket, Limits, Refusal};
/// use marketpoints::clock::UnixSecond;
/// use marketpoints::protocol::Weight;
///
/// let (now, later) = (UnixSecond(0).nanos(), UnixSecond(5).nanos());
/// let mut bucket = Bucket::new(Limits::of_rate(60), now); // 60 weight a minute, twice as much at once
/// assert_eq!(bucket.try_take(Weight(120), now), Ok(()));
/// assert_eq!(bucket.try_take(Weight(5), now), Err(Refusal::Wait(std::time::Duration::from_secs(5))));
/// assert_eq!(bucket.try_take(Weight(5), later), Ok(()));
/// assert_eq!(bucket.try_take(Weight(121), later), Err(Refusal::TooHeavy));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    pub(super) limits: Limits,
    /// Tokens in `UNITS`, 0 ..= capacity.
    pub(super) level: i128,
    pub(super) now: UnixNanos,
    pub(super) spent: Spends,
    pub(super) day: UnixDay,
    pub(super) spent_today: Weight,
    /// Nothing refills before this time.
    #[serde(default)]
    pub(super) held_until: UnixNanos,
}

impl Bucket {
    /// A full bucket.
    pub fn new(limits: Limits, now: UnixNanos) -> Self {
        Self {
            limits,
            level: i128::from(limits.burst.0) * UNITS,
            now,
            spent: Spends::default(),
            day: now.day(),
            spent_today: Weight::ZERO,
            held_until: UnixNanos::default(),
        }
    }

    /// Rate and capacity.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes `weight` at once, or says why not and takes nothing.
    pub fn try_take(&mut self, weight: Weight, now: UnixNanos) -> Result<(), Refusal> {
        self.advance(now);
        if let Some(refusal) = self.refusal(weight) {
            return Err(refusal);
        }
        self.level -= i128::from(weight.0) * UNITS;
        self.spent.push(self.now, weight);
        self.spent_today += weight;
        Ok(())
    }

    /// Gives back a weight that was taken at most a moment ago and not spent after all.
    pub fn refund(&mut self, weight: Weight, now: UnixNanos) {
        self.refund_of(weight, now, now);
    }

    /// As [`Self::refund`], for a weight taken at `taken`: weights of other minutes and days are kept.
    pub fn refund_of(&mut self, weight: Weight, taken: UnixNanos, now: UnixNanos) {
        self.advance(now);
        self.level = (self.level + i128::from(weight.0) * UNITS).min(self.capacity());
        if taken.day() == self.day {
            self.spent_today = self.spent_today.saturating_sub(weight);
        }
        if self.now.since(taken) < WINDOW {
            self.spent.take_back(weight);
        }
    }

    /// Whether it is full, or would be after `lag`.
    pub fn is_nearly_full(&mut self, lag: Duration, now: UnixNanos) -> bool {
        self.advance(now);
        self.nanoseconds_to(self.capacity() - UNITS) <= i64::try_from(lag.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Lets nothing refill before `until`: a full bucket starts to refill when the first request arrives at the service,
    /// and not when it is sent.
    pub fn hold(&mut self, until: UnixNanos, now: UnixNanos) {
        self.advance(now);
        self.held_until = until;
    }

    /// Lets it refill from now on.
    pub fn release(&mut self, now: UnixNanos) {
        self.advance(now);
        self.held_until = self.held_until.min(self.now);
    }

    /// How long until `weight` can be taken: zero when it can be now.
    pub fn wait(&mut self, weight: Weight, now: UnixNanos) -> Result<Duration, Refusal> {
        self.advance(now);
        match self.refusal(weight) {
            None => Ok(Duration::ZERO),
            Some(Refusal::Wait(wait)) => Ok(wait),
            Some(never) => Err(never),
        }
    }

    /// Whole weight left, burst included.
    pub fn remaining(&mut self, now: UnixNanos) -> Weight {
        self.advance(now);
        Weight((self.level / UNITS) as u64)
    }

    /// Weight spent in the last 60 seconds.
    pub fn used(&mut self, now: UnixNanos) -> Weight {
        self.advance(now);
        self.spent.total()
    }

    /// When the bucket is full again; `now` when it is full.
    pub fn full_at(&mut self, now: UnixNanos) -> UnixNanos {
        self.advance(now);
        self.now.plus(self.nanoseconds_to(self.capacity()))
    }

    /// Moves the level to what the service says is left. Where the answer may be older than what was spent since, or
    /// not count what is under way, it is not the `latest` word and only lowers the level.
    pub fn observe_remaining(&mut self, remaining: Weight, latest: bool, now: UnixNanos) {
        self.advance(now);
        let whole = i128::from(remaining.0) * UNITS;
        // The service rounds down: a level within the next whole token agrees with it.
        let agrees = whole..whole + UNITS;
        let level = if agrees.contains(&self.level) { self.level } else { whole };
        let level = level.min(self.capacity());
        self.level = if latest { level } else { self.level.min(level) };
    }

    /// Lowers the level to what a refusal implies: `weight` did not fit, and does after `wait` at the earliest.
    pub fn observe_refusal(&mut self, weight: Weight, wait: Duration, now: UnixNanos) {
        self.advance(now);
        let refilled =
            i128::from(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX)) * i128::from(self.limits.per_minute);
        self.level = self.level.min((i128::from(weight.0) * UNITS - refilled).max(0));
    }

    /// How long until `weight` has refilled, also where it is more than the bucket holds at once.
    pub fn refill(&mut self, weight: Weight, now: UnixNanos) -> Duration {
        self.advance(now);
        Duration::from_nanos(self.nanoseconds_to(i128::from(weight.0) * UNITS) as u64)
    }

    /// Brings the last minute's spending to what the service says, when nothing of ours is under way: what it did not
    /// charge leaves, the newest first, and what others spent is added as spent now.
    pub fn observe_used(&mut self, used: Weight, now: UnixNanos) {
        self.advance(now);
        let ours = self.spent.total();
        self.spent.lower(ours.saturating_sub(used));
        if used > ours {
            self.spent.push(self.now, used - ours);
        }
    }

    /// Changes rate and capacity together; the level never exceeds the new capacity.
    pub fn set_limits(&mut self, limits: Limits, now: UnixNanos) {
        self.advance(now);
        self.limits = limits;
        self.level = self.level.min(self.capacity());
    }

    fn capacity(&self) -> i128 {
        i128::from(self.limits.burst.0) * UNITS
    }

    fn refusal(&self, weight: Weight) -> Option<Refusal> {
        if weight > self.limits.burst {
            return Some(Refusal::TooHeavy);
        }
        if self.limits.per_day.is_some_and(|cap| self.spent_today + weight > cap) {
            let left = self.day.next().nanos().since(self.now);
            return Some(Refusal::DailyCap(Duration::from_nanos(left.max(0) as u64)));
        }
        let needed = i128::from(weight.0) * UNITS;
        (self.level < needed).then(|| Refusal::Wait(Duration::from_nanos(self.nanoseconds_to(needed) as u64)))
    }

    /// Nanoseconds until the level reaches `units`, rounded up.
    fn nanoseconds_to(&self, units: i128) -> i64 {
        let missing = (units - self.level).max(0);
        let rate = i128::from(self.limits.per_minute.max(1));
        i64::try_from((missing + rate - 1) / rate).unwrap_or(i64::MAX)
    }

    pub(super) fn advance(&mut self, now: UnixNanos) {
        let now = now.max(self.now);
        let refilling = now.since(self.now.max(self.held_until).min(now));
        let gained = i128::from(refilling) * i128::from(self.limits.per_minute);
        self.level = (self.level + gained).min(self.capacity());
        self.now = now;
        self.spent.forget(now.plus(-WINDOW));
        let day = now.day();
        if day != self.day {
            self.day = day;
            self.spent_today = Weight::ZERO;
        }
    }
}
