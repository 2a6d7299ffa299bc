//! A response body that notifies its connection's slot once it has been handed to hyper completely.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::connection_slots::ConnectionSlot;

/// hyper drops the body when it has all of it. The bytes not written yet are flushed before the slot becomes idle.
pub(super) struct ResponseBody {
    body: Body,
    /// `None` where the connection is upgraded after this answer.
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
