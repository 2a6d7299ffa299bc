//! A source whose markets misbehave on demand, a service over it on a free port, and a client that writes and reads plain
//! HTTP/1.1.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::clock::{ManualClock, SECOND, UnixNanos, UnixSecond, Window};
use crate::market::{
    Bar, Book, BookFeed, Feeds, Instrument, LiquidationFeed, Market, RawData, Source, SourceError, Trade, TradeFeed,
};
use crate::protocol::DataType;
use crate::service::{RunningService, Service, ServiceConfig};

/// The service's time at the start of each test: 2026-04-22 18:00:00 UTC, six hours before the day's end.
pub(super) const NOW: i64 = 1_776_880_800;

/// Points of the answer to [`large`], two for each of its minutes: more bytes than the buffers between two sockets hold.
pub(super) const LARGE: usize = 64_000;

/// What the market of BYBIT with this symbol does when its bars are read. Every other market has one minute, the last.
const MISCHIEF: [&str; 4] = ["PANIC", "BROKEN", "HELD", "LARGE"];

/// Markets of three kinds: sound ones, which are listed; those of [`MISCHIEF`], which are not.
pub(super) struct Mischief {
    instruments: Vec<Instrument>,
    feeds: Feeds,
}

/// What the markets with these symbols have.
struct MischiefFeed {
    symbols: Vec<String>,
    started: Mutex<Sender<()>>,
    release: Mutex<Receiver<()>>,
    /// `HELD` requests that run, and the most that ran at a time.
    running: Arc<Mutex<(usize, usize)>>,
}

fn instrument(exchange: &str, raw_symbol: &str) -> Instrument {
    Instrument {
        exchange: exchange.into(),
        raw_symbol: raw_symbol.into(),
        coin: "BTC".into(),
        quote: "USDT".into(),
        category: "PERPETUAL".into(),
        coin_name: "Bitcoin".into(),
        available_since: UnixSecond(0),
        raw_data: RawData::ALL.into_iter().collect(),
    }
}

/// The bar of a minute with one trade.
fn bar(start: i64, price: f64) -> Bar {
    Bar::of(UnixSecond(start), &Trade { time: UnixNanos(start * SECOND), price, amount: 1.0, buy: true })
}

impl Source for Mischief {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    /// Nothing ever happened to those that misbehave, so that no listing reads them.
    fn first_event(&self, market: usize, _data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        Ok((!MISCHIEF.contains(&&*self.instruments[market].raw_symbol)).then_some(UnixNanos(0)))
    }

    fn icon_url(&self, _: usize) -> String {
        String::new()
    }
}

impl TradeFeed for MischiefFeed {
    fn bars(
        &self,
        market: usize,
        Window { from, to }: Window,
        _now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        let (mut minutes, mut price) = (NOW - 60..NOW, 2.5e6);
        match self.symbols[market].as_str() {
            "PANIC" => panic!("the source was told to"),
            "BROKEN" => return Err(SourceError("the store is gone".into())),
            "HELD" => {
                {
                    let mut running = self.running.lock().unwrap();
                    running.0 += 1;
                    running.1 = running.1.max(running.0);
                }
                let _ = self.started.lock().unwrap().send(());
                let _ = self.release.lock().unwrap().recv();
                self.running.lock().unwrap().0 -= 1;
            }
            // Many digits, so many bytes.
            "LARGE" => (minutes, price) = (from..to, 2_500_000.123_456_789),
            _ => {}
        }
        minutes.step_by(60).filter(|start| (from..to).contains(start)).for_each(|start| visit(&bar(start, price)));
        Ok(())
    }

    fn bar_before(&self, _market: usize, before: UnixSecond, _now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        Ok((before.0 >= NOW).then(|| bar(NOW - 60, 2.5e6)))
    }

    fn trades(
        &self,
        _market: usize,
        _window: Window,
        _now: UnixNanos,
        _visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        Ok(())
    }

    fn tick(&self, _market: usize) -> Result<f64, SourceError> {
        Ok(1.0)
    }
}

impl BookFeed for MischiefFeed {
    fn last_book(&self, _market: usize, _window: Window, _now: UnixNanos) -> Result<Option<Book>, SourceError> {
        Ok(None)
    }
}

impl LiquidationFeed for MischiefFeed {
    fn liquidation_bars(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Bar)) -> Result<(), SourceError> {
        Ok(())
    }

    fn liquidations(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Trade)) -> Result<(), SourceError> {
        Ok(())
    }
}

