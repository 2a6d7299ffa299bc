//! The demo's prediction venue: outcomes, the tapes of its markets, and the positions as of a moment.

use std::sync::{Arc, OnceLock};

use super::events::{PredictionEvents, Truth, years};
use super::odds;
use super::positions::{self, PositionHistory, Traders};
use super::tape::Tape;
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::market::cache::Cache;
use crate::market::demo::clock::BEGIN;
use crate::market::raw::{
    Instrument, PREDICTION_VENUE, PositionTable, PredictionFeed, PredictionFigures, PredictionState, RawData,
    RawDataSet,
};
use crate::market::subjects::trades::demo::CoinTrades;

/// Cached tables of positions: about 5 MB each.
const KEPT_TABLES: usize = 4;
/// The venue whose trades decide questions about prices.
const DECIDING: &str = "BINANCE";

/// The demo's prediction venue. All but the events is computed at first use.
pub(in crate::market) struct DemoPredictionVenue {
    events: PredictionEvents,
    /// Trades of the coins, which decide the questions about prices.
    trades: Arc<CoinTrades>,
    traders: Traders,
    /// Whether the first outcome of a market comes true.
    first: Vec<OnceLock<bool>>,
    /// The positions that are ever taken in a year's markets.
    histories: Vec<OnceLock<Vec<PositionHistory>>>,
    tapes: Vec<OnceLock<Tape>>,
    /// Tables by how many events there had been.
    tables: Cache<usize, PositionTable>,
}

impl DemoPredictionVenue {
    /// The venue of a seed.
    pub(in crate::market) fn new(seed: u64, trades: Arc<CoinTrades>) -> Self {
        let events = PredictionEvents::new(seed);
        let markets = events.events.len();
        Self {
            events,
            trades,
            traders: Traders::new(seed),
            first: (0..markets).map(|_| OnceLock::new()).collect(),
            histories: (0..years()).map(|_| OnceLock::new()).collect(),
            tapes: (0..markets).map(|_| OnceLock::new()).collect(),
            tables: Cache::new(KEPT_TABLES),
        }
    }

    /// The venue's markets, as a source lists them.
    pub(in crate::market) fn instruments(&self) -> impl Iterator<Item = Instrument> {
        self.events.events.iter().zip(&self.events.traits).map(|(question, event)| Instrument {
            exchange: PREDICTION_VENUE.to_owned(),
            raw_symbol: question.condition_id.clone(),
            coin: String::new(),
            quote: "USD".to_owned(),
            category: String::new(),
            coin_name: String::new(),
            available_since: event.opened,
            raw_data: [RawData::Trades, RawData::Books, RawData::OpenInterest].into_iter().collect::<RawDataSet>(),
        })
    }

    /// Category of a market's question.
    pub(in crate::market) fn category(&self, event: usize) -> &str {
        self.events.events[event].category.trim()
    }

    /// The tape of a market.
    pub(in crate::market) fn tape(&self, event: usize) -> &Tape {
        self.tapes[event].get_or_init(|| {
            let traits = self.events.traits[event];
            let histories = self.histories(traits.year).iter().filter(|history| history.outcome / 2 == event);
            Tape::new(traits, self.comes_true(event), histories.map(|history| (history.outcome % 2, history)))
        })
    }

    fn histories(&self, year: usize) -> &[PositionHistory] {
        self.histories[year].get_or_init(|| self.traders.histories(&self.events, year, |event| self.comes_true(event)))
    }

    /// Whether the first outcome of a prediction market comes true. Candles decide the questions about prices.
    pub(in crate::market) fn comes_true(&self, event: usize) -> bool {
        *self.first[event].get_or_init(|| match self.events.traits[event].truth {
            Truth::Fixed(first) => first,
            Truth::Above(coin, price, from, to) => self.trades_above(coin, price, Window::between(from, to)),
            Truth::NewHigh(coin, from, to) => {
                let before = self.coin_market(coin).and_then(|market| {
                    self.trades.highest(market, None, Window::between(BEGIN, from), UnixNanos(i64::MAX))
                });
                before.is_some_and(|before| self.trades_above(coin, before, Window::between(from, to)))
            }
            Truth::Rises(coin, from, to) => self.gain(coin, from, to) > 1.0,
            Truth::Gains(coin, from, to) => self.gain(coin, from, to) > self.gain("BTC", from, to),
        })
    }

    fn coin_market(&self, coin: &str) -> Option<usize> {
        self.trades.coins().instruments.iter().position(|row| row.coin == coin && row.exchange == DECIDING)
    }

    fn trades_above(&self, coin: &str, price: f64, window: Window) -> bool {
        let highest = |market| self.trades.highest(market, Some(price), window, UnixNanos(i64::MAX));
        self.coin_market(coin).and_then(highest).is_some()
    }

    /// Ratio of the coin's prices at two seconds, from the last trade before each.
    fn gain(&self, coin: &str, from: UnixSecond, to: UnixSecond) -> f64 {
        let close =
            |market, at| self.trades.bar_before(market, at, UnixNanos(i64::MAX)).map_or(f64::NAN, |bar| bar.close);
        self.coin_market(coin).map_or(f64::NAN, |market| close(market, to) / close(market, from))
    }
}

impl PredictionFeed for DemoPredictionVenue {
    fn positions(&self, now: UnixNanos) -> Option<Arc<PositionTable>> {
        let now = now.second();
        let opened = self.events.traits.partition_point(|event| event.opened <= now);
        let last = self.events.traits[..opened].iter().map(|event| event.year).max();
        let histories = || (0..last.map_or(0, |year| year + 1)).flat_map(|year| self.histories(year));
        let happened = |history: &PositionHistory| {
            usize::from(history.entered <= now) + usize::from(history.exit.is_some_and(|exit| exit.at <= now))
        };
        let ended = self.events.traits.iter().filter(|event| event.ends <= now).count();
        let count = opened + ended + histories().map(happened).sum::<usize>();
        let first = |event| self.comes_true(event);
        Some(self.tables.made(count, || positions::table(&self.traders, &self.events, histories(), now, first)))
    }

    fn prediction(&self, event: usize, at: UnixSecond) -> Option<PredictionState> {
        odds::state(self.events.traits.get(event)?, at, || self.tape(event).last_price(at))
    }

    fn prediction_volume(&self, event: usize, at: UnixSecond) -> Option<f64> {
        (event < self.events.traits.len()).then(|| self.tape(event).volume(at))
    }

    fn prediction_figures(&self, event: usize, _at: UnixSecond) -> Option<&PredictionFigures> {
        self.events.figures.get(event)?.as_ref()
    }
}
