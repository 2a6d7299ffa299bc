//! What services and networks do to a stream, by a server that does as a script says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures::{SinkExt, StreamExt};
use marketpoints::client::log::{Listener, LogLevel, listening};
use marketpoints::client::{
    Backoff, Client, ClientError, Config, ErrorKind, Event, EventStream, Gap, Overflow, Registry, StreamItem,
    StreamOptions, StreamState,
};
use marketpoints::protocol::stream::Channel;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

const PATIENCE: Duration = Duration::from_secs(60);
const KEY: &str = "top-secret-key";

/// What the server does on one connection.
enum Act {
    /// Answers the handshake with these bytes instead.
    Refuse(&'static str),
    /// Plays these steps.
    Play(Vec<Step>),
}

enum Step {
    /// Waits for a request and answers it with what stands here, under its id.
    Answer(Value),
    /// Waits for a request and grants it.
    Grant,
    /// Sends a text.
    Text(String),
    /// Sends bytes.
    Bytes(Vec<u8>),
    /// Sends a ping and waits for its answer.
    Ping,
    /// Waits until the client sent a ping, which the library answers.
    AwaitPing,
    /// Says a farewell.
    Close(u16, &'static str),
    /// Says nothing and does not even read, until the client goes away.
    Freeze,
    /// Reads, and so answers pings, until the client goes away.
    Stay,
}

/// A running scripted server: the last act is not repeated, further connections are closed at once.
struct Server {
    url: String,
    requests: mpsc::UnboundedReceiver<Value>,
}

impl Server {
    async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut acts = VecDeque::from(acts);
            while let Ok((stream, _)) = listener.accept().await {
                match acts.pop_front() {
                    Some(Act::Refuse(bytes)) => refuse(stream, bytes).await,
                    Some(Act::Play(steps)) => drop(tokio::spawn(play(stream, steps, sender.clone()))),
                    None => drop(stream),
                }
            }
        });
        Self { url, requests }
    }

    fn stream(&self, options: StreamOptions) -> EventStream {
        self.stream_of(options, Duration::from_secs(30))
    }

    fn stream_of(&self, options: StreamOptions, timeout: Duration) -> EventStream {
        let config = Config { timeout, ..Config::new(KEY, &self.url) };
        let client = Client::new(&config, &Registry::default()).unwrap();
        client.stream(vec![Channel::new("TRADE", "BINANCE_FUTURES", "BTCUSDT")], options).unwrap()
    }

    /// The methods that were called so far.
    fn methods(&mut self) -> Vec<String> {
        let mut methods = Vec::new();
        while let Ok(request) = self.requests.try_recv() {
            methods.push(request["method"].as_str().unwrap_or_default().to_owned());
        }
        methods
    }
}

