//! One attempt: send, read the whole body, tell what came. No retries, no decoding.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Certificate, Proxy, Url, redirect};
use secrecy::ExposeSecret;

use super::config::Config;
use super::error::{ClientError, ErrorKind};
use super::pace::BudgetHeaders;
use super::retry::retry_after;
use crate::protocol::wire::{KEY_HEADER, LIMIT_HEADER, REMAINING_HEADER, USED_HEADER};

/// Largest body that is read, decompressed.
const MAX_BODY: usize = 2 << 30;
/// Most that a `Content-Length` is believed before the bytes come.
const MAX_RESERVE: u64 = 256 << 20;
/// How long a connection is kept for the next call; shorter than servers keep theirs, so that none ends under a request.
const IDLE: Duration = Duration::from_secs(15);
/// Most redirects within the service's own origin.
const MAX_REDIRECTS: usize = 3;

/// The connection pool and the base address.
pub(super) struct Transport {
    http: reqwest::Client,
    base: String,
    key: HeaderValue,
}

/// A whole answer.
pub(super) struct Answer {
    pub status: u16,
    pub budget: BudgetHeaders,
    pub retry_after: Option<Duration>,
    /// The service's clock when it answered, Unix seconds.
    pub date: Option<i64>,
    pub body: Bytes,
}

/// An attempt that brought no whole answer.
pub(super) struct Broken {
    pub error: ClientError,
    /// The request surely did not reach the service: nothing was charged.
    pub not_sent: bool,
}

impl Transport {
    pub(super) fn new(config: &Config) -> Result<Self, ClientError> {
        let key = key_header(config.api_key.expose_secret())?;
        let url = base_url(&config.base_url)?;
        // A second provider installed by the embedding program is as good as ours.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("marketpoints/", env!("CARGO_PKG_VERSION")))
            .timeout(config.timeout)
            .pool_idle_timeout(IDLE)
            .redirect(redirect::Policy::custom(same_origin));
        if let Some(proxy) = &config.proxy {
            let proxy =
                Proxy::all(proxy).map_err(|bad| ClientError::invalid(format!("proxy: {}", bad.without_url())))?;
            builder = builder.proxy(proxy);
        } else if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        if let Some(path) = &config.ca_certs {
            let bad = |problem: String| ClientError::invalid(format!("ca_certs {}: {problem}", path.display()));
            let pem = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
            let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| bad(error.to_string()))?;
            if certificates.is_empty() {
                return Err(bad("holds no PEM certificate".to_owned()));
            }
            builder = builder.tls_certs_merge(certificates);
        }
        let http = builder.build().map_err(|error| ClientError::new(ErrorKind::Transport, causes(&error)))?;
        Ok(Self { http, base: url.as_str().trim_end_matches('/').to_owned(), key })
    }

    /// Base address without a trailing slash.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// The whole URL of a path and query.
    pub(super) fn url(&self, path: &str, query: &str) -> String {
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{query}", self.base)
    }

    /// A text of the service without the key, which a careless server may echo.
    pub(super) fn redact(&self, text: &str) -> String {
        match self.key.to_str() {
            Ok(key) if text.contains(key) => text.replace(key, "<API key>"),
            _ => text.to_owned(),
        }
    }

    /// Sends one GET and reads its whole body.
    pub(super) async fn get(&self, url: &str) -> Result<Answer, Broken> {
        let request = self.http.get(url).header(KEY_HEADER, self.key.clone());
        let mut response = request.send().await.map_err(|error| broken(&error))?;
        let status = response.status().as_u16();
        let budget = budget_headers(response.headers());
        let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|text| retry_after(text, SystemTime::now()));
        let date = response.headers().get("date").and_then(|value| value.to_str().ok()).and_then(unix_date);
        let mut body = BytesMut::with_capacity(response.content_length().unwrap_or(0).min(MAX_RESERVE) as usize);
        while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error))? {
            if body.len() + chunk.len() > MAX_BODY {
                let message = format!("the answer is larger than {MAX_BODY} bytes; ask a shorter window");
                return Err(Broken { error: ClientError::new(ErrorKind::Server, message), not_sent: false });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, budget, retry_after: wait, date, body: body.freeze() })
    }
}

