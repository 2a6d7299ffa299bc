//! Shared parts of the routes: the caller, running a computation within its limits, errors as responses.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;

use super::access::{Access, Charge, Uncharged};
use super::connection_handle::CURRENT_CONNECTION;
use super::response_memory::{Answered, MadeBody};
use super::responses;
use super::state::ServiceState;
use crate::market::{CancelFlag, Market, MarketError};
use crate::protocol::wire::{KEY_HEADER, NOT_ARCHIVED};
use crate::protocol::{ErrorBody, Usage};

/// The caller, added to a request's extensions once its key is looked up.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Option<Arc<Access>>);

/// The budget in a response's body, added to its extensions so that the headers agree with it.
#[derive(Clone)]
pub(super) struct BudgetOfBody(pub(super) Usage);

/// The return type of a route.
pub(super) type RouteAnswer = Result<Response<Body>, Refused>;

/// An error to be sent, with the budget it was decided on, if any.
pub(super) struct Refused(ErrorBody, Option<BudgetOfBody>);

impl<E: Into<ErrorBody>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.into(), None)
    }
}

impl From<Uncharged> for Refused {
    fn from(Uncharged { error, usage }: Uncharged) -> Self {
        Self(error, Some(BudgetOfBody(usage)))
    }
}

impl axum::response::IntoResponse for Refused {
    fn into_response(self) -> Response<Body> {
        let mut response = responses::refusal(&self.0);
        if let Some(budget) = self.1 {
            response.extensions_mut().insert(budget);
        }
        response
    }
}

impl From<MarketError> for ErrorBody {
    fn from(error: MarketError) -> Self {
        let message = error.to_string();
        match error {
            MarketError::Invalid(_) => Self::invalid_params(message),
            MarketError::UnknownExchange(_) => Self::new(400, "INVALID_EXCHANGE", message),
            MarketError::UnknownSymbol(_) => Self::new(400, "INVALID_SYMBOL", message),
            MarketError::NotArchived(_) => Self::new(404, NOT_ARCHIVED, message),
            MarketError::Internal(_) => Self::internal(message),
        }
    }
}

/// The holder of the key, or 401. The message never repeats what was sent.
pub(super) fn known(Caller(access): Caller) -> Result<Arc<Access>, ErrorBody> {
    access.ok_or_else(|| {
        let message = format!("no known API key came with the request; send it in the header {KEY_HEADER}");
        ErrorBody::invalid_key(message)
    })
}

/// How expensive an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerWork {
    /// A few milliseconds: never queued behind more expensive answers.
    Light,
    /// Most answers.
    Usual,
    /// A second or more: never takes all the permits.
    Long,
}

/// Cancels the computation when dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs a computation off the threads that serve connections, with a bounded number at a time. Only an answer that was
/// made in time is charged: errors, panics and timeouts cost nothing. A computation whose caller no longer waits
/// (timeout or disconnect) is cancelled.
pub(super) async fn compute<F, T>(
    state: &ServiceState,
    charge: Option<Charge>,
    amount: AnswerWork,
    work: F,
) -> Result<Answered, ErrorBody>
where
    F: FnOnce(&Market) -> Result<T, ErrorBody> + Send + 'static,
    T: Into<MadeBody> + Send + 'static,
{
    let charge = charge.map(Arc::new);
    let stop = CancelFlag::default();
    let stopping = CancelOnDrop(stop.clone());
    let running = async {
        let long = match amount {
            AnswerWork::Long => Some(Arc::clone(&state.long_computations).acquire_owned().await),
            AnswerWork::Usual | AnswerWork::Light => None,
        };
        let places = if amount == AnswerWork::Light { &state.light_computations } else { &state.computations };
        let Ok(permit) = Arc::clone(places).acquire_owned().await else {
            return Err(stopped());
        };
        let (source, charge) = (Arc::clone(&state.source), charge.clone());
        let task = tokio::task::spawn_blocking(move || {
            let market = source.current()?;
            let body = work(&market.cancelled_by(&stop))?;
            // Charged here and not by the waiting side: for a caller that hangs up, the work was still done.
            charge.as_deref().inspect(|charge| charge.keep());
            Ok((body, permit, long))
        });
        let (body, permit, long) = task.await.unwrap_or_else(|_| {
            Err(ErrorBody::internal(
                "computing the answer failed; that is a fault of the local service, not of the query",
            ))
        })?;
        let held = state.response_memory.hold(body.into()).await;
        // Only now may the next computation start, so that answers waiting for memory hold back further ones.
        drop((permit, long));
        held.ok_or_else(stopped)
    };
    let answered = tokio::select! {
        answered = tokio::time::timeout(state.answer_within, running) => answered.unwrap_or_else(|_| {
            let seconds = state.answer_within.as_secs_f64();
            let message = format!("the answer took longer than {seconds} s; ask for a shorter window");
            Err(ErrorBody::new(504, "TIMEOUT", message))
        }),
        () = hung_up() => {
            let message = "the connection was ended from the other side before the answer was made";
            Err(ErrorBody::new(499, "CLIENT_CLOSED_REQUEST", message))
        }
    };
    drop(stopping);
    if answered.is_err() {
        charge.as_deref().inspect(|charge| charge.refund());
    }
    answered
}

/// Waits until the caller has disconnected.
async fn hung_up() {
    match CURRENT_CONNECTION.try_with(Arc::clone) {
        Ok(connection) => connection.hung_up().await,
        Err(_) => std::future::pending().await,
    }
}

/// Runs a computation on the current thread, which is cheaper for a short answer than handing it to another thread.
/// Only for computations known to be short: the other connections of this thread wait meanwhile.
pub(super) async fn compute_here<T: Into<MadeBody>>(
    state: &ServiceState,
    charge: Charge,
    work: impl FnOnce(&Market) -> Result<T, ErrorBody>,
) -> Result<Answered, ErrorBody> {
    // An error or a panic drops the charge, which refunds it.
    let market = state.source.current()?;
    let body = work(&market)?;
    drop(market);
    charge.keep();
    state.response_memory.hold(body.into()).await.ok_or_else(stopped)
}

fn stopped() -> ErrorBody {
    ErrorBody::new(503, "UNAVAILABLE", "the service is stopping")
}
