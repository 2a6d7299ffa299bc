//! How an event loop waits: by an awaitable of its own.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use pyo3::prelude::*;
use tokio::task::AbortHandle;

use super::log;
use super::runtime::{BoxedTask, Process, gone, task_of, value_of};

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
    if process.is_over() {
        return Err(gone());
    }
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
