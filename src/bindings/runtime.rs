//! The engine's runtime, and the two ways in which Python waits for it: blocking but interruptible, or awaiting.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use futures::FutureExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};

use super::log;
use crate::client::Registry;
use crate::client::log::{LogRecord, listening};

/// How often a blocked call checks for Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);
/// How long a small call looks for its answer before it sleeps. That of a service on this machine is there by then, and finds a
/// processor awake; one that takes longer costs so much of a processor's time.
const AWAKE: Duration = Duration::from_micros(200);
/// Longest that the interpreter's exit waits for calls in flight.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// How long small calls are driven on after one that was given up: what it leaves to do is done by then.
const LINGER: Duration = Duration::from_secs(1);
/// Connections need few threads; decoding runs on others.
const WORKERS: usize = 2;

/// State of the process: threads and budgets.
pub(super) struct Process {
    pid: u32,
    handle: Handle,
    runtime: Mutex<Option<Runtime>>,
    /// For small blocking calls: it has no thread and moves only while a caller waits, on the caller's thread.
    caller: Option<Runtime>,
    small_calls: AtomicUsize,
    pub(super) registry: Registry,
}

/// Only locked while attached to the interpreter and never across a detach, so no other thread can hold it when this
/// one forks.
static PROCESS: Mutex<Option<Arc<Process>>> = Mutex::new(None);

/// The thread in which the interpreter ends.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

impl Process {
    /// This process's threads, started at the first call. A forked child gets its own.
    pub(super) fn current(py: Python<'_>) -> PyResult<Arc<Self>> {
        let mut slot = PROCESS.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(process) = slot.as_ref().filter(|process| process.is_own()) {
            return Ok(Arc::clone(process));
        }
        let runtime =
            Builder::new_multi_thread().worker_threads(WORKERS).thread_name("marketpoints").enable_all().build()?;
        let process = Arc::new(Self {
            pid: std::process::id(),
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            caller: Some(Builder::new_current_thread().enable_all().build()?),
            small_calls: AtomicUsize::new(0),
            registry: Registry::default(),
        });
        *slot = Some(Arc::clone(&process));
        Ok(process)
    }

    /// Whether these threads belong to this process and not to its parent before a fork.
    pub(super) fn is_own(&self) -> bool {
        self.pid == std::process::id()
    }

    fn caller(&self) -> &Runtime {
        self.caller.as_ref().expect("taken only when dropped")
    }

    /// Drives small calls on a thread of its own until one ends. If it was given up, which is an error here, they are driven
    /// a moment longer: what it leaves to do is done. After one that was answered that would only make others' way longer.
    fn drive_until(self: &Arc<Self>, end: oneshot::Receiver<()>) {
        let process = Arc::clone(self);
        let drive = move || {
            process.caller().block_on(async {
                if end.await.is_err() {
                    tokio::time::sleep(LINGER).await;
                }
            });
        };
        // Without a thread the caller drives the call alone.
        drop(thread::Builder::new().name("marketpoints".to_owned()).spawn(drive));
    }

    /// Drops what small calls left, and lets its connections notice: they end at once, not at the next call.
    pub(super) fn settle<T>(&self, left: T) {
        if !self.is_own() {
            // The connections belong to the parent.
            return std::mem::forget(left);
        }
        self.caller().block_on(async move {
            drop(left);
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// An error where Python's code forked just now, and this is the child: what is under way belongs to the parent.
    fn check_own(&self) -> PyResult<()> {
        if self.is_own() { Ok(()) } else { Err(forked()) }
    }

    /// A call's task whose records go to `on_record`, if Python's logger takes any.
    fn listening(
        &self,
        py: Python<'_>,
        task: BoxedTask,
        on_record: impl Fn(LogRecord) + Send + Sync + 'static,
    ) -> PyResult<impl Future<Output = ()> + Send + 'static> {
        if ends_elsewhere() {
            py.detach(stay_at_exit); // before the logger's Python is on this thread's stack
        }
        let listener = log::listener(py, on_record)?;
        self.check_own()?;
        Ok(listening(listener, task))
    }

    /// Attends to what a blocked call heard, or to Ctrl-C; whether it is done.
    fn is_done(&self, py: Python<'_>, received: Result<CallEvent, Silence>) -> PyResult<bool> {
        match received {
            Ok(CallEvent::Done) => return Ok(true),
            Ok(CallEvent::Happened(record)) => log::emit(py, &record)?,
            Err(Silence::Pause) => py.check_signals()?,
            Err(Silence::Gone) => return Err(gone()),
        }
        self.check_own()?;
        Ok(false)
    }

    fn take_runtime(&self) -> Option<Runtime> {
        self.runtime.try_lock().ok().and_then(|mut slot| slot.take())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        for runtime in self.take_runtime().into_iter().chain(self.caller.take()) {
            if self.is_own() {
                runtime.shutdown_background();
            } else {
                // The threads exist in the parent only: waiting for them here would never end. The connections are its too.
                std::mem::forget(runtime);
            }
        }
    }
}

/// Ends the threads at interpreter exit; waits a moment for calls in flight.
pub(super) fn shutdown(py: Python<'_>) {
    let _ = ENDING.set(thread::current().id()); // a second end is of the same thread
    let process = PROCESS.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
    if let Some(runtime) = process.filter(|process| process.is_own()).and_then(|process| process.take_runtime()) {
        py.detach(|| runtime.shutdown_timeout(EXIT_GRACE));
    }
}

/// What a blocked call hears of its future.
enum CallEvent {
    Happened(LogRecord),
    Done,
}

/// Why a blocked call heard nothing.
enum Silence {
    /// It is time to check for Ctrl-C.
    Pause,
    /// Nobody will send any more.
    Gone,
}

/// One of the small calls under way.
struct SmallCall<'a>(&'a AtomicUsize);

impl<'a> SmallCall<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }

