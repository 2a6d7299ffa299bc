//! Answers as HTTP responses: status, `application/json`, the rate-limit headers (service.md 7 and 8.5).

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};

use crate::protocol::wire::{LIMIT_HEADER, REMAINING_HEADER, RESET_HEADER, USED_HEADER};
use crate::protocol::{ErrorBody, Usage};

/// A whole JSON body. Its length is known, so it is sent with `Content-Length`.
pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error body with its status, and `Retry-After` where the body names a wait.
pub(super) fn refusal(error: &ErrorBody) -> Response<Body> {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, error.to_json());
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Tells the caller's budget in the headers of section 8.5.
pub(super) fn tell(response: &mut Response<Body>, usage: &Usage) {
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
