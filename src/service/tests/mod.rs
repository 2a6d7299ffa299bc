//! The service over real sockets, with a clock that stands still, over the demo market or a source that misbehaves on demand.

mod analytics;
mod budget;
mod faults;
mod frames;
mod harness;
mod identity;
mod journal;
mod lifecycle;
mod lists;
mod log;
mod openapi;
mod peer;
mod points;
mod slow_peers;
mod stream;
mod tier_limits;
mod transport;
