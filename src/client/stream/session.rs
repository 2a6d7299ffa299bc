//! One connection and its replacements: authentication, subscription, events, pings, reconnecting.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{FutureExt, SinkExt, StreamExt};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::batch::Trades;
use super::deduplication::SeenEvents;
use super::gap::{Gap, ServiceTime, StreamItem};
use super::options::{Standing, StreamShared};
use super::record::Recorder;
use super::series_cache::SeriesCache;
use super::socket::{ClientSocket, open};
use crate::archive::ArchiveError;
use crate::client::error::{ClientError, ErrorKind};
use crate::client::transport::Transport;
use crate::clock::UnixNanos;
use crate::protocol::stream::{Channel, Family, authenticate, subscribe};

/// Ids of the two requests of a connection.
const KEY_REQUEST: u64 = 1;
const CHANNELS_REQUEST: u64 = 2;
/// Messages that are read before anything else is checked.
const AT_ONCE: usize = 64;
/// How long refusals of what the service allowed before are retried: it frees the slots of a silent connection only
/// after a while, and deployments take time (supplement 6).
const PASSING: Duration = Duration::from_secs(300);
/// Timeout of writing the close frame.
const FAREWELL: Duration = Duration::from_millis(200);

/// Why a connection ended.
pub(super) enum SessionEnd {
    /// Another attempt would end the same way: the service refused.
    Refused(ClientError),
    /// The connection broke, or the service is temporarily unavailable.
    Broken(ClientError),
    /// The reader is gone.
    Closed,
}

/// A broken connection that has not been replaced yet.
struct Lost {
    since: Instant,
    attempts: u32,
    reason: String,
    /// Whether the gap was already reported, because events arrived before the answer to the subscription.
    reported: bool,
}

/// A connection that is kept alive.
pub(super) struct Session {
    pub(super) common: Arc<StreamShared>,
    pub(super) family: Family,
    channels: Arc<[Channel]>,
    standing: watch::Sender<Standing>,
    pub(super) seen: SeenEvents,
    /// The series of trades and of liquidations, by their text.
    pub(super) texts: [SeriesCache; 2],
    /// Trades or liquidations that are not passed on yet.
    pub(super) pending: Trades,
    /// Batches that are complete.
    pub(super) ready: Vec<Trades>,
    /// Indices of a frame's series in `texts`; a buffer that is reused.
    pub(super) found: Vec<usize>,
    /// Whether the current connection has delivered an event.
    pub(super) alive: bool,
    /// Unix nanoseconds by the service's clock up to which nothing is missing except in reported gaps.
    pub(super) whole_until: Option<UnixNanos>,
    lost: Option<Lost>,
}

impl Session {
    pub(super) fn new(
        common: Arc<StreamShared>,
        family: Family,
        channels: Vec<Channel>,
        standing: watch::Sender<Standing>,
    ) -> Self {
        Self {
            common,
            family,
            channels: channels.into(),
            standing,
            seen: SeenEvents::default(),
            texts: Default::default(),
            pending: Trades::default(),
            ready: Vec::new(),
            found: Vec::new(),
            alive: false,
            whole_until: None,
            lost: None,
        }
    }

    /// Connects, and again whenever the connection breaks, until the service refuses or the stream is closed. The last
    /// connection closes the recorded files.
    pub(super) async fn run(mut self) {
        self.keep_connected().await;
        if let Some(recorder) = self.common.recorder.clone().filter(|_| self.common.queue.has_ended()) {
            let _ = tokio::task::spawn_blocking(move || recorder.close()).await;
        }
    }

