//! The client's stream against the service's, over real sockets, with a clock that stands until it is moved.

use std::sync::Arc;
use std::time::Duration;

use marketpoints::client::{
    Backoff, Client, Config, ErrorKind, Event, EventStream, Registry, StreamItem, StreamOptions,
};
use marketpoints::clock::{ManualClock, SECOND, UnixNanos, UnixSecond};
use marketpoints::market::Market;
use marketpoints::protocol::stream::Channel;
use marketpoints::service::{RunningService, Service, ServiceConfig};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// 2026-04-22 18:00:00 UTC.
const NOW: i64 = 1_776_880_800;
const PATIENCE: Duration = Duration::from_secs(60);

struct Twin {
    clock: Arc<ManualClock>,
    service: RunningService,
}

impl Twin {
    fn start() -> Self {
        let clock = Arc::new(ManualClock::at(UnixSecond(NOW).nanos()));
        let config = ServiceConfig::new(Arc::new(Market::demo(0)), Arc::<ManualClock>::clone(&clock));
        Self { clock, service: Service::start(config).unwrap() }
    }

    fn client(&self, key: &str) -> Client {
        Client::new(&Config::new(key, self.service.url()), &Registry::default()).unwrap()
    }

    fn stream(&self, tier: &str, channels: Vec<Channel>) -> EventStream {
        self.client(&self.service.keys()[tier]).stream(channels, StreamOptions::default()).unwrap()
    }
}

fn trades(symbol: &str) -> Channel {
    Channel::new("TRADE", "BINANCE_FUTURES", symbol)
}

async fn next(stream: &EventStream) -> Event {
    match tokio::time::timeout(PATIENCE, stream.next()).await.expect("nothing comes").expect("the end") {
        Ok(StreamItem::Event(event)) => event,
        other => panic!("no event but {other:?}"),
    }
}

async fn refused(stream: &EventStream) -> marketpoints::client::ClientError {
    tokio::time::timeout(PATIENCE, stream.open()).await.expect("no answer").unwrap_err()
}

#[tokio::test]
async fn channels_of_both_families_come_in_one_stream() {
    let twin = Twin::start();
    let book = Channel::new("BLOCK_BOOK_SNAPSHOT", "BINANCE_FUTURES", "BTCUSDT").with("blockSize", "50");
    let stream = twin.stream("standard", vec![trades("BTCUSDT"), book, trades("ETHUSDT"), trades("BTCUSDT")]);
    stream.open().await.unwrap();
    twin.clock.advance(60 * SECOND);
    let mut kinds = std::collections::BTreeSet::new();
    while kinds.len() < 3 {
        let event = next(&stream).await;
        let time = event.time().unwrap();
        assert!((NOW * SECOND..=(NOW + 60) * SECOND).contains(&time.0), "{event:?}");
        kinds.insert((event.kind().to_owned(), event.symbol().to_owned(), event.name.clone()));
    }
    stream.close();
    while let Some(event) = stream.next().await {
        event.unwrap();
    }
    assert!(stream.open().await.is_ok(), "it had been opened");
    assert_eq!((stream.dropped(), stream.reconnects()), (0, 0));
}

#[tokio::test]
async fn every_event_of_an_hour_comes_once_and_in_order_to_a_slow_taker() {
    let twin = Twin::start();
    let options = StreamOptions { queue: 10, ..StreamOptions::default() };
    let client = twin.client(&twin.service.keys()["basic"]);
    let stream = client.stream(vec![trades("BTCUSDT")], options).unwrap();
    stream.open().await.unwrap();
    twin.clock.advance(3_600 * SECOND);
    // The same market, asked directly.
    let market = Market::demo(0);
    let mut subscription = market.subscribe(&trades("BTCUSDT"), UnixNanos(NOW * SECOND)).unwrap();
    let events = market.events(&mut subscription, UnixNanos((NOW + 3_600) * SECOND + 1)).unwrap();
    assert!(events.len() > 300);
    for expected in &events {
        let event = next(&stream).await;
        assert_eq!(event.time(), Some(expected.at));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn refusals_are_reported_at_once_and_by_kind() {
    let twin = Twin::start();
    let stranger = twin.client("not-a-key").stream(vec![trades("BTCUSDT")], StreamOptions::default()).unwrap();
    let error = refused(&stranger).await;
    assert_eq!(
        (error.kind, error.status, error.code.as_deref()),
        (ErrorKind::Authentication, Some(401), Some("INVALID_API_KEY"))
    );
    assert!(!format!("{error:?}").contains("not-a-key"), "{error:?}");
    assert!(stranger.next().await.is_none(), "a stream that did not open has ended");

    let error = refused(&twin.stream("free", vec![trades("BTCUSDT")])).await;
    assert_eq!((error.kind, error.status), (ErrorKind::Tier, Some(403)));
    assert!(error.request.as_deref().is_some_and(|url| url.ends_with("/nonbook/ws?encoding=json")), "{error:?}");

    let six = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "BNBUSDT", "ADAUSDT"].map(trades).to_vec();
    let error = refused(&twin.stream("basic", six)).await;
    assert!(error.message.contains("basic has 5 streams"), "{error}");

    // A type that only the service can judge.
    let error = refused(&twin.stream("basic", vec![Channel::new("OPTION_GREEKS", "DERIBIT", "BTC")])).await;
    assert_eq!((error.kind, error.status), (ErrorKind::InvalidRequest, Some(400)));
}

#[test]
fn slips_are_found_before_anything_is_sent() {
    // Nobody listens at this address, and there is no runtime to send with.
    let client = Client::new(&Config::new("key", "http://127.0.0.1:1"), &Registry::default()).unwrap();
    for (channel, word) in [
        (Channel::new("TRADES", "BYBIT", "BTCUSDT"), "did you mean TRADE?"),
        (Channel::new("trade", "BYBIT", "BTCUSDT"), "did you mean TRADE?"),
        (Channel::new("", "BYBIT", "BTCUSDT"), "no channel type"),
        (Channel::new("TRADE", "BINANCE_FUTURE", "BTCUSDT"), "did you mean BINANCE_FUTURES?"),
        (Channel::new("TRADE", "BYBIT", ""), "symbol: missing"),
        (Channel::new("BLOCK_BOOK_SNAPSHOT", "BYBIT", "BTCUSDT"), "block_size: missing"),
        (trades("BTCUSDT").with("rawSymbol", "BTCUSDT"), "did you mean symbol?"),
    ] {
        let error = client.stream(vec![channel.clone()], StreamOptions::default()).err().unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert!(error.message.contains(word), "{channel:?}: {error}");
    }
    assert!(client.stream(Vec::new(), StreamOptions::default()).is_err());
    let unknown = Channel::new("OPTION_GREEKS", "SOME_VENUE", "X").with("depth", "any");
    assert!(client.stream(vec![unknown], StreamOptions::default()).is_ok());
}

#[tokio::test]
async fn a_stop_of_the_service_and_an_address_without_one_are_reported() {
    let twin = Twin::start();
    let client = twin.client(&twin.service.keys()["basic"]);
    let options = StreamOptions { reconnects: Some(0), ..StreamOptions::default() };
    let stream = client.stream(vec![trades("BTCUSDT")], options).unwrap();
    stream.open().await.unwrap();
    tokio::task::spawn_blocking(move || twin.service.stop()).await.unwrap();
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Transport);
    assert!(error.message.contains("the service stops"), "{error}");
    assert!(stream.next().await.is_none());

    let stream = client.stream(vec![trades("BTCUSDT")], StreamOptions::default()).unwrap();
    assert_eq!(refused(&stream).await.kind, ErrorKind::Transport);
}

