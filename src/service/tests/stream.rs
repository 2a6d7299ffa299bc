//! The conversation of the stream, over real sockets, with a clock that stands until it is moved.

use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::harness::{Bench, NOW};
use super::peer::{PATIENCE, Peer};
use crate::market::Market;
use crate::service::StreamLimits;

fn trade(symbol: &str) -> Value {
    json!({"type": "TRADE", "exchange": "BINANCE_FUTURES", "symbol": symbol, "category": "*"})
}

fn bench() -> Bench {
    Bench::with(|config| config.source = Arc::new(Market::demo(0)))
}

fn patient(change: fn(&mut StreamLimits)) -> Bench {
    Bench::with(|config| {
        config.source = Arc::new(Market::demo(0));
        change(&mut config.stream);
    })
}

fn message(answer: &Value) -> String {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {answer}")).to_owned()
}

#[tokio::test]
async fn a_whole_conversation() {
    let bench = bench();
    let mut peer = Peer::known(&bench, "/nonbook/ws", "basic").await;
    let answer = peer.subscribe(json!([trade("BTCUSDT")])).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 7, "result": {"channels": [trade("BTCUSDT")]}}));
    bench.advance(600);
    // All of ten minutes come, in order, although nothing more moves the clock.
    let (mut last, mut count) = (0, 0);
    while last < NOW + 590 {
        for point in peer.points().await {
            assert_eq!((&point["series"]["type"], &point["series"]["symbol"]), (&json!("TRADE"), &json!("BTCUSDT")));
            let seconds = point["trade"]["timestamp"]["seconds"].as_i64().unwrap();
            assert!(seconds >= last && seconds <= NOW + 600, "{point}");
            (last, count) = (seconds, count + 1);
        }
    }
    assert!(count > 60, "{count}");
}

#[tokio::test]
async fn several_channels_come_in_the_order_of_time() {
    let bench = bench();
    let mut peer = Peer::known(&bench, "/nonbook/ws", "standard").await;
    let rate = json!({"type": "FUNDING_RATE", "exchange": "BYBIT", "symbol": "BTCUSDT"});
    peer.subscribe(json!([trade("BTCUSDT"), trade("ETHUSDT"), rate])).await;
    bench.advance(120);
    let mut times = Vec::new();
    let mut kinds = std::collections::BTreeSet::new();
    while times.last().is_none_or(|last| *last < NOW + 110) {
        for point in &peer.points().await {
            let payload = point.get("trade").or_else(|| point.get("fundingRate")).unwrap();
            times.push(payload["timestamp"]["seconds"].as_i64().unwrap());
            kinds.insert((point["series"]["type"].to_string(), point["series"]["symbol"].to_string()));
        }
    }
    assert!(times.is_sorted() && kinds.len() == 3, "{kinds:?}");
}

#[tokio::test]
async fn an_ended_channel_sends_no_more() {
    let bench = bench();
    let mut peer = Peer::known(&bench, "/nonbook/ws", "basic").await;
    peer.subscribe(json!([trade("BTCUSDT"), trade("ETHUSDT")])).await;
    let answer = peer.ask("public/unsubscribe", json!({"channels": [trade("BTCUSDT")]})).await;
    assert_eq!(answer["result"]["channels"], json!([trade("ETHUSDT")]));
    bench.advance(60);
    assert_eq!(peer.hear().await.unwrap()["points"][0]["series"]["symbol"], "ETHUSDT");
    // What is not open cannot be ended, and is no error.
    let mut other = Peer::known(&bench, "/nonbook/ws", "basic").await;
    let answer = other.ask("public/unsubscribe", json!({"channels": [trade("BTCUSDT")]})).await;
    assert_eq!(answer["result"], json!({"channels": []}));
}

