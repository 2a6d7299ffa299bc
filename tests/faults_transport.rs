//! Faults of networks, proxies and servers, by their number in docs/faults.md: each over a real socket.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::scripted::{Scripted, Step, answer};
use marketpoints::client::{
    Client, ClientError, Config, ErrorKind, PointsArguments, PointsRequest, Progress, Registry,
};
use marketpoints::clock::{UnixNanos, UnixSecond};
use marketpoints::columns::Series;
use marketpoints::protocol::{PointsQuery, Tier};

const NOW: UnixNanos = UnixSecond(1_776_900_000).nanos();
const BODY: &str = r#"{"series":[{"id":{"type":"TRADE_SIDE_AGNOSTIC_AGG","interval":"MINUTE"},"points":[
    {"Point":{"open":1,"high":1,"low":1,"close":2.5,"volume":1,"timestamp":{"s":1776880800}}}]}]}"#;

fn config(url: &str) -> Config {
    Config { tier: Some(Tier::Advanced), first_pause: Duration::from_millis(1), retries: 2, ..Config::new("key", url) }
}

fn request() -> PointsRequest {
    PointsRequest::new(PointsArguments {
        query: PointsQuery::of_market("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE", "BTCUSDT", "1m"),
        start: Some(1_776_880_800.0),
        period: Some(60),
        ..PointsArguments::default()
    })
    .unwrap()
}

async fn fetch(config: Config) -> Result<Vec<Series>, ClientError> {
    Client::new(&config, &Registry::default())?.points(&request(), NOW, None).await
}

/// Fetches from a server that plays these steps; tells the outcome and how many requests came.
async fn play(steps: Vec<Step>, change: impl FnOnce(&mut Config)) -> (Result<Vec<Series>, ClientError>, usize) {
    let server = Scripted::start(steps);
    let mut settings = config(&server.url);
    change(&mut settings);
    let outcome = fetch(settings).await;
    (outcome, server.requests().len())
}

fn send(status: &str, body: &str) -> Step {
    Step::Send(answer(status, "", body))
}

fn close(outcome: Result<Vec<Series>, ClientError>) -> f64 {
    outcome.unwrap()[0].floats("close").unwrap()[0]
}

fn encoded(encoding: &str, body: &[u8]) -> Step {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n", body.len());
    Step::Send([head.as_bytes(), body].concat())
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn d3_12_redirects_stay_in_the_origin_and_come_to_an_end() {
    let step = Step::Send(answer("302 Found", "Location: /v1/points\r\n", ""));
    let (outcome, requests) = play(vec![step], |_| ()).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind, requests), (ErrorKind::Server, 4));
    assert!(error.message.contains("too many redirects"), "{error}");
    // The same host at another port, or by another scheme, is another origin.
    for location in ["http://127.0.0.1:9/v1/points", "https://127.0.0.1/v1/points", "//localhost/v1/points"] {
        let step = Step::Send(answer("307 Moved", &format!("Location: {location}\r\n"), ""));
        let (outcome, requests) = play(vec![step], |_| ()).await;
        let error = outcome.unwrap_err();
        assert!(error.message.contains("another origin") && requests == 1, "{location}: {error}");
    }
}