    async fn keep_connected(&mut self) {
        let mut failed = 0;
        loop {
            self.alive = false;
            let begun = Instant::now();
            let (error, refused) = match self.converse().await {
                SessionEnd::Closed => return,
                SessionEnd::Refused(error) => {
                    let refused = !self.may_pass(&error);
                    (error, refused)
                }
                SessionEnd::Broken(error) => (error, false),
            };
            if self.standing.borrow().is_none() {
                self.standing.send_replace(Some(Err(error)));
                return;
            }
            let backoff = &self.common.options.backoff;
            // A connection that delivered events is not a failed attempt, however it ended.
            if self.alive || begun.elapsed() >= backoff.longest {
                failed = 0;
            }
            if refused || self.common.options.reconnects.is_some_and(|most| failed >= most) {
                self.common.queue.end(Some(error));
                return;
            }
            let (backoff, pause) = (backoff.clone(), backoff.before(failed));
            self.note_loss(&error, pause);
            tokio::select! {
                () = (backoff.pause)(pause) => {}
                () = self.common.queue.over() => return,
            }
            failed = failed.saturating_add(1);
        }
    }

    /// Whether a refusal may be temporary: the service accepted the same key and channels before.
    fn may_pass(&self, error: &ClientError) -> bool {
        let stood = self.standing.borrow().is_some();
        let since = self.lost.as_ref().map(|lost| lost.since.elapsed());
        stood
            && matches!(error.kind, ErrorKind::Tier | ErrorKind::InvalidRequest)
            && since.unwrap_or_default() < PASSING
    }

    /// The connection broke, or could not be replaced.
    fn note_loss(&mut self, error: &ClientError, pause: Duration) {
        let (path, seconds) = (self.family.path(), pause.as_secs_f64());
        self.common.queue.notice(format!("stream {path}: {error}; connecting again in {seconds:.1} s"));
        match &mut self.lost {
            Some(lost) if !lost.reported => lost.attempts += 1,
            lost => {
                if lost.is_none() {
                    self.common.broken.fetch_add(1, Ordering::Relaxed);
                }
                let reason = error.message.clone();
                *lost = Some(Lost { since: Instant::now(), attempts: 1, reason, reported: false });
            }
        }
    }

    /// Reports a gap, once for each broken connection and before the first event after it.
    pub(super) async fn report_gap(&mut self, time: ServiceTime) -> Result<(), SessionEnd> {
        let Some(lost) = self.lost.as_mut().filter(|lost| !lost.reported) else { return Ok(()) };
        lost.reported = true;
        let to = time.latest();
        let gap = Gap {
            channels: Arc::clone(&self.channels),
            from: self.whole_until.unwrap_or(to).min(to),
            to,
            lasted: lost.since.elapsed(),
            attempts: lost.attempts,
            reason: lost.reason.clone(),
        };
        if self.common.recorder.is_some() {
            let recorded = gap.clone();
            self.record(move |recorder| recorder.gap(&recorded)).await?;
        }
        self.push(Ok(StreamItem::Gap(gap))).await
    }

