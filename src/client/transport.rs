//! One attempt: sends a request, streams the body to a reader, returns status and headers. No retries.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, ClientBuilder, Url, redirect};
use secrecy::ExposeSecret;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::address::{HIDDEN, base_url, is_loopback, key_header, key_name, redacted};
use super::body_reader::BodyReader;
use super::config::Config;
use super::content_encoding::ContentDecoder;
use super::error::{ClientError, ErrorKind};
use super::proxy::GivenProxy;
use super::retry::retry_after;
use super::transport_error::{TransportError, broken, unusable};
use crate::archive::read_settings;
use crate::budget::BudgetHeaders;
use crate::clock::{UnixNanos, UnixSecond};
use crate::protocol::wire::{LIMIT_HEADER, REMAINING_HEADER, USED_HEADER};
use crate::protocol::{Dialect, Weight};

/// How long a connection is kept for the next call; shorter than servers keep theirs, so that none closes during a
/// request.
const IDLE: Duration = Duration::from_secs(15);
/// Timeout of connecting: a request that was never sent is not charged, so it is better to know soon.
const CONNECT: Duration = Duration::from_secs(10);
/// Most redirects within the service's own origin.
const MAX_REDIRECTS: usize = 3;
/// Most bytes that are read of an answer that is not data.
const LONGEST_REFUSAL: usize = 1 << 20;

/// The connection pool and the base URL.
pub(super) struct Transport {
    /// Connection pool of calls on multi-threaded runtimes.
    http: reqwest::Client,
    /// Connection pool of calls on current-thread runtimes, created at first use. It is separate because a connection makes
    /// progress only while the runtime that opened it runs.
    local: OnceLock<reqwest::Client>,
    base_url: Url,
    key_name: HeaderName,
    key: HeaderValue,
    /// The dialect, if any name differs from the specification's.
    dialect: Option<Arc<Dialect>>,
    read_timeout: Duration,
    max_body: u64,
    way: ConnectionSettings,
    /// Timeout of an attempt.
    timeout: Duration,
    /// The service's clock in the latest answer that had it, and when that arrived.
    latest_date: Mutex<Option<(UnixSecond, Instant)>>,
    /// For WebSockets, made when first needed: HTTP/1.1 without a total timeout.
    sockets: OnceLock<reqwest::Client>,
}

/// How connections are made, for requests and for streams.
struct ConnectionSettings {
    proxy: Option<GivenProxy>,
    loopback: bool,
    /// Whether no connection is encrypted: redirects stay within the origin.
    plain: bool,
    certificates: Vec<Certificate>,
}

impl ConnectionSettings {
    fn new(config: &Config, url: &Url) -> Result<Self, ClientError> {
        let proxy = config.proxy.as_deref().map(GivenProxy::new);
        let certificates = config.ca_certs.as_ref().map_or(Ok(Vec::new()), |path| {
            let bad = |problem: String| ClientError::invalid(format!("ca_certs {}: {problem}", path.display()));
            let pem = read_settings(path).map_err(|error| bad(error.to_string()))?;
            let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| bad(error.to_string()))?;
            if certificates.is_empty() { Err(bad("holds no PEM certificate".to_owned())) } else { Ok(certificates) }
        });
        let (proxy, loopback) = (proxy.transpose()?, is_loopback(url));
        let plain = loopback && proxy.is_none() && url.scheme() == "http";
        Ok(Self { proxy, loopback, plain, certificates: certificates? })
    }

    fn builder(&self) -> ClientBuilder {
        // A provider already installed by the embedding program is fine too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder().user_agent(concat!("marketpoints/", env!("CARGO_PKG_VERSION")));
        let builder = match &self.proxy {
            Some(given) => builder.proxy(given.proxy.clone()),
            None if self.loopback => builder.no_proxy(),
            None => builder,
        };
        if self.plain {
            // The system's certificates are read and decoded for each client, which takes milliseconds.
            builder.tls_certs_only([])
        } else if self.certificates.is_empty() {
            builder
        } else {
            builder.tls_certs_merge(self.certificates.clone())
        }
    }

    /// Connections for requests, each of which may take so long.
    fn pool(&self, timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
        let builder = self.builder().timeout(timeout).connect_timeout(CONNECT.min(timeout));
        // gzip is decompressed here, because a body may have several members.
        let builder = builder.no_gzip().pool_idle_timeout(IDLE).redirect(redirect::Policy::custom(same_origin));
        builder.build()
    }
}

/// A complete answer.
pub(super) struct HttpAnswer {
    pub status: u16,
    /// The budget in its headers.
    pub budget: BudgetHeaders,
    pub retry_after: Option<Duration>,
    /// The service's clock when it answered.
    pub date: Option<UnixSecond>,
    /// The body of any answer but a 200, whose body went to the reader.
    pub refusal: Bytes,
}

