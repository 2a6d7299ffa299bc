//! Faults that the owner of a service switches on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::harness::{Bench, minutes, parse};
use crate::market::Market;
use crate::service::paths::paths;
use crate::service::{Fault, FaultRule, When};

fn next(bench: &Bench, path: &str, count: u32, fault: Fault) {
    bench.service.faults().add(FaultRule { path: path.into(), when: When::Next(count), fault }).unwrap();
}

/// All bytes that come for a request until the connection closes.
fn bytes(bench: &Bench, target: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n\r\n", bench.key("free"));
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes); // an end or a reset
    bytes
}

#[test]
fn refusals_come_as_often_as_asked_and_cost_nothing() {
    let bench = Bench::new();
    next(&bench, "/v1/points", 2, Fault::RateLimited { retry_after: 9 });
    next(&bench, "/v1/points", 1, Fault::Failure(503));
    assert_eq!(bench.get("free", "/v1/usage").status, 200);
    for _ in 0..2 {
        let answer = bench.minutes("free", 1, "");
        assert_eq!((answer.status, answer.code().as_str(), answer.number("retry-after")), (429, "RATE_LIMITED", 9));
        assert_eq!(answer.budget(), (10, 20, 0));
    }
    let answer = bench.minutes("free", 1, "");
    assert_eq!((answer.status, answer.code().as_str(), answer.budget()), (503, "UNAVAILABLE", (10, 20, 0)));
    assert_eq!(bench.minutes("free", 1, "").budget(), (10, 19, 1));
    assert_eq!(bench.service.faults().injected(), 3);
}

#[test]
fn a_cut_body_ends_after_the_bytes_asked_for_and_before_its_end() {
    let bench = Bench::new();
    let whole = bench.get("free", "/v1/usage").body;
    for (after, kept) in [(0, 0), (10, 10), (1_000_000, whole.len() - 1)] {
        next(&bench, "/v1/usage", 1, Fault::CutBody { after });
        let text = String::from_utf8(bytes(&bench, "/v1/usage")).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, &whole[..kept]);
        assert!(
            head.starts_with("HTTP/1.1 200") && head.contains(&format!("content-length: {}\r\n", whole.len())),
            "{head}"
        );
        assert!(!head.contains("chunked"), "{head}");
    }
    assert_eq!(bench.get("free", "/v1/usage").body, whole);
}

#[test]
fn a_long_body_is_cut_where_asked() {
    let bench = Bench::with(|config| config.source = Arc::new(Market::demo(0)));
    next(&bench, "", 1, Fault::CutBody { after: 200_000 });
    let target = "/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&period=120000";
    let answer = parse(&bytes(&bench, target));
    assert!((answer.status, answer.body.len()) == (200, 200_000) && answer.number("content-length") > 300_000);
}

#[test]
fn a_dropped_connection_says_nothing_and_costs_nothing() {
    let bench = Bench::new();
    next(&bench, "", 1, Fault::Drop);
    assert!(bytes(&bench, &minutes(1, "")).is_empty());
    assert_eq!(bench.get("free", "/v1/usage").budget(), (10, 20, 0));
}

#[test]
fn headers_are_replaced_and_left_out() {
    let bench = Bench::new();
    let wrong = vec![
        ("Content-Type".to_owned(), Some("text/html".to_owned())),
        ("x-ratelimit-remaining".to_owned(), Some("many".to_owned())),
        ("x-ratelimit-limit".to_owned(), None),
    ];
    next(&bench, "/v1", 1, Fault::Headers(wrong));
    let answer = bench.get("free", "/v1/usage");
    assert_eq!(answer.header("content-type"), Some("text/html"));
    assert_eq!((answer.header("x-ratelimit-remaining"), answer.header("x-ratelimit-limit")), (Some("many"), None));
    assert_eq!((answer.status, answer.number("x-ratelimit-used")), (200, 0));
    assert_eq!(bench.get("free", "/v1/usage").budget(), (10, 20, 0));
}

#[test]
fn latency_holds_the_answer_back() {
    let bench = Bench::new();
    let wait = Duration::from_millis(40);
    next(&bench, "", 1, Fault::Latency(wait));
    let begun = Instant::now();
    assert_eq!(bench.get("free", "/v1/usage").status, 200);
    assert!(begun.elapsed() >= wait);
}

#[test]
fn a_probability_hits_the_same_requests_again_and_clear_ends_it() {
    let bench = Bench::new();
    let faults = bench.service.faults();
    faults.add(FaultRule { path: "/v1".into(), when: When::Probability(0.5), fault: Fault::Failure(500) }).unwrap();
    let run = || {
        faults.seed(3);
        (0..30).map(|_| bench.get("free", "/v1/usage").status).collect::<Vec<_>>()
    };
    let statuses = run();
    assert!(statuses.contains(&200) && statuses.contains(&500));
    assert_eq!(run(), statuses);
    faults.clear();
    assert!((0..10).all(|_| bench.get("free", "/v1/usage").status == 200));
}

// faults.md row 54
#[test]
fn nothing_that_comes_over_the_network_switches_faults() {
    let bench = Bench::new();
    for path in ["/faults", "/v1/faults", "/v1/usage/faults"] {
        for method in ["GET", "POST"] {
            let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            assert_eq!(bench.raw(&request).status, 404, "{method} {path}");
        }
    }
    assert_eq!(bench.service.faults().injected(), 0);
}

#[test]
fn every_path_that_a_rule_may_name_is_a_path_of_the_service() {
    let bench = Bench::new();
    let mut all: Vec<_> = paths().collect();
    for (hits, path) in (1..).zip(&all) {
        assert_ne!(bench.get("free", path).status, 404, "{path}");
        next(&bench, path, 1, Fault::Failure(503));
        assert_eq!((bench.get("free", path).status, bench.service.faults().injected()), (503, hits), "{path}");
    }
    // Every path of the OpenAPI document, that document, and the two WebSockets: nothing is missing.
    let document: Value = serde_json::from_str(&bench.get("free", "/openapi.json").body).unwrap();
    let described = document["paths"].as_object().unwrap().keys().map(String::as_str);
    let mut known: Vec<_> = described.chain(["/ws", "/nonbook/ws"]).collect();
    all.sort_unstable();
    known.sort_unstable();
    assert_eq!(all, known);
}
