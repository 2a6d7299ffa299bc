//! Errors of a call. One type; the bindings map its kinds to Python's classes.

use std::fmt;

use crate::archive::points::ArchiveFault;
use crate::columns::Series;
use crate::decode::DecodeError;
use crate::protocol::query::Spelling;
use crate::protocol::wire::NOT_ARCHIVED;
use crate::protocol::{AnalyticsAnswer, ErrorBody, ParamError};

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is not valid; found before sending, or refused by the service with 4xx.
    InvalidRequest,
    /// The key is missing or unknown (401).
    Authentication,
    /// The key's tier does not allow the request (403).
    Tier,
    /// The budget is exhausted (429), or waiting for it would take longer than allowed.
    RateLimit,
    /// The service failed (5xx), or its answer is not data.
    Server,
    /// The service could not be reached, or the connection broke.
    Transport,
    /// An attempt timed out.
    Timeout,
    /// The answer cannot be decoded.
    Decode,
    /// Some requests of a call failed, others succeeded.
    Partial,
    /// The archive cannot be read or written.
    Archive,
    /// The service answers from an archive, which does not hold the requested data.
    NotArchived,
}

/// A failed call.
#[derive(Debug, Clone)]
pub struct ClientError {
    /// Its kind.
    pub kind: ErrorKind,
    /// The problem, its place, and how to fix it. Never contains the key.
    pub message: String,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// The service's error code, if it sent one.
    pub code: Option<String>,
    /// URL of the request, without the key.
    pub request: Option<String>,
    /// Seconds to wait, for [`ErrorKind::RateLimit`].
    pub retry_after: Option<f64>,
    /// The failed part and its place, for [`ErrorKind::Decode`] and [`ErrorKind::Archive`].
    pub cause: Option<Box<Cause>>,
    /// Results and failures, for [`ErrorKind::Partial`].
    pub partial: Option<Box<Partial>>,
}

/// The failed part of a call, and its place.
#[derive(Debug, Clone)]
pub enum Cause {
    /// In a body.
    Body(DecodeError),
    /// In an archive.
    Archive(ArchiveFault),
}

/// Results and failures of a call that succeeded in part.
#[derive(Debug, Clone, Default)]
pub struct Partial {
    /// The series that arrived, joined.
    pub results: Vec<Series>,
    /// The rows of an analytics call that arrived.
    pub rows: Option<Box<AnalyticsAnswer>>,
    /// One error for each request that failed.
    pub failures: Vec<ClientError>,
}

impl ClientError {
    /// An error without an answer.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            code: None,
            request: None,
            retry_after: None,
            cause: None,
            partial: None,
        }
    }

    /// An error of kind `InvalidRequest`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// The error with the URL of this request.
    #[must_use]
    pub(super) fn of(mut self, url: &str) -> Self {
        self.request = Some(url.to_owned());
        self
    }

    /// An error answer of the service.
    pub(super) fn refused(body: ErrorBody) -> Self {
        let kind = match body.status {
            _ if body.code.as_deref() == Some(NOT_ARCHIVED) => ErrorKind::NotArchived,
            401 => ErrorKind::Authentication,
            403 => ErrorKind::Tier,
            429 => ErrorKind::RateLimit,
            400 | 404 | 405 | 413 | 414 | 422 => ErrorKind::InvalidRequest,
            _ => ErrorKind::Server,
        };
        let code = body.code.as_deref().map_or_else(String::new, |code| format!(" {code}"));
        let what = if body.message.is_empty() { "no message" } else { &body.message };
        let hint = match body.status {
            401 => {
                format!("; the key of a client is {}", Spelling::caller().setting("api_key", "MARKETPOINTS_API_KEY"))
            }
            _ => String::new(),
        };
        Self {
            status: Some(body.status),
            retry_after: body.retry_after.map(|seconds| seconds as f64),
            message: format!("the service answered {}{code}: {what}{hint}", body.status),
            code: body.code,
            ..Self::new(kind, "")
        }
    }

    /// A body that cannot be decoded.
    pub(super) fn undecodable(error: DecodeError) -> Self {
        let message = format!("the answer is not valid: {error}");
        Self { cause: Some(Box::new(Cause::Body(error))), ..Self::new(ErrorKind::Decode, message) }
    }
}

impl From<ArchiveFault> for ClientError {
    fn from(fault: ArchiveFault) -> Self {
        let message = fault.to_string();
        Self { cause: Some(Box::new(Cause::Archive(fault))), ..Self::new(ErrorKind::Archive, message) }
    }
}

impl From<ParamError> for ClientError {
    fn from(error: ParamError) -> Self {
        Self::invalid(format!("{}: {}", Spelling::caller().bare(&error.name), error.problem))
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ClientError {}

/// Where something of a call that failed in part is, for its message. A command says itself where it leaves that.
pub(super) fn in_results(something: &str) -> String {
    if Spelling::caller() == Spelling::Options { String::new() } else { format!("{something} is in results") }
}
