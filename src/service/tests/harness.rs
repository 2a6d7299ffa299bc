//! A canned source, a service on a free port, and a client that writes and reads plain HTTP/1.1.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::clock::{ManualClock, SECOND};
use crate::columns::{Column, Series};
use crate::protocol::{Market, MarketsPage, MarketsQuery, PointsQuery, SeriesId, Shape};
use crate::service::{AnswerError, Answers, RunningService, Service, ServiceConfig};

/// The service's time at the start of each test: 2026-04-22 18:00:00 UTC, six hours before the day's end.
pub(super) const NOW: i64 = 1_776_880_800;

/// Rows of the answer to `LARGE`: more bytes than the buffers between two sockets hold.
pub(super) const LARGE: usize = 200_000;

/// Answers by symbol: `LARGE`, `PANIC`, `BROKEN`, `NOWHERE`, `STRANGER`, `HELD` (waits until released); any other is a candle.
pub(super) struct Canned {
    started: Mutex<Sender<()>>,
    release: Mutex<Receiver<()>>,
    /// `HELD` requests that run, and the most that ran at a time.
    running: Arc<Mutex<(usize, usize)>>,
}

impl Answers for Canned {
    fn points(&self, query: &PointsQuery, _now: i64) -> Result<Vec<Series>, AnswerError> {
        match query.raw_symbol.as_deref() {
            Some("PANIC") => panic!("the canned source was told to"),
            Some("BROKEN") => return Err(AnswerError::Internal("the store is gone".into())),
            Some("NOWHERE") => return Err(AnswerError::InvalidExchange("no such exchange".into())),
            Some("STRANGER") => return Err(AnswerError::InvalidSymbol("no such symbol".into())),
            Some("HELD") => {
                {
                    let mut running = self.running.lock().unwrap();
                    running.0 += 1;
                    running.1 = running.1.max(running.0);
                }
                let _ = self.started.lock().unwrap().send(());
                let _ = self.release.lock().unwrap().recv();
                self.running.lock().unwrap().0 -= 1;
            }
            _ => {}
        }
        let rows = if query.raw_symbol.as_deref() == Some("LARGE") { LARGE } else { 1 };
        Ok(vec![Series {
            id: SeriesId { data_type: Some(query.data_type.clone()), ..SeriesId::default() }.into(),
            shape: Shape::Table,
            timestamps: vec![(NOW - 60) * SECOND; rows],
            columns: vec![("close".into(), Column::Float(vec![2.5e6; rows]))],
        }])
    }

    /// So says the coin `SHORT`.
    fn is_short(&self, query: &PointsQuery, _now: i64) -> bool {
        query.coin.as_deref() == Some("SHORT")
    }

    fn markets(&self, query: &MarketsQuery, _now: i64) -> Result<MarketsPage, AnswerError> {
        let exchange = query.exchanges.first().cloned().unwrap_or_else(|| "BYBIT".into());
        Ok(MarketsPage { symbols: vec![Market { exchange, last_price: 2.5e6, ..Market::default() }], next_offset: 1 })
    }
}

/// A service under test.
pub(super) struct Bench {
    pub(super) clock: Arc<ManualClock>,
    pub(super) service: RunningService,
    /// Tells of each `HELD` request that runs.
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

    /// Limit, remaining and used, as the headers tell them.
    pub(super) fn budget(&self) -> (i64, i64, i64) {
        (self.number("x-ratelimit-limit"), self.number("x-ratelimit-remaining"), self.number("x-ratelimit-used"))
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(super) fn with(change: impl FnOnce(&mut ServiceConfig)) -> Self {
        let clock = Arc::new(ManualClock::at(NOW * SECOND));
        let (started_sender, started) = channel();
        let (release, release_receiver) = channel();
        let running = Arc::default();
        let source = Canned {
            started: Mutex::new(started_sender),
            release: Mutex::new(release_receiver),
            running: Arc::clone(&running),
        };
        let mut config = ServiceConfig::new(Arc::new(source), Arc::<ManualClock>::clone(&clock));
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

    /// `/v1/points` of `points` minutes up to now, with more parameters.
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

pub(super) fn minutes(points: i64, more: &str) -> String {
    format!("/v1/points?type=TRADE_AGG&exchange=BYBIT&interval=MINUTE&period={}{more}", 60 * points)
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