#[tokio::test]
async fn a_closed_or_dropped_stream_gives_its_places_back() {
    let twin = Twin::start();
    let five = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "BNBUSDT"].map(trades);
    // A stream that is refused has ended; another is tried until the service has noticed the end of the one before.
    let opened = async || {
        loop {
            let stream = twin.stream("basic", five.to_vec());
            if stream.open().await.is_ok() {
                return stream;
            }
        }
    };
    let again = async {
        opened().await.close();
        drop(opened().await);
        opened().await
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the places are not given back");
}

/// Between client and service, so that a test can cut the connection.
struct Wire {
    url: String,
    cut: tokio::sync::broadcast::Sender<()>,
}

impl Wire {
    async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (cut, _) = tokio::sync::broadcast::channel(1);
        let cutting = cut.clone();
        tokio::spawn(async move {
            while let Ok((mut outside, _)) = listener.accept().await {
                let mut cut = cutting.subscribe();
                tokio::spawn(async move {
                    let mut inside = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut outside, &mut inside) => {}
                        _ = cut.recv() => {}
                    }
                });
            }
        });
        Self { url, cut }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_gap_says_is_where_the_missing_events_are() {
    let twin = Twin::start();
    let wire = Wire::to(twin.service.port()).await;
    let client =
        Client::new(&Config::new(twin.service.keys()["basic"].as_str(), &wire.url), &Registry::default()).unwrap();
    let clock = Arc::clone(&twin.clock);
    let backoff = Backoff {
        // The outage lasts ten minutes by the service's clock.
        pause: Arc::new(move |_| {
            clock.advance(600 * SECOND);
            Box::pin(std::future::ready(()))
        }),
        ..Backoff::default()
    };
    let stream = client.stream(vec![trades("BTCUSDT")], StreamOptions { backoff, ..StreamOptions::default() }).unwrap();
    stream.open().await.unwrap();
    twin.clock.advance(60 * SECOND);
    let mut last = next(&stream).await.time().unwrap();
    // All of the first minute, by the same market asked directly.
    let market = Market::demo(0);
    let mut subscription = market.subscribe(&trades("BTCUSDT"), UnixNanos(NOW * SECOND)).unwrap();
    let first = market.events(&mut subscription, UnixNanos((NOW + 60) * SECOND + 1)).unwrap();
    while last < first.last().unwrap().at {
        last = next(&stream).await.time().unwrap();
    }
    wire.cut.send(()).unwrap();
    let gap = match tokio::time::timeout(PATIENCE, stream.next()).await.unwrap() {
        Some(Ok(StreamItem::Gap(gap))) => gap,
        other => panic!("no gap but {other:?}"),
    };
    twin.clock.advance(60 * SECOND);
    let after = next(&stream).await.time().unwrap();
    assert_eq!(gap.from, last);
    // To the second of the header, and the real time that it took.
    assert!(((NOW + 660) * SECOND..(NOW + 662 + 60) * SECOND).contains(&gap.to.0), "{gap:?}");
    let missing = market.events(&mut subscription, after).unwrap();
    assert!(missing.len() > 60);
    assert!(missing.iter().all(|event| event.at > gap.from && event.at <= gap.to), "{gap:?}");
    assert_eq!(stream.reconnects(), 1);
}
