//! What a peer may take: time, memory, places.

use std::time::Duration;

/// Limits against slow, silent and greedy peers. Each phase of a connection has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at a time. A new one beyond it takes the place of the one that has waited longest without a request
    /// under way; where every place has a request under way, it waits in the listener's queue.
    pub connections: usize,
    /// How long a peer may take to send a request's head, and to leave a connection idle between two requests.
    pub head_within: Duration,
    /// How long a peer may take to send a request's body, which nobody reads.
    pub body_within: Duration,
    /// How long a peer may take nothing of an answer.
    pub stalled_after: Duration,
    /// Bytes a second at which an answer must be taken on the whole, `stalled_after` aside.
    pub least_rate: u64,
    /// Bytes of answers that are made and not yet taken, over all connections. An answer that does not fit waits; one that
    /// is larger than all of it waits until it is the only one.
    pub unsent: usize,
    /// How long requests under way may take to finish when the service stops.
    pub grace: Duration,
}

impl Default for ConnectionLimits {
    /// 1,024 connections, 20 s for a head, 5 s for a body, answers taken at 64 KiB/s without a pause of 20 s, 512 MiB of
    /// answers on their way, 2 s to finish.
    fn default() -> Self {
        Self {
            connections: 1_024,
            // This package's client lets go of an idle connection before that.
            head_within: Duration::from_secs(20),
            body_within: Duration::from_secs(5),
            stalled_after: Duration::from_secs(20),
            least_rate: 64 * 1024,
            unsent: 512 * 1024 * 1024,
            grace: Duration::from_secs(2),
        }
    }
}

/// How long a service has patience with the peers of its stream; all in real time, whatever the service's clock says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// How long a connection may stay without a known key.
    pub authenticate_within: Duration,
    /// How long a connection may stay without a channel.
    pub subscribe_within: Duration,
    /// How long a peer may say nothing before it is sent a ping.
    pub ping_after: Duration,
    /// How long a peer may say nothing at all, not even to a ping.
    pub silent_within: Duration,
    /// How long a peer may take nothing of what is written to it.
    pub take_within: Duration,
    /// How long the end of a connection may take: writing the close frame, hearing the peer's, what the peer still sends.
    pub farewell_within: Duration,
    /// How often the clock is looked at.
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
