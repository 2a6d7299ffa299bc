//! The live stream: sockets at the two paths of supplement 7, a conversation on each, events of the service's own
//! market as its clock passes them.
//!
//! A connection pulls: it computes a short stretch of time, writes it, and goes on when the peer has taken it. So a slow
//! peer costs no memory but falls behind, and one that takes nothing at all is closed.

mod calls;
mod conversation;
mod production;

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, RawQuery, State};
use axum::http::{Response, StatusCode};
use axum::routing::get;

use self::conversation::Conversation;
use super::link::Link;
use super::reply;
use super::shared::Shared;
use crate::protocol::stream::Family;
use crate::protocol::{ErrorBody, ParamError};

/// Largest message that a peer may send: a subscription of hundreds of channels.
const MAX_MESSAGE: usize = 64 * 1024;
/// Most bytes of a peer's share of the service's memory that wait to be written.
const MAX_UNWRITTEN: usize = 32 << 20;

/// The two paths.
pub(super) fn routes() -> Router<Arc<Shared>> {
    Family::ALL.into_iter().fold(Router::new(), |router, family| {
        let open = move |state, link, query, upgrade| ready(open(family, state, link, query, upgrade));
        router.route(family.path(), get(open))
    })
}

fn open(
    family: Family,
    State(shared): State<Arc<Shared>>,
    Extension(link): Extension<Arc<Link>>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response<Body> {
    if let Err(error) = check_encoding(&query.unwrap_or_default()) {
        return reply::refusal(&error.into());
    }
    match upgrade {
        Ok(upgrade) => upgrade
            .max_message_size(MAX_MESSAGE)
            .max_frame_size(MAX_MESSAGE)
            .max_write_buffer_size(MAX_UNWRITTEN)
            .on_upgrade(move |socket| Conversation::new(socket, family, shared, link).run()),
        Err(rejection) => {
            let message = format!("{} is a WebSocket: {rejection}", family.path());
            let status = StatusCode::UPGRADE_REQUIRED.as_u16();
            reply::refusal(&ErrorBody::new(status, "UPGRADE_REQUIRED", message))
        }
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
