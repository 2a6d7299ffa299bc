//! Error bodies for the refusals that hyper sends by itself. A request head that hyper cannot parse never reaches a
//! route: hyper answers it with a bare status. This wrapper around the connection adds the service's date and an error
//! body to such an answer as it is written. It reads nothing of what peers send. A refusal that is written in one piece
//! with an earlier answer (pipelined requests) is left as it is.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::{HeaderValue, StatusCode};
use hyper::rt::{Read, ReadBufCursor, Write};

use crate::protocol::ErrorBody;

const NO_BODY: &str = "content-length: 0\r\n";

/// A connection that adds a date and a body to bare refusals.
pub(super) struct ExplainedRefusals<T> {
    inner: T,
    /// The service's time in the format of the header `Date`.
    date: Box<dyn Fn() -> Option<HeaderValue> + Send>,
    /// The part of a refusal that is not written yet.
    pending: Vec<u8>,
}

impl<T> ExplainedRefusals<T> {
    pub(super) fn new(inner: T, date: impl Fn() -> Option<HeaderValue> + Send + 'static) -> Self {
        Self { inner, date: Box::new(date), pending: Vec::new() }
    }
}

impl<T: Write + Unpin> ExplainedRefusals<T> {
    /// Writes the pending bytes.
    fn drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(context, &self.pending))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: Read + Unpin> Read for ExplainedRefusals<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for ExplainedRefusals<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.drain(context))?;
        match explained(bytes, &self.date) {
            Some(whole) => {
                // Accepted here; written by the next flush.
                self.pending = whole;
                Poll::Ready(Ok(bytes.len()))
            }
            None => Pin::new(&mut self.inner).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.drain(context))?;
        match pieces {
            [only] => self.poll_write(context, only),
            _ => Pin::new(&mut self.inner).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(context))?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// A bare refusal with date and body added; `None` for anything else. The service's own answers always have a body, or,
/// to HEAD, a `Content-Length` other than 0.
fn explained(bytes: &[u8], date: impl Fn() -> Option<HeaderValue>) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"HTTP/1.1 4") || !bytes.ends_with(b"\r\n\r\n") {
        return None;
    }
    let head = std::str::from_utf8(bytes).ok().filter(|head| head.contains(NO_BODY))?;
    let status: u16 = head.get(9..12)?.parse().ok()?;
    let error = match StatusCode::from_u16(status).ok()? {
        StatusCode::BAD_REQUEST => ErrorBody::new(
            status,
            "INVALID_REQUEST",
            "the head of the request cannot be read; send a line such as GET /v1/usage HTTP/1.1, headers as Name: value, \
             and an empty line",
        ),
        StatusCode::URI_TOO_LONG => ErrorBody::new(status, "URI_TOO_LONG", "the URL is too long; send a shorter one"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ErrorBody::new(
            status,
            "HEADERS_TOO_LARGE",
            "the head of the request is too large; send fewer or shorter headers",
        ),
        _ => return None,
    };
    let body = error.to_json();
    let mut described = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    if let Some(date) = date().as_ref().and_then(|date| date.to_str().ok()) {
        described.extend(["date: ", date, "\r\n"]);
    }
    let mut whole = head.replacen(NO_BODY, &described, 1).into_bytes();
    whole.extend(body);
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_refusals_get_a_body() {
        let now = || Some(HeaderValue::from_static("now"));
        let bare = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let text = String::from_utf8(explained(bare.as_bytes(), now).unwrap()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.ends_with("date: now"), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
        assert_eq!(ErrorBody::parse(400, body.as_bytes()).code.as_deref(), Some("INVALID_REQUEST"));
        for other in [
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 12\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nmore",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 4",
            "",
        ] {
            assert_eq!(explained(other.as_bytes(), now), None, "{other:?}");
        }
    }
}
