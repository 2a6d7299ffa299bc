//! Starting and stopping a service. It has its own runtime and threads, so it works from any thread.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{Builder, JoinHandle, available_parallelism};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::{Semaphore, watch};

use super::access::KeyRing;
use super::config::{Allowance, ServiceConfig};
use super::connections::serve;
use super::error::ServiceError;
use super::faults::FaultSwitch;
use super::journal::Journal;
use super::request_handler::{MAX_TARGET, RequestHandler};
use super::response_memory::ResponseMemory;
use super::state::ServiceState;

/// Name of the service's threads.
const THREAD_NAME: &str = "marketpoints-service";
/// Threads that serve connections.
const WORKERS: usize = 2;
/// How long to wait for a computation that is still running after the grace period; then it is abandoned.
const LEFT_BEHIND_AFTER: Duration = Duration::from_millis(100);

/// The local service.
#[derive(Debug, Clone, Copy)]
pub struct Service;

impl Service {
    /// Starts a service and returns once it listens. Works on any thread, also inside another runtime.
    pub fn start(config: ServiceConfig) -> Result<RunningService, ServiceError> {
        let keys = Arc::new(KeyRing::new(config.keys, &config.clock)?);
        let asked = SocketAddr::new(config.host, config.port);
        let listener = TcpListener::bind(asked).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ServiceError::PortBusy { host: config.host, port: config.port },
            _ => ServiceError::Bind { address: asked, source },
        })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (exposed, plans) = (keys.exposed(), keys.plans());
        let computations = available_parallelism().map_or(WORKERS, |cores| cores.get().max(WORKERS));
        let faults = FaultSwitch::default();
        let journal = Journal::new(config.kept_requests, MAX_TARGET, Arc::clone(&keys));
        let state = ServiceState {
            source: config.source,
            clock: config.clock,
            keys,
            bound_to: config.host,
            computations: Arc::new(Semaphore::new(computations)),
            light_computations: Arc::new(Semaphore::new(computations)),
            long_computations: Arc::new(Semaphore::new((computations / 2).max(1))),
            response_memory: ResponseMemory::new(config.limits.unsent),
            limits: config.limits,
            answer_within: config.answer_within,
            faults: faults.clone(),
            access_log: config.access_log,
            journal: journal.clone(),
            stream: config.stream,
        };
        let (stop, stopped) = watch::channel(false);
        let (ready, outcome) = mpsc::channel();
        let work = move || run(listener, state, stopped, &ready);
        let thread = Builder::new().name(THREAD_NAME.to_owned()).spawn(work)?;
        let gone = || Err(io::Error::other("the service's thread ended at once"));
        outcome.recv().unwrap_or_else(|_| gone())?;
        Ok(RunningService { address, keys: exposed, plans, faults, journal, stop, thread: Mutex::new(Some(thread)) })
    }
}

/// The service's first thread: builds the runtime, serves, shuts down.
fn run(
    listener: TcpListener,
    state: ServiceState,
    stopped: watch::Receiver<bool>,
    ready: &mpsc::Sender<io::Result<()>>,
) {
    let prepare = || {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name(THREAD_NAME)
            .enable_all()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        Ok((runtime, listener))
    };
    match prepare() {
        Err(error) => drop(ready.send(Err(error))),
        Ok((runtime, listener)) => {
            // If the starting thread is gone, nobody receives this; `stopped` is then closed, which stops the service.
            drop(ready.send(Ok(())));
            let limits = state.limits;
            runtime.block_on(serve(listener, Arc::new(RequestHandler::new(state)), limits, stopped));
            runtime.shutdown_timeout(LEFT_BEHIND_AFTER);
        }
    }
}

/// A running service. Dropping it stops it.
pub struct RunningService {
    address: SocketAddr,
    keys: BTreeMap<String, String>,
    plans: BTreeMap<String, Allowance>,
    faults: FaultSwitch,
    journal: Journal,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl RunningService {
    /// Base URL, such as `http://127.0.0.1:43211`. For a service bound to every address, it is the loopback one.
    pub fn url(&self) -> String {
        let host = match self.address.ip() {
            IpAddr::V4(any) if any.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(any) if any.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            bound => bound,
        };
        format!("http://{}", SocketAddr::new(host, self.address.port()))
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The keys by name: `free`, `basic`, `standard`, `advanced` and `unlimited`, unless others were given.
    pub fn keys(&self) -> BTreeMap<String, String> {
        self.keys.clone()
    }

    /// Allowance of each key by its name; includes keys of which only the hash is known.
    pub fn plans(&self) -> BTreeMap<String, Allowance> {
        self.plans.clone()
    }

    /// Its fault injection, off at first. It cannot be reached over the network.
    pub fn faults(&self) -> FaultSwitch {
        self.faults.clone()
    }

    /// The last requests and the total weight.
    pub fn journal(&self) -> Journal {
        self.journal.clone()
    }

    /// Stops the service: no new connections, the grace period for requests in progress, then the rest is cut. A second
    /// call does nothing; concurrent calls all wait for the end.
    pub fn stop(&self) {
        self.stop.send_replace(true);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // After a panic of that thread there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for RunningService {
    /// Without the keys: debug output gets logged.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunningService").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        self.stop();
    }
}
