//! Starting and stopping.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::harness::{Bench, held, parse};
use crate::protocol::Tier;
use crate::service::{Allowance, KeyEntry, Service, ServiceConfig, ServiceError, parse_keys};

#[test]
fn two_services_stand_side_by_side_with_keys_and_budgets_of_their_own() {
    let (first, second) = (Bench::new(), Bench::new());
    assert_ne!(first.service.url(), second.service.url());
    for (name, key) in first.service.keys() {
        assert_ne!(second.key(&name), key);
        assert!(key.starts_with(&format!("mp-local-{name}-")) && key.len() == 10 + name.len() + 32, "{key}");
    }
    let names: Vec<_> = first.service.keys().into_keys().collect();
    assert_eq!(names, ["advanced", "basic", "free", "standard", "unlimited"]);
    first.minutes("free", 1, "");
    assert_eq!(second.get("free", "/v1/usage").budget(), (10, 20, 0));
    let request = format!("GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n", first.key("free"));
    assert_eq!(second.raw(&format!("{request}Connection: close\r\n\r\n")).status, 401);
}

// faults.md row 51
#[test]
fn a_second_stop_does_nothing_and_the_port_is_free_again() {
    let bench = Bench::new();
    let port = bench.service.port();
    // A connection that has been used and waits for its next request does not hold the stop up.
    let mut idle = TcpStream::connect(("127.0.0.1", port)).unwrap();
    idle.write_all(b"GET /v1/usage HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut start = [0; 12];
    idle.read_exact(&mut start).unwrap();
    let begun = Instant::now();
    bench.service.stop();
    bench.service.stop();
    assert!(begun.elapsed() < Duration::from_secs(10));
    TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert_eq!(bench.service.port(), port);
}

// faults.md row 51
#[test]
fn a_request_under_way_is_finished_before_the_stop() {
    let bench = Bench::new();
    let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n\r\n", held(), bench.key("free"));
    let mut stream = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    bench.started.recv().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| bench.service.stop());
        while TcpStream::connect(("127.0.0.1", bench.service.port())).is_ok() {
            std::thread::yield_now(); // until the stop has begun
        }
        bench.release.send(()).unwrap();
    });
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert_eq!(parse(&bytes).status, 200);
}

#[test]
fn a_computation_that_never_ends_does_not_hold_the_stop_up() {
    let bench = Bench::new();
    let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n\r\n", held(), bench.key("free"));
    let mut stream = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    bench.started.recv().unwrap();
    let begun = Instant::now();
    bench.service.stop();
    assert!(begun.elapsed() < Duration::from_secs(20));
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes); // cut: an end or a reset, but no wait
    assert!(bytes.is_empty());
}

#[test]
fn it_starts_and_stops_inside_another_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let bench = Bench::new();
        assert_eq!(bench.get("free", "/v1/usage").status, 200);
        drop(bench);
    });
}

/// The error of a start with a changed configuration, on a source that is never asked.
fn refused(change: impl FnOnce(&mut ServiceConfig)) -> ServiceError {
    let mut kept = None;
    let bench = Bench::with(|config| kept = Some(config.clone()));
    let mut config = kept.unwrap();
    change(&mut config);
    let error = Service::start(config).unwrap_err();
    drop(bench);
    error
}

// faults.md row 51
#[test]
fn a_busy_port_is_named() {
    let holder = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = holder.local_addr().unwrap().port();
    let error = refused(|config| config.port = port);
    assert!(matches!(error, ServiceError::PortBusy { port: busy, .. } if busy == port));
    assert!(error.to_string().contains(&format!("port {port} of 127.0.0.1 is in use")), "{error}");
}

#[test]
fn an_address_of_another_machine_cannot_be_bound() {
    let error = refused(|config| config.host = [192, 0, 2, 1].into());
    assert!(matches!(error, ServiceError::Bind { .. }), "{error}");
}

fn entry(name: &str, key: &str) -> KeyEntry {
    KeyEntry { name: name.into(), key: key.to_owned().into(), allowance: Allowance::Tier(Tier::Basic) }
}

#[test]
fn given_keys_are_used_and_must_be_usable() {
    let bench = Bench::with(|config| config.keys = vec![entry("mine", "a secret")]);
    assert_eq!(bench.service.keys().into_iter().collect::<Vec<_>>(), [("mine".into(), "a secret".into())]);
    assert_eq!(bench.get("mine", "/v1/usage").budget(), (50, 100, 0));
    assert!(!format!("{:?} {:?}", bench.service, entry("mine", "a secret")).contains("secret\""));
    for (keys, problem) in [
        (vec![entry("a", "")], "the key named \"a\" is empty"),
        (vec![entry("a", "1"), entry("a", "2")], "two keys are named \"a\""),
        (vec![entry("a", "1"), entry("b", "1")], "\"a\" and \"b\" are the same key"),
    ] {
        assert_eq!(refused(|config| config.keys = keys).to_string(), format!("cannot use the keys: {problem}"));
    }
}

#[test]
fn keys_known_by_their_hash_alone_are_taken_and_shown_by_nobody() {
    // SHA-256 of `abc`, from the standard (FIPS 180-2, B.1).
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let text = format!("mine basic sha256:{hash}\nours free open-key\n");
    let bench = Bench::with(|config| config.keys = parse_keys(&text).unwrap());
    assert_eq!(bench.service.keys().into_keys().collect::<Vec<_>>(), ["ours"]);
    for (key, status) in [("abc", 200), ("open-key", 200), (hash, 401), ("ab", 401), (&format!("sha256:{hash}"), 401)] {
        let head = format!("GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\n");
        assert_eq!(bench.raw(&format!("{head}Connection: close\r\n\r\n")).status, status, "{key}");
    }
}
