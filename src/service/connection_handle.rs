//! A request's handle on its connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::connection_slots::ConnectionSlot;
use super::tcp_io::ConnectionWatch;

/// How long a peer that has closed its sending side is still answered: a peer that has only finished sending cannot be
/// distinguished from one that has disconnected.
const ANSWERED_AFTER_END: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// The connection of the current request.
    pub(super) static CURRENT_CONNECTION: Arc<ConnectionHandle>;
}

/// The connection as its requests see it, added to their extensions. Whoever holds it holds the connection's slot: an
/// upgraded connection outlives its request.
pub(super) struct ConnectionHandle {
    /// The peer's address.
    pub(super) peer: IpAddr,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) watch: ConnectionWatch,
}

impl ConnectionHandle {
    /// Waits until the service stops.
    pub(super) async fn stopped(&self) {
        // An error means that the sender is gone, which counts as a stop.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Waits until the peer is taken to be disconnected.
    pub(super) async fn hung_up(&self) {
        self.watch.ended().await;
        tokio::time::sleep(ANSWERED_AFTER_END).await;
    }

    /// The connection is idle, so it may be closed to make room for another.
    pub(super) fn waits(&self) {
        self.slot.waits();
    }

    /// The connection is busy, so it may not be closed to make room.
    pub(super) fn busy(&self) {
        self.slot.busy();
    }

    /// Completes when the connection must close to make room, which happens only while it is idle.
    pub(super) async fn closing(&self) {
        self.slot.closing().await;
    }
}
