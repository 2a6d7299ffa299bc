//! One connection of the stream, from open to close.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::frames::{OpenChannel, ProducedFrames, produce};
use super::socket::{ServerSocket, answer_to, part};
use crate::clock::SECOND;
use crate::protocol::stream::{Call, Family, RpcError, error};
use crate::service::access::Access;
use crate::service::connection_handle::ConnectionHandle;
use crate::service::state::ServiceState;

/// Market time that is sent at a time; shorter for books, which are large.
const BOOK_STRETCH: i64 = 5 * SECOND;
const STRETCH: i64 = 60 * SECOND;
/// How long closing may take when another connection waits for the slot.
const SHORT_FAREWELL: Duration = Duration::from_millis(200);
/// Most messages, pings included, that a peer may send before it authenticates.
const MESSAGES_WITHOUT_KEY: u32 = 100;

/// Why a connection ends.
pub(super) enum StreamEnd {
    /// The peer disconnected, or the connection broke.
    Gone,
    /// The peer sent a close frame, which is to be answered.
    Closed,
    /// The service closes it: code and reason of the close frame.
    Close(CloseCode, String),
}

impl StreamEnd {
    pub(super) fn close(code: CloseCode, reason: &str) -> Self {
        Self::Close(code, reason.to_owned())
    }
}

/// An open connection.
pub(super) struct StreamConnection {
    socket: ServerSocket,
    pub(super) family: Family,
    pub(super) state: Arc<ServiceState>,
    pub(super) connection: Arc<ConnectionHandle>,
    /// The holder of the key, once authenticated.
    pub(super) access: Option<Arc<Access>>,
    pub(super) active: Vec<OpenChannel>,
    /// When the connection was opened, authenticated, or last unsubscribed from a channel.
    pub(super) since: Instant,
    /// When the peer last sent anything.
    heard: Instant,
    pinged: bool,
    /// Messages received before the key.
    without_key: u32,
}

impl StreamConnection {
    pub(super) fn new(
        socket: ServerSocket,
        family: Family,
        state: Arc<ServiceState>,
        connection: Arc<ConnectionHandle>,
    ) -> Self {
        let now = Instant::now();
        let (access, active) = (None, Vec::new());
        // Connections that are not authenticated must not take the place of others.
        connection.waits();
        let (pinged, without_key) = (false, 0);
        Self { socket, family, state, connection, access, active, since: now, heard: now, pinged, without_key }
    }

    /// Runs until either side closes.
    pub(super) async fn run(mut self) {
        let within = self.state.stream.farewell_within;
        let (frame, within) = match self.talk().await {
            Ok(never) => match never {},
            Err(StreamEnd::Gone) => return,
            Err(StreamEnd::Closed) => (None, within),
            Err(StreamEnd::Close(code, reason)) => {
                let within = if code == CloseCode::Again { within.min(SHORT_FAREWELL) } else { within };
                (Some(CloseFrame { code, reason: reason.into() }), within)
            }
        };
        // Frees its channels for the key's next connection.
        self.active.clear();
        let _ = timeout(within, part(&mut self.socket, frame)).await;
    }

    async fn talk(&mut self) -> Result<Infallible, StreamEnd> {
        let mut next = Instant::now() + self.state.stream.every;
        let mut behind = false;
        let connection = Arc::clone(&self.connection);
        loop {
            // Before reading: the timeouts must also apply to a peer that never stops sending.
            if behind || Instant::now() >= next {
                self.check_patience().await?;
                behind = self.send_events().await?;
                next = Instant::now() + self.state.stream.every;
            }
            tokio::select! {
                biased;
                () = connection.stopped() => return Err(StreamEnd::close(CloseCode::Away, "the service stops")),
                () = connection.closing(), if self.access.is_none() => {
                    return Err(StreamEnd::close(CloseCode::Again, "the connection is needed for another; authenticate first"));
                }
                // Before reading: an endless message of the peer would otherwise take all the time of this task.
                () = sleep_until(next), if !behind => {}
                message = self.socket.next() => self.hear(message).await?,
                () = std::future::ready(()), if behind => {}
            }
        }
    }