/// A service under test.
pub(super) struct Bench {
    pub(super) clock: Arc<ManualClock>,
    pub(super) service: RunningService,
    /// Receives each `HELD` request that runs.
    pub(super) started: Receiver<()>,
    /// `HELD` requests that run, and the most that ran at a time.
    pub(super) running: Arc<Mutex<(usize, usize)>>,
    /// Lets one `HELD` request go on.
    pub(super) release: Sender<()>,
}

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> i64 {
        self.header(name).unwrap_or_else(|| panic!("no {name} in {self:?}")).parse().unwrap()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub(super) fn code(&self) -> String {
        self.json()["error"].as_str().unwrap().to_owned()
    }

    pub(super) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap().to_owned()
    }

    /// Limit, remaining and used, from the headers.
    pub(super) fn budget(&self) -> (i64, i64, i64) {
        (self.number("x-ratelimit-limit"), self.number("x-ratelimit-remaining"), self.number("x-ratelimit-used"))
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(super) fn with(change: impl FnOnce(&mut ServiceConfig)) -> Self {
        let clock = Arc::new(ManualClock::at(UnixSecond(NOW).nanos()));
        let (started_sender, started) = channel();
        let (release, release_receiver) = channel();
        let running = Arc::default();
        let mut instruments = vec![instrument("BYBIT", "BTCUSDT"), instrument("OKEX_SWAP", "BTC-USDT-SWAP")];
        // Of a coin of its own each, so that a sum over Bitcoin leaves them out.
        instruments.extend(MISCHIEF.map(|name| Instrument { coin: name.into(), ..instrument("BYBIT", name) }));
        let mischief = Arc::new(MischiefFeed {
            symbols: instruments.iter().map(|row| row.raw_symbol.clone()).collect(),
            started: Mutex::new(started_sender),
            release: Mutex::new(release_receiver),
            running: Arc::clone(&running),
        });
        let feeds = Feeds::default()
            .with::<dyn TradeFeed>(Arc::<MischiefFeed>::clone(&mischief))
            .with::<dyn BookFeed>(Arc::<MischiefFeed>::clone(&mischief))
            .with::<dyn LiquidationFeed>(mischief);
        let source = Mischief { instruments, feeds: coins_only!(crate, feeds) };
        let market = Market::new(Box::new(source)).with_strict_symbols(true).with_any_block_size(true);
        let mut config = ServiceConfig::new(Arc::new(market), Arc::<ManualClock>::clone(&clock));
        change(&mut config);
        Self { clock, service: Service::start(config).unwrap(), started, running, release }
    }

    pub(super) fn key(&self, name: &str) -> String {
        self.service.keys()[name].clone()
    }

    pub(super) fn get(&self, tier: &str, target: &str) -> Answer {
        let head = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {}\r\n", self.key(tier));
        self.raw(&format!("{head}Connection: close\r\n\r\n"))
    }

    /// What [`minutes`] asks, with the key of a tier.
    pub(super) fn minutes(&self, tier: &str, points: i64, more: &str) -> Answer {
        self.get(tier, &minutes(points, more))
    }

    pub(super) fn raw(&self, text: &str) -> Answer {
        raw(self.service.port(), text.as_bytes())
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.clock.advance(seconds * SECOND);
    }
}

/// `/v1/points` of `points` minutes up to now with more parameters; of BYBIT's BTCUSDT unless they name another market.
pub(super) fn minutes(points: i64, more: &str) -> String {
    let symbol = if more.contains("rawSymbol=") || more.contains("coin=") { "" } else { "&rawSymbol=BTCUSDT" };
    format!("/v1/points?type=TRADE_AGG&exchange=BYBIT&interval=MINUTE&period={}{symbol}{more}", 60 * points)
}

/// A request that waits until it is released. It fills gaps, so it is no short one, which the connection's thread computes.
pub(super) fn held() -> String {
    minutes(1, "&rawSymbol=HELD&gapfill=true")
}

/// A request with [`LARGE`] points; it weighs 32.
pub(super) fn large() -> String {
    minutes(LARGE as i64 / 2, "&rawSymbol=LARGE")
}

/// Sends bytes and reads all that comes back until the service closes.
pub(super) fn raw(port: u16, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A service that refuses early may close before all is written.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    parse(&bytes)
}

pub(super) fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no whole answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    Answer { status, headers, body: body.to_owned() }
}
