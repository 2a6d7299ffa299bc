//! Limits the time that a peer may take to read an answer. A peer that reads nothing, or a byte now and then, would
//! hold its connection and the answer's memory forever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep, sleep_until};

use super::connection_slots::ConnectionSlot;
use super::limits::ConnectionLimits;

/// A connection whose writes fail when the peer is too slow, and whose slot is notified when everything is written.
pub(super) struct WriteTimeout<T> {
    inner: T,
    slot: Option<Arc<ConnectionSlot>>,
    limits: ConnectionLimits,
    /// Since when the peer has read nothing.
    stalled: Option<Instant>,
    /// Since when the current answer has had to wait for the peer.
    slow: Option<Instant>,
    /// Bytes written since then.
    taken: u64,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<T> WriteTimeout<T> {
    pub(super) fn new(inner: T, slot: Option<Arc<ConnectionSlot>>, limits: ConnectionLimits) -> Self {
        Self { inner, slot, limits, stalled: None, slow: None, taken: 0, alarm: None }
    }

    /// The outcome of a write, or a timeout.
    fn judge(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match outcome {
            Poll::Pending => {
                let now = Instant::now();
                let stalled = *self.stalled.get_or_insert(now);
                let slow = *self.slow.get_or_insert(now);
                let earned = Duration::from_secs(self.taken / self.limits.least_rate.max(1));
                let patience = self.limits.stalled_after;
                let deadline = (stalled + patience).min(slow + patience + earned);
                let alarm = match &mut self.alarm {
                    Some(alarm) => {
                        if alarm.deadline() != deadline {
                            alarm.as_mut().reset(deadline);
                        }
                        alarm
                    }
                    none => none.insert(Box::pin(sleep_until(deadline))),
                };
                ready!(alarm.as_mut().poll(context));
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not take its answer")))
            }
            Poll::Ready(Ok(written)) => {
                self.stalled = None;
                self.taken += written as u64;
                Poll::Ready(Ok(written))
            }
            failed @ Poll::Ready(Err(_)) => failed,
        }
    }
}

impl<T: Read + Unpin> Read for WriteTimeout<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for WriteTimeout<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.judge(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_flush(context))?;
        // hyper flushes when it has nothing more to write: the next answer starts with a fresh limit.
        (self.stalled, self.slow, self.taken, self.alarm) = (None, None, 0, None);
        if let Some(slot) = &self.slot {
            slot.flushed();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    /// Writes an answer of `length` bytes to a peer that reads one KiB each `pause`.
    async fn send(length: usize, pause: Duration, limits: ConnectionLimits) -> io::Result<()> {
        let (ours, mut theirs) = duplex(1_024);
        let peer = tokio::spawn(async move {
            let mut kib = [0; 1_024];
            loop {
                tokio::time::sleep(pause).await;
                if !matches!(theirs.read(&mut kib).await, Ok(1..)) {
                    return;
                }
            }
        });
        let mut ours = WriteTimeout::new(TokioIo::new(ours), None, limits);
        let answer = vec![7; length];
        let mut rest = &answer[..];
        while !rest.is_empty() {
            let written = poll_fn(|context| Pin::new(&mut ours).poll_write(context, rest)).await?;
            rest = &rest[written..];
        }
        poll_fn(|context| Pin::new(&mut ours).poll_flush(context)).await?;
        peer.abort();
        Ok(())
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Ten seconds without a byte, then 1 KiB a second.
    fn limits() -> ConnectionLimits {
        ConnectionLimits { stalled_after: seconds(10), least_rate: 1_024, ..ConnectionLimits::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up_after_its_patience() {
        let begun = Instant::now();
        let error = send(10_000, seconds(3_600), limits()).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_a_little_now_and_then_is_given_up_too() {
        let begun = Instant::now();
        // 1 KiB each 5 s against the required 1 KiB a second: t seconds earn t / 5, so 10 + t / 5 = t.
        let error = send(1_000_000, seconds(5), limits()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!((11..=15).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_within_the_limits_gets_all() {
        // 2 KiB a second for far longer than the allowed pause.
        send(200 * 1_024, Duration::from_millis(500), limits()).await.unwrap();
        // A pause just short of the limit, early enough to be made up for.
        send(3 * 1_024, seconds(4), limits()).await.unwrap();
    }
}
