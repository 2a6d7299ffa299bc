//! The bounded queue between the connections and the reader of the events.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::frame_memory::MOST_WAITING;
use super::gap::StreamItem;
use crate::client::error::ClientError;
use crate::client::log::{self, LogLevel, LogRecord};

/// Most notices in the queue for the log; older ones are dropped.
const NOTICES: usize = 64;

/// Rule for a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// Stops reading from the connection until events are taken. Nothing is lost as long as the service waits. When it
    /// disconnects a slow peer, events are missing until the stream is connected again.
    #[default]
    Wait,
    /// The oldest events are dropped, and counted.
    DropOldest,
}

/// Events taken from the queue.
#[derive(Debug)]
pub struct Taken {
    /// Events and gaps, oldest first, and errors between them.
    pub events: Vec<Result<StreamItem, ClientError>>,
    /// Whether the stream has ended.
    pub ended: bool,
}

#[derive(Default)]
struct QueueState {
    /// The queue's items, each with its approximate size in bytes.
    waiting: VecDeque<(Result<StreamItem, ClientError>, usize)>,
    bytes: usize,
    /// Number of events, including those in batches.
    events: usize,
    ended: bool,
    dropped: u64,
    /// Notices that the next waiting reader will log.
    notices: VecDeque<String>,
}

impl QueueState {
    /// Drops the oldest event or batch; gaps and errors are dropped only if there is nothing else.
    fn drop_oldest(&mut self) {
        let is_event = |item: &Result<_, _>| matches!(item, Ok(StreamItem::Event(_) | StreamItem::Trades(_)));
        let oldest = self.waiting.iter().position(|(item, _)| is_event(item)).unwrap_or(0);
        if let Some((item, bytes)) = self.waiting.remove(oldest) {
            self.bytes -= bytes;
            self.events -= count(&item);
            self.dropped += count(&item) as u64;
        }
    }

    /// Takes the first item if it has at most `most` events, or in any case if `any`.
    fn next(&mut self, most: usize, any: bool) -> Option<Result<StreamItem, ClientError>> {
        let events = self.waiting.front().map(|(item, _)| count(item)).filter(|events| any || *events <= most)?;
        let (item, bytes) = self.waiting.pop_front()?;
        self.bytes -= bytes;
        self.events -= events;
        Some(item)
    }
}

/// Number of events of an item.
fn count(item: &Result<StreamItem, ClientError>) -> usize {
    if let Ok(StreamItem::Trades(trades)) = item { trades.len() } else { 1 }
}

pub(super) struct StreamQueue {
    state: Mutex<QueueState>,
    most: usize,
    overflow: Overflow,
    filled: Notify,
    emptied: Notify,
}

impl StreamQueue {
    pub(super) fn new(most: usize, overflow: Overflow) -> Self {
        let most = most.max(1);
        Self { state: Mutex::default(), most, overflow, filled: Notify::new(), emptied: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item of this approximate size; `false` if the stream has ended.
    pub(super) async fn push(&self, item: Result<StreamItem, ClientError>, bytes: usize) -> bool {
        loop {
            // Registered before the check, so that a change in between is noticed.
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            {
                let mut state = self.lock();
                if state.ended {
                    return false;
                }
                let full = |state: &QueueState| {
                    let too_large = state.bytes.saturating_add(bytes) > MOST_WAITING && !state.waiting.is_empty();
                    state.events >= self.most || too_large
                };
                while full(&state) && self.overflow == Overflow::DropOldest {
                    state.drop_oldest();
                }
                if !full(&state) {
                    state.events += count(&item);
                    state.waiting.push_back((item, bytes));
                    state.bytes += bytes;
                    drop(state);
                    self.filled.notify_waiters();
                    return true;
                }
            }
            emptied.await;
        }
    }

    /// Ends the stream, with an error as its last item if there is one. Only the first call counts.
    pub(super) fn end(&self, error: Option<ClientError>) {
        let mut state = self.lock();
        if !state.ended {
            state.ended = true;
            state.events += usize::from(error.is_some());
            state.waiting.extend(error.map(|error| (Err(error), 0)));
        }
        drop(state);
        self.filled.notify_waiters();
        self.emptied.notify_waiters();
    }

    /// Adds a notice for the log. It does not wait for the events before it, because none may come for a long time.
    pub(super) fn notice(&self, words: String) {
        let mut state = self.lock();
        if state.notices.len() == NOTICES {
            state.notices.pop_front();
        }
        state.notices.push_back(words);
        drop(state);
        self.filled.notify_waiters();
    }

    pub(super) async fn ready(&self) {
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            filled.as_mut().enable();
            let (notices, is_ready) = {
                let mut state = self.lock();
                (std::mem::take(&mut state.notices), state.ended || !state.waiting.is_empty())
            };
            for words in notices {
                log::emit(LogLevel::Warning, || LogRecord::Notice(words));
            }
            if is_ready {
                return;
            }
            filled.await;
        }
    }

    /// Waits until the stream has ended.
    pub(super) async fn over(&self) {
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            filled.as_mut().enable();
            if self.lock().ended {
                return;
            }
            filled.await;
        }
    }

