//! How a blocking call waits: without holding the GIL, and so that Ctrl-C ends it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::log;
use super::runtime::{BoxedTask, Process, gone, stay_at_exit, task_of, value_of};
use crate::client::log::LogRecord;

/// How often a blocked call checks for Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);
/// How long a small call looks for its answer before it sleeps. That of a service on this machine is there by then, and finds a
/// processor awake; one that takes longer costs so much of a processor's time.
const AWAKE: Duration = Duration::from_micros(200);

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

/// Attends to what a blocked call heard, or to Ctrl-C; whether it is done.
fn is_done(process: &Process, py: Python<'_>, received: Result<CallEvent, Silence>) -> PyResult<bool> {
    match received {
        Ok(CallEvent::Done) => return Ok(true),
        Ok(CallEvent::Happened(record)) => log::emit(py, &record)?,
        Err(Silence::Pause) => py.check_signals()?,
        Err(Silence::Gone) => return Err(gone()),
    }
    process.check_own()?;
    Ok(false)
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
        if is_done(process, py, received)? {
            return Ok(());
        }
    }
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
        if is_done(process, py, received)? {
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
