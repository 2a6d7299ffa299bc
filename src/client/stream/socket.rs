//! Opens a WebSocket with the client's proxy, certificates and TLS.

use reqwest::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{StatusCode, Upgraded};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::gap::ServiceTime;
use crate::client::error::{ClientError, ErrorKind};
use crate::client::transport::{Transport, date};
use crate::protocol::ErrorBody;
use crate::protocol::stream::Family;

/// Largest message that is read: a book of a million levels.
const MAX_MESSAGE: usize = 16 << 20;
/// Bytes that are read at a time; frames in the buffer delay timers.
const READ: usize = 32 << 10;
/// Most unsent bytes if the peer does not read: subscriptions, and answers to pings.
const MAX_UNWRITTEN: usize = 16 << 20;
/// Most bytes that are read of an error body.
const MAX_REFUSAL: usize = 64 << 10;

/// An open WebSocket.
pub(super) type ClientSocket = WebSocketStream<Upgraded>;

/// Opens the WebSocket of a family of channels; also returns the service's time at the handshake.
pub(super) async fn open(transport: &Transport, family: Family) -> Result<(ClientSocket, ServiceTime), ClientError> {
    let url = transport.url(family.path(), "encoding=json");
    let attempt = tokio::time::timeout(transport.timeout(), shake_hands(transport, &url)).await;
    let opened = attempt.unwrap_or_else(|_| {
        let message = format!("the stream did not open within {} s", transport.timeout().as_secs_f64());
        Err(ClientError::new(ErrorKind::Timeout, message))
    });
    opened.map_err(|error| error.of(&url))
}

async fn shake_hands(transport: &Transport, url: &str) -> Result<(ClientSocket, ServiceTime), ClientError> {
    let key = generate_key();
    let request = transport.sockets()?.get(url).header(CONNECTION, "Upgrade").header(UPGRADE, "websocket");
    let request = request.header(SEC_WEBSOCKET_VERSION, "13").header(SEC_WEBSOCKET_KEY, &key);
    let mut response = request.send().await.map_err(|error| transport.broken(&error).error)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk[..chunk.len().min(MAX_REFUSAL - body.len())]);
            if body.len() == MAX_REFUSAL {
                break;
            }
        }
        let mut refusal = ErrorBody::parse(status, &body);
        refusal.message = transport.redact(&refusal.message);
        return Err(ClientError::refused(refusal));
    }
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).map(|value| value.as_bytes().to_vec());
    if accepted.as_deref() != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        let message = "something between answered for the service: its WebSocket handshake is not for this request";
        return Err(ClientError::new(ErrorKind::Transport, message));
    }
    let time = ServiceTime::new(date(response.headers()));
    let upgraded = response.upgrade().await.map_err(|error| transport.broken(&error).error)?;
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        .read_buffer_size(READ)
        .max_write_buffer_size(MAX_UNWRITTEN);
    Ok((WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(limits)).await, time))
}