    /// Takes at most so many events, or one batch that is larger. Consecutive batches are merged.
    pub(super) fn take(&self, most: usize) -> Taken {
        let mut state = self.lock();
        let mut events: Vec<Result<StreamItem, ClientError>> = Vec::new();
        let mut left = most;
        while left > 0
            && let Some(item) = state.next(left, events.is_empty())
        {
            left = left.saturating_sub(count(&item));
            match (events.last_mut(), item) {
                (Some(Ok(StreamItem::Trades(last))), Ok(StreamItem::Trades(more)))
                    if last.are_liquidations == more.are_liquidations =>
                {
                    last.append(more);
                }
                (_, item) => events.push(item),
            }
        }
        let ended = state.ended && state.waiting.is_empty();
        drop(state);
        self.emptied.notify_waiters();
        Taken { events, ended }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::batch::Trades;
    use super::super::event::Event;
    use super::super::gap::Gap;
    use super::*;
    use crate::client::ErrorKind;
    use crate::clock::UnixNanos;
    use crate::decode::TradePoint;

    fn event(name: &str) -> StreamItem {
        StreamItem::Event(Event { name: name.to_owned(), ..Event::default() })
    }

    fn gap(reason: &str) -> StreamItem {
        let (channels, lasted, reason) = (Arc::new([]), std::time::Duration::ZERO, reason.to_owned());
        StreamItem::Gap(Gap { channels, from: UnixNanos(0), to: UnixNanos(0), lasted, attempts: 1, reason })
    }

    fn names(taken: Taken) -> Vec<String> {
        let name = |item| match item {
            Ok(StreamItem::Event(event)) => event.name,
            Ok(StreamItem::Gap(gap)) => gap.reason,
            Ok(StreamItem::Trades(trades)) => trades.ids().collect::<Vec<_>>().join("+"),
            Err(ClientError { message, .. }) => message,
        };
        taken.events.into_iter().map(name).collect()
    }

    #[tokio::test]
    async fn gaps_are_not_dropped_for_newer_events() {
        let queue = StreamQueue::new(3, Overflow::DropOldest);
        for item in [event("a"), gap("broke"), event("b"), event("c"), event("d")] {
            assert!(queue.push(Ok(item), 1).await);
        }
        assert_eq!((names(queue.take(9)), queue.dropped()), (vec!["broke".into(), "c".into(), "d".into()], 2));
        // Unless there is nothing else: memory is bounded.
        for reason in ["1", "2", "3", "4"] {
            assert!(queue.push(Ok(gap(reason)), 1).await);
        }
        assert_eq!(names(queue.take(9)), ["2", "3", "4"]);
    }

    fn trades(ids: &[&str], are_liquidations: bool) -> StreamItem {
        let mut trades = Trades::of(are_liquidations);
        for id in ids {
            let point =
                TradePoint { is_liquidation: false, series: b"", id, price: 1.0, amount: 1.0, time: UnixNanos(0) };
            trades.push(0, &point);
        }
        StreamItem::Trades(trades)
    }

    #[tokio::test]
    async fn batches_count_by_their_rows_and_those_that_follow_one_another_are_taken_as_one() {
        let queue = StreamQueue::new(6, Overflow::DropOldest);
        for item in [trades(&["a", "b"], false), trades(&["c"], false), gap("broke"), trades(&["d"], false)] {
            assert!(queue.push(Ok(item), 1).await);
        }
        assert!(queue.push(Ok(trades(&["e"], true)), 1).await);
        assert_eq!(names(queue.take(9)), ["a+b+c", "broke", "d", "e"]);
        // A batch with more rows than requested comes alone and complete.
        for item in [trades(&["a", "b", "c"], false), trades(&["d", "e"], false)] {
            assert!(queue.push(Ok(item), 1).await);
        }
        assert_eq!(names(queue.take(2)), ["a+b+c"]);
        assert_eq!(names(queue.take(2)), ["d+e"]);
        // The oldest batches are dropped as a unit, and counted by rows.
        for ids in [["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]] {
            assert!(queue.push(Ok(trades(&ids, false)), 1).await);
        }
        assert_eq!((names(queue.take(9)), queue.dropped()), (vec!["d+e+f+g+h+i".to_owned()], 3));
        assert_eq!(queue.lock().bytes, 0);
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_connection_wait() {
        let queue = Arc::new(StreamQueue::new(2, Overflow::Wait));
        assert!(queue.push(Ok(event("a")), 1).await && queue.push(Ok(event("b")), 1).await);
        let more = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.push(Ok(event("c")), 1).await }
        });
        tokio::task::yield_now().await;
        assert!(!more.is_finished());
        assert_eq!(names(queue.take(1)), ["a"]);
        assert!(more.await.unwrap());
        assert_eq!((names(queue.take(9)), queue.dropped()), (vec!["b".to_owned(), "c".to_owned()], 0));
    }