impl Transport {
    pub(super) fn new(config: &Config) -> Result<Self, ClientError> {
        let key = key_header(config.api_key.expose_secret())?;
        let key_name = key_name(&config.dialect)?;
        let dialect = config.dialect.translates().then(|| Arc::new(config.dialect.clone()));
        let url = base_url(&config.base_url)?;
        let way = ConnectionSettings::new(config, &url)?;
        let http = way.pool(config.timeout).map_err(|error| unusable(&error))?;
        let (timeout, read_timeout, max_body) = (config.timeout, config.read_timeout, config.max_body);
        Ok(Self {
            http,
            local: OnceLock::new(),
            base_url: url,
            key_name,
            key,
            dialect,
            read_timeout,
            max_body,
            way,
            timeout,
            latest_date: Mutex::new(None),
            sockets: OnceLock::new(),
        })
    }

    /// The connections that belong to the runtime of the caller.
    fn pool(&self) -> Result<&reqwest::Client, reqwest::Error> {
        if Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread {
            return Ok(&self.http);
        }
        if let Some(made) = self.local.get() {
            return Ok(made);
        }
        let made = self.way.pool(self.timeout)?;
        Ok(self.local.get_or_init(|| made))
    }

    /// Base URL without a trailing slash.
    pub(super) fn base(&self) -> &str {
        self.base_url.as_str().trim_end_matches('/')
    }

    /// The full URL of a path and query, translated to the service's published names.
    pub(super) fn url(&self, path: &str, query: &str) -> String {
        match &self.dialect {
            None => self.published_url(path, query),
            Some(dialect) => self.published_url(&dialect.path(path), &dialect.query(query)),
        }
    }

    fn published_url(&self, path: &str, query: &str) -> String {
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{query}", self.base())
    }

    /// A full URL for the HTTP library. Scheme, host and port were checked with the base: what follows them is parsed.
    fn parsed(&self, url: &str) -> Url {
        let mut parsed = self.base_url.clone();
        let after_host = &url[parsed.as_str().len() - parsed.path().len()..];
        let (path, query) = after_host.split_once('?').map_or((after_host, None), |(path, query)| (path, Some(query)));
        parsed.set_path(path);
        parsed.set_query(query);
        parsed
    }

    /// The service's published names, if they differ from the specification's.
    pub(super) fn dialect(&self) -> Option<&Arc<Dialect>> {
        self.dialect.as_ref()
    }

    /// The service's current time in Unix seconds, extrapolated from its latest answer; `None` before the first.
    pub(super) fn service_time(&self) -> Option<UnixNanos> {
        let latest = *self.latest_date.lock().unwrap_or_else(PoisonError::into_inner);
        latest.map(|(date, came)| date.nanos().plus(i64::try_from(came.elapsed().as_nanos()).unwrap_or(i64::MAX)))
    }

    /// Timeout of an attempt.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The key, for authenticating a stream.
    pub(super) fn key(&self) -> &str {
        self.key.to_str().unwrap_or_default()
    }

    /// The HTTP client that opens WebSockets: the same proxy and certificates, no redirects.
    pub(super) fn sockets(&self) -> Result<&reqwest::Client, ClientError> {
        if let Some(made) = self.sockets.get() {
            return Ok(made);
        }
        let builder = self.way.builder().http1_only().redirect(redirect::Policy::none()).pool_max_idle_per_host(0);
        let made = builder.build().map_err(|error| unusable(&error))?;
        Ok(self.sockets.get_or_init(|| made))
    }

    /// Describes an error of the HTTP library.
    pub(super) fn broken(&self, error: &reqwest::Error) -> TransportError {
        broken(error, self.way.proxy.is_some())
    }

    /// A text from the service with the key and the proxy's password redacted, because whoever answers may echo them.
    pub(super) fn redact(&self, text: &str) -> String {
        let text = self.key.to_str().map_or_else(|_| text.to_owned(), |key| redacted(text, key, HIDDEN));
        match &self.way.proxy {
            Some(proxy) => proxy.redact(&text),
            None => text,
        }
    }

