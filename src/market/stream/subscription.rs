//! Subscriptions: which events of which market, and up to when they were produced.

use std::ops::Range;

use crate::clock::{Window, second_of};
use crate::market::query::error::MarketError;
use crate::market::raw::{Source, SourceError, Trade};
use crate::protocol::stream::{Channel, ChannelKind, Payload, StreamPoint, StreamSeries};

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// Unix nanoseconds at which it is known; the order of the stream.
    pub at: i64,
    /// The point that is sent.
    pub point: StreamPoint,
}

/// A channel being sent.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub(in crate::market) channel: Channel,
    pub(in crate::market) kind: ChannelKind,
    pub(in crate::market) series: StreamSeries,
    /// Unix nanoseconds: everything before was produced.
    pub(in crate::market) from: i64,
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

    /// Unix nanoseconds up to which, exclusively, everything was produced.
    pub fn produced_until(&self) -> i64 {
        self.from
    }

    /// An event of this subscription's market.
    pub(in crate::market) fn event(&self, at: i64, side: Option<&'static str>, payload: Payload) -> StreamEvent {
        StreamEvent { at, point: StreamPoint { series: StreamSeries { side, ..self.series.clone() }, payload } }
    }

    /// The multiples of the frequency in the stretch that is to be produced.
    pub(in crate::market) fn ticks(&self, until: i64) -> impl Iterator<Item = i64> + use<> {
        let first =
            self.from.saturating_add(self.frequency - 1).div_euclid(self.frequency).saturating_mul(self.frequency);
        (first..until).step_by(usize::try_from(self.frequency).unwrap_or(usize::MAX))
    }
}

/// Visits what a source reads by seconds, cut to these Unix nanoseconds.
pub(in crate::market) fn stretch<T>(
    times: Range<i64>,
    time: impl Fn(&T) -> i64,
    read: impl FnOnce(Window, i64, &mut dyn FnMut(&T)) -> Result<(), SourceError>,
    mut visit: impl FnMut(&T),
) -> Result<(), MarketError> {
    let last = times.end.saturating_sub(1);
    let window = Window { from: second_of(times.start), to: second_of(last).saturating_add(1) };
    read(window, last, &mut |event| {
        if time(event) >= times.start {
            visit(event);
        }
    })?;
    Ok(())
}

/// All that happened to a market's trades in these Unix nanoseconds.
pub(in crate::market) fn each_trade(
    source: &dyn Source,
    market: usize,
    times: Range<i64>,
    visit: impl FnMut(&Trade),
) -> Result<(), MarketError> {
    let read = |window, now, visit: &mut dyn FnMut(&Trade)| source.trades(market, window, now, visit);
    stretch(times, |trade| trade.time, read, visit)
}
