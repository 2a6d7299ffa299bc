//! The caller's progress function, and handling of its exceptions.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::client::{ClientError, ErrorKind, Fetched, Partial, Progress, ProgressUpdate};

/// The exception that ends the call.
#[derive(Clone, Default)]
pub(super) struct Raised(Arc<Mutex<Option<PyErr>>>);

/// The function as called by the engine. An ordinary exception is written to `sys.unraisablehook`, so that no paid
/// answer is lost. Others, such as `KeyboardInterrupt` and `SystemExit`, end the call.
pub(super) fn progress_and_raised(on_progress: Option<Py<PyAny>>) -> (Option<Progress>, Raised) {
    let raised = Raised::default();
    let kept = raised.clone();
    let progress = on_progress.map(|on_progress| -> Progress {
        Arc::new(move |update: &ProgressUpdate| {
            let ProgressUpdate { done, requests, weight_done, weight, rows, waiting, left } = *update;
            let call = |py: Python<'_>| {
                match on_progress.call1(py, (done, requests, weight_done.0, weight.0, rows, waiting, left)) {
                    Err(error) if !error.is_instance_of::<PyException>(py) => {
                        *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return ControlFlow::Break(());
                    }
                    Err(error) => error.write_unraisable(py, None),
                    Ok(_) => {}
                }
                ControlFlow::Continue(())
            };
            // The callback may be slow or use the client itself: the worker's other tasks continue.
            tokio::task::block_in_place(|| Python::try_attach(call)).unwrap_or(ControlFlow::Continue(()))
        })
    });
    (progress, raised)
}

/// The result of a call, and the exception by which the caller's function ended it.
pub(super) struct CallOutcome<T> {
    answer: Result<T, ClientError>,
    raised: Option<PyErr>,
}

impl<T> CallOutcome<T> {
    /// The outcome of a call that has come to an end.
    pub(super) fn new(answer: Result<T, ClientError>, raised: &Raised) -> Self {
        Self { answer, raised: raised.0.lock().unwrap_or_else(PoisonError::into_inner).take() }
    }

    /// The answer as Python objects; or the exception of the caller's function, with the error of the interrupted call
    /// as its cause.
    pub(super) fn convert<P>(
        self,
        py: Python<'_>,
        read: impl FnOnce(Python<'_>, Result<T, ClientError>) -> PyResult<P>,
    ) -> PyResult<P> {
        let answer = read(py, self.answer);
        let Some(raised) = self.raised else { return answer };
        if let Err(error) = answer {
            raised.set_cause(py, Some(error));
        }
        Err(raised)
    }
}

impl CallOutcome<Fetched> {
    /// The same for series; if the call was ended after its last answer, they are in the error too.
    pub(super) fn with_results(self) -> Self {
        match self {
            Self { answer: Ok(Fetched { series: results, .. }), raised: Some(raised) } => {
                let message = "the call was ended; what arrived is in results";
                let partial = Some(Box::new(Partial { results, ..Partial::default() }));
                let error = ClientError { partial, ..ClientError::new(ErrorKind::Partial, message) };
                Self { answer: Err(error), raised: Some(raised) }
            }
            outcome => outcome,
        }
    }
}
