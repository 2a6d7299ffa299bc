//! Weight, burst, daily cap and the budget headers (section 8).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::harness::{Bench, NOW};
use crate::clock::{Clock, SECOND, UnixNanos};

#[test]
fn twenty_one_point_requests_pass_at_once_and_the_next_waits_exactly_as_reported() {
    let bench = Bench::new();
    for sent in 1..=20 {
        let answer = bench.minutes("free", 1, "");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.budget(), (10, 20 - sent, sent));
        assert_eq!(answer.number("x-ratelimit-reset"), NOW + 6 * sent);
    }
    let refused = bench.minutes("free", 1, "");
    assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMITED"));
    assert_eq!(refused.number("retry-after"), 6); // 10 a minute
    assert_eq!(refused.json()["retry_after"], 6);
    assert_eq!(refused.budget(), (10, 0, 20));

    bench.advance(5);
    assert_eq!(bench.minutes("free", 1, "").number("retry-after"), 1);
    bench.advance(1);
    assert_eq!(bench.minutes("free", 1, "").status, 200);
    assert_eq!(bench.minutes("free", 1, "").status, 429);
}

#[test]
fn the_wait_is_rounded_up_to_whole_seconds() {
    let bench = Bench::new();
    for points in [40_000, 40_000, 20_000] {
        assert_eq!(bench.minutes("basic", points, "").status, 200); // weight 100 together, all of it
    }
    let refused = bench.minutes("basic", 1, "");
    assert_eq!(refused.number("retry-after"), 2); // 1.2 s
    bench.advance(1);
    assert_eq!(bench.minutes("basic", 1, "").status, 429);
    bench.advance(1);
    assert_eq!(bench.minutes("basic", 1, "").status, 200);
}

