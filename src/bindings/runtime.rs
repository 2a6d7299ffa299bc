//! The engine's runtime, and the two ways in which Python waits for it: blocking but interruptible, or awaiting.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use futures::FutureExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{AbortHandle, JoinHandle};

use super::log;
use crate::client::Registry;
use crate::client::log::{LogRecord, listening};

/// How often a blocked call checks for Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);
/// Longest that the interpreter's exit waits for calls in flight.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// Connections need few threads; decoding runs on others.
const WORKERS: usize = 2;

/// State of the process: threads and budgets.
pub(super) struct Process {
    pid: u32,
    handle: Handle,
    runtime: Mutex<Option<Runtime>>,
    /// For small blocking calls: it has no thread and moves only while a caller waits, on the caller's thread.
    caller: Option<Runtime>,
    pub(super) registry: Registry,
}

/// Only locked while attached to the interpreter and never across a detach, so no other thread can hold it when this
/// one forks.
static PROCESS: Mutex<Option<Arc<Process>>> = Mutex::new(None);

/// Whether the interpreter is shutting down.
static ENDED: AtomicBool = AtomicBool::new(false);

impl Process {
    /// This process's threads, started at the first call. A forked child gets its own.
    pub(super) fn current(py: Python<'_>) -> PyResult<Arc<Self>> {
        let mut slot = PROCESS.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
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

    /// Drops something that small calls left, and lets its connections notice: they end at once, not at the next call.
    pub(super) fn settle<T>(&self, left: T) {
        self.caller().block_on(async move {
            drop(left);
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        });
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
    ENDED.store(true, Ordering::SeqCst);
    let process = PROCESS.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner).take();
    if let Some(runtime) = process.filter(|process| process.is_own()).and_then(|process| process.take_runtime()) {
        py.detach(|| runtime.shutdown_timeout(EXIT_GRACE));
    }
}

/// Messages to a blocked call.
enum Completion<T> {
    Happened(LogRecord),
    Done(T),
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits for a future without holding the GIL; Ctrl-C drops the future and raises. Works inside a running event loop,
/// because no event loop is involved.
pub(super) fn wait<T: Send + 'static>(
    py: Python<'_>,
    process: &Process,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let records = sender.clone();
    let listener = log::listener(py, move |record| {
        let _ = records.send(Completion::Happened(record));
    })?;
    let future = listening(listener, future);
    let _task = AbortOnDrop(process.handle.spawn(async move {
        let _ = sender.send(Completion::Done(future.await));
    }));
    let receiver = Mutex::new(receiver);
    loop {
        let received =
            py.detach(|| receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv_timeout(SIGNAL_CHECK));
        match received {
            Ok(Completion::Done(value)) => return Ok(value),
            Ok(Completion::Happened(record)) => log::emit(py, &record)?,
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                // At the interpreter's exit only daemon threads still wait. An error would end in a traceback that
                // they write while the interpreter goes; as with Python's own blocking calls they just stay.
                py.detach(|| {
                    while ENDED.load(Ordering::SeqCst) {
                        thread::park();
                    }
                });
                return Err(gone());
            }
        }
    }
}

/// As [`wait`], on the caller's own thread: no other thread is woken on the way, which is most of what a small answer takes.
/// The future must not call Python, for Python may wait here again: tokio refuses a runtime within a runtime.
pub(super) fn wait_here<T: Send + 'static>(
    py: Python<'_>,
    process: &Process,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut records) = unbounded_channel();
    let listener = log::listener(py, move |record| {
        let _ = sender.send(record);
    })?;
    let mut future = Box::pin(AssertUnwindSafe(listening(listener, future)).catch_unwind());
    let outcome = loop {
        let step = py.detach(|| {
            process.caller().block_on(async {
                // Connections that ended since the last call are known as soon as the runtime looks, and its tasks act.
                for _ in 0..2 {
                    tokio::task::yield_now().await;
                }
                tokio::select! {
                    biased;
                    Some(record) = records.recv() => Some(Completion::Happened(record)),
                    value = &mut future => Some(Completion::Done(value)),
                    () = tokio::time::sleep(SIGNAL_CHECK) => None,
                }
            })
        });
        let said = match step {
            Some(Completion::Done(value)) => break value.map_err(|_| gone()),
            Some(Completion::Happened(record)) => log::emit(py, &record),
            None => py.check_signals(),
        };
        if let Err(error) = said {
            break Err(error);
        }
    };
    while let Ok(record) = records.try_recv() {
        log::emit(py, &record)?;
    }
    if outcome.is_err() {
        py.detach(|| process.settle(future));
    }
    outcome
}

/// Turns a future into an awaitable of the running event loop. Cancelling the awaitable drops the future.
pub(super) fn awaitable<'py, T: Send + 'static>(
    py: Python<'py>,
    process: &Process,
    future: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let promise = event_loop.call_method0("create_future")?;
    let logging_loop = event_loop.clone().unbind();
    let listener = log::listener(py, move |record| {
        // Attaching may wait for the GIL: the worker's other tasks continue.
        tokio::task::block_in_place(|| Python::try_attach(|py| log::emit_on(py, &logging_loop, &record)));
    })?;
    let future = listening(listener, future);
    let (loop_handle, promise_handle) = (event_loop.unbind(), promise.clone().unbind());
    let task = process.handle.spawn(async move {
        // A panic would leave the awaitable pending forever.
        let outcome = AssertUnwindSafe(future).catch_unwind().await;
        // Attaching may wait for the GIL, which must not block the connections.
        let delivered = tokio::task::spawn_blocking(move || {
            Python::try_attach(|py| {
                let (value, error) = match outcome.map_err(|_| gone()).and_then(|outcome| convert(py, outcome)) {
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

fn gone() -> PyErr {
    PyRuntimeError::new_err("the engine stopped before the call ended (interpreter exit, or a defect of the engine)")
}
