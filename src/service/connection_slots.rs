//! A bounded number of connection slots. When all are taken, a new connection replaces the one that has been idle
//! longest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// All slots of a service.
pub(super) struct ConnectionSlots {
    number: usize,
    free: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
    /// Notified when a connection becomes idle and so can be closed.
    begun: Notify,
}

/// Idle connections in the order in which they became idle.
#[derive(Default)]
struct Waiting {
    next: u64,
    by_age: BTreeMap<u64, Arc<Notify>>,
}

/// State of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// Waiting for a request's head, with the ticket of its place in the order.
    Waiting(u64),
    /// A request is being answered.
    Busy,
    /// The answer has been handed to hyper but its last bytes are not written yet.
    Answered,
}

/// The slot of one connection, held until it is dropped.
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    state: Mutex<SlotState>,
    closing: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlots {
    pub(super) fn new(number: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(number));
        Arc::new(Self { number, free, waiting: Mutex::default(), begun: Notify::new() })
    }

    /// Takes a slot for an accepted connection. Only one caller may wait at a time.
    pub(super) async fn take(self: &Arc<Self>) -> Option<ConnectionSlot> {
        loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                return Some(ConnectionSlot::new(self, permit));
            }
            let room = Arc::clone(&self.free).acquire_owned();
            if self.close_oldest() {
                return room.await.ok().map(|permit| ConnectionSlot::new(self, permit));
            }
            tokio::select! {
                permit = room => return permit.ok().map(|permit| ConnectionSlot::new(self, permit)),
                () = self.begun.notified() => {}
            }
        }
    }

    /// Closes the connection that has been idle longest; `false` if none is idle.
    pub(super) fn close_oldest(&self) -> bool {
        let oldest = self.lock().by_age.pop_first();
        oldest.inspect(|(_, closing)| closing.notify_one()).is_some()
    }

    /// Waits until every slot is free.
    pub(super) async fn all_free(&self) {
        // The semaphore is never closed.
        let _ = self.free.acquire_many(u32::try_from(self.number).unwrap_or(u32::MAX)).await;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, closing: &Arc<Notify>) -> SlotState {
        let mut waiting = self.lock();
        let ticket = waiting.next;
        waiting.next += 1;
        waiting.by_age.insert(ticket, Arc::clone(closing));
        drop(waiting);
        self.begun.notify_one();
        SlotState::Waiting(ticket)
    }
}

impl ConnectionSlot {
    fn new(slots: &Arc<ConnectionSlots>, permit: OwnedSemaphorePermit) -> Self {
        let closing = Arc::new(Notify::new());
        let state = Mutex::new(slots.enter(&closing));
        Self { slots: Arc::clone(slots), state, closing, _permit: permit }
    }

    /// A request's head has arrived.
    pub(super) fn busy(&self) {
        self.turn(SlotState::Busy);
    }

    /// The complete answer has been handed to hyper; its last bytes may not be written yet.
    pub(super) fn answered(&self) {
        self.turn(SlotState::Answered);
    }

    /// Everything has been written. After an answer, the connection waits for its next request.
    pub(super) fn flushed(&self) {
        let mut state = self.state();
        if *state == SlotState::Answered {
            *state = self.slots.enter(&self.closing);
        }
    }

    /// Marks the connection as idle in any state.
    pub(super) fn waits(&self) {
        let mut state = self.state();
        if !matches!(*state, SlotState::Waiting(_)) {
            *state = self.slots.enter(&self.closing);
        }
    }

    /// Whether no request is in progress.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(*self.state(), SlotState::Waiting(_))
    }

    /// Completes when the connection must close to make room.
    pub(super) async fn closing(&self) {
        self.closing.notified().await;
    }

    fn turn(&self, next: SlotState) {
        let last = std::mem::replace(&mut *self.state(), next);
        if let SlotState::Waiting(ticket) = last {
            self.slots.lock().by_age.remove(&ticket);
        }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.turn(SlotState::Busy);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// A slot, if one is free at once.
    fn at_once(slots: &Arc<ConnectionSlots>) -> Option<ConnectionSlot> {
        slots.take().now_or_never().flatten()
    }

    fn must_close(slot: &ConnectionSlot) -> bool {
        slot.closing().now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_full_house_closes_the_connection_that_has_waited_longest() {
        let slots = ConnectionSlots::new(3);
        let (first, second, third) = (at_once(&slots).unwrap(), at_once(&slots).unwrap(), at_once(&slots).unwrap());
        // The first connection has had a request since, and has become idle again.
        first.busy();
        first.answered();
        first.flushed();
        assert!(at_once(&slots).is_none());
        assert_eq!([&first, &second, &third].map(must_close), [false, true, false]);
        drop(second);
        assert!(at_once(&slots).is_some());
    }

    #[tokio::test]
    async fn requests_under_way_and_answers_on_their_way_are_never_closed() {
        let slots = ConnectionSlots::new(2);
        let (asking, answered) = (at_once(&slots).unwrap(), at_once(&slots).unwrap());
        asking.busy();
        asking.flushed();
        answered.busy();
        answered.answered();
        let mut take = std::pin::pin!(slots.take());
        assert!(take.as_mut().now_or_never().is_none());
        assert!(!must_close(&asking) && !must_close(&answered));
        assert!(!asking.is_waiting() && !answered.is_waiting());
        // The caller is notified when one becomes idle.
        answered.flushed();
        assert!(take.as_mut().now_or_never().is_none());
        assert!(!must_close(&asking) && must_close(&answered));
        drop(answered);
        assert!(take.await.is_some());
    }
}
