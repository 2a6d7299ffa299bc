//! Gaps: the time between a broken connection and its replacement, in which events may be missing.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::batch::Trades;
use super::event::Event;
use crate::clock::{SECOND, UnixNanos, UnixSecond};
use crate::protocol::stream::Channel;

/// An item of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// An event of a channel.
    Event(Event),
    /// Trades or liquidations in the order of arrival ([`StreamOptions::batches`]).
    ///
    /// [`StreamOptions::batches`]: super::StreamOptions::batches
    Trades(Trades),
    /// A connection broke and was replaced. Delivered before the first event of the new connection.
    Gap(Gap),
}

/// A time in which events may be missing. Events of it that the service replays are delivered too.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The channels of the broken connection.
    pub channels: Arc<[Channel]>,
    /// By the service's clock: the time of the last event, or, for a connection without one, when it was established.
    pub from: UnixNanos,
    /// By the service's clock, up to a second late: when the channels were open again.
    pub to: UnixNanos,
    /// How long there was no connection.
    pub lasted: Duration,
    /// Attempts until the connection was established again.
    pub attempts: u32,
    /// Why the connection broke.
    pub reason: String,
}

/// The service's clock, from the header `Date` of a handshake; without one, this machine's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceTime {
    second: UnixSecond,
    read: Instant,
}

impl ServiceTime {
    pub(super) fn new(date: Option<UnixSecond>) -> Self {
        let here = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { second: date.unwrap_or_else(|| UnixSecond(here() as i64)), read: Instant::now() }
    }

    /// The earliest possible time now.
    pub(super) fn earliest(&self) -> UnixNanos {
        let elapsed = i64::try_from(self.read.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.second.nanos().plus(elapsed)
    }

    /// The latest possible time now: a date has no fractions of a second.
    pub(super) fn latest(&self) -> UnixNanos {
        self.earliest().plus(SECOND)
    }
}
