//! The way of a stream's connection: TLS with a further authority, and a proxy, to the local service over real sockets.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use marketpoints::client::{
    Client, ClientError, Config, ErrorKind, Event, EventStream, Registry, StreamItem, StreamOptions,
};
use marketpoints::clock::{ManualClock, SECOND, UnixSecond};
use marketpoints::market::Market;
use marketpoints::protocol::stream::Channel;
use marketpoints::service::{RunningService, Service, ServiceConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// 2026-04-22 18:00:00 UTC.
const NOW: i64 = 1_776_880_800;
const PATIENCE: Duration = Duration::from_secs(60);

struct Twin {
    clock: Arc<ManualClock>,
    service: RunningService,
}

impl Twin {
    fn start() -> Self {
        let clock = Arc::new(ManualClock::at(UnixSecond(NOW).nanos()));
        let config = ServiceConfig::new(Arc::new(Market::demo(0)), Arc::<ManualClock>::clone(&clock));
        Self { clock, service: Service::start(config).unwrap() }
    }

    /// A stream of both families of channels, which have a connection each.
    fn stream(&self, url: &str, way: impl FnOnce(&mut Config)) -> EventStream {
        let mut config = Config::new(self.service.keys()["basic"].as_str(), url);
        way(&mut config);
        let book = Channel::new("BLOCK_BOOK_SNAPSHOT", "BINANCE_FUTURES", "BTCUSDT").with("blockSize", "50");
        let channels = vec![Channel::new("TRADE", "BINANCE_FUTURES", "BTCUSDT"), book];
        Client::new(&config, &Registry::default()).unwrap().stream(channels, StreamOptions::default()).unwrap()
    }

    /// Waits until events of both families came.
    async fn serves(&self, stream: &EventStream) {
        tokio::time::timeout(PATIENCE, stream.open()).await.expect("no answer").unwrap();
        self.clock.advance(60 * SECOND);
        let (mut trades, mut books) = (0, 0);
        while trades == 0 || books == 0 {
            match next(stream).await.kind() {
                "TRADE" => trades += 1,
                "BLOCK_BOOK_SNAPSHOT" => books += 1,
                other => panic!("nobody asked for {other}"),
            }
        }
        assert_eq!(stream.reconnects(), 0);
    }
}

async fn next(stream: &EventStream) -> Event {
    match tokio::time::timeout(PATIENCE, stream.next()).await.expect("nothing comes").expect("the end") {
        Ok(StreamItem::Event(event)) => event,
        other => panic!("no event but {other:?}"),
    }
}

async fn refused(stream: &EventStream) -> ClientError {
    tokio::time::timeout(PATIENCE, stream.open()).await.expect("no answer").unwrap_err()
}

/// TLS in front of a service, with a certificate of an authority that nobody trusts by itself. Returns the address, and
/// the file that `ca_certs` takes.
async fn behind_tls(service: &RunningService) -> (String, tempfile::NamedTempFile) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    // As deployments have it: the client must ask for the one over which a WebSocket opens.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let (acceptor, port) = (TlsAcceptor::from(Arc::new(config)), service.port());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut outside) = acceptor.accept(stream).await else { return };
                let mut inside = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(authority.pem().as_bytes()).unwrap();
    (format!("https://{address}"), file)
}

/// An HTTP proxy: tunnels for CONNECT, and requests in absolute form, which it hands on with their upgrade. It wants the
/// name `user` and the password `word`, and notes the heads of what it lets through.
struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, heads) = (listener.local_addr().unwrap(), Arc::default());
        let noted = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(relay(stream, Arc::clone(&noted)));
            }
        });
        Self { address, heads }
    }

    fn knowing(&self) -> String {
        format!("http://user:word@{}", self.address)
    }

    fn lines(&self) -> Vec<String> {
        let first = |head: &String| head.lines().next().unwrap_or_default().to_owned();
        self.heads.lock().unwrap().iter().map(first).collect()
    }
}

async fn relay(mut outside: TcpStream, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = outside.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    // "user:word" in base 64.
    if !head.lines().any(|line| line.eq_ignore_ascii_case("proxy-authorization: Basic dXNlcjp3b3Jk")) {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = outside.write_all(refusal.as_bytes()).await;
        return;
    }
    heads.lock().unwrap().push(head.clone());
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let host = target.strip_prefix("http://").unwrap_or(target).split('/').next().unwrap();
    let mut inside = TcpStream::connect(host).await.unwrap();
    if method == "CONNECT" {
        outside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
    } else {
        let own = head.replacen(&format!("http://{host}"), "", 1);
        inside.write_all(own.as_bytes()).await.unwrap();
    }
    let _ = copy_bidirectional(&mut outside, &mut inside).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_with_an_authority_of_ones_own() {
    let twin = Twin::start();
    let (url, authority) = behind_tls(&twin.service).await;
    let path = authority.path().to_owned();
    twin.serves(&twin.stream(&url, |config| config.ca_certs = Some(path))).await;
    let error = refused(&twin.stream(&url, |_| {})).await;
    assert_eq!(error.kind, ErrorKind::Transport, "{error}");
    assert!(error.message.contains("UnknownIssuer") && error.message.contains("ca_certs="), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_through_a_proxy() {
    let (twin, proxy) = (Twin::start(), Proxy::start().await);
    let (url, authority) = behind_tls(&twin.service).await;
    let certificates = Some(authority.path().to_owned());
    let through = |proxy: String| {
        twin.stream(&url, |config| (config.proxy, config.ca_certs) = (Some(proxy), certificates.clone()))
    };
    twin.serves(&through(proxy.knowing())).await;
    // The tunnels, of each family of channels one, are all that the proxy sees.
    let host = url.strip_prefix("https://").unwrap();
    assert_eq!(proxy.lines(), vec![format!("CONNECT {host} HTTP/1.1"); 2]);
    assert!(proxy.heads.lock().unwrap().iter().all(|head| !head.contains(&*twin.service.keys()["basic"])));
    // Without the password: what refuses is the proxy, and that is said; the password is not.
    let wrong = refused(&through(format!("http://user:secret-word@{}", proxy.address))).await;
    assert_eq!(wrong.kind, ErrorKind::Transport, "{wrong}");
    assert!(wrong.message.contains("proxy") && !wrong.message.contains("secret-word"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_clear_through_a_proxy() {
    let (twin, proxy) = (Twin::start(), Proxy::start().await);
    let url = twin.service.url();
    twin.serves(&twin.stream(&url, |config| config.proxy = Some(proxy.knowing()))).await;
    let mut lines = proxy.lines();
    lines.sort_unstable();
    let line = |path: &str| format!("GET {url}{path}?encoding=json HTTP/1.1");
    assert_eq!(lines, [line("/nonbook/ws"), line("/ws")]);
}
