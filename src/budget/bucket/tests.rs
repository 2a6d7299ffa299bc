use super::*;
use crate::clock::SECONDS_PER_DAY;
use crate::protocol::Tier;
use proptest::prelude::*;

const DAY: i64 = SECONDS_PER_DAY * SECOND;

fn free(now: i64) -> Bucket {
    Bucket::new(Tier::Free.spec().into(), UnixNanos(now))
}

#[test]
fn a_free_bucket_holds_twenty_and_refills_ten_a_minute() {
    let mut bucket = free(0);
    for _ in 0..20 {
        bucket.try_take(Weight(1), UnixNanos(0)).unwrap();
    }
    assert_eq!(bucket.try_take(Weight(1), UnixNanos(0)), Err(Refusal::Wait(Duration::from_secs(6))));
    assert_eq!(
        (bucket.remaining(UnixNanos(0)).0, bucket.used(UnixNanos(0)).0, bucket.full_at(UnixNanos(0)).0),
        (0, 20, 120 * SECOND)
    );
    assert!(bucket.try_take(Weight(1), UnixNanos(6 * SECOND - 1)).is_err());
    bucket.try_take(Weight(1), UnixNanos(6 * SECOND)).unwrap();
    assert_eq!(bucket.used(UnixNanos(60 * SECOND)).0, 1); // the first twenty have left the window
}

#[test]
fn a_weight_above_the_capacity_never_fits() {
    assert_eq!(free(0).try_take(Weight(21), UnixNanos(0)), Err(Refusal::TooHeavy));
    free(0).try_take(Weight(20), UnixNanos(0)).unwrap();
}

#[test]
fn the_daily_cap_resets_at_midnight_utc() {
    let mut bucket = free(0);
    let mut now = 0;
    for _ in 0..50 {
        bucket.try_take(Weight(20), UnixNanos(now)).unwrap();
        now += 120 * SECOND;
    }
    let left = Duration::from_nanos((DAY - now) as u64);
    assert_eq!(bucket.try_take(Weight(1), UnixNanos(now)), Err(Refusal::DailyCap(left)));
    bucket.try_take(Weight(1), UnixNanos(DAY)).unwrap();
}

#[test]
fn what_is_given_back_late_leaves_what_was_spent_since() {
    let second = 1_000_000_000;
    let mut bucket = Bucket::new(Tier::Advanced.spec().into(), UnixNanos(0));
    bucket.try_take(Weight(10), UnixNanos(0)).unwrap();
    bucket.try_take(Weight(10), UnixNanos(61 * second)).unwrap();
    bucket.refund_of(Weight(10), UnixNanos(0), UnixNanos(62 * second));
    assert_eq!(bucket.used(UnixNanos(62 * second)).0, 10);
    bucket.refund_of(Weight(10), UnixNanos(61 * second), UnixNanos(62 * second));
    assert_eq!(bucket.used(UnixNanos(62 * second)).0, 0);
}

#[test]
fn a_refund_is_as_if_nothing_was_taken() {
    let mut bucket = free(0);
    bucket.try_take(Weight(7), UnixNanos(0)).unwrap();
    bucket.refund(Weight(7), UnixNanos(0));
    assert_eq!((bucket.remaining(UnixNanos(0)).0, bucket.used(UnixNanos(0)).0), (20, 0));
}

#[test]
fn the_services_word_moves_the_level() {
    let mut bucket = free(0);
    bucket.observe_remaining(Weight(5), true, UnixNanos(0));
    assert_eq!(bucket.remaining(UnixNanos(0)).0, 5);
    bucket.observe_remaining(Weight(9), false, UnixNanos(0)); // an older answer
    assert_eq!(bucket.remaining(UnixNanos(0)).0, 5);
    bucket.observe_remaining(Weight(9), true, UnixNanos(0));
    assert_eq!(bucket.remaining(UnixNanos(0)).0, 9);
    bucket.observe_remaining(Weight(1_000), true, UnixNanos(0)); // above the capacity
    assert_eq!(bucket.remaining(UnixNanos(0)).0, 20);
}

#[test]
fn the_services_word_moves_what_was_used() {
    let mut bucket = free(0);
    bucket.try_take(Weight(5), UnixNanos(0)).unwrap();
    bucket.try_take(Weight(3), UnixNanos(SECOND)).unwrap();
    bucket.observe_used(Weight(6), UnixNanos(SECOND)); // 2 of the 3 were not charged
    assert_eq!((bucket.used(UnixNanos(SECOND)).0, bucket.used(UnixNanos(60 * SECOND)).0), (6, 1));
    bucket.observe_used(Weight(9), UnixNanos(2 * SECOND));
    assert_eq!(bucket.used(UnixNanos(2 * SECOND)).0, 9);
    bucket.observe_used(Weight(0), UnixNanos(2 * SECOND));
    assert_eq!(bucket.used(UnixNanos(2 * SECOND)).0, 0);
}

