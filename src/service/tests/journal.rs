//! The journal of the last requests.

use super::harness::{Bench, NOW, minutes};
use crate::clock::UnixSecond;
use crate::protocol::Weight;
use crate::service::{Fault, FaultRule, When};

#[test]
fn a_request_is_in_the_journal_when_its_answer_is_there() {
    let bench = Bench::new();
    let journal = bench.service.journal();
    assert_eq!((journal.requests().len(), journal.spent()), (0, Weight(0)));
    let asked = minutes(1_001, "");
    for (index, (tier, target, status, weight)) in
        [("basic", asked.as_str(), 200, 2), ("free", "/v1/points?type=NO", 400, 0), ("basic", "/v1/usage", 200, 0)]
            .into_iter()
            .enumerate()
    {
        let answer = bench.get(tier, target);
        let requests = journal.requests();
        assert_eq!(requests.len(), index + 1);
        let record = &requests[index];
        assert_eq!((record.method.as_str(), record.target.as_str(), record.status), ("GET", target, status));
        assert_eq!((record.holder.as_deref(), record.plan), (Some(tier), Some(tier)));
        assert_eq!(
            (record.weight.0, record.time, record.bytes),
            (weight, UnixSecond(NOW).nanos(), answer.body.len() as u64)
        );
    }
    assert_eq!(journal.spent(), Weight(2));
    bench.service.stop();
    assert_eq!(journal.requests().len(), 3, "it outlives the service");
}

#[test]
fn the_journal_is_shown_without_keys() {
    let bench = Bench::new();
    let key = bench.key("free");
    bench.get("free", &format!("/v1/usage?x={key}&api_key=another"));
    bench.raw(&format!(
        "GET /v1/{key} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: nobody\r\nConnection: close\r\n\r\n"
    ));
    let requests = bench.service.journal().requests();
    assert_eq!(requests[0].target, "/v1/usage?x=[key]&api_key=[key]");
    assert_eq!(
        (requests[1].target.as_str(), requests[1].holder.as_deref(), requests[1].plan),
        ("/v1/[key]", None, None)
    );
    let debugged = format!("{:?} {requests:?}", bench.service.journal());
    assert!(!debugged.contains(&key) && !debugged.contains("another"), "{debugged}");
}

#[test]
fn the_oldest_give_way_and_their_weight_still_counts() {
    let bench = Bench::with(|config| config.kept_requests = 2);
    let journal = bench.service.journal();
    for points in [1, 1_001, 2_001] {
        bench.get("unlimited", &minutes(points, ""));
    }
    let weights: Vec<u64> = journal.requests().iter().map(|record| record.weight.0).collect();
    assert_eq!((weights, journal.left_out(), journal.spent()), (vec![2, 3], 1, Weight(6)));
    journal.clear();
    assert_eq!((journal.requests().len(), journal.left_out(), journal.spent()), (0, 0, Weight(0)));
    assert_eq!(bench.get("unlimited", "/v1/usage").budget().2, 6, "the budget is another matter");
}

#[test]
fn without_requests_the_weight_is_counted_all_the_same() {
    let bench = Bench::with(|config| config.kept_requests = 0);
    bench.get("basic", &minutes(1_001, ""));
    let journal = bench.service.journal();
    assert_eq!((journal.requests().len(), journal.left_out(), journal.spent()), (0, 0, Weight(2)));
}

#[test]
fn long_targets_take_no_more_memory_than_short_ones() {
    let bench = Bench::new();
    let journal = bench.service.journal();
    let long = format!("/v1/points?{}", "a".repeat(16_000));
    // 16,000 bytes each: 1,048 of them fill 16 MiB.
    for _ in 0..1_060 {
        assert_eq!(bench.get("unlimited", &long).status, 400);
    }
    let kept = journal.requests().len();
    assert!((1_040..1_050).contains(&kept), "{kept}");
    assert_eq!(journal.left_out(), 1_060 - kept as u64);
}

#[test]
fn what_was_answered_with_nothing_has_the_status_zero() {
    let bench = Bench::new();
    let rule = FaultRule { path: String::new(), when: When::Next(1), fault: Fault::Drop };
    bench.service.faults().add(rule).unwrap();
    let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.get("free", "/v1/usage")));
    assert!(closed.is_err(), "no answer came");
    assert_eq!(bench.service.journal().requests()[0].status, 0);
}
