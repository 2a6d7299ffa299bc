//! Channels that send each event by itself: trades, liquidations, and the readings of the derivative ticker.

use std::ops::Range;

use super::subscription::{StreamEvent, Subscription, each_trade, stretch};
use crate::clock::UnixNanos;
use crate::market::query::error::MarketError;
use crate::market::raw::{LiquidationFeed, Source, Ticker, TickerFeed, TickerField, Trade};
use crate::protocol::identity::{BUY, SELL};
use crate::protocol::stream::Payload;

/// Makes identifiers of events: nanosecond, place of the market, and place among the events of that nanosecond. So an event
/// has the same identifier in all connections, and identifiers of a source are unique.
struct Namer {
    market: usize,
    time: UnixNanos,
    place: u32,
}

impl Namer {
    fn of(market: usize) -> Self {
        Self { market, time: UnixNanos(i64::MIN), place: 0 }
    }

    fn name(&mut self, trade: &Trade) -> String {
        self.place = if trade.time == self.time { self.place + 1 } else { 0 };
        self.time = trade.time;
        format!("{}{:05}{:05}", trade.time.0, self.market, self.place)
    }
}

/// Side of a taker.
pub(in crate::market) fn side(buy: bool) -> &'static str {
    if buy { BUY } else { SELL }
}

/// `TRADE`.
pub(in crate::market) fn trades(
    source: &dyn Source,
    market: usize,
    subscription: &Subscription,
    until: UnixNanos,
    events: &mut Vec<StreamEvent>,
) -> Result<(), MarketError> {
    let mut namer = Namer::of(market);
    each_trade(source, market, subscription.from..until, |trade| {
        let (id, price, amount) = (namer.name(trade), trade.price, trade.amount);
        let payload = Payload::Trade { id, price, amount, timestamp: trade.time.into() };
        events.push(subscription.event(trade.time, Some(side(trade.buy)), payload));
    })
}

/// `LIQUIDATION`.
pub(in crate::market) fn liquidations(
    source: &dyn Source,
    market: usize,
    subscription: &Subscription,
    until: UnixNanos,
    events: &mut Vec<StreamEvent>,
) -> Result<(), MarketError> {
    let mut namer = Namer::of(market);
    let read = |window, now, visit: &mut dyn FnMut(&Trade)| {
        source.each::<dyn LiquidationFeed>(window, |forced, window| forced.liquidations(market, window, now, visit))
    };
    stretch(
        subscription.from..until,
        |forced: &Trade| forced.time,
        read,
        |forced| {
            let (id, price, amount) = (namer.name(forced), forced.price, forced.amount);
            let payload = Payload::Liquidation { id, price, amount, timestamp: forced.time.into() };
            events.push(subscription.event(forced.time, Some(side(forced.buy)), payload));
        },
    )
}

/// `FUNDING_RATE`: each reading that has a rate, per the venue's own interval.
pub(in crate::market) fn funding_rates(
    source: &dyn Source,
    market: usize,
    subscription: &Subscription,
    until: UnixNanos,
    events: &mut Vec<StreamEvent>,
) -> Result<(), MarketError> {
    readings(source, market, subscription.from..until, |reading| {
        let [funding_rate, predicted_funding_rate] =
            [TickerField::FundingRate, TickerField::PredictedRate].map(|field| reading.value(field));
        if funding_rate.or(predicted_funding_rate).is_some() {
            let payload = Payload::FundingRate { funding_rate, predicted_funding_rate, timestamp: reading.time.into() };
            events.push(subscription.event(reading.time, None, payload));
        }
    })
}

/// `OPEN_INTEREST`: each reading that has it, in coin.
pub(in crate::market) fn open_interest(
    source: &dyn Source,
    market: usize,
    subscription: &Subscription,
    until: UnixNanos,
    events: &mut Vec<StreamEvent>,
) -> Result<(), MarketError> {
    readings(source, market, subscription.from..until, |reading| {
        if let Some(open_interest) = reading.value(TickerField::OpenInterest) {
            let payload = Payload::OpenInterest { open_interest, timestamp: reading.time.into() };
            events.push(subscription.event(reading.time, None, payload));
        }
    })
}

fn readings(
    source: &dyn Source,
    market: usize,
    times: Range<UnixNanos>,
    visit: impl FnMut(&Ticker),
) -> Result<(), MarketError> {
    let read = |window, now, visit: &mut dyn FnMut(&Ticker)| {
        source.each::<dyn TickerFeed>(window, |ticker, window| ticker.readings(market, window, now, visit))
    };
    stretch(times, |reading: &Ticker| reading.time, read, visit)
}