    /// Sends one GET and reads its full body; that of a 200 goes to `reading` as it arrives.
    pub(super) async fn get(&self, url: &str, reading: &mut impl BodyReader) -> Result<HttpAnswer, TransportError> {
        let pool = self.pool().map_err(|error| self.broken(&error))?;
        let request = pool.get(self.parsed(url)).header(self.key_name.clone(), self.key.clone());
        let request = request.header(ACCEPT_ENCODING, "gzip, zstd");
        let mut response = request.send().await.map_err(|error| self.broken(&error))?;
        let status = response.status().as_u16();
        let budget = budget_headers(response.headers());
        let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|text| retry_after(text, SystemTime::now()));
        let date = date(response.headers());
        if let Some(date) = date {
            *self.latest_date.lock().unwrap_or_else(PoisonError::into_inner) = Some((date, Instant::now()));
        }
        let refusal = if status == 200 {
            self.body(&mut response, reading).await?;
            Bytes::new()
        } else {
            self.refusal(&mut response).await?
        };
        Ok(HttpAnswer { status, budget, retry_after: wait, date, refusal })
    }

    async fn body<R: BodyReader>(
        &self,
        response: &mut reqwest::Response,
        reading: &mut R,
    ) -> Result<(), TransportError> {
        let most = self.max_body.min(R::MOST);
        let mut unpacker = ContentDecoder::of(response.headers())
            .map_err(|message| TransportError { for_good: true, ..TransportError::off(ErrorKind::Decode, message) })?;
        let announced = response.content_length().filter(|_| unpacker.is_plain());
        if announced.is_some_and(|length| length > most) {
            return Err(self.too_large(most));
        }
        reading.begin(announced);
        let mut taken = 0;
        let mut take = |piece: &[u8]| {
            taken += piece.len() as u64;
            if taken > most {
                return Err(self.too_large(most));
            }
            reading.portion(piece);
            match reading.refusal() {
                None => Ok(()),
                Some(message) => {
                    Err(TransportError { for_good: true, ..TransportError::off(ErrorKind::Server, message) })
                }
            }
        };
        while let Some(chunk) = self.chunk(response).await? {
            unpacker.unpack(&chunk, &mut take)?;
        }
        unpacker.finish(take)
    }

    /// The body of an answer that is not data, up to a maximum.
    async fn refusal(&self, response: &mut reqwest::Response) -> Result<Bytes, TransportError> {
        let mut unpacker = ContentDecoder::of(response.headers()).unwrap_or(ContentDecoder::Plain);
        let mut body = BytesMut::new();
        let take = |piece: &[u8], body: &mut BytesMut| {
            body.extend_from_slice(&piece[..piece.len().min(LONGEST_REFUSAL - body.len())]);
            Ok::<(), TransportError>(())
        };
        while let Some(chunk) = self.chunk(response).await? {
            unpacker.unpack(&chunk, |piece| take(piece, &mut body))?;
            if body.len() == LONGEST_REFUSAL {
                return Ok(body.freeze());
            }
        }
        unpacker.finish(|piece| take(piece, &mut body))?;
        Ok(body.freeze())
    }

    /// The next chunk of a body, with a timeout.
    async fn chunk(&self, response: &mut reqwest::Response) -> Result<Option<Bytes>, TransportError> {
        match tokio::time::timeout(self.read_timeout, response.chunk()).await {
            Ok(chunk) => chunk.map_err(|error| self.broken(&error)),
            Err(_) => {
                let message =
                    format!("the body stalled: no byte for read_timeout={} s", self.read_timeout.as_secs_f64());
                Err(TransportError::off(ErrorKind::Timeout, message))
            }
        }
    }

    fn too_large(&self, most: u64) -> TransportError {
        let message = if most == self.max_body {
            format!("the answer is larger than max_body={most} bytes; ask a shorter window, or allow more")
        } else {
            format!("the answer is larger than {most} bytes, which no record is")
        };
        TransportError { for_good: true, ..TransportError::off(ErrorKind::Server, message) }
    }
}

/// The service's clock when it answered.
pub(super) fn date(headers: &HeaderMap) -> Option<UnixSecond> {
    let text = headers.get("date")?.to_str().ok()?;
    let since = httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok().map(UnixSecond)
}

/// The key header must not be sent to another origin.
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
        remaining: number(REMAINING_HEADER).map(Weight),
        used: number(USED_HEADER).map(Weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // faults.md row 4
    #[test]
    fn nonsense_headers_are_as_good_as_none() {
        let mut headers = HeaderMap::new();
        headers.insert(LIMIT_HEADER, HeaderValue::from_static("0"));
        headers.insert(REMAINING_HEADER, HeaderValue::from_static("-5"));
        assert_eq!(budget_headers(&headers), BudgetHeaders::default());
        headers.insert(LIMIT_HEADER, HeaderValue::from_static("99999999999"));
        assert_eq!(budget_headers(&headers).limit, Some(u32::MAX));
    }

    #[test]
    fn what_follows_the_host_is_parsed_as_all_of_a_url_would_be() {
        for base in ["http://127.0.0.1:8080", "https://Host/", "http://host:80/a/prefix/", "http://[::1]:1/ü//"] {
            let transport = Transport::new(&Config::new("key", base)).unwrap();
            for (path, query) in
                [("/v1/points", ""), ("/v1/points", "type=A&x=%C3%BC ü'?/#"), ("/v1/ü/b%2Fc/", "a"), ("//b", "")]
            {
                let url = transport.url(path, &query.replace('#', "%23"));
                assert_eq!(transport.parsed(&url), Url::parse(&url).unwrap(), "{url}");
            }
        }
    }
}
