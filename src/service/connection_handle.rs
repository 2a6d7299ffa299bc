//! What ties a request to its connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::connection_slots::ConnectionSlot;
use super::tcp_io::ConnectionWatch;

/// How long a peer that has ended its side of the connection is still answered: one that has said all it will does that as
/// one that hangs up does.
const ANSWERED_AFTER_END: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// The connection of the request under way.
    pub(super) static CURRENT_CONNECTION: Arc<ConnectionHandle>;
}

/// What a request knows of its connection, put into its extensions. Who keeps it keeps the connection's slot: an upgraded
/// connection outlives its request.
pub(super) struct ConnectionHandle {
    /// Who is at the other end.
    pub(super) peer: IpAddr,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) watch: ConnectionWatch,
}

impl ConnectionHandle {
    /// Waits until the service stops.
    pub(super) async fn stopped(&self) {
        // An error means that nobody can stop it any more, which is a stop too.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Waits until the peer has surely hung up.
    pub(super) async fn hung_up(&self) {
        self.watch.ended().await;
        tokio::time::sleep(ANSWERED_AFTER_END).await;
    }

    /// The connection waits, for a key or anything else: others may have its slot.
    pub(super) fn waits(&self) {
        self.slot.waits();
    }

    /// The connection has something to do: its slot is its own.
    pub(super) fn busy(&self) {
        self.slot.busy();
    }

    /// Ends when the connection has to make room, which it only has to while it waits.
    pub(super) async fn closing(&self) {
        self.slot.closing().await;
    }
}
