//! The live stream, over WebSockets, at the two paths of supplement 7. Each sends events of the service's own market as its
//! clock passes them.
//!
//! A connection pulls: it computes a short stretch of time, writes it, and continues when the peer has read it. So a
//! slow peer falls behind but costs no memory, and a peer that reads nothing is disconnected.

mod calls;
mod connection;
mod frames;
mod socket;

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{Request, Response};
use axum::routing::get;

use self::connection::StreamConnection;
use super::connection_handle::ConnectionHandle;
use super::responses;
use super::state::ServiceState;
use crate::protocol::ParamError;
use crate::protocol::stream::Family;

/// The two paths.
pub(super) fn routes() -> Router<Arc<ServiceState>> {
    Family::ALL.into_iter().fold(Router::new(), |router, family| {
        let open = move |state, connection, request| ready(open(family, state, connection, request));
        router.route(family.path(), get(open))
    })
}

fn open(
    family: Family,
    State(state): State<Arc<ServiceState>>,
    Extension(connection): Extension<Arc<ConnectionHandle>>,
    request: Request<Body>,
) -> Response<Body> {
    if let Err(error) = check_encoding(request.uri().query().unwrap_or_default()) {
        return responses::refusal(&error.into());
    }
    match socket::shake_hands(family.path(), request) {
        Ok((response, upgrade)) => {
            // The task holds the handle, and with it the connection's slot, for whose release the shutdown waits.
            drop(tokio::spawn(async move {
                // An error means that the peer disconnected before the handshake was done.
                if let Ok(upgraded) = upgrade.await {
                    StreamConnection::new(socket::over(upgraded).await, family, state, connection).run().await;
                }
            }));
            response
        }
        Err(refusal) => refusal,
    }
}

fn check_encoding(query: &str) -> Result<(), ParamError> {
    let mut encoding = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "encoding" => encoding = Some(value),
            other => return Err(ParamError::new(other, "unknown; the stream takes encoding=json")),
        }
    }
    match encoding.as_deref() {
        Some("json") => Ok(()),
        Some(other) => Err(ParamError::new("encoding", format!("{other:?} is not served; give json"))),
        None => Err(ParamError::new("encoding", "missing; give encoding=json")),
    }
}
