//! The token bucket: continuous refill, burst, daily cap. The service enforces with it and the client paces with it
//! (service.md 8.1 and 8.5). An [`Account`] is what everybody who spends from one bucket has to know of each other. Time is
//! passed in; nothing here sleeps.

mod account;
mod kept;

pub use account::{Account, Outcome, Taken, Told};

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::SECOND;
use crate::protocol::TierSpec;
use crate::protocol::tier::TIERS;
use crate::protocol::wire::WINDOW_SECONDS;

/// Fractions of one weight that the bucket counts in: the bucket of rate r gains exactly r of them a nanosecond, so
/// that refilling is exact in integers.
const UNITS: i128 = 60 * SECOND as i128;
const DAY: i64 = 86_400 * SECOND;

/// Rate and capacity of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Weight that refills per minute.
    pub per_minute: u32,
    /// Capacity.
    pub burst: u32,
    /// Weight per UTC day, when there is a cap.
    pub per_day: Option<u32>,
}

impl From<&TierSpec> for Limits {
    fn from(tier: &TierSpec) -> Self {
        Self { per_minute: tier.weight_per_minute, burst: tier.burst(), per_day: tier.weight_per_day }
    }
}

impl Limits {
    /// Limits known only by their rate: the burst is twice the rate, and a tier's rate tells its daily cap (section 8.1).
    pub fn of_rate(per_minute: u32) -> Self {
        let tier = TIERS.iter().find(|tier| tier.weight_per_minute == per_minute);
        Self { per_minute, burst: per_minute.saturating_mul(2), per_day: tier.and_then(|tier| tier.weight_per_day) }
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

/// A token bucket. All times are Unix nanoseconds of one clock; a time before an earlier one counts as that earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    limits: Limits,
    /// Tokens in `UNITS`, 0 ..= capacity.
    level: i128,
    now: i64,
    spent: VecDeque<(i64, u64)>,
    day: i64,
    spent_today: u64,
    /// Nothing refills before this time.
    #[serde(default)]
    held_until: i64,
}

impl Bucket {
    /// A full bucket.
    pub fn new(limits: Limits, now: i64) -> Self {
        Self {
            limits,
            level: i128::from(limits.burst) * UNITS,
            now,
            spent: VecDeque::new(),
            day: now.div_euclid(DAY),
            spent_today: 0,
            held_until: 0,
        }
    }

    /// Rate and capacity.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes `weight` at once, or says why not and takes nothing.
    pub fn try_take(&mut self, weight: u64, now: i64) -> Result<(), Refusal> {
        self.advance(now);
        if let Some(refusal) = self.refusal(weight) {
            return Err(refusal);
        }
        self.level -= i128::from(weight) * UNITS;
        self.spent.push_back((self.now, weight));
        self.spent_today += weight;
        Ok(())
    }

    /// Gives back a weight that was taken at most a moment ago and not spent after all.
    pub fn refund(&mut self, weight: u64, now: i64) {
        self.advance(now);
        self.level = (self.level + i128::from(weight) * UNITS).min(self.capacity());
        self.spent_today = self.spent_today.saturating_sub(weight);
        match self.spent.iter().rposition(|&(_, spent)| spent == weight) {
            Some(index) => drop(self.spent.remove(index)),
            // Spends of one second may be joined.
            None => self.unspend(weight),
        }
    }

    /// Takes `weight` from the spends of the last minute, the newest first.
    fn unspend(&mut self, mut weight: u64) {
        while weight > 0 {
            let Some((at, spent)) = self.spent.pop_back() else { return };
            if spent > weight {
                self.spent.push_back((at, spent - weight));
            }
            weight = weight.saturating_sub(spent);
        }
    }