    async fn hear(&mut self, message: Option<Result<Message, Error>>) -> Result<(), StreamEnd> {
        (self.heard, self.pinged) = (Instant::now(), false);
        if self.access.is_none() {
            self.without_key += 1;
            if self.without_key > MESSAGES_WITHOUT_KEY {
                return Err(StreamEnd::close(CloseCode::Policy, "too many messages without a key"));
            }
        }
        match message {
            None => Err(StreamEnd::Gone),
            Some(Err(error)) => {
                Err(answer_to(&error).map_or(StreamEnd::Gone, |(code, reason)| StreamEnd::Close(code, reason)))
            }
            Some(Ok(Message::Close(_))) => Err(StreamEnd::Closed),
            // The library has an answer queued. It is written at once, because the answers to many pings would pile up.
            Some(Ok(Message::Ping(_))) => self.flush().await,
            Some(Ok(Message::Pong(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => {
                let refusal = RpcError::new(-32_600, "INVALID_REQUEST", "send text messages; this is encoding=json");
                self.say(error(&Value::Null, &refusal)).await
            }
            Some(Ok(Message::Text(text))) => match Call::parse(&text) {
                Ok(call) => self.answer(call).await,
                Err((id, refusal)) => self.say(error(&id, &refusal)).await,
            },
        }
    }

    /// Sends a text. Fails if the peer reads nothing for too long, or when the service stops.
    pub(super) async fn say(&mut self, text: String) -> Result<(), StreamEnd> {
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), StreamEnd> {
        let (deadline, connection) = (self.deadline(), Arc::clone(&self.connection));
        written(deadline, &connection, self.socket.send(message)).await
    }

    async fn flush(&mut self) -> Result<(), StreamEnd> {
        let (deadline, connection) = (self.deadline(), Arc::clone(&self.connection));
        written(deadline, &connection, self.socket.flush()).await
    }

    /// The deadline for the peer to read what is written now.
    fn deadline(&self) -> Instant {
        let limits = self.state.stream;
        let deadline = Instant::now() + limits.take_within;
        if self.access.is_some() { deadline } else { deadline.min(self.since + limits.authenticate_within) }
    }

    async fn check_patience(&mut self) -> Result<(), StreamEnd> {
        let limits = self.state.stream;
        let close = |reason| Err(StreamEnd::close(CloseCode::Policy, reason));
        if self.access.is_none() && self.since.elapsed() > limits.authenticate_within {
            return close("no public/authenticate came");
        }
        if self.access.is_some() && self.active.is_empty() && self.since.elapsed() > limits.subscribe_within {
            return close("no channel is open");
        }
        if self.heard.elapsed() > limits.silent_within {
            return close("no answer to a ping");
        }
        if self.heard.elapsed() > limits.ping_after && !self.pinged {
            self.pinged = true;
            return self.send(Message::Ping(bytes::Bytes::new())).await;
        }
        Ok(())
    }

    /// Sends the events since the last time; returns whether more are due already.
    async fn send_events(&mut self) -> Result<bool, StreamEnd> {
        let now = self.state.clock.now();
        let Some(produced) = self.active.iter().map(|one| one.subscription.produced_until()).min() else {
            return Ok(false);
        };
        let stretch = if self.family == Family::Book { BOOK_STRETCH } else { STRETCH };
        let until = now.plus(1).min(produced.plus(stretch));
        if until <= produced {
            return Ok(false);
        }
        let broken = StreamEnd::close(CloseCode::Error, "the service failed at the stream");
        match produce(&self.state, std::mem::take(&mut self.active), until).await {
            Some(ProducedFrames { active, frames }) => {
                self.active = active;
                for frame in frames {
                    self.say(frame).await?;
                }
                Ok(until <= now)
            }
            None => Err(broken),
        }
    }
}

/// Waits until a write is done.
async fn written(
    deadline: Instant,
    connection: &ConnectionHandle,
    writing: impl Future<Output = Result<(), Error>>,
) -> Result<(), StreamEnd> {
    tokio::select! {
        written = timeout_at(deadline, writing) => match written {
            Ok(Ok(())) => Ok(()),
            // A close frame would only queue behind what the peer does not read.
            Ok(Err(_)) | Err(_) => Err(StreamEnd::Gone),
        },
        () = connection.stopped() => Err(StreamEnd::Gone),
    }
}
