//! The other end of a stream, over a real socket.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::harness::Bench;

pub(super) const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Peer(pub(super) WebSocketStream<TcpStream>);

impl Peer {
    pub(super) async fn connect(bench: &Bench, path: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", bench.service.port())).await.unwrap();
        let request = format!("ws://127.0.0.1{path}?encoding=json").into_client_request().unwrap();
        Self(client_async(request, stream).await.unwrap().0)
    }

    pub(super) async fn known(bench: &Bench, path: &str, tier: &str) -> Self {
        let mut peer = Self::connect(bench, path).await;
        let granted = peer.ask("public/authenticate", json!({"token": bench.key(tier)})).await;
        assert_eq!(granted, json!({"jsonrpc": "2.0", "id": 7, "result": {"authenticated": true}}));
        peer
    }

    pub(super) async fn say(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// The next object; `None` at the end.
    pub(super) async fn hear(&mut self) -> Option<Value> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.expect("the service says nothing")? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()).await;
        self.hear().await.unwrap()
    }

    pub(super) async fn subscribe(&mut self, channels: Value) -> Value {
        self.ask("public/subscribe", json!({"channels": channels, "compression": "none", "version": "v2"})).await
    }

    /// The points of the next data frame.
    pub(super) async fn points(&mut self) -> Vec<Value> {
        let frame = self.hear().await.unwrap();
        frame["points"].as_array().unwrap_or_else(|| panic!("{frame}")).clone()
    }

    /// The reason that the service gives for its end.
    pub(super) async fn farewell(&mut self) -> String {
        loop {
            match timeout(PATIENCE, self.0.next()).await.expect("the service says nothing").expect("no farewell") {
                Ok(Message::Close(frame)) => return frame.unwrap().reason.to_string(),
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}