async fn refuse(mut stream: TcpStream, bytes: &str) {
    let mut head = [0; 4096];
    let _ = stream.read(&mut head).await;
    let _ = stream.write_all(bytes.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn play(stream: TcpStream, steps: Vec<Step>, sender: mpsc::UnboundedSender<Value>) {
    let Ok(mut socket) = accept_async(stream).await else { return };
    for step in steps {
        let done = match step {
            Step::Answer(answer) => answer_with(&mut socket, &sender, answer).await,
            Step::Grant => answer_with(&mut socket, &sender, json!({"result": {}})).await,
            Step::Text(text) => socket.send(Message::text(text)).await.is_ok(),
            Step::Bytes(bytes) => socket.send(Message::binary(bytes)).await.is_ok(),
            Step::Ping => {
                let sent = socket.send(Message::Ping(vec![4, 2].into())).await.is_ok();
                sent && matches!(socket.next().await, Some(Ok(Message::Pong(payload))) if payload.as_ref() == [4, 2])
            }
            Step::AwaitPing => {
                let is_ping = matches!(socket.next().await, Some(Ok(Message::Ping(_))));
                // The answer leaves with the next flush.
                is_ping && socket.flush().await.is_ok()
            }
            Step::Close(code, reason) => {
                let frame =
                    tokio_tungstenite::tungstenite::protocol::CloseFrame { code: code.into(), reason: reason.into() };
                socket.close(Some(frame)).await.is_ok()
            }
            Step::Freeze => std::future::pending().await,
            Step::Stay => {
                while let Some(Ok(_)) = socket.next().await {}
                false
            }
        };
        if !done {
            return;
        }
    }
    // The end of the script is the end of the connection, without a farewell.
}

async fn answer_with(
    socket: &mut WebSocketStream<TcpStream>,
    sender: &mpsc::UnboundedSender<Value>,
    mut answer: Value,
) -> bool {
    let Some(Ok(Message::Text(text))) = socket.next().await else { return false };
    let request: Value = serde_json::from_str(&text).unwrap();
    if answer.get("id").is_none() {
        answer["id"] = request["id"].clone();
    }
    let _ = sender.send(request);
    socket.send(Message::text(answer.to_string())).await.is_ok()
}

fn trade(id: &str) -> Value {
    json!({"series": {"type": "TRADE", "exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "side": "BUY"},
        "trade": {"id": id, "price": 2.5, "amount": 1, "timestamp": {"seconds": 5, "nanoseconds": 7}}})
}

fn frame(ids: &[&str]) -> Step {
    Step::Text(json!({"points": ids.iter().map(|id| trade(id)).collect::<Vec<_>>()}).to_string())
}

/// A connection that is granted everything, tells these trades and ends.
fn served(ids: &[&str]) -> Act {
    Act::Play(vec![Step::Grant, Step::Grant, frame(ids)])
}

/// Options that do not wait between attempts, and the pauses that they would have made.
fn hasty() -> (StreamOptions, Arc<Mutex<Vec<f64>>>) {
    let pauses = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&pauses);
    let backoff = Backoff {
        chance: Arc::new(|| 1.0),
        pause: Arc::new(move |pause: Duration| {
            noted.lock().unwrap().push(pause.as_secs_f64());
            Box::pin(std::future::ready(()))
        }),
        ..Backoff::default()
    };
    (StreamOptions { backoff, ..StreamOptions::default() }, pauses)
}

async fn next_item(stream: &EventStream) -> Option<Result<StreamItem, ClientError>> {
    tokio::time::timeout(PATIENCE, stream.next()).await.expect("nothing comes")
}

/// The next event or error; gaps are left out.
async fn next(stream: &EventStream) -> Option<Result<Event, ClientError>> {
    loop {
        match next_item(stream).await? {
            Ok(StreamItem::Event(event)) => return Some(Ok(event)),
            Ok(StreamItem::Gap(_)) => {}
            Ok(StreamItem::Trades(_)) => panic!("nobody asked for batches"),
            Err(error) => return Some(Err(error)),
        }
    }
}

async fn gap(stream: &EventStream) -> Gap {
    match next_item(stream).await {
        Some(Ok(StreamItem::Gap(gap))) => gap,
        other => panic!("no gap but {other:?}"),
    }
}

async fn ids(stream: &EventStream, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    while ids.len() < count {
        ids.push(next(stream).await.unwrap().unwrap().id().unwrap().to_owned());
    }
    ids
}

async fn refused(stream: &EventStream) -> ClientError {
    tokio::time::timeout(PATIENCE, stream.open()).await.expect("no answer").unwrap_err()
}

#[tokio::test]
async fn a_broken_connection_is_made_again_and_replays_are_dropped() {
    let last = Act::Play(vec![Step::Grant, Step::Grant, frame(&["3", "4", "5", "5", "6"]), Step::Stay]);
    let mut server = Server::start(vec![served(&["1", "2", "3"]), served(&["2", "3", "4"]), last]).await;
    let (options, pauses) = hasty();
    let stream = server.stream(options);
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 6).await, ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(stream.reconnects(), 2);
    stream.close();
    // Each connection tells the key and subscribes anew, and each served, so each pause is the first.
    assert_eq!(server.methods(), ["public/authenticate", "public/subscribe"].repeat(3));
    assert_eq!(*pauses.lock().unwrap(), [2.0, 2.0]);
}

#[tokio::test]
async fn a_thousand_reconnects_lose_nothing_and_deliver_and_record_nothing_twice() {
    const CONNECTIONS: usize = 1_001;
    // Each connection replays the last two events of the one before and tells three new ones.
    let names = |range: std::ops::Range<usize>| range.map(|id| id.to_string()).collect::<Vec<_>>();
    let connection = |number: usize| {
        let ids = names((3 * number).saturating_sub(2)..3 * number + 3);
        served(&ids.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut server = Server::start((0..CONNECTIONS).map(connection).collect()).await;
    let folder = tempfile::tempdir().unwrap();
    let (options, _) = hasty();
    let stream = server.stream(StreamOptions { record: Some(folder.path().to_owned()), ..options });
    stream.open().await.unwrap();
    let (mut received_ids, mut gaps) = (Vec::new(), 0);
    while received_ids.len() < 3 * CONNECTIONS {
        match next_item(&stream).await.unwrap().unwrap() {
            StreamItem::Event(event) => received_ids.push(event.id().unwrap().to_owned()),
            StreamItem::Gap(_) => gaps += 1,
            StreamItem::Trades(_) => panic!("nobody asked for batches"),
        }
    }
    stream.close();
    assert_eq!(received_ids, names(0..3 * CONNECTIONS));
    assert_eq!((gaps, stream.recorded()), (CONNECTIONS - 1, (3 * CONNECTIONS as u64, 0)));
    assert!(server.methods().len() >= 2 * CONNECTIONS);
    let day = folder.path().join("trades/BINANCE_FUTURES/BTCUSDT/1970-01-01.csv");
    let text = std::fs::read_to_string(day).unwrap();
    let recorded: Vec<_> = text.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().to_owned()).collect();
    assert_eq!(recorded, received_ids);
    let about = std::fs::read_to_string(folder.path().join("recording.jsonl")).unwrap();
    assert_eq!(about.lines().count(), 2 + gaps, "a header, the opening, the gaps");
}

/// Records of a stream's log while it is waited for.
fn listener(records: &Arc<Mutex<Vec<String>>>) -> Listener {
    let records = Arc::clone(records);
    Listener {
        least: LogLevel::Warning,
        on_record: Arc::new(move |record| records.lock().unwrap().push(record.to_string())),
    }
}

#[tokio::test]
async fn a_broken_connection_is_reported_between_the_events_before_and_after() {
    let farewell = vec![Step::Grant, Step::Grant, frame(&["1", "2"]), Step::Close(1012, "restart")];
    // Events that come ahead of the word that the channels are open come after the gap too.
    let early = vec![Step::Grant, frame(&["2", "3"]), Step::Grant, frame(&["4"]), Step::Stay];
    let acts = vec![Act::Play(farewell), Act::Refuse(""), Act::Play(early)];
    let server = Server::start(acts).await;
    let (options, _) = hasty();
    let (stream, records) = (server.stream(options), Arc::default());
    assert_eq!(stream.state(), StreamState::NotOpen);
    let begun = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as i64;
    let listened = listening(Some(listener(&records)), async {
        stream.open().await.unwrap();
        assert_eq!(ids(&stream, 2).await, ["1", "2"]);
        let gap = gap(&stream).await;
        assert_eq!(ids(&stream, 2).await, ["3", "4"]);
        gap
    });
    let gap = listened.await;
    assert_eq!((stream.reconnects(), stream.state()), (1, StreamState::Open));
    assert_eq!(&*gap.channels, [Channel::new("TRADE", "BINANCE_FUTURES", "BTCUSDT")]);
    assert!(gap.reason.contains("1012 restart"), "{gap:?}");
    assert_eq!(gap.attempts, 2);
    // The time of the last event, where it is before; this server tells no date, so the end is of this machine's clock.
    let ended = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as i64;
    assert!((begun - 1_000_000_000..=ended).contains(&gap.from.0), "{gap:?} {begun} {ended}");
    assert!((begun..=ended + 1_000_000_000).contains(&gap.to.0) && gap.from <= gap.to, "{gap:?} {begun} {ended}");
    let records = records.lock().unwrap();
    assert_eq!(records.len(), 3, "{records:?}");
    assert!(records[0].contains("stream /nonbook/ws") && records[0].contains("1012 restart"), "{records:?}");
    assert!(records[0].contains("connecting again in 2.0 s") && records[1].contains("again in"), "{records:?}");
    assert!(records[2].contains("connected again after"), "{records:?}");
}

#[tokio::test]
async fn while_no_connection_stands_the_state_says_so() {
    let server = Server::start(vec![served(&["1"])]).await;
    let stream = server.stream(StreamOptions {
        backoff: Backoff { pause: Arc::new(|_| Box::pin(std::future::pending())), ..Backoff::default() },
        ..StreamOptions::default()
    });
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 1).await, ["1"]);
    let broken = async {
        while stream.state() == StreamState::Open {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, broken).await.unwrap();
    assert_eq!((stream.state(), stream.reconnects()), (StreamState::Reconnecting, 0));
    stream.close();
    assert_eq!(stream.state(), StreamState::Ended);
}

#[tokio::test]
async fn pauses_double_to_a_minute_until_a_connection_serves() {
    let down = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let mut acts = vec![served(&["1"])];
    acts.extend((0..3).map(|_| Act::Refuse(down)));
    acts.extend((0..4).map(|_| Act::Refuse("")));
    acts.push(Act::Play(vec![Step::Grant, Step::Grant, frame(&["2"]), Step::Stay]));
    let server = Server::start(acts).await;
    let (options, pauses) = hasty();
    let stream = server.stream(options);
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 2).await, ["1", "2"]);
    assert_eq!(*pauses.lock().unwrap(), [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
    assert_eq!(stream.reconnects(), 1, "of eight attempts one made a connection");
}

#[tokio::test]
async fn attempts_in_a_row_are_bounded_where_that_is_asked() {
    let server = Server::start(vec![served(&["1"])]).await;
    let (mut options, pauses) = hasty();
    options.reconnects = Some(3);
    let stream = server.stream(options);
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 1).await, ["1"]);
    assert_eq!(next(&stream).await.unwrap().unwrap_err().kind, ErrorKind::Transport);
    assert!(next(&stream).await.is_none());
    assert_eq!(*pauses.lock().unwrap(), [2.0, 4.0, 8.0]);
}

