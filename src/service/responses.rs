//! Answers as HTTP responses: status, `application/json`, the rate-limit headers (service.md 7 and 8.5).

use std::io;

use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use futures::stream::{self, StreamExt};

use crate::protocol::wire::{LIMIT_HEADER, REMAINING_HEADER, RESET_HEADER, USED_HEADER};
use crate::protocol::{ErrorBody, Usage, Weight};

/// Number of headers of an answer: type, length, date, the four of the budget, one spare.
const HEADERS: usize = 8;

/// A JSON response with a known length, so it is sent with `Content-Length`.
pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().reserve(HEADERS);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The weight charged for a request, added to its response's extensions for the access log and the journal.
#[derive(Clone, Copy)]
struct Paid(Weight);

/// The weight charged for the request.
pub(super) fn weight_of(response: &Response<Body>) -> Weight {
    response.extensions().get::<Paid>().map_or(Weight::ZERO, |Paid(weight)| *weight)
}

/// A JSON response to a charged request.
pub(super) fn paid(body: impl Into<Body>, weight: Weight) -> Response<Body> {
    let mut response = json(StatusCode::OK, body);
    response.extensions_mut().insert(Paid(weight));
    response
}

/// An error response, with `Retry-After` if the body has one.
pub(super) fn refusal(error: &ErrorBody) -> Response<Body> {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, error.to_json());
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Marks a response that is not sent: the connection is closed instead.
#[derive(Clone, Copy)]
struct Dropped;

/// A response that closes the connection instead.
pub(super) fn dropped() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Dropped);
    response
}

/// Whether to close the connection instead of sending this response.
pub(super) fn is_dropped(response: &Response<Body>) -> bool {
    response.extensions().get::<Dropped>().is_some()
}

/// A response whose body ends after so many bytes, at the latest before its last one, with the `Content-Length` of the
/// full body.
pub(super) async fn cut(response: Response<Body>, after: usize) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let whole = match to_bytes(body, usize::MAX).await {
        Ok(whole) if !whole.is_empty() => whole,
        _ => return Response::from_parts(parts, Body::empty()),
    };
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(whole.len()));
    let part = whole.slice(..after.min(whole.len() - 1));
    let broken = async {
        // Lets hyper write what it has before it sees the error.
        tokio::task::yield_now().await;
        Err(io::Error::from(io::ErrorKind::ConnectionAborted))
    };
    let pieces = stream::iter([Ok(part)]).chain(stream::once(broken));
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// Adds the caller's budget as the headers of section 8.5.
pub(super) fn insert_usage_headers(response: &mut Response<Body>, usage: &Usage) {
    let headers = response.headers_mut();
    for (name, value) in [
        (LIMIT_HEADER, usage.limit),
        (REMAINING_HEADER, usage.remaining),
        (USED_HEADER, usage.used),
        (RESET_HEADER, usage.reset),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
    }
}