#[tokio::test]
async fn books_have_a_path_of_their_own() {
    let bench = bench();
    let book = json!({"type": "BLOCK_BOOK_SNAPSHOT", "exchange": "BYBIT", "symbol": "BTCUSDT", "blockSize": "100",
        "maxDepth": "10", "updateFrequency": "500ms", "groupByType": "0"});
    let mut peer = Peer::known(&bench, "/nonbook/ws", "basic").await;
    let refused = peer.subscribe(json!([book])).await;
    assert_eq!((&refused["id"], &refused["error"]["data"]["error"]), (&json!(7), &json!("INVALID_PARAMS")));
    assert!(message(&refused).contains("served at /ws"), "{refused}");
    let mut peer = Peer::known(&bench, "/ws", "basic").await;
    let refused = peer.subscribe(json!([trade("BTCUSDT")])).await;
    assert!(message(&refused).contains("served at /nonbook/ws"), "{refused}");
    peer.subscribe(json!([book])).await;
    bench.advance(60);
    let snapshot = &peer.points().await[0]["blockBookSnapshot"];
    let prices = |side: &str| -> Vec<f64> {
        let flat = snapshot[side].as_array().unwrap();
        flat.iter().step_by(2).map(|price| price.as_f64().unwrap()).collect()
    };
    let (bids, asks) = (prices("bids"), prices("asks"));
    assert!(!bids.is_empty() && bids.len() <= 10 && !asks.is_empty() && asks.len() <= 10);
    assert!(bids.is_sorted_by(|one, other| one > other) && asks.is_sorted_by(|one, other| one < other));
    assert!(bids.iter().chain(&asks).all(|price| price % 100.0 == 0.0));
}

#[tokio::test]
async fn without_a_key_nothing_is_subscribed_and_a_wrong_one_ends_the_connection() {
    let bench = bench();
    let mut peer = Peer::connect(&bench, "/nonbook/ws").await;
    let refused = peer.subscribe(json!([trade("BTCUSDT")])).await;
    assert_eq!(refused["error"]["code"], 401);
    assert!(message(&refused).contains("public/authenticate first"), "{refused}");
    // The connection may still authenticate.
    let granted = peer.ask("public/authenticate", json!({"token": bench.key("basic")})).await;
    assert!(granted.get("result").is_some(), "{granted}");

    for params in [json!({"token": "a wrong key"}), json!({}), json!({"token": 5})] {
        let mut peer = Peer::connect(&bench, "/nonbook/ws").await;
        let refused = peer.ask("public/authenticate", params).await;
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["data"]["error"]),
            (&json!(401), &json!("INVALID_API_KEY"))
        );
        assert!(!refused.to_string().contains("a wrong key"), "{refused}");
        assert_eq!(peer.farewell().await, "the key is not known");
    }
}