    /// Whether it is full, or would be after `lag`.
    pub fn is_nearly_full(&mut self, lag: Duration, now: i64) -> bool {
        self.advance(now);
        self.nanoseconds_to(self.capacity() - UNITS) <= i64::try_from(lag.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Lets nothing refill before `until`: a full bucket starts to refill when the first request arrives at the service,
    /// and not when it is sent.
    pub fn hold(&mut self, until: i64, now: i64) {
        self.advance(now);
        self.held_until = until;
    }

    /// Lets it refill from now on.
    pub fn release(&mut self, now: i64) {
        self.advance(now);
        self.held_until = self.held_until.min(self.now);
    }

    /// How long until `weight` can be taken: zero when it can be now.
    pub fn wait(&mut self, weight: u64, now: i64) -> Result<Duration, Refusal> {
        self.advance(now);
        match self.refusal(weight) {
            None => Ok(Duration::ZERO),
            Some(Refusal::Wait(wait)) => Ok(wait),
            Some(never) => Err(never),
        }
    }

    /// Whole weight left, burst included.
    pub fn remaining(&mut self, now: i64) -> u64 {
        self.advance(now);
        (self.level / UNITS) as u64
    }

    /// Weight spent in the last 60 seconds.
    pub fn used(&mut self, now: i64) -> u64 {
        self.advance(now);
        self.spent.iter().map(|&(_, weight)| weight).sum()
    }

    /// Unix nanoseconds at which the bucket is full again; `now` when it is full.
    pub fn full_at(&mut self, now: i64) -> i64 {
        self.advance(now);
        self.now.saturating_add(self.nanoseconds_to(self.capacity()))
    }

    /// Moves the level to what the service says is left. Where the answer may be older than what was spent since, or
    /// not count what is under way, it is not the `latest` word and only lowers the level.
    pub fn observe_remaining(&mut self, remaining: u64, latest: bool, now: i64) {
        self.advance(now);
        let whole = i128::from(remaining) * UNITS;
        // The service rounds down: a level within the next whole token agrees with it.
        let agrees = whole..whole + UNITS;
        let told = if agrees.contains(&self.level) { self.level } else { whole };
        let told = told.min(self.capacity());
        self.level = if latest { told } else { self.level.min(told) };
    }

    /// Lowers the level to what a refusal tells: `weight` did not fit, and does after `wait` at the earliest.
    pub fn observe_refusal(&mut self, weight: u64, wait: Duration, now: i64) {
        self.advance(now);
        let refilled =
            i128::from(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX)) * i128::from(self.limits.per_minute);
        self.level = self.level.min((i128::from(weight) * UNITS - refilled).max(0));
    }

    /// How long until `weight` has refilled, also where it is more than the bucket holds at once.
    pub fn refill(&mut self, weight: u64, now: i64) -> Duration {
        self.advance(now);
        Duration::from_nanos(self.nanoseconds_to(i128::from(weight) * UNITS) as u64)
    }

    /// Brings the last minute's spending to what the service says, when nothing of ours is under way: what it did not
    /// charge leaves, the newest first, and what others spent is added as spent now.
    pub fn observe_used(&mut self, used: u64, now: i64) {
        self.advance(now);
        let ours: u64 = self.spent.iter().map(|&(_, weight)| weight).sum();
        self.unspend(ours.saturating_sub(used));
        if used > ours {
            self.spent.push_back((self.now, used - ours));
        }
    }

    /// Changes rate and capacity together; the level never exceeds the new capacity.
    pub fn set_limits(&mut self, limits: Limits, now: i64) {
        self.advance(now);
        self.limits = limits;
        self.level = self.level.min(self.capacity());
    }

    fn capacity(&self) -> i128 {
        i128::from(self.limits.burst) * UNITS
    }

    fn refusal(&self, weight: u64) -> Option<Refusal> {
        if weight > u64::from(self.limits.burst) {
            return Some(Refusal::TooHeavy);
        }
        if self.limits.per_day.is_some_and(|cap| self.spent_today + weight > u64::from(cap)) {
            let midnight = (self.day + 1) * DAY;
            return Some(Refusal::DailyCap(Duration::from_nanos((midnight - self.now).max(0) as u64)));
        }
        let needed = i128::from(weight) * UNITS;
        (self.level < needed).then(|| Refusal::Wait(Duration::from_nanos(self.nanoseconds_to(needed) as u64)))
    }

    /// Nanoseconds until the level reaches `units`, rounded up.
    fn nanoseconds_to(&self, units: i128) -> i64 {
        let missing = (units - self.level).max(0);
        let rate = i128::from(self.limits.per_minute.max(1));
        i64::try_from((missing + rate - 1) / rate).unwrap_or(i64::MAX)
    }

    fn advance(&mut self, now: i64) {
        let now = now.max(self.now);
        let refilling = now - self.now.max(self.held_until).min(now);
        let gained = i128::from(refilling) * i128::from(self.limits.per_minute);
        self.level = (self.level + gained).min(self.capacity());
        self.now = now;
        let window_start = now.saturating_sub(i64::from(WINDOW_SECONDS) * SECOND);
        while self.spent.front().is_some_and(|&(at, _)| at <= window_start) {
            self.spent.pop_front();
        }
        let day = now.div_euclid(DAY);
        if day != self.day {
            self.day = day;
            self.spent_today = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Tier;
    use proptest::prelude::*;

    fn free(now: i64) -> Bucket {
        Bucket::new(Tier::Free.spec().into(), now)
    }

    #[test]
    fn a_free_bucket_holds_twenty_and_refills_ten_a_minute() {
        let mut bucket = free(0);
        for _ in 0..20 {
            bucket.try_take(1, 0).unwrap();
        }
        assert_eq!(bucket.try_take(1, 0), Err(Refusal::Wait(Duration::from_secs(6))));
        assert_eq!((bucket.remaining(0), bucket.used(0), bucket.full_at(0)), (0, 20, 120 * SECOND));
        assert!(bucket.try_take(1, 6 * SECOND - 1).is_err());
        bucket.try_take(1, 6 * SECOND).unwrap();
        assert_eq!(bucket.used(60 * SECOND), 1); // the first twenty have left the window
    }

    #[test]
    fn a_weight_above_the_capacity_never_fits() {
        assert_eq!(free(0).try_take(21, 0), Err(Refusal::TooHeavy));
        free(0).try_take(20, 0).unwrap();
    }

    #[test]
    fn the_daily_cap_resets_at_midnight_utc() {
        let mut bucket = free(0);
        let mut now = 0;
        for _ in 0..50 {
            bucket.try_take(20, now).unwrap();
            now += 120 * SECOND;
        }
        let left = Duration::from_nanos((DAY - now) as u64);
        assert_eq!(bucket.try_take(1, now), Err(Refusal::DailyCap(left)));
        bucket.try_take(1, DAY).unwrap();
    }

    #[test]
    fn a_refund_is_as_if_nothing_was_taken() {
        let mut bucket = free(0);
        bucket.try_take(7, 0).unwrap();
        bucket.refund(7, 0);
        assert_eq!((bucket.remaining(0), bucket.used(0)), (20, 0));
    }

    #[test]
    fn the_services_word_moves_the_level() {
        let mut bucket = free(0);
        bucket.observe_remaining(5, true, 0);
        assert_eq!(bucket.remaining(0), 5);
        bucket.observe_remaining(9, false, 0); // an older answer
        assert_eq!(bucket.remaining(0), 5);
        bucket.observe_remaining(9, true, 0);
        assert_eq!(bucket.remaining(0), 9);
        bucket.observe_remaining(1_000, true, 0); // above the capacity
        assert_eq!(bucket.remaining(0), 20);
    }

    #[test]
    fn the_services_word_moves_what_was_used() {
        let mut bucket = free(0);
        bucket.try_take(5, 0).unwrap();
        bucket.try_take(3, SECOND).unwrap();
        bucket.observe_used(6, SECOND); // 2 of the 3 were not charged
        assert_eq!((bucket.used(SECOND), bucket.used(60 * SECOND)), (6, 1));
        bucket.observe_used(9, 2 * SECOND);
        assert_eq!(bucket.used(2 * SECOND), 9);
        bucket.observe_used(0, 2 * SECOND);
        assert_eq!(bucket.used(2 * SECOND), 0);
    }

    #[test]
    fn a_held_bucket_refills_after_its_release() {
        let mut bucket = free(0);
        assert!(bucket.is_nearly_full(Duration::ZERO, 0));
        bucket.try_take(10, 0).unwrap();
        assert!(!bucket.is_nearly_full(Duration::from_secs(53), 0)); // 9 of the 10 refill in 54 s
        assert!(bucket.is_nearly_full(Duration::from_secs(54), 0));
        bucket.hold(60 * SECOND, 0);
        assert_eq!(bucket.remaining(30 * SECOND), 10);
        bucket.release(30 * SECOND);
        assert_eq!(bucket.remaining(60 * SECOND), 15);
        bucket.hold(72 * SECOND, 60 * SECOND);
        assert_eq!(bucket.remaining(78 * SECOND), 16); // by itself
    }

    #[test]
    fn joined_spends_are_given_back_too() {
        let mut bucket = free(0);
        for at in [0, 1, 2] {
            bucket.try_take(3, at).unwrap();
        }
        bucket.shorten();
        bucket.refund(3, 2);
        assert_eq!((bucket.remaining(2), bucket.used(2)), (14, 6));
        bucket.refund(100, 2);
        assert_eq!((bucket.remaining(2), bucket.used(2)), (20, 0));
    }

    #[test]
    fn a_refusal_lowers_the_level_to_what_it_tells() {
        let mut bucket = free(0);
        bucket.observe_refusal(5, Duration::from_secs(12), 0); // 2 refill in 12 s
        assert_eq!((bucket.remaining(0), bucket.remaining(12 * SECOND)), (3, 5));
        bucket.observe_refusal(5, Duration::from_secs(600), 12 * SECOND);
        assert_eq!(bucket.remaining(12 * SECOND), 0);
        assert_eq!(bucket.refill(30, 12 * SECOND), Duration::from_secs(180)); // more than it holds
    }

    #[test]
    fn a_rate_of_a_tier_tells_its_daily_cap() {
        assert_eq!(Limits::of_rate(10), Tier::Free.spec().into());
        assert_eq!(Limits::of_rate(750).per_day, None);
        assert_eq!(Limits::of_rate(u32::MAX).burst, u32::MAX);
    }

    #[test]
    fn rate_and_capacity_change_together() {
        let mut bucket = free(0);
        bucket.set_limits(Limits::of_rate(5), 0);
        assert_eq!((bucket.remaining(0), bucket.limits().burst), (10, 10));
    }

    #[test]
    fn a_clock_that_jumps_back_changes_nothing() {
        let mut bucket = free(1_000 * SECOND);
        bucket.try_take(20, 1_000 * SECOND).unwrap();
        assert_eq!(bucket.remaining(0), 0);
        assert_eq!(bucket.remaining(1_006 * SECOND), 1);
    }

    /// The naive model: tokens as an exact fraction numerator, and every spend kept for ever.
    struct Model {
        rate: i128,
        burst: i128,
        cap: Option<u64>,
        level: i128,
        at: i64,
        spends: Vec<(i64, u64)>,
    }

    impl Model {
        fn take(&mut self, weight: u64, now: i64) -> bool {
            self.level = (self.level + i128::from(now - self.at) * self.rate).min(self.burst * UNITS);
            self.at = now;
            let today: u64 =
                self.spends.iter().filter(|(at, _)| at.div_euclid(DAY) == now.div_euclid(DAY)).map(|(_, w)| w).sum();
            let fits = self.level >= i128::from(weight) * UNITS && self.cap.is_none_or(|cap| today + weight <= cap);
            if fits {
                self.level -= i128::from(weight) * UNITS;
                self.spends.push((now, weight));
            }
            fits
        }

        fn used(&self, now: i64) -> u64 {
            self.spends.iter().filter(|(at, _)| *at > now - 60 * SECOND).map(|(_, weight)| weight).sum()
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_model(
            tier in 0usize..4, start in 0i64..DAY,
            steps in prop::collection::vec((0i64..200_000_000_000, 0u64..60), 1..300),
        ) {
            let spec = &crate::protocol::tier::TIERS[tier];
            let mut bucket = Bucket::new(spec.into(), start);
            let mut model = Model {
                rate: i128::from(spec.weight_per_minute), burst: i128::from(spec.burst()),
                cap: spec.weight_per_day.map(u64::from),
                level: i128::from(spec.burst()) * UNITS, at: start, spends: Vec::new(),
            };
            let mut now = start;
            for (pause, weight) in steps {
                now += pause;
                let refused = bucket.try_take(weight, now);
                prop_assert_eq!(refused.is_ok(), model.take(weight, now));
                prop_assert_eq!(bucket.used(now), model.used(now));
                prop_assert_eq!(i128::from(bucket.remaining(now)), model.level / UNITS);
                // The wait that a refusal names is enough, and one nanosecond less is not.
                if let Err(Refusal::Wait(wait)) = refused {
                    let mut later = bucket.clone();
                    prop_assert!(later.wait(weight, now + wait.as_nanos() as i64 - 1) != Ok(Duration::ZERO));
                    let at = now + wait.as_nanos() as i64;
                    prop_assert!(!matches!(later.try_take(weight, at), Err(Refusal::Wait(_))));
                }
            }
        }
    }
}
