//! Bounded memory for answers that are made and not sent yet.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies up to this size do not count, so that slow peers cannot block small answers.
const SMALL: usize = 64 * 1024;

/// The bound, shared by all connections.
pub(super) struct ResponseMemory {
    /// One permit per KiB.
    free: Arc<Semaphore>,
    all: u32,
}

impl ResponseMemory {
    pub(super) fn new(bytes: usize) -> Self {
        let all = kibibytes(bytes).clamp(1, u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX));
        Self { free: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Waits until there is memory for the body. A body larger than all of it takes all of it, until its last pieces
    /// are sent.
    pub(super) async fn hold(&self, body: MadeBody) -> Option<Answered> {
        let length: usize = body.0.iter().map(Vec::len).sum();
        if length <= SMALL {
            return Some(Answered { pieces: body.0.into_iter().map(Bytes::from).collect(), left: length as u64 });
        }
        let needed = body.0.iter().map(|piece| kibibytes(piece.len())).fold(0, u32::saturating_add);
        let mut shares = Arc::clone(&self.free).acquire_many_owned(needed.min(self.all)).await.ok()?;
        let mut pieces = VecDeque::with_capacity(body.0.len());
        // From the last piece on: where there are too few permits for all, the pieces that are sent first have none.
        for bytes in body.0.into_iter().rev() {
            let share = shares.split(shares.num_permits().min(kibibytes(bytes.len()) as usize));
            pieces.push_front(Bytes::from_owner(BodyPiece { bytes, _share: share }));
        }
        Some(Answered { pieces, left: length as u64 })
    }
}

/// KiB, rounded up.
fn kibibytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX)
}

/// A body as it was made, in one or several pieces.
pub(super) struct MadeBody(Vec<Vec<u8>>);

impl From<Vec<u8>> for MadeBody {
    fn from(whole: Vec<u8>) -> Self {
        Self(vec![whole])
    }
}

impl From<Vec<Vec<u8>>> for MadeBody {
    fn from(pieces: Vec<Vec<u8>>) -> Self {
        Self(pieces)
    }
}

/// A piece of a body with its permits, which
struct BodyPiece {
    bytes: Vec<u8>,
    _share: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for BodyPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body to be sent: its pieces one after the other, with the length of all of them.
pub(super) struct Answered {
    pieces: VecDeque<Bytes>,
    left: u64,
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl From<Answered> for Body {
    fn from(answered: Answered) -> Self {
        Self::new(answered)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use futures::FutureExt;

    use super::*;

    const KIB: usize = 1_024;

    async fn held(memory: &ResponseMemory, pieces: &[usize]) -> Body {
        memory.hold(pieces.iter().map(|length| vec![7; *length]).collect::<Vec<_>>().into()).await.unwrap().into()
    }

    #[tokio::test]
    async fn a_body_waits_for_room_and_gives_it_back_piece_by_piece() {
        let memory = ResponseMemory::new(200 * KIB);
        let mut first = held(&memory, &[100 * KIB, 50 * KIB]).await;
        assert_eq!((first.size_hint().exact(), memory.free.available_permits()), (Some(150 * 1_024), 50));
        assert!(held(&memory, &[100 * KIB]).now_or_never().is_none());
        assert!(held(&memory, &[64 * KIB]).now_or_never().is_some(), "small ones do not count");
        let piece = std::future::poll_fn(|context| Pin::new(&mut first).poll_frame(context)).await;
        assert_eq!(memory.free.available_permits(), 50);
        drop(piece);
        assert_eq!(memory.free.available_permits(), 150);
        let second = held(&memory, &[100 * KIB]).now_or_never().unwrap();
        assert_eq!(to_bytes(second, usize::MAX).await.unwrap().len(), 100 * KIB);
        drop(first);
        assert_eq!(memory.free.available_permits(), 200);
    }

    #[tokio::test]
    async fn what_is_larger_than_all_waits_until_it_is_the_only_one() {
        let memory = ResponseMemory::new(80 * KIB);
        let first = held(&memory, &[70 * KIB]).await;
        assert!(held(&memory, &[300 * KIB, 300 * KIB]).now_or_never().is_none());
        drop(first);
        let mut huge = held(&memory, &[300 * KIB, 300 * KIB]).now_or_never().unwrap();
        assert_eq!(memory.free.available_permits(), 0);
        drop(std::future::poll_fn(|context| Pin::new(&mut huge).poll_frame(context)).await);
        assert_eq!(memory.free.available_permits(), 0, "half of it is still there");
        assert_eq!(to_bytes(huge, usize::MAX).await.unwrap().len(), 300 * KIB);
        assert_eq!(memory.free.available_permits(), 80);
    }
}
