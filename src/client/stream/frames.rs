//! Parses the messages of a connection: events, rows of trades, errors.

use serde_json::{Map, Value};
use tokio_tungstenite::tungstenite::Message;

use super::batch::name_of;
use super::event::Event;
use super::frame_memory::{self, MOST_OF_A_FRAME, OBJECT};
use super::gap::{ServiceTime, StreamItem};
use super::session::{Session, SessionEnd};
use crate::client::error::{ClientError, ErrorKind};
use crate::clock::UnixNanos;
use crate::columns::NO_TIME;
use crate::decode::{TradePoint, trades_of_frame};
use crate::protocol::excerpt::{LONGEST, excerpt};
use crate::protocol::stream::RpcError;

/// Typical least size of a point in bytes.
const USUAL: usize = 200;
/// Most rows of a batch.
const MOST_TOGETHER: usize = 1_024;

impl Session {
    /// Passes on the content of a message.
    pub(super) async fn hear(&mut self, message: Message, time: ServiceTime) -> Result<(), SessionEnd> {
        if self.add_rows(&message) {
            return self.hand_on().await;
        }
        match self.frame(message).await? {
            Some((frame, cost)) => self.deliver(frame, cost, time).await,
            None => Ok(()),
        }
    }

    /// Whether frames of trades become columns directly, without an event each.
    fn reads_columns(&self) -> bool {
        let common = &self.common;
        common.options.batches && common.recorder.is_none() && common.client.transport.dialect().is_none()
    }

    /// Adds the rows of a frame that only holds trades and liquidations in the usual spelling to the current batch; for
    /// any other frame, adds nothing and returns `false`. A busy stream consists of such frames, so nothing is awaited
    /// here.
    pub(super) fn add_rows(&mut self, message: &Message) -> bool {
        let Message::Text(text) = message else { return false };
        if !self.reads_columns() || self.is_lost() {
            return false;
        }
        let bytes: &[u8] = text.as_ref();
        let mut points = Vec::with_capacity(1 + bytes.len() / USUAL);
        if !trades_of_frame(bytes, self.texts[0].likely(), &mut points) {
            return false;
        }
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        found.extend(points.iter().map_while(|point| {
            let texts = &mut self.texts[usize::from(point.is_liquidation)];
            let place = texts.find(name_of(point.is_liquidation), point.series, &self.common.table, &self.seen);
            place.filter(|_| !point.id.is_empty())
        }));
        let is_known = found.len() == points.len();
        if is_known {
            self.alive = true;
            let latest = points.iter().map(|point| point.time).max();
            self.whole_until = self.whole_until.max(latest.filter(|time| time.0 != NO_TIME));
            for (point, index) in points.iter().zip(&found) {
                let spelt = self.texts[usize::from(point.is_liquidation)].at(*index);
                if self.seen.is_new_id(&spelt.market, point.id) {
                    let place = spelt.place;
                    self.add(place, point);
                }
            }
        }
        self.found = found;
        is_known
    }

    /// Called before a frame's events: the connection works, so a gap before it is reported.
    async fn begin(&mut self, latest: Option<UnixNanos>, time: ServiceTime) -> Result<(), SessionEnd> {
        self.alive = true;
        self.report_gap(time).await?;
        self.whole_until = self.whole_until.max(latest);
        Ok(())
    }

    /// Adds a row to the current batch.
    fn add(&mut self, place: u32, point: &TradePoint<'_>) {
        let most = MOST_TOGETHER.min(self.common.options.queue.max(1));
        if self.pending.are_liquidations != point.is_liquidation || self.pending.len() >= most {
            self.close_batch();
            self.pending.are_liquidations = point.is_liquidation;
        }
        self.pending.push(place, point);
    }

    /// Ends the current batch.
    fn close_batch(&mut self) {
        if !self.pending.is_empty() {
            let next = self.pending.of_no_rows();
            self.ready.push(std::mem::replace(&mut self.pending, next));
        }
    }

    /// Passes on the ended batches.
    pub(super) async fn hand_on(&mut self) -> Result<(), SessionEnd> {
        for rows in std::mem::take(&mut self.ready) {
            let bytes = rows.bytes();
            self.push_of(Ok(StreamItem::Trades(rows)), bytes).await?;
        }
        Ok(())
    }

