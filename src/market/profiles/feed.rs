//! Events as profiles count them, trades or liquidations: in coin, or in USD with their prices converted as candles' are.

use std::collections::BTreeMap;

use super::sessions::Grid;
use super::step::server_step;
use crate::clock::SECOND;
use crate::market::MarketError;
use crate::market::candles::Rates;
use crate::market::feed;
use crate::market::heatmap::Step;
use crate::market::source::{Bar, Source, Trade};
use crate::market::window::Buckets;

/// What a profile is made of: events with a time, a price, an amount and a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tape {
    Trades,
    Liquidations,
}

/// The events of some markets over a window, cut into sessions.
pub(super) struct Feed<'a> {
    pub source: &'a dyn Source,
    pub tape: Tape,
    pub markets: &'a [usize],
    pub grid: Grid,
    pub window: Buckets,
    pub usd: bool,
}

impl Feed<'_> {
    /// Visits the events of each market, one market after the other, each by time and with what it adds to a volume: its
    /// amount, or its worth in USD. In USD, the prices of a market with another quote are converted by the rate of their
    /// minute, and contracts are brought to coin.
    pub(super) fn events(
        &self,
        mut visit: impl FnMut(usize, &Trade, f64) -> Result<(), MarketError>,
    ) -> Result<(), MarketError> {
        let Buckets { from, end, now, .. } = self.window;
        for &market in self.markets {
            let rates = self.rates(market)?;
            let mut converter = Converter { rates: rates.as_ref(), minute: i64::MIN, rate: 1.0 };
            let contract = self.source.listings()[market].contract_usd().filter(|_| self.usd);
            let mut outcome = Ok(());
            let mut tell = |event: &Trade| {
                if outcome.is_ok() {
                    outcome = match contract {
                        Some(contract) => visit(market, &event.in_coin(contract), event.amount * contract),
                        None => converter.trade(event).and_then(|event| {
                            let volume = if self.usd { event.price * event.amount } else { event.amount };
                            visit(market, &event, volume)
                        }),
                    };
                }
            };
            match self.tape {
                Tape::Trades => self.source.trades(market, from, end, now, &mut tell)?,
                Tape::Liquidations => self.source.liquidations(market, from, end, now, &mut tell)?,
            }
            outcome?;
        }
        Ok(())
    }

    /// The server's steps by session start, as far as they must be known beforehand: with several markets, the first
    /// event of a session may be of any of them. With one, its first event is known when it is visited.
    pub(super) fn steps(&self) -> Result<Steps, MarketError> {
        let mut ticks = Vec::new();
        for &market in self.markets {
            // Converted prices are on no grid, and without trades nothing tells the grid.
            if !self.is_converted(market) && self.source.listings()[market].feeds.has(feed::Feed::Trades) {
                ticks.push(self.source.tick(market)?);
            }
        }
        let mut first: BTreeMap<i64, Bar> = BTreeMap::new();
        if self.markets.len() > 1 {
            for &market in self.markets {
                self.first_bars(market, &mut first)?;
            }
        }
        let by_session = first.into_iter().map(|(start, bar)| (start, server_step(bar.open, &ticks))).collect();
        Ok(Steps { given: None, ticks, by_session })
    }

    fn first_bars(&self, market: usize, first: &mut BTreeMap<i64, Bar>) -> Result<(), MarketError> {
        let Buckets { from, end, now, .. } = self.window;
        let rates = self.rates(market)?;
        let mut converter = Converter { rates: rates.as_ref(), minute: i64::MIN, rate: 1.0 };
        let (mut outcome, mut told) = (Ok(()), i64::MIN);
        let mut tell = |bar: &Bar| {
            // Only the first bar of a session matters.
            if outcome.is_err() || bar.start < told {
                return;
            }
            let session = self.grid.session(bar.start);
            told = session.end;
            match converter.at(bar.start) {
                Ok(rate) => {
                    let bar = Bar { open: bar.open * rate, ..*bar };
                    let known = first.entry(session.start).or_insert(bar);
                    if bar.first < known.first {
                        *known = bar;
                    }
                }
                Err(error) => outcome = Err(error),
            }
        };
        match self.tape {
            Tape::Trades => self.source.bars(market, from, end, now, &mut tell)?,
            Tape::Liquidations => self.source.liquidation_bars(market, from, end, now, &mut tell)?,
        }
        outcome
    }

    fn is_converted(&self, market: usize) -> bool {
        self.usd && !self.source.listings()[market].is_usd_like()
    }

    fn rates(&self, market: usize) -> Result<Option<Rates<'_>>, MarketError> {
        if !self.is_converted(market) {
            return Ok(None);
        }
        Rates::new(self.source, &self.source.listings()[market].quote, &self.window).map(Some)
    }
}

/// The rate of a minute, looked up once for its events.
struct Converter<'a> {
    rates: Option<&'a Rates<'a>>,
    minute: i64,
    rate: f64,
}

impl Converter<'_> {
    fn at(&mut self, second: i64) -> Result<f64, MarketError> {
        let Some(rates) = self.rates else { return Ok(1.0) };
        let minute = second - second.rem_euclid(60);
        if minute != self.minute {
            self.rate = rates.at(minute).ok_or_else(|| rates.missing(minute))?;
            self.minute = minute;
        }
        Ok(self.rate)
    }

    fn trade(&mut self, trade: &Trade) -> Result<Trade, MarketError> {
        let rate = self.at(trade.time.div_euclid(SECOND))?;
        Ok(Trade { price: trade.price * rate, ..*trade })
    }
}

/// The server's price steps.
pub(super) struct Steps {
    given: Option<f64>,
    ticks: Vec<f64>,
    by_session: BTreeMap<i64, f64>,
}

impl Steps {
    /// One step for every session, which the query gave.
    pub(super) fn always(size: f64) -> Self {
        Self { given: Some(size), ticks: Vec::new(), by_session: BTreeMap::new() }
    }

    /// The step of the session that starts at `start`, its size first. `price` is that of the session's first event,
    /// where the step is not yet known.
    pub(super) fn of(&mut self, start: i64, price: f64) -> (f64, Step) {
        let chosen = || *self.by_session.entry(start).or_insert_with(|| server_step(price, &self.ticks));
        let size = self.given.unwrap_or_else(chosen);
        (size, Step::new(size))
    }
}
