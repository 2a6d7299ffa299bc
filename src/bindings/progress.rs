//! The caller's function that is told how far a call is, and what becomes of what it raises.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::client::{ClientError, ErrorKind, Fetched, Partial, Progress, ProgressUpdate};

/// What the function raised that ends the call.
#[derive(Clone, Default)]
pub(super) struct Raised(Arc<Mutex<Option<PyErr>>>);

/// The function as the engine calls it. An error of its own is written to `sys.unraisablehook`: it must not lose an
/// answer that was paid. What is no `Exception`, such as `KeyboardInterrupt` and `SystemExit`, ends the call.
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
            // The callback may take its time or use the client itself: the worker's other tasks move on.
            tokio::task::block_in_place(|| Python::try_attach(call)).unwrap_or(ControlFlow::Continue(()))
        })
    });
    (progress, raised)
}

/// What a call brought, and what the caller's function raised to end it.
pub(super) struct CallOutcome<T> {
    answer: Result<T, ClientError>,
    raised: Option<PyErr>,
}

impl<T> CallOutcome<T> {
    /// The outcome of a call that has come to an end.
    pub(super) fn new(answer: Result<T, ClientError>, raised: &Raised) -> Self {
        Self { answer, raised: raised.0.lock().unwrap_or_else(PoisonError::into_inner).take() }
    }

    /// The answer in Python's terms; or what the caller's function raised, with the error of the call that was not
    /// brought to its end as the cause.
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
    /// The same; series of a call that was ended after its last answer are in the error, as those of one before.
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
