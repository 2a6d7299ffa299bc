//! Errors of starting a service.

use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a service could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The port is in use.
    #[error("port {port} of {host} is in use; stop what listens there, or give port 0 for a free one")]
    PortBusy {
        /// The requested address.
        host: IpAddr,
        /// The requested port.
        port: u16,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The keys are not usable.
    #[error("cannot use the keys: {0}")]
    Keys(String),
    /// No thread or runtime could be created.
    #[error("cannot start the service's threads: {0}")]
    Threads(#[from] io::Error),
}