    #[tokio::test]
    async fn or_the_oldest_are_dropped_and_counted() {
        let queue = StreamQueue::new(2, Overflow::DropOldest);
        for name in ["a", "b", "c", "d"] {
            assert!(queue.push(Ok(event(name)), 1).await);
        }
        assert_eq!((names(queue.take(9)), queue.dropped()), (vec!["c".to_owned(), "d".to_owned()], 2));
    }

    #[tokio::test]
    async fn the_end_comes_after_what_waits_and_frees_who_waits() {
        let queue = Arc::new(StreamQueue::new(1, Overflow::Wait));
        assert!(queue.push(Ok(event("a")), 1).await);
        let blocked = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.push(Ok(event("b")), 1).await }
        });
        tokio::task::yield_now().await;
        queue.end(Some(ClientError::new(ErrorKind::Tier, "over")));
        queue.end(Some(ClientError::new(ErrorKind::Tier, "again")));
        assert!(!blocked.await.unwrap());
        queue.ready().await;
        let first = queue.take(1);
        assert!(!first.ended);
        let last = queue.take(9);
        assert!(last.ended);
        assert_eq!((names(first), names(last)), (vec!["a".to_owned()], vec!["over".to_owned()]));
    }

    #[tokio::test]
    async fn few_large_ones_fill_it_as_well() {
        let queue = Arc::new(StreamQueue::new(1_000, Overflow::Wait));
        // An item that is too large by itself still passes.
        assert!(queue.push(Ok(event("a")), 2 * MOST_WAITING).await);
        let more = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.push(Ok(event("b")), 1).await }
        });
        tokio::task::yield_now().await;
        assert!(!more.is_finished());
        assert_eq!(names(queue.take(1)), ["a"]);
        assert!(more.await.unwrap());
        let queue = StreamQueue::new(1_000, Overflow::DropOldest);
        for name in ["a", "b", "c", "d"] {
            assert!(queue.push(Ok(event(name)), MOST_WAITING / 3).await);
        }
        assert_eq!((names(queue.take(9)), queue.dropped()), (vec!["b".into(), "c".into(), "d".into()], 1));
        assert!(queue.push(Ok(event("e")), MOST_WAITING).await);
        assert_eq!(queue.dropped(), 1);
    }
}
