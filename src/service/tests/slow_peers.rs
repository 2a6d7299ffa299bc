//! Silent, slow and many peers hold up neither other requests nor the stop, and use bounded memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use super::harness::{Bench, LARGE, held, large, minutes, parse};
use crate::market::Market;
use crate::service::ConnectionLimits;

const LONG: Duration = Duration::from_secs(3_600);

/// A service whose limits in time never come, unless a test sets one.
fn patient(change: impl FnOnce(&mut ConnectionLimits)) -> Bench {
    Bench::with(|config| {
        config.limits = ConnectionLimits {
            head_within: LONG,
            body_within: LONG,
            stalled_after: LONG,
            grace: LONG,
            ..ConnectionLimits::default()
        };
        change(&mut config.limits);
    })
}

fn connect(bench: &Bench, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

fn request(bench: &Bench, target: &str) -> String {
    let key = bench.key("unlimited");
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\nConnection: close\r\n\r\n")
}

/// All that comes until the connection ends, one way or the other.
fn all(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

// faults.md row 52
#[test]
fn silent_half_open_and_idle_connections_make_room_for_the_next() {
    let bench = patient(|limits| limits.connections = 6);
    let used = format!("GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n\r\n", bench.key("free"));
    let held: Vec<_> = (0..60)
        .map(|index| match index % 3 {
            0 => connect(&bench, ""),
            1 => connect(&bench, "GET /v1/usage HTTP/1.1\r\nHost: local"),
            _ => {
                let mut stream = connect(&bench, &used);
                let mut start = [0; 12];
                stream.read_exact(&mut start).unwrap();
                assert_eq!(&start, b"HTTP/1.1 200");
                stream
            }
        })
        .collect();
    assert_eq!(bench.get("free", "/v1/usage").status, 200);
    // The oldest had to go.
    let mut oldest = &held[0];
    assert!(matches!(oldest.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn a_request_under_way_never_makes_room() {
    let bench = patient(|limits| limits.connections = 1);
    let mut held = connect(&bench, &request(&bench, &held()));
    bench.started.recv().unwrap();
    let mut next = connect(&bench, &request(&bench, "/v1/usage"));
    bench.release.send(()).unwrap();
    assert_eq!(parse(&all(&mut held)).status, 200);
    assert_eq!(parse(&all(&mut next)).status, 200);
}

// faults.md row 52
#[test]
fn a_head_that_does_not_end_is_cut() {
    let bench = patient(|limits| limits.head_within = Duration::from_millis(50));
    for text in ["", "GET /v1/usage HTTP/1.1\r\nHost: localhost\r\n"] {
        assert!(all(&mut connect(&bench, text)).is_empty());
    }
}

// faults.md row 52
#[test]
fn a_peer_that_does_not_take_its_answer_is_cut() {
    let bench = patient(|limits| {
        limits.connections = 1;
        limits.stalled_after = Duration::from_millis(50);
    });
    let mut greedy = connect(&bench, &request(&bench, &large()));
    // Until its answer has begun it is a silent connection, which any newcomer replaces.
    let mut taken = vec![0; 12];
    greedy.read_exact(&mut taken).unwrap();
    // There is one place, so this one is answered when the other is gone.
    assert_eq!(bench.get("free", "/v1/usage").status, 200);
    taken.extend(all(&mut greedy));
    let answer = parse(&taken);
    assert!((answer.body.len() as i64) < answer.number("content-length"), "{}", taken.len());
}

// faults.md row 52
#[test]
fn answers_that_nobody_takes_hold_a_bounded_memory() {
    let bench = Bench::with(|config| {
        config.limits.stalled_after = LONG;
        config.limits.unsent = 1024 * 1024;
        config.answer_within = Duration::from_secs(3);
    });
    let large = large();
    // Under load an answer may be late by itself: then it is asked again, until its first bytes are those of a 200.
    let mut start = [0; 12];
    let in_time = (0..100).find_map(|_| {
        let mut holder = connect(&bench, &request(&bench, &large));
        holder.read_exact(&mut start).unwrap();
        assert!([b"HTTP/1.1 200", b"HTTP/1.1 504"].contains(&&start));
        (&start == b"HTTP/1.1 200").then_some(holder)
    });
    let mut holder = in_time.expect("one of a hundred answers in time");
    // The memory is taken: large answers wait, in vain and for nothing, and small ones pass.
    let answer = bench.get("standard", &large);
    assert_eq!((answer.status, answer.code().as_str(), answer.budget()), (504, "TIMEOUT", (100, 200, 0)));
    assert_eq!(bench.minutes("free", 1, "").status, 200);
    // Whoever takes the answer gives the memory back.
    let mut whole = start.to_vec();
    whole.extend(all(&mut holder));
    assert_eq!(parse(&whole).body.matches("\"close\"").count(), LARGE);
    assert!((0..100).any(|_| bench.get("standard", &large).status == 200));
}

#[test]
fn no_more_is_computed_at_once_than_there_are_cores() {
    let cores = available_parallelism().map_or(2, |cores| cores.get().max(2));
    let bench = patient(|_| ());
    let mut asked: Vec<_> = (0..4 * cores).map(|_| connect(&bench, &request(&bench, &held()))).collect();
    for _ in 0..4 * cores {
        bench.started.recv().unwrap();
        bench.release.send(()).unwrap();
    }
    assert!(asked.iter_mut().all(|stream| parse(&all(stream)).status == 200));
    let most = bench.running.lock().unwrap().1;
    assert!((1..=cores).contains(&most), "{most} of {cores}");
}

#[test]
fn silent_and_half_open_connections_do_not_hold_the_stop_up() {
    let bench = patient(|_| ());
    let mut silent = connect(&bench, "");
    let mut half = connect(&bench, "GET /v1/usage HTTP/1.1\r\nHost: local");
    assert_eq!(bench.get("free", "/v1/usage").status, 200);
    let begun = Instant::now();
    bench.service.stop();
    assert!(begun.elapsed() < Duration::from_secs(60), "the grace is an hour");
    assert!(all(&mut silent).is_empty() && all(&mut half).is_empty());
}

/// Eleven years of raw trades: minutes of work.
const HEAVY: &str = "/v1/points?type=TPO_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=WEEK&from=1420416000&period=347155200\
                     &blockSize=1000";
/// Not short, and little work.
const LIGHT: &str =
    "/v1/points?type=TPO_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&from=1776873600&period=3600";

/// A service of the demo market, where every thread for answers has a heavy one to make.
fn laden(change: impl FnOnce(&mut crate::service::ServiceConfig)) -> (Bench, Vec<TcpStream>) {
    let bench = Bench::with(|config| {
        config.source = Arc::new(Market::demo(0));
        config.answer_within = LONG;
        change(config);
    });
    let cores = available_parallelism().map_or(2, |cores| cores.get().max(2));
    let asked = (0..2 * cores).map(|_| connect(&bench, &request(&bench, HEAVY))).collect();
    (bench, asked)
}

// faults.md row 52
#[test]
fn heavy_answers_leave_room_for_light_ones() {
    let (bench, asked) = laden(|_| ());
    assert_eq!(bench.get("unlimited", LIGHT).status, 200);
    assert_eq!(bench.get("unlimited", "/v1/exchanges").status, 200);
    drop(asked);
}

// faults.md row 52
#[test]
fn lists_and_short_answers_wait_for_no_line_of_others() {
    let cores = available_parallelism().map_or(2, |cores| cores.get().max(2));
    let bench = patient(|_| ());
    let usual = minutes(200, "&rawSymbol=HELD&gapfill=true");
    let mut asked: Vec<_> = (0..4 * cores).map(|_| connect(&bench, &request(&bench, &usual))).collect();
    for _ in 0..cores {
        bench.started.recv().unwrap();
    }
    // All that may be computed at once is, and as much again waits three times over.
    let short = minutes(1, "&rawSymbol=BTCUSDT&gapfill=true");
    for target in ["/v1/exchanges", "/v1/types", "/v1/markets", "/v1/usage", &short] {
        assert_eq!(bench.get("unlimited", target).status, 200, "{target}");
    }
    for _ in 0..4 * cores {
        bench.release.send(()).unwrap();
    }
    assert!(asked.iter_mut().all(|stream| parse(&all(stream)).status == 200));
}

#[test]
fn work_ends_when_its_answer_is_late() {
    let (bench, mut asked) = laden(|config| config.answer_within = Duration::from_secs(3));
    for stream in &mut asked {
        assert_eq!(parse(&all(stream)).status, 504);
    }
    // All of the threads are free again, also the one that is kept for what takes long.
    let heavy_for_a_moment = "/v1/points?type=TPO_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=DAY&from=1776556800\
                              &period=259200&blockSize=1000";
    let begun = Instant::now();
    while bench.get("unlimited", heavy_for_a_moment).status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the work goes on");
    }
}

// faults.md row 52
#[test]
fn work_ends_when_who_asked_hangs_up() {
    let (bench, asked) = laden(|_| ());
    drop(asked);
    // The queue of heavy answers is worked off at once; without that it is half an hour.
    let heavy_for_a_moment = "/v1/points?type=TPO_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=DAY&from=1776556800\
                              &period=259200&blockSize=1000";
    let mut next = connect(&bench, &request(&bench, heavy_for_a_moment));
    assert_eq!(parse(&all(&mut next)).status, 200);
    assert_eq!(bench.get("free", "/v1/usage").budget(), (10, 20, 0));
}
