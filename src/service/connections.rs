//! Connections: accepting, HTTP/1.1 with limits against slow and greedy peers, graceful shutdown.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use futures::FutureExt;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::bare_refusals::ExplainedRefusals;
use super::connection_handle::{CURRENT_CONNECTION, ConnectionHandle};
use super::connection_slots::{ConnectionSlot, ConnectionSlots};
use super::limits::ConnectionLimits;
use super::request_handler::RequestHandler;
use super::response_body::ResponseBody;
use super::responses::is_dropped;
use super::tcp_io::TcpIo;
use super::write_timeout::WriteTimeout;

/// Largest request head.
const MAX_HEAD: usize = 64 * 1024;
/// Pause after a failed accept, which mostly means that file descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `stop`, then lets requests in progress finish within the grace period.
pub(super) async fn serve(
    listener: TcpListener,
    handler: Arc<RequestHandler>,
    limits: ConnectionLimits,
    mut stop: watch::Receiver<bool>,
) {
    let slots = ConnectionSlots::new(limits.connections);
    let mut connections = JoinSet::new();
    loop {
        let accepting = async {
            let accepted = listener.accept().await;
            // Accepted first: an idle connection is closed only when another one needs its slot.
            match accepted {
                Ok((stream, peer)) => slots.take().await.map(|slot| (stream, peer, slot)),
                Err(_) => None,
            }
        };
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            accepted = accepting => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Some((stream, peer, slot)) => {
                // In a box: what runs it is compiled once, not for each kind of runtime.
                connections.spawn(serve_one(stream, peer, Arc::clone(&handler), limits, stop.clone(), slot).boxed());
            }
            None => {
                slots.close_oldest();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let finish = async {
        while connections.join_next().await.is_some() {}
        // Upgraded connections are tasks of their own.
        slots.all_free().await;
    };
    // Connections still open after the grace period are cut when the set is dropped.
    let _ = tokio::time::timeout(limits.grace, finish).await;
}

async fn serve_one(
    stream: TcpStream,
    peer: SocketAddr,
    handler: Arc<RequestHandler>,
    limits: ConnectionLimits,
    mut stop: watch::Receiver<bool>,
    slot: ConnectionSlot,
) {
    // Answers are written in full at once, so waiting to fill a packet only delays them. If setting it fails, the
    // socket still works.
    let _ = stream.set_nodelay(true);
    let slot = Arc::new(slot);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_within).max_header_size(MAX_HEAD);
    // A peer that has closed its sending side still gets its answers.
    http.half_close(true);
    // The date of every answer comes from the service's clock.
    http.auto_date_header(false);
    let asked = Arc::clone(&slot);
    let dates = Arc::clone(&handler);
    let io = TcpIo::new(stream);
    let connection =
        Arc::new(ConnectionHandle { peer: peer.ip(), stop: stop.clone(), slot: Arc::clone(&slot), watch: io.watch() });
    let service = service_fn(move |request| {
        asked.busy();
        let (handler, connection, asked) = (Arc::clone(&handler), Arc::clone(&connection), Arc::clone(&asked));
        async move {
            let response = CURRENT_CONNECTION.scope(Arc::clone(&connection), handler.answer(connection, request)).await;
            if is_dropped(&response) {
                // An error makes hyper close the connection without an answer.
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted));
            }
            // An upgraded connection stays open.
            let goes_on = response.status() == StatusCode::SWITCHING_PROTOCOLS;
            Ok(response.map(|body| ResponseBody::new(body, (!goes_on).then_some(asked))))
        }
    });
    let timed = WriteTimeout::new(io, Some(Arc::clone(&slot)), limits);
    let connection =
        http.serve_connection(ExplainedRefusals::new(timed, move || dates.date()), service).with_upgrades();
    tokio::pin!(connection);
    // A failed connection concerns only its peer, who has noticed.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = slot.closing() => return,
        _ = stop.wait_for(|stop| *stop) => {}
    }
    // hyper alone would wait for the rest of a partly received head.
    if !slot.is_waiting() {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}
