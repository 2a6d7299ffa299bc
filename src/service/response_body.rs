//! The body of an answer under way, which tells its connection's slot when its last piece has been handed over.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::connection_slots::ConnectionSlot;

/// A body that hyper drops when it has all of it. What is still to be written then is flushed before the slot waits for
/// the next request.
pub(super) struct ResponseBody {
    body: Body,
    /// None where the connection takes another protocol after this answer.
    slot: Option<Arc<ConnectionSlot>>,
}

impl ResponseBody {
    pub(super) fn new(body: Body, slot: Option<Arc<ConnectionSlot>>) -> Self {
        Self { body, slot }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.answered();
        }
    }
}
