//! Connections: accepting, HTTP/1.1 with limits against slow and greedy peers, a graceful end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::explain::Explained;
use super::reply::is_dropped;

/// Connections that are served at a time; more wait in the listener's queue.
const MAX_CONNECTIONS: usize = 1_024;
/// Largest head of a request.
const MAX_HEAD: usize = 64 * 1024;
/// How long a peer may take to send a request's head, and to leave a connection idle: short, so that peers who say nothing
/// do not hold all places for long. This package's client lets go of an idle connection before that.
const HEAD_WITHIN: Duration = Duration::from_secs(20);
/// Pause after a failed accept: it mostly means that file descriptors have run out, and some must close first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long requests under way may take to finish when the service stops.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// What a request knows of its connection. Who keeps it keeps the connection's place: an upgraded connection outlives its
/// request.
#[derive(Clone)]
pub(super) struct Link {
    stop: watch::Receiver<bool>,
    _place: Arc<OwnedSemaphorePermit>,
}

impl Link {
    /// Waits until the service stops.
    pub(super) async fn stopped(&mut self) {
        // An error means that nobody can stop it any more, which is a stop too.
        let _ = self.stop.wait_for(|stop| *stop).await;
    }
}

/// Serves connections until told to stop, then lets requests under way finish within [`GRACE`].
pub(super) async fn serve(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepting = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            accepted = accepting => accepted,
        };
        while connections.try_join_next().is_some() {}
        match (place, accepted) {
            (Ok(place), Ok((stream, _))) => {
                connections.spawn(serve_one(stream, router.clone(), stop.clone(), place));
            }
            _ => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
    drop(listener);
    let finish = async {
        while connections.join_next().await.is_some() {}
        // Connections that became WebSockets are tasks of their own: all are gone when every place is free.
        let _ = places.acquire_many(MAX_CONNECTIONS as u32).await;
    };
    // What is still open after the grace is cut when the set is dropped.
    let _ = tokio::time::timeout(GRACE, finish).await;
}

async fn serve_one(stream: TcpStream, router: Router, mut stop: watch::Receiver<bool>, place: OwnedSemaphorePermit) {
    // Answers are written whole; waiting to fill a packet only delays them. A socket that refuses still works.
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_header_size(MAX_HEAD);
    let routes = TowerToHyperService::new(router);
    let link = Link { stop: stop.clone(), _place: Arc::new(place) };
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(link.clone());
        let answer = routes.call(request);
        async move {
            let response = answer.await.unwrap_or_else(|never| match never {});
            // An error makes hyper close the connection without an answer.
            if is_dropped(&response) { Err(io::Error::from(io::ErrorKind::ConnectionAborted)) } else { Ok(response) }
        }
    });
    let connection = http.serve_connection(Explained::new(TokioIo::new(stream)), service).with_upgrades();
    tokio::pin!(connection);
    // A connection that fails concerns its peer alone, who has noticed.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
