//! Paths, methods, malformed and oversized requests, the `Host` header, failures behind the routes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::harness::{Bench, NOW, held, minutes, parse, raw};

#[test]
fn unknown_paths_and_methods_are_answered_in_json() {
    let bench = Bench::new();
    for path in ["/", "/v1", "/v1/points/", "/v2/points", "/shutdown", "/v1/%2e%2e/usage"] {
        let answer = bench.get("free", path);
        assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"), "{path}");
        assert!(answer.message().contains("/v1/points"));
        assert_eq!(answer.budget(), (10, 20, 0));
    }
    for method in ["POST", "DELETE", "PUT", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"] {
        let request = format!("{method} /v1/usage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = bench.raw(&request);
        assert_eq!((answer.status, answer.code().as_str()), (405, "METHOD_NOT_ALLOWED"), "{method}");
        let allowed: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "allow").collect();
        assert_eq!(allowed.len(), 1, "{allowed:?}");
        assert_eq!(allowed[0].1, "GET");
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")));
    }
}

#[test]
fn head_is_refused_and_costs_nothing() {
    let bench = Bench::new();
    let key = bench.key("free");
    let ask = |target: &str| {
        bench.raw(&format!(
            "HEAD {target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\nConnection: close\r\n\r\n"
        ))
    };
    let answer = ask(&minutes(1_000, ""));
    assert_eq!((answer.status, answer.header("allow"), answer.body.as_str()), (405, Some("GET"), ""));
    assert_eq!(answer.budget(), (10, 20, 0));
    assert_eq!((ask("/openapi.json").status, ask("/nowhere").status), (405, 404));
}

#[test]
fn a_peer_that_has_said_all_still_hears_its_answer() {
    let bench = Bench::new();
    for _ in 0..5 {
        let mut peer = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
        let head = format!("Host: localhost\r\nX-Service-Key: {}\r\n\r\n", bench.key("advanced"));
        write!(peer, "GET {} HTTP/1.1\r\n{head}GET /v1/usage HTTP/1.1\r\n{head}", minutes(1, "")).unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        let mut heard = String::new();
        peer.read_to_string(&mut heard).unwrap();
        assert_eq!(heard.matches("HTTP/1.1 200").count(), 2, "{heard}");
    }
}

#[test]
fn a_key_is_sent_once() {
    let bench = Bench::new();
    let key = bench.key("free");
    for (first, second) in [(key.as_str(), key.as_str()), (&key, "other"), ("other", &key)] {
        let head = format!("GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {first}\r\n");
        let answer = bench.raw(&format!("{head}x-service-KEY: {second}\r\nConnection: close\r\n\r\n"));
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_REQUEST"));
        assert!(answer.message().contains("once") && !answer.body.contains(&key), "{answer:?}");
    }
}

// faults.md row 52
#[test]
fn strange_targets_are_answered_and_reach_nothing_else() {
    let bench = Bench::new();
    for (line, status) in [
        ("GET /v1/../v1/usage", 404),
        ("GET /v1/./usage", 404),
        ("GET //v1/usage", 404),
        ("GET /v1/usage/..%2f..%2fetc%2fpasswd", 404),
        ("GET /v1/usage%00", 404),
        ("GET /v1/points?type=%00&interval=%00", 400),
        ("GET /v1/points?%ff=%fe", 400),
        ("GET /v1/points?&&=&==&", 400),
        ("GET /v1/usage\0", 400),
        ("GET /v1/us age", 400),
        ("GET v1/usage", 400),
        ("GET http://localhost", 404),
        ("GET http://[::1]:7/v1/usage", 200),
        ("GET http://", 400),
        ("OPTIONS *", 404),
        ("CONNECT localhost:80", 404),
    ] {
        let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n", bench.key("free"));
        let answer = bench.raw(&format!("{head}Connection: close\r\n\r\n"));
        assert_eq!(answer.status, status, "{line}: {answer:?}");
        assert!(answer.json().is_object(), "{line}");
    }
}

