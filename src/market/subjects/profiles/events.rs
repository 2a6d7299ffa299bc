//! Events of profiles, trades or liquidations: in coin, or in USD with converted prices, as in candles.

use std::collections::BTreeMap;

use crate::clock::UnixSecond;
use crate::market::query::error::MarketError;
use crate::market::query::price_step::{DecimalStep, server_step};
use crate::market::query::usd::{Converter, NoRate};
use crate::market::query::window::Buckets;
use crate::market::raw::{Bar, LiquidationFeed, RawData, Source, SourceError, Trade, TradeFeed};
use crate::protocol::BucketGrid;

/// Kind of events in a profile; each has a time, a price, an amount and a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::market) enum EventKind {
    Trades,
    Liquidations,
}

/// The events of some markets over a window, cut into sessions.
pub(in crate::market) struct EventReader<'a> {
    pub source: &'a dyn Source,
    pub kind: EventKind,
    pub markets: &'a [usize],
    pub grid: BucketGrid,
    pub buckets: Buckets,
    pub usd: bool,
}

impl EventReader<'_> {
    /// Visits the events of one market after the other, by time, each with its part of the volume: its amount, or its worth
    /// in USD. In USD, prices in other quotes are converted by the rate of their minute, and contracts to coin.
    pub(in crate::market) fn events(
        &self,
        mut visit: impl FnMut(usize, &Trade, f64) -> Result<(), MarketError>,
    ) -> Result<(), MarketError> {
        let Buckets { window, now, .. } = self.buckets;
        for &market in self.markets {
            let mut converter = self.converter(market);
            let mut outcome = Ok(());
            let mut on_event = |event: &Trade| {
                if outcome.is_ok() {
                    outcome =
                        converted(converter.event(event)).and_then(|(event, volume)| visit(market, &event, volume));
                }
            };
            match self.kind {
                EventKind::Trades => {
                    self.source.each::<dyn TradeFeed>(window, |trades, window| {
                        trades.trades(market, window, now, &mut on_event)
                    })?;
                }
                EventKind::Liquidations => {
                    self.source.each::<dyn LiquidationFeed>(window, |forced, window| {
                        forced.liquidations(market, window, now, &mut on_event)
                    })?;
                }
            }
            outcome?;
        }
        Ok(())
    }

    /// The server's steps by session start. With several markets they are computed beforehand, because any market may have
    /// the first event of a session; with one market, the first visited event gives the step.
    pub(in crate::market) fn steps(&self) -> Result<Steps, MarketError> {
        let mut ticks = Vec::new();
        for &market in self.markets {
            // Converted prices have no tick, and without trades and books the tick is unknown.
            let raw_data = self.source.instruments()[market].raw_data;
            let has_tick = raw_data.has(RawData::Trades) || raw_data.has(RawData::Books);
            if has_tick && self.converter(market).keeps_prices() {
                ticks.push(self.source.of::<dyn TradeFeed>()?.tick(market)?);
            }
        }
        let mut first: BTreeMap<UnixSecond, Bar> = BTreeMap::new();
        if self.markets.len() > 1 {
            for &market in self.markets {
                self.first_bars(market, &mut first)?;
            }
        }
        let by_session = first.into_iter().map(|(start, bar)| (start, server_step(bar.open, &ticks))).collect();
        Ok(Steps { given: None, ticks, by_session })
    }

    fn first_bars(&self, market: usize, first: &mut BTreeMap<UnixSecond, Bar>) -> Result<(), MarketError> {
        let Buckets { window, now, .. } = self.buckets;
        let mut converter = self.converter(market);
        let (mut outcome, mut known_until) = (Ok(()), UnixSecond(i64::MIN));
        let mut on_bar = |bar: &Bar| {
            // Only the first bar of a session matters.
            if outcome.is_err() || bar.start < known_until {
                return;
            }
            let session = self.grid.window(bar.start);
            known_until = session.end();
            match converted(converter.bar(bar)) {
                Ok(bar) => {
                    let known = first.entry(session.start()).or_insert(bar);
                    if bar.first < known.first {
                        *known = bar;
                    }
                }
                Err(error) => outcome = Err(error),
            }
        };
        match self.kind {
            EventKind::Trades => {
                self.source
                    .each::<dyn TradeFeed>(window, |trades, window| trades.bars(market, window, now, &mut on_bar))?;
            }
            EventKind::Liquidations => {
                self.source.each::<dyn LiquidationFeed>(window, |forced, window| {
                    forced.liquidation_bars(market, window, now, &mut on_bar)
                })?;
            }
        }
        outcome
    }

    fn converter(&self, market: usize) -> Converter<'_> {
        Converter::new(self.source, market, self.usd, self.buckets.now)
    }
}

/// The converted value, or the reason why there is none.
fn converted<T>(outcome: Result<Result<T, NoRate>, SourceError>) -> Result<T, MarketError> {
    Ok(outcome??)
}

/// The server's price steps.
pub(in crate::market) struct Steps {
    given: Option<f64>,
    ticks: Vec<f64>,
    by_session: BTreeMap<UnixSecond, f64>,
}

impl Steps {
    /// One step for every session, which the query gave.
    pub(in crate::market) fn always(size: f64) -> Self {
        Self { given: Some(size), ticks: Vec::new(), by_session: BTreeMap::new() }
    }

    /// The step of the session that starts at `start`, its size first. `price` is that of the session's first event,
    /// where the step is not yet known.
    pub(in crate::market) fn of(&mut self, start: UnixSecond, price: f64) -> (f64, DecimalStep) {
        let chosen = || *self.by_session.entry(start).or_insert_with(|| server_step(price, &self.ticks));
        let size = self.given.unwrap_or_else(chosen);
        (size, DecimalStep::new(size))
    }
}
