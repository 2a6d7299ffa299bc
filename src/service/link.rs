//! What ties a request to its connection.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::watch;

use super::places::Place;

/// What a request knows of its connection, put into its extensions. Who keeps it keeps the connection's place: an upgraded
/// connection outlives its request.
pub(super) struct Link {
    /// Who is at the other end.
    pub(super) peer: IpAddr,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) place: Arc<Place>,
}

impl Link {
    /// Waits until the service stops.
    pub(super) async fn stopped(&self) {
        // An error means that nobody can stop it any more, which is a stop too.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// The connection waits, for a key or anything else: others may have its place.
    pub(super) fn waits(&self) {
        self.place.waits();
    }

    /// The connection has something to do: its place is its own.
    pub(super) fn busy(&self) {
        self.place.busy();
    }

    /// Ends when the connection has to make room, which it only has to while it waits.
    pub(super) async fn closing(&self) {
        self.place.closing().await;
    }
}