#[test]
fn requests_sent_at_once_are_answered_in_their_order() {
    let bench = Bench::new();
    let key = bench.key("free");
    let one = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\n\r\n");
    let all = [one("/v1/usage"), one("/nowhere"), one(&minutes(1, "")), "nonsense\r\n\r\n".to_owned()].concat();
    let mut stream = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(all.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let mut rest = bytes;
    let mut answers = Vec::new();
    while !rest.is_empty() {
        let answer = parse(&rest);
        let length = answer.number("content-length") as usize;
        let body: serde_json::Value = serde_json::from_str(&answer.body[..length]).unwrap();
        answers.push((answer.status, body["error"].as_str().map(str::to_owned)));
        rest = answer.body.as_bytes()[length..].to_vec();
    }
    let expected = [(200, None), (404, Some("NOT_FOUND".into())), (200, None), (400, Some("INVALID_REQUEST".into()))];
    assert_eq!(answers, expected);
}

#[test]
fn a_short_body_is_thrown_away_and_a_long_or_unclear_one_is_refused() {
    let bench = Bench::with(|config| config.limits.body_within = Duration::from_millis(50));
    let head = format!("GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n", bench.key("free"));
    // What follows a short body is the next request.
    let short = format!("{head}Content-Length: 5\r\n\r\nGET /{head}Connection: close\r\n\r\n");
    let answer = bench.raw(&short);
    let length = answer.number("content-length") as usize;
    assert_eq!((answer.status, parse(&answer.body.as_bytes()[length..]).status), (200, 200));
    for (more, status, code) in [
        ("Content-Length: 65537\r\n\r\n", 413, "BODY_TOO_LARGE"),
        ("Content-Length: 99999999999999999\r\n\r\n", 413, "BODY_TOO_LARGE"),
        ("Content-Length: 5\r\n\r\nGET", 408, "TIMEOUT"),
        ("Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, "INVALID_REQUEST"),
        ("Content-Length: -1\r\n\r\n", 400, "INVALID_REQUEST"),
        ("Content-Length: 99999999999999999999999\r\n\r\n", 400, "INVALID_REQUEST"),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "INVALID_REQUEST"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400, "INVALID_REQUEST"),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "INVALID_REQUEST"),
        ("Transfer-Encoding: gzip\r\n\r\n", 400, "INVALID_REQUEST"),
    ] {
        let answer = bench.raw(&format!("{head}{more}"));
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{more:?}");
        assert_eq!(answer.header("connection"), Some("close"), "{more:?}");
    }
}

// faults.md row 52
#[test]
fn malformed_requests_get_a_400_in_json_and_the_service_goes_on() {
    let bench = Bench::new();
    for request in [
        "nonsense\r\n\r\n",
        "GET\r\n\r\n",
        "GET /v1/usage HTTP/9.9\r\n\r\n",
        "GET /v1/usage HTTP/1.1\r\nHost localhost\r\n\r\n",
        "GET /v1/usage HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\r\n\r\n",
    ] {
        let answer = bench.raw(request);
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_REQUEST"), "{request:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.number("content-length"), answer.body.len() as i64);
    }
    assert_eq!(bench.get("free", "/v1/usage").status, 200);
}

#[test]
fn an_oversized_url_and_an_oversized_head_are_refused_in_json() {
    let bench = Bench::new();
    let answer = bench.get("free", &format!("/v1/points?type={}", "A".repeat(16 * 1024)));
    assert_eq!((answer.status, answer.code().as_str()), (414, "URI_TOO_LONG"));
    let answer = bench.get("free", &format!("/v1/points?type={}", "A".repeat(15 * 1024)));
    assert_eq!(answer.status, 400);
    let answer = bench.raw(&format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(70_000)));
    assert_eq!((answer.status, answer.code().as_str()), (431, "HEADERS_TOO_LARGE"));
}