    fn is_alone(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

impl Drop for SmallCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A task of a blocked call, which ends with it. In a forked child the task is the parent's, and so are its connections.
struct AbortOnDrop<'a> {
    process: &'a Process,
    task: Option<JoinHandle<()>>,
}

impl<'a> AbortOnDrop<'a> {
    fn new(process: &'a Process, task: JoinHandle<()>) -> Self {
        Self { process, task: Some(task) }
    }
}

impl Drop for AbortOnDrop<'_> {
    fn drop(&mut self) {
        match self.task.take() {
            Some(task) if self.process.is_own() => task.abort(),
            task => std::mem::forget(task),
        }
    }
}

/// A future whose value goes to a place apart, so that what waits for it is compiled once and not for each type of values.
type BoxedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future as a task, and where its value will be.
fn task_of<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> (BoxedTask, Arc<Mutex<Option<T>>>) {
    let value = Arc::new(Mutex::new(None));
    let place = Arc::clone(&value);
    let task = async move {
        let value = future.await;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    };
    (Box::pin(task), value)
}

/// The value of a task that is done.
fn value_of<T>(place: &Mutex<Option<T>>) -> PyResult<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(gone)
}

/// Waits for a future without holding the GIL; Ctrl-C drops the future and raises. Works inside a running event loop,
/// because no event loop is involved.
pub(super) fn wait<T: Send + 'static>(
    py: Python<'_>,
    process: &Process,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (task, value) = task_of(future);
    wait_for(py, process, task)?;
    value_of(&value)
}

fn wait_for(py: Python<'_>, process: &Process, task: BoxedTask) -> PyResult<()> {
    let (sender, receiver) = mpsc::channel();
    let records = sender.clone();
    let task = process.listening(py, task, move |record| {
        let _ = records.send(CallEvent::Happened(record));
    })?;
    let task = process.handle.spawn(async move {
        task.await;
        let _ = sender.send(CallEvent::Done);
    });
    let _task = AbortOnDrop::new(process, task);
    let receiver = Mutex::new(receiver);
    loop {
        let received = py.detach(|| {
            let received = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNAL_CHECK);
            stay_at_exit();
            received
        });
        let received = received.map_err(|silence| match silence {
            mpsc::RecvTimeoutError::Timeout => Silence::Pause,
            mpsc::RecvTimeoutError::Disconnected => Silence::Gone,
        });
        if process.is_done(py, received)? {
            return Ok(());
        }
    }
}

/// At the interpreter's exit only daemon threads still wait. As in Python's own blocking calls they just stay: an error would end in a
/// traceback that they write while the interpreter goes, and Python before 3.14 ends a thread that comes back to it then by unwinding
/// its stack, which Rust does not promise to survive.
fn stay_at_exit() {
    while ends_elsewhere() {
        thread::park();
    }
}

/// Whether the interpreter ends, in another thread than this one.
fn ends_elsewhere() -> bool {
    ENDING.get().is_some_and(|ending| *ending != thread::current().id())
}

/// Runs work that waits for files or objects on another thread, so that Ctrl-C ends the waiting.
pub(super) fn beside<T: Send + 'static>(
    py: Python<'_>,
    process: &Process,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    // In a box: what runs it is compiled once for each type of values.
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    wait(py, process, async move { tokio::task::spawn_blocking(work).await })?.map_err(|_| gone())
}

/// As [`wait`], on the caller's own thread: no other thread is woken on the way, which is most of what a small answer takes.
///
/// A call that takes longer, or has something to log, gets a thread that drives it on while this one runs Python: a handler
/// of a signal or of the log may use a client itself, and the GIL may be somebody else's for long. The future must not call
/// Python, for Python may wait here again: tokio refuses a runtime within a runtime.
pub(super) fn wait_here<T: Send + 'static>(
    py: Python<'_>,
    process: &Arc<Process>,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (task, value) = task_of(future);
    wait_here_for(py, process, task)?;
    value_of(&value)
}

