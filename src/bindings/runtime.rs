//! The engine's runtime in a process: its threads, their end, and what becomes of them in a forked child.

use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use super::log;
use crate::client::Registry;
use crate::client::log::{LogRecord, listening};

/// Longest that the interpreter's exit waits for calls in flight.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// How long small calls are driven on after one that was given up: what it leaves to do is done by then.
const LINGER: Duration = Duration::from_secs(1);
/// Connections need few threads; decoding runs on others.
const WORKERS: usize = 2;

/// State of the process: threads and budgets.
pub(super) struct Process {
    pid: u32,
    pub(super) handle: Handle,
    runtime: Mutex<Option<Runtime>>,
    /// For small blocking calls: it has no thread and moves only while a caller waits, on the caller's thread.
    caller: Option<Runtime>,
    pub(super) small_calls: AtomicUsize,
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

    pub(super) fn caller(&self) -> &Runtime {
        self.caller.as_ref().expect("taken only when dropped")
    }

    /// Drives small calls on a thread of its own until one ends. If it was given up, which is an error here, they are driven
    /// a moment longer: what it leaves to do is done. After one that was answered that would only make others' way longer.
    pub(super) fn drive_until(self: &Arc<Self>, end: oneshot::Receiver<()>) {
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
    pub(super) fn check_own(&self) -> PyResult<()> {
        if self.is_own() { Ok(()) } else { Err(forked()) }
    }

    /// A call's task whose records go to `on_record`, if Python's logger takes any.
    pub(super) fn listening(
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

    /// Whether its threads have ended, as at the interpreter's exit: nothing that is started now would ever end.
    pub(super) fn is_over(&self) -> bool {
        self.runtime.try_lock().is_ok_and(|runtime| runtime.is_none())
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

/// A future whose value goes to a place apart, so that what waits for it is compiled once and not for each type of values.
pub(super) type BoxedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future as a task, and where its value will be.
pub(super) fn task_of<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> (BoxedTask, Arc<Mutex<Option<T>>>) {
    let value = Arc::new(Mutex::new(None));
    let place = Arc::clone(&value);
    let task = async move {
        let value = future.await;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    };
    (Box::pin(task), value)
}

/// The value of a task that is done.
pub(super) fn value_of<T>(place: &Mutex<Option<T>>) -> PyResult<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(gone)
}

/// At the interpreter's exit only daemon threads still wait. As in Python's own blocking calls they just stay: an error would end in a
/// traceback that they write while the interpreter goes, and Python before 3.14 ends a thread that comes back to it then by unwinding
/// its stack, which Rust does not promise to survive.
pub(super) fn stay_at_exit() {
    while ends_elsewhere() {
        thread::park();
    }
}

/// Whether the interpreter ends, in another thread than this one.
fn ends_elsewhere() -> bool {
    ENDING.get().is_some_and(|ending| *ending != thread::current().id())
}

/// The error where Python's code forked in the midst of a call, and this is the child: the call and its connections belong to the
/// parent, and so does the thread that would move it.
fn forked() -> PyErr {
    PyRuntimeError::new_err("this process was forked in the midst of a call, which is its parent's")
}

pub(super) fn gone() -> PyErr {
    PyRuntimeError::new_err("the engine stopped before the call ended (interpreter exit, or a defect of the engine)")
}
