//! Subscriptions: which events of which market, and up to when they were told.

use crate::clock::second_of;
use crate::market::query::error::MarketError;
use crate::market::raw::{Source, SourceError, Trade};
use crate::protocol::stream::{Channel, ChannelKind, Payload, StreamPoint, StreamSeries};

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// Unix nanoseconds at which it is known; the order of the stream.
    pub at: i64,
    /// What is told.
    pub point: StreamPoint,
}

/// A channel being told.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub(in crate::market) channel: Channel,
    pub(in crate::market) kind: ChannelKind,
    pub(in crate::market) series: StreamSeries,
    /// Unix nanoseconds: everything before was told.
    pub(in crate::market) from: i64,
    /// Nanoseconds between two tellings.
    pub(in crate::market) frequency: i64,
    /// Both sides of the book as last told.
    pub(in crate::market) last_book: Option<(Vec<f64>, Vec<f64>)>,
}

impl Subscription {
    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Unix nanoseconds up to which, exclusively, everything was told.
    pub fn told_until(&self) -> i64 {
        self.from
    }

    /// An event of this subscription's market.
    pub(in crate::market) fn event(&self, at: i64, side: Option<&'static str>, payload: Payload) -> StreamEvent {
        StreamEvent { at, point: StreamPoint { series: StreamSeries { side, ..self.series.clone() }, payload } }
    }

    /// The multiples of the frequency in the stretch that is to be told.
    pub(in crate::market) fn ticks(&self, until: i64) -> impl Iterator<Item = i64> + use<> {
        let first =
            self.from.saturating_add(self.frequency - 1).div_euclid(self.frequency).saturating_mul(self.frequency);
        (first..until).step_by(usize::try_from(self.frequency).unwrap_or(usize::MAX))
    }
}

/// Visits what a source tells by seconds, cut to the nanoseconds `[from, until)`.
pub(in crate::market) fn stretch<T>(
    (from, until): (i64, i64),
    time: impl Fn(&T) -> i64,
    tell: impl FnOnce(i64, i64, i64, &mut dyn FnMut(&T)) -> Result<(), SourceError>,
    mut visit: impl FnMut(&T),
) -> Result<(), MarketError> {
    let last = until.saturating_sub(1);
    let (first, end) = (second_of(from), second_of(last).saturating_add(1));
    tell(first, end, last, &mut |event| {
        if time(event) >= from {
            visit(event);
        }
    })?;
    Ok(())
}

/// All that happened to a market's trades in `[from, until)`.
pub(in crate::market) fn each_trade(
    source: &dyn Source,
    market: usize,
    window: (i64, i64),
    visit: impl FnMut(&Trade),
) -> Result<(), MarketError> {
    let tell = |from, to, now, visit: &mut dyn FnMut(&Trade)| source.trades(market, from, to, now, visit);
    stretch(window, |trade| trade.time, tell, visit)
}