    /// Runs a write of the recorder, if there is one, off the async threads. An error ends the stream: events would
    /// otherwise be delivered that are not recorded, contrary to what the caller expects.
    pub(super) async fn record<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Recorder) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<Option<T>, SessionEnd> {
        let Some(recorder) = self.common.recorder.clone() else { return Ok(None) };
        // In a box: what runs it is compiled once for each type of values.
        let work: Box<dyn FnOnce() -> Result<T, ArchiveError> + Send> = Box::new(move || work(&recorder));
        let written = tokio::task::spawn_blocking(work).await;
        let failed = |problem: String| SessionEnd::Refused(ClientError::new(ErrorKind::Archive, problem));
        match written {
            Ok(Ok(done)) => Ok(Some(done)),
            Ok(Err(error)) => Err(failed(format!("the stream cannot be recorded: {error}"))),
            Err(error) => Err(failed(format!("the stream cannot be recorded: {error}"))),
        }
    }

    /// The channels are open, for the first time or again.
    async fn stand(&mut self, time: ServiceTime) -> Result<(), SessionEnd> {
        self.report_gap(time).await?;
        if self.common.recorder.is_some() && self.standing.borrow().is_none() {
            let (channels, since) = (Arc::clone(&self.channels), time.earliest());
            self.record(move |recorder| recorder.opened(&channels, since)).await?;
        }
        if let Some(lost) = self.lost.take() {
            self.common.broken.fetch_sub(1, Ordering::Relaxed);
            self.common.reconnects.fetch_add(1, Ordering::Relaxed);
            let (path, seconds) = (self.family.path(), lost.since.elapsed().as_secs_f64());
            self.common.queue.notice(format!(
                "stream {path}: connected again after {seconds:.1} s; events of that time may be missing"
            ));
        }
        self.whole_until = self.whole_until.max(Some(time.earliest()));
        self.standing.send_replace(Some(Ok(())));
        Ok(())
    }

    async fn converse(&mut self) -> SessionEnd {
        let Err(end) = self.hold().await;
        // Passes on what the connection sent before it ended.
        match self.flush().await {
            Ok(()) => end,
            Err(closed) => closed,
        }
    }

    /// Runs one connection to its end.
    async fn hold(&mut self) -> Result<std::convert::Infallible, SessionEnd> {
        let common = Arc::clone(&self.common);
        let transport = &common.client.transport;
        let over = common.queue.over();
        tokio::pin!(over);
        let (mut socket, time) = tokio::select! {
            opened = self.establish(transport) => opened?,
            () = &mut over => return Err(SessionEnd::Closed),
        };
        loop {
            self.hear_waiting(&mut socket, time).await?;
            let message = tokio::select! {
                message = self.receive(&mut socket) => message?,
                () = &mut over => {
                    // The service is notified, but not waited for.
                    let _ = timeout(FAREWELL, socket.close(None)).await;
                    return Err(SessionEnd::Closed);
                }
            };
            self.hear(message, time).await?;
        }
    }

    /// Reads messages that have arrived already, for a while: without a pause, neither the end of the stream nor a
    /// timer would be noticed.
    async fn hear_waiting(&mut self, socket: &mut ClientSocket, time: ServiceTime) -> Result<(), SessionEnd> {
        for _ in 0..AT_ONCE {
            let Some(message) = socket.next().now_or_never() else { break };
            let message = self.received(message)?;
            if !self.add_rows(&message) {
                self.hear(message, time).await?;
            } else if !self.ready.is_empty() {
                self.hand_on().await?;
            }
        }
        Ok(())
    }

    /// Whether the connection broke and the channels are not open again yet.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Connects, authenticates and subscribes.
    async fn establish(&mut self, transport: &Transport) -> Result<(ClientSocket, ServiceTime), SessionEnd> {
        let (mut socket, time) = open(transport, self.family).await.map_err(after_handshake)?;
        let channels = match transport.dialect() {
            None => subscribe(CHANNELS_REQUEST, &self.channels),
            Some(dialect) => {
                let published: Vec<_> = self.channels.iter().map(|channel| dialect.channel(channel)).collect();
                subscribe(CHANNELS_REQUEST, &published)
            }
        };
        for (id, text) in [(KEY_REQUEST, authenticate(KEY_REQUEST, transport.key())), (CHANNELS_REQUEST, channels)] {
            let limit = transport.timeout();
            let sent = timeout(limit, send(&mut socket, Message::text(text))).await;
            sent.unwrap_or_else(|_| Err(SessionEnd::Broken(silent())))?;
            let is_first = self.standing.borrow().is_none();
            let granted = self.granted(&mut socket, id, time, limit);
            // Before the first success no one takes events: they must not block it forever.
            let granted = if is_first { timeout(limit, granted).await } else { Ok(granted.await) };
            granted.unwrap_or_else(|_| Err(SessionEnd::Broken(silent())))?;
        }
        self.stand(time).await?;
        Ok((socket, time))
    }

    /// The next message. A silent service is sent a ping; without an answer, the connection counts as broken.
    async fn receive(&mut self, socket: &mut ClientSocket) -> Result<Message, SessionEnd> {
        let patience = self.common.options.ping_after;
        // Messages that have arrived already are read without waiting; without a pause no timer would run during a
        // flood.
        tokio::task::coop::consume_budget().await;
        if let Some(message) = socket.next().now_or_never() {
            return self.received(message);
        }
        // Nothing to wait for when the stream has ended.
        self.flush().await?;
        let message = match timeout(patience, socket.next()).await {
            Ok(message) => message,
            Err(_) => {
                let asked = async {
                    send(socket, Message::Ping(bytes::Bytes::new())).await?;
                    Ok(socket.next().await)
                };
                timeout(patience, asked).await.unwrap_or_else(|_| Err(SessionEnd::Broken(silent())))?
            }
        };
        self.received(message)
    }

    /// A message, or why there will be none.
    fn received(&self, message: Option<Result<Message, Error>>) -> Result<Message, SessionEnd> {
        match message {
            Some(Ok(Message::Close(frame))) => {
                let why =
                    frame.map_or_else(String::new, |frame| format!(": {} {}", u16::from(frame.code), frame.reason));
                let message = self.common.client.transport.redact(&format!("the service closed the stream{why}"));
                Err(SessionEnd::Broken(ClientError::new(ErrorKind::Transport, message)))
            }
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) => Err(SessionEnd::Broken(torn(&error))),
            None => Err(SessionEnd::Broken(ClientError::new(ErrorKind::Transport, "the stream's connection ended"))),
        }
    }

    /// Waits for the answer to a request with a timeout; events may arrive before it. Time spent waiting for room in
    /// the queue does not count, and no event is lost on a timeout.
    async fn granted(
        &mut self,
        socket: &mut ClientSocket,
        id: u64,
        time: ServiceTime,
        mut left: Duration,
    ) -> Result<(), SessionEnd> {
        loop {
            self.flush().await?;
            let begun = Instant::now();
            let message =
                timeout(left, self.receive(socket)).await.unwrap_or_else(|_| Err(SessionEnd::Broken(silent())))?;
            left = left.saturating_sub(begun.elapsed());
            let Some((frame, cost)) = self.frame(message).await? else { continue };
            let is_answer = frame.contains_key("result") || frame.contains_key("error");
            // A service that cannot identify the request it refuses omits the id.
            let of_this = frame.get("id").is_none_or(|answered| answered.is_null() || answered.as_u64() == Some(id));
            if !(is_answer && of_this) {
                self.deliver(frame, cost, time).await?;
                continue;
            }
            let Some(error) = frame.get("error").filter(|error| !error.is_null()) else { return Ok(()) };
            return Err(after_request(self.refusal(error), id));
        }
    }
}

