//! How a route comes to its answer: who asks, the computation within its bounds, errors on their way out.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::{Access, Charge};
use super::front::Caller;
use super::shared::Shared;
use super::{Answers, reply};
use crate::protocol::ErrorBody;
use crate::protocol::wire::KEY_HEADER;

/// What a route gives.
pub(super) type Answer = Result<Response<Body>, Refused>;

/// An error on its way out.
pub(super) struct Refused(ErrorBody);

impl<E: Into<ErrorBody>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl axum::response::IntoResponse for Refused {
    fn into_response(self) -> Response<Body> {
        reply::refusal(&self.0)
    }
}

/// The holder of the key; the message never repeats what was sent.
pub(super) fn known(Caller(access): Caller) -> Result<Arc<Access>, ErrorBody> {
    access.ok_or_else(|| {
        let message = format!("no known API key came with the request; send it in the header {KEY_HEADER}");
        ErrorBody::invalid_key(message)
    })
}

/// Bodies up to this do not count against the memory for unsent answers: a slow peer must not hold up what is small.
const SMALL: usize = 64 * 1024;

/// Started kibibytes.
pub(super) fn kibibytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX)
}

/// A body with its share of the memory for answers, which it gives back when its last byte has been written.
struct Held {
    body: Vec<u8>,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// Waits until the memory for unsent answers holds the body.
async fn hold(unsent: &Arc<Semaphore>, total: usize, body: Vec<u8>) -> Result<Bytes, ErrorBody> {
    if body.len() <= SMALL {
        return Ok(body.into());
    }
    // What is larger than all of it takes all of it.
    let share = kibibytes(body.len()).min(kibibytes(total).max(1));
    match Arc::clone(unsent).acquire_many_owned(share).await {
        Ok(share) => Ok(Bytes::from_owner(Held { body, _share: share })),
        Err(_) => Err(ErrorBody::new(503, "UNAVAILABLE", "the service is stopping")),
    }
}

/// Runs a computation off the threads that serve connections, a bounded number at a time. Only an answer that was made
/// in time keeps the charge: errors, panics and late answers cost nothing.
pub(super) async fn compute<F>(shared: &Shared, charge: Option<Charge>, work: F) -> Result<Bytes, ErrorBody>
where
    F: FnOnce(&dyn Answers) -> Result<Vec<u8>, ErrorBody> + Send + 'static,
{
    let charge = charge.map(Arc::new);
    let running = async {
        let Ok(permit) = Arc::clone(&shared.computations).acquire_owned().await else {
            return Err(ErrorBody::new(503, "UNAVAILABLE", "the service is stopping"));
        };
        let (source, charge) = (Arc::clone(&shared.source), charge.clone());
        let task = tokio::task::spawn_blocking(move || {
            let body = work(&*source)?;
            // Kept here and not by the waiting side: a caller that hangs up has still had the work done.
            charge.as_deref().inspect(|charge| charge.keep());
            Ok((body, permit))
        });
        let (body, permit) = task.await.unwrap_or_else(|_| {
            Err(ErrorBody::internal(
                "computing the answer failed; that is a fault of the local service, not of the query",
            ))
        })?;
        let held = hold(&shared.unsent, shared.limits.unsent, body).await;
        // Only now may the next computation start: answers that wait for room hold further ones back.
        drop(permit);
        held
    };
    let answered = tokio::time::timeout(shared.answer_within, running).await.unwrap_or_else(|_| {
        let seconds = shared.answer_within.as_secs_f64();
        let message = format!("the answer took longer than {seconds} s; ask for a shorter window");
        Err(ErrorBody::new(504, "TIMEOUT", message))
    });
    if answered.is_err() {
        charge.as_deref().inspect(|charge| charge.refund());
    }
    answered
}
