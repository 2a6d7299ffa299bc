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
fn what_is_given_back_late_leaves_what_was_spent_since() {
    let second = 1_000_000_000;
    let mut bucket = Bucket::new(Tier::Advanced.spec().into(), 0);
    bucket.try_take(10, 0).unwrap();
    bucket.try_take(10, 61 * second).unwrap();
    bucket.refund_of(10, 0, 62 * second);
    assert_eq!(bucket.used(62 * second), 10);
    bucket.refund_of(10, 61 * second, 62 * second);
    assert_eq!(bucket.used(62 * second), 0);
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
fn a_refusal_lowers_the_level_to_what_it_reports() {
    let mut bucket = free(0);
    bucket.observe_refusal(5, Duration::from_secs(12), 0); // 2 refill in 12 s
    assert_eq!((bucket.remaining(0), bucket.remaining(12 * SECOND)), (3, 5));
    bucket.observe_refusal(5, Duration::from_secs(600), 12 * SECOND);
    assert_eq!(bucket.remaining(12 * SECOND), 0);
    assert_eq!(bucket.refill(30, 12 * SECOND), Duration::from_secs(180)); // more than it holds
}

#[test]
fn a_rate_of_a_tier_implies_its_daily_cap() {
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

// faults.md row 9
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
