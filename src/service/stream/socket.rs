//! `WebSocket`s as the service opens and closes them (RFC 6455): the handshake, limits, close frames.

use axum::body::Body;
use axum::http::header::{SEC_WEBSOCKET_VERSION, UPGRADE};
use axum::http::{HeaderValue, Request, Response, StatusCode};
use futures::{SinkExt, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::server::create_response;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::super::responses;
use crate::protocol::ErrorBody;

/// Largest message that a peer may send: enough for a subscription to hundreds of channels.
const MAX_MESSAGE: usize = 64 * 1024;
/// Bytes that are read at a time.
const READ: usize = 16 * 1024;
/// Most bytes of unsent data per peer.
const MAX_UNWRITTEN: usize = 32 << 20;

/// An open WebSocket.
pub(super) type ServerSocket = WebSocketStream<TokioIo<Upgraded>>;

/// The response to a handshake and the upgraded connection; or the refusal of a request that is not a handshake.
#[allow(clippy::result_large_err)] // once a connection
pub(super) fn shake_hands(path: &str, request: Request<Body>) -> Result<(Response<Body>, OnUpgrade), Response<Body>> {
    let (parts, _) = request.into_parts();
    let mut request = Request::from_parts(parts, ());
    match create_response(&request) {
        Ok(response) => Ok((response.map(|()| Body::empty()), hyper::upgrade::on(&mut request))),
        Err(error) => {
            let message = format!("{path} is a WebSocket: {error}");
            let status = StatusCode::UPGRADE_REQUIRED.as_u16();
            let mut refusal = responses::refusal(&ErrorBody::new(status, "UPGRADE_REQUIRED", message));
            refusal.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
            refusal.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            Err(refusal)
        }
    }
}

/// The WebSocket over an upgraded connection.
pub(super) async fn over(upgraded: Upgraded) -> ServerSocket {
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        .read_buffer_size(READ)
        .max_write_buffer_size(MAX_UNWRITTEN);
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(limits)).await
}

/// The close frame for a failed read (RFC 6455, 7.4.1); `None` if the connection is gone.
pub(super) fn answer_to(error: &Error) -> Option<(CloseCode, String)> {
    let code = match error {
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => return None,
        Error::Protocol(_) => CloseCode::Protocol,
        Error::Utf8(_) => CloseCode::Invalid,
        Error::Capacity(_) => CloseCode::Size,
        _ => return None,
    };
    Some((code, error.to_string()))
}

/// Closes a connection: sends the close frame (the library sends it itself when it answers the peer's), shuts down
/// writing, then reads and discards what the peer still sends. Closing with unread data would reset the connection and
/// could discard what the peer has not read yet. The caller limits the time.
pub(super) async fn part(socket: &mut ServerSocket, frame: Option<CloseFrame>) {
    if frame.is_some() {
        // First the queued answer to a ping: the library would write it after the close frame.
        if socket.flush().await.is_err() || socket.send(Message::Close(frame)).await.is_err() {
            return;
        }
    }
    while let Some(Ok(_)) = socket.next().await {}
    let connection = socket.get_mut();
    if connection.shutdown().await.is_ok() {
        let mut rest = [0; 4 * 1024];
        while matches!(connection.read(&mut rest).await, Ok(1..)) {}
    }
}
