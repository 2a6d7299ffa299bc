//! What the client survives, and what it refuses to take for data. Each test is a fault over a real socket.

use std::io::Write;
use std::time::Duration;

use crate::support::scripted::{Scripted, Step, answer};
use marketpoints::client::{Client, ClientError, Config, ErrorKind, PointsArguments, PointsRequest, Registry};
use marketpoints::clock::{UnixNanos, UnixSecond};
use marketpoints::columns::Series;
use marketpoints::protocol::{DiscoveryList, Filters, MarketsQuery, Points, PointsQuery, Tier, Weight};

const KEY: &str = "secret-key-of-the-test";
const NOW: UnixNanos = UnixSecond(1_776_900_000).nanos();
const BODY: &str = r#"{"series":[{"id":{"type":"TRADE_SIDE_AGNOSTIC_AGG","interval":"MINUTE"},"points":[
    {"Point":{"open":1,"high":1,"low":1,"close":2.5,"volume":1,"timestamp":{"s":1776880800}}}]}]}"#;

fn config(server: &Scripted) -> Config {
    Config {
        tier: Some(Tier::Advanced),
        first_pause: Duration::from_millis(1),
        retries: 2,
        ..Config::new(KEY, server.url.as_str())
    }
}

fn request(points: i64) -> PointsRequest {
    PointsRequest::new(PointsArguments {
        query: PointsQuery::of_market("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE", "BTCUSDT", "1m"),
        start: Some(1_776_880_800.0 - ((points - 1) * 60) as f64),
        period: Some(points * 60),
        ..PointsArguments::default()
    })
    .unwrap()
}

async fn fetch(config: Config) -> Result<Vec<Series>, ClientError> {
    Client::new(&config, &Registry::default())?.points(&request(1), NOW, None).await
}

/// Fetches one point from a server that plays these steps; tells the outcome and how many requests came.
async fn play(steps: Vec<Step>) -> (Result<Vec<Series>, ClientError>, usize) {
    let server = Scripted::start(steps);
    let outcome = fetch(config(&server)).await;
    if let Err(error) = &outcome {
        let text = format!("{error} {error:?}");
        assert!(!text.contains(KEY), "the key is in an error: {text}");
        assert!(error.request.as_ref().is_some_and(|url| url.contains("/v1/points?type=")), "{error:?}");
    }
    (outcome, server.requests().len())
}

fn send(status: &str, body: &str) -> Step {
    Step::Send(answer(status, "", body))
}

fn close(series: &[Series]) -> f64 {
    series[0].floats("close").unwrap()[0]
}

#[tokio::test]
async fn a_body_in_an_encoding_that_was_not_asked_for_is_named() {
    for encoding in ["br", "deflate", "gzip, gzip"] {
        let step = Step::Send(answer("200 OK", &format!("Content-Encoding: {encoding}\r\n"), BODY));
        let (outcome, requests) = play(vec![step]).await;
        let error = outcome.unwrap_err();
        let words = format!("encoded as {encoding:?}; gzip and zstd were asked for");
        assert!(error.kind == ErrorKind::Decode && error.message.contains(&words), "{error}");
        assert_eq!(requests, 1);
    }
}