#[tokio::test]
async fn d3_13_an_answer_that_is_no_data_is_never_data() {
    let page = "<html><title>Log in to the proxy</title></html>";
    for (step, kind) in [
        (send("204 No Content", ""), ErrorKind::Server),
        (send("200 OK", ""), ErrorKind::Decode),
        (send("200 OK", page), ErrorKind::Decode),
        (send("200 OK", r#"{"code":13,"message":"internal","details":[]}"#), ErrorKind::Decode),
        (send("200 OK", "null"), ErrorKind::Decode),
        (send("304 Not Modified", ""), ErrorKind::Server),
    ] {
        let (outcome, _) = play(vec![step], |_| ()).await;
        assert_eq!(outcome.unwrap_err().kind, kind);
    }
    let (outcome, _) = play(vec![send("502 Bad Gateway", page)], |settings| settings.retries = 0).await;
    assert!(outcome.unwrap_err().message.contains("Log in to the proxy"));
}

#[tokio::test]
async fn d3_14_a_name_that_does_not_resolve_and_lengths_that_lie() {
    let error = fetch(Config { retries: 1, ..config("http://nobody.invalid") }).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Transport);
    assert!(error.message.contains("no connection") && error.message.contains("(after 2 attempts)"), "{error}");
    // Content-Length too short: what lies beyond it is no part of the body.
    let short = format!("HTTP/1.1 200 OK\r\nContent-Length: 40\r\nConnection: close\r\n\r\n{BODY}");
    let (outcome, requests) = play(vec![Step::Send(short.into_bytes())], |_| ()).await;
    assert_eq!((outcome.unwrap_err().kind, requests), (ErrorKind::Decode, 3));
}

#[tokio::test]
async fn d3_15_a_body_that_stalls_or_drips_ends() {
    fn stall(mut stream: TcpStream) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{{", BODY.len());
        let _ = stream.write_all(head.as_bytes());
        let _ = std::io::copy(&mut stream, &mut std::io::sink()); // until the client goes away
    }
    fn drip(mut stream: TcpStream) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", BODY.len());
        let _ = stream.write_all(head.as_bytes());
        for byte in BODY.bytes() {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20)); // what the fault is
        }
    }
    let (outcome, requests) = play(vec![Step::Run(stall), send("200 OK", BODY)], |settings| {
        settings.read_timeout = Duration::from_millis(100);
    })
    .await;
    assert_eq!((close(outcome), requests), (2.5, 2));
    let (outcome, _) = play(vec![Step::Run(stall)], |settings| {
        (settings.read_timeout, settings.retries) = (Duration::from_millis(100), 0);
    })
    .await;
    let error = outcome.unwrap_err();
    assert!(error.kind == ErrorKind::Timeout && error.message.contains("read_timeout=0.1 s"), "{error}");
    let (outcome, _) = play(vec![Step::Run(drip)], |settings| {
        (settings.timeout, settings.retries) = (Duration::from_millis(300), 0);
    })
    .await;
    assert_eq!(outcome.unwrap_err().kind, ErrorKind::Timeout);
}

#[tokio::test]
async fn d3_15_all_attempts_together_are_bounded() {
    let begun = Instant::now();
    let (outcome, _) = play(vec![Step::Stall], |settings| {
        settings.total_timeout = Some(Duration::from_millis(300));
    })
    .await;
    let error = outcome.unwrap_err();
    assert!(error.kind == ErrorKind::Timeout && error.message.contains("total_timeout"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10)); // the attempt alone may take 30
    // A pause that would last longer is not begun.
    let (outcome, requests) = play(vec![send("503 Busy", "busy")], |settings| {
        settings.first_pause = Duration::from_secs(60);
        settings.jitter = std::sync::Arc::new(|| 1.0);
        settings.total_timeout = Some(Duration::from_secs(20));
    })
    .await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind, error.status, requests), (ErrorKind::Server, Some(503), 1));
    assert!(error.message.ends_with("(after 1 attempt; total_timeout allows no more)"), "{error}");
}

#[tokio::test]
async fn d3_16_compressed_bodies_that_lie() {
    let packed = gzip(BODY.as_bytes());
    let (outcome, _) = play(vec![encoded("gzip", &packed)], |_| ()).await;
    assert_eq!(close(outcome), 2.5);
    let mut corrupt = packed.clone();
    let middle = corrupt.len() / 2;
    corrupt[middle] ^= 0xff;
    for (step, kind) in [
        (encoded("gzip", &packed[..packed.len() - 4]), ErrorKind::Transport),
        (encoded("gzip", &corrupt), ErrorKind::Transport),
        (encoded("gzip", BODY.as_bytes()), ErrorKind::Transport),
        (encoded("zstd", &packed), ErrorKind::Transport),
        (encoded("gzip", &gzip(&packed)), ErrorKind::Decode),
        (encoded("identity", &packed), ErrorKind::Decode),
    ] {
        let (outcome, _) = play(vec![step], |_| ()).await;
        assert_eq!(outcome.unwrap_err().kind, kind);
    }
}