/// Whether to retry after a refused handshake.
fn after_handshake(error: ClientError) -> SessionEnd {
    match error.kind {
        ErrorKind::Authentication | ErrorKind::Tier | ErrorKind::InvalidRequest => SessionEnd::Refused(error),
        _ => SessionEnd::Broken(error),
    }
}

/// Whether to retry after a refused request. A refused key is retried if the error does not say what it is.
fn after_request(mut error: ClientError, id: u64) -> SessionEnd {
    let says_what = error.code.as_deref().is_some_and(|code| code.parse::<i64>().map_or(true, |code| code >= 400));
    match error.kind {
        ErrorKind::Authentication | ErrorKind::Tier | ErrorKind::InvalidRequest => SessionEnd::Refused(error),
        ErrorKind::Server if id == KEY_REQUEST && !says_what => {
            error.kind = ErrorKind::Authentication;
            error.status = Some(401);
            SessionEnd::Refused(error)
        }
        _ => SessionEnd::Broken(error),
    }
}

async fn send(socket: &mut ClientSocket, message: Message) -> Result<(), SessionEnd> {
    socket.send(message).await.map_err(|error| SessionEnd::Broken(torn(&error)))
}

fn silent() -> ClientError {
    ClientError::new(ErrorKind::Timeout, "the service said nothing, not even to a ping")
}

fn torn(error: &Error) -> ClientError {
    ClientError::new(ErrorKind::Transport, format!("the stream's connection broke: {error}"))
}
