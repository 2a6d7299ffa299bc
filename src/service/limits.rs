//! Limits on what a peer may use: time, memory, connections.

use std::time::Duration;

/// Limits against slow, silent and greedy peers. Each phase of a connection has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at a time. When all are taken, a new one replaces the connection that has been idle longest; if none
    /// is idle, it waits in the listener's queue.
    pub connections: usize,
    /// How long a peer may take to send a request's head, and to leave a connection idle between two requests.
    pub head_within: Duration,
    /// How long a peer may take to send a request's body, which is discarded.
    pub body_within: Duration,
    /// How long a peer may read nothing of an answer.
    pub stalled_after: Duration,
    /// Average bytes a second at which an answer must be read, after the first `stalled_after`.
    pub least_rate: u64,
    /// Bytes of answers that are made but not yet sent, over all connections. An answer that does not fit waits; a
    /// larger one than this waits until it is the only one.
    pub unsent: usize,
    /// How long requests in progress may take to finish when the service stops.
    pub grace: Duration,
}

impl Default for ConnectionLimits {
    /// 1,024 connections, 20 s for a head, 5 s for a body, answers read at 64 KiB/s without a pause of 20 s, 512 MiB of
    /// unsent answers, 2 s of grace.
    fn default() -> Self {
        Self {
            connections: 1_024,
            // This package's client closes an idle connection before that.
            head_within: Duration::from_secs(20),
            body_within: Duration::from_secs(5),
            stalled_after: Duration::from_secs(20),
            least_rate: 64 * 1024,
            unsent: 512 * 1024 * 1024,
            grace: Duration::from_secs(2),
        }
    }
}

/// Timeouts for the peers of the stream, in real time, whatever the service's clock says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// How long a connection may stay without authenticating.
    pub authenticate_within: Duration,
    /// How long a connection may stay without a channel.
    pub subscribe_within: Duration,
    /// How long a peer may send nothing before it is sent a ping.
    pub ping_after: Duration,
    /// How long a peer may send nothing at all, not even a pong.
    pub silent_within: Duration,
    /// How long a peer may read nothing of what is written to it.
    pub take_within: Duration,
    /// How long closing may take: writing the close frame, reading the peer's, discarding what the peer still sends.
    pub farewell_within: Duration,
    /// How often new events are produced.
    pub every: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            authenticate_within: Duration::from_secs(20),
            subscribe_within: Duration::from_secs(60),
            ping_after: Duration::from_secs(20),
            silent_within: Duration::from_secs(60),
            take_within: Duration::from_secs(20),
            farewell_within: Duration::from_secs(1),
            every: Duration::from_millis(50),
        }
    }
}
