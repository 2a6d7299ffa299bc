//! The access log.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use super::harness::{Bench, NOW, minutes};
use crate::clock::UnixSecond;
use crate::protocol::Weight;
use crate::service::config::digest;
use crate::service::{AccessRecord, Fault, FaultRule, When, key_entry};

fn logged() -> (Bench, Receiver<AccessRecord>) {
    let (sender, records) = channel();
    let sender = Mutex::new(sender);
    let log = move |record: &AccessRecord| drop(sender.lock().unwrap().send(record.clone()));
    (Bench::with(|config| config.access_log = Some(Arc::new(log))), records)
}

#[test]
fn each_request_is_logged_once_with_what_it_cost() {
    let (bench, records) = logged();
    let asked = minutes(1_001, "");
    for (target, status, weight) in [
        (asked.as_str(), 200, 2),
        ("/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE", 200, 1),
        ("/v1/points?type=NO", 400, 0),
        ("/v1/usage", 200, 0),
        ("/nowhere?a=b", 404, 0),
    ] {
        let answer = bench.get("basic", target);
        let record = records.recv().unwrap();
        let request = (record.method.as_str(), record.target.as_str(), record.holder.as_deref());
        assert_eq!(request, ("GET", target, Some("basic")));
        assert_eq!((record.status, record.weight.0, record.time), (status, weight, UnixSecond(NOW).nanos()));
        assert_eq!((record.peer, record.bytes), (Some([127, 0, 0, 1].into()), answer.body.len() as u64));
    }
    bench.get("advanced", "/v1/prediction/analytics/leaderboard");
    assert_eq!(records.recv().unwrap().weight, Weight(60));
    bench.raw("GET /v1/usage HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    let record = records.recv().unwrap();
    assert_eq!((record.status, record.holder), (403, None));
    for (host, path, status) in [
        ("localhost", "/v1/points", 405),
        ("localhost", "/v1/usage", 405),
        ("localhost", "/nowhere", 404),
        ("evil.example", "/v1/usage", 403),
    ] {
        bench.raw(&format!("HEAD {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        let record = records.recv().unwrap();
        assert_eq!((record.status, record.bytes), (status, 0), "HEAD {path}: no body is sent");
    }
    assert!(records.try_recv().is_err());
}

#[test]
fn keys_never_reach_the_log() {
    let (bench, records) = logged();
    let key = bench.key("free");
    let encoded = key.replace('-', "%2D");
    for (target, expected) in [
        (format!("/v1/usage?x={encoded}"), "/v1/usage?x=[key]"),
        ("/v1/usage?k%65y=abc".to_owned(), "/v1/usage?k%65y=[key]"),
        (format!("/v1/usage?x=a{encoded}b&y=1+2"), "/v1/usage?x=[key]&y=1+2"),
        (format!("/v1/{encoded}/usage?{encoded}=1"), "/v1/[key]/usage?[key]=1"),
        (format!("/v1/usage?x={key}"), "/v1/usage?x=[key]"),
        (format!("/v1/{key}/usage"), "/v1/[key]/usage"),
        ("/v1/usage?a=1&api_key=mistaken&b=2".to_owned(), "/v1/usage?a=1&api_key=[key]&b=2"),
        ("/v1/coins?tokenName=Bitcoin&token=abc".to_owned(), "/v1/coins?tokenName=Bitcoin&token=[key]"),
    ] {
        bench.get("free", &target);
        let record = records.recv().unwrap();
        assert_eq!(record.target, expected);
        assert!(!format!("{record:?}").contains(&key));
    }
}

#[test]
fn what_is_too_long_to_be_read_is_not_logged() {
    let (bench, records) = logged();
    let long = format!("/v1/points?{}", "a=%41&".repeat(10_000));
    assert_eq!(bench.get("free", &long).status, 414);
    assert_eq!(records.recv().unwrap().target, format!("[URL of {} bytes]", long.len()));
    let method = "M".repeat(10_000);
    bench.raw(&format!("{method} /v1/usage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    let record = records.recv().unwrap();
    assert_eq!((record.status, record.method.as_str()), (405, "[long method]"));
}

#[test]
fn a_key_of_which_only_the_hash_is_known_does_not_reach_the_log_either() {
    let (sender, records) = channel();
    let sender = Mutex::new(sender);
    let bench = Bench::with(|config| {
        config.keys =
            vec![key_entry("lab", "free", &format!("sha256:{}", hex::encode(digest(b"mp-sha-key")))).unwrap()];
        config.access_log = Some(Arc::new(move |record| drop(sender.lock().unwrap().send(record.clone()))));
    });
    for (target, expected) in [
        ("/v1/usage?exchange=mp-sha-key&a=b", "/v1/usage?exchange=[key]&a=b"),
        ("/v1/usage?x=mp%2Dsha%2Dkey", "/v1/usage?x=[key]"),
        ("/v1/mp-sha-key", "/v1/[key]"),
    ] {
        bench.raw(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        assert_eq!(records.recv().unwrap().target, expected);
    }
}

#[test]
fn a_key_that_begins_with_another_or_stands_as_the_method_is_hidden_whole() {
    let (sender, records) = channel();
    let sender = Mutex::new(sender);
    let bench = Bench::with(|config| {
        config.keys = [("a", "lab"), ("b", "lab-2f"), ("c", "q/d+e==")]
            .map(|(name, key)| key_entry(name, "free", key).unwrap())
            .to_vec();
        config.access_log = Some(Arc::new(move |record| drop(sender.lock().unwrap().send(record.clone()))));
    });
    for (line, method, target) in [
        ("GET /v1/usage?x=lab-2f", "GET", "/v1/usage?x=[key]"),
        ("GET /v1/usage?x=q%2Fd%2Be%3D%3D", "GET", "/v1/usage?x=[key]"),
        ("lab-2f /v1/usage", "[key]", "/v1/usage"),
    ] {
        bench.raw(&format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        let record = records.recv().unwrap();
        assert_eq!((record.method.as_str(), record.target.as_str()), (method, target));
    }
}

#[test]
fn a_dropped_connection_is_logged_with_status_zero() {
    let (bench, records) = logged();
    let rule = FaultRule { path: String::new(), when: When::Next(1), fault: Fault::Drop };
    bench.service.faults().add(rule).unwrap();
    let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.get("free", "/v1/usage")));
    assert!(closed.is_err(), "no answer came");
    assert_eq!(records.recv().unwrap().status, 0);
}

#[test]
fn a_log_that_fails_does_not_harm_the_answer() {
    let bench = Bench::with(|config| config.access_log = Some(Arc::new(|_| panic!("the disk is full"))));
    assert_eq!(bench.get("free", "/v1/usage").status, 200);
}