#[test]
fn every_answer_and_refusal_has_the_date_of_the_services_clock() {
    let bench = Bench::with(|config| config.limits.body_within = Duration::from_millis(50));
    let usage = format!("GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n", bench.key("free"));
    let huge = "a".repeat(70_000);
    let last = "Connection: close\r\n\r\n";
    for (request, status) in [
        (format!("{usage}{last}"), 200),
        (format!("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n{last}"), 404),
        (format!("POST /v1/usage HTTP/1.1\r\nHost: localhost\r\n{last}"), 405),
        (format!("GET /v1/usage HTTP/1.1\r\nHost: localhost\r\n{last}"), 401),
        (format!("GET /v1/usage HTTP/1.1\r\nHost: evil.example\r\n{last}"), 403),
        (format!("GET /v1/usage HTTP/1.1\r\n{last}"), 400),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n{last}", &huge[..17_000]), 414),
        (format!("{usage}Content-Length: 99999999\r\n\r\n"), 413),
        (format!("{usage}Content-Length: 5\r\n\r\nGET"), 408),
        (format!("{usage}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
        // These never reach the service's own code: hyper refuses them.
        ("nonsense\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {huge}\r\n\r\n"), 431),
    ] {
        let answer = bench.raw(&request);
        let dates: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "date").map(|(_, date)| date).collect();
        let line = request.lines().next().unwrap_or_default();
        assert_eq!(answer.status, status, "{line:.80}");
        // 2026-04-22 was a Wednesday.
        assert_eq!(dates, ["Wed, 22 Apr 2026 18:00:00 GMT"], "{status} {line:.80}");
    }
    assert_eq!(NOW, 1_776_880_800);
}

// faults.md row 54
#[test]
fn a_foreign_host_is_refused_before_the_key_is_looked_at() {
    let bench = Bench::new();
    let key = bench.key("free");
    let ask = |target: &str, host: &str| {
        bench
            .raw(&format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nX-Service-Key: {key}\r\nConnection: close\r\n\r\n"))
    };
    for host in ["localhost:1", "127.0.0.1", "[::1]:80", "LOCALHOST"] {
        assert_eq!(ask("/v1/usage", host).status, 200, "{host}");
    }
    for host in ["rebound.example", "10.1.2.3", "localhost.example:80"] {
        let answer = ask("/v1/usage", host);
        assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"), "{host}");
        assert_eq!(answer.header("x-ratelimit-limit"), None);
    }
    assert_eq!(ask("http://rebound.example/v1/usage", "localhost").status, 403);
    assert_eq!(ask("http://localhost/v1/usage", "localhost").status, 200);
}

#[test]
fn on_every_address_any_host_is_served() {
    let bench = Bench::with(|config| config.host = std::net::Ipv4Addr::UNSPECIFIED.into());
    assert_eq!(bench.service.url(), format!("http://127.0.0.1:{}", bench.service.port()));
    let key = bench.key("free");
    let answer = bench.raw(&format!(
        "GET /v1/usage HTTP/1.1\r\nHost: lab.example\r\nX-Service-Key: {key}\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(answer.status, 200);
}

#[test]
fn a_panic_behind_the_routes_is_a_500_and_the_connection_lives() {
    let bench = Bench::new();
    let key = bench.key("free");
    let request = |target: &str, close: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\n{close}\r\n")
    };
    let mut stream = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let both = request(&minutes(1, "&rawSymbol=PANIC"), "") + &request("/v1/usage", "Connection: close\r\n");
    stream.write_all(both.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let first = parse(&bytes);
    assert_eq!(first.status, 500);
    let length = first.number("content-length") as usize;
    let (body, second) = first.body.split_at(length);
    assert!(body.contains("INTERNAL_ERROR") && !body.contains("was told to"), "{body}");
    assert_eq!(parse(second.as_bytes()).status, 200);
    assert_eq!(bench.minutes("free", 1, "&rawSymbol=BROKEN").message(), "the store is gone");
}

#[test]
fn an_answer_that_takes_too_long_is_cut_and_costs_nothing() {
    let bench = Bench::with(|config| config.answer_within = Duration::from_millis(20));
    let answer = bench.get("free", &held());
    assert_eq!((answer.status, answer.code().as_str()), (504, "TIMEOUT"));
    assert_eq!(answer.budget(), (10, 20, 0));
    // Nor when the computation, which cannot be interrupted, ends after all.
    bench.started.recv().unwrap();
    bench.release.send(()).unwrap();
    assert_eq!(bench.get("free", "/v1/usage").budget(), (10, 20, 0));
}

#[test]
fn many_at_once_are_all_answered() {
    let bench = Bench::new();
    let (port, key) = (bench.service.port(), bench.key("unlimited"));
    let threads: Vec<_> = (0..40)
        .map(|_| {
            let request = format!(
                "GET {} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\nConnection: close\r\n\r\n",
                minutes(1, "")
            );
            std::thread::spawn(move || raw(port, request.as_bytes()).status)
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 200));
    assert_eq!(bench.get("unlimited", "/v1/usage").number("x-ratelimit-used"), 40);
}
