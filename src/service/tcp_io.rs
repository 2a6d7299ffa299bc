//! A TCP stream that can detect a disconnect while nobody reads from it: hyper does not read while it answers.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::sleep;

/// Bytes that are read at a time.
const PORTION: usize = 8 * 1024;
/// How often to look for a disconnect behind unread bytes.
const PAUSE: Duration = Duration::from_millis(100);

/// A TCP stream for hyper.
pub(super) struct TcpIo {
    incoming: Arc<OwnedReadHalf>,
    outgoing: TokioIo<OwnedWriteHalf>,
}

/// Detects the end of a connection.
pub(super) struct ConnectionWatch(Weak<OwnedReadHalf>);

impl TcpIo {
    pub(super) fn new(stream: TcpStream) -> Self {
        let (incoming, outgoing) = stream.into_split();
        Self { incoming: Arc::new(incoming), outgoing: TokioIo::new(outgoing) }
    }

    pub(super) fn watch(&self) -> ConnectionWatch {
        ConnectionWatch(Arc::downgrade(&self.incoming))
    }
}

impl ConnectionWatch {
    /// Completes when the peer has closed its sending side, as it does when it disconnects.
    pub(super) async fn ended(&self) {
        let Some(incoming) = self.0.upgrade() else { return };
        let stream: &TcpStream = incoming.as_ref().as_ref();
        // Pipelined requests that are not read yet hide the end from a peek.
        while matches!(stream.peek(&mut [0]).await, Ok(1..)) {
            match stream.ready(Interest::READABLE).await {
                Ok(ready) if !ready.is_read_closed() => sleep(PAUSE).await,
                _ => return,
            }
        }
    }
}

impl Read for TcpIo {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let stream: &TcpStream = self.incoming.as_ref().as_ref();
        let mut portion = [0; PORTION];
        let most = buffer.remaining().min(PORTION);
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_read(&mut portion[..most]) {
                Ok(count) => {
                    buffer.put_slice(&portion[..count]);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Write for TcpIo {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.outgoing).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.outgoing).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.outgoing.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.outgoing).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.outgoing).poll_shutdown(context)
    }
}