#[test]
fn headers_and_usage_agree_and_usage_is_free() {
    let bench = Bench::new();
    let fresh = bench.get("free", "/v1/usage");
    assert_eq!(fresh.body, format!(r#"{{"limit":10,"remaining":20,"reset":{NOW},"window_seconds":60}}"#));
    bench.minutes("free", 1_001, ""); // weight 2
    bench.advance(1);
    let usage = bench.get("free", "/v1/usage");
    assert_eq!(
        usage.body,
        format!(r#"{{"limit":10,"remaining":18,"used":2,"reset":{},"window_seconds":60}}"#, NOW + 12)
    );
    assert_eq!(usage.budget(), (10, 18, 2));
    assert_eq!(usage.number("x-ratelimit-reset"), NOW + 12);
    // The spent weight leaves the window of 60 s; the reset is rounded up to a whole second, and never when full.
    bench.clock.advance(59 * SECOND + SECOND / 2);
    let later = bench.get("free", "/v1/usage");
    assert_eq!((later.budget(), later.number("x-ratelimit-reset")), ((10, 20, 0), NOW + 60));
}

#[test]
fn a_reset_within_a_second_is_reported_as_the_next_second() {
    let bench = Bench::new();
    bench.clock.advance(SECOND / 2);
    assert_eq!(bench.minutes("free", 1, "").number("x-ratelimit-reset"), NOW + 7); // 6.5 s
}

#[test]
fn what_is_refused_spends_nothing() {
    let bench = Bench::new();
    for (tier, more, status) in [
        ("free", "&rawSymbol=STRANGER", 400),
        ("free", "&exchange=NOWHERE&coin=BTC", 400),
        // Short answers are computed on the connection's thread, others on another.
        ("free", "&rawSymbol=BROKEN", 500),
        ("free", "&rawSymbol=PANIC", 500),
        ("free", "&rawSymbol=BROKEN&gapfill=true", 500),
        ("free", "&rawSymbol=PANIC&gapfill=true", 500),
        ("free", "&nonsense=1", 400),
        ("free", "&exchange=OKEX_SWAP&coin=BTC", 403),
    ] {
        let answer = bench.minutes(tier, 1, more);
        assert_eq!((answer.status, answer.budget()), (status, (10, 20, 0)), "{more}");
    }
    assert_eq!(bench.get("free", "/v1/nowhere").budget(), (10, 20, 0));
    assert_eq!(bench.get("free", "/v1/markets").budget(), (10, 20, 0));
}

#[test]
fn a_short_answer_is_charged_as_any_other() {
    let bench = Bench::new();
    for (spent, more) in [(1, ""), (2, "&gapfill=true")] {
        let answer = bench.minutes("free", 1, more);
        assert_eq!((answer.status, answer.budget()), (200, (10, 20 - spent, spent)), "{more:?}");
    }
}

#[test]
fn a_refused_heavy_request_leaves_room_for_a_light_one() {
    let bench = Bench::new();
    assert_eq!(bench.minutes("free", 10_000, "").budget(), (10, 10, 10));
    let refused = bench.get("free", &super::harness::minutes(10_080, "")); // weight 11, the last 7 days
    assert_eq!((refused.status, refused.number("retry-after"), refused.budget()), (429, 6, (10, 10, 10)));
    assert_eq!(bench.minutes("free", 10_000, "").budget(), (10, 0, 20));
}

#[test]
fn keys_have_budgets_of_their_own() {
    let bench = Bench::new();
    bench.minutes("advanced", 100_000, "");
    assert_eq!(bench.minutes("advanced", 1, "").budget(), (750, 1_399, 101));
    assert_eq!(bench.minutes("basic", 1, "").budget(), (50, 99, 1));
    assert_eq!(bench.minutes("standard", 1, "").budget(), (100, 199, 1));
    for _ in 0..100 {
        assert_eq!(bench.minutes("unlimited", 100_000, "&from=0").status, 200);
    }
    assert_eq!(bench.get("unlimited", "/v1/usage").budget(), (1_000_000_000, 1_999_990_000, 10_000));
}

#[test]
fn the_daily_cap_of_free_holds_until_midnight() {
    let bench = Bench::new();
    let mut elapsed = 0;
    for _ in 0..100 {
        assert_eq!(bench.minutes("free", 10_000, "").status, 200); // weight 10
        bench.advance(60);
        elapsed += 60;
    }
    let refused = bench.minutes("free", 1, "");
    let until_midnight = 6 * 3_600 - elapsed;
    assert_eq!((refused.status, refused.number("retry-after")), (429, until_midnight));
    assert!(refused.message().contains("daily cap of 1000"), "{}", refused.message());
    assert_eq!(refused.budget(), (10, 20, 0)); // the bucket itself is full again
    bench.advance(until_midnight - 1);
    assert_eq!(bench.minutes("free", 1, "").status, 429);
    bench.advance(1);
    assert_eq!(bench.minutes("free", 1, "").status, 200);
}

#[test]
fn a_cap_reached_just_before_midnight_also_waits_for_the_bucket() {
    let bench = Bench::new();
    bench.advance(6 * 3_600 - 6_001);
    for _ in 0..50 {
        assert_eq!(bench.minutes("free", 10_000, "").status, 200);
        assert_eq!(bench.minutes("free", 10_000, "").status, 200);
        bench.advance(120);
    }
    // One second to midnight, cap spent and, a moment ago, the bucket refilled: only the day matters.
    assert_eq!(bench.minutes("free", 10_000, "").number("retry-after"), 1);

    let bench = Bench::new();
    bench.advance(6 * 3_600 - 5_881);
    for _ in 0..49 {
        assert_eq!(bench.minutes("free", 10_000, "").status, 200);
        assert_eq!(bench.minutes("free", 10_000, "").status, 200);
        bench.advance(120);
    }
    assert_eq!(bench.minutes("free", 10_000, "").status, 200);
    assert_eq!(bench.minutes("free", 10_000, "").status, 200);
    // One second to midnight, cap spent and the bucket empty: 10 weight need a minute.
    let refused = bench.minutes("free", 10_000, "");
    assert_eq!(refused.number("retry-after"), 60);
    bench.advance(59);
    assert_eq!(bench.minutes("free", 10_000, "").status, 429);
    bench.advance(1);
    assert_eq!(bench.minutes("free", 10_000, "").status, 200);
}

#[test]
fn a_request_without_a_window_is_empty_and_weighs_one() {
    let bench = Bench::new();
    let omitted = bench.get("free", "/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=PANIC&interval=MINUTE");
    assert_eq!((omitted.status, omitted.body.as_str(), omitted.budget()), (200, "{}", (10, 19, 1)));
    let zero = bench.minutes("free", 0, "");
    assert_eq!((zero.status, zero.body.as_str(), zero.budget()), (200, "{}", (10, 18, 2)));
}

/// A clock that goes on whenever it is looked at.
struct Restless(AtomicI64);

impl Clock for Restless {
    fn now(&self) -> UnixNanos {
        UnixNanos(self.0.fetch_add(SECOND * 7 / 10, Ordering::SeqCst))
    }
}

// faults.md row 4
#[test]
fn a_refusal_tells_the_same_budget_in_its_words_and_in_its_headers() {
    let bench = Bench::with(|config| config.clock = Arc::new(Restless(AtomicI64::new(NOW * SECOND))));
    let mut answer = bench.minutes("free", 10_000, "");
    while answer.status == 200 {
        answer = bench.minutes("free", 10_000, "");
    }
    // Weight refills with every request: until there is enough, message and headers are of the same moment.
    let mut refused = 0;
    while answer.status == 429 {
        let words = format!("weighs 10 and {} are left", answer.number("x-ratelimit-remaining"));
        assert!(answer.message().contains(&words), "{answer:?}");
        answer = bench.minutes("free", 10_000, "");
        refused += 1;
    }
    assert!(answer.status == 200 && refused > 3, "{refused}: {answer:?}");
}
