//! Failed attempts: a description, and whether the request was charged.

use super::error::{ClientError, ErrorKind};
use crate::protocol::query::Spelling;

/// An attempt without a complete answer.
pub(super) struct TransportError {
    pub error: ClientError,
    /// The request certainly did not reach the service: nothing was charged.
    pub not_sent: bool,
    /// The next attempt would fail the same way.
    pub for_good: bool,
}

impl From<std::io::Error> for TransportError {
    fn from(error: std::io::Error) -> Self {
        Self::off(ErrorKind::Transport, format!("the compressed body is damaged or incomplete: {error}"))
    }
}

impl TransportError {
    /// Aborted on this side, after the request was sent.
    pub(super) fn off(kind: ErrorKind, message: String) -> Self {
        Self { error: ClientError::new(kind, message), not_sent: false, for_good: false }
    }
}

/// An HTTP client that cannot be built.
pub(super) fn unusable(error: &reqwest::Error) -> ClientError {
    let causes = causes(error);
    let hint = if causes.contains("No CA certificates") {
        "; install the system's (Debian: ca-certificates), or name a file of those to trust with ca_certs="
    } else {
        ""
    };
    ClientError::new(ErrorKind::Transport, format!("{causes}{hint}"))
}

/// Describes an error of the HTTP library; with `proxied` the client has a proxy of its own.
pub(super) fn broken(error: &reqwest::Error, proxied: bool) -> TransportError {
    let origin = error.url().map_or_else(String::new, |url| format!(" at {}", url.origin().ascii_serialization()));
    let (kind, what) = if error.is_timeout() {
        (ErrorKind::Timeout, "the attempt took longer than the client's timeout".to_owned())
    } else if error.is_redirect() {
        (ErrorKind::Server, "the service redirected".to_owned())
    } else if error.is_connect() {
        let through = if proxied { " through the proxy that proxy= names" } else { "" };
        (ErrorKind::Transport, format!("no connection to the service{origin}{through}"))
    } else if error.is_builder() {
        (ErrorKind::InvalidRequest, "no request can have this URL; the longest has 65,534 bytes".to_owned())
    } else {
        (ErrorKind::Transport, "the connection broke before the answer was complete".to_owned())
    };
    let causes = causes(error);
    // Retrying does not make a certificate valid.
    let certificate = error.is_connect() && causes.contains("certificate");
    let hint = if certificate {
        "; trust a further authority with ca_certs=, or check the address".to_owned()
    } else if error.is_connect() && causes.contains("proxy authorization required") {
        "; the proxy wants a user and a password: http://user:password@host:port".to_owned()
    } else if kind == ErrorKind::Transport && error.is_connect() && proxied {
        "; does the proxy run at that address, and does it lead there?".to_owned()
    } else if kind == ErrorKind::Transport && error.is_connect() {
        format!(
            "; is it running there? {} names another address, and `marketpoints serve` starts a local service and prints \
             its own",
            Spelling::caller().setting("base_url", "MARKETPOINTS_BASE_URL")
        )
    } else {
        String::new()
    };
    let mut error_out = ClientError::new(kind, format!("{what}: {causes}{hint}"));
    error_out.status = error.status().map(|status| status.as_u16());
    let not_sent = error.is_connect() || error.is_builder() || never_sent(error);
    TransportError { not_sent, error: error_out, for_good: certificate || error.is_builder() }
}

/// Whether the connection ended before the request was written to it, such as a pooled one that was closed.
fn never_sent(error: &reqwest::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// The chain of causes, without the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    if text.is_empty() { "no cause given".to_owned() } else { text }
}
