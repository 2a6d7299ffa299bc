//! The demo's prediction venue: what comes true, the tapes of its markets, and the positions as of a moment.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use super::Demo;
use super::catalog::BEGIN;
use super::events::{Events, Truth, years};
use super::positions::{self, Life, Traders};
use super::tape::Tape;
use crate::clock::SECOND;
use crate::market::analytics::PositionTable;
use crate::market::cache::Cache;
use crate::market::source::Source;

/// Tables of positions kept for the next question: about 5 MB each.
const KEPT_TABLES: usize = 4;
/// The venue by whose trades a question about a price is decided.
const DECIDING: &str = "BINANCE";

/// What the demo's prediction venue is made of. All but the events is made when it is first asked for.
pub(super) struct Venue {
    pub(super) events: Events,
    traders: Traders,
    /// Whether the first outcome of a market comes true.
    first: Vec<OnceLock<bool>>,
    /// The positions that are ever taken in a year's markets.
    lives: Vec<OnceLock<Vec<Life>>>,
    tapes: Vec<OnceLock<Tape>>,
    /// Tables by how many events there had been.
    tables: Cache<usize, PositionTable>,
}

impl Venue {
    /// The venue of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let events = Events::new(seed);
        let markets = events.events.len();
        Self {
            events,
            traders: Traders::new(seed),
            first: (0..markets).map(|_| OnceLock::new()).collect(),
            lives: (0..years()).map(|_| OnceLock::new()).collect(),
            tapes: (0..markets).map(|_| OnceLock::new()).collect(),
            tables: Cache::new(KEPT_TABLES),
        }
    }
}

impl Demo {
    /// The place among the events of a market that is one of the prediction markets.
    pub(super) fn event(&self, market: usize) -> Option<usize> {
        market.checked_sub(self.traits.len()).filter(|event| *event < self.venue.tapes.len())
    }

    /// The tape of a market, if it is one of the prediction markets.
    pub(super) fn tape(&self, market: usize) -> Option<&Tape> {
        self.event(market).map(|event| self.tape_of(event))
    }

    /// The tape of a prediction market, given by its place among the events.
    pub(super) fn tape_of(&self, event: usize) -> &Tape {
        self.venue.tapes[event].get_or_init(|| {
            let traits = self.venue.events.traits[event];
            let lives = self.lives(traits.year).iter().filter(|life| life.outcome / 2 == event);
            Tape::new(traits, self.comes_true(event), lives.map(|life| (life.outcome % 2, life)))
        })
    }

    fn lives(&self, year: usize) -> &[Life] {
        self.venue.lives[year]
            .get_or_init(|| self.venue.traders.lives(&self.venue.events, year, |event| self.comes_true(event)))
    }

    /// The table of positions as of `now` (Unix nanoseconds).
    pub(super) fn table(&self, now: i64) -> Arc<PositionTable> {
        let (now, venue) = (now.div_euclid(SECOND), &self.venue);
        let opened = venue.events.traits.partition_point(|event| event.opened <= now);
        let last = venue.events.traits[..opened].iter().map(|event| event.year).max();
        let lives = || (0..last.map_or(0, |year| year + 1)).flat_map(|year| self.lives(year));
        let happened =
            |life: &Life| usize::from(life.entered <= now) + usize::from(life.exit.is_some_and(|exit| exit.at <= now));
        let ended = venue.events.traits.iter().filter(|event| event.ends <= now).count();
        let count = opened + ended + lives().map(happened).sum::<usize>();
        let make = || {
            let first = |event| self.comes_true(event);
            Ok::<_, Infallible>(positions::table(&venue.traders, &venue.events, lives(), now, first))
        };
        match venue.tables.get(count, make) {
            Ok(table) => table,
            Err(never) => match never {},
        }
    }

    /// Whether the first outcome of a prediction market comes true. What is asked of a price, the candles decide.
    pub(super) fn comes_true(&self, event: usize) -> bool {
        *self.venue.first[event].get_or_init(|| match self.venue.events.traits[event].truth {
            Truth::Told(first) => first,
            Truth::Above(coin, price, from, to) => self.trades_above(coin, price, from, to),
            Truth::NewHigh(coin, from, to) => {
                let before = self.coin_market(coin).and_then(|market| self.top(market, None, BEGIN, from, i64::MAX));
                before.is_some_and(|before| self.trades_above(coin, before, from, to))
            }
            Truth::Rises(coin, from, to) => self.gain(coin, from, to) > 1.0,
            Truth::Gains(coin, from, to) => self.gain(coin, from, to) > self.gain("BTC", from, to),
        })
    }

    fn coin_market(&self, coin: &str) -> Option<usize> {
        self.listings.iter().position(|row| row.coin == coin && row.exchange == DECIDING)
    }

    fn trades_above(&self, coin: &str, price: f64, from: i64, to: i64) -> bool {
        self.coin_market(coin).is_some_and(|market| self.top(market, Some(price), from, to, i64::MAX).is_some())
    }

    /// What a price of the coin is multiplied by between two seconds, from the last trade before each.
    fn gain(&self, coin: &str, from: i64, to: i64) -> f64 {
        let close = |market: usize, at: i64| {
            let bar = self.bar_before(market, at, i64::MAX);
            bar.ok().flatten().map_or(f64::NAN, |bar| bar.close)
        };
        self.coin_market(coin).map_or(f64::NAN, |market| close(market, to) / close(market, from))
    }
}
