//! Subscriptions to the events of a market.

use std::ops::Range;

use crate::clock::{UnixNanos, Window};
use crate::market::query::error::MarketError;
use crate::market::raw::{Source, SourceError, Trade, TradeFeed};
use crate::protocol::stream::{Channel, ChannelKind, Payload, StreamPoint, StreamSeries};

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// The moment from which it is known; the order of the stream.
    pub at: UnixNanos,
    /// The point that is sent.
    pub point: StreamPoint,
}

/// A subscription: a channel, and the progress of its events.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub(in crate::market) channel: Channel,
    pub(in crate::market) kind: ChannelKind,
    pub(in crate::market) series: StreamSeries,
    /// Start of the events that are not produced yet.
    pub(in crate::market) from: UnixNanos,
    /// Nanoseconds between two ticks.
    pub(in crate::market) frequency: i64,
    /// Both sides of the book as last sent.
    pub(in crate::market) last_book: Option<(Vec<f64>, Vec<f64>)>,
}

impl Subscription {
    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// End, exclusive, of the produced events.
    pub fn produced_until(&self) -> UnixNanos {
        self.from
    }

    /// An event of this subscription's market.
    pub(in crate::market) fn event(&self, at: UnixNanos, side: Option<&'static str>, payload: Payload) -> StreamEvent {
        StreamEvent { at, point: StreamPoint { series: StreamSeries { side, ..self.series.clone() }, payload } }
    }

    /// The multiples of the frequency up to `until` that are not produced yet.
    pub(in crate::market) fn ticks(&self, until: UnixNanos) -> impl Iterator<Item = UnixNanos> + use<> {
        let first = self.from.plus(self.frequency - 1).0.div_euclid(self.frequency).saturating_mul(self.frequency);
        (first..until.0).step_by(usize::try_from(self.frequency).unwrap_or(usize::MAX)).map(UnixNanos)
    }
}

/// Visits the events of a source between two moments; `read` reads whole seconds.
pub(in crate::market) fn stretch<T>(
    times: Range<UnixNanos>,
    time: impl Fn(&T) -> UnixNanos,
    read: impl FnOnce(Window, UnixNanos, &mut dyn FnMut(&T)) -> Result<(), SourceError>,
    mut visit: impl FnMut(&T),
) -> Result<(), MarketError> {
    let last = times.end.plus(-1);
    let window = Window { from: times.start.second().0, to: last.second().0.saturating_add(1) };
    read(window, last, &mut |event| {
        if time(event) >= times.start {
            visit(event);
        }
    })?;
    Ok(())
}

/// Visits a market's trades between two moments.
pub(in crate::market) fn each_trade(
    source: &dyn Source,
    market: usize,
    times: Range<UnixNanos>,
    visit: impl FnMut(&Trade),
) -> Result<(), MarketError> {
    let read = |window, now, visit: &mut dyn FnMut(&Trade)| {
        source.each::<dyn TradeFeed>(window, |trades, window| trades.trades(market, window, now, visit))
    };
    stretch(times, |trade: &Trade| trade.time, read, visit)
}