#[tokio::test]
async fn d3_16_and_17_no_body_grows_beyond_its_bound() {
    // 8 MiB of nothing in 8 KiB; and the same announced, unannounced, and just within the bound.
    let bomb = gzip(&vec![b' '; 8 << 20]);
    let plain = " ".repeat(2 << 20);
    let unannounced = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{plain}");
    for step in [encoded("gzip", &bomb), send("200 OK", &plain), Step::Send(unannounced.into_bytes())] {
        let (outcome, requests) = play(vec![step], |settings| settings.max_body = 1 << 20).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.kind, requests), (ErrorKind::Server, 1));
        assert!(error.message.contains("max_body=1048576"), "{error}");
    }
    let (outcome, _) = play(vec![send("200 OK", BODY)], |settings| settings.max_body = BODY.len() as u64).await;
    assert_eq!(close(outcome), 2.5);
}

#[tokio::test]
async fn d3_18_a_connection_that_was_kept_too_long_is_no_failure() {
    fn keep_and_close(mut stream: TcpStream) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{BODY}", BODY.len());
        let _ = stream.write_all(head.as_bytes()); // keeps the connection, and then does not
    }
    let server = Scripted::start(vec![Step::Run(keep_and_close)]);
    let client = Client::new(&config(&server.url), &Registry::default()).unwrap();
    for _ in 0..5 {
        assert_eq!(close(client.points(&request(), NOW, None).await), 2.5);
    }
}

#[tokio::test]
async fn d3_19_a_bad_proxy_is_named_and_loopback_goes_past_the_environments() {
    let refusing = Scripted::start(vec![send("407 Proxy Authentication Required", "who are you?")]);
    let mut settings = config("http://service.invalid");
    settings.proxy = Some(refusing.url.clone());
    let error = fetch(settings).await.unwrap_err();
    assert_eq!((error.status, refusing.requests().len()), (Some(407), 1));
    assert!(error.message.contains("who are you?"), "{error}");
    assert!(refusing.requests()[0].starts_with("GET http://service.invalid/v1/points?"));
    let nobody = config("http://service.invalid");
    let error = fetch(Config { proxy: Some("http://127.0.0.1:9".into()), retries: 0, ..nobody }).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Transport);
    let words = "no connection to the service at http://service.invalid through the proxy that proxy= names";
    assert!(error.message.contains(words) && !error.message.contains("base_url"), "{error}");
    // A careless proxy echoes what it was sent.
    let echo = send("403 Forbidden", "x-service-key: k, proxy-authorization: Basic dXNlcjpQV1NFQ1JFVDg4, PWSECRET88");
    let mut settings = config("http://service.invalid");
    settings.proxy = Some(Scripted::start(vec![echo]).url.replace("http://", "http://user:PWSECRET88@"));
    let said = fetch(settings).await.unwrap_err().message;
    assert!(said.contains("Basic <proxy password>, <proxy password>"), "{said}");
    let problem =
        Client::new(&Config { proxy: Some("no proxy".into()), ..config("http://a.invalid") }, &Registry::default());
    assert!(problem.err().unwrap().message.contains("proxy"));
}