    /// Passes on all remaining rows.
    pub(super) async fn flush(&mut self) -> Result<(), SessionEnd> {
        self.close_batch();
        self.hand_on().await
    }

    /// The JSON object of a message, and its approximate size in memory; `None` for a message without one. An invalid
    /// or too large message is passed on as an error.
    pub(super) async fn frame(&mut self, message: Message) -> Result<Option<(Map<String, Value>, usize)>, SessionEnd> {
        let bytes = match message {
            Message::Text(text) => bytes::Bytes::from(text),
            Message::Binary(bytes) => bytes,
            _ => return Ok(None),
        };
        let cost = frame_memory::of_text(&bytes);
        if cost > MOST_OF_A_FRAME {
            self.malformed(&too_much(cost), &bytes).await?;
            return Ok(None);
        }
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(Value::Object(frame)) => {
                // Points that are no objects become some.
                let points = frame.get("points").and_then(Value::as_array).map_or(0, Vec::len);
                let cost = cost.max(points.saturating_mul(OBJECT));
                if cost <= MOST_OF_A_FRAME {
                    return Ok(Some((frame, cost)));
                }
                self.malformed(&too_much(cost), &bytes).await?;
            }
            Ok(_) => self.malformed("is no object", &bytes).await?,
            Err(bad) => self.malformed(&format!("is no JSON: {bad}"), &bytes).await?,
        }
        Ok(None)
    }

    async fn malformed(&mut self, what: &str, bytes: &[u8]) -> Result<(), SessionEnd> {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
        let start = excerpt(&self.common.client.transport.redact(&start));
        let message = format!("a frame of {} bytes {what}; it starts {start:?}", bytes.len());
        let message = self.common.client.transport.redact(&message);
        self.push(Err(ClientError::new(ErrorKind::Decode, message))).await
    }

    /// Passes on a frame's content: new events, or an error that the service sent without a request.
    pub(super) async fn deliver(
        &mut self,
        frame: Map<String, Value>,
        cost: usize,
        time: ServiceTime,
    ) -> Result<(), SessionEnd> {
        if let Some(error) = frame.get("error").filter(|error| !error.is_null()) {
            let refused = self.refusal(error);
            return self.push(Err(refused)).await;
        }
        if frame.contains_key("result") && !frame.contains_key("points") {
            return Ok(());
        }
        let frame = match self.common.client.transport.dialect() {
            None => frame,
            Some(dialect) => dialect.record(frame),
        };
        let mut events = Event::of_frame(frame);
        if events.is_empty() {
            return Ok(());
        }
        let each = cost / events.len();
        self.begin(events.iter().filter_map(Event::time).max(), time).await?;
        events.retain(|event| self.seen.is_new(event));
        if self.common.recorder.is_some() {
            // Recorded before it is delivered: whatever was delivered has been recorded.
            let kept = self.record(move |recorder| recorder.events(&events).map(|()| events)).await?;
            events = kept.unwrap_or_default();
        }
        for event in events {
            if self.common.options.batches
                && let Some((place, point)) = self.common.clone().table.row(&event)
            {
                self.add(place, &point);
                self.hand_on().await?;
                continue;
            }
            self.flush().await?;
            self.push_of(Ok(StreamItem::Event(event)), each).await?;
        }
        Ok(())
    }

    /// Passes something on, after the rows before it.
    pub(super) async fn push(&mut self, item: Result<StreamItem, ClientError>) -> Result<(), SessionEnd> {
        self.flush().await?;
        self.push_of(item, OBJECT).await
    }

    /// Passes on something of this approximate size.
    async fn push_of(&self, item: Result<StreamItem, ClientError>, cost: usize) -> Result<(), SessionEnd> {
        if self.common.queue.push(item, cost).await { Ok(()) } else { Err(SessionEnd::Closed) }
    }

    /// An error in a frame, with the key redacted.
    pub(super) fn refusal(&self, error: &Value) -> ClientError {
        let mut body = RpcError::read(error).body();
        body.message = self.common.client.transport.redact(&body.message);
        ClientError::refused(body).of(&self.common.client.transport.url(self.family.path(), "encoding=json"))
    }
}

fn too_much(cost: usize) -> String {
    format!("would take about {} MiB of memory, more than {}", cost >> 20, MOST_OF_A_FRAME >> 20)
}
