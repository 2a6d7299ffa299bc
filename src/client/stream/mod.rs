//! The live stream (service.md 6, supplement 7): one connection for each family of channels, reconnected until it is
//! closed, and one queue of events for all.

mod backoff;
mod batch;
mod deduplication;
mod event;
mod frame_memory;
mod frames;
mod gap;
mod options;
mod queue;
mod record;
mod series_cache;
mod session;
mod socket;

pub use backoff::{Backoff, Pause};
pub use batch::{TradeSeries, TradeTable, Trades};
pub use event::{Event, nanoseconds};
pub use gap::{Gap, StreamItem};
pub use options::StreamOptions;
pub use queue::{Overflow, Taken};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use tokio::sync::watch;

use self::options::{Standing, StreamShared};
use self::queue::StreamQueue;
use self::record::Recorder;
use self::session::Session;
use super::error::ClientError;
use super::inner::Client;
use super::listed::Listed;
use super::typos::check_exchanges;
use crate::clock::WallClock;
use crate::protocol::query::Spelling;
use crate::protocol::stream::{CHANNELS, Channel, ChannelKind, Family};

/// State of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamState {
    /// Not opened yet.
    NotOpen,
    /// Connecting for the first time.
    Opening,
    /// All connections are established.
    Open,
    /// A connection broke and is being replaced.
    Reconnecting,
    /// Closed; events in the queue can still be taken.
    Ended,
}

impl StreamState {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotOpen => "not open yet",
            Self::Opening => "connecting",
            Self::Open => "open",
            Self::Reconnecting => "connecting again",
            Self::Ended => "ended",
        }
    }
}

/// A stream of events. Nothing is sent before [`EventStream::open`]. Dropping it closes its connections.
pub struct EventStream {
    common: Arc<StreamShared>,
    channels: BTreeMap<Family, Vec<Channel>>,
    /// The state of each connection; empty before they are made.
    standing: Mutex<Vec<watch::Receiver<Standing>>>,
}

impl Client {
    /// A stream of these channels. Nothing is sent yet.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] if there are no channels, for a misspelt type or exchange, for what
    /// [`Channel::check`] refuses, and for a channel that cannot be recorded if recording is on.
    pub fn stream(&self, channels: Vec<Channel>, options: StreamOptions) -> Result<EventStream, ClientError> {
        if channels.is_empty() {
            return Err(ClientError::invalid("a stream needs at least one channel"));
        }
        let mut families: BTreeMap<Family, Vec<Channel>> = BTreeMap::new();
        for channel in channels {
            check_type(&channel.kind)?;
            let refused =
                |error| ClientError::invalid(format!("channel {}: {}", channel.kind, ClientError::from(error)));
            channel.check(Spelling::caller()).map_err(refused)?;
            self.inner.check_names([&channel.kind], [&channel.exchange])?;
            check_exchanges(std::slice::from_ref(&channel.exchange))?;
            let family = families.entry(channel.family()).or_default();
            if !family.contains(&channel) {
                family.push(channel);
            }
        }
        let channels = families.values().flatten();
        let recorder = |folder| Recorder::new(folder, channels, Arc::new(WallClock::default()));
        let recorder = options.record.as_deref().map(recorder).transpose()?.map(Arc::new);
        let queue = StreamQueue::new(options.queue, options.overflow);
        let (client, reconnects, broken) = (Arc::clone(&self.inner), AtomicU64::default(), AtomicUsize::default());
        let table = batch::SharedTable::default();
        let common = StreamShared { client, options, queue, recorder, table, reconnects, broken };
        Ok(EventStream { common: Arc::new(common), channels: families, standing: Mutex::default() })
    }
}

/// Checks a type. An unknown type passes if it looks like a wire name and not like a typo.
fn check_type(name: &str) -> Result<(), ClientError> {
    let slip = |known: &str| strsim::osa_distance(known, &name.to_ascii_uppercase()) <= 2;
    let wire = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let looks_right = !name.is_empty() && name.chars().all(wire);
    if ChannelKind::find(name).is_some() || looks_right && !CHANNELS.iter().any(|row| slip(row.name)) {
        return Ok(());
    }
    Err(ClientError::invalid(ChannelKind::unknown(name)))
}