#[tokio::test]
async fn d3_03_a_429_that_says_nothing_waits_by_the_own_bucket() {
    let (outcome, requests) = play(vec![send("429 Slow Down", "<html>slow down</html>")], |settings| {
        settings.max_wait = Some(Duration::from_millis(100));
    })
    .await;
    let error = outcome.unwrap_err();
    // A weight of 1 refills in 0.08 s at 750 a minute; nobody comes back within a second, though.
    assert_eq!((error.kind, requests), (ErrorKind::RateLimit, 1));
    assert!((0.8..=1.0).contains(&error.retry_after.unwrap()), "{error:?}");
    // A call that may wait does, and then there is room for it.
    let begun = Instant::now();
    let (outcome, requests) = play(vec![send("429 Slow Down", ""), send("200 OK", BODY)], |_| ()).await;
    assert_eq!((close(outcome), requests), (2.5, 2));
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

/// A plan of ten requests: a thousand snapshots of a deep book each.
/// A thousand minutes each.
fn requests(count: i64) -> PointsRequest {
    let market = PointsQuery::of_market("BLOCK_BOOK_SNAPSHOT_AGG", "BINANCE", "BTCUSDT", "1m");
    PointsRequest::new(PointsArguments {
        query: PointsQuery { block_size: Some(1.0), ..market },
        start: Some((1_776_840_000 - 60_000 * count) as f64),
        period: Some(60_000 * count),
        ..PointsArguments::default()
    })
    .unwrap()
}

#[tokio::test]
async fn a_plan_goes_on_past_a_failure_and_stops_where_all_would_fail() {
    fn one_fails(head: &str) -> Step {
        if head.contains("from=1776300000") { send("500 Oops", "only this one") } else { send("200 OK", "{}") }
    }
    fn all_fail(_: &str) -> Step {
        send("500 Oops", "down")
    }
    fn refused(_: &str) -> Step {
        send("401 Unauthorized", "who?")
    }
    let run = |count: usize, choose| async move {
        let server = Scripted::start(vec![Step::Choose(choose)]);
        let settings = Config { retries: 0, ..config(&server.url) };
        let client = Client::new(&settings, &Registry::default()).unwrap();
        let plan = client.plan(&requests(count as i64), NOW).unwrap();
        assert_eq!(plan.requests.len(), count);
        let error = client.points(&requests(count as i64), NOW, None).await.unwrap_err();
        (error, server.requests().len(), client.budget().unwrap().used.0)
    };
    let (error, requests, used) = run(10, one_fails).await;
    let partial = error.partial.unwrap();
    assert_eq!((error.kind, partial.failures.len(), requests, used), (ErrorKind::Partial, 1, 10, 100));
    assert!(partial.failures[0].request.as_ref().unwrap().contains("from=1776300000"));
    // A service that is down is asked no more after the third failure: eight are under way at the first, and two may follow.
    let (error, requests, used) = run(15, all_fail).await;
    assert_eq!(error.kind, ErrorKind::Server);
    assert!((3..=10).contains(&requests) && used == 10 * requests as u64, "{requests}, {used}");
    let (error, requests, _) = run(15, refused).await;
    assert_eq!(error.kind, ErrorKind::Authentication);
    assert!((1..=8).contains(&requests), "{requests}");
}

/// A panic in a task, here of a callback, is that task's alone: budget, connections and the client go on.
#[tokio::test]
async fn d3_43_a_panicking_task_does_not_poison_the_client() {
    let server = Scripted::start(vec![Step::Choose(|_| send("200 OK", "{}"))]);
    let client = Client::new(&config(&server.url), &Registry::default()).unwrap();
    for _ in 0..3 {
        let broken = client.clone();
        let task = tokio::spawn(async move {
            let progress: Progress = Arc::new(|_| panic!("a callback with a fault of its own"));
            broken.points(&requests(3), NOW, Some(progress)).await.map(drop)
        });
        assert!(task.await.unwrap_err().is_panic());
        assert!(client.points(&requests(1), NOW, None).await.is_ok());
    }
    // What was sent stays charged, and no more than what was asked for.
    let sent = server.requests().len() as u64;
    assert!((10 * sent..=10 * 3 * (3 + 1)).contains(&client.budget().unwrap().used.0));
}
