//! Faults of TLS and of HTTP/2, by their number in docs/faults.md: against servers with certificates of the test's own.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use h2::server::{SendResponse, handshake};
use http::Response;
use marketpoints::client::{Client, ClientError, Config, ErrorKind, Registry};
use marketpoints::protocol::{AnalyticsAnswer, AnalyticsEndpoint, AnalyticsQuery, Tier, Weight};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A certificate authority that nobody trusts by itself.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A file that `ca_certs` takes.
    fn file(&self) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(self.0.pem().as_bytes()).unwrap();
        file
    }

    /// A server that answers by HTTP/2; each request goes to `serve`, with its number from 0.
    async fn server(
        &self,
        name: &str,
        expired: bool,
        serve: fn(usize, SendResponse<Bytes>),
    ) -> (SocketAddr, Arc<AtomicUsize>) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if expired {
            (params.not_before, params.not_after) = (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, counted) = (acceptor.clone(), Arc::clone(&counted));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let Ok(mut connection) = handshake(stream).await else { return };
                    while let Some(Ok((_, respond))) = connection.accept().await {
                        let number = counted.fetch_add(1, Ordering::SeqCst);
                        serve(number, respond);
                        if number == LAST_OF_ITS_CONNECTION {
                            connection.graceful_shutdown();
                        }
                    }
                });
            }
        });
        (address, asked)
    }
}

/// After this request a server says GOAWAY.
const LAST_OF_ITS_CONNECTION: usize = 5;

fn profile(_: usize, mut respond: SendResponse<Bytes>) {
    let body = Bytes::from_static(br#"{"traderProfile":{"wallet_address":"0x1"}}"#);
    let mut sending = respond.send_response(Response::new(()), false).unwrap();
    sending.send_data(body, true).unwrap();
}

fn refuse_the_first(number: usize, mut respond: SendResponse<Bytes>) {
    if number == 0 {
        return respond.send_reset(Reason::REFUSED_STREAM);
    }
    profile(number, respond);
}

fn config(address: SocketAddr) -> Config {
    Config {
        tier: Some(Tier::Advanced),
        first_pause: Duration::from_millis(1),
        ..Config::new("key", format!("https://{address}"))
    }
}

/// Asks for a trader's profile, which weighs 100 (section 8.5).
async fn ask(client: &Client) -> Result<AnalyticsAnswer, ClientError> {
    let given = vec![("userWallet".to_owned(), "0x1".to_owned())];
    client.analytics(&AnalyticsQuery::from_pairs(AnalyticsEndpoint::TraderProfile, given).unwrap(), None, None).await
}

fn wallet(answer: Result<AnalyticsAnswer, ClientError>) -> String {
    answer.unwrap().trader_profile.unwrap().wallet_address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d3_19_certificates_that_do_not_hold_are_told_at_once_and_cost_nothing() {
    let (authority, stranger) = (Authority::new("trusted"), Authority::new("stranger"));
    let file = authority.file();
    let trusting = |address| Config { ca_certs: Some(file.path().to_owned()), ..config(address) };
    let (unknown, _) = stranger.server("127.0.0.1", false, profile).await;
    let (expired, _) = authority.server("127.0.0.1", true, profile).await;
    let (elsewhere, _) = authority.server("service.example", false, profile).await;
    for (settings, cause) in [
        (config(unknown), "UnknownIssuer"),
        (trusting(unknown), "UnknownIssuer"),
        (trusting(expired), "expired"),
        (trusting(elsewhere), "not valid for"),
    ] {
        let client = Client::new(&settings, &Registry::default()).unwrap();
        let error = ask(&client).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Transport, "{error}");
        assert!(error.message.contains(cause) && error.message.contains("ca_certs="), "{error}");
        assert!(!error.message.contains("attempts"), "tried again: {error}");
        assert_eq!(client.budget().unwrap().remaining, Weight(1_500));
    }
    // A further authority beside the system's.
    let (known, asked) = authority.server("127.0.0.1", false, profile).await;
    assert_eq!(wallet(ask(&Client::new(&trusting(known), &Registry::default()).unwrap()).await), "0x1");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn d3_19_a_file_without_certificates_is_refused_at_once() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    for path in [empty.path().to_owned(), empty.path().join("nothing")] {
        let settings = Config { ca_certs: Some(path), ..Config::new("key", "https://host") };
        let error = Client::new(&settings, &Registry::default()).err().unwrap();
        assert!(error.kind == ErrorKind::InvalidRequest && error.message.starts_with("ca_certs "), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d3_18_what_http_2_refuses_is_sent_again_and_charged_once() {
    let authority = Authority::new("trusted");
    let file = authority.file();
    let (address, asked) = authority.server("127.0.0.1", false, refuse_the_first).await;
    let settings = Config { ca_certs: Some(file.path().to_owned()), ..config(address) };
    let client = Client::new(&settings, &Registry::default()).unwrap();
    assert_eq!(wallet(ask(&client).await), "0x1");
    assert_eq!((asked.load(Ordering::SeqCst), client.budget().unwrap().used), (2, Weight(100)));
    // After a GOAWAY the next ones go by a new connection.
    for _ in 0..8 {
        assert_eq!(wallet(ask(&client).await), "0x1");
    }
    assert_eq!((asked.load(Ordering::SeqCst), client.budget().unwrap().used), (10, Weight(900)));
}