fn wait_here_for(py: Python<'_>, process: &Arc<Process>, task: BoxedTask) -> PyResult<()> {
    let (sender, mut receiver) = unbounded_channel();
    let records = sender.clone();
    let task = process.listening(py, task, move |record| {
        let _ = records.send(CallEvent::Happened(record));
    })?;
    let (under_way, end) = oneshot::channel::<()>();
    let task = async move {
        // Connections that ended since the last call are noticed as soon as the runtime looks and its tasks run.
        for _ in 0..2 {
            tokio::task::yield_now().await;
        }
        task.await;
        let _ = under_way.send(());
        let _ = sender.send(CallEvent::Done);
    };
    let (mut to_start, mut started) = (Some(task), None);
    let mut end = Some(end);
    let (call, awake) = (SmallCall::new(&process.small_calls), Instant::now() + AWAKE);
    loop {
        let received = py.detach(|| {
            let received = process.caller().block_on(async {
                if let Some(task) = to_start.take() {
                    // Within the runtime: from outside it would have to be woken.
                    started = Some(AbortOnDrop::new(process, tokio::spawn(task)));
                }
                tokio::time::timeout(SIGNAL_CHECK, heard(&mut receiver, &call, awake)).await
            });
            if !matches!(received, Ok(Some(CallEvent::Done)))
                && let Some(end) = end.take()
            {
                process.drive_until(end);
            }
            stay_at_exit();
            received.map_or(Err(Silence::Pause), |received| received.ok_or(Silence::Gone))
        });
        if process.is_done(py, received)? {
            return Ok(());
        }
    }
}

/// The next event, awaited without sleep until `awake` while no other call needs a processor; `None` when nobody will send any more.
async fn heard(receiver: &mut UnboundedReceiver<CallEvent>, call: &SmallCall<'_>, awake: Instant) -> Option<CallEvent> {
    while call.is_alone() && Instant::now() < awake {
        match receiver.try_recv() {
            Err(TryRecvError::Empty) => tokio::task::yield_now().await,
            outcome => return outcome.ok(),
        }
    }
    receiver.recv().await
}

/// Turns a future into an awaitable of the running event loop. Cancelling the awaitable drops the future.
pub(super) fn awaitable<'py, T: Send + 'static>(
    py: Python<'py>,
    process: &Process,
    future: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let (task, value) = task_of(future);
    awaitable_of(py, process, task, Box::new(move |py| convert(py, value_of(&value)?)))
}

/// What makes the result of a task that is done.
type Conversion = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

fn awaitable_of<'py>(
    py: Python<'py>,
    process: &Process,
    task: BoxedTask,
    convert: Conversion,
) -> PyResult<Bound<'py, PyAny>> {
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let promise = event_loop.call_method0("create_future")?;
    let logging_loop = event_loop.clone().unbind();
    let task = process.listening(py, task, move |record| {
        // Attaching may wait for the GIL: the worker's other tasks continue.
        tokio::task::block_in_place(|| Python::try_attach(|py| log::emit_on(py, &logging_loop, &record)));
    })?;
    let (loop_handle, promise_handle) = (event_loop.unbind(), promise.clone().unbind());
    let task = process.handle.spawn(async move {
        // A panic would leave the awaitable pending forever.
        let outcome = AssertUnwindSafe(task).catch_unwind().await;
        // Attaching may wait for the GIL, which must not block the connections.
        let delivered = tokio::task::spawn_blocking(move || {
            Python::try_attach(|py| {
                let (value, error) = match outcome.map_err(|_| gone()).and_then(|()| convert(py)) {
                    Ok(value) => (Some(value), None),
                    Err(error) => (None, Some(error.into_value(py))),
                };
                let deliver = wrap_pyfunction!(settle, py)?;
                // Raises when the loop is closed: then no one waits any more.
                loop_handle.call_method1(py, "call_soon_threadsafe", (deliver, promise_handle, value, error))
            })
        });
        let _ = delivered.await;
    });
    promise.call_method1("add_done_callback", (Cancel(task.abort_handle()),))?;
    Ok(promise)
}

/// Settles a promise on its event loop, unless it was cancelled meanwhile.
#[pyfunction]
fn settle(promise: &Bound<'_, PyAny>, value: Option<Py<PyAny>>, error: Option<Py<PyAny>>) -> PyResult<()> {
    if promise.call_method0("done")?.is_truthy()? {
        return Ok(());
    }
    match error {
        Some(error) => promise.call_method1("set_exception", (error,))?,
        None => promise.call_method1("set_result", (value,))?,
    };
    Ok(())
}

/// Done-callback of a promise: ends the task behind it. After a normal end that does nothing.
#[pyclass(frozen, module = "marketpoints._engine")]
struct Cancel(AbortHandle);

#[pymethods]
impl Cancel {
    fn __call__(&self, _promise: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}

/// The error where Python's code forked in the midst of a call, and this is the child: the call and its connections belong to the
/// parent, and so does the thread that would move it.
fn forked() -> PyErr {
    PyRuntimeError::new_err("this process was forked in the midst of a call, which is its parent's")
}

fn gone() -> PyErr {
    PyRuntimeError::new_err("the engine stopped before the call ended (interpreter exit, or a defect of the engine)")
}