// faults.md row 56
#[tokio::test]
async fn an_answer_of_another_series_is_refused_at_once() {
    let id = r#""type":"TRADE_SIDE_AGNOSTIC_AGG","interval":"MINUTE""#;
    for (other, words) in [
        (r#""type":"TRADE_SIDE_AGNOSTIC_AGG","interval":"HOUR""#, "its interval is \"HOUR\", not \"MINUTE\""),
        (r#""type":"FUNDING_RATE_AGG","interval":"MINUTE""#, "its type is \"FUNDING_RATE_AGG\", not"),
        (&format!(r#"{id},"exchange":"BYBIT","rawSymbol":"BTCUSDT""#), "its exchange is \"BYBIT\", not \"BINANCE\""),
        (
            &format!(r#"{id},"exchange":"BINANCE","rawSymbol":"ETHUSDT""#),
            "its rawSymbol is \"ETHUSDT\", not \"BTCUSDT\"",
        ),
    ] {
        let body = BODY.replace(id, other);
        assert_ne!(body, BODY);
        // A service that is so wrong is not asked again.
        let (outcome, requests) = play(vec![send("200 OK", &body)]).await;
        let error = outcome.unwrap_err();
        assert!(error.kind == ErrorKind::Decode && error.message.contains(words), "{error}");
        assert_eq!(requests, 1);
    }
    // What it does not say contradicts nothing (supplement 2).
    let body = BODY.replace(id, r#""side":"BUY""#);
    assert_eq!(close(&play(vec![send("200 OK", &body)]).await.0.unwrap()), 2.5);
}

#[tokio::test]
async fn a_good_answer_and_the_key_in_its_header() {
    let server = Scripted::start(vec![send("200 OK", BODY)]);
    let series = fetch(config(&server)).await.unwrap();
    assert_eq!(close(&series), 2.5);
    let head = &server.requests()[0];
    assert!(head.to_lowercase().contains(&format!("x-service-key: {KEY}")));
    assert!(head.starts_with(
        "GET /v1/points?type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BINANCE&rawSymbol=BTCUSDT&interval=MINUTE\
         &from=1776880800&period=60 "
    ));
}

// faults.md row 14
#[tokio::test]
async fn connections_that_break_are_tried_again() {
    // Faults 14 and 18: closed before and within the head, a body shorter than announced, a broken chunk.
    let cut = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", BODY.len(), &BODY[..50]);
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ser\r\nzz\r\n";
    // A body that ends with the connection is as long as it is: only the document tells that it was cut.
    let unannounced = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", &BODY[..BODY.len() - 3]);
    for broken in [
        Step::Close,
        Step::Send(b"HTTP/1.1 200 O".to_vec()),
        Step::Send(cut.into_bytes()),
        Step::Send(chunk.as_bytes().to_vec()),
        Step::Send(unannounced.into_bytes()),
    ] {
        let (outcome, requests) = play(vec![broken, send("200 OK", BODY)]).await;
        assert_eq!((close(&outcome.unwrap()), requests), (2.5, 2));
    }
}

// faults.md row 14
#[tokio::test]
async fn a_body_that_stays_cut_is_an_error_and_never_data() {
    let cut = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", BODY.len(), &BODY[..50]);
    let (outcome, requests) = play(vec![Step::Send(cut.into_bytes())]).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind, requests), (ErrorKind::Transport, 3));
    assert!(error.message.ends_with("(after 3 attempts)"), "{error}");
}

// faults.md row 11
#[tokio::test]
async fn passing_failures_of_the_service_are_tried_again() {
    for status in ["500 Internal Server Error", "502 Bad Gateway", "503 Busy", "504 Late", "408 Slow"] {
        let (outcome, requests) = play(vec![send(status, "<html>oops</html>"), send("200 OK", BODY)]).await;
        assert_eq!((close(&outcome.unwrap()), requests), (2.5, 2), "{status}");
    }
    let (outcome, requests) =
        play(vec![send("500 Internal Server Error", r#"{"error":"INTERNAL_ERROR","message":"boom"}"#)]).await;
    let error = outcome.unwrap_err();
    assert_eq!(
        (error.kind, error.status, error.code.as_deref()),
        (ErrorKind::Server, Some(500), Some("INTERNAL_ERROR"))
    );
    assert!(error.message.contains("boom") && requests == 3);
}

// faults.md row 11
#[tokio::test]
async fn what_can_never_pass_is_not_tried_again() {
    use ErrorKind::{Authentication, Decode, InvalidRequest, Tier};
    for (status, body, kind) in [
        ("400 Bad Request", r#"{"code":3,"message":"parsing list \"type\"","details":[]}"#, InvalidRequest),
        ("401 Unauthorized", r#"{"error":"INVALID_API_KEY","message":"no"}"#, Authentication),
        ("403 Forbidden", r#"{"error":"FORBIDDEN","message":"history depth of your plan is 7 days"}"#, Tier),
        ("200 OK", "<html>please log in</html>", Decode),
        ("200 OK", r#"{"error":"INTERNAL_ERROR","message":"in a 200"}"#, Decode),
    ] {
        let (outcome, requests) = play(vec![send(status, body)]).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.kind, requests), (kind, 1), "{status} {body}");
        assert_eq!(error.status.unwrap().to_string(), status[..3]);
    }
}

#[tokio::test]
async fn a_key_that_the_service_echoes_is_not_passed_on() {
    let body = format!(r#"{{"error":"X{KEY}","message":"your key {KEY} is wrong"}}"#);
    for status in ["400 Bad Request", "401 Unauthorized", "403 Forbidden", "422 What", "500 Oops"] {
        let (outcome, _) = play(vec![send(status, &body)]).await; // `play` looks for the key
        assert!(outcome.unwrap_err().message.contains("your key <API key> is wrong"), "{status}");
    }
    let (outcome, _) = play(vec![send("200 OK", &body)]).await;
    assert_eq!(outcome.unwrap_err().kind, ErrorKind::Decode);
}

#[tokio::test]
async fn what_weighs_nothing_waits_out_a_429_too() {
    let slow = Step::Send(answer("429 Too Many Requests", "Retry-After: 300\r\n", "slow down"));
    let server = Scripted::start(vec![slow]);
    let settings = Config { max_wait: Some(Duration::from_secs(1)), ..config(&server) };
    let client = Client::new(&settings, &Registry::default()).unwrap();
    let error = client.usage().await.unwrap_err();
    assert_eq!((error.kind, server.requests().len()), (ErrorKind::RateLimit, 1));
}

#[tokio::test]
async fn an_error_in_a_200_is_no_record() {
    for body in [r#"{"error":"INTERNAL_ERROR","message":"down"}"#, r#"{"code":13,"details":[]}"#, "[]", "5", "<html>"] {
        let server = Scripted::start(vec![send("200 OK", body)]);
        let client = Client::new(&config(&server), &Registry::default()).unwrap();
        assert_eq!(client.usage().await.unwrap_err().kind, ErrorKind::Decode, "{body}");
        assert_eq!(client.markets(&MarketsQuery::default(), None).await.unwrap_err().kind, ErrorKind::Decode, "{body}");
    }
}

// faults.md row 11
#[tokio::test]
async fn a_bare_forbidden_is_tried_once_more() {
    let (outcome, requests) = play(vec![send("403 Forbidden", "forbidden"), send("200 OK", BODY)]).await;
    assert_eq!((close(&outcome.unwrap()), requests), (2.5, 2));
    let (outcome, requests) = play(vec![send("403 Forbidden", "forbidden")]).await;
    assert_eq!((outcome.unwrap_err().kind, requests), (ErrorKind::Tier, 2));
}

// faults.md row 1
#[tokio::test]
async fn rate_limits_are_waited_for_and_then_told() {
    let slow = || Step::Send(answer("429 Too Many Requests", "Retry-After: 0\r\n", r#"{"error":"RATE_LIMITED"}"#));
    let (outcome, requests) = play(vec![slow(), send("200 OK", BODY)]).await;
    assert_eq!((close(&outcome.unwrap()), requests), (2.5, 2));
    let (outcome, requests) = play(vec![slow()]).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind, error.retry_after, requests), (ErrorKind::RateLimit, Some(0.0), 3));
}

// faults.md row 2
#[tokio::test]
async fn a_long_retry_after_is_told_at_once_when_the_caller_will_not_wait() {
    let slow = Step::Send(answer("429 Too Many Requests", "Retry-After: 300\r\n", "slow down"));
    let server = Scripted::start(vec![slow]);
    let error = fetch(Config { max_wait: Some(Duration::from_secs(1)), ..config(&server) }).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::RateLimit);
    assert_eq!((error.status, error.retry_after, server.requests().len()), (Some(429), Some(300.0), 1));
    assert!(error.message.contains("asks to wait 300 s, longer than max_wait=1 s"), "{error}");
    let slow = Step::Send(answer("429 Too Many Requests", "", r#"{"error":"RATE_LIMITED","retry_after":20}"#));
    let server = Scripted::start(vec![slow]);
    let error = fetch(Config { total_timeout: Some(Duration::from_secs(2)), ..config(&server) }).await.unwrap_err();
    assert_eq!((error.status, error.retry_after, server.requests().len()), (Some(429), Some(20.0), 1));
}

/// A key whose day is spent elsewhere: the service says when the next begins.
// faults.md row 8
#[tokio::test]
async fn a_spent_day_is_told_at_once_with_the_services_own_wait() {
    fn choose(head: &str) -> Step {
        if head.contains("/v1/usage") {
            let usage = r#"{"limit":10,"remaining":20,"used":0,"reset":1776900000,"window_seconds":60}"#;
            return send("200 OK", usage);
        }
        let body = r#"{"error":"RATE_LIMITED","message":"the daily cap is reached","retry_after":80349}"#;
        Step::Send(answer("429 Too Many Requests", "Retry-After: 80349\r\n", body))
    }
    let server = Scripted::start(vec![Step::Choose(choose)]);
    let client = Client::new(&config(&server), &Registry::default()).unwrap();
    let error = client.points(&request(1), NOW, None).await.unwrap_err();
    assert_eq!((error.kind, error.status, error.retry_after), (ErrorKind::RateLimit, Some(429), Some(80_349.0)));
    assert!(
        error.message.contains("the daily cap is reached") && error.message.contains("for today is spent"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1);
    // Who comes after is told the same and sends nothing; what weighs nothing goes on.
    let error = client.points(&request(1), NOW, None).await.unwrap_err();
    assert!(error.message.contains("for today is spent"), "{error}");
    assert!((80_300.0..=80_349.0).contains(&error.retry_after.unwrap()), "{error:?}");
    assert_eq!(client.usage().await.unwrap().limit, 10);
    assert_eq!(server.requests().len(), 2);
}

/// Weeks that begin on Thursday: the anchor is not published.
#[tokio::test]
async fn a_forming_bucket_of_another_grid_is_left_out() {
    let points: Vec<String> = [1_775_692_800_i64, 1_776_297_600] // 2026-04-09 and 04-16, Thursdays
        .map(|start| format!(r#"{{"Point":{{"close":1,"timestamp":{{"s":{start}}}}}}}"#))
        .into();
    let id = r#"{"type":"TRADE_SIDE_AGNOSTIC_AGG","interval":"WEEK"}"#;
    let body = format!(r#"{{"series":[{{"id":{id},"points":[{}]}}]}}"#, points.join(","));
    let server = Scripted::start(vec![send("200 OK", &body)]);
    let client = Client::new(&config(&server), &Registry::default()).unwrap();
    let weeks = |include_forming| {
        let arguments = PointsArguments {
            query: PointsQuery::of_market("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE", "BTCUSDT", "1w"),
            start: Some(1_775_000_000.0),
            include_forming,
            ..PointsArguments::default()
        };
        PointsRequest::new(arguments).unwrap()
    };
    let now = UnixSecond(1_776_729_600).nanos(); // 2026-04-21: the week of the 16th ends on the 23rd
    assert_eq!(client.points(&weeks(false), now, None).await.unwrap()[0].timestamps, [1_775_692_800_000_000_000]);
    assert_eq!(client.points(&weeks(true), now, None).await.unwrap()[0].len(), 2);
}

fn profile(session: &str, interval: &str) -> PointsQuery {
    let session = Some(session.to_owned());
    PointsQuery { session, ..PointsQuery::of_market("TPO_AGG", "BINANCE", "BTCUSDT", interval) }
}

/// Newer services take a profile's `from` only at the start of a session (supplement 4).
#[tokio::test]
async fn every_request_for_sessions_begins_with_one() {
    let client = |tier| {
        let config = Config { tier, ..Config::new(KEY, "http://127.0.0.1:9") };
        Client::new(&config, &Registry::default()).unwrap()
    };
    let profiles = |session: &str, interval: &str, start: &str, end: &str| {
        let at = |text: &str| format!("{text}T00:00:00Z").parse::<jiff::Timestamp>().unwrap().as_second() as f64;
        let arguments = PointsArguments {
            query: profile(session, interval),
            start: Some(at(start)),
            end: Some(at(end)),
            ..PointsArguments::default()
        };
        PointsRequest::new(arguments).unwrap()
    };
    for (session, interval, start, end) in [
        ("daily", "1m", "2025-01-01", "2026-01-01"), // 525,600 points, at most 20,000 a request
        ("weekly", "1m", "2025-01-06", "2026-01-05"),
        ("monthly", "5m", "2024-01-01", "2026-01-01"),
    ] {
        let request = profiles(session, interval, start, end);
        let plan = client(None).plan(&request, NOW).unwrap();
        assert!(plan.requests.len() > 10, "{session} {}", plan.requests.len());
        let (mut next, mut points) = (None, Points(0));
        for planned in &plan.requests {
            let number = |name: &str| {
                let rest = planned.url.split(name).nth(1).unwrap();
                rest.split('&').next().unwrap().parse::<i64>().unwrap()
            };
            let (from, period) = (number("&from="), number("&period="));
            let date = jiff::Timestamp::from_second(from).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
            let begins = match session {
                "weekly" => date.weekday() == jiff::civil::Weekday::Monday,
                "monthly" => date.day() == 1,
                _ => true,
            };
            assert!(begins && from % 86_400 == 0 && next.is_none_or(|next| next == from), "{}", planned.url);
            assert!(planned.points <= Points(20_000));
            (next, points) = (Some(from + period), points + planned.points);
        }
        assert_eq!(points, plan.points());
    }
}

/// A request that began within a session would be refused, or paid for nothing.
#[tokio::test]
async fn a_session_that_no_request_holds_is_refused_with_the_interval_that_would_do() {
    let plan = |tier, session: &str, interval: &str| {
        let config = Config { tier, ..Config::new(KEY, "http://127.0.0.1:9") };
        let arguments = PointsArguments {
            query: profile(session, interval),
            // The month of April 2026, or its week from Monday the 13th on.
            start: Some(if session == "monthly" { 1_775_001_600.0 } else { 1_776_643_200.0 - 7.0 * 86_400.0 }),
            end: Some(if session == "monthly" { 1_777_593_600.0 } else { 1_776_643_200.0 }),
            ..PointsArguments::default()
        };
        let request = PointsRequest::new(arguments).unwrap();
        let now = UnixSecond(request.bounded().unwrap().to + 30).nanos();
        Client::new(&config, &Registry::default()).unwrap().plan(&request, now)
    };
    // 30 days are 43,200 minutes; one request has at most 20,000 points (section 8.4).
    let error = plan(None, "monthly", "1m").unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    for words in ["from 2026-04-01 00:00:00 UTC holds 43200 buckets of 1m", "interval=\"5m\" gives the same profiles"] {
        assert!(error.message.contains(words), "{error}");
    }
    let one = plan(None, "monthly", "5m").unwrap();
    assert_eq!((one.requests.len(), one.requests[0].points), (1, Points(8_640)));
    // A week of minutes is 10,080 points: ⌈10.08⌉ × 5 = 55, more than the 20 that the free tier's bucket holds; 2,016 points
    // of five minutes weigh 15.
    assert_eq!(plan(None, "weekly", "1m").unwrap().weight(), Weight(55));
    let error = plan(Some(Tier::Free), "weekly", "1m").unwrap_err();
    assert!(error.kind == ErrorKind::InvalidRequest && error.message.contains("interval=\"5m\""), "{error}");
}

// faults.md row 12
#[tokio::test]
async fn the_key_never_follows_a_redirect_to_another_origin() {
    let other = Scripted::start(vec![send("200 OK", BODY)]);
    let step = Step::Send(answer("302 Found", &format!("Location: {}/v1/points\r\n", other.url), ""));
    let (outcome, requests) = play(vec![step]).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind, requests, other.requests().len()), (ErrorKind::Server, 1, 0));
    assert!(error.message.contains("another origin"), "{error}");
    // Within the origin it is followed.
    let (outcome, _) =
        play(vec![Step::Send(answer("302 Found", "Location: /v1/points?type=moved\r\n", "")), send("200 OK", BODY)])
            .await;
    assert_eq!(close(&outcome.unwrap()), 2.5);
}

// faults.md row 15
#[tokio::test]
async fn silence_ends_in_a_timeout() {
    let server = Scripted::start(vec![Step::Stall]);
    // Long enough for a busy machine to have read the request by then.
    let settings = Config { timeout: Duration::from_secs(1), retries: 1, ..config(&server) };
    let error = fetch(settings).await.unwrap_err();
    assert_eq!((error.kind, server.requests().len()), (ErrorKind::Timeout, 2));
}

// faults.md row 14
#[tokio::test]
async fn a_refused_connection_costs_no_budget() {
    let server = Scripted::start(vec![Step::Close]);
    let mut settings = config(&server);
    // A port that was just free: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    settings.base_url = format!("http://{free}");
    let client = Client::new(&settings, &Registry::default()).unwrap();
    let error = client.points(&request(1), NOW, None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Transport);
    assert_eq!(client.budget().unwrap().remaining, Weight(1_500));
}

#[tokio::test]
async fn compressed_bodies_are_read_and_corrupt_ones_refused() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(BODY.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let with = |body: &[u8]| {
        let mut bytes =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        Step::Send(bytes)
    };
    let (outcome, _) = play(vec![with(&packed)]).await;
    assert_eq!(close(&outcome.unwrap()), 2.5);
    let (outcome, requests) = play(vec![with(&packed[..packed.len() / 2])]).await;
    assert_eq!((outcome.unwrap_err().kind, requests), (ErrorKind::Transport, 3));
}

#[tokio::test]
async fn clients_of_one_key_share_a_budget_and_headers_correct_it() {
    let headers = "X-RateLimit-Limit: 750\r\nX-RateLimit-Remaining: 42\r\n";
    let server = Scripted::start(vec![Step::Send(answer("200 OK", headers, BODY))]);
    let registry = Registry::default();
    let first = Client::new(&config(&server), &registry).unwrap();
    let second = Client::new(&config(&server), &registry).unwrap();
    first.points(&request(1), NOW, None).await.unwrap();
    assert!((42..=43).contains(&second.budget().unwrap().remaining.0));
    let other = Client::new(&Config { api_key: "another".into(), ..config(&server) }, &registry).unwrap();
    assert_eq!(other.budget().unwrap().remaining, Weight(1_500));
}

#[tokio::test]
async fn a_key_without_a_tier_learns_its_limit() {
    let usage = send("200 OK", r#"{"limit":50,"remaining":80,"used":20,"reset":1776900000,"window_seconds":60}"#);
    let server = Scripted::start(vec![usage, send("200 OK", BODY)]);
    let client = Client::new(&Config { tier: None, ..config(&server) }, &Registry::default()).unwrap();
    assert_eq!(client.budget(), None);
    client.points(&request(1), NOW, None).await.unwrap();
    let budget = client.budget().unwrap();
    assert_eq!((budget.limit, budget.remaining), (50, Weight(79)));
    // A usage record that is forbidden stops nobody.
    let server = Scripted::start(vec![send("403 Forbidden", "forbidden"), send("200 OK", BODY)]);
    let series = fetch(Config { tier: None, ..config(&server) }).await.unwrap();
    assert_eq!(close(&series), 2.5);
}

#[tokio::test]
async fn one_failed_request_does_not_lose_the_others() {
    fn choose(head: &str) -> Step {
        if head.contains("from=1776880800") {
            return send("200 OK", BODY);
        }
        send("400 Bad Request", r#"{"error":"INVALID_PARAMS","message":"not this part"}"#)
    }
    let server = Scripted::start(vec![Step::Choose(choose)]);
    // 100,001 points are two requests; the second holds the last point alone.
    let client = Client::new(&config(&server), &Registry::default()).unwrap();
    let plan = client.plan(&request(100_001), NOW).unwrap();
    assert_eq!(plan.requests.iter().map(|request| request.weight.0).collect::<Vec<_>>(), [100, 1]);
    let error = client.points(&request(100_001), NOW, None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Partial);
    let partial = error.partial.unwrap();
    assert_eq!(close(&partial.results), 2.5);
    assert_eq!(partial.failures[0].status, Some(400));
}

// faults.md row 10
#[tokio::test]
async fn a_dropped_call_stops_sending_and_stays_charged() {
    let server = Scripted::start(vec![Step::Stall]);
    let client = Client::new(&config(&server), &Registry::default()).unwrap();
    let call = client.clone();
    let task = tokio::spawn(async move { call.points(&request(1), NOW, None).await.map(|_| ()) });
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(client.budget().unwrap().remaining, Weight(1_499));
}

// faults.md row 26
#[tokio::test]
async fn answers_that_contradict_each_other_are_refused() {
    let two = BODY.replace(
        "]}]}",
        r#",{"Point":{"open":1,"high":1,"low":1,"close":9,"volume":1,"timestamp":{"s":1776880800}}}]}]}"#,
    );
    let (outcome, _) = play(vec![send("200 OK", &two)]).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Decode);
    assert!(error.message.contains("column close differs"), "{error}");
}

// faults.md row 27
#[tokio::test]
async fn points_outside_the_window_are_cut_and_nothing_is_an_empty_series() {
    let outside = BODY.replace("1776880800", "1776880860");
    let (outcome, _) = play(vec![send("200 OK", &outside)]).await;
    assert_eq!(outcome.unwrap()[0].len(), 0);
    for nothing in ["{}", r#"{"series":[]}"#] {
        let (outcome, _) = play(vec![send("200 OK", nothing)]).await;
        let series = outcome.unwrap();
        assert_eq!(series[0].floats("close"), Some(&[][..]));
        assert_eq!(series[0].id.raw_symbol.as_deref(), Some("BTCUSDT"));
    }
}

// faults.md row 37
#[tokio::test]
async fn a_listing_that_repeats_itself_comes_to_an_end() {
    let page = |next: u32| {
        let rows: Vec<String> = (0..100).map(|row| format!(r#"{{"exchange":"X","rawSymbol":"S{row}"}}"#)).collect();
        send("200 OK", &format!(r#"{{"symbols":[{}],"nextOffset":{next}}}"#, rows.join(",")))
    };
    for next in [vec![100, 200, 300], vec![100, 100], vec![0], vec![100, 50]] {
        let server = Scripted::start(next.into_iter().map(page).collect());
        let client = Client::new(&config(&server), &Registry::default()).unwrap();
        let markets = client.markets(&MarketsQuery::default(), None).await.unwrap();
        assert_eq!(markets.len(), 100);
        assert!(server.requests().len() <= 2);
    }
}

#[tokio::test]
async fn lists_are_read_under_every_key_and_nothing_is_an_empty_one() {
    for (body, expected) in [
        (r#"{"rawSymbols":["A","B"]}"#, &["A", "B"][..]),
        (r#"{"symbols":["A"]}"#, &["A"][..]),
        (r#"{"rawSymbols":null}"#, &[][..]),
        ("{}", &[][..]),
    ] {
        let server = Scripted::start(vec![send("200 OK", body)]);
        let client = Client::new(&config(&server), &Registry::default()).unwrap();
        let filters = Filters { types: vec!["TRADE_AGG".into()], ..Filters::default() };
        assert_eq!(client.names(DiscoveryList::Symbols, &filters).await.unwrap(), expected);
        assert!(server.requests()[0].starts_with("GET /v1/symbols?type=TRADE_AGG "));
        // Without a type the service would answer 500: nothing is sent.
        let error = client.names(DiscoveryList::Symbols, &Filters::default()).await.unwrap_err();
        assert_eq!((error.kind, server.requests().len()), (ErrorKind::InvalidRequest, 1));
    }
    let server = Scripted::start(vec![send("200 OK", r#"{"blockSizes":[3]}"#)]);
    let client = Client::new(&config(&server), &Registry::default()).unwrap();
    assert_eq!(client.block_sizes(&Filters::default()).await.unwrap(), [3.0]);
}