impl EventStream {
    /// Connects, authenticates and subscribes; returns when every connection is established. The first attempt is not
    /// retried, so that a wrong address or key is an error at once; a connection that breaks later is replaced. A
    /// second call waits for the first. Call it within a Tokio runtime.
    ///
    /// # Errors
    /// [`super::ErrorKind::Authentication`], [`super::ErrorKind::Tier`] (no streams, or too many) or
    /// [`super::ErrorKind::InvalidRequest`] if the service refuses; [`super::ErrorKind::Transport`] and
    /// [`super::ErrorKind::Timeout`] if it cannot be reached.
    pub async fn open(&self) -> Result<(), ClientError> {
        let standing = self.start();
        for mut standing in standing {
            let known = match standing.wait_for(Option::is_some).await {
                Ok(known) => known.clone(),
                Err(_) => None,
            };
            let outcome = known.unwrap_or_else(|| Err(ClientError::invalid("this stream is closed; make a new one")));
            if let Err(error) = outcome {
                self.close();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Looks the channels up in the service's lists: whether it has their symbols, in their categories, with data of
    /// their kinds. Works as [`Client::look_up`]; call it before [`EventStream::open`].
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for a symbol that the exchange does not have, with the nearest that it has.
    pub async fn look_up(&self) -> Result<Listed, ClientError> {
        let channels: Vec<&Channel> = self.channels.values().flatten().collect();
        self.common.client.look_up_channels(&channels).await
    }

    fn start(&self) -> Vec<watch::Receiver<Standing>> {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if standing.is_empty() {
            for (family, channels) in &self.channels {
                let (sender, stands) = watch::channel(None);
                let session = Session::new(Arc::clone(&self.common), *family, channels.clone(), sender);
                // The task ends with the queue. In a box: what runs it is compiled once, not for each kind of runtime.
                drop(tokio::spawn(session.run().boxed()));
                standing.push(stands);
            }
        }
        standing.clone()
    }

    /// Waits until an event can be taken or the stream has ended. Cancelling loses nothing. Broken connections, failed
    /// attempts and reconnections are logged to the call's listener.
    pub async fn ready(&self) {
        self.common.queue.ready().await;
    }

    /// Takes at most so many events from the queue.
    pub fn take(&self, most: usize) -> Taken {
        self.common.queue.take(most)
    }

    /// Gives access to the table of the series of batches.
    pub fn trade_table<T>(&self, at: impl FnOnce(&TradeTable) -> T) -> T {
        self.common.table.look(at)
    }

    /// The next event or gap, or an error; `None` at the end. An error of a single frame ([`super::ErrorKind::Decode`],
    /// or an error that the service sent without a request) does not end the stream.
    pub async fn next(&self) -> Option<Result<StreamItem, ClientError>> {
        loop {
            self.ready().await;
            let mut taken = self.take(1);
            match taken.events.pop() {
                Some(event) => return Some(event),
                None if taken.ended => return None,
                None => {}
            }
        }
    }

    /// Closes the connections. Events in the queue can still be taken.
    pub fn close(&self) {
        self.common.queue.end(None);
    }

    /// Closes the recorded files of a closed stream, after a write that is under way; another stream may then continue them.
    pub fn close_files(&self) {
        if let Some(recorder) = &self.common.recorder {
            recorder.close();
        }
    }

    /// Whether it records.
    pub fn is_recording(&self) -> bool {
        self.common.recorder.is_some()
    }

    /// Events that were dropped because the queue was full ([`Overflow::DropOldest`]).
    pub fn dropped(&self) -> u64 {
        self.common.queue.dropped()
    }

    /// Rows recorded so far, and events that could not be recorded ([`StreamOptions::record`]).
    pub fn recorded(&self) -> (u64, u64) {
        self.common.recorder.as_ref().map_or((0, 0), |recorder| (recorder.rows(), recorder.left_out()))
    }

    /// How often a connection broke and was established again.
    pub fn reconnects(&self) -> u64 {
        self.common.reconnects.load(Ordering::Relaxed)
    }

    /// Its state.
    pub fn state(&self) -> StreamState {
        if self.common.queue.has_ended() {
            return StreamState::Ended;
        }
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if standing.is_empty() {
            StreamState::NotOpen
        } else if standing.iter().any(|stands| stands.borrow().is_none()) {
            StreamState::Opening
        } else if self.common.broken.load(Ordering::Relaxed) > 0 {
            StreamState::Reconnecting
        } else {
            StreamState::Open
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.close();
    }
}
