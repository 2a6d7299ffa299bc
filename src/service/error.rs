//! Why a service does not start.

use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Something else listens there.
    #[error("port {port} of {host} is in use; stop what listens there, or give port 0 for a free one")]
    PortBusy {
        /// The address asked for.
        host: IpAddr,
        /// The port asked for.
        port: u16,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The keys cannot serve.
    #[error("cannot use the keys: {0}")]
    Keys(String),
    /// No thread or runtime to be had.
    #[error("cannot start the service's threads: {0}")]
    Threads(#[from] io::Error),
}
