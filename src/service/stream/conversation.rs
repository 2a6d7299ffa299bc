//! One connection of the stream, from its opening to its end.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use super::production::{Active, Produced, produce};
use crate::clock::SECOND;
use crate::protocol::stream::{Call, Family, RpcError, error};
use crate::service::access::Access;
use crate::service::link::Link;
use crate::service::shared::Shared;

/// Market time that is told at a time. Books are large.
const BOOK_STRETCH: i64 = 5 * SECOND;
const STRETCH: i64 = 60 * SECOND;
/// How long the peer's own farewell is waited for.
const FAREWELL: Duration = Duration::from_millis(200);

/// Why a connection ends.
pub(super) enum End {
    /// The peer went, or the connection broke.
    Gone,
    /// The service ends it: code and reason of the close frame.
    Close(u16, &'static str),
}

/// A connection under way.
pub(super) struct Conversation {
    socket: WebSocket,
    pub(super) family: Family,
    pub(super) shared: Arc<Shared>,
    pub(super) link: Arc<Link>,
    /// Whose key was told.
    pub(super) access: Option<Arc<Access>>,
    pub(super) active: Vec<Active>,
    /// When the connection last gained or lost its key or its last channel.
    pub(super) since: Instant,
    /// When the peer last said anything.
    heard: Instant,
    pinged: bool,
}

impl Conversation {
    pub(super) fn new(socket: WebSocket, family: Family, shared: Arc<Shared>, link: Arc<Link>) -> Self {
        let now = Instant::now();
        let (access, active) = (None, Vec::new());
        // Whoever has not told a key yet must not keep those out who have one.
        link.waits();
        Self { socket, family, shared, link, access, active, since: now, heard: now, pinged: false }
    }

    /// Talks until either side ends it.
    pub(super) async fn run(mut self) {
        if let Err(End::Close(code, reason)) = self.talk().await {
            let farewell = async {
                let frame = CloseFrame { code, reason: reason.into() };
                if self.socket.send(Message::Close(Some(frame))).await.is_ok() {
                    // Closing before the peer has read would take the farewell back.
                    while let Some(Ok(_)) = self.socket.recv().await {}
                }
            };
            let _ = timeout(FAREWELL, farewell).await;
        }
    }

    async fn talk(&mut self) -> Result<(), End> {
        let mut next = Instant::now() + self.shared.stream.every;
        let link = Arc::clone(&self.link);
        loop {
            tokio::select! {
                biased;
                () = link.stopped() => return Err(End::Close(close_code::AWAY, "the service stops")),
                () = link.closing(), if self.access.is_none() => {
                    return Err(End::Close(close_code::AGAIN, "the place is needed; tell a key first"));
                }
                message = self.socket.recv() => self.hear(message).await?,
                () = sleep_until(next) => {
                    self.check_patience().await?;
                    let behind = self.tell().await?;
                    next = if behind { Instant::now() } else { Instant::now() + self.shared.stream.every };
                }
            }
        }
    }

    async fn hear(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        (self.heard, self.pinged) = (Instant::now(), false);
        match message {
            None | Some(Err(_) | Ok(Message::Close(_))) => Err(End::Gone),
            // The library answers pings by itself.
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
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

    /// Sends a text. A peer that takes nothing for too long is gone, and so is one when the service stops.
    pub(super) async fn say(&mut self, text: String) -> Result<(), End> {
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        let link = Arc::clone(&self.link);
        tokio::select! {
            sent = timeout(self.shared.stream.take_within, self.socket.send(message)) => match sent {
                Ok(Ok(())) => Ok(()),
                // A close frame would wait behind what the peer does not take.
                Ok(Err(_)) | Err(_) => Err(End::Gone),
            },
            () = link.stopped() => Err(End::Gone),
        }
    }

    async fn check_patience(&mut self) -> Result<(), End> {
        let limits = self.shared.stream;
        let close = |reason| Err(End::Close(close_code::POLICY, reason));
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

    /// Tells what happened since the last time; whether there is more already.
    async fn tell(&mut self) -> Result<bool, End> {
        let now = self.shared.clock.now();
        let Some(told) = self.active.iter().map(|one| one.subscription.told_until()).min() else { return Ok(false) };
        let stretch = if self.family == Family::Book { BOOK_STRETCH } else { STRETCH };
        let until = now.saturating_add(1).min(told.saturating_add(stretch));
        if until <= told {
            return Ok(false);
        }
        let broken = End::Close(close_code::ERROR, "the service failed at the stream");
        match produce(&self.shared, std::mem::take(&mut self.active), until).await {
            Some(Produced { active, frames }) => {
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