#[tokio::test]
async fn each_tier_has_its_streams_and_no_more() {
    let bench = bench();
    let symbols = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "BNBUSDT", "DOGEUSDT", "ADAUSDT", "LINKUSDT"];
    let kinds = ["TRADE", "LIQUIDATION"];
    let all: Vec<Value> = symbols
        .iter()
        .flat_map(|symbol| kinds.map(|kind| json!({"type": kind, "exchange": "BYBIT", "symbol": symbol})))
        .collect();
    for (tier, most) in [("basic", 5), ("standard", 10), ("advanced", 15)] {
        let mut peer = Peer::known(&bench, "/nonbook/ws", tier).await;
        let refused = peer.subscribe(json!(all[..=most])).await;
        assert_eq!((&refused["error"]["code"], &refused["error"]["data"]["error"]), (&json!(403), &json!("FORBIDDEN")));
        assert!(message(&refused).contains(&format!("{tier} has {most} streams")), "{refused}");
        // All or none: the refused request took no place.
        let granted = peer.subscribe(json!(all[..most])).await;
        assert_eq!(granted["result"]["channels"].as_array().unwrap().len(), most);
        // A channel that is open already takes no second place.
        assert!(peer.subscribe(json!([all[0]])).await.get("result").is_some());
        // The places are the key's, over all its connections.
        let mut other = Peer::known(&bench, "/nonbook/ws", tier).await;
        assert!(message(&other.subscribe(json!([all[15]])).await).contains(&format!("{most} are open")));
        peer.ask("public/unsubscribe", json!({"channels": [all[0]]})).await;
        assert!(other.subscribe(json!([all[15]])).await.get("result").is_some());
    }
    let mut free = Peer::known(&bench, "/nonbook/ws", "free").await;
    let refused = free.subscribe(json!([all[0]])).await;
    assert_eq!(refused["error"]["code"], 403);
    assert!(message(&refused).contains("needs the plan basic"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_sends_no_key_makes_room() {
    let bench = Bench::with(|config| config.limits.connections = 2);
    let mut known = Peer::known(&bench, "/nonbook/ws", "advanced").await;
    for _ in 0..3 {
        let mut silent = Peer::connect(&bench, "/nonbook/ws").await;
        let usage = tokio::task::block_in_place(|| bench.get("free", "/v1/usage"));
        assert_eq!(usage.status, 200);
        assert_eq!(silent.hear().await, None);
    }
    known.subscribe(json!([])).await; // still there
}

#[tokio::test]
async fn a_page_of_another_origin_opens_nothing() {
    let bench = Bench::new();
    for (origin, opens) in [
        ("http://localhost:8888", true),
        ("http://127.0.0.1", true),
        ("http://evil.example", false),
        ("https://localhost.evil.example", false),
        ("null", false),
    ] {
        let stream = TcpStream::connect(("127.0.0.1", bench.service.port())).await.unwrap();
        let mut request = "ws://127.0.0.1/nonbook/ws?encoding=json".into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        assert_eq!(client_async(request, stream).await.is_ok(), opens, "{origin}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_gives_its_places_back() {
    let bench = bench();
    let five: Vec<Value> = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "BNBUSDT"].map(trade).to_vec();
    let mut peer = Peer::known(&bench, "/nonbook/ws", "basic").await;
    assert!(peer.subscribe(json!(five)).await.get("result").is_some());
    drop(peer);
    let mut other = Peer::known(&bench, "/nonbook/ws", "basic").await;
    let again = async {
        // The service notices the end by the socket.
        while other.subscribe(json!(five)).await.get("result").is_none() {}
    };
    timeout(PATIENCE, again).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_name_and_the_connection_goes_on() {
    let bench = bench();
    let mut peer = Peer::known(&bench, "/nonbook/ws", "advanced").await;
    for (channels, word) in [
        (json!([{"type": "TRADES", "exchange": "BYBIT", "symbol": "BTCUSDT"}]), "did you mean TRADE?"),
        (json!([{"exchange": "BYBIT", "symbol": "BTCUSDT"}]), "parameter type: missing"),
        (json!([{"type": "TRADE", "exchange": "BYBIT"}]), "parameter symbol: missing"),
        (json!([{"type": "TRADE", "symbol": "BTCUSDT"}]), "parameter exchange: missing"),
        (
            json!([{"type": "TRADE", "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "symbol": "X"}]),
            "did you mean symbol?",
        ),
        (json!([{"type": "TRADE_AGG", "exchange": "BYBIT", "symbol": "X", "batchInterval": "3s"}]), "200ms, 1s, 5s"),
        (json!([trade("BTCUSDT"), {"type": "TRADE"}]), "exchange: missing"),
        (json!([]), "at least one channel"),
    ] {
        let refused = peer.subscribe(channels).await;
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["data"]["error"]),
            (&json!(400), &json!("INVALID_PARAMS"))
        );
        assert!(message(&refused).contains(word), "{refused}");
    }
    for (text, code) in
        [("{", -32_700), ("[]", -32_600), (r#"{"id":1}"#, -32_600), (r#"{"id":1,"method":"public/subscibe"}"#, -32_601)]
    {
        peer.say(text).await;
        assert_eq!(peer.hear().await.unwrap()["error"]["code"], code, "{text}");
    }
    let refused = peer.ask("public/subscribe", json!({"channels": [trade("BTCUSDT")], "compression": "zstd"})).await;
    assert!(message(&refused).contains("give \"none\""), "{refused}");
    peer.0.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_eq!(peer.hear().await.unwrap()["error"]["code"], -32_600);
    assert_eq!(peer.subscribe(json!([trade("BTCUSDT")])).await["result"]["channels"], json!([trade("BTCUSDT")]));
}

#[test]
fn a_plain_request_is_told_what_the_path_is() {
    let bench = bench();
    for path in ["/ws", "/nonbook/ws"] {
        let answer = bench.get("basic", &format!("{path}?encoding=json"));
        assert_eq!((answer.status, answer.code().as_str()), (426, "UPGRADE_REQUIRED"), "{answer:?}");
        for query in ["", "?encoding=proto", "?encoding=json&x=1"] {
            let answer = bench.get("basic", &format!("{path}{query}"));
            assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_PARAMS"), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn pings_are_answered() {
    let bench = bench();
    let mut peer = Peer::connect(&bench, "/ws").await;
    peer.0.send(Message::Ping(vec![1, 2, 3].into())).await.unwrap();
    let answer = timeout(PATIENCE, peer.0.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(answer, Message::Pong(vec![1, 2, 3].into()));
}

#[tokio::test]
async fn a_silent_peer_is_asked_and_one_that_never_answers_is_closed() {
    let bench = patient(|limits| {
        limits.ping_after = Duration::from_millis(1);
        limits.silent_within = Duration::from_secs(2);
        limits.every = Duration::from_millis(5);
    });
    let mut peer = Peer::known(&bench, "/nonbook/ws", "basic").await;
    // The library answers each ping while it is read from: the connection stays.
    let mut pings = 0;
    while pings < 5 {
        match timeout(PATIENCE, peer.0.next()).await.unwrap().unwrap().unwrap() {
            Message::Ping(_) => pings += 1,
            other => panic!("{other:?}"),
        }
    }
    // One that is not read from answers nothing, so it is closed: reading on finds the end.
    let mut mute = tokio::net::TcpStream::connect(("127.0.0.1", bench.service.port())).await.unwrap();
    let request = "GET /ws?encoding=json HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut mute, request.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    let end = tokio::io::AsyncReadExt::read_to_end(&mut mute, &mut all);
    timeout(PATIENCE, end).await.expect("the mute peer was not closed").unwrap();
    assert!(String::from_utf8_lossy(&all).contains("no answer to a ping"));
}

#[tokio::test]
async fn who_never_sends_a_key_or_a_channel_is_closed() {
    let bench = patient(|limits| {
        limits.authenticate_within = Duration::from_millis(30);
        limits.subscribe_within = Duration::from_millis(30);
        limits.every = Duration::from_millis(5);
    });
    assert_eq!(Peer::connect(&bench, "/ws").await.farewell().await, "no public/authenticate came");
    let mut peer = Peer::connect(&bench, "/ws").await;
    let text = json!({"id": 1, "method": "public/authenticate", "params": {"token": bench.key("basic")}}).to_string();
    peer.say(&text).await;
    assert!(peer.hear().await.unwrap().get("result").is_some());
    assert_eq!(peer.farewell().await, "no channel is open");
}

#[tokio::test]
async fn a_peer_that_takes_nothing_is_cut_and_its_places_are_free_again() {
    let bench = patient(|limits| {
        limits.take_within = Duration::from_millis(200);
        limits.every = Duration::from_millis(5);
    });
    let book = |size: &str| {
        json!({"type": "BLOCK_BOOK_SNAPSHOT", "exchange": "BYBIT", "symbol": "BTCUSDT", "blockSize": size,
            "updateFrequency": "500ms"})
    };
    let five = json!(["1", "2", "3", "4", "5"].map(book));
    let mut slow = Peer::known(&bench, "/ws", "basic").await;
    assert!(slow.subscribe(five.clone()).await.get("result").is_some());
    // More than any socket buffers; `slow` reads none of it.
    bench.advance(3_600);
    let mut other = Peer::known(&bench, "/ws", "basic").await;
    let freed = async { while other.subscribe(five.clone()).await.get("result").is_none() {} };
    timeout(PATIENCE, freed).await.expect("the slow peer keeps its places");
}

#[tokio::test]
async fn a_stop_says_farewell_to_open_streams() {
    let bench = bench();
    let mut peer = Peer::known(&bench, "/nonbook/ws", "basic").await;
    peer.subscribe(json!([trade("BTCUSDT")])).await;
    let begun = std::time::Instant::now();
    let stopping = tokio::task::spawn_blocking(move || bench.service.stop());
    assert_eq!(peer.farewell().await, "the service stops");
    drop(peer);
    stopping.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
}
