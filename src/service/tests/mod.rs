//! The service over real sockets, with a clock that stands still and a canned source.

mod analytics;
mod budget;
mod faults;
mod greedy;
mod harness;
mod lifecycle;
mod lists;
mod log;
mod openapi;
mod stream;
mod transport;
mod walls;
