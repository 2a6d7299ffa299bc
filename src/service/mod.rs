//! The local service: an HTTP server for a market (service.md 4, 5, 7 and 8; supplement 2 and 6). Routes, keys, tiers,
//! limits and error bodies are here; the data come from the market.
//!
//! It prints nothing, no route changes anything, and keys can only be read by [`RunningService::keys`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use marketpoints::client::{Client, Config, PointsArguments, PointsRequest, Registry};
//! use marketpoints::clock::{Clock, ManualClock, UnixSecond};
//! use marketpoints::market::Market;
//! use marketpoints::protocol::{PointsQuery, Tier, Weight};
//! use marketpoints::service::{Service, ServiceConfig};
//!
//! let now = UnixSecond(1_776_880_800).nanos(); // 2026-04-22T18:00:00Z, at which the service stays
//! let clock = Arc::new(ManualClock::at(now));
//! let service = Service::start(ServiceConfig::new(Arc::new(Market::demo(0)), clock))?; // a free port of 127.0.0.1
//!
//! let config = Config { tier: Some(Tier::Free), ..Config::new(service.keys()["free"].clone(), service.url()) };
//! let client = Client::new(&config, &Registry::default())?;
//! let query = PointsQuery {
//!     block_size: Some(10.0), // dollars
//!     ..PointsQuery::of_market("BLOCK_BOOK_SNAPSHOT_AGG", "BINANCE_FUTURES", "BTCUSDT", "1m")
//! };
//! let request = PointsRequest::new(PointsArguments { query, period: Some(300), ..PointsArguments::default() })?;
//! let series = tokio::runtime::Runtime::new()?.block_on(client.points(&request, now, None))?;
//! assert_eq!(series[0].len(), 5); // snapshots, one a minute
//! assert_eq!(service.journal().spent(), Weight(10)); // section 8.3
//! service.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod analytics;
mod answer;
mod bare_refusals;
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
mod query_checks;
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