#[tokio::test]
async fn a_refused_key_is_reported_without_the_key_and_not_tried_again() {
    for error in [
        json!({"code": 401, "message": format!("bad token {KEY}")}),
        json!({"code": "INVALID_API_KEY", "message": "no"}),
        json!({"code": -32000, "message": format!("no such key: {KEY}")}),
        json!("unauthorized"),
    ] {
        let mut server = Server::start(vec![Act::Play(vec![Step::Answer(json!({"error": error}))])]).await;
        let stream = server.stream(hasty().0);
        let error = refused(&stream).await;
        assert_eq!(error.kind, ErrorKind::Authentication, "{error}");
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
        assert_eq!(server.methods(), ["public/authenticate"]);
    }
}

#[tokio::test]
async fn a_key_that_is_refused_later_ends_the_stream() {
    let gone = Act::Play(vec![Step::Answer(json!({"error": {"code": 401, "message": "revoked"}}))]);
    let server = Server::start(vec![served(&["1"]), gone]).await;
    let stream = server.stream(hasty().0);
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 1).await, ["1"]);
    assert_eq!(next(&stream).await.unwrap().unwrap_err().kind, ErrorKind::Authentication);
    assert!(next(&stream).await.is_none());
}

#[tokio::test]
async fn refused_handshakes_are_reported_by_kind() {
    let (json, plain) = ("Content-Type: application/json\r\n", "");
    for (status, headers, body, kind) in [
        ("401 Unauthorized", json, r#"{"error":"INVALID_API_KEY","message":"no"}"#, ErrorKind::Authentication),
        ("403 Forbidden", json, r#"{"error":"FORBIDDEN","message":"the plan has no streams"}"#, ErrorKind::Tier),
        ("404 Not Found", plain, "not here", ErrorKind::InvalidRequest),
        ("502 Bad Gateway", plain, "<html>bad gateway</html>", ErrorKind::Server),
        ("200 OK", plain, "hello", ErrorKind::Server),
        ("302 Found", "Location: http://127.0.0.1:1/\r\n", "", ErrorKind::Server),
    ] {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        let server = Server::start(vec![Act::Refuse(Box::leak(text.into_boxed_str()))]).await;
        let error = refused(&server.stream(hasty().0)).await;
        assert_eq!(error.kind, kind, "{status}: {error}");
    }
    // A proxy that answers for the service cannot know the right accept key.
    let cached = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                  Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    let server = Server::start(vec![Act::Refuse(cached)]).await;
    let error = refused(&server.stream(hasty().0)).await;
    assert!(error.message.contains("handshake"), "{error}");
}

#[tokio::test]
async fn malformed_frames_are_reported_at_their_place_and_the_stream_goes_on() {
    let act = Act::Play(vec![
        Step::Grant,
        Step::Grant,
        frame(&["1"]),
        Step::Text("{\"points\":[".into()),
        Step::Text(format!("[\"{KEY}\"]")),
        Step::Bytes(vec![0xff, 0xfe]),
        Step::Bytes(json!({"points": [trade("2")]}).to_string().into_bytes()),
        Step::Text(r#"{"error":{"code":429,"message":"slow down"}}"#.into()),
        Step::Text(r#"{"points":[]}"#.into()),
        Step::Text(r#"{"notice":"maintenance","at":5}"#.into()),
        frame(&["3"]),
        Step::Stay,
    ]);
    let server = Server::start(vec![act]).await;
    let stream = server.stream(hasty().0);
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 1).await, ["1"]);
    for _ in 0..3 {
        let error = next(&stream).await.unwrap().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Decode, "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
    assert_eq!(ids(&stream, 1).await, ["2"]);
    assert_eq!(next(&stream).await.unwrap().unwrap_err().kind, ErrorKind::RateLimit);
    let notice = next(&stream).await.unwrap().unwrap();
    assert_eq!((notice.name.as_str(), notice.values["notice"].as_str()), ("", Some("maintenance")));
    assert_eq!(ids(&stream, 1).await, ["3"]);
    assert_eq!(stream.reconnects(), 0);
}

#[tokio::test]
async fn events_before_the_answer_and_answers_without_an_id_are_taken() {
    let act = Act::Play(vec![
        Step::Text(r#"{"welcome":1}"#.into()),
        Step::Grant,
        frame(&["1"]),
        Step::Answer(json!({"id": null, "result": "ok"})),
        frame(&["2"]),
        Step::Stay,
    ]);
    let server = Server::start(vec![act]).await;
    let stream = server.stream(hasty().0);
    stream.open().await.unwrap();
    assert_eq!(next(&stream).await.unwrap().unwrap().values["welcome"], 1);
    assert_eq!(ids(&stream, 2).await, ["1", "2"]);
}

#[tokio::test]
async fn pings_are_answered_and_sent_when_it_is_quiet() {
    let act = Act::Play(vec![
        Step::Grant,
        Step::Grant,
        Step::Ping,
        frame(&["1"]),
        Step::AwaitPing,
        frame(&["2"]),
        Step::Stay,
    ]);
    let server = Server::start(vec![act]).await;
    let (mut options, _) = hasty();
    options.ping_after = Duration::from_millis(300);
    let stream = server.stream(options);
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 2).await, ["1", "2"]);
    assert_eq!(stream.reconnects(), 0);
}

#[tokio::test]
async fn a_service_that_falls_silent_is_left() {
    let frozen = Act::Play(vec![Step::Grant, Step::Grant, frame(&["1"]), Step::Freeze]);
    let server =
        Server::start(vec![frozen, Act::Play(vec![Step::Grant, Step::Grant, frame(&["2"]), Step::Stay])]).await;
    let (mut options, _) = hasty();
    options.ping_after = Duration::from_millis(50);
    let stream = server.stream(options);
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 2).await, ["1", "2"]);
    assert!(stream.reconnects() >= 1);
}

#[tokio::test]
async fn a_service_that_never_answers_is_a_timeout() {
    for steps in [vec![Step::Freeze], vec![Step::Grant, Step::Freeze]] {
        let server = Server::start(vec![Act::Play(steps)]).await;
        let stream = server.stream_of(hasty().0, Duration::from_millis(200));
        assert_eq!(refused(&stream).await.kind, ErrorKind::Timeout);
    }
    // Not even the handshake.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let config = Config { timeout: Duration::from_millis(200), ..Config::new(KEY, url) };
    let client = Client::new(&config, &Registry::default()).unwrap();
    let stream = client.stream(vec![Channel::new("TRADE", "BYBIT", "BTCUSDT")], hasty().0).unwrap();
    assert_eq!(refused(&stream).await.kind, ErrorKind::Timeout);
}

#[tokio::test]
async fn farewells_are_reported_in_the_service_s_words() {
    let act = Act::Play(vec![Step::Grant, Step::Grant, Step::Close(1008, "too slow")]);
    let server = Server::start(vec![act]).await;
    let (mut options, _) = hasty();
    options.reconnects = Some(0);
    let stream = server.stream(options);
    stream.open().await.unwrap();
    let error = next(&stream).await.unwrap().unwrap_err();
    assert!(error.message.contains("1008 too slow"), "{error}");
}

#[tokio::test]
async fn the_oldest_are_dropped_where_that_is_asked() {
    let all: Vec<String> = (0..50).map(|id| id.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let server = Server::start(vec![Act::Play(vec![Step::Grant, Step::Grant, frame(&all), Step::Stay])]).await;
    let (mut options, _) = hasty();
    (options.queue, options.overflow) = (10, Overflow::DropOldest);
    let stream = server.stream(options);
    stream.open().await.unwrap();
    let dropped = async {
        while stream.dropped() < 40 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, dropped).await.unwrap();
    assert_eq!(ids(&stream, 10).await, all[40..]);
}

#[tokio::test]
async fn closing_says_farewell_and_ends_a_pause() {
    let mut server = Server::start(vec![Act::Play(vec![Step::Grant, Step::Grant, Step::Stay])]).await;
    let stream = server.stream(StreamOptions::default());
    stream.open().await.unwrap();
    assert_eq!(server.methods().len(), 2);
    stream.close();
    assert!(next(&stream).await.is_none());

    // In the pause of two seconds before the next attempt.
    let server = Server::start(vec![served(&["1"])]).await;
    let stream = server.stream(StreamOptions::default());
    stream.open().await.unwrap();
    assert_eq!(ids(&stream, 1).await, ["1"]);
    stream.close();
    assert!(next(&stream).await.is_none());
}