/// An HTTP date in Unix seconds.
fn unix_date(text: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

fn key_header(key: &str) -> Result<HeaderValue, ClientError> {
    if key.is_empty() {
        return Err(ClientError::invalid("the API key is empty; pass api_key= or set MARKETPOINTS_API_KEY"));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ClientError::invalid(
            "the API key has a character that no header can carry (a space, a line end or a non-ASCII letter); \
             copy it again",
        ));
    }
    let mut value = HeaderValue::from_str(key).map_err(|_| ClientError::invalid("the API key is no header value"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn base_url(text: &str) -> Result<Url, ClientError> {
    let url = Url::parse(text).map_err(|bad| {
        ClientError::invalid(format!("base_url {text:?}: {bad}; give an address such as https://host"))
    })?;
    let right = matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none();
    if right && url.username().is_empty() && url.password().is_none() {
        return Ok(url);
    }
    Err(ClientError::invalid("base_url must be http:// or https:// with a host and without user, password or query"))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The key header must not leave the origin it was given for.
fn same_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let first = attempt.previous().first().map(Url::origin);
    if first != Some(attempt.url().origin()) {
        let message = format!(
            "redirect to another origin ({}) refused: the key stays here",
            attempt.url().origin().ascii_serialization()
        );
        return attempt.error(message);
    }
    if attempt.previous().len() > MAX_REDIRECTS { attempt.error("too many redirects") } else { attempt.follow() }
}

fn budget_headers(headers: &HeaderMap) -> BudgetHeaders {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    BudgetHeaders {
        limit: number(LIMIT_HEADER).filter(|limit| *limit > 0).map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
        remaining: number(REMAINING_HEADER),
        used: number(USED_HEADER),
    }
}

fn broken(error: &reqwest::Error) -> Broken {
    let (kind, what) = if error.is_timeout() {
        (ErrorKind::Timeout, "the attempt took longer than its timeout")
    } else if error.is_redirect() {
        (ErrorKind::Server, "the service redirected")
    } else if error.is_connect() {
        (ErrorKind::Transport, "no connection to the service")
    } else {
        (ErrorKind::Transport, "the connection broke before the answer was whole")
    };
    let mut error_out = ClientError::new(kind, format!("{what}: {}", causes(error)));
    error_out.status = error.status().map(|status| status.as_u16());
    Broken { not_sent: error.is_connect(), error: error_out }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_addresses_are_checked_before_anything_is_sent() {
        for key in ["", " key", "key\n", "schlüssel"] {
            let error = key_header(key).unwrap_err().to_string();
            assert!(!error.contains("schl"), "{error}");
        }
        for address in ["host", "ftp://host", "https://user:secret@host", "http://host/?a=1", ""] {
            let error = base_url(address).unwrap_err().to_string();
            assert!(error.contains("base_url"), "{error}");
        }
        assert!(base_url("http://127.0.0.1:8080/prefix/").is_ok());
    }

    #[test]
    fn loopback_is_recognised_in_every_spelling() {
        for (address, loopback) in [
            ("http://localhost:1", true),
            ("http://127.1.2.3", true),
            ("http://[::1]:80", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(is_loopback(&base_url(address).unwrap()), loopback, "{address}");
        }
    }

    #[test]
    fn nonsense_headers_are_as_good_as_none() {
        let mut headers = HeaderMap::new();
        headers.insert(LIMIT_HEADER, HeaderValue::from_static("0"));
        headers.insert(REMAINING_HEADER, HeaderValue::from_static("-5"));
        assert_eq!(budget_headers(&headers), BudgetHeaders::default());
        headers.insert(LIMIT_HEADER, HeaderValue::from_static("99999999999"));
        assert_eq!(budget_headers(&headers).limit, Some(u32::MAX));
    }
}