#[test]
fn a_held_bucket_refills_after_its_release() {
    let mut bucket = free(0);
    assert!(bucket.is_nearly_full(Duration::ZERO, UnixNanos(0)));
    bucket.try_take(Weight(10), UnixNanos(0)).unwrap();
    assert!(!bucket.is_nearly_full(Duration::from_secs(53), UnixNanos(0))); // 9 of the 10 refill in 54 s
    assert!(bucket.is_nearly_full(Duration::from_secs(54), UnixNanos(0)));
    bucket.hold(UnixNanos(60 * SECOND), UnixNanos(0));
    assert_eq!(bucket.remaining(UnixNanos(30 * SECOND)).0, 10);
    bucket.release(UnixNanos(30 * SECOND));
    assert_eq!(bucket.remaining(UnixNanos(60 * SECOND)).0, 15);
    bucket.hold(UnixNanos(72 * SECOND), UnixNanos(60 * SECOND));
    assert_eq!(bucket.remaining(UnixNanos(78 * SECOND)).0, 16); // by itself
}

#[test]
fn joined_spends_are_given_back_too() {
    let mut bucket = free(0);
    for at in [0, 1, 2] {
        bucket.try_take(Weight(3), UnixNanos(at)).unwrap();
    }
    bucket.shorten();
    bucket.refund(Weight(3), UnixNanos(2));
    assert_eq!((bucket.remaining(UnixNanos(2)).0, bucket.used(UnixNanos(2)).0), (14, 6));
    bucket.refund(Weight(100), UnixNanos(2));
    assert_eq!((bucket.remaining(UnixNanos(2)).0, bucket.used(UnixNanos(2)).0), (20, 0));
}

#[test]
fn a_refusal_lowers_the_level_to_what_it_reports() {
    let mut bucket = free(0);
    bucket.observe_refusal(Weight(5), Duration::from_secs(12), UnixNanos(0)); // 2 refill in 12 s
    assert_eq!((bucket.remaining(UnixNanos(0)).0, bucket.remaining(UnixNanos(12 * SECOND)).0), (3, 5));
    bucket.observe_refusal(Weight(5), Duration::from_secs(600), UnixNanos(12 * SECOND));
    assert_eq!(bucket.remaining(UnixNanos(12 * SECOND)).0, 0);
    assert_eq!(bucket.refill(Weight(30), UnixNanos(12 * SECOND)), Duration::from_secs(180)); // more than it holds
}

#[test]
fn a_rate_of_a_tier_implies_its_daily_cap() {
    assert_eq!(Limits::of_rate(10), Tier::Free.spec().into());
    assert_eq!(Limits::of_rate(750).per_day, None);
    assert_eq!(Limits::of_rate(u32::MAX).burst, Weight::from(u32::MAX));
}

#[test]
fn rate_and_capacity_change_together() {
    let mut bucket = free(0);
    bucket.set_limits(Limits::of_rate(5), UnixNanos(0));
    assert_eq!((bucket.remaining(UnixNanos(0)).0, bucket.limits().burst.0), (10, 10));
}

// faults.md row 9
#[test]
fn a_clock_that_jumps_back_changes_nothing() {
    let mut bucket = free(1_000 * SECOND);
    bucket.try_take(Weight(20), UnixNanos(1_000 * SECOND)).unwrap();
    assert_eq!(bucket.remaining(UnixNanos(0)).0, 0);
    assert_eq!(bucket.remaining(UnixNanos(1_006 * SECOND)).0, 1);
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
        let mut bucket = Bucket::new(spec.into(), UnixNanos(start));
        let mut model = Model {
            rate: i128::from(spec.weight_per_minute), burst: i128::from(spec.burst().0),
            cap: spec.weight_per_day.map(|cap| cap.0),
            level: i128::from(spec.burst().0) * UNITS, at: start, spends: Vec::new(),
        };
        let mut now = start;
        for (pause, weight) in steps {
            now += pause;
            let refused = bucket.try_take(Weight(weight), UnixNanos(now));
            prop_assert_eq!(refused.is_ok(), model.take(weight, now));
            prop_assert_eq!(bucket.used(UnixNanos(now)).0, model.used(now));
            prop_assert_eq!(i128::from(bucket.remaining(UnixNanos(now)).0), model.level / UNITS);
            // The wait that a refusal names is enough, and one nanosecond less is not.
            if let Err(Refusal::Wait(wait)) = refused {
                let mut later = bucket.clone();
                prop_assert!(later.wait(Weight(weight), UnixNanos(now + wait.as_nanos() as i64 - 1)) != Ok(Duration::ZERO));
                let at = now + wait.as_nanos() as i64;
                prop_assert!(!matches!(later.try_take(Weight(weight), UnixNanos(at)), Err(Refusal::Wait(_))));
            }
        }
    }
}
