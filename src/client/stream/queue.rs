//! The bounded queue between the connections and who takes the events.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::event::Event;
use crate::client::ClientError;

/// What happens when as many events wait as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The connection is not read on until some were taken: nothing is lost as long as the service has patience. It cuts a
    /// peer that takes nothing; what happens until the stream stands again is then missing.
    #[default]
    Wait,
    /// The oldest are dropped, and counted.
    DropOldest,
}

/// What was taken.
#[derive(Debug)]
pub struct Taken {
    /// Events, oldest first, and what went wrong between them.
    pub events: Vec<Result<Event, ClientError>>,
    /// Whether nothing more will come.
    pub ended: bool,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Result<Event, ClientError>>,
    ended: bool,
    dropped: u64,
}

pub(super) struct Queue {
    state: Mutex<State>,
    most: usize,
    overflow: Overflow,
    filled: Notify,
    emptied: Notify,
}

impl Queue {
    pub(super) fn new(most: usize, overflow: Overflow) -> Self {
        let most = most.max(1);
        Self { state: Mutex::default(), most, overflow, filled: Notify::new(), emptied: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; `false` when the stream has ended.
    pub(super) async fn push(&self, event: Result<Event, ClientError>) -> bool {
        loop {
            // Registered before the look, so that what is taken in between is noticed.
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            {
                let mut state = self.lock();
                if state.ended {
                    return false;
                }
                let full = state.waiting.len() >= self.most;
                if full && self.overflow == Overflow::DropOldest {
                    state.waiting.pop_front();
                    state.dropped += 1;
                }
                if !full || self.overflow == Overflow::DropOldest {
                    state.waiting.push_back(event);
                    drop(state);
                    self.filled.notify_waiters();
                    return true;
                }
            }
            emptied.await;
        }
    }

    /// Ends the stream, with an error as the last to be taken where there is one. Only the first end counts.
    pub(super) fn end(&self, error: Option<ClientError>) {
        let mut state = self.lock();
        if !state.ended {
            state.ended = true;
            state.waiting.extend(error.map(Err));
        }
        drop(state);
        self.filled.notify_waiters();
        self.emptied.notify_waiters();
    }

    pub(super) async fn ready(&self) {
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            filled.as_mut().enable();
            {
                let state = self.lock();
                if state.ended || !state.waiting.is_empty() {
                    return;
                }
            }
            filled.await;
        }
    }

    /// Waits for the end.
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

    pub(super) fn take(&self, most: usize) -> Taken {
        let mut state = self.lock();
        let count = most.min(state.waiting.len());
        let events = state.waiting.drain(..count).collect();
        let ended = state.ended && state.waiting.is_empty();
        drop(state);
        self.emptied.notify_waiters();
        Taken { events, ended }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::client::ErrorKind;

    fn event(name: &str) -> Event {
        Event { name: name.to_owned(), ..Event::default() }
    }

    fn names(taken: Taken) -> Vec<String> {
        taken.events.into_iter().map(|event| event.map_or_else(|error| error.message, |event| event.name)).collect()
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_connection_wait() {
        let queue = Arc::new(Queue::new(2, Overflow::Wait));
        assert!(queue.push(Ok(event("a"))).await && queue.push(Ok(event("b"))).await);
        let more = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.push(Ok(event("c"))).await }
        });
        tokio::task::yield_now().await;
        assert!(!more.is_finished());
        assert_eq!(names(queue.take(1)), ["a"]);
        assert!(more.await.unwrap());
        assert_eq!((names(queue.take(9)), queue.dropped()), (vec!["b".to_owned(), "c".to_owned()], 0));
    }

    #[tokio::test]
    async fn or_the_oldest_are_dropped_and_counted() {
        let queue = Queue::new(2, Overflow::DropOldest);
        for name in ["a", "b", "c", "d"] {
            assert!(queue.push(Ok(event(name))).await);
        }
        assert_eq!((names(queue.take(9)), queue.dropped()), (vec!["c".to_owned(), "d".to_owned()], 2));
    }

    #[tokio::test]
    async fn the_end_comes_after_what_waits_and_frees_who_waits() {
        let queue = Arc::new(Queue::new(1, Overflow::Wait));
        assert!(queue.push(Ok(event("a"))).await);
        let blocked = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.push(Ok(event("b"))).await }
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
}
