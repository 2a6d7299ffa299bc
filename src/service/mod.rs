//! The local service: an HTTP server for a market (service.md 4, 5, 7 and 8; supplement 2 and 6). Routes, keys, tiers,
//! limits and error bodies are here; the data come from the market.
//!
//! It prints nothing, no route changes anything, and keys can only be read by [`RunningService::keys`].

mod access;
mod analytics;
mod answer;
mod bare_refusals;
mod check;
mod config;
mod connection_handle;
mod connection_slots;
mod connections;
mod error;
mod faults;
mod journal;
mod keys_file;
mod limits;
mod lists;
mod log;
mod log_file;
mod openapi;
mod paths;
mod redact;
mod request_handler;
mod response_body;
mod response_memory;
mod responses;
mod routes;
mod server;
mod state;
mod stream;
mod tcp_io;
#[cfg(test)]
mod tests;
mod write_timeout;

pub use config::{Allowance, KeyEntry, KeySecret, ServiceConfig};
pub use error::ServiceError;
pub use faults::{AddedRule, Fault, FaultError, FaultRule, FaultSwitch, When};
pub use journal::Journal;
pub use keys_file::{KeysFileError, key_entry, parse_keys, read_keys};
pub use limits::{ConnectionLimits, StreamLimits};
pub use log::{AccessLog, AccessRecord};
pub use log_file::LogFile;
pub use openapi::document as openapi;
pub use server::{RunningService, Service};
