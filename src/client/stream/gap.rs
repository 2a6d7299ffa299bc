//! What may be missing from a stream: the time between a connection that broke and the one in its place.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::batch::Trades;
use super::event::Event;
use crate::clock::{SECOND, UnixNanos, UnixSecond};
use crate::protocol::stream::Channel;

/// What a stream delivers.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// An event of a channel.
    Event(Event),
    /// Trades or liquidations that came one after the other ([`StreamOptions::batches`]).
    ///
    /// [`StreamOptions::batches`]: super::StreamOptions::batches
    Trades(Trades),
    /// A connection broke and was made again. Handed out before the first event of the new connection.
    Gap(Gap),
}

/// A time of which events may be missing. What the service replays of it is delivered as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The channels of the connection that broke.
    pub channels: Arc<[Channel]>,
    /// By the service's clock: the time of the last event that came, or, of a connection without one,
    /// when it stood.
    pub from: UnixNanos,
    /// By the service's clock, up to a second late: when the channels were open again.
    pub to: UnixNanos,
    /// How long no connection stood.
    pub lasted: Duration,
    /// Attempts that it took to connect again.
    pub attempts: u32,
    /// Why the connection broke.
    pub reason: String,
}

/// The service's clock, as the header `Date` of a handshake told it. Without one it is taken to be this machine's.
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

    /// What it is at least now.
    pub(super) fn earliest(&self) -> UnixNanos {
        let elapsed = i64::try_from(self.read.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.second.nanos().plus(elapsed)
    }

    /// What it is at most now: a date has no parts of a second.
    pub(super) fn latest(&self) -> UnixNanos {
        self.earliest().plus(SECOND)
    }
}
